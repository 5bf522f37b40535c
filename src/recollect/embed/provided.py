"""What every embedder of a provider has in common: its names, prefixes, dimensions and fingerprint.

The fingerprint is made of the model's name, its dimensions and its prefixes: what would give other vectors.
Neither the provider nor its address is part of it. The same model behind another address or another server
gives the same vectors but for rounding, and moving it must not cost a new vector for every memory.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.embed.kept import Kept
from recollect.embed.known import find_known, plain_name
from recollect.embed.settings import EmbedderSettings, Named
from recollect.errors import ConfigError, EmbedderFailed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_VERSION = 1
"""Raised whenever the same model would be asked in another way."""
_LETTERS_IN_A_TOKEN = 10
"""More than any text has on average: what is cut by it, the model would not have looked at."""


class Provided(ABC):
    """A model that a provider runs. Making one is cheap: nothing is loaded, nobody is asked."""

    keeps_queries = False
    """Whether questions' vectors are kept on disk: where they cost a journey."""

    def __init__(self, named: Named, settings: EmbedderSettings, dimensions: int | None = None) -> None:
        held = settings.held_for(named)
        known = find_known(named.model)
        check_dimensions(named)
        self.name = str(named)
        self.model = named.model
        self.languages = known.languages
        self.query_prefix = known.query_prefix if held.query_prefix is None else held.query_prefix
        self.document_prefix = known.document_prefix if held.document_prefix is None else held.document_prefix
        self._known = known
        self._wanted = named.dimensions
        self._kept = Kept(held.cache)
        self._dimensions = named.dimensions or known.dimensions or dimensions

    @property
    def dimensions(self) -> int:
        """The length of every vector. A model that is not known is asked once, which is then kept."""
        if self._dimensions is None:
            self._dimensions = self._kept.number(self._place) or self._ask_dimensions(soon=True)
        return self._dimensions

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text would get another vector."""
        import hashlib  # it loads OpenSSL, which a search can do without

        told = [_VERSION, plain_name(self.model), self.dimensions, self.query_prefix, self.document_prefix]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]

    def prepare(self) -> None:
        """Find out what is not known yet, with the patience that much work needs."""
        if self._dimensions is None:
            self._dimensions = self._kept.number(self._place) or self._ask_dimensions(soon=False)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, in order, with the patience that much work needs."""
        return self._rows([self.document_prefix + text for text in texts], soon=False)

    def embed_soon(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The same for one who waits."""
        return self._rows([self.document_prefix + text for text in texts], soon=True)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question."""
        vector: NDArray[np.float32] = self._rows([self.query_prefix + text], soon=True)[0]
        return vector

    def close(self) -> None:
        """Let go of what is held open; it opens again when it is needed."""
        return

    @property
    def _place(self) -> str:
        """What the dimensions are kept under."""
        return self.name

    @abstractmethod
    def _vectors(self, texts: Sequence[str], *, soon: bool) -> NDArray[np.float32]:
        """One row a text, as the model gives it."""

    def _ask_dimensions(self, *, soon: bool) -> int:
        found = int(self._vectors([self.document_prefix + "How long is a vector?"], soon=soon).shape[1])
        self._kept.keep_number(self._place, found)
        return found

    def _rows(self, texts: Sequence[str], *, soon: bool) -> NDArray[np.float32]:
        import numpy as np

        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        most = (self._known.max_tokens or 0) * _LETTERS_IN_A_TOKEN
        return self._finished(self._vectors([text[:most] if most else text for text in texts], soon=soon))

    def _finished(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """As long as they must be, and of length 1."""
        if self._wanted and self._known.shortens and rows.shape[1] > self._wanted:
            rows = rows[:, : self._wanted]  # an older server that does not know the parameter
        given = rows.shape[1]
        if self._dimensions is None:
            self._dimensions = given
            self._kept.keep_number(self._place, given)
        if given != self._dimensions:
            wanted, has_other = self._dimensions, self._wanted is None and self._known.dimensions is None
            if has_other:  # the model is another than it was: ask it anew next time
                self._kept.forget_number(self._place)
                self._dimensions = None
            raise EmbedderFailed(
                f"{self.name} gave vectors of {given:,} numbers, not of {wanted:,}: "
                + ("run recollect reembed" if has_other else f"set dimensions = {given}, or another model")
            )
        return rows / _lengths(rows, self.name)


def _lengths(rows: NDArray[np.float32], name: str) -> NDArray[np.float32]:
    import numpy as np

    with np.errstate(over="ignore"):
        lengths: NDArray[np.float32] = np.linalg.norm(rows, axis=1, keepdims=True).astype(np.float32)
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise EmbedderFailed(f"{name} gave a vector without a direction (zeros, or not finite)")
    return lengths


def check_dimensions(named: Named) -> None:
    """ConfigError for dimensions that the model is known not to give."""
    known, wanted = find_known(named.model), named.dimensions
    if wanted is None or known.dimensions in (None, wanted):
        return
    if not known.shortens or wanted > (known.dimensions or 0):
        at_most = "at most " if known.shortens else ""
        raise ConfigError(
            f"{named.provider}:{named.model} gives {at_most}{known.dimensions:,} dimensions, not {wanted:,}: "
            "leave dimensions out, or name another model"
        )
