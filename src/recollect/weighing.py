"""How much does each leg count? The default, unless the memories that are searched were tuned.

Tuned weights belong to a namespace, to the model that made its vectors, and to questions in languages that
this model reads as well as those of the memories that it was tuned on. Everywhere else the default holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recollect import checks
from recollect.errors import InvalidInput
from recollect.query.languages import is_latin
from recollect.types import Reading, Tuned

if TYPE_CHECKING:
    from recollect.store.base import Generation, NamespaceFacts

LEAST = 0.1
"""No leg may count less: what it alone can find must stay findable."""
LEGS = {"semantic": 0.0, "keyword": 0.0}
OUTDATED = "the weights were tuned for another model, so the default held: run recollect tune again"
_DIGITS = 4


def reading(language: str, known: Sequence[str]) -> Reading:
    """How well a model that knows these languages reads another; one that names none reads all.

    >>> reading("en", ("en",)), reading("de", ("en",)), reading("zh", ("en",)), reading("zh", ())
    ('known', 'foreign', 'unread', 'known')
    """
    if not known or language in known:
        return "known"
    return "foreign" if is_latin(language) else "unread"


def shares(weights: Mapping[str, Any]) -> dict[str, float]:
    """Weights of both legs as parts of 1; InvalidInput for one that would switch a leg off.

    >>> shares({"semantic": 1, "keyword": 3})
    {'semantic': 0.25, 'keyword': 0.75}
    """
    given = checks.weights(weights, LEGS)
    semantic = round(given["semantic"] / sum(given.values()), _DIGITS)
    if not LEAST <= semantic <= 1 - LEAST:
        raise InvalidInput(
            f"A leg would count {min(semantic, 1 - semantic):.0%} only: "
            f"give weights of which each is at least {LEAST:.0%} of both."
        )
    return {"semantic": semantic, "keyword": round(1 - semantic, _DIGITS)}


def told(weights: Mapping[str, float]) -> str:
    """Weights in words.

    >>> told({"semantic": 0.35, "keyword": 0.65})
    'semantic 0.35, keyword 0.65'
    """
    return ", ".join(f"{name} {weights[name]:.2f}" for name in LEGS)


def holds(tuned: Tuned, generation: Generation | None) -> bool:
    """Whether weights are for the model that a namespace is searched with."""
    return generation is not None and tuned.generation == generation.fingerprint


def of(
    facts: Iterable[NamespaceFacts], default: Mapping[str, float], reads: Reading
) -> tuple[Mapping[str, float], str | None, str | None]:
    """The weights for a question that is read so well, a remark on them for each hit, and a warning.

    Namespaces that are searched together must agree, or the default holds.
    """
    tuned, outdated = set[Tuned | None](), False
    for fact in facts:
        if fact.generation is None:
            continue  # its memories have no vectors: there is nothing to weigh
        meant = fact.tuned if fact.tuned is not None and fact.tuned.reading == reads else None
        is_outdated = meant is not None and not holds(meant, fact.generation)
        outdated |= is_outdated
        tuned.add(None if is_outdated else meant)
    warning = OUTDATED if outdated else None
    if len(tuned) > 1:
        return default, None, warning or "these namespaces are tuned differently, so the default weights held"
    found = next(iter(tuned), None)
    if found is None:
        return default, None, warning
    return found.weights, f"weights tuned to these memories: {told(found.weights)}", warning
