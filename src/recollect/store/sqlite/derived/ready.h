/* What must be known of a question before anybody is looked at. */

#pragma once

#include "asked.h"

#define SAMPLED 12
#define SLACK 16
#define GROUPS 96
#define ENOUGH 128 /* a sample of fewer says nothing about the rest */
#define MORE 10 /* so many times as many as are looked at closely are looked at by their rows */

/* How far apart the blocks of a sample are; 0 if it would be too large a part of all. */
static Py_ssize_t sample_of(const Asked *asked, Py_ssize_t wanted)
{
    const Py_ssize_t apart = (asked->end - asked->start) / SAMPLED / BLOCK * BLOCK;
    return apart < 2 * BLOCK || 2 * wanted * BLOCK / apart + SLACK >= wanted ? 0 : apart;
}

/* Who is looked at by their rows: those who seem nearest along directions, by a sample of those who may answer. */
static void sample_directions(Asked *asked)
{
    const Py_ssize_t span = asked->end - asked->start, apart = span / GROUPS / TOGETHER * TOGETHER;
    Best sample;
    Py_ssize_t seen = 0;
    if (apart > TOGETHER && make_room(&sample, (GROUPS + 2) * TOGETHER)) {
        Question anyone = asked->question;
        anyone.allowed = NULL;
        for (Py_ssize_t at = (asked->start / TOGETHER + 1) * TOGETHER; at + TOGETHER <= asked->end; at += apart) {
            float found[TOGETHER];
            promising(&anyone, at, at + TOGETHER, -INFINITY, found);
            seen += TOGETHER;
            for (Py_ssize_t place = at; place < at + TOGETHER; place++)
                if (asked->segment->scale[place] > 0 && (!asked->allowed || asked->allowed[place - asked->start]))
                    take(&sample, found[place - at], place);
        }
        const double share = (double)(MORE * asked->best->wanted) / (double)span;
        const Py_ssize_t surpassing = (Py_ssize_t)(share * (double)seen);
        if (sample.held >= ENOUGH && surpassing > 0 && surpassing < sample.held) {
            put_first(&sample, surpassing);
            asked->closer.least = nextafterf(sample.scores[surpassing - 1], -INFINITY); /* any number may be as near as that */
        }
    }
    if (apart > TOGETHER) free_room(&sample);
}

/* A sample says what the best have at least, so that hardly anybody else is held for a while. */
static float sampled(Asked *asked, Best *best)
{
    const Py_ssize_t wanted = best->wanted, apart = sample_of(asked, wanted);
    if (!apart) return -INFINITY;
    best->wanted = 2 * wanted * BLOCK / apart + SLACK;
    look_through(&asked->question, asked->start, asked->end, apart, best);
    keep_best(best);
    const float least = best->held == best->wanted ? best->least : -INFINITY;
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
    if (!asked->places && asked->closer.rows) {
        sample_directions(asked);
        asked->tendency = tendency_among(asked);
    } else if (!asked->places && !asked->allowed) asked->best[0].least = asked->best[1].least = sampled(asked, asked->best);
}
