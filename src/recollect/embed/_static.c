/* The inner loop of embedding by a table: what rows of it come to. static.py has the same in numpy.

   Every number is checked before it is used, and one that the table does not have raises IndexError. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

enum { VECTORS, NUMBERS, COUNTS, ROWS, SCALES, BUFFERS };

typedef struct {
    Py_buffer given[BUFFERS];
    Py_ssize_t vectors, pieces, rows, dimensions;
} Table;

static void add(float *restrict to, const int8_t *restrict row, float scale, Py_ssize_t dimensions)
{
    for (Py_ssize_t at = 0; at < dimensions; at++) to[at] += scale * (float)row[at];
}

static void add_each(const Table *table)
{
    float *to = table->given[VECTORS].buf;
    const int64_t *number = table->given[NUMBERS].buf, *counts = table->given[COUNTS].buf;
    const int8_t *rows = table->given[ROWS].buf;
    const float *scales = table->given[SCALES].buf;
    for (Py_ssize_t vector = 0; vector < table->vectors; vector++, to += table->dimensions)
        for (int64_t left = counts[vector]; left > 0; left--, number++)
            add(to, rows + *number * table->dimensions, scales[*number], table->dimensions);
}

/* Whether the arrays are of the lengths that follow from each other's. */
static int fit(Table *table)
{
    const Py_buffer *given = table->given;
    const Py_ssize_t size = sizeof(float);
    table->vectors = given[COUNTS].len / (Py_ssize_t)sizeof(int64_t);
    table->pieces = given[NUMBERS].len / (Py_ssize_t)sizeof(int64_t);
    table->rows = given[SCALES].len / size;
    table->dimensions = table->rows ? given[ROWS].len / table->rows : 0;
    return given[ROWS].len == table->rows * table->dimensions
        && given[VECTORS].len == table->vectors * table->dimensions * size;
}

/* Whether there are as many numbers as counted, and a row for each. */
static int are_known(const Table *table)
{
    const int64_t *numbers = table->given[NUMBERS].buf, *counts = table->given[COUNTS].buf;
    Py_ssize_t left = table->pieces;
    for (Py_ssize_t vector = 0; vector < table->vectors; vector++) {
        if (counts[vector] < 0 || counts[vector] > left) return 0;
        left -= counts[vector];
    }
    for (Py_ssize_t piece = 0; piece < table->pieces; piece++)
        if (numbers[piece] < 0 || numbers[piece] >= table->rows) return 0;
    return left == 0;
}

/* add(vectors, numbers, counts, rows, scales): to each vector as many rows as it counts, each times its scale */
static PyObject *add_rows(PyObject *self, PyObject *args)
{
    Table table = {0};
    Py_buffer *given = table.given;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(
            args, "w*y*y*y*y*", &given[VECTORS], &given[NUMBERS], &given[COUNTS], &given[ROWS], &given[SCALES]))
        return NULL;
    if (!fit(&table) || !are_known(&table)) {
        PyErr_SetString(PyExc_IndexError, "there is no such row, or the arrays do not fit each other");
    } else {
        Py_BEGIN_ALLOW_THREADS
        add_each(&table);
        Py_END_ALLOW_THREADS
        result = Py_NewRef(Py_None);
    }
    for (int each = 0; each < BUFFERS; each++) PyBuffer_Release(&given[each]);
    return result;
}

static PyMethodDef methods[] = {
    {"add", add_rows, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_static", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__static(void) { return PyModule_Create(&module); }
