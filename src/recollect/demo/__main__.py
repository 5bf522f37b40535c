"""`python -m recollect.demo`: the demo on the terminal."""

from __future__ import annotations

import os
import sys

from recollect.demo.showing import run

if __name__ == "__main__":
    sys.exit(run(out=sys.stdout, color=sys.stdout.isatty() and "NO_COLOR" not in os.environ))
