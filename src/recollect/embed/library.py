"""What models have in common that a library runs in this process: loaded once, at the first text."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any

from recollect.embed.provided import Provided
from recollect.embed.settings import EmbedderSettings, Named
from recollect.errors import EmbedderFailed, EmbedderMissing
from recollect.forks import mind_forks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Library(Provided):
    """A model that an installed library runs."""

    extra = ""
    module = ""

    def __init__(self, named: Named, settings: EmbedderSettings, dimensions: int | None = None) -> None:
        super().__init__(named, settings, dimensions)
        self._batch = settings.held_for(named).batch or 32
        self._loaded: Any = None
        self._lock = Lock()
        mind_forks(self)

    def before_fork(self) -> None:
        """Nobody loads while the process is copied."""
        self._lock.acquire()

    def after_fork(self, *, in_child: bool) -> None:
        """Parent and child go on, each with its copy."""
        self._lock.release()

    @abstractmethod
    def _load(self, library: Any) -> Any:
        """The model, ready to run."""

    @abstractmethod
    def _run(self, model: Any, texts: Sequence[str]) -> Any:
        """One row a text."""

    def _library(self) -> Any:
        try:
            return import_module(self.module)
        except ImportError as error:
            raise EmbedderMissing(
                f"{self.name} needs {self.extra}, which can't be imported: "
                f"pip install 'recollect[{self.extra}]'"
            ) from error

    def _model(self) -> Any:
        with self._lock:
            if self._loaded is None:
                library = self._library()
                try:
                    self._loaded = self._load(library)
                except Exception as error:  # these libraries raise what those below them do
                    first = str(error).strip().partition("\n")[0][:200]
                    raise EmbedderFailed(f"{self.name} can't be loaded: {first}") from error
            return self._loaded

    def _vectors(self, texts: Sequence[str], *, soon: bool) -> NDArray[np.float32]:
        return self._as_rows(self._run(self._model(), texts))

    def _as_rows(self, given: Any) -> NDArray[np.float32]:
        import numpy as np

        rows = np.asarray(given, np.float32)
        if rows.ndim != 2:
            raise EmbedderFailed(f"{self.name} gave an answer of the shape {rows.shape}")
        return rows
