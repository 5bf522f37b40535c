/* The inner loops over a segment's arrays. kernel.py says what each is for and has the same in numpy.

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

/* A loop that is made for each kind of processor: `name` is the one for the processor that it runs on. */
#if defined(__x86_64__) && defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define FOR_EACH_PROCESSOR(result, name, parameters, arguments)                                                 \
    __attribute__((target("avx512vpopcntdq,avx512bw,avx512vl,avx2,fma"))) static result name##_512 parameters \
    { return name##_loop arguments; }                                                                           \
    __attribute__((target("avx2,popcnt"))) static result name##_256 parameters                                 \
    { return name##_loop arguments; }                                                                           \
    static result name##_any parameters { return name##_loop arguments; }                                       \
    static result (*name) parameters = name##_any;
#define CHOOSE(name)                                                                                            \
    if (__builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512bw")                         \
        && __builtin_cpu_supports("avx512vl"))                                                                  \
        name = name##_512;                                                                                      \
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt"))                                \
        name = name##_256;
#else
#define INLINE static inline
#define FOR_EACH_PROCESSOR(result, name, parameters, arguments)                                                 \
    static result name parameters { return name##_loop arguments; }
#define CHOOSE(name)
#endif

#if defined(__GNUC__)
#define ONES(word) __builtin_popcountll(word)
#else
static int ONES(uint64_t word)
{
    word -= (word >> 1) & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + ((word >> 2) & 0x3333333333333333u);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (int)((word * 0x0101010101010101u) >> 56);
}
#endif

#if defined(__GNUC__)
#define FETCH(start, size) \
    for (Py_ssize_t line = 0; line < (size); line += 64) __builtin_prefetch((start) + line)
#else
#define FETCH(start, size)
#endif

/* Where numpy's packbits puts a dimension within 64. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BIT(at) (63 - (at))
#else
#define BIT(at) ((at) / 8 * 8 + 7 - (at) % 8)
#endif

#define AHEAD 6
#define BLOCK 1024
#define PLANES 4
#define LANES 16
#define SPAN 128
#define SAMPLED 12
#define SHARED 400000

/* --- vectors ------------------------------------------------------------------------------------------- */

/* A question as so many bits a dimension, in steps from `low` on, and the signs that it is compared with. */
typedef struct {
    const uint64_t *bits;
    uint64_t *planes;
    const float *trust, *offset;
    Py_ssize_t rows, count;
    float low, step, total;
} Signs;

static void take_question(Signs *signs, const float *left, Py_ssize_t size)
{
    float high = signs->low = size ? left[0] : 0;
    for (Py_ssize_t at = 0; at < size; at++) {
        if (left[at] < signs->low) signs->low = left[at];
        if (left[at] > high) high = left[at];
        signs->total += left[at];
    }
    signs->step = fmaxf(high - signs->low, 1e-12f) / ((1 << PLANES) - 1);
    for (Py_ssize_t at = 0; at < size; at++) {
        const int steps = (int)((left[at] - signs->low) / signs->step + 0.5f);
        for (int plane = 0; plane < PLANES; plane++)
            signs->planes[PLANES * (at / 64) + plane] |= (uint64_t)(steps >> plane & 1) << BIT(at % 64);
    }
}

/* How near each of some vectors is, up to a constant, from the signs of its dimensions. */
INLINE void estimate_loop(const Signs *signs, Py_ssize_t start, Py_ssize_t size, float *found)
{
    uint64_t ones[BLOCK] = {0}, steps[BLOCK] = {0};
    for (Py_ssize_t row = 0; row < signs->rows; row++) {
        const uint64_t *words = signs->bits + row * signs->count + start;
        const uint64_t *planes = signs->planes + PLANES * row;
        const uint64_t once = planes[0], twice = planes[1], four = planes[2], eight = planes[3];
        for (Py_ssize_t at = 0; at < size; at++) {
            const uint64_t word = words[at];
            ones[at] += ONES(word);
            steps[at] += ONES(word & once) + 2 * ONES(word & twice) + 4 * ONES(word & four) + 8 * ONES(word & eight);
        }
    }
    for (Py_ssize_t at = 0; at < size; at++) {
        const float positive = signs->low * (float)(int32_t)ones[at] + signs->step * (float)(int32_t)steps[at];
        found[at] = (2 * positive - signs->total) * signs->trust[start + at] + signs->offset[start + at];
    }
}

FOR_EACH_PROCESSOR(void, estimate, (const Signs *signs, Py_ssize_t start, Py_ssize_t size, float *found),
                   (signs, start, size, found))

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

/* The best of some blocks, `apart` from each other. */
static void look_through(const Signs *signs, Py_ssize_t start, Py_ssize_t end, Py_ssize_t apart, Best *best)
{
    float found[BLOCK];
    for (Py_ssize_t first = start; first < end; first += apart) {
        const Py_ssize_t size = end - first < BLOCK ? end - first : BLOCK;
        estimate(signs, first, size, found);
        for (Py_ssize_t at = 0; at < size; at++) {
            if (!(found[at] > best->least)) continue;
            best->scores[best->held] = found[at];
            best->places[best->held++] = first + at;
            if (best->held == best->room) keep_best(best);
        }
    }
    if (best->held > best->wanted) keep_best(best);
}

/* A sample says what the best have at least, so that hardly anybody else is held for a while. */
static void select_nearest(const Signs *signs, Py_ssize_t start, Py_ssize_t end, Best *best)
{
    const Py_ssize_t apart = (end - start) / SAMPLED / BLOCK * BLOCK, wanted = best->wanted;
    if (apart >= 2 * BLOCK) {
        best->wanted = 2 * wanted * BLOCK / apart + LANES;
        if (best->wanted < wanted) {
            look_through(signs, start, end, apart, best);
            best->held = 0;
        }
        best->wanted = wanted;
        look_through(signs, start, end, BLOCK, best);
        if (best->held == wanted) return;
        best->held = 0;
        best->least = -INFINITY;
    }
    look_through(signs, start, end, BLOCK, best);
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
    const Signs *signs;
    Py_ssize_t start, end;
    Best best;
} Half;

static void *select_half(void *given)
{
    Half *half = given;
    select_nearest(half->signs, half->start, half->end, &half->best);
    return NULL;
}

/* Of so many that they do not fit a processor's cache, two threads look at a half each: both wait for memory. */
static void select_nearest_together(const Signs *signs, Py_ssize_t start, Py_ssize_t end, Best *best)
{
#ifdef THREADS
    const Py_ssize_t middle = start + (end - start) / 2;
    Half half = {signs, middle, end, {0}};
    pthread_t other;
    if (end - start >= SHARED && make_room(&half.best, best->wanted)
        && !pthread_create(&other, NULL, select_half, &half)) {
        select_nearest(signs, start, middle, best);
        pthread_join(other, NULL);
        memcpy(best->scores + best->held, half.best.scores, half.best.held * sizeof(float));
        memcpy(best->places + best->held, half.best.places, half.best.held * sizeof(int64_t));
        best->held += half.best.held;
        if (best->held > best->wanted) keep_best(best);
    } else {
        select_nearest(signs, start, end, best);
    }
    free_room(&half.best);
#else
    select_nearest(signs, start, end, best);
#endif
}

static PyObject *nearest(PyObject *self, PyObject *given)
{
    Py_buffer bits, left, trust, offset;
    Py_ssize_t start, end, most;
    if (!PyArg_ParseTuple(given, "y*y*y*y*nnn", &bits, &left, &trust, &offset, &start, &end, &most)) return NULL;
    PyObject *result = NULL;
    const Py_ssize_t count = trust.len / (Py_ssize_t)sizeof(float), size = left.len / (Py_ssize_t)sizeof(float);
    const Py_ssize_t rows = (size + 63) / 64;
    Signs signs = {bits.buf, NULL, trust.buf, offset.buf, rows, count, 0, 0, 0};
    Best best = {0};
    if (start < 0 || end > count || start > end || most < 1 || offset.len != trust.len
        || bits.len != rows * count * (Py_ssize_t)sizeof(uint64_t)) {
        PyErr_SetString(PyExc_IndexError, "the arrays do not fit each other");
        goto done;
    }
    signs.planes = calloc(rows ? rows * PLANES : 1, sizeof(uint64_t));
    if (!make_room(&best, most) || !signs.planes) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    take_question(&signs, left.buf, size);
    select_nearest_together(&signs, start, end, &best);
    Py_END_ALLOW_THREADS
    result = PyBytes_FromStringAndSize((char *)best.places, best.held * sizeof(int64_t));
done:
    free(signs.planes);
    free_room(&best);
    PyBuffer_Release(&bits);
    PyBuffer_Release(&left);
    PyBuffer_Release(&trust);
    PyBuffer_Release(&offset);
    return result;
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

static PyObject *products(PyObject *self, PyObject *given)
{
    Py_buffer bytes, scale, places, vector;
    if (!PyArg_ParseTuple(given, "y*y*y*y*", &bytes, &scale, &places, &vector)) return NULL;
    const Py_ssize_t size = vector.len / (Py_ssize_t)sizeof(float), count = scale.len / (Py_ssize_t)sizeof(float);
    const Py_ssize_t wanted = places.len / (Py_ssize_t)sizeof(int64_t);
    PyObject *result = PyBytes_FromStringAndSize(NULL, wanted * sizeof(float));
    if (!result) goto done;
    float *found = (float *)PyBytes_AsString(result);
    const int64_t *place_of = places.buf;
    for (Py_ssize_t at = 0; at < wanted; at++) {
        const int64_t place = place_of[at];
        if (at + AHEAD < wanted) FETCH((const char *)bytes.buf + place_of[at + AHEAD] * size, size);
        if (place < 0 || place >= count || (place + 1) * size > bytes.len) {
            PyErr_SetString(PyExc_IndexError, "there is no such vector");
            Py_CLEAR(result);
            goto done;
        }
        found[at] = ((const float *)scale.buf)[place]
                  * product((const int8_t *)bytes.buf + place * size, vector.buf, size);
    }
done:
    PyBuffer_Release(&bytes);
    PyBuffer_Release(&scale);
    PyBuffer_Release(&places);
    PyBuffer_Release(&vector);
    return result;
}

/* --- words --------------------------------------------------------------------------------------------- */

static void sink(float *heap, Py_ssize_t size, float value)
{
    Py_ssize_t at = 0, child;
    while ((child = 2 * at + 1) < size) {
        if (child + 1 < size && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= value) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = value;
}

static PyObject *add(PyObject *self, PyObject *given)
{
    Py_buffer scores, docs, codes, weights, permitted;
    Py_ssize_t start, most;
    float rarity;
    if (!PyArg_ParseTuple(given, "w*y*y*y*y*fnn", &scores, &docs, &codes, &weights, &permitted, &rarity, &start,
                          &most))
        return NULL;
    PyObject *result = NULL;
    const Py_ssize_t size = scores.len / (Py_ssize_t)sizeof(float), count = docs.len / (Py_ssize_t)sizeof(int32_t);
    const Py_ssize_t known = weights.len / (Py_ssize_t)sizeof(float);
    const uint8_t *allowed = permitted.len ? permitted.buf : NULL;
    float *heap = calloc(most > 0 ? most : 1, sizeof(float));
    if (!heap) {
        PyErr_NoMemory();
        goto done;
    }
    if (most < 1 || codes.len != count * (Py_ssize_t)sizeof(uint16_t) || (allowed && permitted.len != size)) {
        PyErr_SetString(PyExc_IndexError, "the arrays do not fit each other");
        goto done;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        const Py_ssize_t doc = (Py_ssize_t)((const int32_t *)docs.buf)[at] - start;
        const uint16_t code = ((const uint16_t *)codes.buf)[at];
        if (doc < 0 || doc >= size || code >= known) {
            PyErr_SetString(PyExc_IndexError, "there is no such memory");
            goto done;
        }
        if (allowed && !allowed[doc]) continue;
        const float score = ((float *)scores.buf)[doc] += ((const float *)weights.buf)[code] * rarity;
        if (score > heap[0]) sink(heap, most, score);
    }
    result = PyFloat_FromDouble(heap[0]);
done:
    free(heap);
    PyBuffer_Release(&scores);
    PyBuffer_Release(&docs);
    PyBuffer_Release(&codes);
    PyBuffer_Release(&weights);
    PyBuffer_Release(&permitted);
    return result;
}

INLINE Py_ssize_t count_loop(const float *scores, Py_ssize_t size, float least)
{
    Py_ssize_t found = 0;
    for (Py_ssize_t at = 0; at < size; at++) found += scores[at] >= least;
    return found;
}

FOR_EACH_PROCESSOR(Py_ssize_t, count, (const float *scores, Py_ssize_t size, float least), (scores, size, least))

static PyObject *promising(PyObject *self, PyObject *given)
{
    Py_buffer scores;
    float least;
    if (!PyArg_ParseTuple(given, "y*f", &scores, &least)) return NULL;
    const float *found = scores.buf;
    const Py_ssize_t size = scores.len / (Py_ssize_t)sizeof(float);
    int32_t *places = malloc((size + 1) * sizeof(int32_t)), *place = places;
    PyObject *result = NULL;
    for (Py_ssize_t first = 0; places && first < size; first += SPAN) {
        const Py_ssize_t end = first + SPAN < size ? first + SPAN : size;
        if (!count(found + first, end - first, least)) continue;
        for (Py_ssize_t at = first; at < end; at++) {
            *place = (int32_t)at;
            place += found[at] >= least;
        }
    }
    if (places) result = PyBytes_FromStringAndSize((char *)places, (place - places) * sizeof(int32_t));
    else PyErr_NoMemory();
    free(places);
    PyBuffer_Release(&scores);
    return result;
}

static PyObject *looked_up(PyObject *self, PyObject *given)
{
    Py_buffer docs, codes, wanted;
    if (!PyArg_ParseTuple(given, "y*y*y*", &docs, &codes, &wanted)) return NULL;
    const int32_t *have = docs.buf, *want = wanted.buf;
    const Py_ssize_t asked = wanted.len / (Py_ssize_t)sizeof(int32_t);
    Py_ssize_t count = docs.len / (Py_ssize_t)sizeof(int32_t);
    if (count > codes.len / (Py_ssize_t)sizeof(uint16_t)) count = codes.len / (Py_ssize_t)sizeof(uint16_t);
    PyObject *result = PyBytes_FromStringAndSize(NULL, asked * sizeof(uint16_t));
    uint16_t *found = result ? (uint16_t *)PyBytes_AsString(result) : NULL;
    Py_ssize_t from = 0;
    for (Py_ssize_t at = 0; result && at < asked; at++) {
        Py_ssize_t stride = 1, low = from, high;
        while (low + stride < count && have[low + stride] < want[at]) {
            low += stride;
            stride *= 2;
        }
        high = low + stride < count ? low + stride : count;
        while (low < high) {
            const Py_ssize_t middle = low + (high - low) / 2;
            if (have[middle] < want[at]) low = middle + 1;
            else high = middle;
        }
        found[at] = low < count && have[low] == want[at] ? ((const uint16_t *)codes.buf)[low] : 0;
        from = low;
    }
    PyBuffer_Release(&docs);
    PyBuffer_Release(&codes);
    PyBuffer_Release(&wanted);
    return result;
}

static PyMethodDef methods[] = {
    {"nearest", nearest, METH_VARARGS, NULL},
    {"products", products, METH_VARARGS, NULL},
    {"add", add, METH_VARARGS, NULL},
    {"promising", promising, METH_VARARGS, NULL},
    {"looked_up", looked_up, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_kernel", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernel(void)
{
    CHOOSE(estimate)
    CHOOSE(product)
    CHOOSE(count)
    return PyModuleDef_Init(&module);
}
