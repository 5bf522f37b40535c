/* Which group of patterns wins in a text. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST_GROUPS 16

typedef struct {
    PyObject *alternatives, *always; /* lists of cues.Alternative */
    const int32_t *patterns; /* of each alternative, then of those that are always looked for */
    const int32_t *groups; /* of each pattern */
    const double *weights;
    Py_ssize_t count, group_count;
    double least;
    char *states;
} Contest;

enum { UNKNOWN, HAS, MAY_HAVE };

/* Whether a text has an alternative; -1 with an error set. */
static int has_alternative(PyObject *alternative, PyObject *text)
{
    PyObject *find = alternative ? PyObject_GetAttrString(alternative, "find") : NULL;
    PyObject *match = find ? PyObject_CallFunctionObjArgs(find, text, NULL) : NULL;
    const int has = match ? match != Py_None : -1;
    Py_XDECREF(find);
    Py_XDECREF(match);
    return has;
}

/* Whether a text has a pattern, of which it may have these alternatives; -1 with an error set. */
static int has_pattern(const Contest *contest, PyObject *text, int32_t pattern, const int32_t *led, size_t count)
{
    int has = 0;
    for (size_t at = 0; !has && at < count; at++) {
        const Py_ssize_t alternative = led[at] - contest->count;
        if (alternative >= 0 && contest->patterns[alternative] == pattern)
            has = has_alternative(PyList_GetItem(contest->alternatives, alternative), text);
    }
    return has;
}

static void note(Contest *contest, double *most, int32_t pattern, char state)
{
    if (contest->states[pattern] == UNKNOWN) {
        contest->states[pattern] = state;
        most[contest->groups[pattern]] += contest->weights[pattern];
    }
}

/* The group that wins in a text, -1 if none does; -2 with an error set. The text is searched only for patterns of a group
   that may still win. */
static int winner(Contest *contest, PyObject *text, const int32_t *led, size_t count)
{
    double most[MOST_GROUPS] = {0};
    const Py_ssize_t alternatives = PyList_Size(contest->alternatives);
    memset(contest->states, UNKNOWN, contest->count);
    for (size_t at = 0; at < count; at++)
        if (led[at] < contest->count) note(contest, most, led[at], HAS);
    for (Py_ssize_t each = 0; each < PyList_Size(contest->always); each++) {
        const int has = has_alternative(PyList_GetItem(contest->always, each), text);
        if (has < 0) return -2;
        if (has) note(contest, most, contest->patterns[alternatives + each], HAS);
    }
    for (size_t at = 0; at < count; at++)
        if (led[at] >= contest->count) note(contest, most, contest->patterns[led[at] - contest->count], MAY_HAVE);
    for (;;) {
        int best = 0;
        for (int group = 1; group < contest->group_count; group++)
            if (most[group] > most[best]) best = group;
        if (most[best] < contest->least) return -1;
        int32_t pattern = 0;
        while (pattern < contest->count && (contest->states[pattern] != MAY_HAVE || contest->groups[pattern] != best))
            pattern++;
        if (pattern == contest->count) return best;
        const int has = has_pattern(contest, text, pattern, led, count);
        if (has < 0) return -2;
        contest->states[pattern] = HAS;
        if (!has) most[best] -= contest->weights[pattern];
    }
}

/* A list of numbers as an array, each from 0 to below `bound`; NULL with an error set. */
static int32_t *array_of_numbers(PyObject *list, Py_ssize_t bound)
{
    const Py_ssize_t count = PyList_Size(list);
    int32_t *numbers = calloc(count + 1, sizeof *numbers);
    if (!numbers) PyErr_NoMemory();
    for (Py_ssize_t at = 0; numbers && at < count; at++) {
        const Py_ssize_t number = PyLong_AsSsize_t(PyList_GetItem(list, at));
        if (number < 0 || number >= bound) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a number that nothing has");
            free(numbers);
            numbers = NULL;
        } else numbers[at] = (int32_t)number;
    }
    return numbers;
}

/* winners(texts, led, ends, alternatives, always, patterns, groups, weights, group_count, least): for each text the group of
   patterns that has most weight in it, -1 if that is less than `least`; `led` and `ends` are what led() found. */
static PyObject *winners(PyObject *self, PyObject *args)
{
    PyObject *texts, *led, *ends, *patterns, *groups, *found = NULL;
    Py_buffer weights;
    Contest contest = {0};
    if (!PyArg_ParseTuple(
            args, "O!O!O!O!O!O!O!y*nd", &PyList_Type, &texts, &PyList_Type, &led, &PyList_Type, &ends, &PyList_Type,
            &contest.alternatives, &PyList_Type, &contest.always, &PyList_Type, &patterns, &PyList_Type, &groups,
            &weights, &contest.group_count, &contest.least))
        return NULL;
    const Py_ssize_t alternatives = PyList_Size(contest.alternatives);
    contest.count = PyList_Size(groups);
    contest.weights = weights.buf;
    int32_t *its_patterns = array_of_numbers(patterns, contest.count);
    int32_t *its_groups = its_patterns ? array_of_numbers(groups, contest.group_count) : NULL;
    int32_t *numbers = its_groups ? array_of_numbers(led, contest.count + alternatives) : NULL;
    int32_t *cuts = numbers ? array_of_numbers(ends, PyList_Size(led) + 1) : NULL;
    contest.patterns = its_patterns;
    contest.groups = its_groups;
    contest.states = calloc(contest.count + 1, 1);
    if (cuts && !contest.states) PyErr_NoMemory();
    else if (cuts && (PyList_Size(patterns) != alternatives + PyList_Size(contest.always) || contest.group_count > MOST_GROUPS
                      || PyList_Size(ends) != PyList_Size(texts)
                      || weights.len != contest.count * (Py_ssize_t)sizeof(double)))
        PyErr_SetString(PyExc_ValueError, "a pattern for each alternative, a group and a weight for each pattern");
    else if (cuts) found = PyList_New(PyList_Size(texts));
    for (Py_ssize_t at = 0, begin = 0; found && at < PyList_Size(texts); begin = cuts[at++]) {
        const int group = cuts[at] < begin ? -1 : winner(&contest, PyList_GetItem(texts, at), numbers + begin, cuts[at] - begin);
        PyObject *number = group == -2 ? NULL : PyLong_FromLong(group);
        if (!number || PyList_SetItem(found, at, number) < 0) Py_CLEAR(found);
    }
    free(its_patterns);
    free(its_groups);
    free(numbers);
    free(cuts);
    free(contest.states);
    PyBuffer_Release(&weights);
    return found;
}
