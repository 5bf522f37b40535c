/* Candidates as they are packed: packed.py says what each number is. */

#pragma once

#include <stdint.h>

typedef struct {
    int64_t key;
    double score;
} Scored;

typedef struct {
    int64_t key;
    double score;
    int64_t session, created;
    int32_t place, tokens, speaker, names;
} Row;
