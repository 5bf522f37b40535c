"""The compiled loops over words: matching.py says what each is for."""

from typing import Any

from numpy.typing import NDArray

from recollect.store.sqlite.derived.matching import Leaf, Part, Place, Wanted

def hold(*arrays: NDArray[Any]) -> Any: ...
def find(segment: Any, wanted: Wanted, /) -> Place: ...
def search(
    leaves: list[Leaf],
    wanted: list[Wanted],
    doubled: int,
    memories: int,
    average: float,
    weights: NDArray[Any],
    most: int,
    /,
) -> bytes: ...
def rarity(leaves: list[Leaf], wanted: list[Wanted], memories: int, /) -> list[float]: ...
def positions(numbers: NDArray[Any], start: int, end: int, wanted: NDArray[Any], /) -> bytes: ...
def told(
    ranking: bytes,
    parts: list[Part],
    kinds: int,
    since: int,
    until: int,
    aside: bytes,
    /,
) -> tuple[bytes, list[int]]: ...
