"""Is this usable? Every value that a caller gives is looked at here, before anything is changed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from recollect.errors import InvalidInput
from recollect.query.languages import STEMMERS, is_known

LONGEST_TEXT = 1_000_000
LONGEST_DOCUMENT = 20_000_000
LONGEST_NAME = 500
LONGEST_METADATA = 100_000
LARGEST_LIMIT = 1_000
_SHORTER = {LONGEST_TEXT: "split it, or keep it as a document with ingest()", LONGEST_DOCUMENT: "split it"}

_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_PLAIN_NAME = re.compile("[!-~][ -~]*").fullmatch
"""What nearly all names are: printable ASCII, and not blank."""
Choice = TypeVar("Choice", bound=str)


def text(value: object, *, what: str = "The text", longest: int = LONGEST_TEXT) -> str:
    """A text that can be kept as it is."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a string, not {type(value).__name__}.")
    if not value.strip():
        raise InvalidInput(f"{what} is empty: give at least one word.")
    if len(value) > longest:
        way_out = _SHORTER.get(longest, "make it shorter")
        raise InvalidInput(f"{what} has {len(value):,} characters, more than {longest:,}: {way_out}.")
    return _storable(value, what)


def _storable(value: str, what: str) -> str:
    if "\0" in value:
        raise InvalidInput(f"{what} contains a NUL byte, which no text has: is it binary data?")
    if not value.isascii() and _SURROGATE.search(value):
        raise InvalidInput(
            f"{what} contains half a character (a lone surrogate): decode it as UTF-8 with errors='replace'."
        )
    return value


def optional_text(value: object, *, what: str) -> str | None:
    """The same, where nothing may be given."""
    return None if value is None else text(value, what=what)


def name(value: object, *, what: str) -> str:
    """A short label: an id, a namespace, a session, a speaker, a tag."""
    if isinstance(value, str) and len(value) <= LONGEST_NAME and _PLAIN_NAME(value):
        return value
    checked = text(value, what=what, longest=LONGEST_NAME)
    if _CONTROL.search(checked):
        raise InvalidInput(f"{what} contains a control character: use printable text on one line.")
    return checked


def optional_name(value: object, *, what: str) -> str | None:
    """The same, where nothing may be given."""
    return None if value is None else name(value, what=what)


def names(values: str | Iterable[str] | None, *, what: str) -> tuple[str, ...]:
    """Labels without doubles; one alone may be given as a string."""
    if values is None or values == ():
        return ()
    if isinstance(values, (list, tuple)) and len(values) == 1:
        return (name(values[0], what=what),)
    return tuple(dict.fromkeys(name(value, what=what) for value in _several(values, what)))


def _several(values: object, what: str) -> Iterable[Any]:
    if isinstance(values, Iterable) and not isinstance(values, (bytes, bytearray)):
        return (values,) if isinstance(values, str) else values
    raise InvalidInput(f"{what} must be a string, or several in a list, not {type(values).__name__}.")


def id_of(value: object) -> str:
    """An id, or that of a memory or of what `remember` returned."""
    return name(getattr(value, "id", value), what="An id")


def ids(values: object) -> tuple[str, ...]:
    """One id or several, without doubles."""
    given = values if isinstance(values, Iterable) and not isinstance(values, (str, bytes)) else (values,)
    return tuple(dict.fromkeys(id_of(value) for value in given))


def known(given: Iterable[str], allowed: Iterable[str], *, what: str) -> None:
    """Nothing may be given that there is not."""
    if unknown := sorted(set(given).difference(allowed)):
        raise InvalidInput(f"There is no {what} {unknown[0]!r}: choose from {', '.join(allowed)}.")


def flag(value: object, *, what: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{what} must be True or False, not {value!r}.")
    return value


def query(value: object) -> str:
    """Any string is a query; half characters are put right."""
    if not isinstance(value, str):
        raise InvalidInput(f"A query must be a string, not {type(value).__name__}.")
    if len(value) > LONGEST_TEXT:
        raise InvalidInput(
            f"A query of {len(value):,} characters is too long: ask with at most {LONGEST_TEXT:,}."
        )
    return value if value.isascii() else _SURROGATE.sub("\ufffd", value)


def queries(values: object) -> tuple[str, ...]:
    """Any strings; one alone may be given as a string."""
    return tuple(query(value) for value in _several(values, "A term to expand by"))


def choice(value: object, allowed: Sequence[Choice], *, what: str) -> Choice:
    """One of a few words."""
    if value in allowed:
        return allowed[allowed.index(value)]
    raise InvalidInput(f"{value!r} is no {what}: choose one of {', '.join(allowed)}.")


def choices(
    values: str | Iterable[str] | None, allowed: Sequence[Choice], *, what: str
) -> tuple[Choice, ...]:
    """Some of a few words; one alone may be given as a string."""
    if values is None:
        return ()
    return tuple(dict.fromkeys(choice(value, allowed, what=what) for value in _several(values, f"A {what}")))


def limit(value: object, *, what: str = "limit", lowest: int = 1, highest: int = LARGEST_LIMIT) -> int:
    """A whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{what} must be a whole number from {lowest} to {highest:,}, not {value!r}.")
    if not lowest <= value <= highest:
        raise InvalidInput(f"{what} is {value:,}: give a number from {lowest} to {highest:,}.")
    return value


def fraction(value: object, *, what: str, lowest: float = 0.0, highest: float = 1.0) -> float:
    """A number within bounds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InvalidInput(f"{what} must be a number from {lowest:g} to {highest:g}, not {value!r}.")
    if not lowest <= value <= highest:
        raise InvalidInput(f"{what} is {value:g}: give a number from {lowest:g} to {highest:g}.")
    return float(value)


def language(value: object) -> str | None:
    """A language code that we can stem, or have reason not to."""
    if value is None:
        return None
    if not isinstance(value, str) or not is_known(value):
        raise InvalidInput(
            f"{value!r} is no language known here: choose one of {', '.join(STEMMERS)}, zh, ja, ko, th."
        )
    return value


def metadata(value: object, *, longest: int = LONGEST_METADATA) -> str:
    """Any JSON object, as text."""
    if value == {}:
        return "{}"
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInput("metadata must be a mapping with strings as keys.")
    try:
        encoded = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"metadata can't be written as JSON ({error}): use plain values.") from None
    if len(encoded) > longest:
        raise InvalidInput(f"metadata takes {len(encoded):,} characters, more than {longest:,}.")
    if "\\u0000" in encoded.replace("\\\\", ""):
        raise InvalidInput("metadata contains a NUL byte: take it out.")
    return _storable(encoded, "metadata")


def interval(since: datetime | None, until: datetime | None) -> None:
    """An interval must not end before it begins."""
    if since is not None and until is not None and until <= since:
        raise InvalidInput(
            f"The interval ends ({until.isoformat()}) before it begins ({since.isoformat()}): swap them."
        )


def weights(value: Mapping[str, Any] | None, defaults: Mapping[str, float]) -> dict[str, float]:
    """Weights by name, what is not given as by default; at least one must count."""
    if value is not None and not isinstance(value, Mapping):
        raise InvalidInput(f"weights must be a mapping such as {dict(defaults)}, not {type(value).__name__}.")
    given = dict(value or {})
    for key in given:
        if key not in defaults:
            raise InvalidInput(f"{key!r} is no weight here: choose from {', '.join(defaults)}.")
        fraction(given[key], what=f"The weight of {key}", highest=1000.0)
    merged = {**defaults, **given}
    if not any(merged.values()):
        raise InvalidInput("All weights are 0: give at least one that counts.")
    return merged
