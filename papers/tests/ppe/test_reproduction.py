from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InputError, UsageError
from discreet.report import summarise, to_markdown
from discreet_papers.ppe.baselines import Further
from discreet_papers.ppe.corpora import PPECorpus
from discreet_papers.ppe.detectors import SCORED, Scored
from discreet_papers.ppe.reproduction import (
    CURVES,
    ENCODERS,
    MODELS,
    ORDER,
    SETTINGS,
    Study,
    is_analogue,
    merged,
    reproduce,
    reproduce_seeds,
)
from discreet_papers.ppe.tables import GRID, JUDGE, NOT_RUN, OCSVM_V4

SMOKE = SETTINGS["smoke"]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Every item of two domains at scale smoke."""
    out = tmp_path_factory.mktemp("smoke")
    found = reproduce(Study(SMOKE.only(("medical", "law")), None, out, out), ORDER)
    written: dict[str, Any] = json.loads(json.dumps({
        "kind": "reproduce ppe", "schema": 1, "scale": "small", "analogue": True, **found,
        "provenance": {"source": "grammar", "domains": ["medical", "law"], "discreet": "0"}}))
    return written


def rows(record: dict[str, Any], name: str, **asked: Any) -> list[dict[str, Any]]:
    return [row for row in record["items"][name]["rows"] if all(row.get(key) == value for key, value in asked.items())]


def test_the_papers_figures_stand_next_to_ours(record: dict[str, Any]) -> None:
    (row,) = rows(record, "table VI", domain="law", detector=OCSVM_V4, pairing="borderline", population="kept")
    assert row["paper"] == {"auroc": 0.93, "fpr95": 0.41, "fpr90": 0.224, "fpr_tau0": 0.031}
    assert 0.0 <= row["auroc"]["low"] <= row["auroc"]["value"] <= row["auroc"]["high"] <= 1.0
    (mean,) = rows(record, "table VII", domain="medical", detector=OCSVM_V4, subtype="mean of subtypes")
    assert mean["paper"] == 0.045
    (profile,) = rows(record, "table XI", domain="law", role="held out")
    assert (profile["stands_for"], profile["paper"]) == ("Yi-1.5-9B-Chat", 0.511)
    guideline = rows(record, "table VII", domain="law", detector=OCSVM_V4, subtype="PUBLIC_GUIDELINE_QUOTES")
    assert guideline[0]["paper"] == 0.005


def test_the_grid_is_whole_in_every_domain_and_the_paper_has_medicine(record: dict[str, Any]) -> None:
    for domain in ("medical", "law"):
        found = rows(record, "table X", domain=domain, pairing="borderline")
        assert tuple(row["detector"] for row in found) == GRID
        assert all((row["paper"] is None) == (domain == "law") for row in found)


def test_false_positives_at_zero_have_true_positives_beside_them(record: dict[str, Any]) -> None:
    for name in ("table V", "table VI", "table VII", "table VIII", "table X", "figure 4", "section rule"):
        for row in rows(record, name):
            assert row.get("difference") or ("fpr_tau0" in row and "tpr_tau0" in row)


def test_what_needs_a_language_model_says_that_it_was_not_run(record: dict[str, Any]) -> None:
    (judge,) = rows(record, "table IX", domain="medical", detector=JUDGE)
    assert judge["run"] == NOT_RUN
    assert "auroc" not in judge
    assert judge["paper"]["auroc"] == 0.92
    assert {row["yield"] for row in rows(record, "table III")} == {NOT_RUN}


def test_the_page_and_markdown_show_every_item_and_no_text(record: dict[str, Any]) -> None:
    summary = summarise(record)
    said = to_markdown(summary)
    for name in ORDER:
        assert f"{name[0].upper()}{name[1:]}: " in said
    assert "analogue" in said.lower()
    assert "Self-consistency (grammar)" in said
    for domain in {row["domain"] for row in record["items"]["table V"]["rows"]}:
        assert said.count(f"**{domain}**") == len(ORDER)  # Tables say of which domain their rows are.
    assert "rule: paper" in said
    assert re.search(r"\| \d+\.\d% \[\d+\.\d%, \d+\.\d%\] \(TPR \d+\.\d% \[", said)
    assert len(summary.figures) == 1 + 2 * 2
    assert all("<svg" in figure.inline for figure in summary.figures)
    assert "patient" not in said


def test_a_later_call_adds_domains_and_items(record: dict[str, Any]) -> None:
    items = record["items"]
    medical = {"table V": {"title": "x", "rows": [{"domain": "medical", "roles": "strict", "new": True}]}}
    found = merged(items, medical)
    assert list(found) == list(ORDER)
    assert [row for row in found["table V"]["rows"] if row["domain"] == "medical"] == medical["table V"]["rows"]
    assert any(row["domain"] == "law" for row in found["table V"]["rows"])


def test_roles_decide_who_writes_borderline_texts_and_are_shown_side_by_side(tmp_path: Path) -> None:
    few = tuple(one for one in SMOKE.detectors if one.name in ("T3+GMM-v3", "T3+GMM-v4"))
    study = Study(replace(SMOKE.only(("law",)), detectors=few), None, tmp_path, tmp_path)
    found = reproduce_seeds(study, ["table X", "section controls"], [7], roles=("strict", "paper"))
    auroc = {(row["detector"], row["roles"], pairing): row[pairing]["value"] for row in rows(found, "section controls")
             for pairing in ("within", "borderline", "matched")}
    # Safe and unsafe texts are the same, so that without borderline texts to fit on nothing changes within.
    assert auroc["T3+GMM-v3", "strict", "within"] == auroc["T3+GMM-v3", "paper", "within"]
    assert auroc["T3+GMM-v4", "strict", "within"] != auroc["T3+GMM-v4", "paper", "within"]
    # Who sees the writer alone is right of every text where nobody writes both kinds, and wrong more often than right
    # where writers of leaks write the borderline texts; in the matched pair it knows nothing in either.
    alone = "profile only, v4"
    assert auroc[alone, "strict", "borderline"] == 1.0
    assert auroc[alone, "paper", "borderline"] < 0.5
    assert {auroc[alone, roles, "matched"] for roles in ("strict", "paper")} == {0.5}
    record = {"kind": "reproduce ppe", "schema": 1, "scale": "small", "analogue": True, **found,
              "provenance": {"source": "grammar", "domains": ["law"], "roles": ["strict", "paper"], "discreet": "0"}}
    said = to_markdown(summarise(json.loads(json.dumps(record))))
    assert "Writer roles *strict*" in said
    for roles in ("strict", "paper"):
        assert f"Writer roles *{roles}*" in said
    lines = [line for line in said.splitlines() if line.startswith(f"| {alone} |")]
    assert [line.split(" | ")[1] for line in lines] == ["strict", "paper"]


def test_roles_of_an_earlier_call_stay(record: dict[str, Any]) -> None:
    later = {"table V": {"title": "x", "rows": [{"domain": "law", "roles": "paper", "new": True}]}}
    found = merged(record["items"], later)["table V"]["rows"]
    assert found == [*record["items"]["table V"]["rows"], *later["table V"]["rows"]]


def campaign(folder: Path, writers: Sequence[dict[str, Any]]) -> None:
    folder.mkdir(parents=True)
    said = {"key": "1", "endpoints": [{"model": one["model"], "roles": one["roles"]} for one in writers]}
    (folder / "manifest.json").write_text(json.dumps(said), encoding="utf-8")


def test_no_analogue_are_the_papers_models_in_its_roles_its_encoders_and_its_sizes_alone(tmp_path: Path) -> None:
    papers = [{"model": model, "roles": sorted(roles)} for model, roles in MODELS.items()]
    owned = [{**one, "model": f"owner/{one['model']}"} for one in papers]
    for domain in SETTINGS["paper"].domains:
        campaign(tmp_path / "papers" / domain, [*owned, {"model": "gemma", "roles": ["matched"]}])
        campaign(tmp_path / "others" / domain, [{**papers[0], "model": "llama"}, *papers[1:]])
        campaign(tmp_path / "strict" / domain, [{**one, "roles": one["roles"][:1]} for one in papers])
        campaign(tmp_path / "grammar" / domain, [])
    whole = Study(SETTINGS["paper"], tmp_path / "papers", tmp_path, tmp_path)
    assert not is_analogue(whole)
    assert not is_analogue(replace(whole, setting=whole.setting.only(encoders="paper=folder")))
    for data in ("others", "strict", "grammar"):
        assert is_analogue(replace(whole, data=tmp_path / data))
    assert is_analogue(replace(whole, setting=whole.setting.only(encoders="hashed")))
    assert is_analogue(replace(whole, setting=whole.setting.only(texts=1_000)))
    assert is_analogue(replace(whole, setting=SETTINGS["small"], data=None))


def test_a_second_run_makes_nothing_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study(SMOKE.only(("law",)), None, tmp_path, tmp_path)
    said: list[str] = []
    first = reproduce(study, ["table X"], note=said.append)
    assert [line for line in said if line.startswith("law: ")] == [f"law: {one.name}" for one in SMOKE.detectors]
    monkeypatch.setattr("discreet_papers.ppe.detectors.fit_and_score", lambda *_, **__: pytest.fail("made again"))
    monkeypatch.setattr("discreet_papers.ppe.corpora.run_campaign", lambda *_, **__: pytest.fail("made again"))
    assert reproduce(study, ["table X"]) == first


def test_fewer_texts_are_the_first_of_the_same_campaigns() -> None:
    small = SETTINGS["small"]
    fewer = small.only(texts=1_100)
    assert (fewer.sizes.fit, fewer.sizes.borderline) == (1_100, 400)
    assert fewer.sizes.holdout == small.sizes.holdout
    for texts in (0, 11_001):
        with pytest.raises(UsageError, match="--texts"):
            small.only(texts=texts)


def test_a_folder_without_campaigns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="synth run"):
        reproduce(Study(SMOKE.only(("law",)), tmp_path, tmp_path, tmp_path), ["table III"])


def test_baselines_are_shown_with_their_own_review_and_with_the_same(record: dict[str, Any]) -> None:
    found = rows(record, "section baselines", domain="law")
    for name in (OCSVM_V4, "MLP-v4", f"{OCSVM_V4}, cohorts gated"):
        own, matched = (one for one in found if one["detector"] == name)
        assert (own["review"], matched["review"]) == ("own", "matched")
        assert own["auroc"] == matched["auroc"]
        assert 0.0 <= matched["reached"] <= 0.2
    assert not any("shuffled" in one["detector"] for one in found)
    assert found[-1] == {"domain": "law", "detector": JUDGE, "review": NOT_RUN, "roles": "strict"}


def test_what_a_further_detector_said_is_kept(tmp_path: Path) -> None:
    def make(corpus: PPECorpus) -> Scored:
        asked.append(corpus.key)
        return Scored("mine", {name: np.arange(len(corpus.records[name]), dtype=np.float64) for name in SCORED}, {
            name: np.zeros(len(corpus.records[name]), dtype=np.bool_) for name in SCORED},
            {"conservative": 0.0, "balanced": 0.0, "strict": 0.0}, {"own": True})

    asked: list[str] = []
    study = Study(SMOKE.only(("law",)), None, tmp_path, tmp_path)
    first = reproduce(study, ["table VI"], more={"mine": Further({"of": 1}, make)})
    assert reproduce(study, ["table VI"], more={"mine": Further({"of": 1}, make)}) == first
    assert len(asked) == 1
    reproduce(study, ["table VI"], more={"mine": Further({"of": 2}, make)})
    assert len(asked) == 2


def test_curves_and_encoders_are_made_by_name_alone_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study(SMOKE.only(("law",), texts=100), None, tmp_path, tmp_path)
    found = reproduce(study, [CURVES, ENCODERS])
    steps = found["items"][CURVES]["rows"]
    assert [(row["detector"], row["borderline"]) for row in steps] == [
        (name, n) for n in (0, 40) for name in ("T3+GMM-v4", OCSVM_V4)]
    assert [row["encoders"] for row in found["items"][ENCODERS]["rows"]] == [
        "hashed:dim=32", "hashed:dim=64", "hashed:dim=32+hashed:dim=64", "evidence", "hashed:dim=32+evidence",
        "hashed:dim=64+evidence", "hashed:dim=32+hashed:dim=64+evidence"]
    said = to_markdown(summarise(json.loads(json.dumps(
        {"kind": "reproduce ppe", "schema": 1, "scale": "small", "analogue": True, **found, "provenance": {}}))))
    assert "How many borderline texts" in said
    monkeypatch.setattr("discreet_papers.ppe.detectors.fit_and_score", lambda *_, **__: pytest.fail("made again"))
    assert reproduce(study, [CURVES, ENCODERS]) == found


@pytest.mark.parametrize("given", [False, True])
def test_several_seeds_are_averaged_and_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: bool) -> None:
    study = Study(SMOKE.only(("law",), texts=50), None, tmp_path, tmp_path)
    if given:  # The same texts for all seeds.
        reproduce(study, ["table III"])
        study = replace(study, data=tmp_path / "data")
    found = reproduce_seeds(study, ["table VI", "table III"], [1, 2, 3])
    assert (tmp_path / "seed-2" / "data").is_dir() != given
    monkeypatch.setattr("discreet_papers.ppe.detectors.fit_and_score", lambda *_, **__: pytest.fail("made again"))
    each = [reproduce_seeds(replace(study, out=tmp_path if given else tmp_path / f"seed-{seed}"), ["table VI"], [seed])
            for seed in (1, 2, 3)]
    for name in (OCSVM_V4, "MLP-v4"):
        asked = {"detector": name, "pairing": "borderline", "population": "full"}
        (mean,) = rows(found, "table VI", **asked)
        values = [rows(one, "table VI", **asked)[0]["auroc"] for one in each]
        assert mean["auroc"]["value"] == pytest.approx(np.mean([value["value"] for value in values]))
        if given:  # As wide as of one seed: the texts are the same.
            assert mean["auroc"]["low"] == pytest.approx(np.mean([value["low"] for value in values]))
        else:
            assert mean["auroc"]["method"] == "t over seeds"
    assert [row["n"] for row in rows(found, "table III", set="safe")] == [160]
