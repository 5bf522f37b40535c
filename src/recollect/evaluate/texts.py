"""Texts to measure with, made by chance yet spread as real ones are, and questions about any texts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate, islice

from recollect.types import Draft

VOCABULARY = 30_000
SHORTEST, LONGEST = 8, 40
"""How many words a text has."""
IN_A_SESSION = 40

_FUNCTION_WORDS = (
    "the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "was", "with", "on", "as", "at", "by",
    "from", "not", "we", "this",
)  # fmt: skip
"""Real ones, so that a made text passes for English and its commonest words are what a search leaves out."""
_ONSETS = (
    "b", "c", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "br", "ch", "cl",
    "dr", "fl", "gr", "pl", "pr", "sc", "sh", "sl", "sp", "st", "str", "th", "tr",
)  # fmt: skip
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ee", "ie", "oa", "oo", "ou")
_ENDINGS = (
    "", "", "", "b", "d", "g", "k", "l", "m", "n", "p", "r", "s", "t", "ck", "ll", "nd", "ng", "nt", "rd",
    "rk", "rn", "sh", "ss", "st",
)  # fmt: skip
_FOLDERS, _SUFFIXES = ("src", "docs", "tests", "lib", "etc"), ("py", "md", "c", "toml", "sql", "json")
_STEEPNESS = 1.1
"""Of the fall from common words to rare ones, as Zipf and Mandelbrot found it in English."""
_SPICED = 0.4
"""The share of texts that have an identifier, a number, a date or the name of a file in them."""
_FIRST_DAY, _DAYS = datetime(2024, 1, 1, tzinfo=UTC), 730
_COUNTED = 20_000
"""How many texts say which words are rare."""
_COMMON_COUNTS_LESS = 0.25
"""How much: nothing at 0."""


@cache
def vocabulary() -> tuple[str, ...]:
    """Words made of syllables, the commonest first; common words are short."""
    chance = random.Random(0)
    words = dict.fromkeys(_FUNCTION_WORDS)
    while len(words) < VOCABULARY:
        syllables = 1 if len(words) < 150 else 2 if len(words) < 4_000 else chance.choice((2, 3, 3, 4))
        begun = "".join(chance.choice(_ONSETS) + chance.choice(_VOWELS) for _ in range(syllables))
        words[begun + chance.choice(_ENDINGS)] = None
    return tuple(words)


def made(seed: int) -> Iterator[str]:
    """Texts without end: words by Zipf's law, with identifiers, numbers, dates and files; the same by seed.

    >>> next(made(1)) == next(made(1)) != next(made(2))
    True
    """
    chance = random.Random(seed)
    words = vocabulary()
    weights = list(accumulate((rank + 1.7) ** -_STEEPNESS for rank in range(1, len(words) + 1)))
    while True:
        chosen = chance.choices(words, cum_weights=weights, k=chance.randint(SHORTEST, LONGEST))
        if chance.random() < _SPICED:
            chosen[chance.randrange(1, len(chosen))] = _spice(chance, words)
        text = " ".join(chosen)
        yield f"{text[0].upper()}{text[1:]}."


def _spice(chance: random.Random, words: Sequence[str]) -> str:
    """What texts about work have between their words; most of it is in no other text."""
    one, other = (words[chance.randrange(100, 5_000)] for _ in range(2))
    match chance.randrange(6):
        case 0:
            return f"{one}{other.capitalize()}"
        case 1:
            return f"{one}_{other}"
        case 2:
            return str(chance.randrange(10 ** chance.randint(1, 6)))
        case 3:
            return f"{chance.randrange(20)}.{chance.randrange(20)}.{chance.randrange(30)}"
        case 4:
            return (_FIRST_DAY + timedelta(days=chance.randrange(_DAYS))).date().isoformat()
        case _:
            return f"{chance.choice(_FOLDERS)}/{one}/{other}.{chance.choice(_SUFFIXES)}"


def drafts(count: int, *, seed: int = 1) -> Iterator[Draft]:
    """Made texts over two years, in sessions of forty; one by one, since a million would fill the memory."""
    step = timedelta(days=_DAYS) / max(count, 1)
    for number, text in enumerate(islice(made(seed), count)):
        session = f"session-{number // IN_A_SESSION + 1}"
        yield Draft(text, created_at=_FIRST_DAY + number * step, session=session)


class Draw:
    """Questions about some of the texts that go by: four to eight words of each, rather the rare ones.

    `among` says how many texts go by, `about` the numbers of those that are asked about.
    """

    def __init__(self, about: Sequence[int], among: int, chance: random.Random) -> None:
        self._about = about
        self._texts = dict.fromkeys(about, "")
        self._step = max(1, among // _COUNTED)
        self._common: Counter[str] = Counter()
        self._chance = chance

    def see(self, number: int, text: str) -> None:
        """A text goes by; those that are asked about are kept, and some of all say which words are rare."""
        if number % self._step == 0:
            self._common.update({word.lower() for word in text.split()})
        if number in self._texts:
            self._texts[number] = text

    def questions(self) -> list[tuple[int, str]]:
        """The questions, each with the number of its text."""
        texts, common, chance = self._texts, self._common, self._chance
        return [(number, _question(texts[number], common, chance)) for number in self._about]


def picked(count: int, among: int, chance: random.Random) -> list[int]:
    """So many numbers below `among`, each once as long as there are enough."""
    few = chance.sample(range(among), min(count, among))
    return few + chance.choices(range(among), k=count - len(few))


def questions(texts: Sequence[str], count: int, seed: int = 1) -> list[tuple[int, str]]:
    """Questions about texts that are at hand, and which text each is about."""
    chance = random.Random(seed)
    draw = Draw(picked(count, len(texts), chance), len(texts), chance)
    for number, text in enumerate(texts):
        draw.see(number, text)
    return draw.questions()


def _question(text: str, common: Counter[str], chance: random.Random) -> str:
    words = list(dict.fromkeys(text.split()))
    wanted = chance.randint(4, 8)
    drawn = {word: chance.random() ** max(common[word.lower()], 1) ** _COMMON_COUNTS_LESS for word in words}
    rare = set(sorted(words, key=lambda word: -drawn[word])[:wanted])
    return " ".join(word for word in words if word in rare).strip(".,;:!?") or text
