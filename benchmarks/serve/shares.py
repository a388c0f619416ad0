"""What each door adds to an answer of 100 tokens, and how a service is shared, as ratios within one run.

    python -m benchmarks.serve.shares                   # some 3 minutes, and a soak of 10
    python -m benchmarks.serve.shares --requests 40 --seconds 10 --soak 0

Starts `discreet serve` (two workers; a second guard redacts) in front of a model that answers at once, on the loopback.

1. Doors, one request at a time, in turns: the bare model, /v1/check, the proxy, and streams of these and of the guard that
   redacts. Milliseconds, and CPU seconds of the service's processes, which other work beside them changes less.
2. Eight callers through the proxy: how much of the CPU that an answer takes is what the library takes to judge it.
3. Two keys: one floods with 16 connections, the other asks one at a time; its p95 against that before the flood.
4. Soak: streams and checks at a modest rate; memory in the second and the last fifth of the time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from benchmarks.page import machine
from benchmarks.serve.load import Memory, cpu_s, free_port, running, texts

import discreet
from discreet import Guard

DOORS = ("bare", "check", "proxy", "bare stream", "proxy stream", "redacting stream")


class Asked:
    """A running service and its model, as one key sees them."""

    def __init__(self, bare: str, url: str, pid: int, token: str, sent: Sequence[str]) -> None:
        self.bare, self.url, self.pid, self.sent = bare, url, pid, sent
        self.client = httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=120)

    def ask(self, door: str, number: int) -> float:
        """Seconds of one request."""
        at = number % len(self.sent)
        host = self.bare if door.startswith("bare") else self.url
        path = "/guards/redacting" if door.startswith("redacting") else ""
        body = {"model": "stub", "stream": door.endswith("stream"), "messages": [{"role": "user", "content": str(at)}]}
        started = time.perf_counter()
        said = (self.client.post(f"{host}/v1/check", json={"text": self.sent[at]}) if door == "check" else
                self.client.post(f"{host}{path}/v1/chat/completions", json=body))
        said.raise_for_status()
        return time.perf_counter() - started


@contextmanager
def served(options: argparse.Namespace) -> Iterator[tuple[Asked, Asked]]:
    sent = texts("hundred", 64, options.seed)
    with TemporaryDirectory(prefix="discreet-shares-") as name:
        folder, bare, port = Path(name), free_port(), free_port()
        domain = shutil.copytree(Path(discreet.__file__).parent / "guard" / "domains" / "medical", folder / "redacting")
        policy = (domain / "policy.yaml").read_text("utf-8")
        (domain / "policy.yaml").write_text(f"{policy.replace('domain: medical', 'domain: redacting')}\non_flag: redact\n", "utf-8")
        (folder / "serve.yaml").write_text(json.dumps({
            "guards": {"medical": {"domain": "medical"}, "redacting": {"domain": str(domain)}}, "default_guard": "medical",
            "keys": str(folder / "keys.json"), "port": port, "workers": 2, "limits": {"per_minute": None},
            "upstream": {"url": f"http://127.0.0.1:{bare}/v1"}}))
        (folder / "answers.json").write_text(json.dumps(sent))
        run = [sys.executable, "-m", "discreet", "serve"]
        tokens = [subprocess.run([*run, "key", "add", str(folder / "keys.json"), "--guard", "*"], capture_output=True, text=True,
                                 check=True).stdout.strip() for _ in range(2)]
        model = [sys.executable, "-m", "benchmarks.serve.upstream", str(folder / "answers.json"), str(bare)]
        hosts = f"http://127.0.0.1:{bare}", f"http://127.0.0.1:{port}"
        with running(model, f"{hosts[0]}/v1/chat/completions", folder / "model.log"), running(
                [*run, "--config", str(folder / "serve.yaml")], f"{hosts[1]}/health/ready", folder / "serve.log") as process:
            yield Asked(*hosts, process.pid, tokens[0], sent), Asked(*hosts, process.pid, tokens[1], sent)


def at_once(callers: int, seconds: float, ask: Callable[[int], float]) -> int:
    """How many answers so many callers have in that time, each one at a time."""
    until, answers = time.monotonic() + seconds, [0] * callers

    def call(mine: int) -> None:
        while time.monotonic() < until:
            ask(mine + callers * answers[mine])
            answers[mine] += 1

    threads = [threading.Thread(target=call, args=(mine,)) for mine in range(callers)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return sum(answers)


def p(values: Sequence[float], share: float) -> float:
    return 1000 * statistics.quantiles(values, n=100)[round(100 * share) - 1]


def doors(one: Asked, requests: int) -> None:
    took: dict[str, list[float]] = {door: [] for door in DOORS}
    spent = dict.fromkeys(DOORS, 0.0)
    for number in range(-5, requests):
        for door in DOORS:
            before = cpu_s(one.pid)
            seconds = one.ask(door, number)
            if number >= 0:
                took[door].append(seconds)
                spent[door] += cpu_s(one.pid) - before
    print("| door | p50 ms | p95 ms | added p50 ms | CPU ms of the service |\n|---|---|---|---|---|")
    for door in DOORS:
        bare = "bare stream" if door.endswith("stream") else "bare"
        added = p(took[door], .5) - p(took[bare], .5)
        print(f"| {door} | {p(took[door], .5):.1f} | {p(took[door], .95):.1f} | {'' if door == bare else f'{added:.1f}'} | "
              f"{1000 * spent[door] / requests:.1f} |", flush=True)


def eight(one: Asked, seconds: float) -> None:
    guard = Guard("medical")
    before = cpu_s(one.pid)
    answers = at_once(8, seconds, lambda number: one.ask("proxy", number))
    spent = (cpu_s(one.pid) - before) / answers
    alone = time.process_time()
    for number, text in enumerate(one.sent):
        guard.check(text, str(number))
    judged = (time.process_time() - alone) / len(one.sent)
    print(f"eight callers: {answers / seconds:.1f} answers a second, {1000 * spent:.1f} ms of CPU each; the library judges one in "
          f"{1000 * judged:.1f} ms: {judged / spent:.2f} of it", flush=True)


def flood(one: Asked, other: Asked, seconds: float) -> None:
    def p95() -> float:
        until, took = time.monotonic() + seconds, list[float]()
        while time.monotonic() < until:
            took.append(other.ask("check", len(took)))
        return p(took, .95)

    quiet = p95()
    flooding = threading.Thread(target=at_once, args=(16, seconds + 2, lambda number: one.ask("check", number)))
    flooding.start()
    time.sleep(1)
    loud = p95()
    flooding.join()
    print(f"two keys: p95 {quiet:.1f} ms alone, {loud:.1f} ms beside a flood of the other key: {loud / quiet:.1f} times", flush=True)


def soak(one: Asked, seconds: float, rate: float) -> None:
    memory = Memory(one.pid)
    memory.start()
    started, number = time.monotonic(), 0
    while (now := time.monotonic() - started) < seconds:
        time.sleep(max(0.0, number / rate - now))
        one.ask(("check", "proxy stream", "redacting stream")[number % 3], number // 3)
        number += 1
    samples = memory.stop()
    fifth = len(samples) // 5
    print(f"soak: {number} answers in {seconds:g} s; memory {statistics.mean(samples[fifth:2 * fifth]):.1f} MiB in the second fifth, "
          f"{statistics.mean(samples[-fifth:]):.1f} in the last")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=150, help="at each door")
    parser.add_argument("--seconds", type=float, default=30, help="of eight callers, before the flood, and beside it")
    parser.add_argument("--soak", type=float, default=600, help="seconds; 0 for none")
    parser.add_argument("--rate", type=float, default=3, help="answers a second of the soak")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"{machine()}; load of the machine before: {os.getloadavg()[0]:.1f}", flush=True)
    with served(options) as (one, other):
        doors(one, options.requests)
        eight(one, options.seconds)
        flood(one, other, options.seconds)
        if options.soak:
            soak(one, options.soak, options.rate)


if __name__ == "__main__":
    main()
