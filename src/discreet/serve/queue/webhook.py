"""The webhook: tells an application, signed, that a ticket is new or final. Its id and status, and nothing else."""

from __future__ import annotations

import hmac
import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from discreet.core.errors import UsageError, need
from discreet.serve.queue.tables import deliveries

if TYPE_CHECKING:
    import httpx

    from discreet.serve.queue.tickets import Queue

ATTEMPTS = 8
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 3600.0
LEASE_S = 60.0
"""After a process died that was sending, another tries again so much later."""


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """`v1=` and the HMAC-SHA256 of timestamp, a dot and body."""
    return "v1=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, "sha256").hexdigest()


def is_signed(secret: str, timestamp: str, body: bytes, given: str, *, now: float, tolerance_s: float = 300) -> bool:
    """For whom it is sent to: whether a call is ours, and not an old one that somebody sends again.

    `timestamp` and `given` are the headers Discreet-Timestamp and Discreet-Signature, `now` seconds since 1970.
    """
    fresh = timestamp.isascii() and timestamp.isdigit() and abs(now - int(timestamp)) <= tolerance_s
    return hmac.compare_digest(signature(secret, timestamp, body).encode(), given.encode()) and fresh


class Announcer:
    """Sends what the queue has to tell to one URL, again after longer and longer pauses, `attempts` times at most.

    The queue is to be made with notify=True. What is to be sent lives in its database, so that nothing is forgotten
    when a process ends; several processes may send, each ticket is sent by one at a time. A receiver may see a ticket
    twice, where its answer was lost on the way. UsageError for a secret shorter than 16 characters.
    """

    def __init__(self, queue: Queue, url: str, secret: str, *, attempts: int = ATTEMPTS, timeout_s: float = 10,
                 client: httpx.Client | None = None) -> None:
        if len(secret) < 16:
            raise UsageError(f"the webhook's secret has {len(secret)} characters; expected at least 16 random ones: "
                             "openssl rand -hex 32")
        self.queue, self.url, self._secret, self.attempts = queue, url, secret, attempts
        self.client: httpx.Client = client or need("httpx", "the webhook", "serve").Client(
            timeout=timeout_s, follow_redirects=False)

    def close(self) -> None:
        """Close its connections."""
        self.client.close()

    def deliver(self, limit: int = 50) -> dict[str, int]:
        """Send what is due; how many arrived, will be tried again, and were given up. Raises UnavailableError."""
        now, c = self.queue.clock(), deliveries.c
        due = select(deliveries).where(c.next_at <= now).order_by(c.next_at).limit(limit)
        with self.queue.database.reading() as connection:
            found = list(connection.execute(due).mappings())
        done = {"arrived": 0, "retried": 0, "given_up": 0}
        for one in found:
            if self._change(one, next_at=now + LEASE_S, attempts=one["attempts"] + 1):
                mine = {**one, "next_at": now + LEASE_S, "attempts": one["attempts"] + 1}
                if self._send(mine):
                    done["arrived"] += self._change(mine, next_at=None, arrived=self.queue.clock())
                elif mine["attempts"] < self.attempts:
                    pause = min(FIRST_PAUSE_S * 2 ** (mine["attempts"] - 1), LONGEST_PAUSE_S)
                    done["retried"] += self._change(mine, next_at=self.queue.clock() + pause)
                else:
                    done["given_up"] += self._change(mine, next_at=None)
        return done

    def _send(self, delivery: dict[str, Any]) -> bool:
        """Whether the receiver took it: any 2xx."""
        import httpx

        body = json.dumps({"ticket": delivery["ticket"], "status": delivery["status"]}).encode()
        timestamp = str(int(self.queue.clock()))
        headers = {"Content-Type": "application/json", "Discreet-Timestamp": timestamp,
                   "Discreet-Signature": signature(self._secret, timestamp, body)}
        try:
            return self.client.post(self.url, content=body, headers=headers).is_success
        except (httpx.HTTPError, httpx.InvalidURL):
            return False

    def _change(self, delivery: Any, **changes: Any) -> bool:
        """Write where nobody else has meanwhile; whether that was so."""
        c = deliveries.c
        with self.queue.database.writing() as connection:
            changed = connection.execute(update(deliveries).where(
                c.ticket == delivery["ticket"], c.status == delivery["status"], c.next_at == delivery["next_at"],
                c.attempts == delivery["attempts"]).values(**changes))
        return changed.rowcount == 1
