"""Why a memory was not returned: out of scope, superseded, ranked below the rest."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import Memories, NoSuchMemory
from tests.conftest import NOON, OpenMemories
from tests.test_cli import Cli


@pytest.fixture
def walrus(memories: Memories) -> str:
    return memories.remember(
        "The walrus likes herring", tags=["sea"], sector="semantic", session="monday", created_at=NOON
    ).id


def test_what_is_returned_has_its_rank_and_no_reasons(memories: Memories, walrus: str) -> None:
    answer = memories.why_not("walrus", walrus)
    assert (answer.returned, answer.rank, answer.reasons) == (True, 1, ())
    assert answer.hit is not None and answer.hit.memory.id == walrus


OUTSIDE: dict[str, tuple[dict[str, Any], str]] = {
    "tag": ({"tags": "land"}, "does not have the tag land"),
    "sector": ({"sector": "emotional"}, "its sector is semantic, and emotional was asked for"),
    "speaker": ({"speaker": "ana"}, "it has no speaker, and ana was asked for"),
    "session": ({"session": "tuesday"}, "its session is monday"),
    "since": ({"since": NOON + timedelta(days=1)}, "it is from 2026-03-18, before 2026-03-19"),
    "until": ({"until": NOON - timedelta(days=1)}, "not before 2026-03-17"),
    "timeframe": ({"timeframe": "2025"}, "it is from 2026-03-18"),
    "as of": ({"as_of": "2026-01-01"}, "it was not yet known on 2026-01-01"),
    "kind": ({"kind": "passage"}, "it is a memory, and only passage are searched"),
    "namespace": ({"namespace": "elsewhere"}, "in the namespace 'proj1', which is not searched"),
    "salience": ({"min_salience": 0.9}, "below 0.90"),
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_a_filter_that_keeps_it_out_is_named(memories: Memories, walrus: str, case: str) -> None:
    options, reason = OUTSIDE[case]
    answer = memories.why_not("walrus", walrus, **options)
    assert not answer.returned
    assert answer.rank is None
    assert any(reason in each for each in answer.reasons), answer.reasons


def test_what_was_superseded_deleted_or_has_expired_says_so(memories: Memories, walrus: str) -> None:
    new = memories.remember("The walrus prefers clams now").id
    memories.supersede(walrus, new)
    assert memories.why_not("walrus", walrus).reasons == (
        f"it was superseded by {new}, and what was superseded was not asked for",
    )
    assert memories.why_not("walrus", walrus, include_superseded=True).returned
    memories.delete(new)
    assert "it was deleted on 2026-03-18" in memories.why_not("walrus", new).reasons[0]
    gone = memories.remember("A walrus for a day", expires_at=NOON - timedelta(days=1)).id
    assert memories.why_not("walrus", gone).reasons == ("it expired on 2026-03-17",)


def test_what_ranks_too_low_has_its_rank_and_numbers(memories: Memories) -> None:
    for number in range(30):
        memories.remember(f"The walrus number {number} likes herring and walrus walrus", speaker="keeper")
    low = memories.remember(
        "A long report about boats, nets, prices and one walrus at the end of it", id="low"
    ).id
    answer = memories.why_not("walrus herring", low, limit=3)
    assert not answer.returned
    assert answer.rank is not None and answer.rank > 3
    assert f"it ranks {answer.rank} with a score of" in answer.reasons[0]
    assert "only the first 3 were returned" in answer.reasons[0]
    assert answer.hit is not None and answer.hit.why.keyword is not None


def test_what_no_leg_finds_says_so(open_memories: OpenMemories) -> None:
    memories = open_memories(embedder="none")
    id = memories.remember("Quite another matter").id
    memories.remember("The walrus likes herring")
    assert memories.why_not("walrus", id).reasons[0] == "it has none of the words of the question"


def test_a_leg_that_was_not_asked_is_no_reason(open_memories: OpenMemories) -> None:
    memories = open_memories()
    id = memories.remember("Quite another matter").id
    memories.remember("The walrus likes herring")
    assert memories.why_not("walrus", id, mode="keyword").reasons == (
        "it has none of the words of the question",
        "only words were searched",
    )
    assert memories.why_not("matter", id, mode="semantic", threshold=0.999).reasons == (
        "only meaning was searched",
        "it is not near enough in meaning, or has no vector yet",
    )


def test_what_was_held_back_for_want_of_confidence_says_so(memories: Memories) -> None:
    id = memories.remember("Quite another matter").id
    answer = memories.why_not("what does the walrus eat?", id, min_confidence="strong")
    assert not answer.returned
    assert answer.rank == 1
    assert answer.reasons[0] == "nothing was returned: the confidence is none, and more was asked for"


def test_one_is_one(memories: Memories) -> None:
    for text in ("The walrus likes herring", "A report on boats, and on a walrus"):
        memories.remember(text, id=text[:3].strip())
    (missed,) = {"The", "A r"} - {memories.recall("walrus herring", limit=1)[0].memory.id}
    answer = memories.why_not("walrus herring", missed, limit=1)
    assert answer.reasons[0].endswith("and only the first one was returned")


def test_it_marks_nothing_and_knows_its_namespace(memories: Memories, walrus: str) -> None:
    session = memories.in_session("now")
    session.why_not("walrus", walrus)
    memories.stats()
    assert memories.get(walrus).access_count == 0
    assert memories.sessions(limit=10)[0].id == "monday"
    with pytest.raises(NoSuchMemory):
        memories.in_namespace("other").why_not("walrus", walrus)


def test_from_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli = Cli(tmp_path, monkeypatch)
    id = cli.add("The walrus likes herring", "--tag", "sea")
    assert cli.out("search", "walrus", "--why-not", id[-8:]) == "it is returned, at rank 1\n"
    assert "does not have the tag land" in cli.out("search", "walrus", "--tag", "land", "--why-not", id)
    assert cli.json("search", "walrus", "--why-not", id)["returned"] is True
