"""Figures of guards on the labelled passages of this folder, with every look at *confirm* on record.

    python -m benchmarks.reader.confirm --data DATA                          # the families that teach or choose
    python -m benchmarks.reader.confirm --data DATA --set confirm            # a look: at most three, in looks.jsonl
    … [--guard discreet --guard guards/medical] [--point balanced] [--json F] [--texts F …] [--spia F]

A guard is named as for `discreet benchmark`; `discreet` takes the domain of each register. A look is written down, with
the date, the commit and the hash of the labels, before the first passage is judged; labels that are not those of the
README, a tree with uncommitted changes and a fourth look are refused. The last look may be run again at its commit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.reader import corpus
from benchmarks.reader.passages import HERE, texts
from benchmarks.real_text.passages import Row, rows

from discreet.core.files import dump_json, progress
from discreet.core.numbers import interval
from discreet.core.records import plain
from discreet.guard.benchmark import Judged, Passage, TestedGuard, figures_of, judge, open_guard, read_passages
from discreet.guard.benchmark.figures import people
from discreet.guard.benchmark.passages import BOUND, passage_from_row
from discreet.inputs.rows import Place

LOOKS, MOST = HERE / "looks.jsonl", 3
WANTED = {"flagged_positives": (">=", 0.80), "flagged_negatives": ("<=", 0.05), "held_positives": (">=", 0.92),
          "held_negatives": ("<=", 0.15)}
RECALL = {**dict.fromkeys(("age", "family", "ethnicity"), 0.90), **dict.fromkeys(("place", "occupation", "affiliation"), 0.80)}
PRECISION, SPAN_F1, SUBJECT = 0.85, 0.75, 0.90
AUROC, AUROC_INFERRED, AUROC_POOLED = 0.98, 0.90, 0.97
ROWS = (("auroc", "AUROC"), ("flagged_positives", "clusters flagged"), ("flagged_negatives", "none flagged"),
        ("held_positives", "clusters held"), ("held_negatives", "none held"),
        ("flagged_positives_with_direct", "clusters flagged, layer 1 on"),
        ("flagged_negatives_with_direct", "none flagged, layer 1 on"),
        ("held_positives_with_direct", "clusters held, layer 1 on"),
        ("held_negatives_with_direct", "none held, layer 1 on"),
        ("recall_at_held_negatives", "clusters at 10% of none"), ("flagged_one", "one attribute flagged"),
        ("abstained", "abstained"), ("failed", "failed"))


def passages(data: Path, which: str, given: Sequence[Path] = ()) -> list[Passage]:
    """The labelled passages of a set with their texts."""
    labels = rows(HERE / f"labels_{which}.jsonl")
    places = corpus.places(which)
    known = [row for path in given for row in rows(path)]
    said = {r["passage"]: r["text"] for r in (known or texts(data, [places[r["passage"]] for r in labels]))}
    return [passage_from_row(Place(f"labels_{which}.jsonl", "line", n), {
        **places[r["passage"]], **r, "text": said[r["passage"]]}) for n, r in enumerate(labels, start=1)]


def look(names: list[str], file: Path, log: Path = LOOKS, point: str = "balanced") -> Row:
    """Write down a look at `file`, or refuse it."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if f"{digest}  {file.name}" not in (HERE / "README.md").read_text(encoding="utf-8"):
        raise SystemExit(f"{file.name} has the hash {digest}, which is not that of README.md; expected the labels as "
                         "they were before anything was scored")
    before = rows(log) if log.exists() else []
    changed = _git("status", "--porcelain", "--untracked-files=no").splitlines()
    # The log itself differs after a look that was not committed yet.
    if [line for line in changed if not line.endswith(log.name)]:
        raise SystemExit("the working tree has uncommitted changes; expected a commit that the look can name")
    seen: Row = {"commit": _git("rev-parse", "HEAD"), "labels_sha256": digest, "guards": names,
                 "point": point}
    if before and {**before[-1], **seen} == before[-1]:
        return before[-1]
    if len(before) >= MOST:
        raise SystemExit(f"{log.name} has {len(before)} looks; expected at most {MOST}: the families have judged")
    seen = {"look": len(before) + 1, "date": datetime.now(UTC).isoformat(timespec="seconds"), **seen}
    with log.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(seen) + "\n")
    return seen


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=HERE, check=True, capture_output=True, text=True).stdout.strip()


def tables(found: Mapping[str, Any], families: Mapping[str, int]) -> str:
    """The figures of one guard in Markdown, with how many families state each class."""
    columns = {**found["registers"], "pooled": {"counts": found["counts"], **found["pooled"]}}
    counts = [f"{c['counts']['positive']} / {c['counts']['negative']} / {c['counts']['one']}" for c in columns.values()]
    lines = [_line("", *columns), "|---" * (len(columns) + 1) + "|", _line("clusters / none / one", *counts)]
    lines += [_line(said, *(interval(c[name]) for c in columns.values())) for name, said in ROWS if name in found["pooled"]]
    if "classes" in found:
        lines += ["", _line("class", "labelled, families", "precision", "recall", "span F1, overlap", "exact"), "|---" * 6 + "|"]
        lines += [_line(kind, f"{of['positives']}, {families.get(kind, '')}", interval(of["precision"]), interval(of["recall"]),
                        *(interval(found["spans"][kind][how]) if kind in found["spans"] else "–"
                          for how in ("overlap", "exact"))) for kind, of in found["classes"].items()]
        lines += ["", "Subject right: " + "; ".join(f"{name} {interval(one)} of {one.n}"
                                                    for name, one in found["subjects"].items())]
    lines += _people(found["people"])
    if "calibration" in found:
        one = found["calibration"]
        lines.append(f"Calibration error {interval(one['error'])}, of a calibrated score {one['control']:.3f}")
        lines += ["", _line("probability", "mean", "came true", "n"), "|---" * 4 + "|"]
        lines += [_line(f"{b['low']:.1f} to {b['high']:.1f}", f"{b['mean']:.3f}", interval(b["observed"]), b["observed"].n)
                  for b in one["bins"] if b["mean"] is not None]
    if "abstention" in found:
        one = found["abstention"]
        lines += ["", "Errors: abstained {}, kept {}, ratio {}; error at coverage {}".format(
            *(interval(one[name]) for name in ("errors_abstained", "errors_kept", "ratio")),
            ", ".join(f"{p['coverage']:.2f}: {p['risk']:.3f}" for p in one["curve"][3::4]))]
    lines += ["", "Milliseconds by characters: " + "; ".join(
        f"{name}: p50 {one['p50']:.1f}, p95 {one['p95']:.1f} (n {one['n']})" for name, one in found["latency"].items())]
    return "\n".join(lines)


def wanted(found: Mapping[str, Any]) -> str:
    """Which figures reach what they must. Where most clusters take inferred attributes, a lower AUROC will do."""
    asked: list[tuple[str, Any, str, float]] = [("pooled: AUROC", found["pooled"]["auroc"], ">=", AUROC_POOLED)]
    for name, one in {**found["registers"], "pooled": found["pooled"]}.items():
        if name != "pooled":
            stated, inferred = (one["people"][kind]["held"].n for kind in ("stated", "inferred"))
            asked.append((f"{name}: AUROC", one["auroc"], ">=", AUROC_INFERRED if inferred > stated else AUROC))
        asked += [(f"{name}: {kind.replace('_', ' ')}", one[kind], *limit) for kind, limit in WANTED.items()]
    for kind, least in RECALL.items() if "classes" in found else ():
        if kind in found["classes"]:
            asked += [(f"{kind}: recall", found["classes"][kind]["recall"], ">=", least),
                      (f"{kind}: precision", found["classes"][kind]["precision"], ">=", PRECISION)]
    if "classes" in found:
        asked += [("span F1", found["spans"]["identifying"]["overlap"], ">=", SPAN_F1),
                  ("subject right", found["subjects"]["all"], ">=", SUBJECT)]
    rows = [(said, one, f"{how} {limit:.2f}", one.value is not None and (
        one.value >= limit if how == ">=" else one.value <= limit)) for said, one, how, limit in asked]
    return "\n".join([f"{sum(met for *_, met in rows)} of {len(rows)} figures reach what they must", "",
                      _line("", "figure", "wanted", "reached"), "|---" * 4 + "|",
                      *(_line(said, interval(one), limit, "yes" if met else "**no**") for said, one, limit, met in rows)])


def _people(found: Mapping[str, Any]) -> list[str]:
    return [f"One person, two or more {name}: " + ", ".join(
        f"{how.replace('_', ' ')} {interval(one)}" for how, one in found[name].items()) + f" (n {found[name]['held'].n})"
            for name in ("stated", "inferred")]


def web_text(guard: TestedGuard, file: Path, pool: Sequence[Judged]) -> dict[str, Any]:
    """People of SPIA's documents of web text; the pool's own are of the same family and set no threshold."""
    those = [p for p in read_passages(file, domain="medical") if p.register == "panorama"]
    return people(judge(guard, those), [c for c in pool if c.passage.register != "web text"])


def _line(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", choices=["pool", "confirm"], default="pool")
    parser.add_argument("--guard", action="append", help="a guard as for `discreet benchmark`; several may be given")
    parser.add_argument("--point", default="balanced", help="operating point of discreet's guards")
    parser.add_argument("--spia", type=Path, help="with the pool: a file of SPIA's, whose documents of web text are judged at "
                        "a threshold that holds a tenth of the pool's first-person passages of other families")
    parser.add_argument("--register", action="append", help="of the pool: only these registers")
    parser.add_argument("--texts", type=Path, nargs="+", default=[], help="texts by passage, instead of those under --data")
    parser.add_argument("--log", type=Path, default=LOOKS)
    parser.add_argument("--json", type=Path, help="write the figures there")
    args = parser.parse_args()
    names = args.guard or ["discreet"]
    # Everything that may fail is done before a look counts.
    guards = {name: open_guard(name, args.point) for name in names}
    chosen = passages(args.data, args.set, args.texts)
    if args.set == "confirm" and (args.register or args.spia):
        raise SystemExit("--register or --spia was given with --set confirm; expected the whole set in a look")
    if args.register:
        chosen = [p for p in chosen if p.register in args.register]
    stated = {(s.kind, str(p.document).partition("/")[0]) for p in chosen for s in p.spans if p.kind(s.person) in BOUND
              and s.sure}
    families = Counter(kind for kind, _ in stated)
    record: dict[str, Any] = {"set": args.set, "point": args.point}
    if args.set == "confirm":
        record["look"] = look(names, HERE / "labels_confirm.jsonl", args.log, args.point)
    for name, guard in guards.items():
        cases: list[Judged] = judge(guard, progress(chosen, len(chosen), label=name))
        found = figures_of(cases, threshold=guard.threshold, probability=guard.probability)
        record[name] = plain(found)
        print(f"## {name}, {args.set}\n\n{tables(found, families)}\n\n{wanted(found)}\n")
        if args.spia is not None:
            record[f"{name}, spia"] = plain(web := web_text(guard, args.spia, cases))
            print(f"## {name}, SPIA's web text ({web['first_person_negatives']} first-person negatives)\n")
            print("\n".join(_people(web)) + "\n")
    if args.json:
        args.json.write_text(dump_json(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
