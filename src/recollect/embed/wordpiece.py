"""BERT's word pieces: any text in, piece numbers out, equal to the reference tokenizer's.

Text is data: "[SEP]" written in a text is three words, never the separator token.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from pathlib import Path
from unicodedata import combining, normalize

from recollect.embed.unicode8 import CJK, DROPPED, NONSPACING_MARKS, PUNCTUATION
from recollect.query import compiled

LONGEST_WORD = 100
"""A word of more characters than this is one unknown piece."""

_BLOCK = 4096
_REMEMBERED_WORDS = 65_536
_REMEMBERED_CHARACTERS = 16_384
_ASCII_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+")
_ASCII_WORD = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")


class _Characters(dict[int, str], ABC):
    """A table for ``str.translate`` that works out each character when it is first met."""

    def __missing__(self, code: int) -> str:
        replacement = self.replacement(code)
        if len(self) < _REMEMBERED_CHARACTERS:
            self[code] = replacement
        return replacement

    @abstractmethod
    def replacement(self, code: int) -> str:
        """What this character becomes."""


class _Cleaned(_Characters):
    """Control characters and lone surrogates go; every white space is a space."""

    def replacement(self, code: int) -> str:
        character = chr(code)
        if code in DROPPED or "\ud800" <= character <= "\udfff":
            return ""
        return " " if character.isspace() else character


class _Folded(_Characters):
    """Accents go, letters are lowered, punctuation and CJK characters stand alone."""

    def replacement(self, code: int) -> str:
        if code in NONSPACING_MARKS:
            return ""
        lowered = chr(code).lower()
        return f" {lowered} " if code in PUNCTUATION or code in CJK else lowered


_CLEANED = _Cleaned()
_FOLDED = _Folded()


def words(text: str) -> Iterator[list[str]]:
    """The words of a text as BERT splits them, in lists, each read only when it is asked for.

    >>> list(words("Émile's 北京"))
    [['emile', "'", 's', '北', '京']]
    """
    if _is_plain(text):
        yield _ASCII_WORD.findall(_ASCII_CONTROL.sub("", text).lower())
    else:
        yield from _words_by_block(text)


def _is_plain(text: str) -> bool:
    return len(text) <= _BLOCK and text.isascii()


def _words_by_block(text: str) -> Iterator[list[str]]:
    unfinished = ""
    start = 0
    while start < len(text):
        end = _end_of_block(text, start)
        folded = unfinished + normalize("NFD", text[start:end].translate(_CLEANED)).translate(_FOLDED)
        found = folded.split()
        ends_in_word = bool(found) and not folded.endswith(" ")
        # One character over the limit is enough to know that the word is too long, however it goes on.
        unfinished = found.pop()[: LONGEST_WORD + 1] if ends_in_word and end < len(text) else ""
        yield found
        start = end


def _end_of_block(text: str, start: int) -> int:
    """Where a block can end: before a character that no accent can be moved across."""
    end = start + _BLOCK
    while end < len(text):
        cleaned = text[end].translate(_CLEANED)
        if cleaned and not combining(normalize("NFD", cleaned)[0]):
            return end
        end += 1
    return len(text)


class _PiecesOfWord(dict[str, tuple[int, ...]]):
    """The pieces of words, worked out when they are first met; the same few are met often."""

    def __init__(self, split: Callable[[str], tuple[int, ...]]) -> None:
        self._split = split

    def __missing__(self, word: str) -> tuple[int, ...]:
        pieces = self._split(word)
        if len(self) >= _REMEMBERED_WORDS:
            self.clear()
        self[word] = pieces
        return pieces


class WordPieces:
    """A vocabulary of word pieces; safe to use from several threads at once."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """``vocabulary``: the pieces in the order of their numbers."""
        self._numbers = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
        self._longest_piece = max(map(len, self._numbers))
        self.unknown = self._numbers["[UNK]"]
        self._first = self._numbers["[CLS]"]
        self._last = self._numbers["[SEP]"]
        self._pieces_of_word = _PiecesOfWord(self._longest_match_first)
        self._tables: list[object] = []  # of the pieces of words, for C; one for each thread that reads

    @classmethod
    def from_file(cls, path: Path) -> WordPieces:
        """Read a ``vocab.txt``: one piece a line."""
        return cls(path.read_text(encoding="utf-8").rstrip("\n").split("\n"))

    def encode(self, text: str, most: int) -> list[int]:
        """The numbers of ``[CLS]``, the text's pieces and ``[SEP]``: ``most`` numbers at most."""
        return [self._first, *self.pieces(text, most - 2), self._last]

    def pieces(self, text: str, most: int) -> list[int]:
        """The numbers of the text's first ``most`` pieces; hardly more of the text is read than they need."""
        found: list[int] = []
        for block in words(text):
            found += chain.from_iterable(map(self._pieces_of_word.__getitem__, block))
            if len(found) >= most:
                return found[:most]
        return found

    def pieces_of_many(self, texts: Sequence[str], most: int) -> Iterator[array[int] | memoryview[int]]:
        """The same of each text, as buffers of int64; many sooner than one by one."""
        plain = [text for text in texts if _is_plain(text)] if compiled.COMPILED else []
        found = self._plain_pieces(plain, most) if plain else iter(())
        for text in texts:
            yield next(found) if plain and _is_plain(text) else array("q", self.pieces(text, most))

    def _plain_pieces(self, texts: list[str], most: int) -> Iterator[array[int] | memoryview[int]]:
        try:
            table = self._tables.pop()
        except IndexError:
            table = compiled._text.table(())
        numbers, counts = compiled._text.pieces(
            texts, table, self._longest_match_first, most, _REMEMBERED_WORDS
        )
        self._tables.append(table)
        every = memoryview(numbers).cast("q")
        ends = accumulate(memoryview(counts).cast("q"), initial=0)
        return (every[begin:end] for begin, end in pairwise(ends))

    def _longest_match_first(self, word: str) -> tuple[int, ...]:
        if len(word) > LONGEST_WORD:
            return (self.unknown,)
        pieces: list[int] = []
        start, mark = 0, ""
        while start < len(word):
            for end in range(min(len(word), start + self._longest_piece), start, -1):
                number = self._numbers.get(mark + word[start:end])
                if number is not None:
                    break
            else:
                return (self.unknown,)
            pieces.append(number)
            start, mark = end, "##"
        return tuple(pieces)
