"""Choose passages of the pool by their labels alone; writes ids.json.

    python -m benchmarks.reader.made.ids --data DATA

*first_person*: cluster `no`, of another family than PANORAMA, the writer speaks: `labelled` where the main person is the
speaker, `pronouns` where nobody but the speaker could be (no other person marked, two or more of I, me, my outside of quotation marks).
*clusters*: 200 passages of the teaching pool with cluster `yes`, by seed, for the typing errors.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reader.passages import texts
from benchmarks.real_text.passages import rows

HERE = Path(__file__).parent
SEED = 20261122
CLUSTERS = 200
FIRST = re.compile(r"\b(?:I|me|my|mine|myself|i'm|i've)\b")
QUOTED = re.compile(r"[\"“][^\"”]*[\"”]")
Row = dict[str, Any]


def pool_rows() -> dict[str, Row]:
    """Where each passage of the pool lies; q0000 is p0000 of ../real_text, whose field `source` is its family."""
    own = {p["passage"]: p for p in rows(HERE.parent / "passages.jsonl") if p["set"] == "pool"}
    older = rows(HERE.parent.parent / "real_text" / "passages.jsonl")
    return own | {"q" + p["passage"][1:]: {**p, "family": p["source"], "passage": "q" + p["passage"][1:]} for p in older}


def pool_texts(data: Path, wanted: set[str]) -> dict[str, str]:
    """Texts of passages of the pool by id."""
    return {t["passage"]: t["text"] for t in texts(data, [p for i, p in pool_rows().items() if i in wanted])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    where, labels = pool_rows(), rows(HERE.parent / "labels_pool.jsonl")
    no = [r for r in labels if r["cluster"] == "no" and where[r["passage"]]["family"] != "panorama"]
    labelled = [r["passage"] for r in no if r["people"].get(str(r["main"])) == "speaker"]
    silent = [r["passage"] for r in no if not set(r["people"].values()) - {"speaker", "group"} and r["passage"] not in labelled]
    told = pool_texts(data, set(silent))
    pronouns = [i for i in silent if len(FIRST.findall(QUOTED.sub(" ", told[i]))) >= 2]
    yes = sorted(r["passage"] for r in labels if r["cluster"] == "yes" and r["passage"].startswith("p"))
    drawn = np.random.default_rng(SEED).choice(yes, CLUSTERS, replace=False)
    first = {"labelled": sorted(labelled), "pronouns": sorted(pronouns)}
    chosen = {"first_person": first, "clusters": sorted(map(str, drawn))}
    (HERE / "ids.json").write_text(json.dumps(chosen) + "\n", encoding="utf-8")
    print({name: len(ids) for name, ids in first.items()}, len(drawn))


if __name__ == "__main__":
    main()
