"""What holds for any text, any query, any store: checked by hypothesis."""

from __future__ import annotations

import html
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

import recollect
from recollect import Draft, InvalidInput, Memories, NoSuchMemory, checks
from recollect.query.highlight import highlights
from recollect.query.languages import STEMMERS, detect
from recollect.query.speakers import meant
from recollect.query.terms import parse_query, terms_of
from recollect.ranking import fuse
from recollect.ranking.fuse import Fused, Legs, rrf
from recollect.ranking.score import Rules, contenders, score
from recollect.store.base import Candidate, Key, Standing
from recollect.times import to_micros
from recollect.types import FUSIONS, MODES, SECTORS, Fusion, Mode, Sector, TimeUsed

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
EVER = datetime(1, 1, 2, tzinfo=UTC)
"""With a time given, none is read from the query: a text such as "yesterday" is words like any other."""


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


def opened(namespace: str = "any", clock: Clock | None = None) -> Memories:
    return recollect.open(":memory:", namespace=namespace, embedder="hash", clock=clock or Clock())


@contextmanager
def emptied(memories: Memories) -> Iterator[Memories]:
    """The same store for every example, empty at its beginning: opening one takes longer than using it."""
    memories.forget(everything=True)
    yield memories


@pytest.fixture(scope="module")
def memories() -> Iterator[Memories]:
    with opened() as store:
        yield store


WORDS = re.split(
    " ",
    'harbour ship NEAR( NEAR AND OR NOT - * " ^ : + ( ) { } \'quoted\' "two words" C++ C# node.js a/b::c '
    "getSessionContext snake_case_name v17.2.1 user@example.org #42 0xDEADBEEF don't it's l'été naïve Straße "
    "ΑΒΓ привет мир שלום سلام नमस्ते 我们用 テスト 한국어 ภาษา 👩‍👩‍👧 🦜 ﷺ ͺ ⑴ ½ ﬁ İstanbul "
    "\u202eRTL\u202c \x01 \x1b[0m \t \n \r\n \u0085 \u2028 \u3000 terms scope n1 yesterday Monday 2026-01-01",
)
PIECES = st.one_of(st.sampled_from(WORDS), st.text(max_size=12))
ANY_STRING = st.one_of(
    st.text(max_size=60),
    st.text(st.characters(codec=None), max_size=40),
    st.lists(PIECES, max_size=8).map(" ".join),
    st.lists(PIECES, max_size=8).map("".join),
)


def is_accepted(text: str) -> bool:
    try:
        checks.text(text)
    except InvalidInput:
        return False
    return True


TEXTS = ANY_STRING.filter(is_accepted)


# any text


@given(TEXTS)
@example("a" * 100_000)
@example("word " * 20_000)
@example("我" * 30_000)
@example("".join(chr(code) for code in range(1, 0x3000) if not 0xD800 <= code < 0xE000))
@example('NEAR("a" AND *) OR -b')
@example("\ufeffBOM first\r\nCRLF\rCR\x0bVT\x0cFF\x1c\x85\u2028")
@example("ﷺ ﷽ ͺ ⒈ ㎏")
@example("ß" * 30 + "aBxing")
def test_any_text_comes_back_as_it_was_and_is_found_by_its_own_words(memories: Memories, text: str) -> None:
    with emptied(memories):
        id = memories.remember(text).id
        memories.remember("Something else was said about it", id="else", on_duplicate="keep")
        kept = memories.get(id)
        assert kept.content.encode() == text.encode()
        if terms_of(text, kept.language):
            for query in (text, f"please: {text}"):
                found = memories.recall(query, mode="keyword", since=EVER, reinforce=False)
                assert id in [hit.memory.id for hit in found]
        assert memories.doctor() == []


@given(st.lists(TEXTS, min_size=2, max_size=6, unique_by=str.strip))
def test_texts_in_company_are_each_found_by_their_words(memories: Memories, texts: list[str]) -> None:
    """Whatever languages the others brought: a text is found by its words, and comes back as it was."""
    with emptied(memories):
        kept = memories.remember_many([Draft(text, speaker="Ana") for text in texts])
        for item, text in zip(kept, texts, strict=True):
            memory = memories.get(item.id)
            assert memory.content == text
            if terms_of(text, memory.language):
                found = memories.recall(text, mode="keyword", since=EVER, reinforce=False)
                assert item.id in [hit.memory.id for hit in found]


@given(TEXTS, TEXTS)
def test_an_updated_text_is_found_by_its_new_words(memories: Memories, old: str, new: str) -> None:
    with emptied(memories):
        id = memories.remember(old).id
        memories.update(id, text=new)
        kept = memories.get(id)
        assert kept.content == new
        if terms_of(new, kept.language):
            found = memories.recall(new, mode="keyword", since=EVER, reinforce=False)
            assert id in [hit.memory.id for hit in found]
        assert memories.doctor() == []


# any query


@pytest.fixture(scope="module")
def library() -> Iterator[Memories]:
    """A small store in several languages, with sessions, supersession and a document."""
    with opened("library") as store:
        texts = [
            "The API listens on port 8080", "We chose PostgreSQL 17.2 for billing", "Ana moved to Lisbon",
            "Wir haben uns gegen Redis entschieden, weil es zu teuer ist", "我们决定使用 PostgreSQL",
            "🦜 parrots",
            "Мы решили использовать очередь", "call getSessionContext() in node.js", "a * b \" NEAR( c",
        ]  # fmt: skip
        for number, text in enumerate(texts):
            store.remember(
                text, id=str(number), session=f"s{number % 2}", created_at=NOW - timedelta(days=number * 3)
            )
        store.supersede("0", "1")
        store.ingest("# Guide\n\nStart the server.\n\n## Ports\n\nThe port is 8080.", name="guide.md")
        yield store


@given(ANY_STRING, st.sampled_from(MODES), st.sampled_from(FUSIONS), st.integers(1, 20), st.booleans())
@settings(max_examples=80)
@example("\0", "keyword", "mix", 10, True)
@example("\ud800", "hybrid", "mix", 10, True)
@example('"' * 5000, "auto", "rerank", 10, False)
@example("last 99999999999999999999 years", "hybrid", "mix", 10, True)
@example("between 9999-12-31 and 0001-01-01", "hybrid", "mix", 10, True)
def test_any_string_is_a_query(
    library: Memories, query: str, mode: Mode, fusion: Fusion, limit: int, everything: bool
) -> None:
    found = library.recall(
        query,
        mode=mode,
        fusion=fusion,
        limit=limit,
        include_superseded=everything,
        include_documents=everything,
        reinforce=False,
    )
    assert isinstance(found, list)
    assert len(found) <= limit
    scores = [hit.score for hit in found]
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert len({hit.memory.id for hit in found}) == len(found)
    for hit in found:
        assert_highlights(hit.highlights, hit.memory.content)
        assert everything or (hit.memory.superseded_by is None and hit.memory.kind == "memory")
        assert hit.match in ("keyword", "semantic", "both")


TIME_WORDS = st.sampled_from(
    re.split(
        r"\s+",
        """last this next past in on since before after until between and to ago early late week weeks month
        day days year years quarter Q1 Q5 Monday March May 3rd 31 32 0 1 2026 0000 9999 10000 1e9 -1 noon
        99999999999999999999 2026-02-30 9999-12-31 0001-01-01 T25:00 23:59 a couple of few morning night
        weekend second – .. /""",
    )
)


@given(st.lists(TIME_WORDS, max_size=7).map(" ".join))
@settings(max_examples=80)
def test_no_words_about_time_are_an_error_in_a_question(library: Memories, query: str) -> None:
    found = library.recall(query, reinforce=False)
    if found.timeframe is not None:
        start, end = found.timeframe.start, found.timeframe.end
        assert start is None or end is None or start < end


@given(st.lists(ANY_STRING, max_size=3), ANY_STRING)
def test_any_strings_are_an_expansion(library: Memories, expansion: list[str], query: str) -> None:
    assert isinstance(library.recall(query, expand=expansion, reinforce=False), list)
    assert isinstance(library.recall(query, expand=lambda _: expansion, reinforce=False), list)


@given(ANY_STRING, st.sampled_from(sorted(STEMMERS)))
def test_every_language_gives_a_chunk_as_many_terms(query: str, language: str) -> None:
    assert len(terms_of(query, language)) == len(terms_of(query, "none"))
    parse_query(query, languages=("en", language, "none"))


# highlights


def assert_highlights(snippets: Sequence[str], content: str) -> None:
    for snippet in snippets:
        assert re.sub(r"</?mark>", "", snippet).count("<") == 0
        assert snippet.count("<mark>") == snippet.count("</mark>") > 0
        text = html.unescape(re.sub(r"</?mark>", "", snippet))
        readings = {text, text.removeprefix("…"), text.removesuffix("…"), text[1:].removesuffix("…")}
        assert any(reading in content for reading in readings), (snippet, content)


@given(TEXTS, st.data())
@settings(max_examples=100)
@example("<mark>not ours</mark> &lt;b&gt; & &amp; harbour", None)
@example("… harbour …", None)
@example("x" * 500 + " harbour " + "y" * 500, None)
def test_highlights_quote_the_text(text: str, data: Any) -> None:
    words = text.split()
    query = data.draw(st.sampled_from(words)) if data is not None and words else "harbour mark amp"
    language = detect(text)
    found = highlights(text, parse_query(query, languages=[language]), language)
    assert_highlights(found, text)


# fusing


RANKINGS = st.lists(st.lists(st.integers(0, 12), max_size=10, unique=True), min_size=1, max_size=4)


@given(RANKINGS)
def test_rrf_is_the_sum_over_the_lists_and_the_best_comes_first(lists: list[list[int]]) -> None:
    scores = rrf(lists)
    assert set(scores) == set(itertools.chain(*lists))
    for key, value in scores.items():
        assert math.isclose(value, sum(1 / (61 + ranks.index(key)) for ranks in lists if key in ranks))
    assert list(scores.values()) == sorted(scores.values(), reverse=True)


@given(RANKINGS)
def test_rrf_does_not_care_which_list_is_which(lists: list[list[int]]) -> None:
    assert rrf(lists) == pytest.approx(rrf(lists[::-1]))


@given(RANKINGS, st.data())
def test_rrf_only_gains_by_a_better_rank(lists: list[list[int]], data: Any) -> None:
    assume(lists[0])
    place = data.draw(st.integers(0, len(lists[0]) - 1))
    better = data.draw(st.integers(0, place))
    key = lists[0][place]
    moved = [k for k in lists[0] if k != key]
    moved.insert(better, key)
    before, after = rrf(lists), rrf([moved, *lists[1:]])
    assert after[key] > before[key] or better == place


@given(RANKINGS, st.lists(st.floats(0, 10), min_size=4, max_size=4), st.floats(0.01, 10))
def test_rrf_weights_scale_their_list(lists: list[list[int]], weights: list[float], factor: float) -> None:
    given_weights = weights[: len(lists)]
    scores = rrf(lists, given_weights)
    scaled = rrf(lists, [weight * factor for weight in given_weights])
    assert {key: score * factor for key, score in scores.items()} == pytest.approx(scaled)
    alone = rrf(lists, [1.0] + [0.0] * (len(lists) - 1))
    assert {key: score for key, score in alone.items() if score} == pytest.approx(rrf(lists[:1]))


def test_second_and_third_beat_first_in_one_list_only() -> None:
    scores = rrf([["a", "b", "c"], ["x", "y", "b"]])
    assert next(iter(scores)) == "b"
    assert scores["b"] == pytest.approx(1 / 62 + 1 / 63)
    assert scores["a"] == pytest.approx(1 / 61)


@st.composite
def legs(draw: st.DrawFn) -> Legs:
    def candidates(lowest: float, highest: float) -> list[Candidate]:
        keys = draw(st.lists(st.integers(0, 15), max_size=10, unique=True))
        scores = sorted((draw(st.floats(lowest, highest, allow_nan=False)) for _ in keys), reverse=True)
        return [candidate(key, score) for key, score in zip(keys, scores, strict=True)]

    def candidate(key: int, score: float) -> Candidate:
        return Candidate(
            key=key,
            score=score,
            session=draw(st.sampled_from([None, 1, 2])),
            position=draw(st.integers(0, 5)),
            tokens=draw(st.integers(0, 1000)),
            speaker=draw(st.sampled_from([None, "Ann", "Bob"])),
            created=to_micros(NOW - timedelta(days=draw(st.integers(-400, 40_000)))),
        )

    keyword, semantic = candidates(0.0, 30.0), candidates(-1.0, 1.0)
    known = {c.key for c in semantic}
    extra = {c.key: draw(st.floats(-1, 1)) for c in keyword if c.key not in known}
    return Legs(keyword, semantic, extra)


WEIGHTS = st.floats(0, 1000)
STANDINGS = st.lists(
    st.builds(Standing, st.sampled_from(SECTORS), st.floats(0, 1), st.floats(0, 1), st.booleans()),
    min_size=16,
    max_size=16,
)
"""One for each key that `legs` may have."""


def _candidate(key: int, score: float) -> Candidate:
    return Candidate(key, score, None, None, None, 10, to_micros(NOW))


def valued(fused: Iterable[Fused], rules: Rules) -> list[Fused]:
    return [item._replace(most=rules.most(item)) for item in fused]


@given(legs(), STANDINGS, WEIGHTS, WEIGHTS, WEIGHTS, WEIGHTS)
@settings(max_examples=80)
def test_every_fusion_keeps_everyone_and_stays_within_0_and_1(
    found: Legs, stand: list[Standing], semantic: float, keyword: float, salience: float, recency: float
) -> None:
    assume(semantic + keyword > 0)
    two = {"semantic": semantic, "keyword": keyword}
    everyone = set(found.candidates())
    four = two | {"salience": salience, "recency": recency}
    for rules, fused in (
        (Rules("mix", NOW, meant=frozenset({"Ann"})), fuse.mix(found, two)),
        (Rules("rrf", NOW), fuse.by_rank(found, two)),
        (Rules("weighted", NOW, weights=four), fuse.weighted(found, four)),
    ):
        assert {item.candidate.key for item in fused} == everyone
        final = score(valued(fused, rules), dict(enumerate(stand)), rules, max(1, len(fused)))
        assert all(0.0 <= value <= 1.0 for _, value in final)
        assert all(math.isfinite(item.base) for item in fused)
        for item in fused:
            assert (item.keyword is not None) == (item.candidate.key in {c.key for c in found.keyword})
    assert {item.candidate.key for item in fuse.reranked(found)} == {c.key for c in found.keyword}
    first = {item.candidate.key for item in fuse.first_answer(found)}
    assert first == {c.key for c in found.semantic or found.keyword}


@given(legs(), STANDINGS, st.integers(1, 12), st.booleans(), st.sampled_from(["mix", "rrf", "weighted"]))
@settings(max_examples=80)
def test_whoever_is_not_loaded_would_not_have_won(
    found: Legs, stand: list[Standing], limit: int, superseded: bool, fusion: Fusion
) -> None:
    if not superseded:
        stand = [each._replace(superseded=False) for each in stand]
    standings: dict[Key, Standing] = dict(enumerate(stand))
    frame = TimeUsed(NOW - timedelta(days=90), NOW, "lately", "query")
    rules = Rules(fusion, NOW, frame, meant=frozenset({"Ann"}), superseded=superseded)
    fused = {
        "mix": fuse.mix(found, fuse.MIX_WEIGHTS),
        "rrf": fuse.by_rank(found, fuse.RRF_WEIGHTS),
        "weighted": fuse.weighted(found, fuse.WEIGHTED_WEIGHTS),
    }[fusion]
    expected = score(valued(fused, rules), standings, rules, limit)
    assert score(contenders(fused, rules, limit), standings, rules, limit) == expected


@given(st.text(max_size=80), st.lists(st.text(min_size=1, max_size=20), max_size=5))
def test_only_some_of_the_speakers_are_meant(question: str, speakers: list[str]) -> None:
    found = meant(question, speakers)
    assert found < set(speakers) or not found


def test_a_leg_whose_best_stands_out_counts_for_more() -> None:
    def weight_of_words(scores: list[float], number: int = 5) -> float:
        found = [_candidate(key, score) for key, score in enumerate(scores)]
        near = [_candidate(key, 0.9 - key / 100) for key in range(40)]
        fused = fuse.mix(Legs(found, near, words=number), fuse.MIX_WEIGHTS)
        return max(item.keyword.share for item in fused if item.keyword)

    even, standing_out = [10.0 - n / 100 for n in range(40)], [10.0, *[1.0] * 39]
    assert weight_of_words(even) < fuse.MIX_WEIGHTS["keyword"] < weight_of_words(standing_out)
    assert weight_of_words(even, number=3) < weight_of_words(even) < weight_of_words(even, number=9)


@given(legs())
def test_first_in_both_lists_is_first(found: Legs) -> None:
    assume(found.keyword)
    best = found.keyword[0]
    others = [c for c in found.semantic if c.key != best.key]
    both = Legs(found.keyword, [_with_score(best, 1.0), *others])
    for fused in (fuse.mix(both, fuse.MIX_WEIGHTS), fuse.by_rank(both, fuse.RRF_WEIGHTS)):
        top = max(item.base for item in fused)
        assert next(item.base for item in fused if item.candidate.key == best.key) == top


def _with_score(candidate: Candidate, score: float) -> Candidate:
    return candidate._replace(score=score)


# salience

RATES: dict[Sector, float] = {
    "emotional": 0.003, "semantic": 0.005, "reflective": 0.008, "procedural": 0.01, "episodic": 0.02,
}  # fmt: skip
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["recall", "reinforce", "deemphasize", "wait", "back", "again", "update"]),
        st.floats(0, 1),
        st.integers(0, 2000),
    ),
    max_size=8,
)


@given(st.sampled_from(SECTORS), st.floats(0, 1), st.integers(0, 100_000))
def test_salience_decays_by_the_rate_of_its_sector(sector: Sector, importance: float, hours: int) -> None:
    clock = Clock()
    with opened(clock=clock) as memories:
        id = memories.remember("The harbour", sector=sector, importance=importance).id
        assert memories.get(id).salience == pytest.approx(importance)
        clock.now += timedelta(hours=hours)
        expected = importance * math.exp(-RATES[sector] * hours / 24)
        assert memories.get(id).salience == pytest.approx(expected)
        assert memories.get(id).importance == importance, "importance stays"


@given(STEPS, st.floats(0, 1), st.sampled_from(SECTORS))
def test_salience_stays_within_0_and_1_whatever_happens(
    steps: list[tuple[str, float, int]], importance: float, sector: Sector
) -> None:
    clock = Clock()
    with opened(clock=clock) as memories:
        id = memories.remember("The harbour", importance=importance, sector=sector).id
        for action, amount, days in steps:
            before = memories.get(id).salience
            if action == "recall":
                memories.recall("harbour")
                memories.stats()
                assert memories.get(id).salience == pytest.approx(min(1, before + 0.02))
            elif action == "reinforce":
                assert memories.reinforce(id, amount).salience == pytest.approx(min(1, before + amount))
            elif action == "deemphasize":
                assert memories.deemphasize(id, amount).salience == pytest.approx(max(0, before - amount))
            elif action == "wait":
                clock.now += timedelta(days=days)
                assert memories.get(id).salience <= before
            elif action == "back":
                clock.now -= timedelta(days=days)
            elif action == "again":
                assert memories.remember("The harbour").outcome == "reinforced"
            else:
                memories.update(id, tags=["a"])
            assert 0.0 <= memories.get(id).salience <= 1.0


# export and import

NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12
).filter(str.strip)
MOMENTS = st.datetimes(
    datetime(1, 1, 3), datetime(9999, 12, 29), timezones=st.just(UTC)
)  # fmt: skip
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


def no_nul_or_half(value: object) -> bool:
    text = repr(value)
    return "\\x00" not in text and "\\ud" not in text


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    begin = draw(st.none() | MOMENTS)
    return Draft(
        draw(TEXTS),
        session=draw(st.none() | st.sampled_from(["s1", "s2", "säßion 3"])),
        speaker=draw(st.none() | NAMES),
        created_at=draw(st.none() | MOMENTS),
        sector=draw(st.none() | st.sampled_from(SECTORS)),
        tags=draw(st.lists(NAMES, max_size=2)),
        files=draw(st.lists(NAMES, max_size=1)),
        importance=draw(st.floats(0, 1)),
        summary=draw(st.none() | TEXTS),
        language=draw(st.none() | st.sampled_from(["en", "de", "zh", "none"])),
        metadata=draw(st.dictionaries(st.text(max_size=5), JSON, max_size=2).filter(no_nul_or_half)),
        source=draw(st.none() | NAMES),
        trust=draw(st.sampled_from(["high", "normal", "low"])),
        valid_from=begin,
        valid_until=begin + timedelta(days=1) if begin and draw(st.booleans()) else None,
        expires_at=draw(st.none() | MOMENTS),
    )


Step = Literal[
    "supersede", "relate", "delete", "restore", "forget", "recall", "end", "start", "ingest", "update"
]
EVENTS = st.lists(
    st.tuples(st.sampled_from(get_args(Step)), st.integers(0, 50), st.integers(0, 50)), max_size=10
)


def live(memories: Memories, steps: list[tuple[Step, int, int]], clock: Clock) -> None:
    """A little life of a store: things happen to what is there, and what can't be is left."""
    for action, one, two in steps:
        clock.now += timedelta(minutes=one)
        ids = [record["id"] for record in memories.export_records() if record["type"] == "memory"]
        if not ids:
            return
        a, b = ids[one % len(ids)], ids[two % len(ids)]
        try:
            match action:
                case "supersede":
                    memories.supersede(a, b)
                case "relate":
                    memories.relate(a, b, f"type {one % 3}")
                case "delete":
                    memories.delete(a)
                case "restore":
                    memories.restore(a)
                case "forget":
                    memories.forget(a)
                case "recall":
                    memories.in_session(f"s{two % 4}").recall(memories.get(a).content)
                case "start":
                    memories.start_session(f"s{one % 4}", agent="cli", started_at=clock.now)
                case "end":
                    memories.end_session(f"s{one % 4}", summary="It ended")
                case "ingest":
                    memories.ingest(f"# Doc {one}\n\nText {two}.\n\n## Part\n\nMore.", name=f"d{one % 2}")
                case "update":
                    memories.update(a, tags=[f"t{two}"], importance=0.7)
        except (InvalidInput, recollect.NotFound):
            pass


@given(st.lists(drafts(), min_size=1, max_size=5), EVENTS)
@settings(max_examples=40)
def test_export_import_export_is_identical(items: list[Draft], steps: list[tuple[Step, int, int]]) -> None:
    clock = Clock()
    with opened("from", clock) as source, opened("into", clock) as plain, opened("into", clock) as complete:
        source.remember_many(items)
        live(source, steps, clock)
        for vectors, target in ((False, plain), (True, complete)):
            exported = list(source.export_records(vectors=vectors))
            target.import_records(exported)
            assert list(target.export_records(vectors=vectors)) == exported
            assert target.doctor() == []
            counts = target.import_records(exported)
            assert not counts.get("memories"), "importing again adds nothing"
            assert list(target.export_records(vectors=vectors)) == exported
        assert source.doctor() == []
        assert complete.stats().languages == source.stats().languages
        for record in exported:
            if record["type"] == "memory":
                assert complete.get(record["id"]).content == source.get(record["id"]).content
        words = next(iter(items)).text
        for mode in ("keyword", "hybrid"):
            ours, theirs = (
                [hit.memory.id for hit in store.recall(words, mode=mode, reinforce=False)]
                for store in (source, complete)
            )
            assert sorted(ours) == sorted(theirs), "an imported store answers as the first one did"


# scopes


class Scopes(RuleBasedStateMachine):
    """Three namespaces in one store that use the same words, ids and sessions; none sees another's."""

    written = Bundle("written")
    NAMESPACES = ("alpha", "beta", "gamma")
    SUBJECTS = ("harbour", "lighthouse", "ledger")

    @initialize()
    def open(self) -> None:
        self.clock = Clock()
        self.memories = opened("alpha", self.clock)
        self.home: dict[str, str] = {}
        self.number = 0

    def teardown(self) -> None:
        if hasattr(self, "memories"):
            self.memories.close()

    def view(self, namespace: str) -> Memories:
        return self.memories.in_namespace(namespace)

    @rule(target=written, namespace=st.sampled_from(NAMESPACES), subject=st.sampled_from(SUBJECTS))
    def remember(self, namespace: str, subject: str) -> str:
        self.number += 1
        id = f"{namespace}-{self.number}"
        text = f"The {subject} of number {self.number} opens at six and closes at nine every day"
        self.view(namespace).remember(text, id=id, session="shared", tags=[subject])
        self.home[id] = namespace
        return id

    @rule(target=written, namespace=st.sampled_from(NAMESPACES))
    def remember_the_same(self, namespace: str) -> str:
        kept = self.view(namespace).remember("The very same harbour text is in every namespace")
        assert self.home.setdefault(kept.id, namespace) == namespace
        return kept.id

    @rule(namespace=st.sampled_from(NAMESPACES))
    def ingest(self, namespace: str) -> None:
        self.view(namespace).ingest(f"# Harbour\n\nA ledger in {namespace}.", name="shared.md")

    @rule(namespace=st.sampled_from(NAMESPACES), id=written, other=written)
    def meddle(self, namespace: str, id: str, other: str) -> None:
        """Whatever is done to an id from another namespace is refused."""
        view = self.view(namespace)
        assume(self.home.get(id) != namespace)
        for action in (
            lambda: view.get(id),
            lambda: view.update(id, text="mine now"),
            lambda: view.forget(id),
            lambda: view.delete(id),
            lambda: view.supersede(id, other),
            lambda: view.relate(id, other),
            lambda: view.relations(id),
            lambda: view.timeline(id),
            lambda: view.reinforce(id),
            lambda: view.session_context(id),
        ):
            if id != other:
                with pytest.raises(NoSuchMemory):
                    action()

    @rule(id=written, other=written)
    def connect(self, id: str, other: str) -> None:
        if id != other and self.home.get(id) and self.home.get(id) == self.home.get(other):
            view = self.view(self.home[id])
            view.relate(id, other)
            try:
                view.supersede(id, other)
            except InvalidInput as error:
                assert "circle" in str(error)

    @rule(id=written)
    def forget(self, id: str) -> None:
        if id in self.home:
            self.view(self.home.pop(id)).forget(id)

    @rule(namespace=st.sampled_from(NAMESPACES), subject=st.sampled_from(SUBJECTS))
    def forget_some(self, namespace: str, subject: str) -> None:
        view = self.view(namespace)
        view.forget(tags=subject)
        there = {r["id"] for r in view.export_records() if r["type"] == "memory"}
        self.home = {id: home for id, home in self.home.items() if home != namespace or id in there}

    @rule(
        namespace=st.sampled_from(NAMESPACES),
        asked=st.none() | st.lists(st.sampled_from([*NAMESPACES, "nowhere"]), min_size=1, unique=True),
        mode=st.sampled_from(MODES),
        fusion=st.sampled_from(FUSIONS),
        query=st.sampled_from([*SUBJECTS, "opens at six", "very same text", "six yesterday", "n1", "!"]),
    )
    def recall(self, namespace: str, asked: list[str] | None, mode: Mode, fusion: Fusion, query: str) -> None:
        found = (
            self.view(namespace)
            .in_session("asking")
            .recall(
                query,
                namespace=asked,
                mode=mode,
                fusion=fusion,
                neighbours=2,
                include_superseded=True,
                include_documents=True,
            )
        )
        allowed = set(asked or [namespace])
        for hit in found:
            assert hit.memory.namespace in allowed
            assert self.home.get(hit.memory.id, hit.memory.namespace) == hit.memory.namespace
            assert all(near.namespace == hit.memory.namespace for near in hit.neighbours)
            if hit.superseded_by:
                assert self.home[hit.superseded_by.id] == hit.memory.namespace
            if hit.source_session:
                assert hit.source_session.namespace == hit.memory.namespace

    @invariant()
    def nothing_leaks(self) -> None:
        if not hasattr(self, "memories"):
            return
        self.memories.stats()
        for namespace in self.NAMESPACES:
            view = self.view(namespace)
            ours = {id for id, home in self.home.items() if home == namespace}
            records = list(view.export_records(vectors=True))
            passages = {r["id"] for r in records if r["type"] == "memory" and r["kind"] == "passage"}
            assert {r["id"] for r in records if r["type"] == "memory"} == ours | passages
            for record in records:
                for end in ("source", "target", "memory"):
                    if record["type"] in ("relation", "link", "vector") and end in record:
                        assert record[end] in ours | passages
            assert {preview.id for preview in view.timeline()} == ours
            assert view.stats().memories == len(ours)
        assert self.memories.doctor() == []


TestScopes = Scopes.TestCase
TestScopes.settings = settings(settings.get_profile("specification"), max_examples=25, stateful_step_count=25)
