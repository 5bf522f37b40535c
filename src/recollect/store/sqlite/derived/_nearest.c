/* The inner loops over a segment's vectors. comparing.py says what each is for and has the same in numpy.

   Whatever a file says is data: every position and code that is read from one is checked before it is used,
   and a wrong one raises IndexError, as numpy does. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#if defined(__unix__) || defined(__APPLE__)
#define THREADS
#endif
#include "../../packed.h"
#include "helper.h"

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

static int take_asked(Asked *asked, const Py_buffer *vector, const Py_buffer *permitted, const Py_buffer *places,
                      Py_ssize_t closely)
{
    const Segment *segment = asked->segment;
    const size_t floats = (segment->size + 1) * sizeof(float);
    asked->vector = malloc(floats);
    asked->left = malloc(floats);
    asked->reached = malloc((segment->directions + 1) * sizeof(float));
    asked->closer = (Closer){.rows = segment->directions ? segment->rows : NULL, .row_size = row_size(segment->size),
                             .words = words_of(segment->size), .least = -INFINITY};
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
        mine->least = other->least = -INFINITY;
        look_at_part(asked, asked->start, asked->end, mine);
    }
    mine->least = fmaxf(mine->least, other->least);
    memcpy(mine->scores + mine->held, other->scores, other->held * sizeof(float));
    memcpy(mine->places + mine->held, other->places, other->held * sizeof(int64_t));
    mine->held += other->held;
    finish_choice(asked, mine);
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
static void put_in_order(Asked *asked, Best *best, Near *nearest)
{
    const Segment *segment = asked->segment;
    const float base = product_with_centre(segment, asked->vector);
    leave(best, looked_at_last(asked));
    for (Py_ssize_t at = 0; at < best->held; at++) {
        nearest[at] = (Near){best->scores[at], best->places[at]};
        FETCH(segment->numbers + best->places[at], 1); /* whose they are is told in the end */
        FETCH(segment->memories + best->places[at], 1);
    }
    qsort(nearest, best->held, sizeof(Near), by_nearness);
    const Py_ssize_t exact = best->held < asked->exact ? best->held : asked->exact;
    for (Py_ssize_t at = 0; at < exact; at++) best->places[at] = nearest[at].place;
    look_at_these(asked, (Rows){.places = best->places, .scores = best->scores, .count = exact, .at_once = SOME_FINE,
                                .look = look_at_fine});
    for (Py_ssize_t at = 0; at < best->held; at++) {
        if (at < exact && isfinite(best->scores[at])) nearest[at].score += best->scores[at];
        if (isfinite(base)) nearest[at].score += base;
    }
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
    part_from_helper(asked);
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

static int ascending(const void *one, const void *other)
{
    const int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

/* Those whose numbers stand so many bytes apart. */
static int64_t *sought_ones(const Py_buffer *wanted, Py_ssize_t apart)
{
    const Py_ssize_t count = wanted->len / apart;
    int64_t *sought = malloc((count + 1) * sizeof(int64_t));
    for (Py_ssize_t at = 0; sought && at < count; at++)
        memcpy(sought + at, (char *)wanted->buf + at * apart, sizeof(int64_t));
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
        const Py_ssize_t many = wanted.len / apart;
        int64_t *sought = sought_ones(&wanted, apart);
        Scored *scored = malloc((count + 1) * sizeof(Scored));
        if (sought && many) qsort(sought, many, sizeof(int64_t), ascending);
        for (Py_ssize_t at = 0; sought && scored && at < count; at++) {
            const int64_t memory = ((const int64_t *)memories.buf)[at];
            if (bsearch(&memory, sought, many, sizeof(int64_t), ascending))
                scored[kept++] = (Scored){memory, ((const float *)scores.buf)[at]};
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

/* Where the vector of a memory stands, of those from one place to another; -1 if it has none. */
static Py_ssize_t place_of(const Segment *segment, int64_t memory, Py_ssize_t start, Py_ssize_t end)
{
    const Py_ssize_t place = place_among(segment->memories, start, end, memory);
    return place < end && segment->memories[place] == memory && segment->scale[place] > 0 ? place : -1;
}

/* How near those are that have a vector from one place to another, in their order. `sought` becomes where they stand. */
static PyObject *near_ones(const Segment *segment, const float *vector, const Whole *whole, int64_t *sought,
                           Py_ssize_t count, Py_ssize_t start, Py_ssize_t end)
{
    const float base = product_with_centre(segment, vector);
    Scored *scored = malloc((count + 1) * sizeof(Scored));
    if (!scored) return PyErr_NoMemory();
    Py_ssize_t kept = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        const Py_ssize_t place = place_of(segment, sought[at], start, end);
        if (place >= 0) scored[kept++].key = sought[at];
        sought[at] = place;
    }
    kept = 0;
    for (Py_ssize_t at = -AHEAD; at < count; at++) {
        if (at + AHEAD < count && sought[at + AHEAD] >= 0) fetch_bytes(segment, sought[at + AHEAD]);
        if (at >= 0 && sought[at] >= 0) scored[kept++].score = base + near_by_bytes(segment, sought[at], whole);
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
        int64_t *sought = sought_ones(&wanted, apart);
        if (!sought || !make_whole(&whole, vector.buf, segment->size)) PyErr_NoMemory();
        else result = near_ones(segment, vector.buf, &whole, sought, wanted.len / apart, start, end);
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
        near_group = near_group_256;
        product = product_256;
    }
    if (__builtin_cpu_supports("popcnt")) count_ones = count_64;
#endif
    return PyModuleDef_Init(&module);
}
