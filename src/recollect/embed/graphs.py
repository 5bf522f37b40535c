"""What onnxruntime made of a model, kept in the user's cache folder: the next process starts from there.

Half of the time that loading a model takes goes into optimising its graph and into reading its weights
through protobuf. The optimised graph, with its weights in a file that is mapped, gives the same vectors to
the bit. It depends on the model, on onnxruntime's version and on the processor: there is a folder for each.

Whatever is wrong with such a folder is never an error. It is made aside and renamed when it is complete; one
that can't be used is removed; where none can be written, the model is loaded as it came.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from platform import machine
from typing import Any

MOST = 3
"""How many are kept, of whatever model and version, those used last; each takes as much as its model."""
_GRAPH, _WEIGHTS = "graph.onnx", "weights.bin"
_UNFINISHED = "unfinished-"
_ABANDONED = 3600.0
_VERSION = 1

Start = Callable[[Path, Any], Any]
"""Makes a session of the model in a file, with these options."""
Errors = tuple[type[Exception], ...]


class Graphs:
    """The graphs that are kept in a folder; None keeps nothing."""

    def __init__(self, folder: Path | None, runtime: Any) -> None:
        self._folder = folder if folder and folder.is_absolute() else None  # there may be no home folder
        self._runtime = runtime

    def start(self, model: Path, options: Callable[[], Any], start: Start, errors: Errors) -> Any:
        """A session of a model, from what was kept of it, or else keeping that now.

        `options` gives new ones each time. Raises what `start` raises for the model itself; all that it may
        raise are the `errors`, with OSError among them.
        """
        if self._folder is None:
            return start(model, options())
        kept = self._folder / self._key(model)
        if kept.is_dir():
            try:
                session = start(kept / _GRAPH, self._as_it_is(options()))
            except errors:
                _remove(kept)
            else:
                with suppress(OSError):
                    os.utime(kept)
                return session
        try:
            return self._kept_now(kept, lambda graph: start(model, _writing(options(), graph)))
        except errors:
            return start(model, options())

    def _as_it_is(self, options: Any) -> Any:
        options.graph_optimization_level = self._runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return options

    def _kept_now(self, kept: Path, start: Callable[[Path], Any]) -> Any:
        import tempfile

        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=kept.parent))
        try:
            session = start(unfinished / _GRAPH)
            with suppress(OSError):  # another process was first, or the disk is full
                for file in unfinished.iterdir():
                    _sync(file)
                unfinished.rename(kept)
                _make_room(kept.parent)
            return session
        finally:
            _remove(unfinished)

    def _key(self, model: Path) -> str:
        import hashlib

        found = model.stat()
        told = (
            _VERSION,
            str(model),
            found.st_size,
            found.st_mtime_ns,
            self._runtime.__version__,
            *_processor(),
        )
        return hashlib.sha256(repr(told).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _writing(options: Any, graph: Path) -> Any:
    """Options with which a session writes its optimised graph, and its weights beside that."""
    options.optimized_model_filepath = str(graph)
    saved = "session.optimized_model_external_initializers_"
    options.add_session_config_entry(f"{saved}file_name", _WEIGHTS)
    options.add_session_config_entry(f"{saved}min_size_in_bytes", "1024")
    return options


def _sync(file: Path) -> None:
    """Before it is renamed: after a power cut, a file that has its name must have its bytes."""
    handle = os.open(file, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _make_room(folder: Path) -> None:
    """Remove those that were not used for the longest time, and what was begun and given up."""
    whole = sorted(_entries(folder), reverse=True)
    kept = [path for _, path in whole if not path.name.startswith(_UNFINISHED)]
    abandoned = [
        path for used, path in whole if path.name.startswith(_UNFINISHED) and used < time.time() - _ABANDONED
    ]
    for path in (*kept[MOST:], *abandoned):
        _remove(path)


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _entries(folder: Path) -> Iterator[tuple[float, Path]]:
    for path in folder.iterdir():
        with suppress(OSError):
            yield path.stat().st_mtime, path


def _processor() -> tuple[str, str]:
    """What a graph may be optimised for. Only Linux tells, where homes may be shared by machines."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as told:
            able = next((line for line in told if line.lower().startswith(("flags", "features"))), "")
    except OSError:
        able = ""
    return machine(), able
