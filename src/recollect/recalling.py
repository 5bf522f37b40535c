"""One recall, from a question to hits. Each step is a small function; nothing calls back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

from recollect import checks, weighing
from recollect.embed.models import Unrelated
from recollect.errors import InvalidInput
from recollect.frozen import dataclass, maker
from recollect.meaning import Meaning, QueryVector
from recollect.query.highlight import Highlights
from recollect.query.languages import detect
from recollect.query.speakers import meant
from recollect.query.terms import KeywordQuery, parse_query
from recollect.query.timeframe import find_timeframe, without_timeframe
from recollect.ranking import confidence, fuse, mixing
from recollect.ranking.context import lend
from recollect.ranking.fuse import Fused, Legs, Mixed, Opinion
from recollect.ranking.rereading import Reread, reread, spare
from recollect.ranking.score import Rules, contenders, match_type, score
from recollect.store.base import (
    Candidate,
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
    Factor,
    Fusion,
    Hit,
    Leg,
    Memory,
    Mode,
    Multiplier,
    Recall,
    Scope,
    TimeUsed,
    Why,
)

LONGEST_QUESTION = 2_000
"""How many characters of a query a time is looked for in."""
DEPTH = 100
"""How many candidates each leg brings, at least."""

Expansion = Iterable[str] | Callable[[str], Iterable[str]]


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


@dataclass(slots=True)
class Question:
    """A question, taken apart."""

    asked: str
    searched: str
    mode: Mode
    keywords: KeywordQuery
    timeframe: TimeUsed | None
    language: str
    weights: Mapping[str, float] = field(default_factory=lambda: fuse.MIX_WEIGHTS)
    unrelated: Unrelated | None = None
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def likeness(self, opinion: Opinion | None, among: int) -> float | None:
        """How much nearer it is than the nearest of so many unrelated texts; None if the model can't tell."""
        if opinion is None or self.unrelated is None:
            return None
        return (opinion.score - self.unrelated.nearest(among)) / self.unrelated.deviation


def recall(
    store: Store, meaning: Meaning, scope: Scope, query: str, options: Options, given: TimeUsed | None
) -> Recall:
    """The hits for a question, best first; a constant number of statements."""
    facts = store.facts(scope.namespaces)
    question = understand(query, scope, options, facts, given)
    legs = ask(store, meaning, scope, question, options, facts)
    speakers = meant(question.searched, legs.speakers())
    rules = _rules(options, scope, question, speakers)
    reach = spare(options.limit) if rules.rereads else options.limit
    count = reach if store.is_far else min(reach, max(options.limit, confidence.COMPARED))
    found_at_all, may_win = fused(legs, question, options, rules, count)
    if not found_at_all and query.strip():
        may_win = contenders(_last_resort(store, scope, question, options), rules, count)
        found_at_all = len(may_win)
    loaded = _loaded(store, scope, may_win)
    found = _ranked(may_win, loaded, rules, count)
    if count < min(reach, found_at_all) and any(each.multipliers for each in found):
        count = reach  # whoever steps back may leave a place to one further behind
        if len(may_win) < found_at_all:
            _, may_win = fused(legs, question, options, rules, count)
        loaded |= _loaded(store, scope, [item for item in may_win if item.candidate.key not in loaded])
        found = _ranked(may_win, loaded, rules, count)
    likely = _likelihood(found, loaded, found_at_all, legs, question, rules)
    best = found[: options.limit]
    if CONFIDENCES.index(confidence.level(likely)) > CONFIDENCES.index(options.min_confidence):
        best = []
        question.notes.append(f"nothing was found with {options.min_confidence} confidence")
    keys = [each.item.candidate.key for each in best]
    around = store.neighbours(keys, options.neighbours, scope.now) if keys and options.neighbours else {}
    hits = [
        _hit(each, loaded[key], around.get(key, ()), question, rules)
        for key, each in zip(keys, best, strict=True)
    ]
    return Recall(
        hits,
        query=query,
        mode=question.mode,
        fusion=options.fusion,
        timeframe=question.timeframe,
        notes=tuple(question.notes),
        confidence=confidence.level(likely),
        likelihood=likely,
    )


def _loaded(store: Store, scope: Scope, may_win: Sequence[Fused]) -> dict[Key, Loaded]:
    return {**store.load([item.candidate.key for item in may_win], scope.now)} if may_win else {}


def _ranked(may_win: Sequence[Fused], loaded: Mapping[Key, Loaded], rules: Rules, count: int) -> list[Reread]:
    """Those who win, best first, once they were read."""
    ranked = score(may_win, {key: each.standing for key, each in loaded.items()}, rules, count)
    return reread(ranked, loaded) if rules.rereads else [Reread(*each) for each in ranked]


def _rules(options: Options, scope: Scope, question: Question, speakers: frozenset[str]) -> Rules:
    """What counts besides the legs; of what is superseded, only where such a thing may answer at all."""
    weights = checks.weights(options.weights if options.fusion == "weighted" else None, fuse.WEIGHTED_WEIGHTS)
    superseded = scope.as_of is None and scope.include_superseded
    return Rules(
        options.fusion, scope.now, question.timeframe, options.factors, speakers, superseded, weights
    )


def _likelihood(
    found: Sequence[Reread],
    loaded: Mapping[Key, Loaded],
    candidates: int,
    legs: Legs,
    question: Question,
    rules: Rules,
) -> float:
    """How likely it is that the answer is among the first hits. What was found as it stands, is found."""
    if not found:
        return 0.0
    if not legs.keyword and not legs.semantic:
        return 1.0
    best = found[0].item
    signs = confidence.Signs(
        confidence.covered(question.keywords, loaded[best.candidate.key]),
        confidence.ahead([each.score for each in found], candidates) if rules.rereads else None,
        question.likeness(best.semantic, len(legs.semantic)),
    )
    return confidence.likelihood(signs)


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
    languages = scope.languages or tuple(
        dict.fromkeys([language for fact in facts.values() for language in fact.languages])
    )
    expansion = options.expansion(searched) if callable(options.expansion) else options.expansion
    terms = [checks.query(term) for term in expansion]
    detected = detect(searched)
    keywords = parse_query(
        searched, languages=sorted(languages, key="en".__ne__), expansion=terms, language=detected
    )
    return Question(query, searched, mode, keywords, timeframe, _language(detected, languages))


def _chosen(searched: str) -> Mode:
    from recollect.query.strategy import choose_mode  # its patterns take milliseconds, and most ask without

    return choose_mode(searched)


def _language(detected: str, languages: Sequence[str]) -> str:
    """A query is often too short to tell; then it is taken for one of the memories' languages."""
    return languages[0] if detected == "en" and languages and "en" not in languages else detected


def ask(
    store: Store,
    meaning: Meaning,
    scope: Scope,
    question: Question,
    options: Options,
    facts: Mapping[str, NamespaceFacts],
) -> Legs:
    """The candidates of each leg. A leg that can't answer is made up for by the other, with a note."""
    if not question.searched.strip():
        return Legs()
    vector = QueryVector()
    if question.mode != "keyword":
        vector = meaning.query(question.searched, facts.values())
        question.weights = _default_weights(question.language, vector)
        is_read = weighing.reading(question.language, vector.languages) == "known"
        question.unrelated = vector.unrelated if is_read else None
        question.notes += vector.notes
        _use_tuned(question, vector, options, facts.values())
        if vector.vector is None and question.mode == "semantic":
            question.mode = "keyword"
    words, nearness = _legs(vector, question, options)
    found = store.search([scope, *_inside_the_time(scope, question.timeframe)], words, nearness)
    keyword = _best_of([each.by_words for each in found])
    semantic = _similar_enough(_best_of([each.by_meaning for each in found]), options)
    if semantic and not keyword and question.keywords and question.mode != "semantic":
        question.notes.append("no memory has any of these words: what follows is the nearest in meaning")
    similarity = found[0].similarity
    for each in found[1:]:
        similarity = similarity | each.similarity
    cut = words is not None and len(keyword) >= words.limit
    return Legs(keyword, semantic, similarity, cut, len(question.keywords.words))


def _legs(vector: QueryVector, question: Question, options: Options) -> tuple[Words | None, Nearness | None]:
    """What each leg is asked, if anything."""
    words = nearness = None
    depth = max(DEPTH, options.limit)
    reranks = options.fusion == "rerank" and question.mode != "semantic"
    if question.mode != "semantic":
        words = Words(question.keywords, options.prefilter_limit if options.fusion == "rerank" else depth)
    if vector.vector is not None and vector.generation is not None:
        nearness = Nearness(vector.generation, vector.vector, 0 if reranks else depth)
    return words, nearness


def _similar_enough(candidates: Sequence[Candidate], options: Options) -> Sequence[Candidate]:
    """Those above the threshold, where there is one."""
    least = options.threshold
    if least is None and options.fusion == "fallback":
        least = fuse.FALLBACK_THRESHOLD
    return candidates if least is None else [each for each in candidates if each.score >= least]


def _default_weights(language: str, vector: QueryVector) -> Mapping[str, float]:
    """How much each leg counts: a model is trusted with the languages that it was made for."""
    most = {"known": 1.0, "foreign": fuse.FOREIGN, "unread": fuse.UNREAD}
    semantic = min(vector.weight, most[weighing.reading(language, vector.languages)])
    return {"semantic": semantic, "keyword": 1 - semantic}


def _use_tuned(
    question: Question, vector: QueryVector, options: Options, facts: Iterable[NamespaceFacts]
) -> None:
    """Weights that the memories were tuned to take the place of the default, unless the caller gives some."""
    if vector.vector is None or question.mode != "hybrid" or options.fusion != "mix" or options.weights:
        return
    reads = weighing.reading(question.language, vector.languages)
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


def _best_of(lists: Sequence[Sequence[Candidate]]) -> Sequence[Candidate]:
    if len(lists) == 1:
        return lists[0]
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
        weights = checks.weights(options.weights, question.weights)
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


def _last_resort(store: Store, scope: Scope, question: Question, options: Options) -> list[Fused]:
    """The text as it stands, somewhere in a memory; for a time and nothing else, what lies within it."""
    text = question.searched.strip()
    if text:
        scopes = [scope] if question.mode != "semantic" else []
        note = "no word matched, so the text was looked for as it stands"
    else:
        scopes = _inside_the_time(scope, question.timeframe)
        note = "found by its time alone"
    found = store.containing(scopes[0], text, options.limit) if scopes else []
    if found:
        question.notes.append(note)
    return [Fused(candidate, 0.1) for candidate in found]


def _hit(
    found: Reread,
    loaded: Loaded,
    around: tuple[Memory, ...],
    question: Question,
    rules: Rules,
) -> Hit:
    complete = loaded.complete()
    memory = complete.memory
    return maker(Hit)(
        memory,
        found.score,
        match_type(found.item),
        Highlights(memory.content, question.keywords, memory.language),
        Why.later(partial(_reasons, found, loaded.standing, question, rules)),
        complete.session,
        complete.successor,
        complete.related_count,
        around,
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
