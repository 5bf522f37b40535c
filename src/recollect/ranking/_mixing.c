/* The default ranking of hundreds of candidates. mixing.py says what it is for; fuse.py, context.py and score.py have the
   same in Python, in small steps. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "leaning.h"
#include "lending.h"
#include "sharing.h"
#include "winning.h"

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
