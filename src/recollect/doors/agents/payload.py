"""What Claude Code tells a hook, on standard input."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from recollect.errors import InvalidInput
from recollect.frozen import dataclass

LARGEST = 16_000_000


@dataclass(frozen=True, slots=True)
class Payload:
    """The fields that are of use here; those that are missing are empty."""

    session_id: str = ""
    transcript_path: str = ""
    cwd: str = ""
    prompt: str = ""
    source: str = ""


def read(more: Callable[[], bytes] = lambda: os.read(0, 1 << 16)) -> Payload:
    """The JSON object on standard input; it need not be closed, the object's end is enough."""
    given = b""
    while chunk := more():
        given += chunk
        if given.rstrip().endswith(b"}"):
            try:
                return parse(given)
            except InvalidInput:
                continue  # a brace within the object
        if len(given) > LARGEST:
            raise InvalidInput(f"Standard input has more than {LARGEST:,} bytes.")
    return parse(given)


def parse(given: bytes) -> Payload:
    """The fields of the object.

    >>> parse(b'{"session_id": "s1", "cwd": "/work", "prompt": "why?"}').prompt
    'why?'
    """
    try:
        found = json.loads(given.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"Standard input is not the JSON of a hook ({error}).") from None
    if not isinstance(found, dict):
        raise InvalidInput("Standard input is not a JSON object.")
    named = {name: found.get(name) for name in Payload.__dataclass_fields__}
    return Payload(**{name: value for name, value in named.items() if isinstance(value, str)})


def folder(given: Payload) -> Path:
    """The folder that the session belongs to: where it was begun, not where the agent has gone since."""
    begun_in = os.environ.get("CLAUDE_PROJECT_DIR")
    if begun_in and Path(begun_in).is_dir():
        return Path(begun_in)
    path = Path(given.cwd) if given.cwd else Path.cwd()
    if not path.is_dir():
        raise InvalidInput(f"The folder {given.cwd!r} is not there.")
    return path
