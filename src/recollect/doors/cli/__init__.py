"""The command line: `recollect add`, `recollect search` and the rest. Nothing heavy is imported for help."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; what `recollect` in a shell calls."""
    gc.set_threshold(50_000, 20, 20)  # 60 collections were 7% of a keyword search
    atexit.register(gc.freeze)  # the last ones, through all that was imported, were another tenth
    from recollect.doors.cli.program import run

    run(arguments)
