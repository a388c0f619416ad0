"""The verdict on a recipe: over retrainings, whatever single models say, and never a pass over one that fails."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from scipy import stats
from tests.audit.membership.scenes import drawn, sure

import discreet
from discreet.audit.core.simulate import World
from discreet.audit.membership.recipe import RecipeAudit, audit_recipe
from discreet.core.errors import InputError
from discreet.report import summarise, to_html, to_text
from discreet.report.junit import to_junit
from discreet.stats import holm

WORLD = World(members=900, others=900, clean=900, selector=0, paired=0, planted={4: 120})


def audit_of(seed: int, **changes: object) -> discreet.MembershipAudit:
    table = drawn(replace(WORLD, **changes), seed)  # type: ignore[arg-type]
    return discreet.audit_membership(table, design="randomised", permutations=0, bootstraps=1, attacks=["loss"])


@pytest.fixture(scope="module")
def harmless() -> dict[int, discreet.MembershipAudit]:
    return {seed: audit_of(seed) for seed in range(3)}


@pytest.fixture(scope="module")
def leaking() -> dict[int, discreet.MembershipAudit]:
    return {seed: audit_of(seed, leak=0.6) for seed in range(3)}


def test_a_recipe_without_a_leak_passes(harmless: dict[int, discreet.MembershipAudit]) -> None:
    found = audit_recipe(harmless)
    assert [one.verdict for one in harmless.values()].count("pass") >= 2
    assert found.verdict == "pass"
    assert {one.state for one in found.parts} == {"within"}
    assert found.judgement.reason_codes == ("within", "about", "own")


def test_one_model_is_never_counted_twice(harmless: dict[int, discreet.MembershipAudit]) -> None:
    """Its target is the same; that the references were trained anew makes it no other."""
    table = drawn(WORLD, 0)
    logits = table.logits.copy()
    others = [place for place, model in enumerate(table.models) if model.role != "target"]
    logits[others] += np.random.default_rng(0).normal(size=logits[others].shape)
    again = discreet.audit_membership(replace(table, logits=logits), design="randomised", permutations=0, bootstraps=1,
                                      attacks=["loss"])
    for copy in (again, harmless[0]):
        with pytest.raises(InputError, match="the retrainings 0 and 9 have the same scores of target-0 for"):
            audit_recipe({**harmless, 9: copy})


def test_a_recipe_that_leaks_fails(leaking: dict[int, discreet.MembershipAudit]) -> None:
    found = audit_recipe(leaking)
    assert (found.verdict, found.judgement.reason_codes[0]) == ("fail", "leak")
    whole = found.parts[0]
    own = [one.targets[0].parts[0].auc for one in leaking.values()]
    assert whole.values == tuple(sure(one.value) for one in own)
    assert whole.auc.value == pytest.approx(sum(whole.values) / 3)
    # The errors over records are counted once, those over retrainings by their t: wider than either alone.
    halves = [sure(one.high) - sure(one.value) for one in own]
    assert sure(whole.auc.high) - sure(whole.auc.value) > sum(halves) / 3
    p = stats.ttest_1samp(whole.values, 0.5, alternative="greater").pvalue
    assert sure(whole.p.value) < p * len(found.parts)


def test_one_model_that_fails_takes_the_pass_away(harmless: dict[int, discreet.MembershipAudit],
                                                  leaking: dict[int, discreet.MembershipAudit]) -> None:
    found = audit_recipe({0: harmless[0], 1: harmless[1], 2: leaking[0]})
    assert found.verdict == "inconclusive"
    assert set(found.judgement.reason_codes) & {"unclear_seeds", "own_fail"} == {"unclear_seeds", "own_fail"}


def test_few_records_stay_few() -> None:
    audits = {seed: audit_of(seed, members=60, others=60, clean=60) for seed in range(2)}
    found = audit_recipe(audits)
    assert found.verdict == "inconclusive"
    assert "unclear_records" in found.judgement.reason_codes


def test_where_models_do_not_pass_the_recipe_does_not(harmless: dict[int, discreet.MembershipAudit]) -> None:
    """Without planted records or power of their own: the mean is within its tolerance all the same."""
    audits = {seed: replace(one, verdict="inconclusive", targets=tuple(
        replace(target, judgement=replace(target.judgement, verdict="inconclusive")) for target in one.targets))
        for seed, one in harmless.items()}
    found = audit_recipe(audits)
    assert (found.verdict, found.judgement.reason_codes[0]) == ("inconclusive", "few_pass")


def test_p_values_are_adjusted_over_parts(leaking: dict[int, discreet.MembershipAudit]) -> None:
    found = audit_recipe(leaking)
    raw = [one.p.value for one in (audit_recipe({seed: only(audit, name) for seed, audit in leaking.items()}).parts[0]
                                   for name in (part.name for part in found.parts))]
    assert [one.p.value for one in found.parts] == pytest.approx(list(holm([sure(one) for one in raw])))


def only(audit: discreet.MembershipAudit, name: str) -> discreet.MembershipAudit:
    """The audit with one part alone."""
    return replace(audit, targets=tuple(replace(one, parts=tuple(part for part in one.parts if part.name == name))
                                        for one in audit.targets))


def test_the_page_says_whose_verdict_it_is(leaking: dict[int, discreet.MembershipAudit]) -> None:
    found = audit_recipe(leaking)
    record = json.loads(json.dumps(found.record))
    assert (record["kind"], record["seeds"], len(record["models"])) == ("audit recipe", [0, 1, 2], 3)
    text = to_text(summarise(record))
    assert text.startswith("Fail: models of this recipe give away who was in their training set, over 3 retrainings")
    assert "This is a verdict on the recipe, not on one model" in " ".join(text.split())
    assert "above tolerance" in to_html(summarise(record))
    suite = ET.fromstring(to_junit(record))
    assert suite.attrib["failures"] == str(1 + sum(one.state == "exceeds" for one in found.parts))


def test_refused(harmless: dict[int, discreet.MembershipAudit]) -> None:
    with pytest.raises(InputError, match="1 audit of a recipe: expected at least 2 retrainings"):
        audit_recipe({0: harmless[0]})
    with pytest.raises(InputError, match="the audits of a recipe cover different parts"):
        audit_recipe({0: harmless[0], 1: only(harmless[1], "class 0")})
    assert isinstance(audit_recipe(harmless), RecipeAudit)
