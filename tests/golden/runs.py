"""The golden runs: what is called on which saved input. The only file here that follows a renamed command or option.

A run takes an empty folder and returns plain JSON values: exit codes and records. Nothing is trained.
"""

from __future__ import annotations

import csv
import gzip
import html
import io
import json
import re
import tarfile
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from discreet.cli.main import run as command_line

HERE = Path(__file__).resolve().parent
ARTIFACTS = HERE / "artifacts"
MEMBERSHIP, LABELS, SEAL, ANSWERS = (ARTIFACTS / name for name in ("membership", "labels", "seal", "answers"))
LABELLED = ANSWERS / "labelled.jsonl.gz"
FITTED = ARTIFACTS / "guards" / "ocsvm.tar.xz"
QUICK = ("--permutations", 19, "--bootstraps", 30)

Runs = dict[str, Callable[[Path], Any]]
RUNS: Runs = {}


def golden(made: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Register a run under the name of its function."""
    RUNS[made.__name__] = made
    return made


def call(*argv: object) -> tuple[int, str]:
    """Exit code and standard output of the command line, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = command_line([str(one) for one in argv])
    if code == 2:
        raise AssertionError(f"discreet {' '.join(map(str, argv))}: {err.getvalue().strip()}")
    return code, out.getvalue()


def record_of(*argv: object) -> dict[str, Any]:
    """Exit code and the one record that `--json` prints."""
    code, out = call(*argv, "--json", "--quiet")
    return {"exit": code, "record": json.loads(out)}


def rows_of(*argv: object) -> dict[str, Any]:
    """Exit code and what `--json` prints line by line, by id."""
    code, out = call(*argv, "--json", "--quiet")
    rows = [json.loads(line) for line in out.splitlines()]
    return {"exit": code, "rows": {row.pop("id"): row for row in rows}}


def unpacked(source: Path, to: Path) -> Path:
    """A .tar.xz folder, or a .gz file, as it was before it was packed."""
    if source.name.endswith(".tar.xz"):
        to.mkdir(parents=True)
        with tarfile.open(source) as archive:
            archive.extractall(to, filter="data")
    else:
        to.write_bytes(gzip.decompress(source.read_bytes()))
    return to


# Guard


CHECK = ("guard", "check")


@golden
def guard_check_medical(_: Path) -> Any:
    found = rows_of(*CHECK, "--domain", "medical", "--input", ANSWERS / "medical.jsonl.gz", "--explain")
    return {**found, "held": call(*CHECK, "--domain", "medical", "--input", ANSWERS / "medical.jsonl.gz",
                                  "--quiet", "--fail-on-flag")[0]}


RUNS["guard_check_finance"] = lambda _: rows_of(
    *CHECK, "--domain", "finance", "--input", ANSWERS / "finance.jsonl.gz", "--explain")


@golden
def guard_check_law(work: Path) -> Any:
    found = rows_of(*CHECK, "--domain", "law", "--input", ANSWERS / "law.jsonl.gz", "--explain", "--out",
                    work / "run")
    return {**found, "record": json.loads((work / "run" / "result.json").read_text(encoding="utf-8"))}


@golden
def guard_check_audiences(_: Path) -> Any:
    return {f"{domain} {audience}": rows_of(*CHECK, "--domain", domain, "--audience", audience, "--point",
                                            "strict", "--input", ANSWERS / f"{domain}.jsonl.gz")
            for domain, audience in (("medical", "clinician"), ("medical", "treating"), ("finance", "own_client"),
                                     ("law", "lawyer"))}


RUNS["guard_check_policy_file"] = lambda _: rows_of(
    *CHECK, "--policy", ARTIFACTS / "paper-policy.yaml", "--input", ANSWERS / "medical.jsonl.gz", "--explain")


@golden
def guard_check_fitted(work: Path) -> Any:
    fitted = unpacked(FITTED, work / "guard")
    given = ("guard", "check", "--guard", fitted, "--input", ANSWERS / "medical.jsonl.gz", "--point")
    return {point: rows_of(*given, point)
            for point in ("costs", "balanced")}


RUNS["guard_evaluate"] = lambda _: record_of("guard", "evaluate", "--labelled", LABELLED,
                                                     "--domain", "medical")


@golden
def guard_evaluate_fitted(work: Path) -> Any:
    fitted = unpacked(FITTED, work / "guard")
    return {kind: record_of("guard", "evaluate", "--labelled", LABELLED, "--guard", fitted, "--discriminator", kind)
            for kind in ("density", "both+logistic", "mlp-v4")}


@golden
def guard_calibrate(work: Path) -> Any:
    fitted = unpacked(FITTED, work / "guard")
    found = record_of("guard", "calibrate", "--guard", fitted, "--labelled", LABELLED, "--cost-miss", 10,
                      "--cost-false-flag", 1, "--cost-review", 0.2, "--prevalence", 0.1, "--out", work / "copy")
    copy = rows_of("guard", "check", "--guard", work / "copy", "--input", ANSWERS / "medical.jsonl.gz")
    return {**found, "copy": {name: {key: row[key] for key in ("action", "delta", "tau")}
                              for name, row in copy["rows"].items()}}


# Membership


RUNS["membership_leaking"] = lambda _: record_of(
    "audit", "membership", "scores", MEMBERSHIP / "leaking.parquet", "--design", "randomised", "--texts",
    MEMBERSHIP / "leaking-texts.jsonl.gz", "--embeddings", MEMBERSHIP / "leaking-vectors.npz", *QUICK)
RUNS["membership_grouped"] = lambda _: record_of(
    "audit", "membership", "scores", MEMBERSHIP / "grouped.parquet", "--design", "randomised", "--allow-split-groups",
    "--tolerance-auc", 0.7, "--base-rates", 0.1, *QUICK)
RUNS["membership_several"] = lambda _: record_of(
    "audit", "membership", "scores", MEMBERSHIP / "several", "--design", "convenience", "--attacks", "confidence",
    "--permutations", 9, "--bootstraps", 20)


@golden
def membership_sealed(work: Path) -> Any:
    seal = unpacked(SEAL / "seal.tar.xz", work / "seal")
    return {name: record_of("audit", "membership", "scores", SEAL / f"{name}-scores.csv.gz", "--design", "sealed",
                            "--seal", seal, "--commitment", seal / "commitment.json", *QUICK)
            for name in ("leaking", "quiet")}


# Labels


RUNS["labels_binary"] = lambda _: record_of("audit", "labels", "scores", LABELS / "binary.parquet")
RUNS["labels_classes"] = lambda _: record_of(
    "audit", "labels", "scores", LABELS / "classes.csv.gz", "--no-tune")
RUNS["labels_quiet"] = lambda _: record_of(
    "audit", "labels", "scores", LABELS / "quiet.parquet", "--no-tune")
RUNS["labels_bare"] = lambda _: record_of(
    "audit", "labels", "scores", LABELS / "bare.parquet", "--assignment", "balanced")


@golden
def labels_untrained_or_undrawn(_: Path) -> Any:
    """Canaries that nobody was trained on, and canaries that kept their labels: an audit, or an error in one line."""
    found = {}
    for name in ("untrained.parquet", "undrawn.csv.gz"):
        try:
            found[name] = record_of("audit", "labels", "scores", LABELS / name, "--no-tune")
        except AssertionError:
            found[name] = {"exit": 2, "record": None}
    return found


@golden
def labels_plan(_: Path) -> Any:
    return {f"{epsilon} {classes}": record_of("audit", "labels", "plan", "--epsilon", epsilon, "--classes", classes,
                                              "--guessed", guessed)
            for epsilon, classes, guessed in ((1, 2, 1.0), (2, 10, 0.5))}


RUNS["published_table"] = lambda _: record_of("audit", "check-table", ARTIFACTS / "published.csv", "--alpha", 0.05)


# Seals


@golden
def seal(work: Path) -> Any:
    """The commitment and the files of a seeded seal of the same data."""
    data = unpacked(SEAL / "data.jsonl.gz", work / "data.jsonl")
    found = {"records": record_of("seal", data, "--pairs", 80, "--out", work / "again", "--seed", 5),
             "users": record_of("seal", data, "--pairs", 30, "--out", work / "users", "--seed", 6, "--group", "user",
                                "--alpha", 0.01)}
    for one in found.values():
        one["record"].pop("out")
    return {**found, **{name: [row["id"] for row in _rows(work / "again" / f"{name}.jsonl")]
                        for name in ("train", "probe")}}


@golden
def unseal(work: Path) -> Any:
    """Certificates from a saved seal, the second of them after a first opening."""
    folder = unpacked(SEAL / "seal.tar.xz", work / "seal")
    found = {name: record_of("unseal", folder, "--scores", SEAL / f"{name}.jsonl", "--out", work / f"{name}.json",
                             "--delta", delta)
             for name, delta in (("leaking", 0.0), ("quiet", 0.01))}
    opened = unpacked(SEAL / "opened.tar.xz", work / "opened")
    again = record_of("unseal", opened, "--scores", SEAL / "leaking.jsonl", "--out", work / "again.json")
    return {**found, "opened before": again}


@golden
def verify(work: Path) -> Any:
    """Saved certificates, whole and tampered with."""
    folder = unpacked(SEAL / "seal.tar.xz", work / "seal")
    found = {}
    for name in ("leaking", "quiet"):
        path = unpacked(SEAL / f"{name}.certificate.json.gz", work / f"{name}.json")
        key = ("--public-key", SEAL / "public.pem") if name == "leaking" else ()
        found[name] = record_of("verify", path, "--commitment", folder / "commitment.json", *key)
    changed = json.loads((work / "leaking.json").read_text(encoding="utf-8"))
    changed["e_value"] = 1.0
    (work / "changed.json").write_text(json.dumps(changed), encoding="utf-8")
    return {**found, "changed": record_of("verify", work / "changed.json")}


# Defences, stress test, synthesis


RUNS["frontier"] = lambda _: record_of(
    "defend", "frontier", "--scores", MEMBERSHIP / "leaking.parquet", "--draws", 3, "--sigma", "0,0.5,2", "--decimals",
    "2,1", "--queries", "1,16,64", "--clip", 4)


@golden
def stress(_: Path) -> Any:
    gate = ("--max-borderline-fpr", 0.1)
    return {"gate": record_of("stress-test", "--scores", ARTIFACTS / "stress.jsonl.gz", *gate),
            "threshold": record_of("stress-test", "--scores", ARTIFACTS / "stress.jsonl.gz", "--threshold", 0.5),
            "easy": record_of("stress-test", "--scores", ARTIFACTS / "stress.jsonl.gz", "--tpr", 0.6, *gate)}


@golden
def synth_plan(_: Path) -> Any:
    return {"finance": record_of("synth", "plan", "--domain", "finance", "--n", 20),
            "paper": record_of("synth", "plan", "--domain", "law", "--scale", 0.002, "--roles", "paper")}


@golden
def synth_validate(work: Path) -> Any:
    found = {}
    for domain in ("medical", "finance", "law"):
        failed = work / f"{domain}.jsonl"
        found[domain] = record_of("synth", "validate", "--input", ARTIFACTS / "synth" / f"{domain}.jsonl.gz",
                                  "--domain", domain, "--output", failed)
        found[domain]["failed"] = _rows(failed)
    return found


@golden
def synth_run(work: Path) -> Any:
    """Every partition of a tiny campaign: what the grammar writes, and where its attributes stand."""
    found = {}
    for domain in ("medical", "law"):
        call("synth", "run", "--out", work / domain, "--domain", domain, "--n", 4, "--seed", 3, "--quiet")
        found[domain] = {path.stem: {row.pop("id"): row for row in _rows(path)}
                         for path in sorted((work / domain).glob("*.jsonl"))}
    return found


# Reports of saved runs


@golden
def report(work: Path) -> Any:
    """Figures drawn from saved records: what their files hold, and the numbers in the tables of the page."""
    found = {}
    for name in ("membership", "labels", "frontier", "answers"):
        folder = unpacked(ARTIFACTS / "runs" / f"{name}.tar.xz", work / name)
        (folder / "figures").mkdir(exist_ok=True)
        code, _ = call("report", folder)
        page = (folder / "report.html").read_text(encoding="utf-8")
        found[name] = {"exit": code, "cells": cells_of(page),
                       "figures": {path.name: _table(path) for path in sorted((folder / "figures").glob("*.csv"))},
                       "drawn": sorted(path.name for path in (folder / "figures").glob("*.svg"))}
    return found


NUMBER = r"[-−]?(?:\d[\d,]*)?\.?\d+%?"
FIGURE = re.compile(rf"[+]?({NUMBER})(?:\s*[\[(][+]?({NUMBER})(?:,| to)\s*[+]?({NUMBER}|∞|inf)[\])])?")


def cells_of(page: str) -> list[str]:
    """The numbers in the cells of a page's tables, those that are a figure with its interval or without: each once."""
    texts = (" ".join(html.unescape(re.sub(r"<[^>]+>", " ", cell)).split())
             for cell in re.findall(r"<td[^>]*>(.*?)</td>", page, flags=re.DOTALL))
    return sorted({number.replace("−", "-") for text in texts if (found := FIGURE.fullmatch(text))
                   for number in found.groups() if number})


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _table(path: Path) -> Mapping[str, list[Any]]:
    """Columns of a CSV file by name."""
    with path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    return {name: [_number(row[name]) for row in rows] for name in (rows[0] if rows else ())}


def _number(text: str) -> Any:
    try:
        return float(text)
    except (TypeError, ValueError):
        return text
