"""What both legs find, in which order, and what a scope keeps out before anything is cut."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.store.base import Store
from recollect.testing.making import (
    HERE,
    NEWER_MODEL,
    NOW,
    at,
    find,
    find_near,
    found,
    keep,
    keep_document,
    names,
    nearness,
    record,
    scope,
    similarities,
    vector,
    words,
)
from recollect.times import from_micros

# a filter, what it lets through, and what it keeps out
FILTERS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "sector": ({"sectors": ("semantic", "emotional")}, {"sector": "emotional"}, {"sector": "episodic"}),
    "tier": ({"tiers": ("global",)}, {"tier": "global"}, {"tier": "project"}),
    "tags": ({"tags": ("x", "y")}, {"tags": ["y", "x", "z"]}, {"tags": ["x"]}),
    "speaker": ({"speakers": ("Ana", "Bo")}, {"speaker": "Bo"}, {"speaker": "ana"}),
    "nobody": ({"speakers": ("Ana",)}, {"speaker": "Ana"}, {}),
    "session": ({"sessions": ("s", "t")}, {"session": "t"}, {"session": "u"}),
    "no session": ({"sessions": ("s",)}, {"session": "s"}, {}),
    "language": ({"languages": ("de",)}, {"language": "de"}, {"language": "en"}),
    "salience": ({"min_salience": 0.5}, {"importance": 0.6}, {"importance": 0.4}),
    "decayed": (
        {"min_salience": 0.5},
        {"importance": 0.55},
        {"importance": 0.55, "created_at": at(-24 * 90)},
    ),
    "since": ({"since": at(-1)}, {"created_at": at(-1)}, {"created_at": at(-1.001)}),
    "until": ({"until": at(-1)}, {"created_at": at(-1.001)}, {"created_at": at(-1)}),
    "deleted": ({}, {}, {"deleted_at": at(-1)}),
    "expired": ({}, {"expires_at": at(0.001)}, {"expires_at": NOW}),
    "over": ({}, {"valid_until": at(0.001)}, {"valid_until": NOW}),
    "not yet": ({}, {"valid_from": NOW}, {"valid_from": at(0.001)}),
    "kind": ({"kinds": ("passage",)}, {"kind": "passage"}, {"kind": "memory"}),
    "as of: known": ({"as_of": at(-1)}, {"created_at": at(-1)}, {"created_at": at(-0.999)}),
    "as of: valid": (
        {"as_of": at(-1)},
        {"created_at": at(-9), "valid_from": at(-1), "valid_until": at(-0.999)},
        {"created_at": at(-9), "valid_until": at(-1)},
    ),
    "as of: not yet": ({"as_of": at(-1)}, {"created_at": at(-9)}, {"created_at": at(-9), "valid_from": NOW}),
}


class SearchingContract:
    """`search` and `containing`."""

    # by words

    def test_any_of_the_words_is_enough(self, store: Store) -> None:
        keep(store, record("The walrus sleeps", "a"), record("A seal swims", "b"), record("Nothing", "c"))
        assert sorted(find(store, "walrus seal bear")) == ["a", "b"]
        assert find(store, "bear") == []

    def test_words_are_stemmed_and_folded(self, store: Store) -> None:
        keep(store, record("The Migrations of Café Ümlaut", "a"))
        for question in ("migration", "CAFE", "umlaut", "Ｃafé"):
            assert find(store, question, prefix=False) == ["a"], question

    def test_a_rare_word_counts_more_than_a_common_one(self, store: Store) -> None:
        keep(store, *(record(f"The harbour is calm on day {n}", f"x{n}") for n in range(9)))
        keep(store, record("The walrus is calm on some day", "a"))
        assert find(store, "harbour walrus", prefix=False)[0] == "a"

    def test_a_word_said_twice_counts_more_and_a_short_text_more_than_a_long_one(self, store: Store) -> None:
        keep(store, *(record(f"Nothing of the kind was number {n}", f"x{n}") for n in range(9)))
        keep(store, record("A walrus is a quiet animal indeed", "once"))
        keep(store, record("A walrus is a walrus, quiet indeed", "twice"))
        keep(
            store, record("A walrus is a quiet animal indeed, and it lives far up in the cold north", "long")
        )
        assert find(store, "walrus") == ["twice", "once", "long"]

    def test_equally_good_ones_come_in_the_order_of_writing(self, store: Store) -> None:
        ids = [f"m{n * 7 % 30}" for n in range(30)]
        keep(
            store, *(record("Walrus turn", id, speaker="Ana", created_at=at(-n)) for n, id in enumerate(ids))
        )
        keep(store, record("Something else", "other"))
        assert find(store, "walrus") == ids
        assert find(store, "walrus", limit=7) == ids[:7]

    def test_the_words_of_a_short_question_find_longer_ones_that_begin_so(self, store: Store) -> None:
        keep(store, record("Her walrusology thesis", "a"))
        assert find(store, "walrus") == ["a"]
        assert find(store, "walrus", prefix=False) == []

    def test_a_quoted_phrase_is_insisted_on_where_a_text_has_it(self, store: Store) -> None:
        keep(store, record("An update was lost, said Ana", "a"), record("It is the lost update bug", "b"))
        assert find(store, '"lost update"') == ["b"]
        assert sorted(find(store, "lost update")) == ["a", "b"]

    def test_where_no_text_has_the_phrase_its_words_count(self, store: Store) -> None:
        keep(store, record("An update was lost, said Ana", "a"))
        assert find(store, '"lost update"') == ["a"]

    def test_a_phrase_is_looked_for_in_scope(self, store: Store) -> None:
        keep(store, record("It is the lost update bug", "a", tier="global"))
        keep(store, record("An update was lost, said Ana", "b"))
        assert find(store, '"lost update"', scope(tiers=("project",))) == ["b"]

    def test_who_said_it_and_its_labels_are_words_of_a_memory(self, store: Store) -> None:
        keep(store, record("Yes", "a", speaker="Ana", tags=["harbour"], files=["walrus.py"]))
        for question in ("Ana", "harbour", "walrus.py"):
            assert find(store, question) == ["a"], question

    def test_an_empty_question_finds_nothing(self, store: Store) -> None:
        keep(store, record("Walrus", "a", vector=vector(1, 0, 0)))
        assert find(store, "  ") == []
        (found,) = store.search([scope()], None, None)
        assert not any(found)
        assert store.search([], words("walrus"), None) == []

    def test_a_namespace_that_is_not_there_holds_nothing(self, store: Store) -> None:
        answer = found(store, scope("nowhere"), words("walrus"), nearness(1, 0, 0))
        assert (answer.by_words, answer.by_meaning) == ([], [])

    # both, one after the other

    def test_what_is_near_is_asked_before_the_words_are_known(self, store: Store) -> None:
        keep(
            store, record("Walrus", "a", vector=vector(1, 0, 0)), record("Gull", "b", vector=vector(0, 1, 0))
        )
        with store.asking([scope(), scope("nowhere")], nearness(0, 1, 0)) as asking:
            here, nowhere = asking.search(words("walrus"))
            loaded = asking.load([each.key for each in (*here.by_words, *here.by_meaning)], NOW)
        assert names(store, here.by_words) == ["a"]
        assert names(store, here.by_meaning) == ["b", "a"]
        assert sorted(each.id for each in loaded.values()) == ["a", "b"]
        assert not any(nowhere)

    def test_a_question_that_ends_in_an_error_leaves_the_store_as_it_was(self, store: Store) -> None:
        keep(store, record("Walrus", "a", vector=vector(1, 0, 0)))
        with pytest.raises(ZeroDivisionError), store.asking([scope()], nearness(1, 0, 0)):
            raise ZeroDivisionError
        keep(store, record("Walrus, too", "b"))
        assert sorted(find(store, "walrus")) == ["a", "b"]

    def test_facts_that_are_known_from_the_last_question_are_those_of_then(self, store: Store) -> None:
        keep(store, record("Walrus", "a"))
        assert find(store, "walrus") == ["a"]
        before = store.last_facts((HERE,))
        assert before in (None, store.facts([HERE]))
        keep(store, record("Möwe", "b", language="de"))
        with store.asking([scope()], None) as asking:
            assert asking.facts in (None, store.facts([HERE]))
            assert asking.facts is None or asking.facts != before

    # by meaning

    def test_the_nearest_come_first_with_their_cosine(self, store: Store) -> None:
        for id, direction in {"a": (0, 1, 0), "b": (1, 0, 0), "c": (1, 1, 0), "d": (-1, 0, 0)}.items():
            keep(store, record(f"Text {id}", id, vector=vector(*direction)))
        keep(store, record("Waits for its vector", "e"))
        near = found(store, scope(), None, nearness(1, 0, 0)).by_meaning
        assert names(store, near) == ["b", "c", "a", "d"]
        assert [each.score for each in near] == pytest.approx([1, 0.5**0.5, 0, -1], abs=1e-6)
        assert find_near(store, 1, 0, 0, limit=2) == ["b", "c"]

    def test_equally_near_ones_come_in_the_order_of_writing(self, store: Store) -> None:
        ids = [f"m{n * 7 % 60}" for n in range(60)]
        keep(store, *(record(f"Text {n}", id, vector=vector(n % 3, 1, 0)) for n, id in enumerate(ids)))
        wanted = ids[0::3] + ids[1::3] + ids[2::3]
        assert find_near(store, 0, 1, 0) == wanted
        for limit in (1, 7, 23, 41, 59):
            assert find_near(store, 0, 1, 0, limit=limit) == wanted[:limit], "wherever it is cut"

    def test_only_vectors_of_the_model_that_is_searched_are_compared(self, store: Store) -> None:
        keep(store, record("Old", "a", vector=vector(1, 0, 0)))
        keep(store, record("New", "b", vector=vector(1, 0)), generation=NEWER_MODEL)
        assert find_near(store, 1, 0, 0) == ["a"]
        assert find_near(store, 1, 0, generation=NEWER_MODEL) == []

    def test_what_the_words_found_comes_with_its_nearness(self, store: Store) -> None:
        keep(store, record("Walrus one", "a", vector=vector(1, 0, 0)))
        keep(store, record("Walrus two", "b", vector=vector(0, 1, 0)), record("Walrus three", "c"))
        keep(store, *(record(f"Nearer {n}", f"x{n}", vector=vector(1, 0, 0)) for n in range(9)))
        answer = found(store, scope(), words("walrus"), nearness(1, 0, 0, limit=0))
        assert similarities(store, answer) == pytest.approx({"a": 1, "b": 0}, abs=1e-6)
        assert answer.by_meaning == [], "a limit of none asks for that alone"

    # what ranking is told

    def test_a_candidate_says_what_ranking_needs(self, store: Store) -> None:
        keep(
            store, record("Walrus", "a", session="s", sector="semantic", importance=0.75, created_at=at(-24))
        )
        keep(store, record("Seal", "b", session="s"), record("Bear", "c"))
        store.supersede(HERE, "a", "b", NOW, NOW)
        (one,) = found(store, scope(include_superseded=True), words("walrus"), None).by_words
        assert one.position == 0
        assert from_micros(one.created) == at(-24)
        (two,) = found(store, scope(), words("seal"), None).by_words
        assert (two.session, two.position) == (one.session, 1)
        (three,) = found(store, scope(), words("bear"), None).by_words
        assert (three.session, three.position) == (None, None)

    def test_who_may_win_says_how_it_stands(self, store: Store) -> None:
        keep(store, record("Walrus", "a", sector="semantic", importance=0.75, created_at=at(-24)))
        keep(store, record("Walrus too", "b", valid_until=at(1)), record("Walrus then", "c", valid_until=NOW))
        keep(store, record("Walrus again", "d"))
        store.supersede(HERE, "a", "d", NOW, NOW)
        everyone = found(store, scope(include_superseded=True), words("walrus"), None).by_words
        loaded = {each.id: each for each in store.load([each.key for each in everyone], NOW).values()}
        one = loaded["a"].standing
        assert (one.sector, one.importance) == ("semantic", 0.75)
        assert one.salience == pytest.approx(0.75 * 2.718281828 ** (-0.005), rel=1e-6), "a day's decay"
        assert {id for id, each in loaded.items() if each.standing.superseded} == {"a", "c"}

    # scopes

    @pytest.mark.parametrize("name", FILTERS)
    def test_a_filter_is_part_of_every_leg_before_the_cut(self, store: Store, name: str) -> None:
        filters, inside, outside = FILTERS[name]
        for n in range(8):
            for id, fields in ((f"out{n}", outside), (f"in{n}", inside)):
                keep(store, record(f"Walrus {id}", id, vector=vector(1, 0, n / 9), **fields))
        where = scope(**filters)
        wanted = [f"in{n}" for n in range(8)]
        assert sorted(find(store, "walrus", where)) == wanted
        assert sorted(find_near(store, 1, 0, 0, where=where)) == wanted
        assert sorted(names(store, store.containing(where, "WALRUS IN", 100))) == wanted
        assert sorted(memory.id for memory in store.in_scope(where, 100)) == wanted
        for few in (
            find(store, "walrus", where, limit=3),
            find_near(store, 1, 0, 0, where=where, limit=3),
            names(store, store.containing(where, "walrus", 3)),
            [memory.id for memory in store.in_scope(where, 3)],
        ):
            assert len(few) == 3
            assert set(few) <= set(wanted)

    def test_documents_are_a_filter_too(self, store: Store) -> None:
        keep_document(store, ("p1", "Walrus one"), name="a.md", id="d1")
        keep_document(store, ("p2", "Walrus two"), name="b.md", id="d2")
        keep(store, record("Walrus three", "m"))
        assert find(store, "walrus", scope(kinds=("passage",), documents=("b.md",))) == ["p2"]
        assert sorted(find(store, "walrus", scope(kinds=("memory", "passage")))) == ["m", "p1", "p2"]

    def test_a_session_has_also_what_was_said_again_or_changed_in_it(self, store: Store) -> None:
        keep(store, record("Walrus one", "a"), record("Walrus two", "b"), record("Walrus three", "c"))
        keep(store, record("Walrus one", "x", session="s"))
        store.change(HERE, "b", lambda _: record("Walrus 2", "b"), generation=None, now=NOW, session="s")
        keys = store.keys_of(HERE, ["c"])
        store.touch(HERE, keys, 0.1, NOW, session="s", usage="recalled")
        assert sorted(find(store, "walrus", scope(sessions=("s",)))) == ["a", "b"]

    def test_what_was_superseded_answers_only_when_asked_or_for_its_time(self, store: Store) -> None:
        keep(
            store, record("Walrus old", "a", created_at=at(-9)), record("Walrus new", "b", created_at=at(-3))
        )
        store.supersede(HERE, "a", "b", at(-3), NOW)
        assert find(store, "walrus") == ["b"]
        assert sorted(find(store, "walrus", scope(include_superseded=True))) == ["a", "b"]
        assert find(store, "walrus", scope(as_of=at(-4))) == ["a"]
        assert find(store, "walrus", scope(as_of=at(-3))) == ["b"]

    def test_several_scopes_are_answered_one_by_one(self, store: Store) -> None:
        keep(store, record("Walrus old", "a", created_at=at(-9), vector=vector(1, 0, 0)))
        keep(store, record("Walrus new", "b", created_at=at(-3), vector=vector(0, 1, 0)))
        answers = store.search(
            [scope(), scope(until=at(-5)), scope(since=at(-5)), scope("nowhere")],
            words("walrus"),
            nearness(1, 0, 0),
        )
        assert [sorted(names(store, each.by_words)) for each in answers] == [["a", "b"], ["a"], ["b"], []]
        assert [names(store, each.by_meaning) for each in answers] == [["a", "b"], ["a"], ["b"], []]

    def test_several_namespaces_answer_together_up_to_the_limit(self, store: Store) -> None:
        for n in range(6):
            for namespace in ("here", "there", "elsewhere"):
                direction = vector(1, n, 0) if namespace == "here" else vector(1, n + 0.5, 0)
                one = record(f"Walrus number {n} of {namespace}", f"{namespace}{n}", vector=direction)
                keep(store, one, namespace=namespace)
        both = scope("here", "there")
        assert sorted(find(store, "walrus", both)) == sorted(
            f"{a}{n}" for a in ("here", "there") for n in range(6)
        )
        nearest = ["here0", "there0", "here1", "there1", "here2", "there2"]
        assert find_near(store, 1, 0, 0, where=both)[:6] == nearest
        assert find_near(store, 1, 0, 0, where=both, limit=5) == nearest[:5]
        assert len(find(store, "walrus", both, limit=5)) == 5
        assert len(store.containing(both, "walrus", 5)) == 5
        assert len(store.in_scope(both, 5)) == 5

    def test_a_phrase_in_one_namespace_is_insisted_on_in_all(self, store: Store) -> None:
        keep(store, record("It is the lost update bug", "a"), namespace="here")
        keep(store, record("An update was lost, said Ana", "b"), namespace="there")
        assert find(store, '"lost update"', scope("here", "there")) == ["a"]

    def test_a_text_that_looks_like_the_name_of_a_namespace_counts_for_nothing(self, store: Store) -> None:
        keep(store, record("Walrus n1 n2", "a"), namespace="here")
        keep(store, record("Walrus or seal", "b"), namespace="there")
        keep(store, *(record(f"Filler number {n}", f"c{n}") for n in range(9)), namespace="elsewhere")
        one, other = found(store, scope("here", "there"), words("walrus"), None).by_words
        assert one.score == other.score

    # as it stands

    def test_a_text_is_found_as_it_stands_newest_first(self, store: Store) -> None:
        keep(store, record("50% of a_b\\c", "a", created_at=at(-2)), record("500 of axb c", "b"))
        keep(store, record("again 50% of A_B\\C", "c", created_at=at(-1)))
        assert names(store, store.containing(scope(), "0% of a_b\\", 9)) == ["c", "a"]
        assert names(store, store.containing(scope(), "0% of", 1)) == ["c"]
        assert store.containing(scope(), "nowhere", 9) == []
        assert store.containing(scope(), "a\0b", 9) == []
        assert store.containing(scope("nowhere"), "50", 9) == []
