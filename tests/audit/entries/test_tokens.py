from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.audit.entries.conftest import CORPUS, TEXTS, need, tokenizer_of

from discreet.audit.entries.tokens import TokenReader, Tokens, padded, share_seen, token_limit, unused
from discreet.errors import InputError


@pytest.fixture(scope="module", autouse=True)
def _transformers() -> None:
    need("transformers")


def tokens(*rows: list[int]) -> list[Tokens]:
    return [Tokens(np.array(row, dtype=np.int64), len(row)) for row in rows]


def starts(reader: TokenReader, text: str) -> int:
    [row] = reader([text])
    return int((row.ids == 0).sum())


def test_one_start_whoever_wrote_it() -> None:
    """A text that was rendered with the chat template begins with the tokeniser's BOS already."""
    tokenizer = tokenizer_of("llama")
    plain, chat = TokenReader(tokenizer, 200, "m"), TokenReader(tokenizer, 200, "m", chat=True)
    rendered = tokenizer.apply_chat_template([{"role": "user", "content": CORPUS[0]}], tokenize=False)
    assert rendered.startswith("<s><|user|>")
    assert tokenizer(rendered)["input_ids"][:2] == [0, 0]
    assert starts(plain, rendered) == starts(chat, CORPUS[0]) == starts(plain, CORPUS[0]) == 1
    [one], [other] = plain([rendered]), chat([CORPUS[0]])
    expected = tokenizer.apply_chat_template([{"role": "user", "content": CORPUS[0]}], return_dict=True)["input_ids"]
    assert one.ids.tolist() == other.ids.tolist() == expected


def test_chat_needs_a_template() -> None:
    with pytest.raises(InputError, match="no chat template"):
        TokenReader(tokenizer_of("bert"), 100, "m", chat=True)


def test_what_a_tokeniser_file_says_of_cutting_and_padding_is_not_obeyed() -> None:
    reader = TokenReader(tokenizer_of("bert"), 100, "m")
    rows = reader([CORPUS[0], "no"])
    assert len(rows[0]) == rows[0].before > 7
    assert len(rows[1]) < 7
    assert 0 not in rows[1].ids


@given(st.integers(2, 60), st.sampled_from(TEXTS))
def test_head_and_tail(limit: int, text: str) -> None:
    tokenizer = tokenizer_of("bert")
    [whole], [cut] = (TokenReader(tokenizer, most, "m")([text]) for most in (10_000, limit))
    assert cut.before == len(whole)
    assert len(cut) == min(limit, len(whole))
    head = (len(cut) + 1) // 2 if len(cut) < len(whole) else len(cut)
    assert cut.ids.tolist() == [*whole.ids[:head], *whole.ids[len(whole) - (len(cut) - head):]]
    assert (cut.ids[0], cut.ids[-1]) == (2, 3)


def test_a_text_of_which_nothing_is_left() -> None:
    tokenizer = tokenizer_of("llama")
    tokenizer.backend_tokenizer.post_processor = None
    [row] = TokenReader(tokenizer, 10, "m")([""])
    assert row.ids.tolist() == [0]


def test_padding_is_on_the_right() -> None:
    ids, mask = padded(tokens([5, 6, 7], [8]), 9)
    assert ids.tolist() == [[5, 6, 7], [8, 9, 9]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]


@given(st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=8), min_size=1, max_size=4),
       st.none() | st.integers(0, 20))
def test_padding_stands_in_no_text(rows: list[list[int]], preferred: int | None) -> None:
    there = {token for row in rows for token in row}
    if len(there) == 21:
        with pytest.raises(InputError, match="uses all 21 tokens"):
            unused(tokens(*rows), preferred, 21)
        return
    found = unused(tokens(*rows), preferred, 21)
    assert found not in there
    assert 0 <= found < 21
    assert preferred is None or preferred in there or found == preferred


def test_no_token_is_left() -> None:
    with pytest.raises(InputError, match="uses all 3 tokens"):
        unused(tokens([0, 1], [2]), 2, 3)


def test_share_of_tokens() -> None:
    rows = [Tokens(np.arange(4), 10), Tokens(np.arange(6), 6)]
    assert share_seen(rows) == pytest.approx(10 / 16)


@pytest.mark.parametrize(("said", "places", "kind", "pad", "limit"), [
    (10**30, 512, "bert", 0, 512), (128, 512, "bert", 0, 128), (10**30, 514, "xlm-roberta", 1, 512),
    (10**30, None, "t5", 0, None), (None, 64, "llama", None, 64), (77, -1, "deberta-v2", 0, 77)])
def test_limits(said: int | None, places: int | None, kind: str, pad: int | None, limit: int | None) -> None:
    config = SimpleNamespace(max_position_embeddings=places, pad_token_id=pad, model_type=kind)
    assert token_limit(SimpleNamespace(model_max_length=said), config) == limit


def test_digests_tell_readers_apart() -> None:
    tokenizer = tokenizer_of("llama")
    reader = TokenReader(tokenizer, 50, "m")
    before = reader.digest()
    reader(TEXTS)
    tokenizer(TEXTS, truncation=True, max_length=3)
    assert reader.digest() == before == TokenReader(tokenizer_of("llama"), 50, "m").digest()
    chat = TokenReader(tokenizer, 50, "m", chat=True)
    with_chat = chat.digest()
    tokenizer.chat_template = str(tokenizer.chat_template) + " "
    others = [TokenReader(tokenizer, 51, "m").digest(), with_chat, chat.digest(),
              TokenReader(tokenizer_of("bert"), 50, "m").digest()]
    assert len({before, *others}) == 5
    assert reader.digest() == before


def test_slow_tokenisers_have_digests(tmp_path: Path) -> None:
    slow = SimpleNamespace(get_vocab=lambda: {"a": 0}, special_tokens_map={}, chat_template=None)
    other = SimpleNamespace(get_vocab=lambda: {"a": 1}, special_tokens_map={}, chat_template=None)
    assert TokenReader(slow, 9, "m").digest() != TokenReader(other, 9, "m").digest()
