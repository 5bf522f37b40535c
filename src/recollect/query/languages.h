/* Which language small words tell of. */

#pragma once

#include "characters.h"
#include "table.h"
#include "texts.h"

#define VOTERS 8
#define LONGEST_SMALL_WORD 32

/* Who has the most votes: the first of them, unless another has more, and two at least. */
static int elected(const Text *sample, const Table *words, const unsigned char *voters)
{
    int votes[VOTERS] = {0}, best = 0;
    char word[LONGEST_SMALL_WORD];
    for (Py_ssize_t end, at = 0; at < sample->length; at = end) {
        end = at + 1;
        if (!is(sample->bytes[at], LETTER)) continue;
        while (end < sample->length && is(sample->bytes[end], LETTER)) end++;
        if (end - at > LONGEST_SMALL_WORD) continue;
        for (Py_ssize_t each = at; each < end; each++) word[each - at] = lowered[(unsigned char)sample->bytes[each]];
        const Py_ssize_t number = number_of(words, word, end - at);
        for (int voter = 0; number >= 0 && voter < VOTERS; voter++) votes[voter] += voters[number] >> voter & 1;
    }
    for (int voter = 1; voter < VOTERS; voter++)
        if (votes[voter] > votes[best]) best = voter;
    return votes[best] < 2 ? 0 : best;
}

/* elections(samples, words, voters): for each sample the number of the voter that its small words elect; `voters` has
   a byte for each word of a table, with a bit for each voter. */
static PyObject *elections(PyObject *self, PyObject *args)
{
    PyObject *given, *capsule;
    Py_buffer voters;
    if (!PyArg_ParseTuple(args, "OOy*", &given, &capsule, &voters)) return NULL;
    Texts samples = {0};
    const Table *words = PyCapsule_GetPointer(capsule, table_name);
    PyObject *found = NULL;
    int *each = NULL;
    if (words && (size_t)voters.len != words->count) PyErr_SetString(PyExc_ValueError, "a byte for each word");
    else if (words && !hold(given, &samples, ascii)) {
        each = calloc(samples.count + 1, sizeof *each);
        PyThreadState *left = let_others_go_on(&samples);
        for (Py_ssize_t at = 0; each && at < samples.count; at++) each[at] = elected(samples.each + at, words, voters.buf);
        go_on(left);
        found = each ? PyList_New(samples.count) : PyErr_NoMemory();
        for (Py_ssize_t at = 0; found && at < samples.count; at++) {
            PyObject *number = PyLong_FromLong(each[at]);
            if (!number || PyList_SetItem(found, at, number) < 0) Py_CLEAR(found);
        }
    }
    free(each);
    let_go(&samples);
    PyBuffer_Release(&voters);
    return found;
}
