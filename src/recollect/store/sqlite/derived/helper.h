/* The thread that helps whoever asks: it takes parts of the same question. */

#pragma once

#include "ready.h"
#ifdef THREADS
#include <sched.h>
#include <signal.h>
#endif

#ifdef THREADS
/* Whoever comes first makes it ready, and whoever comes then waits for that. */
static void see_that_it_is_ready(Asked *asked)
{
    if (asked->stage == NEW) {
        asked->stage = BEING_MADE_READY;
        UNLOCK
        make_ready(asked);
        LOCK
        asked->stage = READY;
        tell_other();
    }
    for (int times = 0; asked->stage != READY; times++) wait_for_other(times);
}

/* Until whoever asked is done with it, there may be more to look at closely. */
static void stay_with(Asked *asked)
{
    for (int times = 0; served == asked && times < PATIENCE; times++) {
        while (served == asked && asked->rows.next < asked->rows.count) {
            look_at_next_rows(asked);
            times = 0;
        }
        wait_a_little();
    }
}

/* With the turn, which is given away while it looks at something. */
static void help_with(Asked *asked)
{
    asked->is_busy = 1;
    see_that_it_is_ready(asked);
    while (asked->next < asked->end) {
        const Py_ssize_t first = take_part(asked), last = asked->next;
        UNLOCK
        look_at_part(asked, first, last, asked->best + 1);
        LOCK
    }
    if (!asked->is_shared && asked->best[1].held >= asked->best[1].wanted) {
        UNLOCK
        finish_choice(asked, asked->best + 1);
        LOCK
        asked->is_looked = 1;
    }
    asked->is_busy = 0;
    tell_other();
    if (!asked->is_looked) stay_with(asked);
    if (served == asked) served = NULL;
}

/* The helper: one thread for the whole process, which sleeps until something is asked. */
static void *help(void *nothing)
{
#ifdef SCHED_BATCH
    sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0}); /* who wakes it goes on, even on the same processor */
#endif
    LOCK
    for (;;) {
        while (!waiting) pthread_cond_wait(&news, &turn);
        Asked *asked = waiting;
        waiting = asked->behind;
        if (asked->next >= asked->end) continue;
        served = asked;
        help_with(asked);
    }
    return NULL;
}

/* A forked child has no helper, and nobody whom it helps. */
static void forget_helper(void)
{
    pthread_mutex_init(&turn, NULL);
    pthread_cond_init(&news, NULL);
    pthread_cond_init(&done, NULL);
    waiting = served = NULL;
    is_there = 0;
    era++;
}

#ifdef __linux__
/* The helper works on any processor but the one that it is asked on. By itself a system that is busy may leave it there,
   where it would begin only once whoever asked has to wait. */
static cpu_set_t processors;
static int avoided = -1;

static int count_processors(void)
{
    avoided = -1;
    return sched_getaffinity(0, sizeof processors, &processors) ? 0 : CPU_COUNT(&processors);
}

static void keep_helper_away(void)
{
    const int here = sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE || here == avoided) return;
    cpu_set_t others = processors;
    CPU_CLR(here, &others);
    if (CPU_COUNT(&others)) pthread_setaffinity_np(helper, sizeof others, &others);
    avoided = here;
}
#else
static int count_processors(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }
static void keep_helper_away(void) {}
#endif

static int has_helper(void)
{
    static int is_minded = 0;
    if (is_there || count_processors() < 2) return is_there;
    if (!is_minded) is_minded = !pthread_atfork(NULL, NULL, forget_helper);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    is_there = is_minded && !pthread_create(&helper, NULL, help, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (is_there) pthread_detach(helper);
    return is_there;
}

/* Let the helper begin, or go on with this once it is done with what it was asked before. It is told once the turn is free:
   else it would wake up only to wait for that. */
static void ask_helper(Asked *asked, Py_ssize_t worth)
{
    LOCK
    asked->era = era;
    asked->behind = NULL;
    const int is_worth_it = asked->end - asked->start >= worth && has_helper();
    if (is_worth_it) {
        Asked **last = &waiting;
        while (*last) last = &(*last)->behind;
        *last = asked;
        keep_helper_away();
    }
    UNLOCK
    if (is_worth_it) pthread_cond_signal(&news);
}

/* What was begun before a fork is begun anew: its helper is not here. */
static void mind_fork(Asked *asked)
{
    if (asked->era == era) return;
    asked->era = era;
    asked->stage = NEW;
    asked->next = asked->start;
    asked->is_shared = asked->is_busy = asked->is_looked = 0;
    asked->rows = (Rows){0};
    asked->best[0].held = asked->best[1].held = 0;
    asked->best[0].wanted = asked->best[1].wanted; /* it may have been taking a sample */
}

/* Until the helper is done with what it has begun; meanwhile there may be something to look at closely. With the turn. */
static void wait_for_helper(Asked *asked)
{
    for (int times = 0; asked->is_busy; times++) {
        while (asked->rows.next < asked->rows.count) look_at_next_rows(asked);
        if (asked->is_busy) wait_for_other(times);
    }
}

/* Nobody else looks at it any more. */
static void part_from_helper(Asked *asked)
{
    LOCK
    for (Asked **each = &waiting; *each; each = &(*each)->behind)
        if (*each == asked) {
            *each = asked->behind;
            break;
        }
    wait_for_helper(asked);
    if (served == asked) served = NULL;
    UNLOCK
}
#else
#define ask_helper(asked, worth)
#define part_from_helper(asked)
#define wait_for_helper(asked)
#define mind_fork(asked)

static void see_that_it_is_ready(Asked *asked)
{
    if (asked->stage == NEW) make_ready(asked);
    asked->stage = READY;
}
#endif
