"""The compiled loops that code vectors: codes.py says what each is for. Arrays are those of `Coded`."""

from typing import Any

from numpy.typing import NDArray

def put(
    arrays: tuple[NDArray[Any], ...],
    places: NDArray[Any],
    vectors: NDArray[Any],
    centre: NDArray[Any],
    along: NDArray[Any] | None,
    ranges: NDArray[Any],
    /,
) -> None: ...
def move(
    arrays: tuple[NDArray[Any], ...],
    places: NDArray[Any],
    centre: NDArray[Any],
    others: tuple[NDArray[Any], ...],
    kept: NDArray[Any],
    seen_from: NDArray[Any],
    /,
) -> None: ...
