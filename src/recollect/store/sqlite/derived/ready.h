/* What must be known of a question before anybody is looked at. */

#pragma once

#include "asked.h"

#define SAMPLED 12
#define SLACK 16
#define ENOUGH 512 /* a sample of fewer says nothing about the rest */

/* How far apart the blocks of a sample are; 0 if it would be too large a part of all. */
static Py_ssize_t sample_of(const Asked *asked, Py_ssize_t wanted)
{
    const Py_ssize_t apart = (asked->end - asked->start) / SAMPLED / BLOCK * BLOCK;
    return apart < 2 * BLOCK || 2 * wanted * BLOCK / apart + SLACK >= wanted ? 0 : apart;
}

/* The best of a sample by their rows, and what that says about the first estimates. */
static void sample_closer(const Question *question, Closer *closer, Py_ssize_t start, Py_ssize_t end, Py_ssize_t apart,
                          Best *best)
{
    Question anyone = *question;
    anyone.allowed = NULL;
    Sums sums = {0};
    for (Py_ssize_t first = start; first < end; first += apart)
        for (Py_ssize_t at = first, next; at < first + BLOCK && at < end; at = next) {
            float found[TOGETHER];
            next = (at / TOGETHER + 1) * TOGETHER;
            if (next > end) next = end;
            for (uint32_t each = promising(&anyone, at, next, -INFINITY, found); each; each &= each - 1) {
                const int place = zeros_before(each);
                const float near = near_by_row(closer, at + place);
                if (isnan(near)) continue;
                note(&sums, found[place], near);
                if (near > best->least) take(best, near, at + place);
            }
        }
    closer->first = sums.count >= ENOUGH ? tendency_of(&sums) : UNKNOWN;
}

/* A sample says what the best have at least, so that hardly anybody else is held for a while. */
static float sampled(Asked *asked, Best *best)
{
    const Py_ssize_t wanted = best->wanted, apart = sample_of(asked, wanted);
    if (!apart) return -INFINITY;
    best->wanted = 2 * wanted * BLOCK / apart + SLACK;
    if (asked->closer.rows) sample_closer(&asked->question, &asked->closer, asked->start, asked->end, apart, best);
    else look_through(&asked->question, asked->start, asked->end, apart, best);
    keep_best(best);
    const float least = best->held == best->wanted && !asked->allowed ? best->least : -INFINITY;
    best->held = 0;
    best->wanted = wanted;
    best->least = -INFINITY;
    return least;
}

/* What is left of the question beyond the centre, in tables: along directions, if there are some, and by dimensions. */
static void take_left(Asked *asked)
{
    const Segment *segment = asked->segment;
    for (Py_ssize_t at = 0; at < segment->size; at++) asked->left[at] = asked->vector[at] - segment->centre[at];
    if (!segment->directions) {
        take_question(&asked->question, asked->left, segment->size);
        return;
    }
    take_planes(&asked->closer, asked->left, segment->size);
    take_whole(&asked->whole, asked->left, segment->size);
    for (Py_ssize_t at = 0; at < segment->directions; at++)
        asked->reached[at] = segment->units[at] * asked->whole.scale
                           * (float)product(segment->along + at * segment->size, asked->whole.values, segment->size);
    take_question(&asked->question, asked->reached, segment->directions);
}

/* The vector in tables and in whole numbers, and what the best come to at least. */
static void make_ready(Asked *asked)
{
    if (!asked->places) take_left(asked);
    take_whole(&asked->whole, asked->vector, asked->segment->size);
    asked->best[0].least = asked->best[1].least = -INFINITY;
    if (!asked->places && (!asked->allowed || asked->closer.rows))
        asked->best[0].least = asked->best[1].least = sampled(asked, asked->best);
}
