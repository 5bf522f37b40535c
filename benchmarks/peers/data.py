"""The same texts, vectors and questions for everyone, in one folder of plain files."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.base import Question, Vector


class Data:
    """A folder that `making.py` wrote; this half needs nothing but numpy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._facts: dict[str, Any] = json.loads((folder / "facts.json").read_text("utf-8"))

    @property
    def memories(self) -> int:
        """How many rows there are."""
        return int(self._facts["memories"])

    @property
    def dimensions(self) -> int:
        """How long a vector is."""
        return int(self._facts["dimensions"])

    @property
    def facts(self) -> dict[str, Any]:
        """Where they come from."""
        return self._facts

    def rows(self) -> list[tuple[str, str]]:
        """Each text and its time."""
        with (self.folder / "rows.jsonl").open(encoding="utf-8") as lines:
            return [(row[0], row[1]) for row in map(json.loads, lines)]

    def vectors(self) -> Vector:
        """One row a text, mapped from the file."""
        mapped: Vector = np.load(self._facts["vectors"], mmap_mode="r")
        return mapped[: self.memories]

    def questions(self) -> list[Question]:
        """What is asked."""
        texts = json.loads((self.folder / "questions.json").read_text("utf-8"))
        vectors = np.load(self.folder / "questions.npy")
        return [Question(text, vector) for (_, text), vector in zip(texts, vectors, strict=True)]

    def about(self) -> list[int]:
        """The number of the text that each question was made from."""
        return [number for number, _ in json.loads((self.folder / "questions.json").read_text("utf-8"))]

    @cached_property
    def _fresh(self) -> tuple[list[str], Vector]:
        texts = json.loads((self.folder / "fresh.json").read_text("utf-8"))
        return texts, np.load(self.folder / "fresh.npy")

    def fresh(self, number: int) -> tuple[str, Vector]:
        """A text that is not among the rows, to be added."""
        texts, vectors = self._fresh
        return texts[number], vectors[number]

    @property
    def fresh_count(self) -> int:
        """How many of those there are."""
        return len(self._fresh[0])
