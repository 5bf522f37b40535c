"""LoCoMo and LongMemEval as they were published: conversations, and questions about them.

Every turn is a document, said by its speaker, in its session, at the session's time; every conversation
(LoCoMo) or haystack (LongMemEval) is a scope of its own.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recollect.errors import InvalidInput
from recollect.evaluate.sets import Document, EvalSet, Question, assemble
from recollect.times import moment

ADVERSARIAL = 5
"""The number of LoCoMo's questions that ask what was never said: their evidence is where the like was."""
LOCOMO_CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    ADVERSARIAL: "adversarial",
}
UNANSWERABLE = "_abs"
"""How the ids of LongMemEval's questions end when there is nothing to find."""

_LOCOMO_TIME = "%I:%M %p on %d %B, %Y"
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_WEEKDAY = re.compile(r"\s*\([^)]*\)\s*")


def read(content: Any, path: Path) -> EvalSet:
    """A set from what a published JSON file holds."""
    samples = content if isinstance(content, list) else [content]
    first = samples[0] if samples and isinstance(samples[0], dict) else {}
    if "conversation" in first:
        return _read(_Locomo(), samples, path)
    if "haystack_sessions" in first:
        return _read(_LongMemEval(), samples, path)
    raise InvalidInput(f"{path} is neither LoCoMo nor LongMemEval: nor is it a folder with a set.")


class _Gathered(ABC):
    """What has been read so far."""

    def __init__(self) -> None:
        self.documents: list[Document] = []
        self.questions: list[Question] = []
        self.relevance: dict[str, dict[str, int]] = {}
        self.apart: list[Document] = []

    @abstractmethod
    def add(self, sample: Mapping[str, Any]) -> None:
        """Take in one sample."""


def _read(gathered: _Gathered, samples: list[Any], path: Path) -> EvalSet:
    for number, sample in enumerate(samples, 1):
        try:
            gathered.add(sample)
        except InvalidInput as error:
            raise InvalidInput(f"{path}, sample {number:,}: {error}") from None
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InvalidInput(
                f"{path}, sample {number:,}: it is not as it should be ({type(error).__name__}: {error})."
            ) from error
    return assemble(
        path.stem, gathered.documents, gathered.questions, gathered.relevance, apart=gathered.apart
    )


class _Locomo(_Gathered):
    """Conversations in sessions; the evidence of an answer is named by turns."""

    def add(self, sample: Mapping[str, Any]) -> None:
        scope = str(sample["sample_id"])
        turns = list(_locomo_turns(sample["conversation"], scope))
        self.documents += turns
        known = {turn.id for turn in turns}
        for number, asked in enumerate(sample["qa"]):
            category = int(asked["category"])
            if category not in LOCOMO_CATEGORIES:
                raise InvalidInput(f"question {number} has the category {category}, which LoCoMo has not.")
            question = Question(
                f"{scope}:q{number}",
                str(asked["question"]),
                scope=scope,
                category=LOCOMO_CATEGORIES[category],
                answerable=category != ADVERSARIAL,
            )
            self.questions.append(question)
            if question.answerable:
                named = {f"{scope}:{place}" for place in evidence(asked.get("evidence") or [])}
                self.relevance[question.id] = dict.fromkeys(sorted(named & known), 1)


def _locomo_turns(conversation: Mapping[str, Any], scope: str) -> Iterator[Document]:
    sessions = [(int(found[1]), key) for key in conversation if (found := _SESSION.fullmatch(key))]
    for number, key in sorted(sessions):
        said_at = _locomo_time(conversation.get(f"{key}_date_time"))
        for turn in conversation[key]:
            caption = turn.get("blip_caption")
            text = " ".join(
                part for part in (turn.get("text"), f"[shares image: {caption}]" if caption else "") if part
            )
            for place in evidence([turn["dia_id"]]) if text.strip() else ():
                yield Document(
                    f"{scope}:{place}",
                    text,
                    scope=scope,
                    session=f"{scope}:S{number}",
                    speaker=turn["speaker"],
                    created_at=said_at,
                )


def evidence(named: list[str]) -> list[str]:
    """The turns that are named, however it was written.

    >>> evidence(["D8:6; D9:17", "D:11:26", "D30:05", "D"])
    ['D8:6', 'D9:17', 'D11:26', 'D30:5']
    """
    return [f"D{int(a)}:{int(b)}" for text in named for a, b in _EVIDENCE.findall(text)]


def _locomo_time(given: str | None) -> datetime | None:
    if not given:
        return None
    try:
        return datetime.strptime(given.strip().upper(), _LOCOMO_TIME).replace(tzinfo=UTC)
    except ValueError:
        raise InvalidInput(f"{given!r} is not a time such as '1:56 pm on 8 May, 2023'.") from None


class _LongMemEval(_Gathered):
    """A haystack of sessions for each question; the turns that have the answer are marked."""

    def add(self, sample: Mapping[str, Any]) -> None:
        id = str(sample["question_id"])
        answerable = not id.endswith(UNANSWERABLE)
        turns = list(self._turns(sample, id))
        found = [turn for turn, _, _ in turns]
        if answerable:
            self.documents += found
            marked = [turn.id for turn, is_marked, _ in turns if is_marked]
            answering = [turn.id for turn, _, is_answering in turns if is_answering]
            self.relevance[id] = dict.fromkeys(marked or answering, 1)
        else:
            self.apart += found
        self.questions.append(
            Question(
                id,
                str(sample["question"]),
                scope=id,
                category=str(sample.get("question_type") or ""),
                asked_at=_longmemeval_time(sample.get("question_date")),
                answerable=answerable,
            )
        )

    @staticmethod
    def _turns(sample: Mapping[str, Any], id: str) -> Iterator[tuple[Document, bool, bool]]:
        """Every turn, whether it is marked, and whether its session is one that answers."""
        sessions = sample["haystack_sessions"]
        names = sample["haystack_session_ids"]
        dates = sample["haystack_dates"]
        if not len(sessions) == len(names) == len(dates):
            raise InvalidInput(f"question {id!r} has not as many dates and ids as sessions.")
        for number, (turns, name, date) in enumerate(zip(sessions, names, dates, strict=True)):
            for place, turn in enumerate(turns):
                if not str(turn["content"]).strip():
                    continue
                document = _turn(f"{id}:{number}:{place}", turn, id, str(name), date)
                yield document, bool(turn.get("has_answer")), name in sample["answer_session_ids"]


def _turn(id: str, turn: Mapping[str, Any], scope: str, session: str, date: str) -> Document:
    return Document(
        id,
        str(turn["content"]),
        scope=scope,
        session=session,
        speaker=str(turn["role"]),
        created_at=_longmemeval_time(date),
    )


def _longmemeval_time(given: str | None) -> datetime | None:
    """A time such as "2023/05/20 (Sat) 02:21"."""
    return moment(_WEEKDAY.sub(" ", given).strip().replace("/", "-")) if given else None
