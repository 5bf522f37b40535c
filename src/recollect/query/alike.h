/* Which texts say nearly the same as one of them. */

#pragma once

#include "table.h"
#include "texts.h"

/* A text by the numbers of its terms, and by pairs of neighbouring ones. Those of the text that others are compared with come
   first in the table. */
typedef struct {
    Table *words;
    Bytes numbers, met, pairs; /* of its terms, in which text each was met last, of neighbours: ascending, each once */
    size_t terms, different, shared, neighbours;
} Said;

static int by_number(const void *one, const void *other)
{
    const uint64_t left = *(const uint64_t *)one, right = *(const uint64_t *)other;
    return (left > right) - (left < right);
}

/* Reads the terms of the text of this number, counted from 1; between any two of them is a space. */
static int read_terms(Said *said, const Text *text, uint32_t which, size_t known)
{
    said->numbers.used = said->terms = said->different = said->shared = 0;
    for (Py_ssize_t begin = 0, at = 0; at <= text->length; at++) {
        if (at < text->length && text->bytes[at] != ' ') continue;
        const Py_ssize_t placed_at = placed(said->words, text->bytes + begin, at - begin);
        const uint32_t number = (uint32_t)placed_at, never = 0;
        if (placed_at < 0 || append(&said->numbers, &number, sizeof number)) return -1;
        if (said->met.used < said->words->count * sizeof never && append(&said->met, &never, sizeof never)) return -1;
        uint32_t *met = (uint32_t *)said->met.at + number;
        said->different += *met != which;
        said->shared += *met != which && number < known;
        *met = which;
        said->terms++;
        begin = at + 1;
    }
    return 0;
}

static int read_neighbours(Said *said)
{
    const uint32_t *numbers = (const uint32_t *)said->numbers.at;
    said->pairs.used = said->neighbours = 0;
    for (size_t at = 1; at < said->terms; at++) {
        const uint64_t pair = (uint64_t)numbers[at - 1] << 32 | numbers[at];
        if (append(&said->pairs, &pair, sizeof pair)) return -1;
    }
    uint64_t *pairs = (uint64_t *)said->pairs.at;
    if (said->terms > 2) qsort(pairs, said->terms - 1, sizeof *pairs, by_number);
    for (size_t at = 0; at + 1 < said->terms; at++)
        if (!said->neighbours || pairs[at] != pairs[said->neighbours - 1]) pairs[said->neighbours++] = pairs[at];
    return 0;
}

static size_t pairs_shared(const Said *mine, const Said *theirs)
{
    const uint64_t *one = (const uint64_t *)mine->pairs.at, *other = (const uint64_t *)theirs->pairs.at;
    size_t shared = 0;
    for (size_t at = 0, there = 0; at < mine->neighbours && there < theirs->neighbours;) {
        shared += one[at] == other[there];
        const int is_less = one[at] < other[there], is_more = one[at] > other[there];
        at += !is_more;
        there += !is_less;
    }
    return shared;
}

/* Whether a text, whose terms were read, overlaps with mine; -1 if there is no room. */
static int overlaps(const Said *mine, Said *theirs, double threshold)
{
    const size_t fewer = mine->terms < theirs->terms ? mine->terms : theirs->terms;
    const double most = (double)(theirs->shared + fewer) - 1; /* if all neighbours were shared that can be */
    const double fewest = 2.0 * (double)(mine->different + theirs->different) - 2;
    if (most < threshold * (fewest - most)) return 0;
    if (read_neighbours(theirs)) return -1;
    const double shared = (double)(theirs->shared + pairs_shared(mine, theirs));
    const double all = (double)(mine->different + mine->neighbours + theirs->different + theirs->neighbours);
    return shared >= threshold * (all - shared);
}

/* The places of the texts that overlap with the first; NULL if there is no room, or with an error set. */
static PyObject *list_alike(const Texts *texts, Table *words, double threshold)
{
    Said mine = {.words = words}, theirs = {.words = words};
    empty(words);
    int failed = read_terms(&mine, texts->each, 1, 0) || read_neighbours(&mine);
    theirs.met = mine.met;
    const size_t known = words->count;
    PyObject *found = failed ? NULL : PyList_New(0);
    for (Py_ssize_t at = 1; found && at < texts->count; at++) {
        failed = read_terms(&theirs, texts->each + at, (uint32_t)at + 1, known);
        const int is_alike = failed ? -1 : overlaps(&mine, &theirs, threshold);
        PyObject *place = is_alike > 0 ? PyLong_FromSsize_t(at - 1) : NULL;
        if (is_alike < 0 || (is_alike && (!place || PyList_Append(found, place) < 0))) Py_CLEAR(found);
        Py_XDECREF(place);
    }
    free(mine.numbers.at);
    free(mine.pairs.at);
    free(theirs.numbers.at);
    free(theirs.pairs.at);
    free(theirs.met.at);
    return found;
}

/* alike(texts, table, threshold): the places of those that say nearly the same as the first, counted from the one after it.
   The table is nobody else's. */
static PyObject *alike(PyObject *self, PyObject *args)
{
    PyObject *given, *capsule, *found = NULL;
    double threshold;
    if (!PyArg_ParseTuple(args, "OOd", &given, &capsule, &threshold)) return NULL;
    Table *words = PyCapsule_GetPointer(capsule, table_name);
    Texts texts = {0};
    if (!words || hold(given, &texts, PyUnicode_AsUTF8AndSize)) return NULL;
    if (!texts.count) PyErr_SetString(PyExc_ValueError, "a text that others are compared with");
    else found = list_alike(&texts, words, threshold);
    if (!found && !PyErr_Occurred()) PyErr_NoMemory();
    let_go(&texts);
    return found;
}
