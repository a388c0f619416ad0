"""When a request is tried again, and how long to wait before."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

PASSING = frozenset({408, 425, 429})
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0


def passes(status: int) -> bool:
    """Whether a status may be another one a little later: 408, 425, 429 and everything from 500."""
    return status in PASSING or status >= 500


def backoff(attempt: int) -> float:
    """Seconds to wait after the failed attempt `attempt`, counted from 1: half a second, doubled up to 30."""
    return float(min(FIRST_PAUSE * 2.0 ** min(attempt - 1, 16), LONGEST_PAUSE))


def asked_pause(header: str | None, now: datetime) -> float | None:
    """Seconds that a header Retry-After asks for (RFC 9110, section 10.2.3): a number, or a date as of `now`.

    At least 0; None without the header, and for one that is neither.
    """
    said = (header or "").strip()
    if said.isascii() and said.isdecimal():
        return float(said)
    try:
        then = parsedate_to_datetime(said)
    except (ValueError, IndexError):
        return None
    # A date of the form "-0000" has no zone; it is in UTC all the same.
    return max((then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp() - now.timestamp(), 0.0)
