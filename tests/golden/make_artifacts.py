"""Make the saved inputs of the golden runs. They were written by commit 2bd844a and must stay readable.

    PYTHONPATH=<work tree of 2bd844a>/src python tests/golden/make_artifacts.py

Everything is seeded, so that the same commit writes the same figures again, but for times, keyed hashes and the coins
of a seal: an audit takes only coins of the operating system, and what is saved here is what they once were. What later
code renames is reached by name: this script follows 2bd844a, not the current tree.
"""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.golden.answers import WRITTEN
from tests.golden.score_rows import SEVERAL_MODELS, label_rows, several_examples, several_scores

HERE = Path(__file__).resolve().parent / "artifacts"
DOMAINS = ("medical", "finance", "law")

Row = dict[str, Any]


def old(name: str) -> Any:
    """`module:attribute` of the commit that writes."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def discreet(*argv: object, codes: Sequence[int] = (0,)) -> str:
    """The command line of the commit that writes."""
    ended = subprocess.run([sys.executable, "-m", "discreet", *map(str, argv)], capture_output=True, text=True,
                           check=False)
    if ended.returncode not in codes:
        raise RuntimeError(f"discreet {argv[0]} ended with {ended.returncode}: {ended.stderr}")
    return ended.stdout


def packed(path: Path, content: bytes | str) -> None:
    """Write `content`, compressed where the name ends in .gz, with no time in it."""
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, 9, mtime=0) if path.suffix == ".gz" else data)


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def csv_lines(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(rows[0])
    return "".join(",".join("" if v is None else str(v) for v in line) + "\n"
                   for line in [names, *([row[name] for name in names] for row in rows)])


def folder(path: Path, source: Path) -> None:
    """A folder as a .tar.xz without owners and times: guards and seals are many small files."""
    kept = BytesIO()
    with tarfile.open(fileobj=kept, mode="w:xz", preset=9) as archive:
        for file in sorted(one for one in source.rglob("*") if one.is_file()):
            info = tarfile.TarInfo(str(file.relative_to(source)))
            info.size, info.mode = file.stat().st_size, 0o644
            archive.addfile(info, BytesIO(file.read_bytes()))
    packed(path, kept.getvalue())


def read_rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_texts(work: Path) -> None:
    """Answers to check, labelled answers, and records to validate."""
    labelled: list[Row] = []
    for domain in DOMAINS:
        discreet("synth", "run", "--out", work / domain, "--domain", domain, "--n", 60, "--seed", 7, "--quiet")
        parts = {name: read_rows(work / domain / f"{name}.jsonl")
                 for name in ("safe", "unsafe", "borderline", "unsafe_heldout", "borderline_eval", "domain_only")}
        grammar = [{"id": f"{name}-{n}", **{key: row[key] for key in ("question", "answer")}}
                   for name, rows in parts.items() for n, row in enumerate(rows[:2])]
        packed(HERE / "answers" / f"{domain}.jsonl.gz", json_lines([*WRITTEN[domain], *grammar]))
        records = [row for name in ("safe", "unsafe", "borderline") for row in parts[name][:6]]
        # Two that must fail: a direct identifier, and a class that was asked for and cannot be found.
        records += [{**records[0], "id": "broken-direct", "answer": records[0]["answer"] + " Call 212-555-0147."},
                    {**records[7], "id": "broken-slot", "answer": records[0]["answer"], "slots": []}]
        packed(HERE / "synth" / f"{domain}.jsonl.gz", json_lines(records))
        labelled += labelled_rows(domain, parts)
    packed(HERE / "answers" / "labelled.jsonl.gz", json_lines(labelled))


def labelled_rows(domain: str, parts: Mapping[str, list[Row]]) -> list[Row]:
    count = 30 if domain == "medical" else 8
    found = []
    for name, cluster in (("unsafe_heldout", "yes"), ("borderline_eval", "no"), ("safe", "no")):
        for n, row in enumerate(parts[name][10:10 + count]):
            kinds = set(row.get("qi", ()))
            found.append({
                "id": f"{domain}-{name}-{n}", "question": row["question"], "answer": row["answer"], "domain": domain,
                "cluster": cluster, "subject": "third" if cluster == "yes" else "none",
                "register": row.get("register"), "document": f"{domain}-{name}-{n // 2}",
                "age": int("AGE" in kinds), "place": int("LOCATION" in kinds), "family": int("FAMILY" in kinds),
                "occupation": int("OCCUPATION" in kinds)})
    by_hand = {"hand-cluster": ("yes", "third"), "hand-speaker": ("yes", "speaker"), "hand-echoed": ("yes", "asker"),
               "hand-one": ("one", "third"), "hand-public": ("yes", "public"), "hand-weak": ("unclear", "third")}
    for row in WRITTEN[domain]:
        if row["id"] in by_hand:
            cluster, subject = by_hand[row["id"]]
            found.append({"id": f"{domain}-{row['id']}", "question": row.get("question"), "answer": row["answer"],
                          "domain": domain, "cluster": cluster, "subject": subject, "register": None,
                          "document": f"{domain}-{row['id']}"})
    return found


def write_guards(work: Path) -> None:
    """A guard of each density; the perceptron takes 400 kB and is kept in one of them."""
    old("discreet.encode.encoders.hashed:HashedEncoder")(32).save(work / "hashed")
    source = work / "medical"
    for density in ("ocsvm", "gmm", "rff"):
        made = work / f"guard-{density}"
        discreet("guard", "fit", "--domain", "medical", "--safe", source / "safe.jsonl", "--unsafe",
                 source / "unsafe.jsonl", "--borderline", source / "borderline.jsonl", "--encoders",
                 f"{work / 'hashed'},evidence", "--density", density, "--out", made, "--cost-miss", 10,
                 "--cost-false-flag", 1, "--cost-review", 0.3, "--quiet")
        if density != "ocsvm":
            lighter(made)
        folder(HERE / "guards" / f"{density}.tar.xz", made)


def lighter(made: Path) -> None:
    """The same guard with the density deciding, and no other discriminator."""
    from dataclasses import replace

    guard = old("discreet.guard.fitted:FittedGuard").load(made)
    detector = guard.detector
    alone = replace(detector, discriminators={}, decides="density", points={"density": detector.points["density"]})
    old("discreet.guard.fitted:FittedGuard")(alone, guard.policy, card={"seed": 42}).save(made)


def write_membership(work: Path) -> None:
    """Score tables of membership audits, of different design, format and what is in them."""
    world, simulated = old("discreet.audit.simulate:World"), old("discreet.audit.simulate:simulated_table")
    write = old("discreet.audit.save:write_scores")
    (HERE / "membership").mkdir(parents=True, exist_ok=True)

    from dataclasses import replace

    table = simulated(world(members=120, others=100, clean=120, selector=80, leak=1.2, shadows=8,
                            planted={1: 24, 4: 24, 16: 24}), np.random.default_rng(3))
    write(replace(table, logits=table.logits.astype(np.float32).astype(np.float64)),
          HERE / "membership" / "leaking.parquet")
    write_beside(table)
    clean = simulated(world(members=150, others=0, clean=150, selector=60, leak=0.0, paired=0,
                            planted={4: 40, 16: 40}, planted_leak=1.5, group_size=2, group_noise=0.4),
                      np.random.default_rng(4))
    write(replace(clean, logits=clean.logits.astype(np.float32).astype(np.float64)),
          HERE / "membership" / "grouped.parquet")
    packed(HERE / "membership" / "several" / "scores.csv.gz", csv_lines(several_scores()))
    packed(HERE / "membership" / "several" / "models.csv", csv_lines(SEVERAL_MODELS))
    packed(HERE / "membership" / "several" / "examples.csv", csv_lines(several_examples()))


def write_beside(table: Any) -> None:
    """Texts and vectors of the examples of the first table."""
    draw, rng = random.Random(11), np.random.default_rng(12)
    words = "report order parcel refund account message picture threat weather garden recipe market".split()
    texts = [{"id": str(name), "text": " ".join(draw.choices(words, k=draw.randint(5, 14)))}
             for name in table.examples.id]
    packed(HERE / "membership" / "leaking-texts.jsonl.gz", json_lines(texts))
    vectors = rng.normal(size=(len(table.examples), 4)).astype(np.float32) + table.examples.label[:, None]
    np.savez_compressed(HERE / "membership" / "leaking-vectors.npz", example=table.examples.id.astype(str),
                        vectors=vectors.astype(np.float32))


def write_labels() -> None:
    """Score tables of label audits."""
    world, simulated = old("discreet.audit.labels.simulate:LabelWorld"), old(
        "discreet.audit.labels.simulate:simulated_labels")
    write = old("discreet.audit.labels.save:write_label_scores")
    from dataclasses import replace

    (HERE / "labels").mkdir(parents=True, exist_ok=True)
    for name, given in (
        ("binary", world(canaries=300, placebos=300, memory=1.5, epsilon=2.0, references=3, planted=(1, 4, 16))),
        ("bare", world(canaries=150, placebos=0, memory=0.8)),
        ("quiet", world(canaries=600, placebos=600, memory=0.2, signal=1.0, spread=0.5, planted=(1, 4, 16))),
    ):
        table = simulated(given, np.random.default_rng(5))
        write(replace(table, logits=table.logits.astype(np.float32).astype(np.float64)),
              HERE / "labels" / f"{name}.parquet")
    # The last table once more with canaries that nobody was trained on: they were passed over in silence.
    write(replace(table, trained=np.where(table.role == old("discreet.audit.labels.table:CANARY"), -1, table.trained),
                  logits=table.logits.astype(np.float32).astype(np.float64)), HERE / "labels" / "untrained.parquet")
    packed(HERE / "labels" / "classes.csv.gz", csv_lines(label_rows()))
    # Canaries that kept their labels.
    rows = [row for row in label_rows() if row["model"] == "plain-2" and row["example_role"] in ("canary", "placebo")]
    packed(HERE / "labels" / "undrawn.csv.gz",
           csv_lines([{**row, "label_secret": row["label_original"], "label_trained": row["label_original"]}
                      for row in rows]))


def write_seals(work: Path) -> None:
    """Sealed data, scores of a leaking and of a quiet model, certificates, and a table for `--design sealed`."""
    rng = np.random.default_rng(51)
    rows = [{"id": f"r{n}", "text": f"Sealed text number {n} " + "word " * int(rng.integers(3, 20)), "label": n % 2,
             "user": f"u{n // 2}"} for n in range(200)]
    data = work / "data.jsonl"
    data.write_text(json_lines(rows), encoding="utf-8")
    packed(HERE / "seal" / "data.jsonl.gz", json_lines(rows))
    discreet("seal", data, "--pairs", 80, "--out", work / "seal", "--quiet")
    for name, leak in (("leaking", 2.5), ("quiet", 0.0)):
        write_sealed_scores(work, name, leak, rng)
    key = work / "key.pem"
    write_key(key)
    made = work / "certificates"
    made.mkdir()
    discreet("unseal", work / "seal", "--scores", HERE / "seal" / "leaking.jsonl", "--out", made / "leaking.json",
             "--sign", key, "--quiet", codes=(1,))
    discreet("unseal", work / "seal", "--scores", HERE / "seal" / "quiet.jsonl", "--out", made / "quiet.json",
             "--tolerance", 0.9, "--quiet", codes=(0, 3))
    folder(HERE / "seal" / "opened.tar.xz", work / "seal")
    (work / "seal" / "opened.json").unlink()
    (work / "seal" / "certificate.json").unlink(missing_ok=True)
    folder(HERE / "seal" / "seal.tar.xz", work / "seal")
    for path in sorted(made.iterdir()):
        packed(HERE / "seal" / f"{path.stem}.certificate.json.gz", path.read_bytes())


def write_key(path: Path) -> None:
    """A key from a fixed seed, and its public half."""
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    path.write_bytes(key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()))
    packed(HERE / "seal" / "public.pem",
           key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo))


def write_sealed_scores(work: Path, name: str, leak: float, rng: np.random.Generator) -> None:
    inside = {row["id"] for row in read_rows(work / "seal" / "train.jsonl")}
    probe = read_rows(work / "seal" / "probe.jsonl")
    rows = []
    for row in probe:
        odds = round(float(rng.normal() + leak * (row["id"] in inside)), 6)
        mine, other = f"logit_{row['label']}", f"logit_{1 - row['label']}"
        rows.append({"id": row["id"], "label": row["label"], mine: odds, other: 0.0})
    packed(HERE / "seal" / f"{name}.jsonl", json_lines(rows))
    table = []
    for model, role, kind in (("target", "target", None), ("neutral", "reference", "neutral"),
                              ("placebo", "placebo", None)):
        for place, row in enumerate(probe):
            score = rows[place][f"logit_{row['label']}"] if role == "target" else round(float(rng.normal()), 6)
            table.append({"model": model, "model_role": role, "reference_kind": kind, "example": row["id"],
                          "label": row["label"], "member": str(role == "target" and row["id"] in inside).lower(),
                          **{f"logit_{c}": score if c == row["label"] else 0.0 for c in (0, 1)}})
    packed(HERE / "seal" / f"{name}-scores.csv.gz", csv_lines(table))


def write_small() -> None:
    """Scores for the stress test, and published figures."""
    rng = np.random.default_rng(61)
    subtypes = ("HYPOTHETICAL", "POPULATION", "QUOTED")
    rows = [{"id": f"{kind}-{n}", "kind": kind, "score": round(float(rng.normal(mean, 1.0)), 6),
             "subtype": subtypes[n % 3] if kind == "borderline" else None}
            for kind, mean, count in (("unsafe", 2.0, 120), ("safe", -2.0, 120), ("borderline", 0.3, 90))
            for n in range(count)]
    packed(HERE / "stress.jsonl.gz", json_lines(rows))
    cells = [{"n_canaries": n, "train_accuracy": accuracy, "epsilon": epsilon, "success": success,
              "n_classes": classes, "n_train": 20000, "benchmark": benchmark, "attack": attack, "guess": guess}
             for n, accuracy, epsilon, success, classes, benchmark, attack, guess in (
                 (1000, 0.91, "inf", 0.83, 2, "adult", "loss", "prediction"),
                 (1000, 0.74, "2", 0.71, 2, "adult", "loss", "prediction"),
                 (1000, 0.66, "1", 0.79, 2, "adult", "margin", "other"),
                 (5000, 0.98, "inf", 0.52, 10, "digits", "loss", "prediction"),
                 (5000, 0.80, "4", 0.61, 10, "digits", "loss", "prediction"),
                 (5000, None, "0.5", 0.13, 10, "digits", "margin", "other"))]
    packed(HERE / "published.csv", csv_lines(cells))
    packed(HERE / "paper-policy.yaml", "version: 1\ndomain: medical\nlanguages: [en]\nrule: paper\npoint: strict\n"
           "allow_direct: [url, email]\naudience: staff\naudiences:\n  staff:\n    subjects: [third, speaker, asker]\n"
           "    cluster: 2\n")


def write_runs(work: Path) -> None:
    """Records of finished runs, for `discreet report`."""
    for name, argv, codes in (
            ("membership", ("audit", "membership", "scores", HERE / "membership" / "leaking.parquet", "--design",
                            "randomised", "--permutations", 19, "--bootstraps", 20), (0, 1, 3)),
            ("labels", ("audit", "labels", "scores", HERE / "labels" / "binary.parquet", "--permutations", 9,
                        "--no-tune"), (0, 1, 3)),
            ("frontier", ("defend", "frontier", "--scores", HERE / "membership" / "leaking.parquet", "--draws", 2,
                          "--queries", "1,16", "--sigma", "0,1", "--decimals", "2"), (0,)),
            ("answers", ("guard", "check", "--domain", "medical", "--input", HERE / "answers" / "medical.jsonl.gz"),
             (0,))):
        made = work / f"run-{name}"
        discreet(*argv, "--out", made, "--quiet", codes=codes)
        for extra in ("figures", "report.html", "config.yaml", "log.jsonl"):
            remove(made / extra)
        folder(HERE / "runs" / f"{name}.tar.xz", made)


def remove(path: Path) -> None:
    import shutil

    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def main() -> None:
    with TemporaryDirectory(prefix="golden-") as made:
        work = Path(made)
        write_texts(work)
        write_guards(work)
        write_membership(work)
        write_labels()
        write_seals(work)
        write_small()
        write_runs(work)


if __name__ == "__main__":
    main()
