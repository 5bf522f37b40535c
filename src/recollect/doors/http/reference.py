"""The operations as docs/http.md lists them: `python -m recollect.doors.http.reference docs/http.md`."""

from __future__ import annotations

import sys
from pathlib import Path

from recollect.doors.http.asking import path_names
from recollect.doors.http.openapi import OPERATIONS
from recollect.doors.http.operations import Operation

BEGIN, END = "<!-- operations: made from the program -->", "<!-- end -->"


def table() -> str:
    """Every operation: how it is asked for, what it does, what may be given."""
    rows = "\n".join(f"| {_asked(each)} | {_summary(each)} | {_given(each)} |" for each in OPERATIONS)
    return f"{BEGIN}\n\n| request | what it does | what it takes |\n|---|---|---|\n{rows}\n\n{END}"


def written(page: str) -> str:
    """A page with the table in its place."""
    before, _, rest = page.partition(BEGIN)
    return before + table() + rest.partition(END)[2]


def _asked(operation: Operation) -> str:
    return f"`{operation.method} {operation.path}`"


def _summary(operation: Operation) -> str:
    marks = [
        "progress" if operation.progress else "",
        "JSON lines" if operation.lines else "",
        "whole store" if operation.reach == "store" else "",
    ]
    told = ", ".join(filter(None, marks))
    return operation.summary + (f" ({told})" if told else "")


def _given(operation: Operation) -> str:
    fields = {**operation.query, **(operation.body or {}).get("properties", {})}
    required = {*(operation.body or {}).get("required", ()), *path_names(operation.path)}
    return ", ".join(f"**`{name}`**" if name in required else f"`{name}`" for name in fields)


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]):
        page.write_text(written(page.read_text("utf-8")), "utf-8")
