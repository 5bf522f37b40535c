/* An array that grows, with the interpreter or without. */

#pragma once

#include <stdlib.h>
#include <string.h>

typedef struct {
    char *at;
    size_t used, room;
} Bytes;

/* Whoever uses it may have no interpreter, so that -1 says no more than that there is no room. */
static int append(Bytes *to, const void *bytes, size_t length)
{
    if (length > to->room - to->used) {
        const size_t room = 2 * to->room + length + 1024;
        char *at = realloc(to->at, room);
        if (!at) return -1;
        to->at = at;
        to->room = room;
    }
    memcpy(to->at + to->used, bytes, length);
    to->used += length;
    return 0;
}
