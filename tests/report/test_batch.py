from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.records import ACTIONS
from discreet.report.batch import HELD, BatchTally, grouped, headline, quantiles, summarize


def row(action: str = "safe", layer: str | None = None, evidence: list[Any] | None = None, reason: str = "r",
        **more: Any) -> dict[str, Any]:
    return {"id": "1", "action": action, "layer": layer, "evidence": evidence or [], "reason": reason,
            "latency_ms": None, "score": None, **more}


def span(kind: str, subject: str = "third", start: int = 0, end: int = 1, **more: Any) -> dict[str, Any]:
    return {"type": kind, "subject": subject, "start": start, "end": end, **more}


drawn_spans = st.builds(span, st.sampled_from("abc"), st.sampled_from(["third", "speaker"]))
drawn_rows = st.lists(st.builds(
    row, st.sampled_from(ACTIONS), st.sampled_from(["direct", "contextual", None]), st.lists(drawn_spans, max_size=4),
    st.sampled_from("xyz"), latency_ms=st.none() | st.floats(0, 1e6)), max_size=30)


@given(drawn_rows)
def test_counts_are_those_of_the_rows(rows: list[dict[str, Any]]) -> None:
    summary = summarize(rows)
    assert summary["n"] == len(rows) == sum(summary["actions"].values())
    for action in ACTIONS:
        assert summary["actions"][action] == len([r for r in rows if r["action"] == action])
    assert summary["held"] == len([r for r in rows if r["action"] in HELD])
    assert sum(summary["flagged_by"].values()) == summary["actions"]["flag"]
    cells = {(c["type"], s): n for c in summary["classes"] for s, n in c["subjects"].items()}
    for kind in "abc":
        for subject in ("third", "speaker"):
            with_it = [r for r in rows if any((e["type"], e["subject"]) == (kind, subject) for e in r["evidence"])]
            expected = None if not with_it else {
                "answers": len(with_it), "held": len([r for r in with_it if r["action"] in HELD]),
                "mentions": len([e for r in rows for e in r["evidence"]
                                 if (e["type"], e["subject"]) == (kind, subject)])}
            assert cells.get((kind, subject)) == expected
    reasons = {(r["action"], r["reason"]): r["answers"] for r in summary["reasons"]}
    assert reasons == Counter((r["action"], r["reason"]) for r in rows) or summary["reasons_left_out"] > 0


@given(st.lists(st.floats(0, 1e9), min_size=1))
def test_quantiles_are_values_that_occurred(values: list[float]) -> None:
    found = quantiles(values)
    for name, share in (("p50", 0.5), ("p95", 0.95), ("max", 1.0)):
        assert found[name] == np.quantile(values, share, method="inverted_cdf")


def test_no_values_no_quantiles() -> None:
    assert quantiles([]) == {"n": 0, "p50": None, "p95": None, "max": None}


def test_the_table_keeps_held_answers_first_and_their_order() -> None:
    tally = BatchTally(keep=4)
    for i, action in enumerate(["safe", "safe", "flag", "safe", "safe", "abstain", "safe", "failed"]):
        tally.add(row(action, id=str(i)))
    assert [r["id"] for r in tally.rows()] == ["0", "2", "5", "7"]
    for i in range(8, 12):
        tally.add(row("flag", id=str(i)))
    assert [r["id"] for r in tally.rows()] == ["2", "5", "7", "8"]
    assert tally.summary()["n"] == 12


def test_reasons_of_held_answers_come_first_and_few_are_listed() -> None:
    rows = [row("safe", reason="fine")] * 9 + [row("flag", reason=f"f{i}") for i in range(20)] + [row("flag", "f3")]
    summary = summarize(rows)
    assert {r["action"] for r in summary["reasons"]} == {"flag"}
    assert len(summary["reasons"]) + summary["reasons_left_out"] == 22


class TestGrouped:
    def test_evidence_with_its_person(self) -> None:
        judged = row("flag", evidence=[span("place", start=5, end=9), span("age", start=1, end=2), span("age", start=1,
                                                                                                      end=2)],
                     findings=[span("age", start=1, end=2, person="person 2", counts=True),
                               span("place", start=5, end=9, person="person 2", counts=True),
                               span("sex", start=7, end=8, person="person 2", counts=False)])
        (group,) = grouped(judged)
        assert (group["who"], group["subject"]) == ("person 2", "third")
        assert [i["type"] for i in group["items"]] == ["age", "place"]
        (every,) = grouped(judged, every=True)
        assert [(i["type"], i["counts"]) for i in every["items"]] == [("age", True), ("place", True), ("sex", False)]

    def test_without_findings_or_label_the_subject_speaks(self) -> None:
        assert [g["who"] for g in grouped(row(evidence=[span("age", "speaker"), span("age", "third")]))] == [
            "speaker", "third"]
        assert grouped(row(evidence=[span("ssn")], findings=[span("ssn", person="")]))[0]["who"] == "third"
        assert grouped(row()) == []


@pytest.mark.parametrize(("rows", "expected"), [
    ([row()] * 3, "None of 3 answers was held."),
    ([row()], "The one answer was not held."),
    ([row("flag", "contextual")], "The one answer was held: it could single a person out."),
    ([row("flag", "direct")], "The one answer was held: it gives a direct identifier."),
    ([row()] * 39 + [row("abstain")], "1 of 40 answers was held: 1 is left to a reviewer."),
    ([row()] * 1993 + [row("flag", "contextual")] * 4 + [row("flag", "direct")] * 2 + [row("failed")],
     "7 of 2,000 answers were held: 4 could single a person out, 2 give a direct identifier, 1 could not be judged."),
    ([row("flag"), row("abstain"), row("abstain")],
     "3 of 3 answers were held: 1 was flagged, 2 are left to a reviewer."),
])
def test_headline(rows: list[dict[str, Any]], expected: str) -> None:
    assert headline(summarize(rows)) == expected
