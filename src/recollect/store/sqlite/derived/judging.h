/* What segments tell of a ranking of memories. */

#pragma once

#include "../../packed.h"
#include "processors.h"
#include "words.h"

/* Which memories are told of. */
typedef struct {
    unsigned char kinds;
    long long since, until;
} Within;

enum { UNKNOWN, INSIDE, OUTSIDE, TO_BE_READ };

/* A ranking of memories: what is known of each, and where it stands in the segment that is asked. */
typedef struct {
    Row *rows;
    Py_ssize_t *positions;
    uint8_t *states;
    Py_ssize_t count;
} Judged;

static int take_ranking(Judged *judged, const Py_buffer *ranking)
{
    const Scored *scored = ranking->buf;
    const Py_ssize_t count = judged->count = ranking->len / (Py_ssize_t)sizeof(Scored);
    judged->rows = calloc(count + 1, sizeof(Row));
    judged->positions = malloc((count + 1) * sizeof(Py_ssize_t));
    judged->states = calloc(count + 1, 1);
    if (!judged->rows || !judged->positions || !judged->states) return PyErr_NoMemory() != NULL;
    for (Py_ssize_t at = 0; at < count; at++) {
        judged->rows[at].key = scored[at].key;
        judged->rows[at].score = scored[at].score;
    }
    return 1;
}

/* Those of whom nothing is known yet have to be read if they are among some numbers, which ascend. */
static void leave(Judged *judged, const Py_buffer *numbers)
{
    const Py_ssize_t count = numbers->len / (Py_ssize_t)sizeof(int64_t);
    for (Py_ssize_t at = 0; count && at < judged->count; at++) {
        const Py_ssize_t place = place_among(numbers->buf, 0, count, judged->rows[at].key);
        const int is_in = place < count && ((const int64_t *)numbers->buf)[place] == judged->rows[at].key;
        if (is_in && !judged->states[at]) judged->states[at] = TO_BE_READ;
    }
}

/* Where those who are not known yet stand, of those from one place to another. */
static void find_positions(Judged *judged, const Segment *segment, Py_ssize_t from, Py_ssize_t end)
{
    for (Py_ssize_t at = 0; at < judged->count; at++) {
        judged->positions[at] = -1;
        if (judged->states[at]) continue;
        const int64_t number = judged->rows[at].key;
        const Py_ssize_t position = place_among(segment->numbers, from, end, number);
        if (position >= end || segment->numbers[position] != number) continue;
        judged->positions[at] = position;
        FETCH(segment->lengths + position, 1);
        FETCH(segment->kinds + position, 1);
        FETCH(segment->created + position, 1);
        FETCH(segment->sessions + position, 1);
        FETCH(segment->places + position, 1);
        FETCH(segment->tokens + position, 1);
        FETCH(segment->speakers + position, 1);
    }
}

/* Note what a segment says of those who were found in it; 0 if it lies. */
static int note(Judged *judged, const Segment *segment, const Within *within, Py_ssize_t names, int32_t list)
{
    for (Py_ssize_t at = 0; at < judged->count; at++) {
        const Py_ssize_t position = judged->positions[at];
        if (position < 0 || !segment->lengths[position]) continue;
        const int32_t speaker = segment->speakers[position], place = segment->places[position];
        if (segment->kinds[position] > 7 || speaker < 0 || speaker >= names) return lying("there is no such thing") != NULL;
        Row *row = judged->rows + at;
        const int64_t created = segment->created[position], session = segment->sessions[position];
        const int is_in = within->kinds >> segment->kinds[position] & 1 && created >= within->since && created < within->until;
        judged->states[at] = is_in ? INSIDE : OUTSIDE;
        *row = (Row){row->key, row->score, session > 0 ? session : 0, created, place >= 0 ? place : -1,
                     segment->tokens[position], speaker, list};
    }
    return 1;
}

/* What one segment knows: it, its names, the memories that it has otherwise than they are, and the spans that are meant. */
static int ask_segment(Judged *judged, PyObject *part, const Within *within, int32_t list)
{
    PyObject *capsule, *names, *spans, *whole;
    Py_buffer stale;
    if (!PyArg_ParseTuple(part, "OO!y*O!O", &capsule, &PyList_Type, &names, &stale, &PyList_Type, &spans, &whole)) return 0;
    const Segment *segment = PyCapsule_GetPointer(capsule, NAME);
    leave(judged, &stale);
    PyBuffer_Release(&stale);
    if (!segment) return 0;
    for (Py_ssize_t at = 0; at < PyList_Size(spans); at++) {
        Py_ssize_t start, end;
        if (!PyArg_ParseTuple(PyList_GetItem(spans, at), "nn", &start, &end)) return 0;
        if (start < 0 || end < start || end > segment->memories) return lying("there is no such memory") != NULL;
        find_positions(judged, segment, start, end);
        if (!note(judged, segment, within, PyList_Size(names), list)) return 0;
    }
    return 1;
}

/* Those who are in scope, packed, and the numbers of those who have to be read. */
static PyObject *verdict(Judged *judged)
{
    PyObject *left = PyList_New(0);
    Py_ssize_t kept = 0;
    for (Py_ssize_t at = 0; left && at < judged->count; at++) {
        if (judged->states[at] == INSIDE) judged->rows[kept++] = judged->rows[at];
        else if (judged->states[at] != OUTSIDE) {
            PyObject *number = PyLong_FromLongLong(judged->rows[at].key);
            if (!number || PyList_Append(left, number)) Py_CLEAR(left);
            Py_XDECREF(number);
        }
    }
    return left ? Py_BuildValue("y#N", (const char *)judged->rows, kept * (Py_ssize_t)sizeof(Row), left) : NULL;
}

/* What segments tell of a ranking. */
static PyObject *told(PyObject *self, PyObject *given)
{
    PyObject *parts, *result = NULL;
    Py_buffer ranking, aside;
    Within within;
    if (!PyArg_ParseTuple(given, "y*O!bLLy*", &ranking, &PyList_Type, &parts, &within.kinds, &within.since, &within.until,
                          &aside))
        return NULL;
    Judged judged = {0};
    int is_right = take_ranking(&judged, &ranking);
    if (is_right) leave(&judged, &aside);
    for (Py_ssize_t at = 0; is_right && at < PyList_Size(parts); at++)
        is_right = ask_segment(&judged, PyList_GetItem(parts, at), &within, (int32_t)at);
    if (is_right && !PyErr_Occurred()) result = verdict(&judged);
    free(judged.rows);
    free(judged.positions);
    free(judged.states);
    PyBuffer_Release(&ranking);
    PyBuffer_Release(&aside);
    return result;
}
