"""What each leg of a store finds, beside exact search over the same texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from recollect import recalling, understanding
from recollect.evaluate.dealing import namespace
from recollect.evaluate.exactness import TOP, Asked, Exactness, Reference, Seen, agreement, mean
from recollect.evaluate.subject import Subject
from recollect.evaluate.vectors import WordVectors
from recollect.meaning import generation_of
from recollect.store.base import Candidate, Nearness, Words
from recollect.types import Memory

_OPTIONS = understanding.Options()
_AT_ONCE = 2_048


class Answer(NamedTuple):
    """The best ten of each leg."""

    by_words: list[Memory]
    by_meaning: list[Memory]


class Comparison:
    """Questions that are put to stores and to exact search.

    Each is (where, what). Those with a quoted phrase are left out, since exact search knows none.
    """

    def __init__(
        self,
        subjects: Sequence[Subject],
        questions: Iterable[tuple[int, str]],
        count: int,
        embedder: WordVectors,
    ) -> None:
        self._subjects, self._embedder = subjects, embedder
        understood = (_understood(subjects[0], embedder, *each) for each in questions)
        self._asked = list(islice((each for each in understood if not each.words.phrases), count))

    def exactness(self, texts: Iterable[Seen], tell: Callable[[int], None]) -> dict[Subject, Exactness]:
        """How exact each store is, once all texts that it should have went by; `tell` hears how many did."""
        answers = {
            subject: [_answer(subject, self._embedder, each) for each in self._asked]
            for subject in self._subjects
        }
        reference = Reference(self._asked)
        done = 0
        for batch in _batches(texts):
            reference.see(batch, self._embedder.embed([seen.text for seen in batch]))
            done += len(batch)
            tell(done)
        return {subject: self._judged(reference, subject, found) for subject, found in answers.items()}

    def _judged(self, reference: Reference, subject: Subject, answers: Sequence[Answer]) -> Exactness:
        by_words, by_meaning = [], []
        for number, (asked, answer) in enumerate(zip(self._asked, answers, strict=True)):
            score = partial(reference.score, number, whole_store=subject.ranks_by_whole_store)
            if best := reference.best(number, whole_store=subject.ranks_by_whole_store):
                found = [score(Seen(asked.space, each.content, each.tags)) for each in answer.by_words]
                by_words.append(agreement(found, best))
            if nearest := reference.nearest(number):
                vectors = self._embedder.embed([each.content for each in answer.by_meaning])
                by_meaning.append(agreement([reference.cosine(number, each) for each in vectors], nearest))
        is_known = subject.has_nothing_else() or not subject.ranks_by_whole_store
        return Exactness(len(self._asked), mean(by_words) if is_known else None, mean(by_meaning))


def _understood(subject: Subject, embedder: WordVectors, space: int, text: str) -> Asked:
    """A question as a recall understands it."""
    facts = subject.store.facts([namespace(space)])
    question = understanding.understand(text, subject.space(space).scope(), _OPTIONS, facts, None)
    return Asked(space, question.keywords, embedder.embed([question.searched])[0])


def _answer(subject: Subject, embedder: WordVectors, asked: Asked) -> Answer:
    """Both legs as deep as a recall asks them."""
    scope = subject.space(asked.space).scope()
    words = Words(asked.words, recalling.DEPTH)
    nearness = Nearness(generation_of(embedder), asked.vector, recalling.DEPTH)
    (found,) = subject.store.search([scope], words, nearness)

    def loaded(candidates: Sequence[Candidate]) -> list[Memory]:
        keys = [each.key for each in candidates[:TOP]]
        by_key = subject.store.load(keys, scope.now) if keys else {}
        return [by_key[key].complete().memory for key in keys]

    return Answer(loaded(found.by_words), loaded(found.by_meaning))


def _batches(texts: Iterable[Seen]) -> Iterator[list[Seen]]:
    going = iter(texts)
    while batch := list(islice(going, _AT_ONCE)):
        yield batch
