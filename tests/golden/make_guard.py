"""`python -m tests.golden.make_guard`: fit the guard of the golden runs again, as other weights of the reader ask."""

from __future__ import annotations

import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.golden.runs import FITTED

from discreet import fit_guard
from discreet.guard.density.encoders.evidence import EvidenceEncoder
from discreet.guard.density.points import Costs
from discreet.inputs.encode.encoders.hashed import HashedEncoder
from discreet.synth.campaign import run_campaign
from discreet.synth.plan import make_plan

SIDES = ("safe", "unsafe", "borderline")


def main() -> None:
    with TemporaryDirectory(prefix="golden-") as work:
        folder = Path(work) / "guard"
        run_campaign(make_plan("medical", dict.fromkeys(SIDES, 60), 7), Path(work) / "texts")
        fit_guard("medical", *(Path(work) / "texts" / f"{side}.jsonl" for side in SIDES),
                  encoders=[HashedEncoder(32), EvidenceEncoder("medical")], discriminator="evidence+logistic",
                  gate="fitted", costs=Costs(10, 1), seed=7, out=folder)
        with tarfile.open(FITTED, "w:xz") as archive:
            for path in sorted(folder.rglob("*")):
                archive.add(path, path.relative_to(folder), recursive=False)


if __name__ == "__main__":
    main()
