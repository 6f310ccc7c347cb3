"""The metrics of a running server, in the format of Prometheus: one sum, whichever of its workers is asked.

Requests are counted by route and never by path, errors by their code: a path or a message may name someone. What
happens below the doors is counted in `storage/tally.py`, which tells it here.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Histogram, Summary
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from keepbook.app import Keepbook
from keepbook.errors import Invalid, KeepbookError
from keepbook.extension import Extension, load_part

COUNTERS: dict[str, tuple[str, str, str | None]] = {
    "writes": ("keepbook_writes", "Entries of the ledger, by action.", "action"),
    "closes": ("keepbook_closes", "Chats read for memories: closed, failed, or parked after the last try.", "outcome"),
    "jobs": ("keepbook_jobs", "What the sweeps did, by work.", "work"),
    "failed_jobs": ("keepbook_failed_jobs", "What they tried in vain.", None),
    "vectors": ("keepbook_vectors", "Questions by meaning: vectors held in memory, or missed and read.", "found"),
    "tokens_in": ("keepbook_model_tokens_in", "Tokens that models read.", "model"),
    "tokens_out": ("keepbook_model_tokens_out", "Tokens that models wrote.", "model"),
}
GAUGES = {
    "due": ("keepbook_due", "What waits for the next sweep, by work: the backlog.", "work"),
    "due_seconds": ("keepbook_due_seconds", "How long the oldest of it has waited.", "work"),
}
OUTCOMES = ("closed", "failed", "parked")
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
OTHER = "other"
"""A method that nothing here answers to: anybody can think of a million more, and each would be kept."""
A_MILLION = 1_000_000
Counts = Mapping[tuple[str, str], float]


def join_counters(extensions: Sequence[Extension]) -> dict[str, tuple[str, str, str | None]]:
    """The core's counters and those of extensions, by their name in the tally; none may have a name that is taken."""
    counters = dict(COUNTERS)
    families = {family for family, _, _ in (*COUNTERS.values(), *GAUGES.values())}
    for one in extensions:
        if one.metrics is not None:
            added = load_part(one.metrics)
        else:
            added = {}
        for name, (family, words, label) in added.items():
            if name in counters or name in GAUGES or family in families:
                raise Invalid(f"extension {one.name!r} counts {name!r}, which is counted already", field="extensions")
            counters[name] = (family, words, label)
            families.add(family)
    return counters


class Metrics:
    """The figures of one application. `folder` is where the workers of a server count together: each in files of its
    own, which whoever is asked adds up. What waits is asked of the database."""

    def __init__(self, kb: Keepbook, folder: Path | None = None) -> None:
        self._price = {"tokens_in": kb.settings.price_in, "tokens_out": kb.settings.price_out}
        self.registry: CollectorRegistry = CollectorRegistry()
        own = None
        if folder is None:
            own = self.registry
        if folder is not None:
            self.registry.register(_Workers(folder))
        names = ("method", "route", "status")
        self._requests = Counter("keepbook_requests", "Requests answered.", names, registry=own)
        self._seconds = Histogram(
            "keepbook_request_seconds", "Time to the end of an answer.", ("method", "route"), registry=own
        )
        self._errors = Counter("keepbook_errors", "Answers that refuse, by code.", ("code",), registry=own)
        self._counters = {
            name: Counter(family, words, (label,) if label else (), registry=own)
            for name, (family, words, label) in join_counters(kb.extensions).items()
        }
        for outcome in OUTCOMES:  # or the first that is parked would be no increase
            self._counters["closes"].labels(outcome)
        self._cost = Counter(
            "keepbook_model_cost", "What they cost, at `price_in` and `price_out`.", ("model",), registry=own
        )
        self._waits = Summary(
            "keepbook_database_wait_seconds", "Until a transaction may begin.", ("kind",), registry=own
        )
        self.registry.register(_Waiting(kb))
        kb.follow_counts(self.count_below)

    def count(self, method: str, route: str, status: int, seconds: float, code: str | None) -> None:
        if method not in METHODS:
            method = OTHER
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)
        if code is not None:
            self._errors.labels(code).inc()

    def count_below(self, counted: Counts) -> None:
        """Count what happened below the doors."""
        for (name, kind), times in counted.items():
            if name == "wait_seconds":
                self._waits.labels(kind).observe(times)
            elif name in self._counters:
                counter = self._counters[name]
                (counter.labels(kind) if kind else counter).inc(times)
            if name in self._price:
                self._cost.labels(kind).inc(times * self._price[name] / A_MILLION)


class _Workers(Collector):
    """What the workers of a server count, each in files of its own. A worker that starts makes a file before it writes
    the first figure into it, and an empty one cannot be read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterator[Metric]:
        filled = [str(file) for file in self._folder.glob("*.db") if file.stat().st_size]
        yield from MultiProcessCollector.merge(filled)  # type: ignore[no-untyped-call]


class _Waiting(Collector):
    """What waits in the database, whoever is asked."""

    def __init__(self, kb: Keepbook) -> None:
        self._kb = kb

    def collect(self) -> Iterator[Metric]:
        try:
            counted = self._kb.counted()
        except KeepbookError:  # no database, no backlog; the requests are still told
            return
        for name, (family, words, label) in GAUGES.items():
            told = GaugeMetricFamily(family, words, labels=[label])
            for (what, kind), value in sorted(counted.items()):
                if what == name:
                    told.add_metric([kind], value)
            yield told
