"""Where in this text are the words? Snippets cut from the original text, the same on every backend."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import overload

from recollect.query.terms import KeywordQuery, places

WIDTH = 200
_LOOKED_AT = 5_000


class Highlights(Sequence[str]):
    """The highlights of a text, cut when they are first looked at: many who ask never do.

    >>> from recollect.query.terms import parse_query
    >>> Highlights("Logins use JWT", parse_query("login"), "en")
    ('<mark>Logins</mark> use JWT',)
    """

    def __init__(self, text: str, query: KeywordQuery, language: str) -> None:
        self._given = text, query, language

    @cached_property
    def _pieces(self) -> tuple[str, ...]:
        return highlights(*self._given)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        return self._pieces[at]

    def __len__(self) -> int:
        return len(self._pieces)

    def __eq__(self, other: object) -> bool:
        return self._pieces == (other._pieces if isinstance(other, Highlights) else other)

    def __hash__(self) -> int:
        return hash(self._pieces)

    def __repr__(self) -> str:
        return repr(self._pieces)


def escaped(text: str) -> str:
    """A text as HTML; the standard library's would load the names of 2,000 characters to do the same.

    >>> escaped("a < b && c"), unescaped(escaped("&lt; > &amp;lt;"))
    ('a &lt; b &amp;&amp; c', '&lt; > &amp;lt;')
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescaped(markup: str) -> str:
    """The text that was `escaped`."""
    return markup.replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")


def highlights(text: str, query: KeywordQuery, language: str, *, count: int = 2) -> tuple[str, ...]:
    """Up to `count` pieces of the text around the words that matched; none when none did.

    They are HTML: the text is escaped, `<mark>` is the only element, and … stands for what was left out.

    >>> from recollect.query.terms import parse_query
    >>> highlights("Logins use <b>JWT</b> tokens", parse_query("login token"), "en")
    ('<mark>Logins</mark> use &lt;b&gt;JWT&lt;/b&gt; <mark>tokens</mark>',)
    """
    spans = _joined(sorted(set(places(text[:_LOOKED_AT], language, query))))
    snippets: list[tuple[int, str]] = []
    while spans and len(snippets) < count:
        start, end = _best_window(spans)
        inside = [span for span in spans if start <= span[0] and span[1] <= end]
        snippets.append((start, _render(text, inside)))
        spans = [span for span in spans if span not in inside] if len(inside) < len(spans) else []
    return tuple(snippet for _, snippet in sorted(snippets))


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Overlapping marks become one."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _best_window(spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The first stretch of WIDTH characters that holds the most marks."""
    best, most = 0, 0
    last = 0
    for first in range(len(spans)):
        last = max(last, first)
        while last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= WIDTH:
            last += 1
        if last - first + 1 > most:
            best, most = first, last - first + 1
    return spans[best][0], spans[best + most - 1][1]


def _render(text: str, marks: Sequence[tuple[int, int]]) -> str:
    room = max(0, WIDTH - (marks[-1][1] - marks[0][0]))
    before = min(marks[0][0], max(room // 2, room - (len(text) - marks[-1][1])))
    start = _word_edge(text, marks[0][0] - before, -1)
    end = _word_edge(text, min(len(text), marks[-1][1] + room - before), 1)
    pieces, place = [], start
    for a, b in marks:
        pieces += [
            escaped(text[place:a]),
            "<mark>",
            escaped(text[a:b]),
            "</mark>",
        ]
        place = b
    pieces.append(escaped(text[place:end]))
    return ("…" if start else "") + "".join(pieces).strip() + ("…" if end < len(text) else "")


def _word_edge(text: str, place: int, step: int) -> int:
    """The nearest end of a word outwards, if there is one close by."""
    for moved in range(20):
        spot = place + step * moved
        if spot <= 0 or spot >= len(text):
            return min(max(spot, 0), len(text))
        if text[spot - 1 if step < 0 else spot].isspace():
            return spot
    return place
