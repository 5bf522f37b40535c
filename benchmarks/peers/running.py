"""Every phase of the measure: one peer at work at a time, another one first each time."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.peers.base import MODES, Mode, Peer, part_of, wanted
from benchmarks.peers.data import Data
from benchmarks.peers.driver import peer_class
from benchmarks.peers.environments import NotInstalled, prepared, requirements, variables
from benchmarks.peers.exact import Judge, cosines
from benchmarks.peers.processes import Failed, Process, copied, size_of

Tell = Callable[[str], None]
_COLD_STARTS = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure, and where things are kept."""

    peers: Sequence[str]
    work: Path
    data: Data
    key: str
    adds: int
    adding_seconds: float
    asking_seconds: float
    patience: float
    reuse: bool
    rebuild: Sequence[str]


@dataclass
class Subject:
    """A peer that is being measured, and what is known of it so far."""

    name: str
    adapter: type[Peer]
    python: Path
    process: Process | None = None
    built: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    cpu: dict[str, list[float]] = field(default_factory=dict)
    answers: dict[str, list[list[int]]] = field(default_factory=dict)
    told: dict[str, list[list[str]]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    failed: str | None = None

    def note(self, name: str, reply: dict[str, Any]) -> None:
        """An answer, and what it took."""
        self.seconds.setdefault(name, []).append(reply["seconds"])
        self.cpu.setdefault(name, []).append(reply["cpu"])
        self.answers.setdefault(name, []).append(reply["numbers"])
        self.told.setdefault(name, []).append(reply["texts"])

    def ask(self, do: str, **given: Any) -> dict[str, Any]:
        """Of the process that is running."""
        if self.process is None:
            raise Failed("it is not running")
        return self.process.ask(do, **given)


class Run:
    """The peers of a plan, phase by phase. One that fails is left out of the phases that follow."""

    def __init__(self, plan: Plan, tell: Tell) -> None:
        self.plan, self.tell = plan, tell
        self.subjects: list[Subject] = []
        self.not_there: dict[str, str] = {}
        self._built_now: set[Path] = set()

    def measured(self) -> list[Subject]:
        """All phases."""
        self._install()
        for phase in (
            self._build,
            self._cold,
            self._start,
            self._ask,
            self._scoped,
            self._after_adds,
            self._judge,
        ):
            self.tell(f"— {phase.__name__.strip('_').replace('_', ' ')}")
            phase()
        for subject in self.subjects:
            self._stop(subject)
            shutil.rmtree(self._running(subject).parent, ignore_errors=True)
        return self.subjects

    # the peers that are still in it

    def _each(self, turn: int = 0) -> Iterator[Subject]:
        left = [subject for subject in self.subjects if subject.failed is None]
        first = turn % len(left) if left else 0
        yield from (*left[first:], *left[:first])

    @contextmanager
    def _guarded(self, subject: Subject) -> Iterator[None]:
        try:
            yield
        except Failed as failure:
            subject.failed = str(failure)
            self.tell(f"{subject.name} is left out from here on: {failure}")
            self._stop(subject)

    def _stop(self, subject: Subject) -> None:
        if subject.process is not None:
            subject.facts["idle_cpu_seconds"] = round(subject.process.idle, 2)
            subject.process.end()
            subject.process = None

    # where things are

    def _store(self, subject: Subject) -> Path:
        """One that is only asked in another way has the same."""
        return self.plan.work / "stores" / self.plan.key / wanted(subject.name)[0]

    def _running(self, subject: Subject) -> Path:
        return self.plan.work / "running" / f"{self.plan.key}-{os.getpid()}" / subject.name

    def _process(self, subject: Subject, store: Path) -> Process:
        logs = self.plan.work / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        return Process(
            subject.python,
            subject.name,
            store,
            self.plan.data.folder,
            variables(subject.adapter),
            logs / f"{subject.name}.txt",
        )

    # phases

    def _install(self) -> None:
        for name in self.plan.peers:
            adapter = peer_class(name)
            try:
                python = prepared(wanted(name)[0], adapter, self.plan.work / "environments")
            except NotInstalled as failure:
                self.not_there[name] = f"not installed: {failure}"
                self.tell(f"{name} is left out: {failure}")
            else:
                self.subjects.append(Subject(name, adapter, python))

    def _build(self) -> None:
        for subject in self._each():
            with self._guarded(subject):
                self._build_one(subject)

    def _build_one(self, subject: Subject) -> None:
        """As it was built before, or anew."""
        store = self._store(subject)
        note = store.with_suffix(".json")
        needed = list(requirements(subject.adapter))
        may_reuse = self.plan.reuse and wanted(subject.name)[0] not in self.plan.rebuild
        if (may_reuse or store in self._built_now) and note.exists():
            subject.built = json.loads(note.read_text("utf-8"))
            if subject.built["requirements"] == needed:
                self.tell(f"{subject.name}: as it was built before")
                return
        note.unlink(missing_ok=True)
        process = self._process(subject, store)
        clock = threading.Timer(self.plan.patience, process.kill)
        clock.start()
        try:
            built = process.ask("build")
            version = process.ask("open")["version"]
        finally:
            gave_up = not clock.is_alive()
            clock.cancel()
            process.end()
            if gave_up:
                raise Failed(f"its build took longer than {self.plan.patience:.0f} s")
        subject.built = {"requirements": needed, "version": version, "bytes": size_of(store), **built}
        note.write_text(json.dumps(subject.built), "utf-8")
        self._built_now.add(store)
        self.tell(f"{subject.name}: built in {built['seconds']:.1f} s")

    def _cold(self) -> None:
        for subject in self._each():
            copied(self._store(subject), self._running(subject))
        for turn in range(_COLD_STARTS):
            for subject in self._each(turn):
                with self._guarded(subject):
                    self._cold_start(subject, turn)

    def _cold_start(self, subject: Subject, question: int) -> None:
        """A new process until its first answer, Python's own start included."""
        start = perf_counter()
        process = self._process(subject, self._running(subject))
        try:
            process.ask("ask", mode="hybrid", question=question)
            subject.seconds.setdefault("cold", []).append(perf_counter() - start)
        finally:
            process.end()

    def _start(self) -> None:
        for subject in self._each():
            subject.process = self._process(subject, self._running(subject))
            with self._guarded(subject):
                self._settled(subject)

    def _settled(self, subject: Subject) -> None:
        subject.facts["open_seconds"] = subject.ask("open")["seconds"]
        subject.ask("settle")

    def _ask(self) -> None:
        for is_timed in (False, True):
            self._round(MODES, is_timed=is_timed)
        for subject in self._each():
            with self._guarded(subject):
                subject.facts["resident_bytes"] = subject.ask("memory")["bytes"]

    def _scoped(self) -> None:
        """Each question within the hundredth that the text it was made from belongs to."""
        for is_timed in (False, True):
            self._round(("hybrid",), is_timed=is_timed, label="scoped", in_part=True)

    def _round(
        self, modes: Sequence[Mode], *, is_timed: bool, label: str | None = None, in_part: bool = False
    ) -> None:
        """Every question, one peer after the other; whoever has used up its time is asked no more."""
        spent = dict.fromkeys((subject.name for subject in self.subjects), 0.0)
        for question, about in enumerate(self.plan.data.about()):
            part = part_of(about) if in_part else None
            for mode in modes:
                for subject in self._each(question):
                    if mode in subject.adapter.modes and spent[subject.name] < self.plan.asking_seconds:
                        with self._guarded(subject):
                            reply = subject.ask("ask", mode=mode, question=question, part=part)
                            spent[subject.name] += reply["seconds"]
                            if is_timed:
                                subject.note(label or mode, reply)
            if question % 50 == 49:
                self.tell(f"{'asked' if is_timed else 'warmed up with'} {question + 1} questions")

    def _after_adds(self) -> None:
        """One by one; whoever has used up its time adds no more, but is asked again like the rest."""
        for number in range(min(self.plan.adds, self.plan.data.fresh_count)):
            for subject in self._each(number):
                if sum(subject.seconds.get("add", ())) < self.plan.adding_seconds:
                    with self._guarded(subject):
                        self._add_one(subject, number)
        for subject in self._each():
            with self._guarded(subject):
                subject.ask("settle")
        for is_timed in (False, True):
            self._round(("hybrid",), is_timed=is_timed, label="hybrid after adds")

    def _add_one(self, subject: Subject, number: int) -> None:
        subject.seconds.setdefault("add", []).append(subject.ask("add", fresh=number)["seconds"])

    def _judge(self) -> None:
        """Against exact search, on the store as it was built."""
        asked = np.array([question.vector for question in self.plan.data.questions()])
        judge = cosines(self.plan.data.vectors(), asked)
        for subject in self._each():
            self._stop(subject)
            copied(self._store(subject), self._running(subject))
            subject.process = self._process(subject, self._running(subject))
            with self._guarded(subject):
                self._judge_one(subject, judge)
            self._stop(subject)

    def _judge_one(self, subject: Subject, judge: Judge) -> None:
        """By as many questions as it was asked in the time it had."""
        left_out = subject.built["left_out"]
        found = {
            mode: [subject.ask("leg", mode=mode, question=n)["numbers"] for n in range(len(answers))]
            for mode, answers in subject.answers.items()
            if mode in ("keyword", "vector")
        }
        absent = set(left_out)
        shares = {"vector": [judge(n, numbers, absent) for n, numbers in enumerate(found["vector"])]}
        if "keyword" in found:
            shares["keyword"] = subject.ask("words", answers=found["keyword"], left_out=left_out)["shares"]
        subject.facts["overlap"] = {mode: sum(each) / len(each) for mode, each in shares.items()}
