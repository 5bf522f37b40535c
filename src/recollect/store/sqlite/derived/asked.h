/* A question on its way: who is looked at, how closely, and who of two threads does it. */

#pragma once

#include "segment.h"
#include "tendency.h"
#ifdef THREADS
#include <pthread.h>
#endif
#if defined(__x86_64__) && defined(__GNUC__)
#define PAUSE _mm_pause()
#elif defined(__aarch64__) && defined(__GNUC__)
#define PAUSE __asm__ volatile("yield")
#else
#define PAUSE (void)0
#endif

#define LEAST_PART 4096
#define LARGEST_PART 32768
#define PARTS 8
#define FEW 512 /* a part of those who are each looked at closely */
#define FIRST 256
#define SOME 64 /* so many are looked at closely without asking whether anybody else wants some */
#define SOME_FINE 2 /* the same to all digits: each is read from the file */
#define PAUSES 30
#define PATIENCE 100 /* some fifty microseconds */
#define WIDE 100 /* whoever may be among so many nearest is looked at, even if fewer are wanted */
#define SPOTS 8 /* where some are compared with what is estimated of them, whoever they are */
#define WIDEST 8 /* no more than one of so many is looked at closely, however little estimates say */

/* How far estimates are from what they estimate: the mean, and twice the deviation. */
typedef struct {
    float mean, far;
} Error;

static Error error_of(const float *estimates, const float *scores, Py_ssize_t count)
{
    double sum = 0, squares = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        const double apart = scores[at] - estimates[at];
        sum += apart;
        squares += apart * apart;
    }
    const double mean = sum / (double)count, variance = squares / (double)count - mean * mean;
    return (Error){(float)mean, 2 * (float)sqrt(variance > 0 ? variance : 0)};
}

typedef void (*Look)(const Segment *, const Whole *, const int64_t *, Py_ssize_t, float *);

/* Those who are looked at closely, some at a time by whoever has time: who they are, and how near each turns out to be. */
typedef struct {
    const int64_t *places;
    float *scores;
    Py_ssize_t count, at_once;
    Look look;
    Py_ssize_t next, taken; /* taken: parts that are being looked at */
} Rows;

static const char ASKED[] = "recollect.asked";

/* A question on its way. Whoever has time first makes it ready, and then takes the next part of the span, or of the places
   if some are given: the thread that asked, and the helper, each with its own best so far. All but the arrays is guarded by
   `turn` once it was begun. */
enum { NEW, BEING_MADE_READY, READY };

typedef struct Asked {
    PyObject *capsule;
    const Segment *segment;
    float *vector, *left, *reached;
    Whole whole;
    uint8_t *tables, *allowed;
    int64_t *places; /* NULL for all of the span */
    Question question;
    Closer closer;
    Py_ssize_t start, end, next, most, exact;
    Best best[2];
    Rows rows;
    Tendency tendency; /* with directions */
    int stage, is_shared, is_busy, is_looked, era; /* busy: the helper, with it */
    struct Asked *behind; /* who waits for the helper, too */
} Asked;

/* How large the next part is: large parts are read quicker, and small ones in the end have both threads done at once. */
static Py_ssize_t next_size(const Asked *asked)
{
    const Py_ssize_t share = (asked->end - asked->next) / PARTS;
    if (asked->places) return FEW;
    return share < LEAST_PART ? LEAST_PART : share < LARGEST_PART ? share : LARGEST_PART;
}

/* The best of the next part, and so on until there is none. */
static Py_ssize_t take_part(Asked *asked)
{
    const Py_ssize_t first = asked->next;
    asked->next = beyond(first, next_size(asked), asked->end);
    return first;
}

static void look_at_part(const Asked *asked, Py_ssize_t first, Py_ssize_t last, Best *best)
{
    if (asked->places) look_at_places(asked->segment, &asked->whole, asked->places, first, last, best);
    else if (asked->closer.rows) look_closer(&asked->question, &asked->closer, first, last, best);
    else look_through(&asked->question, first, last, BLOCK, best);
}

#ifdef THREADS
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static Asked *waiting = NULL, *served = NULL; /* who waits for the helper, in a row, and whom it helps */
static pthread_t helper;
static int is_there = 0, era = 0; /* a forked child begins another era */
#define LOCK pthread_mutex_lock(&turn);
#define UNLOCK pthread_mutex_unlock(&turn);

/* What is waited for takes some microseconds: to sleep until it is done would take longer. With the turn, which is given away
   meanwhile. */
static void wait_a_little(void)
{
    UNLOCK
    for (int times = 0; times < PAUSES; times++) PAUSE;
    LOCK
}

/* Wait once more for the other thread, which may have lost its processor. */
static void wait_for_other(int times_before)
{
    if (times_before < PATIENCE) wait_a_little();
    else pthread_cond_wait(&done, &turn);
}

#define tell_other() pthread_cond_broadcast(&done)
#else
#define LOCK
#define UNLOCK
#define wait_for_other(times_before) (void)(times_before)
#define tell_other()
#endif

/* Look at the next of those who are looked at closely. With the turn, which is given away meanwhile. */
static void look_at_next_rows(Asked *asked)
{
    Rows *rows = &asked->rows;
    const Py_ssize_t first = rows->next, left = rows->count - first, count = left < rows->at_once ? left : rows->at_once;
    rows->next += count;
    rows->taken++;
    UNLOCK
    rows->look(asked->segment, &asked->whole, rows->places + first, count, rows->scores + first);
    LOCK
    if (!--rows->taken) tell_other();
}

/* Look at these closely, with whoever helps. */
static void look_at_these(Asked *asked, Rows rows)
{
    LOCK
    asked->rows = rows;
    while (asked->rows.next < asked->rows.count) look_at_next_rows(asked);
    for (int times = 0; asked->rows.taken; times++) wait_for_other(times);
    asked->rows = (Rows){0};
    UNLOCK
}

/* Look closely at some who were chosen by their signs, from one to another; who was struck out is nobody. Those who are
   somebody are put from `kept` on; how many there are then. */
static Py_ssize_t look_at_some(Asked *asked, Best *best, Py_ssize_t first, Py_ssize_t last, Py_ssize_t kept)
{
    look_at_these(asked, (Rows){.places = best->places + first, .scores = best->scores + first, .count = last - first,
                                .at_once = SOME, .look = look_at_bytes});
    for (Py_ssize_t at = first; at < last; at++) {
        if (isnan(best->scores[at])) continue;
        best->places[kept] = best->places[at];
        best->scores[kept++] = best->scores[at];
    }
    return kept;
}

/* Look closely at those who were chosen by their signs: at a part of them first, which says how far estimates err, and
   then at those of the others who may still be among the nearest: the `most`, or a hundred. How far they err. */
static float look_closely(Asked *asked, Best *best)
{
    const Py_ssize_t all = best->held, most = asked->most;
    const Py_ssize_t part = 2 * most > FIRST ? 2 * most : FIRST, among = most > WIDE ? most : WIDE;
    float *estimates = part < all ? malloc(part * sizeof(float)) : NULL;
    if (!estimates) {
        best->held = look_at_some(asked, best, 0, all, 0);
        return INFINITY;
    }
    put_first(best, part);
    memcpy(estimates, best->scores, part * sizeof(float));
    Py_ssize_t kept = look_at_some(asked, best, 0, part, 0);
    float least = -INFINITY, far = INFINITY;
    if (kept == part) { /* else estimates and scores no longer stand side by side */
        const Error error = error_of(estimates, best->scores, part);
        far = error.far;
        best->held = part;
        put_first(best, among);
        least = best->scores[among - 1] - error.mean - far;
    }
    Py_ssize_t further = part;
    for (Py_ssize_t at = part; at < all; at++)
        if (best->scores[at] > least) best->places[further++] = best->places[at];
    best->held = look_at_some(asked, best, part, further, kept);
    free(estimates);
    return far;
}

/* How estimates go together with nearness, by some of the span, whoever they are. */
static Tendency tendency_among(const Asked *asked)
{
    const Segment *segment = asked->segment;
    const Py_ssize_t apart = (asked->end - asked->start) / SPOTS / TOGETHER * TOGETHER;
    Question anyone = asked->question;
    anyone.allowed = NULL;
    Sums sums = {0};
    for (Py_ssize_t at = (asked->start / TOGETHER + 1) * TOGETHER; apart && at + TOGETHER <= asked->end; at += apart) {
        float found[TOGETHER];
        promising(&anyone, at, at + TOGETHER, -INFINITY, found);
        for (Py_ssize_t place = at; place < at + TOGETHER; place++)
            if (segment->scale[place] > 0)
                note(&sums, asked->closer.rows ? near_by_row(&asked->closer, place) : found[place - at],
                     near_by_bytes(segment, place, &asked->whole));
    }
    return sums.count >= SPOTS * TOGETHER / 2 ? tendency_of(&sums) : UNKNOWN;
}

/* How many of the nearest are kept until all digits have told which are the nearest of all. */
static Py_ssize_t looked_at_last(const Asked *asked) { return asked->most > asked->exact ? asked->most : asked->exact; }

/* Look closely at those as well who seem nearer than `least`: at whoever is not among the best, who were all looked at. */
static void look_further(Asked *asked, Best *best, float least)
{
    const Py_ssize_t span = asked->end - asked->start;
    uint8_t *are_known = calloc(span / 8 + 1, 1);
    Best others;
    Py_ssize_t count = 0;
    if (make_room(&others, span / WIDEST + 1) && are_known) {
        for (Py_ssize_t at = 0; at < best->held; at++) {
            const int64_t place = best->places[at] - asked->start;
            are_known[place / 8] |= (uint8_t)(1 << place % 8);
        }
        others.least = least;
        look_at_part(asked, asked->start, asked->end, &others);
        keep_best(&others);
        for (Py_ssize_t at = 0; at < others.held; at++) {
            const int64_t place = others.places[at] - asked->start;
            if (!(are_known[place / 8] >> place % 8 & 1)) others.places[count++] = others.places[at];
        }
    }
    for (Py_ssize_t first = 0, some; first < count; first += some) {
        leave(best, looked_at_last(asked));
        some = count - first < best->room - best->held ? count - first : best->room - best->held;
        memcpy(best->places + best->held, others.places + first, some * sizeof(int64_t));
        best->held = look_at_some(asked, best, best->held, best->held + some, best->held);
    }
    free(are_known);
    free_room(&others);
}

/* Look closely at those who were chosen; and where estimates say little, at whoever else may be among the few that are wanted
   exactly. The estimates of those who were chosen are too high rather than too low, so how far any err is seen elsewhere. */
static void finish_choice(Asked *asked, Best *best)
{
    keep_best(best);
    if (asked->places) return;
    const float chosen = best->least, far = look_closely(asked, best);
    if (best->held < asked->exact || asked->exact < 1) return;
    put_first(best, asked->exact);
    const float last = best->scores[asked->exact - 1];
    if (last - chosen > 2 * far && !asked->closer.rows) return; /* among fewer, to look elsewhere takes as long as all that */
    const Tendency tendency = asked->closer.rows ? asked->tendency : tendency_among(asked);
    const float least = estimated(&tendency, last) - tendency.far;
    if (least > -INFINITY && least < chosen) look_further(asked, best, least);
}
