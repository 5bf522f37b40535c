"""Claude Code's transcripts: what was said by whom, and nothing of the machinery around it.

The format is Claude Code's own and changes; lines that are not understood are passed over. A file is read
line by line from where the last reading ended, so that its size does not matter.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from recollect.doors.agents.masking import masked

LONGEST_LINE = 8_000_000
LONGEST_TURN = 6_000
NARRATION = 120
"""What an assistant says in so few characters before it calls a tool is not worth keeping."""

_INJECTED = re.compile(
    r"<(system-reminder|memories|user-prompt-submit-hook|ide_opened_file|ide_selection)\b[^<>]{0,200}>"
)
_MACHINERY = re.compile(
    r"<(command-(name|message|args)|local-command-\w+|bash-(input|stdout|stderr)|task-notification)>"
    r"|<(teammate|cross-session)-message\b"
    r"|\[Request interrupted|Caveat: The messages below were generated"
)
_NOT_SAID = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage", "isVisibleInTranscriptOnly")
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
_ID = re.compile(r"[0-9A-Za-z-]{8,64}")


@dataclass(slots=True)
class Turn:
    """What one side said."""

    id: str
    speaker: str
    text: str
    said_at: datetime | None
    branch: str | None = None
    message: str | None = None
    calls_tool: bool = False


class Transcript:
    """A transcript being read; `offset` is where to go on the next time, `title` what it is called."""

    def __init__(self, path: Path, offset: int = 0) -> None:
        self._path = path
        self.offset = offset
        self.title: str | None = None

    def turns(self) -> Iterator[Turn]:
        """What was said since the offset, oldest first."""
        with self._path.open("rb") as file:
            if self.offset > file.seek(0, 2):
                self.offset = 0  # another file took its place
            file.seek(self.offset)
            waiting: Turn | None = None
            for record in self._records(file):
                self._read_title(record)
                turn = _turn(record)
                if waiting and turn and turn.message and turn.message == waiting.message:
                    waiting.text = "\n\n".join(part for part in (waiting.text, turn.text) if part)
                    waiting.calls_tool |= turn.calls_tool
                elif turn:
                    yield from _kept(waiting)
                    waiting = turn
            yield from _kept(waiting)

    def _records(self, file: IO[bytes]) -> Iterator[dict[str, Any]]:
        while line := file.readline(LONGEST_LINE):
            if not line.endswith(b"\n") and len(line) == LONGEST_LINE:
                while (rest := file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                    pass
                self.offset = file.tell()
                continue
            if line.endswith(b"\n"):
                self.offset = file.tell()
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict):
                yield record

    def _read_title(self, record: dict[str, Any]) -> None:
        name = _TITLES.get(str(record.get("type")))
        title = record.get(name) if name else None
        if isinstance(title, str) and title.strip():
            self.title = masked(" ".join(title.split()))[:200]


def _turn(record: dict[str, Any]) -> Turn | None:
    """What a line says; a turn without text for a tool call, None for everything else."""
    record = _unqueued(record)
    message = record.get("message")
    speaker = record.get("type")
    if speaker not in ("user", "assistant") or not isinstance(message, dict) or not _is_said(record, message):
        return None
    blocks = message.get("content")
    if isinstance(blocks, str):
        blocks = [{"type": "text", "text": blocks}]
    blocks = [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    kinds = [block.get("type") for block in blocks]
    if "tool_result" in kinds:
        return None
    texts = [said(block["text"]) for block in blocks if isinstance(block.get("text"), str)]
    text = "\n\n".join(each for each in texts if each)
    if not text and "tool_use" not in kinds:
        return None
    name, branch = message.get("id"), record.get("gitBranch")
    return Turn(
        _id(record),
        str(speaker),
        text,
        _moment(record.get("timestamp")),
        branch if isinstance(branch, str) else None,
        name if isinstance(name, str) and speaker == "assistant" else None,
        "tool_use" in kinds,
    )


def _unqueued(record: dict[str, Any]) -> dict[str, Any]:
    """What somebody typed while the agent was at work, as the line it would have been otherwise."""
    queued = record.get("attachment")
    if record.get("type") != "attachment" or not isinstance(queued, dict):
        return record
    if queued.get("type") != "queued_command" or queued.get("commandMode", "prompt") != "prompt":
        return record
    passed_on = {name: queued.get(name) for name in ("origin", "isMeta")}
    return {**record, **passed_on, "type": "user", "message": {"content": queued.get("prompt")}}


def _is_said(record: dict[str, Any], message: dict[str, Any]) -> bool:
    """Whether a person or the model said it, and not the program around them."""
    origin = record.get("origin")
    is_passed_on = isinstance(origin, dict) and origin.get("kind", "human") != "human"
    is_made_up = message.get("model") == "<synthetic>"
    return not (is_passed_on or is_made_up or any(record.get(name) for name in _NOT_SAID))


def said(text: str) -> str:
    """A text without what was put into it: reminders, recalled memories, the output of commands.

    >>> said("Why? <system-reminder>be brief</system-reminder>")
    'Why?'
    >>> said("<command-name>/clear</command-name>")
    ''
    """
    text = _without_injected(text).replace("\x00", "").strip()
    return "" if _MACHINERY.match(text) else text


def _without_injected(text: str) -> str:
    """The text without elements that were put into it; one that is never closed is somebody's own words."""
    kept: list[str] = []
    done = 0
    unclosed: set[str] = set()
    for opening in _INJECTED.finditer(text):
        name = opening[1]
        if opening.start() < done or name in unclosed:
            continue
        end = text.find(f"</{name}>", opening.end())
        if end < 0:
            unclosed.add(name)
        else:
            kept.append(text[done : opening.start()])
            done = end + len(f"</{name}>")
    return "".join((*kept, text[done:]))


def _kept(turn: Turn | None) -> Iterator[Turn]:
    if turn is None or not turn.text or (turn.calls_tool and len(turn.text) <= NARRATION):
        return
    turn.text = shortened(masked(turn.text))
    yield turn


def shortened(text: str) -> str:
    """The beginning and the end of a long text."""
    if len(text) <= LONGEST_TURN:
        return text
    head, tail = LONGEST_TURN * 3 // 4, LONGEST_TURN // 4
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[… {left_out:,} characters left out …]\n{text[-tail:]}"


def _id(record: dict[str, Any]) -> str:
    given = record.get("uuid")
    if isinstance(given, str) and _ID.fullmatch(given):
        return given
    said_so = json.dumps(record, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
    return hashlib.sha256(said_so).hexdigest()[:32]


def _moment(given: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(given) if isinstance(given, str) else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo else None
