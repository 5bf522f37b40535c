"""What is compiled finds in any text what Python finds there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect import sectors
from recollect.cues import Patterns
from recollect.query import compiled
from recollect.query.duplicates import MIXED, alike, near_keys
from recollect.query.languages import detect, detect_many
from recollect.query.terms import analyse, terms_and_keys, terms_of
from recollect.store.sqlite.derived.words import numbered
from recollect.types import Sector

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


@given(st.lists(texts, max_size=5), st.sampled_from(["en", "de", "tr", "fi", "ru", "zh", "none"]))
@example(
    ["I can't, won't and cannot: n't 'n't an't x's It'll THEY'RE", "", "café", "a++b c++ d++. e# f#g h::i"],
    "en",
)
def test_many_texts(texts: list[str], language: str) -> None:
    found = list(terms_and_keys(texts, language))
    with nothing_compiled():
        assert found == list(terms_and_keys(texts, language))


@given(st.lists(texts, max_size=5))
def test_languages_and_sectors_of_many_texts(texts: list[str]) -> None:
    found = detect_many(texts), sectors.classify_many(texts)
    assert found == ([by_python(detect, text) for text in texts], [best_of(text) for text in texts])


@given(st.lists(st.lists(st.text(st.characters(exclude_categories=["Z", "C"]))).map(" ".join)))
@example(["lost updat", "", " updat\tagain\n", "caf\u00e9 \u732b"])
def test_words_by_number(texts: list[str]) -> None:
    def find(_: str) -> tuple[list[int], list[int], list[bytes]]:
        met, lengths, words = numbered(texts)
        return met.tolist(), lengths.tolist(), words

    assert find("") == by_python(find, "")


def best_of(text: str) -> Sector:
    scores = by_python(sectors.scores, text)
    best = max(sectors.TIE_ORDER, key=scores.__getitem__)
    return best if scores[best] >= sectors.THRESHOLD else "semantic"


def test_what_is_not_ascii_is_refused() -> None:
    no_words = compiled._text.table(())
    with pytest.raises(ValueError, match="ASCII"):
        compiled._text.elections(["é"], no_words, b"")
    with pytest.raises(ValueError, match="ASCII"):
        compiled._text.led(["é"], no_words, "0", b"", b"", 0)
    with pytest.raises(ValueError, match="ASCII"):
        compiled._text.terms("é", {}, {}, 64, 100)
    with pytest.raises(ValueError, match="ASCII"):
        compiled._text.read(["é"], no_words, str, 64, 100, *MIXED)


def test_no_more_chunks_are_remembered_than_there_is_room_for() -> None:
    known: dict[str, tuple[str, ...]] = {}
    words = {"one": "one", "two": "two", "three": "three"}
    assert compiled._text.terms("one two three one", known, words, 64, 2) == ["one", "two", "three", "one"]
    assert len(known) <= 2


def test_a_table_begins_anew_once_it_is_full() -> None:
    table = compiled._text.table(())
    asked: list[str] = []

    def stem(word: str) -> str:
        asked.append(word)
        return word

    for text in ("one two three", "one", "one"):
        assert compiled._text.read([text], table, stem, 64, 3, *MIXED) == ([text], [()])
    assert asked == ["one", "two", "three", "one"]


def test_a_table_that_could_not_learn_a_stem_learns_it_later() -> None:
    table = compiled._text.table(())
    with pytest.raises(ZeroDivisionError):
        compiled._text.read(["one two"], table, lambda word: str(1 // (word != "two")), 64, 100, *MIXED)
    assert compiled._text.read(["one two"], table, str.upper, 64, 100, *MIXED) == (["ONE TWO"], [()])


def test_a_table_in_use_is_refused() -> None:
    table = compiled._text.table(())

    def stem(word: str) -> str:
        return compiled._text.read([word], table, str, 64, 100, *MIXED)[0][0]

    with pytest.raises(ValueError, match="nobody"):
        compiled._text.read(["one"], table, stem, 64, 100, *MIXED)


def test_many_threads_read_at_once() -> None:
    many = [f"{word} migrations_{number} of {word}ing" for number in range(400) for word in WORDS.split()]
    expected = list(terms_and_keys(many))
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda texts: list(terms_and_keys(texts)), [many] * 8):
            assert found == expected


@given(texts, st.lists(texts, max_size=4))
@example("", ["", " "])
@example("a b a b c c c", ["a b a b c c", "c c c b a b a", "a  b"])
def test_who_says_nearly_the_same(mine: str, others: list[str]) -> None:
    compared = [*others, mine, f"{mine} again", mine[::-1]]
    assert alike(mine, compared) == by_python(lambda text: alike(text, compared), mine)
