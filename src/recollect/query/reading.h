/* The terms and the near-duplicate keys of many texts. */

#pragma once

#include "chunks.h"
#include "nearkeys.h"
#include "table.h"
#include "texts.h"

/* Terms one after the other with spaces between; stems are looked up in a table. */
typedef struct {
    Sink sink;
    Table *stems;
    Bytes terms;
    size_t begun;
    Py_ssize_t longest;
    size_t known; /* so many words of the table have their stems; further ones were met just now */
    int has_unknown;
} Joined;

static int begin_term(Joined *to) { return to->terms.used > to->begun ? append(&to->terms, " ", 1) : 0; }

static int join_word(Sink *sink, const char *word, Py_ssize_t length)
{
    Joined *to = (Joined *)sink;
    char lower[64];
    if (length > to->longest) length = to->longest;
    for (Py_ssize_t at = 0; at < length; at++) lower[at] = lowered[(unsigned char)word[at]];
    const Py_ssize_t number = placed(to->stems, lower, length);
    if (number < 0) return -1;
    if ((size_t)number >= to->known) {
        to->has_unknown = 1;
        return 0;
    }
    const Entry *its = entry(to->stems, number);
    return begin_term(to) || append(&to->terms, to->stems->letters.at + its->term, its->term_length) ? -1 : 0;
}

static int join_as_is(Sink *sink, const char *term, Py_ssize_t length)
{
    Joined *to = (Joined *)sink;
    if (begin_term(to) || append(&to->terms, term, length)) return -1;
    for (char *at = to->terms.at + to->terms.used - length; at < to->terms.at + to->terms.used; at++)
        *at = lowered[(unsigned char)*at];
    return 0;
}

/* What was read of a text: where its terms stand; keys, if it has enough terms for them. */
typedef struct {
    size_t begin, end;
    int is_read, has_keys;
    Mixed mixed;
} Read;

/* Whether there are so many different terms among those with spaces between. */
static int has_different(const char *terms, size_t length, Py_ssize_t wanted)
{
    const char *met[16], *end = terms + length;
    size_t lengths[16];
    Py_ssize_t count = 0;
    for (const char *at = terms, *next; at < end && count < wanted; at = next + 1) {
        next = memchr(at, ' ', end - at);
        if (!next) next = end;
        Py_ssize_t each = 0;
        while (each < count && (lengths[each] != (size_t)(next - at) || memcmp(met[each], at, next - at))) each++;
        if (each < count) continue;
        met[count] = at;
        lengths[count++] = next - at;
    }
    return count >= wanted;
}

static void mix_terms(Read *read, const char *terms, const Py_buffer *factors, const Py_buffer *offsets)
{
    const char *end = terms + read->end;
    read->mixed = nothing_mixed();
    for (const char *at = terms + read->begin, *next; at < end; at = next + 1) {
        next = memchr(at, ' ', end - at);
        if (!next) next = end;
        mix(&read->mixed, at, next - at, factors, offsets);
    }
}

static int read_text(Joined *to, const Text *text, Read *read)
{
    to->begun = to->terms.used;
    to->has_unknown = 0;
    for (Py_ssize_t end, at = 0;; at = end) {
        while (at < text->length && !is(text->bytes[at], WORD)) at++;
        if (at == text->length) break;
        end = end_of_chunk(text->bytes, at, text->length);
        if (add_chunk(&to->sink, text->bytes + at, end - at, to->longest)) return -1;
    }
    if (to->has_unknown) to->terms.used = to->begun;
    read->is_read = !to->has_unknown;
    read->begin = to->begun;
    read->end = to->terms.used;
    return 0;
}

/* Gives every word that was met for the first time its stem. */
static int learn_stems(Joined *to, PyObject *stem)
{
    for (; to->known < to->stems->count; to->known++) {
        const Entry *its = entry(to->stems, to->known);
        PyObject *word = PyUnicode_FromStringAndSize(to->stems->letters.at + its->word, its->length);
        PyObject *term = word ? PyObject_CallFunctionObjArgs(stem, word, NULL) : NULL;
        Py_XDECREF(word);
        Py_ssize_t length;
        const char *bytes = term ? PyUnicode_AsUTF8AndSize(term, &length) : NULL;
        const size_t place = to->stems->letters.used;
        int failed = !bytes;
        if (!failed && append(&to->stems->letters, bytes, length)) failed = PyErr_NoMemory() == NULL;
        Py_XDECREF(term);
        if (failed) return -1;
        Entry *changed = entry(to->stems, to->known);
        changed->term = place;
        changed->term_length = length;
    }
    return 0;
}

/* Reads all texts; those with unknown words a second time, once these are known. -1 with an error set. */
static int read_all(
    Joined *to, const Texts *texts, Read *read, PyObject *stem, const Py_buffer *factors, const Py_buffer *offsets,
    Py_ssize_t fewest)
{
    int failed = 0;
    for (int again = 0; !failed && again < 2; again++) {
        PyThreadState *left = let_others_go_on(texts);
        for (Py_ssize_t at = 0; !failed && at < texts->count; at++) {
            if (read[at].is_read) continue;
            failed = read_text(to, texts->each + at, read + at);
            if (failed || !read[at].is_read) continue;
            read[at].has_keys = has_different(to->terms.at + read[at].begin, read[at].end - read[at].begin, fewest);
            if (read[at].has_keys) mix_terms(read + at, to->terms.at, factors, offsets);
        }
        go_on(left);
        if (failed) PyErr_NoMemory();
        if (!failed) failed = learn_stems(to, stem);
    }
    return failed;
}

/* The terms of every text, and the keys; two lists, since so many pairs would keep the garbage collector busy. */
static PyObject *terms_and_keys(const Joined *to, const Read *read, Py_ssize_t count, Py_ssize_t bands)
{
    PyObject *terms = PyList_New(count), *keys = PyList_New(count), *both = NULL;
    int failed = !terms || !keys;
    for (Py_ssize_t at = 0; !failed && at < count; at++, read++) {
        PyObject *its = PyUnicode_DecodeUTF8(to->terms.at + read->begin, read->end - read->begin, NULL);
        PyObject *made = its ? (read->has_keys ? keys_of(read->mixed.lowest, bands) : PyTuple_New(0)) : NULL;
        failed = !made;
        if (failed) Py_XDECREF(its);
        else failed = PyList_SetItem(terms, at, its) < 0 || PyList_SetItem(keys, at, made) < 0;
    }
    if (!failed) both = PyTuple_Pack(2, terms, keys);
    Py_XDECREF(terms);
    Py_XDECREF(keys);
    return both;
}

/* read(texts, stems, stem, longest, most, factors, offsets, bands, fewest): of every text its terms, with spaces
   between, and its near-duplicate keys: none if it has fewer different terms. `stems` is a table that is used by nobody
   else meanwhile, and learns from `stem`; it begins anew once it has so many words. */
static PyObject *read_texts(PyObject *self, PyObject *args)
{
    PyObject *given, *capsule, *stem, *found = NULL;
    Py_buffer factors, offsets;
    Py_ssize_t longest, most, bands, fewest;
    if (!PyArg_ParseTuple(
            args, "OOOnny*y*nn", &given, &capsule, &stem, &longest, &most, &factors, &offsets, &bands, &fewest))
        return NULL;
    Texts texts = {0};
    Read *each = NULL;
    Joined to = {{join_word, join_as_is}, PyCapsule_GetPointer(capsule, table_name)};
    to.longest = longest;
    int failed = !to.stems || check_mixes(&factors, &offsets, bands);
    if (!failed && (to.stems->is_busy || longest > 64 || fewest > 16)) {
        PyErr_SetString(PyExc_ValueError, "a table that nobody uses, terms of 64 letters, 16 different ones at most");
        failed = 1;
    }
    if (!failed) {
        to.stems->is_busy = 1;
        if (to.stems->count >= (size_t)most) empty(to.stems);
        to.known = to.stems->count;
        failed = hold(given, &texts, ascii);
        if (!failed && !(each = calloc(texts.count + 1, sizeof *each))) failed = PyErr_NoMemory() == NULL;
        failed = failed || read_all(&to, &texts, each, stem, &factors, &offsets, fewest);
        if (failed) empty(to.stems); /* some of its words may have no stem */
        to.stems->is_busy = 0;
        found = failed ? NULL : terms_and_keys(&to, each, texts.count, bands);
    }
    free(each);
    free(to.terms.at);
    let_go(&texts);
    PyBuffer_Release(&factors);
    PyBuffer_Release(&offsets);
    return found;
}
