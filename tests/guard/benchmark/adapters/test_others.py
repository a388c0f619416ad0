"""Adapters of guards that are not ours. LangChain's middleware is a stand-in with the signatures of langchain 1.4."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.loopback import PROXIES, Service, serving

from discreet import Guard
from discreet.core.errors import InputError, MissingExtraError, UsageError
from discreet.guard.benchmark import open_guard
from discreet.guard.benchmark.adapters.python import prediction_of

NURSE = "I am a 29-year-old nurse, and my wife is from Boise. Write to jo@example.org."


class TestRegex:
    def test_counts_classes(self) -> None:
        found = open_guard("regex").predict(NURSE, None)
        assert (found.action, found.score) == ("flag", 3.0)
        assert {s.kind for s in found.spans or ()} == {"age", "occupation", "family"}
        assert all(s.person is None for s in found.spans or ())
        assert open_guard("regex").predict("A nurse came.", None).action == "safe"

    def test_patterns_of_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "mine.tsv").write_text("# mine\nage\t\\d+\n\nfamily\twife\n")
        assert open_guard(f"regex:{tmp_path / 'mine.tsv'}").predict(NURSE, None).score == 2.0

    @pytest.mark.parametrize(("line", "said"), [("job\tx", "line 1: the class is 'job'"), ("age\t(", "no regular"),
                                                (None, "cannot read")])
    def test_a_file_that_cannot_be_read_is_refused(self, tmp_path: Path, line: str | None, said: str) -> None:
        if line is not None:
            (tmp_path / "mine.tsv").write_text(line)
        with pytest.raises(InputError, match=said):
            open_guard(f"regex:{tmp_path / 'mine.tsv'}")


class TestPython:
    @pytest.mark.parametrize(("said", "action", "score"), [
        (True, "flag", 1.0), (False, "safe", 0.0), ("abstain", "abstain", 1.0), (0.7, "flag", 0.7), (0.2, "safe", 0.2),
        ({"action": "flag", "score": 3}, "flag", 3.0)])
    def test_what_a_function_may_return(self, said: Any, action: str, score: float) -> None:
        found = prediction_of(said)
        assert (found.action, found.score, prediction_of(found)) == (action, score, found)

    def test_a_verdict_will_do(self) -> None:
        verdict = Guard("medical").check(NURSE)
        assert prediction_of(verdict).score == verdict.score

    def test_a_function_is_found_by_name(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "my_guards.py").write_text("def long(text):\n    return len(text) > 20\n\nnothing = 5\n")
        monkeypatch.chdir(tmp_path)
        assert open_guard("python:my_guards:long").predict(NURSE, None).action == "flag"
        for name, said in (("my_guards:none", "expected a function of a text"), ("my_guards", "names no Python object"),
                           ("my_guards:nothing", "is a int; expected a function")):
            with pytest.raises((InputError, UsageError), match=said):
                open_guard(f"python:{name}")
        sys.modules.pop("my_guards")


@pytest.fixture
def service(socket_enabled: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    for name in (*PROXIES, "DISCREET_GUARD_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with serving(lambda asked: {"action": "flag" if "wife" in asked["text"] else "safe", "score": 0.7,
                                "spans": [[0, 1, "age", "a", "speaker"]]}, "/check") as found:
        yield found


class TestHttp:
    def test_a_service_is_asked_a_text_at_a_time(self, service: Service) -> None:
        guard = open_guard(service.url)
        assert guard.predict(NURSE, "medical").to_json() == {
            "score": 0.7, "action": "flag", "direct": None, "spans": [[0, 1, "age", "a", "speaker"]]}
        assert guard.predict("Rest.", None).action == "safe"
        assert service.asked == [{"text": NURSE}, {"text": "Rest."}]

    @pytest.mark.parametrize("answer", [{"verdict": "flag"}, ["flag"], b"flag", {"action": "flag", "spans": [[1]]}])
    def test_another_answer_is_refused_without_its_words(self, service: Service, answer: Any) -> None:
        service.answer = lambda asked: answer
        with pytest.raises(InputError, match="its answer is no prediction") as error:
            open_guard(service.url).predict(NURSE, None)
        assert "nurse" not in str(error.value)


class Middleware:
    def __init__(self, pii_type: str, *, strategy: str = "redact", detector: str | None = None,
                 apply_to_output: bool = False) -> None:
        if pii_type not in ("email", "url") and detector is None:
            raise ValueError(pii_type)
        self.apply_to_output, self._strategy = apply_to_output, strategy
        self._pattern = re.compile(detector or r"\S+@\S+\w")

    def detector(self, text: str) -> list[dict[str, Any]]:
        return [{"type": "x", "start": m.start(), "end": m.end()} for m in self._pattern.finditer(text)]

    def after_model(self, state: Any, runtime: Any) -> Any:
        return self._hook(state, "ai") if self.apply_to_output else None

    def before_model(self, state: Any, runtime: Any) -> Any:
        return self._hook(state, "human")

    def _hook(self, state: Any, kind: str) -> Any:
        [message] = state["messages"]
        if message.kind != kind or not self.detector(message.content):
            return None
        if self._strategy == "block":
            raise type("PIIDetectionError", (Exception,), {})
        return {"messages": []}


class TestLangchain:
    @pytest.fixture(autouse=True)
    def _installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def messages(kind: str) -> Any:
            return lambda content: SimpleNamespace(kind=kind, content=content)

        hooks = {"PIIMiddleware": Middleware}
        told = {"AIMessage": messages("ai"), "HumanMessage": messages("human")}
        for name, names in (("langchain", {}), ("langchain.agents", {}), ("langchain.agents.middleware", hooks),
                            ("langchain_core", {}), ("langchain_core.messages", told)):
            module = ModuleType(name)
            module.__dict__.update(names)
            monkeypatch.setitem(sys.modules, name, module)

    def test_types_are_looked_for_in_answers(self) -> None:
        found = open_guard("langchain:email,url").predict(NURSE, None)
        assert (found.action, found.score) == ("flag", 2.0)
        assert NURSE[found.spans[0].start : found.spans[0].end] == "jo@example.org"  # type: ignore[index]
        assert open_guard("langchain:email").predict("Rest.", None).to_json() == {
            "score": 0.0, "action": "safe", "direct": None, "spans": []}

    def test_middleware_of_ones_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        mine = ModuleType("my_middleware")
        mine.__dict__.update(several=[Middleware("age", detector=r"\d+", strategy="block", apply_to_output=True),
                                      Middleware("email", strategy="mask")], one=Middleware("email"), nothing=5)
        monkeypatch.setitem(sys.modules, "my_middleware", mine)
        assert open_guard("langchain:my_middleware:several").predict(NURSE, None).score == 2.0
        assert open_guard("langchain:my_middleware:one").predict(NURSE, None).action == "flag"
        with pytest.raises(UsageError, match="is a int; expected a PIIMiddleware"):
            open_guard("langchain:my_middleware:nothing")

    def test_a_type_that_it_does_not_know(self) -> None:
        with pytest.raises(UsageError, match="does not know; expected some of email"):
            open_guard("langchain:shoes")

    def test_without_langchain_the_message_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "langchain.agents.middleware", None)
        with pytest.raises(UsageError, match="pip install 'langchain>=1'"):
            open_guard("langchain")


@pytest.mark.filterwarnings("ignore")
class TestPresidio:
    def test_any_entity_is_a_flag(self, tmp_path: Path) -> None:
        pytest.importorskip("presidio_analyzer", exc_type=ImportError)
        import spacy

        made = spacy.blank("en")
        made.add_pipe("entity_ruler").add_patterns([  # type: ignore[attr-defined]
            {"label": "GPE", "pattern": "Boise"}, {"label": "DATE", "pattern": "29-year-old"}])
        made.to_disk(tmp_path / "model")
        guard = open_guard(f"presidio:{tmp_path / 'model'}")
        found = guard.predict(NURSE, None)
        assert (found.action, {s.kind for s in found.spans or ()}) == ("flag", {"place", "date", "contact"})
        assert found.score is not None
        assert found.score > 1
        assert guard.predict("Rest.", None).to_json() == {"score": 0.0, "action": "safe", "direct": None, "spans": []}

    def test_without_a_model_nothing_is_downloaded(self) -> None:
        pytest.importorskip("presidio_analyzer", exc_type=ImportError)
        with pytest.raises(UsageError, match="'en_no_such_model' is not installed"):
            open_guard("presidio:en_no_such_model")

    def test_without_presidio_the_message_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "presidio_analyzer", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'discreet\[presidio\]'"):
            open_guard("presidio")
