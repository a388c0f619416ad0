"""The figures typed in from the paper agree with each other where it computes one from others."""

from __future__ import annotations

import pytest

from discreet_papers.ppe.tables import GMM_V3, HELD_OUT, MLP, MODELS, OCSVM_V4, paper
from discreet_papers.shared import paper_figures

DOMAINS = ("medical", "finance", "law")
ALL = [(domain, detector) for domain in DOMAINS for detector in (GMM_V3, OCSVM_V4)]


def of(table: str, domain: str, detector: str, part: str) -> dict[str, float]:
    found = paper(table, domain, detector, part)
    assert found is not None
    return found


def test_every_figure_of_tables_three_to_eleven_is_there_once() -> None:
    rows = paper_figures("ppe")
    assert {row["table"] for row in rows} == set("III IV V VI VII VIII IX X XI".split())
    keys = [tuple(row[name] for name in ("table", "domain", "detector", "part", "metric")) for row in rows]
    assert len(set(keys)) == len(keys) == 252
    assert paper("X", "law", GMM_V3, "within") is None


@pytest.mark.parametrize("domain", DOMAINS)
def test_counts_add_up(domain: str) -> None:
    parts = [of("III", domain, "", part)["records"] for part in ("unsafe", "unsafe_heldout", "borderline",
                                                                 "borderline_eval")]
    assert sum(parts) == of("III", domain, "", "total")["records"]


@pytest.mark.parametrize("domain", DOMAINS)
def test_differences_of_the_stress_test_are_those_of_its_rows(domain: str) -> None:
    before, after, said = (of("VI", domain, one, "kept") for one in (GMM_V3, OCSVM_V4, "difference"))
    for metric, slack in (("auroc", 0.0015), ("fpr95", 0.0011), ("fpr90", 0.0011)):
        assert after[metric] - before[metric] == pytest.approx(said[metric], abs=slack)


@pytest.mark.parametrize(("domain", "detector"), ALL)
def test_means_of_subtypes_are_means(domain: str, detector: str) -> None:
    rows = [float(row["value"]) for row in paper_figures("ppe") if row["table"] == "VII" and row["domain"] == domain
            and row["detector"] == detector and row["part"].isupper()]
    assert len(rows) == 5
    assert sum(rows) / 500 == pytest.approx(of("VII", domain, detector, "mean")["fpr_tau0"], abs=0.001)
    assert of("VII", domain, detector, "global_kept") == {
        "fpr_tau0": of("VI", domain, detector, "kept")["fpr_tau0"]}


@pytest.mark.parametrize("domain", DOMAINS)
def test_kept_texts_are_those_not_abstained_on(domain: str) -> None:
    for detector in (OCSVM_V4, MLP):
        found = of("IX", domain, detector, "kept")
        assert found["n_kept"] == pytest.approx(1_000 * (1.0 - found["abstain"]), abs=0.6)
    assert of("IX", domain, OCSVM_V4, "kept")["abstain"] == of("IV", domain, OCSVM_V4, "borderline")["abstain"]
    assert of("IX", domain, OCSVM_V4, "kept")["auroc"] == pytest.approx(of("VI", domain, OCSVM_V4, "kept")["auroc"],
                                                                        abs=0.0051)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_held_out_generator_is_compared_with_table_five_and_with_the_mean_of_the_pool(domain: str) -> None:
    inside, outside = (of("VIII", domain, OCSVM_V4, part) for part in ("within", "cross_generator"))
    assert outside["auroc"] - inside["auroc"] == pytest.approx(of("VIII", domain, OCSVM_V4, "difference")["auroc"],
                                                               abs=0.0006)
    five = of("V", domain, OCSVM_V4, "kept")
    assert inside["auroc"] == pytest.approx(five["auroc"], abs=0.0006)
    assert (inside["fpr95"], inside["fpr90"]) == (five["fpr95"], five["fpr90"])
    pool = [of("XI", domain, OCSVM_V4, model)["tpr_tau0"] for model in MODELS]
    assert max(pool) - min(pool) == pytest.approx(of("XI", domain, OCSVM_V4, "spread")["tpr_tau0"], abs=0.0011)
    held = of("XI", domain, OCSVM_V4, HELD_OUT)["tpr_tau0"]
    assert held - sum(pool) / 3 == pytest.approx(of("XI", domain, OCSVM_V4, "held out less mean")["tpr_tau0"],
                                                 abs=0.0011)
