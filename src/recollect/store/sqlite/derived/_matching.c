/* The inner loops over a segment's words. matching.py says what each is for and has the same in numpy.

   Whatever a file says is data: every position and code that is read from one is checked before it is used,
   and a wrong one raises IndexError, as numpy does. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "../../packed.h"
#include "processors.h"

#define MEMORIES 4096
#define NO_ROOM -1
#define K1 1.2
#define B 0.75
#define NEARLY 0.96f
#define BINS 256
#define SOMETHING 1e-30f
#define LEAST 1e-6 /* what a word counts that more than half of all memories have */
#define MOST_TIMES 63
#define ONCE 256 /* the least code of what stands somewhere */
#define COLUMNS 13

/* The arrays of a segment, in the order in which they are given. Memories stand by position, terms in their order. */
enum { NUMBERS, LENGTHS, KINDS, CREATED, SESSIONS, PLACES, TOKENS, SPEAKERS, DOCS, CODES, OFFSETS, CUTS, LETTERS };

static const Py_ssize_t WIDTHS[COLUMNS] = {8, 4, 1, 8, 8, 4, 4, 4, 4, 2, 8, 8, 1};

typedef struct {
    Py_buffer held[COLUMNS];
    Py_ssize_t taken, memories, occurrences, terms;
    const int64_t *numbers, *created, *sessions, *offsets, *cuts;
    const int32_t *lengths, *places, *tokens, *speakers, *docs;
    const uint16_t *codes;
    const uint8_t *kinds;
} Segment;

static const char NAME[] = "recollect.words";

static void *lying(const char *what)
{
    PyErr_SetString(PyExc_IndexError, what);
    return NULL;
}

static void let_go(Segment *segment)
{
    while (segment->taken) PyBuffer_Release(segment->held + --segment->taken);
    free(segment);
}

static void drop(PyObject *capsule)
{
    let_go(PyCapsule_GetPointer(capsule, NAME));
}

static int fits(const Segment *segment)
{
    for (int column = NUMBERS; column <= SPEAKERS; column++)
        if (segment->held[column].len != segment->memories * WIDTHS[column]) return 0;
    return segment->held[CODES].len == segment->occurrences * WIDTHS[CODES] && segment->terms >= 0
        && segment->held[CUTS].len == segment->held[OFFSETS].len;
}

/* A segment that is asked again and again, from its arrays. */
static PyObject *hold(PyObject *self, PyObject *given)
{
    Segment *segment = calloc(1, sizeof(Segment));
    if (!segment) return PyErr_NoMemory();
    Py_buffer *held = segment->held;
    for (; segment->taken < COLUMNS; segment->taken++) {
        PyObject *array = PyTuple_GetItem(given, segment->taken);
        if (!array || PyObject_GetBuffer(array, held + segment->taken, PyBUF_SIMPLE)) {
            let_go(segment);
            return NULL;
        }
    }
    segment->memories = held[NUMBERS].len / WIDTHS[NUMBERS];
    segment->occurrences = held[DOCS].len / WIDTHS[DOCS];
    segment->terms = held[CUTS].len / WIDTHS[CUTS] - 1;
    segment->numbers = held[NUMBERS].buf;
    segment->lengths = held[LENGTHS].buf;
    segment->kinds = held[KINDS].buf;
    segment->created = held[CREATED].buf;
    segment->sessions = held[SESSIONS].buf;
    segment->places = held[PLACES].buf;
    segment->tokens = held[TOKENS].buf;
    segment->speakers = held[SPEAKERS].buf;
    segment->docs = held[DOCS].buf;
    segment->codes = held[CODES].buf;
    segment->offsets = held[OFFSETS].buf;
    segment->cuts = held[CUTS].buf;
    PyObject *capsule = fits(segment) ? PyCapsule_New(segment, NAME, drop) : lying("the arrays do not fit each other");
    if (!capsule) let_go(segment);
    return capsule;
}

/* The occurrences of one term: from where to where they are in the segment. Memories before `next` are done with. */
typedef struct {
    Py_ssize_t first, last, next;
} List;

/* What is looked for, and what it counts: a term, or several that begin alike and count together. */
typedef struct {
    List *lists;
    Py_ssize_t count;
    double rarity;
} Term;

/* What is looked for in a span of memories, and how it is counted. */
typedef struct {
    const Segment *segment;
    Term *terms, **order; /* as they are given, and the rarest first */
    Py_ssize_t count, start, size, known;
    const float *weights;
    const uint8_t *allowed;
    double average;
    Py_ssize_t most;
} Matching;

/* The best so far: where they stand, and what they come to. Nobody below the floor is wanted. Of a block, whose scores are
   0 but for those who were reached; there is room to note one more than it has. */
typedef struct {
    float floor, *scores, *values;
    uint16_t *together;
    int16_t *met, *reached;
    int32_t *places;
    Py_ssize_t held, room, reaching;
} Finding;

static Py_ssize_t first_from(const int32_t *docs, Py_ssize_t low, Py_ssize_t high, int64_t doc)
{
    while (low < high) {
        const Py_ssize_t middle = low + (high - low) / 2;
        if (docs[middle] < doc) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The code of a memory not before the one that was looked up last; 0 where the term does not stand. */
static uint16_t look_up(const Segment *segment, List *list, int64_t doc)
{
    Py_ssize_t stride = 1, low = list->next;
    while (low + stride < list->last && segment->docs[low + stride] < doc) {
        low += stride;
        stride *= 2;
    }
    list->next = low = first_from(segment->docs, low, low + stride < list->last ? low + stride : list->last, doc);
    return low < list->last && segment->docs[low] == doc ? segment->codes[low] : 0;
}

/* Add what a term counts to the scores of a block; 0 if a position or a code lies. */
static int add_list(const Matching *matching, List *list, float rarity, Py_ssize_t first, Py_ssize_t last, Finding *finding)
{
    const int32_t *docs = matching->segment->docs;
    const uint16_t *codes = matching->segment->codes;
    const uint8_t *allowed = matching->allowed ? matching->allowed + (first - matching->start) : NULL;
    const float *weights = matching->weights;
    float *scores = finding->scores;
    int16_t *reached = finding->reached;
    const uint64_t size = (uint64_t)(last - first), known = (uint64_t)matching->known;
    const Py_ssize_t end = list->last;
    Py_ssize_t at = list->next, reaching = finding->reaching;
    for (; at < end; at++) {
        const uint64_t doc = (uint64_t)(docs[at] - (int64_t)first), code = codes[at];
        if (doc >= size) break;
        if (code >= known) return 0;
        if (code < ONCE || (allowed && !allowed[doc])) continue; /* what was struck out stands there no time */
        reached[reaching] = (int16_t)doc; /* noted if it is the first term that reaches it: no branch to guess */
        reaching += (scores[doc] == 0) & (reaching < MEMORIES);
        scores[doc] += weights[code] * rarity;
    }
    finding->reaching = reaching;
    list->next = at;
    return at == end || docs[at] >= last;
}

/* The same for several that count together: how often any of them stands in each memory of the block. */
static int add_lists(const Matching *matching, Term *term, Py_ssize_t first, Py_ssize_t last, Finding *finding)
{
    const int32_t *docs = matching->segment->docs;
    const uint16_t *codes = matching->segment->codes;
    const float rarity = (float)term->rarity;
    Py_ssize_t met = 0;
    for (Py_ssize_t number = 0; number < term->count; number++) {
        List *list = term->lists + number;
        Py_ssize_t at = list->next;
        for (; at < list->last && docs[at] < last; at++) {
            const uint16_t code = codes[at];
            if (docs[at] < first) return 0;
            if (!code || (matching->allowed && !matching->allowed[docs[at] - matching->start])) continue;
            uint16_t *together = finding->together + (docs[at] - first);
            if (!*together) finding->met[met++] = (int16_t)(docs[at] - first);
            const int times = (*together >> 8) + (code >> 8);
            *together = (uint16_t)((times < MOST_TIMES ? times : MOST_TIMES) << 8 | (code & 255));
        }
        list->next = at;
    }
    int is_right = 1;
    while (met) {
        const int16_t doc = finding->met[--met];
        const uint16_t code = finding->together[doc];
        finding->together[doc] = 0;
        if (code >= matching->known) {
            is_right = 0;
            continue;
        }
        if (code < ONCE) continue;
        finding->reached[finding->reaching] = doc;
        finding->reaching += (finding->scores[doc] == 0) & (finding->reaching < MEMORIES);
        finding->scores[doc] += matching->weights[code] * rarity;
    }
    return is_right;
}

/* What so many of the highest come to at least, or a little less: by bins, since no step of that depends on the last one. */
static float least_of_highest(const float *values, Py_ssize_t count, Py_ssize_t wanted)
{
    float high = values[0], low = values[0];
    for (Py_ssize_t at = 1; at < count; at++) {
        high = values[at] > high ? values[at] : high;
        low = values[at] < low ? values[at] : low;
    }
    const float scale = BINS / (high - low);
    if (!isfinite(scale)) return low;
    Py_ssize_t counts[BINS + 1] = {0}, seen = 0;
    int bin = BINS;
    for (Py_ssize_t at = 0; at < count; at++) counts[(int)((values[at] - low) * scale)]++;
    while (bin && (seen += counts[bin]) < wanted) bin--;
    return low + (float)bin / scale;
}

/* Keep those that are nearly as high as the last of the best, or higher, once there are more than `many`. */
static void keep_highest(const Matching *matching, Finding *finding, Py_ssize_t many)
{
    if (finding->held <= many) return;
    const float least = NEARLY * least_of_highest(finding->values, finding->held, matching->most);
    finding->floor = fmaxf(finding->floor, least);
    Py_ssize_t kept = 0;
    for (Py_ssize_t at = 0; at < finding->held; at++) {
        finding->places[kept] = finding->places[at];
        finding->values[kept] = finding->values[at];
        kept += finding->values[at] >= least;
    }
    finding->held = kept;
}

/* Take in those of a block who are good enough, and leave its scores at 0. Whoever is not is passed over without a branch. */
static void take_in(Finding *finding, Py_ssize_t first)
{
    const Py_ssize_t reaching = finding->reaching;
    Py_ssize_t held = finding->held;
    finding->reaching = 0;
    for (Py_ssize_t number = 0; number < reaching; number++) {
        const Py_ssize_t at = finding->reached[number];
        const float score = finding->scores[at];
        finding->scores[at] = 0;
        finding->places[held] = (int32_t)(first + at);
        finding->values[held] = score;
        held += score >= finding->floor;
    }
    finding->held = held;
}

static int by_score(const void *one, const void *other)
{
    const Scored *a = one, *b = other;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return (a->key > b->key) - (a->key < b->key);
}

/* Add how often a term stands in each of those who are held, which ascend. Of a short list each is looked for among them,
   in a long one each of them is. */
static void count_times(const Segment *segment, List *list, const Finding *finding, int32_t *times)
{
    if (list->last - list->first >= finding->held) {
        list->next = list->first;
        for (Py_ssize_t at = 0; at < finding->held; at++) times[at] += look_up(segment, list, finding->places[at]) >> 8;
        return;
    }
    Py_ssize_t place = 0;
    for (Py_ssize_t at = list->first; at < list->last && place < finding->held; at++) {
        place = first_from(finding->places, place, finding->held, segment->docs[at]);
        if (place < finding->held && finding->places[place] == segment->docs[at]) times[place] += segment->codes[at] >> 8;
    }
}

/* Their scores to the last bit, as if there were no other segment. */
static void score_exactly(const Matching *matching, const Finding *finding, Scored *scored, int32_t *times)
{
    const Segment *segment = matching->segment;
    for (Py_ssize_t at = 0; at < finding->held; at++) {
        FETCH(segment->numbers + finding->places[at], 1);
        FETCH(segment->lengths + finding->places[at], 1);
    }
    for (Py_ssize_t at = 0; at < finding->held; at++)
        scored[at] = (Scored){segment->numbers[finding->places[at]], 0};
    for (Py_ssize_t number = 0; number < matching->count; number++) {
        const Term *term = matching->terms + number;
        memset(times, 0, finding->held * sizeof(int32_t));
        for (Py_ssize_t list = 0; list < term->count; list++) count_times(segment, term->lists + list, finding, times);
        for (Py_ssize_t at = 0; at < finding->held; at++) {
            if (!times[at]) continue;
            const double often = times[at] < MOST_TIMES ? times[at] : MOST_TIMES;
            const double length = segment->lengths[finding->places[at]];
            scored[at].score +=
                often * (K1 + 1) / (often + K1 * (1 - B + B * length / matching->average)) * term->rarity;
        }
    }
    for (Py_ssize_t at = 0; at < finding->held; at++)
        if (isnan(scored[at].score)) scored[at].score = 0;
    if (finding->held) qsort(scored, finding->held, sizeof(Scored), by_score);
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

static int by_place(const void *one, const void *other)
{
    const int32_t a = *(const int32_t *)one, b = *(const int32_t *)other;
    return (a > b) - (a < b);
}

/* Where the best of a span stand, ascending. It goes block by block, so that the scores stay in the processor's cache; 0 if
   the arrays lie. */
static int find_best(const Matching *matching, Finding *finding)
{
    const Py_ssize_t end = matching->start + matching->size;
    for (Py_ssize_t first = matching->start; first < end; first += MEMORIES) {
        const Py_ssize_t last = end - first < MEMORIES ? end : first + MEMORIES;
        for (Py_ssize_t at = 0; at < matching->count; at++) {
            Term *term = matching->order[at];
            if (term->count == 1
                    ? !add_list(matching, term->lists, (float)term->rarity, first, last, finding)
                    : !add_lists(matching, term, first, last, finding))
                return 0;
        }
        if (!has_room(finding)) return NO_ROOM;
        take_in(finding, first);
        keep_highest(matching, finding, 2 * matching->most);
    }
    keep_highest(matching, finding, matching->most);
    if (finding->held) qsort(finding->places, finding->held, sizeof(int32_t), by_place);
    return 1;
}

static int make_finding(Finding *finding, const Matching *matching, double floor)
{
    *finding = (Finding){.floor = fmaxf((float)floor, SOMETHING)};
    finding->scores = calloc(MEMORIES, sizeof(float));
    finding->together = calloc(MEMORIES, sizeof(uint16_t));
    finding->met = malloc(MEMORIES * sizeof(int16_t));
    finding->reached = malloc((MEMORIES + 1) * sizeof(int16_t));
    return finding->scores && finding->together && finding->met && finding->reached && has_room(finding);
}

static void free_finding(Finding *finding)
{
    free(finding->scores);
    free(finding->together);
    free(finding->met);
    free(finding->reached);
    free(finding->values);
    free(finding->places);
}

/* The best of all spans so far, best first. */
typedef struct {
    Scored *scored;
    Py_ssize_t held, most;
} Ranking;

/* Take in the best of one more span. */
static int merge_in(Ranking *ranking, const Scored *scored, Py_ssize_t count)
{
    Scored *both = realloc(ranking->scored, (ranking->held + count + 1) * sizeof(Scored));
    if (!both) return 0;
    memcpy(both + ranking->held, scored, count * sizeof(Scored));
    ranking->scored = both;
    if (ranking->held && count) qsort(both, ranking->held + count, sizeof(Scored), by_score);
    ranking->held += count;
    if (ranking->held > ranking->most) ranking->held = ranking->most;
    return 1;
}

static int add_best(const Matching *matching, Ranking *ranking)
{
    const double floor = ranking->held == ranking->most ? ranking->scored[ranking->most - 1].score * NEARLY : 0;
    Finding finding;
    Scored *scored = NULL;
    int is_right = NO_ROOM;
    if (make_finding(&finding, matching, floor)) {
        Py_BEGIN_ALLOW_THREADS
        is_right = find_best(matching, &finding);
        int32_t *times = is_right == 1 ? malloc((finding.held + 1) * sizeof(int32_t)) : NULL;
        if (times && (scored = malloc((finding.held + 1) * sizeof(Scored))))
            score_exactly(matching, &finding, scored, times);
        free(times);
        Py_END_ALLOW_THREADS
    }
    if (!is_right) lying("there is no such memory");
    else if (!scored || !merge_in(ranking, scored, finding.held)) PyErr_NoMemory();
    free_finding(&finding);
    free(scored);
    return !PyErr_Occurred();
}

/* Where a term is in a segment, or several that begin alike: from which one to before which one. */
typedef struct {
    Py_ssize_t first, last;
} Place;

/* The lists of the terms at a place; whoever is before or behind the span is passed over. */
static int take_term(const Segment *segment, Term *term, const Place *place, Py_ssize_t start, Py_ssize_t end)
{
    term->lists = calloc(place->last - place->first + 1, sizeof(List));
    if (!term->lists) return PyErr_NoMemory() != NULL;
    for (Py_ssize_t at = place->first; at < place->last; at++) {
        const int64_t from = segment->offsets[at], to = segment->offsets[at + 1];
        if (from < 0 || to < from || to > segment->occurrences) return lying("there is no such term") != NULL;
        List *list = term->lists + term->count;
        list->first = list->next = start ? first_from(segment->docs, from, to, start) : from;
        list->last = end < segment->memories ? first_from(segment->docs, list->first, to, end) : to;
        term->count += list->first < list->last;
    }
    return 1;
}

static void free_terms(Term *terms, Py_ssize_t count)
{
    for (Py_ssize_t at = 0; terms && at < count; at++) free(terms[at].lists);
    free(terms);
}

/* The terms at these places within a span, each with its rarity, if that is given; NULL if there are none such. */
static Term *take_terms(const Segment *segment, const Place *places, const double *rarity, Py_ssize_t count, Py_ssize_t start,
                        Py_ssize_t end)
{
    Term *terms = calloc(count + 1, sizeof(Term));
    if (!terms) return (Term *)PyErr_NoMemory();
    for (Py_ssize_t at = 0; at < count; at++) {
        if (!take_term(segment, terms + at, places + at, start, end)) {
            free_terms(terms, count);
            return NULL;
        }
        if (rarity) terms[at].rarity = rarity[at];
    }
    return terms;
}

static int by_rarity(const void *one, const void *other)
{
    const Term *const *a = one, *const *b = other;
    if ((*a)->rarity != (*b)->rarity) return (*a)->rarity > (*b)->rarity ? -1 : 1;
    return (*a > *b) - (*a < *b);
}

/* The rarest count most: who has them comes first, and the floor rises soon. */
static Term **rarest_first(Term *terms, Py_ssize_t count)
{
    Term **order = malloc((count + 1) * sizeof(Term *));
    for (Py_ssize_t at = 0; order && at < count; at++) order[at] = terms + at;
    if (order && count) qsort(order, count, sizeof(Term *), by_rarity);
    return order;
}

/* How many memories have any of the terms that count together, but for those who are masked; -1 if positions lie. `met` is
   room for a bit for each memory. */
static Py_ssize_t count_having(const Segment *segment, const Term *term, const Py_buffer *masked, uint8_t *met)
{
    const int32_t *docs = segment->docs, *out = masked->buf;
    const Py_ssize_t outside = masked->len / (Py_ssize_t)sizeof(int32_t);
    Py_ssize_t having = 0;
    if (term->count == 1) {
        having = term->lists->last - term->lists->first;
        for (Py_ssize_t at = 0; at < outside; at++) {
            const Py_ssize_t place = first_from(docs, term->lists->first, term->lists->last, out[at]);
            having -= place < term->lists->last && docs[place] == out[at];
        }
        return having;
    }
    if (!term->count) return 0;
    memset(met, 0, segment->memories / 8 + 1);
    for (Py_ssize_t at = 0; at < outside; at++) {
        if (out[at] < 0 || out[at] >= segment->memories) return -1;
        met[out[at] / 8] |= 1 << out[at] % 8;
    }
    for (Py_ssize_t list = 0; list < term->count; list++)
        for (Py_ssize_t at = term->lists[list].first; at < term->lists[list].last; at++) {
            if (docs[at] < 0 || docs[at] >= segment->memories) return -1;
            having += !(met[docs[at] / 8] >> docs[at] % 8 & 1);
            met[docs[at] / 8] |= 1 << docs[at] % 8;
        }
    return having;
}

/* How a term compares with one that is looked for: below 0 if it is before it; LIES if the arrays lie. A term that was
   struck out begins with a zero: STRUCK. */
#define STRUCK 3
#define LIES 2
static int compare(const Segment *segment, Py_ssize_t at, const char *wanted, Py_ssize_t length)
{
    const int64_t start = segment->cuts[at], end = segment->cuts[at + 1];
    if (start < 0 || end < start || end > segment->held[LETTERS].len) return LIES;
    const char *text = (const char *)segment->held[LETTERS].buf + start;
    const Py_ssize_t size = (Py_ssize_t)(end - start), shared = size < length ? size : length;
    if (size && !text[0]) return STRUCK;
    const int order = memcmp(text, wanted, shared);
    return order < 0 || (order == 0 && size < length) ? -1 : order > 0 || size > length;
}

/* The first term that is not before this one; -1 if the arrays lie. */
static Py_ssize_t place_of(const Segment *segment, const char *wanted, Py_ssize_t length)
{
    Py_ssize_t low = 0, high = segment->terms;
    while (low < high) {
        const Py_ssize_t middle = low + (high - low) / 2;
        Py_ssize_t probe = middle;
        int order;
        while ((order = compare(segment, probe, wanted, length)) == STRUCK && probe > low) probe--;
        if (order == LIES) return -1;
        if (order < 0 || order == STRUCK) low = middle + 1;
        else high = probe;
    }
    return low;
}

/* Where what is wanted is: a term, and None or what no longer begins like it. */
static int find_place(const Segment *segment, PyObject *wanted, Place *place)
{
    PyObject *longer;
    const char *term, *beyond;
    Py_ssize_t length, far;
    if (!PyArg_ParseTuple(wanted, "y#O", &term, &length, &longer)) return 0;
    place->first = place->last = place_of(segment, term, length);
    if (longer != Py_None) {
        if (!PyArg_Parse(longer, "y#", &beyond, &far)) return 0;
        place->last = place_of(segment, beyond, far);
    } else if (place->first >= 0 && place->first < segment->terms) {
        const int order = compare(segment, place->first, term, length);
        place->last = order == LIES ? -1 : place->first + (order == 0);
    }
    return (place->first >= 0 && place->last >= place->first) || lying("there is no such term");
}

static PyObject *find(PyObject *self, PyObject *given)
{
    PyObject *capsule, *wanted;
    Place place;
    if (!PyArg_ParseTuple(given, "OO", &capsule, &wanted)) return NULL;
    const Segment *segment = PyCapsule_GetPointer(capsule, NAME);
    return segment && find_place(segment, wanted, &place) ? Py_BuildValue("nn", place.first, place.last) : NULL;
}

/* A segment that is searched: its spans, each with flags that say who may answer (or None: all may), everyone who no
   longer holds, and where each of the wanted terms is. */
typedef struct {
    const Segment *segment;
    PyObject *spans, *permitted;
    Py_buffer masked;
    Place *places;
} Leaf;

/* A question to the words of several segments. */
typedef struct {
    Leaf *leaves;
    double *rarity;
    Py_ssize_t count, terms;
} Search;

static int take_leaf(Leaf *leaf, PyObject *given, PyObject *wanted)
{
    PyObject *capsule, *segment;
    if (!PyArg_ParseTuple(given, "OO!O!y*O", &capsule, &PyList_Type, &leaf->spans, &PyList_Type, &leaf->permitted,
                          &leaf->masked, &segment))
        return 0;
    leaf->segment = PyCapsule_GetPointer(capsule, NAME);
    if (!leaf->segment) return 0;
    leaf->places = malloc((PyList_Size(wanted) + 1) * sizeof(Place));
    if (!leaf->places) return PyErr_NoMemory() != NULL;
    for (Py_ssize_t at = 0; at < PyList_Size(wanted); at++)
        if (!find_place(leaf->segment, PyList_GetItem(wanted, at), leaf->places + at)) return 0;
    return 1;
}

/* Add how many memories of a segment have each of the terms. */
static int add_having(const Leaf *leaf, Py_ssize_t *having, Py_ssize_t count)
{
    Term *terms = take_terms(leaf->segment, leaf->places, NULL, count, 0, leaf->segment->memories);
    uint8_t *met = terms ? malloc(leaf->segment->memories / 8 + 1) : NULL;
    for (Py_ssize_t at = 0; met && at < count && !PyErr_Occurred(); at++) {
        const Py_ssize_t found = count_having(leaf->segment, terms + at, &leaf->masked, met);
        if (found < 0) lying("there is no such memory");
        having[at] += found;
    }
    if (terms && !met) PyErr_NoMemory();
    free(met);
    if (terms) free_terms(terms, count);
    return !PyErr_Occurred();
}

/* Look up the wanted terms, and reckon what each of them counts in a store of so many memories. */
static int take_search(Search *search, PyObject *leaves, PyObject *wanted, Py_ssize_t memories)
{
    search->terms = PyList_Size(wanted);
    search->leaves = calloc(PyList_Size(leaves) + 1, sizeof(Leaf));
    search->rarity = malloc((search->terms + 1) * sizeof(double));
    Py_ssize_t *having = calloc(search->terms + 1, sizeof(Py_ssize_t));
    if (!search->leaves || !search->rarity || !having) PyErr_NoMemory();
    while (!PyErr_Occurred() && search->count < PyList_Size(leaves)) {
        Leaf *leaf = search->leaves + search->count++;
        if (take_leaf(leaf, PyList_GetItem(leaves, search->count - 1), wanted)) add_having(leaf, having, search->terms);
    }
    for (Py_ssize_t at = 0; !PyErr_Occurred() && at < search->terms; at++) {
        const double others = (double)(memories - having[at]) + 0.5;
        const double rarity = log((others > LEAST ? others : LEAST) / ((double)having[at] + 0.5));
        search->rarity[at] = rarity > 0 ? rarity : LEAST;
    }
    free(having);
    return !PyErr_Occurred();
}

static void free_search(Search *search)
{
    for (Py_ssize_t at = 0; search->leaves && at < search->count; at++) {
        PyBuffer_Release(&search->leaves[at].masked);
        free(search->leaves[at].places);
    }
    free(search->leaves);
    free(search->rarity);
}

/* How the occurrences of terms are counted. */
typedef struct {
    Py_buffer weights;
    double average;
} Counting;

/* Add the best of one span, from where to where it is and who in it may answer. */
static int search_span(const Search *search, const Leaf *leaf, PyObject *span, PyObject *flags, const Counting *counting,
                       Ranking *ranking)
{
    const Segment *segment = leaf->segment;
    Py_buffer permitted = {0};
    Py_ssize_t start, end;
    if (!PyArg_ParseTuple(span, "nn", &start, &end)) return 0;
    if (flags && flags != Py_None && PyObject_GetBuffer(flags, &permitted, PyBUF_SIMPLE)) return 0;
    Term *terms = NULL, **order = NULL;
    if (start < 0 || end < start || end > segment->memories || (permitted.buf && permitted.len != end - start))
        lying("the arrays do not fit each other");
    else if ((terms = take_terms(segment, leaf->places, search->rarity, search->terms, start, end))
             && !(order = rarest_first(terms, search->terms)))
        PyErr_NoMemory();
    const Matching matching = {segment, terms, order, search->terms, start, end - start,
                               counting->weights.len / (Py_ssize_t)sizeof(float), counting->weights.buf, permitted.buf,
                               counting->average, ranking->most};
    if (order) add_best(&matching, ranking);
    free(order);
    free_terms(terms, search->terms);
    PyBuffer_Release(&permitted);
    return !PyErr_Occurred();
}

/* The best memories of several segments that have any of the wanted terms, the last few of which count twice. */
static PyObject *search(PyObject *self, PyObject *given)
{
    PyObject *leaves, *wanted, *result = NULL;
    Py_ssize_t memories, doubled;
    Search search = {0};
    Counting counting;
    Ranking ranking = {0};
    if (!PyArg_ParseTuple(given, "O!O!nndy*n", &PyList_Type, &leaves, &PyList_Type, &wanted, &doubled, &memories,
                          &counting.average, &counting.weights, &ranking.most))
        return NULL;
    if (ranking.most < 1) lying("nothing is wanted");
    else if (take_search(&search, leaves, wanted, memories)) {
        for (Py_ssize_t at = search.terms - doubled; at < search.terms; at++)
            if (at >= 0) search.rarity[at] *= 2;
        for (Py_ssize_t at = 0; at < search.count && !PyErr_Occurred(); at++) {
            const Leaf *leaf = search.leaves + at;
            for (Py_ssize_t span = 0; span < PyList_Size(leaf->spans); span++)
                if (!search_span(&search, leaf, PyList_GetItem(leaf->spans, span), PyList_GetItem(leaf->permitted, span),
                                 &counting, &ranking))
                    break;
        }
        if (!PyErr_Occurred())
            result = PyBytes_FromStringAndSize((const char *)ranking.scored, ranking.held * (Py_ssize_t)sizeof(Scored));
    }
    free(ranking.scored);
    free_search(&search);
    PyBuffer_Release(&counting.weights);
    return result;
}

/* What each of the wanted terms counts in a store of so many memories. */
static PyObject *rarity(PyObject *self, PyObject *given)
{
    PyObject *leaves, *wanted, *result = NULL;
    Py_ssize_t memories;
    Search search = {0};
    if (!PyArg_ParseTuple(given, "O!O!n", &PyList_Type, &leaves, &PyList_Type, &wanted, &memories)) return NULL;
    if (take_search(&search, leaves, wanted, memories)) result = PyList_New(search.terms);
    for (Py_ssize_t at = 0; result && at < search.terms; at++)
        PyList_SetItem(result, at, PyFloat_FromDouble(search.rarity[at]));
    free_search(&search);
    return result;
}

/* Where those of the wanted numbers (ascending) stand that are in a span of numbers that ascend. */
static PyObject *positions(PyObject *self, PyObject *given)
{
    Py_buffer numbers, wanted;
    Py_ssize_t start, end, kept = 0;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(given, "y*nny*", &numbers, &start, &end, &wanted)) return NULL;
    const Py_ssize_t count = wanted.len / (Py_ssize_t)sizeof(int64_t);
    const int64_t *here = numbers.buf, *sought = wanted.buf;
    int64_t *found = malloc((count + 1) * sizeof(int64_t));
    if (!found) PyErr_NoMemory();
    else if (start < 0 || end < start || end > numbers.len / (Py_ssize_t)sizeof(int64_t)) lying("there is no such memory");
    else {
        for (Py_ssize_t at = 0, from = start; at < count; at++) {
            from = place_among(here, from, end, sought[at]);
            if (from < end && here[from] == sought[at]) found[kept++] = from;
        }
        result = PyBytes_FromStringAndSize((const char *)found, kept * (Py_ssize_t)sizeof(int64_t));
    }
    free(found);
    PyBuffer_Release(&numbers);
    PyBuffer_Release(&wanted);
    return result;
}

/* Which memories are told of. */
typedef struct {
    unsigned char kinds;
    long long since, until;
} Within;

enum { UNKNOWN, INSIDE, OUTSIDE, TO_BE_READ };

/* A ranking of memories: what is known of each, and where it stands in the segment that is asked. */
typedef struct {
    Row *rows;
    Py_ssize_t *positions;
    uint8_t *states;
    Py_ssize_t count;
} Judged;

static int take_ranking(Judged *judged, const Py_buffer *ranking)
{
    const Scored *scored = ranking->buf;
    const Py_ssize_t count = judged->count = ranking->len / (Py_ssize_t)sizeof(Scored);
    judged->rows = calloc(count + 1, sizeof(Row));
    judged->positions = malloc((count + 1) * sizeof(Py_ssize_t));
    judged->states = calloc(count + 1, 1);
    if (!judged->rows || !judged->positions || !judged->states) return PyErr_NoMemory() != NULL;
    for (Py_ssize_t at = 0; at < count; at++) {
        judged->rows[at].key = scored[at].key;
        judged->rows[at].score = scored[at].score;
    }
    return 1;
}

/* Those of whom nothing is known yet have to be read if they are among some numbers, which ascend. */
static void leave(Judged *judged, const Py_buffer *numbers)
{
    const Py_ssize_t count = numbers->len / (Py_ssize_t)sizeof(int64_t);
    for (Py_ssize_t at = 0; count && at < judged->count; at++) {
        const Py_ssize_t place = place_among(numbers->buf, 0, count, judged->rows[at].key);
        const int is_in = place < count && ((const int64_t *)numbers->buf)[place] == judged->rows[at].key;
        if (is_in && !judged->states[at]) judged->states[at] = TO_BE_READ;
    }
}

/* Where those who are not known yet stand, of those from one place to another. */
static void find_places(Judged *judged, const Segment *segment, Py_ssize_t from, Py_ssize_t end)
{
    for (Py_ssize_t at = 0; at < judged->count; at++) {
        judged->positions[at] = -1;
        if (judged->states[at]) continue;
        const int64_t number = judged->rows[at].key;
        const Py_ssize_t position = place_among(segment->numbers, from, end, number);
        if (position >= end || segment->numbers[position] != number) continue;
        judged->positions[at] = position;
        FETCH(segment->lengths + position, 1);
        FETCH(segment->kinds + position, 1);
        FETCH(segment->created + position, 1);
        FETCH(segment->sessions + position, 1);
        FETCH(segment->places + position, 1);
        FETCH(segment->tokens + position, 1);
        FETCH(segment->speakers + position, 1);
    }
}

/* Note what a segment says of those who were found in it; 0 if it lies. */
static int note(Judged *judged, const Segment *segment, const Within *within, Py_ssize_t names, int32_t list)
{
    for (Py_ssize_t at = 0; at < judged->count; at++) {
        const Py_ssize_t position = judged->positions[at];
        if (position < 0 || !segment->lengths[position]) continue;
        const int32_t speaker = segment->speakers[position], place = segment->places[position];
        if (segment->kinds[position] > 7 || speaker < 0 || speaker >= names) return lying("there is no such thing") != NULL;
        Row *row = judged->rows + at;
        const int64_t created = segment->created[position], session = segment->sessions[position];
        const int is_in = within->kinds >> segment->kinds[position] & 1 && created >= within->since && created < within->until;
        judged->states[at] = is_in ? INSIDE : OUTSIDE;
        *row = (Row){row->key, row->score, session > 0 ? session : 0, created, place >= 0 ? place : -1,
                     segment->tokens[position], speaker, list};
    }
    return 1;
}

/* What one segment knows: it, its names, the memories that it has otherwise than they are, and the spans that are meant. */
static int ask_segment(Judged *judged, PyObject *part, const Within *within, int32_t list)
{
    PyObject *capsule, *names, *spans, *whole;
    Py_buffer stale;
    if (!PyArg_ParseTuple(part, "OO!y*O!O", &capsule, &PyList_Type, &names, &stale, &PyList_Type, &spans, &whole)) return 0;
    const Segment *segment = PyCapsule_GetPointer(capsule, NAME);
    leave(judged, &stale);
    PyBuffer_Release(&stale);
    if (!segment) return 0;
    for (Py_ssize_t at = 0; at < PyList_Size(spans); at++) {
        Py_ssize_t start, end;
        if (!PyArg_ParseTuple(PyList_GetItem(spans, at), "nn", &start, &end)) return 0;
        if (start < 0 || end < start || end > segment->memories) return lying("there is no such memory") != NULL;
        find_places(judged, segment, start, end);
        if (!note(judged, segment, within, PyList_Size(names), list)) return 0;
    }
    return 1;
}

/* Those who are in scope, packed, and the numbers of those who have to be read. */
static PyObject *verdict(Judged *judged)
{
    PyObject *left = PyList_New(0);
    Py_ssize_t kept = 0;
    for (Py_ssize_t at = 0; left && at < judged->count; at++) {
        if (judged->states[at] == INSIDE) judged->rows[kept++] = judged->rows[at];
        else if (judged->states[at] != OUTSIDE) {
            PyObject *number = PyLong_FromLongLong(judged->rows[at].key);
            if (!number || PyList_Append(left, number)) Py_CLEAR(left);
            Py_XDECREF(number);
        }
    }
    return left ? Py_BuildValue("y#N", (const char *)judged->rows, kept * (Py_ssize_t)sizeof(Row), left) : NULL;
}

/* What segments tell of a ranking. */
static PyObject *told(PyObject *self, PyObject *given)
{
    PyObject *parts, *result = NULL;
    Py_buffer ranking, aside;
    Within within;
    if (!PyArg_ParseTuple(given, "y*O!bLLy*", &ranking, &PyList_Type, &parts, &within.kinds, &within.since, &within.until,
                          &aside))
        return NULL;
    Judged judged = {0};
    int is_right = take_ranking(&judged, &ranking);
    if (is_right) leave(&judged, &aside);
    for (Py_ssize_t at = 0; is_right && at < PyList_Size(parts); at++)
        is_right = ask_segment(&judged, PyList_GetItem(parts, at), &within, (int32_t)at);
    if (is_right && !PyErr_Occurred()) result = verdict(&judged);
    free(judged.rows);
    free(judged.positions);
    free(judged.states);
    PyBuffer_Release(&ranking);
    PyBuffer_Release(&aside);
    return result;
}

static PyMethodDef methods[] = {
    {"hold", hold, METH_VARARGS, NULL},     {"find", find, METH_VARARGS, NULL},
    {"search", search, METH_VARARGS, NULL}, {"rarity", rarity, METH_VARARGS, NULL},
    {"told", told, METH_VARARGS, NULL},     {"positions", positions, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_matching", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__matching(void)
{
    return PyModuleDef_Init(&module);
}
