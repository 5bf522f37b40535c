"""The inner loops in C. Arrays are given as contiguous buffers and come back as bytes."""

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

def nearest(
    bits: Array, left: Array, trust: Array, offset: Array, start: int, end: int, most: int, /
) -> bytes: ...
def products(bytes: Array, scale: Array, places: Array, vector: Array, /) -> bytes: ...
def add(
    scores: Array,
    docs: Array,
    codes: Array,
    weights: Array,
    permitted: Array,
    rarity: float,
    start: int,
    most: int,
    /,
) -> float: ...
def promising(scores: Array, least: float, /) -> bytes: ...
def looked_up(docs: Array, codes: Array, wanted: Array, /) -> bytes: ...
