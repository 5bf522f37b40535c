"""The house itself: what is exported, what importing costs, how the schema came about."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import apsw
import platformdirs
import pytest

import recollect
from recollect import config
from recollect.errors import ConfigError, RecollectError, StoreError
from recollect.store import migrate
from recollect.store.statements import queries, statement

SQLITE = Path(recollect.__file__).parent / "store" / "sqlite"
DATA = Path(__file__).parent / "data"
HEAVY = (
    "numpy",
    "apsw",
    "onnxruntime",
    "click",
    "rich",
    "Stemmer",
    "uuid_utils",
    "recollect.memories",
    "pytest",
)
NOT_FOR_A_SEARCH = (
    "numpy",
    "onnxruntime",
    "rich",
    "hashlib",
    "tomllib",
    "subprocess",
    "asyncio",
    "importlib.metadata",
    "html",
    "shutil",
    "tempfile",
    "random",
    "uuid_utils",
    "recollect.sectors",
    "recollect.query.strategy",
    "recollect.documents",
    "recollect.assembling",
    "recollect.missing",
    "recollect.embed.known",
    "recollect.embed.onnx",
    "recollect.store.dump",
    "recollect.store.undump",
    "recollect.store.copying",
    "recollect.store.sqlite.asking",
    "recollect.store.sqlite.upkeep",
    "recollect.store.sqlite.derived.building",
    "recollect.doors.plain",
)


def loaded_by(code: str) -> set[str]:
    """The heavy modules that a fresh interpreter has loaded after running some code."""
    report = f"{code}\nimport sys; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_costs_nothing() -> None:
    assert loaded_by("import recollect") == set()


def test_help_is_light() -> None:
    code = """
from recollect.doors.cli import main
try: main(["--help"])
except SystemExit: pass
print()"""
    assert loaded_by(code) & {"numpy", "apsw", "onnxruntime", "rich", "Stemmer"} == set()


def test_a_keyword_recall_loads_neither_model_nor_numpy(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with recollect.open(path, embedder="hash") as memories:
        memories.remember("The cache is warm")
    code = f"""
import recollect
with recollect.open({path!r}) as memories:
    assert memories.recall("cache", mode="keyword")
"""
    assert loaded_by(code) & {"onnxruntime", "numpy"} == set()


def test_a_program_that_goes_on_asking_has_numpy_loaded_once_that_pays(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with recollect.open(path, embedder="hash") as memories:
        memories.remember_many(["The cache is warm", "The cache is cold"])
    code = f"""
import sys
import recollect
from recollect.store.sqlite import store
store.WORTH_NUMPY = 5
with recollect.open({path!r}) as memories:
    for _ in range(4):
        assert len(memories.recall("cache", mode="keyword")) == 2
        print("numpy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True", "True"]


def test_a_keyword_search_loads_what_it_needs_and_no_more(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with recollect.open(path, embedder="hash") as memories:
        memories.remember("The cache is warm")
    code = f"""
from recollect.doors.cli import main
try: main(["search", "--store", {path!r}, "--mode", "keyword", "cache"])
except SystemExit: pass
import sys; print([name for name in {NOT_FOR_A_SEARCH!r} if name in sys.modules], file=sys.stderr)"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "The cache is warm" in done.stdout
    assert done.stderr.splitlines()[-1] == "[]"


def test_a_keyword_search_has_hardly_any_dataclass_made_in_full(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with recollect.open(path, embedder="hash") as memories:
        memories.remember("The cache is warm")
    code = f"""
import dataclasses
made, make = [], dataclasses.dataclass
def dataclass(kind=None, **how):
    if kind is None: return lambda kind: dataclass(kind, **how)
    made.append(kind.__name__)
    return make(kind, **how)
dataclasses.dataclass = dataclass
from recollect.doors.cli import main
try: main(["search", "--quiet", "--store", {path!r}, "--mode", "keyword", "cache"])
except SystemExit: print(*made)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {*done.stdout.split()[1:]} <= {"Door", "Question", "Word"}


@pytest.mark.parametrize("home", ["/home/ann", "/", "", "not/whole"])
@pytest.mark.parametrize("named", [None, "", "/elsewhere", "/else//where/", "not/whole", "~/data"])
def test_folders_are_those_that_the_platform_has(
    monkeypatch: pytest.MonkeyPatch, home: str, named: str | None
) -> None:
    monkeypatch.setenv("HOME", home)
    monkeypatch.delenv("RECOLLECT_TOKENS", raising=False)
    for kind in ("DATA", "CONFIG", "CACHE"):
        if named is None:
            monkeypatch.delenv(f"XDG_{kind}_HOME", raising=False)
        else:
            monkeypatch.setenv(f"XDG_{kind}_HOME", named)
    assert str(config.default_path().parent) == str(Path(platformdirs.user_data_dir("recollect", False)))
    assert str(config.user_file().parent) == str(Path(platformdirs.user_config_dir("recollect", False)))
    assert str(config.cache_folder()) == str(Path(platformdirs.user_cache_dir("recollect", False)))


def test_everything_in_all_is_there_and_documented() -> None:
    assert sorted(recollect.__all__, key=str) == sorted(set(recollect.__all__))
    for name in recollect.__all__:
        assert getattr(recollect, name).__doc__, name
    with pytest.raises(AttributeError):
        _ = recollect.nothing_of_the_kind


def test_every_error_is_of_our_tree_and_drawn_in_it() -> None:
    from recollect import errors

    drawing = errors.__doc__ or ""
    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, Exception):
            assert issubclass(value, RecollectError)
            assert name in drawing


def schema_of(connection: apsw.Connection) -> list[tuple[str, str]]:
    rows = connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
    return [(name, " ".join(re.sub("([(),])", r" \1 ", sql).split())) for name, sql in rows]


def test_migrations_and_schema_end_in_the_same_place() -> None:
    whole, stepwise = apsw.Connection(""), apsw.Connection("")
    whole.execute((SQLITE / "schema.sql").read_text())
    for _, sql in migrate.steps("recollect.store.sqlite"):
        stepwise.execute(sql)
    assert schema_of(whole) == schema_of(stepwise)


class AnyValue(dict[str, int]):
    """A value for every parameter."""

    def __missing__(self, name: str) -> int:
        return 1


def test_every_query_is_used_and_valid() -> None:
    source = "".join(path.read_text() for path in SQLITE.parent.rglob("*.py"))
    used_in_sql = (SQLITE / "queries.sql").read_text()
    connection = apsw.Connection("")
    connection.execute((SQLITE / "schema.sql").read_text())
    known = queries("recollect.store.sqlite")
    composed = ("dump_", "filter_", "check_", "mend_")
    for name in known:
        assert f'"{name}"' in source or f"{{{name}}}" in used_in_sql or name.startswith(composed), name
        if f"{{{name}}}" not in used_in_sql and not name.startswith("filter_"):
            every = frozenset(name.removeprefix("filter_") for name in known if "filter_" in name)
            connection.execute(f"EXPLAIN {statement('recollect.store.sqlite', name, every)}", AnyValue())


class TestConfig:
    @pytest.fixture(autouse=True)
    def nothing_set(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        for name in ("URL", "NAMESPACE", "EMBEDDER", "QUICK", "HOOKS", "CONFIG"):
            monkeypatch.delenv(f"RECOLLECT_{name}", raising=False)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
        (tmp_path / "work" / "deep").mkdir(parents=True)
        monkeypatch.chdir(tmp_path / "work" / "deep")

    def test_defaults(self) -> None:
        settings = config.load()
        assert settings.url.endswith("memory.db")
        assert (settings.namespace, settings.embedder) == ("default", "auto")

    def test_argument_over_environment_over_file(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "work" / "recollect.toml").write_text('url = "notes.db"\nnamespace = "file"\n')
        settings = config.load()
        assert settings.url == str(tmp_path / "work" / "notes.db")
        monkeypatch.setenv("RECOLLECT_NAMESPACE", "environment")
        assert config.load().namespace == "environment"
        settings = config.load(namespace="argument")
        assert settings.namespace == "argument"
        assert settings.origins == {
            "url": str(tmp_path / "work" / "recollect.toml"),
            "namespace": "argument",
            "embedder": "default",
            "quick": "default",
            "hooks": "default",
        }

    def test_the_default_store_is_made_with_its_folder(self, tmp_path: Path) -> None:
        with recollect.open(embedder="none") as memories:
            memories.remember("kept at home")
        assert (tmp_path / "data" / "recollect" / "memory.db").exists()

    @pytest.mark.parametrize("text", ["nonsense = 1", "url = 3", "url = ", "[broken", "quick = 1"])
    def test_a_bad_file_says_so(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "work" / "recollect.toml").write_text(text)
        with pytest.raises(ConfigError, match=r"recollect\.toml"):
            config.load()

    def test_an_unknown_kind_of_store(self) -> None:
        with pytest.raises(ConfigError, match="mongodb"):
            recollect.open("mongodb://localhost/x")

    def test_an_unknown_embedder(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="magic"):
            recollect.open(tmp_path / "memory.db", embedder="magic")

    def test_a_store_that_is_not_there_can_be_refused(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match="no store at"):
            recollect.open(tmp_path / "typo.db", create=False)
        assert not (tmp_path / "typo.db").exists()


@pytest.mark.parametrize("version", [1])
def test_a_store_that_an_earlier_version_wrote_is_read_and_written(tmp_path: Path, version: int) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes((DATA / f"store-{version}.db").read_bytes())
    with recollect.open(path, namespace="proj1") as memories:
        assert [hit.memory.id for hit in memories.recall("which port", limit=1)] == ["port-9090"]
        assert memories.recall("缓存", mode="keyword")[0].memory.id == "cache"
        assert memories.get("port-8080").superseded_by == "port-9090"
        assert memories.session("kickoff").summary == "Ports and walruses"
        assert memories.search_documents("feed the walrus")[0].memory.document == "guide.md"
        assert memories.doctor() == []
        assert memories.remember("The API listens on port 7070").embedded
