"""What the paper names as its limits and leaves open (section IX-E), measured: rows of figures by suite.

The suites run on the grammar alone, and on public passages where a folder of them is given. Families that taught
nothing and tuned nothing here carry the figures; those that served while this was built are named so.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.errors import InputError
from discreet.core.records import Estimate
from discreet.guard.guard import Guard
from discreet.guard.policy import Policy
from discreet.guard.text.quotes import QuoteRule, common_phrases
from discreet.stats import rate_estimate
from discreet.synth import Draft, Spec, generators, make_plan
from discreet_papers.ppe.leaks import leak_rows
from discreet_papers.ppe.limits_quotes import Document, QuoteCase, measure_quotes, plain_cases, quote_cases
from discreet_papers.ppe.limits_rewrites import BUDGETS, one_shot, query_attacks
from discreet_papers.ppe.limits_turns import field_exchanges, measure_turns, plain_exchanges, spread_exchanges
from discreet_papers.ppe.limits_withheld import judged_drafts, judged_parts, measure_withheld, measure_without_facts

Row = dict[str, Any]
DOMAINS = ("medical", "finance", "law")


@dataclass(frozen=True, slots=True)
class Family:
    """Public passages: the folder, the field of the text and of what it belongs to, and whether they served in
    building."""

    folder: str
    text: str = "text"
    group: str | None = None
    built: bool = False


FAMILIES = (
    Family("clinical_case_spans", built=True), Family("medquad", "answer", "focus", built=True),
    Family("civil_rights_cases", built=True), Family("clinical_mtsamples", group="group"),
    Family("scotus_facts", group="case"), Family("echr_facts", group="group"), Family("reddit_legaladvice"),
)
LAW = ("civil_rights_cases", "scotus_facts", "echr_facts")
MOST = 600
"""Documents that are taken of a family."""


def documents_of(data: Path, family: Family) -> list[Document]:
    """The first passages of a family. Raises InputError where its folder is not there."""
    files = sorted(data.joinpath(family.folder).glob("*.jsonl*"))
    if not files:
        raise InputError(f"{data} holds no {family.folder} with a .jsonl file; expected the folder of public data")
    with (gzip.open if files[0].suffix == ".gz" else open)(files[0], "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for _, line in zip(range(MOST), lines, strict=False)]
    return [Document(str(row[family.text]), str(row[family.group] if family.group else number))
            for number, row in enumerate(rows)]


def quotes(n: int, seed: int, data: Path | None = None) -> Iterator[Row]:
    """Verbatim-source leakage: quotes by edit and length, what repeats no passage, by family of passages.

    `list` says which phrases are common: those that ship, or also those of the other half of the family's documents.
    """
    for family, documents in _corpora(seed, data):
        half = len(documents) // 2
        rng = np.random.default_rng((seed, len(documents)))
        cases = [*quote_cases(documents[:half], n, rng), *plain_cases(documents[:half], 8 * n, rng)]
        # A document that goes on from one half into the other would make its own words common.
        first = {one.group for one in documents[:half]}
        own = tuple(common_phrases(one.text for one in documents[half:] if one.group not in first))
        for name, rule in (("shipped", QuoteRule()), ("with the corpus's own", QuoteRule(common=own))):
            for row in measure_quotes(cases, rule):
                yield {"suite": "quotes", "family": family.folder, "built": family.built, "list": name,
                       "phrases": len(rule.common), **row}
        domain = "law" if family.folder in LAW else "medical"
        yield from _verdicts(cases, domain, family, n)


def _verdicts(cases: list[QuoteCase], domain: str, family: Family, n: int) -> Iterator[Row]:
    """What the default guard does with answers that quote and answers that do not: it is blind to passages by itself,
    and holds what is said of persons. With `flag` every quote that is found is held."""
    policy = Policy.of(domain)
    sample = [c for c in cases if c.quoted and c.words == 20][: 4 * n] + [c for c in cases if not c.quoted][: 4 * n]
    for action in ("off", "flag"):
        guard = Guard(replace(policy, quotes=QuoteRule(action)))
        for quoted in (True, False):
            codes = [guard.check(c.answer).code for c in sample if c.quoted == quoted]
            yield {"suite": "quotes", "family": family.folder, "built": family.built, "quotes": action,
                   "quoted": quoted, "held": rate_estimate(sum(c != "ok" for c in codes), len(codes), unit="answer"),
                   "verbatim": rate_estimate(sum(c == "privacy/verbatim" for c in codes), len(codes), unit="answer")}


def _corpora(seed: int, data: Path | None) -> Iterator[tuple[Family, list[Document]]]:
    texts = [draft.answer for _, draft in drafts("medical", "unsafe", 120, seed)]
    yield Family("grammar", built=True), [Document(text, str(number)) for number, text in enumerate(texts)]
    if data is not None:
        for family in FAMILIES:
            yield family, documents_of(data, family)


def drafts(domain: str, partition: str, n: int, seed: int, **levels: Any) -> list[tuple[Spec, Draft]]:
    """`n` drafts of the grammar, with levels of axes set; none is thrown away."""
    plan = make_plan(domain, {partition: n}, seed)
    rng = np.random.default_rng((seed, n, 7))
    specs = [replace(spec, **levels) for spec in plan.specs(partition)]
    return [(spec, generators["grammar"].generate(spec, plan.domain, rng)) for spec in specs]


def turns(n: int, seed: int, data: Path | None = None, domains: Sequence[str] = DOMAINS) -> Iterator[Row]:
    """Clusters over turns: by domain, from writer profiles that served in building, and from two that did not."""
    for partition in ("unsafe_heldout", "matched_unsafe", "unsafe"):
        for domain in domains:
            guard = Guard(domain)
            safe = [draft for _, draft in drafts(domain, "safe", 60, seed + 1)]
            found = [draft for _, draft in drafts(domain, partition, n, seed, placement="DISTRIBUTED", mode="NONE")]
            rng = np.random.default_rng((seed, n))
            exchanges = [*spread_exchanges(found, safe, rng), *plain_exchanges(found, safe, rng),
                         *field_exchanges(found, safe, rng)]
            for row in measure_turns(guard, exchanges):
                yield {"suite": "turns", "domain": domain, "partition": partition,
                       "built": domain == "medical" and partition == "unsafe", **row}


SEARCHES = (("action", "kept"), ("delta", "kept"), ("reader", "kept"), ("action", "misspelt"), ("delta", "misspelt"),
            ("action", "hinted"))
"""What the adversary sees, and does with the values."""


def rewrites(n: int, seed: int, data: Path | None = None, budgets: Sequence[int] = BUDGETS,
             domains: Sequence[str] = DOMAINS) -> Iterator[Row]:
    """An adversary who rewrites: one draw by kind of move (medicine), then queries, without and with a memory of what
    was withheld, of at most .7 n held answers in each domain."""
    found = {domain: [draft for part in ("unsafe", "unsafe_heldout")
                      for _, draft in drafts(domain, part, n, seed, mode="NONE")] for domain in {"medical", *domains}}
    for row in one_shot(Guard("medical"), found["medical"], np.random.default_rng((seed, 1))):
        yield {"suite": "rewrites", **row}
    guards = {domain: Guard(domain) for domain in domains}
    for sees, values in SEARCHES:
        for row in query_attacks(guards, {domain: found[domain] for domain in domains}, seed, round(0.7 * n), sees,
                                 values, budgets):
            yield {"suite": "rewrites", **row}


def withheld(n: int, seed: int, data: Path | None = None, domains: Sequence[str] = DOMAINS) -> Iterator[Row]:
    """What a memory of withheld answers holds of the answers of users who rewrite nothing."""
    for domain in domains:
        guard, rng = Guard(domain), np.random.default_rng((seed, 3))
        told = [draft for _, draft in drafts(domain, "unsafe", n, seed)]
        mixed = [*told, *(draft for _, draft in drafts(domain, "safe", n, seed))]
        judged = list(judged_drafts(guard, [mixed[int(k)] for k in rng.permutation(len(mixed))]))
        for row in (*measure_withheld(judged, rng), measure_without_facts(guard, told)):
            yield {"suite": "withheld", "family": "grammar", "built": True, "domain": domain, **row}
    for family in FAMILIES if data is not None else ():
        domain = "law" if family.folder in (*LAW, "reddit_legaladvice") else "medical"
        rng = np.random.default_rng((seed, 3))
        for row in measure_withheld(list(judged_parts(Guard(domain), documents_of(data or Path(), family), n)), rng):
            yield {"suite": "withheld", "family": family.folder, "built": family.built, "domain": domain, **row}


def limited(domains: Sequence[str], n: int, seed: int) -> dict[str, Any]:
    """The item of `reproduce ppe`: what the suites say on text of the grammar, a share a row, as plain values.

    Of quotes recall alone: writers of the grammar repeat whole sentences, so that other documents hold them too.
    """
    rows: list[Row] = []
    for row in quotes(max(1, n // 8), seed):
        if row.get("quoted") and row.get("words", 1) == 0 and row["list"] == "shipped":
            rows.append({"domain": "medical", "suite": "quotes", "what": "quotes found", "share": row["found"]})
    for row in turns(n, seed, domains=domains):
        if row["kind"] == "all":
            told = "clusters over turns" if row["spread"] else "controls"
            rows += [{"domain": row["domain"], "suite": "turns", "what": f"{told}, {row['partition']}: {said}",
                      "share": row[name]} for name, said in (
                ("alone", "held, each answer alone"), ("together", "held, as a conversation"),
                ("added", "of those that pass alone, held as a conversation"), ("whole", "held, all in one answer"))]
    for row in rewrites(n, seed, budgets=BUDGETS if n > 9 else BUDGETS[:2], domains=domains):
        rendered = "" if row.get("normalised", True) else ", not rendered"
        values = "" if row.get("values", "kept") == "kept" else f", values {row['values']}"
        for name, memory in (("held", ""), ("remembered", ", what was withheld is remembered")):
            if name in row:
                rows.append({"domain": "all" if "values" in row else "medical", "suite": "rewrites", "share": row[name],
                             "what": f"{row['attack']}{values}, {row['queries']} queries{rendered}{memory}"})
    for row in leak_rows(n, seed, domains=domains):
        if row["cases"] == "all":
            rows += [{"domain": row["domain"], "suite": "leaks", "what": f"{row['leak']}: {said}", "share": row[name]}
                     for name, said in (("held", "held"), ("control_held", "controls held"))]
    return {"title": "The limits that the paper names", "rows": [plain_row(row) for row in rows]}


SUITES: Mapping[str, Callable[..., Iterator[Row]]] = {"quotes": quotes, "turns": turns, "rewrites": rewrites,
                                                     "withheld": withheld, "leaks": leak_rows}


def plain_row(row: Row) -> Row:
    """A row as JSON: estimates as their ten keys."""
    return {key: value.to_json() if isinstance(value, Estimate) else value for key, value in row.items()}
