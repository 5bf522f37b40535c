"""By meaning, segments find nearly always what comparing every vector finds, and never what is gone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

import recollect
from recollect import Draft, Memories
from recollect.embed.hashing import HashingEmbedder
from recollect.meaning import generation_of
from recollect.store.base import Generation, Nearness
from recollect.store.sqlite.derived import codes, files, vectors
from recollect.store.sqlite.derived.frames import Frame
from recollect.store.sqlite.derived.vectors import Read, VectorSegment
from recollect.store.sqlite.store import SqliteStore

from .segmented import NOW, by_meaning, by_numpy, index, keys, listed, opened, store_of, without_segments

WORDS = [
    f"{first}{last}"
    for first in ("har", "lig", "mas", "boa", "win")
    for last in ("bour", "ht", "ter", "t", "d")
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def unit(rows: Any) -> Any:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def random_directions(count: int, dimensions: int) -> Any:
    return unit(np.random.default_rng(1).standard_normal((count, dimensions)))


def narrow_cone(count: int, dimensions: int) -> Any:
    """As real models make them: any two have a cosine of about 0.6."""
    chance = np.random.default_rng(2)
    axis = unit(chance.standard_normal((1, dimensions)))
    found = unit(axis * np.sqrt(0.6) + unit(chance.standard_normal((count, dimensions))) * np.sqrt(0.4))
    assert 0.5 < float(np.mean(found[:50] @ found[50:100].T)) < 0.7
    return found


def groups_in_a_cone(count: int, dimensions: int) -> Any:
    """The same, where some twenty are about one thing."""
    chance = np.random.default_rng(4)
    things = narrow_cone(count // 20, dimensions)
    return unit(things[chance.integers(0, len(things), count)] * 2 + narrow_cone(count, dimensions)[::-1])


def hashed_texts(count: int, dimensions: int) -> Any:
    chance = np.random.default_rng(3)
    texts = [" ".join(chance.choice(WORDS, 8)) + f" {number}" for number in range(count)]
    return np.asarray(HashingEmbedder(dimensions).embed(texts), np.float32)


def made(path: Path, matrix: Any, spaces: int = 1) -> VectorSegment:
    numbers = np.arange(1, len(matrix) + 1)
    vectors.write(path, [Read(numbers, numbers + 1000, numbers % spaces, matrix)])
    return VectorSegment(*files.read(path))


@pytest.mark.parametrize("dimensions", [64, 7, 259, 384])
@pytest.mark.parametrize(
    ("kind", "least"),
    [(random_directions, 0.97), (narrow_cone, 0.97), (groups_in_a_cone, 0.98), (hashed_texts, 0.98)],
)
@pytest.mark.parametrize("loops", [nullcontext, by_numpy])
def test_the_nearest_ten_are_those_of_an_exact_search(
    tmp_path: Path,
    kind: Callable[[int, int], Any],
    least: float,
    dimensions: int,
    loops: Callable[[], AbstractContextManager[None]],
) -> None:
    matrix = kind(5_040, dimensions)
    matrix, questions = matrix[:5_000], matrix[5_000:]
    segment = made(tmp_path / "vectors.segment", matrix)
    with loops():
        assert shared_with_exact(segment, matrix, questions) >= least


@pytest.mark.parametrize("loops", [nullcontext, by_numpy])
def test_nobody_is_found_twice_where_few_are_left_of_many(
    tmp_path: Path, loops: Callable[[], AbstractContextManager[None]]
) -> None:
    """As many as are looked at closely, and they stand where samples are taken."""
    matrix = random_directions(30_030, 64)
    segment = made(tmp_path / "vectors.segment", matrix[:30_000])
    left = [range(at, at + 50) for at in range(0, 30_000, 2_304)]
    left += [range(at, at + 32) for at in range(32, 30_000, 3_744)]
    gone = np.setdiff1d(np.arange(30_000), np.concatenate([*map(np.array, left)]))
    coded = segment.coded._asdict()
    segment.coded = codes.Coded(**{name: np.array(array) for name, array in coded.items()})
    codes.clear(segment.coded._asdict(), gone)
    with loops():
        for question in matrix[30_000:]:
            numbers, _, _ = segment.near(segment.span(0), question, 125)().columns()
            assert len(set(numbers)) == len(numbers) == 125
            assert not set(numbers) & set((gone + 1).tolist())
        codes.clear(segment.coded._asdict(), np.arange(30_000))
        assert segment.near(segment.span(0), matrix[0], 125)().columns() == ([], [], [])


def unlike_directions(count: int, dimensions: int) -> Any:
    """As where dimensions are sorted by how much they tell: the last say next to nothing."""
    chance = np.random.default_rng(6)
    return unit(chance.standard_normal((count, dimensions)) * np.exp(-6 * np.arange(dimensions) / dimensions))


@pytest.mark.parametrize("kind", [random_directions, narrow_cone, unlike_directions])
@pytest.mark.parametrize("loops", [nullcontext, by_numpy])
def test_where_signs_say_little_the_nearest_ten_are_found_all_the_same(
    tmp_path: Path, kind: Callable[[int, int], Any], loops: Callable[[], AbstractContextManager[None]]
) -> None:
    matrix = kind(40_060, 128)
    segment = made(tmp_path / "vectors.segment", matrix[:40_000])
    with loops():
        assert shared_with_exact(segment, matrix[:40_000], matrix[40_000:]) >= 0.98


def shared_with_exact(segment: VectorSegment, matrix: Any, questions: Any) -> float:
    """Which part of the ten nearest a segment finds."""
    shared = 0.0
    for question in questions:
        numbers, _, _ = segment.near(segment.span(0), question, 50)().columns()
        best = matrix[np.array(numbers[:10]) - 1] @ question
        exact = np.sort(matrix @ question)[::-1][:10]
        shared += float(np.mean(best >= exact[-1] - 1e-6))
    return shared / len(questions)


compiled = pytest.mark.skipif(not codes.COMPILED, reason="there was no compiler to build it")


def coded_twice(matrix: Any, monkeypatch: pytest.MonkeyPatch, *, is_compiled: bool) -> tuple[Any, Any]:
    """What is kept of vectors but for every third, and of those in another order, seen from elsewhere."""
    monkeypatch.setattr(codes, "COMPILED", is_compiled)
    first, second = (
        {name: np.zeros(shape, dtype) for name, (dtype, shape) in codes.shapes(*matrix.shape).items()}
        for _ in range(2)
    )
    places = np.where(np.arange(len(matrix)) % 3 == 0, -1, np.arange(len(matrix)))
    centre = matrix.mean(axis=0)
    codes.put(first, places, matrix, Frame.plain(centre))
    held = codes.Coded(*(first[name] for name in codes.Coded._fields))
    kept = np.flatnonzero(held.scale > 0)
    assert len(kept) == len(matrix) - -(-len(matrix) // 3)
    elsewhere = Frame.plain(centre / 2)
    codes.move(second, np.arange(len(kept))[::-1].copy(), elsewhere, held, kept, Frame.plain(centre))
    return first, second


@compiled
@pytest.mark.parametrize("dimensions", [1, 7, 64, 259, 384])
@pytest.mark.parametrize("kind", [random_directions, narrow_cone])
def test_vectors_are_coded_alike_in_c_and_in_numpy(
    kind: Callable[[int, int], Any], dimensions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = kind(500, dimensions) if dimensions > 1 else random_directions(500, 1) * np.float32(0.5)
    in_c = coded_twice(matrix, monkeypatch, is_compiled=True)
    in_numpy = coded_twice(matrix, monkeypatch, is_compiled=False)
    for one, other in zip(in_c, in_numpy, strict=True):
        for name in ("signs", "bytes", "scale", "fine"):
            assert np.array_equal(one[name], other[name])
        for name in ("trust", "offset"):  # added up in another order
            assert np.allclose(one[name], other[name], rtol=1e-5, atol=1e-6)


@compiled
def test_a_place_that_is_not_there_is_refused() -> None:
    matrix = random_directions(40, 16)
    frame, another = Frame.plain(matrix[0]), Frame.plain(matrix[1])
    held = codes.code(matrix, frame)
    room = held._asdict()
    for place in (-2, 40, 1 << 40):
        with pytest.raises(IndexError):
            codes.put(room, np.array([place]), matrix[:1], frame)
        with pytest.raises(IndexError):
            codes.move(room, np.array([0]), frame, held, np.array([place]), another)
    with pytest.raises(IndexError):
        codes.put(room, np.arange(3), matrix[:2], frame)
    with pytest.raises(IndexError):
        codes.move(room, np.arange(2), frame, held._replace(fine=held.fine[:9]), np.arange(2), another)


@compiled
def test_a_vector_that_is_no_number_is_never_kept(tmp_path: Path) -> None:
    matrix = random_directions(40, 16)
    matrix[3, 5], matrix[4, 0] = np.nan, np.inf
    held = codes.code(matrix, Frame.plain(np.zeros(16, np.float32)))
    assert np.flatnonzero(~(held.scale > 0)).tolist() == [3, 4]


def test_ten_are_found_as_surely_as_a_hundred(tmp_path: Path) -> None:
    matrix = random_directions(20_040, 384)
    segment = made(tmp_path / "vectors.segment", matrix[:20_000])
    shared = 0
    for question in matrix[20_000:]:
        ten, hundred = (segment.near(segment.span(0), question, most)().columns()[0] for most in (10, 100))
        shared += len({*ten} & {*hundred[:10]})
    assert shared >= 396


def test_of_a_few_every_one_is_looked_at(tmp_path: Path) -> None:
    matrix = random_directions(700, 259)
    segment = made(tmp_path / "vectors.segment", matrix, spaces=7)
    for space in range(7):
        numbers, _, scores = segment.near(segment.span(space), matrix[0], 200)().columns()
        assert len(numbers) == 100
        assert scores == sorted(scores, reverse=True)
        assert len(segment.near(segment.span(space), matrix[0], 10)().columns()[0]) == 10
    assert segment.near(segment.span(8), matrix[0], 10)().columns() == ([], [], [])


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell what of a file is in memory")
def test_what_is_merged_does_not_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = random_directions(60_000, 64)
    segment = made(tmp_path / "old.segment", matrix)
    monkeypatch.setattr(vectors, "_AT_ONCE", 1_000)
    resident, move = [], codes.move

    def watched(*given: Any) -> None:
        move(*given)
        resident.append(resident_of(tmp_path))

    monkeypatch.setattr(codes, "move", watched)
    vectors.write(tmp_path / "new.segment", [], [segment])
    assert 0 < max(resident) < 5_000_000  # of twice 9 MB
    merged = VectorSegment(*files.read(tmp_path / "new.segment"))
    assert np.allclose(
        codes.decoded(merged.coded, np.arange(60_000)) + merged.frame.centre, matrix, atol=1e-4
    )


def resident_of(folder: Path) -> int:
    """How many bytes of the files of a folder this process has in memory."""
    total, is_there = 0, False
    for line in Path("/proc/self/smaps").read_text("utf-8").splitlines():
        name, *rest = line.split(maxsplit=5)
        if not name.endswith(":"):
            is_there = len(rest) == 5 and rest[-1].startswith(str(folder))
        elif is_there and name == "Rss:":
            total += int(rest[0]) * 1024
    return total


def test_merged_segments_lose_nothing(tmp_path: Path) -> None:
    matrix = narrow_cone(900, 64)
    numbers = np.arange(1, 901)
    parts = [
        Read(numbers[some], numbers[some], numbers[some] % 2, matrix[some])
        for some in np.split(np.arange(900), 3)
    ]
    old: list[VectorSegment] = []
    for turn, part in enumerate(parts):
        path = tmp_path / f"{turn}.segment"
        assert vectors.write(path, [part], old) == 300 * (turn + 1)
        old = [VectorSegment(*files.read(path))]
    hits = [
        old[0].near(old[0].span(number % 2), matrix[number - 1], 1)().columns()[0][0]
        for number in range(1, 901)
    ]
    assert hits == list(range(1, 901))


def drafts(matrix: Any, word: str = "text") -> list[Draft]:
    return [Draft(f"A {word} number {number}", vector=row.tolist()) for number, row in enumerate(matrix)]


def assert_near_is_exact(memories: Memories, questions: Any, limit: int = 10) -> None:
    for question in questions:
        found = by_meaning(memories, question, limit)
        with without_segments():
            expected = by_meaning(memories, question, limit)
        assert keys(found)[:10] == keys(expected)[:10]
        assert set(keys(found)) == set(keys(expected))
        scores = [each.score for each in found]
        assert scores[:10] == pytest.approx([each.score for each in expected][:10], abs=3e-5)


def test_a_store_finds_what_it_finds_without_segments(path: Path) -> None:
    matrix = random_directions(300, 7)
    with opened(path, embedder="hash:7") as memories:
        memories.remember_many(drafts(matrix[:200]))
        memories.settle()
        kept = memories.remember_many(drafts(matrix[200:], "newer one"))
        memories.forget([each.id for each in kept[::3]])
        memories.in_namespace("other").remember_many(drafts(matrix[:50]))
        assert_near_is_exact(memories, matrix[::20])
        memories.settle()
        assert_near_is_exact(memories, matrix[::20])
        assert_near_is_exact(memories.in_namespace("other"), matrix[::40], 1000)


def test_a_small_scope_in_a_big_store_gives_all_it_has(path: Path) -> None:
    matrix = random_directions(3_000, 16)
    with opened(path, embedder="hash:16") as memories:
        memories.remember_many(drafts(matrix))
        memories.remember_many(
            Draft(f"Quiet {number}", session="quiet", vector=(-row).tolist())
            for number, row in enumerate(matrix[:9])
        )
        memories.settle()
        assert len(by_meaning(memories, matrix[0], 10, session="quiet")) == 9
        assert len(by_meaning(memories, matrix[0], 2_500)) == 2_500


def nearest_to(memories: Memories, text: str) -> tuple[str, float]:
    """The id of the nearest memory by meaning, and how near it is."""
    facts = memories._store.facts([memories.namespace])[memories.namespace]
    assert facts.generation is not None
    (vector,) = HashingEmbedder(facts.generation.dimensions).embed([text])
    candidate = by_meaning(memories, vector)[0]
    loaded = memories._store.load([candidate.key], NOW)[candidate.key]
    return loaded.id, candidate.score


def assert_found_by_its_own_text(memories: Memories, *ids: str) -> None:
    for id in ids:
        found, score = nearest_to(memories, memories.get(id).content)
        assert found == id
        assert score == pytest.approx(1.0, abs=1e-4)


def test_a_changed_text_is_found_by_what_it_says_now(path: Path) -> None:
    with opened(path) as memories:
        memories.remember_many(f"The harbour number {number}" for number in range(60))
        memories.settle()
        id = memories.remember("A lighthouse of old").id
        memories.settle()
        memories.update(id, text="Something about gardens")
        assert_found_by_its_own_text(memories, id)
        assert nearest_to(memories, "A lighthouse of old")[1] < 0.9
        memories.settle()
        assert_found_by_its_own_text(memories, id)


def test_a_vector_made_after_a_change_is_not_struck_out_with_the_old_one(path: Path) -> None:
    """The change is still to be indexed by words when its vector already is in a segment."""
    with opened(path) as memories:
        ids = [each.id for each in memories.remember_many(f"The harbour {number}" for number in range(40))]
        memories.settle()
        memories.update(ids[7], text="Something about gardens")
        building = _building(memories)
        building._vectors(1)
        building._strike_out()
        memories.update(ids[8], text="Something about rivers")  # this process strikes out once more
        with opened(path) as another:
            another.forget(ids[9])  # and another one does
            assert_found_by_its_own_text(another, ids[7], ids[8])
        memories.settle()
        assert_found_by_its_own_text(memories, ids[7], ids[8])


def _building(memories: Memories) -> Any:
    from recollect.store.sqlite.derived.building import Building

    store = store_of(memories)
    return Building(store._connections, store._shelf, lambda: False)


def test_another_model_is_never_mixed_in(path: Path) -> None:
    with opened(path, embedder="hash:64") as memories:
        memories.remember_many(f"The harbour number {number}" for number in range(60))
        memories.settle()
    with opened(path, embedder="hash:32") as memories:
        id = memories.remember("A lighthouse").id
        memories.settle()
        memories.reembed()
        assert_found_by_its_own_text(memories, id)
        memories.settle()
        assert_found_by_its_own_text(memories, id)
        assert [size for kind, size in listed(memories) if kind == "vectors"] == [61]


def test_a_model_that_is_taken_up_again_has_what_it_had(path: Path) -> None:
    """Vectors of a generation that nobody searches just now are still in the rows, and so in the segments."""
    with opened(path, embedder="hash:64") as memories:
        memories.remember_many(f"The harbour number {number}" for number in range(20))
    with opened(path, embedder="hash:32") as memories:
        id = memories.remember("A lighthouse").id
        memories.settle()
    with opened(path, embedder="hash:16") as memories:
        memories.remember("A garden")
        memories.settle()
    with opened(path, embedder="hash:32") as memories:
        memories.reembed()
        assert_found_by_its_own_text(memories, id)
        memories.settle()
        assert_found_by_its_own_text(memories, id)


def test_a_replaced_vector_does_not_stand_in_the_way_of_the_one_that_holds(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first model is taken up again while another namespace still uses it: its segment has both."""
    monkeypatch.setattr("recollect.store.sqlite.derived.building._SMALL", 0)
    with opened(path, embedder="hash:64") as memories:
        memories.in_namespace("other").remember_many(f"Filler {number}" for number in range(100))
        memories.remember_many(Draft(f"The harbour number {number}", session="quiet") for number in range(10))
        memories.settle()
    with opened(path, embedder="hash:32") as memories:
        memories.reembed()
    with opened(path, embedder="hash:64") as memories:
        memories.reembed()
        index(memories)
        assert [size for kind, size in listed(memories) if kind == "vectors"] == [110, 10]
        memories.settle()
        assert [size for kind, size in listed(memories) if kind == "vectors"] == [110]
        vector = HashingEmbedder(64).embed(["harbour"])[0]
        assert len(by_meaning(memories, vector, session="quiet")) == 10


def test_vectors_that_a_memory_had_before_do_not_crowd_others_out(path: Path) -> None:
    """They are held in memory for a while: the nearest that still hold are found behind them."""
    with opened(path) as memories:
        memories.remember_many(f"A garden number {number}" for number in range(30))
        id = memories.remember("The harbour").id
        vector = HashingEmbedder(64).embed(["The harbour"])[0]
        for number in range(40):
            memories.update(id, text=f"The harbour {number}")
            assert len(by_meaning(memories, vector, 3)) == 3


def at_cosine(cosine: float) -> Any:
    """A vector so near to the first axis."""
    found = np.zeros(64, np.float32)
    found[:2] = cosine, (1 - cosine**2) ** 0.5
    return found


def test_whoever_stands_behind_an_old_vector_takes_its_place(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has struck it out yet; what is newer is less near than what stands behind it in the segment."""
    monkeypatch.setattr(SqliteStore, "_strike_out", lambda *_: None)
    with opened(path) as memories:
        old = memories.remember("What it said before", vector=at_cosine(0.9)).id
        memories.remember("The nearest now", vector=at_cosine(0.8))
        memories.remember_many(Draft(f"Far away {each}", vector=at_cosine(0.1)) for each in range(200))
        memories.settle()
        memories.update(old, text="Something else by now")
        memories.remember("Less near", vector=at_cosine(0.5))
        (nearest,) = by_meaning(memories, at_cosine(1), limit=1)
        assert nearest.score == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("limit", [1, 100])
def test_a_text_that_is_embedded_anew_has_one_vector(path: Path, limit: int) -> None:
    """Whoever read the one before knows that it is gone, though the text is the same."""
    with opened(path) as memories:
        memories.forget(memories.remember("Somebody who is forgotten").id)
        id = memories.remember("The one", vector=at_cosine(0.9)).id
        memories.remember_many(Draft(f"Near {each}", vector=at_cosine(0.8)) for each in range(150))
        assert by_meaning(memories, at_cosine(1), limit)[0].score == pytest.approx(0.9, abs=0.01)
        memories.update(id, text="The one")
        assert by_meaning(memories, at_cosine(1), limit)[0].score == pytest.approx(0.8, abs=0.01)


def test_a_broken_vector_costs_nobody_else_theirs(path: Path) -> None:
    with opened(path) as memories:
        ids = [each.id for each in memories.remember_many(f"The harbour {number}" for number in range(20))]
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE vector SET embedding = x'00000000' WHERE number = 1")
    connection.close()
    with opened(path) as memories:
        memories.settle()
        assert_found_by_its_own_text(memories, *ids[1:])


def test_vectors_of_the_forgotten_are_overwritten(path: Path) -> None:
    """Also of a memory that was written after the words were indexed last."""
    with opened(path) as memories:
        memories.remember_many(f"The harbour number {number}" for number in range(30))
        memories.settle()
        id = memories.remember("A lighthouse").id
        building = _building(memories)
        building._vectors(1)
        number = store_of(memories)._read(lambda statements: statements.value("vectors_of", memories=[31]))
        memories.forget(id)
        opened_now = store_of(memories)._read(store_of(memories)._shelf.newest)
        segments = [segment for _, segment in opened_now.vectors if number in segment.numbers]
        assert segments
        for segment in segments:
            at = int(np.flatnonzero(segment.numbers == number)[0])
            assert not segment.coded.bytes[at].any()
            assert not segment.coded.signs[at // codes.TOGETHER, :, at % codes.TOGETHER].any()
            assert segment.struck_out().tolist() == [number]


def test_the_last_digits_are_the_same_from_the_file_as_where_it_is_mapped(tmp_path: Path) -> None:
    matrix = random_directions(3_000, 64)
    numbers = np.arange(1, 3_001)
    path = tmp_path / "some.segment"
    vectors.write(path, [vectors.Read(numbers, numbers, np.ones(3_000, np.int64), matrix)])
    arrays, size = files.read(path)
    mapped, read = VectorSegment(arrays, size), VectorSegment(arrays, size, path)
    for question in matrix[:50]:
        found = mapped.near(mapped.span(1), question, 20)()
        assert read.near(read.span(1), question, 20)() == found
        assert found.memories.scores()[0] == pytest.approx(1.0, abs=1e-5)
    path.unlink()
    assert read.near(read.span(1), matrix[3], 20)() == mapped.near(mapped.span(1), matrix[3], 20)()
    assert (
        VectorSegment(arrays, size, path).near(read.span(1), matrix[3], 20)()
        == mapped.near(mapped.span(1), matrix[3], 20)()
    )


def test_a_memory_that_two_processes_embedded_at_once_stands_there_once(tmp_path: Path) -> None:
    embedder = HashingEmbedder()
    generation = generation_of(embedder)
    with recollect.open(tmp_path / "memory.db", embedder=embedder) as memories:
        memories.remember_many(
            [f"walrus {number} word{number * 7} ice{number % 13}" for number in range(300)]
        )
        memories.settle()
        store = memories._store
        waiting = store.pending(memories.namespace, Generation("another", 3, "another"), 0, 300)
        vectors = embedder.embed([each.text for each in waiting])
        store.set_vectors(memories.namespace, generation, list(zip(waiting, vectors, strict=True)), NOW)
        asked = Nearness(generation, embedder.embed(["walrus ice"])[0], 100)
        (found,) = store.search([memories.scope()], None, asked)
        assert len(found.by_meaning) == len({each.key for each in found.by_meaning}) == 100
