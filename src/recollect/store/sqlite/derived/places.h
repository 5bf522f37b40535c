/* Where in a segment a term is. */

#pragma once

#include <string.h>
#include "words.h"

/* Where a term is in a segment, or several that begin alike: from which one to before which one. */
typedef struct {
    Py_ssize_t first, last;
} Place;

/* How a term compares with one that is looked for: below 0 if it is before it; LIES if the arrays lie. A term that was
   struck out begins with a zero: STRUCK. */
#define STRUCK 3
#define LIES 2
static int compare(const Segment *segment, Py_ssize_t at, const char *wanted, Py_ssize_t length)
{
    const int64_t start = segment->cuts[at], end = segment->cuts[at + 1];
    if (start < 0 || end < start || end > segment->held[LETTERS].len) return LIES;
    const char *text = (const char *)segment->held[LETTERS].buf + start;
    const Py_ssize_t size = (Py_ssize_t)(end - start), shared = size < length ? size : length;
    if (size && !text[0]) return STRUCK;
    const int order = memcmp(text, wanted, shared);
    return order < 0 || (order == 0 && size < length) ? -1 : order > 0 || size > length;
}

/* The first term that is not before this one; -1 if the arrays lie. */
static Py_ssize_t place_of(const Segment *segment, const char *wanted, Py_ssize_t length)
{
    Py_ssize_t low = 0, high = segment->terms;
    while (low < high) {
        const Py_ssize_t middle = low + (high - low) / 2;
        Py_ssize_t probe = middle;
        int order;
        while ((order = compare(segment, probe, wanted, length)) == STRUCK && probe > low) probe--;
        if (order == LIES) return -1;
        if (order < 0 || order == STRUCK) low = middle + 1;
        else high = probe;
    }
    return low;
}

/* Where what is wanted is: a term, and None or what no longer begins like it. */
static int find_place(const Segment *segment, PyObject *wanted, Place *place)
{
    PyObject *longer;
    const char *term, *beyond;
    Py_ssize_t length, far;
    if (!PyArg_ParseTuple(wanted, "y#O", &term, &length, &longer)) return 0;
    place->first = place->last = place_of(segment, term, length);
    if (longer != Py_None) {
        if (!PyArg_Parse(longer, "y#", &beyond, &far)) return 0;
        place->last = place_of(segment, beyond, far);
    } else if (place->first >= 0 && place->first < segment->terms) {
        const int order = compare(segment, place->first, term, length);
        place->last = order == LIES ? -1 : place->first + (order == 0);
    }
    return (place->first >= 0 && place->last >= place->first) || lying("there is no such term");
}

static PyObject *find(PyObject *self, PyObject *given)
{
    PyObject *capsule, *wanted;
    Place place;
    if (!PyArg_ParseTuple(given, "OO", &capsule, &wanted)) return NULL;
    const Segment *segment = PyCapsule_GetPointer(capsule, NAME);
    return segment && find_place(segment, wanted, &place) ? Py_BuildValue("nn", place.first, place.last) : NULL;
}
