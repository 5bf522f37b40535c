/* The word pieces of texts, as numbers. */

#pragma once

#include "characters.h"
#include "table.h"
#include "texts.h"

/* Numbers of pieces one after the other; those of words stand in a table, as terms do. */
typedef struct {
    Table *words;
    Bytes pieces, word;
    size_t known;
    int has_unknown;
} Pieced;

/* Adds the pieces of the word that was read. */
static int add_pieces(Pieced *to)
{
    if (!to->word.used) return 0;
    const Py_ssize_t number = placed(to->words, to->word.at, to->word.used);
    to->word.used = 0;
    if (number < 0) return -1;
    to->has_unknown |= (size_t)number >= to->known;
    if ((size_t)number >= to->known) return 0;
    const Entry *its = entry(to->words, number);
    return append(&to->pieces, to->words->letters.at + its->term, its->term_length);
}

/* Adds the pieces of a text, no more than so many; words are letters and digits, or a sign alone. */
static int piece_text(Pieced *to, const Text *text, size_t most)
{
    const size_t begun = to->pieces.used, end = begun + most * sizeof(int64_t);
    int failed = 0;
    to->word.used = 0;
    to->has_unknown = 0;
    for (Py_ssize_t at = 0; !failed && at < text->length && (to->pieces.used < end || to->has_unknown); at++) {
        const unsigned char byte = (unsigned char)text->bytes[at];
        if (kinds[byte] & DROPPED) continue;
        const int is_part = kinds[byte] & (LETTER | DIGIT);
        if (!is_part) failed = add_pieces(to);
        if (!failed && !(kinds[byte] & BLANK)) failed = append(&to->word, lowered + byte, 1);
        if (!failed && !is_part) failed = add_pieces(to);
    }
    failed = failed || add_pieces(to);
    if (to->has_unknown) to->pieces.used = begun;
    else if (to->pieces.used > end) to->pieces.used = end;
    return failed ? -1 : 0;
}

/* Learns the pieces of every word that was met for the first time: a tuple of numbers from `split`. */
static int learn_pieces(Pieced *to, PyObject *split)
{
    for (; to->known < to->words->count; to->known++) {
        const Entry *its = entry(to->words, to->known);
        PyObject *word = PyUnicode_FromStringAndSize(to->words->letters.at + its->word, its->length);
        PyObject *pieces = word ? PyObject_CallFunctionObjArgs(split, word, NULL) : NULL;
        Py_XDECREF(word);
        const size_t place = to->words->letters.used;
        const Py_ssize_t count = pieces ? PyTuple_Size(pieces) : -1;
        int failed = count < 0;
        for (Py_ssize_t at = 0; !failed && at < count; at++) {
            const int64_t number = PyLong_AsLongLong(PyTuple_GetItem(pieces, at));
            failed = number == -1 && PyErr_Occurred();
            if (!failed && append(&to->words->letters, &number, sizeof number)) failed = PyErr_NoMemory() == NULL;
        }
        Py_XDECREF(pieces);
        if (failed) return -1;
        Entry *changed = entry(to->words, to->known);
        changed->term = place;
        changed->term_length = to->words->letters.used - place;
    }
    return 0;
}

/* pieces(texts, words, split, most, remembered): the numbers of the first so many word pieces of each text, one text after
   the other, as int64; and how many each has, too. `words` is a table that is used by nobody else meanwhile, and learns from
   `split`; it begins anew once it has so many words. */
static PyObject *pieces(PyObject *self, PyObject *args)
{
    PyObject *given, *capsule, *split, *found = NULL;
    Py_ssize_t most, remembered;
    if (!PyArg_ParseTuple(args, "OOOnn", &given, &capsule, &split, &most, &remembered)) return NULL;
    Pieced to = {PyCapsule_GetPointer(capsule, table_name)};
    Texts texts = {0};
    Bytes counts = {0};
    if (!to.words) return NULL;
    if (to.words->is_busy || most < 0) {
        PyErr_SetString(PyExc_ValueError, "a table that nobody uses, and no fewer than no pieces");
        return NULL;
    }
    to.words->is_busy = 1;
    if (to.words->count >= (size_t)remembered) empty(to.words);
    to.known = to.words->count;
    int failed = hold(given, &texts, ascii);
    for (Py_ssize_t done = 0; !failed && done < texts.count;) {
        PyThreadState *left = let_others_go_on(&texts);
        for (to.has_unknown = 0; !failed && !to.has_unknown && done < texts.count; done += !to.has_unknown) {
            const size_t begun = to.pieces.used;
            failed = piece_text(&to, texts.each + done, most);
            const int64_t count = (to.pieces.used - begun) / sizeof(int64_t);
            if (!failed && !to.has_unknown) failed = append(&counts, &count, sizeof count);
        }
        if (!failed && to.has_unknown) /* the words of all others, so that they are learned at once */
            for (Py_ssize_t at = done + 1; !failed && at < texts.count; at++) {
                const size_t begun = to.pieces.used;
                failed = piece_text(&to, texts.each + at, most);
                to.pieces.used = begun;
            }
        go_on(left);
        if (failed) PyErr_NoMemory();
        else failed = learn_pieces(&to, split);
    }
    if (failed) empty(to.words); /* some of its words may have no pieces */
    else
        found = Py_BuildValue(
            "y#y#", to.pieces.at ? to.pieces.at : "", (Py_ssize_t)to.pieces.used, counts.at ? counts.at : "",
            (Py_ssize_t)counts.used);
    to.words->is_busy = 0;
    free(to.pieces.at);
    free(to.word.at);
    free(counts.at);
    let_go(&texts);
    return found;
}
