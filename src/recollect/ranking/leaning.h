/* How much each leg counts. */

#pragma once

#include <math.h>
#include "mixed.h"

/* Each leg's scores made comparable: BM25 as a share of the best, above the lowest where the list was cut. */
static void share_words(Mixed *mixed, const Rules *rules)
{
    double high = -INFINITY, low = INFINITY;
    for (Py_ssize_t at = 0; at < mixed->count; at++) {
        if (!mixed->items[at].rank) continue;
        high = fmax(high, mixed->items[at].score);
        low = fmin(low, mixed->items[at].score);
    }
    if (!rules->is_cut) low = 0;
    for (Py_ssize_t at = 0; at < mixed->count; at++) {
        Item *item = mixed->items + at;
        if (item->rank) item->by_words = high <= low ? 1 : (item->score - low) / (high - low);
    }
}

/* The cosine from the lowest of the list to the best. Others whose cosine is known have a share, too, if only here. */
static void share_meaning(Mixed *mixed, const Rules *rules, const Extra *extra)
{
    double high = -INFINITY, low = INFINITY;
    for (Py_ssize_t at = 0; at < mixed->count; at++) {
        if (!mixed->items[at].nearness) continue;
        high = fmax(high, mixed->items[at].similarity);
        low = fmin(low, mixed->items[at].similarity);
    }
    const double width = fmax(high - low, rules->narrowest);
    for (Py_ssize_t at = 0; at < extra->count; at++) {
        const double similarity = extra->pairs[at].score;
        const Py_ssize_t known = slot_of(&mixed->index, extra->pairs[at].key, 0)->place;
        Item *item = known < 0 ? NULL : mixed->items + known;
        if (item && item->nearness) continue;
        const double share = similarity > high - width ? 1 - (high - similarity) / width : 0;
        mixed->shares[mixed->known++] = share;
        if (!item) continue;
        item->similarity = similarity;
        item->by_meaning = share;
        item->is_similar = 1;
    }
    for (Py_ssize_t at = 0; at < mixed->count; at++) {
        Item *item = mixed->items + at;
        if (!item->nearness) continue;
        item->by_meaning = 1 - (high - item->similarity) / width;
        mixed->shares[mixed->known++] = item->by_meaning;
    }
}

/* Put so many of the highest first, in order: few of many are ever moved. */
static void put_first(double *values, Py_ssize_t count, Py_ssize_t wanted)
{
    Py_ssize_t held = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        const double value = values[at];
        if (held == wanted && value <= values[held - 1]) continue;
        Py_ssize_t to = held < wanted ? held++ : held - 1;
        values[at] = values[to];
        for (; to && values[to - 1] < value; to--) values[to] = values[to - 1];
        values[to] = value;
    }
}

/* How far the best is above the mean of the next ones; those who are not in the list have 0. */
static double standing_out(double *shares, Py_ssize_t count, const Rules *rules)
{
    double others = 0;
    put_first(shares, count, (Py_ssize_t)rules->compared);
    for (Py_ssize_t at = 1; at < count && at < rules->compared; at++) others += shares[at];
    return shares[0] - others / (rules->compared - 1);
}

static double within(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

/* How much each leg counts for this question. */
static void lean(Mixed *mixed, const Rules *rules, const Extra *extra)
{
    if (mixed->near) share_meaning(mixed, rules, extra);
    if (mixed->words) share_words(mixed, rules);
    const double total = (mixed->words ? rules->words : 0) + (mixed->near ? rules->meaning : 0);
    if (!total) return;
    double words = mixed->words && mixed->near ? rules->words / total : mixed->words ? 1 : 0;
    if (mixed->words && mixed->near && mixed->known >= rules->compared) {
        double lean = -standing_out(mixed->shares, mixed->known, rules);
        Py_ssize_t count = 0;
        for (Py_ssize_t at = 0; at < mixed->count; at++)
            if (mixed->items[at].rank) mixed->shares[count++] = mixed->items[at].by_words;
        lean += standing_out(mixed->shares, count, rules);
        lean += within(0.1 * (rules->number - rules->usual_words), -0.2, 0.25);
        words += within(lean, -1, 1) * fmin(words, 1 - words);
    }
    mixed->weight_of_words = words;
    mixed->weight_of_meaning = 1 - words;
}
