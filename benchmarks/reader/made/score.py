"""Score a guard on made text: names, addresses, phones; two people; bearers swapped; typing errors; styles. Prints JSON.

    python -m benchmarks.reader.made.score [--domain medical] [--guard DIR] [--data DATA] [--output F]

Context is judged with layer 1 off (a policy that allows every direct type). With `--data` also: typing errors in 200
clusters of the teaching pool, and first-person passages of the pool that bind nothing. Intervals are exact (Clopper–Pearson)
at 95%, and take texts as independent, though several share a frame.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import phonenumbers
from benchmarks.reader.made.cases import (
    Case,
    Span,
    corrupt,
    direct_cases,
    load,
    negative_cases,
    styles,
    swapped_cases,
    two_cases,
)
from benchmarks.reader.made.ids import pool_texts

import discreet
from discreet.guard.text.direct.detect import known_types
from discreet.stats import auroc_estimate, bootstrap_weights, clopper_pearson, percentile_interval

Row = dict[str, Any]
Judge = Callable[[str], Any]
SEED = 20261122
NAMED: dict[str, tuple[str, ...]] = {"name": ("name",), "address": ("address", "postal", "zip"), "phone": ("phone", "contact")}
SAME = {"name_lower": "name", "postal": "address"}


def share(hits: Iterable[bool]) -> Row:
    """k of n with an exact interval; a share of nothing is undefined (None)."""
    given = [bool(h) for h in hits]
    if not given:
        return {"k": 0, "n": 0, "share": None, "interval": None}
    between = clopper_pearson(sum(given), len(given))
    return {"k": sum(given), "n": len(given), "share": round(sum(given) / len(given), 3), "interval": [round(between.low, 3), round(between.high, 3)]}


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def is_of(type_name: str, kind: str) -> bool:
    return any(word in type_name for word in NAMED[SAME.get(kind, kind)])


def covers(spans: Iterable[Span], value: Span) -> bool:
    """Whether the spans together cover at least half of the characters of the value."""
    seen = {i for start, end in spans for i in range(max(start, value[0]), min(end, value[1]))}
    return 2 * len(seen) >= value[1] - value[0]


def in_service(case: Case) -> bool:
    """Whether the number lies in a range that its country gives out; of faker's 200 of ten locales 163 do."""
    start, end = case.spans["value"][0]
    return phonenumbers.is_valid_number(phonenumbers.parse(case.text[start:end], case.group[-2:]))


def direct(judge: Judge) -> Row:
    """Recall by kind and locale. `found`: by findings of the kind; `counted`: by those that the policy counts; `any`: by any direct identifier."""
    rows: list[tuple[Case, dict[str, bool]]] = []
    for case in direct_cases():
        findings, value = judge(case.text).findings, case.spans["value"][0]
        of_kind = [f for f in findings if is_of(f.type, case.kind)]
        rows.append((case, {
            "found": covers([(f.start, f.end) for f in of_kind], value),
            "counted": covers([(f.start, f.end) for f in of_kind if f.counts], value),
            "any": covers([(f.start, f.end) for f in findings if f.layer == "direct"], value),
        }))  # fmt: skip

    out: Row = {}
    for kind in dict.fromkeys(c.kind for c, _ in rows):
        chosen = [(c, h) for c, h in rows if c.kind == kind]
        ten = [(c, h) for c, h in chosen if c.group not in {"en_US", "tr_TR"}]
        plain = [h for c, h in ten if not c.folded]
        out[kind] = {f"ten_locales_{name}": share(h[name] for h in plain) for name in ("found", "counted", "any")}
        if kind == "phone":
            out[kind]["ten_locales_in_service"] = share(h["found"] for c, h in ten if in_service(c))
        out[kind]["ten_locales_ascii"] = share(h["found"] for c, h in ten if c.folded)
        out[kind]["found_by_locale"] = {
            locale: share(h["found"] for c, h in chosen if c.group == locale and not c.folded) for locale in dict.fromkeys(c.group for c, _ in chosen)
        }
    return out


def negatives(judge: Judge) -> Row:
    """Share of things that are no name, address or phone but overlap a finding of that kind; by sort of thing."""
    hits: dict[str, list[bool]] = {}
    for case in negative_cases():
        start, end = case.spans["value"][0]
        hit = any(is_of(f.type, case.kind) and f.start < end and start < f.end for f in judge(case.text).findings)
        hits.setdefault(case.kind, []).append(hit)
        if case.group != case.kind:
            hits.setdefault(f"{case.kind}: {case.group}", []).append(hit)
    return {name: share(given) for name, given in hits.items()}


def flagged(judge: Judge, text: str) -> bool:
    return bool(judge(text).verdict.action == "flag")


def actions(judge: Judge, texts: Sequence[str]) -> Row:
    """Shares flagged and held (flagged or abstained)."""
    said = [judge(t).verdict.action for t in texts]
    return {"flagged": share(a == "flag" for a in said), "held": share(a in {"flag", "abstain"} for a in said)}


def bearer_is_right(case: Case, findings: Sequence[Any]) -> bool:
    """Whether both attributes are found and each is bound to a person whose mentions overlap the true bearer's and not the other's."""

    def bound(slots: str, of_type: str = "attribute") -> set[str]:
        spans = [s for slot in slots.split() for s in case.spans.get(slot, ())]
        given = [f for f in findings if f.layer != "direct" and f.person and (f.type == "person") == (of_type == "person")]
        return {f.person for f in given if any(f.start < end and start < f.end for start, end in spans)}

    mentioned = {"X": bound("X x Cx", "person"), "Y": bound("Y y Cy", "person")}
    true = {"a": "X", "b": "Y" if case.kind == "split" else "X"}
    other = {"X": "Y", "Y": "X"}
    return all(bool(bound(slot)) and bound(slot) <= mentioned[who] - mentioned[other[who]] for slot, who in true.items())


def swapped(judge: Judge) -> Row:
    """A pair is right where the text with both attributes on one person is flagged and the one with one each is not.

    `first` and `second`: which of the two people has both. `bearers`: of pairs with the people exchanged, the share in which
    every attribute is bound to the right one, by the findings' mentions of people; what is not found is wrong.
    """
    judged = [tuple((c, judge(c.text)) for c in three) for three in swapped_cases()]
    on = [[j.verdict.action == "flag" for _, j in three] for three in judged]
    right = [[bearer_is_right(c, j.findings) for c, j in three] for three in judged]
    named = ["the " not in three[0][0].text[slice(*three[0][0].spans["X"][0])].lower() for three in judged]
    return {
        "pairs_right": share(r for first, second, split in on for r in (first and not split, second and not split)),
        "flagged_first": share(t[0] for t in on),
        "flagged_second": share(t[1] for t in on),
        "flagged_split": share(t[2] for t in on),
        "flagged_split_names": share(t[2] for t, n in zip(on, named, strict=True) if n),
        "flagged_split_roles": share(t[2] for t, n in zip(on, named, strict=True) if not n),
        "bearers": share(t[0] and t[1] for t in right),
        "bearers_split": share(t[2] for t in right),
    }


def typing(judge: Judge, texts: Sequence[str]) -> Row:
    """Recall with one word in eight mistyped, as a ratio of plain recall, with a percentile interval over texts."""
    rng = np.random.default_rng(SEED)
    plain = np.array([flagged(judge, t) for t in texts])
    typed = np.array([flagged(judge, corrupt(t, rng)) for t in texts])
    blocks = np.concatenate(list(bootstrap_weights(len(texts), np.random.default_rng(SEED + 1))))
    kept, whole = blocks @ typed, blocks @ plain
    ratio = round(float(typed.sum() / plain.sum()), 3) if plain.any() else None
    between = [round(x, 3) for x in percentile_interval(kept[whole > 0] / whole[whole > 0])] if plain.any() else None
    return {"plain": share(plain), "typed": share(typed), "ratio": ratio, "interval": between}


def by_style(judge: Judge) -> Row:
    given = styles()
    judged = [(r, judge(r["text"]).verdict) for r in given]
    sorted_out = [(r["cluster"] == "yes", v.delta) for r, v in judged if r["cluster"] != "one" and v.delta is not None]
    labels, deltas = np.array([y for y, _ in sorted_out]), np.array([d for _, d in sorted_out])
    whole = auroc_estimate(deltas, labels)
    out: Row = {"auroc_yes_no": {"auroc": rounded(whole.value), "interval": [rounded(whole.low), rounded(whole.high)]}}
    for cluster in ("yes", "one", "no"):
        out[cluster] = actions(judge, [r["text"] for r in given if r["cluster"] == cluster])
    out["flagged_yes_by_style"] = {
        s: share(v.action == "flag" for r, v in judged if r["style"] == s and r["cluster"] == "yes") for s in Counter(r["style"] for r in given)
    }
    return out


def score(guard: Any, context: Any, data: Path | None) -> Row:
    """Everything as a dict of shares. `guard` as it is; `context` with every direct type allowed."""
    ids = load("ids.json")
    clusters = [r["text"] for r in styles() if r["cluster"] == "yes"]
    out: Row = {
        "direct": direct(guard.judge),
        "negatives": negatives(guard.judge),
        "two_people": actions(context.judge, [c.text for c in two_cases()]),
        "swapped": swapped(context.judge),
        "styles": by_style(context.judge),
        "typing": {"styles": typing(context.judge, clusters)},
    }
    if data is not None:
        first = ids["first_person"]
        told = pool_texts(data, {*ids["clusters"], *first["labelled"], *first["pronouns"]})
        out["typing"]["pool"] = typing(context.judge, [told[i] for i in ids["clusters"]])
        out["first_person_none"] = {name: actions(context.judge, [told[i] for i in listed]) for name, listed in first.items()}
        out["first_person_none"]["all"] = actions(context.judge, [told[i] for listed in first.values() for i in listed])
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domain", default="medical")
    parser.add_argument("--guard", type=Path, help="folder of a fitted guard, instead of the one that ships")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    guard = discreet.Guard.load(args.guard) if args.guard else discreet.Guard(args.domain)
    policy = dataclasses.replace(guard.policy, allow_direct=tuple(known_types()))
    context = discreet.Guard(policy, detector=guard.detector) if args.guard else discreet.Guard(policy)
    line = json.dumps({"benchmark": "reader_made", "domain": policy.domain.name, "fitted": guard.is_fitted} | score(guard, context, args.data), indent=1)
    if args.output:
        args.output.write_text(line + "\n", encoding="utf-8")
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
