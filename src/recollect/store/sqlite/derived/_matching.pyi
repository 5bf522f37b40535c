"""The compiled loops over words: kernel.py says what each is for."""

from typing import Any

from numpy.typing import NDArray

def hold(*arrays: NDArray[Any]) -> Any: ...
def find(segment: Any, terms: list[tuple[bytes, bytes | None]], /) -> list[tuple[int, int]]: ...
def having(segment: Any, places: list[tuple[int, int]], masked: NDArray[Any], /) -> list[int]: ...
def best(
    segment: Any,
    places: list[tuple[int, int]],
    rarity: list[float],
    weights: NDArray[Any],
    permitted: NDArray[Any],
    start: int,
    end: int,
    most: int,
    average: float,
    floor: float,
    /,
) -> tuple[list[int], list[float]]: ...
def told(
    numbers: list[int],
    scores: list[float],
    parts: list[tuple[Any, list[str | None], frozenset[int], list[tuple[int, int]]]],
    kinds: int,
    since: int,
    until: int,
    aside: frozenset[int],
    /,
) -> tuple[bytes, list[int]]: ...
