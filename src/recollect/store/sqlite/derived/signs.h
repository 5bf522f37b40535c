/* How near vectors seem by their signs alone: those of 32 are looked at together. */

#pragma once

#include "highest.h"
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__GNUC__)
#include <arm_neon.h>
#endif

#define FURTHER 2048 /* the processor itself looks no further ahead than to the end of a page */
#define BLOCK 256
#define TOGETHER 32
#define STEPS 31 /* so that what 32 dimensions come to fits a byte */

/* A question, and the signs that it is compared with: by groups of vectors, bytes of eight dimensions, vectors.
   What each half of a byte comes to stands in a table, in steps, the lower half's first. With `ranges` the signs are those
   of directions, and a byte each for trust and offset follows them: from where on, and in which steps. */
typedef struct {
    const uint8_t *signs;
    uint8_t *tables;
    const float *trust, *offset, *scale, *ranges;
    const uint8_t *allowed; /* from `start` on; NULL if all are */
    Py_ssize_t start, bytes;
    float step, least;
} Question;

/* What four dimensions come to for each combination of signs, above the least; numpy's packbits begins on top. */
static void take_four(const float *four, float step, uint8_t *table)
{
    float sums[16] = {0};
    for (int at = 0, known = 1; at < 4; at++, known *= 2)
        for (int signs = known - 1; signs >= 0; signs--) {
            const float sum = sums[signs], size = fabsf(four[at]);
            sums[2 * signs] = four[at] > 0 ? sum : sum + size;
            sums[2 * signs + 1] = four[at] > 0 ? sum + size : sum;
        }
    for (int signs = 0; signs < 16; signs++) table[signs] = (uint8_t)(sums[signs] / step + 0.5f);
}

static void take_question(Question *question, const float *left, Py_ssize_t size)
{
    float widest = 0, total = 0, negative = 0;
    for (Py_ssize_t first = 0; first < size; first += 4) {
        float width = 0;
        for (Py_ssize_t at = first; at < first + 4 && at < size; at++) {
            width += fabsf(left[at]);
            total += left[at];
            if (left[at] < 0) negative += left[at];
        }
        if (width > widest) widest = width;
    }
    Py_ssize_t steps = UINT16_MAX / (2 * question->bytes + 1);
    if (steps > STEPS) steps = STEPS;
    question->step = fmaxf(widest, 1e-12f) / (float)(steps > 0 ? steps : 1);
    for (Py_ssize_t first = 0; first < 8 * question->bytes; first += 4) {
        float four[4] = {0};
        for (Py_ssize_t at = first; at < first + 4 && at < size; at++) four[at - first] = left[at];
        take_four(four, question->step, question->tables + first / 8 * 32 + (first % 8 ? 0 : 16));
    }
    question->least = 2 * negative - total;
    question->step *= 2;
}

/* What the signs of a group of vectors come to, in steps. */
#if defined(__aarch64__) && defined(__GNUC__)
static void add_signs(const uint8_t *signs, const uint8_t *tables, Py_ssize_t bytes, uint16_t *sums)
{
    for (int first = 0; first < TOGETHER; first += 16) {
        uint16x8_t front = vdupq_n_u16(0), back = front;
        for (Py_ssize_t byte = 0; byte < bytes; byte++) {
            const uint8x16_t some = vld1q_u8(signs + TOGETHER * byte + first);
            const uint8x16_t both = vaddq_u8(vqtbl1q_u8(vld1q_u8(tables + 32 * byte), vandq_u8(some, vdupq_n_u8(15))),
                                             vqtbl1q_u8(vld1q_u8(tables + 32 * byte + 16), vshrq_n_u8(some, 4)));
            front = vaddw_u8(front, vget_low_u8(both));
            back = vaddw_high_u8(back, both);
        }
        vst1q_u16(sums + first, front);
        vst1q_u16(sums + first + 8, back);
    }
}
#else
static void add_signs(const uint8_t *signs, const uint8_t *tables, Py_ssize_t bytes, uint16_t *sums)
{
    memset(sums, 0, TOGETHER * sizeof(uint16_t));
    for (Py_ssize_t byte = 0; byte < bytes; byte++, signs += TOGETHER, tables += 32)
        for (int at = 0; at < TOGETHER; at++) sums[at] += tables[signs[at] & 15] + tables[16 + (signs[at] >> 4)];
}
#endif

/* How near so many vectors of a group are, up to a constant; a bit for each that is nearer than `least`. */
static uint32_t estimate(const Question *question, const uint16_t *sums, Py_ssize_t start, int size, float least, float *found)
{
    const float *trust = question->trust + start, *offset = question->offset + start;
    uint32_t nearer = 0;
    for (int at = 0; at < size; at++) {
        found[at] = (question->least + question->step * (float)sums[at]) * trust[at] + offset[at];
        nearer |= (uint32_t)(found[at] > least) << at;
    }
    return nearer;
}

/* How near all of a group seem along directions. */
static uint32_t estimate_along(const Question *question, const uint16_t *sums, const uint8_t *numbers, float least,
                               float *found)
{
    const float *ranges = question->ranges;
    uint32_t nearer = 0;
    for (int at = 0; at < TOGETHER; at++) {
        const float trust = ranges[0] + ranges[1] * numbers[at], offset = ranges[2] + ranges[3] * numbers[TOGETHER + at];
        found[at] = (question->least + question->step * (float)sums[at]) * trust + offset;
        nearer |= (uint32_t)(found[at] > least) << at;
    }
    return nearer;
}

static const uint8_t *signs_of(const Question *question, Py_ssize_t start)
{
    return question->signs + start * (question->bytes + (question->ranges ? 2 : 0));
}

/* How near all of the group seem that begins at a place. What is found is told if anybody is nearer, or all are asked for. */
static uint32_t near_group_any(const Question *question, Py_ssize_t start, float least, float *found)
{
    uint16_t sums[TOGETHER];
    const uint8_t *signs = signs_of(question, start);
    add_signs(signs, question->tables, question->bytes, sums);
    return question->ranges ? estimate_along(question, sums, signs + question->bytes * TOGETHER, least, found)
                            : estimate(question, sums, start, TOGETHER, least, found);
}

static uint32_t (*near_group)(const Question *, Py_ssize_t, float, float *) = near_group_any;

#if defined(__x86_64__) && defined(__GNUC__)
#define IN_256 __attribute__((target("avx2"))) static inline

/* What eight dimensions of all vectors of a group come to: 2 * STEPS at the most. */
IN_256 __m256i looked_up(const uint8_t *signs, const uint8_t *tables)
{
    const __m256i half = _mm256_set1_epi8(15), some = _mm256_loadu_si256((const __m256i *)signs);
    const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)tables));
    const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(tables + 16)));
    return _mm256_add_epi8(_mm256_shuffle_epi8(low, _mm256_and_si256(some, half)),
                           _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(some, 4), half)));
}

/* What the signs of a group come to, in steps: of vectors 0 to 7 and 16 to 23, and of the others. */
IN_256 void add_signs_256(const uint8_t *signs, const uint8_t *tables, Py_ssize_t bytes, __m256i *first, __m256i *second)
{
    __m256i even = _mm256_setzero_si256(), odd = even;
    Py_ssize_t byte = 0;
    for (; byte + 4 <= bytes; byte += 4, signs += 4 * TOGETHER, tables += 4 * 32) {
        _mm_prefetch((const char *)signs + FURTHER, _MM_HINT_T0);
        _mm_prefetch((const char *)signs + FURTHER + 64, _MM_HINT_T0);
        const __m256i two = _mm256_add_epi8(looked_up(signs, tables), looked_up(signs + TOGETHER, tables + 32));
        const __m256i others =
            _mm256_add_epi8(looked_up(signs + 2 * TOGETHER, tables + 64), looked_up(signs + 3 * TOGETHER, tables + 96));
        const __m256i four = _mm256_add_epi8(two, others);
        even = _mm256_add_epi16(even, four);
        odd = _mm256_add_epi16(odd, _mm256_srli_epi16(four, 8));
    }
    for (; byte < bytes; byte++, signs += TOGETHER, tables += 32) {
        const __m256i one = looked_up(signs, tables);
        even = _mm256_add_epi16(even, one);
        odd = _mm256_add_epi16(odd, _mm256_srli_epi16(one, 8));
    }
    even = _mm256_sub_epi16(even, _mm256_slli_epi16(odd, 8)); /* what the odd ones added to them */
    *first = _mm256_unpacklo_epi16(even, odd);
    *second = _mm256_unpackhi_epi16(even, odd);
}

IN_256 __m256 from_bytes(const uint8_t *numbers, const float *range)
{
    const __m256 steps = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)numbers)));
    return _mm256_add_ps(_mm256_set1_ps(range[0]), _mm256_mul_ps(_mm256_set1_ps(range[1]), steps));
}

/* How near eight of a group are whose signs come to so much. */
IN_256 __m256 estimate_256(const Question *question, __m128i sums, Py_ssize_t at, const uint8_t *numbers)
{
    const __m256 counted = _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(sums));
    const __m256 left =
        _mm256_add_ps(_mm256_set1_ps(question->least), _mm256_mul_ps(_mm256_set1_ps(question->step), counted));
    const __m256 trust = numbers ? from_bytes(numbers, question->ranges) : _mm256_loadu_ps(question->trust + at);
    const __m256 offset =
        numbers ? from_bytes(numbers + TOGETHER, question->ranges + 2) : _mm256_loadu_ps(question->offset + at);
    return _mm256_add_ps(_mm256_mul_ps(left, trust), offset);
}

__attribute__((target("avx2"))) static uint32_t
near_group_256(const Question *question, Py_ssize_t start, float least, float *found)
{
    const uint8_t *signs = signs_of(question, start);
    const uint8_t *numbers = question->ranges ? signs + question->bytes * TOGETHER : NULL;
    __m256i first, second;
    add_signs_256(signs, question->tables, question->bytes, &first, &second);
    const __m128i sums[] = {_mm256_castsi256_si128(first), _mm256_castsi256_si128(second),
                            _mm256_extracti128_si256(first, 1), _mm256_extracti128_si256(second, 1)};
    __m256 near[4];
    uint32_t nearer = 0;
    for (int at = 0; at < 4; at++) {
        near[at] = estimate_256(question, sums[at], start + 8 * at, numbers ? numbers + 8 * at : NULL);
        nearer |= (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(near[at], _mm256_set1_ps(least), _CMP_GT_OQ)) << 8 * at;
    }
    if (nearer || least == -INFINITY)
        for (int at = 0; at < 4; at++) _mm256_storeu_ps(found + 8 * at, near[at]);
    return nearer;
}
#endif

static int zeros_before(uint32_t bits)
{
#if defined(__GNUC__)
    return __builtin_ctz(bits);
#else
    int zeros = 0;
    while (!(bits >> zeros & 1)) zeros++;
    return zeros;
#endif
}

static int is_anyone_allowed(const uint8_t *allowed, Py_ssize_t count)
{
    uint8_t any = 0;
    for (Py_ssize_t at = 0; at < count; at++) any |= allowed[at];
    return any;
}

/* Who of a part of a group seems nearer than `least`: a bit for each, from the first of them on. */
static uint32_t near_part(const Question *question, Py_ssize_t start, Py_ssize_t end, float least, float *found)
{
    const Py_ssize_t passed = start % TOGETHER;
    if (question->ranges) {
        const uint32_t nearer = near_group(question, start - passed, least, found);
        if (nearer) memmove(found, found + passed, (end - start) * sizeof(float));
        return nearer >> passed & (((uint32_t)1 << (end - start)) - 1);
    }
    uint16_t sums[TOGETHER]; /* trust and offset may end before the group does */
    add_signs(signs_of(question, start - passed), question->tables, question->bytes, sums);
    return estimate(question, sums + passed, start, (int)(end - start), least, found);
}

/* Who of a group, from one place to another, may answer and seems nearer than `least`. */
static uint32_t promising(const Question *question, Py_ssize_t start, Py_ssize_t end, float least, float *found)
{
    const uint8_t *allowed = question->allowed ? question->allowed + (start - question->start) : NULL;
    if (allowed && !is_anyone_allowed(allowed, end - start)) return 0;
    uint32_t nearer = end - start == TOGETHER ? near_group(question, start, least, found)
                                              : near_part(question, start, end, least, found);
    if (allowed && nearer)
        for (int at = 0; at < end - start; at++) nearer &= ~((uint32_t)!allowed[at] << at);
    return nearer;
}

/* The best of a group, from one place to another. */
static void look_at_group(const Question *question, Py_ssize_t start, Py_ssize_t end, Best *best)
{
    float found[TOGETHER];
    uint32_t nearer = promising(question, start, end, best->least, found);
    for (; nearer; nearer &= nearer - 1) {
        const int at = zeros_before(nearer);
        const int may_be_struck = found[at] == 0; /* nothing is left of who was struck out */
        if (found[at] > best->least && (!may_be_struck || question->scale[start + at] > 0))
            take(best, found[at], start + at);
    }
}

/* So far from a place on, or a little less: where a group begins. */
static Py_ssize_t beyond(Py_ssize_t place, Py_ssize_t far, Py_ssize_t end)
{
    return end - place <= far ? end : (place + far) / TOGETHER * TOGETHER;
}

/* The best of some blocks, `apart` from each other. */
static void look_through(const Question *question, Py_ssize_t start, Py_ssize_t end, Py_ssize_t apart, Best *best)
{
    for (Py_ssize_t first = start; first < end; first = beyond(first, apart, end)) {
        const Py_ssize_t last = beyond(first, BLOCK, end);
        for (Py_ssize_t at = first, next; at < last; at = next) {
            next = (at / TOGETHER + 1) * TOGETHER;
            if (next > last) next = last;
            look_at_group(question, at, next, best);
        }
    }
}
