/* Who is best in a span of memories, or nearly as good as the last of the best. */

#pragma once

#include <math.h>
#include "lists.h"

#define MEMORIES 4096
#define NO_ROOM -1
#define NEARLY 0.96f
#define BINS 256
#define SOMETHING 1e-30f
#define MOST_TIMES 63
#define ONCE 256 /* the least code of what stands somewhere */

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
    if (!(scale > 0) || !isfinite(scale)) return low;
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
