/* Who may be among the best, and what Python is told of them. */

#pragma once

#include <math.h>
#include "mixed.h"

/* Who says it; None if nobody does. */
static PyObject *speaker_of(const Item *item)
{
    PyObject *names = PySequence_GetItem(item->leg->names, item->row->names);
    PyObject *speaker = names ? PySequence_GetItem(names, item->row->speaker) : NULL;
    Py_XDECREF(names);
    return speaker;
}

/* Whether somebody else than those who are meant says it. */
static int is_of_another(const Item *item, const Rules *rules)
{
    if (!PySet_Size(rules->meant)) return 0;
    PyObject *speaker = speaker_of(item);
    const int is_meant = !speaker || speaker == Py_None ? 1 : PySet_Contains(rules->meant, speaker);
    Py_XDECREF(speaker);
    return is_meant == 0;
}

/* What an item comes to at the most: how it stands is not known yet. */
static double value_of(const Item *item, const Rules *rules)
{
    const double created = (double)item->row->created;
    const double days = fmax(0, ((double)rules->now - created) / 1000000 / 86400);
    double value = item->total * (1 - rules->recency * (1 - exp(-0.05 * days)));
    if (is_of_another(item, rules)) value *= rules->another_speaker;
    if (rules->prefers && (created < (double)rules->since || created >= (double)rules->until)) value *= rules->outside_time;
    return value;
}

static int is_before(const Item *one, const Item *other)
{
    return one->total != other->total ? one->total > other->total : one < other;
}

/* Of many only the best few are wanted in order: a heap, from one place of which downwards nothing is in order yet. */
static void sink(const Item **heap, Py_ssize_t count, Py_ssize_t at)
{
    const Item *item = heap[at];
    for (Py_ssize_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_before(heap[child + 1], heap[child])) child++;
        if (is_before(item, heap[child])) break;
        heap[at] = heap[child];
    }
    heap[at] = item;
}

/* Take the best out of a heap of so many, and put it behind those who are left. */
static const Item *take_best(const Item **heap, Py_ssize_t count)
{
    const Item *best = heap[0];
    heap[0] = heap[count - 1];
    heap[count - 1] = best;
    sink(heap, count - 1, 0);
    return best;
}

/* A smaller one at the top of the heap gives way; while there is room, none has to. */
static void push(double *heap, Py_ssize_t *held, Py_ssize_t room, double value)
{
    Py_ssize_t at = *held;
    if (at < room) {
        for (++*held; at && heap[(at - 1) / 2] > value; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
        heap[at] = value;
        return;
    }
    if (value <= heap[0]) return;
    for (at = 0;;) {
        Py_ssize_t child = 2 * at + 1;
        if (child + 1 < room && heap[child + 1] < heap[child]) child++;
        if (child >= room || heap[child] >= value) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = value;
}

/* What a leg said: a rank, a score, a share; None for nothing. */
static PyObject *opinion(Py_ssize_t rank, double score, double share)
{
    return rank ? Py_BuildValue("ndd", rank, score, share) : Py_NewRef(Py_None);
}

/* A number; None for what is below the least. */
static PyObject *number(long long value, long long least)
{
    return value < least ? Py_NewRef(Py_None) : PyLong_FromLongLong(value);
}

/* The candidate that an item is, in the order of its fields. */
static PyObject *candidate(const Item *item)
{
    const Row *row = item->row;
    return Py_BuildValue("LdNNNiL", (long long)row->key, row->score, number(row->session, 1), number(row->place, 0),
                         speaker_of(item), row->tokens, (long long)row->created);
}

/* An item as Python takes it: the candidate, whether it is in the semantic leg and where in its leg it stands, its base,
   what each leg said, what it was lent, what it comes to at the most. */
static PyObject *told(const Mixed *mixed, const Item *item, double most)
{
    const Py_ssize_t nearness = item->nearness ? item->nearness : item->is_similar ? mixed->near + 1 : 0;
    PyObject *words = opinion(item->rank, item->score, mixed->weight_of_words * item->by_words * mixed->scale);
    PyObject *meaning =
        opinion(nearness, item->similarity, mixed->weight_of_meaning * item->by_meaning * mixed->scale);
    return Py_BuildValue("NindNNdd", candidate(item), item->nearness > 0, item->row - item->leg->rows, item->base, words,
                         meaning, item->lent, most);
}

/* Those who may be among the best, in order. */
static PyObject *may_win(Mixed *mixed, const Rules *rules)
{
    const Item **order = malloc((mixed->count + 1) * sizeof(Item *));
    double *values = malloc((mixed->count + 1) * sizeof(double)), *heap = malloc((rules->limit + 1) * sizeof(double));
    PyObject *result = order && values && heap ? PyList_New(0) : PyErr_NoMemory();
    Py_ssize_t left = 0, seen = 0, held = 0;
    for (Py_ssize_t at = 0; result && at < mixed->count; at++)
        if (!rules->drops_nothing || mixed->items[at].total > 0 || mixed->items[at].rank) order[left++] = mixed->items + at;
    for (Py_ssize_t at = left / 2 - 1; result && at >= 0; at--) sink(order, left, at);
    for (; result && seen < left && (held < rules->limit || order[0]->total >= heap[0]); seen++) {
        values[seen] = value_of(take_best(order, left - seen), rules);
        push(heap, &held, rules->limit, values[seen] * rules->least);
    }
    for (Py_ssize_t at = 0; result && at < seen; at++) {
        if (held == rules->limit && values[at] < heap[0]) continue;
        PyObject *item = told(mixed, order[left - 1 - at], values[at]);
        if (!item || PyList_Append(result, item)) Py_CLEAR(result);
        Py_XDECREF(item);
    }
    free(order);
    free(values);
    free(heap);
    if (PyErr_Occurred()) Py_CLEAR(result);
    return result ? Py_BuildValue("nN", left, result) : NULL;
}
