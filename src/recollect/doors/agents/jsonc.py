"""Small edits of JSON with comments: everything that is not edited stays as it was, to the byte.

The text is read into nodes that know where they begin and end; an edit cuts and inserts there. Whoever edits
checks the result: `parsed(after)` must be the document that was wanted.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

Step = str | int
Path = tuple[Step, ...]

_TRIVIA = re.compile(r"(?:[\s\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"[-+.\w]+")
_DEEPEST = 200


class Unreadable(ValueError):
    """The text is not JSON, not even with comments, or says a thing twice."""


@dataclass(slots=True)
class Node:
    """A value and where it stands; `parts` are the members of an object or the items of an array."""

    start: int
    end: int
    value: Any
    parts: dict[Step, Part] = field(default_factory=dict)


@dataclass(slots=True)
class Part:
    """A member or an item: where it begins (its key, if it has one), and its value."""

    start: int
    node: Node


def parsed(text: str) -> Any:
    """The document.

    >>> parsed('{"a": [1, 2,], /* why */ "b": null} // end')
    {'a': [1, 2], 'b': None}
    """
    return root(text).value


def dumped(document: Any) -> str:
    """A document as text."""
    return json.dumps(document, ensure_ascii=False)


def rendered(value: Any, unit: str = "  ", newline: str = "\n") -> str:
    """A value over several lines, as people write it: a list of words stays on one.

    >>> print(rendered({"command": "recollect", "args": ["mcp", "-n", "."]}))
    {
      "command": "recollect",
      "args": ["mcp", "-n", "."]
    }
    """
    inner = newline + unit
    if isinstance(value, dict) and value:
        parts = (f"{dumped(key)}: {rendered(each, unit, inner)}" for key, each in value.items())
        return f"{{{inner}{f',{inner}'.join(parts)}{newline}}}"
    if isinstance(value, list) and any(isinstance(each, (dict, list)) for each in value):
        return f"[{inner}{f',{inner}'.join(rendered(each, unit, inner) for each in value)}{newline}]"
    return dumped(value)


def root(text: str) -> Node:
    """The document as a node; Unreadable for anything else."""
    node = _Reader(text).value(_skip(text, 0), 0)
    if _skip(text, node.end) != len(text):
        raise Unreadable(_at(text, node.end, "there is something after its end"))
    return node


def put(text: str, path: Path, value: Any) -> str:
    """The text with a value at a path of keys: set anew, or in the place of what stood there."""
    node = root(text)
    for depth, step in enumerate(path):
        _need(node, step, text)
        if step not in node.parts:
            return _insert(text, node, f"{dumped(step)}: ", _nested(path[depth + 1 :], value))
        node = node.parts[step].node
    return text[: node.start] + _rendered(text, value, _indent_at(text, node.start)) + text[node.end :]


def append(text: str, path: Path, value: Any) -> str:
    """The text with one more item in the array at a path, which is made if it is not there."""
    node = root(text)
    for depth, step in enumerate(path):
        _need(node, step, text)
        if step not in node.parts:
            return put(text, path[: depth + 1], _nested(path[depth + 1 :], [value]))
        node = node.parts[step].node
    if not isinstance(node.value, list):
        raise Unreadable(_at(text, node.start, "a list was expected"))
    return _insert(text, node, "", value)


def remove(text: str, path: Path) -> str:
    """The text without what stands at a path, nor what is left empty around it."""
    while True:
        holder = root(text)
        for step in path[:-1]:
            holder = holder.parts[step].node
        if len(holder.parts) > 1 or len(path) == 1:
            return _cut(text, holder, path[-1])
        path = path[:-1]


def _nested(path: Path, value: Any) -> Any:
    for step in reversed(path):
        value = {step: value}
    return value


def _need(node: Node, step: Step, text: str) -> None:
    if not isinstance(node.value, dict if isinstance(step, str) else list):
        wanted = "an object" if isinstance(step, str) else "a list"
        raise Unreadable(_at(text, node.start, f"{wanted} was expected"))


# edits


def _insert(text: str, holder: Node, key: str, value: Any) -> str:
    """One more part at the end of an object or array."""
    if not holder.parts:
        outer = _indent_at(text, holder.start)
        inner = outer + _unit(text)
        kept = text[holder.start + 1 : holder.end - 1].rstrip()
        line = _newline(text)
        made = f"{kept}{line}{inner}{key}{_rendered(text, value, inner)}{line}{outer}"
        return text[: holder.start + 1] + made + text[holder.end - 1 :]
    last = [*holder.parts.values()][-1]
    comma = _comma_after(text, last.node.end)
    after = last.node.end if comma is None else comma + 1
    separator, trailing = ("," if comma is None else ""), ("" if comma is None else ",")
    place = _line_end(text, after, holder.end - 1)
    if place is None:
        made = f"{separator} {key}{dumped(value)}{trailing}"
        return text[:after] + made + text[after:]
    indent = _indent_at(text, last.start)
    made = f"{_newline(text)}{indent}{key}{_rendered(text, value, indent)}{trailing}"
    return text[:after] + separator + text[after:place] + made + text[place:]


def _cut(text: str, holder: Node, step: Step) -> str:
    """One part less, with the comma that belonged to it and the space before it."""
    part = holder.parts[step]
    before = len(text[: part.start].rstrip())
    after = _comma_after(text, part.node.end)
    if after is not None:
        return text[:before] + text[part.node.end : after] + text[after + 1 :]
    steps = [*holder.parts]
    place = steps.index(step)
    rest = text[part.node.end :]
    if place == 0:
        return text[:before] + rest
    comma = _comma_after(text, holder.parts[steps[place - 1]].node.end)
    assert comma is not None  # two parts have one between them
    return text[:comma] + text[comma + 1 : before] + rest


def _comma_after(text: str, position: int) -> int | None:
    place = _skip(text, position)
    return place if text[place : place + 1] == "," else None


def _line_end(text: str, position: int, end: int) -> int | None:
    """Where the line ends on which a part ends, if only a comment follows on it; else None."""
    while position < end:
        if text.startswith("/*", position):
            position = text.index("*/", position) + 2
        elif text.startswith("//", position):
            position = text.find("\n", position)
            return position - (text[position - 1] == "\r")
        elif text.startswith(("\n", "\r\n"), position):
            return position
        elif text[position] not in " \t\r\ufeff":
            return None
        else:
            position += 1
    return None


def _rendered(text: str, value: Any, indent: str) -> str:
    return rendered(value, _unit(text), _newline(text) + indent)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """What one level is indented by: as the first indented line has it, else two spaces."""
    found = re.search(r'^([ \t]+)["\[{]', text, re.MULTILINE)
    return found[1] if found else "  "


def _indent_at(text: str, position: int) -> str:
    """The white space that a line begins with."""
    start = text.rfind("\n", 0, position) + 1
    found = re.match(r"[ \t]*", text[start:])
    return found[0] if found else ""


# reading


def _skip(text: str, position: int) -> int:
    found = _TRIVIA.match(text, position)
    return found.end() if found else position


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, position: int, depth: int) -> Node:
        text = self._text
        if depth > _DEEPEST:
            raise Unreadable(_at(text, position, "it is nested too deeply"))
        opening = text[position : position + 1]
        if opening in ("{", "["):
            return self._parts(position, opening, depth)
        found = (_STRING if opening == '"' else _WORD).match(text, position)
        if not found:
            raise Unreadable(_at(text, position, "a value was expected"))
        return Node(position, found.end(), self._plain(found[0], position))

    def _plain(self, token: str, position: int) -> Any:
        try:
            return json.loads(token)
        except ValueError:
            raise Unreadable(_at(self._text, position, "this is no JSON value")) from None

    def _parts(self, start: int, opening: str, depth: int) -> Node:
        text, closing = self._text, "}" if opening == "{" else "]"
        parts: dict[Step, Part] = {}
        position = _skip(text, start + 1)
        while text[position : position + 1] != closing:
            begin = position
            step: Step = len(parts)
            if opening == "{":
                step, position = self._key(position)
                if step in parts:
                    raise Unreadable(_at(text, begin, f"it says {step!r} twice"))
            node = self.value(position, depth + 1)
            parts[step] = Part(begin, node)
            position = _skip(text, node.end)
            if text[position : position + 1] == ",":
                position = _skip(text, position + 1)
            elif text[position : position + 1] != closing:
                raise Unreadable(_at(text, position, f"a comma or {closing} was expected"))
        values = [part.node.value for part in parts.values()]
        value = dict(zip(parts, values, strict=True)) if opening == "{" else values
        return Node(start, position + 1, value, parts)

    def _key(self, position: int) -> tuple[str, int]:
        node = self.value(position, _DEEPEST) if self._text[position : position + 1] == '"' else None
        colon = _skip(self._text, node.end) if node else position
        if node is None or self._text[colon : colon + 1] != ":":
            raise Unreadable(_at(self._text, colon, "a key and a colon were expected"))
        return str(node.value), _skip(self._text, colon + 1)


def _at(text: str, position: int, trouble: str) -> str:
    line = text.count("\n", 0, position) + 1
    return f"line {line:,}: {trouble}"
