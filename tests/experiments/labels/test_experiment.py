"""What a trial may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.experiments.labels.made_up import INF

from discreet.core.errors import UsageError
from discreet.engine import DataFile
from discreet.experiments.labels.experiment import NONE, Arm, Trial, arms_of


def test_arms_cross_mechanisms_and_epsilons_and_have_no_noise_once() -> None:
    names = [arm.name for arm in arms_of(("rr", "alibi"), (INF, 4.0, 0.5))]
    assert names == ["none", "rr-4", "alibi-4", "rr-0.5", "alibi-0.5"]
    assert Arm("rr", 0.12345678).name == "rr-0.12345678"


@pytest.mark.parametrize(("mechanism", "epsilon", "said"), [
    ("rr", 0.0, "epsilon is 0"), ("rr", -1.0, "epsilon is -1"), ("rr", float("nan"), "epsilon is nan"),
    ("rr", INF, "expected 'none' at inf"), ("none", 2.0, "expected 'none' at inf"), ("coin", 2.0, "coin")])
def test_arms_that_cannot_be(mechanism: str, epsilon: float, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Arm(mechanism, epsilon)


@pytest.mark.parametrize(("options", "said"), [
    ({"canaries": 0.0}, "canaries is 0"), ({"canaries": 1.5}, "canaries is 1.5"),
    ({"placebo": -0.1}, "placebo is -0.1"),
    ({"heldout": float("nan")}, "heldout is nan"), ({"heldout": INF}, "heldout is inf"), ({"references": -1}, "-1"),
    ({"planted": (0,)}, "planted repetitions"), ({"planted": (4, 4)}, "planted repetitions"), ({"law": "coin"}, "law"),
    ({"arms": ()}, "arms"), ({"arms": (NONE, NONE)}, "arms are none, none"),
    ({"arms": (Arm("rr_halved", 2.0),)}, "broken on purpose")])
def test_trials_that_cannot_be(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Trial(DataFile(tmp_path / "d.csv", "0" * 64), "label", "mlp", **options)


def test_what_is_broken_may_be_let_in_and_references_left_out(tmp_path: Path) -> None:
    arms = (NONE, Arm("rr_halved", 2.0))
    trial = Trial(DataFile(tmp_path / "d.csv", "0" * 64), "label", "mlp", arms, broken=True, references=3,
                  references_at=(NONE,))
    assert [trial.references_of(arm) for arm in arms] == [3, 0]
    assert trial.with_seed(7).seed == 7
