"""Which words are in this text? One analyser for writing and for asking, on every backend.

Words are folded (case, width, accents) and stemmed. Scripts without spaces give pairs of characters, so that
a query of two characters matches. Identifiers are kept whole *and* split, so that `getSessionContext` is
found by its name and by "session context", and `17.2` is not `17.3`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from recollect.frozen import dataclass
from recollect.query import compiled
from recollect.query.duplicates import MIXED, near_keys
from recollect.query.languages import detect, stem, stop_words

LONGEST_TERM = 64
_REMEMBERED_CHUNKS = 65_536

# Vowel signs and other marks that \w leaves out but that are parts of words.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0966-\u0dff\u200c\u200d"
)
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff"
    "\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff"
)
_SYMBOLS = "\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_LETTER = rf"[\w{_MARKS}{_UNSPACED}]"


class _Chunks:
    """What stands between spaces. A pattern for all scripts takes 5 ms to compile: ASCII has its own."""

    ascii = re.compile(r"\w+(?:(?:::|[-._/@:+&'\\])\w+)*(?:(?:\+\+|\#)(?!\w))?")

    @cached_property
    def any(self) -> re.Pattern[str]:
        return re.compile(
            rf"{_LETTER}+(?:(?:::|[-._/@:+&'’\\]){_LETTER}+)*(?:(?:\+\+|\#)(?!\w))?|[{_SYMBOLS}]"
        )  # fmt: skip

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return (self.ascii if text.isascii() else self.any).finditer(text)

    def findall(self, text: str) -> list[str]:
        return (self.ascii if text.isascii() else self.any).findall(text)


_CHUNK = _Chunks()
_PART = re.compile(rf"(?:(?!_)[\w{_MARKS}])+")
_ASCII_PART = re.compile("[A-Za-z0-9]+")
# Inside a part: FOOBar -> FOO Bar, fooBar -> foo Bar, sha256 -> sha 256 (three letters at least).
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z]{3})(?=[0-9])")
_CLITIC = re.compile(r"['’](?:s|re|ve|ll|d|m)$", re.IGNORECASE)
_NEGATION = re.compile(r"(?i)^[a-z]+n['’]t$")
_ACCENTS = re.compile("[\u0300-\u036f]")
_QUOTED = re.compile(r'["“]([^"“”]+)["”]')


_Placed = tuple[str, int, int]


class Term(NamedTuple):
    """A term and where in the text it stands."""

    text: str
    start: int
    end: int


class Word(NamedTuple):
    """One word of a query: the terms that count as it, and whether longer words that begin so count too."""

    terms: tuple[str, ...]
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that must follow each other: one sequence of terms for each language."""

    alternatives: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class KeywordQuery:
    """What to look for: any of the words; a text with all of the phrases goes first, where there is one."""

    words: tuple[Word, ...] = ()
    phrases: tuple[Phrase, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.words or self.phrases)

    @cached_property
    def terms(self) -> frozenset[str]:
        """Every term that is looked for, for marking them in a text."""
        of_phrases = [terms for phrase in self.phrases for terms in phrase.alternatives]
        return frozenset(chain(*[word.terms for word in self.words], *of_phrases))

    @cached_property
    def prefixes(self) -> tuple[str, ...]:
        """The beginnings that count as a match."""
        return tuple(term for word in self.words if word.prefix for term in word.terms)


def fold(text: str) -> str:
    """Case, width and accents taken away, so that "Ｃafé" and "cafe" are one term.

    >>> fold("Ｃafé"), fold("हिन्दी") == "हिन्दी"
    ('cafe', True)
    """
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", _ACCENTS.sub("", decomposed)).casefold()


def analyse(text: str, language: str = "en") -> Iterator[Term]:
    """The terms of a text, in order, each with its place.

    >>> [term.text for term in analyse("Ran migration_032 on PostgreSQL 17.2")]
    ['ran', 'migration_032', 'migrat', '032', 'on', 'postgresql', 'postgr', 'sql', '17.2', '17', '2']
    """
    for chunk in _CHUNK.finditer(text):
        offset = chunk.start()
        for term, start, end in _chunk_terms(chunk.group(), language):
            yield Term(term, offset + start, offset + end)


def places(text: str, language: str, query: KeywordQuery) -> list[tuple[int, int]]:
    """Where in a text the terms of a query stand."""
    terms, prefixes = query.terms, query.prefixes
    return [
        (chunk.start() + start, chunk.start() + end)
        for chunk in _CHUNK.finditer(text)
        for term, start, end in _chunk_terms(chunk[0], language)
        if term in terms or (prefixes and term.startswith(prefixes))
    ]


def terms_of(text: str, language: str = "en") -> list[str]:
    """The terms of a text, in order.

    >>> terms_of("我的猫 getSessionContext")
    ['我的', '的猫', '猫', 'getsessioncontext', 'get', 'session', 'context']
    """
    known = _known_terms(language)
    if compiled.COMPILED and text.isascii():
        return compiled._text.terms(text, known, known.words, LONGEST_TERM, _REMEMBERED_CHUNKS)
    return list(chain.from_iterable(map(known.__getitem__, _CHUNK.findall(text))))


def terms_and_keys(texts: Sequence[str], language: str = "en") -> Iterator[tuple[str, tuple[int, ...]]]:
    """The terms of each text, with spaces between, and its near-duplicate keys; many sooner than one by one.

    >>> [terms for terms, _ in terms_and_keys(["The API listens", "on port 8080"])]
    ['the api listen', 'on port 8080']
    """
    plain = [text for text in texts if text.isascii()] if compiled.COMPILED else []
    found = _stems(language).read(plain)
    for text in texts:
        yield next(found) if plain and text.isascii() else _joined(terms_of(text, language))


def _joined(terms: list[str]) -> tuple[str, tuple[int, ...]]:
    return " ".join(terms), near_keys(terms)


class _Stems:
    """Tables of the terms of words in a language: one, and more while several threads read at once."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._tables: list[object] = []

    def read(self, texts: list[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The terms and the near-duplicate keys of texts in ASCII."""
        if not texts:
            return iter(())
        try:
            table = self._tables.pop()
        except IndexError:
            table = compiled._text.table(())
        most = _REMEMBERED_CHUNKS
        terms, keys = compiled._text.read(texts, table, self._term, LONGEST_TERM, most, *MIXED)
        self._tables.append(table)
        return zip(terms, keys, strict=True)

    def _term(self, word: str) -> str:
        return _word_term(word, self._language)


_stems = lru_cache(maxsize=64)(_Stems)


class _KnownTerms(dict[str, tuple[str, ...]]):
    """The terms of chunks in a language, worked out when they are first met; the same few are met often."""

    def __init__(self, language: str) -> None:
        self._language = language
        self.words = _KnownWords(language)

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        terms = tuple([term for term, _, _ in _placed_terms(chunk, self._language)])
        if len(self) >= _REMEMBERED_CHUNKS:
            self.clear()
        self[chunk] = terms
        return terms


class _KnownWords(dict[str, str]):
    """The terms of words in lower case."""

    def __init__(self, language: str) -> None:
        self._language = language

    def __missing__(self, word: str) -> str:
        if len(self) >= _REMEMBERED_CHUNKS:
            self.clear()
        self[word] = term = _word_term(word, self._language)
        return term


_known_terms = lru_cache(maxsize=64)(_KnownTerms)


@lru_cache(maxsize=_REMEMBERED_CHUNKS)
def _chunk_terms(chunk: str, language: str) -> tuple[_Placed, ...]:
    return tuple(_placed_terms(chunk, language))


def _placed_terms(chunk: str, language: str) -> list[_Placed]:
    if chunk.isascii() and chunk.isalpha() and _has_no_hump(chunk):
        return [(_word_term(chunk, language), 0, len(chunk))]
    if "'" in chunk or "’" in chunk:
        if _NEGATION.match(chunk):
            return [(_without_apostrophes(fold(chunk)), 0, len(chunk))]
        chunk = _CLITIC.sub("", chunk)
    if chunk.isascii() or not _unspaced().search(chunk):
        return _identifier_terms(chunk, 0, language)
    found: list[_Placed] = []
    for run in _runs().finditer(chunk):
        if _unspaced().match(run.group()):
            found += _pair_terms(run.group(), run.start())
        else:
            found += _identifier_terms(run.group(), run.start(), language)
    return found


def _identifier_terms(chunk: str, offset: int, language: str) -> list[_Placed]:
    pattern = _ASCII_PART if chunk.isascii() else _PART
    parts = [
        (chunk[a:b], offset + a, offset + b)
        for part in pattern.finditer(chunk)
        for a, b in _hump_spans(part.start(), part.group())
    ]
    if len(parts) == 1 and parts[0][0] == chunk:
        return [(_word_term(chunk, language), offset, offset + len(chunk))]
    found: list[_Placed] = []
    is_word = chunk.isalpha()
    whole = _word_term(chunk, "none") if is_word else fold(chunk).strip("_")
    if whole and len(whole) <= LONGEST_TERM:  # before stemming, so that every language gives as many terms
        found.append((_word_term(chunk, language) if is_word else whole, offset, offset + len(chunk)))
    for part, start, end in parts:
        if len(part) > 1 or part.isdigit() or not part.isascii():
            found.append((_word_term(part, language), start, end))
    return found


def _hump_spans(offset: int, part: str) -> list[tuple[int, int]]:
    if part.isdigit() or (part.isalpha() and _has_no_hump(part)):
        return [(offset, offset + len(part))]
    cuts = [offset, *(offset + cut.start() for cut in _HUMP.finditer(part)), offset + len(part)]
    return list(pairwise(cuts))


def _has_no_hump(letters: str) -> bool:
    return letters.islower() or letters.isupper() or letters[1:].islower()


def _pair_terms(run: str, offset: int) -> list[_Placed]:
    """Overlapping pairs, and the last character alone: so a single character is found by its prefix."""
    folded = fold(run)
    if len(folded) != len(run):
        return [(folded[i : i + 2], offset, offset + len(run)) for i in range(len(folded))]
    last = offset + len(run)
    return [(folded[i : i + 2], offset + i, min(offset + i + 2, last)) for i in range(len(folded))]


def _word_term(word: str, language: str) -> str:
    normal = word if word.isascii() else unicodedata.normalize("NFKC", word)
    return fold(stem(normal.lower()[:LONGEST_TERM], language)) or fold(word)


SHORT_QUERY = 3
MOST_WORDS = 1_000
MOST_PHRASES = 20
"""What a longer query has beyond these is not looked for: a page pasted as a query still gets its answer."""
_SHORTEST_PREFIX = 3


def parse_query(
    query: str,
    *,
    languages: Sequence[str] = ("en",),
    expansion: Iterable[str] = (),
    prefix: bool = True,
    language: str | None = None,
) -> KeywordQuery:
    """What to look for, from a question in plain words.

    Stop words are dropped unless nothing else is left; "quoted words" become a phrase; the words of a short
    query also match longer words that begin with them. `languages` are those the memories are stemmed in,
    `language` is that of the query, where it is known.

    >>> parse_query("what about the migrations?").words
    (Word(terms=('migrat',), prefix=True),)
    >>> parse_query('the "lost update" bug').phrases
    (Phrase(alternatives=(('lost', 'updat'),)),)
    """
    languages = tuple(dict.fromkeys(languages)) or ("en",)
    chunks = _CHUNK.findall(query)
    for text in expansion:
        chunks += _CHUNK.findall(text)
    del chunks[MOST_WORDS:]
    stops = stop_words([language or detect(query) if len(languages) > 1 else languages[0]])
    telling = [
        chunk
        for chunk in chunks
        if (chunk.lower() if chunk.isascii() and "'" not in chunk else _spelled(chunk)) not in stops
    ]
    words = dict.fromkeys([word for chunk in telling or chunks for word in _query_words(chunk, languages)])
    if prefix and len(words) <= SHORT_QUERY:
        words = {Word(word.terms, word.prefix or _may_begin_a_word(word)): None for word in words}
    if '"' not in query and "“" not in query:
        return KeywordQuery(tuple(words))
    phrases = [_phrase(quoted, languages) for quoted in _QUOTED.findall(query)[:MOST_PHRASES]]
    return KeywordQuery(tuple(words), tuple([phrase for phrase in phrases if phrase.alternatives]))


def _spelled(chunk: str) -> str:
    """As stop words are spelled."""
    return _without_apostrophes(fold(chunk))


def _without_apostrophes(word: str) -> str:
    return word.replace("'", "").replace("’", "")


def _may_begin_a_word(word: Word) -> bool:
    return all(len(term) >= _SHORTEST_PREFIX and term.isalpha() for term in word.terms)


@lru_cache(maxsize=10_000)
def _query_words(chunk: str, languages: tuple[str, ...]) -> tuple[Word, ...]:
    """One word for each term of a chunk, with its stems in the other languages as alternatives."""
    analysed = [[term for term, _, _ in _chunk_terms(chunk, language)] for language in languages]
    stops = stop_words(languages)
    words, previous = [], ""
    for terms in zip(*analysed, strict=True):
        alone = _is_unspaced(terms[0])
        if not (alone and previous[1:] == terms[0]):
            others = (term for term in terms[1:] if term not in stops)
            words.append(Word(tuple(dict.fromkeys([terms[0], *others])), prefix=alone))
        previous = terms[0]
    return tuple(words)


def _phrase(quoted: str, languages: Sequence[str]) -> Phrase:
    analysed = [terms_of(quoted, language)[:MOST_WORDS] for language in languages]
    for terms in analysed:
        if len(terms) > 1 and _is_unspaced(terms[-1]) and terms[-2][1:] == terms[-1]:
            terms.pop()
    return Phrase(tuple(dict.fromkeys(tuple(terms) for terms in analysed if terms)))


def _is_unspaced(term: str) -> bool:
    return len(term) == 1 and not term.isascii() and _unspaced().match(term) is not None


@cache
def _unspaced() -> re.Pattern[str]:
    """Compiled when it is first needed: it takes milliseconds, and a search should start without."""
    return re.compile(f"[{_UNSPACED}]")


@cache
def _runs() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
