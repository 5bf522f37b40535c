"""One analyser for writing and asking: words, identifiers, any script."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.query.highlight import Highlights, highlights
from recollect.query.languages import detect
from recollect.query.terms import _CHUNK, LONGEST_TERM, analyse, parse_query, terms_of


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Running the migrations", ["run", "the", "migrat"]),
        ("migration_032", ["migration_032", "migrat", "032"]),
        ("kubectl apply", ["kubectl", "appli"]),
        ("src/routes/api.ts", ["src/routes/api.ts", "src", "rout", "api", "ts"]),
        ("PostgreSQL 17.2", ["postgresql", "postgr", "sql", "17.2", "17", "2"]),
        ("getSessionContext", ["getsessioncontext", "get", "session", "context"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("sha256", ["sha256", "sha", "256"]),
        ("C++ or C#?", ["c++", "or", "c#"]),
        ("don't Ana's", ["dont", "ana"]),
        ("state-of-the-art", ["state-of-the-art", "state", "of", "the", "art"]),
        ("std::vector<int>", ["std::vector", "std", "vector", "int"]),
        ("__init__.py", ["init__.py", "init", "py"]),
        ("Café NAÏVE", ["cafe", "naiv"]),
        ("缓存", ["缓存", "存"]),
        ("使用Redis缓存", ["使用", "用", "redi", "缓存", "存"]),
        ("🎉 done", ["🎉", "done"]),
        ("... --- !!!", []),
        ("\x00\x1b", []),
    ],
)
def test_the_terms_of_a_text(text: str, terms: list[str]) -> None:
    assert terms_of(text) == terms


def test_terms_know_their_place() -> None:
    text = "Call getSessionContext(x), 缓存 now"
    for term in analyse(text):
        assert text[term.start : term.end].lower().startswith(term.text[:2])


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.text(st.characters(max_codepoint=127)) | st.text("aZ0_-.:/+#'&@\\ "))
def test_ascii_is_cut_as_any_text_is(text: str) -> None:
    assert _CHUNK.findall(text) == _CHUNK.any.findall(text)
    assert [each.span() for each in _CHUNK.finditer(text)] == [
        each.span() for each in _CHUNK.any.finditer(text)
    ]


@given(st.text())
def test_any_text_has_terms_that_a_keyword_index_can_hold(text: str) -> None:
    terms = terms_of(text)
    assert all(term and not term.isspace() and '"' not in term and " " not in term for term in terms)
    assert all(len(term) <= LONGEST_TERM * 3 for term in terms)
    assert [term.text for term in analyse(text)] == terms
    assert all(0 <= term.start < term.end <= len(text) for term in analyse(text))


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.text())
def test_a_text_is_looked_for_by_terms_that_it_has(text: str) -> None:
    terms = terms_of(text)
    query = parse_query(text)
    for word in query.words:
        assert any(
            term in terms or (word.prefix and any(t.startswith(term) for t in terms)) for term in word.terms
        )
    assert bool(query) == bool(terms)


class TestQueries:
    def test_stop_words_are_dropped_unless_nothing_else_is_left(self) -> None:
        assert [word.terms[0] for word in parse_query("what is the plan for it").words] == ["plan"]
        assert [word.terms[0] for word in parse_query("what is it").words] == ["what", "is", "it"]

    def test_short_queries_match_beginnings_and_long_ones_do_not(self) -> None:
        assert parse_query("auth").words[0].prefix
        assert not any(word.prefix for word in parse_query("auth login token session cookie").words)

    def test_numbers_and_identifiers_match_whole(self) -> None:
        assert not any(word.prefix for word in parse_query("17.2").words)

    def test_phrases_in_straight_and_curly_quotes(self) -> None:
        for query in ('the "lost update"', "the “lost update”"):
            assert parse_query(query).phrases[0].alternatives == (("lost", "updat"),)
        assert parse_query('an unbalanced " quote').phrases == ()

    def test_stems_of_every_language_in_use_are_alternatives(self) -> None:
        words = parse_query("Häuser", languages=["en", "de"]).words
        assert words[0].terms == ("hauser", "haus")

    def test_pairs_of_characters_without_the_lone_last_one(self) -> None:
        assert [word.terms[0] for word in parse_query("数据库").words] == ["数据", "据库"]
        assert parse_query("猫").words[0].prefix


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The cat sat on the mat", "en"),
        ("Der Hund und die Katze sind nicht hier", "de"),
        ("Le chat est sur la table avec les chiens", "fr"),
        ("El perro no está en la casa de los gatos", "es"),
        ("Мы перенесли базу данных", "ru"),
        ("我们决定使用缓存", "zh"),
        ("テストを書きました", "ja"),
        ("데이터베이스를 옮겼다", "ko"),
        ("เราย้ายฐานข้อมูลแล้ว", "th"),
        ("हमने डेटाबेस बदल दिया", "hi"),
        ("kubectl apply -f x.yaml", "en"),
        ("", "en"),
        ("123", "en"),
    ],
)
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert detect(text) == language


class TestHighlights:
    def test_marks_stand_where_the_words_are(self) -> None:
        marked = highlights("The authentication module", parse_query("auth"), "en")
        assert marked == ("The <mark>authentication</mark> module",)

    def test_the_rest_is_escaped(self) -> None:
        marked = highlights("<mark>fake</mark> & real", parse_query("real"), "en")
        assert marked == ("&lt;mark&gt;fake&lt;/mark&gt; &amp; <mark>real</mark>",)

    def test_long_texts_are_cut_around_the_marks(self) -> None:
        text = "filler " * 300 + "the walrus sings " + "padding " * 300
        (marked,) = highlights(text, parse_query("walrus"), "en")
        assert "<mark>walrus</mark>" in marked
        assert marked.startswith("…")
        assert marked.endswith("…")
        assert len(marked) < 300

    def test_nothing_matched_nothing_marked(self) -> None:
        assert highlights("something", parse_query("else"), "en") == ()

    def test_they_are_a_sequence_that_is_cut_when_it_is_looked_at(self) -> None:
        marks = Highlights("The authentication module", parse_query("auth"), "en")
        cut = ("The <mark>authentication</mark> module",)
        assert (len(marks), marks[0], marks[:5], tuple(marks)) == (1, cut[0], cut, cut)
        assert marks == cut
        assert marks == Highlights("The authentication module", parse_query("auth"), "en")
        assert marks != Highlights("The module", parse_query("auth"), "en")
        assert {marks: 1}[Highlights("The authentication module", parse_query("auth"), "en")] == 1
        assert pickle.loads(pickle.dumps(marks)) == copy.deepcopy(marks) == marks
        assert not Highlights("something", parse_query("else"), "en")
