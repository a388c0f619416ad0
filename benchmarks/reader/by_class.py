"""Class by class: what the rules read, what the network reads, and what the guard uses, on families that did not teach.

    python -m benchmarks.reader.by_class --data DATA [--texts F …]

Precision and recall of triples (passage, person, class), with intervals that resample documents, and the AUROC of the score
without each of its parts, each family scored by weights that the others gave.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from benchmarks.reader.calibrate import auroc, left_out
from benchmarks.reader.confirm import passages
from benchmarks.reader.corpus import places

from discreet.core.numbers import interval
from discreet.core.records import Answer
from discreet.guard.benchmark import Passage
from discreet.guard.benchmark.guards import PredictedSpan
from discreet.guard.benchmark.matching import Triple, triples
from discreet.guard.domains import IDENTIFYING
from discreet.guard.policy import Policy
from discreet.guard.reading import read_answer
from discreet.guard.score import odds
from discreet.guard.text.attributes import Attribute, attributes_of
from discreet.guard.text.doc import Doc
from discreet.guard.text.render import render
from discreet.stats import share_estimate

READERS = ("rules", "network", "guard")
PARTS = ("count", "spans", "rules")


def spans(attributes: Sequence[Attribute]) -> list[PredictedSpan]:
    """As the benchmark takes them."""
    return [PredictedSpan(a.start, a.end, a.kind, a.person, a.subject) for a in attributes]


def line(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |")


def share(triples_: list[tuple[Triple, str]], *, of: str) -> str:
    """Precision or recall: of what is predicted, or labelled, the share that is both."""
    those = [(t, document) for t, document in triples_ if (t.predicted if of == "predicted" else t.labelled)]
    return interval(share_estimate([t.predicted and t.labelled for t, _ in those], of="triples",
                                   groups=[document for _, document in those])) if those else "–"  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="*", default=[])
    args = parser.parse_args()
    where = places()
    chosen = [p for p in passages(args.data, "pool", args.texts) if not where[p.id]["teaches"] and p.cluster != "unclear"]
    found: dict[str, list[tuple[Triple, str]]] = {name: [] for name in READERS}
    given, kept = [], []
    for p in chosen:
        policy = Policy.of(p.domain or "medical")
        read = read_answer(Answer(p.id, p.text), policy)
        assert read.seen is not None
        each = (read.ruled, attributes_of(read.seen, Doc(render(p.text))), read.attributes)
        for name, attributes in zip(READERS, each, strict=True):
            found[name] += [(t, p.document or p.id) for t in triples(p, spans(attributes))]
        if p.leaks is not None:
            kept.append(p)
            given.append(odds(read, policy))
    line("class", *(f"{name}: {what}" for name in READERS for what in ("precision", "recall")))
    line(*["---"] * 7)
    for kind in IDENTIFYING:
        cells = [share([(t, d) for t, d in found[name] if t.kind == kind], of=of) for name in READERS for of in ("predicted", "labelled")]
        line(kind, *cells)
    x, y, families = np.array(given), np.array([bool(p.leaks) for p in kept]), np.array([family(p) for p in kept])
    for part in (None, *PARTS):
        columns = [i for i, name in enumerate(PARTS) if name != part]
        scores = left_out(x[:, columns], y.astype(float), families)
        print(f"without {part}: AUROC {auroc(scores[y], scores[~y]):.4f} ({y.sum()} clusters, {(~y).sum()} that bind nothing)")


def family(passage: Passage) -> str:
    return str(places()[passage.id]["family"])


if __name__ == "__main__":
    main()
