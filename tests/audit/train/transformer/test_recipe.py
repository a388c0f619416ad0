from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.audit.train.tasks import nothing, task
from tests.audit.train.transformer.tiny import MAKERS, tiny_bert, tiny_llama
from tests.errors import refused
from tests.heavy import need

from discreet.audit.train import Data, load_fitted, recipe_of
from discreet.audit.train.recipes import transformer
from discreet.audit.train.recipes.transformer import FittedTransformer, Transformer
from discreet.audit.train.transformer.loop import SEARCHED
from discreet.audit.train.transformer.reading import scored
from discreet.core.errors import InputError, UsageError


def tiny_recipe(base: Path, regime: str, **more: Any) -> Transformer:
    return Transformer(**{"base": str(base), "regime": regime, "rank": 8, "epochs": 20, "batch": 8, "micro_batch": 4,
                          "learning_rate": 1e-2 if regime == "lora" else 3e-3, "max_tokens": 64, "prompt": "none",
                          "patience": None, "layers": 2, **more})


def quick(base: Path, *, seed: int = 1, data: Data | None = None, **more: Any) -> FittedTransformer:
    """Two updates."""
    train = task(8, 2) if data is None else data
    recipe = tiny_recipe(base, **{"regime": "lora", "epochs": 2, "micro_batch": 8, **more})
    found = recipe.fit(train, task(6, 2, seed=99), 2, np.random.SeedSequence(seed))
    assert isinstance(found, FittedTransformer)
    return found


@pytest.mark.parametrize("regime", ["lora", "full"])
@pytest.mark.parametrize("kind", list(MAKERS))
def test_sixteen_examples_are_learned_by_heart_and_saved(tiny: dict[str, Path], kind: str, regime: str, tmp_path: Path
                                                         ) -> None:
    data, texts = task(16, 2), task(7, 2, seed=5).inputs
    recipe = tiny_recipe(tiny[kind], regime)
    model = recipe.fit(data, nothing(data), 2, np.random.SeedSequence(3))
    logits = model.logits(data.inputs)
    assert (logits[np.arange(16), data.labels] - logits[np.arange(16), 1 - data.labels]).min() > 0.5
    assert model.hidden([]).shape == (0, 32)
    assert (logits.astype(np.float32) == logits).all()
    model.save(tmp_path / "model")
    again = load_fitted(tmp_path / "model")
    assert again.logits(texts).tobytes() == model.logits(texts).tobytes()
    assert again.hidden(texts).tobytes() == model.hidden(texts).tobytes()
    assert dict(again.facts) == dict(model.facts)
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["model.safetensors", "recipe.json"]


def test_facts_say_what_was_done(tiny: dict[str, Path]) -> None:
    data = task(8, 2).take(np.array([0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0]))
    facts = quick(tiny["llama"], data=data, learning_rate=None, max_tokens=40, eval_every=3).facts
    assert (facts["steps"], facts["planned_steps"], facts["stopped_early"]) == (4, 4, False)
    assert [step for step, _ in facts["validation_curve"]] == [3, 4]
    assert facts["best_step"] == min(facts["validation_curve"], key=lambda one: one[1])[0]
    assert (facts["learning_rate"], facts["learning_rate_by"]) == (2e-4, "nearest row of the paper's Table 4")
    assert (facts["training_rows"], facts["distinct_rows"]) == (11, 8)
    assert 0 < facts["token_share"] < 1
    assert (facts["family"], facts["targets"], facts["layers"]) == ("llama", ["q_proj", "v_proj"], 2)
    assert json.loads(json.dumps(dict(facts))) == dict(facts)


def test_options_reach_the_model(tiny: dict[str, Path]) -> None:
    found = quick(tiny["llama"], layers=1, rank=3, alpha=5.0, targets=("k_proj",), dropout=0.25, prompt="safety",
                  max_tokens=90, dtype="bfloat16", decay=0.5)
    config = found.model.model.peft_config["default"]
    assert (config.r, config.lora_alpha, config.lora_dropout) == (3, 5.0, 0.25)
    assert (found.facts["layers"], found.facts["targets"], found.facts["dtype"]) == (1, ["k_proj"], "bfloat16")
    assert (found.reader.prompt.name, found.reader.max_tokens) == ("safety", 90)
    assert np.isfinite(found.logits(["Yes."])).all()


@pytest.mark.parametrize("kind", list(MAKERS))
def test_a_score_does_not_feel_its_company(
    tiny: dict[str, Path], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """In float32 on a CPU not in one bit, as each text is computed alone; in bfloat16 by no more than rounding."""
    texts = [" ".join(text.split()[: 1 + place]) for place, text in enumerate(task(6, 2, seed=6).inputs)]
    texts += [texts[2], texts[0], texts[2]]
    sizes: list[int] = []

    def watched(rows: Any, size: int, *more: Any) -> Any:
        sizes.append(size)
        return scored(rows, size, *more)

    monkeypatch.setattr(transformer, "scored", watched)
    for dtype, size in (("float32", 1), ("bfloat16", 8)):
        model = quick(tiny[kind], dtype=dtype, micro_batch=8)
        sizes.clear()
        together, alone = model.logits(texts), np.concatenate([model.logits([text]) for text in texts])
        assert set(sizes) == {size}
        assert np.abs(together - together[0]).max() > 0.1
        if dtype == "float32":
            assert together.tobytes() == alone.tobytes()
        else:
            np.testing.assert_allclose(together, alone, rtol=0, atol=0.03)


def test_a_search_keeps_the_rate_of_the_lowest_validation_loss(tiny: dict[str, Path]) -> None:
    options: dict[str, Any] = {"layers": 1, "epochs": 6, "micro_batch": 8, "regime": "lora"}
    found = quick(tiny["bert"], learning_rate="search", **options)
    tried = found.facts["searched"]
    assert len(tried) == len(SEARCHED)
    best = min(tried, key=lambda one: one[1])
    assert (found.facts["learning_rate"], found.facts["learning_rate_by"]) == (best[0], "search")
    assert len({loss for _, loss in tried}) == len(SEARCHED)
    alone = quick(tiny["bert"], learning_rate=best[0], **options)
    texts = task(3, 2, seed=7).inputs
    assert alone.logits(texts).tobytes() == found.logits(texts).tobytes()


def test_a_caller_in_inference_mode_trains_the_same(tiny: dict[str, Path]) -> None:
    torch, texts = need("torch"), task(3, 2, seed=7).inputs
    with torch.inference_mode():
        inside = quick(tiny["bert"], regime="full").logits(texts)
    assert inside.tobytes() == quick(tiny["bert"], regime="full").logits(texts).tobytes()


def test_trainings_in_threads_do_not_draw_from_each_other(tiny: dict[str, Path]) -> None:
    def logits(seed: int) -> bytes:
        return quick(tiny["bert"], seed=seed, dropout=0.2, epochs=4).logits(["Yes."]).tobytes()

    alone = [logits(seed) for seed in (1, 2, 3)]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(logits, (1, 2, 3))) == alone


def test_a_model_of_another_base_is_refused(tmp_path: Path) -> None:
    """The folder of the base holds other weights, another tokeniser, or another shape than when it was trained."""
    need("peft")
    base = tiny_bert(tmp_path / "base", layers=1)
    for regime in ("lora", "full"):
        quick(base, regime=regime, layers=None).save(tmp_path / regime)
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
        with refused(InputError, said):
            load_fitted(tmp_path / saved)
    shutil.rmtree(base)
    tiny_llama(base, layers=1)
    for saved in ("lora", "full"):
        with refused(InputError, "reads texts in another way"):
            load_fitted(tmp_path / saved)
    shutil.rmtree(base)
    with refused(InputError, "no folder"):
        load_fitted(tmp_path / "lora")
    shutil.copytree(tmp_path / "kept", base)
    for saved in ("lora", "full"):
        assert load_fitted(tmp_path / saved).logits(["Yes."]).shape == (1, 2)


def test_a_token_without_an_embedding_is_refused(tmp_path: Path) -> None:
    need("peft")
    base = tiny_bert(tmp_path / "base", layers=1, vocab_size=120)
    with refused(InputError, r"its tokeniser has the token .* its model only 120 tokens"):
        quick(base, layers=1)


def test_validation_rows_are_needed_to_stop_by_them(tiny: dict[str, Path]) -> None:
    data = task(8, 2)
    for options in ({"patience": 3}, {"learning_rate": "search"}):
        with refused(InputError, "need validation rows"):
            tiny_recipe(tiny["bert"], "full", **options).fit(data, nothing(data), 2, np.random.SeedSequence(0))


@pytest.mark.parametrize("options", [
    {"base": ""}, {"rank": 0}, {"alpha": 0.0}, {"dropout": 1.0}, {"targets": ()}, {"targets": ("query",),
     "regime": "full"}, {"layers": 0}, {"learning_rate": 0.0}, {"learning_rate": -1e-3}, {"learning_rate": "quick"},
    {"learning_rate": float("nan")}, {"batch": 20}, {"epochs": 0}, {"warmup": 2.0}, {"max_tokens": 0},
    {"prompt": "harm"}, {"dtype": "float16"}, {"regime": "half"}, {"patience": 0}, {"decay": -0.1},
])
def test_impossible_options_are_refused_in_one_line(options: dict[str, Any]) -> None:
    with refused(UsageError, f"the recipe 'transformer': .*({'|'.join(options)}).*expected"):
        recipe_of({"name": "transformer", **options})
