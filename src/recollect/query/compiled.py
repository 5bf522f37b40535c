"""The inner loops over a text's characters in C, where there was a compiler; else Python does the same."""

from __future__ import annotations

try:
    from recollect.query import _text as _text

    COMPILED = True
except ImportError:  # there was no compiler where it was installed from source
    COMPILED = False
