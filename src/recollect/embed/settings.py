"""What is set for embedders: read by config.py, used by whoever makes one. Nothing here reads anything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Final

from recollect.errors import ConfigError
from recollect.frozen import dataclass

REMOTE = ("openai", "ollama")
LIBRARIES = ("fastembed", "sentence-transformers")
PROVIDERS = (*REMOTE, *LIBRARIES)
"""Those that are named with a model: "ollama:nomic-embed-text"."""
BUILT_IN = ("arctic-s", "static-s", "hash")
MOST_DIMENSIONS = 16_000
"""As many as PostgreSQL's vectors may have."""
TIMEOUT = 10.0
OPENAI = "https://api.openai.com/v1"

_KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "enabled": bool,
    "provider": str,
    "model": str,
    "base_url": str,
    "dimensions": int,
    "api_key_env": str,
    "query_prefix": str,
    "document_prefix": str,
    "batch": int,
    "timeout": (int, float),
    "cache": bool,
}
_SAID = {bool: "true or false, without quotes", str: "a string in quotes", int: "a whole number"}


class Secret:
    """A value that is sent, and never shown."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself."""
        return self._value

    def __repr__(self) -> str:
        return "***"


@dataclass(frozen=True, slots=True)
class Access:
    """Where a remote provider is, and who says so; its key, and which variable holds it; what is wrong."""

    base_url: str
    key: Secret | None = None
    key_from: str = ""
    problem: str = ""
    origin: str = "default"

    @property
    def address(self) -> str:
        """Where it is, without a user and a password.

        >>> Access("https://me:secret@host/v1").address
        'https://host/v1'
        """
        return masked(self.base_url, "")


def masked(url: str, user: str = "***@") -> str:
    """An address that may be shown, without what may be a secret in it: its user, and what is asked of it.

    >>> masked("https://me:secret@host/v1?key=secret")
    'https://***@host/v1'
    """
    return re.sub(r"[?#].*", "", re.sub(r"(?<=//)[^/]*@", user, url))


@dataclass(frozen=True, slots=True)
class Named:
    """The name of a provider's model, taken apart.

    >>> Named.parse("openai:text-embedding-3-small@512")
    Named(provider='openai', model='text-embedding-3-small', dimensions=512)
    """

    provider: str
    model: str
    dimensions: int | None = None

    @classmethod
    def parse(cls, name: str) -> Named:
        """ConfigError when a part is missing. A number after the last @ is that of the dimensions wanted."""
        provider, _, model = name.partition(":")
        before, _, after = model.rpartition("@")
        dimensions = None
        if before and after.isascii() and after.isdigit() and after[0] != "0":
            model, dimensions = before, int(after)
        if not model.strip():
            example = "nomic-embed-text" if provider == "ollama" else "<model>"
            raise ConfigError(f"embedder {name!r}: name the model too, as in {provider}:{example}")
        if dimensions is not None and dimensions > MOST_DIMENSIONS:
            raise ConfigError(f"embedder {name!r}: at most {MOST_DIMENSIONS:,} dimensions can be kept")
        return cls(provider, model, dimensions)

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}" + (f"@{self.dimensions}" if self.dimensions else "")


@dataclass(frozen=True, slots=True)
class EmbedderSettings:
    """What [embedder] in recollect.toml and the environment say, besides which embedder it is.

    Prefixes hold for the model that they were set with; batch and timeout for its provider.
    """

    named: Named | None = None
    query_prefix: str | None = None
    document_prefix: str | None = None
    batch: int | None = None
    timeout: float = TIMEOUT
    access: Mapping[str, Access] = field(default_factory=dict)
    cache: Path | None = None
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where those that are not the defaults come from."""

    def held_for(self, named: Named) -> EmbedderSettings:
        """What of it holds for a model."""
        if self.named is None or self.named.provider != named.provider:
            return EmbedderSettings(access=self.access, cache=self.cache, origins=self.origins)
        return self if self.named.model == named.model else self.without_prefixes()

    @property
    def has_prefixes(self) -> bool:
        """Whether other prefixes are set than the model is known to want."""
        return self.query_prefix is not None or self.document_prefix is not None

    def without_prefixes(self) -> EmbedderSettings:
        """The same with the prefixes that the model itself is known to want."""
        return replace(self, query_prefix=None, document_prefix=None)


@dataclass(frozen=True, slots=True)
class Table:
    """[embedder] in a recollect.toml, checked: the embedder's name, None for any, and what else it says."""

    name: str | None
    options: Mapping[str, Any]

    @classmethod
    def read(cls, table: Mapping[str, Any], where: str) -> Table:
        """ConfigError, with the file's name, for what can't be meant."""
        for name, value in table.items():
            _check(name, value, where)
        if not table.get("enabled", True):
            return cls("none", table)
        provider = table.get("provider")
        if provider is None:
            stray = [name for name in table if name not in ("enabled", "cache")]
            if stray:
                raise ConfigError(
                    f"{where} sets {stray[0]} for an embedder without its provider: name that too."
                )
            return cls(None, table)
        if provider in PROVIDERS:
            return cls(_provided(table, where), table)
        return cls(_built_in(table, where), table)


def _check(name: str, value: object, where: str) -> None:
    if name not in _KINDS:
        raise ConfigError(
            f"{where} sets {name!r} for the embedder, which is no setting: choose from {', '.join(_KINDS)}."
        )
    kind = _KINDS[name]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        said = _SAID[kind] if isinstance(kind, type) else "a number of seconds"
        raise ConfigError(f"{where} sets the embedder's {name} to {value!r}: write {said}.")
    if name in ("provider", "model", "base_url") and not value:
        raise ConfigError(f"{where} sets the embedder's {name} to nothing: fill it in, or remove the line.")
    if name == "api_key_env" and not re.fullmatch(r"\w*", str(value)):
        raise ConfigError(
            f"{where} sets api_key_env to something else than the name of an environment variable, such as "
            "OPENAI_API_KEY: put the key into that variable, and its name here."
        )
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not 0 < value < float("inf"):
        raise ConfigError(f"{where} sets the embedder's {name} to {value}: give more than 0.")


def _provided(table: Mapping[str, Any], where: str) -> str:
    provider = table["provider"]
    if "model" not in table:
        raise ConfigError(f"{where} names {provider} as the embedder's provider: name its model too.")
    for name in ("base_url", "api_key_env"):
        if name in table and provider not in REMOTE:
            raise ConfigError(f"{where} sets {name}, but {provider} runs on this machine: remove the line.")
    named = f"{provider}:{table['model']}"
    return f"{named}@{table['dimensions']}" if "dimensions" in table else named


def _built_in(table: Mapping[str, Any], where: str) -> str:
    provider: str = table["provider"]
    if provider not in BUILT_IN:
        known = ", ".join((*PROVIDERS, *BUILT_IN))
        raise ConfigError(f"{where} names {provider!r} as the embedder's provider: choose from {known}.")
    allowed = {"enabled", "provider", "cache"} | ({"dimensions"} if provider == "hash" else set())
    stray = [name for name in table if name not in allowed]
    if stray:
        raise ConfigError(f"{where} sets {stray[0]}, which means nothing to {provider}: remove the line.")
    return f"{provider}:{table['dimensions']}" if "dimensions" in table else provider
