from __future__ import annotations

import base64
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.unicode import prepare
from discreet.guard.text.render import render, shown

PIECES = (
    "The patient", "is 52", " ", "\n", "\n\n", "*", "**", "_", "__", "~~", "==", "`", "```", "[1]", "[", "]", "(", ")",
    "](", "[^1]", "【1†s】", "<b>", "</b>", "<i>", "<td>", "</td>", "<tr>", "</tr>", "<age>", "</age>", "<a href='x'>",
    "<!--", "-->", "&amp;", "&#53;", "&", "{", "}", '"age"', ":", ",", '"', "'", "\\", "\\textbf{", "\\n", "|",
    "|---|---|", "| a | b |",
    "age,city",
    "52,Omaha", "\t", "# ", "> ", "- ", "✅ ", "👩", "---", "a_b: 'x'", "NTIteWVhci1vbGQ=", "%20", "²", "\u200b", "é",
    "\ud800", "<sup>1</sup>",
    "\\begin{tabular}", "\\end{tabular}", " & ", "\\\\",
)  # fmt: skip
MARKED = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
PLAIN = [
    "A 52-year-old (MRN 0012) took 500 mg; p < .05, x > 3, R&D, 2*3*4 = 24, snake_case, C:\\dir, $5 & $6, 3 <5.",
    "Ms. O'Neil said “no” [sic] and “[t]he court [held] so”. See 347 U.S. 483 (1954), § 3(a)(1), [1998] AC 1.",
    "if p<a and b>c or <name>, [address], __, ***-**-1234, ____ and 5' 3\" ~ 60 kg; see note {a}.",
    "- one\n- two\n* three\n1. four\n\nAge: 41. Occupation: pilot. Residence: Fairbanks.",
    "Dear Ann,\nthank you, and see you, on Monday.\nYours,\nBob", "Omaha, Nebraska\nTulsa, Oklahoma\nBoise, Idaho",
    "[12] The applicant is a nurse.\n[13] She lives in Leeds.", "She is [52] years old.", "", " ", "\n", "🙂", "a | b",
    "x -> y --> z",
    "1 2 3 4 5 6 7 8 and A B C: 1.5 m² of 10³ cm",
]  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_text_without_markup_is_left_as_it_is(text: str) -> None:
    assert render(text).text == prepare(text).text
    assert shown(render(text)) is text


@given(st.text() | MARKED)
@settings(max_examples=400, deadline=None)
def test_any_text_is_rendered_with_its_way_back(text: str) -> None:
    rendered = render(text)
    spans = [rendered.span(i, i + 1) for i in range(len(rendered.text))]
    for (start, end), (later, last) in pairwise(spans):
        assert 0 <= start < end <= len(text)
        assert start <= later
        assert end <= last
    assert all(0 <= run.start < run.end <= len(text) for run in rendered.decoded)
    assert render(text) == rendered


@given(MARKED)
@settings(deadline=None)
def test_no_letter_is_lost(text: str) -> None:
    """Every letter of a text is shown, decoded, or read beside it; what a mark is made of is none."""
    rendered = render(f"{text} Zebulon9")
    assert "Zebulon9" in rendered.text + " ".join(run.text for run in rendered.decoded)


@pytest.mark.parametrize(("text", "word"), [
    ("**52**-year-old", "52-year-old"), ("liti<i>ga</i>tor", "litigator"), ("&#79;maha", "Omaha"),
    ('{"city": "Om\\u0061ha"}', "Omaha"), ("| City | Age |\n|---|---|\n| **Omaha** | 52 |", "Omaha"),
    ("from Omaha[3].", "Omaha"), ("\\textbf{Oma}ha", "Omaha")])
def test_spans_lead_back_to_what_a_word_was_made_from(text: str, word: str) -> None:
    rendered = render(text)
    place = rendered.text.rindex(word)
    start, end = rendered.span(place, place + len(word))
    assert render(text[start:end]).text.endswith(word[-1])
    assert text[start] in f"{word[0]}&"
    assert word[-1] in text[end - 4 : end]


def test_coded_runs_stand_where_they_stood_and_are_kept_beside() -> None:
    run = base64.b64encode(b"a **52**-year-old litigator").decode()
    rendered = render(f"She is {run} from Omaha")
    assert rendered.text == "She is a 52-year-old litigator from Omaha"
    assert [(d.text, d.how) for d in rendered.decoded] == [(run, "coded")]
    place = rendered.text.index("litigator")
    assert rendered.span(place, place + 9) == (7, 7 + len(run))


def test_every_run_within_a_coded_run_is_spelt_out() -> None:
    inner = [base64.b64encode(said).decode() for said in (b"a 52-year-old litigator", b"lives in Omaha")]
    run = base64.b64encode(f"She is {inner[0]} who {inner[1]} now".encode()).decode()
    rendered = render(f"See {run}.")
    assert rendered.text == "See She is a 52-year-old litigator who lives in Omaha now."
    assert not rendered.beyond


def test_what_is_not_spelt_out_is_told() -> None:
    text = "a 52-year-old litigator"
    for depth in range(1, 6):
        text = base64.b64encode(text.encode()).decode()
        rendered = render(f"She is {text} from Omaha")
        assert rendered.beyond == (depth > 3)
        assert ("litigator" in rendered.text) == (depth <= 3)


def test_an_encoder_reads_what_is_shown() -> None:
    assert shown(render("a **52**-year-old")) == "a 52-year-old"
    assert shown(render("Jane’s “name”")) == "Jane’s “name”"


@pytest.mark.parametrize("unit", [
    "*", "a *b", "[", "](", "[a](", "<a ", '<a x="', "<b>", "<x>", "{", '{"', '{"a":', '["a",', "\\textbf{", "|",
    "|-|\n", "a,b\n", "> ", "{\"a\":[",
    "<!--", "(ref 1", "&#", "\\\\", "a: 'b'\n", "[1,", "<sup>1", "x<sup>", "age,job\n\"", "😀", "- ", "~~",
    "<x><y>"])  # fmt: skip
def test_markup_that_never_ends_is_rendered_and_led_back(unit: str) -> None:
    """How the time of these grows stands in `benchmarks/reader/renderings.py`."""
    text = (unit * 20_000)[:20_000]
    rendered = render(text)
    start, end = rendered.span(0, len(rendered.text))
    assert 0 <= start <= end <= len(text)
