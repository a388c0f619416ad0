"""Marked words go in by every door; none of them may come out of any."""

from __future__ import annotations

import csv
import json
import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.jsonl import jsonl

import discreet
from discreet.core.errors import DetectorError
from discreet.core.records import Answer, Turn
from discreet.core.unicode import prepare
from discreet.guard import decide, probes, reading
from discreet.guard import guard as room
from discreet.guard import score as scoring
from discreet.guard.domains import load_domain
from discreet.guard.guard import Guard
from discreet.guard.policy import Policy
from discreet.guard.population.people import detailed
from discreet.guard.text import doc as parsed
from discreet.guard.text.direct.detect import Facts, find_direct, recognisers
from discreet.guard.text.doc import Doc
from discreet.guard.text.noun_phrases import name_at
from discreet.guard.text.record import Read
from discreet.guard.text.referents import find_referents

MARK = "zqxmarker"
TEXTS = {
    "cluster": "Mrs. Zqxmarker is a 52-year-old Zqxmarker welder from Omaha who works at Zqxmarker University.",
    "quiet": "The word zqxmarker has no meaning, and ZQXMARKER has none either.",
    "mail": "Write to zqxmarker.zqxmarker@zqxmarker.com or see https://zqxmarker.example/zqxmarker?name=Zqxmarker",
    "record": "Her MRN is ZQXMARKER12345 and her passport is ZQXMARKER1. Plan id: ZQXMARKER99.",
    "town": "He grew up in Zqxmarkerville, Nebraska and his wife Zqxmarker Zqxmarker is a nurse.",
    "case": "In Zqxmarker v. Zqxmarker, 372 U.S. 335, the Court held for Zqxmarker, a 40-year-old nurse.",
    "spanish": "La paciente Zqxmarker tiene 52 años y vive en Zqxmarker con sus dos hijos, pero trabaja en la ciudad.",
    "money": "Zqxmarker earns $82,000 and sold the Zqxmarker farm for $410,000; her Zqxmarker is a plaintiff.",
    "packed": "enF4bWFya2VyIHpxeG1hcmtlciB6cXhtYXJrZXI= z q x m a r k e r %7A%71%78marker",
    "first": "I am Zqxmarker, a 34-year-old nurse from Zqxmarkerville, and my husband is Zqxmarker.",
    "odd": "\ud800 zqxmarker \x00 \u202ezqxmarker\u202c",
    "empty": "",
}
PLACES: dict[str, Callable[[str], Answer]] = {
    "answer": lambda t: Answer("1", t),
    "question": lambda t: Answer("1", "The patient is a 52-year-old welder from Omaha.", t),
    "echoed": lambda t: Answer("1", t, t),
    "sources": lambda t: Answer("1", "Rest helps.", sources=(t, t)),
    "conversation": lambda t: Answer("1", "Rest helps.", conversation=(Turn("user", t), Turn("assistant", t))),
}


def assert_clean(*shown: object) -> None:
    for one in shown:
        text = one if isinstance(one, str) else f"{one} {one!r}"
        squeezed = "".join(c for c in text.lower() if c.isalnum())
        assert MARK not in squeezed, f"a marked word at {squeezed.index(MARK)} of {len(squeezed)} characters"


@pytest.fixture
def watched(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Afterwards no log record of any level, and nothing on stdout or stderr, holds a marked word."""
    caplog.set_level(logging.DEBUG)
    yield
    assert_clean(caplog.text, *(repr(r.__dict__) for r in caplog.records), *capfd.readouterr())


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
@pytest.mark.parametrize("place", PLACES)
def test_no_verdict_shows_a_word(guards: Mapping[str, Guard], place: str, text: str) -> None:
    answer = PLACES[place](text)
    assert_clean(answer)
    for guard in guards.values():
        judgement = guard.judge(answer)
        assert judgement.verdict.action != "failed"
        assert_clean(judgement, judgement.verdict, json.dumps(judgement.verdict.to_json()), *judgement.findings)
        assert_clean(guard, *guard.check_many([answer, answer]))


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_no_count_of_people_shows_a_word(guards: Mapping[str, Guard], text: str) -> None:
    guard = guards["medical"].counting()
    judgement = guard.judge(text)
    assert judgement.verdict.action != "failed"
    assert_clean(judgement, *judgement.people, judgement.verdict, json.dumps(judgement.verdict.to_json()))
    assert_clean(*(json.dumps(detailed(one, guard.population)) for one in judgement.people))


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_no_record_on_the_way_shows_a_word(text: str) -> None:
    prepared = prepare(text)
    doc = Doc(prepared)
    names = [name_at(doc, i) for i in range(len(doc.tokens))]
    assert_clean(prepared, doc, Facts.of(prepared.text), list(prepared.decoded), doc.tokens, names)
    assert_clean(find_referents(doc), list(recognisers.items()))
    for domain in ("medical", "finance", "law"):
        assert_clean(Read.of(doc, load_domain(domain)))


class BrokenError(Exception):
    """A library's error that quotes what it was given."""


def quoting(*given: Any) -> Any:
    words = TEXTS["cluster"]
    try:
        raise KeyError(words)
    except KeyError as error:
        raise BrokenError(f"cannot read {words!r}", *given) from error


class Quoting:
    """A recogniser."""

    types, priority = ("ssn",), 0

    def find(self, seen: Facts) -> Iterable[Any]:
        raise BrokenError(seen.text)


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("part", ["render", "direct_of", "guess_language", "seen_in", "attributes_of", "terms_of",
                                  "parts", "score", "probability", "request_of", "findings_of", "decide", "find_probe",
                                  "recogniser"])
def test_an_error_that_quotes_the_text_is_not_passed_on(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    guard = Guard(Policy.of("medical"))
    if part == "recogniser":
        monkeypatch.setitem(recognisers._items, next(iter(recognisers)), Quoting())
    else:
        for where in (room, scoring, reading, decide, probes, parsed):
            monkeypatch.setattr(where, part, quoting, raising=False)
    asked = Answer("1", "Yes, she was.", f"{TEXTS['cluster']} Was she here?")
    judgement = guard.judge(asked if part == "find_probe" else PLACES["echoed"](TEXTS["cluster"]))
    assert (judgement.verdict.action, judgement.findings) == ("failed", ())
    assert_clean(judgement, json.dumps(judgement.verdict.to_json()))


def test_a_detector_s_error_is_cut_off_from_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(recognisers._items, next(iter(recognisers)), Quoting())
    with pytest.raises(DetectorError) as caught:
        find_direct(prepare(TEXTS["cluster"]))
    assert_clean(caught.value, "".join(traceback.format_exception(caught.value)))


def test_findings_of_different_people_are_numbered(guards: Mapping[str, Guard]) -> None:
    text = "Zqxmarker Kowalski is a nurse from Omaha. Mr. Zqxmarkerson is a welder from Tulsa. His wife is 52."
    persons = {f.person for f in guards["medical"].judge(Answer("1", text)).findings if f.layer == "contextual"}
    assert all(p in ("speaker", "asker", "cohort", "nobody", "") or p.removeprefix("person ").isdigit()
               for p in persons)
    assert len(persons) > 1


ENV = {k: v for k, v in os.environ.items() if not k.startswith("DISCREET_")} | {
    "PYTHONPATH": str(Path(discreet.__file__).parents[1])}
RUN = "import sys; from discreet.cli.main import run; sys.exit(run())"
BREAK = """
from discreet.guard.text.direct.detect import recognisers

class Quoting:
    types, priority = ("ssn",), 0
    def find(self, seen):
        raise RuntimeError("cannot read " + seen.text)

recognisers._items[list(recognisers)[0]] = Quoting()
"""


def command(*args: object, stdin: str = "", code: int = 0, before: str = "") -> str:
    """Run `discreet` as a user would; neither stream may hold a marked word."""
    ended = subprocess.run([sys.executable, "-c", before + RUN, *map(str, args)], env=ENV, capture_output=True,
                           text=True, check=False, input=stdin, encoding="utf-8")
    assert ended.returncode == code, (ended.returncode, len(ended.stdout), len(ended.stderr))
    assert ended.stdout + ended.stderr
    assert_clean(ended.stdout, ended.stderr)
    return ended.stdout


ROWS = [{"id": name, "answer": text, "question": TEXTS["quiet"], "sources": [text],
         "conversation": [{"role": "user", "content": text}]}
        for name, text in ((n, t.replace("\ud800", "\ufffd")) for n, t in TEXTS.items()) if text]


def assert_files_clean(folder: Path, least: int) -> None:
    files = [p for p in folder.rglob("*") if p.is_file()]
    assert len(files) >= least, files
    for path in files:
        content = path.read_bytes()
        assert content
        assert_clean(path.name, content.decode("utf-8", errors="replace"))


@pytest.mark.parametrize("extra", [(), ("--explain",), ("--json",), ("--json", "--explain", "--show-text")])
def test_the_command_line_shows_and_writes_no_word(tmp_path: Path, extra: tuple[str, ...]) -> None:
    out = tmp_path / "out"
    out.mkdir()
    files: tuple[object, ...] = ("--output", out / "o.jsonl")
    if "--show-text" not in extra:
        files += ("--report", out / "r.html", "--out", out / "run")
    command("guard", "check", "--domain", "medical", "--input", jsonl(tmp_path / "a.jsonl", ROWS), *files, *extra)
    assert_files_clean(out, least=1 if "--show-text" in extra else 6)
    assert len((out / "o.jsonl").read_text().splitlines()) == len(ROWS)


def test_text_on_the_command_line_is_not_kept_and_on_standard_input_not_shown(tmp_path: Path) -> None:
    command("guard", "check", TEXTS["cluster"], "--question", TEXTS["mail"], "--domain", "law", "--out",
            tmp_path / "run")
    assert_files_clean(tmp_path / "run", least=4)
    command("guard", "check", "--domain", "law", "--fail-on-flag", stdin=TEXTS["cluster"], code=1)


def test_csv(tmp_path: Path) -> None:
    with (tmp_path / "a.csv").open("w", encoding="utf-8", newline="") as sheet:
        writer = csv.DictWriter(sheet, ["id", "answer", "question"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(r for r in ROWS if "\x00" not in str(r["answer"]))
    command("guard", "check", "--domain", "medical", "--input", tmp_path / "a.csv", "--explain")


BROKEN_FILES = {
    "cut.jsonl": '{"id": "1", "answer": "Zqxmarker',
    "types.jsonl": '{"id": "1", "answer": ["Zqxmarker"]}\n',
    "roles.jsonl": '{"id": "1", "answer": "Zqxmarker", "conversation": [{"role": "Zqxmarker"}]}\n',
    "twice.jsonl": '{"id": "1", "answer": "Zqxmarker"}\n{"id": "1", "answer": "Zqxmarker"}\n',
    "header.csv": "id,text\n1,Zqxmarker\n",
    "quote.csv": 'id,answer\n1,"Zqxmarker\n',
    "long.csv": "id,answer\n1,Zqxmarker,Zqxmarker\n",
    "word.parquet": "Zqxmarker",
    "word.jsonl.gz": "Zqxmarker",
}


@pytest.mark.parametrize("name", BROKEN_FILES)
def test_a_file_that_cannot_be_read_is_not_quoted(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(BROKEN_FILES[name])
    command("guard", "check", "--domain", "medical", "--input", tmp_path / name, code=2)


@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_the_evaluation_shows_no_word(tmp_path: Path, extra: tuple[str, ...]) -> None:
    path = jsonl(tmp_path / "labelled.jsonl", [{**row, "cluster": ("yes", "no")[i % 2], "subject": "third"}
                                               for i, row in enumerate(ROWS)])
    command("guard", "evaluate", "--labelled", path, "--domain", "medical", "--out", tmp_path / "run", *extra)
    assert_files_clean(tmp_path / "run", least=3)


def test_a_detector_that_breaks_and_quotes_leaves_no_word(tmp_path: Path) -> None:
    said = command("guard", "check", "--domain", "medical", "--input", jsonl(tmp_path / "a.jsonl", ROWS), "--json",
                   "--out", tmp_path / "run", before=BREAK)
    assert {json.loads(line)["action"] for line in said.splitlines()} == {"failed"}
    assert_files_clean(tmp_path / "run", least=4)


def test_the_marks_would_be_seen(guards: Mapping[str, Guard]) -> None:
    """The control: what shows a text is caught, whatever its case and however it is broken up."""
    for shown in ("xZQXMARKERx", "z q x marker", ["Zqx-Marker"], {"a": "zqxmarker"}):
        with pytest.raises(AssertionError, match="a marked word"):
            assert_clean(shown)
    assert_clean(replace(guards["law"].check(Answer("1", TEXTS["cluster"])), latency_ms=None))
