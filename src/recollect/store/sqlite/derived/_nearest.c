/* The inner loops over a segment's vectors. kernel.py says what each is for and has the same in numpy.

   Whatever a file says is data: every position and code that is read from one is checked before it is used,
   and a wrong one raises IndexError, as numpy does. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>
#define THREADS
#endif
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define PAUSE _mm_pause()
#elif defined(__aarch64__) && defined(__GNUC__)
#include <arm_neon.h>
#define PAUSE __asm__ volatile("yield")
#else
#define PAUSE (void)0
#endif
#include "../../packed.h"
#include "processors.h"

#define AHEAD 6
#define FURTHER 2048 /* the processor itself looks no further ahead than to the end of a page */
#define BLOCK 256
#define TOGETHER 32
#define STEPS 31 /* so that what 32 dimensions come to fits a byte */
#define LANES 16
#define SAMPLED 12
#define PART 4096
#define FEW 512 /* a part of those who are each looked at closely */
#define FINER 254.0f
#define FIRST 256
#define LINE 64
#define BINS 256
#define PLANES 4
#define ENOUGH 512 /* a sample of fewer says nothing about the rest */
#define SOME 64 /* so many are looked at closely without asking whether anybody else wants some */
#define PAUSES 30
#define PATIENCE 100 /* some fifty microseconds */
#define WIDE 100 /* whoever may be among so many nearest is looked at, even if fewer are wanted */
#define SPOTS 8 /* where some are compared with what is estimated of them, whoever they are */
#define WIDEST 8 /* no more than one of so many is looked at closely, however little estimates say */

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
static void add_signs_any(const uint8_t *signs, const uint8_t *tables, Py_ssize_t bytes, uint16_t *sums)
{
    memset(sums, 0, TOGETHER * sizeof(uint16_t));
    for (Py_ssize_t byte = 0; byte < bytes; byte++, signs += TOGETHER, tables += 32)
        for (int at = 0; at < TOGETHER; at++) sums[at] += tables[signs[at] & 15] + tables[16 + (signs[at] >> 4)];
}

static void (*add_signs)(const uint8_t *, const uint8_t *, Py_ssize_t, uint16_t *) = add_signs_any;

#if defined(__x86_64__) && defined(__GNUC__)
/* What eight dimensions of all vectors of a group come to: 2 * STEPS at the most. */
__attribute__((target("avx2"))) static inline __m256i looked_up(const uint8_t *signs, const uint8_t *tables)
{
    const __m256i half = _mm256_set1_epi8(15), some = _mm256_loadu_si256((const __m256i *)signs);
    const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)tables));
    const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(tables + 16)));
    return _mm256_add_epi8(_mm256_shuffle_epi8(low, _mm256_and_si256(some, half)),
                           _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(some, 4), half)));
}

__attribute__((target("avx2"))) static void
add_signs_256(const uint8_t *signs, const uint8_t *tables, Py_ssize_t bytes, uint16_t *sums)
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
    const __m256i first = _mm256_unpacklo_epi16(even, odd), second = _mm256_unpackhi_epi16(even, odd);
    _mm256_storeu_si256((__m256i *)sums, _mm256_permute2x128_si256(first, second, 0x20));
    _mm256_storeu_si256((__m256i *)(sums + 16), _mm256_permute2x128_si256(first, second, 0x31));
}
#elif defined(__aarch64__) && defined(__GNUC__)
static void add_signs_128(const uint8_t *signs, const uint8_t *tables, Py_ssize_t bytes, uint16_t *sums)
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
#endif

/* How near so many vectors of a group are, up to a constant; a bit for each that is nearer than `least`. */
static uint32_t estimate_any(const Question *question, const uint16_t *sums, Py_ssize_t start, int size, float least,
                             float *found)
{
    const float *trust = question->trust + start, *offset = question->offset + start;
    uint32_t nearer = 0;
    for (int at = 0; at < size; at++) {
        found[at] = (question->least + question->step * (float)sums[at]) * trust[at] + offset[at];
        nearer |= (uint32_t)(found[at] > least) << at;
    }
    return nearer;
}

/* The same of a whole group. */
static uint32_t estimate_group_any(const Question *question, const uint16_t *sums, Py_ssize_t start, float least,
                                   float *found)
{
    return estimate_any(question, sums, start, TOGETHER, least, found);
}

static uint32_t (*estimate_group)(const Question *, const uint16_t *, Py_ssize_t, float, float *) = estimate_group_any;

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static uint32_t
estimate_group_256(const Question *question, const uint16_t *sums, Py_ssize_t start, float least, float *found)
{
    const __m256 lowest = _mm256_set1_ps(question->least), step = _mm256_set1_ps(question->step);
    uint32_t nearer = 0;
    for (int at = 0; at < TOGETHER; at += 8) {
        const __m256 sum = _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(sums + at))));
        const __m256 near = _mm256_add_ps(_mm256_mul_ps(_mm256_add_ps(lowest, _mm256_mul_ps(step, sum)),
                                                        _mm256_loadu_ps(question->trust + start + at)),
                                          _mm256_loadu_ps(question->offset + start + at));
        const __m256 is_nearer = _mm256_cmp_ps(near, _mm256_set1_ps(least), _CMP_GT_OQ);
        nearer |= (uint32_t)_mm256_movemask_ps(is_nearer) << at;
        _mm256_storeu_ps(found + at, near);
    }
    return nearer;
}
#endif

/* How near all of a group seem along directions. */
static uint32_t estimate_along_any(const Question *question, const uint16_t *sums, const uint8_t *numbers, float least,
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

static uint32_t (*estimate_along)(const Question *, const uint16_t *, const uint8_t *, float, float *) = estimate_along_any;

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static inline __m256 from_bytes(const uint8_t *numbers, const float *range)
{
    const __m256 steps = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)numbers)));
    return _mm256_add_ps(_mm256_set1_ps(range[0]), _mm256_mul_ps(_mm256_set1_ps(range[1]), steps));
}

__attribute__((target("avx2"))) static uint32_t
estimate_along_256(const Question *question, const uint16_t *sums, const uint8_t *numbers, float least, float *found)
{
    const __m256 lowest = _mm256_set1_ps(question->least), step = _mm256_set1_ps(question->step);
    uint32_t nearer = 0;
    for (int at = 0; at < TOGETHER; at += 8) {
        const __m256 sum = _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(sums + at))));
        const __m256 near = _mm256_add_ps(_mm256_mul_ps(_mm256_add_ps(lowest, _mm256_mul_ps(step, sum)),
                                                        from_bytes(numbers + at, question->ranges)),
                                          from_bytes(numbers + TOGETHER + at, question->ranges + 2));
        const __m256 is_nearer = _mm256_cmp_ps(near, _mm256_set1_ps(least), _CMP_GT_OQ);
        nearer |= (uint32_t)_mm256_movemask_ps(is_nearer) << at;
        _mm256_storeu_ps(found + at, near);
    }
    return nearer;
}
#endif

typedef struct {
    float *scores;
    int64_t *places;
    Py_ssize_t held, wanted, room;
    float least;
} Best;

static void exchange(Best *best, Py_ssize_t one, Py_ssize_t other)
{
    const float score = best->scores[one];
    const int64_t place = best->places[one];
    best->scores[one] = best->scores[other];
    best->places[one] = best->places[other];
    best->scores[other] = score;
    best->places[other] = place;
}

/* In which of the bins a score is, the highest first. */
static inline int bin_of(float score, float highest, float scale)
{
    const float bin = (highest - score) * scale;
    return bin < BINS ? (int)bin : BINS - 1;
}

/* Put those first who are surely among the wanted, and those last who surely are not. The others stand between `low` and
   `high` then. No step of it depends on what the last one found, so it is far quicker than comparing them. */
static void put_apart(Best *best, Py_ssize_t wanted, Py_ssize_t *low, Py_ssize_t *high)
{
    const Py_ssize_t held = best->held;
    float highest = -INFINITY, lowest = INFINITY;
    for (Py_ssize_t at = 0; at < held; at++) {
        highest = best->scores[at] > highest ? best->scores[at] : highest;
        lowest = best->scores[at] < lowest ? best->scores[at] : lowest;
    }
    const float scale = BINS / (highest - lowest);
    float *scores = isfinite(scale) ? malloc(held * sizeof(float)) : NULL;
    int64_t *places = scores ? malloc(held * sizeof(int64_t)) : NULL;
    if (places) {
        Py_ssize_t counts[BINS] = {0}, next[3] = {0};
        for (Py_ssize_t at = 0; at < held; at++) counts[bin_of(best->scores[at], highest, scale)]++;
        int last = 0;
        while (next[1] + counts[last] < wanted) next[1] += counts[last++];
        next[2] = next[1] + counts[last];
        *low = next[1];
        *high = next[2] - 1;
        for (Py_ssize_t at = 0; at < held; at++) {
            const int bin = bin_of(best->scores[at], highest, scale);
            const Py_ssize_t to = next[(bin >= last) + (bin > last)]++;
            scores[to] = best->scores[at];
            places[to] = best->places[at];
        }
        memcpy(best->scores, scores, held * sizeof(float));
        memcpy(best->places, places, held * sizeof(int64_t));
    }
    free(scores);
    free(places);
}

/* Put so many of the highest first, in no order, the lowest of them last (Hoare's selection). */
static void put_first(Best *best, Py_ssize_t wanted)
{
    Py_ssize_t low = 0, high = best->held - 1;
    if (wanted <= best->held && best->held > BINS) put_apart(best, wanted, &low, &high);
    while (low < high) {
        const float pivot = best->scores[low + (high - low) / 2];
        Py_ssize_t left = low, right = high;
        while (left <= right) {
            while (best->scores[left] > pivot) left++;
            while (best->scores[right] < pivot) right--;
            if (left <= right) exchange(best, left++, right--);
        }
        if (wanted - 1 <= right) high = right;
        else if (wanted - 1 >= left) low = left;
        else break;
    }
}

/* Keep the wanted number of the highest, if there are more, and note the lowest of them. */
static void keep_best(Best *best)
{
    if (best->held <= best->wanted) return;
    put_first(best, best->wanted);
    best->held = best->wanted;
    best->least = best->scores[best->wanted - 1];
}

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

/* Who of a group seems nearer than `least` along directions, of those from one place to another: a bit for each, from the
   first of them on. */
static uint32_t promising_along(const Question *question, Py_ssize_t start, Py_ssize_t end, float least, float *found)
{
    uint16_t sums[TOGETHER];
    const Py_ssize_t passed = start % TOGETHER;
    const uint8_t *signs = question->signs + (start - passed) * (question->bytes + 2);
    add_signs(signs, question->tables, question->bytes, sums);
    const uint32_t nearer = estimate_along(question, sums, signs + question->bytes * TOGETHER, least, found);
    if (end - start == TOGETHER) return nearer;
    memmove(found, found + passed, (end - start) * sizeof(float));
    return nearer >> passed & (((uint32_t)1 << (end - start)) - 1);
}

/* The same by the signs of all dimensions. */
static uint32_t promising_by_all(const Question *question, Py_ssize_t start, Py_ssize_t end, float least, float *found)
{
    uint16_t sums[TOGETHER];
    const Py_ssize_t passed = start % TOGETHER;
    add_signs(question->signs + (start - passed) * question->bytes, question->tables, question->bytes, sums);
    return end - start == TOGETHER ? estimate_group(question, sums, start, least, found)
                                   : estimate_any(question, sums + passed, start, (int)(end - start), least, found);
}

/* Who of a group, from one place to another, may answer and seems nearer than `least`. */
static uint32_t promising(const Question *question, Py_ssize_t start, Py_ssize_t end, float least, float *found)
{
    const uint8_t *allowed = question->allowed ? question->allowed + (start - question->start) : NULL;
    if (allowed && !is_anyone_allowed(allowed, end - start)) return 0;
    uint32_t nearer = question->ranges ? promising_along(question, start, end, least, found)
                                       : promising_by_all(question, start, end, least, found);
    if (allowed && nearer)
        for (int at = 0; at < end - start; at++) nearer &= ~((uint32_t)!allowed[at] << at);
    return nearer;
}

static void take(Best *best, float score, int64_t place)
{
    best->scores[best->held] = score;
    best->places[best->held++] = place;
    if (best->held == best->room) keep_best(best);
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

/* The best of some blocks, `apart` from each other. */
static void look_through(const Question *question, Py_ssize_t start, Py_ssize_t end, Py_ssize_t apart, Best *best)
{
    for (Py_ssize_t first = start; first < end; first += apart) {
        const Py_ssize_t last = end - first < BLOCK ? end : first + BLOCK;
        for (Py_ssize_t at = first, next; at < last; at = next) {
            next = (at / TOGETHER + 1) * TOGETHER;
            if (next > last) next = last;
            look_at_group(question, at, next, best);
        }
    }
}

static int make_room(Best *best, Py_ssize_t wanted)
{
    *best = (Best){NULL, NULL, 0, wanted, 4 * wanted, -INFINITY};
    best->scores = malloc(best->room * sizeof(float));
    best->places = malloc(best->room * sizeof(int64_t));
    return best->scores && best->places;
}

static void free_room(Best *best)
{
    free(best->scores);
    free(best->places);
}

/* How estimates go together with what they estimate: what is so near is estimated as `base` and `slope` times that, and
   seldom as less by more than `far`. */
typedef struct {
    float base, slope, far;
} Tendency;

static const Tendency UNKNOWN = {-INFINITY, 0, 0};

/* What is known of it so far, by sums over a sample. */
typedef struct {
    double count, estimates, scores, estimates_squared, scores_squared, products;
} Sums;

static void note(Sums *sums, float estimate, float score)
{
    sums->count++;
    sums->estimates += estimate;
    sums->scores += score;
    sums->estimates_squared += (double)estimate * estimate;
    sums->scores_squared += (double)score * score;
    sums->products += (double)estimate * score;
}

static Tendency tendency_of(const Sums *sums)
{
    const double estimate = sums->estimates / sums->count, score = sums->scores / sums->count;
    const double varies = sums->scores_squared / sums->count - score * score;
    const double slope = varies > 1e-20 ? (sums->products / sums->count - estimate * score) / varies : 0;
    const double left = sums->estimates_squared / sums->count - estimate * estimate - slope * slope * varies;
    return (Tendency){(float)(estimate - slope * score), (float)slope, 2 * (float)sqrt(left > 0 ? left : 0)};
}

/* What is estimated of somebody so near; less than anything if that is not known. */
static float estimated(const Tendency *tendency, float score)
{
    return score > -INFINITY ? tendency->base + tendency->slope * score : -INFINITY;
}

/* The same question, as it is compared with the rows of those who seem near by their signs along directions: what each
   dimension counts, in whole numbers of PLANES bits, the same bit of all dimensions together. */
typedef struct {
    const uint8_t *rows; /* NULL if there are no directions */
    Py_ssize_t row_size, words;
    uint64_t *planes;
    float lowest, step, total;
    Tendency first; /* of what signs along directions say, beside rows */
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

/* The best of a span by their rows, of those who seem near by their signs along directions: as near as the least of the best.
   Every second of those who are just as near seems less, but the nearest of all, who are asked for, are a good deal nearer. */
static void look_closer(const Question *question, const Closer *closer, Py_ssize_t start, Py_ssize_t end, Best *best)
{
    int64_t places[BLOCK];
    for (Py_ssize_t first = start, last; first < end; first = last) {
        const float least = estimated(&closer->first, best->least);
        int count = 0;
        last = end - first < BLOCK ? end : first + BLOCK;
        for (Py_ssize_t at = first, next; at < last; at = next) {
            float found[TOGETHER];
            next = (at / TOGETHER + 1) * TOGETHER;
            if (next > last) next = last;
            for (uint32_t nearer = promising(question, at, next, least, found); nearer; nearer &= nearer - 1) {
                places[count] = at + zeros_before(nearer);
                FETCH(closer->rows + places[count++] * closer->row_size, closer->row_size);
            }
        }
        for (int at = 0; at < count; at++) {
            const float score = near_by_row(closer, places[at]);
            if (score > best->least) take(best, score, places[at]);
        }
    }
}

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

/* The arrays of a segment, in the order in which they are given: a vector a row or an element, but for the frame. */
enum { SIGNS, TRUST, OFFSET, BYTES, SCALE, FINE, ROWS, NUMBERS, MEMORIES, CENTRE, DIRECTIONS, UNITS, RANGES, COLUMNS };

typedef struct {
    Py_buffer held[COLUMNS];
    int taken;
    Py_ssize_t count, size, directions;
    const uint8_t *signs, *rows;
    const int8_t *bytes, *fine, *along;
    const float *trust, *offset, *scale, *centre, *units, *ranges;
    const int64_t *numbers, *memories;
    int file; /* where the fine bytes are read, from a place on; below 0: they are looked at where they are mapped */
    long long place;
} Segment;

static const char NAME[] = "recollect.vectors", ASKED[] = "recollect.asked";

static void *lying(void)
{
    PyErr_SetString(PyExc_IndexError, "the arrays do not fit each other");
    return NULL;
}

static void let_go(Segment *segment)
{
    while (segment->taken) PyBuffer_Release(segment->held + --segment->taken);
#ifdef THREADS
    if (segment->file >= 0) close(segment->file);
#endif
    free(segment);
}

static void drop(PyObject *capsule)
{
    let_go(PyCapsule_GetPointer(capsule, NAME));
}

/* How many bytes of signs each has that are looked at first. */
static Py_ssize_t eights(const Segment *segment)
{
    return segment->directions ? segment->directions / 8 : (segment->size + 7) / 8;
}

static int fits(const Segment *segment)
{
    const Py_buffer *held = segment->held;
    const Py_ssize_t floats = segment->count * (Py_ssize_t)sizeof(float), has_rows = segment->directions > 0;
    const Py_ssize_t groups = (segment->count + TOGETHER - 1) / TOGETHER;
    return held[TRUST].len == (has_rows ? 0 : floats) && held[OFFSET].len == held[TRUST].len
        && held[NUMBERS].len == 2 * floats && held[MEMORIES].len == 2 * floats
        && held[DIRECTIONS].len == segment->directions * segment->size && segment->directions % 8 == 0
        && held[RANGES].len == has_rows * 4 * (Py_ssize_t)sizeof(float)
        && held[ROWS].len == has_rows * segment->count * row_size(segment->size)
        && held[BYTES].len == segment->count * segment->size && held[FINE].len == held[BYTES].len
        && held[SIGNS].len == groups * (eights(segment) + 2 * has_rows) * TOGETHER;
}

/* Where the fine bytes are read; the descriptor is copied. */
static int take_file(Segment *segment, PyObject *file, PyObject *place)
{
    const long given = PyLong_AsLong(file);
    segment->place = PyLong_AsLongLong(place);
#ifdef THREADS
    if (given >= 0 && segment->place >= 0) segment->file = fcntl((int)given, F_DUPFD_CLOEXEC, 3);
#endif
    return !PyErr_Occurred();
}

/* A segment that is asked again and again, from a file and its arrays. */
static PyObject *hold(PyObject *self, PyObject *given)
{
    Segment *segment = calloc(1, sizeof(Segment));
    if (!segment) return PyErr_NoMemory();
    Py_buffer *held = segment->held;
    segment->file = -1;
    for (; segment->taken < COLUMNS; segment->taken++) {
        PyObject *array = PyTuple_GetItem(given, segment->taken + 2);
        if (!array || PyObject_GetBuffer(array, held + segment->taken, PyBUF_SIMPLE)) {
            let_go(segment);
            return NULL;
        }
    }
    segment->count = held[SCALE].len / (Py_ssize_t)sizeof(float);
    segment->size = held[CENTRE].len / (Py_ssize_t)sizeof(float);
    segment->directions = held[UNITS].len / (Py_ssize_t)sizeof(float);
    segment->signs = held[SIGNS].buf;
    segment->rows = held[ROWS].buf;
    segment->along = held[DIRECTIONS].buf;
    segment->units = held[UNITS].buf;
    segment->ranges = held[RANGES].buf;
    segment->trust = held[TRUST].buf;
    segment->offset = held[OFFSET].buf;
    segment->bytes = held[BYTES].buf;
    segment->scale = held[SCALE].buf;
    segment->fine = held[FINE].buf;
    segment->numbers = held[NUMBERS].buf;
    segment->memories = held[MEMORIES].buf;
    segment->centre = held[CENTRE].buf;
    PyObject *capsule = fits(segment) ? PyCapsule_New(segment, NAME, drop) : lying();
    if (!capsule) let_go(segment);
    else if (!take_file(segment, PyTuple_GetItem(given, 0), PyTuple_GetItem(given, 1))) Py_CLEAR(capsule);
    return capsule;
}

/* How near the vector at a place is, by its bytes; a whole vector's product with the centre is the same for all. */
static float near_by_bytes(const Segment *segment, int64_t place, const Whole *vector)
{
    const float whole = (float)product(segment->bytes + place * segment->size, vector->values, segment->size);
    return segment->scale[place] * (vector->scale * whole);
}

static float product_with_centre(const Segment *segment, const float *vector)
{
    float sum = 0;
    for (Py_ssize_t at = 0; at < segment->size; at++) sum += vector[at] * segment->centre[at];
    return sum;
}

/* What the fine bytes add; `row` is room for one. NaN if it can't be read. */
static float finer(const Segment *segment, int64_t place, const Whole *vector, int8_t *row)
{
    const int8_t *fine = segment->fine + place * segment->size;
#ifdef THREADS
    if (segment->file >= 0) {
        const off_t from = (off_t)(segment->place + place * segment->size);
        if (pread(segment->file, row, segment->size, from) != segment->size) return NAN;
        fine = row;
    }
#endif
    return segment->scale[place] * (vector->scale * (float)product(fine, vector->values, segment->size)) / FINER;
}

/* The best of those at some places, from one to another, each of which is looked at closely; who was struck out is nobody. */
static void look_at_places(const Segment *segment, const Whole *vector, const int64_t *places, Py_ssize_t first,
                           Py_ssize_t last, Best *best)
{
    for (Py_ssize_t at = first; at < last; at++) {
        const int64_t place = places[at];
        if (at + AHEAD < last) FETCH(segment->bytes + places[at + AHEAD] * segment->size, segment->size);
        const float score = near_by_bytes(segment, place, vector);
        if (!(segment->scale[place] > 0) || !(score >= best->least)) continue;
        best->scores[best->held] = score;
        best->places[best->held++] = place;
        if (best->held == best->room) keep_best(best);
    }
}

/* How near those at some places are by their bytes; NaN for who was struck out. */
static void look_at_bytes(const Segment *segment, const Whole *vector, const int64_t *places, Py_ssize_t count, float *scores)
{
    for (Py_ssize_t at = 0; at < count; at++) {
        if (at + AHEAD < count) {
            FETCH(segment->bytes + places[at + AHEAD] * segment->size, segment->size);
            FETCH(segment->scale + places[at + AHEAD], 1);
        }
        scores[at] = segment->scale[places[at]] > 0 ? near_by_bytes(segment, places[at], vector) : NAN;
    }
}

/* How far estimates are from what they estimate: the mean, and twice the deviation. */
typedef struct {
    float mean, far;
} Error;

static Error error_of(const float *estimates, const float *scores, Py_ssize_t count)
{
    double sum = 0, squares = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        const double apart = scores[at] - estimates[at];
        sum += apart;
        squares += apart * apart;
    }
    const double mean = sum / (double)count, variance = squares / (double)count - mean * mean;
    return (Error){(float)mean, 2 * (float)sqrt(variance > 0 ? variance : 0)};
}

/* Those who are looked at closely, some at a time by whoever has time: who they are, and how near each turns out to be. */
typedef struct {
    const int64_t *places;
    float *scores;
    Py_ssize_t count, next, taken; /* taken: parts that are being looked at */
} Rows;

/* A question on its way. Whoever has time first makes it ready, and then takes the next part of the span, or of the places
   if some are given: the thread that asked, and the helper, each with its own best so far. All but the arrays is guarded by
   `turn` once it was begun. */
enum { NEW, BEING_MADE_READY, READY };

typedef struct Asked {
    PyObject *capsule;
    const Segment *segment;
    float *vector, *left, *reached;
    Whole whole;
    uint8_t *tables, *allowed;
    int64_t *places; /* NULL for all of the span */
    Question question;
    Closer closer;
    Py_ssize_t start, end, next, most, exact;
    Best best[2];
    Rows rows;
    int stage, is_shared, is_busy, is_looked, era; /* busy: the helper, with it */
    struct Asked *behind; /* who waits for the helper, too */
} Asked;

static void make_ready(Asked *asked);

/* The best of the next part, and so on until there is none. */
static Py_ssize_t take_part(Asked *asked)
{
    const Py_ssize_t first = asked->next, size = asked->places ? FEW : PART;
    asked->next = asked->end - first < size ? asked->end : first + size;
    return first;
}

static void look_at_part(const Asked *asked, Py_ssize_t first, Py_ssize_t last, Best *best)
{
    if (asked->places) look_at_places(asked->segment, &asked->whole, asked->places, first, last, best);
    else if (asked->closer.rows) look_closer(&asked->question, &asked->closer, first, last, best);
    else look_through(&asked->question, first, last, BLOCK, best);
}

#ifdef THREADS
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static Asked *waiting = NULL, *served = NULL; /* who waits for the helper, in a row, and whom it helps */
static pthread_t helper;
static int is_there = 0, era = 0; /* a forked child begins another era */
#define LOCK pthread_mutex_lock(&turn);
#define UNLOCK pthread_mutex_unlock(&turn);

/* What is waited for takes some microseconds: to sleep until it is done would take longer. With the turn, which is given away
   meanwhile. */
static void wait_a_little(void)
{
    UNLOCK
    for (int times = 0; times < PAUSES; times++) PAUSE;
    LOCK
}

/* Wait once more for the other thread, which may have lost its processor. */
static void wait_for_other(int times_before)
{
    if (times_before < PATIENCE) wait_a_little();
    else pthread_cond_wait(&done, &turn);
}

#define tell_other() pthread_cond_broadcast(&done)
#else
#define LOCK
#define UNLOCK
#define wait_for_other(times_before) (void)(times_before)
#define tell_other()
#endif

/* Look at the next of those who are looked at closely. With the turn, which is given away meanwhile. */
static void look_at_next_rows(Asked *asked)
{
    Rows *rows = &asked->rows;
    const Py_ssize_t first = rows->next, count = rows->count - first < SOME ? rows->count - first : SOME;
    rows->next += count;
    rows->taken++;
    UNLOCK
    look_at_bytes(asked->segment, &asked->whole, rows->places + first, count, rows->scores + first);
    LOCK
    if (!--rows->taken) tell_other();
}

/* Look closely at some who were chosen by their signs, from one to another; who was struck out is nobody. Those who are
   somebody are put from `kept` on; how many there are then. */
static Py_ssize_t look_at_some(Asked *asked, Best *best, Py_ssize_t first, Py_ssize_t last, Py_ssize_t kept)
{
    LOCK
    asked->rows = (Rows){best->places + first, best->scores + first, last - first, 0, 0};
    while (asked->rows.next < asked->rows.count) look_at_next_rows(asked);
    for (int times = 0; asked->rows.taken; times++) wait_for_other(times);
    asked->rows = (Rows){0};
    UNLOCK
    for (Py_ssize_t at = first; at < last; at++) {
        if (isnan(best->scores[at])) continue;
        best->places[kept] = best->places[at];
        best->scores[kept++] = best->scores[at];
    }
    return kept;
}

/* Look closely at those who were chosen by their signs: at a part of them first, which says how far estimates err, and
   then at those of the others who may still be among the nearest: the `most`, or a hundred. How far they err. */
static float look_closely(Asked *asked, Best *best)
{
    const Py_ssize_t all = best->held, most = asked->most;
    const Py_ssize_t part = 2 * most > FIRST ? 2 * most : FIRST, among = most > WIDE ? most : WIDE;
    float *estimates = part < all ? malloc(part * sizeof(float)) : NULL;
    if (!estimates) {
        best->held = look_at_some(asked, best, 0, all, 0);
        return INFINITY;
    }
    put_first(best, part);
    memcpy(estimates, best->scores, part * sizeof(float));
    Py_ssize_t kept = look_at_some(asked, best, 0, part, 0);
    float least = -INFINITY, far = INFINITY;
    if (kept == part) { /* else estimates and scores no longer stand side by side */
        const Error error = error_of(estimates, best->scores, part);
        far = error.far;
        best->held = part;
        put_first(best, among);
        least = best->scores[among - 1] - error.mean - far;
    }
    Py_ssize_t further = part;
    for (Py_ssize_t at = part; at < all; at++)
        if (best->scores[at] > least) best->places[further++] = best->places[at];
    best->held = look_at_some(asked, best, part, further, kept);
    free(estimates);
    return far;
}

/* How estimates go together with nearness, by some of the span, whoever they are. */
static Tendency tendency_among(const Asked *asked)
{
    const Segment *segment = asked->segment;
    const Py_ssize_t apart = (asked->end - asked->start) / SPOTS / TOGETHER * TOGETHER;
    Question anyone = asked->question;
    anyone.allowed = NULL;
    Sums sums = {0};
    for (Py_ssize_t at = (asked->start / TOGETHER + 1) * TOGETHER; apart && at + TOGETHER <= asked->end; at += apart) {
        float found[TOGETHER];
        promising(&anyone, at, at + TOGETHER, -INFINITY, found);
        for (Py_ssize_t place = at; place < at + TOGETHER; place++)
            if (segment->scale[place] > 0)
                note(&sums, asked->closer.rows ? near_by_row(&asked->closer, place) : found[place - at],
                     near_by_bytes(segment, place, &asked->whole));
    }
    return sums.count >= SPOTS * TOGETHER / 2 ? tendency_of(&sums) : UNKNOWN;
}

/* How many of the nearest are kept until all digits have told which are the nearest of all. */
static Py_ssize_t looked_at_last(const Asked *asked) { return asked->most > asked->exact ? asked->most : asked->exact; }

/* Keep so many of the highest, if there are more. */
static void leave(Best *best, Py_ssize_t most)
{
    if (best->held <= most) return;
    put_first(best, most);
    best->held = most;
}

/* Look closely at those as well who seem nearer than `least`, but not so near as those who were chosen: than `chosen`. */
static void look_further(Asked *asked, Best *best, float least, float chosen)
{
    Best others;
    Py_ssize_t count = 0;
    if (make_room(&others, (asked->end - asked->start) / WIDEST + 1)) {
        others.least = least;
        look_at_part(asked, asked->start, asked->end, &others);
        keep_best(&others);
        for (Py_ssize_t at = 0; at < others.held; at++)
            if (others.scores[at] < chosen) others.places[count++] = others.places[at];
    }
    for (Py_ssize_t first = 0, some; first < count; first += some) {
        leave(best, looked_at_last(asked));
        some = count - first < best->room - best->held ? count - first : best->room - best->held;
        memcpy(best->places + best->held, others.places + first, some * sizeof(int64_t));
        best->held = look_at_some(asked, best, best->held, best->held + some, best->held);
    }
    free_room(&others);
}

/* Look closely at those who were chosen; and where estimates say little, at whoever else may be among the few that are wanted
   exactly. The estimates of those who were chosen are too high rather than too low, so how far any err is seen elsewhere. */
static void finish_choice(Asked *asked, Best *best)
{
    keep_best(best);
    if (asked->places) return;
    const float chosen = best->least, far = look_closely(asked, best);
    if (best->held < asked->exact || asked->exact < 1) return;
    put_first(best, asked->exact);
    const float last = best->scores[asked->exact - 1];
    if (last - chosen > 2 * far && !asked->closer.rows) return; /* among fewer, to look elsewhere takes as long as all that */
    const Tendency tendency = tendency_among(asked);
    const float least = estimated(&tendency, last) - tendency.far;
    if (least > -INFINITY && least < chosen) look_further(asked, best, least, chosen);
}

#ifdef THREADS
/* Whoever comes first makes it ready, and whoever comes then waits for that. */
static void see_that_it_is_ready(Asked *asked)
{
    if (asked->stage == NEW) {
        asked->stage = BEING_MADE_READY;
        UNLOCK
        make_ready(asked);
        LOCK
        asked->stage = READY;
        tell_other();
    }
    while (asked->stage != READY) pthread_cond_wait(&done, &turn);
}

/* Until whoever asked is done with it, there may be more to look at closely. */
static void stay_with(Asked *asked)
{
    for (int times = 0; served == asked && times < PATIENCE; times++) {
        while (served == asked && asked->rows.next < asked->rows.count) {
            look_at_next_rows(asked);
            times = 0;
        }
        wait_a_little();
    }
}

/* With the turn, which is given away while it looks at something. */
static void help_with(Asked *asked)
{
    asked->is_busy = 1;
    see_that_it_is_ready(asked);
    while (asked->next < asked->end) {
        const Py_ssize_t first = take_part(asked), last = asked->next;
        UNLOCK
        look_at_part(asked, first, last, asked->best + 1);
        LOCK
    }
    if (!asked->is_shared && asked->best[1].held >= asked->best[1].wanted) {
        UNLOCK
        finish_choice(asked, asked->best + 1);
        LOCK
        asked->is_looked = 1;
    }
    asked->is_busy = 0;
    tell_other();
    if (!asked->is_looked) stay_with(asked);
    if (served == asked) served = NULL;
}

/* The helper: one thread for the whole process, which sleeps until something is asked. */
static void *help(void *nothing)
{
#ifdef SCHED_BATCH
    sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0}); /* who wakes it goes on, even on the same processor */
#endif
    LOCK
    for (;;) {
        while (!waiting) pthread_cond_wait(&news, &turn);
        Asked *asked = waiting;
        waiting = asked->behind;
        if (asked->next >= asked->end) continue;
        served = asked;
        help_with(asked);
    }
    return NULL;
}

/* A forked child has no helper, and nobody whom it helps. */
static void forget_helper(void)
{
    pthread_mutex_init(&turn, NULL);
    pthread_cond_init(&news, NULL);
    pthread_cond_init(&done, NULL);
    waiting = served = NULL;
    is_there = 0;
    era++;
}

#ifdef __linux__
/* The helper works on any processor but the one that it is asked on. By itself a system that is busy may leave it there,
   where it would begin only once whoever asked has to wait. */
static cpu_set_t processors;
static int avoided = -1;

static int count_processors(void)
{
    avoided = -1;
    return sched_getaffinity(0, sizeof processors, &processors) ? 0 : CPU_COUNT(&processors);
}

static void keep_helper_away(void)
{
    const int here = sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE || here == avoided) return;
    cpu_set_t others = processors;
    CPU_CLR(here, &others);
    if (CPU_COUNT(&others)) pthread_setaffinity_np(helper, sizeof others, &others);
    avoided = here;
}
#else
static int count_processors(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }
static void keep_helper_away(void) {}
#endif

static int has_helper(void)
{
    static int is_minded = 0;
    if (is_there || count_processors() < 2) return is_there;
    if (!is_minded) is_minded = !pthread_atfork(NULL, NULL, forget_helper);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    is_there = is_minded && !pthread_create(&helper, NULL, help, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (is_there) pthread_detach(helper);
    return is_there;
}

/* Let the helper begin, or go on with this once it is done with what it was asked before. It is told once the turn is free:
   else it would wake up only to wait for that. */
static void ask_helper(Asked *asked, Py_ssize_t worth)
{
    LOCK
    asked->era = era;
    asked->behind = NULL;
    const int is_worth_it = asked->end - asked->start >= worth && has_helper();
    if (is_worth_it) {
        Asked **last = &waiting;
        while (*last) last = &(*last)->behind;
        *last = asked;
        keep_helper_away();
    }
    UNLOCK
    if (is_worth_it) pthread_cond_signal(&news);
}

/* What was begun before a fork is begun anew: its helper is not here. */
static void mind_fork(Asked *asked)
{
    if (asked->era == era) return;
    asked->era = era;
    asked->stage = NEW;
    asked->next = asked->start;
    asked->is_shared = asked->is_busy = asked->is_looked = 0;
    asked->rows = (Rows){0};
    asked->best[0].held = asked->best[1].held = 0;
    asked->best[0].wanted = asked->best[1].wanted; /* it may have been taking a sample */
}

/* Until the helper is done with what it has begun; meanwhile there may be something to look at closely. With the turn. */
static void wait_for_helper(Asked *asked)
{
    for (int times = 0; asked->is_busy; times++) {
        while (asked->rows.next < asked->rows.count) look_at_next_rows(asked);
        if (asked->is_busy) wait_for_other(times);
    }
}

/* Nobody else looks at it any more. */
static void part_from_helper(Asked *asked)
{
    LOCK
    for (Asked **each = &waiting; *each; each = &(*each)->behind)
        if (*each == asked) {
            *each = asked->behind;
            break;
        }
    wait_for_helper(asked);
    if (served == asked) served = NULL;
    UNLOCK
}
#else
#define ask_helper(asked, worth)
#define part_from_helper(asked)
#define wait_for_helper(asked)
#define mind_fork(asked)

static void see_that_it_is_ready(Asked *asked)
{
    if (asked->stage == NEW) make_ready(asked);
    asked->stage = READY;
}
#endif

static void free_asked(Asked *asked)
{
    free(asked->vector);
    free(asked->left);
    free(asked->reached);
    free(asked->whole.values);
    free(asked->tables);
    free(asked->closer.planes);
    free(asked->allowed);
    free(asked->places);
    free_room(asked->best);
    free_room(asked->best + 1);
    Py_XDECREF(asked->capsule);
    free(asked);
}

static void drop_asked(PyObject *capsule)
{
    Asked *asked = PyCapsule_GetPointer(capsule, ASKED);
    LOCK
    mind_fork(asked);
    asked->next = asked->end;
    UNLOCK
    part_from_helper(asked);
    free_asked(asked);
}

/* How far apart the blocks of a sample are; 0 if it would be too large a part of all. */
static Py_ssize_t sample_of(const Asked *asked, Py_ssize_t wanted)
{
    const Py_ssize_t apart = (asked->end - asked->start) / SAMPLED / BLOCK * BLOCK;
    return apart < 2 * BLOCK || 2 * wanted * BLOCK / apart + LANES >= wanted ? 0 : apart;
}

/* The best of a sample by their rows, and what that says about the first estimates. */
static void sample_closer(const Question *question, Closer *closer, Py_ssize_t start, Py_ssize_t end, Py_ssize_t apart,
                          Best *best)
{
    Question anyone = *question;
    anyone.allowed = NULL;
    Sums sums = {0};
    for (Py_ssize_t first = start; first < end; first += apart)
        for (Py_ssize_t at = first, next; at < first + BLOCK && at < end; at = next) {
            float found[TOGETHER];
            next = (at / TOGETHER + 1) * TOGETHER;
            if (next > end) next = end;
            for (uint32_t each = promising(&anyone, at, next, -INFINITY, found); each; each &= each - 1) {
                const int place = zeros_before(each);
                const float near = near_by_row(closer, at + place);
                if (isnan(near)) continue;
                note(&sums, found[place], near);
                if (near > best->least) take(best, near, at + place);
            }
        }
    closer->first = sums.count >= ENOUGH ? tendency_of(&sums) : UNKNOWN;
}

/* A sample says what the best have at least, so that hardly anybody else is held for a while. */
static float sampled(Asked *asked, Best *best)
{
    const Py_ssize_t wanted = best->wanted, apart = sample_of(asked, wanted);
    if (!apart) return -INFINITY;
    best->wanted = 2 * wanted * BLOCK / apart + LANES;
    if (asked->closer.rows) sample_closer(&asked->question, &asked->closer, asked->start, asked->end, apart, best);
    else look_through(&asked->question, asked->start, asked->end, apart, best);
    keep_best(best);
    const float least = best->held == best->wanted && !asked->allowed ? best->least : -INFINITY;
    best->held = 0;
    best->wanted = wanted;
    best->least = -INFINITY;
    return least;
}

/* What is left of the question beyond the centre, in tables: along directions, if there are some, and by dimensions. */
static void take_left(Asked *asked)
{
    const Segment *segment = asked->segment;
    for (Py_ssize_t at = 0; at < segment->size; at++) asked->left[at] = asked->vector[at] - segment->centre[at];
    if (!segment->directions) {
        take_question(&asked->question, asked->left, segment->size);
        return;
    }
    take_planes(&asked->closer, asked->left, segment->size);
    take_whole(&asked->whole, asked->left, segment->size);
    for (Py_ssize_t at = 0; at < segment->directions; at++)
        asked->reached[at] = segment->units[at] * asked->whole.scale
                           * (float)product(segment->along + at * segment->size, asked->whole.values, segment->size);
    take_question(&asked->question, asked->reached, segment->directions);
}

/* The vector in tables and in whole numbers, and what the best come to at least. */
static void make_ready(Asked *asked)
{
    if (!asked->places) take_left(asked);
    take_whole(&asked->whole, asked->vector, asked->segment->size);
    asked->best[0].least = asked->best[1].least = -INFINITY;
    if (!asked->places && (!asked->allowed || asked->closer.rows))
        asked->best[0].least = asked->best[1].least = sampled(asked, asked->best);
}

static int take_asked(Asked *asked, const Py_buffer *vector, const Py_buffer *permitted, const Py_buffer *places,
                      Py_ssize_t closely)
{
    const Segment *segment = asked->segment;
    const size_t floats = (segment->size + 1) * sizeof(float);
    asked->vector = malloc(floats);
    asked->left = malloc(floats);
    asked->reached = malloc((segment->directions + 1) * sizeof(float));
    asked->closer = (Closer){.rows = segment->directions ? segment->rows : NULL, .row_size = row_size(segment->size),
                             .words = words_of(segment->size), .first = UNKNOWN};
    asked->closer.planes = malloc(PLANES * asked->closer.words * sizeof(uint64_t) + 1);
    asked->whole.values = malloc((segment->size + 1) * sizeof(int16_t));
    asked->tables = malloc(eights(segment) * 32 + 1);
    asked->allowed = permitted && permitted->len ? malloc(permitted->len) : NULL;
    asked->places = places ? malloc(places->len + 1) : NULL;
    if (!asked->vector || !asked->left || !asked->reached || !asked->closer.planes || !asked->whole.values || !asked->tables
        || (places && !asked->places)
        || (permitted && permitted->len && !asked->allowed))
        return 0;
    memcpy(asked->vector, vector->buf, vector->len);
    if (asked->allowed) memcpy(asked->allowed, permitted->buf, permitted->len);
    if (places) memcpy(asked->places, places->buf, places->len);
    asked->question = (Question){.signs = segment->signs, .tables = asked->tables, .trust = segment->trust,
                                 .offset = segment->offset, .scale = segment->scale,
                                 .ranges = segment->directions ? segment->ranges : NULL, .allowed = asked->allowed,
                                 .start = asked->start, .bytes = eights(segment)};
    return make_room(asked->best, closely) && make_room(asked->best + 1, closely);
}

/* A question that was checked, begun. */
static PyObject *begun(PyObject *capsule, const Asked *given, const Py_buffer *vector, const Py_buffer *permitted,
                       const Py_buffer *places, Py_ssize_t closely, Py_ssize_t worth)
{
    Asked *asked = malloc(sizeof(Asked));
    if (!asked) return PyErr_NoMemory();
    *asked = *given;
    asked->capsule = Py_NewRef(capsule);
    PyObject *result = take_asked(asked, vector, permitted, places, closely) ? PyCapsule_New(asked, ASKED, drop_asked)
                                                                             : PyErr_NoMemory();
    if (result) ask_helper(asked, worth);
    else free_asked(asked);
    return result;
}

static PyObject *begin(PyObject *self, PyObject *given)
{
    PyObject *capsule, *result = NULL;
    Py_buffer vector, permitted;
    Py_ssize_t start, end, closely, most, exact, worth;
    if (!PyArg_ParseTuple(given, "Oy*y*nnnnnn", &capsule, &vector, &permitted, &start, &end, &closely, &most, &exact, &worth))
        return NULL;
    const Segment *segment = PyCapsule_GetPointer(capsule, NAME);
    if (segment && (start < 0 || end > segment->count || start > end || closely < 1 || most < 1 || most > closely
                    || vector.len != segment->held[CENTRE].len || (permitted.len && permitted.len != end - start))) {
        lying();
    } else if (segment) {
        const Asked asked = {.segment = segment, .start = start, .end = end, .next = start, .most = most, .exact = exact};
        result = begun(capsule, &asked, &vector, &permitted, NULL, closely, worth);
    }
    PyBuffer_Release(&vector);
    PyBuffer_Release(&permitted);
    return result;
}

/* The same among those at some places, each of which is looked at closely. */
static PyObject *begin_at(PyObject *self, PyObject *given)
{
    PyObject *capsule, *result = NULL;
    Py_buffer vector, places;
    Py_ssize_t most, exact, worth;
    if (!PyArg_ParseTuple(given, "Oy*y*nnn", &capsule, &vector, &places, &most, &exact, &worth)) return NULL;
    const Segment *segment = PyCapsule_GetPointer(capsule, NAME);
    const Py_ssize_t count = places.len / (Py_ssize_t)sizeof(int64_t);
    int is_right = segment && most > 0 && vector.len == segment->held[CENTRE].len;
    for (Py_ssize_t at = 0; is_right && at < count; at++)
        is_right = ((int64_t *)places.buf)[at] >= 0 && ((int64_t *)places.buf)[at] < segment->count;
    if (is_right) {
        const Asked asked = {.segment = segment, .end = count, .most = most, .exact = exact};
        result = begun(capsule, &asked, &vector, NULL, &places, looked_at_last(&asked), worth);
    } else if (segment) {
        lying();
    }
    PyBuffer_Release(&vector);
    PyBuffer_Release(&places);
    return result;
}

/* Take what is left to be done, wait for the helper, and put together what both found. */
static Best *chosen(Asked *asked)
{
    Best *mine = asked->best, *other = asked->best + 1;
    LOCK
    mind_fork(asked);
    see_that_it_is_ready(asked);
    while (asked->next < asked->end) {
        const Py_ssize_t first = take_part(asked), last = asked->next;
        asked->is_shared = 1;
        UNLOCK
        look_at_part(asked, first, last, mine);
        LOCK
    }
    wait_for_helper(asked);
    UNLOCK
    if (asked->is_looked) return other;
    if (mine->held + other->held > mine->room) {
        keep_best(mine);
        keep_best(other);
    }
    if (!asked->places && mine->held + other->held < mine->wanted && mine->least > -INFINITY) {
        mine->held = other->held = 0;
        mine->least = -INFINITY;
        look_at_part(asked, asked->start, asked->end, mine);
    }
    mine->least = fmaxf(mine->least, other->least);
    memcpy(mine->scores + mine->held, other->scores, other->held * sizeof(float));
    memcpy(mine->places + mine->held, other->places, other->held * sizeof(int64_t));
    mine->held += other->held;
    finish_choice(asked, mine);
    part_from_helper(asked);
    return mine;
}

typedef struct {
    float score;
    int64_t place;
} Near;

static int by_nearness(const void *one, const void *other)
{
    const Near *a = one, *b = other;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* The nearest of the best, nearest first: the first few to four digits more. */
static void put_in_order(const Asked *asked, Best *best, Near *nearest)
{
    const Segment *segment = asked->segment;
    const float base = product_with_centre(segment, asked->vector);
    int8_t *row = malloc(segment->size + 1);
    leave(best, looked_at_last(asked));
    for (Py_ssize_t at = 0; at < best->held; at++) nearest[at] = (Near){best->scores[at], best->places[at]};
    qsort(nearest, best->held, sizeof(Near), by_nearness);
    for (Py_ssize_t at = 0; at < best->held; at++) {
        const float more = at < asked->exact && row ? finer(segment, nearest[at].place, &asked->whole, row) : 0;
        if (isfinite(more)) nearest[at].score += more;
        if (isfinite(base)) nearest[at].score += base;
    }
    free(row);
    for (Py_ssize_t at = 1; at < best->held; at++) { /* hardly anybody has to move */
        const Near each = nearest[at];
        Py_ssize_t to = at;
        for (; to && by_nearness(&each, nearest + to - 1) < 0; to--) nearest[to] = nearest[to - 1];
        nearest[to] = each;
    }
}

/* The numbers of vectors, and the memories that they belong to, scored. */
static PyObject *told(const Segment *segment, const Near *nearest, Py_ssize_t count)
{
    PyObject *vectors = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(int64_t));
    PyObject *ranking = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(Scored));
    int64_t *numbers = vectors ? (int64_t *)PyBytes_AsString(vectors) : NULL;
    Scored *scored = ranking ? (Scored *)PyBytes_AsString(ranking) : NULL;
    for (Py_ssize_t at = 0; at < count && numbers && scored; at++) {
        numbers[at] = segment->numbers[nearest[at].place];
        scored[at] = (Scored){segment->memories[nearest[at].place], nearest[at].score};
    }
    PyObject *both = numbers && scored ? PyTuple_Pack(2, vectors, ranking) : NULL;
    Py_XDECREF(vectors);
    Py_XDECREF(ranking);
    return both;
}

static PyObject *finish(PyObject *self, PyObject *capsule)
{
    Asked *asked = PyCapsule_GetPointer(capsule, ASKED);
    if (!asked) return NULL;
    Near *nearest = malloc((looked_at_last(asked) + 1) * sizeof(Near));
    if (!nearest) return PyErr_NoMemory();
    Best *best;
    Py_BEGIN_ALLOW_THREADS
    best = chosen(asked);
    put_in_order(asked, best, nearest);
    Py_END_ALLOW_THREADS
    PyObject *result = told(asked->segment, nearest, best->held < asked->most ? best->held : asked->most);
    best->held = 0;
    free(nearest);
    return result;
}

/* A vector among those of several segments. */
typedef struct {
    Scored scored;
    int64_t number;
} Told;

static int is_before(const Told *one, const Told *other)
{
    if (one->scored.score != other->scored.score) return one->scored.score > other->scored.score;
    return one->number < other->number;
}

/* Take one in where it belongs among those who are held, best first, at most so many; how many there are then. */
static Py_ssize_t put_in(Told *held, Py_ssize_t count, Py_ssize_t most, Told each)
{
    Py_ssize_t to = count < most ? count : most - 1;
    for (; to && is_before(&each, held + to - 1); to--) held[to] = held[to - 1];
    held[to] = each;
    return count < most ? count + 1 : most;
}

/* The best of several segments' nearest, one after the other: numbers of vectors, and memories, scored. */
static PyObject *best(PyObject *self, PyObject *given)
{
    Py_buffer vectors, ranking;
    PyObject *result = NULL;
    Py_ssize_t most;
    if (!PyArg_ParseTuple(given, "y*y*n", &vectors, &ranking, &most)) return NULL;
    const Py_ssize_t all_of_them = vectors.len / (Py_ssize_t)sizeof(int64_t);
    Told *all = malloc((all_of_them + 1) * sizeof(Told));
    if (!all) PyErr_NoMemory();
    else if (ranking.len != all_of_them * (Py_ssize_t)sizeof(Scored) || most < 1) lying();
    else {
        Py_ssize_t count = 0;
        for (Py_ssize_t at = 0; at < all_of_them; at++) { /* the first part's are in order, and hardly any other passes */
            const Told each = {((const Scored *)ranking.buf)[at], ((const int64_t *)vectors.buf)[at]};
            if (count < most || is_before(&each, all + most - 1)) count = put_in(all, count, most, each);
        }
        int64_t *numbers = malloc((count + 1) * sizeof(int64_t));
        Scored *scored = malloc((count + 1) * sizeof(Scored));
        for (Py_ssize_t at = 0; at < count && numbers && scored; at++) {
            numbers[at] = all[at].number;
            scored[at] = all[at].scored;
        }
        result = !numbers || !scored ? PyErr_NoMemory()
                                     : Py_BuildValue("y#y#", (const char *)numbers, count * (Py_ssize_t)sizeof(int64_t),
                                                     (const char *)scored, count * (Py_ssize_t)sizeof(Scored));
        free(numbers);
        free(scored);
    }
    free(all);
    PyBuffer_Release(&vectors);
    PyBuffer_Release(&ranking);
    return result;
}

/* A memory whose vector is looked for, and where that stands: -1 if there is none. */
typedef struct {
    int64_t memory;
    Py_ssize_t place;
} Sought;

static int ascending(const void *one, const void *other)
{
    const Sought *a = one, *b = other;
    return (a->memory > b->memory) - (a->memory < b->memory);
}

/* Those whose numbers stand so many bytes apart, ascending. */
static Sought *sought_ones(const Py_buffer *wanted, Py_ssize_t apart)
{
    const Py_ssize_t count = wanted->len / apart;
    Sought *sought = malloc((count + 1) * sizeof(Sought));
    if (!sought) return NULL;
    for (Py_ssize_t at = 0; at < count; at++) memcpy(&sought[at].memory, (char *)wanted->buf + at * apart, sizeof(int64_t));
    if (count) qsort(sought, count, sizeof(Sought), ascending);
    return sought;
}

/* Those of memories who are sought, with their scores. */
static PyObject *among(PyObject *self, PyObject *given)
{
    Py_buffer memories, scores, wanted;
    PyObject *result = NULL;
    Py_ssize_t apart, kept = 0;
    if (!PyArg_ParseTuple(given, "y*y*y*n", &memories, &scores, &wanted, &apart)) return NULL;
    const Py_ssize_t count = memories.len / (Py_ssize_t)sizeof(int64_t);
    if (scores.len != count * (Py_ssize_t)sizeof(float) || apart < (Py_ssize_t)sizeof(int64_t) || wanted.len % apart) {
        lying();
    } else {
        Sought *sought = sought_ones(&wanted, apart);
        Scored *scored = malloc((count + 1) * sizeof(Scored));
        for (Py_ssize_t at = 0; sought && scored && at < count; at++) {
            const Sought each = {((const int64_t *)memories.buf)[at], -1};
            if (bsearch(&each, sought, wanted.len / apart, sizeof(Sought), ascending))
                scored[kept++] = (Scored){each.memory, ((const float *)scores.buf)[at]};
        }
        result = sought && scored ? PyBytes_FromStringAndSize((const char *)scored, kept * (Py_ssize_t)sizeof(Scored))
                                  : PyErr_NoMemory();
        free(sought);
        free(scored);
    }
    PyBuffer_Release(&memories);
    PyBuffer_Release(&scores);
    PyBuffer_Release(&wanted);
    return result;
}

/* Where the vectors of those who are sought stand; of those from one place to another. */
static Sought *stand(const Segment *segment, const Py_buffer *wanted, Py_ssize_t apart, Py_ssize_t from, Py_ssize_t end)
{
    const Py_ssize_t count = wanted->len / apart;
    Sought *sought = sought_ones(wanted, apart);
    if (!sought) return NULL;
    for (Py_ssize_t at = 0; at < count; at++) {
        from = place_among(segment->memories, from, end, sought[at].memory);
        const int is_there = from < end && segment->memories[from] == sought[at].memory && segment->scale[from] > 0;
        sought[at].place = is_there ? from : -1;
    }
    return sought;
}

/* How near those are that have a vector. */
static PyObject *near_ones(const Segment *segment, const float *vector, const Whole *whole, const Sought *sought,
                           Py_ssize_t count)
{
    const float base = product_with_centre(segment, vector);
    Scored *scored = malloc((count + 1) * sizeof(Scored));
    if (!scored) return PyErr_NoMemory();
    Py_ssize_t kept = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        if (at + AHEAD < count && sought[at + AHEAD].place >= 0)
            FETCH(segment->bytes + sought[at + AHEAD].place * segment->size, segment->size);
        if (sought[at].place >= 0)
            scored[kept++] = (Scored){sought[at].memory, base + near_by_bytes(segment, sought[at].place, whole)};
    }
    PyObject *result = PyBytes_FromStringAndSize((const char *)scored, kept * (Py_ssize_t)sizeof(Scored));
    free(scored);
    return result;
}

static PyObject *similar(PyObject *self, PyObject *given)
{
    PyObject *capsule, *result = NULL;
    Py_buffer vector, wanted;
    Py_ssize_t apart, start, end;
    if (!PyArg_ParseTuple(given, "Oy*y*nnn", &capsule, &vector, &wanted, &apart, &start, &end)) return NULL;
    const Segment *segment = PyCapsule_GetPointer(capsule, NAME);
    if (segment && (start < 0 || end < start || end > segment->count || vector.len != segment->held[CENTRE].len
                    || apart < (Py_ssize_t)sizeof(int64_t) || wanted.len % apart)) {
        lying();
    } else if (segment) {
        Whole whole = {0};
        Sought *sought = stand(segment, &wanted, apart, start, end);
        if (!sought || !make_whole(&whole, vector.buf, segment->size)) PyErr_NoMemory();
        else result = near_ones(segment, vector.buf, &whole, sought, wanted.len / apart);
        free(sought);
        free(whole.values);
    }
    PyBuffer_Release(&vector);
    PyBuffer_Release(&wanted);
    return result;
}

static PyMethodDef methods[] = {
    {"hold", hold, METH_VARARGS, NULL},
    {"begin", begin, METH_VARARGS, NULL},
    {"finish", finish, METH_O, NULL},
    {"begin_at", begin_at, METH_VARARGS, NULL},
    {"best", best, METH_VARARGS, NULL},
    {"among", among, METH_VARARGS, NULL},
    {"similar", similar, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_nearest", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__nearest(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx2")) {
        add_signs = add_signs_256;
        estimate_group = estimate_group_256;
        estimate_along = estimate_along_256;
        product = product_256;
    }
    if (__builtin_cpu_supports("popcnt")) count_ones = count_64;
#elif defined(__aarch64__) && defined(__GNUC__)
    add_signs = add_signs_128;
#endif
    return PyModuleDef_Init(&module);
}
