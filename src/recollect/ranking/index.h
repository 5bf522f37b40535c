/* Which place a pair of numbers has. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <stdlib.h>

/* Pairs of numbers, each with a place in the order in which they came: -1 where there is none. */
typedef struct {
    int64_t first, second;
    Py_ssize_t place;
} Slot;

typedef struct {
    Slot *slots;
    Py_ssize_t room, count;
} Index;

static int make_index(Index *index, Py_ssize_t most)
{
    for (index->room = 16; index->room < 2 * most; index->room *= 2) {}
    index->slots = malloc(index->room * sizeof(Slot));
    for (Py_ssize_t at = 0; index->slots && at < index->room; at++) index->slots[at].place = -1;
    return index->slots != NULL;
}

static Slot *slot_of(const Index *index, int64_t first, int64_t second)
{
    uint64_t mixed = ((uint64_t)first * 0x9E3779B97F4A7C15u) ^ ((uint64_t)second * 0xC2B2AE3D27D4EB4Fu);
    for (mixed ^= mixed >> 29;; mixed++) {
        Slot *slot = index->slots + (mixed & (uint64_t)(index->room - 1));
        if (slot->place < 0 || (slot->first == first && slot->second == second)) return slot;
    }
}

/* The place of a pair, which is new if need be. */
static Py_ssize_t place_in(Index *index, int64_t first, int64_t second)
{
    Slot *slot = slot_of(index, first, second);
    if (slot->place < 0) *slot = (Slot){first, second, index->count++};
    return slot->place;
}
