"""What the paper names as its limits and leaves open (section IX-E), measured: rows of figures by suite.

The suites run on text of the grammar.

- Verbatim-source leakage: an answer of sentences of one document with a stretch of another, edited, between them; the
  sources are that other document and four more.
- The three leak classes of the threat model (section III-B): how many of each a guard holds, and of their controls,
  which had the same question and passages. The guard reads the answer and compares nothing with the passages that the
  paper's threat model lets it see: where an attribute comes from changes nothing about what the answer tells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from discreet.core.records import Answer, Estimate
from discreet.guard.guard import Guard
from discreet.guard.text.quotes import find_quotes
from discreet.stats import rate_estimate
from discreet.synth import Draft, Spec, generators, make_plan
from discreet.synth.leaks import LEAKS, LeakCase, make_leaks
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


def measure_leaks(guard: Guard, cases: Sequence[LeakCase]) -> dict[str, tuple[Estimate, Estimate]]:
    """By leak, the shares of leaking answers and of controls that are flagged or not decided, of those that pass
    layer 1. Wilson intervals at 95%."""
    return {leak: (_held(guard, mine, 0), _held(guard, mine, 1)) for leak in LEAKS
            if (mine := [case for case in cases if case.leak == leak])}


def _held(guard: Guard, cases: Sequence[LeakCase], place: int) -> Estimate:
    verdicts = [guard.check(case.answers()[place]) for case in cases]
    passed = [verdict.action for verdict in verdicts if verdict.layer != "direct"]
    return rate_estimate(sum(action != "safe" for action in passed), len(passed), unit="answer", of="answers",
                         method="wilson")


LENGTHS = (12, 15, 20, 30)
SOURCES = 5
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_PUT_IN = ("also", "then", "indeed", "reportedly", "in fact", "at that time", "as noted", "again")
_OTHER = ("thing", "matter", "said", "given", "part", "made", "much", "side")


@dataclass(frozen=True, slots=True)
class QuoteCase:
    """An answer with its passages; `edit` and `words` say how much was quoted and how, `place` where."""

    answer: Answer
    edit: str
    words: int
    place: tuple[int, int]


def _cased(words: list[str], rng: Generator) -> list[str]:
    """Lower case without punctuation, or all in capitals."""
    bare = [_bare(w) for w in words]
    return [w.upper() for w in bare] if rng.random() < 0.3 else [w.lower() for w in bare]


def _bare(word: str) -> str:
    return "".join(c for c in word if c.isalnum() or c in "'-") or word


def _numbered(words: list[str], rng: Generator) -> list[str]:
    """Every digit another one."""
    return ["".join(str(int(rng.integers(1, 10))) if c.isdecimal() else c for c in w) for w in words]


def _at(words: Sequence[str], rng: Generator) -> list[int]:
    """One place in every ten words, the ends among them."""
    n = max(1, len(words) // 10)
    return sorted(int(k) for k in rng.choice(len(words), size=n, replace=False))


def _inserted(words: list[str], rng: Generator) -> list[str]:
    places = _at(words, rng)
    return [piece for k, w in enumerate(words)
            for piece in ((w, _PUT_IN[rng.integers(len(_PUT_IN))]) if k in places else (w,))]


def _left_out(words: list[str], rng: Generator) -> list[str]:
    places = _at(words, rng)
    return [w for k, w in enumerate(words) if k not in places]


def _replaced(words: list[str], rng: Generator) -> list[str]:
    places = _at(words, rng)
    return [_OTHER[rng.integers(len(_OTHER))] if k in places else w for k, w in enumerate(words)]


def _all(words: list[str], rng: Generator) -> list[str]:
    return _cased(_numbered(_inserted(words, rng), rng), rng)


EDITS: Mapping[str, Callable[[list[str], Generator], list[str]]] = {
    "none": lambda words, rng: words, "case and punctuation": _cased, "numbers": _numbered,
    "a word in ten put in": _inserted, "a word in ten left out": _left_out, "a word in ten replaced": _replaced,
    "case, numbers and words put in": _all,
}


@dataclass(frozen=True, slots=True)
class Document:
    """A text and what it belongs to: two of one `group` (a case, a note) may repeat one another."""

    text: str = field(repr=False)
    group: str


def _drawn(documents: Sequence[Document], rng: Generator) -> list[str]:
    """One document, and as many of other groups as there are sources. Raises ValueError where there are too few."""
    usable = [one for one in documents if len(one.text.split()) >= 60]
    if len({one.group for one in usable}) < SOURCES + 1:
        raise ValueError(f"documents of 60 words are of fewer than {SOURCES + 1} groups; give more of them")
    first, *rest = (usable[int(k)] for k in rng.permutation(len(usable)))
    return [first.text, *[one.text for one in rest if one.group != first.group][:SOURCES]]


def quote_cases(documents: Sequence[Document], n: int, rng: Generator) -> Iterator[QuoteCase]:
    """`n` quotes of each edit and length. Raises ValueError where too few documents have 60 words."""
    for name, edit in EDITS.items():
        for length in LENGTHS:
            for number in range(n):
                picked = _drawn(documents, rng)
                source, carrier = _passage(picked[0], rng), _around(picked[1])
                start = int(rng.integers(0, len(source) - length + 1))
                said = " ".join(edit(source[start : start + length], rng))
                passages = [" ".join(source), *(" ".join(_passage(one, rng)) for one in picked[2:])]
                order = rng.permutation(len(passages))
                before, behind = carrier
                yield QuoteCase(Answer(f"{name}-{length}-{number}", f"{before} {said} {behind}", None,
                                       tuple(passages[int(k)] for k in order)), name, length,
                                (len(before) + 1, len(before) + 1 + len(said)))


def _passage(document: str, rng: Generator, most: int = 180) -> list[str]:
    words = document.split()
    start = int(rng.integers(0, max(1, len(words) - most)))
    return words[start : start + most]


def _around(document: str) -> tuple[str, str]:
    """Two sentences to stand before a quote, and two behind it."""
    sentences = [" ".join(s.split()[:30]) for s in _SENTENCE.split(document) if len(s.split()) > 3]
    sentences = sentences or [" ".join(document.split()[:30])]
    return " ".join(sentences[:2]), " ".join(sentences[2:4])


def measure_quotes(cases: Sequence[QuoteCase]) -> Estimate:
    """The share of answers with a quote that overlaps with the place of the true one."""
    hits = [any(q.start < case.place[1] and case.place[0] < q.end for q in
                find_quotes(case.answer.answer, case.answer.sources)) for case in cases]
    return rate_estimate(sum(hits), len(hits), unit="answer")
