"""Terms as PostgreSQL takes them: what a text holds, and what is looked for."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.query.terms import KeywordQuery

MOST_BYTES = 1_000_000
"""A tsvector may take 1 MiB less a byte; what comes later in a text is not found by its words."""
MOST_PLACES = 255
LAST_PLACE = 16_383


def tsvector(terms: str) -> str:
    """Terms with their places, as a tsvector is written.

    >>> tsvector("ran it's ran")
    "'ran':1,3 'it''s':2"
    """
    places: dict[str, list[int]] = {}
    room = MOST_BYTES
    for place, term in enumerate(terms.split(), 1):
        found = places.get(term)
        room -= 2 if found else len(term.encode()) + 6
        if room < 0:
            break
        if found is None:
            places[term] = [min(place, LAST_PLACE)]
        elif len(found) < MOST_PLACES and found[-1] < LAST_PLACE:
            found.append(min(place, LAST_PLACE))
    return " ".join(f"{quoted(term)}:{','.join(map(str, found))}" for term, found in places.items())


def quoted(lexeme: str) -> str:
    """A lexeme in a tsvector or a tsquery, whatever it contains."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def tsqueries(query: KeywordQuery, *, strict: bool = False) -> list[str]:
    """What counts as a match, each on its own: words, beginnings of words, phrases.

    When `strict`, a phrase counts twice: for being insisted on, and among the rest.

    >>> from recollect.query.terms import parse_query
    >>> tsqueries(parse_query("lost update"))
    ["'lost'", "'lost':*", "'updat'", "'updat':*"]
    """
    words = [
        quoted(term) + star
        for word in query.words
        for term in word.terms
        for star in ("", ":*")[: 1 + word.prefix]
    ]
    phrases = [_phrase(terms) for phrase in query.phrases for terms in phrase.alternatives]
    return words + phrases * (1 + strict)


def phrases(query: KeywordQuery) -> str:
    """All of the phrases, each in any of the languages."""
    return " & ".join(f"({' | '.join(map(_phrase, phrase.alternatives))})" for phrase in query.phrases)


def _phrase(terms: Sequence[str]) -> str:
    return "(" + " <-> ".join(map(quoted, terms)) + ")"
