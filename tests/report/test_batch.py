from __future__ import annotations

import re
from collections import Counter
from html import unescape
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.reading import read

from discreet.core.records import ACTIONS, Reason
from discreet.guard.decide import sentence
from discreet.report.batch import (
    HELD,
    BatchTally,
    count_line,
    grouped,
    headline,
    quantiles,
    segments,
    verdict_lines,
)
from discreet.report.batch import page as batch_html


def row(action: str = "safe", layer: str | None = None, evidence: list[Any] | None = None, reason: str = "r",
        **more: Any) -> dict[str, Any]:
    return {"id": "1", "action": action, "layer": layer, "evidence": evidence or [], "reason": reason,
            "latency_ms": None, "score": None, **more}


def span(kind: str, subject: str = "third", start: int = 0, end: int = 1, **more: Any) -> dict[str, Any]:
    return {"type": kind, "subject": subject, "start": start, "end": end, **more}


def summarize(rows: list[dict[str, Any]], keep: int = 0) -> dict[str, Any]:
    tally = BatchTally(keep)
    for one in rows:
        tally.add(one)
    return tally.summary()


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
    reasons = {(r["action"], r["detail"]): r["answers"] for r in summary["reasons"]}
    assert reasons == Counter((r["action"], r["reason"]) for r in rows) or summary["reasons_left_out"] > 0


@given(st.lists(st.floats(0, 1e9), min_size=1))
def test_quantiles_are_values_that_occurred(values: list[float]) -> None:
    found = quantiles(values)
    for name, share in (("p50", 0.5), ("p95", 0.95), ("max", 1.0)):
        assert found[name] == np.quantile(values, share, method="inverted_cdf")


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


def test_one_cause_is_one_row_whatever_its_numbers() -> None:
    causes = [Reason("cluster", ("age", "place"), "third", n, needed=2, odds=float(n)) for n in (2, 3, 4)]
    broke = Reason("failed", detail="recogniser 'badge' failed with KeyError", detector="recogniser 'badge'")
    rows = [row("flag", "contextual", reason=sentence(one), cause=one.to_json()) for one in causes]
    rows += [row("failed", reason=sentence(broke), cause=broke.to_json()), row("abstain", reason="no cause")]
    summary = summarize(rows)
    assert [(r["cause"], r["detail"], r["answers"]) for r in summary["reasons"]] == [
        ("cluster", "age, place", 3), ("", "no cause", 1), ("failed", "recogniser 'badge'", 1)]
    said = unescape(batch_html({"summary": summary, "provenance": PROVENANCE}, []))
    for words in ("attributes that single a person out: age, place", "<td>no cause</td>",
                  "could not be judged: recogniser 'badge'"):
        assert words in said


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


def test_lines_of_a_terminal() -> None:
    judged = row("flag", evidence=[span("place_of_work", start=3, end=9)], reason="be\x1bcause",
                 findings=[span("place_of_work", start=3, end=9, person="person 2", counts=True, why="a rule",
                                layer="contextual")])
    assert list(verdict_lines(judged)) == ["flag     1  person 2 (third): place of work 3-9"]
    first, because, finding = verdict_lines(judged, "My MARKED answer", explain=True)
    assert first.endswith('place of work 3-9 "MARKED"')
    assert because == "    because: be\\x1bcause"
    assert finding == '    place of work 3-9 "MARKED", person 2: a rule (counts, contextual)'
    assert list(verdict_lines(row("safe"))) == ["safe     1  r"]
    assert count_line(summarize([row()]), "p@1", "strict") == (
        "1 answer: 1 safe, 0 flag, 0 abstain, 0 failed (policy p@1, point strict)")


def test_a_finding_says_whether_it_counts_for_the_person_of_the_verdict() -> None:
    found = [span("age", start=0, end=2, person="person 1", counts=True, why="a rule", layer="contextual"),
             span("sex", start=3, end=6, person="person 1", counts=False, why="a rule", layer="contextual"),
             span("place", start=7, end=9, person="person 2", counts=True, why="a rule", layer="contextual"),
             span("ssn", start=10, end=19, person="", counts=True, why="a pattern", layer="direct")]

    def marks(evidence: list[dict[str, Any]]) -> list[str]:
        lines = list(verdict_lines(row("safe", evidence=evidence, findings=found), explain=True))
        return [line.rpartition("(")[2] for line in lines[1:]]

    assert marks([span("age", start=0, end=2), span("ssn", start=10, end=19)]) == [
        "counts, contextual)", "does not count, contextual)", "counts for another person, contextual)",
        "counts, direct)"]
    assert marks([span("ssn", start=10, end=19)])[2] == "counts, contextual)"


@pytest.mark.parametrize(("further", "said"), [(0, "about 20 fit"), (1, "about 20 fit; not counted: 1 further word"),
                                              (3, "about 20 fit; not counted: 3 further words")])
def test_the_line_on_people_says_how_many_words_it_does_not_count(further: int, said: str) -> None:
    people = {"sentence": "about 20 fit", "uncounted": further, "uncounted_words": ["MARKED"]}
    assert list(verdict_lines(row(people=people), "MARKED"))[1] == f"    people: {said}"


PROVENANCE = {"policy": "medical/public@1#abc", "point": "balanced", "tau": 0.25, "input": "a.jsonl",
              "data_hash": "ab" * 32, "hash_key": "run", "discreet": "0.1.0", "finished": "2026-11-20T10:11:12+00:00"}


def page(rows: list[dict[str, Any]], *, keep: int = 1000, show_text: bool = False) -> str:
    tally = BatchTally(keep)
    for row in rows:
        tally.add(row)
    return batch_html({"summary": tally.summary(), "provenance": PROVENANCE}, tally.rows(), show_text=show_text)


def shown(name: str = "1", action: str = "flag", answer: str = "An answer.", **more: Any) -> dict[str, Any]:
    spans = [{"type": "place_of_work", "subject": "third", "start": 3, "end": 9}]
    return {"id": name, "action": action, "layer": "contextual" if action == "flag" else None, "score": 0.5,
            "evidence": spans if action == "flag" else [], "reason": "because", "latency_ms": 2.0, "answer": answer,
            **more}


def test_says_it_in_words_first_and_names_where_it_comes_from() -> None:
    html = page([shown("a"), shown("b", "safe"), shown("c", "abstain")])
    assert "<h1>2 of 3 answers were held: 1 could single a person out, 1 is left to a reviewer.</h1>" in html
    for fact in ("medical/public@1#abc", "balanced", "a.jsonl", "ab" * 32, "20 November 2026, 10:11 UTC", "0.1.0"):
        assert fact in html
    assert "place of work <span>3–9</span>" in html
    read(html)


def test_loads_nothing() -> None:
    html = page([shown()], show_text=True)
    reader = read(html)
    assert reader.urls == []
    assert reader.handlers == []
    assert not re.search(r"https?:|@import|url\(|@font-face", html)
    assert "default-src 'none'" in html
    assert "prefers-color-scheme: dark" in html


def test_text_only_when_asked_for() -> None:
    rows = [shown("a", answer="My MARKED answer.")]
    assert "MARKED" not in page(rows)
    html = page(rows, show_text=True)
    assert '<p class="quote">My <mark>MARKED<small>place of work</small></mark> answer.</p>' in html


def test_everything_is_escaped() -> None:
    evil = "<script>alert('x')</script>&amp;"
    html = page([shown(evil, answer=evil, reason=evil)], show_text=True)
    assert html.count("<script>") == 1  # our own
    assert evil in unescape(html)
    read(html)


def test_a_large_batch_still_opens() -> None:
    rows = [shown(f"r{i}", "flag" if i % 4 == 0 else "safe") for i in range(10_000)]
    html = page(rows)
    assert read(html).rows == 1000
    assert "The table shows 1,000 of 10,000 answers" in html
    assert len(html) < 1_000_000
    assert "The table shows" not in page(rows[:1000])


def test_an_uneventful_batch() -> None:
    html = page([shown("a", "safe", latency_ms=None), shown("b", "safe", latency_ms=None)])
    assert "None of 2 answers was held." in html
    assert "nothing was bound to a person" in html
    assert "not measured" in html
    read(html)


@given(st.text(), st.lists(st.tuples(st.integers(-2, 12), st.integers(-2, 12), st.sampled_from(["a", "b_c"]))))
def test_segments_are_the_answer_and_mark_what_the_spans_cover(answer: str, drawn: list[tuple[int, int, str]]) -> None:
    items = [{"type": kind, "start": start, "end": end} for start, end, kind in drawn]
    pieces = segments(answer, items)
    assert "".join(text for text, _ in pieces) == answer
    covers = [kinds for text, kinds in pieces for _ in text]
    for place in range(len(answer)):
        expected = {kind.replace("_", " ") for start, end, kind in drawn if start <= place < end}
        assert set(filter(None, covers[place].split(", "))) == expected
