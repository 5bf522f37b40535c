"""Why was a memory not returned? Pure functions over a memory, a scope and what a recall found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect.query.terms import parse_query, terms_of
from recollect.types import Hit, Memory, Recall, Scope, WhyNot

DEEPEST = 1000
"""How far down the ranking a memory is looked for."""


def objections(memory: Memory, scope: Scope) -> Iterator[str]:
    """What keeps a memory out of a scope, each in words."""
    if memory.namespace not in scope.namespaces:
        yield f"it is in the namespace {memory.namespace!r}, which is not searched"
    if memory.kind not in scope.kinds:
        yield f"it is a {memory.kind}, and only {' and '.join(scope.kinds)} are searched"
    if memory.deleted_at is not None:
        yield f"it was deleted on {memory.deleted_at:%Y-%m-%d}: restore brings it back"
    if memory.expires_at is not None and memory.expires_at <= scope.now:
        yield f"it expired on {memory.expires_at:%Y-%m-%d}"
    yield from _validity(memory, scope)
    if scope.since is not None and memory.created_at < scope.since:
        yield f"it is from {memory.created_at:%Y-%m-%d}, before {scope.since:%Y-%m-%d}"
    if scope.until is not None and memory.created_at >= scope.until:
        yield f"it is from {memory.created_at:%Y-%m-%d}, not before {scope.until:%Y-%m-%d}"
    yield from _labels(memory, scope)


def _validity(memory: Memory, scope: Scope) -> Iterator[str]:
    at = scope.as_of or scope.now
    if scope.as_of is not None and memory.created_at > scope.as_of:
        yield f"it was not yet known on {scope.as_of:%Y-%m-%d}"
    if scope.as_of is None and scope.include_superseded:
        return
    is_over = memory.valid_until is not None and memory.valid_until <= at
    if memory.superseded_by is not None and (scope.as_of is None or is_over):
        yield f"it was superseded by {memory.superseded_by}, and what was superseded was not asked for"
    elif is_over and memory.valid_until is not None:
        yield f"it held until {memory.valid_until:%Y-%m-%d}, and what was superseded was not asked for"
    if memory.valid_from is not None and memory.valid_from > at:
        yield f"it holds from {memory.valid_from:%Y-%m-%d} on"


def _labels(memory: Memory, scope: Scope) -> Iterator[str]:
    asked = (
        ("sector", memory.sector, scope.sectors),
        ("tier", memory.tier, scope.tiers),
        ("language", memory.language, scope.languages),
        ("speaker", memory.speaker, scope.speakers),
        ("session", memory.session, scope.sessions),
        ("document", memory.document, scope.documents),
    )
    for name, value, wanted in asked:
        if wanted and value not in wanted:
            has = f"its {name} is {value}" if value else f"it has no {name}"
            yield f"{has}, and {' or '.join(wanted)} was asked for"
    for tag in scope.tags:
        if tag not in memory.tags:
            yield f"it does not have the tag {tag}"
    if memory.salience < scope.min_salience:
        yield f"its salience is {memory.salience:.2f}, below {scope.min_salience:.2f}"


def why_not(memory: Memory, scope: Scope, query: str, returned: Recall, deeper: Recall) -> WhyNot:
    """What became of a memory in a recall.

    `returned` is what it gave; `deeper` is the ranking further down, however unlikely an answer is there.
    """
    for hits, was_returned in ((returned, True), (deeper, False)):
        for rank, hit in enumerate(hits, 1):
            if (hit.memory.namespace, hit.memory.id) == (memory.namespace, memory.id):
                reasons = () if was_returned else tuple(_shortfall(hit, rank, returned))
                return WhyNot(memory, was_returned, rank, reasons, hit)
    reasons = tuple(objections(memory, scope))
    return WhyNot(memory, False, None, reasons or tuple(_unfound(memory, query, deeper)))


def _shortfall(hit: Hit, rank: int, returned: Recall) -> Iterator[str]:
    """Why it ranks below the last one that was returned, or why nothing was."""
    if not returned:
        yield f"nothing was returned: the confidence is {returned.confidence}, and more was asked for"
    yield f"it ranks {rank} with a score of {hit.score:.3f}{_beyond(returned)}"
    if returned:
        yield f"the last one that was returned has {returned[-1].score:.3f}"
    if hit.why.keyword is None and returned.mode != "semantic":
        yield "it has none of the words of the question"
    if hit.why.semantic is None and returned.mode != "keyword":
        yield "it is not among the nearest in meaning"
    for multiplier in hit.why.multipliers:
        if multiplier.value < 1 and multiplier.name not in ("salience", "recency"):
            yield f"{multiplier.name} counts × {multiplier.value:.2f}: {multiplier.note}"


def _beyond(returned: Sequence[Hit]) -> str:
    if not returned:
        return ""
    return f", and only the first {f'{len(returned)} were' if len(returned) > 1 else 'one was'} returned"


def _unfound(memory: Memory, query: str, deeper: Recall) -> Iterator[str]:
    """Why no leg found it, of those that were asked."""
    wanted = parse_query(query, languages=[memory.language]).terms
    shared = wanted & set(terms_of(memory.content, memory.language))
    if deeper.mode == "semantic":
        yield "only meaning was searched"
    elif shared:
        yield f"it has {', '.join(sorted(shared))} of the question, but {len(deeper):,} others rank above it"
    else:
        yield "it has none of the words of the question"
    if deeper.mode == "keyword":
        yield "only words were searched"
    else:
        yield "it is not near enough in meaning, or has no vector yet"
