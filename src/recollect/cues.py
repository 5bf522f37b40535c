"""Many patterns over one text: each is searched for only where the text has the words that it needs.

What a pattern needs is read from the pattern itself, so that the answer is always the same as that of
searching for every one of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^]\\])*\]|.", re.DOTALL)
_UNKNOWN, _EDGE = "\0", "\1"
_A_DIGIT, _NOT_ASCII = "\2", "\3"
"""What a text may have beside words and signs: a digit somewhere, a character beyond ASCII."""

Tree = Iterable[tuple[Any, Any]]
Needs = tuple[frozenset[str], ...]
"""What a text must have: one of each of these sets."""


class Alternative:
    """One of the things that a pattern may match; compiled when it is first looked for."""

    def __init__(self, pattern: int, source: str) -> None:
        self.pattern = pattern
        self._source = source
        tree = list(_parser.parse(source))
        self._begins = tree[:1] == [(op.AT, op.AT_BEGINNING)] and not source.startswith("(?m)")
        self.literal = _longest_literal(tree)
        self.needs = _needs(tree)

    @cached_property
    def find(self) -> Callable[[str], object]:
        """What looks for it in a text; one that can only stand at the beginning is looked for there alone."""
        compiled = re.compile(self._source)
        return compiled.match if self._begins else compiled.search


class Patterns:
    """Patterns to be looked for in many texts. They may begin with (?m), and have no other flags."""

    def __init__(self, sources: Sequence[str]) -> None:
        self._always: list[Alternative] = []
        self._by_need: dict[str, list[Alternative]] = {}
        told: set[str] = set()
        for number, source in enumerate(sources):
            for alternative in alternatives(source):
                told.update(*self._index(Alternative(number, alternative)))
        self._needs = frozenset(self._by_need)
        self._signs = sorted(need for need in told if need.isprintable() and not need.isalnum())

    def _index(self, alternative: Alternative) -> Needs:
        """Kept under what fewest texts will have: of several sets, the smallest."""
        if not alternative.needs:
            self._always.append(alternative)
        for need in min(alternative.needs, key=len, default=()):
            self._by_need.setdefault(need, []).append(alternative)
        return alternative.needs

    def in_text(self, text: str) -> set[int]:
        """The numbers of those that occur in a text.

        >>> Patterns([r"\\bcats?\\b", r"\\bdog\\b", "^a"]).in_text("a cat")
        {0, 2}
        """
        has = set(_WORD.findall(text))
        has.update([sign for sign in self._signs if sign in text])
        if not text.isascii():
            has.add(_NOT_ASCII)
        if _DIGIT.search(text):
            has.add(_A_DIGIT)
        found = {each.pattern for each in self._always if each.find(text)}
        passed = set()
        for need in self._needs & has:
            for each in self._by_need[need]:
                if each not in passed and each.pattern not in found and each.literal in text:
                    passed.add(each)
                    if not any(map(has.isdisjoint, each.needs)) and each.find(text):
                        found.add(each.pattern)
        return found


def alternatives(source: str) -> list[str]:
    """What stands between the bars of a pattern, but for those within groups.

    >>> alternatives(r"(?m)^a(b|c)|[|]\\|d")
    ['(?m)^a(b|c)', '(?m)[|]\\\\|d']
    """
    flags = "(?m)" if source.startswith("(?m)") else ""
    found, depth = [flags], 0
    for token in _TOKEN.findall(source[len(flags) :]):
        depth += (token == "(") - (token == ")")
        if token == "|" and depth == 0:
            found.append(flags)
        else:
            found[-1] += token
    return found


def _longest_literal(tree: Tree) -> str:
    """The longest run of plain characters that is always there."""
    runs = [""]
    for kind, value in tree:
        if kind is op.LITERAL:
            runs[-1] += chr(value)
        else:
            runs.append("")
    return max(runs, key=len)


class _Read(NamedTuple):
    """What is known where a pattern has been read up to some place: the best need so far, an open word."""

    need: str
    word: str


def _needs(tree: Tree) -> Needs:
    """What a text must have for a pattern to occur in it: words, for the most part.

    >>> [sorted(needs) for needs in _needs(_parser.parse(r"\\b(cats?|dog) (run|sleep)\\b"))]
    [['cat', 'cats', 'dog'], ['run', 'sleep']]
    """
    known: list[frozenset[str]] = []
    reads = {_Read("", _UNKNOWN)}
    for node in tree:
        reads = _after(reads, [node])
        if not any(read.word for read in reads):
            known.append(frozenset(read.need for read in reads))
            reads = {_Read("", "")}
    known.append(frozenset(read.need for read in reads))
    return tuple(needs for needs in dict.fromkeys(known) if "" not in needs)


def _after(reads: set[_Read], tree: Tree) -> set[_Read]:
    """What is known after a part of a pattern, from what was known before it."""
    for kind, value in tree:
        if kind is op.SUBPATTERN and not value[1]:
            reads = _after(reads, value[-1])
        elif kind is op.BRANCH:
            reads = set().union(*(_after(reads, branch) for branch in value[1]))
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            reads = _after_repeat(reads, *value)
        elif kind not in (op.ASSERT, op.ASSERT_NOT):
            pieces = _pieces(kind, value)
            reads = {_read_on(read, piece) for piece in pieces for read in reads}
    return reads


def _after_repeat(reads: set[_Read], least: int, most: int, tree: Tree) -> set[_Read]:
    """None, one, or the last of several, before which there is something unknown."""
    found = set() if least else set(reads)
    if least <= 1:
        found |= _after(reads, tree)
    if most > 1:
        found |= _after({_Read(read.need, _UNKNOWN) for read in reads}, tree)
    return found


def _read_on(read: _Read, piece: str) -> _Read:
    if piece.isalnum() or piece == "_":
        return _Read(read.need if piece.isascii() else _better(read.need, _NOT_ASCII), read.word + piece)
    if piece in (_UNKNOWN, _A_DIGIT, _NOT_ASCII):
        return _Read(read.need if piece == _UNKNOWN else _better(read.need, piece), _UNKNOWN)
    need = read.need if read.word.startswith(_UNKNOWN) else _better(read.need, read.word)
    is_sign = piece.isascii() and piece.isprintable() and piece != " "
    return _Read(_better(need, piece) if is_sign else need, "")


def _better(one: str, other: str) -> str:
    """The need that fewer texts have: a word rather than anything else, a long one rather than a short."""
    return max(one, other, key=lambda need: (need.isalnum(), len(need), need))


def _pieces(kind: Any, value: Any) -> list[str]:
    """What one place of a pattern may stand for: characters, the edge of a word, something unknown."""
    if kind is op.LITERAL:
        return [chr(value)]
    if kind is op.AT:
        return [_EDGE if value in (op.AT_BEGINNING, op.AT_BOUNDARY, op.AT_END) else _UNKNOWN]
    if kind is not op.IN:
        return [_UNKNOWN]
    if all(member is op.LITERAL for member, _ in value):
        return [chr(code) for _, code in value]
    if value == [(op.CATEGORY, op.CATEGORY_DIGIT)]:
        return [_A_DIGIT]
    if all(_is_no_word(*each) for each in value):
        return [_EDGE]
    return [_NOT_ASCII if all(_is_beyond_ascii(*each) for each in value) else _UNKNOWN]


def _is_no_word(member: Any, value: Any) -> bool:
    if member is op.LITERAL:
        return not (chr(value).isalnum() or chr(value) == "_")
    return member is op.CATEGORY and value in (op.CATEGORY_SPACE, op.CATEGORY_NOT_WORD)


def _is_beyond_ascii(member: Any, value: Any) -> bool:
    return bool((member is op.RANGE and value[0] > 127) or (member is op.LITERAL and value > 127))
