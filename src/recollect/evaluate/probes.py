"""Questions made of memories: parts of a text must find it again. So a store is measured without labels.

Pure and deterministic: the same texts give the same probes, and those of one memory hardly depend on others.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.query.languages import detect, stop_words
from recollect.query.terms import analyse, fold
from recollect.times import moment

SEED = 20_260_101
FEWEST_WORDS = 6
"""A text with fewer is passed over: any part of it could be of another."""
_FEWEST_TELLING = 4
_MOST_IN_PHRASE = 8
_LONGEST_PHRASE = 100
_MOST_SCATTERED = 4
_PIECE = 4

KINDS = {
    "phrase": "some of its words, as they follow each other",
    "words": "a few of its telling words, in any order",
    "common": "the same without its rarest words",
    "misspelt": "the phrase, two letters swapped in its longest word",
}


@dataclass(frozen=True, slots=True)
class Probe:
    """A question that one memory answers, and how it was made of it (see KINDS)."""

    memory: str
    kind: str
    text: str

    @property
    def id(self) -> str:
        """What it is called in reports."""
        return f"{self.memory}:{self.kind}"


@dataclass(frozen=True, slots=True)
class _Text:
    """A memory's text, cut into words, and those among them that tell it from others."""

    memory: str
    text: str
    spans: tuple[tuple[int, int], ...]
    telling: tuple[str, ...]


def make(texts: Iterable[tuple[str, str]], number: int, seed: int = SEED) -> list[Probe]:
    """Probes of at most so many memories, given as ids and texts; one of each kind where the text allows it.

    Texts that are too short or that there are several of are passed over.

    >>> text = "We chose PostgreSQL for the billing service because of its row locks"
    >>> for probe in make([("choice", text)], 1):
    ...     print(f"{probe.kind}: {probe.text}")
    phrase: PostgreSQL for the billing
    words: row chose billing service
    common: service row locks billing
    misspelt: PsotgreSQL for the billing
    """
    given = list(texts)
    times = Counter(text.strip() for _, text in given)
    cut = [_cut(memory, text) for memory, text in sorted(given) if times[text.strip()] == 1]
    frequency = Counter(word for each in cut for word in set(map(fold, each.telling)))
    usable = [
        each for each in cut if len(each.spans) >= FEWEST_WORDS and len(each.telling) >= _FEWEST_TELLING
    ]
    chosen = sorted(random.Random(seed).sample(range(len(usable)), min(number, len(usable))))
    return [probe for i in chosen for probe in _probes(usable[i], frequency, seed)]


def texts_of(records: Iterable[Mapping[str, Any]], now: datetime) -> Iterator[tuple[str, str]]:
    """The id and text of every memory that holds now, from what `Memories.export_records` gives."""
    return ((record["id"], record["content"]) for record in records if holds(record, now))


def holds(record: Mapping[str, Any], now: datetime) -> bool:
    """Whether a record is a memory that a recall may return now."""
    return (
        record["type"] == "memory"
        and record["kind"] == "memory"
        and "deleted_at" not in record
        and "superseded_by" not in record
        and all(moment(record[end]) > now for end in ("expires_at", "valid_until") if end in record)
    )


def _cut(memory: str, text: str) -> _Text:
    """The words of a text, one after the other; in scripts without spaces, pieces of four characters."""
    language = detect(text)
    stops = stop_words([language])
    spans: list[tuple[int, int]] = []
    for term in analyse(text, language):
        first, end = spans[-1] if spans else (0, -1)
        if term.start == end and end - first < _PIECE:
            spans[-1] = first, term.end
        elif term.start >= end:
            spans.append((term.start, term.end))
    words = (text[start:end] for start, end in spans)
    telling = dict.fromkeys(word for word in words if fold(word) not in stops and len(word) > 1)
    return _Text(memory, text, tuple(spans), tuple(telling))


def _probes(text: _Text, frequency: Mapping[str, int], seed: int) -> Iterator[Probe]:
    chance = random.Random(f"{seed}:{text.memory}")
    phrase = _phrase(text, chance)
    yield Probe(text.memory, "phrase", phrase)
    yield Probe(text.memory, "words", " ".join(_some(text.telling, chance)))
    rarest_first = sorted(text.telling, key=lambda word: frequency[fold(word)])
    yield Probe(text.memory, "common", " ".join(_some(rarest_first[len(rarest_first) // 3 :], chance)))
    misspelt = _misspelt(phrase, chance)
    if misspelt != phrase:
        yield Probe(text.memory, "misspelt", misspelt)


def _phrase(text: _Text, chance: random.Random) -> str:
    """A third of the text, as it stands; it begins with a word that tells something."""
    length = min(_MOST_IN_PHRASE, max(3, len(text.spans) // 3))
    starts = [
        i for i in range(len(text.spans) - length + 1) if text.text[slice(*text.spans[i])] in text.telling
    ]
    first = chance.choice(starts or [0])
    start, end = text.spans[first][0], text.spans[first + length - 1][1]
    return " ".join(text.text[start : min(end, start + _LONGEST_PHRASE)].split())


def _some(words: Sequence[str], chance: random.Random) -> list[str]:
    return chance.sample(words, min(_MOST_SCATTERED, len(words)))


def _misspelt(phrase: str, chance: random.Random) -> str:
    """Two neighbouring letters swapped in the longest word, behind its first letter."""
    longest = max(phrase.split(), key=len)
    places = [
        i
        for i in range(1, len(longest) - 1)
        if longest[i : i + 2].isalpha() and longest[i].lower() != longest[i + 1].lower()
    ]
    if not places:
        return phrase
    at = chance.choice(places)
    swapped = longest[:at] + longest[at + 1] + longest[at] + longest[at + 2 :]
    return phrase.replace(longest, swapped, 1)
