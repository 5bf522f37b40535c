"""Which project is this folder part of? One project has one namespace, whatever worktree or clone it is in.

Git's own files are read, git is not run: hooks ask this each time an agent starts.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

HERE = "."
"""The namespace of the project that the working folder is in, as a setting names it."""

_SCP = r"(?:[^@/]+@)?(?P<host>[^:/@\[\]]+):(?!//)(?P<path>.+)"
_SECTION = r'(?i)\[\s*remote\s+"(?P<name>[^"]*)"\s*\]'
_URL = r"""(?i)\s*url\s*=\s*"?(?P<url>[^"#;]*[^"#;\s])"""


def namespace_of(folder: Path) -> str:
    """The namespace of the project that a folder is in.

    In a git repository with a remote it is the remote's name ("github.com/owner/name"), so that clones and
    worktrees share it; else the name of the folder (of the main worktree, in a repository) with a few
    characters made from its path, so that two folders of one name are kept apart. A home folder or the root
    is nobody's project: there it is "default".
    """
    folder = folder.resolve()
    repository = find_repository(folder)
    if repository is None:
        return "default" if folder in (Path.home(), Path(folder.anchor)) else _by_path(folder)
    remote = _remote(repository)
    return remote or _by_path(_main_worktree(repository))


def find_repository(folder: Path) -> Path | None:
    """The folder where git keeps what all worktrees of a repository share; None outside of one."""
    home = Path.home()
    for each in (folder, *folder.parents):
        if each == home and folder != home:  # whoever keeps a home in git has no single project there
            return None
        marker = each / ".git"
        if marker.is_dir():
            return marker
        if marker.is_file():
            return _common(_pointed_at(marker))
        if _is_bare(each):
            return each
    return None


def named_by(url: str) -> str | None:
    """A remote's URL as a name without scheme, user, password or port; None for what names no host.

    >>> named_by("https://me:secret@github.com/Owner/name.git"), named_by("git@github.com:Owner/name")
    ('github.com/Owner/name', 'github.com/Owner/name')
    >>> named_by("../elsewhere")
    """
    if "://" in url:
        try:
            parts = urlsplit(url)
            host, path = parts.hostname, parts.path
        except ValueError:
            return None
    else:
        match = re.fullmatch(_SCP, url)
        host, path = (match["host"].lower(), match["path"]) if match else (None, "")
    path = path.strip("/").removesuffix(".git").strip("/")
    return f"{host}/{path}" if host and len(host) > 1 and path else None  # one letter is a drive


def _pointed_at(marker: Path) -> Path:
    """Where the `.git` file of a worktree or a submodule points."""
    text = _read(marker)
    return (marker.parent / text.removeprefix("gitdir:").strip()).resolve()


def _common(repository: Path) -> Path:
    shared = _read(repository / "commondir").strip()
    return (repository / shared).resolve() if shared else repository


def _is_bare(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def _main_worktree(repository: Path) -> Path:
    return repository.parent if repository.name == ".git" else repository


def _remote(repository: Path) -> str | None:
    """The name of the remote called origin, else of the only one."""
    found: dict[str, str] = {}
    current = None
    for line in _read(repository / "config").splitlines():
        if line.lstrip().startswith("["):
            section = re.match(_SECTION, line.strip())
            current = section["name"] if section else None
        elif current is not None and (match := re.match(_URL, line)):
            found.setdefault(current, match["url"])
    url = found.get("origin") or (next(iter(found.values())) if len(found) == 1 else "")
    return named_by(url)


def _by_path(folder: Path) -> str:
    import hashlib  # it loads OpenSSL, which a search can do without

    digest = hashlib.sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()
    name = re.sub(r"[^\w.+-]+", "-", folder.name.removesuffix(".git")).strip("-")
    return f"{name or 'folder'}-{digest[:8]}"


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
