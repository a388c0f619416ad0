from __future__ import annotations

from typing import Any

import pytest
from tests.errors import refused

from discreet.audit.defences.candidates import DEFAULTS, KINDS, defences_of
from discreet.audit.train import recipe_of
from discreet.core.errors import UsageError


def test_a_defence_is_a_recipe_with_an_option_or_other_rows() -> None:
    words = "early-stopping=7,weight-decay,weight-decay=0.5,label-smoothing=0.2,deduplicate"
    found = {one.name: one for one in defences_of(words, "tfidf-mlp:hidden=4")}
    assert list(found) == ["early stopping, patience 7", "weight decay 0.001", "weight decay 0.5",
                           "label smoothing 0.2", "one of near-duplicates"]
    plain = recipe_of("tfidf-mlp:hidden=4").to_json()
    changed: list[dict[str, Any]] = [{"patience": 7}, {"decay": 0.001}, {"decay": 0.5}, {"smoothing": 0.2}, {}]
    assert [one.recipe for one in found.values()] == [{**plain, **one} for one in changed]
    assert [one.deduplicate for one in found.values()] == [False] * 4 + [True]


def test_dp_sgd_takes_the_private_recipe_with_the_options_that_were_given() -> None:
    [strict, usual] = defences_of("dp-sgd=1.5,dp-sgd", "tfidf-mlp:columns=512,steps=7")
    assert (strict.name, usual.name) == ("DP-SGD, ε 1.5", "DP-SGD, ε 8")
    assert strict.recipe == recipe_of("private-tfidf-mlp:columns=512,epsilon=1.5").to_json()
    assert [one.recipe["epsilon"] for one in defences_of("dp-sgd=2", "private-head:batch=64")] == [2.0]


def test_the_usual_ones_are_those_that_the_recipe_has_and_does_not_have_on(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opacus")

    def names(recipe: str) -> list[str]:
        return [one.name for one in defences_of(None, recipe)]

    assert len(names("tfidf-mlp")) == len(DEFAULTS.split(",")) - 2  # A perceptron has a decay, and no C.
    assert names("tfidf-mlp:patience=2,decay=0.1") == ["label smoothing 0.1", "one of near-duplicates", "DP-SGD, ε 8"]
    monkeypatch.setattr("discreet.audit.defences.candidates.find_spec", lambda name: None)
    assert names("tfidf-mlp")[-1] == "one of near-duplicates"
    assert names("tfidf-linear") == ["L2 penalty, C 0.1", "L2 penalty, C 0.01", "one of near-duplicates"]
    assert names("tfidf-linear:C=0.05") == ["L2 penalty, C 0.01", "one of near-duplicates"]
    # Fine-tuning stops early as it is.
    assert names("transformer")[0] == "weight decay 0.001"
    assert set(DEFAULTS.replace("=0.01", "").split(",")) == set(KINDS)


@pytest.mark.parametrize(("words", "recipe", "said"), [
    ("weigth-decay", "tfidf-mlp", "there is no defence 'weigth-decay'; did you mean 'weight-decay'"),
    ("", "tfidf-mlp", "there is no defence ''; expected some of deduplicate, dp-sgd, early"),
    ("weight-decay=much", "tfidf-mlp", "strength 'much'; expected a number above 0"),
    ("weight-decay=0", "tfidf-mlp", "strength '0'; expected a number above 0"),
    ("early-stopping=1.5", "tfidf-mlp", "strength '1.5'; expected a whole number above 0"),
    ("deduplicate=2", "tfidf-mlp", "strength '2'; expected no number"),
    ("weight-decay", "tfidf-linear", "sets the option 'decay', which the recipe 'tfidf-linear' does not have"),
    ("penalty", "tfidf-mlp", "sets the option 'C', which the recipe 'tfidf-mlp' does not have"),
    ("penalty=5", "tfidf-linear", "'penalty=5' is weaker than the recipe, which has C=1; expected a smaller number"),
    ("penalty=1", "tfidf-linear", "the recipe has C=1 as it is"),
    ("dp-sgd=0", "tfidf-mlp", "strength '0'; expected a number above 0"),
    ("dp-sgd", "tfidf-linear", "'dp-sgd' is not there for the recipe 'tfidf-linear'; expected one of cnn, head, mlp"),
    ("dp-sgd=8", "private-head", "the recipe has epsilon=8 as it is"),
    ("weight-decay=0.1", "tfidf-mlp:decay=0.1", "the recipe has decay=0.1 as it is"),
    ("label-smoothing=2", "tfidf-mlp", "smoothing is 2.0: expected a share"),
    ("deduplicate,deduplicate", "tfidf-mlp", "'one of near-duplicates' is there twice"),
    ("deduplicate", "tfidf-nothing", "tfidf-nothing"),
])
def test_what_cannot_be_is_refused(words: str, recipe: str, said: str) -> None:
    with refused(UsageError, said):
        defences_of(words, recipe)
