"""What every recipe promises, walked over the registry: whoever adds one gets these tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.audit.train.tasks import FILLER, TOPICS, nothing, task
from tests.errors import refused

from discreet.audit.engine.task import versions_of
from discreet.audit.train import Data, Fitted, ManyRecipe, Recipe, load_fitted, recipe_of
from discreet.audit.train.base import recipes
from discreet.audit.train.heads import hashed_counts
from discreet.core.errors import InputError, UsageError
from discreet.core.files import refuse_text

N = 24
PRIVATE: Mapping[str, Any] = {"epsilon": None, "noise": 0.3, "delta": 0.01}
"""So little noise that a dozen rows can be learnt."""


def tiny_transformer(folder: Path) -> dict[str, Any]:
    from tests.audit.train.transformer.tiny import tiny_bert

    return {"base": str(tiny_bert(folder / "bert", layers=1)), "regime": "full", "epochs": 20, "batch": 8,
            # Eight validation rows choose no checkpoint.
            "eval_every": 1000, "micro_batch": 8, "learning_rate": 0.005, "max_tokens": 32}


def tiny_private(folder: Path) -> dict[str, Any]:
    from tests.audit.train.transformer.tiny import tiny_bert

    return {"base": str(tiny_bert(folder / "bert", layers=1)), "rank": 4, "epochs": 20, "batch": 8, "rate": 0.03,
            "max_tokens": 32, **PRIVATE, "noise": 0.05}


TINY: Mapping[str, Callable[[Path], dict[str, Any]]] = {
    "head": lambda folder: {"encoder": "hashed", "hidden": 4, "steps": 20, "rate": 0.05},
    "tfidf-mlp": lambda folder: {"columns": 256, "hidden": 4, "steps": 30, "rate": 0.05},
    "private-head": lambda folder: {"encoder": "hashed", "hidden": 4, "epochs": 20, "batch": 8, "rate": 0.05,
                                    **PRIVATE},
    "private-tfidf-mlp": lambda folder: {"columns": 256, "hidden": 4, "epochs": 30, "batch": 8, "rate": 0.05,
                                         **PRIVATE},
    "tfidf-linear": lambda folder: {"columns": 256, "C": 10.0},
    "transformer": tiny_transformer,
    "private-transformer": tiny_private,
    "mlp": lambda folder: {"hidden": 8, "layers": 1, "epochs": 15, "batch": 8, "rate": 0.01},
    "cnn": lambda folder: {"width": 4, "hidden": 8, "epochs": 15, "batch": 8, "rate": 0.01},
    "resnet18": lambda folder: {"width": 2, "epochs": 5, "batch": 8, "rate": 0.01},
    "private-mlp": lambda folder: {"hidden": 8, "layers": 1, "epochs": 20, "batch": 8, "rate": 0.02, **PRIVATE},
    "private-cnn": lambda folder: {"width": 4, "hidden": 8, "epochs": 20, "batch": 8, "rate": 0.02, **PRIVATE},
    "rnn": lambda folder: {"vocabulary": 400, "tokens": 12, "embedding": 8, "hidden": 8, "epochs": 20, "batch": 8,
                           "rate": 0.03},
    "token-transformer": lambda folder: {"vocabulary": 400, "tokens": 12, "width": 8, "heads": 2, "epochs": 15,
                                         "batch": 8, "rate": 0.02},
}
"""Options for a quick fit; a recipe that is not named here is tried with its defaults."""

WITHOUT_CHANCE = {"tfidf-linear"}
"""Recipes with one optimum whatever the seed."""

WITHOUT_HIDDEN = {"tfidf-linear"}
"""Recipes whose models have no layer before the head."""

ROWS: Mapping[str, tuple[int, ...]] = {"mlp": (64,), "private-mlp": (64,), "cnn": (1, 8, 8), "private-cnn": (1, 8, 8),
                                         "resnet18": (1, 16, 16)}
"""Recipes that take arrays, and the form of a row: the counts of a text's words."""

classes = pytest.mark.parametrize("n_classes", [2, 3])


@pytest.fixture(scope="module", params=list(recipes))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def recipe(name: str, tmp_path_factory: pytest.TempPathFactory) -> Recipe:
    options = TINY[name](tmp_path_factory.mktemp("tiny")) if name in TINY else {}
    return recipe_of({"name": name, **options})


Fit = Callable[..., Fitted]


def form(name: str, texts: Sequence[str]) -> tuple[str, ...] | NDArray[Any]:
    """Texts as the recipe takes them."""
    if name not in ROWS:
        return tuple(texts)
    counts = hashed_counts(texts, int(np.prod(ROWS[name]))).toarray()
    return np.asarray(counts.reshape(len(texts), *ROWS[name]))


def posed(name: str, n: int, n_classes: int, seed: int = 0) -> Data:
    """`task` in the form that the recipe takes."""
    made = task(n, n_classes, seed)
    return Data(form(name, made.inputs), made.labels)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def fit(recipe: Recipe) -> Fit:
    """A fit of each problem and seed, made once."""
    made: dict[tuple[int, int], Fitted] = {}

    def of(n_classes: int = 2, seed: int = 1) -> Fitted:
        if (n_classes, seed) not in made:
            made[n_classes, seed] = fresh(recipe, posed(recipe.name, N, n_classes), n_classes, seed)
        return made[n_classes, seed]

    return of


def fresh(recipe: Recipe, train: Data, n_classes: int = 2, seed: int = 1) -> Fitted:
    return recipe.fit(train, posed(recipe.name, 8, n_classes, seed=99), n_classes, np.random.SeedSequence(seed))


def kept(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_says_what_it_is(name: str, recipe: Recipe) -> None:
    assert recipe.name == name
    said = json.loads(json.dumps(recipe.to_json()))
    assert said["name"] == name
    assert recipe_of(said) == recipe
    assert recipe_of(name).to_json()["name"] == name
    assert "discreet.audit.train" in recipe.libraries
    versions_of(recipe.libraries)
    assert getattr(recipe, "takes_texts", True) == (name not in ROWS)


@classes
def test_beats_chance_where_it_was_trained(name: str, fit: Fit, n_classes: int) -> None:
    train = posed(name, N, n_classes)
    logits = fit(n_classes).logits(train.inputs)
    assert logits.shape == (N, n_classes)
    assert logits.dtype == np.float64
    assert np.isfinite(logits).all()
    assert (logits.argmax(axis=1) == train.labels).mean() > 1 / n_classes + 0.25


def test_the_same_seed_gives_the_same_bytes(name: str, fit: Fit, recipe: Recipe, tmp_path: Path) -> None:
    train = posed(name, N, 2)
    seeds = np.random.SeedSequence(1)
    again = recipe.fit(train, posed(name, 8, 2, seed=99), 2, seeds)
    assert seeds.n_children_spawned == 0
    assert again.logits(train.inputs).tobytes() == fit().logits(train.inputs).tobytes()
    assert json.dumps(dict(again.facts)) == json.dumps(dict(fit().facts))
    fit().save(tmp_path / "one")
    again.save(tmp_path / "two")
    assert kept(tmp_path / "one") == kept(tmp_path / "two")
    other = fit(seed=2).logits(train.inputs)
    assert (other.tobytes() == fit().logits(train.inputs).tobytes()) == (name in WITHOUT_CHANCE)


def test_a_score_does_not_depend_on_its_company(name: str, fit: Fit) -> None:
    texts = [str(text) for text in task(9, 3, seed=5).inputs]
    texts[3] = " ".join([texts[3]] * 3)
    given = form(name, texts)
    whole = fit().logits(given)
    alone = np.concatenate([fit().logits(given[row : row + 1]) for row in range(len(texts))])
    turned = fit().logits(given[::-1])[::-1]
    assert whole.tobytes() == alone.tobytes() == np.ascontiguousarray(turned).tobytes()
    assert fit().logits(given[:0]).shape == (0, 2)


def test_hidden_states_are_rows_or_refused(fit: Fit, recipe: Recipe) -> None:
    texts = posed(recipe.name, 5, 2, seed=6).inputs
    if recipe.name in WITHOUT_HIDDEN:
        with pytest.raises(UsageError, match="no representation"):
            fit().hidden(texts)
        return
    hidden = fit().hidden(texts)
    assert hidden.ndim == 2
    assert hidden.shape[0] == 5
    assert hidden.dtype == np.float64
    assert np.isfinite(hidden).all()
    assert hidden[2:3].tobytes() == fit().hidden(texts[2:3]).tobytes()
    assert np.ptp(hidden, axis=0).max() > 0


def test_facts_hold_no_text(fit: Fit) -> None:
    facts = dict(fit().facts)
    written = json.dumps(facts, allow_nan=False)
    refuse_text(facts)
    spoken = [*FILLER, *(word for topic in TOPICS for word in " ".join(topic).split())]
    assert [word for word in spoken if word in written] == []
    assert 0 <= facts["best_step"] <= facts["steps"]


@classes
def test_what_was_saved_scores_the_same(fit: Fit, recipe: Recipe, n_classes: int, tmp_path: Path) -> None:
    texts = posed(recipe.name, 7, n_classes, seed=7).inputs
    fit(n_classes).save(tmp_path / "model")
    again = load_fitted(tmp_path / "model")
    assert again.logits(texts).tobytes() == fit(n_classes).logits(texts).tobytes()
    assert dict(again.facts) == dict(fit(n_classes).facts)
    spoken = [word.encode() for topic in TOPICS for word in topic[0].split()]
    manifest = (tmp_path / "model" / "recipe.json").read_bytes()
    assert not any(word in manifest for word in spoken)
    assert load_fitted(tmp_path / "model").logits(texts[:0]).shape == (0, n_classes)


def test_a_spoilt_folder_is_refused(fit: Fit, tmp_path: Path) -> None:
    fit().save(tmp_path / "model")
    largest = max((p for p in (tmp_path / "model").iterdir() if p.is_file()), key=lambda p: p.stat().st_size)
    whole = largest.read_bytes()
    for spoilt in (whole[: len(whole) // 2], whole[:-1] + bytes([whole[-1] ^ 1])):
        largest.write_bytes(spoilt)
        with refused(InputError, "model"):
            load_fitted(tmp_path / "model")


def test_a_repeated_row_is_repeated_data(fit: Fit, recipe: Recipe) -> None:
    """A record with the wrong label is believed more when it stands there sixteen times."""
    train = posed(recipe.name, N, 2)
    labels = train.labels.copy()
    labels[0] = 1 - labels[0]
    wrong = Data(train.inputs, labels)
    rows = np.arange(N)
    once, often = (fresh(recipe, wrong.take(np.concatenate([rows, np.zeros(k, dtype=np.int64)]))) for k in (0, 15))
    believed = [float(np.diff(model.logits(train.inputs[:1])[0])[0]) * (2 * labels[0] - 1) for model in (once, often)]
    assert believed[1] > believed[0]


def test_many_at_once_are_as_one_by_one(recipe: Recipe) -> None:
    if not isinstance(recipe, ManyRecipe):
        assert not hasattr(recipe, "fit_many")
        return
    train, checks = posed(recipe.name, N, 2), posed(recipe.name, 8, 2, seed=99)
    weights = np.random.default_rng(3).integers(0, 3, (3, N))
    seeds = [np.random.SeedSequence(5, spawn_key=(m,)) for m in range(3)]
    many = recipe.fit_many(train, weights, checks, 2, seeds)
    texts = posed(recipe.name, 20, 2, seed=8).inputs
    for model, row, seed in zip(many, weights, seeds, strict=True):
        alone = recipe.fit(train.take(np.repeat(np.arange(N), row)), checks, 2, seed)
        np.testing.assert_allclose(model.logits(texts), alone.logits(texts), rtol=0, atol=1e-5)
        assert dict(model.facts) == dict(alone.facts)
    apart = np.abs(many[0].logits(texts) - many[1].logits(texts)).max()
    assert apart > 1e-3


def test_impossible_data_are_refused_in_one_line(recipe: Recipe) -> None:
    name = recipe.name
    train, three = posed(name, 6, 2), posed(name, 6, 3)
    seeds = np.random.SeedSequence(0)
    cases: list[tuple[Data, Data, int, type[Exception], str]] = [
        (train, nothing(train), 3, InputError, "no training row has the label 2"),
        (nothing(train), nothing(train), 2, InputError, "no training row has the label 0, 1"),
        (three, nothing(train), 2, InputError, "hold the label 2"),
        (train, three, 2, InputError, "hold the label 2"),
        (train, nothing(train), 1, UsageError, "n_classes is 1"),
    ]
    if isinstance(train.inputs, tuple):
        empty = Data((*train.inputs[:5], " "), train.labels)
        cases.append((empty, nothing(train), 2, InputError, "row 5 is empty"))
    for given, checks, k, error, said in cases:
        with refused(error, said):
            recipe.fit(given, checks, k, seeds)


def test_inputs_of_another_kind_are_refused(recipe: Recipe) -> None:
    rows = Data(np.random.default_rng(0).normal(size=(6, 3)), np.arange(6) % 2)
    data, said = (task(6, 2), "was given texts") if recipe.name in ROWS else (
        rows, "takes texts and was given an array")
    with refused(UsageError, said):
        recipe.fit(data, nothing(data), 2, np.random.SeedSequence(0))
