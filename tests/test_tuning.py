"""Weights proposed from one's own memories: what is asked, what is chosen, and when the default stays."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect import Draft, Memories
from recollect.evaluate import exchanges, tuning
from recollect.evaluate.exchanges import Exchange
from recollect.evaluate.tuning import GRID, Kind, Trial
from recollect.types import Reading
from tests.conftest import OpenMemories

NOW = datetime(2026, 3, 18, tzinfo=UTC)
TURNS = 60
SUBJECTS = [f"{first}{second}" for first in ("bar", "kel", "mor", "tis", "vun") for second in
            ("ado", "ebi", "iga", "ono", "upa", "yra")]  # fmt: skip


class Blind:
    """Vectors that have nothing to do with the text."""

    name, dimensions, fingerprint, query_prefix = "blind", 16, "blind-1", ""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        made = [np.random.default_rng(crc32(text.encode())).normal(size=self.dimensions) for text in texts]
        return np.array([vector / np.linalg.norm(vector) for vector in made], np.float32)


class Knowing(Blind):
    """Knows which texts are about one subject, by the number that stands in them, whatever their words."""

    name, fingerprint = "knowing", "knowing-1"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return super().embed(["".join(filter(str.isdigit, text)) for text in texts])


def talk(memories: Memories, *, shared: bool = True, more: str = "") -> None:
    """Sessions of two turns about a subject of their own; the second has words of the first, or has not.

    `more` stands at the end of each reply. What is told of them must not change while an index is made.
    """
    drafts = []
    for n in range(TURNS):
        first, second = SUBJECTS[n % 30], SUBJECTS[(n + 7 + n // 30) % 30]
        said = f"Ana wonders how the {first} and the {second} went number{n}"
        reply = (
            f"The {first} broke and the {second} held, as we saw it" if shared else f"As expected number{n}"
        )
        drafts += [
            Draft(said, id=f"said-{n:02}", session=f"s{n}", speaker="Ana"),
            Draft(reply + more, id=f"reply-{n:02}", session=f"s{n}", speaker="Ben"),
        ]
    memories.remember_many(drafts)
    memories.settle()


class TestProposing:
    def test_where_vectors_say_nothing_keywords_get_more_weight(self, open_memories: OpenMemories) -> None:
        memories = open_memories(embedder=Blind())
        talk(memories)
        proposal = memories.tune()
        assert proposal.weights is not None
        assert proposal.weights["semantic"] < proposal.default["semantic"] == 0.6
        assert proposal.gain is not None
        assert proposal.gain.low > 0
        assert proposal.reason.endswith("answer better than the default")
        assert memories.tuned() is None, "nothing is changed"

    def test_what_is_proposed_makes_answers_better_and_stays_proposed(
        self, open_memories: OpenMemories
    ) -> None:
        memories = open_memories(embedder=Blind())
        talk(memories)
        proposal = memories.tune()
        before = _found(memories)
        memories.use_weights(proposal.weights, reading=proposal.reading)
        assert _found(memories) > before
        again = memories.tune()
        assert again.in_force == again.weights == proposal.weights
        assert again.evidence == proposal.evidence, "asked as if it had never been tuned"

    def test_turns_that_share_no_word_with_their_reply_speak_for_no_change(
        self, open_memories: OpenMemories
    ) -> None:
        memories = open_memories(embedder=Knowing())
        talk(memories, shared=False)
        proposal = memories.tune()
        assert proposal.weights is None
        assert proposal.reason.startswith("keep the default: towards keywords, nothing is better")

    def test_memories_without_sessions_can_not_show_that_keywords_are_better(
        self, open_memories: OpenMemories
    ) -> None:
        memories = open_memories(embedder=Blind())
        for n in range(TURNS):
            words = " ".join(SUBJECTS[(n * step + step) % 30] for step in (1, 3, 7, 11))
            memories.remember(f"Number{n} tells of {words} in the spring of its year")
        proposal = memories.tune()
        _, parts = proposal.evidence
        assert parts.probes == TURNS
        assert parts.curve[0].value > parts.curve[-1].value, "parts of texts do find them better by words"
        assert proposal.weights is None
        assert proposal.reason == (
            "keep the default: towards keywords, 40 turns that must find their reply are needed; "
            "towards meaning, nothing is better"
        )

    def test_an_empty_namespace_keeps_the_default(self, memories: Memories) -> None:
        memories.forget(memories.remember("Here and gone").id)
        proposal = memories.tune()
        assert proposal.weights is None
        assert [each.probes for each in proposal.evidence] == [0, 0]

    def test_every_run_gives_the_same_and_tells_how_far_it_is(self, memories: Memories) -> None:
        talk(memories)
        told: list[tuple[str, int, int | None]] = []
        assert memories.tune(50) == memories.tune(50, progress=lambda *now: told.append(now))
        assert told[0] == ("tuning proj1", 1, 100)
        assert told[-1] == ("tuning proj1", 100, 100)

    def test_memories_are_left_as_they_were(self, memories: Memories) -> None:
        talk(memories)
        before = list(memories.export_records(vectors=True))
        memories.tune(20)
        assert list(memories.export_records(vectors=True)) == before


def _found(memories: Memories) -> int:
    """How many replies are the first that is found for what was said, but for what was said itself."""
    said = [f"said-{n:02}" for n in range(TURNS)]
    return sum(
        [hit.memory.id for hit in memories.recall(each.content, limit=2, reinforce=False)][1:]
        == [each.id.replace("said", "reply")]
        for each in memories.get(said)
    )


def trials(
    kind: Kind, rows: Sequence[Sequence[float]], default: float = 0.6, reading: Reading = "known"
) -> list[Trial]:
    """One for each row, which has a score for each share of the grid."""
    return [Trial(kind, reading, default, dict(zip(GRID, row, strict=True))) for row in rows]


RISING = [n / 10 for n in range(9)]
FALLING = RISING[::-1]
WEAVING = [[value * (n % 3) / 2 for value in FALLING] for n in range(60)]
"""Better with less weight for meaning, by more or less."""


class TestJudging:
    def test_each_kind_moves_the_weights_only_against_what_it_flatters(self) -> None:
        assert tuning.choose(trials("replies", [FALLING] * 40), 0.6) == 0.1
        assert tuning.choose(trials("parts", [FALLING] * 40), 0.6) == 0.6
        assert tuning.choose(trials("replies", [RISING] * 40), 0.6) == 0.6
        assert tuning.choose(trials("parts", [RISING] * 40), 0.6) == 0.9

    def test_of_those_that_can_not_be_told_from_the_best_it_is_the_nearest_to_the_default(self) -> None:
        flat = [[0.5, 0.5, 0.5, 0.5, 0.5, 0.2, 0.2, 0.2, 0.2]] * 40
        assert tuning.choose(trials("replies", flat), 0.6) == 0.5
        assert tuning.choose(trials("replies", [[0.5] * 9] * 40), 0.6) == 0.6

    def test_a_gain_is_that_of_probes_that_the_weights_were_not_chosen_by(self) -> None:
        gain = tuning.held_out(trials("replies", WEAVING), 0.6)
        assert 0 < gain.low < gain.value < gain.high
        assert gain.value == pytest.approx(0.25)
        assert tuning.judge("replies", trials("replies", WEAVING), 0.6).share == 0.1

    @pytest.mark.parametrize(
        ("rows", "finding"),
        [
            (WEAVING[:39], "40 turns that must find their reply are needed"),
            ([RISING] * 40, "nothing is better"),
            (
                [[0.7, *[0.5] * 8]] * 34 + [[0.3, *[0.5] * 8]] * 26,
                "the gain of semantic 0.10, keyword 0.90 can't be told from chance",
            ),
            (
                [[0.505] * 5 + [0.5] * 4] * 40,
                "the gain of semantic 0.50, keyword 0.50 is not worth a change",
            ),
        ],
        ids=["few", "worse", "chance", "small"],
    )
    def test_the_default_stays_unless_the_gain_is_beyond_doubt_and_worth_it(
        self, rows: list[list[float]], finding: str
    ) -> None:
        evidence = tuning.judge("replies", trials("replies", rows), 0.6)
        assert evidence.share is None
        said, _, interval = evidence.finding.partition(" (")
        assert said == finding
        assert (evidence.gain is not None and interval == f"{tuning.told(evidence.gain)})") == (
            "gain" in said
        )

    def test_questions_of_the_most_common_sort_are_judged_alone(self) -> None:
        known, foreign = trials("parts", [RISING] * 2), trials("parts", [RISING] * 3, 0.3, "foreign")
        assert tuning.alike([*known, *foreign]) == foreign
        assert tuning.alike([]) == []

    @given(st.integers(0, 2**32))
    def test_whatever_comes_no_leg_is_switched_off(self, seed: int) -> None:
        rows = np.random.default_rng(seed).random((tuning.FEWEST, len(GRID))).tolist()
        for kind in tuning.KINDS:
            evidence = tuning.judge(kind, trials(kind, rows), 0.6)
            assert evidence.share is None or 0.1 <= evidence.share <= 0.9
            assert evidence.share is None or (evidence.share < 0.6) == (kind == "replies")


def turn(id: str, position: int, content: str, **fields: Any) -> dict[str, Any]:
    return {"type": "memory", "kind": "memory", "id": id, "session": "s", "position": position,
            "content": content, **fields}  # fmt: skip


class TestExchanges:
    SAID = "What did the harbour master say?"

    def test_a_turn_is_followed_by_its_reply(self) -> None:
        records = [turn("a", 0, self.SAID), turn("b", 1, "That we are late."), turn("c", 2, "Oh.")]
        assert exchanges.make(records, NOW, 9) == [Exchange("a", self.SAID, "b")], "b says too little"

    @pytest.mark.parametrize(
        "following",
        [
            turn("b", 2, "That we are late."),
            turn("b", 1, "That we are late.", session="t"),
            turn("b", 1, "That we are late.", speaker="Ana"),
            turn("b", 1, "That we are late.", deleted_at="2026-01-01T00:00:00+00:00"),
            turn("b", 1, "That we are late.", superseded_by="c"),
            turn("b", 1, "That we are late.", expires_at="2026-01-01T00:00:00+00:00"),
            turn("b", 1, "That we are late.", kind="passage"),
        ],
        ids=["later", "elsewhere", "by the same", "deleted", "superseded", "expired", "passage"],
    )
    def test_what_is_no_reply(self, following: dict[str, Any]) -> None:
        assert exchanges.make([turn("a", 0, self.SAID, speaker="Ana"), following], NOW, 9) == []

    def test_of_a_long_turn_the_end_is_asked(self) -> None:
        said = "word " * 1000 + "and so what?"
        (found,) = exchanges.make([turn("a", 0, said), turn("b", 1, "Nothing")], NOW, 9)
        assert len(found.text) <= exchanges.LONGEST
        assert found.text.endswith("and so what?")

    @given(
        st.lists(st.tuples(st.text(), st.sampled_from(["Ana", "Ben", None])), max_size=30), st.integers(1, 9)
    )
    def test_any_text_is_asked_and_always_the_same(
        self, said: list[tuple[str, str | None]], number: int
    ) -> None:
        records = [
            turn(str(n), n, text, **({"speaker": who} if who else {})) for n, (text, who) in enumerate(said)
        ]
        made = exchanges.make(records, NOW, number)
        assert made == exchanges.make(records[::-1], NOW, number)
        assert len(made) <= number
        for each in made:
            assert int(each.reply) == int(each.said) + 1
            assert exchanges.SHORTEST <= len(each.text) <= exchanges.LONGEST
