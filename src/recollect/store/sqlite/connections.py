"""Connections to one file: many readers, one writer at a time, and apsw's errors in our own words."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import apsw

from recollect.errors import (
    NoSuchStore,
    NotAStore,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
)
from recollect.forks import mind_forks
from recollect.store import migrate
from recollect.store.sqlite.statements import Keeper, Reader

APPLICATION_ID = 0x52436C74  # "RClt", so that file(1) and we can tell what this is
PATIENCE = 60.0
MAPPED, MAPPED_WHOLE = 256 * 1024 * 1024, 512 * 1024 * 1024
"""Readers read so many bytes of a file without copying them, and all of one that is not much larger. All of a
big one would only look like a big process, and so would what the writer reads, who is no slower without."""
BULK = 1_000
"""A transaction that changes so many rows is one of a bulk write, which others are likely to follow."""
LOG_PAGES, LOG_PAGES_OF_BULK = 1_000, 8_000
"""The log is folded into the file once it has so many pages; later during a bulk write, since that writes to
the same pages again and again. What is committed is on disk either way."""
CACHE, CACHE_OF_BULK = 16_000, 64_000
"""How many kilobytes of the file the writer keeps in memory: a bulk write comes back to most of them."""
LONGEST_READ = 2.0
"""How long a fork waits for other threads to finish reading, in seconds."""
_PACKAGE = "recollect.store.sqlite"
Kind = TypeVar("Kind", Keeper, Reader)


class Connections:
    """A pool for one store file. Readers never wait for the writer; writers queue up.

    A forked child gets connections of its own, because SQLite's must not cross a fork: not even its memory of
    the locks that it held may, or another process would clear away the log that the child writes to.
    """

    def __init__(self, path: Path | None, *, create: bool = True) -> None:
        """Open the file, or make it; without a path, a store in memory that ends with this object."""
        self.path = path
        self.read_only = False
        self._place = str(path.absolute()) if path else None  # wherever the process goes
        self._name = str(self._place) if path else f"file:/recollect-{id(self)}?vfs=memdb"
        self._idle: list[apsw.Connection] = []
        self._taken: dict[apsw.Connection, int] = {}  # and by which thread
        self._to_forget: set[apsw.Connection] = set()  # of those that are taken
        self._is_awaited = False  # that all are given back, for a fork
        self._make_locks()
        self._inherited: list[apsw.Connection] = []  # kept, for closing them would disturb the parent
        self._writer: Keeper | None = None
        self._closed = False
        self._ending = threading.Event()  # nobody waits for other processes any more
        self._identity: tuple[int, int] | None = None
        mind_forks(self)
        with self.translated():
            if path and not create and not path.exists():
                raise NoSuchStore(
                    f"There is no store at {path} yet: remember something first, or name another."
                )
            self._writer = self._open_first()
        self._identity = self._identify()

    def _make_locks(self) -> None:
        """The writer's, and that of the pool: taken by itself, for an interrupt may come while a Condition
        is being entered, which then is never left."""
        self._lock, self._pool = threading.RLock(), threading.RLock()
        self._taking = threading.Condition(self._pool)

    def reading(self, *, once: bool = False) -> AbstractContextManager[apsw.Connection]:
        """A connection that sees one consistent state while it is held; with `once`, for one statement."""
        return _Reading(self, once)

    @contextmanager
    def inspecting(self) -> Iterator[apsw.Connection]:
        """A connection of its own: one that searched before keeps parts of the keyword index in mind, and
        SQLite's integrity check takes what others changed since for damage."""
        self._check_open()
        with self.translated():
            connection = self._open()
            try:
                yield connection
            finally:
                connection.close()

    @contextmanager
    def writing(self, *, adding: bool = False) -> Iterator[Keeper]:
        """The writer, in a transaction that is committed at the end or undone.

        With `adding`, what undoes a single statement is held in memory: no statement may change a lot.
        """
        self._check_open()
        if self.read_only:
            raise StoreReadOnly(
                f"{self.path} can't be written: change its permissions, or copy it elsewhere."
            )
        with self._lock, self.translated():
            self._check_open()
            self._writer = writer = self._writer or self._open()
            try:
                before = writer.total_changes()
                writer.execute(f"PRAGMA temp_store = {'MEMORY' if adding else 'DEFAULT'}")
                writer.execute("BEGIN IMMEDIATE")  # an interrupt may come once it has begun
                yield writer
                self._check_in_place()  # else it would be acknowledged, and gone
                is_bulk = writer.total_changes() - before >= BULK
                writer.wal_autocheckpoint(LOG_PAGES_OF_BULK if is_bulk else LOG_PAGES)
                if is_bulk or adding:  # what else comes in between says nothing of what will follow
                    writer.execute(f"PRAGMA cache_size = -{CACHE_OF_BULK if is_bulk else CACHE}")
                if (adding and not is_bulk) or self.path is None:  # there nobody says when it is over
                    writer.let_go()
                writer.execute("COMMIT")
            except BaseException:
                writer.let_go()
                if writer.in_transaction:
                    writer.execute("ROLLBACK")
                raise

    def rest(self) -> None:
        """No bulk write goes on, as far as one can tell: hold nothing for the next transaction."""
        with self._lock:
            if self._writer is not None:
                self._writer.let_go()

    def checkpoint(self) -> None:
        """Fold the log into the file where nobody is in the way, so that what was removed is gone."""
        with self._lock, self.translated():
            if self._writer is not None and not self._writer.in_transaction:
                try:
                    self._writer.set_busy_timeout(0)
                    self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                except (apsw.BusyError, apsw.FullError, apsw.IOError):
                    return  # what was removed is committed; another checkpoint will fold it in
                finally:
                    self._writer.set_busy_handler(_Waiting(self._ending))

    def forget(self, *, but: apsw.Connection | None = None) -> None:
        """Let readers but one forget what they have read: at once, or when they are given back."""
        with self._pool:
            self._to_forget = self._taken.keys() - {but}
            for connection in self._idle:
                _forget(connection)

    def close(self) -> None:
        """Close every connection; closing twice is fine. Who still waits for another process gives up."""
        self._ending.set()
        with self._lock:
            self._closed = True
            self._let_go()

    def _let_go(self) -> None:
        while self._idle:
            with suppress(IndexError):  # a reader may take the last one first
                self._idle.pop().close()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _take(self) -> apsw.Connection:
        if self._closed or self._inherited or self._identify() != self._identity:
            self._check_open()  # without the lock of the writer, who may hold it for long
        with self._pool:
            connection = self._idle.pop() if self._idle else self._open_reader()
            self._taken[connection] = threading.get_ident()
        return connection

    def _give_back(self, connection: apsw.Connection) -> None:
        if connection not in self._taken:  # it was taken before a fork
            return
        with self._pool:
            del self._taken[connection]
            self._idle.append(connection)
            if connection in self._to_forget:
                self._to_forget.remove(connection)
                _forget(connection)
            if self._is_awaited:
                self._taking.notify_all()
        if self._closed:  # it was closed while we read
            self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("This store was closed: open it again with recollect.open().")
        if self._inherited and self.path:
            raise StoreError(
                f"{self.path} was in use by another thread while this process was forked: "
                "fork before that, or let multiprocessing spawn."
            )
        self._check_in_place()

    def _check_in_place(self) -> None:
        """SQLite would go on with a file that has no name any more, and make an empty one where it was."""
        if self._identify() != self._identity:
            raise StoreError(
                f"{self.path} was moved, removed or replaced while it was open, so it is not used any more: "
                "put it back, or open it again; where it was moved, its -wal file must go with it."
            )

    def _identify(self) -> tuple[int, int] | None:
        """Which file is at the path now; None for none."""
        try:
            found = os.stat(self._place) if self._place else None  # noqa: PTH116  (every recall asks)
        except OSError:
            return None
        return (found.st_dev, found.st_ino) if found else None

    def before_fork(self) -> None:
        """Nobody writes, nobody is in the middle of reading (the child would inherit SQLite's own locks, held
        for ever), and what can be closed is; a store in memory lives by its connections."""
        self._lock.acquire()
        self._taking.acquire()
        here = threading.get_ident()
        self._is_awaited = True
        self._taking.wait_for(lambda: set(self._taken.values()) <= {here}, LONGEST_READ)
        self._is_awaited = False
        if self.path and not (self._writer and self._writer.in_transaction):
            self._let_go()

    def after_fork(self, *, in_child: bool) -> None:
        """The parent goes on; the child, if anything could not be closed, must not touch the file."""
        if not in_child:
            self._taking.release()
            self._lock.release()
            return
        self._make_locks()
        self._inherited += [*self._idle, *self._taken, *([self._writer] if self._writer else [])]
        self._idle, self._taken, self._writer = [], {}, None

    def _open(self) -> Keeper:
        return self._opened(Keeper)

    def _opened(self, kind: type[Kind]) -> Kind:
        flags = (
            apsw.SQLITE_OPEN_READONLY
            if self.read_only
            else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        )
        flags |= apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOMUTEX  # one thread at a time uses it as it is
        connection = kind(self._name, flags=flags, statementcachesize=200)
        connection.set_busy_handler(_Waiting(self._ending))
        if self.path and not self.read_only:
            _patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"))
            connection.execute("PRAGMA synchronous = FULL")
        for setting in ("foreign_keys = ON", "secure_delete = ON", f"cache_size = -{CACHE}", "mmap_size = 0"):
            connection.execute(f"PRAGMA {setting}")  # one by one: what follows an answer is not run
        return connection

    def _open_reader(self) -> apsw.Connection:
        connection = self._opened(Reader)
        size = self.path.stat().st_size if self.path and self.path.exists() else 0
        is_whole = MAPPED < size <= MAPPED_WHOLE
        connection.execute(f"PRAGMA mmap_size = {MAPPED_WHOLE if is_whole else MAPPED}")
        return connection

    def _open_first(self) -> Keeper:
        if self.path:
            self.read_only = self.path.exists() and not os.access(self.path, os.W_OK)
            has_log = Path(f"{self.path}-wal").exists()
            if self.read_only and not has_log and not os.access(self.path.parent, os.W_OK):
                # Nobody can be writing to it, and SQLite could not make the files it shares with writers.
                self._name = f"{self.path.absolute().as_uri()}?immutable=1"
            self._refuse_foreign_file()
        connection = self._open()
        version = self._version(connection)
        newest = migrate.latest(_PACKAGE)
        if version > newest:
            raise StoreTooNew(
                f"{self.path} was written by a newer Recollect (schema {version}, this one knows {newest}): "
                "upgrade with pip install --upgrade recollect."
            )
        if version < newest:
            if self.read_only:
                raise StoreReadOnly(
                    f"{self.path} is empty or of an older version, and can't be written: "
                    "change its permissions, or copy it elsewhere."
                )
            self._upgrade(connection)
        return connection

    def _refuse_foreign_file(self) -> None:
        """Look at the first bytes before SQLite writes anything to a file that is not ours."""
        assert self.path is not None
        if self.path.is_dir():
            raise NotAStore(f"{self.path} is a folder: name a file in it, such as {self.path / 'memory.db'}.")
        if not self.path.exists():
            if not self.path.parent.is_dir():
                raise StoreError(f"The folder {self.path.parent} does not exist: make it first.")
            return
        with self.path.open("rb") as file:
            head = file.read(72)
        is_database = head[:16] == b"SQLite format 3\0"
        ours = is_database and head[68:72] == APPLICATION_ID.to_bytes(4, "big")
        if head and not ours and not (is_database and self._is_being_made(head)):
            raise NotAStore(f"{self.path} is not a Recollect store: name another file, or a new one.")

    def _is_being_made(self, head: bytes) -> bool:
        """Whether it has a first page only, or the rest is in the log of one who writes or was killed."""
        log = Path(f"{self.path}-wal")
        if not log.exists() or log.stat().st_size == 0:
            return head[28:32] == (1).to_bytes(4, "big") and head[68:72] == bytes(4)
        looking = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            looking.set_busy_handler(_Waiting())
            self._version(looking)
            return True
        finally:
            looking.close()

    def _version(self, connection: apsw.Connection) -> int:
        has_tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
        # Asked last, because whoever makes the tables sets it with them.
        application = connection.pragma("application_id")
        if application != APPLICATION_ID and has_tables:
            raise NotAStore(f"{self.path} is a database of another program: name another file, or a new one.")
        return int(connection.pragma("user_version"))

    def _upgrade(self, connection: apsw.Connection) -> None:
        """Every step that is missing, in one transaction; whoever comes second finds nothing to do."""
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = self._version(connection)
            for number, sql in migrate.steps(_PACKAGE):
                if number > version:
                    connection.execute(sql)
                    connection.execute(f"PRAGMA user_version = {number}")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn apsw's errors into ours, once for all."""
        try:
            yield
        except (apsw.Error, OSError) as error:
            raise self._in_our_words(error) from error

    def _in_our_words(self, error: Exception) -> StoreError:
        where = self.path or "the store in memory"
        match error:
            case apsw.BusyError() | apsw.LockedError():
                how_long = "until it was closed" if self._ending.is_set() else f"for {PATIENCE:.0f} s"
                return StoreBusy(f"Another process has held {where} {how_long}: try again later.")
            case apsw.FullError():
                return StoreFull(f"The disk that holds {where} is full: make room; nothing was changed.")
            case apsw.ReadOnlyError():
                return StoreReadOnly(
                    f"{where} can't be written: change its permissions or its folder's, or copy it elsewhere."
                )
            case PermissionError() | apsw.CantOpenError():
                return StoreError(
                    f"{where} can't be opened: change its permissions or its folder's, or name another file."
                )
            case apsw.NotADBError():
                return NotAStore(f"{where} is not a Recollect store: name another file, or a new one.")
            case apsw.CorruptError():
                return StoreDamaged(f"{where} is damaged ({error}): run recollect doctor --rebuild.")
        return StoreError(f"{where} can't be read or written ({error}): is the disk full or gone?")


class _Reading(AbstractContextManager[apsw.Connection]):
    """A reader that is taken and given back. (As a generator it would take three times as long.)"""

    __slots__ = ("_connection", "_connections", "_once")

    def __init__(self, connections: Connections, once: bool) -> None:
        self._connections = connections
        self._once = once
        self._connection: apsw.Connection | None = None

    def __enter__(self) -> apsw.Connection:
        connections = self._connections
        try:
            self._connection = connection = connections._take()
            if not self._once:
                connection.execute("BEGIN")
        except BaseException as error:  # an interrupt, too, gives it back
            self._give_back()
            if isinstance(error, (apsw.Error, OSError)):
                raise connections._in_our_words(error) from error
            raise
        return connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._give_back()
        except (apsw.Error, OSError) as other:
            raise self._connections._in_our_words(other) from other
        if error is not None and isinstance(error, (apsw.Error, OSError)):
            raise self._connections._in_our_words(error) from error

    def _give_back(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        finally:
            self._connections._give_back(connection)


def _forget(connection: apsw.Connection) -> None:
    if isinstance(connection, Reader):
        connection.known, connection.version = {}, None


class _Waiting:
    """Called by SQLite while another process writes: wait a little, until patience or all work ends."""

    def __init__(self, ending: threading.Event | None = None) -> None:
        self._since = 0.0
        self._ending = ending

    def __call__(self, calls_before: int) -> bool:
        if calls_before == 0:
            self._since = time.monotonic()
        if time.monotonic() - self._since > PATIENCE or (self._ending and self._ending.is_set()):
            return False
        from random import uniform  # a search hardly ever waits

        time.sleep(uniform(0.0005, 0.008))
        return True


def _patiently(action: Callable[[], object]) -> None:
    """Some locks are refused without asking the busy handler; ask again ourselves."""
    waiting = _Waiting()
    calls = 0
    while True:
        try:
            action()
            return
        except (apsw.BusyError, apsw.LockedError):
            if not waiting(calls):
                raise
            calls += 1
