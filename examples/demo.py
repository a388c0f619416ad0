"""The main job: judge answers, fit and stress a guard, audit two small models, and leave a page that leads to it all.

    python examples/demo.py --out demo [--answers-only]

Uses the command line as an operator would; the expectations stand next to the verdicts, and the demo fails (exit 1)
where one is not met. `demo/index.html` leads to the reports.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path
from typing import Any

import audits
import guards

HERE = Path(__file__).parent
DISCREET = [sys.executable, "-m", "discreet"]
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>discreet: demo</title><style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;
max-width:42rem;margin:3rem auto;padding:0 1rem}li{margin:1.2rem 0}p{margin:.2rem 0;opacity:.8}</style>
<h1>What the demo found</h1><ul>{rows}</ul></html>
"""


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


def index(out: Path, said: list[tuple[str, str, str]]) -> Path:
    """A page that leads to the reports: (title, link, sentence) each."""
    rows = "".join(f'<li><a href="{link}">{escape(title)}</a><p>{escape(sentence)}</p></li>'
                   for title, link, sentence in said)
    page = out / "index.html"
    page.write_text(PAGE.replace("{rows}", rows), encoding="utf-8")
    return page


def main() -> int:
    """Run the demo; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("demo"))
    parser.add_argument("--answers-only", action="store_true", help="leave out what is trained, which takes most of "
                                                                    "the time")
    args = parser.parse_args()
    out: Path = args.out
    out.mkdir(parents=True, exist_ok=True)
    print("Written answers, each with what a careful operator expects:")
    wrong = judge_written(out)
    batch = rows(HERE / "batch.jsonl")
    verdicts = check(batch, "medical", out, report=True)
    held = sum(v["action"] != "safe" for v in verdicts)
    judged = f"{len(batch)} medical answers: {held} held, {len(batch) - held} passed."
    print(f"\nA batch of {judged}")
    pages = [("Answers judged", "report.html", judged)]
    if not args.answers_only:
        pages += trained(out)
    print(f"\nOpen {index(out, pages)}")
    if wrong:
        print(f"{wrong} verdict(s) differ from the expectation", file=sys.stderr)
    return 1 if wrong else 0


def trained(out: Path) -> list[tuple[str, str, str]]:
    """Fit and stress a guard, train and audit two small models: two at a time; returns what the index page says."""
    print("\nA guard is fitted and stressed, a classifier of texts and one of diagnoses are trained and audited …")
    with ThreadPoolExecutor(2) as pool:
        fitting = pool.submit(guards.fit_all, out, ("medical",))
        auditing = [pool.submit(audit, out / name) for name, audit in (("membership", audits.membership),
                                                                       ("labels", audits.labels))]
        summary, (membership, labels) = fitting.result(), (one.result() for one in auditing)
    print("\n".join([*guards.table(summary), "", "What the stress test shows, self-consistency (grammar):",
                     *guards.finding(summary)]))
    pages = [("Guard fitted and stressed", "summary.json", guards.finding(summary)[0].strip())]
    for title, name, record in (("Who was in the training set?", "membership", membership),
                                ("Which labels were memorised?", "labels", labels)):
        sentence = f"{record['verdict']}: {record['reasons'][0]}"
        print(f"\n{title}\n  {sentence}")
        pages.append((title, f"{name}/report.html", sentence))
    return pages


if __name__ == "__main__":
    raise SystemExit(main())
