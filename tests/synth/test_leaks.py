from __future__ import annotations

import re

import pytest

from discreet.guard.domains import builtin_domains
from discreet.synth.leaks import LEAKS, make_leaks
from discreet.synth.records import SHARED, Record
from discreet.synth.validate import Validator

CASES = {name: make_leaks(name, 8, 4) for name in builtin_domains()}


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
