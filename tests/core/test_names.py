from __future__ import annotations

from math import inf
from typing import Any

import pytest

from discreet.audit.labels.attacks.lia_delta_margin import lia_delta_margin
from discreet.audit.labels.attacks.lia_threshold import LiaThreshold
from discreet.audit.labels.attacks.lira import LiraLabel
from discreet.audit.labels.view import LabelAttack, all_attacks
from discreet.core.names import condition_name, label_attack_name


@pytest.mark.parametrize(("attack", "tuned", "said", "brief"), [
    (LiaThreshold("median"), False, "LIA-Threshold, median", "LIA-Threshold, median"),
    (LiaThreshold(0.4), True, "LIA-Threshold, τ .40, tuned", "LIA-Threshold, τ .40, tuned"),
    (lia_delta_margin(loss_labels="secret", beta=3.0, margin="max-second"), False,
     "LIA-Delta-Margin, loss at the secret itself, β/α 3, max-second", "LIA-Delta-Margin at secret, β/α 3, max"),
    (LiraLabel("own"), False, "LiRA-label, own", "LiRA-label, own"),
])
def test_attacks_are_named(attack: LabelAttack, tuned: bool, said: str, brief: str) -> None:
    row: dict[str, Any] = {**attack.settings.to_json(), "tuned": tuned}
    assert label_attack_name(row) == said
    assert label_attack_name(row, brief=True) == brief


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("brief", [False, True])
def test_no_two_attacks_have_one_name(n_classes: int, brief: bool) -> None:
    names = [label_attack_name(one.settings.to_json(), brief=brief) for one in all_attacks(n_classes)]
    assert len(set(names)) == len(names)


def test_conditions_are_named() -> None:
    assert condition_name("none", inf) == condition_name("none", "inf") == "no mechanism"
    assert condition_name("rr", 0.5) == "rr, ε = 0.5"
