from __future__ import annotations

from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.audit.train.transformer.tiny import CORPUS, TEXTS
from tests.heavy import need, quiet

from discreet.audit.train.transformer import reading
from discreet.audit.train.transformer.reading import (
    NONE,
    SAFETY,
    Prompt,
    Reader,
    Tokens,
    share_seen,
    token_limit,
)
from discreet.core.errors import InputError, UsageError

KINDS = ("llama", "gemma", "bert")


@pytest.fixture(scope="module")
def tokenizers(tiny: dict[str, Path]) -> dict[str, Any]:
    with quiet():
        return {kind: need("transformers").AutoTokenizer.from_pretrained(str(folder)) for kind, folder in tiny.items()}


def reader_of(tokenizers: dict[str, Any], kind: str, most: int = 400, prompt: Prompt | None = None) -> Reader:
    chat = kind != "bert"
    return Reader(tokenizers[kind], most, kind, chat=chat, prompt=prompt or (SAFETY if chat else NONE))


def turns(text: str, kind: str = "llama") -> list[dict[str, str]]:
    if kind == "gemma":
        return [{"role": "user", "content": f"{SAFETY.text}\n\n{text}"}]
    return [{"role": "system", "content": SAFETY.text}, {"role": "user", "content": text}]


@pytest.mark.parametrize("kind", ["llama", "gemma"])
def test_the_models_own_template(tokenizers: dict[str, Any], kind: str) -> None:
    """What transformers makes of system and user; in Gemma's template, of the prompt before the user's text."""
    rows = reader_of(tokenizers, kind)(TEXTS)
    for row, text in zip(rows, TEXTS, strict=True):
        expected = tokenizers[kind].apply_chat_template(turns(text, kind), date_string="26 Jul 2024", return_dict=True)
        assert row.ids.tolist() == expected["input_ids"]
        assert row.before == len(row)


def test_special_tokens_of_an_encoder(tokenizers: dict[str, Any]) -> None:
    """Neither cut nor padded, whatever the tokeniser's file says."""
    rows = reader_of(tokenizers, "bert")([CORPUS[0], "no"])
    assert tokenizers["bert"].convert_ids_to_tokens(rows[0].ids.tolist())[:3] == ["[CLS]", "the", "caller"]
    assert [int(row.ids[-1]) for row in rows] == [3, 3]
    assert [row.frame for row in rows] == [2, 2]
    assert len(rows[0]) == rows[0].before > 7
    assert 0 not in rows[1].ids


@pytest.mark.parametrize("said", ["%d %b %Y", "%Y-%m-%d", "%A, %B %-d %y", "%j %a %H:%M:%S %I %p %-m"])
@pytest.mark.parametrize("start", ["", "  ", "\n", "\n\n  ", "x "])
def test_the_clock_of_templates(tokenizers: dict[str, Any], monkeypatch: pytest.MonkeyPatch, said: str, start: str
                                ) -> None:
    """As on the day itself, inside a macro and a loop too; white space that a template begins with stays as it is."""
    tokenizer = tokenizers["llama"]
    template = (start + "{% macro day() %}{{ strftime_now('" + said + "') }}{% endmacro %}{% for m in messages %}"
                "{{ day() + '|' + strftime_now('" + said + "') + '|' + m['content'] }}{% endfor %}")
    monkeypatch.setattr(tokenizer, "chat_template", template)
    [row] = Reader(tokenizer, 400, "m", chat=True)(["no"])
    then = SimpleNamespace(now=lambda: datetime(2024, 7, 26))
    monkeypatch.setattr(need("transformers.utils.chat_template_utils"), "datetime", then)
    expected = tokenizer.apply_chat_template([{"role": "user", "content": "no"}], tokenize=False)
    assert datetime(2024, 7, 26).strftime(said) in expected
    assert tokenizer.decode(row.ids.tolist()) == expected


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_only_the_document_is_cut(tokenizers: dict[str, Any], kind: str, data: st.DataObject) -> None:
    """Prompt and marks whole, then the document's head and tail, one token apart in size at most."""
    anything = st.text(st.characters(codec="utf-8"), max_size=80).filter(str.strip)
    text = data.draw(st.sampled_from(TEXTS) | anything)
    [whole] = reader_of(tokenizers, kind, 10_000)([text])
    least = reader_of(tokenizers, kind)(["no"])[0].frame + 1
    limit = data.draw(st.integers(least, least + 40))
    reader = reader_of(tokenizers, kind, limit)
    [cut] = reader([text])
    assert (cut.before, len(cut)) == (len(whole), min(limit, len(whole)))
    head, tail = reader._head, reader._tail
    assert cut.ids[: len(head)].tolist() == head
    assert cut.ids[len(cut) - len(tail) :].tolist() == tail
    assert cut.frame == len(head) + len(tail) == least - 1
    inside = whole.ids[len(head) : len(whole) - len(tail)]
    kept = cut.ids[len(head) : len(cut) - len(tail)]
    if len(cut) < len(whole):
        first = (len(kept) + 1) // 2
        assert kept.tolist() == [*inside[:first], *inside[inside.size - (len(kept) - first) :]]
    else:
        assert kept.tolist() == inside.tolist()


def test_marks_that_merge_with_the_text(tokenizers: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A template that ends in words, without special tokens: the token that belongs to both is the document's."""
    tokenizer = tokenizers["llama"]
    template = "{{ bos_token }}{% for m in messages %}{{ m['content'] }}er{% endfor %}"
    monkeypatch.setattr(tokenizer, "chat_template", template)
    reader = Reader(tokenizer, 8, "m", chat=True)
    [row] = reader(["bread and forms and the riv"])
    whole = tokenizer("bread and forms and the river")["input_ids"]
    assert row.before == len(whole)
    assert row.ids.tolist() == [*whole[:5], *whole[-3:]]
    assert row.ids[-1] not in reader._tail


def test_too_few_tokens_for_the_prompt(tokenizers: dict[str, Any]) -> None:
    frame = reader_of(tokenizers, "llama")(["no"])[0].frame
    with pytest.raises(UsageError, match=f"max tokens is {frame}: expected at least {frame + 1} for llama, whose"):
        reader_of(tokenizers, "llama", frame)
    [row] = reader_of(tokenizers, "llama", frame + 1)([CORPUS[0]])
    assert len(row) == frame + 1


def test_templates_that_drop_a_turn(tokenizers: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = tokenizers["llama"]
    users = "{% for m in messages %}{% if m['role'] == 'user' %}[{{ m['content'] }}]{% endif %}{% endfor %}"
    monkeypatch.setattr(tokenizer, "chat_template", users)
    [row] = reader_of(tokenizers, "llama")(["no"])
    assert tokenizer.decode(row.ids.tolist()) == f"[{SAFETY.text}\n\nno]"
    monkeypatch.setattr(tokenizer, "chat_template", "nothing")
    with pytest.raises(InputError, match="drops the user's turn"):
        reader_of(tokenizers, "llama")
    monkeypatch.setattr(tokenizer, "chat_template", "{{ raise_exception('no') }}")
    with pytest.raises(InputError, match=r"cannot be rendered \(TemplateError\)"):
        reader_of(tokenizers, "llama")
    with pytest.raises(InputError, match="no chat template"):
        Reader(tokenizers["bert"], 100, "m", chat=True)


def test_a_prompt_without_a_template(tokenizers: dict[str, Any]) -> None:
    reader = reader_of(tokenizers, "bert", 30, prompt=SAFETY)
    [row], [expected] = reader([CORPUS[0]]), reader_of(tokenizers, "bert")([f"{SAFETY.text}\n\n{CORPUS[0]}"])
    assert row.before == len(expected)
    assert row.frame == len(reader_of(tokenizers, "bert")([SAFETY.text])[0])
    assert row.ids[: row.frame - 1].tolist() == expected.ids[: row.frame - 1].tolist()
    assert len(row) == 30


def test_a_text_of_which_nothing_is_left() -> None:
    def tokenizer(texts: list[str], **_: Any) -> dict[str, list[list[int]]]:
        return {"input_ids": [[ord(letter) for letter in text] for text in texts]}

    for named, filler in (({"unk_token_id": 7}, 7), ({"bos_token_id": 8}, 8), ({"eos_token_id": 9}, 9), ({}, 0)):
        for name in ("unk_token_id", "bos_token_id", "eos_token_id"):
            setattr(tokenizer, name, named.get(name))
        [row] = Reader(tokenizer, 10, "m")([""])
        assert row.ids.tolist() == [filler]


def test_a_text_is_tokenised_once(tokenizers: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the epochs and evaluations; a record that is repeated on purpose too."""
    reader, asked = reader_of(tokenizers, "llama"), []
    raw = Reader._raw

    def counting(self: Reader, rendered: Any, *, marks: bool) -> Any:
        asked.extend(rendered)
        return raw(self, rendered, marks=marks)

    monkeypatch.setattr(Reader, "_raw", counting)
    first = reader([*TEXTS, *TEXTS[:2] * 16])
    assert len(asked) == len(TEXTS)
    assert [row.ids.tolist() for row in reader(TEXTS[::-1])] == [row.ids.tolist() for row in first[: len(TEXTS)][::-1]]
    assert len(asked) == len(TEXTS)
    with pytest.raises(ValueError, match="read-only"):
        first[0].ids[0] = 5
    # Not without end.
    monkeypatch.setattr(reading, "REMEMBERED", 10)
    reader(["another"])
    assert set(reader._known) == {"another"}


def test_share_of_the_documents() -> None:
    """A long prompt, which is always there, does not make it look as if more had been seen."""
    rows = [Tokens(np.arange(14), 20, 10), Tokens(np.arange(16), 16, 10)]
    assert share_seen(rows) == pytest.approx(10 / 16)
    assert share_seen([Tokens(np.arange(10), 10, 10)]) == 1


@pytest.mark.parametrize(("said", "places", "kind", "pad", "limit"), [
    (10**30, 512, "bert", 0, 512), (128, 512, "bert", 0, 128), (10**30, 514, "xlm-roberta", 1, 512),
    (10**30, None, "t5", 0, None), (None, 64, "llama", None, 64), (77, -1, "deberta-v2", 0, 77)])
def test_limits(said: int | None, places: int | None, kind: str, pad: int | None, limit: int | None) -> None:
    config = SimpleNamespace(max_position_embeddings=places, pad_token_id=pad, model_type=kind)
    assert token_limit(SimpleNamespace(model_max_length=said), config) == limit


def test_digests_tell_readers_apart(tokenizers: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = tokenizers["llama"]
    reader = Reader(tokenizer, 50, "m")
    before = reader.digest()
    reader(TEXTS)
    tokenizer(TEXTS, truncation=True, max_length=3)
    assert reader.digest() == before == Reader(tokenizer, 50, "m").digest()
    chat = Reader(tokenizer, 50, "m", chat=True)
    with_chat = chat.digest()
    monkeypatch.setattr(tokenizer, "chat_template", str(tokenizer.chat_template) + " ")
    others = [Reader(tokenizer, 51, "m").digest(), with_chat, chat.digest(),
              Reader(tokenizers["bert"], 50, "m").digest(), Reader(tokenizer, 50, "m", prompt=SAFETY).digest()]
    assert len({before, *others}) == 6
    assert reader.digest() == before


def test_slow_tokenisers_have_digests() -> None:
    def slow(vocabulary: dict[str, int]) -> Any:
        def tokenizer(texts: list[str], **_: Any) -> dict[str, list[list[int]]]:
            return {"input_ids": [[1] * len(text) for text in texts]}

        for name, value in {"get_vocab": lambda: vocabulary, "special_tokens_map": {}, "bos_token_id": None}.items():
            setattr(tokenizer, name, value)
        return tokenizer

    assert Reader(slow({"a": 0}), 9, "m").digest() != Reader(slow({"a": 1}), 9, "m").digest()
