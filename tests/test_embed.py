from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import subprocess
import sys
from array import array
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recollect
from recollect.embed import base, models, onnx, static
from recollect.embed.base import Embedder, default_embedder, find_embedder
from recollect.errors import ConfigError, EmbedderFailed, EmbedderMissing

MODELS = Path(__file__).parents[1] / "models"
PREFIX = "Represent this sentence for searching relevant passages: "
ALL = ["arctic-s", "static-s", "hash", "hash:64"]
TEXTS = [
    "Caroline went to the support group on Sunday.",
    "",
    "The build failed: onnxruntime 1.31 has no wheel for this machine.",
    "我昨天在北京吃了烤鸭。",
    "🙂",
    "word " * 900,
]


@pytest.fixture(params=ALL)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return find_embedder(request.param)


@pytest.fixture
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for module, cache in ((onnx, "_sessions"), (onnx, "_vocabularies"), (static, "_tables")):
        monkeypatch.setattr(module, cache, {})
    yield


def in_a_fresh_process(code: str) -> Any:
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(finished.stdout)


@pytest.mark.parametrize("package", ["recollect-arctic-s", "recollect-static-s"])
def test_shipped_files_match_their_checksums(package: str) -> None:
    folder = MODELS / package / "src" / package.replace("-", "_")
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    checksums = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.iterdir()
        if file.is_file() and file.name not in ("manifest.json", "__init__.py")
    }
    assert checksums == manifest["sha256"] | manifest.get("queries", {}).get("sha256", {})


def test_each_embedder_has_its_own_name_and_fingerprint() -> None:
    found = [find_embedder(name) for name in ALL]
    assert [embedder.name for embedder in found] == ALL
    assert [embedder.dimensions for embedder in found] == [384, 384, 256, 64]
    assert len({embedder.fingerprint for embedder in found}) == len(ALL)


def test_the_fingerprint_changes_with_weights_and_with_preprocessing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = models._fingerprint({"model_int8.onnx": "aa"})
    assert models._fingerprint({"model_int8.onnx": "ab"}) != before
    monkeypatch.setattr(models, "PREPROCESSING", models.PREPROCESSING + 1)
    assert models._fingerprint({"model_int8.onnx": "aa"}) != before


def test_rows_are_finite_and_of_unit_length(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_a_vector_does_not_depend_on_what_else_is_in_the_call(embedder: Embedder) -> None:
    many = [f"{text} {number}" for number in range(8) for text in TEXTS[:5]]
    assert len(many) >= onnx._BULK
    together = embedder.embed(many)
    alone = np.concatenate([embedder.embed([text]) for text in many])
    assert np.array_equal(together, alone)
    assert np.array_equal(embedder.embed(many[::-1])[::-1], together)


@given(st.lists(st.text(), max_size=4))
def test_any_texts_give_unit_rows_without_a_model(texts: list[str]) -> None:
    for name in ("static-s", "hash", "hash:1"):
        vectors = find_embedder(name).embed(texts)
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@settings(max_examples=25)
@given(st.text())
def test_any_text_gives_a_unit_row_with_the_model(text: str) -> None:
    vectors = find_embedder("arctic-s").embed([text])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_strange_texts(embedder: Embedder) -> None:
    strange = ["\x00", "\ud800 alone", "x" * 1_000_000, "\u0301" * 5000, "[CLS] [SEP] [PAD] [MASK]", "\ufffd"]
    assert np.allclose(np.linalg.norm(embedder.embed(strange), axis=1), 1, atol=1e-5)


def test_similar_texts_are_nearer_than_others() -> None:
    for name in ("arctic-s", "static-s", "hash"):
        one, alike, other = find_embedder(name).embed(
            ["The cat sat on the mat.", "A cat is sitting on the mat", "Interest rates rose in March"]
        )
        assert one @ alike > one @ other, name


@pytest.mark.skipif(not static.COMPILED, reason="nothing is compiled here")
@given(st.lists(st.one_of(st.text(), st.sampled_from(TEXTS)), max_size=4))
def test_what_is_compiled_adds_up_what_numpy_does(texts: list[str]) -> None:
    embedder = find_embedder("static-s")
    vectors = embedder.embed(texts)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(static, "COMPILED", False)
        assert np.allclose(embedder.embed(texts), vectors, atol=1e-6)


@pytest.mark.skipif(not static.COMPILED, reason="nothing is compiled here")
@pytest.mark.parametrize(
    ("numbers", "counts"), [([3], [1]), ([-1], [1]), ([0], [2]), ([0, 1], [1]), ([0], [1, 0]), ([0], [2, -1])]
)
def test_no_row_is_added_that_the_table_does_not_have(numbers: list[int], counts: list[int]) -> None:
    vectors, rows = np.zeros((1, 2), np.float32), np.ones((3, 2), np.int8)
    with pytest.raises(IndexError):
        importlib.import_module("recollect.embed._static").add(
            vectors, array("q", numbers).tobytes(), array("q", counts), rows, np.ones(3, np.float32)
        )
    assert not vectors.any()


def test_hashing_is_the_same_in_every_process() -> None:
    code = """
import json
from recollect.embed.base import find_embedder
print(json.dumps(find_embedder("hash:16").embed(["Grüße, world"])[0].tolist()))
"""
    assert np.allclose(in_a_fresh_process(code), find_embedder("hash:16").embed(["Grüße, world"])[0])


def test_the_prefix_is_the_model_cards() -> None:
    assert find_embedder("arctic-s").query_prefix == PREFIX
    assert find_embedder("static-s").query_prefix == ""
    assert find_embedder("hash").query_prefix == ""


def test_the_prefix_makes_a_question_find_its_answer() -> None:
    embedder = find_embedder("arctic-s")
    question = "What is the capital of France?"
    texts = ["What is the capital of Spain?", "Paris is the French capital.", "Where is the nearest bank?"]
    plain, prefixed = embedder.embed([question, PREFIX + question])
    similarities = embedder.embed(texts) @ prefixed
    assert not np.allclose(plain, prefixed, atol=1e-3)
    assert int(np.argmax(similarities)) == 1


def test_finding_an_embedder_loads_nothing() -> None:
    code = """
import json, sys
from recollect.embed import base
heavy = {"numpy", "onnxruntime", "recollect.embed.onnx", "recollect.embed.static"} & sys.modules.keys()
found = [base.find_embedder(name) for name in ("arctic-s", "static-s")]
facts = [(embedder.name, embedder.dimensions, bool(embedder.fingerprint)) for embedder in found]
from recollect.embed import onnx, static
loaded = len(onnx._sessions) + len(onnx._vocabularies) + len(static._tables)
imported = sorted({"onnxruntime", "recollect_arctic_s"} & sys.modules.keys())
print(json.dumps([sorted(heavy), facts, imported, loaded]))
"""
    heavy, facts, imported, loaded = in_a_fresh_process(code)
    assert heavy == []
    assert facts == [["arctic-s", 384, True], ["static-s", 384, True]]
    assert (imported, loaded) == ([], 0)


@pytest.mark.usefixtures("nothing_loaded")
@pytest.mark.parametrize(("name", "module"), [("arctic-s", onnx), ("static-s", static)])
def test_weights_load_once_whatever_the_threads(
    name: str, module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[int] = []
    load = module._load

    def counted(*arguments: Any) -> Any:
        loads.append(1)
        return load(*arguments)

    monkeypatch.setattr(module, "_load", counted)
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda _: find_embedder(name).embed(["one text"])[0], range(8)))
    assert len(loads) == 1
    assert all(np.array_equal(row, rows[0]) for row in rows)


def test_a_model_that_is_not_installed_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "package_of", lambda name: None)
    for name in ("arctic-s", "static-s"):
        with pytest.raises(EmbedderMissing, match=f"pip install recollect-{name}"):
            find_embedder(name)
    assert default_embedder() is None


def test_where_no_model_is_installed_the_first_memory_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(models, "package_of", lambda name: None)
    advice = "the model arctic-s is not installed: pip install recollect-arctic-s"
    with recollect.open(tmp_path / "memory.db", embedder="auto") as memories:
        assert not memories.remember("Grace reviews all migrations").embedded
        memories.remember("Standup is at ten")
        assert [hit.memory.content for hit in memories.recall("migrations")] == [
            "Grace reviews all migrations"
        ]
        with pytest.raises(EmbedderMissing, match=advice):
            memories.reembed()
    (said,) = caplog.messages
    assert said.startswith(f"No vectors for now: {advice}")
    with recollect.open(tmp_path / "memory.db", embedder="none") as memories:
        memories.remember("Releases go out on Thursdays")
        with pytest.raises(EmbedderMissing, match="switched off"):
            memories.reembed()
    assert caplog.messages == [said], "who wants no vectors is not told that they are missing"


@pytest.mark.parametrize("distribution", ["recollect_tiny_s-2.0.dist-info", "by_somebody_else-1.0.dist-info"])
def test_a_model_is_found_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, distribution: str
) -> None:
    (tmp_path / distribution).mkdir()
    (tmp_path / distribution / "METADATA").write_text(f"Name: {distribution.partition('-')[0]}\nVersion: 1\n")
    (tmp_path / distribution / "entry_points.txt").write_text(
        "[recollect.other]\ntiny-s = not_this\n\n[recollect.models]\nhuge-s = nor_this\ntiny-s = tiny_files\n"
        "\n[console_scripts]\nlast-s = neither:main\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert models.package_of("tiny-s") == "tiny_files"
    assert models.package_of("last-s") is None


def test_a_missing_onnxruntime_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(base, "find_spec", lambda name: None if name == "onnxruntime" else real(name))
    with pytest.raises(EmbedderMissing, match="pip install onnxruntime"):
        find_embedder("arctic-s")
    fallback = default_embedder()
    assert fallback is not None
    assert fallback.name == "static-s"


def test_the_default_is_the_model() -> None:
    default = default_embedder()
    assert default is not None
    assert default.name == "arctic-s"


@pytest.mark.parametrize(
    "name", ["", "none", "gpt", "arctic", "hash:", "hash:0", "hash:-1", "hash:9999", "hash:x"]
)
def test_an_unknown_name_is_a_config_error(name: str) -> None:
    with pytest.raises(ConfigError, match="hash"):
        find_embedder(name)


@pytest.mark.parametrize("manifest", [None, "", "[]", "{}", '{"name": "arctic-s"}'])
def test_a_damaged_manifest_says_what_to_do(tmp_path: Path, manifest: str | None) -> None:
    if manifest is not None:
        (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(EmbedderFailed, match="install its package again"):
        models.read_manifest(tmp_path)


@pytest.mark.parametrize("name", ["arctic-s", "static-s"])
def test_damaged_weights_say_what_to_do(name: str, tmp_path: Path) -> None:
    installed = models.find_model(name)
    for file in ("manifest.json", "vocab.txt"):
        (tmp_path / file).write_bytes(installed.file(file).read_bytes())
    for file in ("model_int8.onnx", "table.npy", "scales.npy"):
        (tmp_path / file).write_bytes(b"not a model")
    manifest = json.loads((tmp_path / "manifest.json").read_text("utf-8"))
    manifest["sha256"] = {"damaged": name}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    damaged = models.read_manifest(tmp_path)
    embedder = onnx.OnnxEmbedder(damaged) if name == "arctic-s" else static.StaticEmbedder(damaged)
    with pytest.raises(EmbedderFailed, match=f"pip install --force-reinstall recollect-{name}"):
        embedder.embed(["text"])


def test_nothing_is_reported_to_anybody(tmp_path: Path) -> None:
    """onnxruntime keeps what it means to send in the home folder; there must be nothing."""
    code = "from recollect.embed.base import find_embedder; find_embedder('arctic-s').embed(['hello'])"
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    subprocess.run([sys.executable, "-c", code], env=environment | home, check=True)
    assert [path.name for path in tmp_path.glob("*")] == ["cache"]
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.glob("*/*/*")] == ["cache/recollect/graphs"]
