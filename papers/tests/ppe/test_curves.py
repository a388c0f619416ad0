from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from papers.tests.ppe.conftest import SIZES

from discreet.core.records import plain
from discreet.guard.density.encoders.evidence import EvidenceEncoder
from discreet.inputs.encode.base import Encoder
from discreet.inputs.encode.encoders.hashed import HashedEncoder
from discreet.stats import auroc
from discreet_papers.ppe.corpora import PPECorpus, read_corpus
from discreet_papers.ppe.curves import augmentation, combinations_of, encoders, measured
from discreet_papers.ppe.detectors import DetectorSettings, Scored, fit_and_score
from discreet_papers.report.ppe import figures_of

OURS = DetectorSettings("OCSVM-v4", "ocsvm", "paper", v4=True, shuffled=False)


def test_figures_are_of_all_texts_with_intervals(corpus: PPECorpus) -> None:
    found = fit_and_score(corpus, OURS)
    row = measured(found)
    unsafe, safe = found.delta["unsafe_holdout"], found.delta["borderline_eval"]
    labels = np.repeat([1, 0], [unsafe.size, safe.size])
    assert row["auroc"].value == pytest.approx(auroc(np.concatenate([unsafe, safe]), labels))
    assert row["fpr_tau0"].value == np.mean(safe > 0)
    for one in row.values():
        ends = [end for end in (one.low, one.value, one.high) if end is not None]
        assert len(ends) == 3
        assert ends == sorted(ends)
    assert "bootstrap" in row["auroc"].method
    assert measured(found)["fpr95"] == row["fpr95"]
    assert measured(found, seed=1)["auroc"].value == row["auroc"].value


def test_each_step_adds_texts_to_those_before(corpus: PPECorpus) -> None:
    seen = []

    def spied(corpus: PPECorpus, settings: DetectorSettings, *, seed: int) -> Scored:
        seen.append((settings.v4, corpus.texts("borderline_fit"), corpus.vectors["borderline_fit"]))
        return fit_and_score(corpus, settings, seed=seed)

    rows = augmentation(corpus, [OURS], [20, 0, 10, 9_999], seed=5, fit=spied)
    assert [row["borderline"] for row in rows] == [0, 10, 20]
    assert [(v4, len(texts)) for v4, texts, _ in seen] == [(False, 0), (True, 10), (True, 20)]
    assert seen[2][1][:10] == seen[1][1]
    every = corpus.texts("borderline_fit")
    for text, row in zip(seen[2][1], seen[2][2], strict=True):
        np.testing.assert_array_equal(row, corpus.vectors["borderline_fit"][every.index(text)])
    v3 = fit_and_score(corpus, DetectorSettings("OCSVM-v3", "ocsvm", "paper", v4=False), seed=5)
    assert rows[0]["auroc"] == measured(v3, seed=5)["auroc"]


def test_a_figure_of_the_curve(corpus: PPECorpus) -> None:
    pytest.importorskip("matplotlib")
    rows = augmentation(corpus, [OURS], [0, 10, 20])
    [figure] = figures_of("section curves", plain(rows))
    assert "law" in figure.title
    for words in ("FPR at 95% TPR", "OCSVM-v4", ">20<"):
        assert words in figure.standalone
    assert [line.split(",")[:2] for line in figure.csv.splitlines()[1:]] == [["OCSVM-v4", str(n)] for n in (0, 10, 20)]


def test_encoders_alone_in_pairs_and_with_evidence(campaigns: list[Path], tmp_path: Path) -> None:
    assert list(combinations_of(["a"])) == [("a",), ("evidence",), ("a", "evidence")]
    assert len(list(combinations_of(["a", "b", "c"]))) == 2 * 7 + 1
    made: dict[str, Encoder] = {"a": HashedEncoder(dim=48), "b": HashedEncoder(dim=64),
                                "evidence": EvidenceEncoder("law")}

    def read(words: str) -> PPECorpus:
        return read_corpus("law", campaigns, [made[word] for word in words.split(",")], SIZES, tmp_path)

    rows = encoders(read, ["a", "b"], [OURS])
    assert [row["encoders"] for row in rows] == ["a", "b", "a+b", "evidence", "a+evidence", "b+evidence",
                                                 "a+b+evidence"]
    width = made["evidence"].dim
    assert [sum(row["dims"]) for row in rows] == [48, 64, 112, width, 48 + width, 64 + width, 112 + width]
    assert [row["evidence"] for row in rows] == [False] * 3 + [True] * 4
