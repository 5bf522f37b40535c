"""Which weights suit these memories? Proposed from what the memories themselves can show, and nothing else.

Two kinds of probes bracket the truth. Parts of a text that must find it share its words: they flatter search
by words. A turn that must find its reply shares the subject: it flatters search by meaning. So more weight
for words is proposed only when turns gain by it, and more for meaning only when parts of texts do.

Each probe is asked once; what both legs found is then fused with every weight of a grid, by the same code
that a recall runs. Weights are chosen on one half of the probes and judged on the other, both ways round.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Literal

from recollect import recalling, understanding, weighing
from recollect.errors import EmbedderMissing
from recollect.evaluate import exchanges, metrics, probes
from recollect.evaluate.filling import WITHOUT_TIME
from recollect.evaluate.metrics import Estimate
from recollect.meaning import Meaning
from recollect.ranking.fuse import Legs
from recollect.ranking.score import Rules, score
from recollect.store.base import Key, NamespaceFacts, Store
from recollect.types import Progress, Reading, Scope

GRID = tuple(tenths / 10 for tenths in range(1, 10))
"""The semantic shares that are tried; neither leg is ever switched off."""
FEWEST = 40
"""With fewer probes of a kind nothing can be told."""
WORTH = 0.01
"""A gain in nDCG@10 that is smaller is not worth a change."""
_OPTIONS = understanding.Options(limit=metrics.DEPTH)

Kind = Literal["replies", "parts"]
KINDS: dict[Kind, str] = {
    "replies": "turns that must find their reply",
    "parts": "parts of texts that must find them",
}
TOWARDS: dict[Kind, str] = {"replies": "keywords", "parts": "meaning"}
"""Which way each kind may move the weights: against what it flatters."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A text, the memory that it must find, and the memory that it stands in where that must not be found."""

    kind: Kind
    text: str
    wanted: str
    hidden: str | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a probe: nDCG@10 with each semantic share, and what the default is for it."""

    kind: Kind
    reading: Reading
    default: float
    scores: Mapping[float, float]


@dataclass(frozen=True, slots=True)
class Point:
    """A semantic share that was tried, and the mean nDCG@10 with it."""

    semantic: float
    value: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one kind of probes shows: the share that it speaks for, if any, and the gain that was held out.

    The gain is the difference to the default in nDCG@10, of weights chosen on the other half of the probes.
    """

    kind: Kind
    probes: int
    share: float | None
    gain: Estimate | None
    finding: str
    curve: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """What tuning comes to: `weights`, or None to keep the default, and the `reason` in words.

    `in_force` are the weights that recalls use now.
    """

    namespace: str
    model: str
    reading: Reading
    default: Mapping[str, float]
    in_force: Mapping[str, float]
    weights: Mapping[str, float] | None
    gain: Estimate | None
    reason: str
    evidence: tuple[Evidence, ...]


def propose(
    store: Store, meaning: Meaning, namespace: str, number: int, progress: Progress | None = None
) -> Proposal:
    """Weights for a namespace with vectors, from at most `number` probes of a kind; nothing is changed."""
    asking = _Asking(store, meaning, namespace)
    trials = alike(list(asking.trials(asking.probes(number), progress)))
    reading, default = (trials[0].reading, trials[0].default) if trials else asking.usual()
    evidence = tuple(
        judge(kind, [trial for trial in trials if trial.kind == kind], default) for kind in KINDS
    )
    found = [each for each in evidence if each.share is not None]
    chosen = found[0] if len(found) == 1 else None
    weights = _weights(chosen.share) if chosen and chosen.share else None
    tuned = asking.facts.tuned
    is_tuned = tuned and tuned.reading == reading and weighing.holds(tuned, asking.facts.generation)
    return Proposal(
        namespace=namespace,
        model=asking.model,
        reading=reading,
        default=_weights(default),
        in_force=tuned.weights if tuned and is_tuned else _weights(default),
        weights=weights,
        gain=chosen.gain if chosen else None,
        reason=_reason(weights, evidence),
        evidence=evidence,
    )


def told(gain: Estimate) -> str:
    """A gain and its interval.

    >>> told(Estimate(0.024, -0.012, 0.06))
    '+0.024 [-0.012 +0.060]'
    """
    return f"{gain.value:+.3f} [{gain.low:+.3f} {gain.high:+.3f}]"


def _weights(share: float) -> dict[str, float]:
    return weighing.shares({"semantic": share, "keyword": 1 - share})


def _reason(weights: Mapping[str, float] | None, evidence: Sequence[Evidence]) -> str:
    if weights is not None:
        return f"{weighing.told(weights)} answer better than the default"
    if all(each.share is not None for each in evidence):
        return "keep the default: one kind of probes speaks for more keywords, the other for more meaning"
    found = "; ".join(f"towards {TOWARDS[each.kind]}, {each.finding}" for each in evidence)
    return f"keep the default: {found}"


# judging


def alike(trials: Sequence[Trial]) -> list[Trial]:
    """Those that have most in common: one default, and languages that are read equally well."""
    most = Counter((trial.reading, trial.default) for trial in trials).most_common(1)
    return [trial for trial in trials if (trial.reading, trial.default) == most[0][0]]


def judge(kind: Kind, trials: Sequence[Trial], default: float) -> Evidence:
    """Whether other weights, the way this kind may move them, are better beyond doubt and by enough."""
    curve = tuple(Point(share, _mean(trials, share)) for share in (trials[0].scores if trials else ()))
    if len(trials) < FEWEST:
        return Evidence(kind, len(trials), None, None, f"{FEWEST} {KINDS[kind]} are needed", curve)
    best, gain = choose(trials, default), held_out(trials, default)
    weights, share = weighing.told(_weights(best)), None
    if best == default:
        finding = "nothing is better"
    elif gain.low <= 0:
        finding = f"the gain of {weights} can't be told from chance ({told(gain)})"
    elif gain.value < WORTH:
        finding = f"the gain of {weights} is not worth a change ({told(gain)})"
    else:
        share, finding = best, f"{weights} gains"
    return Evidence(kind, len(trials), share, gain, finding, curve)


def choose(trials: Sequence[Trial], default: float) -> float:
    """Of the shares within a standard error of the best, the one nearest to the default."""
    towards_words = trials[0].kind == "replies"
    shares = [share for share in trials[0].scores if share == default or (share < default) == towards_words]
    best = max(shares, key=lambda share: (_mean(trials, share), -abs(share - default)))

    def is_as_good(share: float) -> bool:
        lost = [trial.scores[best] - trial.scores[share] for trial in trials]
        return fmean(lost) <= stdev(lost) / math.sqrt(len(lost))

    return min(filter(is_as_good, shares), key=lambda share: abs(share - default))


def held_out(trials: Sequence[Trial], default: float, seed: int = metrics.SEED) -> Estimate:
    """What shares that are chosen on one half gain on the other, both ways round."""
    mixed = list(trials)
    random.Random(seed).shuffle(mixed)
    halves = mixed[::2], mixed[1::2]
    ours: list[float] = []
    theirs: list[float] = []
    for chosen_on, judged_on in (halves, halves[::-1]):
        share = choose(chosen_on, default)
        ours += [trial.scores[share] for trial in judged_on]
        theirs += [trial.scores[default] for trial in judged_on]
    return metrics.difference(ours, theirs)


def _mean(trials: Sequence[Trial], share: float) -> float:
    return fmean(trial.scores[share] for trial in trials)


# asking


class _Asking:
    """A namespace that is asked as if it had never been tuned, at the time of its last memory."""

    def __init__(self, store: Store, meaning: Meaning, namespace: str) -> None:
        self.facts = store.facts([namespace]).get(namespace, NamespaceFacts())
        self._store, self._meaning, self._namespace = store, meaning, namespace
        self._untuned = {namespace: replace(self.facts, tuned=None)}
        vector = meaning.query(namespace, self._untuned.values())
        if vector.vector is None or vector.generation is None:
            raise EmbedderMissing(f"There is nothing to weigh: {vector.notes[0]}.")
        self.model = vector.generation.model
        self._languages = vector.languages
        self._scope = Scope((namespace,), store.stats(namespace, WITHOUT_TIME)["last"] or WITHOUT_TIME)

    def probes(self, number: int) -> list[Probe]:
        """At most so many of each kind, always the same ones; parts of texts are of each sort by turns."""
        now = self._scope.now
        records = [
            record for record in self._store.dump(self._namespace, vectors=False) if probes.holds(record, now)
        ]
        of_each: dict[str, list[probes.Probe]] = {}
        for part in probes.make(probes.texts_of(records, now), number):
            of_each.setdefault(part.memory, []).append(part)
        parts = [made[i % len(made)] for i, made in enumerate(of_each.values())]
        said = exchanges.make(records, now, number)
        return [
            *(Probe("replies", each.text, each.reply, each.said) for each in said),
            *(Probe("parts", each.text, each.memory) for each in parts),
        ]

    def usual(self) -> tuple[Reading, float]:
        """How well a question in the language of the memories is read, and the default for it."""
        trial = self._trial(Probe("parts", "?", ""))
        return trial.reading, trial.default

    def trials(self, asked: Sequence[Probe], progress: Progress | None) -> Iterator[Trial]:
        """What comes of every probe."""
        for number, probe in enumerate(asked, 1):
            yield self._trial(probe)
            if progress:
                progress(f"tuning {self._namespace}", number, len(asked))

    def _trial(self, probe: Probe) -> Trial:
        question = understanding.understand(probe.text, self._scope, _OPTIONS, self._untuned, None)
        asked = self._scope, question, _OPTIONS, self._untuned
        vector, begun = recalling.asking(self._store, self._meaning, *asked)
        with begun as asking:
            legs = recalling.answered(asking, vector, *asked[1:])
        legs = _without(legs, self._number(probe.hidden))
        rules = Rules("mix", self._scope.now, question.timeframe)
        wanted = {str(self._number(probe.wanted)): 1}
        default = weighing.shares(question.weights)["semantic"]
        loaded = self._store.load(list(legs.candidates()), self._scope.now)
        standings = {key: each.standing for key, each in loaded.items()}
        scores = {}
        for share in sorted({*GRID, default}):
            weighed = replace(_OPTIONS, weights=_weights(share))
            _, fused = recalling.fused(legs, question, weighed, rules, metrics.DEPTH)
            best = score(fused, standings, rules, metrics.DEPTH)
            ranked = [str(_number(item.candidate.key)) for item, _ in best]
            scores[share] = metrics.ndcg_at(metrics.DEPTH, ranked, wanted)
        return Trial(probe.kind, weighing.reading(question.language, self._languages), default, scores)

    def _number(self, id: str | None) -> int | None:
        found = self._store.keys_of(self._namespace, [id]) if id else []
        return found[0] if found else None


def _number(key: Key) -> int:
    return key if isinstance(key, int) else key[1]


def _without(legs: Legs, number: int | None) -> Legs:
    """What the legs would have found without one memory."""
    return replace(
        legs,
        keyword=[each for each in legs.keyword if _number(each.key) != number],
        semantic=[each for each in legs.semantic if _number(each.key) != number],
        extra={key: similarity for key, similarity in legs.extra.items() if _number(key) != number},
    )
