from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.heavy import need
from tests.train.tasks import nothing, task
from tests.train.transformer.tiny import MAKERS, tiny_bert, tiny_llama

from discreet.core.errors import InputError, UsageError
from discreet.train import Data, load_fitted, recipe_of
from discreet.train.recipes.transformer import Transformer
from discreet.train.transformer import fitted
from discreet.train.transformer.batches import scored
from discreet.train.transformer.fitted import FittedTransformer
from discreet.train.transformer.loading import load_classifier
from discreet.train.transformer.schedule import SEARCHED

Fit = Callable[[str, str], FittedTransformer]
COMBINATIONS = [(kind, regime) for kind in MAKERS for regime in ("lora", "full")]
each = pytest.mark.parametrize(("kind", "regime"), COMBINATIONS)


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    need("peft")
    home = tmp_path_factory.mktemp("bases")
    still: dict[str, Any] = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return {kind: make(home / kind, layers=2, **(still if kind == "bert" else {})) for kind, make in MAKERS.items()}


def tiny_recipe(base: Path, regime: str, **more: Any) -> Transformer:
    return Transformer(**{"base": str(base), "regime": regime, "rank": 8, "epochs": 20, "batch": 8, "micro_batch": 4,
                          "learning_rate": 1e-2 if regime == "lora" else 3e-3, "max_tokens": 64, "prompt": "none",
                          "patience": None, **more})


@pytest.fixture(scope="module")
def fit(bases: dict[str, Path]) -> Fit:
    """A classifier that has learned 16 examples by heart, made once for each base and regime."""
    made: dict[tuple[str, str], FittedTransformer] = {}

    def of(kind: str, regime: str) -> FittedTransformer:
        if (kind, regime) not in made:
            data = task(16, 2)
            found = tiny_recipe(bases[kind], regime).fit(data, nothing(data), 2, np.random.SeedSequence(3))
            assert isinstance(found, FittedTransformer)
            made[kind, regime] = found
        return made[kind, regime]

    return of


def quick(base: Path, *, seed: int = 1, data: Data | None = None, **more: Any) -> FittedTransformer:
    """Two updates."""
    train = task(8, 2) if data is None else data
    recipe = tiny_recipe(base, **{"regime": "lora", "epochs": 2, "micro_batch": 8, **more})
    found = recipe.fit(train, task(6, 2, seed=99), 2, np.random.SeedSequence(seed))
    assert isinstance(found, FittedTransformer)
    return found


@each
def test_sixteen_examples_are_learned_by_heart(fit: Fit, kind: str, regime: str) -> None:
    data = task(16, 2)
    logits = fit(kind, regime).logits(data.inputs)
    assert (logits.argmax(axis=1) == data.labels).all()
    margin = (logits[np.arange(16), data.labels] - logits[np.arange(16), 1 - data.labels]).min()
    assert margin > 0.5


@each
def test_what_was_saved_scores_the_same(fit: Fit, kind: str, regime: str, tmp_path: Path) -> None:
    model, texts = fit(kind, regime), task(7, 2, seed=5).inputs
    model.save(tmp_path / "model")
    again = load_fitted(tmp_path / "model", model.recipe)
    assert again.logits(texts).tobytes() == model.logits(texts).tobytes()
    assert again.hidden(texts).tobytes() == model.hidden(texts).tobytes()
    assert dict(again.facts) == dict(model.facts)
    names = sorted(path.name for path in (tmp_path / "model").iterdir())
    assert names == ["model.safetensors", "recipe.json"]


@each
def test_hidden_states_are_what_the_head_is_given(fit: Fit, kind: str, regime: str) -> None:
    model, texts = fit(kind, regime), task(5, 2, seed=6).inputs
    trained = model.model.trained()
    weight, bias = (next((one.detach().double().numpy() for name, one in trained.items() if ".".join(
        name.split(".")[-3:]).replace("modules_to_save.default.", "").endswith(part)
        and ("score" in name or "classifier" in name)), None) for part in ("weight", "bias"))
    assert weight is not None
    expected = model.hidden(texts) @ weight.T + (0.0 if bias is None else bias)
    np.testing.assert_allclose(model.logits(texts), expected, rtol=1e-4, atol=1e-4)
    assert model.hidden([]).shape == (0, model.hidden(texts).shape[1])
    assert model.logits(texts).dtype == np.float64
    assert (model.logits(texts).astype(np.float32) == model.logits(texts)).all()


@pytest.mark.parametrize("kind", list(MAKERS))
def test_lora_leaves_the_base_untouched(bases: dict[str, Path], fit: Fit, kind: str) -> None:
    fresh = load_classifier(bases[kind], n_classes=2, regime="lora", rank=8, seeds=np.random.SeedSequence(8))
    before = {name: weights for name, weights in fresh.model.named_parameters()
              if not weights.requires_grad and "original_module" not in name}
    after = dict(fit(kind, "lora").model.model.named_parameters())
    assert len(before) > 10
    assert all(bool((after[name] == weights).all()) for name, weights in before.items())
    drawn = {name: weights for name, weights in fresh.trained().items() if "lora_B" in name}
    assert drawn
    assert all(not bool(weights.any()) for weights in drawn.values())
    assert all(bool(after[name].any()) for name in drawn)


def test_other_seeds_start_elsewhere(bases: dict[str, Path]) -> None:
    """With a rate of nearly nothing, what is trained is what was drawn."""
    first, same, other = (quick(bases["llama"], seed=seed, learning_rate=1e-12).model.trained() for seed in (1, 1, 2))
    for part in ("lora_A", "score"):
        names = [name for name in first if part in name]
        assert names
        for name in names:
            assert bool((first[name] == same[name]).all())
            assert not bool((first[name] - other[name]).abs().max() < 1e-3)


def test_facts_say_what_was_done(bases: dict[str, Path]) -> None:
    data = task(8, 2).take(np.array([0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0]))
    facts = quick(bases["llama"], data=data, learning_rate=None, max_tokens=40, eval_every=3).facts
    assert (facts["steps"], facts["planned_steps"], facts["stopped_early"]) == (4, 4, False)
    assert [step for step, _ in facts["validation_curve"]] == [3, 4]
    assert facts["best_step"] == min(facts["validation_curve"], key=lambda one: one[1])[0]
    assert (facts["learning_rate"], facts["learning_rate_by"]) == (2e-4, "nearest row of the paper's Table 4")
    assert (facts["training_rows"], facts["distinct_rows"]) == (11, 8)
    assert 0 < facts["token_share"] < 1
    assert (facts["family"], facts["targets"], facts["layers"]) == ("llama", ["q_proj", "v_proj"], 2)
    assert json.loads(json.dumps(dict(facts))) == dict(facts)


def test_options_reach_the_model(bases: dict[str, Path]) -> None:
    found = quick(bases["llama"], layers=1, rank=3, alpha=5.0, targets=("k_proj",), dropout=0.25, prompt="safety",
                  max_tokens=90, dtype="bfloat16", decay=0.5)
    config = found.model.model.peft_config["default"]
    assert (config.r, config.lora_alpha, config.lora_dropout) == (3, 5.0, 0.25)
    assert (found.facts["layers"], found.facts["targets"], found.facts["dtype"]) == (1, ["k_proj"], "bfloat16")
    assert (found.reader.prompt.name, found.reader.max_tokens) == ("safety", 90)
    assert np.isfinite(found.logits(["Yes."])).all()


@pytest.mark.parametrize("kind", list(MAKERS))
def test_a_score_does_not_feel_its_company(
    bases: dict[str, Path], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """In float32 on a CPU not in one bit, as each text is computed alone; in bfloat16 by no more than rounding."""
    texts = [" ".join(text.split()[: 1 + place]) for place, text in enumerate(task(6, 2, seed=6).inputs)]
    texts += [texts[2], texts[0], texts[2]]
    sizes: list[int] = []

    def watched(rows: Any, size: int, *more: Any) -> Any:
        sizes.append(size)
        return scored(rows, size, *more)

    monkeypatch.setattr(fitted, "scored", watched)
    for dtype, size in (("float32", 1), ("bfloat16", 8)):
        model = quick(bases[kind], dtype=dtype, micro_batch=8)
        sizes.clear()
        together, alone = model.logits(texts), np.concatenate([model.logits([text]) for text in texts])
        assert set(sizes) == {size}
        assert np.abs(together - together[0]).max() > 0.1
        if dtype == "float32":
            assert together.tobytes() == alone.tobytes()
        else:
            np.testing.assert_allclose(together, alone, rtol=0, atol=0.03)


def test_a_search_keeps_the_rate_of_the_lowest_validation_loss(bases: dict[str, Path]) -> None:
    options: dict[str, Any] = {"layers": 1, "epochs": 6, "micro_batch": 8, "regime": "lora"}
    found = quick(bases["bert"], learning_rate="search", **options)
    tried = found.facts["searched"]
    assert len(tried) == len(SEARCHED)
    best = min(tried, key=lambda one: one[1])
    assert (found.facts["learning_rate"], found.facts["learning_rate_by"]) == (best[0], "search")
    assert len({loss for _, loss in tried}) == len(SEARCHED)
    alone = quick(bases["bert"], learning_rate=best[0], **options)
    texts = task(3, 2, seed=7).inputs
    assert alone.logits(texts).tobytes() == found.logits(texts).tobytes()


def test_a_caller_in_inference_mode_trains_the_same(bases: dict[str, Path]) -> None:
    torch, texts = need("torch"), task(3, 2, seed=7).inputs
    with torch.inference_mode():
        inside = quick(bases["bert"], regime="full").logits(texts)
    assert inside.tobytes() == quick(bases["bert"], regime="full").logits(texts).tobytes()


def test_trainings_in_threads_do_not_draw_from_each_other(bases: dict[str, Path]) -> None:
    def logits(seed: int) -> bytes:
        return quick(bases["bert"], seed=seed, dropout=0.2, epochs=4).logits(["Yes."]).tobytes()

    alone = [logits(seed) for seed in (1, 2, 3)]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(logits, (1, 2, 3))) == alone


def test_a_model_of_another_base_is_refused(tmp_path: Path) -> None:
    """The folder of the base holds other weights, another tokeniser, or another shape than when it was trained."""
    need("peft")
    base = tiny_bert(tmp_path / "base", layers=1)
    for regime in ("lora", "full"):
        quick(base, regime=regime).save(tmp_path / regime)
    shutil.copytree(base, tmp_path / "kept")
    others: list[tuple[str, str, dict[str, Any]]] = [
        ("lora", "other weights", {"seed": 9, "layers": 1}),
        ("full", "have an unexpected|lack", {"layers": 2}),
        ("full", "of shape", {"layers": 1, "intermediate_size": 40}),
    ]
    for saved, said, options in others:
        other = tiny_bert(tmp_path / "other", **options)
        for name in ("config.json", "model.safetensors"):
            shutil.copy(other / name, base / name)
        _refused(tmp_path / saved, said)
    shutil.rmtree(base)
    tiny_llama(base, layers=1)
    for saved in ("lora", "full"):
        _refused(tmp_path / saved, "reads texts in another way")
    shutil.rmtree(base)
    _refused(tmp_path / "lora", "no folder")
    shutil.copytree(tmp_path / "kept", base)
    for saved in ("lora", "full"):
        assert load_fitted(tmp_path / saved).logits(["Yes."]).shape == (1, 2)


def _refused(folder: Path, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        load_fitted(folder)
    assert "\n" not in str(caught.value)


def test_a_token_without_an_embedding_is_refused(tmp_path: Path) -> None:
    need("peft")
    base = tiny_bert(tmp_path / "base", layers=1, vocab_size=120)
    with pytest.raises(InputError, match=r"its tokeniser has the token .* its model only 120 tokens") as caught:
        quick(base)
    assert "\n" not in str(caught.value)


def test_validation_rows_are_needed_to_stop_by_them(bases: dict[str, Path]) -> None:
    data = task(8, 2)
    for options in ({"patience": 3}, {"learning_rate": "search"}):
        with pytest.raises(InputError, match="need validation rows") as caught:
            tiny_recipe(bases["bert"], "full", **options).fit(data, nothing(data), 2, np.random.SeedSequence(0))
        assert "\n" not in str(caught.value)


def test_a_spec_says_every_option() -> None:
    found = recipe_of("transformer:base=minilm,regime=full,rank=16,learning_rate=search,layers=2,patience=none")
    assert found == Transformer(regime="full", rank=16, learning_rate="search", layers=2, patience=None)
    assert recipe_of("transformer:learning_rate=5e-4,targets=query+value") == Transformer(
        learning_rate=5e-4, targets=("query", "value"))
    assert recipe_of("transformer:prompt=none,learning_rate=none") == Transformer(prompt="none")


@pytest.mark.parametrize("options", [
    {"base": ""}, {"rank": 0}, {"alpha": 0.0}, {"dropout": 1.0}, {"targets": ()}, {"targets": ("query",),
     "regime": "full"}, {"layers": 0}, {"learning_rate": 0.0}, {"learning_rate": -1e-3}, {"learning_rate": "quick"},
    {"learning_rate": float("nan")}, {"batch": 20}, {"epochs": 0}, {"warmup": 2.0}, {"max_tokens": 0},
    {"prompt": "harm"}, {"dtype": "float16"}, {"regime": "half"}, {"patience": 0}, {"decay": -0.1},
])
def test_impossible_options_are_refused_in_one_line(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"the recipe 'transformer': .*expected") as caught:
        recipe_of({"name": "transformer", **options})
    assert "\n" not in str(caught.value)
    assert any(name in str(caught.value) for name in options)
