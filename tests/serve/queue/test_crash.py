"""Kill -9 at random moments with tickets in flight: none lost, none decided twice."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.serve.queue import crash
from tests.serve.queue.postgres import cluster

from discreet.serve.console.statistics import audit_rows
from discreet.serve.queue.audit import verify
from discreet.serve.queue.tickets import Queue

pytestmark = pytest.mark.services
MOMENTS = 50
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["tests.serve.queue.crash"])
"""Children of it have imported what they need: of a second each, that would be most of the test."""


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'queue.db'}"
    else:
        with cluster() as server:
            yield server.database()


def killed(url: str, keys: Path, decisions: int, seconds: float) -> list[tuple[str, ...]]:
    """What a child said that was killed `seconds` after that many decisions: by work, as a busy machine is slow."""
    reading, writing = SERVER.Pipe(duplex=False)
    with reading:
        child = SERVER.Process(target=crash.main, args=(url, str(keys), writing))
        child.start()
        writing.close()
        said = [reading.recv()]  # it has begun
        while sum(words[0] == "decided" for words in said) < decisions:
            said.append(reading.recv())
        time.sleep(seconds)
        child.kill()
        with suppress(EOFError, OSError):  # The last message may be cut; what it would have said may be done or not.
            while True:
                said.append(reading.recv())
        child.join()
    return said


def test_kill_nine_loses_nothing_and_decides_nothing_twice(url: str, tmp_path: Path) -> None:
    keys, draw = tmp_path / "keys", random.Random(13)
    asked = [draw.randrange(4) for _ in range(MOMENTS)]
    said = [words for n in asked for words in killed(url, keys, n, draw.uniform(0, .1))]
    opened = {words[1] for words in said if words[0] == "opened"}
    decided = [(words[1], words[2]) for words in said if words[0] == "decided"]
    assert len(opened) >= MOMENTS
    assert len(decided) >= sum(asked)

    queue = Queue(url, keys, undo_s=0)
    queue.sweep(10**6)
    rows = audit_rows(queue.database, None, None, None, 10**6)
    found = verify(queue.database, queue.audit_key)
    assert (found.rows, found.wrong) == (len(rows), None)
    by_action = {action: Counter(row["ticket"] for row in rows if row["action"] == action)
                 for action in ("open", "release", "block", "final")}
    tickets = set(by_action["open"])
    assert opened <= tickets
    assert max((by_action["release"] + by_action["block"]).values()) == 1
    assert by_action["final"] == by_action["release"] + by_action["block"]
    assert len(decided) == len(dict(decided))
    for ticket, action in decided:
        assert ticket in by_action[action]
    ends = {"released": "release", "blocked": "block"}
    for ticket in tickets:
        state = queue.state(ticket, "clinic")
        assert state.status == next((end for end, action in ends.items() if ticket in by_action[action]), "pending")
        assert (state.payload == {"content": crash.TEXT}) == (state.status == "released")
    queue.close()

    later = Queue(url, keys, clock=lambda: time.time() + 3 * queue.expires_s)
    later.sweep(10**6)
    ended = [later.row(ticket) for ticket in tickets]
    assert {row["status"] for row in ended} <= {"released", "blocked", "expired"}
    assert {row["sealed"] for row in ended} == {None}
    later.close()
