"""The harness that runs Recollect beside its peers: its arithmetic, and one peer without an environment."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.peers import adapters, base, exact, report
from benchmarks.peers.driver import Driver, peer_class
from benchmarks.peers.environments import requirements
from benchmarks.peers.making import Wanted, make


def untold(_: str) -> None:
    pass


@pytest.mark.parametrize("module", [base, exact, report])
def test_the_examples_hold(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


def test_the_nearest_are_all_that_are_as_near() -> None:
    vectors = np.eye(20, dtype=np.float32)
    vectors[15] = vectors[3]
    judge = exact.cosines(vectors, vectors[:5])
    assert judge(3, [3, 15], ()) == 1.0
    assert judge(3, [15], ()) == 0.5
    assert judge(2, [7], ()) == 0.0


def test_what_a_peer_did_not_keep_is_not_asked_of_it() -> None:
    vectors = np.eye(20, dtype=np.float32)
    vectors[15] = vectors[3]
    assert exact.cosines(vectors, vectors[:5])(3, [3], {15}) == 1.0


def test_bm25_is_the_sum_over_the_words_of_a_question() -> None:
    texts = [["red", "fox"], ["red", "red", "barn", "door"], ["blue"]]
    (scores,) = exact.bm25(texts, [["red", "fox"]])
    average = 7 / 3

    def part(times: int, length: int, having: int) -> float:
        norm = exact.K1 * (1 - exact.B + exact.B * length / average)
        return exact.idf(3, having, "lucene") * times * (exact.K1 + 1) / (times + norm)

    assert scores == {0: pytest.approx(part(1, 2, 2) + part(1, 2, 1)), 1: pytest.approx(part(2, 4, 2))}
    assert exact.judged([scores], [[0, 1]]) == [1.0]
    assert exact.judged([scores], [[1, 2]]) == [0.5]


def test_what_was_not_measured_is_a_dash_and_the_rest_is_compared() -> None:
    ours = {"ms": {"hybrid": {"p50": 2.0, "p95": 3.0, "p99": 4.0}}, "version": "1", "notes": _NOTES}
    theirs = {"ms": {"hybrid": {"p50": 5.0, "p95": 6.0, "p99": 7.0}}, "version": "2", "notes": _NOTES}
    measured, ratios, *_ = report.markdown({"recollect": ours, "other": theirs}).split("× Recollect")
    assert "| other | 5.00 | 6.00 | 7.00 | – |" in measured
    assert "| other | 2.50 | – |" in ratios


_NOTES = dict.fromkeys(("hybrid", "durable", "scope", "words"), "")


def test_every_adapter_says_what_it_needs_without_being_installed() -> None:
    files = {file.stem for file in Path(adapters.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == set(adapters.ALL)
    for name in adapters.ALL:
        needed = requirements(peer_class(name))
        assert needed
        assert name == "recollect" or all("==" in need for need in needed)


def test_a_setting_that_a_peer_does_not_have_is_refused() -> None:
    assert peer_class("qdrant_edge:ef=512") is peer_class("qdrant_edge")
    with pytest.raises(SystemExit, match="no setting ef here, but words"):
        peer_class("chroma:ef=512")
    with pytest.raises(SystemExit, match="no setting ef here, but none"):
        peer_class("txtai:ef=512")
    with pytest.raises(SystemExit, match="ef needs a number"):
        peer_class("qdrant_edge:ef")


def test_recollect_is_asked_like_any_peer(tmp_path: Path) -> None:
    data = make(Wanted(None, 300, 5, "words"), tmp_path / "data", untold)
    driver = Driver("recollect", tmp_path / "store", data)
    assert driver.build()["left_out"] == []
    about = data.about()
    for number in range(5):
        found = driver.ask("hybrid", number)
        assert about[number] in found["numbers"]
        assert len(found["texts"]) == 10
    part = base.part_of(about[0])
    assert {base.part_of(n) for n in driver.ask("hybrid", 0, part)["numbers"]} == {part}
    assert driver.add(0)["seconds"] > 0
    legs = [driver.leg("keyword", number)["numbers"] for number in range(5)]
    assert np.mean(driver.words(legs, [])["shares"]) > 0.9
    driver.close()
    assert json.loads((tmp_path / "data" / "facts.json").read_text("utf-8"))["memories"] == 300
