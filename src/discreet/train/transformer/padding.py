"""The token that a classifier's texts are padded with."""

from __future__ import annotations

import re
from typing import Any

from discreet.core.errors import InputError
from discreet.train.transformer.reading import UNBOUNDED, Reader

SPARE = ("<|finetune_right_pad_id|>", "<|pad|>", "<pad>", "[PAD]", "<|padding|>", "<PAD>")
RESERVED = re.compile(r"<\|?(reserved[_ ]special[_ ]token|unused|extra_id|special)_?\d+\|?>|\[unused\d+\]")
"""Tokens that a tokeniser has and no text does."""


def choose_pad(tokenizer: Any, config: Any, name: str) -> int:
    """The tokeniser's padding token, or the configuration's, or a spare one, if it neither ends a text nor a turn.

    Padding with what ends a turn, as is usual for Llama, hides the turn's end from everything that finds the last
    token by what is no padding. Where there is no spare token, what ends a text will do if no template writes it.
    Raises InputError where nothing is left.
    """
    chat = bool(getattr(tokenizer, "chat_template", None))
    marks = Reader(tokenizer, UNBOUNDED, name, chat=chat).marks
    ends = {*_several(config.eos_token_id), *_several(tokenizer.eos_token_id), *marks}
    vocabulary = {token: place for token, place in tokenizer.get_vocab().items() if place < config.vocab_size}
    known = set(vocabulary.values())
    spare = sorted(place for token, place in vocabulary.items() if RESERVED.fullmatch(token))
    offered = [tokenizer.pad_token_id, config.pad_token_id, *map(vocabulary.get, SPARE), *spare]
    found = next((place for place in offered if place in known and place not in ends), None)
    if found is None and tokenizer.eos_token_id in known and tokenizer.eos_token_id not in marks:
        found = tokenizer.eos_token_id
    if found is None:
        raise InputError(f"{name}: its tokeniser has no token to pad with but those that end a turn; expected one of "
                         f"its own: add <|pad|> to tokeniser and model")
    return int(found)


def _several(said: Any) -> set[int]:
    """Configurations give one token, several, or none."""
    return set() if said is None else {int(said)} if isinstance(said, int) else {int(one) for one in said}
