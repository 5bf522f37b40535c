/* What both legs found, put together, and the rules by which it is ranked. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include "../store/packed.h"
#include "index.h"

/* What a leg found, best first, and the lists of who speaks. */
typedef struct {
    Py_buffer held;
    const Row *rows;
    Py_ssize_t count;
    PyObject *names;
} Leg;

/* How near some are, who may or may not be in the legs; nobody twice. */
typedef struct {
    Py_buffer held;
    const Scored *pairs;
    Py_ssize_t count;
} Extra;

/* How the ranking reckons: the constants of fuse.py, context.py and score.py, and what this question asks. */
typedef struct {
    double narrowest, compared, usual_words, near, next, short_text, recency, another_speaker, outside_time;
    double words, meaning, number, least;
    int is_cut, drops_nothing, prefers;
    long long now, since, until;
    Py_ssize_t limit;
    PyObject *meant;
} Rules;

/* A candidate: where it stands, what each leg says of it (a rank of 0: nothing), and what that comes to. */
typedef struct {
    const Row *row;
    const Leg *leg;
    double score, similarity, by_words, by_meaning, base, lent, total;
    Py_ssize_t rank, nearness;
    int is_similar;
} Item;

typedef struct {
    Item *items;
    Py_ssize_t count, words, near, known;
    Index index, places;
    double *shares, *bases, weight_of_words, weight_of_meaning, scale;
} Mixed;

static void take_in(Mixed *mixed, const Leg *keyword, const Leg *semantic)
{
    for (Py_ssize_t at = 0; at < keyword->count; at++) {
        Item *item = mixed->items + place_in(&mixed->index, keyword->rows[at].key, 0);
        item->row = keyword->rows + at;
        item->leg = keyword;
        if (item->rank) continue;
        item->rank = at + 1;
        item->score = item->row->score;
    }
    for (Py_ssize_t at = 0; at < semantic->count; at++) {
        Item *item = mixed->items + place_in(&mixed->index, semantic->rows[at].key, 0);
        item->row = semantic->rows + at;
        item->leg = semantic;
        if (item->nearness) continue;
        item->nearness = at + 1;
        item->similarity = item->row->score;
        item->is_similar = 1;
    }
    mixed->count = mixed->index.count;
}

static int take_leg(Leg *leg)
{
    leg->rows = leg->held.buf;
    leg->count = leg->held.len / (Py_ssize_t)sizeof(Row);
    return leg->held.len % (Py_ssize_t)sizeof(Row) == 0;
}

static int take_extra(Extra *extra)
{
    extra->pairs = extra->held.buf;
    extra->count = extra->held.len / (Py_ssize_t)sizeof(Scored);
    return extra->held.len % (Py_ssize_t)sizeof(Scored) == 0;
}
