"""What is kept of a loaded model: nothing depends on it, and nothing that happens to it is an error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from recollect.embed import graphs
from recollect.embed.graphs import Graphs


class Refused(Exception):
    """What this runtime raises."""


class Runtime:
    """Stands for onnxruntime: a session is the text of the file that it was made from."""

    GraphOptimizationLevel = SimpleNamespace(ORT_DISABLE_ALL="none")

    def __init__(self, version: str = "1.31") -> None:
        self.__version__ = version
        self.started: list[str] = []

    def options(self) -> Any:
        entries: dict[str, str] = {}
        return SimpleNamespace(
            optimized_model_filepath="",
            graph_optimization_level="all",
            entries=entries,
            add_session_config_entry=entries.__setitem__,
        )

    def start(self, path: Path, options: Any) -> str:
        self.started.append(path.name)
        text = path.read_text()
        if not text.startswith("a model"):
            raise Refused(text)
        if path.name == "graph.onnx":
            assert options.graph_optimization_level == "none"
        if options.optimized_model_filepath:
            Path(options.optimized_model_filepath).write_text(text)
        return text


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_text("a model")
    return path


def started(folder: Path | None, model: Path, runtime: Runtime | None = None) -> list[str]:
    """Which files were tried; the session was right in the end."""
    runtime = runtime or Runtime()
    session = Graphs(folder, runtime).start(model, runtime.options, runtime.start, (OSError, Refused))
    assert session == model.read_text()
    return runtime.started


def kept(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def test_the_second_start_uses_what_the_first_left(tmp_path: Path, model: Path) -> None:
    folder = tmp_path / "made" / "graphs"
    assert started(folder, model) == ["model.onnx"]
    assert [path.name for path in kept(kept(folder)[0])] == ["graph.onnx"]
    assert started(folder, model) == ["graph.onnx"]
    if os.name == "posix":
        assert folder.stat().st_mode & 0o077 == 0


def test_another_version_model_or_processor_has_its_own(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "graphs"
    started(folder, model)
    assert started(folder, model, Runtime("1.32")) == ["model.onnx"]
    model.write_text("a model, but another")
    assert started(folder, model) == ["model.onnx"]
    monkeypatch.setattr(graphs, "_processor", lambda: ("riscv64", "flags: v"))
    assert started(folder, model) == ["model.onnx"]


@pytest.mark.parametrize("damage", ["cut", "gone", "empty", "a file"])
def test_what_can_not_be_used_is_made_anew(tmp_path: Path, model: Path, damage: str) -> None:
    folder = tmp_path / "graphs"
    started(folder, model)
    (only,) = kept(folder)
    graph = only / "graph.onnx"
    if damage in ("cut", "empty"):
        graph.write_text("a m" if damage == "cut" else "")
    else:
        graph.unlink()
    if damage == "a file":
        only.rmdir()
        only.write_text("what is this?")
        assert started(folder, model) == ["model.onnx"]
        return
    assert started(folder, model) == ["graph.onnx", "model.onnx"]
    assert started(folder, model) == ["graph.onnx"]


def test_without_a_folder_that_can_be_written_it_is_loaded_as_it_came(tmp_path: Path, model: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert started(None, model) == started(file / "graphs", model) == ["model.onnx"]
    assert started(Path("~/relative"), model) == ["model.onnx"]  # no home folder
    assert not Path("~").exists()


def test_a_disk_that_is_full_does_not_stop_it(tmp_path: Path, model: Path) -> None:
    runtime = Runtime()

    def start(path: Path, options: Any) -> str:
        if options.optimized_model_filepath:
            Path(options.optimized_model_filepath).write_text("a")
            raise Refused("no space left")
        return runtime.start(path, options)

    folder = tmp_path / "graphs"
    assert Graphs(folder, runtime).start(model, runtime.options, start, (OSError, Refused)) == "a model"
    assert kept(folder) == []


def test_a_damaged_model_is_refused_as_it_was(tmp_path: Path, model: Path) -> None:
    model.write_text("junk")
    with pytest.raises(Refused):
        started(tmp_path / "graphs", model)
    assert kept(tmp_path / "graphs") == []


def test_two_at_once_do_not_disturb_each_other(tmp_path: Path, model: Path) -> None:
    folder, runtime = tmp_path / "graphs", Runtime()

    def start(path: Path, options: Any) -> str:
        if options.optimized_model_filepath and not kept(folder)[1:]:
            started(folder, model)  # another process is done meanwhile
        return runtime.start(path, options)

    assert Graphs(folder, runtime).start(model, runtime.options, start, (OSError, Refused)) == "a model"
    assert len(kept(folder)) == 1
    assert started(folder, model) == ["graph.onnx"]


def test_old_ones_make_room(tmp_path: Path, model: Path) -> None:
    folder = tmp_path / "graphs"
    started(folder, model)
    (first,) = kept(folder)
    for number in range(graphs.MOST + 2):
        os.utime(first, (time.time() + 60, time.time() + 60))  # the first is in use
        started(folder, model, Runtime(f"2.{number}"))
    assert len(kept(folder)) == graphs.MOST
    assert first in kept(folder)


def test_what_was_begun_and_given_up_is_removed(tmp_path: Path, model: Path) -> None:
    folder = tmp_path / "graphs"
    (folder / "unfinished-old").mkdir(parents=True)
    (folder / "unfinished-new").mkdir()
    os.utime(folder / "unfinished-old", (1, 1))
    started(folder, model)
    assert [path.name for path in kept(folder) if "unfinished" in path.name] == ["unfinished-new"]


def test_vectors_are_the_same_to_the_bit(tmp_path: Path) -> None:
    code = """
import json, sys
from recollect.embed.base import find_embedder
texts = ["a question", "word " * 100, "Grüße aus Köln"]
print(json.dumps([row.tobytes().hex() for row in find_embedder("arctic-s").embed(texts)]))
"""

    def vectors(cache: Path) -> Any:
        environment = os.environ | {"XDG_CACHE_HOME": str(cache), "HOME": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    (tmp_path / "no folder").write_text("")
    as_it_came = vectors(tmp_path / "no folder")
    assert vectors(tmp_path / "cache") == as_it_came
    graph, weights = sorted((tmp_path / "cache").rglob("*.*"))
    assert (graph.name, weights.name) == ("graph.onnx", "weights.bin")
    assert vectors(tmp_path / "cache") == as_it_came
    for file in (weights, graph):
        os.truncate(file, file.stat().st_size // 2)
        assert vectors(tmp_path / "cache") == as_it_came
