"""Where a classifier reads its logits, and what it is padded with."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.audit.train.transformer.tiny import (
    CORPUS,
    LLAMA_SPECIAL,
    MAKERS,
    TEXTS,
    loaded,
    outputs,
    tensors,
    tiny_llama,
)
from tests.heavy import need, quiet
from tests.tiny_models import pooled_before_the_first_padding

from discreet.audit.train.transformer.classifier import choose_pad
from discreet.audit.train.transformer.reading import NONE, SAFETY
from discreet.core.errors import InputError, UsageError


@pytest.mark.parametrize("regime", ["full", "lora"])
@pytest.mark.parametrize("kind", list(MAKERS))
def test_logits_are_those_of_each_text_alone(tiny: dict[str, Path], kind: str, regime: str) -> None:
    """As transformers' own classifier gives them for one text without padding, whatever the batch."""
    torch = need("torch")
    model = loaded(tiny[kind], regime=regime)
    rows = model.reader(300)(TEXTS)
    with torch.no_grad():
        alone = np.concatenate([model.model(input_ids=torch.tensor(row.ids)[None]).logits.numpy() for row in rows])
    assert np.ptp(alone, axis=0).min() > 1e-2
    for size in (1, 4, 16):
        np.testing.assert_allclose(outputs(model, rows, size), alone, rtol=0, atol=1e-5)
    mates = outputs(model, [rows[0], *model.reader(300)([" ".join(CORPUS) * 2, "no"])])
    np.testing.assert_allclose(mates[0], alone[0], rtol=0, atol=1e-5)


def test_hidden_states_are_what_the_head_reads(tiny: dict[str, Path]) -> None:
    torch = need("torch")
    for kind in MAKERS:
        model = loaded(tiny[kind])
        rows = model.reader(300)(TEXTS)
        states = torch.from_numpy(outputs(model, rows, hidden=True)).float()
        head = model.model.classifier if kind == "bert" else model.model.score
        with torch.no_grad():
            np.testing.assert_allclose(head(states).numpy(), outputs(model, rows), rtol=0, atol=1e-5)
            body = model.model.base_model(torch.tensor(rows[0].ids)[None])
        expected = body.pooler_output[0] if kind == "bert" else body.last_hidden_state[0, -1]
        np.testing.assert_allclose(states[0], expected, rtol=0, atol=1e-5)


def test_pooling_at_the_first_padding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Padded with the end of a turn, the authors' classifier stops where the system's turn does: before the text."""
    torch, transformers = need("torch"), need("transformers")
    folder = tiny_llama(tmp_path / "m", pad="<|eot_id|>")
    model = loaded(folder)
    rows = model.reader(300)(TEXTS)
    expected = outputs(model, rows, 1)
    monkeypatch.setattr(transformers.LlamaForSequenceClassification, "forward", pooled_before_the_first_padding)
    end = model.tokenizer.convert_tokens_to_ids("<|eot_id|>")
    ids, mask = tensors(rows, end)
    monkeypatch.setattr(model.model.config, "pad_token_id", end)
    with torch.no_grad():
        theirs = model.model(ids, mask).logits.numpy()
    np.testing.assert_allclose(theirs, np.broadcast_to(theirs[0], theirs.shape), rtol=0, atol=1e-6)
    # Ours, in that version too: with a padding token of its own, and even with theirs.
    assert model.pad != end
    for pad in (model.pad, end):
        monkeypatch.setattr(model.model.config, "pad_token_id", pad)
        ids, mask = tensors(rows, pad)
        with torch.no_grad():
            ours = model(ids, mask)[0].numpy()
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-5)
    assert np.abs(expected[1:] - expected[0]).max(axis=1).min() > 1e-2


def test_readers(tiny: dict[str, Path]) -> None:
    llama, bert = loaded(tiny["llama"]), loaded(tiny["bert"])
    assert (llama.reader(300).prompt, bert.reader(300).prompt) == (SAFETY, NONE)
    assert (llama.limit, llama.reader(512).max_tokens) == (512, 512)
    with pytest.raises(UsageError, match="max tokens is 513: expected at most 512, the limit of"):
        llama.reader(513)
    with pytest.raises(UsageError, match="expected one of safety"):
        llama.reader(300, "mine")


@pytest.mark.parametrize("kind", ["llama", "bert"])
def test_bfloat16(tiny: dict[str, Path], kind: str) -> None:
    """Frozen weights in bfloat16, trained ones in float32, and logits too: rounded to 8 bits they tie."""
    torch = need("torch")
    exact = loaded(tiny[kind])
    rows = exact.reader(300)(TEXTS)
    for regime in ("lora", "full"):
        model = loaded(tiny[kind], regime=regime, dtype="bfloat16")
        assert {value.dtype for value in model.trained().values()} == {torch.float32}
        frozen = {value.dtype for value in model.model.parameters() if not value.requires_grad}
        assert frozen == ({torch.bfloat16} if regime == "lora" else set())
        found = outputs(model, rows)
        apart = np.abs(found - outputs(exact, rows)).max()
        assert 1e-5 < apart < 0.3
        rounded = torch.from_numpy(found).bfloat16().double().numpy()
        assert (rounded != found).mean() > 0.9
        ids, mask = tensors(rows, model.pad)
        model(ids, mask)[0].sum().backward()
        assert all(value.grad is not None for value in model.trained().values())


NO_SPARE = tuple(token for token in LLAMA_SPECIAL if token != "<|finetune_right_pad_id|>")


def opened(folder: Path) -> tuple[Any, Any]:
    transformers = need("transformers")
    with quiet():
        return (transformers.AutoTokenizer.from_pretrained(str(folder)),
                transformers.AutoConfig.from_pretrained(str(folder)))


def test_each_family_has_a_padding_token_of_its_own(tiny: dict[str, Path]) -> None:
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


@pytest.mark.parametrize("ends", [None, 0, [0, 3]])
def test_configurations_say_ends_in_many_ways(tiny: dict[str, Path], ends: Any) -> None:
    tokenizer, _ = opened(tiny["bert"])
    config = SimpleNamespace(eos_token_id=ends, pad_token_id=None, vocab_size=512)
    if ends is None:
        assert choose_pad(tokenizer, config, "m") == 0
        return
    with pytest.raises(InputError, match="no token to pad with"):
        choose_pad(tokenizer, config, "m")
