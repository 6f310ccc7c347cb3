"""The metrics of a running server, in the format of Prometheus. Every worker has its own.

Requests are counted by route and never by path, errors by their code: a path or a message may name someone. What
happens below the doors is counted in `storage/tally.py` and read from there on request.
"""

from collections.abc import Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
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
        added = {} if one.metrics is None else load_part(one.metrics)
        for name, (family, words, label) in added.items():
            if name in counters or name in GAUGES or family in families:
                raise Invalid(f"extension {one.name!r} counts {name!r}, which is counted already", field="extensions")
            counters[name] = (family, words, label)
            families.add(family)
    return counters


class Metrics:
    """The registry of one application."""

    def __init__(self, kb: Keepbook) -> None:
        self.registry = CollectorRegistry()
        names = ("method", "route", "status")
        self._requests = Counter("keepbook_requests", "Requests answered.", names, registry=self.registry)
        self._seconds = Histogram(
            "keepbook_request_seconds", "Time to the end of an answer.", ("method", "route"), registry=self.registry
        )
        self._errors = Counter("keepbook_errors", "Answers that refuse, by code.", ("code",), registry=self.registry)
        self.registry.register(_Below(kb))

    def count(self, method: str, route: str, status: int, seconds: float, code: str | None) -> None:
        method = method if method in METHODS else OTHER
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)
        if code is not None:
            self._errors.labels(code).inc()


class _Below(Collector):
    """What was counted below the doors."""

    def __init__(self, kb: Keepbook) -> None:
        self._kb = kb
        self._counters = join_counters(kb.extensions)

    def collect(self) -> Iterator[Metric]:
        try:
            counted = self._kb.counted()
        except KeepbookError:  # no database, no backlog; the requests are still told
            return
        for name, (family, words, label) in self._counters.items():
            yield _add_metrics(CounterMetricFamily(family, words, labels=[label] if label else []), counted, name)
        for name, (family, words, label) in GAUGES.items():
            yield _add_metrics(GaugeMetricFamily(family, words, labels=[label]), counted, name)
        yield self._cost(counted)
        waits = SummaryMetricFamily("keepbook_database_wait_seconds", "Until a transaction may begin.", labels=["kind"])
        for kind in ("read", "write"):
            waits.add_metric([kind], int(counted.get(("waits", kind), 0)), counted.get(("wait_seconds", kind), 0))
        yield waits

    def _cost(self, counted: Counts) -> Metric:
        words = "What they cost, at `price_in` and `price_out`."
        cost = CounterMetricFamily("keepbook_model_cost", words, labels=["model"])
        settings = self._kb.settings
        for model in sorted({kind for what, kind in counted if what == "tokens_in"}):
            spent = counted["tokens_in", model] * settings.price_in
            spent += counted.get(("tokens_out", model), 0) * settings.price_out
            cost.add_metric([model], spent / A_MILLION)
        return cost


def _add_metrics(
    family: CounterMetricFamily | GaugeMetricFamily, counted: Counts, name: str
) -> CounterMetricFamily | GaugeMetricFamily:
    for (what, kind), value in sorted(counted.items()):
        if what == name:
            family.add_metric([kind] if kind else [], value)
    return family
