/* The inner loops over a segment's vectors. kernel.py says what each is for and has the same in numpy.

   Whatever a file says is data: every position and code that is read from one is checked before it is used,
   and a wrong one raises IndexError, as numpy does. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#define THREADS
#endif
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__GNUC__)
#include <arm_neon.h>
#endif
#include "processors.h"

#if defined(__GNUC__)
#define FETCH(start, size) \
    for (Py_ssize_t line = 0; line < (size); line += 64) __builtin_prefetch((start) + line)
#else
#define FETCH(start, size)
#endif

#define AHEAD 6
#define BLOCK 256
#define TOGETHER 32
#define STEPS 127
#define LANES 16
#define SAMPLED 12
#define SHARED 400000

/* A question, and the signs that it is compared with: by groups of vectors, bytes of eight dimensions, vectors.
   What each half of a byte comes to stands in a table, in steps, the lower half's first. */
typedef struct {
    const uint8_t *signs;
    uint8_t *tables;
    const float *trust, *offset;
    const uint8_t *allowed; /* from `start` on; NULL if all are */
    Py_ssize_t start, bytes;
    float step, least;
} Question;

/* What four dimensions come to for each combination of signs, above the least; numpy's packbits begins on top. */
static void take_four(const float *four, float step, uint8_t *table)
{
    for (int signs = 0; signs < 16; signs++) {
        float sum = 0;
        for (int at = 0; at < 4; at++)
            if ((signs >> (3 - at) & 1) == (four[at] > 0)) sum += fabsf(four[at]);
        table[signs] = (uint8_t)(sum / step + 0.5f);
    }
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
__attribute__((target("avx2"))) static void
add_signs_256(const uint8_t *signs, const uint8_t *tables, Py_ssize_t bytes, uint16_t *sums)
{
    const __m256i half = _mm256_set1_epi8(15), lower = _mm256_set1_epi16(255);
    __m256i even = _mm256_setzero_si256(), odd = even;
    for (Py_ssize_t byte = 0; byte < bytes; byte++, signs += TOGETHER, tables += 32) {
        const __m256i some = _mm256_loadu_si256((const __m256i *)signs);
        const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)tables));
        const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(tables + 16)));
        const __m256i both = _mm256_add_epi8(
            _mm256_shuffle_epi8(low, _mm256_and_si256(some, half)),
            _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(some, 4), half)));
        even = _mm256_add_epi16(even, _mm256_and_si256(both, lower));
        odd = _mm256_add_epi16(odd, _mm256_srli_epi16(both, 8));
    }
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

/* How near each vector of a group is, up to a constant; whether any is nearer than `least`. */
INLINE int estimate_loop(const Question *question, const uint16_t *sums, Py_ssize_t start, int size, float least,
                         float *found)
{
    int some = 0;
    for (int at = 0; at < size; at++) {
        found[at] = (question->least + question->step * (float)sums[at]) * question->trust[start + at]
                  + question->offset[start + at];
        some |= found[at] > least;
    }
    return some;
}

FOR_EACH_PROCESSOR(int, estimate,
                   (const Question *question, const uint16_t *sums, Py_ssize_t start, int size, float least,
                    float *found),
                   (question, sums, start, size, least, found))

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

/* Keep the wanted number of the highest (Hoare's selection), and note the lowest of them. */
static void keep_best(Best *best)
{
    Py_ssize_t low = 0, high = best->held - 1;
    while (low < high) {
        const float pivot = best->scores[low + (high - low) / 2];
        Py_ssize_t left = low, right = high;
        while (left <= right) {
            while (best->scores[left] > pivot) left++;
            while (best->scores[right] < pivot) right--;
            if (left <= right) exchange(best, left++, right--);
        }
        if (best->wanted - 1 <= right) high = right;
        else if (best->wanted - 1 >= left) low = left;
        else break;
    }
    best->held = best->wanted;
    best->least = best->scores[best->wanted - 1];
}

/* The best of a group, from one place to another. */
static void look_at_group(const Question *question, Py_ssize_t start, Py_ssize_t end, Best *best)
{
    uint16_t sums[TOGETHER];
    float found[TOGETHER];
    const Py_ssize_t first = start / TOGETHER * TOGETHER;
    add_signs(question->signs + first * question->bytes, question->tables, question->bytes, sums);
    const int size = (int)(end - start);
    if (!estimate(question, sums + (start - first), start, size, best->least, found)) return;
    for (int at = 0; at < size; at++) {
        if (!(found[at] > best->least)) continue;
        if (question->allowed && !question->allowed[start + at - question->start]) continue;
        best->scores[best->held] = found[at];
        best->places[best->held++] = start + at;
        if (best->held == best->room) keep_best(best);
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
    if (best->held > best->wanted) keep_best(best);
}

/* A sample says what the best have at least, so that hardly anybody else is held for a while. */
static void select_nearest(const Question *question, Py_ssize_t start, Py_ssize_t end, Best *best)
{
    const Py_ssize_t apart = (end - start) / SAMPLED / BLOCK * BLOCK, wanted = best->wanted;
    if (apart >= 2 * BLOCK) {
        best->wanted = 2 * wanted * BLOCK / apart + LANES;
        if (best->wanted < wanted) {
            look_through(question, start, end, apart, best);
            best->held = 0;
        }
        best->wanted = wanted;
        look_through(question, start, end, BLOCK, best);
        if (best->held == wanted) return;
        best->held = 0;
        best->least = -INFINITY;
    }
    look_through(question, start, end, BLOCK, best);
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

typedef struct {
    const Question *question;
    Py_ssize_t start, end;
    Best best;
} Half;

static void *select_half(void *given)
{
    Half *half = given;
    select_nearest(half->question, half->start, half->end, &half->best);
    return NULL;
}

/* Of so many that they do not fit a processor's cache, two threads look at a half each: both wait for memory. */
static void select_nearest_together(const Question *question, Py_ssize_t start, Py_ssize_t end, Best *best)
{
#ifdef THREADS
    const Py_ssize_t middle = start + (end - start) / 2;
    Half half = {question, middle, end, {0}};
    pthread_t other;
    if (end - start >= SHARED && make_room(&half.best, best->wanted)
        && !pthread_create(&other, NULL, select_half, &half)) {
        select_nearest(question, start, middle, best);
        pthread_join(other, NULL);
        memcpy(best->scores + best->held, half.best.scores, half.best.held * sizeof(float));
        memcpy(best->places + best->held, half.best.places, half.best.held * sizeof(int64_t));
        best->held += half.best.held;
        if (best->held > best->wanted) keep_best(best);
    } else {
        select_nearest(question, start, end, best);
    }
    free_room(&half.best);
#else
    select_nearest(question, start, end, best);
#endif
}

INLINE float product_loop(const int8_t *row, const float *vector, Py_ssize_t size)
{
    float lanes[LANES] = {0}, sum = 0;
    Py_ssize_t at = 0;
    for (; at + LANES <= size; at += LANES)
        for (int lane = 0; lane < LANES; lane++) lanes[lane] += (float)row[at + lane] * vector[at + lane];
    for (; at < size; at++) sum += (float)row[at] * vector[at];
    for (int lane = 0; lane < LANES; lane++) sum += lanes[lane];
    return sum;
}

FOR_EACH_PROCESSOR(float, product, (const int8_t *row, const float *vector, Py_ssize_t size), (row, vector, size))

/* Vectors as bytes, each with its scale, and the one that they are multiplied with. */
typedef struct {
    const int8_t *bytes;
    const float *scale, *vector;
    Py_ssize_t count, size;
} Rows;

/* The products of the vectors at these places; 0 if one is not there. */
static int look_closely(const Rows *rows, const int64_t *places, Py_ssize_t wanted, float *found)
{
    for (Py_ssize_t at = 0; at < wanted; at++) {
        const int64_t place = places[at];
        if (at + AHEAD < wanted) FETCH((const char *)rows->bytes + places[at + AHEAD] * rows->size, rows->size);
        if (place < 0 || place >= rows->count) return 0;
        found[at] = rows->scale[place] * product(rows->bytes + place * rows->size, rows->vector, rows->size);
    }
    return 1;
}

static int has_rows(const Rows *rows, const Py_buffer *bytes)
{
    return bytes->len == rows->count * rows->size;
}

static PyObject *nearest(PyObject *self, PyObject *given)
{
    Py_buffer signs, left, trust, offset, bytes, scale, vector, permitted;
    Py_ssize_t start, end, closely, most;
    if (!PyArg_ParseTuple(given, "y*y*y*y*y*y*y*y*nnnn", &signs, &left, &trust, &offset, &bytes, &scale, &vector,
                          &permitted, &start, &end, &closely, &most))
        return NULL;
    PyObject *result = NULL;
    const Py_ssize_t count = trust.len / (Py_ssize_t)sizeof(float), size = left.len / (Py_ssize_t)sizeof(float);
    const Py_ssize_t eights = (size + 7) / 8, groups = (count + TOGETHER - 1) / TOGETHER;
    const uint8_t *allowed = permitted.len ? permitted.buf : NULL;
    Question question = {signs.buf, NULL, trust.buf, offset.buf, allowed, start, eights, 0, 0};
    const Rows rows = {bytes.buf, scale.buf, vector.buf, count, size};
    Best best = {0};
    if (start < 0 || end > count || start > end || closely < 1 || most < 1 || most > closely || vector.len != left.len
        || offset.len != trust.len || scale.len != trust.len || signs.len != groups * eights * TOGETHER
        || (permitted.len && permitted.len != end - start) || !has_rows(&rows, &bytes)) {
        PyErr_SetString(PyExc_IndexError, "the arrays do not fit each other");
        goto done;
    }
    question.tables = malloc(eights ? eights * 32 : 1);
    if (!make_room(&best, closely) || !question.tables) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    take_question(&question, left.buf, size);
    select_nearest_together(&question, start, end, &best);
    look_closely(&rows, best.places, best.held, best.scores);
    best.wanted = most;
    if (best.held > most) keep_best(&best);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("y#y#", (char *)best.places, best.held * (Py_ssize_t)sizeof(int64_t), (char *)best.scores,
                           best.held * (Py_ssize_t)sizeof(float));
done:
    free(question.tables);
    free_room(&best);
    PyBuffer_Release(&signs);
    PyBuffer_Release(&left);
    PyBuffer_Release(&trust);
    PyBuffer_Release(&offset);
    PyBuffer_Release(&bytes);
    PyBuffer_Release(&scale);
    PyBuffer_Release(&vector);
    PyBuffer_Release(&permitted);
    return result;
}

static PyObject *products(PyObject *self, PyObject *given)
{
    Py_buffer bytes, scale, places, vector;
    if (!PyArg_ParseTuple(given, "y*y*y*y*", &bytes, &scale, &places, &vector)) return NULL;
    const Py_ssize_t wanted = places.len / (Py_ssize_t)sizeof(int64_t);
    const Rows rows = {bytes.buf, scale.buf, vector.buf, scale.len / (Py_ssize_t)sizeof(float),
                       vector.len / (Py_ssize_t)sizeof(float)};
    PyObject *result = PyBytes_FromStringAndSize(NULL, wanted * sizeof(float));
    if (result
        && (!has_rows(&rows, &bytes) || !look_closely(&rows, places.buf, wanted, (float *)PyBytes_AsString(result)))) {
        PyErr_SetString(PyExc_IndexError, "there is no such vector");
        Py_CLEAR(result);
    }
    PyBuffer_Release(&bytes);
    PyBuffer_Release(&scale);
    PyBuffer_Release(&places);
    PyBuffer_Release(&vector);
    return result;
}

static PyMethodDef methods[] = {
    {"nearest", nearest, METH_VARARGS, NULL},
    {"products", products, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_nearest", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__nearest(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx2")) add_signs = add_signs_256;
#elif defined(__aarch64__) && defined(__GNUC__)
    add_signs = add_signs_128;
#endif
    CHOOSE(estimate)
    CHOOSE(product)
    return PyModuleDef_Init(&module);
}
