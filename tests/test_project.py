"""One project, one namespace: in every worktree, clone and folder of it, and in no other."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import recollect
from recollect.project import find_repository, named_by, namespace_of


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "src" / "deep").mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Begin")
    return folder


def test_every_folder_of_a_repository_has_one_namespace(repository: Path) -> None:
    assert namespace_of(repository) == namespace_of(repository / "src" / "deep")
    assert namespace_of(repository).startswith("shop-")


def test_worktrees_share_the_namespace_of_their_repository(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "elsewhere"), "-b", "feature")
    (tmp_path / "elsewhere" / "inside").mkdir()
    assert namespace_of(tmp_path / "elsewhere" / "inside") == namespace_of(repository)


def test_worktrees_of_a_bare_repository_share_one_too(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    git(tmp_path / "bare.git", "remote", "remove", "origin")
    for name in ("one", "two"):
        git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / name), "-b", name)
    found = {namespace_of(tmp_path / name) for name in ("one", "two", "bare.git")}
    assert len(found) == 1
    assert found.pop().startswith("bare-")


def test_clones_of_one_remote_are_one_project(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(repository, "remote", "add", "origin", "https://me:secret@example.org/team/shop.git")
    git(other, "remote", "add", "origin", "git@example.org:team/shop.git")
    assert namespace_of(repository) == namespace_of(other) == "example.org/team/shop"


def test_a_remote_by_another_name_counts_only_alone(repository: Path) -> None:
    git(repository, "remote", "add", "upstream", "ssh://git@example.org:2222/team/shop")
    assert namespace_of(repository) == "example.org/team/shop"
    git(repository, "remote", "add", "fork", "https://example.org/me/shop")
    assert namespace_of(repository).startswith("shop-")


def test_folders_of_the_same_name_are_kept_apart(tmp_path: Path) -> None:
    (tmp_path / "a" / "notes").mkdir(parents=True)
    (tmp_path / "b" / "notes").mkdir(parents=True)
    assert find_repository(tmp_path / "a" / "notes") is None
    assert namespace_of(tmp_path / "a" / "notes") != namespace_of(tmp_path / "b" / "notes")


def test_a_home_folder_is_nobodys_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert namespace_of(tmp_path) == namespace_of(Path(tmp_path.anchor)) == "default"


def test_a_submodule_is_a_project_of_its_own(repository: Path, tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.mkdir()
    git(part, "init", "-q")
    git(part, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "part")
    assert namespace_of(repository / "part") != namespace_of(repository)


@pytest.mark.parametrize(
    "url", ["", "/srv/git/shop.git", "file:///srv/shop", "https://[broken", "C:/git/shop"]
)
def test_what_names_no_host_names_no_project(url: str) -> None:
    assert named_by(url) is None


def test_a_broken_git_file_is_no_error(tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(b"gitdir: \xff\xfe nowhere")
    assert namespace_of(tmp_path)


def test_a_dot_means_the_project_of_the_working_folder(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "src")
    with recollect.open(":memory:", namespace=".", embedder="none") as memories:
        assert memories.namespace == namespace_of(repository)


def test_a_home_that_is_a_repository_makes_one_project_of_nothing(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "remote", "add", "origin", "git@example.org:me/dotfiles.git")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    assert namespace_of(tmp_path / "one") != namespace_of(tmp_path / "two")
    assert namespace_of(repository).startswith("shop-")
    assert namespace_of(tmp_path) == "example.org/me/dotfiles"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("url = git@example.org:team/my shop.git", "example.org/team/my shop"),
        ('url = "https://example.org/team/shop" ; why', "example.org/team/shop"),
        ("url=https://example.org/team/shop# why", "example.org/team/shop"),
    ],
)
def test_a_remote_as_git_reads_it(tmp_path: Path, line: str, expected: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(f'[remote "origin"]\n\t{line}\n')
    assert namespace_of(tmp_path) == expected
