"""Who is named one by one: leaking members of a part and hardly anybody else, nobody without a leak or a draw."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.audit.membership.scenes import drawn, sure

import discreet
from discreet.audit.core.simulate import World
from discreet.audit.membership import record_risk
from discreet.audit.membership.record_risk import ERROR, FIRST, RecordRisk
from discreet.audit.scores.table import ScoreTable
from discreet.report import summarise, to_html, to_text
from discreet.stats.attackers import benjamini_hochberg, conformal_p

WORLD = World(members=700, others=100, clean=1100, selector=0, shadows=0, paired=0)


def audited(table: ScoreTable, design: str = "randomised", **options: object) -> discreet.MembershipAudit:
    return discreet.audit_membership(table, design=design, permutations=0, bootstraps=1, **options)  # type: ignore[arg-type]


def risk_of(table: ScoreTable, design: str = "randomised", **options: object) -> RecordRisk:
    return sure(audited(table, design, **options).decisive.records)


def test_members_of_the_leaking_class_are_named() -> None:
    table = drawn(replace(WORLD, leak=6.0, leak_in="class 1"))
    risk = risk_of(table)
    leaking = table.examples.label[[int(str(one)[1:]) for one in risk.id]] == 1
    assert sure(risk.named.value) == risk.is_named.sum() > 0.8 * leaking.sum()
    assert (risk.is_named & ~leaking).sum() <= 0.1 * risk.is_named.sum()
    assert risk.control_named.value == 0
    assert [one.name for one in risk.parts] == ["class 0", "class 1"]
    assert sum(sure(one.named.value) for one in risk.parts) == risk.named.value
    assert [len(risk.first), risk.first[0]["part"]] == [FIRST, "class 1"]


def test_p_and_q_are_those_of_their_part() -> None:
    """The deciding attack against the rule written out, and q over all members at once."""
    table = drawn(replace(WORLD, leak=2.0))
    risk, name = risk_of(table, attacks=["loss"]), "loss, logit"
    label = table.examples.label
    score = table.logits[0, np.arange(len(label)), 0, label] - table.logits[0, np.arange(len(label)), 0, 1 - label]
    inside, clean = table.member[0] == 1, (table.member == 0).all(axis=0)
    p = np.ones(inside.sum())
    for part in (0, 1):
        p[label[inside] == part] = conformal_p(score[inside & (label == part)], score[clean & (label == part)])
    np.testing.assert_allclose(risk.attack_p[name], p)
    np.testing.assert_allclose(risk.q, benjamini_hochberg(risk.p))
    assert risk.attacks == ("loss, p", "loss, logit", "reference, p, neutral", "reference, logit, neutral")


def test_nobody_is_named_without_a_leak() -> None:
    """5% is the promise; here 20 names must lie above nearly all of 600 controls, which chance never does."""
    assert not any(risk_of(drawn(WORLD, seed), attacks=["loss"]).named.value for seed in range(10))


@pytest.mark.parametrize(("world", "design", "said"), [
    (replace(WORLD, leak=6.0), "convenience", "no random draw decided who is a member"),
    (replace(WORLD, leak=6.0, members=20, others=20, clean=12), "randomised", "nobody can be named with fewer than 19"),
    (replace(WORLD, leak=6.0, shift=6.0, neutral=0), "randomised", "would be named on the control model"),
])
def test_no_list_is_not_an_empty_list(world: World, design: str, said: str, tmp_path: Path) -> None:
    audit = audited(drawn(world), design, attacks=["loss"])
    risk = sure(audit.decisive.records)
    assert risk.named.value is None
    assert said in sure(risk.named.reason)
    assert np.isnan(risk.q).all()
    assert all(one.named.value is None for one in risk.parts)
    audit.write_records(tmp_path / "records.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "records.csv").read_text())))
    assert {(row["q"], row["named"]) for row in rows} == {("", "")}
    assert said.rsplit(maxsplit=1)[-1] in to_text(summarise(audit.record))
    assert "nobody can be" in to_html(summarise(audit.record))


def test_without_a_control_model_it_says_so() -> None:
    risk = risk_of(drawn(replace(WORLD, leak=6.0, controls=0)), attacks=["loss"])
    assert risk.control_named.value is None
    assert sure(risk.named.value) > 0
    assert risk.said.endswith("there is no control model to compare.")


def test_groups_are_parts_where_they_have_controls_enough() -> None:
    table = drawn(replace(WORLD, clean=3600, members=900))
    held = np.array(["web", "web", "desk"])[np.arange(len(table.examples)) % 3]
    names = tuple(frozenset({one} if place % 30 else {one, "rare"}) for place, one in enumerate(held))
    risk = risk_of(replace(table, examples=replace(table.examples, categories=names)), attacks=["loss"])
    assert [one.name for one in risk.parts] == [
        f"class {label}, {rest}" for label in (0, 1) for rest in ("category desk", "category web", "other groups")]
    few = risk.parts[2]
    assert few.controls < 100
    assert few.shortest > risk.parts[1].shortest


def test_users_count_once() -> None:
    world = replace(WORLD, members=600, others=90, clean=900, group_size=3, group_noise=1.0)
    risk = risk_of(drawn(world), attacks=["loss"])
    assert all(one.controls < one.nonmembers for one in risk.parts)
    assert risk.p.min() >= 1.0 / (max(one.controls for one in risk.parts) + 1.0)


def test_the_table_and_the_page_hold_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = drawn(replace(WORLD, leak=6.0))
    texts = {str(one): f"secret {place} words that nobody else has said here {place}"
             for place, one in enumerate(table.examples.id)}
    member, other = np.flatnonzero(table.member[0] == 1)[:2]
    texts[table.examples.id[other]] = texts[table.examples.id[member]].upper()
    audit = audited(table, attacks=["loss"], texts=texts)
    audit.write_records(tmp_path / "records.csv")
    written = (tmp_path / "records.csv").read_text()
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(written))}
    assert len(rows) == 700
    named = [row for row in rows.values() if row["named"] == "True"]
    assert all(float(row["q"]) <= ERROR for row in named)
    assert len(named) == sure(sure(audit.decisive.records).named.value)
    pair = [table.examples.id[member], table.examples.id[other]]
    assert [rows[one]["nearest_duplicate"] for one in pair] == pair[::-1]
    assert sum(bool(row["nearest_duplicate"]) for row in rows.values()) == 2
    assert "secret" not in written + json.dumps(audit.record) + to_html(summarise(audit.record))
    assert float(next(iter(rows.values()))["p"]) == pytest.approx(sure(audit.decisive.records).p.min())
    monkeypatch.setattr(record_risk, "BLOCK", 300)
    audit.write_records(tmp_path / "in_blocks.csv")
    assert (tmp_path / "in_blocks.csv").read_text() == written
