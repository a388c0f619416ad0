from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.audit.membership.scenes import drawn, ends, sure

import discreet
from discreet.audit.core.simulate import World
from discreet.audit.membership.attack import attacks
from discreet.audit.membership.audit import ROC_POINTS, MembershipAudit, audit_membership, thin_roc
from discreet.audit.membership.rows import Row
from discreet.audit.scores.table import ScoreTable
from discreet.audit.scores.write import write_scores
from discreet.core.errors import InputError, UsageError
from discreet.core.files import dump_json
from discreet.report import summarise
from discreet.stats import RocCore, auroc, tpr_at_fpr

FEW = ["loss", "reference"]
KEYS = {"attack", "scale", "reference_kind", "selection", "n", "label", "direction", "regime", "structure", "category",
        "decile", "seed", "n_members", "n_nonmembers", "auc", "tpr_at_0_1pct_fpr", "tpr_at_1pct_fpr", "tpr_at_5pct_fpr",
        "control_auc", "null_p", "oracle"}


def audited(given: World | ScoreTable, **options: Any) -> MembershipAudit:
    table = drawn(given) if isinstance(given, World) else given
    return audit_membership(table, **{"permutations": 0, "bootstraps": 20, "attacks": FEW, **options})


def find(audit: MembershipAudit, **wanted: object) -> Row:
    base = {"selection": "global", "nonmembers": "clean", "stratum": None, **wanted}
    [row] = [row for row in audit.attacks if all(getattr(row.spec, key) == value for key, value in base.items())]
    return row


def test_the_paper_calls_a_leak_free_model_leaking_and_we_do_not() -> None:
    world = World(members=900, others=900, clean=900, leak=0.0, planted={4: 120})
    audit = audited(world, design="randomised", permutations=199, bootstraps=200)
    paper = find(audit, attack="reference", scale="p", reference_kind="paired", nonmembers="reference_train")
    assert ends(paper.auc)[0] > 0.6
    assert paper.null_p.value == pytest.approx(1 / 200)
    assert paper.spec.oracle
    # The control model, trained on neither set, is called leaking just as much.
    assert paper.control_auc.value == pytest.approx(paper.auc.value, abs=0.04)
    low, _, high = ends(paper.difference["auc"])
    assert low < 0.0 < high
    assert audit.verdict == "pass"
    assert sure(sure(audit.decisive.primary).null_p.value) > 0.05
    assert "the *reference* remembers" in " ".join(audit.decisive.judgement.reasons)


def test_a_leaking_model_fails_where_coins_decided_and_never_else() -> None:
    table = drawn(World(leak=1.0))
    for design, verdict in (("randomised", "fail"), ("sealed", "fail"), ("matched", "inconclusive"),
                            ("convenience", "inconclusive")):
        assert audited(table, design=design).verdict == verdict
    assert audited(table).design == "convenience"


def test_primary_is_the_neutral_ratio_on_the_logit_scale_else_population_else_loss() -> None:
    for world, attack, kind in ((World(shadows=4), "reference", "neutral"),
                                (World(neutral=0, shadows=4), "reference", "population"),
                                (World(neutral=0), "loss", None)):
        asked = sure(audited(world).decisive.primary).spec
        assert (asked.attack, asked.scale, asked.reference_kind, asked.whole) == (attack, "logit", kind, True)
        assert asked.nonmembers == "clean"


def test_no_pass_without_a_control_model_and_power() -> None:
    world = World(members=3000, others=0, clean=3000, paired=0, planted={16: 100})
    for changed, verdict in ((world, "pass"), (replace(world, controls=0), "inconclusive"),
                             (replace(world, planted={}), "pass"),
                             (replace(world, planted={}, members=200, clean=200), "inconclusive"),
                             (replace(world, planted_leak=0.0), "inconclusive")):
        audit = audited(changed, design="randomised")
        assert audit.verdict == verdict, audit.decisive.judgement.reasons
        assert changed.controls or all(row.uncontrolled for row in audit.attacks)


def test_rows_against_a_plain_computation() -> None:
    table = drawn(World(leak=0.5, shadows=0))
    audit, label = audited(table), table.examples.label[None, :, None]
    logits = table.logits[:, :, 0]
    phi = (np.take_along_axis(logits, label, axis=2) - np.take_along_axis(logits, 1 - label, axis=2))[:, :, 0]
    by_kind: dict[str, int] = {model.reference_kind or model.role: row for row, model in enumerate(table.models)}
    split = sure(table.examples.split)
    for which, splits, kind in (("clean", ("train", "eval", "reference"), "neutral"),
                                ("clean", ("train", "eval"), "paired"),
                                ("reference_train", ("train", "reference"), "paired")):
        rows = np.flatnonzero(np.isin(split, splits))
        truth = split[rows] == "train"
        row = find(audit, attack="reference", scale="logit", reference_kind=kind, nonmembers=which)
        for estimate, model in ((row.auc, "target"), (row.control_auc, "control")):
            scores = phi[by_kind[model], rows] - phi[by_kind[kind], rows]
            assert estimate.value == pytest.approx(auroc(scores, truth))
        assert (row.n_members, row.n_nonmembers) == (int(truth.sum()), int((~truth).sum()))


def test_json_has_the_keys_and_no_nan() -> None:
    audit = audited(World(members=60, others=60, clean=60, shadows=4), permutations=19, attacks=None)
    data = json.loads(dump_json(audit))
    assert {"verdict", "design", "primary", "attacks", "controls", "utility", "provenance"} <= data.keys()
    assert all(row.keys() >= KEYS for row in data["attacks"])
    assert {"blind_auc", "planted", "control_auc", "detectable_auc", "group_auc", "epsilon_lower"} \
        <= data["controls"].keys()
    assert [(one["base_rate"], one["fpr"]) for one in data["gains"]] == [(0.01, 0.01), (0.1, 0.01), (0.5, 0.01)]
    assert [one["fpr"] for one in data["named"]] == [0.01]
    names = {row["attack"] for row in data["attacks"]}
    assert data["attack_facts"].keys() == names
    assert {name for name, facts in data["attack_facts"].items() if facts["label_free"]} == {"confidence", "entropy"}
    assert names >= {"loss", "confidence", "entropy", "reference", "probe", "lira", "lira_offline", "rmia"}
    for row in data["attacks"]:
        assert row["oracle"] == (row["reference_kind"] == "paired" or row["nonmembers"] == "reference_train")
        assert row["auc"]["value"] is not None or row["auc"]["reason"]
    assert data["provenance"]["models"]["shadow"] == 4
    assert data["primary"] in data["attacks"]


def test_every_figure_of_the_primary_is_shown_next_to_that_of_the_control_model() -> None:
    """Target and control model in each other's place give each other's figures."""
    table = drawn(World(members=300, others=0, clean=300, paired=0, leak=2.0, group_size=3))
    [target], [control] = table.of_role("target"), table.of_role("control")
    logits = table.logits.copy()
    logits[[target, control]] = logits[[control, target]]
    first, second = (audited(one, design="randomised").decisive for one in (table, replace(table, logits=logits)))
    said, turned = first.controls, second.controls
    for name in ("group_auc", "epsilon_lower"):
        assert said[f"control_{name}"] == turned[name]
        assert said[name] == turned[f"control_{name}"]
        assert (said[name].low or 0) > (said[f"control_{name}"].low or 0)
    assert [one.control_ppv for one in first.gains] == [one.ppv for one in second.gains]
    assert [one.control.value for one in first.named] == [one.share.value for one in second.named]
    bare = audited(World(members=100, others=0, clean=100, paired=0, controls=0, group_size=2), design="randomised")
    for name in ("group_auc", "epsilon_lower"):
        assert bare.decisive.controls[name].value is not None
        assert bare.decisive.controls[f"control_{name}"].value is None
        assert bare.decisive.controls[f"control_{name}"].reason


def test_the_same_seed_gives_the_same_report() -> None:
    table = drawn(World(members=80, others=80, clean=80, shadows=4, group_size=2))
    first, second, other = (dump_json(audited(table, permutations=19, seed=seed, attacks=None)) for seed in (3, 3, 4))
    assert first == second
    assert first != other


def test_groups_are_the_units() -> None:
    table = drawn(World(members=400, others=0, clean=400, paired=0, group_size=8, group_noise=1.5))
    grouped, alone = (sure(audited(one).decisive.primary) for one in (
        table, replace(table, examples=replace(table.examples, group=None))))
    assert (grouped.auc.unit, grouped.auc.n_pos, grouped.n_members) == ("group", 50, 400)
    (low, _, high), (own_low, _, own_high) = ends(grouped.auc), ends(alone.auc)
    assert high - low > 1.5 * (own_high - own_low)


def test_picking_attacks_does_not_pick_the_one_that_decides() -> None:
    table = drawn(World())
    whole = sure(audited(table, attacks=None).decisive.primary)
    for picked in (["loss"], ["entropy"]):
        primary = sure(audited(table, attacks=picked).decisive.primary)
        assert (primary.spec, primary.auc) == (whole.spec, whole.auc)


def test_what_was_left_out_is_said_where_members_are_counted() -> None:
    table = drawn(World(members=60, others=60, clean=60))
    for picked, left_out in ((["loss"], set(attacks) - {"loss", "reference"}), (list(attacks), set()), (None, set())):
        found = audited(table, attacks=picked)
        assert set(found.provenance.get("attacks_left_out", ())) == left_out
        leads = " ".join(summarise({"kind": found.kind, "schema": 1, **json.loads(dump_json(found))}).leads)
        assert ("Only some attacks were run (without " in leads) == bool(left_out)
        assert all(name in leads for name in left_out)


def test_several_targets_share_the_risk_and_any_can_fail() -> None:
    table = drawn(World(leak=1.0, controls=2))
    _, second = table.of_role("control")
    models, member = list(table.models), table.member.copy()
    models[second] = replace(models[second], role="target", name="quiet")
    member[second] = np.where(member[0] == 1, 0, np.where(np.arange(member.shape[1]) % 2, 1, 0))
    member[second, np.flatnonzero(member[table.of_role("selection")[0]] == 1)] = 0
    audit = audited(replace(table, models=tuple(models), member=member), design="randomised")
    assert [one.verdict for one in audit.targets] == ["fail", "inconclusive"]
    assert (audit.verdict, audit.decisive.target) == ("fail", table.models[0].name)
    assert len(audit.to_json()["targets"]) == 2


@pytest.mark.parametrize(("change", "word"), [
    (lambda t: replace(t, models=tuple(replace(m, role="reference") if m.role == "target" else m for m in t.models)),
     "no target"),
    (lambda t: replace(t, examples=replace(t.examples, group=np.zeros(len(t.examples), dtype=np.int64))),
     "members and non-members"),
])
def test_bad_tables_are_refused_in_one_line(change: Callable[[ScoreTable], ScoreTable], word: str) -> None:
    with pytest.raises(InputError, match=word) as caught:
        audit_membership(change(drawn(World(members=40, others=0, clean=40))))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("options", [{"tolerance_auc": 0.5}, {"base_rates": [0.1, 0.0]}, {"permutations": -1},
                                     {"bootstraps": 0}, {"seed": -1}, {"design": "lucky"}, {"attacks": ["telepathy"]}])
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        audit_membership(drawn(World(members=40, others=0, clean=40)), **options)


@pytest.mark.slow
def test_quiet_on_the_null_and_loud_at_the_power_it_claims() -> None:
    quiet = World(members=150, others=0, clean=150, selector=60, paired=0, planted={16: 60})
    fails, covered, lone, small = 0, 0, 0, 0
    for seed in range(60):
        audit = audited(drawn(quiet, seed), design="randomised", permutations=39, bootstraps=10)
        low, _, high = ends(sure(audit.decisive.primary).auc)
        fails += audit.verdict == "fail"
        covered += low <= 0.5 <= high
        small += min(row.null_p.value or 1.0 for row in audit.attacks if row.null_p.resolved) <= 0.05
        lone += audit.decisive.planted[0].detected
    assert fails <= 9
    assert covered >= 51
    # Over all honest rows together some p is at or under .05 in about 3 of 60.
    assert small <= 9
    assert lone >= 57


def test_from_a_file_or_a_frame_to_a_page(tmp_path: Path) -> None:
    write_scores(drawn(World(members=40, others=0, clean=40, selector=20, paired=0)), tmp_path / "scores.parquet")
    options: dict[str, Any] = {"design": "randomised", "permutations": 0, "bootstraps": 5, "attacks": ["loss"]}
    found = discreet.audit_membership(tmp_path / "scores.parquet", **options)
    assert found.record == discreet.audit_membership(pd.read_parquet(tmp_path / "scores.parquet"), **options).record
    folder = found.save(tmp_path / "run")
    assert json.loads((folder / "result.json").read_text(encoding="utf-8")) == json.loads(json.dumps(found.record))
    page = found.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page == (folder / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!")


def test_points_lie_on_the_curve_and_are_few() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(9000) < 0.3
    scores = rng.normal(size=9000) + truth
    found = thin_roc(scores, truth)
    assert (found["fpr"][0], found["tpr"][0], found["fpr"][-1], found["tpr"][-1]) == (0.0, 0.0, 1.0, 1.0)
    assert 50 < len(found["fpr"]) <= ROC_POINTS + 3 < len(RocCore.of(scores, truth).curve().fpr)
    for fpr, tpr in list(zip(found["fpr"], found["tpr"], strict=True))[1::7]:
        assert tpr == tpr_at_fpr(scores, truth, fpr)
    # Ties stay diagonal.
    assert thin_roc(np.zeros(6), np.array([True, False] * 3)) == {"fpr": [0.0, 1.0], "tpr": [0.0, 1.0]}


def test_an_audit_shows_itself_in_a_line() -> None:
    shown = repr(audited(World(members=60, others=60, clean=60)))
    assert shown.startswith("<audit membership: ")
    assert len(shown) < 120
