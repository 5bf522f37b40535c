/* Products of vectors in whole numbers. */

#pragma once

#include "signs.h"

#define LANES 16

/* A vector in whole numbers of two bytes each, times `scale`: to four digits, as bytes are multiplied with it. */
typedef struct {
    int16_t *values;
    float scale;
} Whole;

static void take_whole(Whole *whole, const float *vector, Py_ssize_t size)
{
    float largest = 1e-30f;
    for (Py_ssize_t at = 0; at < size; at++) largest = fmaxf(largest, fabsf(vector[at]));
    whole->scale = largest / INT16_MAX;
    for (Py_ssize_t at = 0; at < size; at++)
        whole->values[at] = (int16_t)fmaxf(-INT16_MAX, fminf(INT16_MAX, rintf(vector[at] / whole->scale)));
}

/* The same, in room of its own. */
static int make_whole(Whole *whole, const float *vector, Py_ssize_t size)
{
    whole->values = malloc((size + 1) * sizeof(int16_t));
    if (whole->values) take_whole(whole, vector, size);
    return whole->values != NULL;
}

static int64_t product_any(const int8_t *row, const int16_t *values, Py_ssize_t size)
{
    int64_t sum = 0;
    for (Py_ssize_t first = 0; first < size; first += TOGETHER) {
        const Py_ssize_t last = size - first < TOGETHER ? size : first + TOGETHER;
        int32_t some = 0;
        for (Py_ssize_t at = first; at < last; at++) some += (int32_t)row[at] * values[at];
        sum += some;
    }
    return sum;
}

static int64_t (*product)(const int8_t *, const int16_t *, Py_ssize_t) = product_any;

#if defined(__x86_64__) && defined(__GNUC__)
#define MOST_LANES 4096 /* a lane of the sum holds the products of so many dimensions and more */
__attribute__((target("avx2"))) static int64_t product_256(const int8_t *row, const int16_t *values, Py_ssize_t size)
{
    int64_t sum = 0;
    Py_ssize_t at = 0;
    while (size - at >= LANES) {
        const Py_ssize_t end = size - at < MOST_LANES ? at + (size - at) / LANES * LANES : at + MOST_LANES;
        __m256i sums = _mm256_setzero_si256();
        for (; at < end; at += LANES)
            sums = _mm256_add_epi32(
                sums, _mm256_madd_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(row + at))),
                                        _mm256_loadu_si256((const __m256i *)(values + at))));
        int32_t lanes[8];
        _mm256_storeu_si256((__m256i *)lanes, sums);
        for (int lane = 0; lane < 8; lane++) sum += lanes[lane];
    }
    return sum + product_any(row + at, values + at, size - at);
}
#endif
