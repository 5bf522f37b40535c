/* The highest of many scores, and where they stand, while more of them come. */

#pragma once

#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BINS 256

typedef struct {
    float *scores;
    int64_t *places;
    Py_ssize_t held, wanted, room;
    float least;
} Best;

static void exchange(Best *best, Py_ssize_t one, Py_ssize_t other)
{
    const float score = best->scores[one];
    const int64_t place = best->places[one];
    best->scores[one] = best->scores[other];
    best->places[one] = best->places[other];
    best->scores[other] = score;
    best->places[other] = place;
}

/* In which of the bins a score is, the highest first. */
static inline int bin_of(float score, float highest, float scale)
{
    const float bin = (highest - score) * scale;
    return bin < BINS ? (int)bin : BINS - 1;
}

/* Put those first who are surely among the wanted, and those last who surely are not. The others stand between `low` and
   `high` then. No step of it depends on what the last one found, so it is far quicker than comparing them. */
static void put_apart(Best *best, Py_ssize_t wanted, Py_ssize_t *low, Py_ssize_t *high)
{
    const Py_ssize_t held = best->held;
    float highest = -INFINITY, lowest = INFINITY;
    for (Py_ssize_t at = 0; at < held; at++) {
        highest = best->scores[at] > highest ? best->scores[at] : highest;
        lowest = best->scores[at] < lowest ? best->scores[at] : lowest;
    }
    const float scale = BINS / (highest - lowest);
    float *scores = isfinite(scale) ? malloc(held * sizeof(float)) : NULL;
    int64_t *places = scores ? malloc(held * sizeof(int64_t)) : NULL;
    if (places) {
        Py_ssize_t counts[BINS] = {0}, next[3] = {0};
        for (Py_ssize_t at = 0; at < held; at++) counts[bin_of(best->scores[at], highest, scale)]++;
        int last = 0;
        while (next[1] + counts[last] < wanted) next[1] += counts[last++];
        next[2] = next[1] + counts[last];
        *low = next[1];
        *high = next[2] - 1;
        for (Py_ssize_t at = 0; at < held; at++) {
            const int bin = bin_of(best->scores[at], highest, scale);
            const Py_ssize_t to = next[(bin >= last) + (bin > last)]++;
            scores[to] = best->scores[at];
            places[to] = best->places[at];
        }
        memcpy(best->scores, scores, held * sizeof(float));
        memcpy(best->places, places, held * sizeof(int64_t));
    }
    free(scores);
    free(places);
}

/* Put so many of the highest first, in no order, the lowest of them last (Hoare's selection). */
static void put_first(Best *best, Py_ssize_t wanted)
{
    Py_ssize_t low = 0, high = best->held - 1;
    if (wanted <= best->held && best->held > BINS) put_apart(best, wanted, &low, &high);
    while (low < high) {
        const float pivot = best->scores[low + (high - low) / 2];
        Py_ssize_t left = low, right = high;
        while (left <= right) {
            while (best->scores[left] > pivot) left++;
            while (best->scores[right] < pivot) right--;
            if (left <= right) exchange(best, left++, right--);
        }
        if (wanted - 1 <= right) high = right;
        else if (wanted - 1 >= left) low = left;
        else break;
    }
}

/* Keep the wanted number of the highest, if there are more, and note the lowest of them. */
static void keep_best(Best *best)
{
    if (best->held <= best->wanted) return;
    put_first(best, best->wanted);
    best->held = best->wanted;
    best->least = best->scores[best->wanted - 1];
}

/* Keep so many of the highest, if there are more. */
static void leave(Best *best, Py_ssize_t most)
{
    if (best->held <= most) return;
    put_first(best, most);
    best->held = most;
}

static void take(Best *best, float score, int64_t place)
{
    best->scores[best->held] = score;
    best->places[best->held++] = place;
    if (best->held == best->room) keep_best(best);
}

static int make_room(Best *best, Py_ssize_t wanted)
{
    *best = (Best){NULL, NULL, 0, wanted, 4 * wanted, -INFINITY};
    best->scores = malloc(best->room * sizeof(float));
    best->places = malloc(best->room * sizeof(int64_t));
    return best->scores && best->places;
}

static void free_room(Best *best)
{
    free(best->scores);
    free(best->places);
}
