"""Kill -9 at random moments with tickets in flight: none lost, none decided twice."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.serve.queue import crash
from tests.serve.queue.postgres import cluster

from discreet.serve.console.statistics import audit_rows
from discreet.serve.queue.audit import verify
from discreet.serve.queue.tickets import Queue

pytestmark = pytest.mark.services
MOMENTS = 50


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'queue.db'}"
    else:
        with cluster() as server:
            yield server.database()


def test_kill_nine_loses_nothing_and_decides_nothing_twice(url: str, tmp_path: Path) -> None:
    keys, seed = tmp_path / "keys", random.Random(13)
    root = Path(crash.__file__).parents[3]
    said: list[list[str]] = []
    for _ in range(MOMENTS):
        child = subprocess.Popen([sys.executable, "-m", "tests.serve.queue.crash", url, str(keys)], cwd=root,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        said.append(child.stdout.readline().split())  # it has begun
        time.sleep(seed.uniform(0, .4))
        child.kill()
        out, _ = child.communicate()
        # The last line may be cut; what it would have said may be done or not.
        said += [line.split() for line in out.splitlines(keepends=True) if line.endswith("\n")]

    queue = Queue(url, keys, undo_s=0)
    queue.sweep(10**6)
    states = {words[1]: queue.state(words[1], "clinic") for words in said}
    opened = {words[1] for words in said if words[0] == "opened"}
    decided = [(words[1], words[2]) for words in said if words[0] == "decided"]
    assert len(opened) > MOMENTS
    assert len(decided) > MOMENTS // 2  # on a busy machine a child gets to few before it is killed
    rows = audit_rows(queue.database, None, None, None, 10**6)
    found = verify(queue.database, queue.audit_key)
    assert (found.rows, found.wrong) == (len(rows), None)
    assert opened <= {row["ticket"] for row in rows if row["action"] == "open"}
    counts = Counter((row["ticket"], row["action"] if row["action"] == "final" else "decision") for row in rows
                     if row["action"] in ("release", "block", "final"))
    assert set(counts.values()) == {1}
    assert Counter(one for one, _ in decided).most_common(1)[0][1] == 1
    for ticket, action in decided:
        assert states[ticket].status == {"release": "released", "block": "blocked"}[action]
    for state in states.values():
        assert (state.payload == {"content": crash.TEXT}) == (state.status == "released")
    assert {state.status for state in states.values()} <= {"pending", "released", "blocked"}
    print(f"{len(opened)} opened, {len(decided)} decided, {Counter(state.status for state in states.values())}")
    queue.close()
