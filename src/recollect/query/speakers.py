"""Whose words does a question ask for? Those of someone it names, or of one side of a chat."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from recollect.query.languages import detect, stop_words
from recollect.query.terms import terms_of

PEOPLE = frozenset({"user", "human"})
PROGRAMS = frozenset({"assistant", "ai", "agent", "bot", "model"})
ROLES = PEOPLE | PROGRAMS | {"system", "tool"}
"""What programs call the sides of a chat: in a question they are words like any other."""

_I = {
    "en": r"i|me|my|myself", "de": r"ich|mich|mir|mein\w{0,2}", "fr": r"j|je|moi|mon|ma|mes",
    "es": r"yo|mi|mis|mí", "pt": r"eu|meu|minha|meus|minhas", "it": r"io|mio|mia|miei|mie",
    "nl": r"ik|mij|mijn", "ru": r"я|меня|мне|мо[йяеию]\w*",
}  # fmt: skip
_YOU = {
    "en": r"(?<!can )(?<!could )(?<!would )(?<!will )(?<!do )(?:you|your)",  # "can you …" asks for a favour
    "de": r"du|dich|dir|dein\w{0,2}", "fr": r"tu|toi|vous|ton|ta|tes|votre|vos", "es": r"tú|usted|te|tu|tus",
    "pt": r"você|tu|teu|tua|seu|sua", "it": r"tu|te|tuo|tua|tuoi|tue", "nl": r"jij|je|jou|jouw",
    "ru": r"ты|тебя|тебе|тво[йяеию]\w*|вы|вас|вам",
}  # fmt: skip


def meant(question: str, speakers: Iterable[str]) -> frozenset[str]:
    """Those of the speakers whose words the question asks for; nobody where that is not clear.

    Someone is meant by any part of the name. In a chat with an assistant, "I" means the user, and "you" the
    assistant.

    >>> sorted(meant("What did Caroline's sister paint?", ["Caroline Ray", "Melanie"]))
    ['Caroline Ray']
    >>> sorted(meant("Which hotel did you recommend to me?", ["user", "assistant"]))
    ['assistant']
    >>> sorted(meant("Can you remind me which hotel I took?", ["user", "assistant"]))
    ['user']
    """
    everyone = frozenset(speakers)
    if len(everyone) < 2:
        return frozenset()
    language = detect(question)
    asked = set(terms_of(question, "none")) - stop_words([language])
    found = frozenset(each for each in everyone if asked & _names(each)) or _side(
        question, language, everyone
    )
    return found if found != everyone else frozenset()


@lru_cache(maxsize=1_000)
def _names(speaker: str) -> frozenset[str]:
    return frozenset(name for name in terms_of(speaker, "none") if len(name) > 1) - ROLES


def _side(question: str, language: str, speakers: Iterable[str]) -> frozenset[str]:
    """The side of a chat that is spoken of as "I" or "you"."""
    if language not in _I:
        return frozenset()
    i, you = (rf"\b(?:{words[language]})\b" for words in (_I, _YOU))
    lowered = question.lower()
    roles = PROGRAMS if re.search(you, lowered) else PEOPLE if re.search(i, lowered) else frozenset()
    return frozenset(speaker for speaker in speakers if speaker.lower() in roles)
