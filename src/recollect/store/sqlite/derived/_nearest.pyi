"""The inner loops over vectors in C. Arrays are given as contiguous buffers and come back as bytes."""

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
    permitted: Array,
    start: int,
    end: int,
    closely: int,
    most: int,
    /,
) -> tuple[bytes, bytes]: ...
def products(bytes: Array, scale: Array, places: Array, vector: Array, /) -> bytes: ...
