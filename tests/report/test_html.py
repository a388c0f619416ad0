from __future__ import annotations

import re
import sys
from html import unescape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.reading import read

from discreet.core.errors import MissingExtraError
from discreet.report.batch import BatchTally
from discreet.report.html import batch_page, matrix, segments

PROVENANCE = {"policy": "medical/public@1#abc", "point": "balanced", "tau": 0.25, "input": "a.jsonl",
              "data_hash": "ab" * 32, "hash_key": "run", "discreet": "0.1.0", "finished": "2026-11-20T10:11:12+00:00"}


def page(rows: list[dict[str, Any]], *, keep: int = 1000, show_text: bool = False) -> str:
    tally = BatchTally(keep)
    for row in rows:
        tally.add(row)
    return batch_page({"summary": tally.summary(), "provenance": PROVENANCE}, tally.rows(), show_text=show_text)


def row(name: str = "1", action: str = "flag", answer: str = "An answer.", **more: Any) -> dict[str, Any]:
    spans = [{"type": "place_of_work", "subject": "third", "start": 3, "end": 9}]
    return {"id": name, "action": action, "layer": "contextual" if action == "flag" else None, "score": 0.5,
            "evidence": spans if action == "flag" else [], "reason": "because", "latency_ms": 2.0, "answer": answer,
            **more}


def test_says_it_in_words_first_and_names_where_it_comes_from() -> None:
    html = page([row("a"), row("b", "safe"), row("c", "abstain")])
    assert "<h1>2 of 3 answers were held: 1 could single a person out, 1 is left to a reviewer.</h1>" in html
    for fact in ("medical/public@1#abc", "balanced", "a.jsonl", "ab" * 32, "20 November 2026, 10:11 UTC", "0.1.0"):
        assert fact in html
    assert "place of work <span>3–9</span>" in html
    read(html)


def test_loads_nothing() -> None:
    html = page([row()], show_text=True)
    reader = read(html)
    assert reader.urls == []
    assert reader.handlers == []
    assert not re.search(r"https?:|@import|url\(|@font-face", html)
    assert "default-src 'none'" in html
    assert "prefers-color-scheme: dark" in html


def test_text_only_when_asked_for() -> None:
    rows = [row("a", answer="My MARKED answer.")]
    assert "MARKED" not in page(rows)
    html = page(rows, show_text=True)
    assert '<p class="quote">My <mark>MARKED<small>place of work</small></mark> answer.</p>' in html


def test_everything_is_escaped() -> None:
    evil = "<script>alert('x')</script>&amp;"
    html = page([row(evil, answer=evil, reason=evil)], show_text=True)
    assert html.count("<script>") == 1  # our own
    assert evil in unescape(html)
    read(html)


def test_a_large_batch_still_opens() -> None:
    rows = [row(f"r{i}", "flag" if i % 4 == 0 else "safe") for i in range(10_000)]
    html = page(rows)
    assert read(html).rows == 1000
    assert "The table shows 1,000 of 10,000 answers" in html
    assert len(html) < 1_000_000
    assert "The table shows" not in page(rows[:1000])


def test_an_uneventful_batch() -> None:
    html = page([row("a", "safe", latency_ms=None), row("b", "safe", latency_ms=None)])
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


def test_matrix_orders_subjects_as_the_records_do() -> None:
    count = {"answers": 3, "held": 1, "mentions": 5}
    found = matrix([{"type": "age", "subjects": {"cohort": count, "third": count, "alien": count}},
                    {"type": "sex", "subjects": {"third": {**count, "answers": 7}}}])
    assert found["subjects"] == ["third", "cohort", "alien"]
    assert found["most"] == 7
    assert found["rows"][1]["cells"][1:] == [None, None]
    assert found["rows"][0]["cells"][0]["passed"] == 2
    assert matrix([]) == {"subjects": [], "rows": [], "most": 1}


def test_needs_jinja2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'discreet\[report\]'"):
        page([row()])
