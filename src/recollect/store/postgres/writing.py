"""What only PostgreSQL's writer does: it counts terms, and gives numbers within its namespace."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from recollect.store.base import Record
from recollect.store.postgres.statements import PostgresStatements
from recollect.store.postgres.words import tsvector
from recollect.store.statements import Row
from recollect.store.transaction import Numbered
from recollect.store.writing import OWN_COLUMNS, Writer

_values_but_terms = attrgetter(*(name for name in OWN_COLUMNS if name != "terms"))


FEW = 64
"""For fewer memories any plan will do."""


class PostgresWriter(Writer):
    """Holds the row of its namespace until the transaction ends, so that nobody else writes there meanwhile.

    That makes numbers, places in a session and the search for duplicates as safe as in one file, and writers
    of different namespaces never meet.
    """

    _statements: PostgresStatements

    def _claim(self) -> Row:
        self._entries = self._words = 0
        given = {"namespace": self.namespace}
        _, found = self._statements.together([("make_namespace", given), ("namespace", given)])
        namespace, languages, generation, next_generation, *last = found[0]
        self._last = dict(zip(("memory", "session", "document", "generation"), last, strict=True))
        self._claimed = dict(self._last)
        return namespace, languages, generation, next_generation

    def finish(self) -> None:
        """Write what still waits, and leave the counts with the namespace."""
        super().finish()
        if self._last != self._claimed or self._entries or self._words:
            counts: dict[str, Any] = {str(kind): last for kind, last in self._last.items()}
            self.run("settle", entries=self._entries, words=self._words, **counts)

    @property
    def memories_if_outgrown(self) -> int | None:
        """How many memories its namespace has had, if they have become many more with this transaction."""
        before, after = self._claimed["memory"], self._last["memory"]
        return after if after >= FEW and _magnitude(after) > _magnitude(before) else None

    def _last_numbers(self) -> dict[Numbered, int]:
        return self._last

    def insert(self, record: Record, *, document: int | None = None) -> int:
        """The row, with its keyword entry; its number."""
        self._entries += 1
        self._words += length(record.terms)
        return super().insert(record, document=document)

    own = (*(name for name in OWN_COLUMNS if name != "terms"), "terms", "length")

    def values(self, record: Record) -> tuple[Any, ...]:
        """A record's own columns; terms as PostgreSQL searches them."""
        return (*_values_but_terms(record), tsvector(record.terms), length(record.terms))

    def _terms_change(self, key: int, terms: str) -> None:
        before = self.value("length_of", number=key)
        self._entries += before is None
        self._words += length(terms) - (before or 0)

    def _remove_entries(self, numbers: Sequence[int]) -> int:
        entries, words = self.rows("count_entries", numbers=list(numbers))[0]
        self._entries -= entries
        self._words -= words
        return int(entries)


def _magnitude(number: int) -> int:
    """How often it has grown fourfold.

    >>> [_magnitude(number) for number in (0, 3, 4, 15, 16, 64)]
    [0, 1, 1, 2, 2, 3]
    """
    return number.bit_length() // 2


def entry(terms: str) -> dict[str, Any]:
    """The columns that a keyword entry is made from.

    >>> entry("lost updat")
    {'terms': "'lost':1 'updat':2", 'length': 2}
    """
    return {"terms": tsvector(terms), "length": length(terms)}


def length(terms: str) -> int:
    """How many terms there are.

    >>> length("lost updat"), length("")
    (2, 0)
    """
    return len(terms.split())
