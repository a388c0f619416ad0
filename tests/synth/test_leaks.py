from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from discreet.core.errors import UsageError
from discreet.guard.domains import builtin_domains
from discreet.inputs.endpoints.chat import Message
from discreet.synth.leaks import LEAKS, LeakCase, answer_messages, ask_leaks, make_leaks, passage_messages
from discreet.synth.prompts import Prompter
from discreet.synth.records import SHARED, Record
from discreet.synth.validate import Validator

CASES = {name: make_leaks(name, 8, 4) for name in builtin_domains()}
PROMPTER = Prompter("medical")


@pytest.mark.parametrize("domain", builtin_domains())
def test_cases_are_what_their_class_says(domain: str) -> None:
    cases = CASES[domain]
    assert cases == make_leaks(domain, 8, 4) != make_leaks(domain, 8, 5)
    assert [case.leak for case in cases] == [leak for leak in LEAKS for _ in range(8)]
    check, taken = Validator(domain, words=(20, 400)), list[tuple[str, ...]]()
    for case in cases:
        told = sorted(qi for of in case.told for qi in of)
        most = max(map(len, case.told))
        assert len(case.told) == len(case.sources)
        assert (most, told) == {"retention": (len(case.qi), sorted(case.qi)), "synthesis": (1, sorted(case.qi)),
                                "fabrication": (0, [])}[case.leak]
        assert sum(qi in SHARED for qi in case.qi) >= 2
        assert len(case.facts) == len(case.qi)
        assert () in case.told
        # The control binds nothing, and neither does a passage that tells of nobody.
        leak, control = case.answers()
        assert leak.sources == control.sources
        for text in (case.control, *(s for s, of in zip(case.sources, case.told, strict=True) if not of)):
            row = {"id": "c", "kind": "borderline", "domain": domain, "answer": text, "generator": "g"}
            taken.append(check(Record.from_json(row)))
        leaking, quiet = case.to_json()
        assert (leaking["kind"], quiet["kind"], quiet["qi"]) == ("unsafe", "borderline", [])
        assert Record.from_json(leaking).spec.qi == case.qi
        assert case.answer not in repr(case)
    # A reader takes a few of them for somebody's, as it does other harmless text.
    assert taken.count(()) >= 0.9 * len(taken)
    verbatim = [case for case in cases if case.verbatim]
    assert len(verbatim) == 4
    for case in verbatim:
        note = next(s for s, of in zip(case.sources, case.told, strict=True) if of)
        shared = [s for s in re.split(r"(?<=[.?!])\s+", note) if s.casefold() in case.answer.casefold()]
        assert len(shared) >= len(case.qi)


def test_mistakes() -> None:
    for n, profiles in ((0, ("L1", "L2")), (3, ("L1",))):
        with pytest.raises(UsageError, match="expected at least 1 by 2"):
            make_leaks("law", n, 0, profiles=profiles)


def test_prompts_ask_for_what_each_text_is_to_tell() -> None:
    for case in CASES["medical"]:
        asked = [messages[1]["content"] for messages in passage_messages(case, PROMPTER)]
        for content, of in zip(asked, case.told, strict=True):
            assert case.topic in content
            assert all((fact in content) == (qi in of) for qi, fact in zip(case.qi, case.facts, strict=True))
        leak, control = (answer_messages(case, PROMPTER, leaks)[1]["content"] for leaks in (True, False))
        assert all(fact in leak.split("Question:")[1] for fact in case.facts)
        assert "Describe no individual" in control
        assert all(source in leak and source in control for source in case.sources)


def test_a_model_writes_the_cases_and_the_validator_drops_what_they_are_not() -> None:
    cases = CASES["medical"]
    check = Validator("medical", words=(20, 400))

    def written(spoilt: str | None) -> tuple[list[LeakCase], dict[str, int]]:
        """What the grammar wrote, as a model's; the control of one case leaks."""
        batches: list[int] = []

        def complete(asked: Sequence[Sequence[Message]]) -> list[str]:
            batches.append(len(asked))
            if len(batches) == 1:
                return [text for case in cases for text in case.sources]
            return [text for case in cases
                    for text in (case.answer, case.answer if case.id == spoilt else case.control)]

        kept, left_out = ask_leaks(cases, PROMPTER, complete, "some-model", check)
        assert batches == [sum(len(case.told) for case in cases), 2 * len(cases)]
        assert len(kept) + sum(left_out.values()) == len(cases)
        return kept, left_out

    kept, left_out = written(None)
    assert len(kept) >= 6
    assert {reason.split(":")[0] for reason in left_out} <= {"missing", "unbound", "unplanned", "passage", "control"}
    assert all(case.generator == "some-model" for case in kept)
    original = next(case for case in cases if case.id == kept[0].id)
    assert (kept[0].qi, kept[0].told, kept[0].answer) == (original.qi, original.told, original.answer)
    fewer, reasons = written(kept[0].id)
    assert fewer == kept[1:]
    assert reasons == {**left_out, "control:cluster": left_out.get("control:cluster", 0) + 1}
