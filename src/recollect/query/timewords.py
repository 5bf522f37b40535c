"""The words of a text, and what stands around each: the ground the time grammar is built on."""

from __future__ import annotations

import re
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from recollect.query.calendar import NUMBERS, UNITS, Clock, Span, Weekly, Yearly


def word_set(words: str) -> frozenset[str]:
    """The words of a string, as a set."""
    return frozenset(words.split())


ISO_MOMENT = (
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ]([0-9]{2}:[0-9]{2})(:[0-9]{2}(?:[.,][0-9]{1,9})?)?(?: ?([Zz]|[+-][0-9]{2}(?::?[0-9]{2})?))?)?"
)
"""A date, then perhaps hours and minutes, then perhaps seconds, then perhaps a zone: four groups."""

_TOKEN = rf"{ISO_MOMENT}|[0-9]{{4}}-[Ww]?[0-9]{{2}}(?!\w)|'[sS](?!\w)|\w+|\.\.|[^\w\s]"
_SAME_MARKS = str.maketrans(
    {**dict.fromkeys("‘’ʼ", "'"), **dict.fromkeys("“”„‟«»", '"'), **dict.fromkeys("‒—―−", "–")}
)
_UNITS_PLURAL = {f"{unit}s": unit for unit in UNITS}

UNIT_WORDS = UNITS | frozenset(_UNITS_PLURAL) | {"weekend"}
RANGE_MARKS = word_set("to until till through thru – - ..")
GOES_ON = word_set(
    "about and or but with without for to when while where what who whom whose how why which that we i you"
    " they he she it did on in at by from during regarding concerning versus vs than as if because so then"
    " the a an my our your his her their its alone already again here there between before after until"
    " till through since only please"
)
"""Words that follow a complete time phrase; a noun or a verb may instead be part of something else."""

_PAST_SIGNS = word_set("did was were had said told wrote made went got came saw met knew thought ran")
_FUTURE_SIGNS = word_set("will shall ll gonna tomorrow next upcoming due deadline planned scheduled")


class Token(NamedTuple):
    """A word, a number, an ISO date or a mark: in lower case, and where it stands."""

    word: str
    start: int
    end: int
    is_capital: bool


class Reading(NamedTuple):
    """What was read, and the first token after it; without a span it is a time that can't be used."""

    span: Span | None
    after: int
    recurs: Weekly | Yearly | None = None


def same_marks(text: str) -> str:
    """The text with one kind of apostrophe, double quote and dash; every character keeps its place."""
    return text if text.isascii() else text.translate(_SAME_MARKS)


def tokens_of(text: str) -> list[Token]:
    """The words and marks of a text."""
    return [
        Token(found[0].lower(), *found.span(), found[0][0].isupper())
        for found in re.finditer(_TOKEN, same_marks(text))
    ]


class Words:
    """The tokens of one text, and questions about the neighbours of each."""

    def __init__(self, text: str, now: datetime, *, whole: bool) -> None:
        self.clock = Clock(now)
        self.whole = whole
        self.tokens = tokens_of(text)
        self.is_backwards = False
        self._joined_at = -1

    @cached_property
    def tells_of_future(self) -> bool:
        """Whether a question looks ahead."""
        return not self.whole and any(token.word in _FUTURE_SIGNS for token in self.tokens)

    @cached_property
    def tells_of_past(self) -> bool:
        """Whether a question looks back."""
        return not self.whole and any(
            token.word in _PAST_SIGNS or _is_past_tense(token.word) for token in self.tokens
        )

    def word(self, i: int) -> str:
        """Token i in lower case; "" outside the text."""
        return self.tokens[i].word if 0 <= i < len(self.tokens) else ""

    def lead(self, i: int) -> str:
        """The word before token i, past an article; "between" for both ends of a range."""
        if i == self._joined_at:
            return "between"
        before = self.word(i - 1)
        return self.word(i - 2) if before == "the" else before

    def stops(self, i: int) -> bool:
        """Whether token i is no noun or verb that would claim the words before it ("last summer intern")."""
        word = self.word(i)
        return self.whole or word in GOES_ON or not (word[:1].isalnum() or word == "'")

    def past_article(self, i: int) -> int:
        """The token after "the", or i itself."""
        return i + 1 if self.word(i) == "the" else i

    def number(self, i: int) -> int | None:
        """The number above zero that token i is, in digits or as a word."""
        word = self.word(i)
        if word.isascii() and word.isdigit():
            return int(word) or None if len(word) <= 6 else None
        return NUMBERS.get(word)

    def unit(self, i: int) -> str:
        """The unit of time that token i names, in the singular; "" when it names none."""
        word = self.word(i)
        return word if word in UNITS else _UNITS_PLURAL.get(word, "")

    def day_number(self, i: int) -> int | None:
        """The 3 of "3" or "3rd"."""
        found = re.fullmatch(r"([0-9]{1,2})(st|nd|rd|th)?", self.word(i))
        return int(found[1]) if found and 1 <= int(found[1]) <= 31 else None

    def is_ordinal(self, i: int) -> bool:
        """Whether a day number is written as "3rd"."""
        return not self.word(i).isdigit()

    def year_number(self, i: int) -> int | None:
        """The year that token i is; in a question only one that people write about today."""
        word = self.word(i)
        if len(word) != 4 or not (word.isascii() and word.isdigit()):
            return None
        year = int(word)
        if self.whole:
            return year or None
        return year if 1970 <= year <= 2100 else None

    def year_after(self, i: int) -> tuple[int | None, int]:
        """The year that completes what ends before token i ("of 2026", "last year"), and what follows."""
        at = i + 1 if self.word(i) in (",", "of") else i
        this_year = self.clock.today.year
        if self.word(at + 1) == "year" and self.word(at) in ("last", "this"):
            return this_year - (self.word(at) == "last"), at + 2
        year = self.year_number(at)
        if year is None or (year % 100 == 0 and not self.stops(at + 1)):
            return None, i
        return year, at + 1


def _is_past_tense(word: str) -> bool:
    return len(word) > 4 and word.endswith("ed") and not word.endswith("eed")
