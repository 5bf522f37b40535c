"""In and out: documents, JSON lines of our own and of others."""

from __future__ import annotations

import errno
import gzip
import json
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from recollect.doors.cli import jsonl
from tests.test_cli import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, monkeypatch)


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


# ingest


def test_ingest_files_folders_and_standard_input(cli: Cli) -> None:
    notes = cli.folder / "notes"
    (notes / "deep").mkdir(parents=True)
    (notes / ".hidden").mkdir()
    for name in ("a.md", "deep/B.TXT", "c.rst", "d.markdown", "e.py", ".f.md", ".hidden/g.md"):
        (notes / name).write_text(f"# Title\n\nAbout {name} and kubernetes.\n")
    done = cli.json("ingest", "notes", "notes/e.py", "--meta", "team=ops")
    assert [each["document"]["name"] for each in done] == [
        str(Path("notes", *name.split("/"))) for name in ("a.md", "c.rst", "d.markdown", "deep/B.TXT", "e.py")
    ]
    assert (
        cli.out("ingest", "notes/a.md", "--meta", "team=ops")
        == f"{Path('notes/a.md')}  unchanged, 1 passage\n"
    )
    assert "replaced" in cli.out("ingest", "-", "--name", str(Path("notes/a.md")), input="Helm charts\n")
    text = cli.out("search", "helm", "--documents", "-l", "1")
    assert str(Path("notes/a.md")) in text and "Helm charts" in text
    only = cli.json("search", "kubernetes", "--document", str(Path("notes/c.rst")))["hits"]
    assert [hit["memory"]["document"] for hit in only] == [str(Path("notes/c.rst"))]
    assert only[0]["memory"]["metadata"] == {"team": "ops"}
    assert "1 document" in cli.out("forget", "--document", str(Path("notes/a.md")), "--yes")


def test_documents_are_listed_by_name(cli: Cli) -> None:
    cli.run("add", "A note is no document")
    assert cli.json("documents", code=1) == []
    assert "recollect ingest" in cli.run("documents", code=1).stderr
    for name, text in (("b.md", "# One\n\nFirst.\n\n# Two\n\nSecond."), ("a.md", "Alone.")):
        cli.run("ingest", "-", "--name", name, input=text)
    listed = [line.split() for line in cli.out("documents").splitlines()]
    assert [line[:2] for line in listed] == [["document", "passages"], ["a.md", "1"], ["b.md", "2"]]
    assert [each["name"] for each in cli.json("documents")] == ["a.md", "b.md"]


def test_ingest_goes_on_after_a_file_that_is_no_text(cli: Cli) -> None:
    for name, content in (("a.txt", b"\xff\xfe"), ("b.txt", b"fine text"), ("c.txt", b"  ")):
        (cli.folder / name).write_bytes(content)
    done = cli.run("ingest", str(cli.folder), code=2)
    assert "b.txt  added, 1 passage" in done.stdout
    assert done.stderr.count("Error: ") == 2


def test_ingest_asks_for_a_name_and_for_documents(cli: Cli) -> None:
    (cli.folder / "empty").mkdir()
    (cli.folder / "a.md").write_text("x")
    assert "--name NAME" in cli.error("ingest", "-", input="text")
    assert "one document alone" in cli.error("ingest", "a.md", "a.md", "--name", "x")
    assert "There is no document" in cli.run("ingest", "empty", code=1).stderr
    assert "does not exist" in cli.error("ingest", "nope.md")
    assert "is empty" in cli.error("ingest", "-", "--name", "x", input="")


# our own export


@pytest.fixture
def filled(cli: Cli) -> Cli:
    old = cli.add(
        "Größe: 数据库 \u202e", "--session", "s", "--tag", "x", "--meta", "a=b", "--at", "2026-01-01"
    )
    cli.run("supersede", old, "--text", "Something newer")
    cli.run("relate", old, cli.add("A third"))
    cli.run("search", "newer", "--in-session", "s")
    cli.run("ingest", "-", "--name", "doc", input="# One\n\nA passage.\n\n## Two\n\nAnother.\n")
    return cli


@pytest.mark.parametrize("name", ["backup.jsonl", "backup.jsonl.gz", "-"])
@pytest.mark.parametrize("vectors", [(), ("--vectors",)])
def test_an_export_comes_back_as_it_was(filled: Cli, name: str, vectors: tuple[str, ...]) -> None:
    before = filled.out("export", *vectors)
    assert json.loads(before.splitlines()[0]) == {"type": "recollect", "version": 1}
    if name != "-":
        assert filled.json("export", name, *vectors)["records"] == len(before.splitlines()) - 1
    counts = filled.json("import", name, "-n", "copy", input=before)
    assert (counts["memories"], counts["sessions"], counts["documents"]) == (5, 1, 1)
    assert filled.out("export", "-n", "copy", *vectors) == before
    assert filled.json("import", name, "-n", "copy", input=before)["memories already there"] == 5
    assert filled.out("doctor") == "all is well\n"


def test_an_export_to_a_file_is_complete_or_not_there(filled: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect.memories import Memories

    target = filled.folder / "backup.jsonl"
    target.write_text("the last one")

    def broken(self: Memories, *, vectors: bool = False) -> Any:
        yield {"type": "memory"}
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Memories, "export_records", broken)
        assert filled.error("export", str(target), code=3) == f"{target}: No space left on device."
    assert target.read_text() == "the last one"
    assert sorted(path.name for path in filled.folder.iterdir() if "part" in path.name) == []
    assert filled.out("export", str(target)).startswith(f"{target}  ")
    assert target.read_text("utf-8") == filled.out("export")


@pytest.mark.skipif(sys.platform == "win32", reason="devices")
def test_an_export_to_a_device_leaves_it_one(filled: Cli) -> None:
    filled.run("export", "/dev/null")
    assert not Path("/dev/null").is_file()


def test_whether_a_file_may_be_read_is_found_out_by_reading(
    filled: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", name)

    (filled.folder / "notes.jsonl").write_text('{"text": "a note"}\n')
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(jsonl, "reading", refuse)
    assert filled.error("import", "notes.jsonl", code=3) == "notes.jsonl: Permission denied."


def test_a_damaged_export_changes_nothing(filled: Cli) -> None:
    good = filled.out("export").splitlines(keepends=True)
    newer = good[0].replace("1}", "2}")
    for text, said in (
        ("".join([*good[:3], "{\n"]), "standard input, line 4: it is not JSON"),
        ("".join([*good[:3], '{"type": "thing"}\n']), "standard input, line 4: 'thing' is no type of record"),
        (
            "".join([*good[:3], '{"type": "memory", "id": "x"}\n']),
            "standard input, line 4: A memory record lacks",
        ),
        ("".join([*good[:3], '{"type": []}\n']), "standard input, line 4: [] is no type"),
        (newer, "This export has version 2"),
    ):
        assert filled.error("import", "-", "-n", "copy", input=text).startswith(said)
        assert filled.json("stats", "-n", "copy")["memories"] == 0


# what others wrote


def test_foreign_lines_become_memories(cli: Cli) -> None:
    text = lines(
        {"text": "one", "id": 7, "timestamp": 1767225600, "session_id": 3, "tags": ["x"], "score": 0.5},
        {"content": "two", "role": "user", "created_at": "2026-01-02", "metadata": {"a": 1}, "source": None},
    )
    assert cli.json("import", "-", input="\ufeff" + text.replace("\n", "\n\n")) == {"added": 2}
    one, two = cli.json("show", *(each["id"] for each in cli.json("timeline")))
    assert (one["created_at"], one["session"], one["tags"]) == ("2026-01-01T00:00:00+00:00", "3", ["x"])
    assert one["metadata"] == {"id": 7, "score": 0.5}
    assert (two["speaker"], two["metadata"]) == ("user", {"a": 1})


def test_foreign_ids_are_kept_when_asked_for(cli: Cli) -> None:
    (cli.folder / "x.jsonl.gz").write_bytes(gzip.compress(lines({"text": "one", "id": 7}).encode()))
    cli.run("import", "x.jsonl.gz", "--keep-ids")
    assert cli.json("show", "7")[0]["metadata"] == {}


def test_duplicates_are_merged_or_kept(cli: Cli) -> None:
    text = lines({"text": "the same"}, {"text": "the same"})
    assert cli.json("import", "-", input=text) == {"added": 1, "reinforced": 1}
    assert cli.json("import", "-", "--keep-duplicates", input=text) == {"added": 2}
    assert cli.out("import", "-", input=text) == "imported: reinforced 2\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"text": "fine"}\n\n{"texts": 1}', "line 3: it has neither text nor content."),
        ('{"text": "fine"}\n\n{"text": 1}', "line 3: The text must be a string"),
        ('{"text": "fine"}\n{"text": "x", "importance": 9}', "line 2: importance is 9"),
        ('{"text": "x", "importance": NaN}', "line 1: importance must be a number"),
        ('{"text": "x", "tags": 5}', "line 1: its tags are not a list."),
        ('{"text": "x", "tags": [5]}', "line 1: A tag must be a string"),
        ('{"text": "x", "metadata": 5}', "line 1: its metadata is not a JSON object."),
        ('{"text": "x", "timestamp": []}', "line 1: its created_at is not a time."),
        ('{"text": "x", "timestamp": 1e300}', "line 1: its created_at is not in seconds"),
        ('{"text": "x", "timestamp": "soon"}', "line 1: 'soon' is not a date"),
        ('{"text": "\\ud800"}', "line 1: The text contains half a character"),
        ('{"text": "a\\u0000b"}', "line 1: The text contains a NUL byte"),
        ("[1]", "line 1: it is not a JSON object."),
        ("{]", "line 1: it is not JSON (Expecting property name enclosed in double quotes at character 2)."),
        ("[" * 100_000, "line 1: it is not JSON that can be read"),
        (b'{"text": "\xff"}', "line 1: it is not UTF-8 text."),
        (b"\x1f\x8bnot really", "line 1: the compressed file is damaged"),
        (gzip.compress(b'{"text": "x"}\n' * 9, mtime=0)[:-9], "the compressed file is damaged"),
        ("", "standard input is empty: nothing was imported."),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_imported(cli: Cli, text: str | bytes, said: str) -> None:
    assert said in cli.error("import", "-", input=text)
    assert cli.json("stats")["memories"] == 0
