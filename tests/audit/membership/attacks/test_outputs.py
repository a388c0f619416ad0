from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator
from scipy.stats import entropy as scipy_entropy
from tests.audit.membership.conftest import MakeView

from discreet.audit.membership.attack import Scale, View, attack_facts, attacks
from discreet.core.numbers import attack_name


def log_odds(p: float) -> float:
    return math.log(p / (1 - p))


@pytest.mark.parametrize(("name", "scale", "of_answer"), [
    ("loss", "p", lambda p, y: math.log(p[y])), ("loss", "logit", lambda p, y: log_odds(p[y])),
    ("confidence", "p", lambda p, y: max(p)), ("confidence", "logit", lambda p, y: log_odds(max(p))),
    ("confidence_true", "p", lambda p, y: p[y]), ("entropy", "p", lambda p, y: -scipy_entropy(p))])
def test_scores_are_the_definitions(make_view: MakeView, rng: Generator, name: str, scale: Scale,
                                    of_answer: Callable[[np.ndarray, int], float]) -> None:
    view = make_view(classes=4)
    scores = attacks[name].scores(view, scale, None, rng)
    for i, y in enumerate(view.label):
        one_by_one = [of_answer(np.exp(view.target[i, q]), int(y)) for q in range(2)]
        assert scores[i] == pytest.approx(sum(one_by_one) / 2, rel=1e-9, abs=1e-12)


def test_what_ranks_alike(make_view: MakeView, rng: Generator) -> None:
    def order(view: View, name: str) -> list[int]:
        return list(np.argsort(attacks[name].scores(view, "p", None, rng)))

    two, three = make_view(classes=2, queries=1), make_view(classes=3, queries=1)
    assert order(two, "entropy") == order(two, "confidence")
    assert order(three, "loss") == order(three, "confidence_true") != order(three, "confidence")
    facts = attack_facts(["confidence", "confidence_true"])
    assert [attack_name({"scale": "p", "reference_kind": None, **said}) for said in facts.values()] == [
        "confidence, top class, p scale", "confidence, true class, p scale"]
