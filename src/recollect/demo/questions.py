"""What the demo asks, what each question shows, and which memory has to answer it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from recollect.demo.history import HANDBOOK

Call = Literal["recall", "search_documents", "context"]


@dataclass(frozen=True, slots=True)
class Day:
    """A date that is that many days from now."""

    offset: int

    def at(self, now: datetime) -> str:
        """The date, as a caller would write it."""
        return (now.date() + timedelta(days=self.offset)).isoformat()


@dataclass(frozen=True, slots=True)
class Ask:
    """One call: `expected` is the key of the memory that has to come first.

    What is `by_meaning` has no word in common with its answer, so that it needs an embedder.
    """

    query: str
    expected: str
    options: Mapping[str, Any] = field(default_factory=dict)
    call: Call = "recall"
    show: int = 2
    by_meaning: bool = False

    def options_at(self, now: datetime) -> dict[str, Any]:
        """The options with their dates filled in."""
        return {
            name: value.at(now) if isinstance(value, Day) else value for name, value in self.options.items()
        }

    def as_python(self, now: datetime) -> str:
        """The call as one would type it."""
        options = "".join(f", {name}={_quoted(value)}" for name, value in self.options_at(now).items())
        return f"memories.{self.call}({_quoted(self.query)}{options})"


@dataclass(frozen=True, slots=True)
class Question:
    """Something the system can do, and the calls that show it."""

    title: str
    note: str
    asks: tuple[Ask, ...]
    explained: bool = False


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


QUESTIONS: tuple[Question, ...] = (
    Question(
        "Meaning, without a shared word",
        "No word of the question stands in the answer; what it means does.",
        (
            Ask("how are currency amounts represented?", "cents", show=1, by_meaning=True),
            Ask("why did we avoid microservices?", "one-service", show=1, by_meaning=True),
        ),
    ),
    Question(
        "An exact identifier, an exact version",
        "migration_032 is not migration_031, and 17.2 is not 16.3.",
        (
            Ask("syntax error in migration_032", "bs-131"),
            Ask("PostgreSQL 17.2", "pg-17", show=1),
        ),
    ),
    Question(
        "A time inside the question",
        "The time is read and taken out of the words; what lies outside it counts for less.",
        (Ask("what did we decide about fees last week?", "late-fees", show=3),),
    ),
    Question(
        "A fact that was replaced",
        "What no longer holds stays out; asked for, it counts half and says what took its place.",
        (
            Ask("how many days may a member keep a tool?", "loan-14", show=1),
            Ask("how many days may a member keep a tool?", "loan-14", {"include_superseded": True}),
        ),
    ),
    Question(
        "What we believed at the time",
        "The same question, today and on a day before the decision was revised.",
        (
            Ask("how do members stay logged in?", "login-opaque", show=1),
            Ask("how do members stay logged in?", "login-jwt", {"as_of": Day(-30)}, show=1),
        ),
    ),
    Question(
        "Only feelings, or only one voice",
        "Filters narrow what may answer: sector, speaker, tags, session, tier, language, time.",
        (
            Ask("what wears us out at work?", "slow-ci", {"sector": "emotional"}, by_meaning=True),
            Ask("why was the site down?", "who-ran-it", {"speaker": "Jonas"}, show=1, by_meaning=True),
        ),
    ),
    Question(
        "German and Chinese",
        "Every script is searched by its own rules, in the same store and the same call.",
        (
            Ask("Wer darf die Kettensäge ausleihen?", "de-kettensaege", show=1),
            Ask("为什么取件码要改成六位？", "zh-pin", show=1),
        ),
    ),
    Question(
        "A passage of a document",
        "The handbook was split along its headings; the right section comes back, not the file.",
        (
            Ask(
                "how do I undo a bad deployment?",
                f"{HANDBOOK}: When a release goes wrong",
                call="search_documents",
                show=1,
                by_meaning=True,
            ),
        ),
    ),
    Question(
        "A score that explains itself",
        "(words + meaning + lent) × salience × recency = score; every number is in hit.why.",
        (Ask("reservations that overlap", "migration-011", show=3),),
        explained=True,
    ),
    Question(
        "Ready for a prompt",
        "The best memories that fit a budget of tokens, oldest first, quoted as data.",
        (Ask("why did the site answer 503?", "bs-152", {"max_tokens": 260}, call="context"),),
    ),
)
