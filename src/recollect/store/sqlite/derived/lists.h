/* Which memories have a term. */

#pragma once

#include <string.h>
#include "places.h"

/* The occurrences of one term: from where to where they are in the segment. Memories before `next` are done with. */
typedef struct {
    Py_ssize_t first, last, next;
} List;

/* What is looked for, and what it counts: a term, or several that begin alike and count together. */
typedef struct {
    List *lists;
    Py_ssize_t count;
    double rarity;
} Term;

static Py_ssize_t first_from(const int32_t *docs, Py_ssize_t low, Py_ssize_t high, int64_t doc)
{
    while (low < high) {
        const Py_ssize_t middle = low + (high - low) / 2;
        if (docs[middle] < doc) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The code of a memory not before the one that was looked up last; 0 where the term does not stand. */
static uint16_t look_up(const Segment *segment, List *list, int64_t doc)
{
    Py_ssize_t stride = 1, low = list->next;
    while (low + stride < list->last && segment->docs[low + stride] < doc) {
        low += stride;
        stride *= 2;
    }
    list->next = low = first_from(segment->docs, low, low + stride < list->last ? low + stride : list->last, doc);
    return low < list->last && segment->docs[low] == doc ? segment->codes[low] : 0;
}

/* The lists of the terms at a place; whoever is before or behind the span is passed over. */
static int take_term(const Segment *segment, Term *term, const Place *place, Py_ssize_t start, Py_ssize_t end)
{
    term->lists = calloc(place->last - place->first + 1, sizeof(List));
    if (!term->lists) return PyErr_NoMemory() != NULL;
    for (Py_ssize_t at = place->first; at < place->last; at++) {
        const int64_t from = segment->offsets[at], to = segment->offsets[at + 1];
        if (from < 0 || to < from || to > segment->occurrences) return lying("there is no such term") != NULL;
        List *list = term->lists + term->count;
        list->first = list->next = start ? first_from(segment->docs, from, to, start) : from;
        list->last = end < segment->memories ? first_from(segment->docs, list->first, to, end) : to;
        term->count += list->first < list->last;
    }
    return 1;
}

static void free_terms(Term *terms, Py_ssize_t count)
{
    for (Py_ssize_t at = 0; terms && at < count; at++) free(terms[at].lists);
    free(terms);
}

/* The terms at these places within a span, each with its rarity, if that is given; NULL if there are none such. */
static Term *take_terms(const Segment *segment, const Place *places, const double *rarity, Py_ssize_t count, Py_ssize_t start,
                        Py_ssize_t end)
{
    Term *terms = calloc(count + 1, sizeof(Term));
    if (!terms) return (Term *)PyErr_NoMemory();
    for (Py_ssize_t at = 0; at < count; at++) {
        if (!take_term(segment, terms + at, places + at, start, end)) {
            free_terms(terms, count);
            return NULL;
        }
        if (rarity) terms[at].rarity = rarity[at];
    }
    return terms;
}

/* How many memories have any of the terms that count together, but for those who are masked; -1 if positions lie. `met` is
   room for a bit for each memory. */
static Py_ssize_t count_having(const Segment *segment, const Term *term, const Py_buffer *masked, uint8_t *met)
{
    const int32_t *docs = segment->docs, *out = masked->buf;
    const Py_ssize_t outside = masked->len / (Py_ssize_t)sizeof(int32_t);
    Py_ssize_t having = 0;
    if (term->count == 1) {
        having = term->lists->last - term->lists->first;
        for (Py_ssize_t at = 0; at < outside; at++) {
            const Py_ssize_t place = first_from(docs, term->lists->first, term->lists->last, out[at]);
            having -= place < term->lists->last && docs[place] == out[at];
        }
        return having;
    }
    if (!term->count) return 0;
    memset(met, 0, segment->memories / 8 + 1);
    for (Py_ssize_t at = 0; at < outside; at++) {
        if (out[at] < 0 || out[at] >= segment->memories) return -1;
        met[out[at] / 8] |= 1 << out[at] % 8;
    }
    for (Py_ssize_t list = 0; list < term->count; list++)
        for (Py_ssize_t at = term->lists[list].first; at < term->lists[list].last; at++) {
            if (docs[at] < 0 || docs[at] >= segment->memories) return -1;
            having += !(met[docs[at] / 8] >> docs[at] % 8 & 1);
            met[docs[at] / 8] |= 1 << docs[at] % 8;
        }
    return having;
}
