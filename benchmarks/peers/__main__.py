"""Run Recollect beside its peers: python -m benchmarks.peers --help."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.peers import report
from benchmarks.peers.adapters import ALL
from benchmarks.peers.environments import ROOT
from benchmarks.peers.making import Wanted, make
from benchmarks.peers.running import Plan, Run, Subject


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    add = parser.add_argument
    add(
        "--peers",
        default=",".join(ALL),
        help="which, separated by commas; ADAPTER:SETTING=NUMBER asks one in another way",
    )
    add(
        "--texts",
        type=Path,
        help=".jsonl or .jsonl.gz: text or content, timestamp; then made ones",
    )
    add("--memories", type=int, default=10_000)
    add("--questions", type=int, default=200)
    add("--embedder", default="words", choices=("words", "arctic-s", "static-s"))
    add("--vectors", type=Path, help="a .npy file: used if it is there, written if it is not")
    add(
        "--work",
        type=Path,
        default=Path.home() / ".cache" / "recollect-peers",
        help="what is kept",
    )
    add("--reuse", action="store_true", help="take stores that were built before")
    add("--rebuild", default="recollect", help="with --reuse: which to build anew all the same")
    add("--adds", type=int, default=1_000, help="how many are added one by one, at most")
    add("--adding-seconds", type=float, default=30.0, help="for how long each peer adds, at most")
    add("--asking-seconds", type=float, default=60.0, help="for how long each is asked in a round, at most")
    add("--patience", type=float, default=1_800.0, help="how many seconds a build may take")
    add("--out", type=Path, default=Path("peers.json"), help="the JSON; the tables go beside it as .md")
    return parser.parse_args()


def tell(text: str) -> None:
    """Progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Make the data, run the plan, write what came of it."""
    given = arguments()
    work = given.work.resolve()
    if work.is_relative_to(ROOT):
        raise SystemExit("--work lies inside the repository: name another folder.")
    wanted = Wanted(given.texts, given.memories, given.questions, given.embedder, given.vectors)
    data = make(wanted, work / "data" / wanted.key, tell)
    plan = Plan(
        peers=given.peers.split(","),
        work=work,
        data=data,
        key=wanted.key,
        adds=given.adds,
        adding_seconds=given.adding_seconds,
        asking_seconds=given.asking_seconds,
        patience=given.patience,
        reuse=given.reuse,
        rebuild=given.rebuild.split(","),
    )
    run = Run(plan, tell)
    subjects = run.measured()
    texts = [text for text, _ in data.rows()]
    about = [texts[number] for number in data.about()]
    left_out = run.not_there | {s.name: s.failed for s in subjects if s.failed and not s.answers}
    peers = {s.name: figures(s, about, data.memories) for s in subjects if s.name not in left_out}
    whole = {"about": _about(data.facts), "peers": peers, "left_out": left_out}
    given.out.write_text(json.dumps(whole, indent=1), "utf-8")
    lines = "".join(f"- left out: {name}: {why}\n" for name, why in left_out.items())
    tables = _heading(whole["about"]) + report.markdown(peers) + lines
    given.out.with_suffix(".md").write_text(tables, "utf-8")
    print(tables)


def figures(subject: Subject, about: list[str], memories: int) -> dict[str, Any]:
    """What was measured of one peer."""
    built, adapter = subject.built, subject.adapter
    told: dict[str, Any] = {
        "version": built["version"] or _commit(),
        "ms": {name: report.latency(seconds) for name, seconds in subject.seconds.items()},
        "cpu_ms": {name: report.latency(seconds) for name, seconds in subject.cpu.items()},
        "asked": {name: len(answers) for name, answers in subject.answers.items()},
        "added": len(subject.seconds.get("add", ())),
        "notes": {
            "hybrid": adapter.hybrid_is,
            "durable": adapter.durable,
            "scope": adapter.scope_is,
            "words": adapter.words_are,
        },
        "failed": subject.failed,
        "build_seconds": round(built["seconds"], 2),
        "build_cpu_seconds": built["cpu"],
        "memories_per_second": round(memories / built["seconds"], 1),
        "bytes": built["bytes"],
        "copies_left_out": len(built["left_out"]),
        **subject.facts,
    }
    if "scoped" in subject.answers:
        scoped = subject.answers["scoped"]
        told["scoped_hits"] = sum(map(len, scoped)) / len(scoped)
    if "hybrid" in subject.told:
        answers = subject.told["hybrid"]
        told["found"] = sum(text in hits for text, hits in zip(about, answers, strict=False)) / len(answers)
    return told


def _about(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "command": f"python -m benchmarks.peers {shlex.join(map(_named, sys.argv[1:]))}",
        "commit": _commit(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": os.getloadavg(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        **{name: value for name, value in facts.items() if name != "vectors"},
    }


def _named(argument: str) -> str:
    """A file by its name alone: where it lies is nobody's business."""
    return Path(argument).name if os.sep in argument else argument


def _heading(about: dict[str, Any]) -> str:
    return (
        f"{about['memories']:,} memories ({about['texts']}), {about['questions']} questions, "
        f"{about['embedder']} vectors of {about['dimensions']}, {about['cores']} cores, "
        f"Python {about['python']}, commit {about['commit']}\n\n"
    )


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    return said.stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
