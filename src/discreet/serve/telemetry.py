"""Metrics, logs and spans: ids, codes, counts and timings, and never a text."""

from __future__ import annotations

import logging
import os
import sys
import time
import traceback
from collections import Counter as Counts
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TextIO

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from discreet.core.errors import UsageError, need
from discreet.core.files import event_line, refuse_text, why

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder where the processes of one service share their counts."""
MOST_KINDS = 200
"""Combinations of kinds of attributes that have a series of their own."""
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The counts of one process; `shared` is the folder where several add up."""

    def __init__(self, shared: Path | None = None) -> None:
        self._shared = shared
        for file in () if shared is None else shared.glob("gauge_live*_*.db"):
            pid = int(file.stem.rpartition("_")[2])
            try:
                os.kill(pid, 0)
            except ProcessLookupError:  # One that was killed would be counted on.
                mark_process_dead(pid, str(shared))  # type: ignore[no-untyped-call]
        self.registry = registry = CollectorRegistry()
        self._kinds = {""}
        self.requests = Counter("discreet_requests", "Requests by door (path of the route), and HTTP status.",
                                ("door", "status"), registry=registry)
        self.decisions = Counter("discreet_decisions", "Decisions by guard, door, action and reason code.",
                                 ("guard", "door", "action", "code"), registry=registry)
        self.key_requests = Counter("discreet_key_requests", "Requests by the name of the key, and HTTP status.",
                                    ("key", "status"), registry=registry)
        self.key_decisions = Counter("discreet_key_decisions", "Decisions by the name of the key, guard and action.",
                                     ("key", "guard", "action"), registry=registry)
        self.key_seconds = Counter("discreet_key_judge_seconds", "Seconds of workers by the name of the key.",
                                   ("key",), registry=registry)
        self.would_hold = Counter(
            "discreet_would_hold", "Observed decisions that enforce would hold: by cause, kinds of attributes, and "
            "whether words of the user were known or nothing was declared.",
            ("guard", "policy", "code", "action", "cause", "kinds", "declared"), registry=registry)
        self.appeals = Counter("discreet_appeals", "Flags that callers call wrong, and that went to review.",
                               ("guard", "code"), registry=registry)
        self.restated = Counter("discreet_restated", "Answers held because they restate one that was withheld.",
                                ("guard",), registry=registry)
        self.observed = Counter("discreet_observed", "Observed decisions, held or not.", ("guard", "policy"),
                                registry=registry)
        self.judged = Histogram("discreet_judge_seconds", "Seconds from an answer's arrival to its judgement.",
                                ("guard",), buckets=SECONDS, registry=registry)
        self.replaced = Counter("discreet_workers_replaced", "Workers that were replaced or did not load, by cause.",
                                ("cause",), registry=registry)
        self.workers = Gauge("discreet_workers", "Workers that are loaded and judge.", registry=registry,
                             multiprocess_mode="livesum")
        self.waiting = Gauge("discreet_waiting", "Answers that wait for a worker.", registry=registry,
                             multiprocess_mode="livesum")
        self.webhook = Counter("discreet_webhook", "Calls of the webhook: arrived, retried (failed, tried again) or "
                               "given_up.", ("outcome",), registry=registry)
        self.queue_errors = Counter("discreet_queue_errors", "Calls of the review queue that failed, by operation.",
                                    ("operation",), registry=registry)

    def hold(self, guard: str, policy: str, code: str, action: str, cause: str, kinds: str, declared: str) -> None:
        """Count an observed decision that enforce would hold.

        Whoever chooses the texts chooses which kinds come together: those beyond the first `MOST_KINDS` are "other", or
        there would be as many series as they like.
        """
        if len(self._kinds) < MOST_KINDS:
            self._kinds.add(kinds)
        self.would_hold.labels(guard, policy, code, action, cause, kinds if kinds in self._kinds else "other",
                               declared).inc()

    def _gathered(self) -> CollectorRegistry:
        if self._shared is None:
            return self.registry
        found = CollectorRegistry()
        MultiProcessCollector(found, path=str(self._shared))  # type: ignore[no-untyped-call]
        return found

    def counts(self, name: str) -> Iterator[tuple[dict[str, str], int]]:
        """The labels and counts of one metric."""
        return ((sample.labels, int(sample.value)) for family in self._gathered().collect()
                for sample in family.samples if sample.name == name)

    def page(self) -> bytes:
        """All metrics as Prometheus reads them."""
        return generate_latest(self._gathered())

    def decided(self) -> dict[str, tuple[int, int]]:
        """By guard: how many decisions there were, and how many of them "undecided"."""
        found: dict[str, tuple[int, int]] = {}
        for labels, more in self.counts("discreet_decisions_total"):
            n, undecided = found.get(labels["guard"], (0, 0))
            found[labels["guard"]] = n + more, undecided + more * (labels["code"] == "privacy/undecided")
        return found

    def observations(self) -> list[dict[str, Any]]:
        """By policy: how many decisions were observed, and how many enforce would hold, by code and action."""
        found: dict[str, dict[str, Any]] = defaultdict(lambda: {"observed": 0, "would_hold": []})
        held: Counts[tuple[str, str, str]] = Counts()
        for labels, count in self.counts("discreet_observed_total"):
            found[labels["policy"]]["observed"] += count
        for labels, count in self.counts("discreet_would_hold_total"):
            held[labels["policy"], labels["code"], labels["action"]] += count
        for (policy, code, action), count in held.items():
            found[policy]["would_hold"].append({"code": code, "action": action, "count": count})
        return [{"policy": policy, **found[policy]} for policy in sorted(found)]


class Log:
    """JSON Lines of events. A key that may hold a text is refused, so that nobody adds one by mistake."""

    def __init__(self, file: Path | None = None) -> None:
        self._stream: TextIO | None = None
        if file is not None:
            try:
                self._stream = file.open("a", encoding="utf-8", newline="\n", buffering=1)
            except OSError as error:
                raise UsageError(f"cannot write {file}: {why(error)}; name a file in a folder that can be written"
                                 ) from None

    def add(self, event: str, **facts: Any) -> None:
        """Write `{time, event, …facts}`. Raises ValueError for a key that may hold a text; never for a full disk."""
        line = event_line(event, facts)
        try:
            print(line, file=self._stream or sys.stderr, flush=True)
        except (OSError, ValueError):
            # A log that cannot be written stops nobody: decisions do not depend on it, and metrics go on.
            return


def crash(error: BaseException) -> dict[str, str]:
    """An unexpected error by its type and place in discreet: its message may quote an answer."""
    here = Path(__file__).parents[1]
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(here)]
    place = f"{Path(frames[-1].filename).relative_to(here).as_posix()}:{frames[-1].lineno}" if frames else "elsewhere"
    return {"kind": type(error).__name__, "place": place}


class Plain(logging.Handler):
    """What libraries log, without arguments or tracebacks: the template, and the type and place of an exception."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """One line."""
        said = {} if not record.exc_info or record.exc_info[1] is None else crash(record.exc_info[1])
        template = str(record.msg).strip() if record.name.startswith("uvicorn") and not said else None
        self._log.add("library", logger=record.name, level=record.levelname, template=template, **said)


def quiet_libraries(log: Log) -> None:
    """Send what libraries log through `Plain`, whatever handlers they brought; access lines are left out."""
    handler = Plain(log)
    logging.root.handlers[:] = [handler]
    logging.root.setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
        logger = logging.getLogger(name)
        logger.handlers[:] = []
        logger.propagate = name != "uvicorn.access"
    logging.getLogger("uvicorn.error").setLevel(logging.INFO)


class Tracing:
    """Spans by OpenTelemetry where that is asked for; attributes are ids, codes, counts and timings."""

    def __init__(self, wanted: bool) -> None:
        self._tracer = need("opentelemetry.trace", "trace: true", "serve").get_tracer("discreet") if wanted else None

    @contextmanager
    def span(self, name: str, **facts: str | int | float) -> Iterator[Any]:
        """A span, or None where there is no tracing. Exceptions leave no message in it."""
        refuse_text(facts)
        made = nullcontext() if self._tracer is None else self._tracer.start_as_current_span(
            name, attributes={f"discreet.{key}": value for key, value in facts.items()}, record_exception=False,
            set_status_on_exception=False)
        with made as span:
            yield span


class Telemetry:
    """Metrics, log and spans of a service."""

    def __init__(self, *, log: Log | None = None, metrics: Metrics | None = None, trace: bool = False) -> None:
        self.log, self.metrics, self.tracing = log or Log(), metrics or Metrics(), Tracing(trace)

    @contextmanager
    def timed(self, guard: str) -> Iterator[None]:
        """Count the seconds of the block for a guard."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.metrics.judged.labels(guard).observe(time.perf_counter() - started)

    def event(self, event: str, facts: Mapping[str, Any]) -> None:
        """One line of the log."""
        self.log.add(event, **facts)
