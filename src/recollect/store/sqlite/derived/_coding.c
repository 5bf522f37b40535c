/* The inner loops that code vectors into a segment. codes.py says what is kept of each and has the same in numpy.

   Whatever a file says is data: every position is checked before it is used, and a wrong one raises IndexError. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define TOGETHER 32
#define FINER 254.0f
#define LANES 16
#define SMALLEST 1e-12f
#define ROUNDING 12582912.0f /* added and taken away again, it leaves a small number rounded, a half to even */

enum { SIGNS, TRUST, OFFSET, BYTES, SCALE, FINE, COLUMNS };

/* Coded vectors, by the names of `Coded`. */
typedef struct {
    Py_buffer columns[COLUMNS];
    Py_ssize_t count;
} Coded;

static int8_t *row_of(const Coded *coded, int column, int64_t place, Py_ssize_t dimensions)
{
    return (int8_t *)coded->columns[column].buf + place * dimensions;
}

static float *number_of(const Coded *coded, int column, int64_t place)
{
    return (float *)coded->columns[column].buf + place;
}

static void let_go(Coded *coded)
{
    for (int column = 0; column < COLUMNS; column++) PyBuffer_Release(&coded->columns[column]);
}

static Py_ssize_t bytes_wanted(int column, Py_ssize_t count, Py_ssize_t dimensions)
{
    if (column == SIGNS) return (count + TOGETHER - 1) / TOGETHER * TOGETHER * ((dimensions + 7) / 8);
    if (column == BYTES || column == FINE) return count * dimensions;
    return count * (Py_ssize_t)sizeof(float);
}

/* The arrays of a tuple, which must fit each other. */
static int hold(PyObject *arrays, Coded *coded, Py_ssize_t dimensions, int flags)
{
    memset(coded, 0, sizeof *coded);
    if (!PyTuple_Check(arrays) || PyTuple_Size(arrays) != COLUMNS) {
        PyErr_SetString(PyExc_TypeError, "coded vectors are a tuple of six arrays");
        return -1;
    }
    for (int column = 0; column < COLUMNS; column++)
        if (PyObject_GetBuffer(PyTuple_GetItem(arrays, column), &coded->columns[column], flags) < 0) goto failed;
    coded->count = coded->columns[SCALE].len / (Py_ssize_t)sizeof(float);
    for (int column = 0; column < COLUMNS; column++)
        if (coded->columns[column].len != bytes_wanted(column, coded->count, dimensions)) {
            PyErr_SetString(PyExc_IndexError, "the arrays of coded vectors do not fit each other");
            goto failed;
        }
    return 0;
failed:
    let_go(coded);
    memset(coded, 0, sizeof *coded);
    return -1;
}

typedef struct {
    float along, squares, offset, most;
} Sums;

/* They are added up in lanes: in one, each dimension would have to wait for the one before. */
static Sums sums_of(const float *left, const float *centre, Py_ssize_t dimensions)
{
    float along[LANES] = {0}, squares[LANES] = {0}, offset[LANES] = {0}, most[LANES] = {0};
    for (Py_ssize_t at = 0; at < dimensions; at += LANES) {
        const int lanes = dimensions - at < LANES ? (int)(dimensions - at) : LANES;
        for (int lane = 0; lane < lanes; lane++) {
            const float value = left[at + lane], size = fabsf(value);
            along[lane] += size;
            squares[lane] += value * value;
            offset[lane] += value * centre[at + lane];
            most[lane] = size > most[lane] ? size : most[lane];
        }
    }
    Sums sums = {0, 0, 0, 0};
    for (int lane = 0; lane < LANES; lane++) {
        sums.along += along[lane];
        sums.squares += squares[lane];
        sums.offset += offset[lane];
        sums.most = most[lane] > sums.most ? most[lane] : sums.most;
    }
    return sums;
}

static void put_signs(const Coded *to, int64_t place, const float *left, Py_ssize_t dimensions)
{
    const Py_ssize_t bytes = (dimensions + 7) / 8;
    uint8_t *signs = (uint8_t *)to->columns[SIGNS].buf + place / TOGETHER * bytes * TOGETHER + place % TOGETHER;
    for (Py_ssize_t byte = 0; byte < bytes; byte++) {
        unsigned bits = 0;
        for (Py_ssize_t at = 8 * byte; at < 8 * byte + 8; at++) bits = bits << 1 | (at < dimensions && left[at] > 0);
        signs[byte * TOGETHER] = (uint8_t)bits;
    }
}

/* Code what is left of a vector beyond the centre. One that is not finite has no scale, so that it is never kept. */
static void put(const Coded *to, int64_t place, float *left, const float *centre, Py_ssize_t dimensions)
{
    const Sums sums = sums_of(left, centre, dimensions);
    const int is_finite = isfinite(sums.squares);
    const float scale = (sums.most > SMALLEST ? sums.most : SMALLEST) / 127;
    if (!is_finite) memset(left, 0, (size_t)dimensions * sizeof *left);
    put_signs(to, place, left, dimensions);
    *number_of(to, TRUST, place) = sums.squares / (sums.along > SMALLEST ? sums.along : SMALLEST);
    *number_of(to, OFFSET, place) = sums.offset;
    *number_of(to, SCALE, place) = is_finite ? scale : NAN;
    int8_t *bytes = row_of(to, BYTES, place, dimensions), *fine = row_of(to, FINE, place, dimensions);
    for (Py_ssize_t at = 0; at < dimensions; at++) {
        const float value = left[at] / scale, whole = value + ROUNDING - ROUNDING;
        bytes[at] = (int8_t)(int)whole;
        fine[at] = (int8_t)(int)((value - whole) * FINER + ROUNDING - ROUNDING);
    }
}

/* Arrays that are filled, the places that vectors go to (-1 for none), and room for what is left of one. */
typedef struct {
    Coded to;
    Py_buffer places, centre;
    Py_ssize_t dimensions, count;
    float *left;
} Filling;

static void leave(Filling *filling)
{
    let_go(&filling->to);
    PyBuffer_Release(&filling->places);
    PyBuffer_Release(&filling->centre);
    PyMem_Free(filling->left);
}

static int are_places(const Py_buffer *given, int64_t least, Py_ssize_t end)
{
    const int64_t *places = given->buf;
    for (Py_ssize_t at = 0; at < given->len / (Py_ssize_t)sizeof *places; at++)
        if (places[at] < least || places[at] >= end) return 0;
    return 1;
}

static int begin(Filling *filling, PyObject *arrays)
{
    filling->dimensions = filling->centre.len / (Py_ssize_t)sizeof(float);
    filling->count = filling->places.len / (Py_ssize_t)sizeof(int64_t);
    if (hold(arrays, &filling->to, filling->dimensions, PyBUF_WRITABLE) < 0) return -1;
    if (!are_places(&filling->places, -1, filling->to.count)) {
        PyErr_SetString(PyExc_IndexError, "there is no such place for a vector");
        return -1;
    }
    filling->left = PyMem_Malloc((size_t)(filling->dimensions + 1) * sizeof(float));
    if (filling->left == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static void put_each(const Filling *filling, const float *vectors)
{
    const int64_t *places = filling->places.buf;
    const float *centre = filling->centre.buf;
    for (Py_ssize_t number = 0; number < filling->count; number++, vectors += filling->dimensions) {
        if (places[number] < 0) continue;
        for (Py_ssize_t at = 0; at < filling->dimensions; at++) filling->left[at] = vectors[at] - centre[at];
        put(&filling->to, places[number], filling->left, centre, filling->dimensions);
    }
}

/* put(arrays, places, vectors, centre) */
static PyObject *put_vectors(PyObject *self, PyObject *args)
{
    Filling filling = {0};
    Py_buffer vectors = {0};
    PyObject *arrays, *result = NULL;
    if (!PyArg_ParseTuple(args, "Oy*y*y*", &arrays, &filling.places, &vectors, &filling.centre)) return NULL;
    if (begin(&filling, arrays) < 0) goto done;
    if (vectors.len != filling.count * filling.centre.len) {
        PyErr_SetString(PyExc_IndexError, "there are not as many vectors as places");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    put_each(&filling, vectors.buf);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    PyBuffer_Release(&vectors);
    leave(&filling);
    return result;
}

static void move_each(const Filling *filling, const Coded *from, const int64_t *kept, const float *seen_from)
{
    const int64_t *places = filling->places.buf;
    const float *centre = filling->centre.buf;
    for (Py_ssize_t number = 0; number < filling->count; number++) {
        if (places[number] < 0) continue;
        const int8_t *bytes = row_of(from, BYTES, kept[number], filling->dimensions);
        const int8_t *fine = row_of(from, FINE, kept[number], filling->dimensions);
        const float scale = *number_of(from, SCALE, kept[number]);
        for (Py_ssize_t at = 0; at < filling->dimensions; at++)
            filling->left[at] = (fine[at] / FINER + bytes[at]) * scale + seen_from[at] - centre[at];
        put(&filling->to, places[number], filling->left, centre, filling->dimensions);
    }
}

/* move(arrays, places, centre, others, kept, seen_from) */
static PyObject *move_vectors(PyObject *self, PyObject *args)
{
    Filling filling = {0};
    Coded from = {0};
    Py_buffer kept = {0}, seen_from = {0};
    PyObject *arrays, *others, *result = NULL;
    if (!PyArg_ParseTuple(
            args, "Oy*y*Oy*y*", &arrays, &filling.places, &filling.centre, &others, &kept, &seen_from))
        return NULL;
    if (begin(&filling, arrays) < 0 || hold(others, &from, filling.dimensions, PyBUF_SIMPLE) < 0) goto done;
    if (kept.len != filling.places.len || seen_from.len != filling.centre.len || !are_places(&kept, 0, from.count)) {
        PyErr_SetString(PyExc_IndexError, "there is no such vector to be moved");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    move_each(&filling, &from, kept.buf, seen_from.buf);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    PyBuffer_Release(&kept);
    PyBuffer_Release(&seen_from);
    let_go(&from);
    leave(&filling);
    return result;
}

static PyMethodDef methods[] = {
    {"put", put_vectors, METH_VARARGS, NULL},
    {"move", move_vectors, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_coding", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__coding(void) { return PyModule_Create(&module); }
