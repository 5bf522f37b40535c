/* How near those seem by the signs of all dimensions who seem near by their signs along directions. */

#pragma once

#include "processors.h"
#include "signs.h"

#define LINE 64
#define PLANES 4
#define ROWS_AT_ONCE 768
#define ROWS_AHEAD 24

/* The same question, as it is compared with the rows of those who seem near by their signs along directions: what each
   dimension counts, in whole numbers of PLANES bits, the same bit of all dimensions together. */
typedef struct {
    const uint8_t *rows; /* NULL if there are no directions */
    Py_ssize_t row_size, words;
    uint64_t *planes;
    float lowest, step, total;
    float least; /* who is looked at: who seems nearer than this along directions */
} Closer;

static Py_ssize_t words_of(Py_ssize_t dimensions) { return (dimensions + 63) / 64; }

static Py_ssize_t row_size(Py_ssize_t dimensions)
{
    return (words_of(dimensions) * 8 + 3 * (Py_ssize_t)sizeof(float) + LINE - 1) / LINE * LINE;
}

static void take_planes(Closer *closer, const float *left, Py_ssize_t size)
{
    float highest = -INFINITY;
    closer->lowest = INFINITY;
    closer->total = 0;
    for (Py_ssize_t at = 0; at < size; at++) {
        highest = fmaxf(highest, left[at]);
        closer->lowest = fminf(closer->lowest, left[at]);
        closer->total += left[at];
    }
    closer->step = fmaxf(highest - closer->lowest, 1e-12f) / ((1 << PLANES) - 1);
    uint8_t *planes = (uint8_t *)closer->planes;
    memset(planes, 0, PLANES * closer->words * sizeof(uint64_t));
    for (Py_ssize_t at = 0; at < size; at++) {
        const float steps = (left[at] - closer->lowest) / closer->step + 0.5f;
        const int counts = steps > 0 ? (int)fminf(steps, (1 << PLANES) - 1) : 0;
        for (int plane = 0; plane < PLANES; plane++)
            if (counts >> plane & 1) planes[8 * (at / 64 * PLANES + plane) + at % 64 / 8] |= (uint8_t)(128 >> at % 8);
    }
}

static int ones_in_any(uint64_t bits)
{
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    return (int)(((bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

/* What the dimensions come to whose sign a row has, in steps, and how many they are. */
static int64_t count_any(const uint8_t *row, const Closer *closer, int64_t *ones)
{
    int64_t counted = 0;
    *ones = 0;
    for (Py_ssize_t word = 0; word < closer->words; word++) {
        uint64_t bits;
        memcpy(&bits, row + 8 * word, sizeof bits);
        *ones += ones_in_any(bits);
        for (int plane = 0; plane < PLANES; plane++)
            counted += (int64_t)ones_in_any(bits & closer->planes[word * PLANES + plane]) << plane;
    }
    return counted;
}

static int64_t (*count_ones)(const uint8_t *, const Closer *, int64_t *) = count_any;

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("popcnt"))) static int64_t count_64(const uint8_t *row, const Closer *closer, int64_t *ones)
{
    int64_t all = 0, first = 0, second = 0, third = 0, fourth = 0;
    const uint64_t *planes = closer->planes;
    for (Py_ssize_t word = 0; word < closer->words; word++, planes += PLANES) {
        uint64_t bits;
        memcpy(&bits, row + 8 * word, sizeof bits);
        all += __builtin_popcountll(bits);
        first += __builtin_popcountll(bits & planes[0]);
        second += __builtin_popcountll(bits & planes[1]);
        third += __builtin_popcountll(bits & planes[2]);
        fourth += __builtin_popcountll(bits & planes[3]);
    }
    *ones = all;
    return first + 2 * second + 4 * third + 8 * fourth;
}
#endif

/* How near the vector at a place is, by its row; NaN if it was struck out. */
static float near_by_row(const Closer *closer, int64_t place)
{
    const uint8_t *row = closer->rows + place * closer->row_size;
    float numbers[3]; /* trust, offset, scale */
    int64_t ones;
    memcpy(numbers, row + 8 * closer->words, sizeof numbers);
    if (!(numbers[2] > 0)) return NAN;
    const int64_t counted = count_ones(row, closer, &ones);
    const float sum = 2 * (closer->lowest * (float)ones + closer->step * (float)counted) - closer->total;
    return sum * numbers[0] + numbers[1];
}

/* Those of a block who seem near by their signs along directions. */
static int choose_of_block(const Question *question, float least, Py_ssize_t first, Py_ssize_t last, int64_t *places)
{
    int count = 0;
    for (Py_ssize_t at = first, next; at < last; at = next) {
        float found[TOGETHER];
        next = (at / TOGETHER + 1) * TOGETHER;
        if (next > last) next = last;
        for (uint32_t nearer = promising(question, at, next, least, found); nearer; nearer &= nearer - 1)
            places[count++] = at + zeros_before(nearer);
    }
    return count;
}

static void look_at_rows(const Closer *closer, const int64_t *places, int count, Best *best)
{
    for (int at = -ROWS_AHEAD; at < count; at++) {
        if (at + ROWS_AHEAD < count) FETCH(closer->rows + places[at + ROWS_AHEAD] * closer->row_size, closer->row_size);
        if (at < 0) continue;
        const float score = near_by_row(closer, places[at]);
        if (score > best->least) take(best, score, places[at]);
    }
}

/* The best of a span by their rows, of those who seem near by their signs along directions. Many are chosen before any is
   looked at: signs are read quickest if nothing else is read meanwhile, and so are rows. */
static void look_closer(const Question *question, const Closer *closer, Py_ssize_t start, Py_ssize_t end, Best *best)
{
    int64_t places[ROWS_AT_ONCE + BLOCK];
    int count = 0;
    for (Py_ssize_t first = start, last; first < end; first = last) {
        last = beyond(first, BLOCK, end);
        count += choose_of_block(question, closer->least, first, last, places + count);
        if (count < ROWS_AT_ONCE && last < end) continue;
        look_at_rows(closer, places, count, best);
        count = 0;
    }
}
