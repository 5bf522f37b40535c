"""What becomes of records: duplicates, near-duplicates, sessions and places in them, documents, models."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.errors import InvalidInput, NoSuchDocument
from recollect.store.base import Added, NamespaceFacts, Store
from recollect.testing.making import (
    HERE,
    MODEL,
    NEWER_MODEL,
    NOW,
    at,
    document,
    everything,
    find,
    find_near,
    ids_of,
    keep,
    keep_document,
    record,
    vector,
)
from recollect.types import Receipt, Session

LONG = "The harbour master opens the northern gate at six every morning except on Sundays in winter"


class WritingContract:
    """`add`, `facts`, `save_session`, `replace_document` and `forget_document`."""

    def test_a_record_comes_back_as_it_was_given(self, store: Store) -> None:
        given = record(
            "Ana moved to Lisbon",
            "a",
            session="s",
            speaker="Ana",
            sector="emotional",
            tier="global",
            tags=["home", "Ünï"],
            files=["src/a.py"],
            importance=0.75,
            summary="Ana moved",
            language="en",
            metadata={"deep": [1, {"er": None}], "text": "a\nb'\"\\"},
            source="diary",
            trust="low",
            created_at=at(-5),
            valid_from=at(-6),
            valid_until=at(5),
            expires_at=at(6),
            vector=vector(1, 0, 0),
        )
        assert keep(store, given) == [Added("a", "added", True)]
        (kept,) = store.get(HERE, ["a"], at(-5))
        for name in ("id", "content", "speaker", "session", "sector", "tier", "tags", "files", "importance",
                     "summary", "language", "source", "trust", "created_at", "updated_at", "valid_from",
                     "valid_until", "expires_at", "salience", "token_count", "kind"):  # fmt: skip
            assert getattr(kept, name) == getattr(given, name), name
        assert kept.metadata == {"deep": [1, {"er": None}], "text": "a\nb'\"\\"}
        assert kept.namespace == HERE
        assert (kept.access_count, kept.accessed_at, kept.deleted_at) == (0, None, None)

    @pytest.mark.parametrize(
        "text", ["' OR 1=1; --", 'NEAR(a* b) "c" -d', "%_\\ :namespace %(x)s {filters}", "🦭 מזל 我们", "…"]
    )
    def test_any_text_is_data(self, store: Store, text: str) -> None:
        keep(store, record(text, "a", tags=[text], speaker=text, source=text, session=text))
        (kept,) = store.get(HERE, ["a"], NOW)
        assert (kept.content, kept.tags, kept.speaker, kept.session) == (text, (text,), text, text)
        assert find(store, text) in ([], ["a"])

    def test_several_records_are_answered_in_order(self, store: Store) -> None:
        added = keep(store, record("One thing", "a"), record("Another", "b"), record("One thing", "c"))
        assert added == [Added("a", "added"), Added("b", "added"), Added("a", "reinforced")]
        assert ids_of(store) == ["a", "b"]

    def test_no_records_are_no_trouble(self, store: Store) -> None:
        assert keep(store) == []

    def test_an_id_that_is_taken_is_refused_and_nothing_is_written(self, store: Store) -> None:
        keep(store, record("The first", "a"))
        for twice in (["b", "a"], ["b", "b"]):
            with pytest.raises(InvalidInput, match="there already"):
                keep(store, *(record(f"Text {n}", id) for n, id in enumerate(twice)))
        assert ids_of(store) == ["a"]

    # the same text again

    def test_the_same_text_reinforces_the_memory_that_says_it(self, store: Store) -> None:
        keep(
            store,
            record("Port 8080", "a", tags=["net"], files=["a"], metadata={"x": 1, "y": 1}, importance=0.2),
        )
        again = record(
            " Port 8080\n", "b", tags=["api", "net"], files=["b"], metadata={"y": 2}, importance=0.9,
            summary="A port", session="s",
        )  # fmt: skip
        assert keep(store, again, now=at(1)) == [Added("a", "reinforced")]
        (kept,) = store.get(HERE, ["a"], at(1))
        assert kept.tags == ("net", "api")
        assert kept.files == ("a", "b")
        assert kept.metadata == {"x": 1, "y": 2}
        assert (kept.importance, kept.summary, kept.updated_at) == (0.9, "A port", at(1))
        assert kept.salience > 0.25, "it was 0.2, and is raised by a tenth"
        assert store.last_use(HERE, "a") == ("s", "reinforced", 1)
        assert find(store, "api") == ["a"], "what it brought is found"

    def test_a_reinforced_memory_lives_as_long_as_the_longer_of_both(self, store: Store) -> None:
        keep(store, record("Short", "a", expires_at=at(2)), record("Long", "b"))
        keep(store, record("Short", "c", expires_at=at(5)), record("Long", "d", expires_at=at(5)))
        assert [memory.expires_at for memory in store.get(HERE, ["a", "b"], NOW)] == [at(5), None]

    @pytest.mark.parametrize(
        "over", [{"deleted_at": at(-1)}, {"valid_until": at(-1)}, {"expires_at": at(-1)}, {"speaker": "Ana"}]
    )
    def test_what_is_over_or_was_said_by_somebody_is_not_reinforced(
        self, store: Store, over: dict[str, object]
    ) -> None:
        keep(store, record("Port 8080", "a", **over))
        assert keep(store, record("Port 8080", "b")) == [Added("b", "added")]

    def test_what_was_superseded_is_not_reinforced(self, store: Store) -> None:
        keep(store, record("Port 8080", "a"), record("Port 9090", "b"))
        store.supersede(HERE, "a", "b", NOW, NOW)
        assert keep(store, record("Port 8080", "c")) == [Added("c", "added")]

    def test_turns_of_a_conversation_are_never_merged(self, store: Store) -> None:
        turns = [record("Yes", id, speaker="Ana", session="s") for id in "abc"]
        assert [added.outcome for added in keep(store, *turns)] == ["added"] * 3

    def test_duplicates_are_kept_when_asked(self, store: Store) -> None:
        keep(store, record("Yes", "a"), record("Yes", "b"), on_duplicate="keep")
        assert ids_of(store) == ["a", "b"]

    def test_a_memory_that_waits_for_its_vector_gets_the_one_of_the_same_text(self, store: Store) -> None:
        keep(store, record("Port 8080", "a"))
        assert find_near(store, 1, 0, 0) == []
        assert keep(store, record("Port 8080", "b", vector=vector(1, 0, 0))) == [
            Added("a", "reinforced", True)
        ]
        assert find_near(store, 1, 0, 0) == ["a"]

    # nearly the same text

    def test_near_duplicates_are_kept_and_linked(self, store: Store) -> None:
        keep(store, record(LONG, "a"))
        assert keep(store, record(LONG + " again", "b")) == [Added("b", "added", False, ("a",))]
        (edge,) = store.relations(HERE, ["a"], 99)
        assert (edge.source, edge.target, edge.type, edge.origin) == ("b", "a", "near_duplicate", "recollect")

    def test_near_duplicates_in_one_call_are_linked_too(self, store: Store) -> None:
        added = keep(store, record(LONG, "a"), record(LONG + " again", "b"), record(LONG + " once more", "c"))
        assert [sorted(each.near_duplicates) for each in added] == [[], ["a"], ["a", "b"]]

    def test_what_was_deleted_is_no_near_duplicate(self, store: Store) -> None:
        keep(store, record(LONG, "a"))
        store.set_deleted(HERE, ["a"], NOW, NOW)
        assert keep(store, record(LONG + " again", "b"))[0].near_duplicates == ()

    # sessions

    def test_a_session_is_made_when_it_is_first_named_and_began_with_its_earliest_memory(
        self, store: Store
    ) -> None:
        keep(store, record("One", "a", session="s", created_at=at(-3)))
        keep(store, record("Two", "b", session="s", created_at=at(-9)), record("Three", "c", session="s"))
        assert store.sessions(HERE) == [Session("s", HERE, at(-9), memories=3)]

    def test_places_in_a_session_follow_the_order_of_writing(self, store: Store) -> None:
        keep(store, record("One", "a", session="s"), record("Else", "x", session="t"))
        keep(store, record("Two", "b", session="s"), record("Three", "c", session="s"))
        places = {each["id"]: each["position"] for each in everything(store) if each["type"] == "memory"}
        assert places == {"a": 0, "b": 1, "c": 2, "x": 0}

    def test_saving_a_session_makes_it_or_writes_over_it(self, store: Store) -> None:
        begun = Session("s", HERE, at(-2), agent="cli")
        store.save_session(begun, NOW)
        assert store.sessions(HERE) == [begun]
        ended = replace(begun, ended_at=NOW, summary="Ports")
        store.save_session(ended, NOW)
        assert store.sessions(HERE) == [ended]

    # documents

    def test_a_document_stands_in_the_place_of_the_one_with_its_name(self, store: Store) -> None:
        keep_document(store, ("p1", "Walruses eat clams"), ("p2", "Feed them daily"), hash=b"1" * 16)
        ((kept, hash),) = store.documents(HERE)
        assert (kept.name, kept.title, kept.passages, hash) == ("guide.md", "Guide", 2, b"1" * 16)
        again = [record("Walruses eat more clams", "p3", kind="passage", vector=vector(0, 1, 0))]
        receipt = store.replace_document(
            HERE, document(title="Guide 2", hours=1), b"2" * 16, again, generation=MODEL, now=at(1)
        )
        assert receipt == Receipt(memories=2, keyword_entries=2)
        ((kept, hash),) = store.documents(HERE, "guide.md")
        assert (kept.id, kept.title, kept.passages, hash) == ("d1", "Guide 2", 1, b"2" * 16)
        assert (kept.created_at, kept.updated_at) == (NOW, at(1))
        assert ids_of(store) == ["p3"]
        assert store.get(HERE, ["p3"], NOW)[0].document == "guide.md"

    def test_documents_come_by_name(self, store: Store) -> None:
        keep_document(store, ("p1", "One"), name="b.md", id="d1")
        keep_document(store, ("p2", "Two"), name="a.md", id="d2")
        assert [kept.name for kept, _ in store.documents(HERE)] == ["a.md", "b.md"]
        assert store.documents(HERE, "c.md") == []

    def test_forgetting_a_document_takes_its_passages_along(self, store: Store) -> None:
        keep_document(store, ("p1", "One"), ("p2", "Two"))
        keep(store, record("Three", "a"))
        assert store.forget_document(HERE, "guide.md", NOW) == Receipt(memories=2, keyword_entries=2)
        assert store.documents(HERE) == []
        assert ids_of(store) == ["a"]
        with pytest.raises(NoSuchDocument):
            store.forget_document(HERE, "guide.md", NOW)

    # facts

    def test_facts_of_a_namespace_that_is_not_there_are_left_out(self, store: Store) -> None:
        assert store.facts([HERE]) == {}
        keep(store, record("One", "a"), generation=None)
        assert store.facts([HERE, "nowhere"]) == {HERE: NamespaceFacts(("en",))}

    def test_facts_know_every_language_and_model(self, store: Store) -> None:
        keep(store, record("Der Hafen", "a", language="de"), record("The port", "b", language="en"))
        facts = store.facts([HERE])[HERE]
        assert sorted(facts.languages) == ["de", "en"]
        assert (facts.generation, facts.next_generation) == (MODEL, None)
        keep(store, record("Newer", "c"), generation=NEWER_MODEL)
        facts = store.facts([HERE])[HERE]
        assert (facts.generation, facts.next_generation) == (MODEL, NEWER_MODEL)
