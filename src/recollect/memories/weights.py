"""How much each leg counts in this namespace: proposed from its own memories, set, and taken back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from recollect import checks, weighing
from recollect.errors import EmbedderMissing, InvalidInput
from recollect.memories.front import Front
from recollect.store.base import Generation, NamespaceFacts
from recollect.types import READINGS, Progress, Reading, Tuned

if TYPE_CHECKING:
    from recollect.evaluate.tuning import Proposal

TUNED_ON = 500
"""How many probes of each kind are asked when nothing is said."""


class Weights(Front):
    """What sets the weights of the default fusion for every recall in this namespace."""

    def tune(self, number: int = TUNED_ON, *, progress: Progress | None = None) -> Proposal:
        """Propose weights, from at most `number` turns that must find their reply and as many parts of texts.

        Nothing is changed. `use_weights(proposal.weights, reading=proposal.reading)` puts them in force.
        """
        from recollect.evaluate import tuning

        checks.limit(number, what="number", highest=1_000_000)
        self._searched()
        self._later.finish()
        return tuning.propose(self._store, self._meaning, self._namespace, number, progress)

    def use_weights(self, weights: Mapping[str, float] | None, *, reading: Reading = "known") -> Tuned | None:
        """Recall here with these weights from now on, such as {"semantic": 0.5, "keyword": 0.5}.

        None means the default. They hold for every agent and door, for the model that the memories have
        vectors of, and for questions in languages that it reads so well, unless a recall gives its own.
        `undo_weights` takes it back.
        """
        tuned = None
        if weights is not None:
            model = self._searched()
            tuned = Tuned(
                **weighing.shares(weights),
                generation=model.fingerprint,
                reading=checks.choice(reading, READINGS, what="reading"),
            )
        if tuned != self.tuned():
            self._store.use_weights(self._namespace, tuned, self._now())
        return tuned

    def undo_weights(self) -> Tuned | None:
        """Back to the weights before the last change, which are returned; None is the default.

        Doing it twice changes nothing: what is taken back is kept in turn.
        """
        facts = self._facts()
        if facts.tuned == facts.tuned_before:
            raise InvalidInput(
                f"The weights of {self._namespace!r} were never changed: there is nothing to take back."
            )
        self._store.use_weights(self._namespace, facts.tuned_before, self._now())
        return facts.tuned_before

    def tuned(self) -> Tuned | None:
        """The weights that were set here, if any were; those for another model do not hold."""
        return self._facts().tuned

    def _facts(self) -> NamespaceFacts:
        return self._store.facts([self._namespace]).get(self._namespace) or NamespaceFacts()

    def _searched(self) -> Generation:
        """The model whose vectors are searched here."""
        generation = self._facts().generation
        if generation is None:
            raise EmbedderMissing(
                f"No memory in {self._namespace!r} has a vector, so there is nothing to weigh: "
                "run recollect reembed first."
            )
        return generation
