/* A segment of vectors: its arrays, and how near one that stands there is. */

#pragma once

#include "rows.h"
#include "wholes.h"
#ifdef THREADS
#include <fcntl.h>
#include <unistd.h>
#endif

#define AHEAD 24
#define FINER 254.0f

/* The arrays of a segment, in the order in which they are given: a vector a row or an element, but for the frame. */
enum { SIGNS, TRUST, OFFSET, BYTES, SCALE, FINE, ROWS, NUMBERS, MEMORIES, CENTRE, DIRECTIONS, UNITS, RANGES, COLUMNS };

typedef struct {
    Py_buffer held[COLUMNS];
    int taken;
    Py_ssize_t count, size, directions;
    const uint8_t *signs, *rows;
    const int8_t *bytes, *fine, *along;
    const float *trust, *offset, *scale, *centre, *units, *ranges;
    const int64_t *numbers, *memories;
    int file; /* where the fine bytes are read, from a place on; below 0: they are looked at where they are mapped */
    long long place;
} Segment;

static const char NAME[] = "recollect.vectors";

static void *lying(void)
{
    PyErr_SetString(PyExc_IndexError, "the arrays do not fit each other");
    return NULL;
}

static void let_go(Segment *segment)
{
    while (segment->taken) PyBuffer_Release(segment->held + --segment->taken);
#ifdef THREADS
    if (segment->file >= 0) close(segment->file);
#endif
    free(segment);
}

static void drop(PyObject *capsule)
{
    let_go(PyCapsule_GetPointer(capsule, NAME));
}

/* How many bytes of signs each has that are looked at first. */
static Py_ssize_t eights(const Segment *segment)
{
    return segment->directions ? segment->directions / 8 : (segment->size + 7) / 8;
}

static int fits(const Segment *segment)
{
    const Py_buffer *held = segment->held;
    const Py_ssize_t floats = segment->count * (Py_ssize_t)sizeof(float), has_rows = segment->directions > 0;
    const Py_ssize_t groups = (segment->count + TOGETHER - 1) / TOGETHER;
    return held[TRUST].len == (has_rows ? 0 : floats) && held[OFFSET].len == held[TRUST].len
        && held[NUMBERS].len == 2 * floats && held[MEMORIES].len == 2 * floats
        && held[DIRECTIONS].len == segment->directions * segment->size && segment->directions % 8 == 0
        && held[RANGES].len == has_rows * 4 * (Py_ssize_t)sizeof(float)
        && held[ROWS].len == has_rows * segment->count * row_size(segment->size)
        && held[BYTES].len == segment->count * segment->size && held[FINE].len == held[BYTES].len
        && held[SIGNS].len == groups * (eights(segment) + 2 * has_rows) * TOGETHER;
}

/* Where the fine bytes are read; the descriptor is copied. */
static int take_file(Segment *segment, PyObject *file, PyObject *place)
{
    const long given = PyLong_AsLong(file);
    segment->place = PyLong_AsLongLong(place);
#ifdef THREADS
    if (given >= 0 && segment->place >= 0) segment->file = fcntl((int)given, F_DUPFD_CLOEXEC, 3);
#endif
    return !PyErr_Occurred();
}

/* A segment that is asked again and again, from a file and its arrays. */
static PyObject *hold(PyObject *self, PyObject *given)
{
    Segment *segment = calloc(1, sizeof(Segment));
    if (!segment) return PyErr_NoMemory();
    Py_buffer *held = segment->held;
    segment->file = -1;
    for (; segment->taken < COLUMNS; segment->taken++) {
        PyObject *array = PyTuple_GetItem(given, segment->taken + 2);
        if (!array || PyObject_GetBuffer(array, held + segment->taken, PyBUF_SIMPLE)) {
            let_go(segment);
            return NULL;
        }
    }
    segment->count = held[SCALE].len / (Py_ssize_t)sizeof(float);
    segment->size = held[CENTRE].len / (Py_ssize_t)sizeof(float);
    segment->directions = held[UNITS].len / (Py_ssize_t)sizeof(float);
    segment->signs = held[SIGNS].buf;
    segment->rows = held[ROWS].buf;
    segment->along = held[DIRECTIONS].buf;
    segment->units = held[UNITS].buf;
    segment->ranges = held[RANGES].buf;
    segment->trust = held[TRUST].buf;
    segment->offset = held[OFFSET].buf;
    segment->bytes = held[BYTES].buf;
    segment->scale = held[SCALE].buf;
    segment->fine = held[FINE].buf;
    segment->numbers = held[NUMBERS].buf;
    segment->memories = held[MEMORIES].buf;
    segment->centre = held[CENTRE].buf;
    PyObject *capsule = fits(segment) ? PyCapsule_New(segment, NAME, drop) : lying();
    if (!capsule) let_go(segment);
    else if (!take_file(segment, PyTuple_GetItem(given, 0), PyTuple_GetItem(given, 1))) Py_CLEAR(capsule);
    return capsule;
}

/* How near the vector at a place is, by its bytes; a whole vector's product with the centre is the same for all. */
static float near_by_bytes(const Segment *segment, int64_t place, const Whole *vector)
{
    const float whole = (float)product(segment->bytes + place * segment->size, vector->values, segment->size);
    return segment->scale[place] * (vector->scale * whole);
}

static void fetch_bytes(const Segment *segment, int64_t place)
{
    FETCH(segment->bytes + place * segment->size, segment->size);
    FETCH(segment->scale + place, 1);
}

static float product_with_centre(const Segment *segment, const float *vector)
{
    float sum = 0;
    for (Py_ssize_t at = 0; at < segment->size; at++) sum += vector[at] * segment->centre[at];
    return sum;
}

/* What the fine bytes of one add; `row` is room for them. NaN if they can't be read. */
static float finer(const Segment *segment, int64_t place, const Whole *vector, int8_t *row)
{
    const int8_t *fine = segment->fine + place * segment->size;
#ifdef THREADS
    if (segment->file >= 0) {
        const off_t from = (off_t)(segment->place + place * segment->size);
        if (pread(segment->file, row, segment->size, from) != segment->size) return NAN;
        fine = row;
    }
#endif
    return segment->scale[place] * (vector->scale * (float)product(fine, vector->values, segment->size)) / FINER;
}

/* The best of those at some places, from one to another, each of which is looked at closely; who was struck out is nobody. */
static void look_at_places(const Segment *segment, const Whole *vector, const int64_t *places, Py_ssize_t first,
                           Py_ssize_t last, Best *best)
{
    for (Py_ssize_t at = first - AHEAD; at < last; at++) {
        if (at + AHEAD < last) fetch_bytes(segment, places[at + AHEAD]);
        if (at < first) continue;
        const int64_t place = places[at];
        const float score = near_by_bytes(segment, place, vector);
        if (!(segment->scale[place] > 0) || !(score >= best->least)) continue;
        best->scores[best->held] = score;
        best->places[best->held++] = place;
        if (best->held == best->room) keep_best(best);
    }
}

/* How near those at some places are by their bytes; NaN for who was struck out. */
static void look_at_bytes(const Segment *segment, const Whole *vector, const int64_t *places, Py_ssize_t count, float *scores)
{
    for (Py_ssize_t at = -AHEAD; at < count; at++) {
        if (at + AHEAD < count) fetch_bytes(segment, places[at + AHEAD]);
        if (at >= 0) scores[at] = segment->scale[places[at]] > 0 ? near_by_bytes(segment, places[at], vector) : NAN;
    }
}

/* What the fine bytes of those at some places add; NaN where that is not known. */
static void look_at_fine(const Segment *segment, const Whole *vector, const int64_t *places, Py_ssize_t count, float *scores)
{
    int8_t *row = malloc(segment->size + 1);
    for (Py_ssize_t at = 0; at < count; at++) scores[at] = row ? finer(segment, places[at], vector, row) : NAN;
    free(row);
}
