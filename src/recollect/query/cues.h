/* Where the words and signs of texts lead to: which patterns may be in them. */

#pragma once

#include "characters.h"
#include "table.h"
#include "texts.h"

/* What is looked for in texts; see cues._Program. */
typedef struct {
    const Table *pieces;
    const int32_t *code;
    const char *letters;
    int32_t signs[128], shapes[9]; /* the numbers of a sign, and of a word of so many digits; -1 if nobody asks for it */
    char *has, *is_found;
    Bytes met, found;
} Cues;

static void meet(Cues *cues, Py_ssize_t number, int *failed)
{
    if (number < 0 || cues->has[number]) return;
    const int32_t met = (int32_t)number;
    cues->has[number] = 1;
    *failed |= append(&cues->met, &met, sizeof met);
}

/* Notes which of the words and signs asked for a text has. A word of digits alone is also looked for as so many digits;
   any digit is a sign of its own. */
static int meet_pieces(Cues *cues, const Text *text)
{
    int failed = 0;
    for (Py_ssize_t end, at = 0; at < text->length; at = end) {
        end = at + 1;
        const unsigned char first = (unsigned char)text->bytes[at];
        if (!(kinds[first] & WORD)) {
            meet(cues, cues->signs[first], &failed);
            continue;
        }
        int all = kinds[first], any = all;
        for (; end < text->length && is(text->bytes[end], WORD); end++) {
            all &= kinds[(unsigned char)text->bytes[end]];
            any |= kinds[(unsigned char)text->bytes[end]];
        }
        meet(cues, number_of(cues->pieces, text->bytes + at, end - at), &failed);
        if (any & DIGIT) meet(cues, cues->shapes[1], &failed);
        if (all & DIGIT && end - at <= 8) meet(cues, cues->shapes[end - at], &failed);
    }
    return failed;
}

static int has_letters(const Text *text, const char *letters, Py_ssize_t length)
{
    const char *at = text->bytes, *last = text->bytes + text->length - length;
    if (!length) return 1;
    for (; at <= last && (at = memchr(at, letters[0], last - at + 1)); at++)
        if (!memcmp(at, letters, length)) return 1;
    return 0;
}

/* Whether a text has what a lead asks for: all of its pieces, one of each of some choices, and the letters. */
static int leads_on(const Cues *cues, const Text *text, const int32_t *lead)
{
    const int32_t letters = *lead++, length = *lead++;
    for (int32_t left = *lead++; left; left--)
        if (!cues->has[*lead++]) return 0;
    for (int32_t choices = *lead++; choices; choices--) {
        int any = 0;
        for (int32_t left = *lead++; left; left--) any |= cues->has[*lead++];
        if (!any) return 0;
    }
    return has_letters(text, cues->letters + letters, length);
}

/* Adds where the leads of the pieces that a text has lead to, each once. */
static int follow(Cues *cues, const Text *text)
{
    const size_t begun = cues->found.used / sizeof(int32_t);
    cues->met.used = 0;
    int failed = meet_pieces(cues, text);
    const int32_t *met = (int32_t *)cues->met.at;
    const size_t count = cues->met.used / sizeof *met;
    for (size_t at = 0; !failed && at < count; at++) {
        const int32_t *lead = cues->code + cues->code[met[at]];
        for (int32_t left = *lead++; left; left--) {
            const int32_t to = *lead++, size = *lead++;
            if (!cues->is_found[to] && leads_on(cues, text, lead)) {
                cues->is_found[to] = 1;
                failed |= append(&cues->found, &to, sizeof to);
            }
            lead += size;
        }
    }
    for (size_t at = 0; at < count; at++) cues->has[met[at]] = 0;
    const int32_t *found = (int32_t *)cues->found.at;
    for (size_t at = begun; at < cues->found.used / sizeof *found; at++) cues->is_found[found[at]] = 0;
    return failed;
}

static void find_signs(Cues *cues, char digit)
{
    char shape[8];
    memset(shape, digit, sizeof shape);
    for (int sign = 0; sign < 128; sign++) {
        const char itself = (char)sign;
        cues->signs[sign] = is(itself, WORD) ? -1 : (int32_t)number_of(cues->pieces, &itself, 1);
    }
    for (int length = 1; length <= 8; length++)
        cues->shapes[length] = (int32_t)number_of(cues->pieces, shape, length);
}

static PyObject *list_of_numbers(const int32_t *numbers, size_t count)
{
    PyObject *made = PyList_New(count);
    for (size_t at = 0; made && at < count; at++) {
        PyObject *number = PyLong_FromLong(numbers[at]);
        if (!number || PyList_SetItem(made, at, number) < 0) Py_CLEAR(made);
    }
    return made;
}

/* led(texts, pieces, digit, code, letters, most): where the leads of the pieces of each text lead to: numbers below
   `most`, one text after the other, and where each text's end. The code is trusted. */
static PyObject *led(PyObject *self, PyObject *args)
{
    PyObject *given, *capsule, *found = NULL;
    Py_buffer code, letters;
    int digit;
    Py_ssize_t most;
    if (!PyArg_ParseTuple(args, "OOCy*y*n", &given, &capsule, &digit, &code, &letters, &most)) return NULL;
    Texts texts = {0};
    Cues cues = {PyCapsule_GetPointer(capsule, table_name), code.buf, letters.buf};
    int32_t *ends = NULL;
    if (cues.pieces && !hold(given, &texts, ascii)) {
        cues.has = calloc(cues.pieces->count + 1, 1);
        cues.is_found = calloc(most + 1, 1);
        ends = calloc(texts.count + 1, sizeof *ends);
        int failed = !cues.has || !cues.is_found || !ends;
        find_signs(&cues, (char)digit);
        PyThreadState *left = let_others_go_on(&texts);
        for (Py_ssize_t at = 0; !failed && at < texts.count; at++) {
            failed = follow(&cues, texts.each + at);
            ends[at] = (int32_t)(cues.found.used / sizeof(int32_t));
        }
        go_on(left);
        PyObject *numbers = failed ? PyErr_NoMemory() : list_of_numbers((int32_t *)cues.found.at, cues.found.used / 4);
        PyObject *listed = numbers ? list_of_numbers(ends, texts.count) : NULL;
        found = listed ? PyTuple_Pack(2, numbers, listed) : NULL;
        Py_XDECREF(numbers);
        Py_XDECREF(listed);
    }
    free(ends);
    free(cues.has);
    free(cues.is_found);
    free(cues.met.at);
    free(cues.found.at);
    let_go(&texts);
    PyBuffer_Release(&code);
    PyBuffer_Release(&letters);
    return found;
}
