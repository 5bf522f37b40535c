"""Quick queries: the question's vector from a table, next to memories that the model embedded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect.embed import models, static
from recollect.embed.base import Embedder, find_embedder, find_quick
from recollect.embed.models import find_model, read_manifest
from recollect.errors import EmbedderFailed
from recollect.meaning import Meaning, generation_of
from recollect.store.base import NamespaceFacts

from .conftest import OpenMemories
from .test_cli import Cli, start

QUESTIONS = [
    "Which database did we choose for billing?",
    "Where does Caroline go on Sundays?",
    "how do I deploy the service",
    "who broke the build last week",
    "What is the capital of France?",
    "python read a csv file into a list",
    "does the customer want a refund",
    "when is the next dentist appointment",
]
MEMORIES = [
    "We picked PostgreSQL to hold the invoices and payments",
    "The cat sleeps on the windowsill all afternoon",
    "Ravi is allergic to peanuts and carries an adrenaline pen",
    "The quarterly report is due on the last Friday of March",
]
ALLERGY = "what food must not be served to our guest?"
"""It shares no word with the memory that answers it."""
WITHOUT_ONNXRUNTIME = """
import json, sys
sys.modules["onnxruntime"] = None
import recollect
with recollect.open(sys.argv[1], namespace="proj1", create=False) as memories:
    found = memories.recall(sys.argv[2], mode=sys.argv[3], reinforce=False)
    print(json.dumps([found[0].memory.content if found else None, found.notes]))
"""


def quick() -> Embedder:
    found = find_quick(find_model("arctic-s").fingerprint)
    assert found is not None
    return found


def facts(embedder: Embedder) -> list[NamespaceFacts]:
    return [NamespaceFacts(generation=generation_of(embedder))]


class OtherArctic:
    """Goes by the model's name, but its vectors are others."""

    name = "arctic-s"
    dimensions = 384
    fingerprint = "another version"
    query_prefix = ""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return find_embedder("hash:384").embed(texts)


# the table


def test_a_quick_vector_is_near_the_models() -> None:
    model = find_embedder("arctic-s")
    by_model = model.embed([model.query_prefix + question for question in QUESTIONS])
    by_table = quick().embed(QUESTIONS)
    assert np.allclose(np.linalg.norm(by_table, axis=1), 1, atol=1e-6)
    cosines = by_table @ by_model.T
    assert cosines.diagonal().min() > 0.75
    assert cosines.diagonal().mean() > 0.88
    assert np.array_equal(cosines.argmax(axis=1), np.arange(len(QUESTIONS)))


@settings(deadline=None)
@given(st.text())
def test_any_text_gives_a_unit_vector(text: str) -> None:
    (vector,) = quick().embed([text])
    assert vector.dtype == np.float32
    assert np.isclose(np.linalg.norm(vector), 1, atol=1e-5)


def test_it_is_known_apart_from_the_model_and_from_static_s(tmp_path: Path) -> None:
    installed = find_model("static-s")
    assert quick().fingerprint not in (installed.fingerprint, find_model("arctic-s").fingerprint)
    manifest = json.loads(installed.file("manifest.json").read_text("utf-8"))
    del manifest["queries"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    without = read_manifest(tmp_path)
    assert without.queries is None
    assert without.fingerprint == installed.fingerprint


def test_there_is_none_for_other_vectors() -> None:
    for name in ("static-s", "hash"):
        assert find_quick(find_embedder(name).fingerprint) is None


def test_a_damaged_table_says_what_to_do(tmp_path: Path) -> None:
    installed = find_model("static-s")
    for file in ("manifest.json", "vocab.txt"):
        (tmp_path / file).write_bytes(installed.file(file).read_bytes())
    (tmp_path / "queries.npy").write_bytes(b"not a table")
    manifest = json.loads((tmp_path / "manifest.json").read_text("utf-8"))
    manifest["queries"]["sha256"] = {"damaged": "queries"}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    damaged = read_manifest(tmp_path)
    assert damaged.queries is not None
    with pytest.raises(EmbedderFailed, match="pip install --force-reinstall recollect-static-s"):
        static.QuickQueries(damaged, damaged.queries).embed(["text"])


# who embeds the question


def test_a_quick_question_weighs_less_and_has_its_own_vector() -> None:
    model = find_embedder("arctic-s")
    usual, hurried = (Meaning("auto", quick=way).query(QUESTIONS[0], facts(model)) for way in (False, True))
    assert (usual.weight, hurried.weight) == (0.6, 0.5)
    assert usual.generation == hurried.generation == generation_of(model)
    assert usual.notes == hurried.notes == ()
    assert usual.vector is not None
    assert hurried.vector is not None
    assert not np.allclose(usual.vector, hurried.vector, atol=1e-3)
    assert np.array_equal(hurried.vector, quick().embed(QUESTIONS[:1])[0])


@pytest.mark.parametrize("name", ["hash", "static-s"])
def test_other_generations_are_left_alone(open_memories: OpenMemories, name: str) -> None:
    memories = open_memories(embedder=name)
    memories.remember_many(MEMORIES)
    usual = memories.recall(QUESTIONS[0], reinforce=False)
    hurried = open_memories(embedder=name, quick=True).recall(QUESTIONS[0], reinforce=False)
    assert [hit.memory.id for hit in hurried] == [hit.memory.id for hit in usual]
    assert [hit.why.semantic for hit in hurried] == [hit.why.semantic for hit in usual]
    assert hurried.notes == usual.notes


def test_another_version_of_the_model_is_never_compared_with_the_table() -> None:
    other = OtherArctic()
    asked = Meaning(other, quick=True).query(QUESTIONS[0], facts(other))
    assert asked.vector is not None
    assert np.array_equal(asked.vector, other.embed(QUESTIONS[:1])[0])
    assert asked.notes == ("not a quick query: recollect-static-s is missing, or not for this arctic-s",)
    unknown = Meaning("auto", quick=True).query(QUESTIONS[0], facts(other))
    assert unknown.vector is None
    assert "another version" in unknown.notes[0]


def test_without_the_tables_package_the_model_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "package_of", {"arctic-s": "recollect_arctic_s"}.get)
    model = find_embedder("arctic-s")
    asked = Meaning("auto", quick=True).query(QUESTIONS[0], facts(model))
    assert asked.vector is not None
    assert np.array_equal(asked.vector, model.embed([model.query_prefix + QUESTIONS[0]])[0])
    assert len(asked.notes) == 1


def test_without_the_models_package_the_table_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    model, (wanted,) = find_embedder("arctic-s"), quick().embed(QUESTIONS[:1])
    monkeypatch.setattr(models, "package_of", {"static-s": "recollect_static_s"}.get)
    asked = Meaning("auto").query(QUESTIONS[0], facts(model))
    assert asked.vector is not None
    assert np.array_equal(asked.vector, wanted)
    assert asked.notes == (
        "a table embedded the question in place of the model: the model arctic-s is not installed",
    )


# stores


def test_the_same_is_found_and_writing_is_the_models(open_memories: OpenMemories) -> None:
    memories = open_memories(embedder="arctic-s", quick=True)
    memories.remember_many(MEMORIES)
    hurried = memories.recall(ALLERGY, mode="semantic", reinforce=False)
    usual = open_memories(embedder="arctic-s").recall(ALLERGY, mode="semantic", reinforce=False)
    assert hurried[0].memory.content == usual[0].memory.content == MEMORIES[2]
    assert hurried.notes == usual.notes == ()
    assert memories.stats().embedder == "arctic-s"
    model = find_embedder("arctic-s")
    question, stored = model.embed([model.query_prefix + ALLERGY, MEMORIES[2]])
    assert usual[0].why.semantic is not None
    assert usual[0].why.semantic.score == pytest.approx(float(question @ stored), abs=1e-2)


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_without_onnxruntime_memories_are_found_by_meaning(
    open_memories: OpenMemories, store_url: str, tmp_path: Path, mode: str
) -> None:
    memories = open_memories(embedder="arctic-s")
    memories.remember_many(MEMORIES)
    memories.close()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ONNXRUNTIME, store_url, ALLERGY, mode],
        capture_output=True, text=True, check=True, cwd=tmp_path, env=environment,
    )  # fmt: skip
    first, notes = json.loads(done.stdout)
    assert first == MEMORIES[2]
    assert notes[0] == (
        "a table embedded the question in place of the model: "
        "arctic-s runs on onnxruntime, which is not installed"
    )


# the command line


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    cli = Cli(tmp_path, monkeypatch)
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "arctic-s")
    for text in MEMORIES:
        cli.add(text)
    return cli


def cosine(answer: Any) -> float:
    return float(answer["hits"][0]["why"]["semantic"]["score"])


def test_search_takes_it_as_an_option_from_the_environment_and_from_the_file(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = ("search", ALLERGY, "--no-reinforce")
    usual, hurried = cli.json(*search), cli.json(*search, "--quick")
    assert [each["hits"][0]["memory"]["content"] for each in (usual, hurried)] == [MEMORIES[2]] * 2
    assert cosine(usual) != cosine(hurried)
    assert cosine(cli.json("--quick", *search)) == cosine(hurried)
    (cli.folder / "recollect.toml").write_text("quick = true\n")
    assert cosine(cli.json(*search)) == cosine(hurried)
    assert cli.json("config")["quick"] == {"value": True, "origin": str(cli.folder / "recollect.toml")}
    assert ["quick", "true"] in [line.split()[:2] for line in cli.out("config").splitlines()]
    monkeypatch.setenv("RECOLLECT_QUICK", "off")
    assert cosine(cli.json(*search)) == cosine(usual)
    monkeypatch.setenv("RECOLLECT_QUICK", "perhaps")
    assert "RECOLLECT_QUICK" in cli.error(*search)
    monkeypatch.delenv("RECOLLECT_QUICK")
    (cli.folder / "recollect.toml").write_text('quick = "yes"\n')
    assert "true or false" in cli.error(*search)


@pytest.mark.parametrize("asked", [[], ["--quick"]])
def test_a_quick_search_imports_no_onnxruntime(cli: Cli, asked: list[str]) -> None:
    done = start("search", ALLERGY, "-q", *asked, environment={"PYTHONPROFILEIMPORTTIME": "1"})
    out, err = done.communicate()
    assert done.returncode == 0
    assert out.strip()
    imported = {line.rpartition("|")[2].strip() for line in err.decode().splitlines()}
    assert "numpy" in imported
    assert ("onnxruntime" in imported) == (not asked)
