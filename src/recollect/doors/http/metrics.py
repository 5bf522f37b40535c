"""What a Prometheus server reads: how many requests there were, how long they took, what came of them."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from recollect import __version__

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)


class Metrics:
    """The numbers of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "recollect_requests", "Requests, by operation and status.", ("operation", "status"),
            registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "recollect_request_seconds", "How long requests took.", ("operation",), buckets=_SECONDS,
            registry=self._registry,
        )  # fmt: skip
        self.in_progress = Gauge(
            "recollect_requests_in_progress", "Requests that are being answered.", registry=self._registry
        )
        Info("recollect", "The version that runs.", registry=self._registry).info({"version": __version__})

    def note(self, operation: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests.labels(operation, str(status)).inc()
        self._seconds.labels(operation).observe(seconds)

    def text(self) -> bytes:
        """All of it, in Prometheus's own form."""
        return generate_latest(self._registry)
