"""What all providers behind HTTP have in common: batches, time limits, trying again, and not asking in vain.

A recall or a single write waits `timeout` seconds at most, all attempts together; bulk work is patient. A
provider that was found to be down is left alone for a while, so that not every recall pays for finding out.
"""

from __future__ import annotations

import json
import os
import re
import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any

from recollect.embed.patience import Patience, Pause, TryAgain, attempts, hush, seconds_of
from recollect.embed.provided import Provided
from recollect.embed.settings import Access, EmbedderSettings, Named
from recollect.errors import EmbedderFailed, EmbedderMissing, EmbedderUnavailable
from recollect.forks import mind_forks

if TYPE_CHECKING:
    import httpx
    import numpy as np
    from numpy.typing import NDArray

_LARGEST_ANSWER = 64_000_000
_AGAIN = frozenset({408, 429, 500, 502, 503, 504, 529})
_TOO_LONG = frozenset({400, 413, 422})
_WORTH_SHORTENING = 2_000
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ABOUT_DIMENSIONS = re.compile(rb"(?i)dimension|matryoshka")
_LOOKS_LIKE_A_KEY = re.compile(r"(?i)\b(?:sk|pk|key|bearer|token)[-_ ]\S{6,}")


class _TooLong(EmbedderFailed):
    """The server refused the texts; shorter ones may do."""


class _KnowsNoDimensions(EmbedderFailed):
    """The server refused to be told how long vectors shall be; they can be cut here."""


class Remote(Provided):
    """A provider behind HTTP; a subclass says what is asked and how the answer reads."""

    keeps_queries = True
    path = ""
    most_texts = 64
    most_characters = 200_000

    def __init__(self, named: Named, settings: EmbedderSettings, dimensions: int | None = None) -> None:
        super().__init__(named, settings, dimensions)
        held = settings.held_for(named)
        self._access: Access = settings.access[named.provider]
        self._most_texts = held.batch or self.most_texts
        brief = held.timeout / 5
        self._hurried = Patience(3, held.timeout, held.timeout, refused=brief, longest_wait=brief)
        self._patient = Patience(6, 300.0, max(120.0, held.timeout), refused=10.0, longest_wait=120.0)
        self._pause = Pause()
        self._tells_dimensions = bool(self._wanted)
        self._client: tuple[int, httpx.Client] | None = None
        self._loaded: tuple[Any, Any] | None = None
        self._lock = Lock()
        mind_forks(self)

    def before_fork(self) -> None:
        """Nobody opens a connection while the process is copied."""
        self._lock.acquire()

    def after_fork(self, *, in_child: bool) -> None:
        """A child opens connections of its own."""
        self._lock.release()

    def close(self) -> None:
        """Close its connections."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client[1].close()

    @abstractmethod
    def _body(self, texts: Sequence[str]) -> dict[str, Any]:
        """What is sent, but for the dimensions."""

    @abstractmethod
    def _read(self, answer: Any) -> list[list[float]]:
        """The vectors in the order of the texts; ValueError, KeyError or TypeError when it is no answer."""

    @abstractmethod
    def _advice(self, status: int, told: str) -> str:
        """What to do when the server says no, and `told` why, for a reason that lies not in the texts."""

    @property
    def _place(self) -> str:
        return f"{self.name} {self._access.base_url}"

    @property
    def _where(self) -> str:
        """The provider and its address, as they may be shown."""
        return f"{self.name.partition(':')[0]} at {self._access.address}"

    def _vectors(self, texts: Sequence[str], *, soon: bool) -> NDArray[np.float32]:
        import numpy as np

        if self._access.problem:
            raise EmbedderUnavailable(self._access.problem)
        begun = time.monotonic() if soon else None
        parts = [self._ask(part, begun) for part in _parts(texts, self._most_texts, self.most_characters)]
        if len({part.shape[1] for part in parts}) != 1:
            raise EmbedderFailed(f"{self._where} gave vectors of different lengths")
        return np.concatenate(parts)

    def _ask(self, texts: Sequence[str], begun: float | None) -> NDArray[np.float32]:
        """One request, `begun` when somebody began to wait for it, and for others with it, if anybody does.

        A single text that is too long for the model is cut until it is not.
        """
        try:
            return self._try(texts, begun)
        except _KnowsNoDimensions:
            self._tells_dimensions = False
            return self._ask(texts, begun)
        except _TooLong:
            if len(texts) > 1 or len(texts[0]) <= _WORTH_SHORTENING:
                raise
            return self._ask([texts[0][: max(_WORTH_SHORTENING, len(texts[0]) // 2)]], begun)

    def _try(self, texts: Sequence[str], begun: float | None) -> NDArray[np.float32]:
        soon = begun is not None
        self._pause.check(soon=soon)
        patience = self._hurried if soon else self._patient
        started = time.monotonic() if begun is None else begun
        try:
            for attempt in attempts(self._libraries()[1], patience, started):
                with attempt:
                    answer = self._post(texts, patience, started)
        except TryAgain as trouble:
            self._pause.begin(str(trouble), for_all=trouble.refused or not soon)
            raise EmbedderUnavailable(str(trouble)) from trouble.__cause__
        except EmbedderUnavailable as error:
            self._pause.begin(str(error), for_all=True)
            raise
        self._pause.end()
        return self._checked(answer, len(texts))

    def _post(self, texts: Sequence[str], patience: Patience, begun: float) -> bytes:
        """The body of an answer that says yes."""
        httpx, _ = self._libraries()
        left = max(0.05, min(patience.one, patience.seconds - (time.monotonic() - begun)))
        limits = httpx.Timeout(left, connect=min(left, patience.refused))
        url = self._access.address.rstrip("/") + self.path
        content = self._body(texts)
        if self._tells_dimensions:
            content["dimensions"] = self._wanted
        try:
            with self._opened().stream("POST", url, json=content, timeout=limits) as response:
                body = _read_within(response, time.monotonic() + left, self._where)
        except httpx.TimeoutException as error:
            raise TryAgain(f"{self._where} did not answer in time") from error
        except httpx.ConnectError as error:
            raise TryAgain(
                f"{self._where} can't be reached ({self._masked(str(error))})", refused=True
            ) from error
        except httpx.HTTPError as error:
            raise TryAgain(f"{self._where} broke off ({self._masked(str(error))})") from error
        if response.status_code != 200:
            self._refuse(response.status_code, body, response.headers.get("retry-after"))
        return body

    def _refuse(self, status: int, body: bytes, retry_after: str | None) -> None:
        told = self._masked(_message(body))
        said = f"{self._where} answered {status}" + (
            f" ({told})" if told and status not in (401, 403) else ""
        )
        if status == 429 and b"insufficient_quota" in body:
            raise EmbedderUnavailable(f"{self._where}: the quota of this key is used up")
        if status in _AGAIN:
            raise TryAgain(said, wait=seconds_of(retry_after))
        if status in _TOO_LONG and self._tells_dimensions and _ABOUT_DIMENSIONS.search(body):
            raise _KnowsNoDimensions(f"{said}: it knows no dimensions")
        if status in _TOO_LONG:
            raise _TooLong(f"{said}: it refuses this text")
        raise EmbedderUnavailable(f"{said}: {self._advice(status, told)}")

    def _checked(self, body: bytes, wanted: int) -> NDArray[np.float32]:
        import numpy as np

        try:
            vectors = self._read(json.loads(body))
            with np.errstate(over="ignore"):  # what becomes infinite is refused as such
                rows = np.asarray(vectors, np.float32)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise EmbedderFailed(f"{self._where} gave an answer that can't be read as vectors") from error
        if len(vectors) != wanted:
            raise EmbedderFailed(f"{self._where} gave {len(vectors)} vectors for {wanted} texts")
        if rows.ndim != 2 or not rows.shape[1]:
            raise EmbedderFailed(f"{self._where} gave an answer that can't be read as vectors")
        return rows

    def _libraries(self) -> tuple[Any, Any]:
        """httpx and stamina. No fork comes between: a child waits for ever for an import of its parent."""
        with self._lock:
            if self._loaded is None:
                self._loaded = (_library("httpx", self.name), _library("stamina", self.name))
                hush(self._loaded[1])
                import_module("encodings.idna")  # else imported by whoever looks up the first address
            return self._loaded

    def _opened(self) -> httpx.Client:
        library, _ = self._libraries()
        with self._lock:
            if self._client is None or self._client[0] != os.getpid():
                self._client = (os.getpid(), self._connect(library))
            return self._client[1]

    def _connect(self, library: Any) -> httpx.Client:
        try:
            return self._connected(library)
        except (library.InvalidURL, ImportError, ValueError, OSError) as error:
            raise EmbedderUnavailable(f"{self._where} can't be asked: {self._masked(str(error))}") from error

    def _connected(self, library: Any) -> httpx.Client:
        key = self._access.key
        url = library.URL(self._access.base_url)
        options: dict[str, Any] = {"headers": {"Authorization": f"Bearer {key.reveal()}"} if key else {}}
        if url.userinfo and not key:  # not left in the address, which is logged
            options["auth"] = (url.username, url.password)
        if url.host in _LOOPBACK:  # no proxy leads to oneself, and without TLS nobody needs certificates
            options["mounts"] = dict.fromkeys(("http://", "https://", "all://"))
            options["verify"] = url.scheme != "http"
        client: httpx.Client = library.Client(**options)
        return client

    def _masked(self, text: str) -> str:
        """A text of others, short, in one line, without anything that might be a key."""
        if self._access.key:
            text = text.replace(self._access.key.reveal(), "***")
        seen = "".join(each if each.isprintable() else " " for each in _LOOKS_LIKE_A_KEY.sub("***", text))
        return " ".join(seen.split())[:160]


def _library(name: str, embedder: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        provider = embedder.partition(":")[0]
        raise EmbedderMissing(
            f"{embedder} needs {name}, which is not installed: pip install 'recollect[{provider}]'"
        ) from error


def _read_within(response: httpx.Response, until: float, where: str) -> bytes:
    """The whole body: one that only drips in must not outlast everybody's patience."""
    parts: list[bytes] = []
    size = 0
    for part in response.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > _LARGEST_ANSWER:
            raise EmbedderFailed(f"{where} gave an answer that has no end")
        if time.monotonic() > until:
            raise TryAgain(f"{where} did not answer in time")
    return b"".join(parts)


def _parts(texts: Sequence[str], most_texts: int, most_characters: int) -> Iterator[list[str]]:
    part: list[str] = []
    size = 0
    for text in texts:
        if part and (len(part) >= most_texts or size + len(text) > most_characters):
            yield part
            part, size = [], 0
        part.append(text)
        size += len(text)
    if part:
        yield part


def _message(body: bytes) -> str:
    """What an error says of itself, in one of the forms that servers use."""
    try:
        found = json.loads(body)
    except ValueError:
        return ""
    for name in ("error", "message", "detail"):
        if isinstance(found, dict) and name in found:
            found = found[name]
            if isinstance(found, dict):
                found = found.get("message", "")
            break
    return found if isinstance(found, str) else ""
