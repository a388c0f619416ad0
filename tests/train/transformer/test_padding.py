from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.heavy import need, quiet
from tests.train.transformer.tiny import LLAMA_SPECIAL, tiny_llama

from discreet.core.errors import InputError
from discreet.train.transformer.loading import choose_pad

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
