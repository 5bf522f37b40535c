"""The inner loops in C. Arrays are given as contiguous buffers and come back as bytes."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

def nearest(
    signs: Array,
    left: Array,
    trust: Array,
    offset: Array,
    bytes: Array,
    scale: Array,
    vector: Array,
    start: int,
    end: int,
    closely: int,
    most: int,
    /,
) -> tuple[bytes, bytes]: ...
def products(bytes: Array, scale: Array, places: Array, vector: Array, /) -> bytes: ...
def best(
    terms: Sequence[tuple[Array, Array, float, float]],
    weights: Array,
    lengths: Array,
    permitted: Array,
    start: int,
    end: int,
    most: int,
    average: float,
    floor: float,
    /,
) -> tuple[bytes, bytes]: ...
def place(letters: Array, cuts: Array, wanted: bytes, /) -> int: ...
