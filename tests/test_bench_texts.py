"""What a bench is filled with and asked: made texts, where each goes, vectors, times."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import islice

from recollect.evaluate import dealing, texts
from recollect.evaluate.dealing import Dealing
from recollect.evaluate.timing import Latency, resident_bytes
from recollect.evaluate.vectors import DIMENSIONS, WordVectors
from recollect.query.terms import terms_of


def test_texts_are_the_same_by_seed() -> None:
    first, again, other = (list(islice(texts.made(seed), 100)) for seed in (1, 1, 2))
    assert first == again
    assert not set(first) & set(other)


def test_texts_have_eight_to_forty_words_and_things_between_them() -> None:
    made = list(islice(texts.made(1), 2_000))
    assert {len(text.split()) for text in made} == set(range(8, 41))
    words = {word for text in made for word in text.split()}
    for kind in (str.isdigit, lambda word: "_" in word, lambda word: "/" in word, lambda word: "-" in word):
        assert any(map(kind, words))


def test_words_are_distributed_as_zipf_found() -> None:
    counted = Counter(word for text in islice(texts.made(1), 5_000) for word in text.split())
    ranked = [count for _, count in counted.most_common()]
    slope = math.log(ranked[999] / ranked[9]) / math.log(1000 / 10)
    assert -1.3 < slope < -0.8
    assert ranked.count(1) > len(ranked) / 4, "many words are in one text alone"
    vocabulary = texts.vocabulary()
    assert len(vocabulary) == len(set(vocabulary)) == texts.VOCABULARY


def test_drafts_are_in_sessions_and_in_the_order_of_time() -> None:
    drafts = list(texts.drafts(100))
    assert [draft.created_at for draft in drafts] == sorted(draft.created_at for draft in drafts)  # type: ignore[type-var]
    assert Counter(draft.session for draft in drafts) == {"session-1": 40, "session-2": 40, "session-3": 20}


def test_a_draft_has_the_same_text_however_many_are_made() -> None:
    few = [draft.text for draft in texts.drafts(50, seed=7)]
    assert [draft.text for draft in islice(texts.drafts(10**9, seed=7), 50)] == few


def test_questions_are_of_rare_words_of_the_text_they_are_about() -> None:
    made = list(islice(texts.made(1), 1_000))
    asked = texts.questions(made, 300)
    assert asked == texts.questions(made, 300)
    frequency = Counter(word for text in made for word in text.split())
    chosen, all_words = [], []
    for number, question in asked:
        words = question.split()
        assert 4 <= len(words) <= 8
        assert all(word in made[number] for word in words)
        chosen += [frequency[word] for word in words]
        all_words += [frequency[word] for word in made[number].split()]
    assert sum(chosen) / len(chosen) < sum(all_words) / len(all_words) / 2


def test_questions_about_few_and_short_texts() -> None:
    assert {question for _, question in texts.questions(["one two", "..."], 5)} == {"one two", "..."}


def test_questions_are_the_same_when_texts_go_by() -> None:
    made = list(islice(texts.made(1), 300))
    chance = random.Random(1)
    draw = texts.Draw(texts.picked(20, 300, chance), 300, chance)
    for number, text in enumerate(made):
        draw.see(number, text)
    assert draw.questions() == texts.questions(made, 20)


def test_a_hundredth_has_a_tag_and_a_hundredth_a_namespace() -> None:
    dealt = Dealing.of(10_000, 3)
    spaces = Counter(map(dealt.space, range(10_000)))
    assert spaces[dealt.small] == 100
    assert all(3_290 <= spaces[number] <= 3_310 for number in range(3))
    tags = Counter(map(dealing.tag_of, range(10_000)))
    assert set(tags.values()) == {100} and len(tags) == 100
    assert all(len(terms_of(tag)) == 1 for tag in tags)
    in_small = Counter(dealing.tag_of(number) for number in range(0, 10_000, 100))
    assert set(in_small.values()) == {1}, "a tag and the small namespace have nothing to do with each other"


def test_nobody_asks_about_the_small_namespace() -> None:
    for count in (2, 99, 100, 101, 1_000):
        asked = {dealing.asked_about(place) for place in range(dealing.count_asked_about(count))}
        assert asked == {number for number in range(count) if Dealing.of(count, 1).space(number) == 0}


def test_vectors_are_the_same_for_a_text_and_near_for_shared_words() -> None:
    vectors = WordVectors().embed(["the cache is warm", "a warm cache", "ports and walruses", "!?", ""])
    assert vectors.shape == (5, DIMENSIONS)
    assert (
        vectors == WordVectors().embed(["the cache is warm", "a warm cache", "ports and walruses", "!?", ""])
    ).all()
    assert vectors[0] @ vectors[1] > 0.5 > vectors[0] @ vectors[2]
    assert abs((vectors**2).sum(axis=1) - 1).max() < 1e-5


def test_percentiles_are_times_that_were_measured() -> None:
    assert Latency.of([number / 1000 for number in range(1, 201)]) == Latency(100.0, 190.0, 198.0)
    assert Latency.of([0.5]) == Latency(500.0, 500.0, 500.0)
    assert (resident_bytes() or 1) > 0
