from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from discreet.endpoints.retries import asked_pause, backoff, passes

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def test_what_passes() -> None:
    assert [status for status in (*range(400, 431), 500, 501, 503, 529) if passes(status)] == [
        408, 425, 429, 500, 501, 503, 529]
    assert not any(passes(status) for status in (200, 204, 301, 302, 307))


def test_pauses_double_up_to_a_bound() -> None:
    assert [backoff(attempt) for attempt in range(1, 9)] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert backoff(10**9) == 30.0


@pytest.mark.parametrize(("header", "seconds"), [
    ("7", 7.0), (" 0 ", 0.0), (None, None), ("", None), ("soon", None), ("-3", None), ("1.5", None), ("٣", None),
    (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),
    (format_datetime(NOW - timedelta(seconds=90), usegmt=True), 0.0),
    ("Sun, 01 Mar 2026 12:00:05 -0000", 5.0), ("Sun, 01 Mar 2026 13:00:05 +0100", 5.0),
    ("Sun, 99 Mar 2026 12:00:05 GMT", None),
])
def test_what_a_service_asks_for(header: str | None, seconds: float | None) -> None:
    assert asked_pause(header, NOW) == seconds
