/* What is looked for in several segments, and what each term of it counts. */

#pragma once

#include <math.h>
#include "lists.h"

#define LEAST 1e-6 /* what a word counts that more than half of all memories have */

/* A segment that is searched: its spans, each with flags that say who may answer (or None: all may), everyone who no
   longer holds, and where each of the wanted terms is. */
typedef struct {
    const Segment *segment;
    PyObject *spans, *permitted;
    Py_buffer masked;
    Place *places;
} Leaf;

/* A question to the words of several segments. */
typedef struct {
    Leaf *leaves;
    double *rarity;
    Py_ssize_t count, terms;
} Search;

static int take_leaf(Leaf *leaf, PyObject *given, PyObject *wanted)
{
    PyObject *capsule, *segment;
    if (!PyArg_ParseTuple(given, "OO!O!y*O", &capsule, &PyList_Type, &leaf->spans, &PyList_Type, &leaf->permitted,
                          &leaf->masked, &segment))
        return 0;
    leaf->segment = PyCapsule_GetPointer(capsule, NAME);
    if (!leaf->segment) return 0;
    leaf->places = malloc((PyList_Size(wanted) + 1) * sizeof(Place));
    if (!leaf->places) return PyErr_NoMemory() != NULL;
    for (Py_ssize_t at = 0; at < PyList_Size(wanted); at++)
        if (!find_place(leaf->segment, PyList_GetItem(wanted, at), leaf->places + at)) return 0;
    return 1;
}

/* Add how many memories of a segment have each of the terms. */
static int add_having(const Leaf *leaf, Py_ssize_t *having, Py_ssize_t count)
{
    Term *terms = take_terms(leaf->segment, leaf->places, NULL, count, 0, leaf->segment->memories);
    uint8_t *met = terms ? malloc(leaf->segment->memories / 8 + 1) : NULL;
    for (Py_ssize_t at = 0; met && at < count && !PyErr_Occurred(); at++) {
        const Py_ssize_t found = count_having(leaf->segment, terms + at, &leaf->masked, met);
        if (found < 0) lying("there is no such memory");
        having[at] += found;
    }
    if (terms && !met) PyErr_NoMemory();
    free(met);
    if (terms) free_terms(terms, count);
    return !PyErr_Occurred();
}

/* Look up the wanted terms, and reckon what each of them counts in a store of so many memories. */
static int take_search(Search *search, PyObject *leaves, PyObject *wanted, Py_ssize_t memories)
{
    search->terms = PyList_Size(wanted);
    search->leaves = calloc(PyList_Size(leaves) + 1, sizeof(Leaf));
    search->rarity = malloc((search->terms + 1) * sizeof(double));
    Py_ssize_t *having = calloc(search->terms + 1, sizeof(Py_ssize_t));
    if (!search->leaves || !search->rarity || !having) PyErr_NoMemory();
    while (!PyErr_Occurred() && search->count < PyList_Size(leaves)) {
        Leaf *leaf = search->leaves + search->count++;
        if (take_leaf(leaf, PyList_GetItem(leaves, search->count - 1), wanted)) add_having(leaf, having, search->terms);
    }
    for (Py_ssize_t at = 0; !PyErr_Occurred() && at < search->terms; at++) {
        const double others = (double)(memories - having[at]) + 0.5;
        const double rarity = log((others > LEAST ? others : LEAST) / ((double)having[at] + 0.5));
        search->rarity[at] = rarity > 0 ? rarity : LEAST;
    }
    free(having);
    return !PyErr_Occurred();
}

static void free_search(Search *search)
{
    for (Py_ssize_t at = 0; search->leaves && at < search->count; at++) {
        PyBuffer_Release(&search->leaves[at].masked);
        free(search->leaves[at].places);
    }
    free(search->leaves);
    free(search->rarity);
}

/* What each of the wanted terms counts in a store of so many memories. */
static PyObject *rarity(PyObject *self, PyObject *given)
{
    PyObject *leaves, *wanted, *result = NULL;
    Py_ssize_t memories;
    Search search = {0};
    if (!PyArg_ParseTuple(given, "O!O!n", &PyList_Type, &leaves, &PyList_Type, &wanted, &memories)) return NULL;
    if (take_search(&search, leaves, wanted, memories)) result = PyList_New(search.terms);
    for (Py_ssize_t at = 0; result && at < search.terms; at++)
        PyList_SetItem(result, at, PyFloat_FromDouble(search.rarity[at]));
    free_search(&search);
    return result;
}
