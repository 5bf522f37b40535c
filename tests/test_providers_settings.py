"""What is set for embedders: recollect.toml, the environment, names; and what `recollect config` shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import recollect
from recollect import config
from recollect.embed.base import find_embedder
from recollect.embed.known import MODELS, find_known
from recollect.embed.settings import Named
from recollect.errors import ConfigError, EmbedderUnavailable

from .test_cli import Cli
from .test_cli import cli as cli

KEY = "sk-test-1234567890abcdef"
DOCS = Path(__file__).parents[1] / "docs" / "embeddings.md"
VARIABLES = (
    "RECOLLECT_CONFIG", "RECOLLECT_EMBEDDER", "RECOLLECT_QUERY_CACHE", "RECOLLECT_URL", "RECOLLECT_NAMESPACE",
    "OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST",
)  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name in ("CONFIG", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.chdir(tmp_path)


def written(text: str) -> None:
    Path("recollect.toml").write_text(text)


class TestTheTable:
    def test_as_in_the_docs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MY_KEY", KEY)
        written("""
[embedder]
enabled = true
provider = "openai"
model = "text-embedding-3-small"
base_url = "http://localhost:8000/v1/"
dimensions = 512
api_key_env = "MY_KEY"
query_prefix = "Q: "
document_prefix = "D: "
batch = 16
timeout = 3
""")
        settings = config.load()
        assert settings.embedder == "openai:text-embedding-3-small@512"
        held = settings.embedding.held_for(Named.parse(settings.embedder))
        assert (held.query_prefix, held.document_prefix, held.batch, held.timeout) == ("Q: ", "D: ", 16, 3)
        access = settings.embedding.access["openai"]
        assert access.base_url == "http://localhost:8000/v1"
        assert access.key is not None
        assert access.key.reveal() == KEY

    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ('embedder = "ollama:nomic-embed-text"', "ollama:nomic-embed-text"),
            ('[embedder]\nprovider = "ollama"\nmodel = "bge-m3:latest"', "ollama:bge-m3:latest"),
            ('[embedder]\nenabled = false\nprovider = "ollama"\nmodel = "bge-m3"', "none"),
            ("[embedder]\nenabled = false", "none"),
            ("[embedder]\nenabled = true", "auto"),
            ("[embedder]\ncache = false", "auto"),
            ('[embedder]\nprovider = "static-s"', "static-s"),
            ('[embedder]\nprovider = "hash"\ndimensions = 64', "hash:64"),
            (
                '[embedder]\nprovider = "sentence-transformers"\nmodel = "BAAI/bge-m3"',
                "sentence-transformers:BAAI/bge-m3",
            ),
        ],
    )
    def test_names(self, text: str, name: str) -> None:
        written(text)
        assert config.load().embedder == name

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            (
                'provder = "ollama"',
                "sets 'provder' for the embedder, which is no setting: choose from",
            ),
            ('provider = "acme"', "names 'acme' as the embedder's provider: choose from openai, ollama"),
            ('provider = "ollama"', "name its model too"),
            ('model = "bge-m3"', "sets model for an embedder without its provider"),
            ('provider = "ollama"\nmodel = ""', "model to nothing"),
            ('provider = "ollama"\nmodel = 3', "model to 3: write a string in quotes"),
            ('enabled = "yes"', "write true or false, without quotes"),
            ('provider = "hash"\ndimensions = "64"', "write a whole number"),
            ('provider = "hash"\ndimensions = true', "write a whole number"),
            ('provider = "hash"\ndimensions = -1', "give more than 0"),
            ('provider = "ollama"\nmodel = "m"\ntimeout = "5"', "write a number of seconds"),
            ('provider = "ollama"\nmodel = "m"\ntimeout = inf', "give more than 0"),
            ('provider = "ollama"\nmodel = "m"\nbase_url = "localhost"', "write a whole address"),
            ('provider = "ollama"\nmodel = "m"\nbase_url = "ftp://x"', "write a whole address"),
            ('provider = "ollama"\nmodel = "m"\nbase_url = "http://x?key=secret"', "write a whole address"),
            ('provider = "fastembed"\nmodel = "m"\nbase_url = "http://x"', "runs on this machine"),
            ('provider = "arctic-s"\nmodel = "m"', "means nothing to arctic-s"),
            (
                'provider = "openai"\nmodel = "m"\napi_key_env = "sk-secret-1234"',
                "sets api_key_env to something else than the name of an environment variable",
            ),
        ],
    )
    def test_what_can_not_be_meant(self, text: str, sentence: str) -> None:
        written(f"[embedder]\n{text}")
        with pytest.raises(ConfigError, match=r"recollect\.toml .*" + re.escape(sentence)) as caught:
            config.load()
        assert "\n" not in str(caught.value)
        assert "secret" not in str(caught.value)

    def test_an_argument_or_the_environment_names_another_and_the_rest_holds_where_it_can(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        written("""
[embedder]
provider = "ollama"
model = "own"
base_url = "http://gpu:11434"
query_prefix = "Q: "
timeout = 3
""")
        monkeypatch.setenv("RECOLLECT_EMBEDDER", "ollama:other")
        settings = config.load()
        assert settings.embedder == "ollama:other"
        assert settings.embedding.access["ollama"].base_url == "http://gpu:11434"
        held = settings.embedding.held_for(Named.parse("ollama:other"))
        assert (held.query_prefix, held.timeout) == (None, 3)
        held = settings.embedding.held_for(Named.parse("openai:own"))
        assert (held.query_prefix, held.timeout) == (None, 10)
        assert settings.embedding.held_for(Named.parse("ollama:own")).query_prefix == "Q: "
        assert config.load(embedder="hash").embedder == "hash"


class TestFilesOfOthers:
    """A recollect.toml that came with a folder was not written by whoever works there."""

    TABLE = '[embedder]\nprovider = "openai"\nmodel = "m"\nbase_url = "{}"\napi_key_env = "MY_KEY"'

    @pytest.fixture(autouse=True)
    def a_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MY_KEY", KEY)

    def test_they_send_no_key_to_another_machine(self) -> None:
        written(self.TABLE.format("https://evil.example/v1"))
        settings = config.load()
        assert settings.embedding.access["openai"].key is None
        assert config.elsewhere(settings) == "https://evil.example/v1"
        with pytest.raises(EmbedderUnavailable, match="set OPENAI_BASE_URL to that, if it is meant"):
            find_embedder("openai:m", settings.embedding).embed(["text"])

    @pytest.mark.parametrize("way", ["here", "environment", "own file", "named file"])
    def test_a_machine_that_the_user_named_gets_it(
        self, way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        url = "http://127.0.0.1:8000/v1" if way == "here" else "https://proxy.example/v1"
        written(self.TABLE.format(url))
        if way == "environment":
            monkeypatch.setenv("OPENAI_BASE_URL", url)
        if way == "named file":
            monkeypatch.setenv("RECOLLECT_CONFIG", "recollect.toml")
        if way == "own file":
            config.user_file().parent.mkdir(parents=True)
            Path("recollect.toml").rename(config.user_file())
        settings = config.load()
        assert settings.embedding.access["openai"].key is not None
        assert config.elsewhere(settings) is None or way == "environment"

    @pytest.mark.parametrize(
        ("url", "machine"),
        [
            ("memory.db", None),
            ("postgresql://localhost/x", None),
            ("postgresql:///x", None),
            ("postgresql://me:secret@127.0.0.1:5/x", None),
            ("postgresql://me:secret@db.example/x", "postgresql://***@db.example/x"),
            ("postgresql:///x?host=evil.example", "postgresql:///x"),
            ("postgresql://localhost,evil.example/x", "postgresql://localhost,evil.example/x"),
            ("postgresql://127.0.0.1.evil.example/x", "postgresql://127.0.0.1.evil.example/x"),
        ],
    )
    def test_a_store_on_another_machine_is_noticed(
        self, url: str, machine: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        written(f'url = "{url}"')
        assert config.elsewhere(config.load()) == machine
        monkeypatch.setenv("RECOLLECT_URL", url)
        assert config.elsewhere(config.load()) is None


class TestTheEnvironment:
    def test_defaults(self) -> None:
        access = config.load().embedding.access
        assert access["openai"].base_url == "https://api.openai.com/v1"
        assert access["ollama"].base_url == "http://localhost:11434"
        assert access["openai"].key is None

    def test_the_usual_variables(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
        monkeypatch.setenv("OPENAI_BASE_URL", "https://proxy.example/v1")
        monkeypatch.setenv("OLLAMA_HOST", "gpu.example")
        access = config.load().embedding.access
        assert access["openai"].base_url == "https://proxy.example/v1"
        assert access["openai"].key is not None
        assert access["openai"].key.reveal() == KEY
        assert access["ollama"].base_url == "http://gpu.example:11434"

    @pytest.mark.parametrize(
        ("host", "url"),
        [
            ("0.0.0.0:5000", "http://127.0.0.1:5000"),
            (":5000", "http://localhost:5000"),
            ("http://box:1234/", "http://box:1234"),
            ("https://ollama.example", "https://ollama.example"),
            ("[::1]:5000", "http://[::1]:5000"),
        ],
    )
    def test_ollama_host_in_its_forms(self, monkeypatch: pytest.MonkeyPatch, host: str, url: str) -> None:
        monkeypatch.setenv("OLLAMA_HOST", host)
        assert config.load().embedding.access["ollama"].base_url == url

    def test_the_file_wins_over_variables_that_are_not_ours(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OLLAMA_HOST", "elsewhere")
        written('[embedder]\nprovider = "ollama"\nmodel = "m"\nbase_url = "http://here:1"')
        assert config.load().embedding.access["ollama"].base_url == "http://here:1"

    def test_a_key_that_is_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-é\u2028x")
        settings = config.load()
        with pytest.raises(EmbedderUnavailable, match="OPENAI_API_KEY has characters") as caught:
            find_embedder("openai:bge-m3", settings.embedding).embed(["text"])
        assert "sk-" not in str(caught.value)

    def test_an_address_that_is_none_is_shown_without_its_password(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", "https://me:secret@ho st/v1")
        settings = config.load()  # others may not use that provider at all
        with pytest.raises(EmbedderUnavailable, match="OPENAI_BASE_URL is set") as caught:
            find_embedder("openai:bge-m3", settings.embedding).embed(["text"])
        assert "secret" not in str(caught.value)

    def test_the_cache_can_be_switched_off(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        assert config.load().embedding.cache == tmp_path / "cache" / "recollect" / "queries.db"
        monkeypatch.setenv("RECOLLECT_QUERY_CACHE", "off")
        assert config.load().embedding.cache is None
        monkeypatch.delenv("RECOLLECT_QUERY_CACHE")
        written("[embedder]\ncache = false")
        assert config.load().embedding.cache is None


class TestNames:
    @pytest.mark.parametrize("name", ["ollama", "ollama:", "openai: ", "fastembed:@5"])
    def test_a_model_must_be_named(self, tmp_path: Path, name: str) -> None:
        if name == "fastembed:@5":
            assert Named.parse(name).model == "@5"
            return
        with pytest.raises(ConfigError, match="name the model too"):
            recollect.open(tmp_path / "memory.db", embedder=name)

    def test_dimensions_after_the_model(self) -> None:
        assert Named.parse("ollama:bge-m3:567m@256") == Named("ollama", "bge-m3:567m", 256)
        assert Named.parse("openai:textembedding-gecko@003") == Named("openai", "textembedding-gecko@003")
        assert str(Named.parse("openai:m@12")) == "openai:m@12"
        with pytest.raises(ConfigError, match="at most 16,000"):
            Named.parse("openai:m@99999")

    def test_an_unknown_name_lists_the_providers(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"ollama:<model>.*sentence-transformers:<model>"):
            recollect.open(tmp_path / "memory.db", embedder="magic:x")


class TestWhatIsShown:
    def test_what_is_in_force_and_never_the_key(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("RECOLLECT_EMBEDDER")
        monkeypatch.setenv("MY_KEY", KEY)
        (cli.folder / "recollect.toml").write_text("""
[embedder]
provider = "openai"
model = "bge-m3"
base_url = "http://me:secret@localhost:8000/v1"
api_key_env = "MY_KEY"
""")
        shown = cli.json("config")
        assert shown["embedder"] == {"value": "openai:bge-m3", "origin": str(cli.folder / "recollect.toml")}
        assert shown["embedder.base_url"]["value"] == "http://***@localhost:8000/v1"
        assert shown["embedder.api_key"]["value"] == "MY_KEY (set)"
        assert shown["embedder.timeout"] == {"value": "10 s", "origin": "default"}
        assert shown["embedder.base_url"]["origin"] == str(cli.folder / "recollect.toml")
        text = cli.out("config") + json.dumps(shown)
        assert KEY not in text
        assert "secret" not in text
        monkeypatch.delenv("MY_KEY")
        assert "MY_KEY (not set)" in cli.out("config")
        assert "embedder.base_url" not in cli.out("config", "--embedder", "hash")

    def test_the_table_of_models_in_the_docs_is_that_of_the_code(self) -> None:
        assert table_of_models() in DOCS.read_text()


def table_of_models() -> str:
    """As it stands in docs/embeddings.md; `python -m tests.test_providers_settings` prints it."""
    lines = [
        "| model | dimensions | tokens | before questions | before texts | languages |",
        "|---|---|---|---|---|---|",
    ]
    for model in MODELS:
        names = ", ".join(f"`{name}`" for name in model.names)
        size = f"{model.dimensions:,}" if model.dimensions else "by variant"
        size += " or fewer" if model.shortens else ""
        prefixes = [json.dumps(each) if each else "" for each in (model.query_prefix, model.document_prefix)]
        told = [f"`{each}`" if each else "–" for each in prefixes]
        languages = "English" if model.languages else "many"
        lines.append(f"| {names} | {size} | {model.max_tokens:,} | {told[0]} | {told[1]} | {languages} |")
    return "\n".join(line.replace(" | query", " \\| query").replace(" | text", " \\| text") for line in lines)


class TestKnownModels:
    def test_by_the_names_that_providers_use(self) -> None:
        assert find_known("nomic-ai/nomic-embed-text-v1.5") is find_known("nomic-embed-text:latest")
        assert find_known("Snowflake/snowflake-arctic-embed-m-v2.0").dimensions == 768
        assert find_known("Qwen/Qwen3-Embedding-0.6B").dimensions == 1024
        assert find_known("text-embedding-nomic-embed-text-v1.5").dimensions == 768
        assert find_known("sentence-transformers/all-MiniLM-L6-v2").dimensions == 384
        assert find_known("nobody/knows-this").dimensions is None

    def test_no_name_stands_for_two(self) -> None:
        names = [name for model in MODELS for name in model.names]
        assert len(names) == len(set(names))
        assert all(name == name.lower() for name in names)


if __name__ == "__main__":
    print(table_of_models())
