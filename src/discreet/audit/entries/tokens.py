"""Texts to token ids as a classifier was trained to read them, and batches of them that do not touch one another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit.table import IntArray
from discreet.errors import InputError

UNBOUNDED = 10**6
"""A tokeniser without a limit says 10^30."""


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """Token ids of one text, and how many there were before it was cut."""

    ids: IntArray
    before: int

    def __len__(self) -> int:
        return int(self.ids.size)


class TokenReader:
    """A Hugging Face tokeniser with a limit.

    A text beyond `max_tokens` keeps its head and its tail, special tokens at both ends included: the first half
    (rounded up) and the last. With `chat` a text is a user's turn in the tokeniser's chat template, which writes its
    own special tokens. A text that begins with the tokeniser's BOS already gets no second one. Raises InputError
    with `chat` where the tokeniser has no template.
    """

    def __init__(self, tokenizer: Any, max_tokens: int, name: str, *, chat: bool = False) -> None:
        if chat and not getattr(tokenizer, "chat_template", None):
            raise InputError(f"{name}: its tokeniser has no chat template; expected one, or texts as they are")
        self._tokenizer, self._chat, self.max_tokens = tokenizer, chat, max_tokens

    def __call__(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text; at least one each."""
        given = [self._rendered(text) for text in texts] if self._chat else list(texts)
        rows = self._tokenizer(given, add_special_tokens=not self._chat, truncation=False, padding=False,
                               return_attention_mask=False, return_token_type_ids=False, verbose=False)["input_ids"]
        return [self._cut(self._one_start(row)) for row in rows]

    def digest(self) -> str:
        """Hexadecimal digits that differ for what reads texts differently."""
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        if backend is None:
            state: Any = [sorted(self._tokenizer.get_vocab().items()), type(self._tokenizer).__name__]
        else:
            # Both are set by every call.
            state = {k: v for k, v in json.loads(backend.to_str()).items() if k not in ("truncation", "padding")}
        template = str(self._tokenizer.chat_template) if self._chat else None
        said = json.dumps([state, str(self._tokenizer.special_tokens_map), template, self.max_tokens], sort_keys=True)
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()

    def _rendered(self, text: str) -> str:
        return str(self._tokenizer.apply_chat_template([{"role": "user", "content": text}], tokenize=False))

    def _one_start(self, ids: list[int]) -> list[int]:
        start = self._tokenizer.bos_token_id
        return ids[1:] if start is not None and ids[:2] == [start, start] else ids

    def _cut(self, ids: list[int]) -> Tokens:
        found = np.array(ids if ids else [self._filler()], dtype=np.int64)
        if found.size <= self.max_tokens:
            return Tokens(found, found.size)
        tail = self.max_tokens // 2
        return Tokens(np.concatenate([found[: self.max_tokens - tail], found[found.size - tail :]]), found.size)

    def _filler(self) -> int:
        """Stands for a text of which the tokeniser leaves nothing."""
        for name in ("unk_token_id", "bos_token_id", "eos_token_id"):
            if (found := getattr(self._tokenizer, name, None)) is not None:
                return int(found)
        return 0


def token_limit(tokenizer: Any, config: Any) -> int | None:
    """Tokens that the model and its tokeniser allow; None where neither has a limit."""
    said = getattr(tokenizer, "model_max_length", None)
    limits = [int(said)] if said is not None and said < UNBOUNDED else []
    places = getattr(config, "max_position_embeddings", None)
    if places is not None and places > 0:
        pad = getattr(config, "pad_token_id", None)
        # RoBERTa's places are counted from its padding id on.
        first = pad + 1 if "roberta" in str(config.model_type) and pad is not None else 0
        limits.append(int(places) - first)
    return min(limits) if limits else None


def padded(rows: Sequence[Tokens], pad: int) -> tuple[IntArray, IntArray]:
    """(n, longest) ids and mask, padded on the right: in a causal model no text can see what follows it."""
    longest = max(len(row) for row in rows)
    ids, mask = np.full((len(rows), longest), pad, dtype=np.int64), np.zeros((len(rows), longest), dtype=np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)], mask[place, : len(row)] = row.ids, 1
    return ids, mask


def unused(rows: Sequence[Tokens], preferred: int | None, vocabulary: int) -> int:
    """A token id that no text of the batch holds, the preferred one if it is such.

    A classifier without a padding token of its own reads the last token that is not padding; with a token that stands
    in no text that is the last of each text, in every version of transformers.
    """
    there = np.unique(np.concatenate([row.ids for row in rows]))
    if preferred is not None and preferred not in there:
        return preferred
    free = np.setdiff1d(np.arange(min(vocabulary, there.size + 1)), there)
    if not free.size:
        raise InputError(f"a batch of {len(rows)} texts uses all {vocabulary:,} tokens, and none is left to pad with; "
                         "give the model a padding token, or make the batch smaller")
    return int(free[0])


def share_seen(rows: Sequence[Tokens]) -> float:
    """Tokens that were kept, of all; in (0, 1]."""
    return sum(len(row) for row in rows) / sum(row.before for row in rows)
