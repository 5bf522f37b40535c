"""A browser for the tests of the page: the one that is there, else Debian's, installed once.

RECOLLECT_TEST_BROWSER may name the program. Where no browser can be had the tests are skipped in one line;
with CI=true they fail instead.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 600


class Unavailable(RuntimeError):
    """No browser can be had on this machine; the message says why in one line."""


def find() -> str | None:
    """The program of a browser, if there is one."""
    if named := os.environ.get("RECOLLECT_TEST_BROWSER"):
        return shutil.which(named)
    return next(filter(None, map(shutil.which, NAMES)), None)


def obtain() -> str:
    """The program of a browser; on Debian and as root, it is installed when there is none."""
    if found := find():
        return found
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0 or "RECOLLECT_TEST_BROWSER" in os.environ:
        raise Unavailable(
            "No browser: install chromium, or name one with RECOLLECT_TEST_BROWSER, to test the page."
        )
    with Path(tempfile.gettempdir(), "recollect-browser.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return find() or _installed(apt)


def _installed(apt: str) -> str:
    """Debian's chromium; the lists of packages are fetched only when it is not in them."""
    install = [apt, "install", "-y", "--no-install-recommends", "chromium"]
    done = _run(install)
    if done.returncode:
        _run([apt, "update"])
        done = _run(install)
    found = find()
    if found is None:
        reason = (done.stderr.strip().splitlines() or ["apt-get said nothing"])[-1]
        raise Unavailable(f"No browser, and chromium can't be installed: {reason}")
    return found


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    try:
        return subprocess.run(command, capture_output=True, text=True, env=quietly, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"{command[0]} took too long")


def obtain_or_skip(environment: Mapping[str, str] = os.environ) -> str:
    """The program of a browser; without one the test is skipped, or fails where CI=true."""
    try:
        return obtain()
    except Unavailable as error:
        if environment.get("CI") == "true":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
