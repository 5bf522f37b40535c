/* The default ranking of hundreds of candidates. mixing.py says what it is for; fuse.py, context.py and score.py have the
   same in Python, in small steps. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include "../store/packed.h"

/* What a leg found, best first, and the lists of who speaks. */
typedef struct {
    Py_buffer held;
    const Row *rows;
    Py_ssize_t count;
    PyObject *names;
} Leg;

/* How near some are, who may or may not be in the legs; nobody twice. */
typedef struct {
    Py_buffer held;
    const Scored *pairs;
    Py_ssize_t count;
} Extra;

/* How the ranking reckons: the constants of fuse.py, context.py and score.py, and what this question asks. */
typedef struct {
    double narrowest, compared, usual_words, near, next, short_text, recency, another_speaker, outside_time;
    double words, meaning, number, least;
    int is_cut, drops_nothing, prefers;
    long long now, since, until;
    Py_ssize_t limit;
    PyObject *meant;
} Rules;

/* A candidate: where it stands, what each leg says of it (a rank of 0: nothing), and what that comes to. */
typedef struct {
    const Row *row;
    const Leg *leg;
    double score, similarity, by_words, by_meaning, base, lent, total;
    Py_ssize_t rank, nearness;
    int is_similar;
} Item;

/* Pairs of numbers, each with a place in the order in which they came: -1 where there is none. */
typedef struct {
    int64_t first, second;
    Py_ssize_t place;
} Slot;

typedef struct {
    Slot *slots;
    Py_ssize_t room, count;
} Index;

typedef struct {
    Item *items;
    Py_ssize_t count, words, near, known;
    Index index, places;
    double *shares, *bases, weight_of_words, weight_of_meaning, scale;
} Mixed;

static int make_index(Index *index, Py_ssize_t most)
{
    for (index->room = 16; index->room < 2 * most; index->room *= 2) {}
    index->slots = malloc(index->room * sizeof(Slot));
    for (Py_ssize_t at = 0; index->slots && at < index->room; at++) index->slots[at].place = -1;
    return index->slots != NULL;
}

static Slot *slot_of(const Index *index, int64_t first, int64_t second)
{
    uint64_t mixed = ((uint64_t)first * 0x9E3779B97F4A7C15u) ^ ((uint64_t)second * 0xC2B2AE3D27D4EB4Fu);
    for (mixed ^= mixed >> 29;; mixed++) {
        Slot *slot = index->slots + (mixed & (uint64_t)(index->room - 1));
        if (slot->place < 0 || (slot->first == first && slot->second == second)) return slot;
    }
}

/* The place of a pair, which is new if need be. */
static Py_ssize_t place_in(Index *index, int64_t first, int64_t second)
{
    Slot *slot = slot_of(index, first, second);
    if (slot->place < 0) *slot = (Slot){first, second, index->count++};
    return slot->place;
}

static void take_in(Mixed *mixed, const Leg *keyword, const Leg *semantic)
{
    for (Py_ssize_t at = 0; at < keyword->count; at++) {
        Item *item = mixed->items + place_in(&mixed->index, keyword->rows[at].key, 0);
        item->row = keyword->rows + at;
        item->leg = keyword;
        if (item->rank) continue;
        item->rank = at + 1;
        item->score = item->row->score;
    }
    for (Py_ssize_t at = 0; at < semantic->count; at++) {
        Item *item = mixed->items + place_in(&mixed->index, semantic->rows[at].key, 0);
        item->row = semantic->rows + at;
        item->leg = semantic;
        if (item->nearness) continue;
        item->nearness = at + 1;
        item->similarity = item->row->score;
        item->is_similar = 1;
    }
    mixed->count = mixed->index.count;
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
static void share_meaning(Mixed *mixed, const Rules *rules, const Extra *extra)
{
    double high = -INFINITY, low = INFINITY;
    for (Py_ssize_t at = 0; at < mixed->count; at++) {
        if (!mixed->items[at].nearness) continue;
        high = fmax(high, mixed->items[at].similarity);
        low = fmin(low, mixed->items[at].similarity);
    }
    const double width = fmax(high - low, rules->narrowest);
    for (Py_ssize_t at = 0; at < extra->count; at++) {
        const double similarity = extra->pairs[at].score;
        const Py_ssize_t known = slot_of(&mixed->index, extra->pairs[at].key, 0)->place;
        Item *item = known < 0 ? NULL : mixed->items + known;
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
}

/* Put so many of the highest first, in order: few of many are ever moved. */
static void put_first(double *values, Py_ssize_t count, Py_ssize_t wanted)
{
    Py_ssize_t held = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        const double value = values[at];
        if (held == wanted && value <= values[held - 1]) continue;
        Py_ssize_t to = held < wanted ? held++ : held - 1;
        values[at] = values[to];
        for (; to && values[to - 1] < value; to--) values[to] = values[to - 1];
        values[to] = value;
    }
}

/* How far the best is above the mean of the next ones; those who are not in the list have 0. */
static double standing_out(double *shares, Py_ssize_t count, const Rules *rules)
{
    double others = 0;
    put_first(shares, count, (Py_ssize_t)rules->compared);
    for (Py_ssize_t at = 1; at < count && at < rules->compared; at++) others += shares[at];
    return shares[0] - others / (rules->compared - 1);
}

static double within(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

/* How much each leg counts for this question. */
static void lean(Mixed *mixed, const Rules *rules, const Extra *extra)
{
    if (mixed->near) share_meaning(mixed, rules, extra);
    if (mixed->words) share_words(mixed, rules);
    const double total = (mixed->words ? rules->words : 0) + (mixed->near ? rules->meaning : 0);
    if (!total) return;
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
}

/* What is noted for each place in a session, in the order of the places. */
static void note_places(Mixed *mixed)
{
    for (Py_ssize_t at = 0; at < mixed->count; at++) {
        const Row *row = mixed->items[at].row;
        if (row->session) mixed->bases[place_in(&mixed->places, row->session, row->place)] = mixed->items[at].base;
    }
}

/* What a candidate is lent by those one and two places away; -1 if there is none with anything to lend. */
static double borrowed(const Mixed *mixed, const Rules *rules, double mean, const Row *row)
{
    double sum = 0;
    int is_near = 0;
    for (int far = 1; row->place >= 0 && far <= 2; far++)
        for (int side = -far; side <= far; side += 2 * far) {
            const int64_t beside = (int64_t)row->place + side;
            const Py_ssize_t place = beside < 0 ? -1 : slot_of(&mixed->places, row->session, beside)->place;
            if (place < 0 || mixed->bases[place] <= mean) continue;
            is_near = 1;
            sum += (far == 1 ? rules->near : rules->next) * (mixed->bases[place] - mean);
        }
    return is_near ? sum : -1;
}

/* Neighbours in a session lend each other relevance; should one exceed 1, all are scaled down together. */
static void lend(Mixed *mixed, const Rules *rules)
{
    note_places(mixed);
    const Py_ssize_t count = mixed->places.count;
    double sum = 0, most = 0;
    for (Py_ssize_t place = 0; place < count; place++) sum += mixed->bases[place];
    for (Py_ssize_t at = 0; at < mixed->count; at++) {
        Item *item = mixed->items + at;
        if (count > 1 && item->row->session) {
            const double lent = borrowed(mixed, rules, sum / (double)count, item->row);
            if (lent >= 0) item->lent = lent * fmin(1, rules->short_text / fmax(1, item->row->tokens));
        }
        item->total = item->base + item->lent;
        most = fmax(most, item->total);
    }
    if (count > 1 && most > 1) mixed->scale = 1 / most;
    for (Py_ssize_t at = 0; at < mixed->count && mixed->scale != 1; at++) {
        Item *item = mixed->items + at;
        item->base *= mixed->scale;
        item->lent *= mixed->scale;
        item->total = item->base + item->lent;
    }
}

/* Who says it; None if nobody does. */
static PyObject *speaker_of(const Item *item)
{
    PyObject *names = PySequence_GetItem(item->leg->names, item->row->names);
    PyObject *speaker = names ? PySequence_GetItem(names, item->row->speaker) : NULL;
    Py_XDECREF(names);
    return speaker;
}

/* Whether somebody else than those who are meant says it. */
static int is_of_another(const Item *item, const Rules *rules)
{
    if (!PySet_Size(rules->meant)) return 0;
    PyObject *speaker = speaker_of(item);
    const int is_meant = !speaker || speaker == Py_None ? 1 : PySet_Contains(rules->meant, speaker);
    Py_XDECREF(speaker);
    return is_meant == 0;
}

/* What an item comes to at the most: how it stands is not known yet. */
static double value_of(const Item *item, const Rules *rules)
{
    const double created = (double)item->row->created;
    const double days = fmax(0, ((double)rules->now - created) / 1000000 / 86400);
    double value = item->total * (1 - rules->recency * (1 - exp(-0.05 * days)));
    if (is_of_another(item, rules)) value *= rules->another_speaker;
    if (rules->prefers && (created < (double)rules->since || created >= (double)rules->until)) value *= rules->outside_time;
    return value;
}

static int is_before(const Item *one, const Item *other)
{
    return one->total != other->total ? one->total > other->total : one < other;
}

/* Of many only the best few are wanted in order: a heap, from one place of which downwards nothing is in order yet. */
static void sink(const Item **heap, Py_ssize_t count, Py_ssize_t at)
{
    const Item *item = heap[at];
    for (Py_ssize_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_before(heap[child + 1], heap[child])) child++;
        if (is_before(item, heap[child])) break;
        heap[at] = heap[child];
    }
    heap[at] = item;
}

/* Take the best out of a heap of so many, and put it behind those who are left. */
static const Item *take_best(const Item **heap, Py_ssize_t count)
{
    const Item *best = heap[0];
    heap[0] = heap[count - 1];
    heap[count - 1] = best;
    sink(heap, count - 1, 0);
    return best;
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

/* A number; None for what is below the least. */
static PyObject *number(long long value, long long least)
{
    return value < least ? Py_NewRef(Py_None) : PyLong_FromLongLong(value);
}

/* The candidate that an item is, in the order of its fields. */
static PyObject *candidate(const Item *item)
{
    const Row *row = item->row;
    return Py_BuildValue("LdNNNiL", (long long)row->key, row->score, number(row->session, 1), number(row->place, 0),
                         speaker_of(item), row->tokens, (long long)row->created);
}

/* An item as Python takes it: the candidate, whether it is in the semantic leg and where in its leg it stands, its base,
   what each leg said, what it was lent, what it comes to at the most. */
static PyObject *told(const Mixed *mixed, const Item *item, double most)
{
    const Py_ssize_t nearness = item->nearness ? item->nearness : item->is_similar ? mixed->near + 1 : 0;
    PyObject *words = opinion(item->rank, item->score, mixed->weight_of_words * item->by_words * mixed->scale);
    PyObject *meaning =
        opinion(nearness, item->similarity, mixed->weight_of_meaning * item->by_meaning * mixed->scale);
    return Py_BuildValue("NindNNdd", candidate(item), item->nearness > 0, item->row - item->leg->rows, item->base, words,
                         meaning, item->lent, most);
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
    for (Py_ssize_t at = left / 2 - 1; result && at >= 0; at--) sink(order, left, at);
    for (; result && seen < left && (held < rules->limit || order[0]->total >= heap[0]); seen++) {
        values[seen] = value_of(take_best(order, left - seen), rules);
        push(heap, &held, rules->limit, values[seen] * rules->least);
    }
    for (Py_ssize_t at = 0; result && at < seen; at++) {
        if (held == rules->limit && values[at] < heap[0]) continue;
        PyObject *item = told(mixed, order[left - 1 - at], values[at]);
        if (!item || PyList_Append(result, item)) Py_CLEAR(result);
        Py_XDECREF(item);
    }
    free(order);
    free(values);
    free(heap);
    if (PyErr_Occurred()) Py_CLEAR(result);
    return result ? Py_BuildValue("nN", left, result) : NULL;
}

static PyObject *mixed_and_lent(Mixed *mixed, const Rules *rules, const Leg *keyword, const Leg *semantic, const Extra *extra)
{
    take_in(mixed, keyword, semantic);
    lean(mixed, rules, extra);
    for (Py_ssize_t at = 0; at < mixed->count; at++) {
        Item *item = mixed->items + at;
        const double base = mixed->weight_of_words * item->by_words + mixed->weight_of_meaning * item->by_meaning;
        item->base = base < 1 ? base : 1;
    }
    lend(mixed, rules);
    return may_win(mixed, rules);
}

static PyObject *ranked(Rules *rules, const Leg *keyword, const Leg *semantic, const Extra *extra)
{
    Mixed mixed = {.words = keyword->count, .near = semantic->count, .scale = 1};
    const Py_ssize_t most = mixed.words + mixed.near;
    PyObject *result = NULL;
    if (rules->limit > most + 1) rules->limit = most + 1;
    mixed.items = calloc(most + 1, sizeof(Item));
    mixed.bases = malloc((most + 1) * sizeof(double));
    mixed.shares = malloc((most + extra->count + 1) * sizeof(double));
    const int is_room = make_index(&mixed.index, most) && make_index(&mixed.places, most);
    if (!is_room || !mixed.items || !mixed.bases || !mixed.shares) PyErr_NoMemory();
    else result = mixed_and_lent(&mixed, rules, keyword, semantic, extra);
    free(mixed.items);
    free(mixed.bases);
    free(mixed.shares);
    free(mixed.index.slots);
    free(mixed.places.slots);
    return result;
}

static int take_leg(Leg *leg)
{
    leg->rows = leg->held.buf;
    leg->count = leg->held.len / (Py_ssize_t)sizeof(Row);
    return leg->held.len % (Py_ssize_t)sizeof(Row) == 0;
}

static int take_extra(Extra *extra)
{
    extra->pairs = extra->held.buf;
    extra->count = extra->held.len / (Py_ssize_t)sizeof(Scored);
    return extra->held.len % (Py_ssize_t)sizeof(Scored) == 0;
}

static PyObject *contenders(PyObject *self, PyObject *given)
{
    Rules rules;
    Leg keyword, semantic;
    Extra extra;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(given, "y*Oy*Oy*(ddddddddd)(dd)dppLO!pLLnd", &keyword.held, &keyword.names, &semantic.held,
                          &semantic.names, &extra.held, &rules.narrowest, &rules.compared, &rules.usual_words,
                          &rules.near, &rules.next, &rules.short_text, &rules.recency, &rules.another_speaker,
                          &rules.outside_time, &rules.words, &rules.meaning, &rules.number, &rules.is_cut,
                          &rules.drops_nothing, &rules.now, &PyFrozenSet_Type, &rules.meant, &rules.prefers, &rules.since,
                          &rules.until, &rules.limit, &rules.least))
        return NULL;
    if (!take_leg(&keyword) || !take_leg(&semantic) || !take_extra(&extra))
        PyErr_SetString(PyExc_ValueError, "a candidate is cut off");
    else if (rules.limit < 1) PyErr_SetString(PyExc_ValueError, "at least one must be wanted");
    else result = ranked(&rules, &keyword, &semantic, &extra);
    PyBuffer_Release(&keyword.held);
    PyBuffer_Release(&semantic.held);
    PyBuffer_Release(&extra.held);
    return result;
}

/* The different words of a text, as hashes that ascend. */
typedef struct {
    uint64_t *words;
    Py_ssize_t count, room;
} Text;

static int rising(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

static int add_word(Text *text, uint64_t word)
{
    if (text->count == text->room) {
        text->room = 2 * text->room + 64;
        uint64_t *words = realloc(text->words, text->room * sizeof(uint64_t));
        if (!words) return 0;
        text->words = words;
    }
    text->words[text->count++] = word;
    return 1;
}

/* The words of a text that is in lower case but for ASCII, between what Python calls white space in ASCII. */
static int take_words(Text *text, const char *letters, Py_ssize_t size)
{
    uint64_t word = 0;
    for (Py_ssize_t at = 0; at <= size; at++) {
        const unsigned char letter = at < size ? (unsigned char)letters[at] : ' ';
        if (letter == ' ' || (letter >= 9 && letter <= 13) || (letter >= 28 && letter <= 31)) {
            if (word && !add_word(text, word)) return 0;
            word = 0;
            continue;
        }
        const unsigned char lower = letter >= 'A' && letter <= 'Z' ? letter + 32 : letter;
        word = ((word ? word : 0xCBF29CE484222325u) ^ lower) * 0x100000001B3u;
    }
    if (text->count) qsort(text->words, text->count, sizeof(uint64_t), rising);
    Py_ssize_t kept = 0;
    for (Py_ssize_t at = 0; at < text->count; at++)
        if (!kept || text->words[at] != text->words[kept - 1]) text->words[kept++] = text->words[at];
    text->count = kept;
    return 1;
}

/* What `" ".join(content.lower().split())` gives, but for ASCII, whose words are told apart here. */
static PyObject *lower(PyObject *content)
{
    Py_ssize_t size;
    const char *letters = PyUnicode_AsUTF8AndSize(content, &size);
    if (!letters) return NULL;
    if (size == PyUnicode_GetLength(content)) return Py_NewRef(content);
    PyObject *lowered = PyObject_CallMethod(content, "lower", NULL);
    PyObject *words = lowered ? PyUnicode_Split(lowered, NULL, -1) : NULL;
    PyObject *between = words ? PyUnicode_FromString(" ") : NULL;
    PyObject *joined = between ? PyUnicode_Join(between, words) : NULL;
    Py_XDECREF(lowered);
    Py_XDECREF(words);
    Py_XDECREF(between);
    return joined;
}

static int take_text(Text *text, PyObject *content)
{
    PyObject *lowered = PyUnicode_Check(content) ? lower(content) : NULL;
    Py_ssize_t size;
    const char *letters = lowered ? PyUnicode_AsUTF8AndSize(lowered, &size) : NULL;
    const int is_taken = letters && take_words(text, letters, size);
    Py_XDECREF(lowered);
    if (!is_taken && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a text can't be read");
    return is_taken;
}

/* Whether two texts have so much of the words of either. */
static int share(const Text *one, const Text *other, double least)
{
    const double enough = least * (double)(one->count > other->count ? one->count : other->count);
    if (!one->count || (double)one->count < enough || (double)other->count < enough) return 0;
    Py_ssize_t a = 0, b = 0, shared = 0;
    while (a < one->count && b < other->count) {
        const uint64_t left = one->words[a], right = other->words[b];
        shared += left == right;
        a += left <= right;
        b += right <= left;
    }
    return (double)shared >= enough;
}

static PyObject *pairs_among(const Text *texts, Py_ssize_t count, Py_ssize_t compared, double least)
{
    PyObject *result = PyList_New(0);
    for (Py_ssize_t at = 1; result && at < count; at++)
        for (Py_ssize_t before = 0; result && before < at && before < compared; before++) {
            if (!share(texts + at, texts + before, least)) continue;
            PyObject *pair = Py_BuildValue("nn", at, before);
            if (!pair || PyList_Append(result, pair)) Py_CLEAR(result);
            Py_XDECREF(pair);
        }
    return result;
}

static PyObject *sharing(PyObject *self, PyObject *given)
{
    PyObject *contents, *result = NULL;
    Py_ssize_t compared, taken = 0;
    double least;
    if (!PyArg_ParseTuple(given, "O!nd", &PyList_Type, &contents, &compared, &least)) return NULL;
    const Py_ssize_t count = PyList_Size(contents);
    Text *texts = calloc(count + 1, sizeof(Text));
    if (!texts) return PyErr_NoMemory();
    while (taken < count && take_text(texts + taken, PyList_GetItem(contents, taken))) taken++;
    if (taken == count) result = pairs_among(texts, count, compared, least);
    for (Py_ssize_t at = 0; at < count; at++) free(texts[at].words);
    free(texts);
    return result;
}

static PyMethodDef methods[] = {
    {"contenders", contenders, METH_VARARGS, NULL},
    {"sharing", sharing, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_mixing", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__mixing(void)
{
    return PyModuleDef_Init(&module);
}
