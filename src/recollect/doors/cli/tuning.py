"""The command that fits the weights of both legs to your own memories: tune."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from recollect.doors.cli import render
from recollect.doors.cli.door import Door, command
from recollect.errors import StoreReadOnly

if TYPE_CHECKING:
    from recollect.evaluate.tuning import Proposal
    from recollect.types import Tuned

DEFAULT_ASKED = 500
"""How many probes of each kind are asked when nothing is said."""


@command()
@click.option("--apply", is_flag=True, help="Put what is proposed in force.")
@click.option("--undo", is_flag=True, help="Go back to the weights before the last change.")
@click.option("--reset", is_flag=True, help="Go back to the default weights.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help=f"Ask at most so many probes of each kind, always the same ones ({DEFAULT_ASKED}).",
)
def tune(door: Door, apply: bool, undo: bool, reset: bool, sample: int | None) -> None:
    """Propose how much keywords and meaning should count, from your own memories.

    A turn of a session must find its reply, and parts of a text must find it, with every weight from 0.1 to
    0.9. Others than the default are proposed only when they gain beyond doubt on probes that they were not
    chosen by: more for keywords when turns gain, more for meaning when parts of texts do. Nothing is changed
    without --apply; then every recall from this namespace uses them, until it gets vectors of another model.

    \b
    Example:
      recollect tune
      recollect -n proj1 tune --apply
      recollect tune --undo
    """
    if apply + undo + reset > 1:
        raise click.UsageError("Give one of --apply, --undo and --reset.")
    if undo or reset:
        if sample:
            raise click.UsageError("Nothing is asked to go back: leave out --sample.")
        _go_back(door, undo=undo)
    else:
        _propose(door, sample or DEFAULT_ASKED, apply=apply)


def _go_back(door: Door, *, undo: bool) -> None:
    with door.open() as memories:
        tuned = memories.undo_weights() if undo else memories.use_weights(None)
    door.answer({"tuned": tuned}, f"set now: {_told(tuned)}")


def _propose(door: Door, number: int, *, apply: bool) -> None:
    from recollect.doors.plain import plain

    with door.open() as memories, door.progress() as progress:
        if apply and memories.read_only:
            raise StoreReadOnly(
                "The store can't be written, so nothing could be put in force: leave out --apply, "
                "or change its permissions."
            )
        proposal = memories.tune(number, progress=progress)
        applied = apply and proposal.weights is not None
        if applied:
            memories.use_weights(proposal.weights, reading=proposal.reading)
    door.answer({**plain(proposal), "applied": applied}, _lines(proposal))
    door.note(_next_step(proposal, applied=applied))


def _lines(proposal: Proposal) -> Iterator[str]:
    from recollect.evaluate.tuning import KINDS, told

    asked = ", ".join(f"{each.probes:,} {KINDS[each.kind]}" for each in proposal.evidence)
    yield render.style(render.one_line(f"{proposal.namespace}: {asked}; {proposal.model}"), bold=True)
    curves = {each.kind: {point.semantic: point.value for point in each.curve} for each in proposal.evidence}
    rows = [
        (
            f"{share:.2f}",
            f"{1 - share:.2f}",
            *(f"{curve[share]:.3f}" if curve else "–" for curve in curves.values()),
            _mark(proposal, share),
        )
        for share in sorted({share for curve in curves.values() for share in curve})
    ]
    if rows:
        headers = ("semantic", "keyword", *(f"{kind}: nDCG@10" for kind in curves), "")
        yield from render.table(headers, rows, right=range(len(headers) - 1))
    yield render.one_line(proposal.reason)
    if proposal.gain is not None:
        yield f"on probes that they were not chosen by: nDCG@10 {told(proposal.gain)}"


def _mark(proposal: Proposal, semantic: float) -> str:
    named = {"default": proposal.default, "in force": proposal.in_force, "proposed": proposal.weights}
    return ", ".join(name for name, weights in named.items() if weights and weights["semantic"] == semantic)


def _next_step(proposal: Proposal, *, applied: bool) -> str:
    if applied:
        return "They are in force now; recollect tune --undo takes them back."
    if proposal.weights is None and proposal.in_force != proposal.default:
        return "Nothing was changed; recollect tune --reset goes back to the default."
    if proposal.weights is None or proposal.weights == proposal.in_force:
        return "Nothing was changed."
    return "Nothing was changed; recollect tune --apply puts them in force."


def _told(tuned: Tuned | None) -> str:
    from recollect.weighing import told

    return told(tuned.weights) if tuned else "the default weights"
