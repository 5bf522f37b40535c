"""The inner loops over texts in C; but for `near_keys`, `alike` and `numbered`, for texts in ASCII."""

from array import array
from collections.abc import Callable
from typing import Any

def table(words: tuple[str, ...], /) -> object: ...
def terms(
    text: str, known: dict[str, tuple[str, ...]], words: dict[str, str], longest: int, most: int, /
) -> list[str]: ...
def elections(samples: list[str], words: object, voters: bytes, /) -> list[int]: ...
def led(
    texts: list[str], pieces: object, digit: str, code: bytes, letters: bytes, most: int, /
) -> tuple[list[int], list[int]]: ...
def winners(
    texts: list[str],
    led: list[int],
    ends: list[int],
    alternatives: list[Any],
    always: list[Any],
    patterns: list[int],
    groups: list[int],
    weights: array[float],
    group_count: int,
    least: float,
    /,
) -> list[int]: ...
def near_keys(
    terms: list[str], factors: array[int], offsets: array[int], bands: int, /
) -> tuple[int, ...]: ...
def alike(texts: list[str], table: object, threshold: float, /) -> list[int]: ...
def read(
    texts: list[str],
    stems: object,
    stem: Callable[[str], str],
    longest: int,
    most: int,
    factors: array[int],
    offsets: array[int],
    bands: int,
    fewest: int,
    /,
) -> tuple[list[str], list[tuple[int, ...]]]: ...
def pieces(
    texts: list[str], words: object, split: Callable[[str], tuple[int, ...]], most: int, remembered: int, /
) -> tuple[bytes, bytes]: ...
def numbered(texts: list[str], table: object, /) -> tuple[bytes, bytes, list[bytes]]: ...
