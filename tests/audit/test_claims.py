from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.audit.claims import Brought, can_claim, cannot_claim
from discreet.audit.design import DESIGNS, WORDS, decides, known_design
from discreet.errors import UsageError

ALL = Brought("randomised", *[True] * 9)


def test_what_is_not_brought_is_not_claimed() -> None:
    assert len(cannot_claim(ALL)) == 1
    for name, word in (("placebo", "placebo"), ("planted", "planted"), ("selector", "boundary"), ("groups", "persons"),
                       ("texts", "read alike"), ("clean", "nobody trained on")):
        lacking = replace(ALL, **{name: False})  # type: ignore[arg-type]
        assert word in " ".join(cannot_claim(lacking))
        assert word not in " ".join(cannot_claim(ALL))
    lone = replace(ALL, neutral=False, population=False)
    assert "trained on the very non-members" in " ".join(cannot_claim(lone))
    assert "the loss stands alone" in " ".join(cannot_claim(replace(lone, paired=False)))
    assert len(can_claim(replace(ALL, placebo=False, planted=False, groups=False))) == len(can_claim(ALL)) - 3


@pytest.mark.parametrize("design", DESIGNS)
def test_only_a_random_draw_allows_a_verdict(design: str) -> None:
    known = known_design(design)
    assert decides(known) == (design in ("sealed", "randomised"))
    said = replace(ALL, design=known)
    assert ("Pass or fail" in " ".join(cannot_claim(said))) != decides(known)
    assert ("privacy parameter" in " ".join(can_claim(said))) == decides(known)
    assert WORDS[known]


def test_a_seal_needs_no_planted_records() -> None:
    assert "planted" not in " ".join(cannot_claim(replace(ALL, design="sealed", planted=False)))


def test_an_unknown_design_is_refused() -> None:
    with pytest.raises(UsageError, match="sealed, randomised, matched, convenience"):
        known_design("lucky")
