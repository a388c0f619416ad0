from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.heavy import need, quiet
from tests.train.transformer.tiny import SHAPE

from discreet.core.errors import InputError
from discreet.train.transformer.lora import add_lora, default_targets, linear_names

TARGETS = {"llama": ("q_proj", "v_proj"), "gemma": ("q_proj", "v_proj"), "bert": ("query", "value")}


def classifier(folder: Path) -> Any:
    with quiet():
        return need("transformers").AutoModelForSequenceClassification.from_pretrained(str(folder))


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


def test_matrices_come_from_the_seed_alone(tiny: dict[str, Path]) -> None:
    torch = need("torch")

    def drawn(seed: int, other: int) -> Any:
        model = classifier(tiny["llama"])
        torch.default_generator.manual_seed(other)
        before = torch.get_rng_state()
        found = added(model, seed=seed)
        assert torch.equal(torch.get_rng_state(), before)
        assert all(float(weights.detach().abs().max()) == 0 for name, weights in found.named_parameters()
                   if ".lora_B." in name)
        return torch.cat([weights.detach().flatten() for name, weights in found.named_parameters()
                          if ".lora_A." in name])

    with torch.random.fork_rng(devices=[]):
        first, same, other = drawn(1, 10), drawn(1, 11), drawn(2, 10)
    assert torch.equal(first, same)
    assert float((first - other).abs().min()) > 0
