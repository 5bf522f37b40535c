"""Settings: the only reader of the environment and of recollect.toml.

An argument wins over the environment, the environment over recollect.toml (the nearest one from the working
folder upwards, else the user's own), and that over the defaults.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from recollect import project
from recollect.embed.settings import OPENAI, TIMEOUT, Access, EmbedderSettings, Named, Secret, Table, masked
from recollect.errors import ConfigError
from recollect.frozen import dataclass

FILE_NAME = "recollect.toml"
OLLAMA_PORT = 11434
_XDG = {
    "data": ("XDG_DATA_HOME", ".local/share"),
    "config": ("XDG_CONFIG_HOME", ".config"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}


@dataclass(frozen=True, slots=True)
class Config:
    """What a store is opened with, and where each setting came from."""

    url: str
    namespace: str = "default"
    embedder: str = "auto"
    quick: bool = False
    hooks: bool = True
    origins: Mapping[str, str] | None = None
    embedding: EmbedderSettings = field(default_factory=EmbedderSettings)


SETTINGS = tuple(name for name in Config.__slots__ if name not in ("origins", "embedding"))
SWITCHES = ("quick", "hooks")
"""Those settings that are on or off."""
_ON_OR_OFF = {"1": True, "true": True, "yes": True, "on": True}
_ON_OR_OFF |= {"0": False, "false": False, "no": False, "off": False}


def load(**given: str | bool | None) -> Config:
    """The settings in force; `given` are those of the caller, None where they say nothing."""
    usual = Config(str(default_path()))
    values: dict[str, Any] = {name: getattr(usual, name) for name in SETTINGS}
    origins = dict.fromkeys(values, "default")
    path = find_file()
    from_file, table = _from_file(path) if path else ({}, {})
    for origin, source in (
        (str(path), from_file),
        ("environment", _from_environment()),
        ("argument", {name: value for name, value in given.items() if value is not None}),
    ):
        for name, value in source.items():
            values[name], origins[name] = value, origin
    if values["namespace"] == project.HERE:
        values["namespace"] = project.namespace_of(Path.cwd())
    embedding = _embedding(table, str(path), is_own=path is None or _is_own(path))
    return Config(**values, origins=origins, embedding=embedding)


def _is_own(path: Path) -> bool:
    """Whether a file was chosen by the user, and did not just come with the folder that they work in."""
    return bool(os.environ.get("RECOLLECT_CONFIG")) or path == user_file()


def elsewhere(config: Config) -> str | None:
    """The other machine that texts would go to because the file of a folder says so, if there is one.

    Whoever works in a folder has looked at it; a hook that runs by itself in every folder has not.
    """
    path = find_file()
    if path is None or _is_own(path):
        return None
    provider = config.embedder.partition(":")[0]
    access = config.embedding.access.get(provider)
    named = [config.url] if (config.origins or {}).get("url") == str(path) else []
    named += [access.base_url] if access and access.origin == str(path) else []
    return next((masked(without_password(url)) for url in named if not _is_here(url)), None)


def _is_here(url: str) -> bool:
    """Whether a file or a server is on this machine.

    >>> _is_here("notes.db"), _is_here("http://localhost:11434"), _is_here("postgresql://db.example.org/x")
    (True, True, False)
    """
    if "://" not in url:
        return True
    if re.search(r"[?&](host|hostaddr|service)=", url):
        return False
    host = re.sub(r"^[^:]*://([^/@]*@)?(\[[^]]*\]|[^/:?#]*).*$", r"\2", url).lower()
    return host in ("", "localhost", "[::1]") or re.fullmatch(r"127(\.\d+){3}", host) is not None


def default_path() -> Path:
    """The default store, in the platform's folder for a user's data."""
    return _folder("data") / "memory.db"


def user_file() -> Path:
    """The user's own settings."""
    return _folder("config") / FILE_NAME


def tokens_file() -> Path:
    """Where the tokens of the HTTP server are: named by RECOLLECT_TOKENS, else beside the user's data."""
    named = os.environ.get("RECOLLECT_TOKENS")
    return Path(named) if named else _folder("data") / "tokens.json"


def token() -> str | None:
    """The token of the HTTP server, where RECOLLECT_TOKEN gives one."""
    return os.environ.get("RECOLLECT_TOKEN") or None


def find_file() -> Path | None:
    """The recollect.toml in force: named by RECOLLECT_CONFIG, the nearest upwards, or the user's own."""
    named = os.environ.get("RECOLLECT_CONFIG")
    if named:
        path = Path(named)
        if not path.is_file():
            raise ConfigError(f"RECOLLECT_CONFIG names {named}, which is not a file.")
        return path
    here = Path.cwd()
    candidates = [folder / FILE_NAME for folder in (here, *here.parents)] + [user_file()]
    return next((candidate for candidate in candidates if os.path.isfile(candidate)), None)  # noqa: PTH113


def _from_environment() -> dict[str, str | bool]:
    found = {name: os.environ.get(f"RECOLLECT_{name.upper()}") for name in SETTINGS}
    return {
        name: _switch(f"RECOLLECT_{name.upper()}", value) if name in SWITCHES else value
        for name, value in found.items()
        if value
    }


def _switch(name: str, value: str) -> bool:
    if value.lower() not in _ON_OR_OFF:
        raise ConfigError(f"{name} is {value!r}: set it to true or false.")
    return _ON_OR_OFF[value.lower()]


def _from_file(path: Path) -> tuple[dict[str, str | bool], Mapping[str, Any]]:
    """Its settings, and what the table [embedder] says besides the embedder's name."""
    import tomllib

    try:
        settings: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{path} can't be read ({error}): mend it, or remove it.") from error
    table = _table(settings, str(path))
    for name, value in settings.items():
        if name not in SETTINGS:
            raise ConfigError(
                f"{path} sets {name!r}, which is no setting: choose from {', '.join(SETTINGS)}."
            )
        if name in SWITCHES:
            if not isinstance(value, bool):
                raise ConfigError(f"{path} sets {name} to {value!r}: write true or false, without quotes.")
        elif not isinstance(value, str) or not value:
            raise ConfigError(f"{path} sets {name} to {value!r}: give a string in quotes.")
    if "url" in settings and "://" not in settings["url"]:
        try:
            settings["url"] = str(path.parent / Path(settings["url"]).expanduser())
        except RuntimeError:
            raise ConfigError(
                f"{path} names a home folder that is not there: write the path in full."
            ) from None
    return settings, table


def _table(settings: dict[str, Any], where: str) -> Mapping[str, Any]:
    """What [embedder] says; in the settings, the embedder's name takes its place."""
    if not isinstance(settings.get("embedder"), dict):
        return {}
    table = Table.read(settings.pop("embedder"), where)
    if table.name is not None:
        settings["embedder"] = table.name
    return table.options


def _embedding(table: Mapping[str, Any], where: str, *, is_own: bool) -> EmbedderSettings:
    """What is set for providers: by the table, else by the variables that they are known for."""
    provider = table.get("provider")
    return EmbedderSettings(
        named=Named(provider, table["model"]) if provider and "model" in table else None,
        query_prefix=table.get("query_prefix"),
        document_prefix=table.get("document_prefix"),
        batch=table.get("batch"),
        timeout=float(table.get("timeout", TIMEOUT)),
        access={
            name: _access(name, table if provider == name else {}, where, is_own=is_own)
            for name in ("openai", "ollama")
        },
        cache=_cache(table),
        origins=dict.fromkeys(table, where)
        | ({"cache": "environment"} if os.environ.get("RECOLLECT_QUERY_CACHE") else {}),
    )


def _access(provider: str, table: Mapping[str, Any], where: str, *, is_own: bool) -> Access:
    """Where a provider is. What only the environment has wrong is said when somebody asks that provider.

    A file that came with a folder can't send a key to another machine: the environment must name that too.
    """
    variable: str = table.get("api_key_env", "OPENAI_API_KEY" if provider == "openai" else "")
    named = "OPENAI_BASE_URL" if provider == "openai" else "OLLAMA_HOST"
    usual = os.environ.get(named, "")
    usual = (usual or OPENAI) if provider == "openai" else _ollama_url(usual)
    url, problem = str(table.get("base_url", usual)).strip().rstrip("/"), ""
    if not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", url):
        source = f"{where} sets base_url" if "base_url" in table else f"{named} is set"
        problem = f"{source} to {masked(url)!r}: write a whole address, such as http://host:8000/v1"
        if "base_url" in table:
            raise ConfigError(f"{problem}.")
    key = os.environ.get(variable, "").strip() if variable else ""
    if not (key.isascii() and key.isprintable()):
        problem, key = f"{variable} has characters that no key has: set it again", ""
    origin = where if "base_url" in table else named if os.environ.get(named) else "default"
    if key and origin == where and not (is_own or _is_here(url) or url == usual.strip().rstrip("/")):
        problem, key = f"{where} sends {variable} to {masked(url)}: set {named} to that, if it is meant", ""
    return Access(url, Secret(key) if key else None, variable, problem, origin)


def _ollama_url(host: str) -> str:
    """Where a client finds the server that OLLAMA_HOST tells to listen.

    >>> _ollama_url(""), _ollama_url("0.0.0.0"), _ollama_url("https://gpu.example")
    ('http://localhost:11434', 'http://127.0.0.1:11434', 'https://gpu.example')
    """
    scheme, _, rest = host.strip().rstrip("/").rpartition("://")
    place, port = re.sub(r":\d*$", "", rest), re.search(r":(\d+)$", rest)
    place = {"": "localhost", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(place, place)
    number = f":{port[1]}" if port else "" if scheme else f":{OLLAMA_PORT}"
    return f"{scheme or 'http'}://{place}{number}"


def _cache(table: Mapping[str, Any]) -> Path | None:
    """Where vectors of questions are kept; None where that is switched off."""
    switch = os.environ.get("RECOLLECT_QUERY_CACHE")
    wanted = _switch("RECOLLECT_QUERY_CACHE", switch) if switch else bool(table.get("cache", True))
    if not wanted:
        return None
    return cache_folder() / "queries.db"


def cache_folder() -> Path:
    """Where what can be made anew is kept for the next process."""
    return _folder("cache")


def _folder(kind: Literal["data", "config", "cache"]) -> Path:
    """The platform's folder for such files of a user; on Linux, without importing what knows others."""
    variable, usual = _XDG[kind]
    if sys.platform == "linux" and "ANDROID_DATA" not in os.environ:
        named, home = os.environ.get(variable, ""), os.environ.get("HOME", "")
        if named.startswith("/"):
            return Path(named, "recollect")
        if home.startswith("/") and not named:
            return Path(home, usual, "recollect")
    import platformdirs

    return Path(getattr(platformdirs, f"user_{kind}_dir")("recollect", appauthor=False))


def shown(config: Config) -> dict[str, tuple[str | bool, str]]:
    """Every setting in force, as it may be shown, and where it comes from; never a password or a key."""
    origins = config.origins or {}
    found: dict[str, tuple[str | bool, str]] = {
        name: (getattr(config, name), origins.get(name, "")) for name in SETTINGS
    }
    found["url"] = (without_password(config.url), origins.get("url", ""))
    provider = config.embedder.partition(":")[0]
    access = config.embedding.access.get(provider)
    if access is None:
        return found
    held = config.embedding.held_for(Named.parse(config.embedder))
    is_set = "set" if access.key else "not set"
    details = {
        "base_url": masked(access.base_url),
        "api_key": f"{access.key_from} ({is_set})" if access.key_from else "none",
        "timeout": f"{held.timeout:g} s",
        "batch": str(held.batch) if held.batch else None,
        "query_prefix": held.query_prefix,
        "document_prefix": held.document_prefix,
        "cache": str(held.cache) if held.cache else "off",
    }
    origins = dict(held.origins) | {
        "base_url": access.origin,
        "api_key": "environment" if access.key_from else "default",
    }
    return found | {
        f"embedder.{name}": (value, origins.get(name, "default"))
        for name, value in details.items()
        if value is not None
    }


def without_password(value: str) -> str:
    """A URL that may be shown.

    >>> without_password("postgresql://me:secret@host/db")
    'postgresql://me:***@host/db'
    >>> without_password("postgresql://host/db?user=me&password=secret")
    'postgresql://host/db?user=me&password=***'
    """
    value = re.sub(r"(?<=:/)(/?[^/@:]*):.*@", r"\1:***@", value)
    return re.sub(r"([?&](?:ssl)?password=)[^&]*", r"\1***", value)
