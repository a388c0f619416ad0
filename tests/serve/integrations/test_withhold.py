from __future__ import annotations

import pickle
import traceback
from typing import Any

import pytest

from discreet import Guard
from discreet.core.errors import MissingExtraError, NotJudgedError, UsageError, WithheldError
from discreet.core.records import Prompts, Turn
from discreet.serve.integrations.withhold import OnUnsafe, UnreadableError, Withholder, texts_of

LITIGATOR = "The patient is a 52-year-old litigator from Omaha with two children."


@pytest.fixture(scope="module")
def guard() -> Guard:
    return Guard("medical")


def withholder(guard: Guard | str, on_unsafe: OnUnsafe = "placeholder", placeholder: str | None = None,
               report: Any = None) -> Withholder:
    return Withholder.of(guard, on_unsafe, placeholder, report)


@pytest.mark.parametrize(("content", "code"), [
    ("Metformin lowers blood glucose.", "ok"), (LITIGATOR, "privacy/contextual"), ("", "ok"), (None, "ok"), ([], "ok"),
    ("Write to jane.roe@example.org for the results.", "privacy/direct"),
    ("Die Patientin wurde gestern untersucht, und die Werte waren in Ordnung.", "privacy/undecided"),
    (["The patient is a 52-year-old litigator.", {"type": "text", "text": "She lives in Omaha with two children."}],
     "privacy/contextual"),
    ([{"type": "tool_call", "id": "call_1", "args": {"age": 52, "occupation": "litigator", "city": "Omaha"}}],
     "privacy/contextual"),
    ([{"type": "text", "text": "Hello.", "id": LITIGATOR}], "privacy/contextual"),
    ([{"type": "image", "base64": "AAAA"}], "privacy/not_judged"),
    ({"audio": {"data": "AAAA", "transcript": "Metformin lowers blood glucose."}}, "privacy/not_judged"),
    (b"bytes", "privacy/not_judged"),
    (object(), "privacy/not_judged"), ({"args": {"when": object()}}, "privacy/not_judged")])
def test_code_of_content(guard: Guard, content: object, code: str) -> None:
    assert withholder(guard).judge(content) == code


def test_what_the_user_said_is_no_leak(guard: Guard) -> None:
    said = "I am a 52-year-old litigator from Omaha with two children."
    answer = "You are a 52-year-old litigator from Omaha with two children."
    assert withholder(guard).judge(answer, said) == "ok"
    assert withholder(guard).judge(answer, "And?", (Turn("user", said),)) == "ok"
    assert withholder(guard).judge(answer, "And?", user_words=said) == "ok"
    assert withholder(guard).judge(answer, said, sources=(said,)) != "ok"
    assert Withholder.of(guard, "block", None, None, Prompts("prompt")).judge(answer, said) != "ok"


def test_the_report_gets_the_verdict_and_may_stop_the_answer(guard: Guard) -> None:
    seen: list[Any] = []
    withholder(guard, report=seen.append).judge(LITIGATOR)
    assert [one.action for one in seen] == ["flag"]
    assert "litigator" not in repr(seen)
    with pytest.raises(ZeroDivisionError):
        withholder(guard, report=lambda verdict: 1 / 0).judge("Metformin lowers blood glucose.")


def test_what_takes_the_place_of_an_answer(guard: Guard) -> None:
    assert withholder(guard).replacement("privacy/contextual") == "This answer was withheld (privacy/contextual)."
    assert "could not be judged" in withholder(guard).replacement("privacy/not_judged")
    own = withholder(guard, placeholder="Sorry: {code} {x}")
    assert own.replacement("privacy/direct") == "Sorry: privacy/direct {x}"
    assert withholder(guard, "block").replacement("privacy/direct") == ""
    with pytest.raises(WithheldError, match="privacy/direct") as caught:
        withholder(guard, "raise").replacement("privacy/direct")
    assert not isinstance(caught.value, NotJudgedError)
    assert pickle.loads(pickle.dumps(caught.value)).code == "privacy/direct"
    with pytest.raises(NotJudgedError):
        withholder(guard, "raise").replacement("privacy/not_judged")


def test_wrong_arguments() -> None:
    with pytest.raises(UsageError, match="expected one of block, placeholder, raise"):
        withholder("medical", "drop")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="placeholder"):
        withholder("medical", "block", "Sorry.")
    for prompts in (Prompts("mine"), Prompts(templates=("{mine}",))):  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="mine"):
            Withholder.of("medical", "block", None, None, prompts)
    with pytest.raises(UsageError, match="medicine"):
        withholder("medicine")


def test_an_unreadable_content_says_nothing_of_it() -> None:
    with pytest.raises(UnreadableError) as caught:
        list(texts_of({"args": {LITIGATOR: object()}}))
    assert "litigator" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("name", ["langchain", "llamaindex"])
def test_without_its_framework_a_plug_in_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    from importlib import import_module

    for module in ("langchain", "llama_index"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"discreet.serve.integrations.{name}", raising=False)
    with pytest.raises(MissingExtraError, match=rf"discreet\[{name}\]"):
        import_module(f"discreet.serve.integrations.{name}")


def test_what_an_application_retrieves_is_public_where_it_says_so() -> None:
    page = "The complainant, a 21-year-old cannery worker from Bremen, stood surety for her father."
    told = "She was a 21-year-old cannery worker from Bremen who stood surety for her father."
    private = Withholder.of("law", "block", None, None)
    public = Withholder.of("law", "block", None, None, Prompts(public_sources=True))
    asked = "Who was the complainant?"
    assert private.judge(told, asked, sources=[page]) == "privacy/contextual"
    assert public.judge(told, asked, sources=[page]) == "ok"
    assert public.judge(told, asked) == "privacy/contextual"
