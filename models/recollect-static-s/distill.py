"""Makes the static tables from the installed arctic-s model and from text with open licences.

1. The start, without any text: the model reads every word piece of its vocabulary alone and 8,000 random
   strings of pieces; a ridge regression moves the pieces' vectors so that their weighted mean comes near the
   model's vector of the whole string. The directions that most pieces share are removed, and each piece
   gets its weight by its rank in the vocabulary (SIF).
2. The lessons: the model reads the first 58,000 texts of ``corpus.py``, stored texts as they stand and
   queries after its prefix.
3. The table is moved by stochastic gradients, so that a text's vector comes near the model's (less the mean)
   and a query ranks the texts of its batch as the model does. What is moved: one map of all rows, a weight
   for each piece, and each row by itself.
4. The rows are rounded to int8.

The table for quick queries is made from the same start and the same lessons, but stored texts keep the
model's own vectors: only queries are moved, towards the model's vector of the query after its prefix and
towards its ranking of the texts. A bias, the same for every query, is added to the sum.

``python corpus.py ARCHIVES texts.jsonl`` makes the text. Then ``python distill.py table texts.jsonl CACHE``
writes table.npy and scales.npy beside vocab.txt, and ``python distill.py queries texts.jsonl CACHE`` writes
queries.npy, query_scales.npy and query_bias.npy; each brings its part of manifest.json up to date. What the
model read is kept in the folder CACHE, so that a run can be broken off: about ten minutes on two idle cores.
One in sixteen of the pairs is held out; how the table does there is printed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from recollect.embed.models import Model, find_model
from recollect.embed.wordpiece import WordPieces

Vectors = NDArray[np.float32]
Numbers = NDArray[np.intp]

TARGET = Path(__file__).parent / "src" / "recollect_static_s"
CLS, SEP = 101, 102
FIRST_WORD = 1996
"""Below this number stand special tokens, single characters and punctuation."""
STRINGS = 8000
RIDGE = 0.03
REGRESSION_SIF = 1e-4
SIF = 2e-5
SHARED_DIRECTIONS = 8

TEXTS = 58_000
TEXTS_SHA256 = "401f3df7df602aeb7df08719139c118549aac017f7656a79335503694c1388ed"
"""Of the whole file that corpus.py writes."""
LONGEST = 128
"""Pieces of a text that are read, in the lessons."""
AT_ONCE = 2000
HELD_OUT = 6
"""Of each hundred pairs."""

EPOCHS = 4
PAIRS = 256
"""In a batch; every second batch is of one kind."""
TEACHER_HEAT, STUDENT_HEAT = 0.03, 0.1
"""What cosines are divided by before they become shares: the model's lie close together."""
OWN = 0.2
"""The share of a query's own texts among what it should find; the rest is as the model says."""
AMONG_TEXTS = 0.3
"""What the likeness of texts to each other counts, where that of queries to texts counts 1."""
NEARNESS = 10.0
"""What the nearness to the model's own vector counts."""
ROW_RATE, MAP_RATE, WEIGHT_RATE, BIAS_RATE = 0.01, 0.001, 0.03, 0.002

QUERY_HEAT, QUERY_NEARNESS = 0.02, 50.0
"""The same for quick queries: one heat for both, since they are compared with the model's own vectors."""
QUERY_WEIGHT = 0.5
"""How much a quick query counts beside keywords."""


def main() -> None:
    """Distil, round and write."""
    if len(sys.argv) != 4 or sys.argv[1] not in ("table", "queries"):
        raise SystemExit("distill.py table|queries texts.jsonl CACHE")
    teacher = find_model("arctic-s")
    lessons = Lessons.read(teacher, Path(sys.argv[2]), Path(sys.argv[3]))
    start = cached(Path(sys.argv[3]) / "start.npy", lambda: start_table(teacher))
    judge("the start", lessons, start)
    if sys.argv[1] == "table":
        table = Student(start, lessons).learn()
        write_table(table, teacher)
        judge("the table", lessons, table)
    else:
        student = QueryStudent(start, lessons)
        table = student.learn()
        write_queries(table, student.bias, teacher)
        judge("quick queries", lessons, table, student.bias)


def cached(path: Path, make: Callable[[], Vectors]) -> Vectors:
    """What is in the file; else it is made, and kept there in half precision."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part.npy")
        np.save(unfinished, make().astype(np.float16))
        unfinished.rename(path)
    return np.asarray(np.load(path), dtype=np.float32)


def start_table(teacher: Model) -> Vectors:
    """The table that needs no text."""
    size = len((TARGET / "vocab.txt").read_text("utf-8").rstrip("\n").split("\n"))
    pieces = without_mean(unit(read(teacher, ([number] for number in range(size)))), FIRST_WORD)
    strings = random_strings(size)
    strings_read = without_mean(unit(read(teacher, strings)))
    weights = sif_weights(size, REGRESSION_SIF)
    moved = regress(pieces, strings, strings_read, weights)
    return without_shared_directions(moved) * sif_weights(size, SIF)[:, None]


@dataclass(frozen=True)
class Lessons:
    """Texts as word pieces, with what the model says of them."""

    pieces: NDArray[np.int32]
    starts: Numbers
    lengths: Numbers
    vectors: Vectors
    is_query: NDArray[np.bool_]
    kinds: NDArray[np.str_]
    pairs: Numbers
    is_held_out: NDArray[np.bool_]

    @classmethod
    def read(cls, teacher: Model, path: Path, cache: Path) -> Lessons:
        """The first texts of the file, read by the model."""
        if hashlib.sha256(path.read_bytes()).hexdigest() != TEXTS_SHA256:
            raise SystemExit(f"{path} is not what corpus.py wrote for the shipped table")
        with path.open(encoding="utf-8") as lines:
            items = [json.loads(line) for line, _ in zip(lines, range(TEXTS), strict=False)]
        cut = WordPieces.from_file(teacher.file("vocab.txt"))

        def asked(first: int) -> Vectors:
            prefix = {"d": "", "q": teacher.query_prefix}
            texts = (prefix[item["role"]] + item["text"] for item in items[first : first + AT_ONCE])
            return read(teacher, (cut.pieces(text, LONGEST) for text in texts))

        chunks = [
            cached(cache / f"{first:07d}.npy", lambda first=first: asked(first))  # type: ignore[misc]
            for first in range(0, len(items), AT_ONCE)
        ]
        strings = [cut.pieces(item["text"], LONGEST) or [cut.unknown] for item in items]
        lengths = np.array([len(string) for string in strings])
        numbers = {pair: number for number, pair in enumerate(dict.fromkeys(item["pair"] for item in items))}
        return cls(
            pieces=np.concatenate([np.array(string, dtype=np.int32) for string in strings]),
            starts=np.concatenate([[0], np.cumsum(lengths)[:-1]]),
            lengths=lengths,
            vectors=unit(np.concatenate(chunks)),
            is_query=np.array([item["role"] == "q" for item in items]),
            kinds=np.array([item["kind"] for item in items]),
            pairs=np.array([numbers[item["pair"]] for item in items]),
            is_held_out=np.array([zlib.crc32(item["pair"].encode()) % 100 < HELD_OUT for item in items]),
        )

    def strings(self, rows: Numbers) -> tuple[NDArray[np.int32], Numbers]:
        """The pieces of these texts one after the other, and where each text begins."""
        lengths = self.lengths[rows]
        begins = np.cumsum(lengths) - lengths
        places = np.repeat(self.starts[rows] - begins, lengths) + np.arange(lengths.sum())
        return self.pieces[places], begins

    def embed(self, table: Vectors, rows: Numbers, bias: Vectors | None = None) -> Vectors:
        """These texts' vectors by a table, with what is added to each sum."""
        parts = []
        for first in range(0, len(rows), PAIRS):
            pieces, begins = self.strings(rows[first : first + PAIRS])
            parts.append(np.add.reduceat(table[pieces], begins, axis=0))
        sums = np.concatenate(parts)
        return unit(sums if bias is None else sums + bias)


class Student:
    """A table on its way: exp(weight) x (row of the start x map) + what the row itself has learned."""

    def __init__(self, start: Vectors, lessons: Lessons) -> None:
        self.start = start / np.median(np.linalg.norm(start[FIRST_WORD:], axis=1))
        self.lessons = lessons
        size, dimensions = start.shape
        self.map = np.eye(dimensions, dtype=np.float32)
        self.weights = np.zeros(size, dtype=np.float32)
        self.rows = np.zeros_like(start)
        self.bias = np.zeros(dimensions, dtype=np.float32)
        self.seen = np.zeros(size, dtype=np.intp)
        self.steps = 0
        self.map_slope, self.map_size = np.zeros_like(self.map), np.zeros_like(self.map)
        self.weight_slope, self.weight_size = np.zeros_like(self.weights), np.zeros_like(self.weights)
        self.row_slope, self.row_size, self.all_size = np.zeros_like(start), np.zeros_like(self.weights), 0.0
        taught = ~lessons.is_held_out
        self.wanted = np.empty_like(lessons.vectors)
        for kind in (lessons.is_query, ~lessons.is_query):
            self.wanted[kind] = unit(lessons.vectors[kind] - lessons.vectors[kind & taught].mean(axis=0))

    def table(self) -> Vectors:
        """The rows as they are by now."""
        table: Vectors = np.exp(self.weights)[:, None] * (self.start @ self.map) + self.rows
        return table

    def learn(self) -> Vectors:
        """All batches; the rate rises quickly and then falls to nothing."""
        generator = np.random.default_rng(3)
        of_pair: dict[int, list[int]] = defaultdict(list)
        for row in np.flatnonzero(~self.lessons.is_held_out):
            of_pair[int(self.lessons.pairs[row])].append(int(row))
        pairs = np.array(sorted(of_pair))
        kinds = np.array([self.lessons.kinds[of_pair[pair][0]] for pair in pairs.tolist()])
        batches = EPOCHS * len(pairs) // PAIRS
        for number in range(1, batches + 1):
            pool = pairs if number % 2 else pairs[kinds == generator.choice(kinds)]
            chosen = generator.choice(pool, min(PAIRS, len(pool)), replace=False)
            rows = np.array([row for pair in chosen.tolist() for row in of_pair[pair]])
            is_query = self.lessons.is_query[rows]
            if is_query.any():
                self.step(rows[is_query], rows[~is_query], min(1, number / 20) * (1 - number / (batches + 1)))
        return self.table()

    def step(self, queries: Numbers, texts: Numbers, rate: float) -> None:
        """One batch."""
        taught = self.taught(queries, texts)
        pieces, begins = self.lessons.strings(taught)
        used, place = np.unique(pieces, return_inverse=True)
        mapped = self.start[used] @ self.map
        weights = np.exp(self.weights[used])[:, None]
        sums = np.add.reduceat((weights * mapped + self.rows[used])[place], begins, axis=0) + self.bias
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        vectors = sums / lengths
        slope = self.slope(queries, texts, vectors)
        slope = (slope - vectors * (vectors * slope).sum(axis=1, keepdims=True)) / lengths
        order = np.argsort(place, kind="stable")
        firsts = np.searchsorted(place[order], np.arange(len(used)))
        of_pieces = np.repeat(slope, self.lessons.lengths[taught], axis=0)[order]
        self.move(used.astype(np.intp), mapped, weights, np.add.reduceat(of_pieces, firsts, axis=0), rate)
        self.move_bias(slope, rate)

    def taught(self, queries: Numbers, texts: Numbers) -> Numbers:
        """Which of a batch get their vectors from the table."""
        return np.concatenate([queries, texts])

    def slope(self, queries: Numbers, texts: Numbers, vectors: Vectors) -> Vectors:
        """Where the loss rises, for each vector of the batch."""
        known, number = self.lessons.vectors, len(queries)
        asked, told = vectors[:number], vectors[number:]
        counts = np.repeat([number, len(texts)], [number, len(texts)])[:, None]
        slope = -NEARNESS * self.wanted[np.concatenate([queries, texts])] / counts
        target = shares(known[queries] @ known[texts].T / TEACHER_HEAT)
        own = (self.lessons.pairs[queries][:, None] == self.lessons.pairs[texts][None]).astype(np.float32)
        found = own.sum(axis=1, keepdims=True)
        target = np.where(found > 0, (1 - OWN) * target + OWN * own / np.maximum(found, 1), target)
        error = (shares(asked @ told.T / STUDENT_HEAT) - target) / (STUDENT_HEAT * number)
        slope[:number] += error @ told
        slope[number:] += error.T @ asked
        among = shares(without_diagonal(told @ told.T / STUDENT_HEAT))
        among -= shares(without_diagonal(known[texts] @ known[texts].T / TEACHER_HEAT))
        among *= AMONG_TEXTS / (STUDENT_HEAT * len(texts))
        slope[number:] += (among + among.T) @ told
        return np.asarray(slope, dtype=np.float32)

    def move(self, used: Numbers, mapped: Vectors, weights: Vectors, slope: Vectors, rate: float) -> None:
        """Adam for the map and the weights; a row's step is also smaller the less its piece is seen."""
        self.steps += 1
        self.seen[used] += 1
        steps, seen = self.steps, self.seen[used]
        of_map = self.start[used].T @ (weights * slope)
        self.map_slope = 0.9 * self.map_slope + 0.1 * of_map
        self.map_size = 0.99 * self.map_size + 0.01 * of_map**2
        height = np.sqrt(self.map_size / (1 - 0.99**steps)) + 1e-8
        self.map -= MAP_RATE * rate * self.map_slope / (1 - 0.9**steps) / height
        of_weights = (slope * mapped).sum(axis=1) * weights[:, 0]
        self.weight_slope[used] = 0.9 * self.weight_slope[used] + 0.1 * of_weights
        self.weight_size[used] = 0.98 * self.weight_size[used] + 0.02 * of_weights**2
        height = np.sqrt(self.weight_size[used] / (1 - 0.98**seen)) + 1e-8
        self.weights[used] -= WEIGHT_RATE * rate * self.weight_slope[used] / (1 - 0.9**seen) / height
        squares = (slope * slope).mean(axis=1)
        self.all_size = 0.98 * self.all_size + 0.02 * float(squares.mean())
        self.row_slope[used] = 0.9 * self.row_slope[used] + 0.1 * slope
        self.row_size[used] = 0.98 * self.row_size[used] + 0.02 * squares
        height = (self.row_size[used] / (1 - 0.98**seen) * self.all_size / (1 - 0.98**steps)) ** 0.25 + 1e-9
        step = self.row_slope[used] / ((1 - 0.9**seen) * height)[:, None]
        self.rows[used] -= (ROW_RATE * rate * step).astype(np.float32)

    def move_bias(self, slope: Vectors, rate: float) -> None:
        """Nothing: stored texts and queries are summed alike, so there is none."""


class QueryStudent(Student):
    """Learns queries alone, in the model's own space: a bias is added, and texts keep the model's vectors."""

    def __init__(self, start: Vectors, lessons: Lessons) -> None:
        super().__init__(start, lessons)
        self.bias = lessons.vectors[lessons.is_query & ~lessons.is_held_out].mean(axis=0)
        self.bias_slope, self.bias_size = np.zeros_like(self.bias), 0.0

    def taught(self, queries: Numbers, texts: Numbers) -> Numbers:
        """The queries."""
        return queries

    def slope(self, queries: Numbers, texts: Numbers, vectors: Vectors) -> Vectors:
        """Where the loss rises, for each query of the batch."""
        asked, told = self.lessons.vectors[queries], self.lessons.vectors[texts]
        error = (shares(vectors @ told.T / QUERY_HEAT) - shares(asked @ told.T / QUERY_HEAT)) / QUERY_HEAT
        return np.asarray((error @ told - QUERY_NEARNESS * asked) / len(queries), dtype=np.float32)

    def move_bias(self, slope: Vectors, rate: float) -> None:
        """Adam, with one size for all dimensions."""
        of_bias = slope.sum(axis=0)
        self.bias_slope = 0.9 * self.bias_slope + 0.1 * of_bias
        self.bias_size = 0.98 * self.bias_size + 0.02 * float((of_bias**2).mean())
        height = np.sqrt(self.bias_size / (1 - 0.98**self.steps)) + 1e-8
        self.bias -= (BIAS_RATE * rate * self.bias_slope / (1 - 0.9**self.steps) / height).astype(np.float32)


def shares(scores: Vectors) -> Vectors:
    """Each row as shares of 1, the higher the larger (softmax)."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float32)


def without_diagonal(scores: Vectors) -> Vectors:
    """The same, where nothing is compared with itself."""
    np.fill_diagonal(scores, -1e4)
    return scores


def judge(name: str, lessons: Lessons, table: Vectors, bias: Vectors | None = None) -> None:
    """Print how well held-out queries find what the model finds, and their own text; means over kinds.

    With a bias it is a table for queries, which are compared with the model's vectors of the texts.
    """
    queries = np.flatnonzero(lessons.is_held_out & lessons.is_query)
    texts = np.flatnonzero(lessons.is_held_out & ~lessons.is_query)
    by_model = lessons.vectors[queries] @ lessons.vectors[texts].T
    stored = lessons.embed(table, texts) if bias is None else lessons.vectors[texts]
    by_table = lessons.embed(table, queries, bias) @ stored.T
    tops = [np.argsort(-scores, axis=1)[:, :10].tolist() for scores in (by_model, by_table)]
    overlap = np.array([len(set(a) & set(b)) / 10 for a, b in zip(*tops, strict=True)])
    own = lessons.pairs[queries][:, None] == lessons.pairs[texts][None]
    best = np.where(own, by_table, -9).max(axis=1, keepdims=True)
    reciprocal = 1 / (1 + (by_table > best).sum(axis=1))
    by_kind = [lessons.kinds[queries] == kind for kind in sorted(set(lessons.kinds[queries].tolist()))]
    means = [np.mean([values[kind].mean() for kind in by_kind]) for values in (overlap, reciprocal)]
    centred = [scores - scores.mean(axis=1, keepdims=True) for scores in (by_model, by_table)]
    lengths = [np.sqrt((scores**2).sum(axis=1)) for scores in centred]
    correlation = ((centred[0] * centred[1]).sum(axis=1) / (lengths[0] * lengths[1])).mean()
    print(
        f"{name}: {len(queries)} held-out queries, {len(texts)} texts; of the model's first ten "
        f"{means[0]:.3f} found, MRR of the own text {means[1]:.3f}, correlation {correlation:.3f}",
        flush=True,
    )


def read(teacher: Model, strings: Iterable[list[int]]) -> Vectors:
    """The model's vector of each string of pieces, every string in a batch of its own."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session: Any = onnxruntime.InferenceSession(
        str(teacher.file("model_int8.onnx")), options, providers=["CPUExecutionProvider"]
    )

    def first_token(string: list[int]) -> Vectors:
        ids = np.array([[CLS, *string, SEP]], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        vector: Vectors = session.run(["last_hidden_state"], inputs)[0][0, 0]
        return vector

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return np.array(list(pool.map(first_token, strings)), dtype=np.float32)


def unit(vectors: Vectors) -> Vectors:
    """Each row at length 1."""
    lengths: Vectors = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return vectors / lengths


def without_mean(vectors: Vectors, start: int = 0) -> Vectors:
    """Each row less the mean of the rows from ``start`` on."""
    mean: Vectors = vectors[start:].mean(axis=0)
    return vectors - mean


def random_strings(size: int) -> list[list[int]]:
    """Strings of 4 to 19 pieces, the frequent ones oftener than the rare, but less so than in language."""
    generator = np.random.default_rng(5)
    frequency = 1 / (np.arange(size - FIRST_WORD) + 50.0) ** 0.6
    frequency /= frequency.sum()
    words = size - FIRST_WORD
    return [
        (FIRST_WORD + generator.choice(words, int(generator.integers(4, 20)), p=frequency)).tolist()
        for _ in range(STRINGS)
    ]


def sif_weights(size: int, a: float) -> Vectors:
    """a / (a + p), p by Zipf's law: BERT's vocabulary stands roughly in the order of frequency."""
    rank = np.maximum(np.arange(size) - 999, 1)
    probability = 1 / (rank + 2.7)
    probability /= probability.sum()
    return (a / (a + probability)).astype(np.float32)


def regress(pieces: Vectors, strings: list[list[int]], wanted: Vectors, weights: Vectors) -> Vectors:
    """The pieces moved, by ridge regression, so that their weighted means come near the wanted vectors."""
    shares = [weights[string] / weights[string].sum() for string in strings]
    means = np.array([share @ pieces[string] for string, share in zip(strings, shares, strict=True)])
    scale = (means * wanted).sum() / (means * means).sum()
    places: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for row, (string, share) in enumerate(zip(strings, shares, strict=True)):
        for piece, part in zip(string, share, strict=True):
            places[piece].append((row, float(part)))
    kernel = np.zeros((len(strings), len(strings)), dtype=np.float32)
    for found in places.values():
        rows, parts = np.array([row for row, _ in found]), np.array([part for _, part in found], np.float32)
        np.add.at(kernel, (rows[:, None], rows[None, :]), np.outer(parts, parts))
    kernel[np.diag_indices_from(kernel)] += RIDGE
    duals = np.linalg.solve(kernel, wanted - scale * means)
    moved = scale * pieces
    for piece, found in places.items():
        for row, part in found:
            moved[piece] += part * duals[row]
    return np.asarray(moved, dtype=np.float32)


def without_shared_directions(vectors: Vectors) -> Vectors:
    """The vectors less their components along the words' first principal directions."""
    directions = np.linalg.svd(vectors[FIRST_WORD::3], full_matrices=False)[2][:SHARED_DIRECTIONS]
    shared: Vectors = (vectors @ directions.T) @ directions
    return vectors - shared


def write_table(table: Vectors, teacher: Model) -> None:
    """The table for texts and queries alike, and the manifest with the checksums of its files."""
    save(table, "table.npy", "scales.npy")
    manifest = {
        "name": "static-s",
        "dimensions": table.shape[1],
        "languages": ["en"],
        "max_tokens": teacher.max_tokens,
        "query_prefix": "",
        "weight": 0.4,
        "unrelated": {"mean": 0.1, "deviation": 0.11},
        "pooling": "sum of table row x scale over the word pieces, then unit length",
        "license": "Apache-2.0",
        "provenance": {"distilled_from": "Snowflake/snowflake-arctic-embed-s", "by": "distill.py"},
        "sha256": checksums("scales.npy", "table.npy", "vocab.txt"),
    }
    write_manifest(manifest)


def write_queries(table: Vectors, bias: Vectors, teacher: Model) -> None:
    """The table for quick queries, and whose vectors they may be compared with."""
    save(table, "queries.npy", "query_scales.npy")
    np.save(TARGET / "query_bias.npy", bias)
    queries = {
        "for": teacher.fingerprint,
        "weight": QUERY_WEIGHT,
        "unrelated": {"mean": 0.55, "deviation": 0.045},
        "sha256": checksums("queries.npy", "query_bias.npy", "query_scales.npy"),
    }
    write_manifest({"queries": queries})


def save(table: Vectors, rows: str, scales: str) -> None:
    """The rows as int8, each with its own scale."""
    largest = np.abs(table).max(axis=1)
    by_row = (np.where(largest == 0, 1, largest) / 127).astype(np.float32)
    np.save(TARGET / rows, np.rint(table / by_row[:, None]).astype(np.int8))
    np.save(TARGET / scales, by_row)


def write_manifest(changed: dict[str, Any]) -> None:
    """The manifest as it was, but for what has changed."""
    path = TARGET / "manifest.json"
    before = json.loads(path.read_text("utf-8")) if path.exists() else {}
    path.write_text(json.dumps(before | changed, indent=2) + "\n", encoding="utf-8")


def checksums(*names: str) -> dict[str, str]:
    """The sha256 of each of these files of the package."""
    return {name: hashlib.sha256((TARGET / name).read_bytes()).hexdigest() for name in names}


if __name__ == "__main__":
    main()
