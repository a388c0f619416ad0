
from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from discreet.core.errors import InputError, MissingExtraError
from discreet.core.records import Answer, Public, Turn
from discreet.inputs import rows
from discreet.inputs.answers import COUNTS, answer_from_text, read_answers, read_labelled, unread

MARK = "MARKED-TEXT"
ROWS: list[dict[str, Any]] = [
    {"id": "a", "answer": "One, \"two\"\nthree", "question": "Why?", "sources": ["s1", "s2"],
     "conversation": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]},
    {"id": "b", "answer": "", "question": None, "sources": None, "conversation": None},
]
DECLARED = {"id": "c", "answer": "x", "user_words": "I am 52.", "question": "Q", "conversation": [
    {"role": "tool", "content": "t", "origin": "tool"}, {"role": "user", "content": "u", "origin": None}]}
ANSWERS = [
    Answer("a", "One, \"two\"\nthree", "Why?", ("s1", "s2"), (Turn("user", "hi"), Turn("assistant", "ho"))),
    Answer("b", ""),
]


def jsonl(*records: Any) -> bytes:
    return b"".join(json.dumps(r, ensure_ascii=False).encode() + b"\n" for r in records)


def as_csv(records: list[dict[str, Any]]) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(records[0]))
    writer.writeheader()
    for record in records:
        writer.writerow({k: json.dumps(v) if isinstance(v, list) else v for k, v in record.items()})
    return out.getvalue().encode()


def as_parquet(records: list[dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(records), out)
    return out.getvalue()


def put(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def refused(path: Path | str, stdin: bytes | None = None) -> str:
    with pytest.raises(InputError) as caught:
        list(read_answers(path, stdin=None if stdin is None else io.BytesIO(stdin)))
    message = str(caught.value)
    assert "\n" not in message
    assert MARK not in message
    return message


class TestFormats:
    @pytest.mark.parametrize(("name", "content"), [
        ("a.jsonl", jsonl(*ROWS)),
        ("a.NDJSON", b"\xef\xbb\xbf\n" + jsonl(*ROWS).replace(b"\n", b"\r\n") + b"\n\n"),
        ("a.jsonl.gz", gzip.compress(jsonl(*ROWS), mtime=0)),
        ("a.csv", as_csv(ROWS)),
        ("bom.csv", b"\xef\xbb\xbf" + as_csv(ROWS)),
        ("a.csv.gz", gzip.compress(as_csv(ROWS), mtime=0)),
        ("a.parquet", as_parquet(ROWS)),
    ])
    def test_one_table_in_every_format(self, tmp_path: Path, name: str, content: bytes) -> None:
        stream = read_answers(put(tmp_path, name, content))
        assert stream.total == 2
        assert list(stream) == ANSWERS

    def test_ids_become_strings_and_extra_columns_are_ignored(self, tmp_path: Path) -> None:
        records = [{"id": 7, "answer": "x", "other": {"deep": 1}}, {"id": 12, "answer": "y", "other": None}]
        for name, content in [("a.jsonl", jsonl(*records)), ("a.parquet", as_parquet(records))]:
            stream = read_answers(put(tmp_path, name, content))
            assert unread(stream.columns) == "'other'"
            assert [a.id for a in stream] == ["7", "12"]

    def test_columns_that_are_not_read_are_named_with_what_they_may_stand_for(self, tmp_path: Path) -> None:
        records = [{"id": "1", "answer": "x", "quest": "Q", "source": "s", "zone": 1}]
        said = "'quest' (did you mean 'question'?), 'source' (did you mean 'sources'?), 'zone'"
        for name, content in [("a.jsonl", jsonl(*records)), ("a.csv", as_csv(records)),
                              ("a.parquet", as_parquet(records))]:
            assert unread(read_answers(put(tmp_path, name, content)).columns) == said
        stream = read_answers("-", stdin=io.BytesIO(jsonl(*records)))
        assert [next(stream).id, unread(stream.columns)] == ["1", said]
        assert unread({"id", "answer", "answer_id"} | {f"c{i}" for i in range(9)}).endswith("'c6' and 2 more")
        assert unread({"id", "answer", "question"}) == ""

    @given(st.lists(st.tuples(st.text(), st.none() | st.text(min_size=1), st.lists(st.text(), max_size=3)), min_size=1,
                    max_size=5))
    def test_round_trip(self, tmp_path_factory: pytest.TempPathFactory,
                        drawn: list[tuple[str, str | None, list[str]]]) -> None:
        expected = [Answer(f"r{i}", a, q, tuple(s)) for i, (a, q, s) in enumerate(drawn)]
        records = [{"id": a.id, "answer": a.answer, "question": a.question, "sources": list(a.sources)}
                   for a in expected]
        folder = tmp_path_factory.mktemp("t")
        for name, content in [("a.jsonl", jsonl(*records)), ("a.parquet", as_parquet(records))]:
            assert list(read_answers(put(folder, name, content))) == expected

    @given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=5))
    def test_csv_round_trip(self, tmp_path_factory: pytest.TempPathFactory, drawn: list[str]) -> None:
        out = io.StringIO(newline="")
        writer = csv.writer(out, quoting=csv.QUOTE_ALL)
        writer.writerows([["id", "answer"], *[[i, a] for i, a in enumerate(drawn)]])
        path = put(tmp_path_factory.mktemp("t"), "a.csv", out.getvalue().encode())
        assert [a.answer for a in read_answers(path)] == drawn

    def test_long_cells_and_the_global_limit(self, tmp_path: Path) -> None:
        limit = csv.field_size_limit()
        text = "word " * 100_000
        stream = read_answers(put(tmp_path, "a.csv", as_csv([{"id": "1", "answer": text}])))
        assert next(stream).answer == text
        assert csv.field_size_limit() == limit

    def test_a_stream_holds_one_row_at_a_time(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        read: list[int] = []
        original = rows._json_object

        def counted(text: str, place: rows.Place) -> Any:
            read.append(place.number)
            return original(text, place)

        monkeypatch.setattr(rows, "_json_object", counted)
        stream = read_answers(put(tmp_path, "a.jsonl", jsonl(*[{"id": i, "answer": "x"} for i in range(50)])))
        assert len(read) == 50  # validated to the end
        next(stream)
        assert len(read) == 51

    def test_lone_surrogates_keep_offsets(self, tmp_path: Path) -> None:
        path = put(tmp_path, "a.jsonl", b'{"id": "1", "answer": "a\\ud800b \\ud83d\\ude00 c"}\n')
        assert next(read_answers(path)).answer == "a\ufffdb \U0001f600 c"

    @pytest.mark.parametrize(("given_sources", "expected"), [
        ("one", ("one",)), ("", ()), ("[1] Smith, A. (2001)", ("[1] Smith, A. (2001)",)), ("[2]", ("[2]",)),
        ('["a", "b"]', ("a", "b")), ([], ()), (["", "b"], ("", "b")),
        ([{"text": "a"}, {"text": "b", "public": True}], ("a", Public("b"))), ('[{"text": "a"}]', ("a",)),
    ])
    def test_sources_and_turns(self, tmp_path: Path, given_sources: Any, expected: tuple[str, ...]) -> None:
        turns = [{"role": "user", "text": "t"}, {"role": "assistant", "content": None, "tool_calls": []}]
        record = {"id": "1", "answer": "x", "sources": given_sources, "conversation": turns}
        found = next(read_answers(put(tmp_path, "a.jsonl", jsonl(record))))
        assert list(map(type, found.sources)) == list(map(type, expected))
        assert (found.sources, found.conversation) == (expected, (Turn("user", "t"), Turn("assistant", "")))


GOOD = {"id": "1", "answer": MARK}
WRONG_TYPES: list[tuple[Any, str]] = [(None, "null"), (3, "a number"), ([MARK], "a list"), (True, "true or false"),
                                      ({}, "an object")]
WRONG_IDS: list[tuple[Any, str]] = [(None, "null"), (1.5, "a number"), (True, "true or false"), ("", "empty"),
                                    ("  ", "empty")]
MISTAKES: list[tuple[str, bytes, str]] = [
    ("a.jsonl", b"", "a.jsonl holds no rows; expected at least one with the columns 'id' and 'answer'"),
    ("a.jsonl", b"\n \n", "a.jsonl holds no rows"),
    ("a.csv", b"", "a.csv holds no rows"),
    ("a.csv", b"id,answer\n", "a.csv holds no rows"),
    ("a.parquet", as_parquet([GOOD])[:-9], "a.parquet cannot be read ("),
    ("a.parquet", b"", "a.parquet cannot be read ("),
    ("a.jsonl.gz", gzip.compress(jsonl(GOOD), mtime=0)[:-12], "a.jsonl.gz is not a whole gzip file"),
    ("a.jsonl.gz", jsonl(GOOD), "a.jsonl.gz is not a whole gzip file"),
    ("a.json", jsonl(GOOD), "an ending that is not known; expected .jsonl"),
    ("a.txt", b"x", "plain text on standard input"),
    ("a.jsonl", jsonl(GOOD, {"id": "2"}), "a.jsonl, line 2: there is no 'answer'; add it, or rename"),
    ("a.jsonl", jsonl({"id": "1", "response": MARK}), "there is no 'answer'; rename 'response' to 'answer'"),
    ("a.jsonl", jsonl({"answer": MARK}), "there is no 'id'"),
    ("a.csv", b"id," + MARK.encode() + b"\n1,x\n", "a.csv, line 1: there is no 'answer'; add it"),
    ("a.csv", b"id,text\n1,x\n", "rename 'text' to 'answer'"),
    ("a.parquet", as_parquet([{"id": "1", MARK: "x"}]), "a.parquet: there is no 'answer'"),
    ("a.csv", b"id,answer,id\n1,x,2\n", "the header has 'id' twice"),
    ("a.csv", b"id,answer\n1,x\n2,x,y\n", "a.csv, line 3: 3 cells where the header has 2"),
    ("a.csv", b'id,answer\n1,"a\nb\nc"\n2\n', "a.csv, line 5: 1 cells"),
    ("a.csv", b'id,answer\n1,"' + MARK.encode(), "a.csv, line 2: not CSV"),
    ("a.csv", b'id,answer\n1,"' + MARK.encode() + b'" x\n', "a.csv, line 2: not CSV"),
    ("a.jsonl", jsonl(GOOD) + b'{"id": "2", "answer": "' + MARK.encode() + b'\n', "a.jsonl, line 2: not JSON ("),
    ("a.jsonl", jsonl(GOOD) + b"\n" + MARK.encode() + b"\n", "a.jsonl, line 3: not JSON (expecting value at column 1)"),
    ("a.jsonl", b'[{"id": "1", "answer": "x"}]\n', "a.jsonl, line 1: a list; expected one object a line"),
    ("a.jsonl", b"{\n", "a.jsonl, line 1: not JSON"),
    ("a.jsonl", b'{"id": "1", "answer": "x", "n": NaN}', "JSON that cannot be read (NaN)"),
    ("a.jsonl", b'{"id": "1", "answer": "x", "n": ' + b"1" * 5000 + b"}", "a number that is too long"),
    ("a.jsonl", b'{"a": ' * 100_000, "nested too deeply"),
    ("a.jsonl", jsonl(GOOD).decode().encode("utf-16"), "a.jsonl is UTF-16; expected UTF-8: iconv -f UTF-16"),
    ("a.csv", "\ufeffid,answer\n".encode("utf-16-be"), "a.csv is UTF-16"),
    ("a.jsonl", jsonl(GOOD) + '{"id": "2", "answer": "é"}'.encode("latin-1"), "is not UTF-8 at byte 60"),
    ("a.csv", b"id,answer\n1,a\n2,\xe9\n", "a.csv is not UTF-8 at byte 16"),
    ("a.jsonl", jsonl(GOOD, {"id": "2", "answer": "x"}, GOOD), "line 3: the id of this row was used before, in line 1"),
    ("a.jsonl", jsonl({"id": 1, "answer": "x"}, GOOD), "line 2: the id of this row was used before, in line 1"),
    ("a.csv", b"id,answer\n1,a\n1,b\n", "line 3: the id of this row was used before, in line 2"),
    ("a.parquet", as_parquet([GOOD, GOOD]), "row 2: the id of this row was used before, in row 1"),
    *[("a.jsonl", jsonl({"id": "1", "answer": value}), f"line 1: 'answer' is {what}; expected a string")
      for value, what in WRONG_TYPES],
    ("a.parquet", as_parquet([{"id": "1", "answer": 3}]), "row 1: 'answer' is a number"),
    ("a.parquet", as_parquet([{"id": "1", "answer": None}, {"id": "2", "answer": "x"}]), "row 1: 'answer' is null"),
    *[("a.jsonl", jsonl({"id": value, "answer": "x"}), f"'id' is {what}")
      for value, what in WRONG_IDS],
    ("a.jsonl", jsonl({**GOOD, "question": [MARK]}), "'question' is a list; expected a string or null"),
    ("a.jsonl", jsonl({**GOOD, "sources": {}}), "'sources' is an object; expected a list of strings"),
    ("a.jsonl", jsonl({**GOOD, "sources": ["x", 3]}), "item 2 of 'sources' is a number"),
    ("a.jsonl", jsonl({**GOOD, "conversation": MARK}), "'conversation' is a string; expected a list of objects"),
    ("a.jsonl", jsonl({**GOOD, "conversation": [MARK]}), "turn 1 of 'conversation' is a string"),
    ("a.jsonl", jsonl({**GOOD, "conversation": [{"content": "x"}]}), "the 'role' of turn 1 of 'conversation' is null"),
    ("a.jsonl", jsonl({**GOOD, "user_words": [MARK]}), "'user_words' is a list; expected a string or null"),
    ("a.jsonl", jsonl({**GOOD, "conversation": [{"role": "user", "text": "x", "origin": MARK}]}),
     "the 'origin' of turn 1 of 'conversation' is not one that is known; expected one of user, retrieved"),
    ("a.jsonl", jsonl({**GOOD, "conversation": [{"role": "user"}]}), "neither 'content' nor 'text'"),
    ("a.jsonl", jsonl({**GOOD, "conversation": [{"role": "u", "content": [1]}]}), "the text of turn 1 of 'conv"),
]


@pytest.mark.parametrize(("name", "content"), [
    ("a.jsonl", jsonl(DECLARED)), ("a.csv", as_csv([DECLARED])), ("a.parquet", as_parquet([DECLARED]))])
def test_the_users_words_and_the_origin_of_turns(tmp_path: Path, name: str, content: bytes) -> None:
    (found,) = read_answers(put(tmp_path, name, content))
    assert found == Answer("c", "x", "Q", (), (Turn("tool", "t", "tool"), Turn("user", "u")), "I am 52.")


class TestMistakes:
    @pytest.mark.parametrize(("name", "content", "expected"), MISTAKES,
                             ids=[f"{i}-{expected[:40]}" for i, (_, _, expected) in enumerate(MISTAKES)])
    def test_one_line_that_says_where_and_what(self, tmp_path: Path, name: str, content: bytes, expected: str) -> None:
        assert expected in refused(put(tmp_path, name, content))

    def test_places_that_are_no_file(self, tmp_path: Path) -> None:
        assert "there is no file" in refused(tmp_path / "none.jsonl")
        assert "is a folder" in refused(tmp_path)
        os.mkfifo(tmp_path / "pipe.jsonl")
        assert "is a pipe or a device" in refused(tmp_path / "pipe.jsonl")

    def test_a_mistake_on_the_last_line_comes_before_the_first_answer(self, tmp_path: Path) -> None:
        with pytest.raises(InputError):
            read_answers(put(tmp_path, "a.jsonl", jsonl(GOOD, {"id": "2"})))

    def test_lines_without_end(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rows, "MAX_CELL", 2**20)
        assert "a.jsonl, line 2: longer than 1 MiB" in refused(put(tmp_path, "a.jsonl", jsonl(GOOD) + b"x" * 2**20))
        long = b'id,answer\n1,"' + b"x\n" * 2**20 + b'"\n'
        assert "a cell is too long" in refused(put(tmp_path, "a.csv", long))

    def test_parquet_needs_pyarrow(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'discreet\[audit\]'"):
            read_answers(put(tmp_path, "a.parquet", as_parquet([GOOD])))


class TestStandardInput:
    def test_json_lines(self) -> None:
        stream = read_answers("-", stdin=io.BytesIO(b"\n" + jsonl(*ROWS)))
        assert stream.total is None
        assert list(stream) == ANSWERS

    @pytest.mark.parametrize("text", ["Plain text,\nof two lines.\n", "[1] A source says so.", "  42", "\ufeffx"])
    def test_plain_text_is_one_answer(self, text: str) -> None:
        stream = read_answers("-", stdin=io.BytesIO(text.encode()), question="Why?")
        assert list(stream) == [Answer("1", text.removeprefix("\ufeff"), "Why?")]

    def test_lines_come_as_they_are_read(self) -> None:
        stream = read_answers("-", stdin=io.BytesIO(jsonl(GOOD) + b"{broken"))
        assert next(stream).id == "1"
        with pytest.raises(InputError, match="standard input, line 2: not JSON"):
            next(stream)

    @pytest.mark.parametrize("content", [as_csv(ROWS), b"\xef\xbb\xbf" + as_csv(ROWS), b"\r\n" + as_csv(ROWS),
                                         as_csv(ROWS).replace(b"id,answer", b'"id","answer"')])
    def test_csv(self, content: bytes) -> None:
        stream = read_answers("-", stdin=io.BytesIO(content))
        assert list(stream) == ANSWERS

    def test_csv_with_mistakes(self) -> None:
        assert "standard input, line 3: 3 cells where the header has 2" in refused(
            "-", f"id,answer\n1,x\n2,{MARK},y\n".encode())
        assert "holds no rows" in refused("-", b"id,answer\n")
        assert "used before, in line 2" in refused("-", f"id,answer\n1,x\n1,{MARK}\n".encode())
        with pytest.raises(InputError, match="is CSV, where --question has no place"):
            list(read_answers("-", stdin=io.BytesIO(as_csv(ROWS)), question="Why?"))

    @pytest.mark.parametrize("text", ["The id, the answer and more.\n1,x\n", "id,name\n1,Ann\n", 'answer, "id\n'])
    def test_what_only_looks_like_csv_is_plain_text(self, text: str) -> None:
        assert [a.answer for a in read_answers("-", stdin=io.BytesIO(text.encode()))] == [text]

    def test_mistakes(self) -> None:
        assert "standard input is empty" in refused("-", b"")
        assert "standard input is empty" in refused("-", b" \n\n")
        assert "is UTF-16" in refused("-", MARK.encode("utf-16"))
        assert "is not UTF-8 at byte 3" in refused("-", b"abc\xff")
        assert "is a JSON array" in refused("-", b'[{"id": "1"}]')
        assert "standard input, line 1: not JSON" in refused("-", b"{\n  \"id\": 1\n}\n")
        with pytest.raises(InputError, match="put it into the column 'question'"):
            list(read_answers("-", stdin=io.BytesIO(jsonl(GOOD)), question="Why?"))
        with pytest.raises(InputError, match="--user-words has no place; put it into the column 'user_words'"):
            list(read_answers("-", stdin=io.BytesIO(jsonl(GOOD)), user_words="Why?"))


def test_text_on_the_command_line() -> None:
    assert answer_from_text("a\ud800b", "q\udfff") == Answer("1", "a\ufffdb", "q\ufffd")


def write(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "labelled.jsonl"
    path.write_text("".join(json.dumps({"id": i, "answer": "x", **r}) + "\n" for i, r in enumerate(records)))
    return path


def test_everything_that_a_row_may_have(tmp_path: Path) -> None:
    counts = dict.fromkeys(COUNTS, 0) | {"age": 1, "place": 2, "domain": 3}
    row = {"cluster": "yes", **counts, "subject": "third", "register": "case", "document": "d1"}
    (record,) = read_labelled(write(tmp_path, row))
    assert (record.answer.id, record.cluster, record.subject) == ("0", "yes", "third")
    assert record.counts == counts
    assert (record.register, record.domain, record.document) == ("case", None, "d1")


def test_labels_and_domains(tmp_path: Path) -> None:
    """Least that a row must have; a domain that is a whole number is a count."""
    one, two, three = read_labelled(write(tmp_path, {"label": "One ", "domain": 2}, {"cluster": "no", "label": "NO"},
                                          {"label": "unclear", "domain": "law"}))
    assert (one.cluster, one.counts, one.domain) == ("one", {"domain": 2}, None)
    assert (two.cluster, two.counts, two.domain) == ("no", {}, None)
    assert (three.cluster, three.counts, three.domain) == ("unclear", {}, "law")


def test_csv_counts_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("id,answer,cluster,age,place,domain,subject\n1,x,one,1,,medical,\n2,y,no,0,0,2,none\n")
    one, two = read_labelled(path)
    assert (one.counts, one.domain, one.subject) == ({"age": 1}, "medical", None)
    assert (two.counts, two.domain, two.subject) == ({"age": 0, "place": 0, "domain": 2}, None, "none")


@pytest.mark.parametrize(("row", "expected"), [
    ({}, "line 1: there is neither 'cluster' nor 'label'; expected one of yes, one, no, unclear"),
    ({"cluster": None, "label": ""}, "neither 'cluster' nor 'label'"),
    ({"label": "MARKED"}, "'label' is not one that is known; expected one of yes, one, no, unclear"),
    ({"cluster": True}, "'cluster' is not one that is known"),
    ({"cluster": "yes", "label": "no"}, "say different things"),
    ({"cluster": "yes", "age": -1}, "'age' is not a count; expected a whole number from 0"),
    ({"cluster": "yes", "age": 1.5}, "'age' is not a count"),
    ({"cluster": "yes", "family": "MARKED"}, "'family' is not a count"),
    ({"cluster": "yes", "sex": True}, "'sex' is not a count"),
    ({"cluster": "yes", "subject": "MARKED"}, "'subject' is not one that is known; expected one of third, speaker"),
    ({"cluster": "yes", "register": 3}, "'register' is a number; expected a string"),
    ({"cluster": "yes", "answer": None}, "'answer' is null"),
    ({"cluster": "yes", "id": ""}, "'id' is empty"),
])
def test_mistakes(tmp_path: Path, row: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError) as caught:
        read_labelled(write(tmp_path, row))
    assert expected in str(caught.value)
    assert "MARKED" not in str(caught.value)
