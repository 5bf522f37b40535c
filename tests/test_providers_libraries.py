"""fastembed and sentence-transformers, where they are installed: with small models made on the spot, offline.

Both are heavy, so no test environment has to have them: `pip install 'recollect[fastembed]'` and
`pip install 'recollect[sentence-transformers]'` make these run.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect
from recollect.embed.base import Embedder, find_embedder
from recollect.embed.models import find_model, is_installed
from recollect.embed.settings import EmbedderSettings, Named
from recollect.errors import EmbedderError, EmbedderFailed

TEXTS = ["the cache is warm", "ports and walruses", "greetings to all of you"]


def library(name: str) -> Any:
    """A library, or a line that says why not."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    return pytest.importorskip(name, reason=f"{name} is not installed")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a sentence-transformers model of one small layer, random but always the same."""
    library("sentence_transformers")
    torch, transformers = library("torch"), library("transformers")
    folder = tmp_path_factory.mktemp("tiny")
    letters = "abcdefghijklmnopqrstuvwxyz"
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    (folder / "vocab.txt").write_text("\n".join([*special, *letters, *(f"##{each}" for each in letters)]))
    torch.manual_seed(1)
    shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    transformers.BertModel(transformers.BertConfig(vocab_size=57, **shape)).save_pretrained(folder / "bert")
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder / "bert")
    model = importlib.import_module("sentence_transformers").SentenceTransformer(str(folder / "bert"))
    model.prompts = {"query": "ask ", "document": "tell "}
    model.save(str(folder / "model"))
    return str(folder / "model")


@pytest.mark.filterwarnings("default")
class TestSentenceTransformers:
    def test_vectors_are_those_of_the_library(self, tiny: str) -> None:
        embedder = find_embedder(f"sentence-transformers:{tiny}", EmbedderSettings())
        vectors = embedder.embed(TEXTS)
        assert embedder.dimensions == 32
        assert vectors.shape == (3, 32)
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        model = importlib.import_module("sentence_transformers").SentenceTransformer(tiny)
        assert np.allclose(vectors, model.encode_document(TEXTS, normalize_embeddings=True), atol=1e-5)

    def test_its_own_prompts_are_used_unless_others_are_set(self, tiny: str) -> None:
        name = f"sentence-transformers:{tiny}"
        own: Any = find_embedder(name, EmbedderSettings())
        assert np.allclose(own.embed_query("why"), encoded(tiny, "ask why"), atol=1e-5)
        settings = EmbedderSettings(
            Named("sentence-transformers", tiny), query_prefix="q ", document_prefix=""
        )
        told: Any = find_embedder(name, settings)
        assert np.allclose(told.embed_query("why"), encoded(tiny, "q why"), atol=1e-5)
        assert np.allclose(told.embed(["why"])[0], encoded(tiny, "why"), atol=1e-5)
        assert told.fingerprint != own.fingerprint

    def test_fewer_dimensions(self, tiny: str) -> None:
        embedder = find_embedder(f"sentence-transformers:{tiny}@16", EmbedderSettings())
        assert embedder.embed(TEXTS).shape == (3, 16)

    def test_a_store_is_written_and_asked(self, tiny: str, tmp_path: Path) -> None:
        path, name = tmp_path / "memory.db", f"sentence-transformers:{tiny}"
        with recollect.open(path, embedder=name) as memories:
            assert all(item.embedded for item in memories.remember_many(TEXTS))
        with recollect.open(path, embedder="auto") as memories:
            found = memories.recall("the cache is warm", mode="semantic")
            assert found[0].memory.content == TEXTS[0]
            assert memories.stats().embedder == name

    def test_a_model_that_is_not_there(self, tmp_path: Path) -> None:
        library("sentence_transformers")
        missing = find_embedder(f"sentence-transformers:{tmp_path / 'nothing'}", EmbedderSettings())
        with pytest.raises(EmbedderFailed, match="can't be loaded"):
            missing.embed(["text"])


def encoded(folder: str, text: str) -> Any:
    model = importlib.import_module("sentence_transformers").SentenceTransformer(folder)
    return model.encode(text, prompt="", normalize_embeddings=True)


@pytest.mark.filterwarnings("default")
class TestFastembed:
    @pytest.fixture
    def added(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
        """The model arctic-s, added to fastembed's list: the same weights, run by another library."""
        fastembed = library("fastembed")
        if not is_installed("arctic-s"):
            pytest.skip("recollect-arctic-s is not installed")
        description = importlib.import_module("fastembed.common.model_description")
        name, folder = "recollect-test/arctic-s", find_model("arctic-s").folder
        if not any(each["model"] == name for each in fastembed.TextEmbedding.list_supported_models()):
            fastembed.TextEmbedding.add_custom_model(
                model=name,
                pooling=description.PoolingType.CLS,
                normalization=True,
                sources=description.ModelSource(hf=name),
                dim=384,
                model_file="model_int8.onnx",
            )
        given = _with_tokenizer(folder, tmp_path)
        real = fastembed.TextEmbedding
        monkeypatch.setattr(
            fastembed, "TextEmbedding", lambda model: real(model, specific_model_path=str(given))
        )
        return name

    def test_vectors_are_those_of_the_model(self, added: str) -> None:
        embedder = find_embedder(f"fastembed:{added}", EmbedderSettings())
        vectors = embedder.embed(TEXTS)
        assert embedder.dimensions == 384
        ours: Embedder = find_embedder("arctic-s")
        assert ((vectors * ours.embed(TEXTS)).sum(axis=1) > 0.98).all()

    def test_a_model_that_is_not_on_its_list(self) -> None:
        library("fastembed")
        with pytest.raises(EmbedderError, match="can't be loaded"):
            find_embedder("fastembed:no/such-model", EmbedderSettings()).embed(["text"])


def _with_tokenizer(folder: Path, place: Path) -> Path:
    """The model's files beside the tokenizer files that fastembed wants."""
    tokenizers = library("tokenizers")
    shutil.copy(folder / "model_int8.onnx", place)
    tokenizer = tokenizers.BertWordPieceTokenizer(str(folder / "vocab.txt"), lowercase=True)
    tokenizer.save(str(place / "tokenizer.json"))
    (place / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    told = {"model_max_length": 512, "pad_token": "[PAD]"}
    (place / "tokenizer_config.json").write_text(json.dumps(told))
    (place / "special_tokens_map.json").write_text(json.dumps({"pad_token": "[PAD]"}))
    return place
