"""What the paper names as its limits and leaves open (section IX-E), measured: rows of figures by suite.

The suites run on text of the grammar.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.core.records import Estimate
from discreet.guard.guard import Guard
from discreet.synth import Draft, Spec, generators, make_plan
from discreet.synth.leaks import make_leaks
from discreet_papers.ppe.leaks import measure_leaks
from discreet_papers.ppe.limits_quotes import Document, measure_quotes, quote_cases
from discreet_papers.ppe.limits_rewrites import BUDGETS, one_shot, query_attacks
from discreet_papers.ppe.limits_turns import field_exchanges, measure_turns, plain_exchanges, spread_exchanges

Row = dict[str, Any]


def quotes(n: int, seed: int) -> Estimate:
    """Verbatim-source leakage: quotes of other texts of the grammar that are found, of every edit and length."""
    texts = [draft.answer for _, draft in drafts("medical", "unsafe", 120, seed)][:60]
    documents = [Document(text, str(number)) for number, text in enumerate(texts)]
    return measure_quotes(list(quote_cases(documents, n, np.random.default_rng((seed, 120)))))


def drafts(domain: str, partition: str, n: int, seed: int, **levels: Any) -> list[tuple[Spec, Draft]]:
    """`n` drafts of the grammar, with levels of axes set; none is thrown away."""
    plan = make_plan(domain, {partition: n}, seed)
    rng = np.random.default_rng((seed, n, 7))
    specs = [replace(spec, **levels) for spec in plan.specs(partition)]
    return [(spec, generators["grammar"].generate(spec, plan.domain, rng)) for spec in specs]


def turns(n: int, seed: int, domains: Sequence[str]) -> Iterator[Row]:
    """Clusters over turns and controls: by domain and partition."""
    for partition in ("unsafe_heldout", "matched_unsafe", "unsafe"):
        for domain in domains:
            guard = Guard(domain)
            safe = [draft for _, draft in drafts(domain, "safe", 60, seed + 1)]
            found = [draft for _, draft in drafts(domain, partition, n, seed, placement="DISTRIBUTED", mode="NONE")]
            rng = np.random.default_rng((seed, n))
            exchanges = [*spread_exchanges(found, safe, rng), *plain_exchanges(found, safe, rng),
                         *field_exchanges(found, safe, rng)]
            for row in measure_turns(guard, exchanges):
                yield {"domain": domain, "partition": partition, **row}


SEARCHES = (("action", "kept"), ("delta", "kept"), ("reader", "kept"), ("action", "misspelt"), ("delta", "misspelt"),
            ("action", "hinted"))
"""What the adversary sees, and does with the values."""


def rewrites(n: int, seed: int, domains: Sequence[str], budgets: Sequence[int] = BUDGETS) -> Iterator[Row]:
    """An adversary who rewrites: one draw by kind of move (medicine), then queries, without and with a memory of what
    was withheld, of at most .7 n held answers in each domain."""
    found = {domain: [draft for part in ("unsafe", "unsafe_heldout")
                      for _, draft in drafts(domain, part, n, seed, mode="NONE")] for domain in {"medical", *domains}}
    yield from one_shot(Guard("medical"), found["medical"], np.random.default_rng((seed, 1)))
    guards = {domain: Guard(domain) for domain in domains}
    for sees, values in SEARCHES:
        yield from query_attacks(guards, {domain: found[domain] for domain in domains}, seed, round(0.7 * n), sees,
                                 values, budgets)


def limited(domains: Sequence[str], n: int, seed: int) -> dict[str, Any]:
    """The item of `reproduce ppe`: what the suites say on text of the grammar, a share a row, as plain values.

    Of quotes recall alone: writers of the grammar repeat whole sentences, so that other documents hold them too.
    """
    rows: list[Row] = [{"domain": "medical", "suite": "quotes", "what": "quotes found",
                        "share": quotes(max(1, n // 8), seed)}]
    for row in turns(n, seed, domains):
        told = "clusters over turns" if row["spread"] else "controls"
        rows += [{"domain": row["domain"], "suite": "turns", "what": f"{told}, {row['partition']}: {said}",
                  "share": row[name]} for name, said in (
            ("alone", "held, each answer alone"), ("together", "held, as a conversation"),
            ("added", "of those that pass alone, held as a conversation"), ("whole", "held, all in one answer"))]
    for row in rewrites(n, seed, domains, BUDGETS if n > 9 else BUDGETS[:2]):
        rendered = "" if row.get("normalised", True) else ", not rendered"
        values = "" if row.get("values", "kept") == "kept" else f", values {row['values']}"
        for name, memory in (("held", ""), ("remembered", ", what was withheld is remembered")):
            if name in row:
                rows.append({"domain": "all" if "values" in row else "medical", "suite": "rewrites", "share": row[name],
                             "what": f"{row['attack']}{values}, {row['queries']} queries{rendered}{memory}"})
    for domain in domains:
        rows += [{"domain": domain, "suite": "leaks", "what": f"{leak}: {said}", "share": share}
                 for leak, shares in measure_leaks(Guard(domain), make_leaks(domain, n, seed)).items()
                 for said, share in zip(("held", "controls held"), shares, strict=True)]
    return {"title": "The limits that the paper names",
            "rows": [{**row, "share": row["share"].to_json()} for row in rows]}
