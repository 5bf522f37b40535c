"""The default ranking in C: mixing.py says what it is for."""

from typing import Any

def contenders(
    keyword: bytes,
    keyword_names: Any,
    semantic: bytes,
    semantic_names: Any,
    extra: bytes,
    constants: tuple[float, ...],
    weights: tuple[float, float],
    number: int,
    cut: bool,
    drops_nothing: bool,
    now: int,
    meant: frozenset[str],
    prefers: bool,
    since: int,
    until: int,
    limit: int,
    least: float,
    /,
) -> tuple[int, list[tuple[Any, ...]]]: ...
def sharing(contents: list[str], compared: int, least: float, /) -> list[tuple[int, int]]: ...
