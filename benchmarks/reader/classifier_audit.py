"""What the classifier's weights give away about the passages that taught it: our own membership audit of the file that ships.

    python -m benchmarks.reader.classifier_audit --data DATA --refuse REFUSE.PY [--model FOLDER] [--output F]

Members are the labelled and written passages that may teach, others the one in twelve that a keyed hash of the id kept from it
(`canaries.reserved`); both are read without a question, and the label is whether they tell of somebody private. The control model, which
saw neither, is a logistic over words of the passages that do not teach. Each epoch draws a part of the members, so that not every one of
them was read equally often.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from benchmarks.reader.canaries import reserved
from benchmarks.reader.corpus import labelled, written
from benchmarks.reader.passages import shared_shingles
from benchmarks.reader.rows import Row
from benchmarks.reader.train import cases
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import discreet
from discreet.core.files import dump_json, write_atomic
from discreet.guard.text.classifier import Classifier
from discreet.guard.text.reader import FOLDER, Reader


def split(rows: Sequence[Row]) -> tuple[list[str], list[int]]:
    """Texts of which it is known whether they tell of somebody private, and whether they do."""
    known = [(row["text"], may) for row in rows if (may := cases(row, False)).any() and not (may[0] and may.sum() > 1)]
    return [text for text, _ in known], [int(may[0]) for _, may in known]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "refuse"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--model", type=Path, default=FOLDER)
    parser.add_argument("--without", nargs="*", default=["panorama"], help="families that taught nothing")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    overlaps = shared_shingles(args.refuse)
    rows = [*labelled(args.data, []), *written()]
    teach = [r for r in rows if r["teaches"] and r["family"] not in args.without and overlaps(r["text"]) < 2]
    reader = Reader(args.model)
    network = Classifier(reader, args.model)

    def odds(texts: Sequence[str]) -> np.ndarray:
        """Logits (n, 2) of telling of nobody and of somebody private."""
        tells = [case.tells for text in texts if (case := network.read(text, "")) is not None]
        return np.stack([np.zeros(len(tells)), np.array(tells)], 1)

    control = make_pipeline(TfidfVectorizer(min_df=2), LogisticRegression(max_iter=1000)).fit(*split([r for r in rows if not r["teaches"]]))
    audit = discreet.audit_model(odds, split([r for r in teach if not reserved(r["id"])]), split([r for r in teach if reserved(r["id"])]),
                                 control=control, classes=("nobody", "private"), design="randomised", seed=args.seed)
    print(audit)
    if args.output:
        record = {"benchmark": "classifier_audit", "seed": args.seed, "weights": reader.card["sha256"], "audit": audit.to_json()}
        write_atomic(args.output, dump_json(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
