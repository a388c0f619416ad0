from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.heavy import need, quiet
from tests.train.transformer.conftest import loaded, outputs
from tests.train.transformer.tiny import CORPUS, SHAPE, tiny_gemma, tiny_gemma_with_images

from discreet.core.errors import InputError
from discreet.train import TrainingPlan
from discreet.train.transformer.loading import LoadedClassifier
from discreet.train.transformer.loop import train
from discreet.train.transformer.lora import add_lora, default_targets, language_part, linear_names

TARGETS = {"llama": ("q_proj", "v_proj"), "gemma": ("q_proj", "v_proj"), "bert": ("query", "value")}


def classifier(folder: Path) -> Any:
    with quiet():
        return need("transformers").AutoModelForSequenceClassification.from_pretrained(str(folder), num_labels=3)


def added(model: Any, targets: tuple[str, ...] | None = None, seed: int = 7) -> Any:
    need("peft")
    with quiet():
        return add_lora(model, rank=4, alpha=8, dropout=0.0, targets=targets, seed=seed,
                        whole=["score", "classifier"])


@pytest.mark.parametrize("kind", TARGETS)
def test_queries_and_values_are_adapted_and_the_head_is_trained(tiny: dict[str, Path], kind: str) -> None:
    model = classifier(tiny[kind])
    assert default_targets(model) == TARGETS[kind]
    found = added(model)
    trained = {name for name, weights in found.named_parameters() if weights.requires_grad}
    adapted = {name for name in trained if ".lora_A." in name or ".lora_B." in name}
    assert len(adapted) == 3 * 2 * 2
    assert all(any(f".{target}." in name for target in TARGETS[kind]) for name in adapted)
    assert all("modules_to_save" in name for name in trained - adapted)
    assert {name.rpartition(".")[2] for name in trained - adapted} == (
        {"weight", "bias"} if kind == "bert" else {"weight"})
    assert found.peft_config["default"].bias == "none"
    assert found.peft_config["default"].lora_alpha / found.peft_config["default"].r == 2


def test_linear_layers_by_name(tiny: dict[str, Path]) -> None:
    assert linear_names(classifier(tiny["llama"])) == (
        "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    # The head of a BERT is no "dense", nor anything that LoRA goes on.
    assert linear_names(classifier(tiny["bert"])) == ("query", "key", "value", "dense")


def test_a_target_that_is_nowhere(tiny: dict[str, Path]) -> None:
    model = classifier(tiny["bert"])
    for wrong in ("q_proj", "classifier", "uery", "LayerNorm"):
        with pytest.raises(InputError, match=f"no layer '{wrong}' .* some of query, key, value, dense$") as caught:
            added(model, ("query", wrong))
        assert "\n" not in str(caught.value)
    longer = added(model, ("self.key",))
    assert {name.split(".lora_")[0].rpartition(".")[2] for name, weights in longer.named_parameters()
            if weights.requires_grad and ".lora_" in name} == {"key"}


def test_a_family_with_names_of_its_own() -> None:
    torch, transformers = need("torch"), need("transformers")
    with torch.random.fork_rng(devices=[]):
        model = transformers.BertForSequenceClassification(transformers.BertConfig(**SHAPE, num_hidden_layers=1))
    attention = model.bert.encoder.layer[0].attention.self
    attention.asking = attention.query
    del attention.query
    with pytest.raises(InputError, match=r"no query and value .* bert model: .* of key, value, asking, dense$"):
        default_targets(model)


LAYERS = 2
NAMES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("gemma3")
    return {"images": tiny_gemma_with_images(home / "images", layers=LAYERS),
            "texts": tiny_gemma(home / "texts", layers=LAYERS, kind="Gemma3Text")}


def test_the_language_model_is_found(folders: dict[str, Path], tiny: dict[str, Path]) -> None:
    model = classifier(folders["images"])
    assert type(model).__name__ == "Gemma3ForSequenceClassification"
    assert any("vision_tower" in name and name.endswith("q_proj") for name, _ in model.named_modules())
    assert language_part(model) == "model.language_model"
    assert all(language_part(classifier(folder)) == "" for folder in (folders["texts"], *tiny.values()))


def test_lora_goes_on_the_language_model_alone(folders: dict[str, Path]) -> None:
    """The vision tower calls its projections by the same names."""
    model = classifier(folders["images"])
    assert default_targets(model) == ("q_proj", "v_proj")
    # fc1 and fc2 are the vision tower's.
    assert linear_names(model) == NAMES
    with pytest.raises(InputError, match="no layer 'fc1'"):
        add_lora(model, rank=2, alpha=4, dropout=0.0, targets=("q_proj", "fc1"), seed=7, whole=["score"])
    need("peft")
    with quiet():
        found = add_lora(model, rank=2, alpha=4, dropout=0.0, targets=None, seed=7, whole=["score"])
    adapted = [name for name, _ in found.named_parameters() if ".lora_" in name]
    assert len(adapted) == LAYERS * 2 * 2
    assert all(".language_model.layers." in name and "vision" not in name for name in adapted)


@pytest.mark.parametrize("regime", ["lora", "full"])
def test_training_changes_the_language_model_and_the_head_alone(folders: dict[str, Path], regime: str) -> None:
    model = loaded(folders["images"], regime=regime)
    trained = set(model.trained())
    assert trained
    assert not any("vision" in name or "projector" in name for name in trained)
    assert model.facts["trained"] == sum(weights.numel() for weights in model.trained().values())
    assert any("score" in name for name in trained)
    before = {name: weights.detach().clone() for name, weights in model.model.named_parameters()}
    rows = model.reader(128)(CORPUS)
    labels = np.arange(len(rows)) % 3
    train(model, rows, labels, [], labels[:0], TrainingPlan(0.05, epochs=2, batch=4, micro_batch=2),
          np.random.SeedSequence(3))
    changed = {name for name, weights in model.model.named_parameters()
               if not need("torch").equal(weights.detach(), before[name])}
    assert changed <= trained
    assert any("language_model" in name for name in changed)
    assert np.isfinite(outputs(model, rows)).all()


def test_no_token_is_said_to_be_of_an_image(folders: dict[str, Path]) -> None:
    """Versions of transformers refuse to train the model if they are not told."""
    def told(model: LoadedClassifier) -> list[Any]:
        seen: list[Any] = []
        hook = model.model.register_forward_pre_hook(
            lambda _, __, given: seen.append(given.get("token_type_ids")), with_kwargs=True)
        outputs(model, model.reader(128)(CORPUS[:1]))
        hook.remove()
        return seen

    [types] = told(loaded(folders["images"]))
    assert types.shape[0] == 1
    assert not types.any()
    assert told(loaded(folders["texts"])) == [None]
