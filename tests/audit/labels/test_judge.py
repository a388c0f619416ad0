from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.audit.labels.tables import changed

from discreet.audit.labels.access import run, trial_of
from discreet.audit.labels.attacks.lia_delta_margin import lia_delta_margin
from discreet.audit.labels.attacks.lia_threshold import LiaThreshold
from discreet.audit.labels.bounds import ladder_bound
from discreet.audit.labels.judge import audit_labels
from discreet.audit.labels.judge_result import LabelAudit
from discreet.audit.labels.judge_rows import difference_p
from discreet.audit.labels.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.view import all_attacks
from discreet.core.errors import InputError, UsageError
from discreet.mechanisms.labels.rr import HalvedRandomisedResponse
from discreet.scores.table import CANARY, PLACEBO, TRAIN, UNKNOWN, ScoreTable, stacked
from discreet.stats.testing import holm

RNG = np.random.default_rng
HONEST = tuple(attack for attack in all_attacks(2) if attack.access == "outputs")
FEW = (LiaThreshold(), lia_delta_margin(loss_labels="original"), lia_delta_margin(loss_labels="secret"))
# Little enough memory that only what stands in training many times is seen.
FAINT = {"canaries": 600, "placebos": 600, "memory": 0.25, "signal": 1.0, "spread": 0.5, "planted": (1, 4, 16)}


def world(seed: int = 0, **given: Any) -> ScoreTable:
    return simulated_labels(LabelWorld(**given), RNG(seed))


def audit(table: ScoreTable, **options: Any) -> LabelAudit:
    return audit_labels(table, **{"permutations": 0, "tune": False, "attacks": FEW, **options})


def together(one: ScoreTable, other: ScoreTable) -> ScoreTable:
    """Two targets of seeds of their own over the same examples."""
    models = (replace(one.models[0], name="first", seed="1"), replace(other.models[0], name="second", seed="2"))
    return stacked([replace(part, models=(model,), examples=one.examples)
                    for part, model in zip((one, other), models, strict=True)])


class TestVerdict:
    def test_memory_of_labels_fails(self) -> None:
        found = audit(world(memory=2.0))
        assert found.verdict == "fail"
        assert "knows them better than labels that nobody trained on" in found.decisive.judgement.reasons[0]
        assert any("prove that ε is at least" in said for said in found.decisive.judgement.reasons)

    def test_planted_memory_that_is_seen_passes(self) -> None:
        found = audit(world(1, **FAINT))
        assert found.verdict == "pass"
        assert "planted" in found.decisive.judgement.reasons[2]

    def test_nothing_planted_is_inconclusive(self) -> None:
        found = audit(world())
        assert found.verdict == "inconclusive"
        assert "Plant some canaries" in found.decisive.judgement.reasons[0]

    def test_planted_memory_that_is_not_seen_is_inconclusive(self) -> None:
        found = audit(world(planted=(1, 4, 16)))
        assert found.verdict == "inconclusive"
        assert "would have missed" in found.decisive.judgement.reasons[0]

    def test_no_placebo_is_inconclusive_however_much_is_remembered(self) -> None:
        table = world(memory=8.0, planted=(4,))
        role = np.where(table.canaries.role == PLACEBO, TRAIN, table.canaries.role).astype(np.int8)
        found = audit(changed(table, role=role))
        assert found.verdict == "inconclusive"
        assert "uncontrolled" in found.decisive.judgement.reasons[0]

    def test_a_mechanism_that_breaks_its_promise_cannot_pass(self) -> None:
        table = world(1, **FAINT)
        released = HalvedRandomisedResponse.at(0.2, 2).apply(table.canaries.label[0], RNG(0))
        model = replace(table.models[0], mechanism="rr", epsilon=0.2)
        found = audit(changed(table, models=(model,), trained=released[None]))
        assert found.verdict == "inconclusive"
        assert "does not keep its ε" in found.decisive.judgement.reasons[0]

    def test_oracles_and_privileged_attacks_convict_nobody(self) -> None:
        # A flaw that only an oracle sees, on a table whose honest attacks see nothing.
        found = audit(world(memory=2.0), attacks=FEW[1:])
        assert found.verdict == "inconclusive"
        assert "No attack on outputs alone" in found.decisive.judgement.reasons[0]
        significant = [row for row in found.rows if row.difference_p is not None and row.difference_p < 1e-6]
        assert significant
        assert all(row.holm_p is None for row in found.rows)

    def test_the_flaw_is_told_where_the_oracle_succeeds_on_placebos(self) -> None:
        found = audit(world(spread=0.1, signal=4.0, canaries=4000, placebos=4000))
        said = [one for one in found.decisive.judgement.reasons if "shown the label" in one]
        assert len(said) == 1
        assert "75%" in said[0]

    def test_placebos_that_are_better_than_canaries_are_no_pass(self) -> None:
        table = world(1, **FAINT)
        role = table.canaries.role[0]
        swapped = np.where(table.canaries.planted[0] > 0, role, 1 - role).astype(np.int8)
        leaking = world(memory=3.0, canaries=600, placebos=600, planted=(1, 4, 16))
        found = audit(changed(leaking, role=swapped[None]))
        assert found.verdict == "inconclusive"

    def test_a_vetoed_placebo_takes_a_conviction_away_but_gives_no_pass(self) -> None:
        table = world(memory=3.0)
        logits = table.logits[:, :, 0].copy()
        # The attack is told the placebos' labels wrongly, as no fair draw does.
        wrong = (table.canaries.role[0] == PLACEBO) & (np.arange(len(table.examples)) % 3 == 0)
        logits[0][wrong] = 10.0 * (np.arange(2) != table.canaries.label[0][wrong, None])
        found = audit(changed(table, logits=logits))
        row = next(row for row in found.rows if row.decides)
        assert row.vetoed
        assert row.holm_p is not None
        assert row.holm_p < 1e-6
        assert found.verdict == "inconclusive"
        assert "control itself is in doubt" in found.decisive.judgement.reasons[0]

    def test_under_a_mechanism_the_words_say_what_it_allows(self) -> None:
        reasons = audit(world(memory=3.0, epsilon=1.0), attacks=HONEST).decisive.judgement.reasons
        [said] = [one for one in reasons if "allows an attacker" in one]
        assert "73.1%" in said
        assert "within what the mechanism promises" in said

    def test_a_bound_above_the_claim_is_said_to_break_it(self) -> None:
        table = world(memory=6.0, canaries=1000)
        model = replace(table.models[0], mechanism="rr", epsilon=0.5)
        reasons = audit(changed(table, models=(model,))).decisive.judgement.reasons
        assert any("not protected as claimed" in said for said in reasons)
        assert any("do not look as ε = 0.5 demands" in said for said in reasons)

    def test_the_worst_target_decides(self) -> None:
        both = together(world(1, **FAINT), world(2, **{**FAINT, "memory": 3.0}))
        found = audit(both)
        assert [one.judgement.verdict for one in found.models] == ["pass", "fail"]
        assert found.verdict == "fail"
        assert found.decisive.model.name == "second"
        neither = audit(together(world(1, **FAINT), world(2, canaries=600, placebos=600)))
        assert neither.verdict == "inconclusive"


def test_holm_is_over_all_deciding_rows_of_all_models() -> None:
    both = together(world(1, memory=0.5, epsilon=2.0), world(2, memory=0.5))
    found = audit(both, attacks=all_attacks(2))
    deciding = [row for row in found.rows if row.decides]
    # Eleven honest attacks, both labels of the first, one of the second, where they are the same.
    assert len(deciding) == 33
    p = [row.difference_p for row in deciding if row.difference_p is not None]
    assert [row.holm_p for row in deciding] == pytest.approx(list(holm(p)))
    assert all(row.holm_p is None for row in found.rows if not row.decides)
    assert found.provenance["comparisons"] == 33


def test_the_joint_bound_pays_for_every_attack() -> None:
    table = world(memory=2.0)
    found = audit(table, attacks=(LiaThreshold(), LiaThreshold("mean"))).decisive
    best = []
    for kind in ("fixed", "mean"):
        attack = LiaThreshold(kind)
        trial = trial_of(table, 0)
        guesses = run(attack, trial)
        best.append(ladder_bound(guesses.correct(trial.secret), guesses.confidence, 2, 0.025).epsilon)
    assert found.epsilon_lower.value == max(best)
    assert found.epsilon_lower.level == 0.95
    assert not audit(table, law="exact_half").decisive.epsilon_lower.resolved


def test_a_figure_does_not_move_with_other_models_or_runs() -> None:
    one, other = world(1, memory=0.5), world(2)
    alone = audit_labels(changed(one, models=(replace(one.models[0], name="first", seed="1"),)), permutations=49)
    beside = audit_labels(together(one, other), permutations=49)
    again = audit_labels(together(one, other), permutations=49)
    assert [replace(row, holm_p=None) for row in alone.rows] == [
        replace(row, holm_p=None) for row in beside.rows if row.model.name == "first"]
    assert again.to_json() == beside.to_json()


def test_json_is_as_the_record_says() -> None:
    record = json.loads(json.dumps(audit(world(memory=2.0, epsilon=1.0)).to_json()))
    assert {"verdict", "attacks", "utility", "conformance", "provenance"} <= set(record)
    assert set(record["utility"]) == {"train_accuracy", "test_accuracy"}
    assert set(record["utility"]["train_accuracy"]) == {"trained", "secret", "original"}
    [conformance] = record["conformance"]
    assert {"epsilon", "expected_flip", "observed", "ok"} <= set(conformance)
    assert record["decisive"] == "target"
    assert {"reasons", "planted", "histogram", "exposure", "memorisation", "epsilon_lower"} <= set(record["targets"][0])


def test_labels_that_are_not_known_are_noted() -> None:
    table = world()
    found = audit(changed(table, trained=np.full_like(table.canaries.trained, UNKNOWN))).decisive
    assert any("only the secret is asked for" in said for said in found.judgement.reasons)
    assert any("'label_trained'" in said for said in found.cannot)


def test_shared_draws_are_noted() -> None:
    table = world()
    group = np.arange(len(table.examples)) // 4
    secret = table.canaries.label[:, group * 4]
    found = audit(changed(table, group=group, label=secret, trained=secret)).decisive
    assert any("200 of 800" in said for said in found.judgement.reasons)


@pytest.mark.parametrize(("options", "said"), [({"permutations": -1}, "permutations"), ({"seed": -1}, "seed"),
                                               ({"law": "coin"}, "law")])
def test_options_outside_their_range(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        audit(world(), **options)


def test_a_broken_mechanism_is_refused() -> None:
    table = world()
    with pytest.raises(InputError, match="broken on purpose"):
        audit(changed(table, models=(replace(table.models[0], mechanism="rr_halved", epsilon=1.0),)))


def test_canaries_that_were_all_planted_are_no_audit() -> None:
    table = world()
    with pytest.raises(InputError, match="canary"):
        audit(changed(table, planted=np.ones_like(table.canaries.planted)))


def test_difference_is_the_one_of_fisher() -> None:
    row = audit(world(memory=1.0)).rows[0]
    counts = [(round((e.value or 0.0) * (e.n or 0)), e.n or 0) for e in (row.success, row.placebo)]
    assert row.difference_p == difference_p(counts[0], counts[1])


class TestCanariesThatMayNotBeTrainedOn:
    @pytest.mark.parametrize("share", [1.0, 0.01])
    def test_no_pass_while_the_trained_label_of_a_canary_is_null(self, share: float) -> None:
        table = world(1, **FAINT)
        trained = table.canaries.trained.copy()
        canary = np.flatnonzero(table.canaries.role[0] == CANARY)
        trained[0, canary[: int(share * canary.size)]] = UNKNOWN
        found = audit(changed(table, trained=trained))
        assert found.verdict == "inconclusive"
        assert f"'label_trained' is null for {int(600 * share)} of 600 canaries" in found.decisive.judgement.reasons[0]
        assert any(said.startswith("A pass: 'label_trained' is null") for said in found.decisive.cannot)

    def test_a_leak_is_one_all_the_same(self) -> None:
        table = world(memory=2.0)
        assert audit(changed(table, trained=np.full_like(table.canaries.trained, UNKNOWN))).verdict == "fail"


def test_secrets_that_were_not_drawn_are_refused() -> None:
    table = world(1, **FAINT)
    with pytest.raises(InputError, match="no canary label was drawn"):
        audit(changed(table, label=table.examples.label[None]))


def test_no_pass_where_every_control_is_void() -> None:
    """The model is told the labels of placebos, so that no attack is at chance there."""
    table = world(1, **FAINT)
    both = (table.canaries.role[0] == PLACEBO) | (table.canaries.role[0] == CANARY)
    right = both & (RNG(3).random(len(table.examples)) < 0.5)
    logits = table.logits[:, :, 0].copy()
    logits[0, right] = 10.0 * (np.arange(2) == table.canaries.label[0, right, None])
    found = audit(changed(table, logits=logits))
    assert all(row.vetoed for row in found.rows if row.decides)
    assert found.verdict == "inconclusive"
    assert "the control itself is in doubt" in found.decisive.judgement.reasons[0]
