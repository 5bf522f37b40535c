/* The default ranking of hundreds of candidates. mixing.py says what it is for; fuse.py, context.py and score.py have the
   same in Python, in small steps. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { KEY, SCORE, SESSION, POSITION, SPEAKER, TOKENS, CREATED };

/* How the ranking reckons: the constants of fuse.py, context.py and score.py, and what this question asks. */
typedef struct {
    double narrowest, compared, usual_words, near, next, short_text, recency, another_speaker, outside_time;
    double words, meaning, number, least;
    int is_cut, drops_nothing, prefers;
    long long now, since, until;
    Py_ssize_t limit;
    PyObject *meant;
} Rules;

/* A candidate: what each leg says of it (a rank of 0: nothing), and what that comes to. */
typedef struct {
    PyObject *candidate;
    double score, similarity, by_words, by_meaning, base, lent, total;
    Py_ssize_t rank, nearness;
    int is_similar;
} Item;

typedef struct {
    Item *items;
    Py_ssize_t count, words, near, known;
    PyObject *index;
    double *shares, weight_of_words, weight_of_meaning, scale;
} Mixed;

static double number_at(PyObject *candidate, Py_ssize_t at)
{
    PyObject *value = PyTuple_GetItem(candidate, at);
    return value ? PyFloat_AsDouble(value) : 0;
}

/* The place of a candidate among the items, or a new one. */
static Item *item_of(Mixed *mixed, PyObject *candidate)
{
    PyObject *key = PyTuple_GetItem(candidate, KEY);
    if (!key) return NULL;
    PyObject *known = PyDict_GetItemWithError(mixed->index, key);
    if (known) return mixed->items + PyLong_AsSsize_t(known);
    if (PyErr_Occurred()) return NULL;
    PyObject *place = PyLong_FromSsize_t(mixed->count);
    if (!place || PyDict_SetItem(mixed->index, key, place)) {
        Py_XDECREF(place);
        return NULL;
    }
    Py_DECREF(place);
    return mixed->items + mixed->count++;
}

static int take_in(Mixed *mixed, PyObject *keyword, PyObject *semantic)
{
    for (Py_ssize_t at = 0; at < mixed->words; at++) {
        PyObject *candidate = PyList_GetItem(keyword, at);
        Item *item = item_of(mixed, candidate);
        if (!item) return 0;
        item->candidate = candidate;
        if (item->rank) continue;
        item->rank = at + 1;
        item->score = number_at(candidate, SCORE);
    }
    for (Py_ssize_t at = 0; at < mixed->near; at++) {
        PyObject *candidate = PyList_GetItem(semantic, at);
        Item *item = item_of(mixed, candidate);
        if (!item) return 0;
        item->candidate = candidate;
        if (item->nearness) continue;
        item->nearness = at + 1;
        item->similarity = number_at(candidate, SCORE);
        item->is_similar = 1;
    }
    return !PyErr_Occurred();
}

/* Each leg's scores made comparable: BM25 as a share of the best, above the lowest where the list was cut. */
static void share_words(Mixed *mixed, const Rules *rules)
{
    double high = -INFINITY, low = INFINITY;
    for (Py_ssize_t at = 0; at < mixed->count; at++) {
        if (!mixed->items[at].rank) continue;
        high = fmax(high, mixed->items[at].score);
        low = fmin(low, mixed->items[at].score);
    }
    if (!rules->is_cut) low = 0;
    for (Py_ssize_t at = 0; at < mixed->count; at++) {
        Item *item = mixed->items + at;
        if (item->rank) item->by_words = high <= low ? 1 : (item->score - low) / (high - low);
    }
}

/* The cosine from the lowest of the list to the best. Others whose cosine is known have a share, too, if only here. */
static int share_meaning(Mixed *mixed, const Rules *rules, PyObject *extra)
{
    double high = -INFINITY, low = INFINITY;
    for (Py_ssize_t at = 0; at < mixed->count; at++) {
        if (!mixed->items[at].nearness) continue;
        high = fmax(high, mixed->items[at].similarity);
        low = fmin(low, mixed->items[at].similarity);
    }
    const double width = fmax(high - low, rules->narrowest);
    PyObject *key, *value;
    Py_ssize_t place = 0;
    while (PyDict_Next(extra, &place, &key, &value)) {
        const double similarity = PyFloat_AsDouble(value);
        PyObject *known = PyDict_GetItemWithError(mixed->index, key);
        Item *item = known ? mixed->items + PyLong_AsSsize_t(known) : NULL;
        if (PyErr_Occurred()) return 0;
        if (item && item->nearness) continue;
        const double share = similarity > high - width ? 1 - (high - similarity) / width : 0;
        mixed->shares[mixed->known++] = share;
        if (!item) continue;
        item->similarity = similarity;
        item->by_meaning = share;
        item->is_similar = 1;
    }
    for (Py_ssize_t at = 0; at < mixed->count; at++) {
        Item *item = mixed->items + at;
        if (!item->nearness) continue;
        item->by_meaning = 1 - (high - item->similarity) / width;
        mixed->shares[mixed->known++] = item->by_meaning;
    }
    return 1;
}

static int falling(const void *one, const void *other)
{
    const double a = *(const double *)one, b = *(const double *)other;
    return (a < b) - (a > b);
}

/* How far the best is above the mean of the next ones; those who are not in the list have 0. */
static double standing_out(double *shares, Py_ssize_t count, const Rules *rules)
{
    double others = 0;
    qsort(shares, count, sizeof(double), falling);
    for (Py_ssize_t at = 1; at < count && at < rules->compared; at++) others += shares[at];
    return shares[0] - others / (rules->compared - 1);
}

static double within(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

/* How much each leg counts for this question. */
static int lean(Mixed *mixed, const Rules *rules, PyObject *extra)
{
    if (mixed->near && !share_meaning(mixed, rules, extra)) return 0;
    if (mixed->words) share_words(mixed, rules);
    const double total = (mixed->words ? rules->words : 0) + (mixed->near ? rules->meaning : 0);
    if (!total) return 1;
    double words = mixed->words && mixed->near ? rules->words / total : mixed->words ? 1 : 0;
    if (mixed->words && mixed->near && mixed->known >= rules->compared) {
        double lean = -standing_out(mixed->shares, mixed->known, rules);
        Py_ssize_t count = 0;
        for (Py_ssize_t at = 0; at < mixed->count; at++)
            if (mixed->items[at].rank) mixed->shares[count++] = mixed->items[at].by_words;
        lean += standing_out(mixed->shares, count, rules);
        lean += within(0.1 * (rules->number - rules->usual_words), -0.2, 0.25);
        words += within(lean, -1, 1) * fmin(words, 1 - words);
    }
    mixed->weight_of_words = words;
    mixed->weight_of_meaning = 1 - words;
    return 1;
}

/* A place in a session as a key, some steps on; NULL without an error if there is none. */
static PyObject *place_of(PyObject *candidate, long step)
{
    PyObject *session = PyTuple_GetItem(candidate, SESSION), *position = PyTuple_GetItem(candidate, POSITION);
    if (session == Py_None || (step && position == Py_None)) return NULL;
    if (!step) return PyTuple_Pack(2, session, position);
    return Py_BuildValue("OL", session, PyLong_AsLongLong(position) + step);
}

/* What is noted for a place; NULL for nothing. */
static PyObject *noted(PyObject *notes, PyObject *candidate, long step)
{
    PyObject *place = place_of(candidate, step);
    PyObject *found = place ? PyDict_GetItemWithError(notes, place) : NULL;
    Py_XDECREF(place);
    return found;
}

/* What stands out of each place, above the mean of all; the number of places, or -1. */
static Py_ssize_t stand_out(const Mixed *mixed, PyObject *notes)
{
    for (Py_ssize_t at = 0; at < mixed->count; at++) {
        PyObject *place = place_of(mixed->items[at].candidate, 0);
        if (!place && !PyErr_Occurred()) continue;
        PyObject *base = place ? PyFloat_FromDouble(mixed->items[at].base) : NULL;
        const int is_noted = base && !PyDict_SetItem(notes, place, base);
        Py_XDECREF(place);
        Py_XDECREF(base);
        if (!is_noted) return -1;
    }
    return PyDict_Size(notes);
}

/* What a candidate is lent by those one and two places away; -1 if there is none with anything to lend. */
static double borrowed(const Rules *rules, PyObject *places, double mean, PyObject *candidate)
{
    double sum = 0;
    int is_near = 0;
    for (int far = 1; far <= 2; far++)
        for (int side = -far; side <= far; side += 2 * far) {
            PyObject *base = noted(places, candidate, side);
            if (!base || PyFloat_AsDouble(base) <= mean) continue;
            is_near = 1;
            sum += (far == 1 ? rules->near : rules->next) * (PyFloat_AsDouble(base) - mean);
        }
    return is_near ? sum : -1;
}

/* Neighbours in a session lend each other relevance; should one exceed 1, all are scaled down together. */
static int lend(Mixed *mixed, const Rules *rules)
{
    PyObject *places = PyDict_New(), *key, *value;
    const Py_ssize_t count = places ? stand_out(mixed, places) : -1;
    double sum = 0, most = 0;
    Py_ssize_t place = 0;
    while (count > 1 && PyDict_Next(places, &place, &key, &value)) sum += PyFloat_AsDouble(value);
    for (Py_ssize_t at = 0; at < mixed->count; at++) {
        Item *item = mixed->items + at;
        if (count > 1 && PyTuple_GetItem(item->candidate, SESSION) != Py_None) {
            const double lent = borrowed(rules, places, sum / (double)count, item->candidate);
            const double tokens = fmax(1, number_at(item->candidate, TOKENS));
            if (lent >= 0) item->lent = lent * fmin(1, rules->short_text / tokens);
        }
        item->total = item->base + item->lent;
        most = fmax(most, item->total);
    }
    Py_XDECREF(places);
    if (count > 1 && most > 1) mixed->scale = 1 / most;
    for (Py_ssize_t at = 0; at < mixed->count && mixed->scale != 1; at++) {
        Item *item = mixed->items + at;
        item->base *= mixed->scale;
        item->lent *= mixed->scale;
        item->total = item->base + item->lent;
    }
    return !PyErr_Occurred();
}

/* What an item comes to at the most: how it stands is not known yet. */
static double value_of(const Item *item, const Rules *rules)
{
    const double created = number_at(item->candidate, CREATED);
    const double days = fmax(0, ((double)rules->now - created) / 1000000 / 86400);
    double value = item->total * (1 - rules->recency * (1 - exp(-0.05 * days)));
    PyObject *speaker = PyTuple_GetItem(item->candidate, SPEAKER);
    if (speaker != Py_None && PySet_Size(rules->meant) && PySet_Contains(rules->meant, speaker) == 0)
        value *= rules->another_speaker;
    if (rules->prefers && (created < (double)rules->since || created >= (double)rules->until)) value *= rules->outside_time;
    return value;
}

static int best_first(const void *one, const void *other)
{
    const Item *const *a = one, *const *b = other;
    if ((*a)->total != (*b)->total) return (*a)->total > (*b)->total ? -1 : 1;
    return (*a > *b) - (*a < *b);
}

/* A smaller one at the top of the heap gives way; while there is room, none has to. */
static void push(double *heap, Py_ssize_t *held, Py_ssize_t room, double value)
{
    Py_ssize_t at = *held;
    if (at < room) {
        for (++*held; at && heap[(at - 1) / 2] > value; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
        heap[at] = value;
        return;
    }
    if (value <= heap[0]) return;
    for (at = 0;;) {
        Py_ssize_t child = 2 * at + 1;
        if (child + 1 < room && heap[child + 1] < heap[child]) child++;
        if (child >= room || heap[child] >= value) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = value;
}

/* What a leg said: a rank, a score, a share; None for nothing. */
static PyObject *opinion(Py_ssize_t rank, double score, double share)
{
    return rank ? Py_BuildValue("ndd", rank, score, share) : Py_NewRef(Py_None);
}

/* An item as Python takes it: the candidate, its base, what each leg said, what it was lent. */
static PyObject *told(const Mixed *mixed, const Item *item)
{
    const Py_ssize_t nearness = item->nearness ? item->nearness : item->is_similar ? mixed->near + 1 : 0;
    PyObject *words = opinion(item->rank, item->score, mixed->weight_of_words * item->by_words * mixed->scale);
    PyObject *meaning =
        opinion(nearness, item->similarity, mixed->weight_of_meaning * item->by_meaning * mixed->scale);
    return Py_BuildValue("OdNNd", item->candidate, item->base, words, meaning, item->lent);
}

/* Those who may be among the best, in order. */
static PyObject *may_win(Mixed *mixed, const Rules *rules)
{
    const Item **order = malloc((mixed->count + 1) * sizeof(Item *));
    double *values = malloc((mixed->count + 1) * sizeof(double)), *heap = malloc((rules->limit + 1) * sizeof(double));
    PyObject *result = order && values && heap ? PyList_New(0) : PyErr_NoMemory();
    Py_ssize_t left = 0, seen = 0, held = 0;
    for (Py_ssize_t at = 0; result && at < mixed->count; at++)
        if (!rules->drops_nothing || mixed->items[at].total > 0 || mixed->items[at].rank) order[left++] = mixed->items + at;
    if (result) qsort(order, left, sizeof(Item *), best_first);
    for (; result && seen < left && (held < rules->limit || order[seen]->total >= heap[0]); seen++) {
        values[seen] = value_of(order[seen], rules);
        push(heap, &held, rules->limit, values[seen] * rules->least);
    }
    for (Py_ssize_t at = 0; result && at < seen; at++) {
        if (held == rules->limit && values[at] < heap[0]) continue;
        PyObject *item = told(mixed, order[at]);
        if (!item || PyList_Append(result, item)) Py_CLEAR(result);
        Py_XDECREF(item);
    }
    free(order);
    free(values);
    free(heap);
    if (PyErr_Occurred()) Py_CLEAR(result);
    return result ? Py_BuildValue("nN", left, result) : NULL;
}

static PyObject *mixed_and_lent(Mixed *mixed, const Rules *rules, PyObject *keyword, PyObject *semantic, PyObject *extra)
{
    if (!take_in(mixed, keyword, semantic) || !lean(mixed, rules, extra)) return NULL;
    for (Py_ssize_t at = 0; at < mixed->count; at++) {
        Item *item = mixed->items + at;
        const double base = mixed->weight_of_words * item->by_words + mixed->weight_of_meaning * item->by_meaning;
        item->base = base < 1 ? base : 1;
    }
    return lend(mixed, rules) ? may_win(mixed, rules) : NULL;
}

static PyObject *contenders(PyObject *self, PyObject *given)
{
    Rules rules;
    PyObject *keyword, *semantic, *extra, *result = NULL;
    if (!PyArg_ParseTuple(given, "O!O!O!(ddddddddd)(dd)dppLO!pLLnd", &PyList_Type, &keyword, &PyList_Type, &semantic,
                          &PyDict_Type, &extra, &rules.narrowest, &rules.compared, &rules.usual_words, &rules.near,
                          &rules.next, &rules.short_text, &rules.recency, &rules.another_speaker, &rules.outside_time,
                          &rules.words, &rules.meaning, &rules.number, &rules.is_cut, &rules.drops_nothing, &rules.now,
                          &PyFrozenSet_Type, &rules.meant, &rules.prefers, &rules.since, &rules.until, &rules.limit,
                          &rules.least))
        return NULL;
    Mixed mixed = {.words = PyList_Size(keyword), .near = PyList_Size(semantic), .scale = 1};
    const Py_ssize_t most = mixed.words + mixed.near;
    if (rules.limit > most + 1) rules.limit = most + 1;
    mixed.items = calloc(most + 1, sizeof(Item));
    mixed.shares = malloc((most + PyDict_Size(extra) + 1) * sizeof(double));
    mixed.index = PyDict_New();
    if (!mixed.items || !mixed.shares || !mixed.index) PyErr_NoMemory();
    else if (rules.limit < 1) PyErr_SetString(PyExc_ValueError, "at least one must be wanted");
    else result = mixed_and_lent(&mixed, &rules, keyword, semantic, extra);
    free(mixed.items);
    free(mixed.shares);
    Py_XDECREF(mixed.index);
    return result;
}

static PyMethodDef methods[] = {
    {"contenders", contenders, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_mixing", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__mixing(void)
{
    return PyModuleDef_Init(&module);
}
