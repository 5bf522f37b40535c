"""Our table in a TOML file: added, changed, taken out; the other lines stay as they are.

TOML is edited by lines, and whoever edits checks the result: it must read as the document that was wanted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_HEADER = re.compile(r"^\s*\[")


def put(text: str, table: tuple[str, str], entry: Mapping[str, Any]) -> str:
    """The text with these keys in the table, which is made at the end if it is not there."""
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if "\r\n" in text else "\n"
    found = _extent(lines, table)
    if found is None:
        separator = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
        made = [f"[{'.'.join(table)}]", *(f"{key} = {_value(value)}" for key, value in entry.items())]
        return text + separator + newline.join(made) + newline
    start, end = found
    for key, value in entry.items():
        line = f"{key} = {_value(value)}{newline}"
        place = _key_line(lines, start + 1, end, key)
        if place is None:
            lines.insert(start + 1, line)
            end += 1
        else:
            lines[place] = line
    return "".join(lines)


def remove(text: str, table: tuple[str, str]) -> str:
    """The text without the table and what stands below it."""
    lines = text.splitlines(keepends=True)
    while (found := _extent(lines, table)) is not None:
        start, end = found
        if start and not lines[start - 1].strip() and not "".join(lines[end : end + 1]).strip():
            start -= 1
        del lines[start:end]
    return "".join(lines)


def _extent(lines: list[str], table: tuple[str, str]) -> tuple[int, int] | None:
    """The lines of a table, or of one below it; without the comments above the next."""
    names = r"\s*\.\s*".join(rf"[\"']?{re.escape(name)}[\"']?" for name in table)
    header = re.compile(rf"^\s*\[\s*{names}\s*(\.[^\]]*)?\]")
    start = next((i for i, line in enumerate(lines) if header.match(line)), None)
    if start is None:
        return None
    end = start + 1
    while end < len(lines) and not _HEADER.match(lines[end]):
        end += 1
    while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return start, end


def _key_line(lines: list[str], start: int, end: int, key: str) -> int | None:
    return next((i for i in range(start, end) if re.match(rf"\s*{re.escape(key)}\s*=", lines[i])), None)


def _value(value: Any) -> str:
    r"""A string or a list of strings as TOML: JSON's escapes are TOML's, but for DEL.

    >>> print(_value(["a\\b", "é"]))
    ["a\\b", "é"]
    """
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
