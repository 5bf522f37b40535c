"""Keyword, semantic or hybrid? Read off the query, for `mode="auto"`."""

from __future__ import annotations

import re
from typing import Literal

_EXACT = re.compile(
    r"""
    ["“][^"“”]+["”]                      # quoted on purpose
    | \b v?\d+ (?: \. \d+ )+ \b          # a version or address: 17.2
    | \b \w* [a-z0-9] _ \w+ \b           # snake_case
    | \b [a-z]+ [A-Z] \w+ \b             # camelCase
    | \b \w+ (?: / \w+ | :: \w+ )        # a path, a qualified name
    | \b \w+ \. [a-z]{1,5} \b (?! \s*$ ) # a file
    | \b [A-Z]{2,} - \d+ \b              # a ticket
    | \# \d+ | \b 0x [0-9a-fA-F]+ \b | \b [0-9a-f]{7,40} \b (?<= [0-9] .{6} )
    | (?: ^ | \s ) --? [a-z]             # a flag
    """,
    re.VERBOSE,
)
_CONCEPT = re.compile(
    r"""(?ix) \b (?: why | how \s+ (?: do|does|did|should|could|to|can|come ) | philosophy | approach
    | idea s? | concept \w* | strateg \w+ | rationale | reason s? | trade-?offs? | lesson s?
    | feel (?: s|ing|ings )? | opinion s? | architectural
    | similar \s+ to | related \s+ to | in \s+ general | thoughts? | principles? ) \b"""
)

Strategy = Literal["hybrid", "semantic", "keyword"]


def choose_mode(query: str) -> Strategy:
    """Versions, identifiers and quotes ask for exact words; concepts ask for meaning; the rest for both.

    >>> choose_mode("PostgreSQL 17.2"), choose_mode("architectural philosophy"), choose_mode("auth tokens")
    ('keyword', 'semantic', 'hybrid')
    """
    if _EXACT.search(query):
        return "keyword"
    return "semantic" if _CONCEPT.search(query) else "hybrid"
