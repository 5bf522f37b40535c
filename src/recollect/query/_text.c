/* The inner loops over a text's characters, for texts in ASCII. The functions of the same purpose in terms.py,
   languages.py, duplicates.py and cues.py do the same for any text, and say what it is for. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

enum { LOWER = 1, UPPER = 2, DIGIT = 4, UNDERSCORE = 8, JOINER = 16 };
#define LETTER (LOWER | UPPER)
#define WORD (LETTER | DIGIT | UNDERSCORE)

static unsigned char kinds[256];
static char lowered[256];
static uint32_t crc_of_byte[256];

static int is(char character, int kind) { return kinds[(unsigned char)character] & kind; }

/* A text's bytes; NULL with an error set unless it is a string in ASCII. */
static const char *ascii(PyObject *text, Py_ssize_t *length)
{
    const char *bytes = PyUnicode_AsUTF8AndSize(text, length);
    if (bytes && *length != PyUnicode_GetLength(text)) {
        PyErr_SetString(PyExc_ValueError, "not ASCII");
        return NULL;
    }
    return bytes;
}

static PyObject *in_lower_case(const char *bytes, Py_ssize_t length)
{
    char few[64] = "", *many = length > (Py_ssize_t)sizeof few ? PyMem_Malloc(length) : few;
    if (!many) return PyErr_NoMemory();
    for (Py_ssize_t at = 0; at < length; at++) many[at] = lowered[(unsigned char)bytes[at]];
    PyObject *made = PyUnicode_FromStringAndSize(many, length);
    if (many != few) PyMem_Free(many);
    return made;
}

/* --- terms --------------------------------------------------------------------------------------------- */

/* Where the chunk that begins at a word character ends: words with a joiner between each two, then ++ or #. */
static Py_ssize_t end_of_chunk(const char *text, Py_ssize_t at, Py_ssize_t length)
{
    for (;;) {
        while (at < length && is(text[at], WORD)) at++;
        if (at + 2 < length && text[at] == ':' && text[at + 1] == ':' && is(text[at + 2], WORD)) at += 2;
        else if (at + 1 < length && is(text[at], JOINER) && is(text[at + 1], WORD)) at += 1;
        else break;
    }
    Py_ssize_t sign = 0;
    if (at + 1 < length && text[at] == '+' && text[at + 1] == '+') sign = 2;
    else if (at < length && text[at] == '#') sign = 1;
    return sign && !(at + sign < length && is(text[at + sign], WORD)) ? at + sign : at;
}

/* Whether a part is cut before this place: fooBar, FOOBar, sha256. */
static int is_hump(const char *part, Py_ssize_t at, Py_ssize_t length)
{
    if (is(part[at], UPPER))
        return is(part[at - 1], LOWER | DIGIT)
            || (is(part[at - 1], UPPER) && at + 1 < length && is(part[at + 1], LOWER));
    return is(part[at], DIGIT) && at >= 3 && is(part[at - 1], LETTER) && is(part[at - 2], LETTER)
        && is(part[at - 3], LETTER);
}

/* Adds the term of a word, as `words` has it or finds it; -1 with an error set. */
static int add_word(PyObject *found, PyObject *words, const char *word, Py_ssize_t length)
{
    PyObject *key = in_lower_case(word, length);
    PyObject *term = key ? PyDict_GetItemWithError(words, key) : NULL;
    Py_XINCREF(term);
    if (key && !term && !PyErr_Occurred()) term = PyObject_GetItem(words, key);
    const int failed = term ? PyList_Append(found, term) : -1;
    Py_XDECREF(key);
    Py_XDECREF(term);
    return failed;
}

/* Adds the terms of the words that a chunk is made of. */
static int add_parts(PyObject *found, PyObject *words, const char *chunk, Py_ssize_t length)
{
    for (Py_ssize_t end, at = 0; at < length; at = end) {
        end = at + 1;
        if (!is(chunk[at], LETTER | DIGIT)) continue;
        while (end < length && is(chunk[end], LETTER | DIGIT)) end++;
        for (Py_ssize_t begin = at, cut = at + 1; cut <= end; cut++) {
            if (cut < end && !is_hump(chunk + at, cut - at, end - at)) continue;
            if ((cut - begin > 1 || is(chunk[begin], DIGIT)) && add_word(found, words, chunk + begin, cut - begin))
                return -1;
            begin = cut;
        }
    }
    return 0;
}

/* Whether a chunk is one word: neither a joiner nor a hump. */
static int is_one_word(const char *chunk, Py_ssize_t length)
{
    for (Py_ssize_t at = 0; at < length; at++)
        if (!is(chunk[at], LETTER | DIGIT) || (at && is_hump(chunk, at, length))) return 0;
    return 1;
}

static int add_whole(PyObject *found, PyObject *words, const char *chunk, Py_ssize_t length, Py_ssize_t longest)
{
    Py_ssize_t letters = 0;
    while (letters < length && is(chunk[letters], LETTER)) letters++;
    if (letters == length) return add_word(found, words, chunk, length);
    while (length && chunk[0] == '_') chunk++, length--;
    while (length && chunk[length - 1] == '_') length--;
    if (!length || length > longest) return 0;
    PyObject *whole = in_lower_case(chunk, length);
    const int failed = whole ? PyList_Append(found, whole) : -1;
    Py_XDECREF(whole);
    return failed;
}

static int ends_with(const char *chunk, Py_ssize_t length, const char *end)
{
    const Py_ssize_t size = strlen(end);
    for (Py_ssize_t at = 0; at < size; at++)
        if (length < size || lowered[(unsigned char)chunk[length - size + at]] != end[at]) return 0;
    return 1;
}

/* How long a chunk is without 's and the like at its end. */
static Py_ssize_t without_clitic(const char *chunk, Py_ssize_t length)
{
    static const char *clitics[] = {"'s", "'re", "'ve", "'ll", "'d", "'m"};
    for (size_t each = 0; each < sizeof clitics / sizeof *clitics; each++)
        if (ends_with(chunk, length, clitics[each])) return length - strlen(clitics[each]);
    return length;
}

/* Whether it is a word such as don't. */
static int is_negation(const char *chunk, Py_ssize_t length)
{
    if (length < 4 || !ends_with(chunk, length, "n't")) return 0;
    for (Py_ssize_t at = 0; at < length - 3; at++)
        if (!is(chunk[at], LETTER)) return 0;
    return 1;
}

/* A chunk's terms, a tuple; `words` has those of words in lower case. */
static PyObject *terms_of_chunk(const char *chunk, Py_ssize_t length, PyObject *words, Py_ssize_t longest)
{
    PyObject *found = PyList_New(0);
    if (!found) return NULL;
    int failed;
    if (is_negation(chunk, length)) {
        char few[64] = "", *many = length > (Py_ssize_t)sizeof few ? PyMem_Malloc(length) : few;
        if (many) {
            memcpy(many, chunk, length - 2);
            many[length - 2] = chunk[length - 1];
        }
        PyObject *term = many ? in_lower_case(many, length - 1) : PyErr_NoMemory();
        if (many != few) PyMem_Free(many);
        failed = term ? PyList_Append(found, term) : -1;
        Py_XDECREF(term);
    } else {
        length = without_clitic(chunk, length);
        failed = is_one_word(chunk, length)
            ? add_word(found, words, chunk, length)
            : add_whole(found, words, chunk, length, longest) || add_parts(found, words, chunk, length);
    }
    PyObject *made = failed ? NULL : PyList_AsTuple(found);
    Py_DECREF(found);
    return made;
}

/* A chunk's terms as `known` has them, which learns them here; it never has more than so many chunks. */
static PyObject *terms_known(
    const char *bytes, Py_ssize_t length, PyObject *known, PyObject *words, Py_ssize_t longest, Py_ssize_t most)
{
    PyObject *chunk = PyUnicode_FromStringAndSize(bytes, length);
    PyObject *its = chunk ? PyDict_GetItemWithError(known, chunk) : NULL;
    Py_XINCREF(its);
    if (!its && !PyErr_Occurred()) {
        its = terms_of_chunk(bytes, length, words, longest);
        if (PyDict_Size(known) >= most) PyDict_Clear(known);
        if (its && PyDict_SetItem(known, chunk, its) < 0) Py_CLEAR(its);
    }
    Py_XDECREF(chunk);
    if (its && !PyTuple_Check(its)) {
        PyErr_SetString(PyExc_TypeError, "the terms of a chunk are a tuple");
        Py_CLEAR(its);
    }
    return its;
}

/* terms(text, known, words, longest, most): the terms of every chunk of a text. */
static PyObject *terms(PyObject *self, PyObject *args)
{
    PyObject *text, *known, *words;
    Py_ssize_t length, longest, most;
    if (!PyArg_ParseTuple(args, "UO!O!nn", &text, &PyDict_Type, &known, &PyDict_Type, &words, &longest, &most))
        return NULL;
    const char *bytes = ascii(text, &length);
    PyObject *found = bytes ? PyList_New(0) : NULL;
    Py_ssize_t at = 0;
    while (found) {
        while (at < length && !is(bytes[at], WORD)) at++;
        if (at == length) break;
        const Py_ssize_t end = end_of_chunk(bytes, at, length);
        PyObject *its = terms_known(bytes + at, end - at, known, words, longest, most);
        const Py_ssize_t count = its ? PyTuple_Size(its) : -1;
        int failed = count < 0;
        for (Py_ssize_t number = 0; !failed && number < count; number++)
            failed = PyList_Append(found, PyTuple_GetItem(its, number)) < 0;
        Py_XDECREF(its);
        if (failed) Py_CLEAR(found);
        at = end;
    }
    return found;
}

/* --- words --------------------------------------------------------------------------------------------- */

/* words(text, known): those runs of letters of a text, in lower case, that are in `known` (a dict). */
static PyObject *words(PyObject *self, PyObject *args)
{
    PyObject *text, *known;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "UO!", &text, &PyDict_Type, &known)) return NULL;
    const char *bytes = ascii(text, &length);
    PyObject *found = bytes ? PyList_New(0) : NULL;
    for (Py_ssize_t end, at = 0; found && at < length; at = end) {
        end = at + 1;
        if (!is(bytes[at], LETTER)) continue;
        while (end < length && is(bytes[end], LETTER)) end++;
        PyObject *word = in_lower_case(bytes + at, end - at);
        int result = word ? PyDict_Contains(known, word) : -1;
        if (result > 0) result = PyList_Append(found, word);
        Py_XDECREF(word);
        if (result < 0) Py_CLEAR(found);
    }
    return found;
}

/* Adds a piece of a text to a set, if it is among those that are asked for. */
static int add_asked(PyObject *found, PyObject *asked, const char *piece, Py_ssize_t length)
{
    PyObject *made = PyUnicode_FromStringAndSize(piece, length);
    int result = made ? PySet_Contains(asked, made) : -1;
    if (result > 0) result = PySet_Add(found, made);
    Py_XDECREF(made);
    return result;
}

/* pieces(text, asked, digit): those of the words and signs asked for that a text has. A word of digits alone is
   also looked for with `digit` in the place of each of them; any digit is `digit`. */
static PyObject *pieces(PyObject *self, PyObject *args)
{
    PyObject *text, *asked;
    Py_ssize_t length;
    int digit;
    if (!PyArg_ParseTuple(args, "UOC", &text, &asked, &digit)) return NULL;
    const char *bytes = ascii(text, &length);
    PyObject *found = bytes ? PySet_New(NULL) : NULL;
    char seen[128] = {0}, shape[8];
    memset(shape, digit &= 127, sizeof shape);
    int failed = !found;
    for (Py_ssize_t end, at = 0; !failed && at < length; at = end) {
        end = at + 1;
        if (!is(bytes[at], WORD)) {
            seen[(unsigned char)bytes[at]] = 1;
            continue;
        }
        int all = kinds[(unsigned char)bytes[at]], any = all;
        for (; end < length && is(bytes[end], WORD); end++) {
            all &= kinds[(unsigned char)bytes[end]];
            any |= kinds[(unsigned char)bytes[end]];
        }
        failed = add_asked(found, asked, bytes + at, end - at) < 0;
        if (!failed && any & DIGIT) {
            seen[digit] = 1;
            if (all & DIGIT && end - at <= (Py_ssize_t)sizeof shape)
                failed = add_asked(found, asked, shape, end - at) < 0;
        }
    }
    for (int sign = 0; !failed && sign < 128; sign++)
        if (seen[sign]) {
            const char itself = (char)sign;
            failed = add_asked(found, asked, &itself, 1) < 0;
        }
    if (failed) Py_CLEAR(found);
    return found;
}

/* Whether a set has all of a tuple. -1 with an error set. */
static int has_all(PyObject *has, PyObject *pieces)
{
    int result = 1;
    for (Py_ssize_t at = 0; result > 0 && at < PyTuple_Size(pieces); at++)
        result = PySet_Contains(has, PyTuple_GetItem(pieces, at));
    return result;
}

/* Whether a set has one of each of several tuples. */
static int has_one_of_each(PyObject *has, PyObject *choices)
{
    int result = 1;
    for (Py_ssize_t at = 0; result > 0 && at < PyTuple_Size(choices); at++) {
        PyObject *pieces = PyTuple_GetItem(choices, at);
        result = 0;
        for (Py_ssize_t each = 0; !result && each < PyTuple_Size(pieces); each++)
            result = PySet_Contains(has, PyTuple_GetItem(pieces, each));
    }
    return result;
}

/* Adds what the leads of one piece lead to in a text that has these pieces. */
static int add_led(PyObject *found, PyObject *leads, PyObject *has, PyObject *text)
{
    int result = 0;
    for (Py_ssize_t at = 0; result >= 0 && at < PyTuple_Size(leads); at++) {
        PyObject *lead = PyTuple_GetItem(leads, at);
        result = PyTuple_Size(lead) == 4 ? has_all(has, PyTuple_GetItem(lead, 0)) : -1;
        if (result > 0) result = has_one_of_each(has, PyTuple_GetItem(lead, 1));
        if (result > 0) result = PyUnicode_Contains(text, PyTuple_GetItem(lead, 2));
        if (result > 0) result = PyList_Append(found, PyTuple_GetItem(lead, 3));
        if (PyErr_Occurred()) result = -1;
    }
    return result;
}

/* led(text, has, leads): where the leads of the pieces that a text has lead to; see cues.Lead. */
static PyObject *led(PyObject *self, PyObject *args)
{
    PyObject *text, *has, *leads, *piece;
    if (!PyArg_ParseTuple(args, "UO!O!", &text, &PySet_Type, &has, &PyDict_Type, &leads)) return NULL;
    PyObject *found = PyList_New(0), *pieces = found ? PyObject_GetIter(has) : NULL;
    while (pieces && (piece = PyIter_Next(pieces))) {
        PyObject *its = PyDict_GetItemWithError(leads, piece);
        if (its && (!PyTuple_Check(its) || add_led(found, its, has, text) < 0) && !PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "the leads of a piece are a tuple");
        Py_DECREF(piece);
        if (PyErr_Occurred()) break;
    }
    Py_XDECREF(pieces);
    if (PyErr_Occurred()) Py_CLEAR(found);
    return found;
}

/* --- near-duplicates ----------------------------------------------------------------------------------- */

#define MIXES 32

static uint32_t crc32(uint32_t begun, const void *data, Py_ssize_t length)
{
    const unsigned char *bytes = data;
    begun = ~begun;
    for (Py_ssize_t at = 0; at < length; at++) begun = crc_of_byte[(begun ^ bytes[at]) & 255] ^ (begun >> 8);
    return ~begun;
}

static void lower(uint64_t *lowest, uint64_t hash, const uint64_t *factor, const uint64_t *offset)
{
    for (int each = 0; each < MIXES; each++) {
        const uint64_t mixed = hash * factor[each] + offset[each];
        lowest[each] = mixed < lowest[each] ? mixed : lowest[each];
    }
}

/* The keys of the bands; a band's bytes are those of a machine with the low byte first. */
static PyObject *keys_of(const uint64_t *lowest, Py_ssize_t bands, Py_ssize_t rows)
{
    PyObject *keys = PyTuple_New(bands);
    for (Py_ssize_t band = 0; keys && band < bands; band++) {
        uint32_t crc = (uint32_t)band;
        for (Py_ssize_t row = 0; row < rows; row++) {
            unsigned char bytes[8];
            for (int byte = 0; byte < 8; byte++) bytes[byte] = (lowest[band * rows + row] >> 16) >> (8 * byte) & 255;
            crc = crc32(crc, bytes, 8);
        }
        PyObject *key = PyLong_FromUnsignedLongLong((uint64_t)crc << 3 | (uint64_t)band);
        if (!key || PyTuple_SetItem(keys, band, key) < 0) Py_CLEAR(keys);
    }
    return keys;
}

/* near_keys(terms, factors, offsets, bands): of a list of terms in any script. */
static PyObject *near_keys(PyObject *self, PyObject *args)
{
    PyObject *given;
    Py_buffer factors, offsets;
    Py_ssize_t bands;
    if (!PyArg_ParseTuple(args, "O!y*y*n", &PyList_Type, &given, &factors, &offsets, &bands)) return NULL;
    uint64_t lowest[MIXES];
    memset(lowest, 255, sizeof lowest);
    const Py_ssize_t wanted = sizeof lowest;
    int failed = factors.len != wanted || offsets.len != wanted || bands < 1 || MIXES % bands;
    if (failed) PyErr_SetString(PyExc_ValueError, "32 factors and offsets, as many for every band");
    uint32_t before = 0;
    for (Py_ssize_t at = 0; !failed && at < PyList_Size(given); at++) {
        Py_ssize_t length;
        const char *term = PyUnicode_AsUTF8AndSize(PyList_GetItem(given, at), &length);
        failed = !term;
        if (failed) break;
        const uint32_t alone = crc32(0, term, length);
        lower(lowest, alone, factors.buf, offsets.buf);
        if (at) lower(lowest, crc32(crc32(before, " ", 1), term, length), factors.buf, offsets.buf);
        before = alone;
    }
    PyBuffer_Release(&factors);
    PyBuffer_Release(&offsets);
    return failed ? NULL : keys_of(lowest, bands, MIXES / bands);
}

static void fill_tables(void)
{
    for (int code = 0; code < 256; code++) {
        lowered[code] = (char)code;
        uint32_t crc = (uint32_t)code;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        crc_of_byte[code] = crc;
    }
    for (int code = 'a'; code <= 'z'; code++) kinds[code] = LOWER;
    for (int code = 'A'; code <= 'Z'; code++) {
        kinds[code] = UPPER;
        lowered[code] = (char)(code - 'A' + 'a');
    }
    for (int code = '0'; code <= '9'; code++) kinds[code] = DIGIT;
    kinds['_'] = UNDERSCORE;
    for (const char *joiner = "-./@:+&'\\"; *joiner; joiner++) kinds[(unsigned char)*joiner] = JOINER;
}

static PyMethodDef methods[] = {
    {"terms", terms, METH_VARARGS, NULL},
    {"words", words, METH_VARARGS, NULL},
    {"pieces", pieces, METH_VARARGS, NULL},
    {"led", led, METH_VARARGS, NULL},
    {"near_keys", near_keys, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_text", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__text(void)
{
    fill_tables();
    return PyModuleDef_Init(&module);
}
