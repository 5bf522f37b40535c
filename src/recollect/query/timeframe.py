"""English time phrases, read as half-open intervals [start, end): "last week", "since March 3".

Readings look back: a weekday is the last one before today, a month or a day without a year the latest
that has begun. In a question, what could as well mean something else is left alone, and so is what
begins after now or stands in double quotes or backticks.

What was chosen where English leaves it open:

* "last week" is the calendar week before this one (weeks begin on Monday); so for month, quarter and
  year. "past week" and "last 3 weeks" reach from the midnight of their first day to now; hours and
  less from that very moment.
* "3 weeks ago" is that calendar week; so for every unit from the hour on. "10 minutes ago" reaches
  from 15 to 5 minutes ago. A couple is 2 (ago: 2 to 3), a few is 5 (2 to 5), several is 7 (3 to 7).
* "before X" ends where X begins, "until X" where X ends, and "after X" begins where X ends. Both ends
  of a range belong to it.
* Morning is 5 to 12, afternoon to 18, evening to 24; a night lasts from 18 to 6.
* Early, mid and late are thirds (of a month from the 1st, 11th and 21st). Seasons are the
  meteorological ones of the northern hemisphere.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime

from recollect.errors import InvalidInput
from recollect.frozen import dataclass
from recollect.query.calendar import Clock, Span
from recollect.query.timegrammar import Reader, may_name_a_time
from recollect.query.timenames import iso_moment
from recollect.query.timewords import GOES_ON, same_marks, tokens_of, word_set

_EXAMPLES = "'last week', 'since Monday', 'March 3 to 10' or '2026-03-01..2026-03-31'"
_BEFORE_A_PHRASE = word_set("in on during from for at of over within throughout around the back as")
_FILLERS = _BEFORE_A_PHRASE | word_set("early mid late earlier sometime")
_BEFORE_AGO = word_set("about roughly approximately almost nearly some")
_AROUND_A_PHRASE = word_set("\" ' . , ! ? ;")
_GLUE_BEFORE = frozenset("-./\\@#:=_+&~$%,<^*|")
_GLUE_AFTER = frozenset("-./\\@:=_+&~$%^*|,")


@dataclass(frozen=True, slots=True)
class Timeframe:
    """A stretch of time, and the words it was read from.

    ``start`` is inclusive and ``end`` exclusive, None is open; both are aware and carry the fixed
    offset their zone has at that moment, so that they compare and subtract in real time.
    """

    start: datetime | None
    end: datetime | None
    phrase: str
    span: tuple[int, int]

    def contains(self, moment: datetime) -> bool:
        """Whether an aware moment lies within.

        >>> march = parse_timeframe("March 2026", datetime(2026, 11, 4, tzinfo=UTC))
        >>> march.contains(datetime(2026, 3, 31, 23, 59, tzinfo=UTC))
        True
        >>> march.contains(datetime(2026, 4, 1, tzinfo=UTC))
        False
        """
        if self.start is not None and moment < self.start:
            return False
        return self.end is None or moment < self.end


def parse_timeframe(phrase: str, now: datetime) -> Timeframe:
    """The time frame that the whole phrase is, seen from ``now`` (aware; its zone is the calendar's).

    Raises InvalidInput when some of it is not understood, or when it ends before it begins.

    >>> frame = parse_timeframe("last week", datetime(2026, 11, 4, 12, 0, tzinfo=UTC))
    >>> str(frame.start), str(frame.end)
    ('2026-10-26 00:00:00+00:00', '2026-11-02 00:00:00+00:00')
    """
    reader = Reader(phrase, now, whole=True)
    words = [token.word for token in reader.tokens]
    last = len(words)
    while last and words[last - 1] in _AROUND_A_PHRASE:
        last -= 1
    for i in range(last):
        found = reader.read(i)
        if found and found.span and found.after == last:
            return _timeframe(phrase, reader, i, found.after, found.span)
        if words[i] not in _BEFORE_A_PHRASE and words[i] not in _AROUND_A_PHRASE:
            break
    if reader.is_backwards:
        raise InvalidInput(f"{_shown(phrase)} ends before it begins: write the earlier end first")
    raise InvalidInput(f"{_shown(phrase)} is not a time frame: write for example {_EXAMPLES}")


def find_timeframe(question: str, now: datetime) -> Timeframe | None:
    """The time frame a question speaks of; None when there is none, or none that is sure.

    Of several that lie within each other the shortest counts; others contradict each other.

    >>> noon = datetime(2026, 11, 4, 12, 0, tzinfo=UTC)
    >>> frame = find_timeframe("what did we decide about auth last week?", noon)
    >>> frame and frame.phrase
    'last week'
    >>> find_timeframe("who may march in the parade?", noon) is None
    True
    """
    if not may_name_a_time(question):
        return None
    reader = Reader(question, now, whole=False)
    found = list(_readings(question, reader))
    if not found:
        return None
    begin, after, shortest = min(found, key=lambda reading: reading[2].length)
    if not all(span.encloses(shortest) for _, _, span in found):
        return None
    return _timeframe(question, reader, begin, after, shortest)


def without_timeframe(question: str, frame: Timeframe) -> str:
    """The question without the words of the time frame and the preposition that goes with them.

    >>> question = "what did we decide about auth in the last week?"
    >>> frame = find_timeframe(question, datetime(2026, 11, 4, tzinfo=UTC))
    >>> without_timeframe(question, frame) if frame else question
    'what did we decide about auth?'
    """
    begin, end = frame.span
    if question[begin:end] != frame.phrase:
        return _joined(question, "")
    before, after = question[:begin], question[end:]
    if not _describes_what_follows(before, frame.phrase, after):
        fillers = _FILLERS | _BEFORE_AGO if frame.phrase.lower().endswith("ago") else _FILLERS
        for token in reversed(tokens_of(before[-80:])[-4:]):
            if token.word not in fillers:
                break
            before = before.rstrip()[: -len(token.word)]
    return _joined(before, after)


def parse_moment(text: str, now: datetime | None = None) -> datetime:
    """The moment that an ISO date or datetime names; a date is its midnight.

    Without an offset it is in the zone of ``now``, or in UTC. The result carries a fixed offset and
    can always be expressed in UTC. Raises InvalidInput for everything else.

    >>> parse_moment("2026-02-28T14:00+01:00").isoformat()
    '2026-02-28T14:00:00+01:00'
    """
    zone = UTC if now is None else Clock(now).zone
    try:
        moment = iso_moment(text.strip(), zone)
    except (OverflowError, ValueError):
        moment = None
    if moment is None:
        raise InvalidInput(f"{_shown(text)} is not a date: write 2026-02-28 or 2026-02-28T14:00+01:00")
    return moment


def _readings(question: str, reader: Reader) -> Iterator[tuple[int, int, Span]]:
    """Every usable time phrase of a question: its first token, the one after it, and what it means."""
    quotes: list[int] | None = None
    i = 0
    while i < len(reader.tokens):
        found = reader.read(i)
        if found is None:
            i += 1
            continue
        begin, end = reader.tokens[i].start, reader.tokens[found.after - 1].end
        quotes = _quotes(question) if quotes is None else quotes  # most questions name no time after all
        is_quoted = bisect_right(quotes, begin) % 2 == 1
        if (
            found.span
            and not is_quoted
            and _stands_alone(question, begin, end)
            and _has_begun(found.span, reader)
        ):
            yield i, found.after, found.span
        i = found.after


def _has_begun(span: Span, reader: Reader) -> bool:
    return span.start is None or span.start <= reader.clock.now


def _quotes(question: str) -> list[int]:
    """Where double quotes and backticks open and close, in turn; a last one without a partner is none."""
    text = same_marks(question)
    places: list[int] = []
    opened = ""
    for found in re.finditer(r'["`]', text):
        if opened in ("", found.group()):
            places.append(found.start())
            opened = "" if opened else found.group()
    return places if len(places) % 2 == 0 else places[:-1]


def _stands_alone(text: str, begin: int, end: int) -> bool:
    """Whether the words are no part of an identifier, a path, a version or a number."""
    before, after = text[max(begin - 2, 0) : begin], text[end : end + 2]
    if before[-1:] in _GLUE_BEFORE or before[-1:].isalnum():
        return False
    if after[:1].isalnum() or after[:1] in ("_", "("):
        return False
    return not (after[:1] in _GLUE_AFTER and (after[1:].isalnum() or after[1:] == "_"))


def _timeframe(text: str, reader: Reader, first: int, after: int, span: Span) -> Timeframe:
    begin, end = reader.tokens[first].start, reader.tokens[after - 1].end
    return Timeframe(span.start, span.end, text[begin:end], (begin, end))


def _describes_what_follows(before: str, phrase: str, after: str) -> bool:
    """Whether it is used like an adjective, so that the words before it belong to the noun behind it."""
    if phrase[-2:].lower() in ("'s", "’s"):
        return True
    nouns = [token.word for token in tokens_of(after[:80])[:1] if token.word not in GOES_ON]
    has_article = [token.word for token in tokens_of(before[-80:])[-1:]] == ["the"]
    return has_article and any(noun[:1].isalnum() for noun in nouns)


def _joined(before: str, after: str) -> str:
    """Both parts as one sentence, without a mark that has lost its words."""
    before, after = before.rstrip(), after.lstrip()
    if before.endswith("(") and after.startswith(")"):
        before, after = before[:-1].rstrip(), after[1:].lstrip()
    if not before:
        after = after.lstrip(" ,;:.")
    if not after or after[0] in "?.!,;:)":
        before, space = before.rstrip(" ,;:"), ""
    else:
        space = " "
    text = " ".join(f"{before}{space}{after}".split())
    return text if any(map(str.isalnum, text)) else ""


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
