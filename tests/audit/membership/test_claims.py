from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.audit.membership.claims import Brought, can_claim, cannot_claim
from discreet.core.design import AS_STATED, DESIGNS, NAMED, WORDS, decides, known_design, shown_design
from discreet.core.errors import UsageError

ALL = Brought("sealed", *[True] * 9)


def test_what_is_not_brought_is_not_claimed() -> None:
    assert len(cannot_claim(ALL)) == 1
    for name, word in (("placebo", "placebo"), ("selector", "boundary"), ("groups", "persons"),
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
    assert decides(known) == (design not in ("matched", "convenience"))
    said = replace(ALL, design=known)
    assert ("Pass or fail" in " ".join(cannot_claim(said))) != decides(known)
    assert ("privacy parameter" in " ".join(can_claim(said))) == decides(known)
    assert WORDS[known]


def test_a_seal_needs_no_planted_records() -> None:
    assert "planted" not in " ".join(cannot_claim(replace(ALL, design="sealed", planted=False)))


def test_an_unknown_design_is_refused() -> None:
    with pytest.raises(UsageError, match="sealed, randomised, matched, convenience"):
        known_design("lucky")


def test_records_that_show_a_leak_are_asked_for_without_a_seal() -> None:
    assert "planted" in " ".join(cannot_claim(replace(ALL, design="randomised", planted=False)))
    assert "planted" not in " ".join(cannot_claim(replace(ALL, design="randomised")))
    # A seal that nobody has shown does not stand in for them.
    assert "planted" in " ".join(cannot_claim(replace(ALL, design=AS_STATED, planted=False)))


def test_what_is_only_stated_is_claimed_on_that_condition() -> None:
    for design in (AS_STATED, known_design("randomised")):
        said = replace(ALL, design=design)
        assert "if it is true that a random draw decided" in can_claim(said)[0]
        assert "your word" in cannot_claim(said)[0]
        assert "not shown" in WORDS[design]
    assert "no seal was compared with the table" in cannot_claim(replace(ALL, design=AS_STATED))[0]
    assert "if it is true" not in " ".join(can_claim(ALL))
    assert "your word" not in " ".join(cannot_claim(ALL))


def test_sealed_without_a_seal_is_only_stated() -> None:
    assert shown_design("sealed", seal=False) == AS_STATED
    assert shown_design("sealed", seal=True) == "sealed"
    assert AS_STATED not in NAMED
    for name in ("randomised", "matched", "convenience"):
        assert shown_design(name, seal=False) == name
        with pytest.raises(UsageError, match="a seal was given with design"):
            shown_design(name, seal=True)
