"""A file that is written in one step."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from recollect.doors import whole


@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_the_new_text_takes_the_place_of_the_old_with_the_mode_asked_for(
    tmp_path: Path, mode: int, durable: bool
) -> None:
    path = tmp_path / "settings.json"
    path.write_text("the old text, which is longer")
    whole.write(path, "Grüße\n", mode, durable=durable)
    assert path.read_bytes() == "Grüße\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert [*tmp_path.iterdir()] == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError("no space is left")

    path = tmp_path / "tokens.json"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        whole.write(path, "new")
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]
