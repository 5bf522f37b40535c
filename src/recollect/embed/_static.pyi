"""The compiled loop of an embedder that is a table: static.py says what it is for."""

from array import array
from typing import Any

from numpy.typing import NDArray

def add(
    vectors: NDArray[Any],
    numbers: bytes,
    counts: array[int],
    rows: NDArray[Any],
    scales: NDArray[Any],
    /,
) -> None: ...
