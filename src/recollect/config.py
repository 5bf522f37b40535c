"""Settings: the only reader of the environment and of recollect.toml.

An argument wins over the environment, the environment over recollect.toml (the nearest one from the working
folder upwards, else the user's own), and that over the defaults.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from recollect import project
from recollect.errors import ConfigError

FILE_NAME = "recollect.toml"


@dataclass(frozen=True, slots=True)
class Config:
    """What a store is opened with, and where each setting came from."""

    url: str
    namespace: str = "default"
    embedder: str = "auto"
    quick: bool = False
    hooks: bool = True
    origins: Mapping[str, str] | None = None


SETTINGS = tuple(field.name for field in fields(Config) if field.name != "origins")
SWITCHES = ("quick", "hooks")
"""Those settings that are on or off."""
_ON_OR_OFF = {"1": True, "true": True, "yes": True, "on": True}
_ON_OR_OFF |= {"0": False, "false": False, "no": False, "off": False}


def load(**given: str | bool | None) -> Config:
    """The settings in force; `given` are those of the caller, None where they say nothing."""
    values: dict[str, Any] = {field.name: field.default for field in fields(Config) if field.name in SETTINGS}
    values["url"] = str(default_path())
    origins = dict.fromkeys(values, "default")
    path = find_file()
    for origin, source in (
        (str(path), _from_file(path) if path else {}),
        ("environment", _from_environment()),
        ("argument", {name: value for name, value in given.items() if value is not None}),
    ):
        for name, value in source.items():
            values[name], origins[name] = value, origin
    if values["namespace"] == project.HERE:
        values["namespace"] = project.namespace_of(Path.cwd())
    return Config(**values, origins=origins)


def default_path() -> Path:
    """The default store, in the platform's folder for a user's data."""
    import platformdirs

    return Path(platformdirs.user_data_dir("recollect", appauthor=False)) / "memory.db"


def user_file() -> Path:
    """The user's own settings."""
    import platformdirs

    return Path(platformdirs.user_config_dir("recollect", appauthor=False)) / FILE_NAME


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


def _from_file(path: Path) -> dict[str, str | bool]:
    try:
        settings: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{path} can't be read ({error}): mend it, or remove it.") from error
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
    return settings


def without_password(value: str) -> str:
    """A URL that may be shown.

    >>> without_password("postgresql://me:secret@host/db")
    'postgresql://me:***@host/db'
    >>> without_password("postgresql://host/db?user=me&password=secret")
    'postgresql://host/db?user=me&password=***'
    """
    value = re.sub(r"(?<=:/)(/?[^/@:]*):.*@", r"\1:***@", value)
    return re.sub(r"([?&](?:ssl)?password=)[^&]*", r"\1***", value)
