/* The keys that texts share which say nearly the same. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <string.h>

#define MIXES 32

static uint32_t crc_of_byte[256];

static void fill_crcs(void)
{
    for (int code = 0; code < 256; code++) {
        uint32_t crc = (uint32_t)code;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        crc_of_byte[code] = crc;
    }
}

static uint32_t crc32(uint32_t begun, const void *data, Py_ssize_t length)
{
    const unsigned char *bytes = data;
    begun = ~begun;
    for (Py_ssize_t at = 0; at < length; at++) begun = crc_of_byte[(begun ^ bytes[at]) & 255] ^ (begun >> 8);
    return ~begun;
}

static void keep_lowest(uint64_t *lowest, uint64_t hash, const uint64_t *factor, const uint64_t *offset)
{
    for (int each = 0; each < MIXES; each++) {
        const uint64_t mixed = hash * factor[each] + offset[each];
        lowest[each] = mixed < lowest[each] ? mixed : lowest[each];
    }
}

/* The key of a band; its bytes are those of a machine with the low byte first. */
static uint64_t key_of(const uint64_t *lowest, Py_ssize_t band, Py_ssize_t rows)
{
    uint32_t crc = (uint32_t)band;
    for (Py_ssize_t row = 0; row < rows; row++) {
        unsigned char bytes[8];
        for (int byte = 0; byte < 8; byte++) bytes[byte] = (lowest[band * rows + row] >> 16) >> (8 * byte) & 255;
        crc = crc32(crc, bytes, 8);
    }
    return (uint64_t)crc << 3 | (uint64_t)band;
}

static PyObject *keys_of(const uint64_t *lowest, Py_ssize_t bands)
{
    PyObject *keys = PyTuple_New(bands);
    for (Py_ssize_t band = 0; keys && band < bands; band++) {
        PyObject *key = PyLong_FromUnsignedLongLong(key_of(lowest, band, MIXES / bands));
        if (!key || PyTuple_SetItem(keys, band, key) < 0) Py_CLEAR(keys);
    }
    return keys;
}

/* What the features of a text come to, one term after the other. */
typedef struct {
    uint64_t lowest[MIXES];
    uint32_t before;
    int is_first;
} Mixed;

static void mix(Mixed *mixed, const char *term, Py_ssize_t length, const Py_buffer *factors, const Py_buffer *offsets)
{
    const uint32_t alone = crc32(0, term, length);
    keep_lowest(mixed->lowest, alone, factors->buf, offsets->buf);
    if (!mixed->is_first)
        keep_lowest(mixed->lowest, crc32(crc32(mixed->before, " ", 1), term, length), factors->buf, offsets->buf);
    mixed->before = alone;
    mixed->is_first = 0;
}

static Mixed nothing_mixed(void)
{
    Mixed mixed = {.before = 0, .is_first = 1};
    memset(mixed.lowest, 255, sizeof mixed.lowest);
    return mixed;
}

/* 0 if there are as many factors and offsets as there must be; -1 with an error set. */
static int check_mixes(const Py_buffer *factors, const Py_buffer *offsets, Py_ssize_t bands)
{
    const Py_ssize_t wanted = MIXES * sizeof(uint64_t);
    if (factors->len == wanted && offsets->len == wanted && bands >= 1 && MIXES % bands == 0) return 0;
    PyErr_SetString(PyExc_ValueError, "32 factors and offsets, as many for every band");
    return -1;
}

/* near_keys(terms, factors, offsets, bands): of a list of terms in any script. */
static PyObject *near_keys(PyObject *self, PyObject *args)
{
    PyObject *given;
    Py_buffer factors, offsets;
    Py_ssize_t bands;
    if (!PyArg_ParseTuple(args, "O!y*y*n", &PyList_Type, &given, &factors, &offsets, &bands)) return NULL;
    Mixed mixed = nothing_mixed();
    int failed = check_mixes(&factors, &offsets, bands);
    for (Py_ssize_t at = 0; !failed && at < PyList_Size(given); at++) {
        Py_ssize_t length;
        const char *term = PyUnicode_AsUTF8AndSize(PyList_GetItem(given, at), &length);
        failed = !term;
        if (!failed) mix(&mixed, term, length, &factors, &offsets);
    }
    PyBuffer_Release(&factors);
    PyBuffer_Release(&offsets);
    return failed ? NULL : keys_of(mixed.lowest, bands);
}
