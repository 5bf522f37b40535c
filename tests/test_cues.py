"""Patterns are found by the words that they need exactly where searching for each of them finds them."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import sectors
from recollect.cues import Contest, Patterns, alternatives
from recollect.query import compiled

CUES = [
    pattern for cues in (*sectors.ENGLISH.values(), *sectors.OTHER_LANGUAGES.values()) for _, pattern in cues
]
PATTERNS = Patterns(CUES)
SEARCHED = [re.compile(pattern) for pattern in CUES]


def by_searching(text: str) -> set[int]:
    return {number for number, pattern in enumerate(SEARCHED) if pattern.search(text)}


def matching(pattern: str) -> st.SearchStrategy[str]:
    """Texts for a pattern, with a line break where a later line begins: chance hardly ever makes one."""
    return st.from_regex(pattern.replace("?^", "?\\n"))


@pytest.mark.parametrize("number", range(len(CUES)))
def test_whatever_a_cue_matches_is_found(number: int) -> None:
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
    @given(matching(CUES[number]))
    def check(text: str) -> None:
        assert PATTERNS.in_text(text) == by_searching(text)

    check()


@given(
    st.lists(
        st.sampled_from(
            [*" '.,:;-$1\n", *["run", "the", "we", "decided", "always", "2026", "决定", "é", "once"]]
        )
    )
)
def test_any_text_gives_what_searching_gives(pieces: list[str]) -> None:
    for text in ("".join(pieces), " ".join(pieces)):
        assert PATTERNS.in_text(text) == by_searching(text)


WEIGHTS = [
    weight for cues in (*sectors.ENGLISH.values(), *sectors.OTHER_LANGUAGES.values()) for weight, _ in cues
]
GROUPS = [
    place
    for each in (sectors.ENGLISH, sectors.OTHER_LANGUAGES)
    for place, sector in enumerate(each)
    for _ in each[sector]
]


PHRASES = ["yesterday", "is a", "i love", "how to", "lesson learned", "today", "check", "merged"]


def heaviest(text: str, least: float) -> int | None:
    sums = [0.0] * (max(GROUPS) + 1)
    for number in by_searching(text):
        sums[GROUPS[number]] += WEIGHTS[number]
    best = sums.index(max(sums))
    return best if sums[best] >= least else None


@given(
    st.lists(
        st.sampled_from(
            [
                *" '.,:;-$1\n",
                *["run", "the", "we", "decided", "always", "2026", "决定", "é", "then", "because"],
                *PHRASES,
            ]
        ),
        max_size=12,
    ),
    st.sampled_from([1.0, 2.0, 5.0]),
    st.booleans(),
)
def test_the_heaviest_group_wins_whatever_was_not_searched_for(
    pieces: list[str], least: float, in_python: bool
) -> None:
    contest = Contest(GROUPS, WEIGHTS, least)
    given = ["".join(pieces), " ".join(pieces), ""]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(compiled, "COMPILED", compiled.COMPILED and not in_python)
        assert PATTERNS.winners(given, contest) == [heaviest(text, least) for text in given]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\bcat\b", "a cat"),
        (r"cat", "concatenate"),
        (r"\bcats?x*\b", "catxx"),
        (r"\b(cat |dog )*bird\b", "cat dog bird"),
        (r"\bx{2}\b", "xx"),
        (r"\bthe \w+\b", "the end"),
        (r"(?m)^\$ ", "a\n$ b"),
        (r"\bno\b(?! more)", "no less"),
        (r"[é-ü]", "é"),
        (r"\b\d+ days\b", "10 days"),
        (r"a|\|b", "|b"),
        ("", "anything"),
    ],
)
def test_patterns_of_every_shape(pattern: str, text: str) -> None:
    assert Patterns([pattern]).in_text(text) == {0}
    assert Patterns([pattern]).in_text("") == ({0} if re.search(pattern, "") else set())


def test_a_pattern_is_taken_apart_at_its_bars_alone() -> None:
    assert alternatives(r"a(b|c)|[|]|\|d") == ["a(b|c)", "[|]", r"\|d"]
