"""Whole audits of simulated worlds: verdicts with their codes, and what they say in hundreds of worlds.

benchmarks/label_validity.py does the latter with 300 draws and more worlds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.audit.labels.tables import changed

from discreet.audit.core.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.attacker_view import all_attacks, canary_rows, run
from discreet.audit.labels.attacks.lia_delta_margin import DeltaMargin
from discreet.audit.labels.attacks.lia_threshold import LiaThreshold
from discreet.audit.labels.audit import LabelAudit, audit_labels
from discreet.audit.labels.bounds import ladder_bound
from discreet.audit.labels.rows import counts_of, difference_p
from discreet.audit.labels.verdict import least_effect
from discreet.audit.scores.table import CANARY, CONTROL, TRAIN, UNKNOWN, ScoreTable, stacked
from discreet.core.errors import InputError, UsageError
from discreet.stats.mechanisms.labels.rr import HalvedRandomisedResponse
from discreet.stats.testing import holm

RNG = np.random.default_rng
HONEST = tuple(attack for attack in all_attacks(2) if attack.access == "outputs")
FEW = (LiaThreshold(), DeltaMargin("original"), DeltaMargin("canary"))
# Little enough memory that only what stands in training many times is found.
FAINT = {"canaries": 600, "held_out": 600, "memory": 0.25, "signal": 1.0, "spread": 0.5, "planted": (1, 4, 16)}
DRAWS = 60
QUIET = 51


def world(seed: int = 0, **given: Any) -> ScoreTable:
    return simulated_labels(LabelWorld(**given), RNG(seed))


def audit(table: ScoreTable, **options: Any) -> LabelAudit:
    return audit_labels(table, **{"permutations": 0, "tune": False, "attacks": FEW, **options})


def codes(found: LabelAudit) -> tuple[str, ...]:
    return found.decisive.judgement.reason_codes


def together(one: ScoreTable, other: ScoreTable) -> ScoreTable:
    """Two targets of seeds of their own over the same examples."""
    models = (replace(one.models[0], name="first", seed="1"), replace(other.models[0], name="second", seed="2"))
    return stacked([replace(part, models=(model,), examples=one.examples)
                    for part, model in zip((one, other), models, strict=True)])


class TestVerdict:
    def test_memory_of_labels_fails_though_trained_labels_are_null(self) -> None:
        table = world(memory=2.0)
        found = audit(table)
        assert found.verdict == "fail"
        assert codes(found)[:3] == ("labels_leak", "strongest_attack", "epsilon_proven")
        blind = audit(changed(table, trained=np.full_like(table.canaries.trained, UNKNOWN)))
        assert (blind.verdict, codes(blind)[-1]) == ("fail", "canary_label_alone")
        assert any("'label_trained'" in said for said in blind.decisive.claims.cannot)

    @pytest.mark.parametrize(("planted", "code"), [((), "nothing_planted"), ((1, 4, 16), "planted_not_found")])
    def test_without_memory_that_is_found_it_is_inconclusive(self, planted: tuple[int, ...], code: str) -> None:
        found = audit(world(planted=planted))
        assert (found.verdict, codes(found)[0]) == ("inconclusive", code)

    def test_planted_memory_that_is_found_passes_and_says_how_much_would_have_been(self) -> None:
        found = audit(world(1, **FAINT))
        assert found.verdict == "pass"
        assert codes(found)[:5] == ("no_leak_found", "strongest_attack", "planted_found", "least_effect",
                                    "no_references")
        least = found.decisive.least_effect
        assert least is not None
        assert 0.55 < least < 0.65
        assert f"{100 * least:.1f}%" in found.decisive.judgement.reasons[3]

    def test_no_control_is_inconclusive_however_much_is_remembered(self) -> None:
        table = world(memory=8.0, planted=(4,))
        role = np.where(table.canaries.role == CONTROL, TRAIN, table.canaries.role).astype(np.int8)
        found = audit(changed(table, role=role))
        assert (found.verdict, codes(found)[0]) == ("inconclusive", "no_held_out")

    def test_a_mechanism_that_breaks_its_promise_cannot_pass(self) -> None:
        table = world(1, **FAINT)
        released = HalvedRandomisedResponse.at(0.2, 2).apply(table.canaries.label[0], RNG(0))
        model = replace(table.models[0], mechanism="rr", epsilon=0.2)
        found = audit(changed(table, models=(model,), trained=released[None]))
        assert (found.verdict, codes(found)[0]) == ("inconclusive", "mechanism_not_conforming")

    def test_oracles_and_privileged_attacks_decide_nothing(self) -> None:
        # A flaw that only an oracle sees, on a table whose honest attacks see nothing.
        found = audit(world(memory=2.0), attacks=FEW[1:])
        assert (found.verdict, codes(found)[0]) == ("inconclusive", "nothing_decides")
        assert any(row.difference_p is not None and row.difference_p < 1e-6 for row in found.attacks)
        assert all(row.holm_p is None for row in found.attacks)

    def test_the_flaw_is_told_where_the_oracle_succeeds_on_held_out_canaries(self) -> None:
        found = audit(world(spread=0.1, signal=4.0, canaries=4000, held_out=4000))
        said = dict(zip(codes(found), found.decisive.judgement.reasons, strict=True))
        assert "75%" in said["oracle_right_on_held_out"]

    def test_controls_that_are_better_than_canaries_are_no_pass(self) -> None:
        leaking = world(1, **{**FAINT, "memory": 3.0})
        role = leaking.canaries.role[0]
        swapped = np.where(leaking.canaries.planted[0] > 0, role, 1 - role).astype(np.int8)
        found = audit(changed(leaking, role=swapped[None]))
        assert (found.verdict, codes(found)[0]) == ("inconclusive", "right_less_often")

    def test_a_control_off_chance_takes_a_finding_away_but_gives_no_pass(self) -> None:
        table = world(memory=3.0)
        logits = table.logits[:, :, 0].copy()
        # The attack is told the held-out canaries' labels wrongly, as no fair draw does.
        wrong = (table.canaries.role[0] == CONTROL) & (np.arange(len(table.examples)) % 3 == 0)
        logits[0][wrong] = 10.0 * (np.arange(2) != table.canaries.label[0][wrong, None])
        found = audit(changed(table, logits=logits))
        row = next(row for row in found.attacks if row.decides)
        assert row.vetoed
        assert row.holm_p is not None
        assert row.holm_p < 1e-6
        assert (found.verdict, codes(found)[0]) == ("inconclusive", "control_off_chance")

    def test_no_pass_where_every_control_is_void(self) -> None:
        """The model is told the labels of held-out canaries, so that no attack is at chance there."""
        table = world(1, **FAINT)
        both = (table.canaries.role[0] == CONTROL) | (table.canaries.role[0] == CANARY)
        right = both & (RNG(3).random(len(table.examples)) < 0.5)
        logits = table.logits[:, :, 0].copy()
        logits[0, right] = 10.0 * (np.arange(2) == table.canaries.label[0, right, None])
        found = audit(changed(table, logits=logits))
        assert all(row.vetoed for row in found.attacks if row.decides)
        assert found.decisive.to_json()["control_states"]["control"]["codes"] == ["control", "void"]
        assert (found.verdict, codes(found)[0]) == ("inconclusive", "all_controls_off_chance")

    def test_what_a_mechanism_allows_is_said_and_a_bound_above_the_claim_breaks_it(self) -> None:
        found = audit(world(memory=3.0, epsilon=1.0), attacks=HONEST)
        said = dict(zip(codes(found), found.decisive.judgement.reasons, strict=True))
        assert "73.1%" in said["within_epsilon"]
        table = world(memory=6.0, canaries=1000)
        model = replace(table.models[0], mechanism="rr", epsilon=0.5)
        assert {"epsilon_broken", "flips_off"} <= set(codes(audit(changed(table, models=(model,)))))

    def test_the_worst_target_decides(self) -> None:
        both = together(world(1, **FAINT), world(2, **{**FAINT, "memory": 3.0}))
        found = audit(both)
        assert [one.judgement.verdict for one in found.models] == ["pass", "fail"]
        assert found.verdict == "fail"
        assert found.decisive.model.name == "second"
        assert audit(together(world(1, **FAINT), world(2, canaries=600, held_out=600))).verdict == "inconclusive"

    def test_a_model_that_learned_nothing_is_said_to_have(self) -> None:
        table = world(1, signal=0.0)
        assert "learned_nothing" in codes(audit(changed(table, logits=RNG(0).normal(size=(1, 800, 2)))))
        assert "learned_nothing" not in codes(audit(world(1)))

    @pytest.mark.parametrize("share", [1.0, 0.01])
    def test_no_pass_while_the_trained_label_of_a_canary_is_null(self, share: float) -> None:
        table = world(1, **FAINT)
        trained = table.canaries.trained.copy()
        canary = np.flatnonzero(table.canaries.role[0] == CANARY)
        trained[0, canary[: int(share * canary.size)]] = UNKNOWN
        found = audit(changed(table, trained=trained))
        assert (found.verdict, codes(found)[0]) == ("inconclusive", "trained_label_unknown")
        assert f"{int(600 * share)} of 600 canaries" in found.decisive.judgement.reasons[0]


def test_the_least_effect_is_found_as_often_as_it_says() -> None:
    row = audit(world(3, canaries=300, held_out=300)).attacks[0]
    least, control = least_effect(row, 5), counts_of(row.held_out)
    assert least is not None
    found = [difference_p((int(right), 300), control) * 5 < 0.05 for right in RNG(0).binomial(300, least, 2000)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.04)
    assert least_effect(audit(world(3, canaries=3, held_out=3)).attacks[0], 1) is None


def test_holm_is_over_all_deciding_rows_of_all_models() -> None:
    both = together(world(1, memory=0.5, epsilon=2.0), world(2, memory=0.5))
    found = audit(both, attacks=all_attacks(2))
    deciding = [row for row in found.attacks if row.decides]
    # Eleven honest attacks, both labels of the first, one of the second, where they are the same.
    assert len(deciding) == 33
    p = [row.difference_p for row in deciding if row.difference_p is not None]
    assert [row.holm_p for row in deciding] == pytest.approx(list(holm(p)))
    assert all(row.holm_p is None for row in found.attacks if not row.decides)
    assert found.provenance["comparisons"] == 33


def test_the_joint_bound_pays_for_every_attack() -> None:
    table = world(memory=2.0)
    found = audit(table, attacks=(LiaThreshold(), LiaThreshold("mean"))).decisive
    best, rows = [], canary_rows(table, 0)
    for attack in (LiaThreshold(), LiaThreshold("mean")):
        guesses = run(attack, rows)
        best.append(ladder_bound(guesses.correct(rows.canary), guesses.confidence, 2, 0.025).epsilon)
    assert found.epsilon_lower.value == max(best)
    assert found.epsilon_lower.level == 0.95
    assert not audit(table, assignment="balanced").decisive.epsilon_lower.resolved


def test_a_figure_does_not_move_with_other_models_or_runs() -> None:
    one, other = world(1, memory=0.5), world(2)
    alone = audit_labels(changed(one, models=(replace(one.models[0], name="first", seed="1"),)), permutations=49)
    among = audit_labels(together(one, other), permutations=49)
    assert [replace(row, holm_p=None).to_json() for row in alone.attacks] == [
        replace(row, holm_p=None).to_json() for row in among.attacks if row.model.name == "first"]
    assert audit_labels(together(one, other), permutations=49).to_json() == among.to_json()


def test_shared_draws_are_noted() -> None:
    table = world()
    group = np.arange(len(table.examples)) // 4
    label = table.canaries.label[:, group * 4]
    found = audit(changed(table, group=group, label=label, trained=label))
    said = dict(zip(codes(found), found.decisive.judgement.reasons, strict=True))
    assert "200 of 800" in said["one_row_a_group"]


@pytest.mark.parametrize(("options", "said"), [({"permutations": -1}, "permutations"), ({"seed": -1}, "seed"),
                                               ({"assignment": "coin"}, "assignment")])
def test_options_outside_their_range(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        audit(world(), **options)


def test_tables_that_are_no_audit() -> None:
    table = world()
    with pytest.raises(InputError, match="broken on purpose"):
        audit(changed(table, models=(replace(table.models[0], mechanism="rr_halved", epsilon=1.0),)))
    with pytest.raises(InputError, match="has no canary"):
        audit(changed(table, planted=np.ones_like(table.canaries.planted)))
    with pytest.raises(InputError, match="no canary label was drawn"):
        audit(changed(table, label=table.examples.label[None]))


def audits(attacks: str = "outputs", *, draws: int = DRAWS, **given: Any) -> list[LabelAudit]:
    made = LabelWorld(**{"canaries": 150, "held_out": 150, **given})
    chosen = [attack for attack in all_attacks(made.n_classes) if attack.access == attacks]
    return [audit_labels(simulated_labels(made, RNG((seed, 7))), permutations=0, tune=False, attacks=chosen)
            for seed in range(draws)]


@pytest.mark.parametrize("given", [
    {}, {"epsilon": 1.0}, {"n_classes": 3, "epsilon": 2.0}, {"references": 4}, {"signal": 4.0, "spread": 0.1}])
def test_honest_attacks_are_quiet_where_nothing_is_memorised(given: dict[str, Any]) -> None:
    found = audits(**given)
    assert sum(one.verdict != "fail" for one in found) >= QUIET
    # Such models prove no epsilon at all.
    assert sum(one.models[0].epsilon_lower.value == 0.0 for one in found) >= QUIET


@pytest.mark.parametrize(("epsilon", "n_classes"), [(0.5, 2), (2.0, 2), (1.0, 4)])
def test_memory_is_loud_and_its_bound_holds(epsilon: float, n_classes: int) -> None:
    found = audits(epsilon=epsilon, n_classes=n_classes, memory=4.0, draws=40)
    assert all(one.verdict == "fail" for one in found)
    assert sum((one.models[0].epsilon_lower.value or 0.0) > epsilon for one in found) <= 4
    best = [max(row.bounds.ladder.value or 0.0 for row in one.attacks) for one in found]
    assert np.mean(best) > (0.0 if epsilon < 1.0 else 0.25 * epsilon)
