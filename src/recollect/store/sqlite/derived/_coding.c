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

#define LINE 64

enum { SIGNS, TRUST, OFFSET, BYTES, SCALE, FINE, ROWS, COLUMNS };

/* Coded vectors, by the names of `Coded`; `signs` is how many bytes each has there. With directions there are rows, and
   trust and offset are two of those bytes. */
typedef struct {
    Py_buffer columns[COLUMNS];
    Py_ssize_t count, signs;
} Coded;

static int has_rows(const Coded *coded) { return coded->columns[ROWS].len > 0; }

/* Where in a row the three numbers begin, and how long it is. */
static Py_ssize_t numbers_at(Py_ssize_t dimensions) { return (dimensions + 63) / 64 * 8; }

static Py_ssize_t row_size(Py_ssize_t dimensions)
{
    return (numbers_at(dimensions) + 3 * (Py_ssize_t)sizeof(float) + LINE - 1) / LINE * LINE;
}

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

static Py_ssize_t bytes_wanted(const Coded *coded, int column, Py_ssize_t dimensions)
{
    const Py_ssize_t count = coded->count, floats = count * (Py_ssize_t)sizeof(float);
    if (column == SIGNS)
        return (count + TOGETHER - 1) / TOGETHER * TOGETHER * (has_rows(coded) ? coded->signs : (dimensions + 7) / 8);
    if (column == ROWS) return has_rows(coded) ? count * row_size(dimensions) : 0;
    if (column == BYTES || column == FINE) return count * dimensions;
    return column != SCALE && has_rows(coded) ? 0 : floats;
}

/* The arrays of a tuple, which must fit each other. */
static int hold(PyObject *arrays, Coded *coded, Py_ssize_t dimensions, int flags)
{
    memset(coded, 0, sizeof *coded);
    if (!PyTuple_Check(arrays) || PyTuple_Size(arrays) != COLUMNS) {
        PyErr_SetString(PyExc_TypeError, "coded vectors are a tuple of seven arrays");
        return -1;
    }
    for (int column = 0; column < COLUMNS; column++)
        if (PyObject_GetBuffer(PyTuple_GetItem(arrays, column), &coded->columns[column], flags) < 0) goto failed;
    coded->count = coded->columns[SCALE].len / (Py_ssize_t)sizeof(float);
    coded->signs = coded->count ? coded->columns[SIGNS].len / ((coded->count + TOGETHER - 1) / TOGETHER * TOGETHER) : 0;
    for (int column = 0; column < COLUMNS; column++)
        if (coded->columns[column].len != bytes_wanted(coded, column, dimensions)) {
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

/* A bit for each number, so many bytes `apart` from each other. */
static void put_signs(uint8_t *signs, Py_ssize_t apart, const float *left, Py_ssize_t count)
{
    for (Py_ssize_t first = 0; first < count; first += 8, signs += apart) {
        unsigned bits = 0;
        for (Py_ssize_t at = first; at < first + 8; at++) bits = bits << 1 | (at < count && left[at] > 0);
        *signs = (uint8_t)bits;
    }
}

static uint8_t *signs_of(const Coded *coded, int64_t place)
{
    return (uint8_t *)coded->columns[SIGNS].buf + place / TOGETHER * coded->signs * TOGETHER + place % TOGETHER;
}

static float trust_in(const Sums *sums) { return sums->squares / (sums->along > SMALLEST ? sums->along : SMALLEST); }

/* The signs of all dimensions and what belongs to them, where those of directions are looked at first. */
static void put_row(const Coded *to, int64_t place, const float *left, const float *numbers, Py_ssize_t dimensions)
{
    uint8_t *row = (uint8_t *)to->columns[ROWS].buf + place * row_size(dimensions);
    memset(row, 0, (size_t)row_size(dimensions));
    put_signs(row, 1, left, dimensions);
    memcpy(row + numbers_at(dimensions), numbers, 3 * sizeof(float));
}

/* How far vectors reach in so many directions, and from where on and in which steps a byte says trust, and then offset. */
typedef struct {
    const float *reached, *ranges;
    Py_ssize_t directions;
} Along;

static uint8_t in_a_byte(float value, const float *range)
{
    const float steps = (value - range[0]) / range[1] + 0.5f;
    return steps > 0 ? steps < 255 ? (uint8_t)steps : 255 : 0;
}

static void put_along(const Coded *to, int64_t place, const Along *along, Py_ssize_t number, float offset)
{
    const float *reached = along->reached + number * along->directions;
    const Sums sums = sums_of(reached, reached, along->directions);
    uint8_t *signs = signs_of(to, place), *numbers = signs + along->directions / 8 * TOGETHER;
    put_signs(signs, TOGETHER, reached, along->directions);
    numbers[0] = in_a_byte(trust_in(&sums), along->ranges);
    numbers[TOGETHER] = in_a_byte(offset, along->ranges + 2);
}

/* Code what is left of a vector beyond the centre; along directions, too, if there are some. One that is not finite has no
   scale, so that it is never kept. */
static void put(const Coded *to, int64_t place, float *left, const float *centre, Py_ssize_t dimensions,
                const Along *along, Py_ssize_t number)
{
    const Sums sums = sums_of(left, centre, dimensions);
    const int is_finite = isfinite(sums.squares);
    const float scale = (sums.most > SMALLEST ? sums.most : SMALLEST) / 127;
    const float numbers[3] = {trust_in(&sums), sums.offset, is_finite ? scale : NAN};
    if (!is_finite) memset(left, 0, (size_t)dimensions * sizeof *left);
    *number_of(to, SCALE, place) = numbers[2];
    if (along) {
        put_row(to, place, left, numbers, dimensions);
        put_along(to, place, along, number, sums.offset);
    } else {
        put_signs(signs_of(to, place), TOGETHER, left, dimensions);
        *number_of(to, TRUST, place) = numbers[0];
        *number_of(to, OFFSET, place) = numbers[1];
    }
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

static void put_each(const Filling *filling, const float *vectors, const Along *along)
{
    const int64_t *places = filling->places.buf;
    const float *centre = filling->centre.buf;
    for (Py_ssize_t number = 0; number < filling->count; number++, vectors += filling->dimensions) {
        if (places[number] < 0) continue;
        for (Py_ssize_t at = 0; at < filling->dimensions; at++) filling->left[at] = vectors[at] - centre[at];
        put(&filling->to, places[number], filling->left, centre, filling->dimensions, along, number);
    }
}

/* Whether so many vectors are given, and reach as far in each direction as there are bytes for; else there are no rows. */
static int is_right(const Filling *filling, const Py_buffer *vectors, const Py_buffer *along, const Py_buffer *ranges)
{
    if (vectors->len != filling->count * filling->centre.len) return 0;
    if (!along->obj) return !has_rows(&filling->to);
    const Py_ssize_t directions = (filling->to.signs - 2) * 8;
    return has_rows(&filling->to) && directions > 0 && ranges->len == 4 * (Py_ssize_t)sizeof(float)
        && along->len == filling->count * directions * (Py_ssize_t)sizeof(float);
}

/* put(arrays, places, vectors, centre, along, ranges) */
static PyObject *put_vectors(PyObject *self, PyObject *args)
{
    Filling filling = {0};
    Py_buffer vectors = {0}, reached = {0}, ranges = {0};
    PyObject *arrays, *given, *result = NULL;
    if (!PyArg_ParseTuple(
            args, "Oy*y*y*Oy*", &arrays, &filling.places, &vectors, &filling.centre, &given, &ranges))
        return NULL;
    if (given != Py_None && PyObject_GetBuffer(given, &reached, PyBUF_SIMPLE) < 0) goto done;
    if (begin(&filling, arrays) < 0) goto done;
    if (!is_right(&filling, &vectors, &reached, &ranges)) {
        PyErr_SetString(PyExc_IndexError, "there are not as many vectors as places");
        goto done;
    }
    const Along along = {reached.buf, ranges.buf, (filling.to.signs - 2) * 8};
    Py_BEGIN_ALLOW_THREADS
    put_each(&filling, vectors.buf, reached.obj ? &along : NULL);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    PyBuffer_Release(&vectors);
    PyBuffer_Release(&reached);
    PyBuffer_Release(&ranges);
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
        put(&filling->to, places[number], filling->left, centre, filling->dimensions, NULL, 0);
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
    if (has_rows(&filling.to) || kept.len != filling.places.len || seen_from.len != filling.centre.len || !are_places(&kept, 0, from.count)) {
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
