"""The command line: `recollect add`, `recollect search` and the rest. Nothing heavy is imported for help."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; what `recollect` in a shell calls."""
    from recollect.doors.cli.program import run

    run(arguments)
