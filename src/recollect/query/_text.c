/* The inner loops over texts' characters, for texts in ASCII. The functions of the same purpose in terms.py,
   languages.py, duplicates.py and cues.py do the same for any text, and say what it is for. What reads many texts at
   once lets other threads have the interpreter meanwhile. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
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

/* --- many texts ---------------------------------------------------------------------------------------- */

#define ENOUGH 10000
/* So many characters are worth letting other threads go on: it may take a while until it is our turn again. */

typedef struct {
    const char *bytes;
    Py_ssize_t length;
} Text;

typedef struct {
    PyObject *held; /* a tuple, so that nobody takes a text away while it is read */
    Text *each;
    Py_ssize_t count, length;
} Texts;

static void let_go(Texts *texts)
{
    Py_CLEAR(texts->held);
    free(texts->each);
    texts->each = NULL;
}

/* The bytes of texts, as `bytes_of` gives them; -1 with an error set. */
static int hold(PyObject *given, Texts *texts, const char *(*bytes_of)(PyObject *, Py_ssize_t *))
{
    *texts = (Texts){PySequence_Tuple(given), NULL, 0, 0};
    if (!texts->held) return -1;
    texts->count = PyTuple_Size(texts->held);
    texts->each = calloc(texts->count + 1, sizeof(Text));
    int failed = !texts->each;
    if (failed) PyErr_NoMemory();
    for (Py_ssize_t at = 0; !failed && at < texts->count; at++) {
        texts->each[at].bytes = bytes_of(PyTuple_GetItem(texts->held, at), &texts->each[at].length);
        failed = !texts->each[at].bytes;
        texts->length += texts->each[at].length;
    }
    if (failed) let_go(texts);
    return failed ? -1 : 0;
}

static PyThreadState *let_others_go_on(const Texts *texts) { return texts->length < ENOUGH ? NULL : PyEval_SaveThread(); }

static void go_on(PyThreadState *left)
{
    if (left) PyEval_RestoreThread(left);
}

/* A growing array; whoever uses it has no interpreter, so that -1 says no more than that there is no room. */
typedef struct {
    char *at;
    size_t used, room;
} Bytes;

static int append(Bytes *to, const void *bytes, size_t length)
{
    if (length > to->room - to->used) {
        const size_t room = 2 * to->room + length + 1024;
        char *at = realloc(to->at, room);
        if (!at) return -1;
        to->at = at;
        to->room = room;
    }
    memcpy(to->at + to->used, bytes, length);
    to->used += length;
    return 0;
}

/* --- tables -------------------------------------------------------------------------------------------- */

/* Words by number, in the order in which they were added, each perhaps with another text that belongs to it. */
typedef struct {
    uint64_t hash;
    size_t word, length, term, term_length;
} Entry;

typedef struct {
    Bytes entries, letters;
    uint32_t *slots; /* the number of an entry, and one more; 0 where there is none */
    size_t size, count;
    uint64_t seed;
    int is_busy;
} Table;

static const char table_name[] = "recollect.query._text.table";

static void empty(Table *table)
{
    table->entries.used = table->letters.used = table->count = 0;
    if (table->slots) memset(table->slots, 0, table->size * sizeof *table->slots);
}

static void remove_table(PyObject *capsule)
{
    Table *table = PyCapsule_GetPointer(capsule, table_name);
    free(table->entries.at);
    free(table->letters.at);
    free(table->slots);
    free(table);
}

static Entry *entry(const Table *table, size_t number) { return (Entry *)table->entries.at + number; }

static uint64_t hash_of(const Table *table, const char *word, size_t length)
{
    uint64_t hash = table->seed ^ length;
    for (size_t at = 0; at < length; at += 8) {
        uint64_t some = 0;
        memcpy(&some, word + at, length - at < 8 ? length - at : 8);
        hash = (hash ^ some) * 0x9E3779B97F4A7C15u ^ table->seed;
        hash ^= hash >> 29;
    }
    return hash ^ hash >> 32;
}

/* Where a word is noted, or would be. */
static uint32_t *slot_of(const Table *table, uint64_t hash, const char *word, size_t length)
{
    for (size_t at = hash & (table->size - 1);; at = (at + 1) & (table->size - 1)) {
        uint32_t *slot = table->slots + at;
        const Entry *its = *slot ? entry(table, *slot - 1) : NULL;
        if (!its || (its->hash == hash && its->length == length && !memcmp(table->letters.at + its->word, word, length)))
            return slot;
    }
}

/* The number of a word; -1 if the table does not have it. */
static Py_ssize_t number_of(const Table *table, const char *word, size_t length)
{
    return table->size ? (Py_ssize_t)*slot_of(table, hash_of(table, word, length), word, length) - 1 : -1;
}

static int grow(Table *table)
{
    const size_t size = table->size ? 2 * table->size : 1024;
    uint32_t *slots = calloc(size, sizeof *slots);
    if (!slots) return -1;
    free(table->slots);
    table->slots = slots;
    table->size = size;
    for (size_t number = 0; number < table->count; number++) {
        const Entry *its = entry(table, number);
        *slot_of(table, its->hash, table->letters.at + its->word, its->length) = (uint32_t)number + 1;
    }
    return 0;
}

/* The number of a word, which is added if it is not there; -1 if there is no room. */
static Py_ssize_t placed(Table *table, const char *word, size_t length)
{
    if (2 * table->count >= table->size && grow(table)) return -1;
    const uint64_t hash = hash_of(table, word, length);
    uint32_t *slot = slot_of(table, hash, word, length);
    if (!*slot) {
        const Entry added = {hash, table->letters.used, length, 0, 0};
        if (append(&table->letters, word, length) || append(&table->entries, &added, sizeof added)) return -1;
        *slot = (uint32_t)++table->count;
    }
    return (Py_ssize_t)*slot - 1;
}

/* table(words): with these words, numbered as they come. */
static PyObject *table(PyObject *self, PyObject *args)
{
    PyObject *given;
    if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &given)) return NULL;
    Table *made = calloc(1, sizeof *made);
    PyObject *capsule = made ? PyCapsule_New(made, table_name, remove_table) : PyErr_NoMemory();
    if (!capsule) {
        free(made);
        return NULL;
    }
    PyObject *drawn = PyUnicode_FromString("another in every process, so that nobody can choose words that collide");
    if (!drawn) Py_CLEAR(capsule);
    else made->seed = (uint64_t)PyObject_Hash(drawn) * 2 + 1;
    Py_XDECREF(drawn);
    for (Py_ssize_t at = 0; capsule && at < PyTuple_Size(given); at++) {
        Py_ssize_t length;
        const char *word = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(given, at), &length);
        if (word && placed(made, word, length) >= 0) continue;
        if (!PyErr_Occurred()) PyErr_NoMemory();
        Py_CLEAR(capsule);
    }
    return capsule;
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

/* Where the terms of a chunk go. Both return -1 if that fails. */
typedef struct Sink {
    int (*word)(struct Sink *sink, const char *word, Py_ssize_t length);   /* its stem, once it is in lower case */
    int (*as_is)(struct Sink *sink, const char *term, Py_ssize_t length); /* itself in lower case */
} Sink;

/* Adds the terms of the words that a chunk is made of. */
static int add_parts(Sink *sink, const char *chunk, Py_ssize_t length)
{
    for (Py_ssize_t end, at = 0; at < length; at = end) {
        end = at + 1;
        if (!is(chunk[at], LETTER | DIGIT)) continue;
        while (end < length && is(chunk[end], LETTER | DIGIT)) end++;
        for (Py_ssize_t begin = at, cut = at + 1; cut <= end; cut++) {
            if (cut < end && !is_hump(chunk + at, cut - at, end - at)) continue;
            if ((cut - begin > 1 || is(chunk[begin], DIGIT)) && sink->word(sink, chunk + begin, cut - begin))
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

static int add_whole(Sink *sink, const char *chunk, Py_ssize_t length, Py_ssize_t longest)
{
    Py_ssize_t letters = 0;
    while (letters < length && is(chunk[letters], LETTER)) letters++;
    if (letters == length) return sink->word(sink, chunk, length);
    while (length && chunk[0] == '_') chunk++, length--;
    while (length && chunk[length - 1] == '_') length--;
    return length && length <= longest ? sink->as_is(sink, chunk, length) : 0;
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

static int add_negation(Sink *sink, const char *chunk, Py_ssize_t length)
{
    char few[64], *without = length > (Py_ssize_t)sizeof few ? malloc(length) : few;
    if (!without) return -1;
    memcpy(without, chunk, length - 2);
    without[length - 2] = chunk[length - 1];
    const int failed = sink->as_is(sink, without, length - 1);
    if (without != few) free(without);
    return failed;
}

/* Adds the terms of a chunk. */
static int add_chunk(Sink *sink, const char *chunk, Py_ssize_t length, Py_ssize_t longest)
{
    if (is_negation(chunk, length)) return add_negation(sink, chunk, length);
    length = without_clitic(chunk, length);
    if (is_one_word(chunk, length)) return sink->word(sink, chunk, length);
    return add_whole(sink, chunk, length, longest) || add_parts(sink, chunk, length) ? -1 : 0;
}

/* --- terms of one text --------------------------------------------------------------------------------- */

/* A list of the terms themselves; `words` has those of words in lower case. */
typedef struct {
    Sink sink;
    PyObject *found, *words;
} Listed;

static int list_word(Sink *sink, const char *word, Py_ssize_t length)
{
    const Listed *to = (Listed *)sink;
    PyObject *key = in_lower_case(word, length);
    PyObject *term = key ? PyDict_GetItemWithError(to->words, key) : NULL;
    Py_XINCREF(term);
    if (key && !term && !PyErr_Occurred()) term = PyObject_GetItem(to->words, key);
    const int failed = term ? PyList_Append(to->found, term) : -1;
    Py_XDECREF(key);
    Py_XDECREF(term);
    return failed;
}

static int list_as_is(Sink *sink, const char *term, Py_ssize_t length)
{
    PyObject *made = in_lower_case(term, length);
    const int failed = made ? PyList_Append(((Listed *)sink)->found, made) : -1;
    Py_XDECREF(made);
    return failed;
}

/* A chunk's terms, a tuple. */
static PyObject *terms_of_chunk(const char *chunk, Py_ssize_t length, PyObject *words, Py_ssize_t longest)
{
    Listed to = {{list_word, list_as_is}, PyList_New(0), words};
    if (!to.found) return NULL;
    const int failed = add_chunk(&to.sink, chunk, length, longest);
    if (failed && !PyErr_Occurred()) PyErr_NoMemory();
    PyObject *made = failed ? NULL : PyList_AsTuple(to.found);
    Py_DECREF(to.found);
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

/* --- languages ----------------------------------------------------------------------------------------- */

#define VOTERS 8
#define LONGEST_SMALL_WORD 32

/* Who has the most votes: the first of them, unless another has more, and two at least. */
static int elected(const Text *sample, const Table *words, const unsigned char *voters)
{
    int votes[VOTERS] = {0}, best = 0;
    char word[LONGEST_SMALL_WORD];
    for (Py_ssize_t end, at = 0; at < sample->length; at = end) {
        end = at + 1;
        if (!is(sample->bytes[at], LETTER)) continue;
        while (end < sample->length && is(sample->bytes[end], LETTER)) end++;
        if (end - at > LONGEST_SMALL_WORD) continue;
        for (Py_ssize_t each = at; each < end; each++) word[each - at] = lowered[(unsigned char)sample->bytes[each]];
        const Py_ssize_t number = number_of(words, word, end - at);
        for (int voter = 0; number >= 0 && voter < VOTERS; voter++) votes[voter] += voters[number] >> voter & 1;
    }
    for (int voter = 1; voter < VOTERS; voter++)
        if (votes[voter] > votes[best]) best = voter;
    return votes[best] < 2 ? 0 : best;
}

/* elections(samples, words, voters): for each sample the number of the voter that its small words elect; `voters` has
   a byte for each word of a table, with a bit for each voter. */
static PyObject *elections(PyObject *self, PyObject *args)
{
    PyObject *given, *capsule;
    Py_buffer voters;
    if (!PyArg_ParseTuple(args, "OOy*", &given, &capsule, &voters)) return NULL;
    Texts samples = {0};
    const Table *words = PyCapsule_GetPointer(capsule, table_name);
    PyObject *found = NULL;
    int *each = NULL;
    if (words && (size_t)voters.len != words->count) PyErr_SetString(PyExc_ValueError, "a byte for each word");
    else if (words && !hold(given, &samples, ascii)) {
        each = calloc(samples.count + 1, sizeof *each);
        PyThreadState *left = let_others_go_on(&samples);
        for (Py_ssize_t at = 0; each && at < samples.count; at++) each[at] = elected(samples.each + at, words, voters.buf);
        go_on(left);
        found = each ? PyList_New(samples.count) : PyErr_NoMemory();
        for (Py_ssize_t at = 0; found && at < samples.count; at++) {
            PyObject *number = PyLong_FromLong(each[at]);
            if (!number || PyList_SetItem(found, at, number) < 0) Py_CLEAR(found);
        }
    }
    free(each);
    let_go(&samples);
    PyBuffer_Release(&voters);
    return found;
}

/* --- cues ---------------------------------------------------------------------------------------------- */

/* What is looked for in texts; see cues._Program. */
typedef struct {
    const Table *pieces;
    const int32_t *code;
    const char *letters;
    int32_t signs[128], shapes[9]; /* the numbers of a sign, and of a word of so many digits; -1 if nobody asks for it */
    char *has, *is_found;
    Bytes met, found;
} Cues;

static void meet(Cues *cues, Py_ssize_t number, int *failed)
{
    if (number < 0 || cues->has[number]) return;
    const int32_t met = (int32_t)number;
    cues->has[number] = 1;
    *failed |= append(&cues->met, &met, sizeof met);
}

/* Notes which of the words and signs asked for a text has. A word of digits alone is also looked for as so many digits;
   any digit is a sign of its own. */
static int meet_pieces(Cues *cues, const Text *text)
{
    int failed = 0;
    for (Py_ssize_t end, at = 0; at < text->length; at = end) {
        end = at + 1;
        const unsigned char first = (unsigned char)text->bytes[at];
        if (!(kinds[first] & WORD)) {
            meet(cues, cues->signs[first], &failed);
            continue;
        }
        int all = kinds[first], any = all;
        for (; end < text->length && is(text->bytes[end], WORD); end++) {
            all &= kinds[(unsigned char)text->bytes[end]];
            any |= kinds[(unsigned char)text->bytes[end]];
        }
        meet(cues, number_of(cues->pieces, text->bytes + at, end - at), &failed);
        if (any & DIGIT) meet(cues, cues->shapes[1], &failed);
        if (all & DIGIT && end - at <= 8) meet(cues, cues->shapes[end - at], &failed);
    }
    return failed;
}

static int has_letters(const Text *text, const char *letters, Py_ssize_t length)
{
    const char *at = text->bytes, *last = text->bytes + text->length - length;
    if (!length) return 1;
    for (; at <= last && (at = memchr(at, letters[0], last - at + 1)); at++)
        if (!memcmp(at, letters, length)) return 1;
    return 0;
}

/* Whether a text has what a lead asks for: all of its pieces, one of each of some choices, and the letters. */
static int leads_on(const Cues *cues, const Text *text, const int32_t *lead)
{
    const int32_t letters = *lead++, length = *lead++;
    for (int32_t left = *lead++; left; left--)
        if (!cues->has[*lead++]) return 0;
    for (int32_t choices = *lead++; choices; choices--) {
        int any = 0;
        for (int32_t left = *lead++; left; left--) any |= cues->has[*lead++];
        if (!any) return 0;
    }
    return has_letters(text, cues->letters + letters, length);
}

/* Adds where the leads of the pieces that a text has lead to, each once. */
static int follow(Cues *cues, const Text *text)
{
    const size_t begun = cues->found.used / sizeof(int32_t);
    cues->met.used = 0;
    int failed = meet_pieces(cues, text);
    const int32_t *met = (int32_t *)cues->met.at;
    const size_t count = cues->met.used / sizeof *met;
    for (size_t at = 0; !failed && at < count; at++) {
        const int32_t *lead = cues->code + cues->code[met[at]];
        for (int32_t left = *lead++; left; left--) {
            const int32_t to = *lead++, size = *lead++;
            if (!cues->is_found[to] && leads_on(cues, text, lead)) {
                cues->is_found[to] = 1;
                failed |= append(&cues->found, &to, sizeof to);
            }
            lead += size;
        }
    }
    for (size_t at = 0; at < count; at++) cues->has[met[at]] = 0;
    const int32_t *found = (int32_t *)cues->found.at;
    for (size_t at = begun; at < cues->found.used / sizeof *found; at++) cues->is_found[found[at]] = 0;
    return failed;
}

static void find_signs(Cues *cues, char digit)
{
    char shape[8];
    memset(shape, digit, sizeof shape);
    for (int sign = 0; sign < 128; sign++) {
        const char itself = (char)sign;
        cues->signs[sign] = is(itself, WORD) ? -1 : (int32_t)number_of(cues->pieces, &itself, 1);
    }
    for (int length = 1; length <= 8; length++)
        cues->shapes[length] = (int32_t)number_of(cues->pieces, shape, length);
}

static PyObject *list_of_numbers(const int32_t *numbers, size_t count)
{
    PyObject *made = PyList_New(count);
    for (size_t at = 0; made && at < count; at++) {
        PyObject *number = PyLong_FromLong(numbers[at]);
        if (!number || PyList_SetItem(made, at, number) < 0) Py_CLEAR(made);
    }
    return made;
}

/* led(texts, pieces, digit, code, letters, most): where the leads of the pieces of each text lead to: numbers below
   `most`, one text after the other, and where each text's end. The code is trusted. */
static PyObject *led(PyObject *self, PyObject *args)
{
    PyObject *given, *capsule, *found = NULL;
    Py_buffer code, letters;
    int digit;
    Py_ssize_t most;
    if (!PyArg_ParseTuple(args, "OOCy*y*n", &given, &capsule, &digit, &code, &letters, &most)) return NULL;
    Texts texts = {0};
    Cues cues = {PyCapsule_GetPointer(capsule, table_name), code.buf, letters.buf};
    int32_t *ends = NULL;
    if (cues.pieces && !hold(given, &texts, ascii)) {
        cues.has = calloc(cues.pieces->count + 1, 1);
        cues.is_found = calloc(most + 1, 1);
        ends = calloc(texts.count + 1, sizeof *ends);
        int failed = !cues.has || !cues.is_found || !ends;
        find_signs(&cues, (char)digit);
        PyThreadState *left = let_others_go_on(&texts);
        for (Py_ssize_t at = 0; !failed && at < texts.count; at++) {
            failed = follow(&cues, texts.each + at);
            ends[at] = (int32_t)(cues.found.used / sizeof(int32_t));
        }
        go_on(left);
        PyObject *numbers = failed ? PyErr_NoMemory() : list_of_numbers((int32_t *)cues.found.at, cues.found.used / 4);
        PyObject *listed = numbers ? list_of_numbers(ends, texts.count) : NULL;
        found = listed ? PyTuple_Pack(2, numbers, listed) : NULL;
        Py_XDECREF(numbers);
        Py_XDECREF(listed);
    }
    free(ends);
    free(cues.has);
    free(cues.is_found);
    free(cues.met.at);
    free(cues.found.at);
    let_go(&texts);
    PyBuffer_Release(&code);
    PyBuffer_Release(&letters);
    return found;
}

/* --- contests ------------------------------------------------------------------------------------------ */

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

/* The key of a band; its bytes are those of a machine with the low byte first. */
static uint64_t key_of(const uint64_t *lowest, Py_ssize_t band, Py_ssize_t rows)
{
    uint32_t crc = (uint32_t)band;
    for (Py_ssize_t row = 0; row < rows; row++) {
        unsigned char bytes[8];
        for (int byte = 0; byte < 8; byte++) bytes[byte] = (lowest[band * rows + row] >> 16) >> (8 * byte) & 255;
        crc = crc32(crc, bytes, 8);
    }
    return (uint64_t)crc << 3 | (uint64_t)band;
}

static PyObject *keys_of(const uint64_t *lowest, Py_ssize_t bands)
{
    PyObject *keys = PyTuple_New(bands);
    for (Py_ssize_t band = 0; keys && band < bands; band++) {
        PyObject *key = PyLong_FromUnsignedLongLong(key_of(lowest, band, MIXES / bands));
        if (!key || PyTuple_SetItem(keys, band, key) < 0) Py_CLEAR(keys);
    }
    return keys;
}

/* What the features of a text come to, one term after the other. */
typedef struct {
    uint64_t lowest[MIXES];
    uint32_t before;
    int is_first;
} Mixed;

static void mix(Mixed *mixed, const char *term, Py_ssize_t length, const Py_buffer *factors, const Py_buffer *offsets)
{
    const uint32_t alone = crc32(0, term, length);
    lower(mixed->lowest, alone, factors->buf, offsets->buf);
    if (!mixed->is_first)
        lower(mixed->lowest, crc32(crc32(mixed->before, " ", 1), term, length), factors->buf, offsets->buf);
    mixed->before = alone;
    mixed->is_first = 0;
}

static Mixed nothing_mixed(void)
{
    Mixed mixed = {.before = 0, .is_first = 1};
    memset(mixed.lowest, 255, sizeof mixed.lowest);
    return mixed;
}

/* 0 if there are as many factors and offsets as there must be; -1 with an error set. */
static int check_mixes(const Py_buffer *factors, const Py_buffer *offsets, Py_ssize_t bands)
{
    const Py_ssize_t wanted = MIXES * sizeof(uint64_t);
    if (factors->len == wanted && offsets->len == wanted && bands >= 1 && MIXES % bands == 0) return 0;
    PyErr_SetString(PyExc_ValueError, "32 factors and offsets, as many for every band");
    return -1;
}

/* near_keys(terms, factors, offsets, bands): of a list of terms in any script. */
static PyObject *near_keys(PyObject *self, PyObject *args)
{
    PyObject *given;
    Py_buffer factors, offsets;
    Py_ssize_t bands;
    if (!PyArg_ParseTuple(args, "O!y*y*n", &PyList_Type, &given, &factors, &offsets, &bands)) return NULL;
    Mixed mixed = nothing_mixed();
    int failed = check_mixes(&factors, &offsets, bands);
    for (Py_ssize_t at = 0; !failed && at < PyList_Size(given); at++) {
        Py_ssize_t length;
        const char *term = PyUnicode_AsUTF8AndSize(PyList_GetItem(given, at), &length);
        failed = !term;
        if (!failed) mix(&mixed, term, length, &factors, &offsets);
    }
    PyBuffer_Release(&factors);
    PyBuffer_Release(&offsets);
    return failed ? NULL : keys_of(mixed.lowest, bands);
}

/* --- terms and near-duplicate keys of many texts ------------------------------------------------------- */

/* Terms one after the other with spaces between; stems are looked up in a table. */
typedef struct {
    Sink sink;
    Table *stems;
    Bytes terms;
    size_t begun;
    Py_ssize_t longest;
    size_t known; /* so many words of the table have their stems; further ones were met just now */
    int has_unknown;
} Joined;

static int begin_term(Joined *to) { return to->terms.used > to->begun ? append(&to->terms, " ", 1) : 0; }

static int join_word(Sink *sink, const char *word, Py_ssize_t length)
{
    Joined *to = (Joined *)sink;
    char lower[64];
    if (length > to->longest) length = to->longest;
    for (Py_ssize_t at = 0; at < length; at++) lower[at] = lowered[(unsigned char)word[at]];
    const Py_ssize_t number = placed(to->stems, lower, length);
    if (number < 0) return -1;
    if ((size_t)number >= to->known) {
        to->has_unknown = 1;
        return 0;
    }
    const Entry *its = entry(to->stems, number);
    return begin_term(to) || append(&to->terms, to->stems->letters.at + its->term, its->term_length) ? -1 : 0;
}

static int join_as_is(Sink *sink, const char *term, Py_ssize_t length)
{
    Joined *to = (Joined *)sink;
    if (begin_term(to) || append(&to->terms, term, length)) return -1;
    for (char *at = to->terms.at + to->terms.used - length; at < to->terms.at + to->terms.used; at++)
        *at = lowered[(unsigned char)*at];
    return 0;
}

/* What was read of a text: where its terms stand; keys, if it has enough terms for them. */
typedef struct {
    size_t begin, end;
    int is_read, has_keys;
    Mixed mixed;
} Read;

/* Whether there are so many different terms among those with spaces between. */
static int has_different(const char *terms, size_t length, Py_ssize_t wanted)
{
    const char *met[16], *end = terms + length;
    size_t lengths[16];
    Py_ssize_t count = 0;
    for (const char *at = terms, *next; at < end && count < wanted; at = next + 1) {
        next = memchr(at, ' ', end - at);
        if (!next) next = end;
        Py_ssize_t each = 0;
        while (each < count && (lengths[each] != (size_t)(next - at) || memcmp(met[each], at, next - at))) each++;
        if (each < count) continue;
        met[count] = at;
        lengths[count++] = next - at;
    }
    return count >= wanted;
}

static void mix_terms(Read *read, const char *terms, const Py_buffer *factors, const Py_buffer *offsets)
{
    const char *end = terms + read->end;
    read->mixed = nothing_mixed();
    for (const char *at = terms + read->begin, *next; at < end; at = next + 1) {
        next = memchr(at, ' ', end - at);
        if (!next) next = end;
        mix(&read->mixed, at, next - at, factors, offsets);
    }
}

static int read_text(Joined *to, const Text *text, Read *read)
{
    to->begun = to->terms.used;
    to->has_unknown = 0;
    for (Py_ssize_t end, at = 0;; at = end) {
        while (at < text->length && !is(text->bytes[at], WORD)) at++;
        if (at == text->length) break;
        end = end_of_chunk(text->bytes, at, text->length);
        if (add_chunk(&to->sink, text->bytes + at, end - at, to->longest)) return -1;
    }
    if (to->has_unknown) to->terms.used = to->begun;
    read->is_read = !to->has_unknown;
    read->begin = to->begun;
    read->end = to->terms.used;
    return 0;
}

/* Gives every word that was met for the first time its stem. */
static int learn_stems(Joined *to, PyObject *stem)
{
    for (; to->known < to->stems->count; to->known++) {
        const Entry *its = entry(to->stems, to->known);
        PyObject *word = PyUnicode_FromStringAndSize(to->stems->letters.at + its->word, its->length);
        PyObject *term = word ? PyObject_CallFunctionObjArgs(stem, word, NULL) : NULL;
        Py_XDECREF(word);
        Py_ssize_t length;
        const char *bytes = term ? PyUnicode_AsUTF8AndSize(term, &length) : NULL;
        const size_t place = to->stems->letters.used;
        int failed = !bytes;
        if (!failed && append(&to->stems->letters, bytes, length)) failed = PyErr_NoMemory() == NULL;
        Py_XDECREF(term);
        if (failed) return -1;
        Entry *changed = entry(to->stems, to->known);
        changed->term = place;
        changed->term_length = length;
    }
    return 0;
}

/* Reads all texts; those with unknown words a second time, once these are known. -1 with an error set. */
static int read_all(
    Joined *to, const Texts *texts, Read *read, PyObject *stem, const Py_buffer *factors, const Py_buffer *offsets,
    Py_ssize_t fewest)
{
    int failed = 0;
    for (int again = 0; !failed && again < 2; again++) {
        PyThreadState *left = let_others_go_on(texts);
        for (Py_ssize_t at = 0; !failed && at < texts->count; at++) {
            if (read[at].is_read) continue;
            failed = read_text(to, texts->each + at, read + at);
            if (failed || !read[at].is_read) continue;
            read[at].has_keys = has_different(to->terms.at + read[at].begin, read[at].end - read[at].begin, fewest);
            if (read[at].has_keys) mix_terms(read + at, to->terms.at, factors, offsets);
        }
        go_on(left);
        if (failed) PyErr_NoMemory();
        if (!failed) failed = learn_stems(to, stem);
    }
    return failed;
}

/* The terms of every text, and the keys; two lists, since so many pairs would keep the garbage collector busy. */
static PyObject *terms_and_keys(const Joined *to, const Read *read, Py_ssize_t count, Py_ssize_t bands)
{
    PyObject *terms = PyList_New(count), *keys = PyList_New(count), *both = NULL;
    int failed = !terms || !keys;
    for (Py_ssize_t at = 0; !failed && at < count; at++, read++) {
        PyObject *its = PyUnicode_DecodeUTF8(to->terms.at + read->begin, read->end - read->begin, NULL);
        PyObject *made = its ? (read->has_keys ? keys_of(read->mixed.lowest, bands) : PyTuple_New(0)) : NULL;
        failed = !made;
        if (failed) Py_XDECREF(its);
        else failed = PyList_SetItem(terms, at, its) < 0 || PyList_SetItem(keys, at, made) < 0;
    }
    if (!failed) both = PyTuple_Pack(2, terms, keys);
    Py_XDECREF(terms);
    Py_XDECREF(keys);
    return both;
}

/* read(texts, stems, stem, longest, most, factors, offsets, bands, fewest): of every text its terms, with spaces
   between, and its near-duplicate keys: none if it has fewer different terms. `stems` is a table that is used by nobody
   else meanwhile, and learns from `stem`; it begins anew once it has so many words. */
static PyObject *read_texts(PyObject *self, PyObject *args)
{
    PyObject *given, *capsule, *stem, *found = NULL;
    Py_buffer factors, offsets;
    Py_ssize_t longest, most, bands, fewest;
    if (!PyArg_ParseTuple(
            args, "OOOnny*y*nn", &given, &capsule, &stem, &longest, &most, &factors, &offsets, &bands, &fewest))
        return NULL;
    Texts texts = {0};
    Read *each = NULL;
    Joined to = {{join_word, join_as_is}, PyCapsule_GetPointer(capsule, table_name)};
    to.longest = longest;
    int failed = !to.stems || check_mixes(&factors, &offsets, bands);
    if (!failed && (to.stems->is_busy || longest > 64 || fewest > 16)) {
        PyErr_SetString(PyExc_ValueError, "a table that nobody uses, terms of 64 letters, 16 different ones at most");
        failed = 1;
    }
    if (!failed) {
        to.stems->is_busy = 1;
        if (to.stems->count >= (size_t)most) empty(to.stems);
        to.known = to.stems->count;
        failed = hold(given, &texts, ascii);
        if (!failed && !(each = calloc(texts.count + 1, sizeof *each))) failed = PyErr_NoMemory() == NULL;
        failed = failed || read_all(&to, &texts, each, stem, &factors, &offsets, fewest);
        if (failed) empty(to.stems); /* some of its words may have no stem */
        to.stems->is_busy = 0;
        found = failed ? NULL : terms_and_keys(&to, each, texts.count, bands);
    }
    free(each);
    free(to.terms.at);
    let_go(&texts);
    PyBuffer_Release(&factors);
    PyBuffer_Release(&offsets);
    return found;
}

/* --- numbered words ------------------------------------------------------------------------------------ */

/* What Python's split() parts ASCII at. */
static int is_space(char byte) { return byte == ' ' || (byte >= 9 && byte <= 13) || (byte >= 28 && byte <= 31); }

/* Adds the numbers of a text's words; how many they are, or -1 if there is no room. */
static int32_t number_words(Table *words, Bytes *numbers, const Text *text)
{
    int32_t count = 0;
    for (const char *at = text->bytes, *end = at + text->length, *next; at < end; at = next) {
        while (at < end && is_space(*at)) at++;
        for (next = at; next < end && !is_space(*next);) next++;
        if (next == at) break;
        const int32_t number = (int32_t)placed(words, at, next - at);
        if (number < 0 || append(numbers, &number, sizeof number)) return -1;
        count++;
    }
    return count;
}

static PyObject *list_of_words(const Table *table)
{
    PyObject *made = PyList_New(table->count);
    for (size_t number = 0; made && number < table->count; number++) {
        const Entry *its = entry(table, number);
        PyObject *word = PyBytes_FromStringAndSize(table->letters.at + its->word, its->length);
        if (!word || PyList_SetItem(made, number, word) < 0) Py_CLEAR(made);
    }
    return made;
}

/* numbered(texts, table): every word of these texts as a number, how many each text has (both as int32), and the words
   by number, in UTF-8. The table is empty, and nobody else's. */
static PyObject *numbered(PyObject *self, PyObject *args)
{
    PyObject *given, *capsule, *found = NULL;
    if (!PyArg_ParseTuple(args, "OO", &given, &capsule)) return NULL;
    Table *words = PyCapsule_GetPointer(capsule, table_name);
    Texts texts = {0};
    Bytes numbers = {0}, counts = {0};
    if (words && !hold(given, &texts, PyUnicode_AsUTF8AndSize)) {
        int failed = 0;
        PyThreadState *left = let_others_go_on(&texts);
        for (Py_ssize_t at = 0; !failed && at < texts.count; at++) {
            const int32_t count = number_words(words, &numbers, texts.each + at);
            failed = count < 0 || append(&counts, &count, sizeof count);
        }
        go_on(left);
        PyObject *named = failed ? PyErr_NoMemory() : list_of_words(words);
        if (named)
            found = Py_BuildValue(
                "y#y#N", numbers.at ? numbers.at : "", (Py_ssize_t)numbers.used, counts.at ? counts.at : "",
                (Py_ssize_t)counts.used, named);
    }
    free(numbers.at);
    free(counts.at);
    let_go(&texts);
    return found;
}

/* --- texts that say nearly the same -------------------------------------------------------------------- */

/* A text by the numbers of its terms, and by pairs of neighbouring ones. Those of the text that others are compared with come
   first in the table. */
typedef struct {
    Table *words;
    Bytes numbers, met, pairs; /* of its terms, in which text each was met last, of neighbours: ascending, each once */
    size_t terms, different, shared, neighbours;
} Said;

static int by_number(const void *one, const void *other)
{
    const uint64_t left = *(const uint64_t *)one, right = *(const uint64_t *)other;
    return (left > right) - (left < right);
}

/* Reads the terms of the text of this number, counted from 1; between any two of them is a space. */
static int read_terms(Said *said, const Text *text, uint32_t which, size_t known)
{
    said->numbers.used = said->terms = said->different = said->shared = 0;
    for (Py_ssize_t begin = 0, at = 0; at <= text->length; at++) {
        if (at < text->length && text->bytes[at] != ' ') continue;
        const Py_ssize_t placed_at = placed(said->words, text->bytes + begin, at - begin);
        const uint32_t number = (uint32_t)placed_at, never = 0;
        if (placed_at < 0 || append(&said->numbers, &number, sizeof number)) return -1;
        if (said->met.used < said->words->count * sizeof never && append(&said->met, &never, sizeof never)) return -1;
        uint32_t *met = (uint32_t *)said->met.at + number;
        said->different += *met != which;
        said->shared += *met != which && number < known;
        *met = which;
        said->terms++;
        begin = at + 1;
    }
    return 0;
}

static int read_neighbours(Said *said)
{
    const uint32_t *numbers = (const uint32_t *)said->numbers.at;
    said->pairs.used = said->neighbours = 0;
    for (size_t at = 1; at < said->terms; at++) {
        const uint64_t pair = (uint64_t)numbers[at - 1] << 32 | numbers[at];
        if (append(&said->pairs, &pair, sizeof pair)) return -1;
    }
    uint64_t *pairs = (uint64_t *)said->pairs.at;
    if (said->terms > 2) qsort(pairs, said->terms - 1, sizeof *pairs, by_number);
    for (size_t at = 0; at + 1 < said->terms; at++)
        if (!said->neighbours || pairs[at] != pairs[said->neighbours - 1]) pairs[said->neighbours++] = pairs[at];
    return 0;
}

static size_t pairs_shared(const Said *mine, const Said *theirs)
{
    const uint64_t *one = (const uint64_t *)mine->pairs.at, *other = (const uint64_t *)theirs->pairs.at;
    size_t shared = 0;
    for (size_t at = 0, there = 0; at < mine->neighbours && there < theirs->neighbours;) {
        shared += one[at] == other[there];
        const int is_less = one[at] < other[there], is_more = one[at] > other[there];
        at += !is_more;
        there += !is_less;
    }
    return shared;
}

/* Whether a text, whose terms were read, overlaps with mine; -1 if there is no room. */
static int overlaps(const Said *mine, Said *theirs, double threshold)
{
    const size_t fewer = mine->terms < theirs->terms ? mine->terms : theirs->terms;
    const double most = (double)(theirs->shared + fewer) - 1; /* if all neighbours were shared that can be */
    const double fewest = 2.0 * (double)(mine->different + theirs->different) - 2;
    if (most < threshold * (fewest - most)) return 0;
    if (read_neighbours(theirs)) return -1;
    const double shared = (double)(theirs->shared + pairs_shared(mine, theirs));
    const double all = (double)(mine->different + mine->neighbours + theirs->different + theirs->neighbours);
    return shared >= threshold * (all - shared);
}

/* The places of the texts that overlap with the first; NULL if there is no room, or with an error set. */
static PyObject *list_alike(const Texts *texts, Table *words, double threshold)
{
    Said mine = {.words = words}, theirs = {.words = words};
    empty(words);
    int failed = read_terms(&mine, texts->each, 1, 0) || read_neighbours(&mine);
    theirs.met = mine.met;
    const size_t known = words->count;
    PyObject *found = failed ? NULL : PyList_New(0);
    for (Py_ssize_t at = 1; found && at < texts->count; at++) {
        failed = read_terms(&theirs, texts->each + at, (uint32_t)at + 1, known);
        const int is_alike = failed ? -1 : overlaps(&mine, &theirs, threshold);
        PyObject *place = is_alike > 0 ? PyLong_FromSsize_t(at - 1) : NULL;
        if (is_alike < 0 || (is_alike && (!place || PyList_Append(found, place) < 0))) Py_CLEAR(found);
        Py_XDECREF(place);
    }
    free(mine.numbers.at);
    free(mine.pairs.at);
    free(theirs.numbers.at);
    free(theirs.pairs.at);
    free(theirs.met.at);
    return found;
}

/* alike(texts, table, threshold): the places of those that say nearly the same as the first, counted from the one after it.
   The table is nobody else's. */
static PyObject *alike(PyObject *self, PyObject *args)
{
    PyObject *given, *capsule, *found = NULL;
    double threshold;
    if (!PyArg_ParseTuple(args, "OOd", &given, &capsule, &threshold)) return NULL;
    Table *words = PyCapsule_GetPointer(capsule, table_name);
    Texts texts = {0};
    if (!words || hold(given, &texts, PyUnicode_AsUTF8AndSize)) return NULL;
    if (!texts.count) PyErr_SetString(PyExc_ValueError, "a text that others are compared with");
    else found = list_alike(&texts, words, threshold);
    if (!found && !PyErr_Occurred()) PyErr_NoMemory();
    let_go(&texts);
    return found;
}

/* --- word pieces --------------------------------------------------------------------------------------- */

#define BLANK (1 << 5)
#define DROPPED (1 << 6)

/* Numbers of pieces one after the other; those of words stand in a table, as terms do. */
typedef struct {
    Table *words;
    Bytes pieces, word;
    size_t known;
    int has_unknown;
} Pieced;

/* Adds the pieces of the word that was read. */
static int add_pieces(Pieced *to)
{
    if (!to->word.used) return 0;
    const Py_ssize_t number = placed(to->words, to->word.at, to->word.used);
    to->word.used = 0;
    if (number < 0) return -1;
    to->has_unknown |= (size_t)number >= to->known;
    if ((size_t)number >= to->known) return 0;
    const Entry *its = entry(to->words, number);
    return append(&to->pieces, to->words->letters.at + its->term, its->term_length);
}

/* Adds the pieces of a text, no more than so many; words are letters and digits, or a sign alone. */
static int piece_text(Pieced *to, const Text *text, size_t most)
{
    const size_t begun = to->pieces.used, end = begun + most * sizeof(int64_t);
    int failed = 0;
    to->word.used = 0;
    to->has_unknown = 0;
    for (Py_ssize_t at = 0; !failed && at < text->length && (to->pieces.used < end || to->has_unknown); at++) {
        const unsigned char byte = (unsigned char)text->bytes[at];
        if (kinds[byte] & DROPPED) continue;
        const int is_part = kinds[byte] & (LETTER | DIGIT);
        if (!is_part) failed = add_pieces(to);
        if (!failed && !(kinds[byte] & BLANK)) failed = append(&to->word, lowered + byte, 1);
        if (!failed && !is_part) failed = add_pieces(to);
    }
    failed = failed || add_pieces(to);
    if (to->has_unknown) to->pieces.used = begun;
    else if (to->pieces.used > end) to->pieces.used = end;
    return failed ? -1 : 0;
}

/* Learns the pieces of every word that was met for the first time: a tuple of numbers from `split`. */
static int learn_pieces(Pieced *to, PyObject *split)
{
    for (; to->known < to->words->count; to->known++) {
        const Entry *its = entry(to->words, to->known);
        PyObject *word = PyUnicode_FromStringAndSize(to->words->letters.at + its->word, its->length);
        PyObject *pieces = word ? PyObject_CallFunctionObjArgs(split, word, NULL) : NULL;
        Py_XDECREF(word);
        const size_t place = to->words->letters.used;
        const Py_ssize_t count = pieces ? PyTuple_Size(pieces) : -1;
        int failed = count < 0;
        for (Py_ssize_t at = 0; !failed && at < count; at++) {
            const int64_t number = PyLong_AsLongLong(PyTuple_GetItem(pieces, at));
            failed = number == -1 && PyErr_Occurred();
            if (!failed && append(&to->words->letters, &number, sizeof number)) failed = PyErr_NoMemory() == NULL;
        }
        Py_XDECREF(pieces);
        if (failed) return -1;
        Entry *changed = entry(to->words, to->known);
        changed->term = place;
        changed->term_length = to->words->letters.used - place;
    }
    return 0;
}

/* pieces(texts, words, split, most, remembered): the numbers of the first so many word pieces of each text, one text after
   the other, as int64; and how many each has, too. `words` is a table that is used by nobody else meanwhile, and learns from
   `split`; it begins anew once it has so many words. */
static PyObject *pieces(PyObject *self, PyObject *args)
{
    PyObject *given, *capsule, *split, *found = NULL;
    Py_ssize_t most, remembered;
    if (!PyArg_ParseTuple(args, "OOOnn", &given, &capsule, &split, &most, &remembered)) return NULL;
    Pieced to = {PyCapsule_GetPointer(capsule, table_name)};
    Texts texts = {0};
    Bytes counts = {0};
    if (!to.words) return NULL;
    if (to.words->is_busy || most < 0) {
        PyErr_SetString(PyExc_ValueError, "a table that nobody uses, and no fewer than no pieces");
        return NULL;
    }
    to.words->is_busy = 1;
    if (to.words->count >= (size_t)remembered) empty(to.words);
    to.known = to.words->count;
    int failed = hold(given, &texts, ascii);
    for (Py_ssize_t done = 0; !failed && done < texts.count;) {
        PyThreadState *left = let_others_go_on(&texts);
        for (to.has_unknown = 0; !failed && !to.has_unknown && done < texts.count; done += !to.has_unknown) {
            const size_t begun = to.pieces.used;
            failed = piece_text(&to, texts.each + done, most);
            const int64_t count = (to.pieces.used - begun) / sizeof(int64_t);
            if (!failed && !to.has_unknown) failed = append(&counts, &count, sizeof count);
        }
        if (!failed && to.has_unknown) /* the words of all others, so that they are learned at once */
            for (Py_ssize_t at = done + 1; !failed && at < texts.count; at++) {
                const size_t begun = to.pieces.used;
                failed = piece_text(&to, texts.each + at, most);
                to.pieces.used = begun;
            }
        go_on(left);
        if (failed) PyErr_NoMemory();
        else failed = learn_pieces(&to, split);
    }
    if (failed) empty(to.words); /* some of its words may have no pieces */
    else
        found = Py_BuildValue(
            "y#y#", to.pieces.at ? to.pieces.at : "", (Py_ssize_t)to.pieces.used, counts.at ? counts.at : "",
            (Py_ssize_t)counts.used);
    to.words->is_busy = 0;
    free(to.pieces.at);
    free(to.word.at);
    free(counts.at);
    let_go(&texts);
    return found;
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
    for (int code = 0; code < 32; code++) kinds[code] = DROPPED;
    kinds[127] = DROPPED;
    for (const char *blank = " \t\n\r"; *blank; blank++) kinds[(unsigned char)*blank] = BLANK;
}

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
    fill_tables();
    return PyModuleDef_Init(&module);
}
