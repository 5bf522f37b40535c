"""The inner loops over words in C. Arrays are given as contiguous buffers and come back as bytes."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

def best(
    terms: Sequence[tuple[Array, Array, float]],
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
