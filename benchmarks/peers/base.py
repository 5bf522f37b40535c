"""What the harness asks of a peer. This runs in every peer's environment: plain Python and numpy."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

Mode = Literal["hybrid", "keyword", "vector"]
MODES: tuple[Mode, ...] = ("hybrid", "keyword", "vector")
Vector = NDArray[np.float32]
Hit = tuple[int, str]
"""The number of a memory, and its text."""
HITS = 10
AT_ONCE = 2_048
"""How many rows a build is handed at once."""
PARTS = 100
"""A scope is one of so many parts of the rows."""

_WORD = re.compile(r"\w+")
_LETTERS = "abcdefghij"


@dataclass(frozen=True, slots=True)
class Row:
    """A memory to keep. `part` is what it can be filtered by: 1% of the rows have the same."""

    number: int
    text: str
    created_at: str
    part: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class Question:
    """A question in plain words, and its vector."""

    text: str
    vector: Vector


def part_of(number: int) -> str:
    """Which hundredth of the rows this one belongs to, by a name that is one word and in no text.

    >>> part_of(7), part_of(107), part_of(18)
    ('zqxah', 'zqxah', 'zqxbi')
    """
    tens, ones = divmod(number % PARTS, 10)
    return f"zqx{_LETTERS[tens]}{_LETTERS[ones]}"


def plain_words(text: str) -> list[str]:
    """The words of a text as a regular expression sees them, for peers that don't tell theirs.

    >>> plain_words("The API's port_8080!")
    ['the', 'api', 's', 'port_8080']
    """
    return _WORD.findall(text.lower())


def wanted(name: str) -> tuple[str, dict[str, int]]:
    """A peer's adapter, and the settings that it is to be asked with.

    >>> wanted("lancedb:nprobes=100:refine=10"), wanted("chroma")
    (('lancedb', {'nprobes': 100, 'refine': 10}), ('chroma', {}))
    """
    adapter, *given = name.split(":")
    settings = {setting: value for setting, _, value in (each.partition("=") for each in given)}
    if wrong := [setting for setting, value in settings.items() if not value.isdecimal()]:
        raise SystemExit(f"{name}: {wrong[0]} needs a number, as in {adapter}:{wrong[0]}=100.")
    return adapter, {setting: int(value) for setting, value in settings.items()}


class Peer(ABC):
    """One store in a folder: new when the folder is empty, opened again when it is not.

    Peer libraries are imported when a peer is made, since the harness reads these facts without them.
    """

    requirements: ClassVar[Sequence[str]]
    """What pip installs, pinned; the first one's version is shown."""
    environment: ClassVar[Mapping[str, str]] = {}
    modes: ClassVar[Sequence[Mode]] = MODES
    hybrid_is: ClassVar[str]
    """What its hybrid recall consists of."""
    durable: ClassVar[str]
    """What has happened when `add` returns."""
    scope_is: ClassVar[str] = "a filter in both legs"
    words_are: ClassVar[str] = "plain lowercase words: its own are not told"
    idf: ClassVar[Literal["lucene", "fts5"]] = "lucene"

    known_settings: ClassVar[Sequence[str]] = ()
    """What can be said of how it is asked, in place of its defaults."""
    settings: Mapping[str, int] = {}

    @abstractmethod
    def __init__(self, folder: Path, dimensions: int) -> None:
        """Open or make it."""

    @abstractmethod
    def build(self, batches: Iterator[Sequence[Row]]) -> None:
        """Keep all rows and make every index, so that nothing is left to do when this returns."""

    @abstractmethod
    def add(self, row: Row) -> None:
        """Keep one row so that it is found by the next question; `durable` says how safely."""

    @abstractmethod
    def ask(self, mode: Mode, question: Question, part: str | None) -> list[Hit]:
        """The ten best with their texts, within a part if one is named."""

    @abstractmethod
    def close(self) -> None:
        """So that the folder can be copied."""

    def leg(self, mode: Mode, question: Question) -> list[int]:
        """The ten best of one leg, as it ranks them: what quality is judged by."""
        return [number for number, _ in self.ask(mode, question, None)]

    def words(self, text: str) -> Sequence[Any]:
        """What this peer takes for the words of a text."""
        return plain_words(text)

    def asked(self, question: str) -> Sequence[Any]:
        """The words it looks for; one that ends with * stands for all that begin so."""
        return list(dict.fromkeys(self.words(question)))

    def left_out(self) -> Sequence[int]:
        """Numbers of the rows that it did not keep, being copies of others."""
        return ()
