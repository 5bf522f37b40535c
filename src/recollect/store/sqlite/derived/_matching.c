/* The inner loops over a segment's words. kernel.py says what each is for and has the same in numpy.

   Whatever a file says is data: every position and code that is read from one is checked before it is used,
   and a wrong one raises IndexError, as numpy does. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "processors.h"

#define SPAN 128
#define MEMORIES 4096
#define NO_ROOM -1
#define K1 1.2
#define B 0.75
#define NEARLY 0.96f
#define SOMETHING 1e-30f

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

/* A term of a question: who has it, ascending, with a code for each, and what it counts. Memories before `next` are
   done with. */
typedef struct {
    Py_buffer docs, codes;
    const int32_t *doc_of;
    const uint16_t *code_of;
    Py_ssize_t first, last, next;
    double rarity;
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

/* The best so far: where they stand, ascending, and what they come to. Nobody below the floor is wanted. */
typedef struct {
    float floor, *scores, *heap, *values;
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
    const float least = finding->heap[0] * NEARLY;
    Py_ssize_t kept = 0;
    for (Py_ssize_t at = 0; at < finding->held; at++) {
        if (finding->values[at] < least) continue;
        finding->places[kept] = finding->places[at];
        finding->values[kept++] = finding->values[at];
    }
    finding->held = kept;
}

/* Take in those of a block who are good enough. */
static void take_in(const Matching *matching, Finding *finding, Py_ssize_t first, Py_ssize_t size)
{
    for (Py_ssize_t some = 0; some < size; some += SPAN) {
        const Py_ssize_t end = some + SPAN < size ? some + SPAN : size;
        if (!count(finding->scores + some, end - some, finding->floor)) continue;
        for (Py_ssize_t at = some; at < end; at++) {
            const float score = finding->scores[at];
            if (score < finding->floor) continue;
            finding->places[finding->held] = (int32_t)(first + at);
            finding->values[finding->held++] = score;
            if (score <= finding->heap[0]) continue;
            sink(finding->heap, matching->most, score);
            finding->floor = fmaxf(finding->floor, finding->heap[0] * NEARLY);
        }
    }
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

/* The best of a span, block by block, so that the scores stay in the processor's cache; 0 if the arrays lie. */
static int find_best(const Matching *matching, Finding *finding)
{
    const Py_ssize_t end = matching->start + matching->size;
    for (Py_ssize_t first = matching->start; first < end; first += MEMORIES) {
        const Py_ssize_t last = end - first < MEMORIES ? end : first + MEMORIES;
        memset(finding->scores, 0, (last - first) * sizeof(float));
        for (Py_ssize_t at = 0; at < matching->count; at++)
            if (!add_term(matching, matching->terms + at, first, last, finding->scores)) return 0;
        if (!has_room(finding)) return NO_ROOM;
        take_in(matching, finding, first, last - first);
        keep_highest(matching, finding);
    }
    return 1;
}

static int make_finding(Finding *finding, const Matching *matching, double floor)
{
    *finding = (Finding){.floor = fmaxf((float)floor, SOMETHING)};
    finding->scores = malloc(MEMORIES * sizeof(float));
    finding->heap = calloc(matching->most, sizeof(float));
    return finding->scores && finding->heap && has_room(finding);
}

static void free_finding(Finding *finding)
{
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

/* A term from (docs, codes, rarity); whoever is before or behind the span is passed over. */
static int take_term(Term *term, PyObject *given, Py_ssize_t start, Py_ssize_t end)
{
    if (!PyArg_ParseTuple(given, "y*y*d", &term->docs, &term->codes, &term->rarity)) return 0;
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
    {"best", best, METH_VARARGS, NULL},
    {"place", place, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_matching", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__matching(void)
{
    CHOOSE(count)
    return PyModuleDef_Init(&module);
}
