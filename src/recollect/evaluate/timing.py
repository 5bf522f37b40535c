"""How long, and how much memory?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds that half, 95 and 99 of a hundred calls stay below."""

    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Latency:
        """Of these calls, of which there is at least one.

        >>> Latency.of([0.001] * 99 + [1.0])
        Latency(p50=1.0, p95=1.0, p99=1.0)
        """
        ranked = sorted(seconds)
        # the smallest time that the given share of the calls does not exceed
        return cls(*(round(ranked[-(-len(ranked) * share // 100) - 1] * 1000, 3) for share in (50, 95, 99)))


def resident_bytes() -> int | None:
    """What this process holds in memory; its peak where the present is not told; None where neither is."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
        return pages * resource.getpagesize()
    except ImportError:
        return None
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
