"""Keeping documents as the files of some folders are: taken in when they change, forgotten when they go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from recollect import checks, folders
from recollect.errors import InvalidInput, NoSuchDocument, StoreBusy, StoreError, StoreFull, StoreUnreachable
from recollect.folders import Signature
from recollect.memories import Memories

What = Literal[
    "added", "replaced", "unchanged", "forgotten", "skipped", "waiting", "watching", "gone", "back"
]  # fmt: skip
PASSING = (StoreBusy, StoreUnreachable, StoreFull)
"""What keeps a store from being written for a while."""


@dataclass(frozen=True, slots=True)
class Event:
    """What became of a document; of a folder, when it is "gone", "back" or "watching" from now on.

    "skipped" can't be taken in as it is, "waiting" is tried again: `reason` says why.
    """

    event: What
    name: str
    passages: int = 0
    reason: str = ""


@dataclass(slots=True)
class _Folder:
    path: Path
    known: dict[Path, Signature] = field(default_factory=dict)
    missing: set[Path] = field(default_factory=set)
    device: int | None = None
    is_there: bool = True


class Watch:
    """Some folders and a namespace that follows them. `look()` whenever something may have changed."""

    def __init__(
        self, memories: Memories, paths: Sequence[Path], metadata: Mapping[str, Any] | None = None
    ) -> None:
        self._memories = memories
        self._folders = [_Folder(path) for path in dict.fromkeys(paths)]
        self._metadata = dict(metadata or {})
        self._is_waiting = self._was_waiting = False

    @property
    def is_unsettled(self) -> bool:
        """Whether to look again soon, even if nothing changes: something waits, or is missing."""
        return self._is_waiting or any(folder.missing or not folder.is_there for folder in self._folders)

    def look(self) -> Iterator[Event]:
        """Do what has changed since the last look; each event is told when it is done.

        A file that is not there is forgotten when it is still missing at the next look, for some editors
        remove a file before they write it anew. While a whole folder is gone, nothing of it is forgotten.
        """
        self._was_waiting, self._is_waiting = self._is_waiting, False
        for folder in self._folders:
            if not self._is_waiting:
                yield from self._look_into(folder)

    def unaccounted(self) -> list[str]:
        """Documents that are named like files of these folders, of which there are none."""
        named = (document.name for document in self._memories.documents())
        return [
            name
            for name in named
            if any(
                folders.lies_in(name, folder.path) and Path(name) not in folder.known
                for folder in self._folders
            )
            and folders.is_gone(Path(name))
        ]

    def forget(self, name: str) -> Iterator[Event]:
        """Forget a document, if it was there."""
        try:
            receipt = self._memories.forget_document(name)
        except NoSuchDocument:  # it never was, or somebody else was sooner
            return
        yield Event("forgotten", name, receipt.memories)

    def _look_into(self, folder: _Folder) -> Iterator[Event]:
        try:
            device = folder.path.stat().st_dev
        except OSError as error:
            if folder.is_there:
                folder.is_there = False
                yield Event("gone", str(folder.path), reason=str(error.strerror))
            return
        if not folder.is_there:
            folder.is_there = True
            yield Event("back", str(folder.path))
        if folder.device not in (None, device):  # a disk was taken out or put in: other files, none removed
            folder.known.clear()
        folder.device = device
        now = folders.look(folder.path)
        for path, signature in now.files.items():
            if folder.known.get(path) != signature:
                yield from self._take(folder, path, signature)
            if self._is_waiting:  # so would all the others
                return
        missing = {
            path
            for path in folder.known.keys() - now.files.keys()
            if not any(path.is_relative_to(closed) for closed in now.closed)
        }
        for path in sorted(missing & folder.missing):
            yield from self._drop(folder, path)
        folder.missing = missing & folder.known.keys()

    def _take(self, folder: _Folder, path: Path, signature: Signature) -> Iterator[Event]:
        name = str(path)
        try:
            if signature[1] > checks.LONGEST_DOCUMENT:
                raise InvalidInput(f"{name} has more than {checks.LONGEST_DOCUMENT:,} bytes: split it.")
            if _is_blank(path, signature):
                yield from self.forget(name)
                folder.known[path] = signature
                return
            done = self._memories.ingest(path, metadata=self._metadata)
        except PASSING as error:
            yield from self._waiting(name, error)
            return
        except InvalidInput as error:
            if _is_still(path, signature):  # else it is being changed: next time
                folder.known[path] = signature
                yield Event("skipped", name, reason=str(error))
            return
        folder.known[path] = signature
        yield Event(done.outcome, name, done.document.passages)

    def _drop(self, folder: _Folder, path: Path) -> Iterator[Event]:
        try:
            yield from self.forget(str(path))
        except PASSING as error:
            yield from self._waiting(str(path), error)
            return
        del folder.known[path]

    def _waiting(self, name: str, error: StoreError) -> Iterator[Event]:
        """Told once, however often it is tried again."""
        self._is_waiting = True
        if not self._was_waiting:
            yield Event("waiting", name, reason=str(error))


def _is_still(path: Path, signature: Signature) -> bool:
    try:
        return folders.signature_of(path) == signature
    except OSError:
        return False


def _is_blank(path: Path, signature: Signature) -> bool:
    """Whether a small file has nothing in it but blanks; one that can't be read is not known to."""
    try:
        return signature[1] == 0 or (signature[1] < 4096 and not path.read_bytes().strip())
    except OSError:
        return False
