"""Pairings: who meets whom, what the figures are, and that every configuration sees the same rows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from tests.conftest import write_side

from discreet.core.errors import InputError, UsageError
from discreet.core.records import Estimate
from discreet.guard.density.detector import Detector
from discreet.guard.density.discriminators import DENSITY
from discreet.guard.density.encoders.evidence import EvidenceEncoder
from discreet.guard.policy import Policy
from discreet.inputs.encode.encoders.hashed import HashedEncoder
from discreet_papers.ppe.pairings import (
    CONFIGURATIONS,
    DEFAULT,
    PAIRINGS,
    Partitions,
    evaluate_pairings,
    fit_configurations,
    read_partitions,
)

KEYS = {"auroc", "fpr95", "fpr90", "fpr_tau0", "tpr_tau0", "abstain_safe", "abstain_unsafe", "n_kept", "point",
        "fpr_point", "tpr_point"}
SIDES = {"unsafe_heldout": ("unsafe", 1), "borderline_eval": ("borderline", 2), "matched_unsafe": ("unsafe", 3),
         "matched_borderline": ("borderline", 4)}


POLICY = Policy.of("medical")


def encoders() -> list[HashedEncoder | EvidenceEncoder]:
    return [HashedEncoder(128), EvidenceEncoder("medical")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("partitions")
    for name in ("safe", "unsafe", "borderline"):
        write_side(home / f"{name}.jsonl", name, 80)
    for name, (side, seed) in SIDES.items():
        rows = [json.loads(line) for line in write_side(home / "part", side, 40, seed).read_text().splitlines()]
        more = [{"id": f"{name}-{i}", "subtype": ("ODD", "EVEN")[i % 2] if side == "borderline" else None}
                for i in range(len(rows))]
        (home / f"{name}.jsonl").write_text("".join(json.dumps(r | m) + "\n" for r, m in zip(rows, more, strict=True)))
    (home / "part").unlink()
    return home


@pytest.fixture(scope="module")
def partitions(folder: Path) -> Partitions:
    return read_partitions(folder, POLICY, encoders())


@pytest.fixture(scope="module")
def detectors(partitions: Partitions) -> dict[str, Detector]:
    return fit_configurations(partitions, ["gmm-v3", "ocsvm-v4", DEFAULT])[0]


def test_figures_have_their_keys_and_are_estimates(partitions: Partitions, detectors: dict[str, Detector]) -> None:
    found = evaluate_pairings(partitions, detectors)
    assert list(found) == ["gmm-v3", "ocsvm-v4", DEFAULT]
    for by_pairing in found.values():
        assert list(by_pairing) == list(PAIRINGS)
        for figures in by_pairing.values():
            assert set(figures) - {"full", "subtypes"} == set(figures["full"]) == KEYS
            assert figures["point"] == "conservative"
            assert all(isinstance(one[key], Estimate) for one in (figures, figures["full"]) for key in KEYS - {"point"})


def test_figures_against_the_slow_way(partitions: Partitions, detectors: dict[str, Detector]) -> None:
    detector = detectors["ocsvm-v4"]
    pos, neg = (detector.score(partitions.unseen[name].rows) for name in ("matched_unsafe", "matched_borderline"))
    figures = evaluate_pairings(partitions, {"one": detector})["one"]["matched"]
    scores = np.concatenate([pos.delta, neg.delta])
    labels = [1] * pos.delta.size + [0] * neg.delta.size
    kept = np.concatenate([pos.kept, neg.kept])
    assert figures["full"]["auroc"].value == pytest.approx(roc_auc_score(labels, scores))
    assert figures["auroc"].value == pytest.approx(roc_auc_score(np.array(labels)[kept], scores[kept]))
    assert figures["n_kept"].value == kept.sum()
    assert figures["full"]["fpr_tau0"].value == (neg.delta > 0).mean()
    assert figures["abstain_unsafe"].value == pos.abstains.mean()
    assert figures["subtypes"]["ODD"]["fpr_tau0"].value == (neg.delta[::2] > 0).mean()


def test_within_uses_texts_that_nothing_was_fitted_on(partitions: Partitions) -> None:
    corpus = partitions.corpus.corpus
    held = {s.answer.id for s in corpus.of("evaluation")[0]}
    for name in ("safe", "unsafe"):
        side = partitions.side(name)
        assert side is not None
        ids = {s.answer.id for s in side.samples}
        assert ids == {i for i in held if i.startswith(f"{name}-")}
        rows = np.flatnonzero(partitions.corpus.kinds("evaluation") == name)
        assert np.array_equal(side.rows.features, partitions.corpus.held["evaluation"].features[rows])
        assert side.rows.owner.tolist() == list(range(len(side.samples)))


def test_v3_never_sees_a_borderline_text(partitions: Partitions) -> None:
    """The density of v3 is that of a corpus without them, on the same features."""
    v3, v4 = (fit_configurations(partitions, [name])[0][name] for name in ("ocsvm-v3", "ocsvm-v4"))
    fit = partitions.corpus.kinds("fit")
    assert v3.dual.stored_rows()["safe"] <= (fit == "safe").sum()
    x = partitions.corpus.features[fit == "borderline"]
    assert v4.dual.sigmas(x)[:, 0].mean() > v3.dual.sigmas(x)[:, 0].mean()
    assert v3.decides == v4.decides == DENSITY


def test_missing_partitions_and_texts_that_layer_1_flags_are_left_out(folder: Path, tmp_path: Path) -> None:
    for name in ("safe", "unsafe", "borderline_eval"):
        shutil.copy(folder / f"{name}.jsonl", tmp_path)
    with (tmp_path / "borderline_eval.jsonl").open("a") as handle:
        handle.write(json.dumps({"id": "d", "kind": "borderline", "domain": "medical",
                                 "answer": "Her social security number is 536-90-4399, said the clerk."}) + "\n")
    made = read_partitions(tmp_path, POLICY, encoders())
    assert "d" not in {s.answer.id for s in made.unseen["borderline_eval"].samples}
    found = evaluate_pairings(made, fit_configurations(made, ["gmm-v3"])[0])
    assert list(found["gmm-v3"]) == ["within", "borderline"]


def test_what_cannot_be(tmp_path: Path, partitions: Partitions) -> None:
    with pytest.raises(InputError, match=r"no safe\.jsonl"):
        read_partitions(tmp_path, POLICY, encoders())
    with pytest.raises(UsageError, match="gmm-v5"):
        fit_configurations(partitions, ["gmm-v5"])
    assert {name.partition("-")[0] for name in CONFIGURATIONS} == {"gmm", "ocsvm", "rff"}
