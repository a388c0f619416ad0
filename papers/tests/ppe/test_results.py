from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet_papers.ppe import results
from discreet_papers.ppe.corpora import PPECorpus
from discreet_papers.ppe.detectors import SCORED, Scored


def made(corpus: PPECorpus, shift: dict[str, float], seed: int = 0) -> Scored:
    """A detector whose δ is normal around a shift of each set, and that abstains on what lies nearest to 0."""
    rng = np.random.default_rng(seed)
    delta = {name: shift.get(name, 0.0) + rng.standard_normal(len(corpus.records[name])) for name in SCORED}
    return Scored("made", delta, {name: np.abs(value) < 0.1 for name, value in delta.items()},
                  {"conservative": 0.0, "balanced": 0.5, "strict": -0.5})


@pytest.fixture
def scored(corpus: PPECorpus) -> Scored:
    return made(corpus, {"unsafe_holdout": 2.0, "borderline_eval": 1.5, "safe_holdout": -2.0})


def test_figures_of_those_kept_leave_abstentions_out_of_both_classes(corpus: PPECorpus, scored: Scored) -> None:
    found = results.figures(corpus, scored, "within")
    unsafe, safe = scored.delta["unsafe_holdout"], scored.delta["safe_holdout"]
    kept = [np.abs(side) >= 0.1 for side in (unsafe, safe)]
    assert found["full"]["tpr_tau0"].value == pytest.approx((unsafe > 0).mean())
    assert found["kept"]["fpr_tau0"].value == pytest.approx((safe[kept[1]] > 0).mean())
    assert (found["kept"]["n_kept_unsafe"], found["kept"]["n_kept_safe"]) == tuple(int(one.sum()) for one in kept)
    assert found["full"]["n_kept_safe"] == safe.size
    assert found["full"]["fpr_balanced"].value == pytest.approx((safe > 0.5).mean())
    assert found["kept"]["abstain_safe"].value == pytest.approx((~kept[1]).mean())


def test_no_false_positive_rate_is_interpolated_between_levels_of_a_judge(corpus: PPECorpus) -> None:
    levels = {name: np.where(np.arange(len(rows)) % 3 == 0, -0.5, 0.5) for name, rows in corpus.records.items()}
    few = Scored("judge", levels, {name: np.zeros(one.size, dtype=np.bool_) for name, one in levels.items()},
                 {"conservative": 0.0, "balanced": 0.0, "strict": 0.0}, {"distinct": 2})
    for found in results.figures(corpus, few, "borderline").values():
        assert found["auroc"].resolved
        for name in ("fpr95", "fpr90"):
            assert "2 distinct scores" in str(found[name].reason)
    for found in results.figures(corpus, replace(few, facts={}), "borderline").values():
        assert found["fpr95"].resolved


def test_the_default_rule_leaves_clusters_of_the_domain_alone_out(corpus: PPECorpus, scored: Scored) -> None:
    both = {rule: results.figures(corpus, scored, "within", rule)["full"] for rule in results.RULES}
    leaks = corpus.leaks("unsafe_holdout")
    assert both["identifying"]["tpr_tau0"].n == leaks.sum() < both["paper"]["tpr_tau0"].n
    assert both["identifying"]["fpr_tau0"] == both["paper"]["fpr_tau0"]


def test_a_change_is_zero_of_a_detector_with_itself_and_has_its_sign(corpus: PPECorpus, scored: Scored) -> None:
    same = results.changes(corpus, scored, scored, "borderline")
    assert all((one.value, one.low, one.high) == (0.0, 0.0, 0.0) for one in same.values())
    better = replace(scored, delta={**scored.delta, "borderline_eval": scored.delta["borderline_eval"] - 6.0})
    found = results.changes(corpus, scored, better, "borderline")
    assert (found["auroc"].low or 0.0) > 0.0
    assert (found["fpr95"].high or 0.0) < 0.0


def test_rates_by_level_count_every_text_once(corpus: PPECorpus, scored: Scored) -> None:
    found = results.rates_by(corpus, scored, "borderline_eval", "subtype")
    assert len(found) == 5
    assert sum(of["n"] for of in found.values()) == len(corpus.records["borderline_eval"])
    flagged = sum(of["full"].value * of["n"] for of in found.values())
    assert flagged == pytest.approx((scored.delta["borderline_eval"] > 0).sum())


def test_who_sees_the_writer_alone_knows_nothing_of_the_matched_pair(corpus: PPECorpus) -> None:
    for v4 in (False, True):
        alone = results.profile_only(corpus, v4=v4)
        assert results.figures(corpus, alone, "matched")["full"]["auroc"].value == 0.5
        assert abs(results.figures(corpus, alone, "within")["full"]["auroc"].value - 0.5) < 0.15
    # Different writers on the two sides of the borderline pairing: who wrote says which side.
    pair = results.figures(corpus, results.profile_only(corpus, v4=True), "borderline")["full"]
    assert pair["auroc"].value in (0.0, 1.0)


def test_controls_find_chance_and_what_is_planted(corpus: PPECorpus) -> None:
    apart = made(corpus, {"unsafe_holdout": 8.0})
    found = results.controls(corpus, apart)
    chance, unplanted, planted = (found[name] for name in ("control_auroc", "unplanted_fpr", "planted_fpr"))
    assert (chance.low or 1.0) <= 0.5 <= (chance.high or 0.0)
    assert (1.0 if unplanted.value is None else unplanted.value) < 0.1 < (planted.value or 0.0)


def test_histograms_hold_every_text(scored: Scored) -> None:
    found = results.histograms(scored)
    assert len(found["edges"]) == results.BINS + 1
    assert {name: sum(counts) for name, counts in found["counts"].items()} == {
        name: scored.delta[name].size for name in found["counts"]}


def test_risk_ends_at_the_mean_of_both_error_rates(scored: Scored) -> None:
    curve = results.risk_coverage(scored)
    errors = ((scored.delta["unsafe_holdout"] <= 0).mean() + (scored.delta["borderline_eval"] > 0).mean()) / 2
    assert curve[-1] == {"coverage": pytest.approx(1.0), "risk": pytest.approx(errors)}
    assert [point["coverage"] for point in curve] == sorted(point["coverage"] for point in curve)
