"""One recall, from a question to hits. Each step is a small function; nothing calls back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache, partial
from operator import attrgetter
from typing import NamedTuple

from recollect import checks, weighing
from recollect.frozen import beginning
from recollect.meaning import NO_VECTOR, Meaning, QueryVector
from recollect.query.highlight import Highlights
from recollect.query.speakers import meant
from recollect.ranking import confidence, fuse, mixing
from recollect.ranking.context import lend
from recollect.ranking.fuse import Fused, Legs, Mixed
from recollect.ranking.rereading import Reread, reread, spare
from recollect.ranking.score import Rules, contenders, score
from recollect.store.base import (
    Asking,
    Candidate,
    Found,
    Key,
    Loaded,
    NamespaceFacts,
    Nearness,
    Standing,
    Store,
    Words,
)
from recollect.types import (
    CONFIDENCES,
    Confidence,
    Hit,
    Leg,
    Match,
    Memory,
    Multiplier,
    Reading,
    Recall,
    Scope,
    TimeUsed,
    Why,
)
from recollect.understanding import Expansion, Options, Question, understand

DEPTH = 100
"""How many candidates each leg brings, at least."""
_MOST_BY_MEANING: Mapping[Reading, float] = {"known": 1.0, "foreign": fuse.FOREIGN, "unread": fuse.UNREAD}
"""How much vectors count at the most: a model is trusted with the languages that it was made for."""


class Answer(NamedTuple):
    """What the store had to say to a question, best first."""

    question: Question
    legs: Legs
    rules: Rules
    found_at_all: int
    found: list[Reread]
    loaded: Mapping[Key, Loaded]


_answered = partial(tuple.__new__, Answer)
_MULTIPLIERS = attrgetter("multipliers")


def recall(
    store: Store, meaning: Meaning, scope: Scope, query: str, options: Options, given: TimeUsed | None
) -> Recall:
    """The hits for a question, best first; a constant number of statements."""
    if callable(options.expansion):
        options = replace(options, expansion=_once(options.expansion))
    answer, known = None, store.last_facts(scope.namespaces)
    if known is not None:  # and if they still hold, nothing else has to be read before
        answer = _answer(store, meaning, scope, query, options, given, known)
    if answer is None:
        answer = _answer(
            store, meaning, scope, query, options, given, store.facts(scope.namespaces), read=True
        )
    assert answer is not None
    question, legs, rules, found_at_all, found, loaded = answer
    sureness = partial(_sureness, found, loaded, found_at_all, legs, question, rules)
    best = found[: options.limit]
    if options.min_confidence != "none" and _is_doubtful(sureness()[0], options):
        best = []
        question.notes.append(f"nothing was found with {options.min_confidence} confidence")
    around: Mapping[Key, tuple[Memory, ...]] = {}
    if best and options.neighbours:
        keys = [each.item.candidate.key for each in best]
        around = store.neighbours(keys, options.neighbours, scope.now)
    return Recall(
        _hits(best, loaded, around, question, rules),
        query=query,
        mode=question.mode,
        fusion=options.fusion,
        timeframe=question.timeframe,
        notes=tuple(question.notes),
        sureness=sureness,
    )


def _once(expand: Callable[[str], Iterable[str]]) -> Expansion:
    """The same, asked once for each question: it may take long."""
    return cache(lambda searched: tuple(expand(searched)))


def _answer(
    store: Store,
    meaning: Meaning,
    scope: Scope,
    query: str,
    options: Options,
    given: TimeUsed | None,
    facts: Mapping[str, NamespaceFacts],
    *,
    read: bool = False,
) -> Answer | None:
    """Who wins, loaded; None if the facts, unless they were just `read`, turn out not to hold any more."""
    question = understand(query, scope, options, facts, given)
    vector, begun = asking(store, meaning, scope, question, options, facts)
    with begun as asked:
        if not read and asked.facts is not None and asked.facts != facts:
            return None
        legs = answered(asked, vector, question, options, facts)
        rules = _rules(options, scope, question, meant(question.searched, legs.speakers()))
        reach = spare(options.limit) if rules.rereads else options.limit
        count = reach if store.is_far else min(reach, max(options.limit, confidence.COMPARED))
        found_at_all, may_win = fused(legs, question, options, rules, count)
        if not found_at_all and query.strip():
            may_win = contenders(_last_resort(asked, scope, question, options), rules, count)
            found_at_all = len(may_win)
        loaded = _loaded(asked, scope, may_win)
        found = _ranked(may_win, loaded, rules, count)
        if count < min(reach, found_at_all) and any(map(_MULTIPLIERS, found)):
            count = reach  # whoever steps back may leave a place to one further behind
            if len(may_win) < found_at_all:
                _, may_win = fused(legs, question, options, rules, count)
            others = [item for item in may_win if item.candidate.key not in loaded]
            loaded = {**loaded, **_loaded(asked, scope, others)}
            found = _ranked(may_win, loaded, rules, count)
    return _answered((question, legs, rules, found_at_all, found, loaded))


def _is_doubtful(level: Confidence, options: Options) -> bool:
    return CONFIDENCES.index(level) > CONFIDENCES.index(options.min_confidence)


def _loaded(asked: Asking, scope: Scope, may_win: Sequence[Fused]) -> Mapping[Key, Loaded]:
    return asked.load([item.candidate.key for item in may_win], scope.now) if may_win else {}


def _ranked(may_win: Sequence[Fused], loaded: Mapping[Key, Loaded], rules: Rules, count: int) -> list[Reread]:
    """Those who win, best first, once they were read."""
    ranked = score(may_win, {key: each.standing for key, each in loaded.items()}, rules, count)
    return reread(ranked, loaded) if rules.rereads else [Reread(*each) for each in ranked]


def _rules(options: Options, scope: Scope, question: Question, speakers: frozenset[str]) -> Rules:
    """What counts besides the legs; of what is superseded, only where such a thing may answer at all."""
    weights: Mapping[str, float] = fuse.WEIGHTED_WEIGHTS
    if options.fusion == "weighted":
        weights = checks.weights(options.weights, weights)
    superseded = scope.as_of is None and scope.include_superseded
    return Rules(
        options.fusion, scope.now, question.timeframe, options.factors, speakers, superseded, weights
    )


def _sureness(
    found: Sequence[Reread],
    loaded: Mapping[Key, Loaded],
    candidates: int,
    legs: Legs,
    question: Question,
    rules: Rules,
) -> tuple[Confidence, float]:
    """How likely it is that the answer is among the first hits. What was found as it stands, is found."""
    if not found:
        return "none", 0.0
    if not legs.keyword and not legs.semantic:
        return "strong", 1.0
    best = found[0].item
    signs = confidence.Signs(
        confidence.covered(question.keywords, loaded[best.candidate.key]),
        confidence.ahead([each.score for each in found], candidates) if rules.rereads else None,
        question.likeness(best.semantic, len(legs.semantic)),
    )
    likelihood = confidence.likelihood(signs)
    return confidence.level(likelihood), likelihood


def asking(
    store: Store,
    meaning: Meaning,
    scope: Scope,
    question: Question,
    options: Options,
    facts: Mapping[str, NamespaceFacts],
) -> tuple[QueryVector, AbstractContextManager[Asking]]:
    """The question's vector, if it needs one, and the store, which begins to look for what is near to it."""
    if not question.searched.strip():
        return NO_VECTOR, store.asking((), None)
    vector, nearness = NO_VECTOR, None
    if question.mode != "keyword":
        vector = meaning.query(question.searched, facts.values())
    if vector.vector is not None and vector.generation is not None:
        reranks = options.fusion == "rerank" and question.mode != "semantic"
        depth = 0 if reranks else max(DEPTH, options.limit)
        nearness = Nearness(vector.generation, vector.vector, depth)
    return vector, store.asking([scope, *_inside_the_time(scope, question.timeframe)], nearness)


def answered(
    asking: Asking,
    vector: QueryVector,
    question: Question,
    options: Options,
    facts: Mapping[str, NamespaceFacts],
) -> Legs:
    """The candidates of each leg. A leg that can't answer is made up for by the other, with a note."""
    if not question.searched.strip():
        return Legs()
    if question.mode != "keyword":
        known = vector.languages  # without any, the question's need not be found out
        reads = weighing.reading(question.language, known) if known else "known"
        weight = min(vector.weight, _MOST_BY_MEANING[reads])
        question.weights = {"semantic": weight, "keyword": 1 - weight}
        question.unrelated = vector.unrelated if reads == "known" else None
        question.notes += vector.notes
        if vector.vector is not None and not options.weights:
            _use_tuned(question, options, facts.values(), reads)
        if vector.vector is None and question.mode == "semantic":
            question.mode = "keyword"
    words = None
    if question.mode != "semantic":
        depth = options.prefilter_limit if options.fusion == "rerank" else max(DEPTH, options.limit)
        words = Words(question.keywords, depth)
    found = asking.search(words)
    keyword, nearest, similarity = found[0] if len(found) == 1 else _together(found)
    semantic = _similar_enough(nearest, options)
    count = len(keyword)
    if not count and question.mode != "semantic" and semantic and question.keywords:
        question.notes.append("no memory has any of these words: what follows is the nearest in meaning")
    cut = words is not None and count >= words.limit
    return Legs(keyword, semantic, similarity, cut, len(question.keywords.words))


def _similar_enough(candidates: Sequence[Candidate], options: Options) -> Sequence[Candidate]:
    """Those above the threshold, where there is one."""
    least = options.threshold
    if least is None and options.fusion == "fallback":
        least = fuse.FALLBACK_THRESHOLD
    return candidates if least is None else [each for each in candidates if each.score >= least]


def _use_tuned(question: Question, options: Options, facts: Iterable[NamespaceFacts], reads: Reading) -> None:
    """Weights that the memories were tuned to take the place of the default."""
    if question.mode != "hybrid" or options.fusion != "mix":
        return
    question.weights, remark, warning = weighing.of(facts, question.weights, reads)
    question.remarks += [remark] if remark else []
    question.notes += [warning] if warning else []


def _inside_the_time(scope: Scope, timeframe: TimeUsed | None) -> list[Scope]:
    """A time read in the question is a boost, so what lies within it must be among the candidates."""
    if timeframe is None or timeframe.origin != "query":
        return []
    since = max(filter(None, (scope.since, timeframe.start)), default=None)
    until = min(filter(None, (scope.until, timeframe.end)), default=None)
    return [] if since and until and since >= until else [replace(scope, since=since, until=until)]


def _together(found: Sequence[Found]) -> Found:
    """What was found in several scopes."""
    similarity: dict[Key, float] = {}
    for each in found:
        similarity |= each.similarity
    by_words, by_meaning, _ = zip(*found, strict=True)
    return Found(_best_of(by_words), _best_of(by_meaning), similarity)


def _best_of(lists: Sequence[Sequence[Candidate]]) -> Sequence[Candidate]:
    by_key: dict[Key, Candidate] = {}
    for candidates in lists:
        for candidate in candidates:
            by_key.setdefault(candidate.key, candidate)
    return sorted(by_key.values(), key=lambda candidate: -candidate.score)


def fused(
    legs: Legs, question: Question, options: Options, rules: Rules, limit: int
) -> tuple[int, list[Fused]]:
    """Several lists into one, as asked: how many are in it, and those who may be among the best `limit`."""
    if options.fusion == "mix":
        weights = checks.weights(options.weights, question.weights) if options.weights else question.weights
        return mixing.mixed(legs, weights, rules, limit, drop_nothing=_is_deep(legs))
    everyone = _named_fusion(legs, options)
    return len(everyone), contenders(everyone, rules, limit)


def _named_fusion(legs: Legs, options: Options) -> Mixed:
    if options.fusion == "rrf":
        return fuse.by_rank(legs, checks.weights(options.weights, fuse.RRF_WEIGHTS))
    if options.fusion == "weighted":
        return fuse.weighted(legs, checks.weights(options.weights, fuse.WEIGHTED_WEIGHTS))
    if options.fusion == "rerank" and legs.extra:
        return fuse.reranked(legs)
    if options.fusion == "fallback":
        return fuse.first_answer(legs)
    everyone = fuse.mix(legs, fuse.MIX_WEIGHTS)
    lend(everyone)
    if _is_deep(legs):
        everyone.drop_nothing()
    return everyone


def _is_deep(legs: Legs) -> bool:
    """Whether there are so many that those who come to nothing may go: of fewer, a scope returns all."""
    return len(legs.semantic) >= DEPTH


def _last_resort(asked: Asking, scope: Scope, question: Question, options: Options) -> list[Fused]:
    """The text as it stands, somewhere in a memory; for a time and nothing else, what lies within it."""
    text = question.searched.strip()
    if text:
        scopes = [scope] if question.mode != "semantic" else []
        note = "no word matched, so the text was looked for as it stands"
    else:
        scopes = _inside_the_time(scope, question.timeframe)
        note = "found by its time alone"
    found = asked.containing(scopes[0], text, options.limit) if scopes else []
    if found:
        question.notes.append(note)
    return [Fused(candidate, 0.1) for candidate in found]


@cache
def _beginning_of_hit() -> Callable[..., Hit]:
    return beginning(
        Hit, "memory", "score", "match", "source_session", "superseded_by", "related_count", "neighbours"
    )


class _Rest(NamedTuple):
    """What of a hit is put together when somebody looks at it."""

    highlights: Sequence[str]
    why: Why


def _hits(
    best: Sequence[Reread],
    loaded: Mapping[Key, Loaded],
    around: Mapping[Key, tuple[Memory, ...]],
    question: Question,
    rules: Rules,
) -> list[Hit]:
    """These, with all that is known of them."""
    begin, hits = _beginning_of_hit(), []
    for found in best:
        item = found.item
        key = item.candidate.key
        one = loaded[key]
        memory, session, successor, related, _ = one.complete()
        # what was found by its text as it stands, by neither leg, counts as found by keyword
        match: Match = ("both" if item.keyword else "semantic") if item.semantic else "keyword"
        rest = partial(_rest, found, one, question, rules)
        neighbours = around.get(key, ())
        hits.append(begin(memory, found.score, match, session, successor, related, neighbours, rest))
    return hits


def _rest(found: Reread, loaded: Loaded, question: Question, rules: Rules) -> _Rest:
    return _Rest(
        Highlights(loaded.content, question.keywords, loaded.language),
        Why.later(partial(_reasons, found, loaded.standing, question, rules)),
    )


def _reasons(found: Reread, standing: Standing, question: Question, rules: Rules) -> Why:
    item = found.item
    return Why(
        mode=question.mode,
        fusion=rules.fusion,
        keyword=Leg(*item.keyword) if item.keyword else None,
        semantic=Leg(*item.semantic) if item.semantic else None,
        base=item.base,
        lent=item.lent,
        multipliers=(*rules.explained(item.candidate, standing), *found.multipliers),
        factors=rules.factor_values(item, standing),
        added=tuple(Multiplier(name, value) for name, value in item.added) if item.added else (),
        timeframe=question.timeframe,
        notes=(*question.notes, *question.remarks),
    )
