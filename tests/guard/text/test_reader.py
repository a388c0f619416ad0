"""The reader over networks whose every output is a row of a table, so that it can be said what must come out."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guard.text.tables import CASES, CLASSES, SHAPES, VOCABULARY, C, P, only, sealed, slowly, tables, write

from discreet.core.errors import DetectorError
from discreet.guard.guard import Guard
from discreet.guard.text import reader as module
from discreet.guard.text import record
from discreet.guard.text.reader import CARD, FOLDER, MODEL, TOKENIZER, Reader, Seen
from discreet.guard.text.reply import NOTHING, inputs_of

MakeReader = Callable[..., Reader]
PLAIN = {"gate": np.ones((C, P)).tolist(), "shift": np.zeros((C, P)).tolist(), "same": (1, -1)}
real = pytest.mark.skipif(not (FOLDER / MODEL).exists(), reason="needs the weights of the reader")


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> MakeReader:
    """`make(tables=None, **card)`: a reader over tables."""
    return lambda said=None, **card: Reader(write(tmp_path_factory.mktemp("reader"), said or tables(), **card))


@pytest.fixture(scope="module")
def small(make: MakeReader) -> Reader:
    return make()


def listed(read: Seen) -> list[tuple[Any, ...]]:
    return [(s.kind, s.start, s.end, s.subject, s.person, s.probability) for s in read.spans]


def bits(read: Seen) -> tuple[Any, ...]:
    held = {who: odds.tobytes() for who, odds in read.held.items()}
    return read.spans, held, read.counts.tobytes(), tuple(read.inferred.items()), read.vector.tobytes()


pieces = st.sampled_from(["she", "He", "nurse", "fireman", "firefighter", "Boston", "old", "52", "unknown", "é", "-old",
                          ".", ",", " ", "  ", "\n", "\x1e", "-", "[SEP]", "[CLS]", "a", "\u0301", "日本"])
texts = st.lists(pieces, max_size=40).map("".join) | st.lists(pieces, max_size=40).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(texts)
def test_what_is_found_is_what_tables_say(small: Reader, text: str) -> None:
    read = small.read(text)
    found, (expected, held) = listed(read), slowly(text, tables())
    assert [f[:5] for f in found] == [e[:5] for e in expected]
    assert [f[5] for f in found] == pytest.approx([e[5] for e in expected], abs=1e-5)
    assert set(read.held) == set(held)
    for who, odds in held.items():
        assert read.held[who] == pytest.approx(odds, abs=1e-5)  # type: ignore[index]


@settings(max_examples=60, deadline=None)
@given(texts, st.lists(texts, max_size=3))
def test_questions_change_nothing_that_is_found(small: Reader, text: str, questions: list[str]) -> None:
    """A text sees itself alone."""
    read, alone = small.read(text, questions), small.read(text)
    assert (read.spans, read.case) == (alone.spans, alone.case)
    assert (read.counts == alone.counts).all()
    assert (len(read.behind), alone.behind) == (len(questions), ())


def test_each_question_has_a_case_of_its_own(make: MakeReader) -> None:
    """Here the row of its first word: what any window tells, and of others the least."""
    leak, made_up, none = (np.eye(len(CASES))[CASES.index(name)] * 9 for name in ("leak", "fictional", "none"))
    reader = make(only(case={"nurse": leak, "boston": made_up, "she": none}), window=20)
    seen = reader.read("She " * 60, ("Nurse she?", "Boston", "She"))
    assert [case.tells > 0 for case in seen.behind] == [True, False, False]
    assert [case.others > 0 for case in seen.behind] == [False, True, False]
    assert [case.status for case in seen.behind][1] == "fictional"
    assert seen.case.tells < 0
    assert reader.read("", ("Nurse?",)).behind == (NOTHING,)


@settings(max_examples=60, deadline=None)
@given(texts)
def test_a_reader_that_sees_one_token_at_a_time_does_not_depend_on_windows(small: Reader, wide: Reader,
                                                                           text: str) -> None:
    a, b = small.read(text), wide.read(text)
    assert listed(a) == listed(b)
    assert (a.counts == b.counts).all()
    assert a.inferred == b.inferred
    assert {who: odds.tobytes() for who, odds in a.held.items()} == {w: odds.tobytes() for w, odds in b.held.items()}


@pytest.fixture(scope="module")
def wide(make: MakeReader) -> Reader:
    return make(window=500)


@pytest.mark.parametrize("length", [*range(1, 40), 97])
@pytest.mark.parametrize(("window", "overlap"), [(26, 3), (16, 2), (12, 1), (5, 0)])
def test_windows_are_few_and_a_token_is_taken_from_where_it_stands_nearest_the_middle(
        make: MakeReader, monkeypatch: pytest.MonkeyPatch, length: int, window: int, overlap: int) -> None:
    """No fewer windows would do, and none as many but shorter; all are of one length, and equal ones are read once."""
    number = next(n for n in count(1) if window - 2 + (n - 1) * (window - 2 - overlap) >= length)
    room = next(r for r in range(1, window - 1) if r + (number - 1) * (r - overlap) >= length)
    made = _CACHE.setdefault(window, None) or make({**tables(), "places": True}, window=window)
    _CACHE[window] = made
    ran, run = list[int](), made._session.run
    monkeypatch.setattr(made, "_session", SimpleNamespace(
        run=lambda names, given: [ran.append(given["ids"].shape[1] - 2), run(names, given)][1]))  # type: ignore[func-returns-value]
    out = made._run([2, *[VOCABULARY["she"]] * length, 3], {}, inputs_of(()))
    places = out["person"][:, 0] - 2  # Behind [CLS], from 0.
    starts = np.arange(length) - places
    each = ("inside", "begins", "whose", "person", "held")
    assert {name: len(out[name]) for name in each} == dict.fromkeys(each, length)
    assert ran == [room]
    assert starts[0] == 0
    assert (np.diff(starts) >= 0).all()
    assert ((places >= 0) & (places < room)).all()
    used = sorted(set(starts.tolist()))
    assert len(used) == number
    assert used[-1] == length - room
    assert all(a < b <= a + room - overlap for a, b in pairwise(used))
    for i in range(length):
        centre = {s: abs(i - s - (room - 1) / 2) for s in used if s <= i < s + room}
        assert centre[starts[i]] <= min(centre.values()) + 1


_CACHE: dict[int, Any] = {}


def test_pieces_of_one_word_share_their_mean(make: MakeReader) -> None:
    weak, strong = [-9, -9, -0.5], [-9, -9, 6]
    said = make(only(inside={"fire": weak, "##fight": strong, "##er": strong, "nurse": weak}))
    text = "A firefighter, a nurse."
    [span] = said.read(text).spans
    assert text[span.start : span.end] == "firefighter"
    assert span.probability == pytest.approx((1 / (1 + np.exp(0.5)) + 2 / (1 + np.exp(-6))) / 3, abs=1e-6)


def test_a_span_goes_on_until_a_token_begins_another(make: MakeReader) -> None:
    on = [-9, -9, 9]
    quiet = only(inside=dict.fromkeys(("old", "nurse", "fire", "##man", "a"), on))
    text = "old nurse a fireman . old nurse"
    assert [text[s.start : s.end] for s in make(quiet).read(text).spans] == ["old nurse a fireman", "old nurse"]
    begun = only(inside=dict.fromkeys(("old", "nurse", "fire", "##man", "a"), on),
                 begins={"a": [9, 9, 1.1], "##man": [9, 9, 9], "nurse": [9, 9, 0.9]})
    assert [text[s.start : s.end] for s in make(begun).read(text).spans] == ["old nurse", "a fireman", "old nurse"]


def test_two_persons_and_those_who_need_no_number(make: MakeReader) -> None:
    """Who is like nobody before opens a person; the speaker, groups and nobody are never told apart."""
    job = [-9, -9, 9]
    here, there = [2, 0, 0, 0], [0, 2, 0, 0]
    said = only(inside=dict.fromkeys(("she", "he", "nurse", "old", "boston"), job),
                person={"she": here, "nurse": here, "he": there},
                whose={"old": [[0, 9, 0, 0, 0]] * C, "boston": [[0, 0, 0, 9, 0]] * C})
    found = make(said, persons=PLAIN).read("she . he . nurse . old . boston . he").spans
    assert [s.person for s in found] == ["r1", "r2", "r1", "speaker", "cohort", "r2"]
    assert [s.subject for s in found] == ["third", "third", "third", "speaker", "cohort", "third"]


def test_a_person_is_public_over_all_of_their_spans(make: MakeReader) -> None:
    """What each span gives either is summed; a tie is not public."""
    job = [-9, -9, 9]
    likely, even = [[1, 0, 2, 0, 0]] * C, [[2, -90, 2, -90, -90]] * C
    said = make(only(inside=dict.fromkeys(("she", "he", "nurse", "old", "boston"), job),
                     person={w: [2, 0, 0, 0] for w in ("she", "he", "nurse", "boston")},
                     whose={"she": [[9, 0, 0, 0, 0]] * C, "he": likely, "nurse": likely, "boston": even,
                            "old": [[0, 0, 0, 9, 0]] * C}), persons=PLAIN)
    for text, subject in (("she", "third"), ("he", "public"), ("she . he", "third"), ("she . he . nurse", "third"),
                          ("he . nurse . he . she . he . nurse . nurse . he", "public"), ("boston", "third"),
                          ("he . boston", "public"), ("boston . he", "public"), ("she . boston", "third")):
        read = said.read(f"{text} . old")
        assert [(s.subject, s.person) for s in read.spans] == [*[(subject, "r1")] * (text.count(".") + 1),
                                                              ("cohort", "cohort")]
        assert set(read.held) == {("r1", subject), ("cohort", "cohort")}


def test_what_a_person_holds_is_the_mean_over_their_spans(make: MakeReader) -> None:
    """Not over their tokens: each span is one voice, and what speaks of somebody else has none."""
    job = [-9, -9, 9]
    said = make(only(inside=dict.fromkeys(("she", "he", "nurse", "old", "a"), job),
                     person={"she": [2, 0, 0, 0], "nurse": [2, 0, 0, 0], "he": [0, 2, 0, 0]},
                     whose={"old": [[0, 9, 0, 0, 0]] * C}, held={"she": [1, 2, 3, 4], "nurse": [5, 5, 5, 0],
                                                                 "he": [-7, 0, 0, 0], "old": [0, 0, 0, 8],
                                                                 "boston": [99, 99, 99, 99]}),
                persons=PLAIN)
    held = said.read("she she nurse . boston he . nurse . old").held
    assert {who: odds.tolist() for who, odds in held.items()} == {
        ("r1", "third"): pytest.approx([(7 / 3 + 5) / 2, 4, (11 / 3 + 5) / 2, (8 / 3) / 2]),
        ("r2", "third"): [-7, 0, 0, 0], ("speaker", "speaker"): [0, 0, 0, 8]}


def test_records_are_read_one_by_one(make: MakeReader) -> None:
    """No person goes on into the next; the speaker does, with the most that a record says of them."""
    job = [-9, -9, 9]
    said = make(only(inside=dict.fromkeys(("she", "he", "nurse", "old", "a", "fire"), job),
                     person={w: [0, 2, 0, 0] if w == "he" else [2, 0, 0, 0] for w in ("she", "he", "nurse", "fire")},
                     whose=dict.fromkeys(("old", "a"), [[0, 9, 0, 0, 0]] * C),
                     held={"she": [1, 0, 0, 0], "nurse": [3, 0, 0, 0], "fire": [0, 4, 0, 0], "he": [0, 0, 7, 0],
                           "old": [1, 5, 0, 0], "a": [2, 3, 0, 0]}),
                persons=PLAIN)
    text = "she . he . nurse . old\x1e\x1e \x1efire\x1ehe . a . she"
    read = said.read(text)
    assert [(text[s.start : s.end], s.person) for s in read.spans] == [
        ("she", "r1"), ("he", "r2"), ("nurse", "r1"), ("old", "speaker"), ("fire", "r3"), ("he", "r4"),
        ("a", "speaker"), ("she", "r5")]
    assert {who: odds.tolist() for (who, _), odds in read.held.items()} == {
        "r1": [2, 0, 0, 0], "r2": [0, 0, 7, 0], "r3": [0, 4, 0, 0], "r4": [0, 0, 7, 0], "r5": [1, 0, 0, 0],
        "speaker": [2, 5, 0, 0]}
    glued = said.read("nurse\x1enurse").spans
    assert [(s.start, s.end, s.person) for s in glued] == [(0, 5, "r1"), (6, 11, "r2")]


@pytest.mark.parametrize("first", range(3))
def test_records_share_the_outputs_of_the_whole_text(small: Reader, wide: Reader, first: int) -> None:
    """The highest count and probability of any record; the sum of their vectors, of norm 1. Empty ones add nothing."""
    said, records = tables(), ["she nurse", "boston , a", "old"]
    records = records[first:] + records[:first]
    ids = [[VOCABULARY[w] for w in ("[CLS]", *record.split(), "[SEP]")] for record in records]
    every = [i for record in ids for i in record]
    read = wide.read("\x1e \x1e".join(records) + "\x1e")
    assert (read.counts == said["counts"][every].max(0)).all()
    assert [*read.inferred] == list(CLASSES)
    assert [*read.inferred.values()] == pytest.approx(1 / (1 + np.exp(-said["inferred"][every].max(0))), abs=1e-6)
    total = np.sum([said["vector"][i].mean(0) for i in ids], axis=0)
    assert read.vector == pytest.approx(total / np.linalg.norm(total), abs=1e-6)
    assert bits(small.read("she nurse\x1e")) == bits(small.read("she nurse"))


def test_whole_text_outputs(small: Reader, wide: Reader) -> None:
    """The highest count and probability over windows; the vector of one window is its mean, of norm 1."""
    said, text = tables(), "she nurse boston"
    ids = [VOCABULARY[w] for w in ("[CLS]", *text.split(), "[SEP]")]
    read = wide.read(text)
    assert (read.counts == said["counts"][ids].max(0)).all()
    assert list(read.inferred) == list(CLASSES)
    assert [*read.inferred.values()] == pytest.approx(1 / (1 + np.exp(-said["inferred"][ids].max(0))), abs=1e-6)
    mean = said["vector"][ids].mean(0)
    assert read.vector == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)
    assert np.linalg.norm(small.read(text * 30).vector) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("text", ["", " ", "\n\t  ", "\u200b", "\x00", "\x1e", " \x1e\x1e\n"])
def test_nothing_to_read(small: Reader, text: str) -> None:
    read = small.read(text)
    assert read.spans == ()
    assert read.held == {}
    assert (read.counts == -20).all()
    assert read.inferred == {}
    assert read.vector.shape == (6,)
    assert not read.vector.any()


@pytest.mark.parametrize("text", ["\ud800 nurse", "nurse\udfff\ud800", "she \ud83d\ude00 nurse", "\ud800" * 50])
def test_lone_surrogates_keep_offsets(small: Reader, text: str) -> None:
    plain = re.sub("[\ud800-\udfff]", "?", text)
    assert listed(small.read(text)) == listed(small.read(plain))


def test_marks_of_the_tokeniser_are_text(make: MakeReader) -> None:
    """Whoever writes "[SEP]" or "[PAD]" gives the network no token of its own."""
    said = only(inside={w: [9, 9, 9] for w in ("[SEP]", "[PAD]", "[CLS]")})
    assert make(said).read("nurse [SEP] old [PAD] [CLS]").spans == ()


def test_the_same_bits_in_any_company(small: Reader) -> None:
    given_texts = ["she fireman boston", "he " * 60, "", "52-old nurse, Boston. " * 9, "nurse"]
    alone = [bits(small.read(t)) for t in given_texts]
    assert [bits(small.read(t)) for t in reversed(given_texts)] == alone[::-1]
    assert [bits(small.read(t)) for t in given_texts * 2] == alone * 2


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_output_that_is_no_number_is_an_error(make: MakeReader, name: str, value: float) -> None:
    said = tables()
    said[name][:] = value
    with pytest.raises(DetectorError, match="reader"):
        make(said).read("she nurse")


def changed_bytes(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def changed_card(path: Path, fits: bool = True, **said: Any) -> None:
    """Another card, that fits its hashes or does not."""
    card = {**json.loads((path / CARD).read_text(encoding="utf-8")), **said}
    if fits:
        sealed(path, card)
    else:
        (path / CARD).write_text(json.dumps(card), encoding="utf-8")


def without_network(folder: Path) -> None:
    (folder / MODEL).write_bytes(b"no network")
    changed_card(folder)


FILES = (MODEL, TOKENIZER, CARD)
BREAKS: dict[str, Callable[[Path], Any]] = {
    **{f"no {n}": partial(lambda n, f: (f / n).unlink(), n) for n in FILES},
    **{f"short {n}": partial(lambda n, f: (f / n).write_bytes((f / n).read_bytes()[:-9]), n) for n in FILES},
    **{f"empty {n}": partial(lambda n, f: (f / n).write_bytes(b""), n) for n in FILES},
    **{f"another bit in {n}": partial(lambda n, f: changed_bytes(f / n), n) for n in (MODEL, TOKENIZER)},
    "a threshold that is no number": lambda f: changed_card(f, thresholds=dict.fromkeys(CLASSES, float("nan"))),
    "a class without a threshold": lambda f: changed_card(f, thresholds={"age": 0.5}),
    "windows that do not move on": lambda f: changed_card(f, window=2),
    "no hashes": lambda f: changed_card(f, fits=False, sha256={}),
    "another threshold": lambda f: changed_card(f, fits=False, thresholds=dict.fromkeys(CLASSES, 0.99)),
    "no network": without_network,
}


@pytest.mark.parametrize("how", BREAKS)
def test_no_answer_is_safe_where_a_file_is_missing_or_altered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                              how: str) -> None:
    folder = write(tmp_path / "reader", tables())
    Reader(folder)
    BREAKS[how](folder)
    with pytest.raises(DetectorError, match="the reader's weights failed with"):
        Reader(folder)
    monkeypatch.setattr(record, "packaged", lambda: Reader(folder))
    for text in ("Take it with food.", "The patient is a 52-year-old welder from Omaha."):
        verdict = Guard("medical").check(text)
        assert (verdict.action, verdict.score, verdict.evidence) == ("failed", None, ())


def test_importing_does_nothing() -> None:
    code = ("import sys; import discreet.guard.text.reader as r; from discreet.guard import Guard; Guard('medical'); "
            "print(r.packaged.cache_info().currsize, 'onnxruntime' in sys.modules, 'tokenizers' in sys.modules)")
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["0", "False", "False"]


@real
def test_the_packaged_reader() -> None:
    reader = module.packaged()
    assert reader is module.packaged()
    text = "The patient is a 52-year-old welder from Omaha. Her brother is a teacher.\n"
    read = reader.read(text)
    assert read.counts.shape == (3, 4)
    assert {s.kind for s in read.spans} <= set(reader.classes)
    assert all(0 <= s.start < s.end <= len(text) for s in read.spans)
    assert all(0 <= p <= 1 for p in read.inferred.values())
    assert {odds.shape for odds in read.held.values()} == {(4,)}
    assert set(read.held) == {(s.person, s.subject) for s in read.spans}
    assert "52" in {text[s.start : s.end][:2] for s in read.spans if s.kind == "age"}
    assert bits(reader.read(text)) == bits(read)


@real
def test_a_question_changes_what_is_found_by_no_more_than_rounding() -> None:
    """The network's products are of 8 bits, whose scale all tokens of a call share."""
    reader = module.packaged()
    text = "The patient is a 52-year-old welder from Omaha. Her brother is a teacher."
    alone, asked = reader.read(text), reader.read(text, ("zyx " * 90, "Was she here?", "<b>" * 40))
    assert np.abs(asked.counts - alone.counts).max() < 1
    assert [s.kind for s in asked.spans] == [s.kind for s in alone.spans]


@real
def test_twenty_thousand_characters() -> None:
    text = ("The patient is a 52-year-old welder from Omaha with two children. " * 400)[:20_000]
    read = module.packaged().read(text)
    assert read.spans
    assert max(s.end for s in read.spans) > 19_000
    assert list(read.spans) == sorted(read.spans, key=lambda s: s.start)
