from __future__ import annotations

from math import inf, nan

import pytest

from discreet.audit.labels.bounds import bound_power, ceiling
from discreet.audit.labels.judge_plan import plan_canaries
from discreet.core.errors import UsageError


@pytest.mark.parametrize(("epsilon", "classes", "guessed"), [(1.0, 2, 1.0), (2.0, 10, 0.3)])
def test_as_many_canaries_as_show_it(epsilon: float, classes: int, guessed: float) -> None:
    found = plan_canaries(epsilon, classes, guessed)
    assert found["ceiling"] == ceiling(epsilon, classes)
    needed = [row["canaries"] for row in found["rows"]]
    assert needed == sorted(needed, reverse=True)
    for row in found["rows"]:
        power = [bound_power(n, row["success"], epsilon, classes, guessed=guessed)
                 for n in (row["canaries"], max(2, row["canaries"] // 3))]
        assert power[0] >= 0.8
        assert power[1] < 0.8
    assert f"{found['ceiling']:.1%}" in found["note"]
    assert ("the rest abstained" in found["note"]) == (guessed < 1.0)


def test_what_no_number_shows_is_said() -> None:
    assert plan_canaries(40.0, 2)["rows"][0]["canaries"] is None


@pytest.mark.parametrize(("epsilon", "classes", "guessed", "said"), [
    (0.0, 2, 1.0, "--epsilon"), (inf, 2, 1.0, "--epsilon"), (nan, 2, 1.0, "--epsilon"), (1.0, 1, 1.0, "--classes"),
    (1.0, 2, 0.0, "--guessed"), (1.0, 2, 1.5, "--guessed"),
])
def test_what_cannot_be_is_refused(epsilon: float, classes: int, guessed: float, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        plan_canaries(epsilon, classes, guessed)
