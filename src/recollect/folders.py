"""Which files of a folder are documents, and has one of them changed?"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SUFFIXES = (".md", ".markdown", ".rst", ".txt")

Signature = tuple[int, int, int, int]
"""Its file, size, and when its text and its permissions last changed: another one, another text perhaps."""


@dataclass(frozen=True, slots=True)
class Look:
    """The documents of a folder, each with its signature; and what could not be looked at or into."""

    files: dict[Path, Signature] = field(default_factory=dict)
    closed: list[Path] = field(default_factory=list)


def look(folder: Path) -> Look:
    """All files that are documents by their names, in order; hidden ones and those in hidden folders are not.

    >>> look(Path("there/is/no/such/folder")).files
    {}
    """
    found = Look()

    def note(error: OSError) -> None:
        found.closed.append(Path(error.filename))

    for within, folders, names in os.walk(folder, onerror=note):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(filter(is_document, names)):
            path = Path(within, name)
            try:
                signature = signature_of(path)
            except OSError:
                found.closed.append(path)
                continue
            if signature is not None:
                found.files[path] = signature
    return found


def documents(path: Path) -> Iterator[Path]:
    """The documents of a folder; a file is one itself, whatever its name."""
    if path.is_dir():
        yield from look(path).files
    else:
        yield path


def is_document(name: str) -> bool:
    """Whether a file of this name is taken for a document.

    >>> [is_document(name) for name in ("notes.md", "NOTES.TXT", ".notes.md", "notes.md~", "a.py")]
    [True, True, False, False, False]
    """
    return name.lower().endswith(SUFFIXES) and not name.startswith((".", "~$"))


def signature_of(path: Path) -> Signature | None:
    """What tells one state of a file from another; None when there is no file (a pipe is none either).

    OSError when that can't be known, as without permission.
    """
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def is_gone(path: Path) -> bool:
    """Whether it is certain that there is no such file."""
    try:
        return signature_of(path) is None
    except OSError:
        return False


def lies_in(name: str, folder: Path) -> bool:
    """Whether a document of this name would be a file of the folder, hidden folders left out.

    >>> lies_in("notes/a.md", Path("notes")), lies_in("a.md", Path()), lies_in("../a.md", Path())
    (True, True, False)
    """
    path = Path(name)
    if not path.is_relative_to(folder):
        return False
    parts = path.relative_to(folder).parts
    return bool(parts) and is_document(parts[-1]) and not any(part.startswith(".") for part in parts)
