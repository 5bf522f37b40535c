/* What those who were found come to, to the last bit; the best of all spans. */

#pragma once

#include "../../packed.h"
#include "finding.h"
#include "processors.h"

#define K1 1.2
#define B 0.75

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
