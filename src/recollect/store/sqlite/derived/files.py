"""A file of named arrays: written once, then mapped by every process that reads it."""

from __future__ import annotations

import errno
import json
import mmap
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

MAGIC = b"RClt seg"
VERSION = 5
UNFINISHED = ".unfinished"
_ALIGNED = 64
_AT_ONCE = 1 << 20
_FIXED = len(MAGIC) + 12

Arrays = Mapping[str, NDArray[Any]]


class Unreadable(Exception):
    """A segment that is missing, cut off, or not what it should be."""


class Shape(NamedTuple):
    """What an array will be."""

    dtype: DTypeLike
    shape: tuple[int, ...]


def shape_of(array: NDArray[Any]) -> Shape:
    """The shape that a file needs to hold this array."""
    return Shape(array.dtype, array.shape)


@contextmanager
def making(path: Path, shapes: Mapping[str, Shape]) -> Iterator[Arrays]:
    """Arrays to be filled; the file is there, whole and on the disk, once the block has ended well."""
    head, places, size = _layout(shapes)
    unfinished = path.with_suffix(UNFINISHED)
    try:
        with unfinished.open("w+b") as file:
            _take_room(file, size)
            with mmap.mmap(file.fileno(), size) as mapped:
                mapped[: len(head)] = head
                arrays = {name: _view(mapped, place, shapes[name]) for name, place in places.items()}
                try:
                    yield arrays
                finally:
                    arrays.clear()
                mapped.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _take_room(file: IO[bytes], size: int) -> None:
    """Writing to a mapped file for which there is no room would be fatal."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file.fileno(), 0, size)
            return
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                raise
    for start in range(0, size, _AT_ONCE):
        file.write(bytes(min(_AT_ONCE, size - start)))
    file.flush()


def write(path: Path, arrays: Arrays) -> None:
    """A file of these arrays."""
    with making(path, {name: shape_of(array) for name, array in arrays.items()}) as room:
        for name, array in arrays.items():
            room[name][...] = array


def read(path: Path) -> tuple[dict[str, NDArray[Any]], int]:
    """The arrays of a file, mapped, and how long it is; Unreadable if it is not whole."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as looked:
            head = _head(looked)
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        arrays = _arrays(mapped, head)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"{path.name}: {error}") from error
    return arrays, head["size"]


def let_go(array: NDArray[Any]) -> None:
    """Keep nothing of its file in this process's memory; whatever is looked at again comes back by itself."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    mapped = base.obj if isinstance(base, memoryview) else base
    if isinstance(mapped, mmap.mmap) and sys.platform == "linux":  # elsewhere it might lose what was written
        with suppress(OSError):  # a program may hold all its memory where it is
            mapped.madvise(mmap.MADV_DONTNEED)


def place_of(path: Path, name: str) -> int:
    """Where in a file an array begins; Unreadable if that can't be told."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as looked:
            return next(int(place) for each, *_, place in _head(looked)["arrays"] if each == name)
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        raise Unreadable(f"{path.name}: {error}") from error


@contextmanager
def changing(path: Path) -> Iterator[Arrays]:
    """The arrays of a file, to be written over where they stand; whoever has mapped it sees it at once."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        arrays = _arrays(mapped, _head(mapped))
        try:
            yield arrays
        finally:
            arrays.clear()
        mapped.flush()


def remove(paths: Iterable[Path]) -> None:
    """Remove files; one that another process has open elsewhere may stay until later."""
    for path in paths:
        with suppress(OSError):
            path.unlink()


def _head(mapped: mmap.mmap) -> dict[str, Any]:
    if mapped[: len(MAGIC)] != MAGIC:
        raise ValueError("it does not begin like a segment")
    length, checksum, version = (
        int.from_bytes(mapped[len(MAGIC) + i : len(MAGIC) + i + 4], "little") for i in (0, 4, 8)
    )
    text = mapped[_FIXED : _FIXED + length]
    if version != VERSION or zlib.crc32(text) != checksum:
        raise ValueError("its head is damaged, or of another version")
    head: dict[str, Any] = json.loads(text)
    if len(mapped) != head["size"]:
        raise ValueError("it is cut off")
    return head


def _arrays(mapped: mmap.mmap, head: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    return {
        name: _view(mapped, place, Shape(np.dtype(dtype), tuple(shape)))
        for name, dtype, shape, place in head["arrays"]
    }


def _layout(shapes: Mapping[str, Shape]) -> tuple[bytes, dict[str, int], int]:
    """The head, where each array begins, and how long the file is."""
    room = 4096
    while True:
        place, places = room, {}
        for name, (dtype, shape) in shapes.items():
            places[name] = place
            size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
            place += -(-size // _ALIGNED) * _ALIGNED
        described = [[name, np.dtype(s.dtype).str, s.shape, places[name]] for name, s in shapes.items()]
        text = json.dumps({"arrays": described, "size": place}).encode()
        if _FIXED + len(text) <= room:
            numbers = (len(text), zlib.crc32(text), VERSION)
            head = MAGIC + b"".join(number.to_bytes(4, "little") for number in numbers) + text
            return head, places, place
        room *= 2


def _view(mapped: mmap.mmap, place: int, shape: Shape) -> NDArray[Any]:
    count = int(np.prod(shape.shape, dtype=np.int64))
    return np.frombuffer(mapped, shape.dtype, count, place).reshape(shape.shape)
