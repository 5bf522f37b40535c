"""What is compiled finds in any text what Python finds there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect import sectors
from recollect.cues import Patterns
from recollect.query import compiled
from recollect.query.duplicates import near_keys
from recollect.query.languages import detect
from recollect.query.terms import analyse, terms_of

pytestmark = pytest.mark.skipif(not compiled.COMPILED, reason="nothing is compiled here")

CUES = Patterns([cue for cues in sectors.ENGLISH.values() for _, cue in cues])
SIGNS = " _.-/@:+&'#\\\n\t,;()$`é’猫ｆ٣"
WORDS = """:: ++ n't 's 'LL don't C++ c# fooBar FOOBar sha256 HTTPServer2 __init__ 17.2 2026-01-15 decided
    at 9pm in 2026 first, run is the der die las une och"""
PIECES = [*SIGNS, *WORDS.split(), "x" * 63, "Y" * 65, "a_" * 40]
texts = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join),
    st.text(st.characters(max_codepoint=127)),
    st.text(),
)
Found = TypeVar("Found")


@contextmanager
def nothing_compiled() -> Iterator[None]:
    compiled.COMPILED = False
    try:
        yield
    finally:
        compiled.COMPILED = True


def by_python(find: Callable[[str], Found], text: str) -> Found:
    with nothing_compiled():
        return find(text)


@given(texts, st.sampled_from(["en", "de", "tr", "fi", "ru", "zh", "none"]))
@example("I can't, won't and cannot: n't 'n't an't x's It'll THEY'RE", "en")
@example("a++b c++ d++. e# f#g h::i::j k:l :: m", "en")
@example("Ｃafé don’t fooBar-猫_x", "de")
def test_terms(text: str, language: str) -> None:
    assert terms_of(text, language) == [term.text for term in analyse(text, language)]


@given(texts)
@example("die api, de la base")
def test_language(text: str) -> None:
    assert detect(text) == by_python(detect, text)


@given(texts)
@example("2026-01-15: first, run it at 9pm")
def test_cues(text: str) -> None:
    for each in (text, text.lower()):
        assert CUES.in_text(each) == by_python(CUES.in_text, each)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=60))
def test_near_keys(terms: list[str]) -> None:
    def find(_: str) -> tuple[int, ...]:
        return near_keys(terms)

    assert find("") == by_python(find, "")


def test_what_is_not_ascii_is_refused() -> None:
    with pytest.raises(ValueError, match="ASCII"):
        compiled._text.words("é", {})
    with pytest.raises(ValueError, match="ASCII"):
        compiled._text.terms("é", {}, {}, 64, 100)


def test_no_more_chunks_are_remembered_than_there_is_room_for() -> None:
    known: dict[str, tuple[str, ...]] = {}
    words = {"one": "one", "two": "two", "three": "three"}
    assert compiled._text.terms("one two three one", known, words, 64, 2) == ["one", "two", "three", "one"]
    assert len(known) <= 2


def test_leads_that_are_no_leads_are_refused() -> None:
    wrong: list[Any] = [
        {"a": 1},
        {"a": (1,)},
        {"a": ((),)},
        {"a": ((1, (), "", 0),)},
        {"a": (((), 1, "", 0),)},
    ]
    for leads in wrong:
        with pytest.raises((TypeError, SystemError)):
            compiled._text.led("a", {"a"}, leads)
