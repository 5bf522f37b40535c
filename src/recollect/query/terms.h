/* The terms of one text, as Python has them. */

#pragma once

#include <Python.h>
#include "chunks.h"

static PyObject *in_lower_case(const char *bytes, Py_ssize_t length)
{
    char few[64] = "", *many = length > (Py_ssize_t)sizeof few ? PyMem_Malloc(length) : few;
    if (!many) return PyErr_NoMemory();
    for (Py_ssize_t at = 0; at < length; at++) many[at] = lowered[(unsigned char)bytes[at]];
    PyObject *made = PyUnicode_FromStringAndSize(many, length);
    if (many != few) PyMem_Free(many);
    return made;
}

/* A list of the terms themselves; `words` has those of words in lower case. */
typedef struct {
    Sink sink;
    PyObject *found, *words;
} Listed;

static int list_word(Sink *sink, const char *word, Py_ssize_t length)
{
    const Listed *to = (Listed *)sink;
    PyObject *key = in_lower_case(word, length);
    PyObject *term = key ? PyDict_GetItemWithError(to->words, key) : NULL;
    Py_XINCREF(term);
    if (key && !term && !PyErr_Occurred()) term = PyObject_GetItem(to->words, key);
    const int failed = term ? PyList_Append(to->found, term) : -1;
    Py_XDECREF(key);
    Py_XDECREF(term);
    return failed;
}

static int list_as_is(Sink *sink, const char *term, Py_ssize_t length)
{
    PyObject *made = in_lower_case(term, length);
    const int failed = made ? PyList_Append(((Listed *)sink)->found, made) : -1;
    Py_XDECREF(made);
    return failed;
}

/* A chunk's terms, a tuple. */
static PyObject *terms_of_chunk(const char *chunk, Py_ssize_t length, PyObject *words, Py_ssize_t longest)
{
    Listed to = {{list_word, list_as_is}, PyList_New(0), words};
    if (!to.found) return NULL;
    const int failed = add_chunk(&to.sink, chunk, length, longest);
    if (failed && !PyErr_Occurred()) PyErr_NoMemory();
    PyObject *made = failed ? NULL : PyList_AsTuple(to.found);
    Py_DECREF(to.found);
    return made;
}

/* A chunk's terms as `known` has them, which learns them here; it never has more than so many chunks. */
static PyObject *terms_known(
    const char *bytes, Py_ssize_t length, PyObject *known, PyObject *words, Py_ssize_t longest, Py_ssize_t most)
{
    PyObject *chunk = PyUnicode_FromStringAndSize(bytes, length);
    PyObject *its = chunk ? PyDict_GetItemWithError(known, chunk) : NULL;
    Py_XINCREF(its);
    if (!its && !PyErr_Occurred()) {
        its = terms_of_chunk(bytes, length, words, longest);
        if (PyDict_Size(known) >= most) PyDict_Clear(known);
        if (its && PyDict_SetItem(known, chunk, its) < 0) Py_CLEAR(its);
    }
    Py_XDECREF(chunk);
    if (its && !PyTuple_Check(its)) {
        PyErr_SetString(PyExc_TypeError, "the terms of a chunk are a tuple");
        Py_CLEAR(its);
    }
    return its;
}

/* terms(text, known, words, longest, most): the terms of every chunk of a text. */
static PyObject *terms(PyObject *self, PyObject *args)
{
    PyObject *text, *known, *words;
    Py_ssize_t length, longest, most;
    if (!PyArg_ParseTuple(args, "UO!O!nn", &text, &PyDict_Type, &known, &PyDict_Type, &words, &longest, &most))
        return NULL;
    const char *bytes = ascii(text, &length);
    PyObject *found = bytes ? PyList_New(0) : NULL;
    Py_ssize_t at = 0;
    while (found) {
        while (at < length && !is(bytes[at], WORD)) at++;
        if (at == length) break;
        const Py_ssize_t end = end_of_chunk(bytes, at, length);
        PyObject *its = terms_known(bytes + at, end - at, known, words, longest, most);
        const Py_ssize_t count = its ? PyTuple_Size(its) : -1;
        int failed = count < 0;
        for (Py_ssize_t number = 0; !failed && number < count; number++)
            failed = PyList_Append(found, PyTuple_GetItem(its, number)) < 0;
        Py_XDECREF(its);
        if (failed) Py_CLEAR(found);
        at = end;
    }
    return found;
}
