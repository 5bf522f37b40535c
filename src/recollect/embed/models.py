"""Where the models are: data-only packages, found by their entry points and known by their manifests.

Nothing here reads weights or imports a package: a model's folder and manifest are all that is looked at.
"""

from __future__ import annotations

import json
import math
import re
import sys
from contextlib import suppress
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from recollect.errors import EmbedderFailed, EmbedderMissing
from recollect.frozen import dataclass

GROUP = "recollect.models"
PREPROCESSING = 1
"""Raised whenever the same weights would give other vectors: another way to cut texts, pool or scale."""

USUAL_WEIGHT = 0.6
"""How much the vectors of a model count beside keywords (0..1), unless its manifest says otherwise."""


@dataclass(frozen=True, slots=True)
class Unrelated:
    """The cosine of a question and a text that has nothing to do with it."""

    mean: float
    deviation: float

    def nearest(self, number: int) -> float:
        """What to expect of the nearest among so many such texts."""
        return self.mean + 0.42 * self.deviation * math.log(max(1, number))


@dataclass(frozen=True, slots=True)
class Queries:
    """A table for questions to the vectors of another model, known by its fingerprint, and their weight."""

    serves: str
    weight: float
    fingerprint: str
    unrelated: Unrelated | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """What is known of an installed model before its weights are read."""

    name: str
    dimensions: int
    max_tokens: int
    query_prefix: str
    languages: tuple[str, ...]
    weight: float
    unrelated: Unrelated | None
    fingerprint: str
    folder: Path
    queries: Queries | None = None

    def file(self, name: str) -> Path:
        """Where one of the model's files is."""
        return self.folder / name


class InstalledEmbedder:
    """What every embedder of an installed model says of itself."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.name = model.name
        self.dimensions = model.dimensions
        self.fingerprint = model.fingerprint
        self.query_prefix = model.query_prefix
        self.languages = model.languages
        self.weight = model.weight
        self.unrelated = model.unrelated


def package_of(name: str) -> str | None:
    """The package that holds the files of a model, where one says so in its entry points."""
    return _announced(name) or _announced_anywhere(name)


def _announced(name: str) -> str | None:
    """As the distribution says that has the model's name: reading those of all takes 40 ms, and this 2."""
    own = f"recollect_{name.replace('-', '_')}-*.dist-info/entry_points.txt"
    entry = rf"^\[{re.escape(GROUP)}\]\s*$(?:\n(?!\[).*)*?\n{re.escape(name)}\s*=\s*(\w+)\s*$"
    for file in chain.from_iterable(Path(folder).glob(own) for folder in sys.path):
        with suppress(OSError, UnicodeDecodeError):
            if found := re.search(entry, file.read_text("utf-8"), re.MULTILINE):
                return found[1]
    return None


def _announced_anywhere(name: str) -> str | None:
    from importlib.metadata import entry_points

    return next((entry.value for entry in entry_points(group=GROUP, name=name)), None)


def is_installed(name: str) -> bool:
    """Whether the package of a model is here, with its files."""
    return _folder(name) is not None


def find_model(name: str) -> Model:
    """The installed model of this name; EmbedderMissing when there is none."""
    folder = _folder(name)
    if folder is None:
        raise EmbedderMissing(
            f"the model {name} is not installed: pip install recollect-{name}, "
            f"or in a clone pip install ./models/recollect-{name}"
        )
    return read_manifest(folder)


def read_manifest(folder: Path) -> Model:
    """The model in a folder, as its ``manifest.json`` tells of it."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        return Model(
            name=manifest["name"],
            dimensions=manifest["dimensions"],
            max_tokens=manifest["max_tokens"],
            query_prefix=manifest["query_prefix"],
            languages=tuple(manifest.get("languages", ())),
            weight=manifest.get("weight", USUAL_WEIGHT),
            unrelated=_unrelated(manifest),
            fingerprint=_fingerprint(manifest["sha256"]),
            folder=folder,
            queries=_queries(manifest),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EmbedderFailed(
            f"the model in {folder} has no readable manifest.json; install its package again"
        ) from error


def _queries(manifest: dict[str, Any]) -> Queries | None:
    """Their files have checksums of their own: stored vectors do not depend on them."""
    found = manifest.get("queries")
    if found is None:
        return None
    fingerprint = _fingerprint(manifest["sha256"] | found["sha256"])
    return Queries(found["for"], found["weight"], fingerprint, _unrelated(found))


def _unrelated(manifest: dict[str, Any]) -> Unrelated | None:
    return Unrelated(**manifest["unrelated"]) if "unrelated" in manifest else None


def _folder(name: str) -> Path | None:
    package = package_of(name)
    spec = find_spec(package) if package else None
    locations = spec.submodule_search_locations if spec else None
    return Path(next(iter(locations))) if locations else None


def _fingerprint(checksums: dict[str, str]) -> str:
    import hashlib  # it loads OpenSSL, which a search can do without

    named = json.dumps([PREPROCESSING, sorted(checksums.items())])
    return hashlib.sha256(named.encode()).hexdigest()[:16]
