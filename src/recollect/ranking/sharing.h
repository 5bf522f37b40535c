/* Whose words are nearly the same. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <stdlib.h>

/* The different words of a text, as hashes that ascend. */
typedef struct {
    uint64_t *words;
    Py_ssize_t count, room;
} Text;

static int rising(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

static int add_word(Text *text, uint64_t word)
{
    if (text->count == text->room) {
        text->room = 2 * text->room + 64;
        uint64_t *words = realloc(text->words, text->room * sizeof(uint64_t));
        if (!words) return 0;
        text->words = words;
    }
    text->words[text->count++] = word;
    return 1;
}

/* The words of a text that is in lower case but for ASCII, between what Python calls white space in ASCII. */
static int take_words(Text *text, const char *letters, Py_ssize_t size)
{
    uint64_t word = 0;
    for (Py_ssize_t at = 0; at <= size; at++) {
        const unsigned char letter = at < size ? (unsigned char)letters[at] : ' ';
        if (letter == ' ' || (letter >= 9 && letter <= 13) || (letter >= 28 && letter <= 31)) {
            if (word && !add_word(text, word)) return 0;
            word = 0;
            continue;
        }
        const unsigned char lower = letter >= 'A' && letter <= 'Z' ? letter + 32 : letter;
        word = ((word ? word : 0xCBF29CE484222325u) ^ lower) * 0x100000001B3u;
    }
    if (text->count) qsort(text->words, text->count, sizeof(uint64_t), rising);
    Py_ssize_t kept = 0;
    for (Py_ssize_t at = 0; at < text->count; at++)
        if (!kept || text->words[at] != text->words[kept - 1]) text->words[kept++] = text->words[at];
    text->count = kept;
    return 1;
}

/* What `" ".join(content.lower().split())` gives, but for ASCII, whose words are told apart here. */
static PyObject *lower(PyObject *content)
{
    Py_ssize_t size;
    const char *letters = PyUnicode_AsUTF8AndSize(content, &size);
    if (!letters) return NULL;
    if (size == PyUnicode_GetLength(content)) return Py_NewRef(content);
    PyObject *lowered = PyObject_CallMethod(content, "lower", NULL);
    PyObject *words = lowered ? PyUnicode_Split(lowered, NULL, -1) : NULL;
    PyObject *between = words ? PyUnicode_FromString(" ") : NULL;
    PyObject *joined = between ? PyUnicode_Join(between, words) : NULL;
    Py_XDECREF(lowered);
    Py_XDECREF(words);
    Py_XDECREF(between);
    return joined;
}

static int take_text(Text *text, PyObject *content)
{
    PyObject *lowered = PyUnicode_Check(content) ? lower(content) : NULL;
    Py_ssize_t size;
    const char *letters = lowered ? PyUnicode_AsUTF8AndSize(lowered, &size) : NULL;
    const int is_taken = letters && take_words(text, letters, size);
    Py_XDECREF(lowered);
    if (!is_taken && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a text can't be read");
    return is_taken;
}

/* Whether two texts have so much of the words of either. */
static int share(const Text *one, const Text *other, double least)
{
    const double enough = least * (double)(one->count > other->count ? one->count : other->count);
    if (!one->count || (double)one->count < enough || (double)other->count < enough) return 0;
    Py_ssize_t a = 0, b = 0, shared = 0;
    while (a < one->count && b < other->count) {
        const uint64_t left = one->words[a], right = other->words[b];
        shared += left == right;
        a += left <= right;
        b += right <= left;
    }
    return (double)shared >= enough;
}

static PyObject *pairs_among(const Text *texts, Py_ssize_t count, Py_ssize_t compared, double least)
{
    PyObject *result = PyList_New(0);
    for (Py_ssize_t at = 1; result && at < count; at++)
        for (Py_ssize_t before = 0; result && before < at && before < compared; before++) {
            if (!share(texts + at, texts + before, least)) continue;
            PyObject *pair = Py_BuildValue("nn", at, before);
            if (!pair || PyList_Append(result, pair)) Py_CLEAR(result);
            Py_XDECREF(pair);
        }
    return result;
}

static PyObject *sharing(PyObject *self, PyObject *given)
{
    PyObject *contents, *result = NULL;
    Py_ssize_t compared, taken = 0;
    double least;
    if (!PyArg_ParseTuple(given, "O!nd", &PyList_Type, &contents, &compared, &least)) return NULL;
    const Py_ssize_t count = PyList_Size(contents);
    Text *texts = calloc(count + 1, sizeof(Text));
    if (!texts) return PyErr_NoMemory();
    while (taken < count && take_text(texts + taken, PyList_GetItem(contents, taken))) taken++;
    if (taken == count) result = pairs_among(texts, count, compared, least);
    for (Py_ssize_t at = 0; at < count; at++) free(texts[at].words);
    free(texts);
    return result;
}
