"""Writing a file in one step: whoever reads it finds the old text or the new one, never half of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

PRIVATE = 0o600


def write(path: Path, text: str, mode: int = PRIVATE, *, durable: bool = True) -> None:
    """Put a text in the place of what stands at a path, whose folder is there.

    Where it must be `durable`, it is on the disk before it takes that place. OSError leaves the old file.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    made = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if mode != PRIVATE:  # which it was made with
            made.chmod(mode)
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
