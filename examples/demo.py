"""The main job: judge written answers and a batch, fit a guard in each domain, and leave reports and figures.

    python examples/demo.py --out demo [--no-guards]

Uses the command line as an operator would; the expectations stand beside the verdicts, and the demo fails (exit 1)
where one is not met.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import guards

HERE = Path(__file__).parent
DISCREET = [sys.executable, "-m", "discreet"]


def rows(path: Path) -> list[dict[str, Any]]:
    """The records of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def check(answers: list[dict[str, Any]], domain: str, out: Path, *, report: bool = False) -> list[dict[str, Any]]:
    """`discreet guard check` on some answers of one domain; returns the verdicts."""
    source, verdicts = out / f"{domain}.input.jsonl", out / f"{domain}.verdicts.jsonl"
    source.write_text("".join(json.dumps(a) + "\n" for a in answers), encoding="utf-8")
    where = ["--input", str(source), "--output", str(verdicts)]
    command = [*DISCREET, "guard", "check", "--domain", domain, *where, "--quiet"]
    if report:
        command += ["--report", str(out / "report.html")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return rows(verdicts)


def judge_written(out: Path) -> int:
    """Judge the written answers; prints each beside its expectation and returns how many differ."""
    written = rows(HERE / "written.jsonl")
    by_domain: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for answer in written:
        by_domain[answer["domain"]].append(answer)
    verdicts = {v["id"]: v for domain, answers in by_domain.items() for v in check(answers, domain, out)}
    wrong = 0
    for answer in written:
        verdict = verdicts[answer["id"]]
        as_expected = verdict["action"] == answer["expect"]
        wrong += not as_expected
        mark = "ok " if as_expected else "NOT"
        print(f"  {mark} {verdict['action']:8} {answer['id']:20} {answer['why']}")
        print(f"               {verdict['reason']}")
    return wrong


def main() -> int:
    """Run the demo; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("demo"))
    parser.add_argument("--no-guards", action="store_true", help="leave out the guards, which take most of the time")
    args = parser.parse_args()
    out: Path = args.out
    out.mkdir(parents=True, exist_ok=True)
    print("Written answers, each with what a careful operator expects:")
    wrong = judge_written(out)
    batch = rows(HERE / "batch.jsonl")
    verdicts = check(batch, "medical", out, report=True)
    held = sum(v["action"] != "safe" for v in verdicts)
    print(f"\nA batch of {len(batch)} medical answers: {held} held, {len(batch) - held} passed.")
    print(f"Report: {out / 'report.html'}")
    if not args.no_guards:
        print("\nA guard in each domain, fitted on synthetic text and stressed (some two minutes):")
        summary = guards.fit_all(out)
        print("\n".join([*guards.table(summary), "", "What the stress test shows, self-consistency (grammar):",
                         *guards.finding(summary), "", f"Guards: {out / 'guards'}   figures: {out / 'summary.json'}"]))
    if wrong:
        print(f"{wrong} verdict(s) differ from the expectation", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
