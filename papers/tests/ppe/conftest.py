from __future__ import annotations

from pathlib import Path

import pytest

from discreet.inputs.encode.encoders.hashed import HashedEncoder
from discreet_papers.ppe.corpora import PPECorpus, Sizes, read_corpus, write_campaigns

SIZES = Sizes(fit=60, borderline=24, calibration=24, holdout=30, unsafe_heldout=12, borderline_eval=15, matched=10)


@pytest.fixture(scope="session")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A small chain of the grammar's campaigns: one to evaluate on, two blocks to fit on."""
    return list(write_campaigns("law", SIZES, 3, tmp_path_factory.mktemp("ppe") / "data", block=30))


@pytest.fixture(scope="session")
def corpus(campaigns: list[Path], tmp_path_factory: pytest.TempPathFactory) -> PPECorpus:
    """Its sets, in 48 hashed columns."""
    return read_corpus("law", campaigns, [HashedEncoder(dim=48)], SIZES, tmp_path_factory.mktemp("store"))
