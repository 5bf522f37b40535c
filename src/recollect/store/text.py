"""What of a memory is searched: its words, and the text that its vector is made from. The same everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.frozen import maker
from recollect.query.duplicates import near_keys
from recollect.query.terms import terms_of
from recollect.store.base import Analysed, Text

_analysed = maker(Analysed)


def embedded_text(content: str, speaker: str | None, headings: Sequence[str], title: str | None) -> str:
    """The text that a vector is made from: who said it, or where in a document it stands, comes first.

    >>> embedded_text("I moved to Lisbon.", "Ana", (), None)
    'Ana: I moved to Lisbon.'
    """
    if speaker:
        return f"{speaker}: {content}"
    above = [title, *(heading for heading in headings if heading != title)] if title else list(headings)
    return " > ".join(part for part in above if part) + "\n" + content if above else content


def analyse(text: Text) -> Analysed:
    """A text's terms, hash, and near-duplicate keys.

    The terms of the content come first, in order, for phrases; then those of who said it and of its labels.
    """
    terms = terms_of(text.content, text.language)
    labels = [text.speaker, text.title, *text.headings, *text.tags, *text.files]
    around = [term for label in labels if label for term in terms_of(label, text.language)]
    keys = near_keys(terms) if text.kind == "memory" and text.speaker is None else ()
    return _analysed(" ".join(terms + around), text_hash(text.content), keys)


def text_hash(content: str) -> bytes:
    """The same for the same text, but for white space at its ends."""
    import hashlib  # it loads OpenSSL, which a search can do without

    return hashlib.blake2b(content.strip().encode(), digest_size=16).digest()
