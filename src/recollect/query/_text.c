/* The inner loops over texts' characters, for texts in ASCII but for `near_keys`, `alike` and `numbered`. The functions of
   the same purpose in terms.py, languages.py, duplicates.py and cues.py, in wordpiece.py of embedders and in words.py of
   segments do the same for any text, and say what it is for. What reads many texts at once lets other threads have the
   interpreter meanwhile, as a rule. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "alike.h"
#include "characters.h"
#include "contests.h"
#include "cues.h"
#include "languages.h"
#include "nearkeys.h"
#include "numbered.h"
#include "pieces.h"
#include "reading.h"
#include "table.h"
#include "terms.h"

static PyMethodDef methods[] = {
    {"table", table, METH_VARARGS, NULL},
    {"terms", terms, METH_VARARGS, NULL},
    {"elections", elections, METH_VARARGS, NULL},
    {"led", led, METH_VARARGS, NULL},
    {"winners", winners, METH_VARARGS, NULL},
    {"near_keys", near_keys, METH_VARARGS, NULL},
    {"alike", alike, METH_VARARGS, NULL},
    {"read", read_texts, METH_VARARGS, NULL},
    {"numbered", numbered, METH_VARARGS, NULL},
    {"pieces", pieces, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_text", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__text(void)
{
    fill_characters();
    fill_crcs();
    return PyModuleDef_Init(&module);
}
