/* Which chunks a text is made of, and which terms a chunk has. */

#pragma once

#include <stdlib.h>
#include <string.h>
#include "characters.h"

/* Where the chunk that begins at a word character ends: words with a joiner between each two, then ++ or #. */
static Py_ssize_t end_of_chunk(const char *text, Py_ssize_t at, Py_ssize_t length)
{
    for (;;) {
        while (at < length && is(text[at], WORD)) at++;
        if (at + 2 < length && text[at] == ':' && text[at + 1] == ':' && is(text[at + 2], WORD)) at += 2;
        else if (at + 1 < length && is(text[at], JOINER) && is(text[at + 1], WORD)) at += 1;
        else break;
    }
    Py_ssize_t sign = 0;
    if (at + 1 < length && text[at] == '+' && text[at + 1] == '+') sign = 2;
    else if (at < length && text[at] == '#') sign = 1;
    return sign && !(at + sign < length && is(text[at + sign], WORD)) ? at + sign : at;
}

/* Whether a part is cut before this place: fooBar, FOOBar, sha256. */
static int is_hump(const char *part, Py_ssize_t at, Py_ssize_t length)
{
    if (is(part[at], UPPER))
        return is(part[at - 1], LOWER | DIGIT)
            || (is(part[at - 1], UPPER) && at + 1 < length && is(part[at + 1], LOWER));
    return is(part[at], DIGIT) && at >= 3 && is(part[at - 1], LETTER) && is(part[at - 2], LETTER)
        && is(part[at - 3], LETTER);
}

/* Where the terms of a chunk go. Both return -1 if that fails. */
typedef struct Sink {
    int (*word)(struct Sink *sink, const char *word, Py_ssize_t length);   /* its stem, once it is in lower case */
    int (*as_is)(struct Sink *sink, const char *term, Py_ssize_t length); /* itself in lower case */
} Sink;

/* Adds the terms of the words that a chunk is made of. */
static int add_parts(Sink *sink, const char *chunk, Py_ssize_t length)
{
    for (Py_ssize_t end, at = 0; at < length; at = end) {
        end = at + 1;
        if (!is(chunk[at], LETTER | DIGIT)) continue;
        while (end < length && is(chunk[end], LETTER | DIGIT)) end++;
        for (Py_ssize_t begin = at, cut = at + 1; cut <= end; cut++) {
            if (cut < end && !is_hump(chunk + at, cut - at, end - at)) continue;
            if ((cut - begin > 1 || is(chunk[begin], DIGIT)) && sink->word(sink, chunk + begin, cut - begin))
                return -1;
            begin = cut;
        }
    }
    return 0;
}

/* Whether a chunk is one word: neither a joiner nor a hump. */
static int is_one_word(const char *chunk, Py_ssize_t length)
{
    for (Py_ssize_t at = 0; at < length; at++)
        if (!is(chunk[at], LETTER | DIGIT) || (at && is_hump(chunk, at, length))) return 0;
    return 1;
}

static int add_whole(Sink *sink, const char *chunk, Py_ssize_t length, Py_ssize_t longest)
{
    Py_ssize_t letters = 0;
    while (letters < length && is(chunk[letters], LETTER)) letters++;
    if (letters == length) return sink->word(sink, chunk, length);
    while (length && chunk[0] == '_') chunk++, length--;
    while (length && chunk[length - 1] == '_') length--;
    return length && length <= longest ? sink->as_is(sink, chunk, length) : 0;
}

static int ends_with(const char *chunk, Py_ssize_t length, const char *end)
{
    const Py_ssize_t size = strlen(end);
    for (Py_ssize_t at = 0; at < size; at++)
        if (length < size || lowered[(unsigned char)chunk[length - size + at]] != end[at]) return 0;
    return 1;
}

/* How long a chunk is without 's and the like at its end. */
static Py_ssize_t without_clitic(const char *chunk, Py_ssize_t length)
{
    static const char *clitics[] = {"'s", "'re", "'ve", "'ll", "'d", "'m"};
    for (size_t each = 0; each < sizeof clitics / sizeof *clitics; each++)
        if (ends_with(chunk, length, clitics[each])) return length - strlen(clitics[each]);
    return length;
}

/* Whether it is a word such as don't. */
static int is_negation(const char *chunk, Py_ssize_t length)
{
    if (length < 4 || !ends_with(chunk, length, "n't")) return 0;
    for (Py_ssize_t at = 0; at < length - 3; at++)
        if (!is(chunk[at], LETTER)) return 0;
    return 1;
}

static int add_negation(Sink *sink, const char *chunk, Py_ssize_t length)
{
    char few[64], *without = length > (Py_ssize_t)sizeof few ? malloc(length) : few;
    if (!without) return -1;
    memcpy(without, chunk, length - 2);
    without[length - 2] = chunk[length - 1];
    const int failed = sink->as_is(sink, without, length - 1);
    if (without != few) free(without);
    return failed;
}

/* Adds the terms of a chunk. */
static int add_chunk(Sink *sink, const char *chunk, Py_ssize_t length, Py_ssize_t longest)
{
    if (is_negation(chunk, length)) return add_negation(sink, chunk, length);
    length = without_clitic(chunk, length);
    if (is_one_word(chunk, length)) return sink->word(sink, chunk, length);
    return add_whole(sink, chunk, length, longest) || add_parts(sink, chunk, length) ? -1 : 0;
}
