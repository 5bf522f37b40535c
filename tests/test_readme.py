"""The README is true: its samples run, and what they are said to print is what they print."""

from __future__ import annotations

import contextlib
import io
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

import recollect
from recollect.doors.cli import render
from recollect.doors.cli.why import explained
from recollect.types import Filters

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def block_after(text: str) -> str:
    """The first code block after some text, without its fences."""
    rest = README[README.index(text) + len(text) :]
    found = re.search(r"```\w*\n(.*?)```", rest, re.DOTALL)
    assert found is not None
    return found.group(1)


NUMBER = re.compile(r"\d+\.\d+(?:e-\d+)?")


def words_of(text: str) -> list[str]:
    """A text without its decimals and without how wide its columns are."""
    return NUMBER.sub("#", text).split()


def numbers_of(text: str) -> list[float]:
    """The decimals of a text."""
    return [float(number) for number in NUMBER.findall(text)]


def test_the_first_sample_prints_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RECOLLECT_EMBEDDER", raising=False)
    code = re.search(r"```python\n(import recollect.*?)```", README, re.DOTALL)
    assert code is not None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code.group(1), "README.md", "exec"), {})
    assert printed.getvalue() == block_after(code.group(0))


def test_the_explained_search_is_real_output(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder="arctic-s", clock=lambda: NOW) as memories:
        for id, text, at in (
            ("port-8080", "The API listens on port 8080", "2026-10-20T09:00"),
            ("port-9090", "The API listens on port 9090", "2026-11-12T09:00"),
            ("rates", "Rate limits of the API are in src/gateway/limits.py", "2026-11-03T09:00"),
        ):
            memories.remember(text, id=id, created_at=at)
        memories.supersede("port-8080", "port-9090")
        found = memories.recall("which port does the API use?", include_superseded=True)
        printed = "\n".join([*render.hits(found), *explained(found)])
    sample = block_after("every number that its score is made of:")
    command, _, output = sample.partition("\n")
    assert command == '$ recollect search "which port does the API use?" --superseded --why'
    assert words_of(output) == words_of(printed), printed
    # Processors round a quantised model differently in the third place.
    assert numbers_of(output) == pytest.approx(numbers_of(printed), abs=0.02), printed


def test_the_pages_that_it_names_are_there() -> None:
    for page in re.findall(r"\]\(([\w/.]+\.md)\)", README):
        assert (ROOT / page).is_file(), page


def test_what_is_said_of_recall_is_all_there_is() -> None:
    described = README[README.index("`recall` takes") :].partition("\n\n")[0]
    for name in ("mode", "fusion", "weights", "threshold", "neighbours", "rerank", "expand", "reinforce"):
        assert f"`{name}=" in described
    for name in Filters.__annotations__:
        assert f"`{name}`" in described, name


def test_the_settings_are_those_there_are() -> None:
    from recollect.config import SETTINGS

    sample = block_after("folder for settings:")
    assert [line.split(" = ")[0] for line in sample.splitlines()] == list(SETTINGS)
