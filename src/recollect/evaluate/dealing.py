"""Which memory goes where? By its number alone, so that nothing must be held to know it again."""

from __future__ import annotations

from dataclasses import dataclass

SHARE = 100
"""One memory of so many is in the small namespace, and one of so many has a given tag."""


def namespace(number: int) -> str:
    """What the bench calls its namespaces.

    >>> namespace(0)
    'bench-0001'
    """
    return f"bench-{number + 1:04}"


def id_of(number: int) -> str:
    """What the bench calls its memories, so that it knows them again."""
    return f"bench-{number + 1:09}"


def tag_of(number: int) -> str:
    """The tag of a memory: of any hundred that follow each other, each has another.

    It is a single term, so that every text is longer by one and no more.

    >>> tag_of(0), tag_of(7), tag_of(107)
    ('t00', 't07', 't08')
    """
    return f"t{(number // SHARE + number) % SHARE:02}"


@dataclass(frozen=True, slots=True)
class Dealing:
    """How memories are dealt: every hundredth to the small namespace, the others to the rest by blocks."""

    namespaces: int
    block: int

    @classmethod
    def of(cls, fewest: int, namespaces: int) -> Dealing:
        """So that every namespace has its block when there are `fewest` memories, and more of them later."""
        return cls(namespaces, max(1, fewest // namespaces))

    @property
    def small(self) -> int:
        """The namespace with one memory of a hundred; it comes after the others."""
        return self.namespaces

    def space(self, number: int) -> int:
        """Where a memory goes.

        >>> [Dealing.of(6, 2).space(number) for number in range(7)]
        [2, 0, 0, 1, 1, 1, 0]
        """
        return number // self.block % self.namespaces if number % SHARE else self.small


def count_asked_about(size: int) -> int:
    """How many memories are not in the small namespace."""
    return size - -(-size // SHARE)


def asked_about(place: int) -> int:
    """The number of a memory that is not in the small namespace, by its place among those.

    >>> [asked_about(place) for place in (0, 98, 99)]
    [1, 99, 101]
    """
    return place + place // (SHARE - 1) + 1
