"""JSON lines in and out: our own export, and what others wrote."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast

from recollect.doors.cli.render import json_text, one_line
from recollect.errors import InvalidInput
from recollect.types import Draft

VERSION = 1
HEADER = {"type": "recollect", "version": VERSION}
_OTHER_NAMES = {
    "text": ("text", "content"),
    "created_at": ("created_at", "timestamp"),
    "session": ("session", "session_id"),
    "speaker": ("speaker", "role"),
}
_LISTS = ("tags", "files")
_SAME_NAMES = (
    "sector", "tier", "importance", "summary", "language", "source", "trust", "valid_from", "valid_until",
    "expires_at", *_LISTS,
)  # fmt: skip
_TIMES = ("created_at", "valid_from", "valid_until", "expires_at")
_LABELS = ("id", "session", "speaker")


class Lines:
    """The objects of a JSON lines stream, one by one; `number` is the line that was read last."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self.name = "standard input" if name == "-" else name
        self.number = 0
        self._stream = stream

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for line in self._read():
            if not line.strip():
                continue
            try:
                value = json.loads(line.decode("utf-8-sig" if self.number == 1 else "utf-8"))
            except UnicodeDecodeError:
                raise self.error("it is not UTF-8 text.") from None
            except json.JSONDecodeError as error:
                raise self.error(f"it is not JSON ({error.msg} at character {error.pos + 1}).") from None
            except (ValueError, RecursionError) as error:
                raise self.error(f"it is not JSON that can be read ({error}).") from None
            if not isinstance(value, dict):
                raise self.error("it is not a JSON object.")
            yield value

    def _read(self) -> Iterator[bytes]:
        try:
            for line in self._stream:
                self.number += 1
                yield line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.number += 1
            raise self.error(f"the compressed file is damaged ({error}).") from error

    def error(self, trouble: object, number: int | None = None) -> InvalidInput:
        """What is wrong with a line."""
        return InvalidInput(f"{self.name}, line {number or self.number:,}: {one_line(str(trouble))}")


@contextmanager
def reading(name: str) -> Iterator[Lines]:
    """A file or standard input, unpacked if it is compressed."""
    with Path(name).open("rb") if name != "-" else _standard_input() as raw:
        buffered = io.BufferedReader(cast(io.RawIOBase, raw))
        if buffered.peek(2)[:2] == b"\x1f\x8b":
            with gzip.open(buffered) as unpacked:
                yield Lines(cast(IO[bytes], unpacked), name)
        else:
            yield Lines(buffered, name)


@contextmanager
def _standard_input() -> Iterator[IO[bytes]]:
    yield sys.stdin.buffer


def is_ours(first: Mapping[str, Any]) -> bool:
    """Whether this is the first line of our own export, and of a version that can be read."""
    if first.get("type") != HEADER["type"]:
        return False
    if first.get("version") != VERSION:
        raise InvalidInput(
            f"This export has version {first.get('version')!r}, and {VERSION} is what is known here: "
            "upgrade with pip install --upgrade recollect."
        )
    return True


def draft(record: Mapping[str, Any], *, keep_id: bool) -> Draft:
    """Somebody else's record as a draft; what has no place of its own goes to the metadata.

    >>> made = draft({"content": "Hi", "role": "user", "score": 3}, keep_id=False)
    >>> made.text, made.speaker, made.metadata
    ('Hi', 'user', {'score': 3})
    """
    left = {name: value for name, value in record.items() if value is not None}
    fields: dict[str, Any] = {
        name: left.pop(found)
        for name, others in _OTHER_NAMES.items()
        if (found := next((other for other in others if other in left), None))
    }
    fields |= {name: left.pop(name) for name in _SAME_NAMES if name in left}
    if keep_id and "id" in left:
        fields["id"] = left.pop("id")
    if "text" not in fields:
        raise InvalidInput("it has neither text nor content.")
    metadata = left.pop("metadata", {})
    if not isinstance(metadata, dict):
        raise InvalidInput("its metadata is not a JSON object.")
    return Draft(**{name: _usable(name, value) for name, value in fields.items()}, metadata=left | metadata)


def _usable(name: str, value: Any) -> Any:
    """A value of the type that a draft wants; numbers may be labels, and times seconds since 1970."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if name in _LABELS and is_number:
        return str(value)
    if name in _LISTS and not isinstance(value, (str, list)):
        raise InvalidInput(f"its {name} are not a list.")
    if name in _TIMES and is_number:
        try:
            return datetime.fromtimestamp(value, UTC)
        except (OverflowError, ValueError, OSError):
            raise InvalidInput(f"its {name} is not in seconds since 1970.") from None
    if name in _TIMES and not isinstance(value, str):
        raise InvalidInput(f"its {name} is not a time.")
    return value


def write(records: Iterable[Mapping[str, Any]], stream: IO[str]) -> int:
    """The header and the records, one a line; says how many records."""
    stream.write(json_text(HEADER) + "\n")
    number = 0
    for number, record in enumerate(records, 1):  # noqa: B007
        stream.write(json_text(record) + "\n")
    stream.flush()
    return number


def write_file(records: Iterable[Mapping[str, Any]], path: Path) -> int:
    """The same into a file, which is there complete or not at all; compressed if its name ends in .gz."""
    try:
        return _write_whole(records, path)
    except OSError as error:  # it may name the file that is written aside, or none
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write_whole(records: Iterable[Mapping[str, Any]], path: Path) -> int:
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            return write(records, stream)
    target = path.resolve()
    if not target.parent.is_dir():
        raise InvalidInput(f"The folder {target.parent} does not exist: make it first.")
    partial = target.with_name(f".{target.name}.part")
    try:
        with partial.open("wb") as raw:
            if target.exists():
                shutil.copymode(target, partial)
            number = _write_bytes(records, raw, compressed=target.suffix == ".gz")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return number


def _write_bytes(records: Iterable[Mapping[str, Any]], raw: IO[bytes], *, compressed: bool) -> int:
    if not compressed:
        return _write_text(records, raw)
    with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
        return _write_text(records, cast(IO[bytes], packed))


def _write_text(records: Iterable[Mapping[str, Any]], raw: IO[bytes]) -> int:
    text = io.TextIOWrapper(raw, "utf-8", newline="\n")
    try:
        return write(records, text)
    finally:
        text.detach()
