from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.membership.attacks.reference import Reference
from discreet.audit.membership.requirements import in_models, lacking, must_have, out_models
from discreet.audit.membership.view import References, View
from discreet.scores.table import ReferenceKind

CODES = np.array([[1, 0, -1], [0, 0, -1]], dtype=np.int8)


def view(member: np.ndarray, judged: list[int], kind: ReferenceKind = "population") -> View:
    log_p = np.log(np.full((2, 3, 1, 2), 0.5))
    return View(log_p[0], np.zeros(3, dtype=np.int64), {kind: References(log_p, member)},
                np.zeros(0, dtype=np.int64), np.array(judged, dtype=np.int64))


@pytest.mark.parametrize(("kind", "expected"), [
    ("population", [[False, True, False], [True, True, False]]),
    ("neutral", [[False, True, False], [True, True, False]]),
    ("paired", [[True, True, True], [True, True, True]]),
])
def test_who_stands_for_not_trained(kind: ReferenceKind, expected: list[list[bool]]) -> None:
    references = References(np.zeros((2, 3, 1, 2)), CODES)
    assert out_models(references, kind).tolist() == expected
    assert in_models(references).tolist() == [[True, False, False], [False, False, False]]


@pytest.mark.parametrize(("judged", "n_in", "n_out", "enough"), [
    ([0], 1, 1, True), ([1], 1, 1, False), ([1], 0, 2, True), ([2], 0, 1, False), ([2, 1], 0, 2, True),
    ([], 1, 1, True), ([], 2, 0, False), ([2], 0, 0, True),
])
def test_one_judged_example_that_has_them_is_enough(judged: list[int], n_in: int, n_out: int, enough: bool) -> None:
    clause = lacking(Reference(), view(CODES, judged), "population", n_in=n_in, n_out=n_out)
    assert (clause is None) == enough


def test_clauses_name_what_is_asked_for() -> None:
    asked = view(CODES, [2])
    assert lacking(Reference(), asked, "population", n_out=1) == (
        "it needs, of the population references of an example, at least 1 that did not train on it, "
        "and no judged example has them")
    assert lacking(Reference(), asked, "neutral") == "it needs neutral references and none were brought"
    assert lacking(Reference(), asked, None) == (
        "it works with paired or neutral or population references and was asked for none")


def test_a_run_that_cannot_be_is_refused_with_the_clause() -> None:
    with pytest.raises(ValueError, match="none were brought"):
        must_have(Reference(), view(CODES, [1]), "p", "neutral")
    with pytest.raises(ValueError, match="expected one of p, logit"):
        must_have(Reference(), view(CODES, [1]), "log", "population")  # type: ignore[arg-type]
    must_have(Reference(), view(CODES, [1]), "p", "population")
