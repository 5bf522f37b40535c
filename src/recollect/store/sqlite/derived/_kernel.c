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
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__GNUC__)
#include <arm_neon.h>
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
#define FETCH(start, size) \
    for (Py_ssize_t line = 0; line < (size); line += 64) __builtin_prefetch((start) + line)
#else
#define FETCH(start, size)
#endif

#define AHEAD 6
#define BLOCK 1024
#define TOGETHER 32
#define STEPS 127
#define LANES 16
#define SPAN 128
#define MEMORIES 16384
#define NO_ROOM -1
#define SAMPLED 12
#define SHARED 400000
#define K1 1.2
#define B 0.75
#define NEARLY 0.96
#define SOMETHING 1e-30

/* --- vectors ------------------------------------------------------------------------------------------- */

/* A question, and the signs that it is compared with: by groups of vectors, bytes of eight dimensions, vectors.
   What each half of a byte comes to stands in a table, in steps, the lower half's first. */
typedef struct {
    const uint8_t *signs;
    uint8_t *tables;
    const float *trust, *offset;
    Py_ssize_t bytes, count;
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

/* How near the vectors at these places are by their bytes, in place of how near they seemed; 0 if one is not there. */
typedef struct {
    const int8_t *bytes;
    const float *scale, *vector;
    Py_ssize_t count, size;
} Rows;

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
    Py_buffer signs, left, trust, offset, bytes, scale, vector;
    Py_ssize_t start, end, closely, most;
    if (!PyArg_ParseTuple(given, "y*y*y*y*y*y*y*nnnn", &signs, &left, &trust, &offset, &bytes, &scale, &vector, &start,
                          &end, &closely, &most))
        return NULL;
    PyObject *result = NULL;
    const Py_ssize_t count = trust.len / (Py_ssize_t)sizeof(float), size = left.len / (Py_ssize_t)sizeof(float);
    const Py_ssize_t eights = (size + 7) / 8, groups = (count + TOGETHER - 1) / TOGETHER;
    Question question = {signs.buf, NULL, trust.buf, offset.buf, eights, count, 0, 0};
    const Rows rows = {bytes.buf, scale.buf, vector.buf, count, size};
    Best best = {0};
    if (start < 0 || end > count || start > end || closely < 1 || most < 1 || most > closely || vector.len != left.len
        || offset.len != trust.len || scale.len != trust.len || signs.len != groups * eights * TOGETHER
        || !has_rows(&rows, &bytes)) {
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

/* A term of a question: who has it, ascending, with a code for each; what it counts, and at the most. Memories up to
   `next` are done with. */
typedef struct {
    Py_buffer docs, codes;
    const int32_t *doc_of;
    const uint16_t *code_of;
    Py_ssize_t first, last, next;
    double rarity, limit;
} Term;

/* What is looked for in a span of memories, and how it is counted. */
typedef struct {
    Term *terms;
    Py_ssize_t count, start, size, known;
    const float *weights;
    const int32_t *lengths;
    const uint8_t *allowed;
    double average;
    Py_ssize_t most;
} Matching;

/* The best so far: where they stand, ascending, and what they come to. Nobody below the floor is looked for. */
typedef struct {
    Term **order;
    double *left, floor;
    float *scores, *heap, *values;
    int32_t *places;
    Py_ssize_t held, room;
} Finding;

static Py_ssize_t first_from(const Term *term, Py_ssize_t low, Py_ssize_t high, int64_t doc)
{
    while (low < high) {
        const Py_ssize_t middle = low + (high - low) / 2;
        if (term->doc_of[middle] < doc) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The code of a memory not before the one that was looked up last; 0 where the term does not stand. */
static uint16_t look_up(const Term *term, Py_ssize_t *from, int64_t doc)
{
    Py_ssize_t stride = 1, low = *from;
    while (low + stride < term->last && term->doc_of[low + stride] < doc) {
        low += stride;
        stride *= 2;
    }
    *from = low = first_from(term, low, low + stride < term->last ? low + stride : term->last, doc);
    return low < term->last && term->doc_of[low] == doc ? term->code_of[low] : 0;
}

/* Add what a term counts to the scores of a block; 0 if a position or a code lies. */
static int add_term(const Matching *matching, Term *term, Py_ssize_t first, Py_ssize_t last, float *scores)
{
    const float rarity = (float)term->rarity;
    Py_ssize_t at = term->next;
    for (; at < term->last && term->doc_of[at] < last; at++) {
        const Py_ssize_t doc = term->doc_of[at];
        const uint16_t code = term->code_of[at];
        if (doc < first || code >= matching->known) return 0;
        if (matching->allowed && !matching->allowed[doc - matching->start]) continue;
        scores[doc - first] += matching->weights[code] * rarity;
    }
    term->next = at;
    return 1;
}

INLINE Py_ssize_t count_loop(const float *scores, Py_ssize_t size, float least)
{
    Py_ssize_t found = 0;
    for (Py_ssize_t at = 0; at < size; at++) found += scores[at] >= least;
    return found;
}

FOR_EACH_PROCESSOR(Py_ssize_t, count, (const float *scores, Py_ssize_t size, float least), (scores, size, least))

/* Keep those that are nearly as high as the last of the best, or higher. */
static void keep_highest(const Matching *matching, Finding *finding)
{
    if (finding->held <= matching->most) return;
    const float least = finding->heap[0] * (float)NEARLY;
    Py_ssize_t kept = 0;
    for (Py_ssize_t at = 0; at < finding->held; at++) {
        if (finding->values[at] < least) continue;
        finding->places[kept] = finding->places[at];
        finding->values[kept++] = finding->values[at];
    }
    finding->held = kept;
}

/* Add the terms that were left to a score, as long as it can still win; -1 if a code lies. */
static float add_rest(const Matching *matching, const Finding *finding, Py_ssize_t taken, int64_t place, float score)
{
    for (; taken < matching->count && score + finding->left[taken] >= finding->floor; taken++) {
        Term *term = finding->order[taken];
        const uint16_t code = look_up(term, &term->next, place);
        if (code >= matching->known) return -1;
        score += matching->weights[code] * (float)term->rarity;
    }
    return score;
}

/* Take in those of a block who are good enough, once all their terms are counted; 0 if the arrays lie. */
static int take_in(const Matching *matching, Finding *finding, Py_ssize_t taken, Py_ssize_t first, Py_ssize_t size)
{
    const double least = finding->floor - finding->left[taken];
    const float promising = (float)(least > SOMETHING ? least : SOMETHING);
    for (Py_ssize_t some = 0; some < size; some += SPAN) {
        const Py_ssize_t end = some + SPAN < size ? some + SPAN : size;
        if (!count(finding->scores + some, end - some, promising)) continue;
        for (Py_ssize_t at = some; at < end; at++) {
            if (finding->scores[at] < promising) continue;
            const float score = add_rest(matching, finding, taken, first + at, finding->scores[at]);
            if (score < 0) return 0;
            if (score < finding->floor) continue;
            finding->places[finding->held] = (int32_t)(first + at);
            finding->values[finding->held++] = score;
            if (score <= finding->heap[0]) continue;
            sink(finding->heap, matching->most, score);
            if (finding->heap[0] * NEARLY > finding->floor) finding->floor = finding->heap[0] * NEARLY;
        }
    }
    return 1;
}

/* The score of each to the last bit, as if there were no other segment. */
static void score_exactly(const Matching *matching, const int32_t *places, Py_ssize_t count, double *scores)
{
    memset(scores, 0, count * sizeof(double));
    for (Py_ssize_t number = 0; number < matching->count; number++) {
        const Term *term = matching->terms + number;
        Py_ssize_t from = term->first;
        for (Py_ssize_t at = 0; at < count; at++) {
            const int64_t place = places[at];
            const double often = look_up(term, &from, place) >> 8;
            const double length = matching->lengths[place];
            scores[at] += often * (K1 + 1) / (often + K1 * (1 - B + B * length / matching->average)) * term->rarity;
        }
    }
}

static int by_limit(const void *one, const void *other)
{
    const Term *first = *(Term *const *)one, *second = *(Term *const *)other;
    if (first->limit != second->limit) return first->limit < second->limit ? 1 : -1;
    return first < second ? -1 : first > second;
}

/* Room for a whole block besides those who are held: any number may be equally good. */
static int has_room(Finding *finding)
{
    if (finding->room - finding->held >= MEMORIES) return 1;
    const Py_ssize_t room = 2 * finding->room + MEMORIES;
    float *values = realloc(finding->values, room * sizeof(float));
    if (values) finding->values = values;
    int32_t *places = realloc(finding->places, room * sizeof(int32_t));
    if (places) finding->places = places;
    if (values && places) finding->room = room;
    return values && places;
}

/* The best of a span, block by block. Terms are taken by what they can count at the most: those that are left when
   they can lift nobody above the floor are looked up for who can still win. 0 if the arrays lie. */
static int find_best(const Matching *matching, Finding *finding)
{
    const Py_ssize_t count = matching->count, end = matching->start + matching->size;
    for (Py_ssize_t at = 0; at < count; at++) finding->order[at] = matching->terms + at;
    qsort(finding->order, count, sizeof(Term *), by_limit);
    finding->left[count] = 0;
    for (Py_ssize_t at = count; at--;) finding->left[at] = finding->left[at + 1] + finding->order[at]->limit;
    for (Py_ssize_t first = matching->start; first < end; first += MEMORIES) {
        const Py_ssize_t last = end - first < MEMORIES ? end : first + MEMORIES;
        Py_ssize_t taken = 0;
        memset(finding->scores, 0, (last - first) * sizeof(float));
        for (; taken < count && finding->left[taken] >= finding->floor; taken++) {
            Term *term = finding->order[taken];
            term->next = first_from(term, term->next, term->last, first);
            if (!add_term(matching, term, first, last, finding->scores)) return 0;
        }
        if (!has_room(finding)) return NO_ROOM;
        if (!take_in(matching, finding, taken, first, last - first)) return 0;
        keep_highest(matching, finding);
    }
    return 1;
}

static int make_finding(Finding *finding, const Matching *matching, double floor)
{
    *finding = (Finding){.floor = floor};
    finding->order = malloc((matching->count + 1) * sizeof(Term *));
    finding->left = malloc((matching->count + 1) * sizeof(double));
    finding->scores = malloc(MEMORIES * sizeof(float));
    finding->heap = calloc(matching->most, sizeof(float));
    return finding->order && finding->left && finding->scores && finding->heap && has_room(finding);
}

static void free_finding(Finding *finding)
{
    free(finding->order);
    free(finding->left);
    free(finding->scores);
    free(finding->heap);
    free(finding->values);
    free(finding->places);
}

static PyObject *found_best(const Matching *matching, double floor)
{
    Finding finding;
    PyObject *result = NULL;
    double *exact = NULL;
    int is_right = NO_ROOM;
    if (make_finding(&finding, matching, floor)) {
        Py_BEGIN_ALLOW_THREADS
        is_right = find_best(matching, &finding);
        if (is_right == 1 && (exact = malloc((finding.held + 1) * sizeof(double))))
            score_exactly(matching, finding.places, finding.held, exact);
        Py_END_ALLOW_THREADS
    }
    if (!is_right) PyErr_SetString(PyExc_IndexError, "there is no such memory");
    else if (!exact) PyErr_NoMemory();
    else
        result = Py_BuildValue("y#y#", (char *)finding.places, finding.held * (Py_ssize_t)sizeof(int32_t),
                               (char *)exact, finding.held * (Py_ssize_t)sizeof(double));
    free_finding(&finding);
    free(exact);
    return result;
}

/* A term from (docs, codes, rarity, limit); whoever is before or behind the span is passed over. */
static int take_term(Term *term, PyObject *given, Py_ssize_t start, Py_ssize_t end)
{
    if (!PyArg_ParseTuple(given, "y*y*dd", &term->docs, &term->codes, &term->rarity, &term->limit)) return 0;
    const Py_ssize_t count = term->docs.len / (Py_ssize_t)sizeof(int32_t);
    term->doc_of = term->docs.buf;
    term->code_of = term->codes.buf;
    term->first = first_from(term, 0, count, start);
    term->last = first_from(term, term->first, count, end);
    term->next = term->first;
    if (term->codes.len == count * (Py_ssize_t)sizeof(uint16_t)) return 1;
    PyErr_SetString(PyExc_IndexError, "the arrays do not fit each other");
    PyBuffer_Release(&term->docs);
    PyBuffer_Release(&term->codes);
    return 0;
}

static PyObject *best(PyObject *self, PyObject *given)
{
    PyObject *terms, *result = NULL;
    Py_buffer weights, lengths, permitted;
    Py_ssize_t start, end, most, taken = 0;
    double average, floor;
    if (!PyArg_ParseTuple(given, "O!y*y*y*nnndd", &PyList_Type, &terms, &weights, &lengths, &permitted, &start, &end,
                          &most, &average, &floor))
        return NULL;
    const Py_ssize_t count = PyList_Size(terms);
    Matching matching = {NULL, count, start, end - start, weights.len / (Py_ssize_t)sizeof(float), weights.buf,
                         lengths.buf, permitted.len ? permitted.buf : NULL, average, most};
    if (start < 0 || end < start || most < 1 || end > lengths.len / (Py_ssize_t)sizeof(int32_t)
        || (permitted.len && permitted.len != end - start)) {
        PyErr_SetString(PyExc_IndexError, "the arrays do not fit each other");
        goto done;
    }
    matching.terms = calloc(count + 1, sizeof(Term));
    if (!matching.terms) {
        PyErr_NoMemory();
        goto done;
    }
    while (taken < count && take_term(matching.terms + taken, PyList_GetItem(terms, taken), start, end))
        taken++;
    if (taken == count) result = found_best(&matching, floor);
    for (Py_ssize_t at = 0; at < taken; at++) {
        PyBuffer_Release(&matching.terms[at].docs);
        PyBuffer_Release(&matching.terms[at].codes);
    }
done:
    free(matching.terms);
    PyBuffer_Release(&weights);
    PyBuffer_Release(&lengths);
    PyBuffer_Release(&permitted);
    return result;
}

/* How a term compares with one that is looked for: below 0 if it is before it; 2 if the arrays lie. A term that was
   struck out begins with a zero: STRUCK. */
#define STRUCK 3
#define LIES 2
static int compare(const Py_buffer *letters, const int64_t *cuts, Py_ssize_t at, const Py_buffer *wanted)
{
    const int64_t start = cuts[at], end = cuts[at + 1];
    if (start < 0 || end < start || end > letters->len) return LIES;
    const char *text = (const char *)letters->buf + start;
    const Py_ssize_t size = (Py_ssize_t)(end - start), shared = size < wanted->len ? size : wanted->len;
    if (size && !text[0]) return STRUCK;
    const int order = memcmp(text, wanted->buf, shared);
    return order < 0 || (order == 0 && size < wanted->len) ? -1 : order > 0 || size > wanted->len;
}

static PyObject *place(PyObject *self, PyObject *given)
{
    Py_buffer letters, cuts, wanted;
    if (!PyArg_ParseTuple(given, "y*y*y*", &letters, &cuts, &wanted)) return NULL;
    Py_ssize_t low = 0, high = cuts.len / (Py_ssize_t)sizeof(int64_t) - 1;
    int order = 0;
    while (low < high && order != LIES) {
        const Py_ssize_t middle = low + (high - low) / 2;
        Py_ssize_t probe = middle;
        while ((order = compare(&letters, cuts.buf, probe, &wanted)) == STRUCK && probe > low) probe--;
        if (order < 0 || order == STRUCK) low = middle + 1;
        else high = probe;
    }
    PyBuffer_Release(&letters);
    PyBuffer_Release(&cuts);
    PyBuffer_Release(&wanted);
    if (order != LIES) return PyLong_FromSsize_t(low);
    PyErr_SetString(PyExc_IndexError, "there is no such term");
    return NULL;
}

static PyMethodDef methods[] = {
    {"nearest", nearest, METH_VARARGS, NULL},
    {"products", products, METH_VARARGS, NULL},
    {"best", best, METH_VARARGS, NULL},
    {"place", place, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_kernel", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernel(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx2")) add_signs = add_signs_256;
#elif defined(__aarch64__) && defined(__GNUC__)
    add_signs = add_signs_128;
#endif
    CHOOSE(estimate)
    CHOOSE(product)
    CHOOSE(count)
    return PyModuleDef_Init(&module);
}
