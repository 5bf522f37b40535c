/* Every word of many texts, as a number. */

#pragma once

#include "table.h"
#include "texts.h"

/* What Python's split() parts ASCII at. */
static int is_space(char byte) { return byte == ' ' || (byte >= 9 && byte <= 13) || (byte >= 28 && byte <= 31); }

/* Adds the numbers of a text's words; how many they are, or -1 if there is no room. */
static int32_t number_words(Table *words, Bytes *numbers, const Text *text)
{
    int32_t count = 0;
    for (const char *at = text->bytes, *end = at + text->length, *next; at < end; at = next) {
        while (at < end && is_space(*at)) at++;
        for (next = at; next < end && !is_space(*next);) next++;
        if (next == at) break;
        const int32_t number = (int32_t)placed(words, at, next - at);
        if (number < 0 || append(numbers, &number, sizeof number)) return -1;
        count++;
    }
    return count;
}

static PyObject *list_of_words(const Table *table)
{
    PyObject *made = PyList_New(table->count);
    for (size_t number = 0; made && number < table->count; number++) {
        const Entry *its = entry(table, number);
        PyObject *word = PyBytes_FromStringAndSize(table->letters.at + its->word, its->length);
        if (!word || PyList_SetItem(made, number, word) < 0) Py_CLEAR(made);
    }
    return made;
}

/* numbered(texts, table): every word of these texts as a number, how many each text has (both as int32), and the words
   by number, in UTF-8. The table is empty, and nobody else's. */
static PyObject *numbered(PyObject *self, PyObject *args)
{
    PyObject *given, *capsule, *found = NULL;
    if (!PyArg_ParseTuple(args, "OO", &given, &capsule)) return NULL;
    Table *words = PyCapsule_GetPointer(capsule, table_name);
    Texts texts = {0};
    Bytes numbers = {0}, counts = {0};
    if (words && !hold(given, &texts, PyUnicode_AsUTF8AndSize)) {
        int failed = 0;
        PyThreadState *left = let_others_go_on(&texts);
        for (Py_ssize_t at = 0; !failed && at < texts.count; at++) {
            const int32_t count = number_words(words, &numbers, texts.each + at);
            failed = count < 0 || append(&counts, &count, sizeof count);
        }
        go_on(left);
        PyObject *named = failed ? PyErr_NoMemory() : list_of_words(words);
        if (named)
            found = Py_BuildValue(
                "y#y#N", numbers.at ? numbers.at : "", (Py_ssize_t)numbers.used, counts.at ? counts.at : "",
                (Py_ssize_t)counts.used, named);
    }
    free(numbers.at);
    free(counts.at);
    let_go(&texts);
    return found;
}
