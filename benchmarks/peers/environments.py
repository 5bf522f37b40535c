"""A virtual environment for each peer, made once and made anew when what it needs has changed."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.peers.base import Peer

ROOT = Path(__file__).parents[2]
"""The tree that this file lies in: the one that is measured."""

_QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "MEM0_TELEMETRY": "False",
    "ORT_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Nobody phones home or fetches a model, and no thread spins while another peer is at work."""


class NotInstalled(Exception):
    """pip could not make this environment."""


def requirements(peer: type[Peer]) -> Sequence[str]:
    """What pip is to install; an empty name stands for what this tree's own pyproject.toml says."""
    own = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    return [need for given in peer.requirements for need in ([given] if given else own)]


def prepared(name: str, peer: type[Peer], folder: Path) -> Path:
    """The interpreter of a peer's environment."""
    home, python = folder / name, folder / name / "bin" / "python"
    needed = "\n".join(requirements(peer))
    stamp = home / "installed.txt"
    if stamp.exists() and stamp.read_text("utf-8") == needed:
        return python
    _run([sys.executable, "-m", "venv", "--clear", str(home)])
    _run([str(python), "-m", "pip", "install", "--disable-pip-version-check", *needed.splitlines()])
    stamp.write_text(needed, "utf-8")
    return python


def variables(peer: type[Peer]) -> Mapping[str, str]:
    """What the peer's process sees. Recollect is found in this tree, and its own settings are not."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return ours | _QUIET | {"PYTHONPATH": paths} | dict(peer.environment)


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise NotInstalled(said[-1][:300] if said else f"{command[0]} ended with {done.returncode}")
