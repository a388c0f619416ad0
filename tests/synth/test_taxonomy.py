from __future__ import annotations

import pytest

from discreet.synth.taxonomy import is_cluster


@pytest.mark.parametrize(("qi", "identifying", "paper"), [
    (("AGE", "LOCATION"), True, True),
    (("AGE", "CONDITION"), False, True),
    (("CONDITION", "TREATMENT", "VISIT_PATTERN"), False, True),
    (("AGE",), False, False),
    ((), False, False),
])
def test_what_makes_a_cluster(qi: tuple[str, ...], identifying: bool, paper: bool) -> None:
    assert is_cluster(qi) is identifying
    assert is_cluster(qi, "paper") is paper
