"""Which words are in this text? One analyser for writing and for asking, on every backend.

Words are folded (case, width, accents) and stemmed. Scripts without spaces give pairs of characters, so that
a query of two characters matches. Identifiers are kept whole *and* split, so that `getSessionContext` is
found by its name and by "session context", and `17.2` is not `17.3`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import islice, pairwise
from typing import NamedTuple

from recollect.query.languages import detect, stem, stop_words

LONGEST_TERM = 64

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

_CHUNK = re.compile(
    rf"{_LETTER}+(?:(?:::|[-._/@:+&'’\\]){_LETTER}+)*(?:(?:\+\+|\#)(?!\w))?|[{_SYMBOLS}]"
)  # fmt: skip
_PART = re.compile(rf"(?:(?!_)[\w{_MARKS}])+")
# Inside a part: FOOBar -> FOO Bar, fooBar -> foo Bar, sha256 -> sha 256 (three letters at least).
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z]{3})(?=[0-9])")
_CLITIC = re.compile(r"['’](?:s|re|ve|ll|d|m)$", re.IGNORECASE)
_NEGATION = re.compile(r"(?i)^[a-z]+n['’]t$")
_ACCENTS = re.compile("[\u0300-\u036f]")
_QUOTED = re.compile(r'["“]([^"“”]+)["”]')
_APOSTROPHE = re.compile("['’]")


class Term(NamedTuple):
    """A term and where in the text it stands."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Word:
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
        of_phrases = (term for phrase in self.phrases for terms in phrase.alternatives for term in terms)
        return frozenset(term for word in self.words for term in word.terms).union(of_phrases)

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
    return [term[0] for chunk in _CHUNK.findall(text) for term in _chunk_terms(chunk, language)]


@lru_cache(maxsize=65_536)
def _chunk_terms(chunk: str, language: str) -> tuple[tuple[str, int, int], ...]:
    if chunk.isalpha() and chunk.isascii() and (chunk.islower() or chunk[1:].islower() or chunk.isupper()):
        return ((_word_term(chunk, language), 0, len(chunk)),)
    return tuple(_compound_terms(chunk, language))


def _compound_terms(chunk: str, language: str) -> Iterator[tuple[str, int, int]]:
    if _NEGATION.match(chunk):
        yield _APOSTROPHE.sub("", fold(chunk)), 0, len(chunk)
        return
    chunk = _CLITIC.sub("", chunk)
    if chunk.isascii() or not _unspaced().search(chunk):
        yield from _identifier_terms(chunk, 0, language)
        return
    for run in _runs().finditer(chunk):
        if _unspaced().match(run.group()):
            yield from _pair_terms(run.group(), run.start())
        else:
            yield from _identifier_terms(run.group(), run.start(), language)


def _identifier_terms(chunk: str, offset: int, language: str) -> Iterator[tuple[str, int, int]]:
    parts = [
        (chunk[a:b], offset + a, offset + b)
        for part in _PART.finditer(chunk)
        for a, b in _hump_spans(part.start(), part.group())
    ]
    if len(parts) == 1 and parts[0][0] == chunk:
        yield _word_term(chunk, language), offset, offset + len(chunk)
        return
    is_word = chunk.isalpha()
    whole = _word_term(chunk, "none") if is_word else fold(chunk).strip("_")
    if whole and len(whole) <= LONGEST_TERM:  # before stemming, so that every language gives as many terms
        yield _word_term(chunk, language) if is_word else whole, offset, offset + len(chunk)
    for part, start, end in parts:
        if len(part) > 1 or part.isdigit() or not part.isascii():
            yield _word_term(part, language), start, end


def _hump_spans(offset: int, part: str) -> Iterator[tuple[int, int]]:
    cuts = [0, *(cut.start() for cut in _HUMP.finditer(part)), len(part)]
    for start, end in pairwise(cuts):
        yield offset + start, offset + end


def _pair_terms(run: str, offset: int) -> Iterator[tuple[str, int, int]]:
    """Overlapping pairs, and the last character alone: so a single character is found by its prefix."""
    folded = fold(run)
    exact = len(folded) == len(run)
    for i in range(len(folded)):
        start, end = (offset + i, offset + min(i + 2, len(run))) if exact else (offset, offset + len(run))
        yield folded[i : i + 2], start, end


def _word_term(word: str, language: str) -> str:
    return fold(stem(unicodedata.normalize("NFKC", word).lower()[:LONGEST_TERM], language)) or fold(word)


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
    found = (chunk.group() for text in (query, *expansion) for chunk in _CHUNK.finditer(text))
    chunks = list(islice(found, MOST_WORDS))
    stops = stop_words([language or detect(query) if len(languages) > 1 else languages[0]])
    telling = [chunk for chunk in chunks if _APOSTROPHE.sub("", fold(chunk)) not in stops]
    words = dict.fromkeys(word for chunk in telling or chunks for word in _query_words(chunk, languages))
    if prefix and len(words) <= SHORT_QUERY:
        words = {Word(word.terms, word.prefix or _may_begin_a_word(word)): None for word in words}
    phrases = (_phrase(quoted, languages) for quoted in _QUOTED.findall(query)[:MOST_PHRASES])
    return KeywordQuery(tuple(words), tuple(phrase for phrase in phrases if phrase.alternatives))


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
