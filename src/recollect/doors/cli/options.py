"""Options that several commands share, each named as the argument of Memories that it becomes."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import click

from recollect.doors.cli import completing
from recollect.errors import InvalidInput
from recollect.types import CONFIDENCES, FACTORS, FUSIONS, MODES, SECTORS, TIERS

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]

SINCE = click.option("--since", metavar="WHEN", help="Only from this date or time on (UTC).")
UNTIL = click.option("--until", metavar="WHEN", help="Only before this date or time (UTC).")
IN_SESSION = click.option(
    "--in-session",
    metavar="ID",
    help="Note in this session what was recalled.",
    shell_complete=completing.sessions,
)
YES = click.option("-y", "--yes", is_flag=True, help="Don't ask.")

_FILTERS = (
    click.option(
        "--timeframe", metavar="PHRASE", help='Only within this time, in words: "last week", "since March".'
    ),
    SINCE,
    UNTIL,
    click.option("--as-of", metavar="WHEN", help="What was believed at that moment, or on that day."),
    click.option("--sector", type=click.Choice(SECTORS), multiple=True, help="Only of this sector."),
    click.option("--tier", type=click.Choice(TIERS), multiple=True, help="Only of this tier."),
    click.option(
        "--tag",
        "tags",
        multiple=True,
        metavar="TAG",
        help="Only with this tag; several: with all.",
        shell_complete=completing.tags,
    ),
    click.option(
        "--speaker",
        multiple=True,
        metavar="NAME",
        help="Only said by this speaker.",
        shell_complete=completing.speakers,
    ),
    click.option(
        "--session",
        multiple=True,
        metavar="ID",
        help="Only of this session.",
        shell_complete=completing.sessions,
    ),
    click.option(
        "--language", multiple=True, metavar="CODE", help="Only in this language, such as en or de."
    ),
    click.option("--min-salience", type=float, metavar="X", help="Only at least so salient (0 to 1)."),
)
_RECALL = (
    click.option(
        "--in",
        "namespace",
        multiple=True,
        metavar="NAMESPACE",
        help="Search these namespaces.",
        shell_complete=completing.namespaces,
    ),
    click.option("--superseded", "include_superseded", is_flag=True, help="Superseded memories too, halved."),
    click.option("--documents", "include_documents", is_flag=True, help="Passages of documents too."),
    click.option(
        "--document",
        multiple=True,
        metavar="NAME",
        help="Only passages of this document.",
        shell_complete=completing.documents,
    ),
    click.option("--mode", type=click.Choice(MODES), help="How to search (hybrid)."),
    click.option("--fusion", type=click.Choice(FUSIONS), help="How to make one ranking of two (mix)."),
    click.option(
        "--weight",
        "weights",
        multiple=True,
        metavar="NAME=X",
        callback=lambda _c, _p, given: pairs(given, number) or None,
        help="What a part counts: semantic, keyword; with --fusion weighted also salience and recency.",
    ),
    click.option(
        "--threshold",
        type=float,
        metavar="X",
        help="The least cosine (-1 to 1) of what is found by meaning alone.",
    ),
    click.option("--prefilter-limit", type=int, metavar="N", help="How many words find for fusion=rerank."),
    click.option("--rerank", type=click.Choice(FACTORS), multiple=True, help="Reorder by this factor."),
    click.option("--expand", multiple=True, metavar="TERM", help="Search this word too."),
    click.option(
        "--min-confidence",
        type=click.Choice(CONFIDENCES),
        help="Give nothing when an answer is less likely to be there than this.",
    ),
    click.option("--no-reinforce", is_flag=True, help="Don't count as use: salience stays as it is."),
    IN_SESSION,
)


def limit(default: int) -> Decorator[Any]:
    """How many to give."""
    text = f"At most so many, 1 to 1000 ({default})."
    return click.option("-l", "--limit", type=int, metavar="N", help=text)


def _all(options: tuple[Decorator[Any], ...]) -> Decorator[Any]:
    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


filters: Decorator[Any] = _all(_FILTERS)
recall_options: Decorator[Any] = _all((*_FILTERS, *_RECALL))


def chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those options that were given."""
    return {
        name: value
        for name, value in options.items()
        if value is not None and value is not False and value != ()
    }


def recalling(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a recall; whoever names a document wants its passages."""
    given = chosen(options)
    if given.pop("no_reinforce", False):
        given["reinforce"] = False
    if "document" in given:
        given["include_documents"] = True
    return given


def pairs(given: tuple[str, ...], convert: Callable[[str], Any] = str) -> dict[str, Any]:
    """NAME=VALUE, repeated, as a mapping.

    >>> pairs(("keyword=0.5", "semantic=1"), float)
    {'keyword': 0.5, 'semantic': 1.0}
    """
    split = [(pair, *pair.partition("=")) for pair in given]
    for pair, name, equals, _ in split:
        if not equals or not name.strip():
            raise click.BadParameter(f"{pair!r} is not of the form NAME=VALUE.")
    return {name.strip(): convert(value) for _, name, _, value in split}


def number(text: str) -> float:
    """A number, or a usage error."""
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a number.") from None


_SPAN = r"(?i)(\d{1,9})\s*(minutes?|min|h|hours?|d|days?|w|weeks?|y|years?)"
_LENGTHS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "y": timedelta(days=365),
}


def expiry(text: str | None, now: datetime | None = None) -> datetime | None:
    """When something expires: a date or time, or a span from now on.

    >>> expiry("30d", datetime(2026, 3, 1)).isoformat()
    '2026-03-31T00:00:00'
    >>> expiry("2026-12-31").isoformat()
    '2026-12-31T00:00:00+00:00'
    """
    if text is None:
        return None
    span = re.fullmatch(_SPAN, text.strip())
    if span is None:
        from recollect.times import moment

        try:
            return moment(text)
        except InvalidInput as error:
            raise InvalidInput(f"{error}, or a span such as 30d") from None
    try:
        return (now or datetime.now(UTC)) + int(span[1]) * _LENGTHS[span[2][0].lower()]
    except OverflowError:
        raise InvalidInput(f"{text!r} from now lies after the year 9999: give less.") from None


def read_text(given: str) -> str:
    """The text itself, or standard input for `-`."""
    if given != "-":
        return given
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"Standard input is not UTF-8 text ({error}): convert it first.") from None


def questions() -> Iterator[str]:
    """Standard input, a question a line; blank lines are passed over."""
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            question = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"Standard input, line {number:,}, is not UTF-8 text ({error}): convert it first."
            ) from None
        if question:
            yield question


def file_type(**settings: Any) -> click.Path:
    """A path that click has looked at."""
    return click.Path(path_type=Path, **settings)
