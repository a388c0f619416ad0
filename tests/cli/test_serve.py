"""The command: keys, and the service in processes of its own, which drains when it is told to end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from pytest_socket import socket_allow_hosts
from tests.cli.conftest import Cli
from tests.loopback import PROXIES
from tests.serve.conftest import LITIGATOR, SAFE

import discreet
from discreet.serve.run import check
from discreet.serve.settings import Settings

ENV = {**{k: v for k, v in os.environ.items() if k not in PROXIES},
       "PYTHONPATH": str(Path(discreet.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
RUN = [sys.executable, "-c", "import sys; from discreet.cli.main import run; sys.exit(run())", "serve"]
pytestmark = pytest.mark.usefixtures("socket_enabled")


class Served:
    """A service in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], lines: list[str], log: Path) -> None:
        self.process, self.lines, self.log = process, lines, log
        found = re.match(r"(http://127\.0\.0\.1:(\d+))", lines[0])
        assert found is not None, log.read_text()
        self.url, self.port = found[1], int(found[2])

    def ready(self) -> None:
        """Wait until it is."""
        until = time.monotonic() + 300
        while time.monotonic() < until:
            assert self.process.poll() is None, self.log.read_text()
            with suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/health/ready", timeout=30).status_code == 200:
                    return
            time.sleep(0.1)
        raise AssertionError(self.log.read_text())

    def ask(self, text: str, token: str = "") -> httpx.Response:
        return httpx.post(f"{self.url}/v1/check", json={"text": text}, headers={"x-api-key": token}, timeout=60)

    def workers(self) -> list[int]:
        """Processes below this one that judge."""
        found, below = [], {self.process.pid}
        for _ in range(3):
            for one in Path("/proc").glob("[0-9]*"):
                with suppress(OSError):
                    parent = int((one / "stat").read_text().rpartition(")")[2].split()[1])
                    if parent in below and int(one.name) not in below:
                        below.add(int(one.name))
                        found += [int(one.name)] if b"spawn_main" in (one / "cmdline").read_bytes() else []
        return found


def gone(pid: int) -> bool:
    """Whether a process ends within a minute; a zombie, which nobody has waited for, has."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if not Path(f"/proc/{pid}/cmdline").read_bytes():
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


@contextmanager
def serving(tmp_path: Path, *words: str, env: Mapping[str, str] = ENV) -> Iterator[Served]:
    socket_allow_hosts(["127.0.0.1"])
    log = tmp_path / "log.jsonl"
    with log.open("w") as err:
        process = subprocess.Popen([*RUN, *words, "--port", "0"], env=env, stdout=subprocess.PIPE, stderr=err,
                                   text=True, cwd=tmp_path)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    try:
        yield Served(process, lines, log)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_keys_are_added_listed_and_removed(cli: Cli, tmp_path: Path) -> None:
    file = str(tmp_path / "keys.json")
    token = cli("serve", "key", "add", file, "--name", "app", "--guard", "law", "--guard", "tax").out.strip()
    assert token.startswith("dsk_")
    assert cli("serve", "key", "add", file, "--role", "operator", "--name", "ops").code == 0
    assert [line.partition(";")[0] for line in cli("serve", "key", "list", file).out.splitlines()] == [
        "app caller law, tax", "ops operator default guard"]
    assert cli("serve", "key", "remove", file, "app").code == 0
    for words in (("remove", file, "app"), ("add", file, "--role", "root"), ("list", str(tmp_path / "none"))):
        assert cli("serve", "key", *words).code == 2


@pytest.mark.parametrize(("words", "said"), [
    ((), "guards is missing; expected --domain"), (("--domain", "medical"), "keys is missing"),
    (("--domain", "astrology", "--no-auth"), "astrology"), (("--point", "strict", "--no-auth"), "--point belongs"),
    (("--domain", "medical", "--no-auth", "--host", "0.0.0.0"), "listens on the loopback only"),
    (("--domain", "medical", "--no-auth", "--point", "mild"), "unknown operating point"),
    (("--domain", "medical", "--keys", "none.json", "--port", "0"), "cannot read none.json"),
    (("--domain", "medical", "--keys", "none.json", "--processes", "2", "--port", "0"), "cannot read none.json"),
    (("--domain", "medical", "--no-auth", "--host", "127.0.0.1", "--config", "none.yaml"), "cannot read none.yaml")])
def test_a_mistake_is_one_line_before_anything_is_served(cli: Cli, words: tuple[str, ...], said: str,
                                                         tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ended = cli("serve", *words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert said in ended.err


def test_nothing_is_said_of_a_service_before_its_keys_log_and_database_are_open(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text('{"version": 1, "keys": [{"id": "app", "gaurds": []}]}')
    for words, said in ((("--keys", tmp_path / "keys.json"), "the key 'app' has 'gaurds'"),
                        (("--no-auth", "--queue", "sqlite:////none/q.db"), "cannot be opened")):
        ended = cli("serve", "--domain", "medical", "--port", "0", *words)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err


def test_a_key_of_a_guard_that_is_not_served_is_said_at_start(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    words = ("serve", "--domain", "medical", "--port", "0", "--keys", str(file))
    for name, *guards in (("app", "medical", "medcal"), ("ops", "*"), ("plain",), ("tax", "tax")):
        assert cli("serve", "key", "add", str(file), "--name", name, *(
            word for guard in guards for word in ("--guard", guard))).code == 0
    ended = cli(*words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    for part in ("the key 'app' is for the guard 'medcal', which is not served; served are medical (and 1 more)",
                 str(file)):
        assert part in ended.err
    assert cli("serve", "key", "remove", str(file), "app").code == 0
    assert "the key 'tax' is for the guard 'tax'" in cli(*words).err
    kept = json.loads(file.read_text())
    kept["keys"][-1]["expires"] = 1  # A key that has ended stops nobody.
    file.write_text(json.dumps(kept))
    check(Settings.read(None, guards={"medical": {"domain": "medical"}}, keys=file))


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGHUP])
def test_it_serves_refuses_and_drains(tmp_path: Path, cli: Cli, told: signal.Signals) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, and so would the service.
    file = tmp_path / "keys.json"
    token = cli("serve", "key", "add", str(file)).out.strip()
    with serving(tmp_path, "--domain", "medical", "--keys", str(file), "--workers", "1") as service:
        service.ready()
        signal.signal(signal.SIGHUP, before)
        assert "medical/public@1" in service.lines[2]
        assert service.ask(LITIGATOR, token).json()["code"] == "privacy/contextual"
        assert service.ask(SAFE).status_code == 401
        # One who says that more comes than comes.
        with socket.create_connection(("127.0.0.1", service.port)) as liar:
            liar.sendall(b"POST /v1/check HTTP/1.1\r\nHost: localhost\r\nx-api-key: " + token.encode() +
                         b"\r\nContent-Length: 20\r\n\r\n{}")
        long = "Metformin lowers blood glucose. " * 3000
        answers: list[Any] = []
        asking = threading.Thread(target=lambda: answers.append(service.ask(long, token)))
        asking.start()
        time.sleep(0.3)
        service.process.send_signal(told)
        asking.join()
        assert answers[0].json()["action"] == "pass"
        assert service.process.wait(60) in (0, -signal.SIGTERM)
        with pytest.raises(httpx.TransportError):
            service.ask(SAFE, token)
    events = [json.loads(line) for line in service.log.read_text().splitlines()]
    assert events[-1]["template"].startswith("Finished server process")
    assert "Metformin" not in service.log.read_text()
    assert token not in service.log.read_text()


def test_a_shadow_passes_everything_and_its_log_says_what_would_be_withheld(tmp_path: Path, cli: Cli) -> None:
    with serving(tmp_path, "--domain", "medical", "--no-auth", "--workers", "1", "--shadow") as service:
        service.ready()
        assert [service.ask(text).json()["action"] for text in (LITIGATOR, SAFE)] == ["pass", "pass"]
    assert "2 requests observed, 1 (50.0%) would be withheld" in cli("serve", "shadow", str(service.log)).out


def test_a_killed_worker_is_replaced_and_a_killed_service_leaves_none(tmp_path: Path) -> None:
    with serving(tmp_path, "--domain", "medical", "--no-auth", "--workers", "1") as service:
        service.ready()
        (worker,) = service.workers()
        os.kill(worker, signal.SIGKILL)
        assert service.ask(SAFE).json()["action"] == "failed"
        service.ready()
        assert service.ask(SAFE).json()["action"] == "pass"
        (worker,) = service.workers()
        service.process.kill()
        assert gone(worker)


@pytest.mark.services
def test_several_processes_serve_one_port_and_add_up_their_counts(tmp_path: Path) -> None:
    words = ("--domain", "medical", "--no-auth", "--workers", "1", "--processes", "2", "--shadow",
             "--queue", f"sqlite:///{tmp_path}/queue.db")
    with serving(tmp_path, *words) as service:
        service.ready()
        for _ in range(20):
            assert service.ask(LITIGATOR).json()["action"] == "pass"
        (row,) = httpx.get(f"{service.url}/v1/observed").json()
        assert row["observed"] == 20
        assert row["would_hold"] == [{"code": "privacy/contextual", "action": "block", "count": 20}]
        assert "discreet_decisions_total" in httpx.get(f"{service.url}/metrics").text
        workers = service.workers()
        assert len(workers) == 4
        (children,) = (one.read_text().split() for one in
                       Path(f"/proc/{service.process.pid}/task").glob("*/children") if one.parent.name == str(
                           service.process.pid))
        served = [int(pid) for pid in children if int(pid) in workers]
        os.kill(served[0], signal.SIGKILL)
        until = time.monotonic() + 60
        while "\ndiscreet_workers 2.0" not in httpx.get(f"{service.url}/metrics", timeout=60).text or (
                set(workers) & set(service.workers()) == set(workers)):
            assert time.monotonic() < until
            time.sleep(0.2)
        workers = service.workers()
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(60) in (0, -signal.SIGTERM)
        assert all(map(gone, workers))


@pytest.mark.services
def test_processes_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    """Or they would go on serving alone, with the port taken and settings that nobody can change."""
    with serving(tmp_path, "--domain", "medical", "--no-auth", "--workers", "1", "--processes", "2") as service:
        service.ready()
        below = service.workers()
        assert len(below) == 4
        service.process.kill()
        assert all(map(gone, below))
        with pytest.raises(httpx.TransportError):
            service.ask(SAFE)
