"""The compiled loops over vectors: comparing.py says what each is for."""

from typing import Any

from numpy.typing import NDArray

def hold(file: int, place: int, /, *arrays: NDArray[Any]) -> Any: ...
def begin(
    segment: Any,
    vector: NDArray[Any],
    permitted: NDArray[Any] | bytes,
    start: int,
    end: int,
    closely: int,
    most: int,
    exact: int,
    worth_help: int,
    /,
) -> Any: ...
def finish(asked: Any, /) -> tuple[bytes, bytes]: ...
def begin_at(
    segment: Any, vector: NDArray[Any], places: NDArray[Any], most: int, exact: int, worth_help: int, /
) -> Any: ...
def best(vectors: bytes, ranking: bytes, most: int, /) -> tuple[bytes, bytes]: ...
def among(memories: NDArray[Any], scores: NDArray[Any], wanted: bytes, apart: int, /) -> bytes: ...
def similar(
    segment: Any, vector: NDArray[Any], memories: bytes, apart: int, start: int, end: int, /
) -> bytes: ...
