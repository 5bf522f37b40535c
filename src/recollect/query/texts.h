/* Texts that are held, so that they can be read while other threads have the interpreter. */

#pragma once

#include <Python.h>
#include <stdlib.h>

/* So many characters are worth letting other threads go on: it may take a while until it is our turn again. */
#define ENOUGH 10000

typedef struct {
    const char *bytes;
    Py_ssize_t length;
} Text;

typedef struct {
    PyObject *held; /* a tuple, so that nobody takes a text away while it is read */
    Text *each;
    Py_ssize_t count, length;
} Texts;

static void let_go(Texts *texts)
{
    Py_CLEAR(texts->held);
    free(texts->each);
    texts->each = NULL;
}

/* The bytes of texts, as `bytes_of` gives them; -1 with an error set. */
static int hold(PyObject *given, Texts *texts, const char *(*bytes_of)(PyObject *, Py_ssize_t *))
{
    *texts = (Texts){PySequence_Tuple(given), NULL, 0, 0};
    if (!texts->held) return -1;
    texts->count = PyTuple_Size(texts->held);
    texts->each = calloc(texts->count + 1, sizeof(Text));
    int failed = !texts->each;
    if (failed) PyErr_NoMemory();
    for (Py_ssize_t at = 0; !failed && at < texts->count; at++) {
        texts->each[at].bytes = bytes_of(PyTuple_GetItem(texts->held, at), &texts->each[at].length);
        failed = !texts->each[at].bytes;
        texts->length += texts->each[at].length;
    }
    if (failed) let_go(texts);
    return failed ? -1 : 0;
}

static PyThreadState *let_others_go_on(const Texts *texts) { return texts->length < ENOUGH ? NULL : PyEval_SaveThread(); }

static void go_on(PyThreadState *left)
{
    if (left) PyEval_RestoreThread(left);
}
