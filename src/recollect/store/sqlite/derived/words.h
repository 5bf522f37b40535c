/* A segment of words: its arrays. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <stdlib.h>

#define COLUMNS 13

/* The arrays of a segment, in the order in which they are given. Memories stand by position, terms in their order. */
enum { NUMBERS, LENGTHS, KINDS, CREATED, SESSIONS, PLACES, TOKENS, SPEAKERS, DOCS, CODES, OFFSETS, CUTS, LETTERS };

static const Py_ssize_t WIDTHS[COLUMNS] = {8, 4, 1, 8, 8, 4, 4, 4, 4, 2, 8, 8, 1};

typedef struct {
    Py_buffer held[COLUMNS];
    Py_ssize_t taken, memories, occurrences, terms;
    const int64_t *numbers, *created, *sessions, *offsets, *cuts;
    const int32_t *lengths, *places, *tokens, *speakers, *docs;
    const uint16_t *codes;
    const uint8_t *kinds;
} Segment;

static const char NAME[] = "recollect.words";

static void *lying(const char *what)
{
    PyErr_SetString(PyExc_IndexError, what);
    return NULL;
}

static void let_go(Segment *segment)
{
    while (segment->taken) PyBuffer_Release(segment->held + --segment->taken);
    free(segment);
}

static void drop(PyObject *capsule)
{
    let_go(PyCapsule_GetPointer(capsule, NAME));
}

static int fits(const Segment *segment)
{
    for (int column = NUMBERS; column <= SPEAKERS; column++)
        if (segment->held[column].len != segment->memories * WIDTHS[column]) return 0;
    return segment->held[CODES].len == segment->occurrences * WIDTHS[CODES] && segment->terms >= 0
        && segment->held[CUTS].len == segment->held[OFFSETS].len;
}

/* A segment that is asked again and again, from its arrays. */
static PyObject *hold(PyObject *self, PyObject *given)
{
    Segment *segment = calloc(1, sizeof(Segment));
    if (!segment) return PyErr_NoMemory();
    Py_buffer *held = segment->held;
    for (; segment->taken < COLUMNS; segment->taken++) {
        PyObject *array = PyTuple_GetItem(given, segment->taken);
        if (!array || PyObject_GetBuffer(array, held + segment->taken, PyBUF_SIMPLE)) {
            let_go(segment);
            return NULL;
        }
    }
    segment->memories = held[NUMBERS].len / WIDTHS[NUMBERS];
    segment->occurrences = held[DOCS].len / WIDTHS[DOCS];
    segment->terms = held[CUTS].len / WIDTHS[CUTS] - 1;
    segment->numbers = held[NUMBERS].buf;
    segment->lengths = held[LENGTHS].buf;
    segment->kinds = held[KINDS].buf;
    segment->created = held[CREATED].buf;
    segment->sessions = held[SESSIONS].buf;
    segment->places = held[PLACES].buf;
    segment->tokens = held[TOKENS].buf;
    segment->speakers = held[SPEAKERS].buf;
    segment->docs = held[DOCS].buf;
    segment->codes = held[CODES].buf;
    segment->offsets = held[OFFSETS].buf;
    segment->cuts = held[CUTS].buf;
    PyObject *capsule = fits(segment) ? PyCapsule_New(segment, NAME, drop) : lying("the arrays do not fit each other");
    if (!capsule) let_go(segment);
    return capsule;
}
