/* What each character of a text in ASCII is. */

#pragma once

#include <Python.h>

enum { LOWER = 1, UPPER = 2, DIGIT = 4, UNDERSCORE = 8, JOINER = 16, BLANK = 32, DROPPED = 64 };
#define LETTER (LOWER | UPPER)
#define WORD (LETTER | DIGIT | UNDERSCORE)

static unsigned char kinds[256];
static char lowered[256];

static int is(char character, int kind) { return kinds[(unsigned char)character] & kind; }

/* A text's bytes; NULL with an error set unless it is a string in ASCII. */
static const char *ascii(PyObject *text, Py_ssize_t *length)
{
    const char *bytes = PyUnicode_AsUTF8AndSize(text, length);
    if (bytes && *length != PyUnicode_GetLength(text)) {
        PyErr_SetString(PyExc_ValueError, "not ASCII");
        return NULL;
    }
    return bytes;
}

static void fill_characters(void)
{
    for (int code = 0; code < 256; code++) lowered[code] = (char)code;
    for (int code = 'a'; code <= 'z'; code++) kinds[code] = LOWER;
    for (int code = 'A'; code <= 'Z'; code++) {
        kinds[code] = UPPER;
        lowered[code] = (char)(code - 'A' + 'a');
    }
    for (int code = '0'; code <= '9'; code++) kinds[code] = DIGIT;
    kinds['_'] = UNDERSCORE;
    for (const char *joiner = "-./@:+&'\\"; *joiner; joiner++) kinds[(unsigned char)*joiner] = JOINER;
    for (int code = 0; code < 32; code++) kinds[code] = DROPPED;
    kinds[127] = DROPPED;
    for (const char *blank = " \t\n\r"; *blank; blank++) kinds[(unsigned char)*blank] = BLANK;
}
