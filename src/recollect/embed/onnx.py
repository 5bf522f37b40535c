"""The default embedder: a BERT model run by onnxruntime, the first token's vector at unit length.

Every text runs in a batch of its own. The model's activations are quantised by the largest value in the
batch, so a text that shared one would get a slightly different vector each time; and two texts side by
side on two threads are faster than the same two padded into one batch (docs/embeddings.md).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect import config
from recollect.embed.graphs import Errors, Graphs
from recollect.embed.models import InstalledEmbedder, Model
from recollect.embed.wordpiece import WordPieces
from recollect.errors import EmbedderFailed, EmbedderMissing

_BULK = 32
_MOST_THREADS_FOR_ONE_TEXT = 4
_SHORT = 64
"""Word pieces, as questions have: handing parts of so little to other threads takes as long as doing them."""

_loading = Lock()
_sessions: dict[tuple[str, int], Any] = {}
_vocabularies: dict[str, WordPieces] = {}


class OnnxEmbedder(InstalledEmbedder):
    """Runs an installed model. Weights load at the first ``embed`` and are shared by the process."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, in order: a few texts one after the other, many side by side."""
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        if not texts:
            return vectors
        pieces = _vocabulary(self._model)
        numbers = [pieces.encode(text, self._model.max_tokens) for text in texts]
        if len(texts) < _BULK or _cores() == 1:
            for row, text_numbers in enumerate(numbers):
                session = _session(self._model, _threads_for(text_numbers))
                vectors[row] = _first_token(session, text_numbers)
        else:
            _embed_side_by_side(_session(self._model, 1), numbers, vectors)
        return _unit_rows(vectors)


def _threads_for(numbers: list[int]) -> int:
    return 1 if len(numbers) <= _SHORT else min(_cores(), _MOST_THREADS_FOR_ONE_TEXT)


def _embed_side_by_side(session: Any, numbers: list[list[int]], vectors: NDArray[np.float32]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    longest_first = sorted(range(len(numbers)), key=lambda row: -len(numbers[row]))

    def fill(row: int) -> None:
        vectors[row] = _first_token(session, numbers[row])

    pool = ThreadPoolExecutor(_cores(), thread_name_prefix="recollect-embed")
    try:
        for _ in pool.map(fill, longest_first):
            pass
    finally:
        pool.shutdown(cancel_futures=True)


def _first_token(session: Any, numbers: list[int]) -> NDArray[np.float32]:
    import onnxruntime

    ids = np.array([numbers], dtype=np.int64)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    try:
        (hidden,) = session.run(["last_hidden_state"], inputs)
    except _errors_of(onnxruntime) as error:
        raise EmbedderFailed(
            f"onnxruntime failed on a text of {len(numbers)} word pieces: {error}"
        ) from error
    first: NDArray[np.float32] = hidden[0, 0]
    return first


def _unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths: NDArray[np.float32] = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise EmbedderFailed("the model gave a vector that has no direction; install its package again")
    return vectors / lengths


def _vocabulary(model: Model) -> WordPieces:
    with _loading:
        if model.fingerprint not in _vocabularies:
            _vocabularies[model.fingerprint] = WordPieces.from_file(model.file("vocab.txt"))
        return _vocabularies[model.fingerprint]


def _session(model: Model, threads: int) -> Any:
    """The model, ready to run, loaded once a process for each number of threads that one text may use."""
    with _loading:
        key = (model.fingerprint, threads)
        if key not in _sessions:
            _sessions[key] = _load(model, threads)
        return _sessions[key]


def _load(model: Model, threads: int) -> Any:
    # onnxruntime reports on the machine to its maker unless this is set before it is first imported.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime
    except ImportError as error:
        raise EmbedderMissing(
            f"{model.name} runs on onnxruntime, which can't be imported: pip install onnxruntime"
        ) from error

    def options() -> Any:
        made = onnxruntime.SessionOptions()
        made.intra_op_num_threads = threads
        made.inter_op_num_threads = 1
        made.log_severity_level = 3
        made.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return made

    def start(path: Path, how: Any) -> Any:
        return onnxruntime.InferenceSession(str(path), how, providers=["CPUExecutionProvider"])

    errors: Errors = (OSError, *_errors_of(onnxruntime))
    try:
        kept = Graphs(config.cache_folder() / "graphs", onnxruntime)
        return kept.start(model.file("model_int8.onnx"), options, start, errors)
    except errors as error:
        raise EmbedderFailed(
            f"{model.name} can't be loaded; pip install --force-reinstall recollect-{model.name}: {error}"
        ) from error


def _errors_of(onnxruntime: Any) -> tuple[type[Exception], ...]:
    """onnxruntime's own exceptions: they have no common base but Exception."""
    state = onnxruntime.capi.onnxruntime_pybind11_state
    return tuple(
        value for value in vars(state).values() if isinstance(value, type) and issubclass(value, Exception)
    )


def _cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
