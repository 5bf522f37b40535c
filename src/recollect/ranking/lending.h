/* What neighbours in a session lend each other. */

#pragma once

#include <math.h>
#include "mixed.h"

/* What is noted for each place in a session, in the order of the places. */
static void note_places(Mixed *mixed)
{
    for (Py_ssize_t at = 0; at < mixed->count; at++) {
        const Row *row = mixed->items[at].row;
        if (row->session) mixed->bases[place_in(&mixed->places, row->session, row->place)] = mixed->items[at].base;
    }
}

/* What a candidate is lent by those one and two places away; -1 if there is none with anything to lend. */
static double borrowed(const Mixed *mixed, const Rules *rules, double mean, const Row *row)
{
    double sum = 0;
    int is_near = 0;
    for (int far = 1; row->place >= 0 && far <= 2; far++)
        for (int side = -far; side <= far; side += 2 * far) {
            const int64_t beside = (int64_t)row->place + side;
            const Py_ssize_t place = beside < 0 ? -1 : slot_of(&mixed->places, row->session, beside)->place;
            if (place < 0 || mixed->bases[place] <= mean) continue;
            is_near = 1;
            sum += (far == 1 ? rules->near : rules->next) * (mixed->bases[place] - mean);
        }
    return is_near ? sum : -1;
}

/* Neighbours in a session lend each other relevance; should one exceed 1, all are scaled down together. */
static void lend(Mixed *mixed, const Rules *rules)
{
    note_places(mixed);
    const Py_ssize_t count = mixed->places.count;
    double sum = 0, most = 0;
    for (Py_ssize_t place = 0; place < count; place++) sum += mixed->bases[place];
    for (Py_ssize_t at = 0; at < mixed->count; at++) {
        Item *item = mixed->items + at;
        if (count > 1 && item->row->session) {
            const double lent = borrowed(mixed, rules, sum / (double)count, item->row);
            if (lent >= 0) item->lent = lent * fmin(1, rules->short_text / fmax(1, item->row->tokens));
        }
        item->total = item->base + item->lent;
        most = fmax(most, item->total);
    }
    if (count > 1 && most > 1) mixed->scale = 1 / most;
    for (Py_ssize_t at = 0; at < mixed->count && mixed->scale != 1; at++) {
        Item *item = mixed->items + at;
        item->base *= mixed->scale;
        item->lent *= mixed->scale;
        item->total = item->base + item->lent;
    }
}
