from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.guard.benchmark.made import SET, made, passage
from tests.jsonl import jsonl

from discreet.core.errors import InputError
from discreet.guard.benchmark import Passage, read_passages

ROW = {"passage": "a", "text": "A nurse, 44.", "people": {"1": "third"}, "main": 1, "cluster": "yes", "inferred": [],
       "spans": [[2, 7, "occupation", 1, ""], [9, 11, "age", 1, "", 2]]}


def refused(path: Path, **further: Any) -> str:
    with pytest.raises(InputError) as error:
        read_passages(path, **further)
    assert "nurse" not in str(error.value)
    return str(error.value)


def test_the_example_is_read() -> None:
    passages = {p.id: p for p in made()}
    assert len(passages) == 22
    welder = passages["m01"]
    assert {s.kind: welder.text[s.start : s.end] for s in welder.spans if s.kind in ("age", "place")} == {
        "age": "52-year-old", "place": "Tulsa"}
    assert (welder.leaks, welder.stated, welder.register, welder.domain) == (True, "stated", "notes", "medical")
    assert "welder" not in repr(welder)
    assert (passages["p03"].stated, passages["m06"].leaks, passages["m07"].leaks) == ("inferred", None, False)


@pytest.mark.parametrize(("cluster", "people", "leaks"), [
    ("yes", {1: "third"}, True), ("yes", {1: "speaker"}, True), ("yes", {1: "public"}, None),
    ("one", {1: "third"}, None), ("no", {1: "third"}, False), ("unclear", {1: "third"}, None)])
def test_what_leaks(cluster: str, people: dict[int, str], leaks: bool | None) -> None:
    assert passage(cluster=cluster, people=people, main=1).leaks is leaks


@pytest.mark.parametrize(("spans", "inferred", "found"), [
    ([(0, 1, "age", 1), (2, 3, "family", 1)], (), "stated"), ([(0, 1, "age", 1)], [("place", 1)], "inferred"),
    ([(0, 1, "age", 1), (2, 3, "age", 1, True)], (), None),  # a repeat
    ([(0, 1, "age", 1), (2, 3, "job", 1, False, False)], (), None),  # not sure
    ([(0, 1, "age", 1), (2, 3, "family", 2)], (), None), ([(0, 1, "age", 3), (2, 3, "family", 3)], (), None)])
def test_stated_and_inferred_are_of_one_person(spans: Any, inferred: Any, found: str | None) -> None:
    people = {1: "third", 2: "speaker", 3: "public"}
    assert passage(spans=spans, inferred=inferred, people=people).stated == found


def test_texts_come_from_the_file_a_table_or_the_data(tmp_path: Path) -> None:
    bare = {name: value for name, value in ROW.items() if name != "text"}
    labels = jsonl(tmp_path / "labels.jsonl", [bare])
    texts = jsonl(tmp_path / "texts.jsonl", [{"id": "a", "text": ROW["text"]}])
    (tmp_path / "notes").mkdir()
    with gzip.open(tmp_path / "notes" / "all.jsonl.gz", "wt") as handle:
        handle.write(json.dumps({"id": 7, "body": f"No. {ROW['text']} Yes."}) + "\n")
    places = jsonl(tmp_path / "places.jsonl", [{
        "passage": "a", "source": "notes", "file": "all.jsonl.gz", "id": 7, "field": "body", "start": 4, "end": 16,
        "register": "notes", "document": "notes/7"}, {"passage": "other"}])
    of_file, of_table = read_passages(jsonl(tmp_path / "whole.jsonl", [ROW])), read_passages(labels, [texts])
    [of_data] = read_passages(labels, (), [places], tmp_path, domain="law")
    assert of_file == of_table
    assert (of_data.text, of_data.register, of_data.document, of_data.domain) == (
        ROW["text"], "notes", "notes/7", "law")
    assert "1 passage of 1 have no text, 'a' first" in refused(labels)
    (tmp_path / "notes" / "all.jsonl.gz").unlink()
    jsonl(tmp_path / "notes" / "all.jsonl", [{"id": 8}])
    moved = jsonl(tmp_path / "moved.jsonl", [{**json.loads(places.read_text().splitlines()[0]), "file": "all.jsonl"}])
    assert "has no text 'body' in its row 7" in refused(labels, places=[moved], data=tmp_path)


@pytest.mark.parametrize(("change", "said"), [
    ({"spans": [[2, 99, "age", 1]]}, "outside its text of 12 characters"),
    ({"spans": [[2, 7, "job", 1]]}, "has the class 'job'; expected one of age"),
    ({"spans": [[2, 7, "age", 4]]}, "person 4 is not in 'people'"),
    ({"spans": [[2]]}, "is not as expected"), ({"people": {"1": "asker"}}, "expected one of third, speaker"),
    ({"cluster": None}, "there is no 'cluster'"), ({"cluster": "two"}, "expected one of yes"),
    ({"passage": " "}, "there is no 'passage'"), ({"text": 5}, "'text' is")])
def test_what_cannot_be_labels_is_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    assert said in refused(jsonl(tmp_path / "labels.jsonl", [{**ROW, **change}]))


def test_an_id_that_comes_twice_is_refused(tmp_path: Path) -> None:
    assert "used before" in refused(jsonl(tmp_path / "labels.jsonl", [ROW, ROW]))


def test_one_readers_span_and_a_hint_are_not_sure(tmp_path: Path) -> None:
    spans = [[2, 7, "occupation", 1, "", 1], [9, 11, "age", 1, "w", 2], [0, 1, "sex", -1, "", 1],
             [9, 11, "age", 1, "r"]]
    [read] = read_passages(jsonl(tmp_path / "labels.jsonl", [{**ROW, "spans": spans}]))
    assert [(s.sure, s.repeat) for s in read.spans] == [(False, False), (False, False), (False, False), (True, True)]


def attribute(tag: str, value: str, certainty: int = 5) -> dict[str, Any]:
    return {"tag": tag, "keyword": value, "certainty": certainty, "hardness": 1}


def spia(tmp_path: Path, *attributes: dict[str, Any]) -> Passage:
    row = {"id": "s", "text": "Ann, 44, nurse, at home with the boys.", "category": "web",
           "subjects": [{"description": "Ann", "attributes": list(attributes)}]}
    return read_passages(jsonl(tmp_path / "spia.jsonl", [row]))[0]


def test_a_value_of_spia_that_stands_in_the_text_is_stated_another_inferred(tmp_path: Path) -> None:
    found = spia(tmp_path, attribute("AGE", "44"), attribute("OCCUPATION", "Nurse"), attribute("POSITION", "nurse"),
                 attribute("RELATIONSHIP", "Married"), attribute("LOCATION", "Leeds", 2), attribute("AFFILIATION", ""))
    assert [(s.start, s.kind, s.repeat) for s in found.spans] == [
        (5, "age", False), (9, "occupation", False), (9, "occupation", True)]
    assert (found.inferred, found.cluster, found.main, found.stated) == ((("family", 1),), "yes", 1, "stated")
    assert found.register == "web"
    assert spia(tmp_path, attribute("AGE", "44"), attribute("NATIONALITY", "Dutch")).stated == "inferred"
    assert spia(tmp_path, attribute("NAME", "Ann")).cluster == "no"


def test_the_example_is_where_the_page_says() -> None:
    assert SET.exists()
