from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.report.conftest import Record

from discreet.report import summarise, to_markdown
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


def test_what_ci_systems_demand_is_there(leaking: Record) -> None:
    suite = ET.fromstring(to_junit(leaking))
    assert {"name", "tests", "failures", "errors", "skipped"} <= set(suite.attrib)  # Of the schema of Jenkins.
    assert (int(suite.attrib["tests"]), suite.attrib["errors"]) == (len(suite), "0")
    assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped"))
    for told in (*suite.findall("testcase/failure"), *suite.findall("testcase/skipped")):
        assert told.text == told.attrib["message"]
        assert told.attrib["type"]


def test_names_that_xml_cannot_hold_or_must_escape(leaking: Record) -> None:
    [target] = leaking["targets"]
    name = 'a<b> & "c" \x1b[31m\ud800 ü'
    record = {**leaking, "targets": [{**target, "target": name}]}
    case = ET.fromstring(to_junit(record).encode("utf-8"))[0]
    assert case.attrib["name"] == 'a<b> & "c" \ufffd[31m\ufffd ü'


def test_no_part_is_a_leak_where_the_verdict_is_inconclusive(leaking: Record) -> None:
    [target] = leaking["targets"]
    record = {**leaking, "verdict": "inconclusive", "targets": [{**target, "verdict": "inconclusive"}]}
    suite = ET.fromstring(to_junit(record))
    assert suite.find("testcase/failure") is None
    exceeding = [f"{target['target']}, {part['name']}" for part in target["parts"] if part["state"] == "exceeds"]
    assert exceeding
    assert set(exceeding) <= {case.attrib["name"] for case in suite if case.find("skipped") is not None}


def test_markdown_shows_names_as_they_are(leaking: Record) -> None:
    [target] = leaking["targets"]
    named = [{**part, "kind": "category", "value": "<u>a|b\x1b\nc", "name": "category <u>a|b\x1b\nc"}
             if part["kind"] == "category" else part for part in target["parts"]]
    found = to_markdown(summarise({**leaking, "parts": named, "targets": [{**target, "parts": named}]}))
    assert found.startswith("## Fail: ")
    assert "\x1b" not in found
    assert "<u>" not in found
    [row, *_] = [line for line in found.splitlines() if line.startswith("| category &lt;u>a")]
    head = next(line for line in found.splitlines() if line.startswith("| part |"))
    assert "a\\|b\\x1b c |" in row
    assert row.replace("\\|", "").count("|") == head.count("|")
