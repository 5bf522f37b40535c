"""Whom does a question name? Someone who speaks in the memories, by any part of the name."""

from __future__ import annotations

from collections.abc import Iterable

from recollect.query.languages import detect, stop_words
from recollect.query.terms import terms_of

ROLES = frozenset({"user", "assistant", "system", "human", "ai", "agent", "bot", "tool", "model"})
"""What programs call the sides of a conversation: in a question they are words like any other."""


def named(question: str, speakers: Iterable[str]) -> frozenset[str]:
    """Those of the speakers whom the question names; nobody where it names all of them.

    >>> sorted(named("What did Caroline's sister paint?", ["Caroline Ray", "Melanie"]))
    ['Caroline Ray']
    >>> named("What will they do?", ["Will", "Melanie"])
    frozenset()
    """
    everyone = {speaker: _names(speaker) for speaker in speakers}
    if len(everyone) < 2:
        return frozenset()
    asked = set(terms_of(question, "none")) - stop_words([detect(question)])
    found = frozenset(speaker for speaker, names in everyone.items() if names & asked)
    return found if len(found) < len(everyone) else frozenset()


def _names(speaker: str) -> frozenset[str]:
    return frozenset(name for name in terms_of(speaker, "none") if len(name) > 1) - ROLES
