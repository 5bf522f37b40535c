"""The default ranking in C: whatever the legs found, it is what Python ranks step by step."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.ranking import mixing
from recollect.ranking.fuse import Fused, Legs
from recollect.ranking.score import Rules
from recollect.store.base import Candidate, Key
from recollect.store.packed import ROW, Packed
from recollect.types import TimeUsed

from .test_properties import NOW, WEIGHTS, legs

pytestmark = pytest.mark.skipif(
    not mixing.COMPILED and os.environ.get("CI") != "true", reason="there was no compiler to build it"
)


def plain(item: Fused) -> list[float]:
    said = [(0, 0.0, 0.0) if leg is None else leg for leg in (item.keyword, item.semantic)]
    return [item.base, item.lent, item.most, *(float(number) for leg in said for number in leg)]


def assert_alike(found: Legs, weights: dict[str, float], rules: Rules, limit: int, drop: bool) -> None:
    count, best = mixing.mixed(found, weights, rules, limit, drop_nothing=drop)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mixing, "COMPILED", False)
        expected_count, expected = mixing.mixed(found, weights, rules, limit, drop_nothing=drop)
    assert count == expected_count
    assert [item.candidate for item in best] == [item.candidate for item in expected]
    for item, other in zip(best, expected, strict=True):
        assert (item.keyword is None, item.semantic is None) == (
            other.keyword is None,
            other.semantic is None,
        )
        assert plain(item) == pytest.approx(plain(other), abs=1e-12)


def packed_from(candidates: Sequence[Candidate]) -> Packed:
    """As SQLite has them, from several segments: who speaks has another number in each."""
    names = [[None, "Ann", "Bob"], [None, "Bob", "Ann"]]
    rows = []
    for each in candidates:
        which = hash(each.score) % 2
        session, place = each.session or 0, -1 if each.position is None else each.position
        speaker = names[which].index(each.speaker)
        rows.append(ROW.pack(each.key, each.score, session, each.created, place, each.tokens, speaker, which))
    return Packed(b"".join(rows), names)


def test_it_is_compiled() -> None:
    assert mixing.COMPILED


@given(legs(), WEIGHTS, WEIGHTS, st.integers(1, 20), st.booleans(), st.booleans(), st.booleans())
@settings(max_examples=80)
def test_few_are_ranked_alike(
    found: Legs, semantic: float, keyword: float, limit: int, drop: bool, in_time: bool, superseded: bool
) -> None:
    frame = TimeUsed(NOW - timedelta(days=90), None, "lately", "query") if in_time else None
    rules = Rules("mix", NOW, frame, meant=frozenset({"Ann"}), superseded=superseded)
    weights = {"semantic": semantic, "keyword": keyword}
    assert_alike(found, weights, rules, limit, drop)


@given(st.randoms(use_true_random=False), st.integers(1, 120), st.booleans(), st.booleans())
@settings(max_examples=60)
def test_many_are_ranked_alike(chance: random.Random, limit: int, cut: bool, named: bool) -> None:
    """As a recall has them: two long lists of sessions that overlap; keys as on either backend."""
    draw = chance.randrange
    everyone: dict[Key, Candidate] = {}
    for number in range(160):
        key: Key = ("here", number) if named else number
        session = draw(6) or None
        everyone[key] = Candidate(
            key,
            0.0,
            session,
            draw(40) if session else None,
            [None, "Ann", "Bob"][draw(3)],
            draw(200),
            draw(10**15),
        )

    def leg(highest: float) -> list[Candidate]:
        some = [candidate for candidate in everyone.values() if draw(3)]
        scores = sorted((draw(1000) / 1000 * highest for _ in some), reverse=True)
        return [each._replace(score=score) for each, score in zip(some, scores, strict=True)]

    keyword, semantic = leg(30.0), leg(1.0)
    near = {each.key for each in semantic}
    extra = {each.key: draw(1000) / 1000 for each in keyword if each.key not in near and draw(4)}
    found = Legs(keyword, semantic, extra, cut, draw(12))
    rules = Rules("mix", NOW, meant=frozenset({"Bob"}) if draw(2) else frozenset())
    drop = bool(draw(2))
    assert_alike(found, {"semantic": 0.6, "keyword": 0.4}, rules, limit, drop)
    if not named:
        packed = Legs(packed_from(keyword), packed_from(semantic), extra, cut, found.words)
        assert (packed.keyword, packed.semantic, packed.speakers()) == (keyword, semantic, found.speakers())
        weights = {"semantic": 0.6, "keyword": 0.4}
        assert mixing.mixed(packed, weights, rules, limit, drop_nothing=drop) == mixing.mixed(
            found, weights, rules, limit, drop_nothing=drop
        )


@given(st.lists(st.text(st.sampled_from("aAbß İ\u00a0\x1c\n.É"), max_size=12), max_size=8), st.integers(0, 8))
def test_words_in_common_are_counted_alike(contents: list[str], compared: int) -> None:
    found = mixing.sharing(contents, compared, 0.6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mixing, "COMPILED", False)
        assert found == mixing.sharing(contents, compared, 0.6)


def test_no_text_is_too_long_or_strange_to_be_compared() -> None:
    long = " ".join(f"word{number}" for number in range(5_000))
    contents = ["", " ", long, long.upper(), "\0", "\0 \0", "日本語 です", "日本語\u3000です"]
    assert mixing.sharing(contents, 100, 0.6) == [(3, 2), (5, 4), (7, 6)]
    assert mixing.sharing([], 100, 0.6) == []
