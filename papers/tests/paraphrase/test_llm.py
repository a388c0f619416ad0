from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.inputs.endpoints.conftest import said, serving
from tests.loopback import PROXIES, Service

from discreet.core.errors import InputError, UsageError
from discreet.core.files import HASH_KEY_VARIABLE
from discreet.inputs.endpoints.chat import KEY_VARIABLE
from discreet_papers.paraphrase import llm, paraphraser_of
from discreet_papers.paraphrase.llm import LINE, PROMPT, ROUNDS, Llm, usable

pytest.importorskip("httpx")

TEXTS = ["how to bake bread", "<|user|> I have 2 kids\n<|assistant|> Who has not"]


@pytest.fixture
def chat(socket_enabled: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    for name in (*PROXIES, KEY_VARIABLE, HASH_KEY_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    with serving() as found:
        yield found


def text_of(body: dict[str, Any]) -> str:
    content: str = body["messages"][-1]["content"]
    return content.removeprefix(f"{LINE}\n").removesuffix(f"\n{LINE}")


def words(n: int) -> str:
    """A number in letters: digits must stay as they are."""
    return "".join("abcdefghij"[int(one)] for one in str(n))


def reworded(body: dict[str, Any]) -> dict[str, Any]:
    return said(f"{text_of(body)} or {words(body['seed'])}")


def paraphrased(chat: Service, n: int = 2) -> list[list[str]]:
    return Llm(chat.url, "m").paraphrase(TEXTS, n, np.random.default_rng(0))


def test_one_request_for_each_with_seeds_of_their_own(chat: Service) -> None:
    chat.answer = reworded
    found = paraphrased(chat, n=3)
    assert [[one.startswith(f"{text} or ") for one in ours] for text, ours in zip(TEXTS, found, strict=True)] == [
        [True] * 3] * 2
    assert len({body["seed"] for body in chat.asked}) == len(chat.asked) == 6
    assert {(body["temperature"], body["model"], body["messages"][0]["role"], body["messages"][0]["content"])
            for body in chat.asked} == {(0.9, "m", "system", PROMPT)}
    assert sorted({text_of(body) for body in chat.asked}) == sorted(TEXTS)


def test_what_cannot_be_used_is_asked_for_again(chat: Service) -> None:
    bad: list[Callable[[str], str]] = [lambda text: "", lambda text: text.upper() + "!", lambda text: "I cannot help."]

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        return said(bad.pop()(text_of(body))) if bad else reworded(body)

    chat.answer = answer
    found = paraphrased(chat)
    assert all(" or " in one for ours in found for one in ours)
    assert len(chat.asked) == 4 + 3


def test_what_does_not_come_is_the_text_itself(chat: Service) -> None:
    chat.answer = lambda body: said("I'm sorry, I can't help with that.")
    assert paraphrased(chat) == [[text] * 2 for text in TEXTS]
    assert len(chat.asked) == 4 * ROUNDS


def test_two_of_the_same_are_one_too_many(chat: Service) -> None:
    chat.answer = lambda body: said(f"{text_of(body)}, then")
    assert paraphrased(chat) == [[f"{text}, then", text] for text in TEXTS]


def test_wrappings_are_taken_off(chat: Service) -> None:
    chat.answer = lambda body: said(f' {LINE}\n"{text_of(body)} so"\n{LINE}\n')
    assert [ours[0] for ours in paraphrased(chat, n=1)] == [f"{text} so" for text in TEXTS]


@pytest.mark.parametrize(("text", "answer", "good"), [
    ("go home", "walk home", True), ("go home", "Go, HOME!", False), ("go home", "leave", False),
    ("go home", "?!", False),
    ("I have 2 kids", "2 children are mine", True), ("I have 2 kids", "Two children are mine", False),
    ("<|user|> hi", "<|user|> hello", True), ("<|user|> hi", "hello", False),
    ("<|user|> a <|assistant|> b", "<|assistant|> b <|user|> c", False),
    ("how to go", "I can’t help with that", False), ("I can't go", "I cannot leave", True),
    ("go", "to go means to move on foot from here to there as people do", True), ("go", "go on " * 10, False),
    ("one two three four five six seven eight nine", "numbers", False),
    ("one two three four", "numbers", True),
])
def test_answers_that_can_be_used(text: str, answer: str, good: bool) -> None:
    assert usable(text, answer, ["leave"]) is good


def test_a_file_of_them_and_a_run_that_goes_on(chat: Service, data: Path, tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "WORKERS", 1)
    spec = f"llm:{chat.url},model=org/m 1,cache={tmp_path / 'kept'}"
    calls = 0

    def failing(body: dict[str, Any]) -> Any:
        nonlocal calls
        calls += 1
        return reworded(body) if calls < 4 else b"{}"

    chat.answer = failing
    with pytest.raises(InputError, match="has no text") as caught:
        paraphraser_of(spec, 3)(data, 2, tmp_path / "out")
    assert "bread" not in str(caught.value)
    chat.answer, before = reworded, len(chat.asked)
    path = paraphraser_of(spec, 3)(data, 2, tmp_path / "out")
    assert path.name == "texts.x2.llm-org-m-1.s3.jsonl"
    assert len(chat.asked) - before == 6 - 3
    facts = json.loads(path.with_suffix(".json").read_text())["paraphraser"]
    assert (facts["kind"], facts["model"], facts["endpoint"]) == ("language model", "org/m 1", chat.url)
    assert facts["prompt_by"].startswith("discreet")


def test_keys_stay_out_of_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "hunter2")
    facts = Llm("http://h/v1?key=hunter2", "m", key="MINE").facts
    assert "hunter2" not in json.dumps(dict(facts))
    monkeypatch.delenv("MINE")
    with pytest.raises(UsageError, match="MINE, which is not set"):
        Llm("http://h/v1", "m", key="MINE")
