from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.report.conftest import Record

from discreet.report.junit import to_junit


def test_a_leak_is_a_failure_of_the_model_and_of_its_parts(leaking: Record) -> None:
    suite = ET.fromstring(to_junit(leaking))
    cases = {case.attrib["name"]: case for case in suite}
    [target] = leaking["targets"]
    assert set(cases) == {target["target"], *(f"{target['target']}, {part['name']}" for part in target["parts"])}
    whole = cases[target["target"]].find("failure")
    assert whole is not None
    assert whole.attrib["message"] == " ".join(target["reasons"])
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    assert failed == {target["target"], *(f"{target['target']}, {part['name']}" for part in target["parts"]
                                          if part["state"] == "exceeds")}
    assert int(suite.attrib["failures"]) == len(failed)
    for part in target["parts"]:
        for found in cases[f"{target['target']}, {part['name']}"]:
            assert f", control {part['control_auc']['value']:.3f} [" in found.attrib["message"]
            more = f"; {part['lacks_members']:,} members and {part['lacks_nonmembers']:,} others more would decide"
            assert (more in found.attrib["message"]) == (part["state"] == "unclear")


def test_what_passes_has_no_failure(passing: Record) -> None:
    suite = ET.fromstring(to_junit(passing))
    assert (suite.attrib["failures"], suite.find("testcase/failure")) == ("0", None)


@pytest.mark.parametrize(("verdict", "tag"), [("fail", "failure"), ("inconclusive", "skipped"), ("pass", None)])
def test_a_record_without_models(verdict: str, tag: str | None) -> None:
    record: dict[str, Any] = {"kind": "stress-test", "verdict": verdict, "reason": "it reads style & not content"}
    [case] = ET.fromstring(to_junit(record))
    assert [one.tag for one in case] == ([tag] if tag else [])
    if tag:
        assert case[0].attrib["message"] == "it reads style & not content"
