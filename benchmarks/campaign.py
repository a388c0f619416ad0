"""A campaign of language models through a scripted server on the loopback, killed twice a domain and gone on with.

    python -m benchmarks.campaign [--records 5000] [--seed 7] [--out DIR]

Three domains, four generators: two of the training pool, of which one also writes borderline text for training, one held
out, one for the borderline text of the evaluation. The server answers with the grammar's text for the specification that
the prompt carries in its last line, and fails in every way: 429 first, cut, malformed, filtered, cut off at its length,
no finish reason. Text is validated as a model's would be, without slots. Shown: counts, marginals, copies, requests,
what was paid twice, and what `plan` says of the paper's size.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from zlib import crc32

import numpy as np
import yaml
from benchmarks.machine import machine
from numpy.random import Generator as Rng
from tests.inputs.endpoints.scripted import FAULTS, Scripted, serving

from discreet.guard.domains import load_domain
from discreet.inputs.duplicates import NearDuplicates
from discreet.inputs.endpoints.chat import Message
from discreet.synth.asked import GENERATOR, run_asked
from discreet.synth.costs import costs
from discreet.synth.endpoints import Endpoints
from discreet.synth.ledger import LEDGER, read_ledger
from discreet.synth.plan import Plan, make_plan, paper_sizes
from discreet.synth.prompts import Prompter
from discreet.synth.records import Record, Spec, generators
from discreet.synth.seeds import SeedPassage

DOMAINS = ("medical", "finance", "law")
WHO = {"pool-a": ["train"], "pool-b": ["train", "borderline"], "held-out": ["heldout"], "eval": ["borderline_eval"]}
"""Four generators; one of the pool also writes borderline text for training, as the paper's Mistral does."""
PROFILE = {"pool-a": "L1", "pool-b": "L2", "held-out": "L4", "eval": "L6"}
SHARES = {"unsafe": 0.66, "unsafe_heldout": 0.12, "borderline": 0.16, "borderline_eval": 0.06}


class Tagged(Prompter):
    """The prompts of a domain, with the specification in the last line, from which the scripted server writes."""

    def messages(self, spec: Spec, seed: SeedPassage | None, rng: Rng) -> tuple[Message, ...]:
        system, user = super().messages(spec, seed, rng)
        return system, {**user, "content": f"{user['content']}\n{json.dumps(asdict(spec))}"}


def say(body: dict[str, Any]) -> str:
    """The grammar's text for the specification of a prompt."""
    said = json.loads(body["messages"][-1]["content"].rpartition("\n")[2])
    spec = Spec(**{**said, "qi": tuple(said["qi"]), "profile": PROFILE[said["profile"]]})
    rng = np.random.default_rng(crc32(json.dumps(body, sort_keys=True).encode()))
    return generators["grammar"].generate(spec, load_domain(spec.domain), rng).answer


def plan_of(domain: str, models: Endpoints, records: int, seed: int) -> Plan:
    sizes = {name: round(records * share) for name, share in SHARES.items()}
    sizes["unsafe"] += records - sum(sizes.values())
    return make_plan(domain, sizes, seed, generator=GENERATOR, roles=models.roles())


def run(args: argparse.Namespace) -> None:
    """One process of a campaign: it may be killed."""
    models = Endpoints.load(args.endpoints)
    plan = plan_of(args.domain, models, args.records, args.seed)
    run_asked(plan, models, args.out, roles="paper", prompter=Tagged(args.domain))


def killed_twice(domain: str, model: Scripted, endpoints: Path, args: argparse.Namespace, out: Path) -> int:
    """Run a campaign to its end, with two kills at random moments; how many there were."""
    draw, kills = random.Random(f"{args.seed}-{domain}"), 0
    while True:
        before = model.asked.total()
        process = subprocess.Popen([
            sys.executable, "-m", "benchmarks.campaign", "--domain", domain, "--endpoints", endpoints, "--out", out,
            "--records", str(args.records), "--seed", str(args.seed)], env=os.environ)
        if kills < 2:
            most = before + draw.randint(args.records // 5, args.records // 2)
            while model.asked.total() < most and process.poll() is None:
                time.sleep(0.01)
            kills += process.poll() is None
            process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            return kills


def one_domain(domain: str, args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    out, model, began = folder / domain, Scripted(say, faults=FAULTS, busy=0.05), time.monotonic()
    with serving(model) as url:
        given = {"defaults": {"price": {"prompt": 0.2, "completion": 0.6}, "limits": {"concurrency": 16}},
                 "generators": [{"name": name, "url": url, "model": name, "roles": roles}
                                for name, roles in WHO.items()]}
        (folder / f"{domain}.yaml").write_text(yaml.safe_dump(given))
        kills = killed_twice(domain, model, folder / f"{domain}.yaml", args, out)
    manifest = json.loads((out / "manifest.json").read_text())
    records = [Record.from_json(json.loads(line)) for one in sorted(out.glob("*.jsonl"))
               for line in one.read_text().splitlines()]
    near = NearDuplicates()
    copies = sum(not near.add(record.id, record.draft.answer) for record in records)
    found = read_ledger(out / LEDGER)
    states = sum((Counter(row["states"]) for row in found["rows"]), Counter[str]())
    worst = {name: {axis: one["relative"] for axis, one in part["distance"]["kept"].items() if one}
             for name, part in manifest["partitions"].items()}
    return {"domain": domain, "kills": kills, "records": len(records), "short": manifest["short"], "copies": copies,
            "requests": model.asked.total(), "paid_twice": model.asked.total() - len(model.asked),
            "lost": states.get("lost", 0), "states": dict(states), "errors": found["errors"],
            "yields": manifest["yields"]["mode"],
            "outside_5_percent": {name: {axis: value for axis, value in axes.items() if value and value > 0.05}
                                  for name, axes in worst.items()},
            "k": manifest["partitions"]["unsafe"]["distance"], "sha256": manifest["sha256"],
            "spent": manifest["spent"], "seconds": round(time.monotonic() - began)}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=5_000 // 3, help="of a domain")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--domain", choices=DOMAINS, help=argparse.SUPPRESS)
    parser.add_argument("--endpoints", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.endpoints is not None:
        run(args)
        return
    folder = args.out or Path(mkdtemp(prefix="campaign-"))
    folder.mkdir(parents=True, exist_ok=True)
    print(machine())
    for domain in DOMAINS:
        found = one_domain(domain, args, folder)
        print(json.dumps(found, indent=1), flush=True)
        models = Endpoints.load(folder / f"{domain}.yaml")
        plan = make_plan(domain, models.sizes(paper_sizes(domain, 1.0)), args.seed, generator=GENERATOR,
                         roles=models.roles())
        print(json.dumps({"paper": domain, **costs(plan, models, Prompter(domain))["total"]}), flush=True)


if __name__ == "__main__":
    main()
