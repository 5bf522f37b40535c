/* The inner loops over a segment's words. matching.py says what each is for and has the same in numpy.

   Whatever a file says is data: every position and code that is read from one is checked before it is used,
   and a wrong one raises IndexError, as numpy does. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "judging.h"
#include "places.h"
#include "processors.h"
#include "ranking.h"
#include "sought.h"
#include "words.h"

/* How the occurrences of terms are counted. */
typedef struct {
    Py_buffer weights;
    double average;
} Counting;

/* Add the best of one span, from where to where it is and who in it may answer. */
static int search_span(const Search *search, const Leaf *leaf, PyObject *span, PyObject *flags, const Counting *counting,
                       Ranking *ranking)
{
    const Segment *segment = leaf->segment;
    Py_buffer permitted = {0};
    Py_ssize_t start, end;
    if (!PyArg_ParseTuple(span, "nn", &start, &end)) return 0;
    if (flags && flags != Py_None && PyObject_GetBuffer(flags, &permitted, PyBUF_SIMPLE)) return 0;
    Term *terms = NULL, **order = NULL;
    if (start < 0 || end < start || end > segment->memories || (permitted.buf && permitted.len != end - start))
        lying("the arrays do not fit each other");
    else if ((terms = take_terms(segment, leaf->places, search->rarity, search->terms, start, end))
             && !(order = rarest_first(terms, search->terms)))
        PyErr_NoMemory();
    const Matching matching = {segment, terms, order, search->terms, start, end - start,
                               counting->weights.len / (Py_ssize_t)sizeof(float), counting->weights.buf, permitted.buf,
                               counting->average, ranking->most};
    if (order) add_best(&matching, ranking);
    free(order);
    free_terms(terms, search->terms);
    PyBuffer_Release(&permitted);
    return !PyErr_Occurred();
}

/* The best memories of several segments that have any of the wanted terms, the last few of which count twice. */
static PyObject *search(PyObject *self, PyObject *given)
{
    PyObject *leaves, *wanted, *result = NULL;
    Py_ssize_t memories, doubled;
    Search search = {0};
    Counting counting;
    Ranking ranking = {0};
    if (!PyArg_ParseTuple(given, "O!O!nndy*n", &PyList_Type, &leaves, &PyList_Type, &wanted, &doubled, &memories,
                          &counting.average, &counting.weights, &ranking.most))
        return NULL;
    if (ranking.most < 1) lying("nothing is wanted");
    else if (take_search(&search, leaves, wanted, memories)) {
        for (Py_ssize_t at = search.terms - doubled; at < search.terms; at++)
            if (at >= 0) search.rarity[at] *= 2;
        for (Py_ssize_t at = 0; at < search.count && !PyErr_Occurred(); at++) {
            const Leaf *leaf = search.leaves + at;
            for (Py_ssize_t span = 0; span < PyList_Size(leaf->spans); span++)
                if (!search_span(&search, leaf, PyList_GetItem(leaf->spans, span), PyList_GetItem(leaf->permitted, span),
                                 &counting, &ranking))
                    break;
        }
        if (!PyErr_Occurred())
            result = PyBytes_FromStringAndSize((const char *)ranking.scored, ranking.held * (Py_ssize_t)sizeof(Scored));
    }
    free(ranking.scored);
    free_search(&search);
    PyBuffer_Release(&counting.weights);
    return result;
}

/* Where those of the wanted numbers (ascending) stand that are in a span of numbers that ascend. */
static PyObject *positions(PyObject *self, PyObject *given)
{
    Py_buffer numbers, wanted;
    Py_ssize_t start, end, kept = 0;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(given, "y*nny*", &numbers, &start, &end, &wanted)) return NULL;
    const Py_ssize_t count = wanted.len / (Py_ssize_t)sizeof(int64_t);
    const int64_t *here = numbers.buf, *sought = wanted.buf;
    int64_t *found = malloc((count + 1) * sizeof(int64_t));
    if (!found) PyErr_NoMemory();
    else if (start < 0 || end < start || end > numbers.len / (Py_ssize_t)sizeof(int64_t)) lying("there is no such memory");
    else {
        for (Py_ssize_t at = 0, from = start; at < count; at++) {
            from = place_among(here, from, end, sought[at]);
            if (from < end && here[from] == sought[at]) found[kept++] = from;
        }
        result = PyBytes_FromStringAndSize((const char *)found, kept * (Py_ssize_t)sizeof(int64_t));
    }
    free(found);
    PyBuffer_Release(&numbers);
    PyBuffer_Release(&wanted);
    return result;
}

static PyMethodDef methods[] = {
    {"hold", hold, METH_VARARGS, NULL},     {"find", find, METH_VARARGS, NULL},
    {"search", search, METH_VARARGS, NULL}, {"rarity", rarity, METH_VARARGS, NULL},
    {"told", told, METH_VARARGS, NULL},     {"positions", positions, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_matching", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__matching(void)
{
    return PyModuleDef_Init(&module);
}
