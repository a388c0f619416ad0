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
from discreet.audit.scores.table import CANARY, CONTROL, TRAIN, UNKNOWN, ScoreTable, stacked
from discreet.core.errors import InputError, UsageError
from discreet.stats.mechanisms.labels.rr import HalvedRandomisedResponse, RandomisedResponse

RNG = np.random.default_rng
HONEST = tuple(attack for attack in all_attacks(2) if attack.access == "outputs")
FEW = (LiaThreshold(), DeltaMargin("original"), DeltaMargin("canary"))
# Little enough memory that only what stands in training many times is found.
FAINT = {"canaries": 600, "held_out": 600, "memory": 0.15, "signal": 1.0, "spread": 0.5, "planted": (4, 16, 64)}
DRAWS = 40
QUIET = 33


def world(seed: int = 0, **given: Any) -> ScoreTable:
    return simulated_labels(LabelWorld(**given), RNG(seed))


def audit(table: ScoreTable, **options: Any) -> LabelAudit:
    return audit_labels(table, **{"tune": False, "attacks": FEW, **options})


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
        assert codes(found)[:4] == ("labels_leak", "together", "strongest_attack", "epsilon_proven")
        blind = audit(changed(table, trained=np.full_like(table.canaries.trained, UNKNOWN)))
        assert (blind.verdict, codes(blind)[-1]) == ("fail", "canary_label_alone")
        assert any("'label_trained'" in said for said in blind.decisive.claims.cannot)

    @pytest.mark.parametrize(("planted", "code"), [((), "nothing_planted"), ((1, 4, 16), "planted_not_found")])
    def test_without_memory_that_is_found_it_is_inconclusive(self, planted: tuple[int, ...], code: str) -> None:
        found = audit(world(3, planted=planted))
        assert (found.verdict, codes(found)[0]) == ("inconclusive", code)

    def test_planted_memory_that_is_found_passes_and_says_how_much_would_have_been(self) -> None:
        found = audit(world(1, **FAINT))
        assert found.verdict == "pass"
        assert codes(found)[:6] == ("no_leak_found", "together", "strongest_attack", "planted_found", "least_effect",
                                    "no_references")
        least = found.decisive.least_effect
        assert least is not None
        assert 0.55 < least < 0.65
        assert f"{100 * least:.1f}%" in found.decisive.judgement.reasons[4]

    def test_no_control_is_inconclusive_however_much_is_remembered(self) -> None:
        table = world(memory=8.0, planted=(4,))
        role = np.where(table.canaries.role == CONTROL, TRAIN, table.canaries.role).astype(np.int8)
        found = audit(changed(table, role=role))
        assert (found.verdict, codes(found)[0]) == ("inconclusive", "no_held_out")

    @pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
    def test_a_mechanism_that_changes_too_few_labels_fails_whatever_the_model_gives_away(self, epsilon: float) -> None:
        """1,200 labels, of canaries and held-out canaries."""
        table = world(1, **FAINT)
        released = HalvedRandomisedResponse.at(epsilon, 2).apply(table.canaries.label[0], RNG(0))
        model = replace(table.models[0], mechanism="rr", epsilon=epsilon)
        found = audit(changed(table, models=(model,), trained=released[None]))
        assert (found.verdict, codes(found)[0]) == ("fail", "mechanism_broken")

    def test_a_mechanism_that_changes_too_many_labels_cannot_pass(self) -> None:
        table = world(1, **FAINT, epsilon=0.5)
        found = audit(changed(table, models=(replace(table.models[0], epsilon=3.0),)))
        assert (found.verdict, codes(found)[0]) == ("inconclusive", "mechanism_not_conforming")

    @pytest.mark.parametrize(("epsilon", "n_classes"), [(0.5, 2), (1.0, 2), (1.0, 5)])
    def test_a_model_that_remembers_all_released_labels_passes_and_a_broken_promise_fails(self, epsilon: float,
                                                                                           n_classes: int) -> None:
        """600 canaries, 60 of them planted; flips are not looked at."""
        given = {"canaries": 600, "held_out": 600, "memory": 6.0, "n_classes": n_classes, "planted": (4,)}
        honest = [attack for attack in all_attacks(n_classes) if attack.access == "outputs"]
        kept = audit(world(2, epsilon=epsilon, **given), attacks=honest)
        assert (kept.verdict, codes(kept)[0]) == ("pass", "no_more_than_epsilon")
        assert kept.decisive.judged.named == []
        real = HalvedRandomisedResponse.at(epsilon, n_classes).exact_epsilon()
        table = world(2, epsilon=real, **given)
        broken = audit(changed(table, models=(replace(table.models[0], epsilon=epsilon),)), attacks=honest)
        assert broken.verdict == "fail"
        assert broken.decisive.judged.p == pytest.approx(1e-4)
        assert broken.decisive.judged.named

    def test_oracles_and_privileged_attacks_decide_nothing(self) -> None:
        # A flaw that only an oracle sees, on a table whose honest attacks see nothing.
        found = audit(world(memory=2.0), attacks=FEW[1:])
        assert (found.verdict, codes(found)[0]) == ("inconclusive", "nothing_decides")
        assert any(row.difference_p is not None and row.difference_p < 1e-6 for row in found.attacks)
        assert all(row.adjusted_p is None for row in found.attacks)

    def test_the_flaw_is_told_where_the_oracle_succeeds_on_held_out_canaries(self) -> None:
        found = audit(world(spread=0.1, signal=4.0, canaries=4000, held_out=4000))
        said = dict(zip(codes(found), found.decisive.judgement.reasons, strict=True))
        assert "75%" in said["oracle_right_on_held_out"]

    def test_held_out_canaries_that_are_known_void_the_audit(self) -> None:
        leaking = world(1, **{**FAINT, "memory": 3.0})
        role = leaking.canaries.role[0]
        swapped = np.where(leaking.canaries.planted[0] > 0, role, 1 - role).astype(np.int8)
        found = audit(changed(leaking, role=swapped[None]))
        assert (found.verdict, codes(found)[0]) == ("inconclusive", "control_off_chance")
        assert found.decisive.to_json()["control_states"]["control"]["codes"] == ["control", "void"]
        # Where it is not known how labels were drawn, they are only known to be unlike those of canaries.
        other = audit(changed(leaking, role=swapped[None]), assignment="unknown")
        assert (other.verdict, codes(other)[0]) == ("inconclusive", "right_less_often")

    def test_a_control_off_chance_takes_a_finding_away(self) -> None:
        table = world(memory=3.0)
        logits = table.logits[:, :, 0].copy()
        # The attack is told the held-out canaries' labels wrongly, as no fair draw does.
        wrong = (table.canaries.role[0] == CONTROL) & (np.arange(len(table.examples)) % 3 == 0)
        logits[0][wrong] = 10.0 * (np.arange(2) != table.canaries.label[0][wrong, None])
        found = audit(changed(table, logits=logits))
        assert found.decisive.judged.found
        assert (found.verdict, codes(found)[0]) == ("inconclusive", "control_off_chance")

    def test_where_it_is_not_known_how_labels_were_drawn_each_attack_is_compared_with_held_out_canaries(self) -> None:
        found = audit(world(memory=2.0), assignment="unknown")
        assert (found.verdict, codes(found)[:2]) == ("fail", ("labels_leak", "strongest_attack"))
        row = next(row for row in found.attacks if row.decides)
        assert (row.null_p, row.adjusted_p) == (None, row.difference_p)
        assert not found.decisive.epsilon_lower.resolved

    def test_a_bound_above_the_stated_epsilon_breaks_it(self) -> None:
        table = world(memory=6.0, canaries=1000)
        released = HalvedRandomisedResponse.at(0.5, 2).apply(table.canaries.label[0], RNG(0))
        model = replace(table.models[0], mechanism="home-made", epsilon=0.5)
        # A model that saw the canary labels, and a table that says otherwise: flips are as they should be.
        found = audit(changed(table, models=(model,), trained=RandomisedResponse.at(0.5, 2).apply(
            table.canaries.label[0], RNG(0))[None]))
        assert (found.verdict, codes(found)[0]) == ("fail", "beyond_epsilon")
        assert "epsilon_broken" in codes(found)
        assert "flips_off" in codes(audit(changed(table, models=(model,), trained=released[None])))

    def test_the_worst_target_decides(self) -> None:
        both = together(world(1, **FAINT), world(3, **{**FAINT, "memory": 3.0}))
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
    alone = audit_labels(changed(one, models=(replace(one.models[0], name="first", seed="1"),)))
    among = audit_labels(together(one, other))
    assert [replace(row, adjusted_p=None).to_json() for row in alone.attacks] == [
        replace(row, adjusted_p=None).to_json() for row in among.attacks if row.model.name == "first"]
    assert audit_labels(together(one, other)).to_json() == among.to_json()


def test_shared_draws_are_noted() -> None:
    table = world()
    group = np.arange(len(table.examples)) // 4
    label = table.canaries.label[:, group * 4]
    found = audit(changed(table, group=group, label=label, trained=label))
    said = dict(zip(codes(found), found.decisive.judgement.reasons, strict=True))
    assert "200 of 800" in said["one_row_a_group"]


@pytest.mark.parametrize(("options", "said"), [({"seed": -1}, "seed"), ({"assignment": "coin"}, "assignment")])
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
    return [audit_labels(simulated_labels(made, RNG((seed, 7))), tune=False, attacks=chosen)
            for seed in range(draws)]


@pytest.mark.parametrize("given", [
    {}, {"epsilon": 1.0}, {"n_classes": 3, "epsilon": 2.0}, {"references": 4}, {"signal": 4.0, "spread": 0.1}])
def test_honest_attacks_are_quiet_where_nothing_is_memorised(given: dict[str, Any]) -> None:
    found = audits(**given)
    assert sum(one.verdict != "fail" for one in found) >= QUIET
    # Such models prove no epsilon at all.
    assert sum(one.models[0].epsilon_lower.value == 0.0 for one in found) >= QUIET


def test_memory_is_found_and_under_randomised_response_what_is_released_is_no_leak() -> None:
    found = audits(memory=4.0, draws=20)
    # By chance one audit in twenty is void.
    assert sum(one.verdict == "fail" for one in found) >= 17
    assert not any(one.verdict == "pass" for one in found)
    for epsilon, n_classes in ((0.5, 2), (1.0, 4)):
        found = audits(epsilon=epsilon, n_classes=n_classes, memory=4.0, draws=40)
        assert sum(one.verdict == "fail" for one in found) <= 6
        assert sum((one.models[0].epsilon_lower.value or 0.0) > epsilon for one in found) <= 4
