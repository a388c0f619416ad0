from __future__ import annotations

import base64
import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.core.unicode import ALWAYS_DECODED, MAX_GROWTH, MAX_MARKS, Prepared, prepare

ANY_TEXT = st.text(st.characters(exclude_categories=()))
HIDING = "".join([
    "aeo1.@ \n", "éñ½…²ﬁ™①Ⅷ", "\u0301\u0327\u0308\u0345", "\u200b\u200d\u00ad\ufeff\u202e\ufe0f", "–—−‐“”‘’´",
    "\u00a0\u2009\u3000\u2028", "１２Ａａ－", "٣९", "한\u1100\u1161\u11a8ｶﾞ", "\ud800\U0001f600中"])
HIDDEN_TEXT = st.text(st.sampled_from(HIDING), max_size=40)


def slowly(text: str) -> str:
    """The same rules at full length of the text, in a table of this file, with no way back."""
    table = dict.fromkeys("\u200b\u200d\u00ad\ufeff\u202e\ufe0f", "")
    table |= dict.fromkeys("–—−‐", "-") | dict.fromkeys("“”", '"') | dict.fromkeys("‘’´", "'")
    table |= dict.fromkeys("\u00a0\u2009\u3000", " ") | {"\u2028": "\n", "٣": "3", "९": "9"}
    return unicodedata.normalize("NFKC", "".join(table.get(c, c) for c in text))


@pytest.mark.parametrize(("original", "normal"), [
    ("jаne@ехample.com", "jane@example.com"), ("ΒΕ68 is Greek to me; ΒЕ68", "BE68 is Greek to me; BE68"),
    ("ＳＳＮ ２１９－０９－１２３４", "SSN 219-09-1234"),
    ("219–09—1234 and 219‑09−1234", "219-09-1234 and 219-09-1234"),
    ("219\u200b-09\u00ad-12\u206034", "219-09-1234"), ("Jane’s “name”", "Jane's \"name\""),
    ("402\u00a0555\u20090133", "402 555 0133"), ("٢١٩-٠٩-١٢٣٤", "219-09-1234"), ("José e\u0301", "José é"),
    ("\u202e4321", "4321"), ("½ … ﬁne", "1\u20442 ... fine"),
    ("Привет мир, рост, Ελλάδα, Αθήνα", "Привет мир, рост, Ελλάδα, Αθήνα"), ("5 мг and 5 μg", "5 мг and 5 μg"),
    ("", "")])
def test_what_hides_text_is_undone(original: str, normal: str) -> None:
    assert prepare(original).text == normal


def test_ordinary_text_keeps_case_length_and_identity() -> None:
    text = "A 52-year-old (MRN 0012) took 500 mg — “daily”; José’s café, naïve Zoë."
    prepared = prepare(text)
    assert len(prepared.text) == len(text)
    assert prepared.text == "A 52-year-old (MRN 0012) took 500 mg - \"daily\"; José's café, naïve Zoë."
    ascii_only = "Plain text, 1 < 2.\n"
    assert prepare(ascii_only).text is ascii_only
    assert prepare(ascii_only).span(3, 8) == (3, 8)


@given(HIDDEN_TEXT)
def test_text_is_that_of_the_slow_rules(text: str) -> None:
    assert prepare(text).text == slowly(text)


@given(HIDDEN_TEXT, st.data())
def test_a_span_covers_what_its_text_came_from(text: str, data: st.DataObject) -> None:
    prepared = prepare(text)
    start = data.draw(st.integers(0, len(prepared.text)))
    end = data.draw(st.integers(start, len(prepared.text)))
    begin, stop = prepared.span(start, end)
    assert 0 <= begin <= stop <= len(text)
    assert len(slowly(text[:begin])) <= start
    if start < end:
        assert len(slowly(text[:stop])) >= end
        assert prepared.text[start:end] in slowly(text[begin:stop])


@given(ANY_TEXT)
def test_offsets_are_monotone_and_in_range(text: str) -> None:
    prepared = prepare(text)
    spans = [prepared.span(i, i + 1) for i in range(len(prepared.text))]
    for (start, end), (later, last) in pairwise(spans):
        assert 0 <= start < end <= len(text)
        assert start <= later
        assert end <= last
    assert all(0 <= run.start < run.end <= len(text) for run in prepared.decoded)


@given(ANY_TEXT)
def test_normal_text_stays_as_it_is(text: str) -> None:
    once = prepare(text).text
    assert prepare(once).text == once


@given(st.text(st.sampled_from("аeоpсxyАBСα1ρ\u0301\u200b "), max_size=30))
def test_no_look_alike_stays_in_a_latin_word(text: str) -> None:
    once = prepare(text).text
    assert prepare(once).text == once
    for word in re.findall(r"[^\W_]+", once):
        assert not (re.search("[a-z0-9]", word, re.I) and re.search("[аеорсхАВСαρ]", word))


def test_a_tower_of_marks_is_cut() -> None:
    prepared = prepare("a" + "\u0327\u0301" * 100_000 + "b")
    assert len(prepared.text) <= MAX_MARKS + 2
    assert prepared.span(0, len(prepared.text)) == (0, 200_002)


@pytest.mark.parametrize(
    "unit", ["a\u200b", "…", "x\u0301", "ｱﾞ", "MjE5LTA5LTEyMzQ= ", "a b ", "%41", "6a ", "\ud800", "/aB1"]
)
def test_long_text_is_read_to_its_end(unit: str) -> None:
    text = unit * (50_000 // len(unit)) + " 219–09–1234"
    prepared = prepare(text)
    assert prepared.text.endswith("219-09-1234")
    assert prepared.span(len(prepared.text) - 11, len(prepared.text)) == (len(text) - 11, len(text))


@pytest.mark.parametrize(("text", "plain", "run", "how"), [
    ("id MjE5LTA5LTEyMzQ= ok", "219-09-1234", "MjE5LTA5LTEyMzQ=", "base64"),
    ("https://x.org/r/amFuZUBleGFtcGxlLmNvbQ", "jane@example.com", "amFuZUBleGFtcGxlLmNvbQ", "base64"),
    ("– 3231392d30392d31323334 –", "219-09-1234", "3231392d30392d31323334", "hex"),
    ("6a 6f 68 6e 40 78 2e 63 6f 6d", "john@x.com", "6a 6f 68 6e 40 78 2e 63 6f 6d", "hex"),
    (r"\x6a\x6f\x68\x6e\x40\x78\x2e\x63", "john@x.c", r"\x6a\x6f\x68\x6e\x40\x78\x2e\x63", "hex"),
    ("to jane%40example.com now", "jane@example.com", "jane%40example.com", "percent"),
    ("it is j o h n @ x . c o m ok", "john@x.com", "j o h n @ x . c o m", "spaced"),
    ("SSN 1 2 3 - 4 5 - 6 7 8 8", "123-45-6788", "1 2 3 - 4 5 - 6 7 8 8", "spaced"),
    ("J a n e   W h i t e is", "Jane White", "J a n e   W h i t e", "spaced"),
    ("id ＭｊＥ５ＬＴＡ５ＬＴＥｙＭｚＱ＝ ok", "219-09-1234", "ＭｊＥ５ＬＴＡ５ＬＴＥｙＭｚＱ＝", "base64")])
def test_spelt_out_runs_are_decoded(text: str, plain: str, run: str, how: str) -> None:
    found = [(d.text, text[d.start : d.end], d.how) for d in prepare(text).decoded]
    assert (plain, run, how) in found


def test_decoding_goes_deeper_but_not_without_end() -> None:
    text = "219-09-1234"
    for depth in range(1, 5):
        text = base64.b64encode(text.encode()).decode()
        decoded = [d.text for d in prepare(text).decoded]
        assert ("219-09-1234" in decoded) == (depth <= 3)
        assert prepare(text).beyond == (depth > 3)


@pytest.mark.parametrize("unit", [
    "Jane Rowe met Maria Gonzalez. ", "%25252541", "%41b4", "NGUgNjEgNmUgNjU= ", "3444344534453444", "a b c d e f g "])
@pytest.mark.parametrize("packed", [0, 1, 2])
def test_what_is_decoded_is_bounded_and_what_is_left_is_told(unit: str, packed: int) -> None:
    text = unit * (30_000 // len(unit))
    for _ in range(packed):
        text = base64.b64encode(text.encode()).decode()
    prepared = prepare(text)
    most = max(ALWAYS_DECODED, MAX_GROWTH * len(text))
    decoded = sum(len(run.text) for run in prepared.decoded)
    assert decoded <= most
    assert decoded > 0 or packed == 0
    if unit.startswith("%25") and not packed:  # Three readings as long as the text, and a fourth one below.
        assert prepared.beyond


@pytest.mark.parametrize("text", [
    "", "She is 52.", "MjE5LTA5LTEyMzQ=", "a%20b", "6a 6f 68 6e 40 78 2e 63 6f 6d", "9f86d081884c7d659a2feaa0c55ad015"])
def test_nothing_is_left_of_ordinary_text(text: str) -> None:
    assert not prepare(text).beyond


def test_words_joined_without_end_are_no_coded_run() -> None:
    """A pattern that tries every way to part them would not come to an end."""
    assert prepare("x" + "'ab" * 2_000 + "9").decoded == ()


@pytest.mark.parametrize(
    "text",
    ["The otorhinolaryngologist recommended hydrochlorothiazide.", "A state-of-the-art anti-inflammatory/analgesic",
     "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "card 4111 1111 1111 1111",
     "5% of 20% is 1%", "x = y + z", "I a m", "AKIAIOSFODNN7EXAMPLE"],
)  # fmt: skip
def test_what_decodes_to_nothing_readable_is_left(text: str) -> None:
    assert prepare(text).decoded == ()


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=9, max_size=40))
def test_any_printable_text_comes_back_from_base64(plain: str) -> None:
    packed = base64.b64encode(plain.encode()).decode()
    assume(not re.fullmatch("[A-Za-z]?[a-z]+=*", packed))
    assert plain in [d.text for d in prepare(f"see {packed}, please").decoded]


def test_no_text_in_representations() -> None:
    prepared = prepare("Jane’s MjE5LTA5LTEyMzQ=")
    assert isinstance(prepared, Prepared)
    assert "Jane" not in repr(prepared)
    assert "219" not in repr(prepared.decoded)
