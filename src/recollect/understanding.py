"""What is asked? A question and its options, taken apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import chain
from operator import attrgetter
from typing import Any

from recollect import checks
from recollect.embed.models import Unrelated
from recollect.errors import InvalidInput
from recollect.frozen import dataclass
from recollect.lazy import lazy
from recollect.query.languages import detect
from recollect.query.terms import KeywordQuery, parse_query
from recollect.query.timeframe import find_timeframe, without_timeframe
from recollect.ranking import fuse
from recollect.ranking.fuse import Opinion
from recollect.store.base import NamespaceFacts
from recollect.types import Confidence, Factor, Fusion, Mode, Scope, TimeUsed

LONGEST_QUESTION = 2_000
"""How many characters of a query a time is looked for in."""
Expansion = Iterable[str] | Callable[[str], Iterable[str]]
_LANGUAGES = attrgetter("languages")


@dataclass(frozen=True, slots=True)
class Options:
    """How to search and rank, already checked."""

    mode: Mode = "hybrid"
    fusion: Fusion = "mix"
    limit: int = 10
    weights: Mapping[str, float] | None = None
    threshold: float | None = None
    factors: tuple[Factor, ...] = ()
    neighbours: int = 0
    prefilter_limit: int = 100
    expansion: Expansion = ()
    min_confidence: Confidence = "none"


@dataclass()
class Question:
    """A question, taken apart: its words are read when they are first asked for."""

    asked: str
    searched: str
    mode: Mode
    timeframe: TimeUsed | None
    languages: Sequence[str]
    """Those of the memories."""
    expansion: Sequence[str]
    weights: Mapping[str, float]
    unrelated: Unrelated | None = None
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @lazy
    def _detected(self) -> str:
        return detect(self.searched)

    @lazy
    def keywords(self) -> KeywordQuery:
        """The words that are looked for."""
        languages = self.languages
        if len(languages) <= 1:  # then nobody has to know in which one is asked
            return parse_query(self.searched, languages=languages, expansion=self.expansion)
        english_first = sorted(languages, key="en".__ne__)
        return parse_query(
            self.searched, languages=english_first, expansion=self.expansion, language=self._detected
        )

    @property
    def language(self) -> str:
        """A query is often too short to tell; then it is taken for one of the memories' languages."""
        detected, languages = self._detected, self.languages
        return languages[0] if detected == "en" and languages and "en" not in languages else detected

    def likeness(self, opinion: Opinion | None, among: int) -> float | None:
        """How much nearer it is than the nearest of so many unrelated texts; None if the model can't tell."""
        if opinion is None or self.unrelated is None:
            return None
        return (opinion.score - self.unrelated.nearest(among)) / self.unrelated.deviation


def understand(
    query: str, scope: Scope, options: Options, facts: Mapping[str, NamespaceFacts], given: TimeUsed | None
) -> Question:
    """What is asked: the words, the time, and which legs should answer."""
    searched, timeframe = query, given
    if given is None:
        frame = find_timeframe(query[:LONGEST_QUESTION], scope.now)
        if frame is not None:
            timeframe = TimeUsed(frame.start, frame.end, frame.phrase, "query")
            searched = without_timeframe(query, frame)
    mode = _chosen(searched) if options.mode == "auto" else options.mode
    known = chain.from_iterable(map(_LANGUAGES, facts.values()))
    languages = scope.languages or tuple(dict.fromkeys(known))
    expansion = options.expansion(searched) if callable(options.expansion) else options.expansion
    terms = tuple(map(checks.query, expansion))
    return Question(query, searched, mode, timeframe, languages, terms, fuse.MIX_WEIGHTS)


def _chosen(searched: str) -> Mode:
    from recollect.query.strategy import choose_mode  # its patterns take milliseconds, and most ask without

    return choose_mode(searched)


def checked(
    *, weights: Mapping[str, float] | None, threshold: float | None, expansion: Expansion | str, **given: Any
) -> Options:
    """Options for a recall, once the weights are known to be those of the fusion."""
    if threshold is not None:
        checks.fraction(threshold, what="threshold", lowest=-1.0)
    if not callable(expansion):
        expansion = checks.queries(expansion)
    known = {"mix": fuse.MIX_WEIGHTS, "rrf": fuse.RRF_WEIGHTS, "weighted": fuse.WEIGHTED_WEIGHTS}
    if given["fusion"] in known:
        checks.weights(weights, known[given["fusion"]])
    elif weights:
        raise InvalidInput(f'fusion="{given["fusion"]}" takes no weights: leave them out.')
    return Options(weights=weights, threshold=threshold, expansion=expansion, **given)
