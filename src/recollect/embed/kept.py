"""What remote embedders gave before, in a small file of the user's cache folder.

It holds vectors of questions under a hash of the question, never its text, and how long the vectors of
unlisted models are. Losing it costs a few requests. So whatever is wrong with it is never an error: a damaged
file is removed and made anew, one that can't be written is left alone, and nobody waits for another process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST = 2_000
"""Questions; with the longest usual vectors, 25 MB."""
_DAY = 86_400
_WAIT_MS = 100
_VERSION = 1
_SCHEMA = f"""
PRAGMA user_version = {_VERSION};
CREATE TABLE IF NOT EXISTS query (key BLOB PRIMARY KEY, vector BLOB NOT NULL, used INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS query_used ON query (used);
CREATE TABLE IF NOT EXISTS number (key BLOB PRIMARY KEY, value INTEGER NOT NULL);
"""


class Kept:
    """The file at a path; without one nothing is kept. Opened for each call, so that forks are no matter."""

    def __init__(self, path: Path | None, *, most: int = MOST, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._most = most
        self._now = now

    def vector(self, fingerprint: str, text: str) -> NDArray[np.float32] | None:
        """The vector of a question, if it is here."""
        key, today = _key(fingerprint, text), self._today()

        def look(connection: Any) -> bytes | None:
            row = connection.execute("SELECT vector, used FROM query WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            if row[1] < today:  # once a day is often enough to know what is in use
                connection.execute("UPDATE query SET used = ? WHERE key = ?", (today, key))
            return bytes(row[0])

        found: bytes | None = self._with_file(look, make=False)
        if not found or len(found) % 4:
            return None
        import numpy as np

        vector = np.frombuffer(found, "<f4").astype(np.float32)
        has_direction = np.isfinite(vector).all() and vector.any()  # SQLite does not notice every damage
        return vector if has_direction else None

    def keep_vector(self, fingerprint: str, text: str, vector: NDArray[np.float32]) -> None:
        """Keep the vector of a question; those that were not used for the longest time make room."""
        row = (_key(fingerprint, text), vector.astype("<f4").tobytes(), self._today())

        def keep(connection: Any) -> None:
            with connection:
                connection.execute("INSERT OR REPLACE INTO query VALUES (?, ?, ?)", row)
                (number,) = connection.execute("SELECT count(*) FROM query").fetchone()
                if number > self._most:
                    connection.execute(
                        "DELETE FROM query WHERE rowid IN "
                        "(SELECT rowid FROM query ORDER BY used, rowid LIMIT ?)",
                        (number - self._most,),
                    )

        self._with_file(keep, make=True)

    def number(self, name: str) -> int | None:
        """The number that was kept under a name."""

        def look(connection: Any) -> int | None:
            row = connection.execute("SELECT value FROM number WHERE key = ?", (_key(name),)).fetchone()
            return int(row[0]) if row else None

        found: int | None = self._with_file(look, make=False)
        return found if found and found > 0 else None

    def keep_number(self, name: str, number: int) -> None:
        """Keep a number under a name."""
        self._with_file(
            lambda file: file.execute("INSERT OR REPLACE INTO number VALUES (?, ?)", (_key(name), number)),
            make=True,
        )

    def forget_number(self, name: str) -> None:
        """Keep it no longer."""
        self._with_file(
            lambda file: file.execute("DELETE FROM number WHERE key = ?", (_key(name),)), make=False
        )

    def _today(self) -> int:
        return int(self._now() // _DAY)

    def _with_file(self, act: Callable[[Any], Any], *, make: bool) -> Any:
        if self._path is None or not (make or self._path.is_file()):
            return None
        import apsw

        try:
            if make:
                _make_private(self._path)
            with closing(apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
                connection.set_busy_timeout(_WAIT_MS)
                connection.execute("PRAGMA synchronous = OFF")
                if connection.pragma("user_version") != _VERSION:
                    connection.execute(_SCHEMA)
                return act(connection)
        except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.MismatchError):
            with suppress(OSError):
                self._path.unlink()
        except (apsw.Error, OSError):
            pass
        return None


def _make_private(path: Path) -> None:
    """An empty file that only its owner may read, where there is none."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _key(*parts: str) -> bytes:
    import hashlib  # it loads OpenSSL, which a search can do without

    whole = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(whole, digest_size=16, person=b"recollect-kept").digest()
