"""A record with a verdict as JUnit XML, which CI systems show: a test case for each model, and for each part of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from discreet.report.summary import Record

TAGS = {"fail": "failure", "inconclusive": "skipped"}
FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML file can hold, not even escaped."""


def to_junit(record: Record) -> str:
    """JUnit XML: what fails is a failure, what is inconclusive is skipped, each with its reasons."""
    cases = list(_cases(record))
    suite = ET.Element("testsuite", name=f"discreet {record['kind']}", tests=str(len(cases)),
                        failures=str(sum(verdict == "fail" for _, verdict, _ in cases)), errors="0",
                        skipped=str(sum(verdict == "inconclusive" for _, verdict, _ in cases)))
    for name, verdict, why in cases:
        case = ET.SubElement(suite, "testcase", classname=f"discreet.{record['kind'].replace(' ', '.')}",
                             name=_clean(name))
        if verdict in TAGS:
            # Some pages show the message, some the text.
            ET.SubElement(case, TAGS[verdict], message=_clean(why), type=verdict).text = _clean(why)
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _cases(record: Record) -> Iterator[tuple[str, str, str]]:
    """Name, verdict and reasons of each test case."""
    targets = record.get("targets") or [record]
    for target in targets:
        name = str(target.get("target", record["kind"]))
        reasons = target.get("reasons") or [target.get("reason", "")]
        yield name, target["verdict"], " ".join(reasons)
        for part in target.get("parts", ()):
            # Where the model's verdict is inconclusive, as of sets that differ by themselves, no part is a leak.
            leaks = part["state"] == "exceeds" and target["verdict"] == "fail"
            verdict = "fail" if leaks else "pass" if part["state"] == "within" else "inconclusive"
            yield f"{name}, {part['name']}", verdict, _said(part)


def _clean(text: str) -> str:
    return FORBIDDEN.sub("\ufffd", text)


def _said(part: Record) -> str:
    """The figure of a part, next to its control, and what would decide it."""
    control = part.get("control_auc")
    beside = "" if control is None else f", control {_figure(control)}"
    members, others = part.get("lacks_members", 0), part.get("lacks_nonmembers", 0)
    more = f"; {members:,} members and {others:,} others more would decide" if members or others else ""
    return f"AUC {_figure(part['auc'])}{beside}, tolerance {part['tolerance']:g}{more}"


def _figure(estimate: Record) -> str:
    if estimate["value"] is None:
        return f"unresolved: {estimate['reason']}"
    return f"{estimate['value']:.3f} [{estimate['low']:.3f}, {estimate['high']:.3f}]"
