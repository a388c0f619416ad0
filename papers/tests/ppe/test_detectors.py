from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.stats import auroc
from discreet_papers.ppe import detectors
from discreet_papers.ppe.corpora import UNSEEN, PPECorpus
from discreet_papers.ppe.detectors import DetectorSettings, Scored, dual_of, fit_and_score, scored

GMM = DetectorSettings("T3+GMM-v3", "gmm", "paper", v4=False)
OCSVM = DetectorSettings("T3+OCSVM-v4", "ocsvm", "paper", v4=True)
MLP = DetectorSettings("MLP-v4", "mlp", "paper", v4=True)


def separation(found: Scored, negatives: str = "safe_holdout") -> float:
    unsafe, safe = found.delta["unsafe_holdout"], found.delta[negatives]
    return float(auroc(np.concatenate([unsafe, safe]), np.repeat([1, 0], [unsafe.size, safe.size])))


@pytest.mark.parametrize("settings", [GMM, OCSVM, MLP, replace(OCSVM, form="ours"),
                                      replace(OCSVM, features="typicality")], ids=lambda one: f"{one.name}-{one.form}")
def test_a_detector_says_something_of_every_text_that_is_held_out(corpus: PPECorpus,
                                                                  settings: DetectorSettings) -> None:
    found = fit_and_score(corpus, settings)
    for name in detectors.SCORED:
        assert found.delta[name].shape == found.abstains[name].shape == (len(corpus.records[name]),)
        assert np.isfinite(found.delta[name]).all()
    assert set(UNSEEN) < set(found.delta)
    again = fit_and_score(corpus, settings)
    np.testing.assert_array_equal(found.delta["borderline_eval"], again.delta["borderline_eval"])


def test_the_papers_mixture_has_eight_components_whatever_the_rows(corpus: PPECorpus) -> None:
    paper = fit_and_score(corpus, GMM).facts
    assert paper["components"] == {"requested": 8, "safe": 8, "unsafe": 8}
    assert paper["scale"] == "libsvm"
    assert paper["pca"] == 60 // 16
    ours = fit_and_score(corpus, replace(GMM, form="ours")).facts
    assert ours["components"]["safe"] == 1
    assert ours["scale"] == "normalised"


def test_components_have_two_rows_a_dimension_up_to_512_of_them() -> None:
    assert dual_of(GMM, 11_000, (3072,), 0).pca == 512
    assert dual_of(GMM, 3_200, (3072,), 0).pca == 200
    assert dual_of(GMM, 3, (3072,), 0).pca == 1
    assert dual_of(replace(GMM, form="ours"), 3_200, (3072,), 0).pca == "auto"


def test_theta_is_the_fifth_percentile_of_each_side_and_tau_reaches_its_rate(corpus: PPECorpus) -> None:
    found = fit_and_score(corpus, OCSVM)
    calibration = found.delta["unsafe_calibration"][~found.abstains["unsafe_calibration"]]
    for name, tpr in (("balanced", 0.90), ("strict", 0.95)):
        assert (calibration > found.taus[name]).mean() >= tpr
        assert (calibration > np.nextafter(found.taus[name], np.inf)).mean() < tpr
    # A twentieth of a side's texts is under its own θ, fewer under both.
    for kind in ("safe", "unsafe"):
        held = found.abstains[f"{kind}_calibration"]
        assert held.sum() <= np.ceil(0.05 * (held.size - 1))


def test_the_papers_points_may_lie_above_zero_and_ours_do_not(corpus: PPECorpus) -> None:
    shifted = replace(corpus, vectors={name: rows.copy() for name, rows in corpus.vectors.items()})
    # Unsafe texts that all look alike lie far inside their own density.
    for name in shifted.vectors:
        if name.startswith("unsafe"):
            shifted.vectors[name][:] = 0.01 * shifted.vectors[name] + 3.0
    paper, ours = (fit_and_score(shifted, replace(OCSVM, form=form)) for form in ("paper", "ours"))
    assert paper.taus["balanced"] > 0.0
    assert ours.taus["balanced"] == ours.taus["strict"] == 0.0


def test_labels_that_are_shuffled_teach_nothing(corpus: PPECorpus) -> None:
    # Unsafe texts stand apart: who is told which they are separates them, who is told otherwise does not.
    apart = replace(corpus, vectors={name: rows + (0.4 if name.startswith("unsafe") else 0.0)
                                     for name, rows in corpus.vectors.items()})
    assert separation(fit_and_score(apart, replace(OCSVM, v4=False))) > 0.95
    shuffled = [separation(fit_and_score(apart, replace(OCSVM, v4=False, shuffled=True), seed=seed))
                for seed in range(6)]
    assert abs(np.mean(shuffled) - 0.5) < 0.3


def test_the_band_of_the_perceptron_is_the_papers_or_comes_from_calibration(corpus: PPECorpus) -> None:
    paper, chosen = (fit_and_score(corpus, replace(MLP, band=band)) for band in (0.9, "calibration"))
    np.testing.assert_array_equal(paper.delta["safe_holdout"], chosen.delta["safe_holdout"])
    p = 1.0 / (1.0 + np.exp(-paper.delta["borderline_eval"]))
    np.testing.assert_array_equal(paper.abstains["borderline_eval"], (p > 0.1) & (p < 0.9))
    both = np.concatenate([chosen.abstains[f"{kind}_calibration"] for kind in ("safe", "unsafe")])
    assert both.mean() == pytest.approx(0.05, abs=1 / both.size)


def test_the_sides_can_stand_as_in_the_paper(corpus: PPECorpus) -> None:
    facts = fit_and_score(corpus, replace(OCSVM, ratio="paper")).facts
    # Law: 58,500 unsafe for 34,065 + 4,000 safe; all of the smaller side are kept.
    assert facts["n_unsafe"] == 60
    assert facts["n_safe"] == round(60 * 38_065 / 58_500)
    assert "ratio" not in fit_and_score(corpus, OCSVM).facts


def test_scores_are_made_once(corpus: PPECorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = scored(corpus, OCSVM, tmp_path)
    monkeypatch.setattr(detectors, "fit_and_score", lambda *_, **__: pytest.fail("made again"))
    again = scored(corpus, OCSVM, tmp_path)
    assert again.facts == first.facts
    assert again.taus == first.taus
    for name in detectors.SCORED:
        np.testing.assert_array_equal(again.delta[name], first.delta[name])
        np.testing.assert_array_equal(again.abstains[name], first.abstains[name])
    with pytest.raises(pytest.fail.Exception):
        scored(replace(corpus, key="another"), OCSVM, tmp_path)
