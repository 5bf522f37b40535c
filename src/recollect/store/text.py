"""What of a memory is searched: its words, and the text that its vector is made from. The same everywhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from recollect.frozen import maker
from recollect.query.terms import terms_and_keys, terms_of
from recollect.store.base import Analysed, Text


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
    return analyse_read(text, *next(terms_and_keys([text.content], text.language)))


def read(contents: Sequence[str], languages: Sequence[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The terms and the near-duplicate keys of each of many texts; read together, sooner than one by one."""
    by_language: defaultdict[str, list[str]] = defaultdict(list)
    for content, language in zip(contents, languages, strict=True):
        by_language[language].append(content)
    found = {language: terms_and_keys(each, language) for language, each in by_language.items()}
    return (next(found[language]) for language in languages)


def analyse_read(text: Text, terms: str, keys: tuple[int, ...]) -> Analysed:
    """What `analyse` says of a text whose content was read before."""
    labels = [text.speaker, text.title, *text.headings, *text.tags, *text.files]
    keys = keys if text.kind == "memory" and text.speaker is None else ()
    return maker(Analysed)(with_labels(terms, labels, text.language), text_hash(text.content), keys)


def with_labels(terms: str, labels: Iterable[str | None], language: str) -> str:
    """The terms of a text, and after them those of its labels."""
    named = tuple(filter(None, labels))
    around = _label_terms(named, language) if named else ""
    return f"{terms} {around}" if terms and around else terms or around


def without_labels(terms: str, labels: Iterable[str | None], language: str) -> str:
    """The terms of a text alone, from what `with_labels` made of them.

    >>> without_labels(with_labels("port 8080", ["api"], "en"), ["api"], "en")
    'port 8080'
    """
    named = tuple(filter(None, labels))
    return terms.removesuffix(_label_terms(named, language)).rstrip(" ") if named else terms


@lru_cache(maxsize=10_000)
def _label_terms(labels: tuple[str, ...], language: str) -> str:
    """Many memories have the same labels."""
    return " ".join([term for label in labels for term in terms_of(label, language)])


def text_hash(content: str) -> bytes:
    """The same for the same text, but for white space at its ends."""
    import hashlib  # it loads OpenSSL, which a search can do without

    return hashlib.blake2b(content.strip().encode(), digest_size=16).digest()
