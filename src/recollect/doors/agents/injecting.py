"""What a session is told by itself: at its start, and with each prompt. Quoted as data, within a budget."""

from __future__ import annotations

import html
import json
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.doors.agents.deadline import Deadline
from recollect.doors.agents.remembered import State

if TYPE_CHECKING:
    from recollect.memories import Memories
    from recollect.types import Memory, Recall, Session

START_TOKENS, PROMPT_TOKENS = 1_500, 800
PROMPT_HITS = 5
SHORTEST_PROMPT = 12
"""In bytes: "yes, go on" asks for nothing."""
LONGEST_MEMORY = 1_200
LONGEST_QUERY = 2_000
_HALF_LIFE_DAYS = 30.0
_COMMAND = re.compile(r"/[\w:.-]+(\s|$)|!")
_LEARNED = ("semantic", "procedural", "reflective", "emotional")


def answer(event: str, context: str) -> str:
    """What Claude Code reads on standard output."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}})


def is_worth_asking(prompt: str) -> bool:
    """Whether a prompt says enough to recall by; commands and short words don't.

    >>> [is_worth_asking(each) for each in ("/compact now please", "yes", "/srv/app fails, why?")]
    [False, False, True]
    >>> is_worth_asking("缓存为什么失效")
    True
    """
    text = prompt.strip()
    return len(text.encode("utf-8", "replace")) >= SHORTEST_PROMPT and not _COMMAND.match(text)


# with a prompt


def for_prompt(memories: Memories, prompt: str, session: str, state: State, deadline: Deadline) -> str:
    """What is remembered about a prompt and was not told in this session before; "" for nothing."""
    from recollect import assembling, drafting
    from recollect.memories.finding import WORTH_TELLING

    text = prompt.strip()
    query = text if len(text) <= LONGEST_QUERY else f"{text[: LONGEST_QUERY - 500]} {text[-500:]}"
    found = _recall(memories, query, PROMPT_HITS + min(len(state.injected), 45), deadline)
    worth = [hit for hit in found if hit.score >= WORTH_TELLING * found[0].score]
    new = [hit for hit in worth if _is_new(hit.memory, session, state)][:PROMPT_HITS]
    short = [replace(hit, memory=_short(hit.memory)) for hit in new]
    context = assembling.assemble(short, PROMPT_TOKENS, drafting.estimate_tokens, found)
    state.note([memory.id for memory in context.memories])
    return context.text


def _recall(memories: Memories, query: str, limit: int, deadline: Deadline) -> Recall:
    """By meaning and words, if that is had in two thirds of the time; else by words alone."""
    found: list[Recall] = []
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            found.append(memories.recall(query, limit=limit, min_confidence="weak", reinforce=False))
        except BaseException as error:
            failed.append(error)
            raise

    asking = threading.Thread(target=ask, name="recollect-hook", daemon=True)
    asking.start()
    asking.join(deadline.seconds * 2 / 3)
    if found:
        return found[0]
    if failed:
        raise failed[0]
    deadline.note("meaning took too long: keywords answered alone")
    return memories.recall(query, limit=limit, mode="keyword", min_confidence="weak", reinforce=False)


def _is_new(memory: Memory, session: str, state: State) -> bool:
    """Not told before; and what this session said itself is in front of the agent, until it was compacted."""
    return memory.id not in state.injected and (memory.session != session or state.compacted)


def _short(memory: Memory) -> Memory:
    text = memory.content
    if len(text) <= LONGEST_MEMORY:
        return memory
    return replace(memory, content=memory.summary or f"{text[:LONGEST_MEMORY]} [… get the rest by its id]")


# at the start


def for_start(memories: Memories, session: str, state: State, now: datetime) -> str:
    """What was learned lately, what matters most, and what the last sessions were about; "" for nothing."""
    from recollect import assembling, drafting

    header = assembling.HEADER.format("")
    budget = START_TOKENS - drafting.estimate_tokens(header + assembling.FOOTER)
    about = [_headline(each) for each in memories.sessions(limit=6) if each.summary and each.id != session]
    lines = _fitting(about[:3], budget // 3, drafting.estimate_tokens)
    budget -= sum(map(drafting.estimate_tokens, lines))
    best = [each for each in _best(memories, now) if _is_new(each, session, state)]
    quoted = {assembling.quote(_short(each)): each for each in best}
    taken = _fitting(quoted, budget, drafting.estimate_tokens)
    state.note([quoted[text].id for text in taken])
    if not taken and not lines:
        return ""
    by_time = sorted(taken, key=lambda text: (quoted[text].created_at, quoted[text].id))
    return header + "".join((*reversed(lines), *by_time)) + assembling.FOOTER


def _best(memories: Memories, now: datetime) -> list[Memory]:
    """Candidates, best first: notes of late, and whatever is salient; turns of talk are left to recall."""
    previews = (
        *memories.timeline(limit=100, sector=_LEARNED, include_superseded=False),
        *memories.timeline(limit=100, include_superseded=False),
        *memories.timeline(limit=50, min_salience=0.65, include_superseded=False),
    )
    ids = list(dict.fromkeys(each.id for each in previews if not each.speaker))
    found = memories.get(ids) if ids else []
    return sorted(found, key=lambda memory: _weight(memory, now), reverse=True)


def _weight(memory: Memory, now: datetime) -> float:
    days = max((now - memory.created_at).total_seconds() / 86_400, 0.0)
    recency: float = 0.5 ** (days / _HALF_LIFE_DAYS)
    return memory.salience * (0.3 + 0.7 * recency)


def _headline(session: Session) -> str:
    ended = session.ended_at or session.started_at
    summary = html.escape((session.summary or "")[:400], quote=False)
    return f'<session id="{html.escape(session.id)}" date="{ended.date().isoformat()}">{summary}</session>\n'


def _fitting(texts: Iterable[str], budget: int, count: Callable[[str], int]) -> list[str]:
    taken: list[str] = []
    for text in texts:
        if (cost := count(text)) <= budget:
            budget -= cost
            taken.append(text)
    return taken
