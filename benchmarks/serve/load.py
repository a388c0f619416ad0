"""Load on the running service by wrk, with verdicts compared to the library's one by one.

    python -m benchmarks.serve.load                     # the full run: 2 minutes a cell, a soak of 10 minutes
    python -m benchmarks.serve.load --seconds 5 --soak 20 --concurrency 1,16

Starts `discreet serve` (rules and reader, enforcing, no queue) in front of a model that answers at once, on the loopback.
Cells: /v1/check, the proxy and the bare model behind it, with short and long texts, at each concurrency. wrk (a Debian
package) sends as fast as answers come. Shown: answers a second, milliseconds at p50, p95 and p99, CPU
milliseconds of the service's processes for an answer (1,000 divided by them is the rate of a core, also on a machine that
does other work), the largest resident memory of these processes, and what was lost: answers of another status, errors and
time-outs that wrk saw, and answers that wrk had but the service did not count. With two cores or more, --cores-load and --cores-serve keep wrk and the
service apart; on two cores that leaves one for the service.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from benchmarks.page import machine
from benchmarks.windowing import FACTS, filler, person

from discreet import Guard

Cell = dict[str, Any]
GERMAN = "Die Patientin wurde gestern untersucht, und die Werte waren in Ordnung."
DOORS = {"check": "/v1/check", "proxy": "/v1/chat/completions", "bare": "/v1/chat/completions"}


def texts(size: str, count: int, seed: int) -> list[str]:
    """Short (some 30 words), hundred (100 tokens) or long (some 600 words) texts: half of facts, the others with a person; a few in German."""
    draw = random.Random(f"{size}-{seed}")
    found = []
    for number in range(count):
        words = {"hundred": 75 - 40 * (number % 2), "long": 600}
        facts = " ".join(draw.sample(FACTS, 3)) if size == "short" else filler(draw, words[size])
        if number % 2:
            facts = f"{' '.join(person(draw))} {draw.choice(FACTS) if size == 'short' else facts}"
        found.append(f"{facts} {GERMAN * 6}" if number % 16 == 0 else facts)
    return found


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def tree(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            found += [int(child) for child in task.read_text().split()]
    return found


def cpu_s(pid: int) -> float:
    """CPU seconds of a process and all below it."""
    spent = 0
    for one in tree(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        spent += int(fields[11]) + int(fields[12])
    return spent / os.sysconf("SC_CLK_TCK")


def resident_mib(pid: int) -> float:
    """Resident memory of a process and all below it; pages that they share are counted once each."""
    total = 0
    for one in tree(pid):
        try:
            pages = Path(f"/proc/{one}/smaps_rollup").read_text()
            total += int(next(line for line in pages.splitlines() if line.startswith("Pss:")).split()[1])
        except (OSError, StopIteration):
            continue
    return total / 1024


class Memory(threading.Thread):
    """Samples memory every second until it is stopped."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.samples, self.over = pid, [resident_mib(pid)], threading.Event()

    def run(self) -> None:
        while not self.over.wait(1):
            self.samples.append(resident_mib(self.pid))

    def stop(self) -> list[float]:
        self.over.set()
        self.join()
        return self.samples


def pinned(cores: str | None, *command: str) -> list[str]:
    return [*(["taskset", "-c", cores] if cores else []), *command]


@contextmanager
def running(command: list[str], ready: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        for _ in range(600):
            if process.poll() is not None:
                raise SystemExit(f"{command[0]} ended with {process.returncode}: {log.read_text()[-2000:]}")
            try:
                if httpx.get(ready, timeout=2).status_code in {200, 405}:
                    break
            except httpx.HTTPError:
                pass
            time.sleep(0.2)
        else:
            raise SystemExit(f"{ready} did not answer 200 in 120 s")
        yield process
    finally:
        process.terminate()
        process.wait(60)


class Run:
    """A running service, its upstream, and what is sent to them."""

    def __init__(self, options: argparse.Namespace, folder: Path, token: str, urls: dict[str, str], pid: int) -> None:
        self.options, self.folder, self.token, self.urls, self.pid = options, folder, token, urls, pid
        self.client = httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=120)
        self.sent = {size: texts(size, options.texts, options.seed) for size in ("short", "long")}

    def bodies(self, door: str, size: str) -> list[dict[str, Any]]:
        first = 0 if size == "short" else self.options.texts
        if door == "check":
            return [{"text": text} for text in self.sent[size]]
        return [{"model": "stub", "messages": [{"role": "user", "content": str(first + number)}]}
                for number in range(len(self.sent[size]))]

    def decided(self) -> float:
        page = self.client.get(self.urls["check"] + "/metrics").text
        return sum(float(line.rpartition(" ")[2]) for line in page.splitlines()
                   if line.startswith("discreet_decisions_total"))

    def cell(self, door: str, size: str, concurrency: int, seconds: float) -> Cell:
        """One run of wrk."""
        file = self.folder / f"{door}-{size}.jsonl"
        file.write_text("".join(json.dumps(one) + "\n" for one in self.bodies(door, size)))
        before, used = 0.0 if door == "bare" else self.decided(), cpu_s(self.pid)
        memory = Memory(self.pid)
        memory.start()
        ended = subprocess.run(
            pinned(self.options.cores_load, "wrk", "--threads", "1", "--connections", str(concurrency), "--duration",
                   f"{seconds:g}s", "--timeout", "60s", "--script", str(Path(__file__).with_name("wrk.lua")),
                   self.urls[door] + DOORS[door], "--", str(file), self.token),
            capture_output=True, text=True, check=True)
        samples = memory.stop()
        found: Cell = json.loads(ended.stdout.strip().splitlines()[-1])
        counted = None
        if door != "bare":
            time.sleep(1)  # What wrk left open when its time was over ends.
            counted = self.decided() - before
        used = cpu_s(self.pid) - used
        errors = sum(found[name] for name in ("connect", "read", "write", "timeout", "status"))
        missing = 0 if counted is None else max(0, found["answers"] - counted)
        return {"door": door, "size": size, "concurrency": concurrency, **found, "rate": found["answers"] / found["seconds"],
                "lost": errors + missing,
                "cpu": 1000 * used / counted if counted else None, "counted": counted, "memory": max(samples),
                "samples": samples}

    def equal(self, guard: Guard) -> tuple[int, list[str]]:
        """How many verdicts were compared, alone and 4 at a time, and the texts (by number) whose verdicts differ."""
        import concurrent.futures

        def told(body: dict[str, Any], door: str) -> tuple[str, float | None]:
            # Where nobody could judge in time, which is never taken for a verdict, it is asked again.
            for _ in range(5):
                reply = self.client.post(self.urls[door] + DOORS[door], json=body)
                if reply.status_code == 200:
                    said = reply.json()
                    [one] = said["details"] if door == "check" else said["moderation"]["output"]["results"][0]["details"]
                    return one["action"], one["score"]
            return f"status {reply.status_code}", None

        differ, number = [], 0
        for size, sent in self.sent.items():
            for door in ("check", "proxy"):
                expected = []
                for text, body in zip(sent, self.bodies(door, size), strict=True):
                    verdict = guard.check(text, body["messages"][0]["content"] if door == "proxy" else None)
                    expected.append((verdict.action, None if verdict.score is None else round(verdict.score, 6)))
                for at_a_time in (1, 4):
                    with concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
                        found = list(pool.map(lambda one, door=door: told(one, door), self.bodies(door, size)))
                    number += len(found)
                    differ += [f"{door} {size} {n}" for n, (a, b) in enumerate(zip(found, expected, strict=True))
                               if (a[0], None if a[1] is None else round(a[1], 6)) != b]
        return number, differ


@contextmanager
def service(options: argparse.Namespace) -> Iterator[Run]:
    with TemporaryDirectory(prefix="discreet-load-") as name:
        folder = Path(name)
        discreet = str(Path(sys.executable).with_name("discreet"))
        token = subprocess.run([discreet, "serve", "key", "add", str(folder / "keys.json"), "--role", "operator"],
                               capture_output=True, text=True, check=True).stdout.strip()
        answers = folder / "answers.json"
        answers.write_text(json.dumps(texts("short", options.texts, options.seed) + texts(
            "long", options.texts, options.seed)))
        bare, port = free_port(), free_port()
        model = pinned(options.cores_load, sys.executable, "-m", "benchmarks.serve.upstream", str(answers), str(bare))
        (folder / "serve.yaml").write_text("limits: {per_minute: null}\n")
        serve = pinned(options.cores_serve, discreet, "serve", "--config", str(folder / "serve.yaml"), "--domain", "medical", "--keys", str(folder / "keys.json"),
                       "--port", str(port), "--upstream", f"http://127.0.0.1:{bare}/v1", "--workers",
                       str(options.workers), "--processes", str(options.processes))
        urls = {"check": f"http://127.0.0.1:{port}", "proxy": f"http://127.0.0.1:{port}",
                "bare": f"http://127.0.0.1:{bare}"}
        with running(model, f"{urls['bare']}/v1/chat/completions", folder / "model.log"), running(
                serve, f"{urls['check']}/health/ready", folder / "serve.log") as process:
            yield Run(options, folder, token, urls, process.pid)


def row(cell: Cell) -> str:
    times = [f"{cell[name]:.1f}" if cell["answers"] else "–" for name in ("p50", "p95", "p99")]
    return (f"| {cell['door']} | {cell['size']} | {cell['concurrency']} | {cell['rate']:.1f} | {' | '.join(times)} | "
            f"{'–' if cell['cpu'] is None else format(cell['cpu'], '.1f')} | {cell['memory']:.0f} | {cell['lost']:.0f} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120, help="of a cell")
    parser.add_argument("--soak", type=float, default=600, help="seconds; 0 for none")
    parser.add_argument("--concurrency", default="1,16,64")
    parser.add_argument("--doors", default="check,proxy,bare")
    parser.add_argument("--texts", type=int, default=64, help="different texts of each size")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cores-load", help="cores of wrk and the model, as taskset takes them, such as 0")
    parser.add_argument("--cores-serve", help="cores of the service, such as 1")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not installed: apt-get install wrk")
    print(f"{machine()}; {options.workers} workers in {options.processes} processes, {options.seconds:g} s a cell, seed "
          f"{options.seed}\n", flush=True)
    with service(options) as run:
        guard = Guard("medical")
        for size, sent in run.sent.items():
            actions = [guard.check(text).action for text in sent]
            spans = sorted(len(text.split()) for text in sent)
            print(f"{size} texts: {len(sent)}, {statistics.median(spans):g} words at the median, "
                  f"{', '.join(f'{actions.count(one)} {one}' for one in sorted(set(actions)))}")
        print("\n| door | texts | concurrency | answers/s | p50 ms | p95 ms | p99 ms | CPU ms | memory MiB | lost |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        cells = []
        for size in run.sent:
            for concurrency in map(int, options.concurrency.split(",")):
                for door in options.doors.split(","):
                    cells.append(run.cell(door, size, concurrency, options.seconds))
                    print(row(cells[-1]), flush=True)
        lost = sum(cell["lost"] for cell in cells)
        if options.soak:
            soak = run.cell("check", "short", 16, options.soak)
            lost += soak["lost"]
            fifth = max(1, len(soak["samples"]) // 5)
            first, last = statistics.mean(soak["samples"][fifth:2 * fifth]), statistics.mean(soak["samples"][-fifth:])
            print(f"\nsoak, {options.soak:g} s: {row(soak)}\nmemory in its second fifth {first:.1f} MiB, in its last "
                  f"{last:.1f} MiB")
        compared, differ = run.equal(guard)
    print(f"\nverdicts compared with the library's: {compared}; different: {len(differ)} {differ[:5] or ''}")
    print(f"lost: {lost:.0f}")
    return 1 if differ or lost else 0


if __name__ == "__main__":
    sys.exit(main())
