/* A table of words, by number. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include "growing.h"

/* Words by number, in the order in which they were added, each perhaps with another text that belongs to it. */
typedef struct {
    uint64_t hash;
    size_t word, length, term, term_length;
} Entry;

typedef struct {
    Bytes entries, letters;
    uint32_t *slots; /* the number of an entry, and one more; 0 where there is none */
    size_t size, count;
    uint64_t seed;
    int is_busy;
} Table;

static const char table_name[] = "recollect.query._text.table";

static void empty(Table *table)
{
    table->entries.used = table->letters.used = table->count = 0;
    if (table->slots) memset(table->slots, 0, table->size * sizeof *table->slots);
}

static void remove_table(PyObject *capsule)
{
    Table *table = PyCapsule_GetPointer(capsule, table_name);
    free(table->entries.at);
    free(table->letters.at);
    free(table->slots);
    free(table);
}

static Entry *entry(const Table *table, size_t number) { return (Entry *)table->entries.at + number; }

static uint64_t hash_of(const Table *table, const char *word, size_t length)
{
    uint64_t hash = table->seed ^ length;
    for (size_t at = 0; at < length; at += 8) {
        uint64_t some = 0;
        memcpy(&some, word + at, length - at < 8 ? length - at : 8);
        hash = (hash ^ some) * 0x9E3779B97F4A7C15u ^ table->seed;
        hash ^= hash >> 29;
    }
    return hash ^ hash >> 32;
}

/* Where a word is noted, or would be. */
static uint32_t *slot_of(const Table *table, uint64_t hash, const char *word, size_t length)
{
    for (size_t at = hash & (table->size - 1);; at = (at + 1) & (table->size - 1)) {
        uint32_t *slot = table->slots + at;
        const Entry *its = *slot ? entry(table, *slot - 1) : NULL;
        if (!its || (its->hash == hash && its->length == length && !memcmp(table->letters.at + its->word, word, length)))
            return slot;
    }
}

/* The number of a word; -1 if the table does not have it. */
static Py_ssize_t number_of(const Table *table, const char *word, size_t length)
{
    return table->size ? (Py_ssize_t)*slot_of(table, hash_of(table, word, length), word, length) - 1 : -1;
}

static int grow(Table *table)
{
    const size_t size = table->size ? 2 * table->size : 1024;
    uint32_t *slots = calloc(size, sizeof *slots);
    if (!slots) return -1;
    free(table->slots);
    table->slots = slots;
    table->size = size;
    for (size_t number = 0; number < table->count; number++) {
        const Entry *its = entry(table, number);
        *slot_of(table, its->hash, table->letters.at + its->word, its->length) = (uint32_t)number + 1;
    }
    return 0;
}

/* The number of a word, which is added if it is not there; -1 if there is no room. */
static Py_ssize_t placed(Table *table, const char *word, size_t length)
{
    if (2 * table->count >= table->size && grow(table)) return -1;
    const uint64_t hash = hash_of(table, word, length);
    uint32_t *slot = slot_of(table, hash, word, length);
    if (!*slot) {
        const Entry added = {hash, table->letters.used, length, 0, 0};
        if (append(&table->letters, word, length) || append(&table->entries, &added, sizeof added)) return -1;
        *slot = (uint32_t)++table->count;
    }
    return (Py_ssize_t)*slot - 1;
}

/* table(words): with these words, numbered as they come. */
static PyObject *table(PyObject *self, PyObject *args)
{
    PyObject *given;
    if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &given)) return NULL;
    Table *made = calloc(1, sizeof *made);
    PyObject *capsule = made ? PyCapsule_New(made, table_name, remove_table) : PyErr_NoMemory();
    if (!capsule) {
        free(made);
        return NULL;
    }
    PyObject *drawn = PyUnicode_FromString("another in every process, so that nobody can choose words that collide");
    if (!drawn) Py_CLEAR(capsule);
    else made->seed = (uint64_t)PyObject_Hash(drawn) * 2 + 1;
    Py_XDECREF(drawn);
    for (Py_ssize_t at = 0; capsule && at < PyTuple_Size(given); at++) {
        Py_ssize_t length;
        const char *word = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(given, at), &length);
        if (word && placed(made, word, length) >= 0) continue;
        if (!PyErr_Occurred()) PyErr_NoMemory();
        Py_CLEAR(capsule);
    }
    return capsule;
}
