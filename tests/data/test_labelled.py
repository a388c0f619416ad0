from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from discreet.core.errors import InputError
from discreet.data.labelled import COUNTS, read_labelled


def write(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "labelled.jsonl"
    path.write_text("".join(json.dumps({"id": i, "answer": "x", **r}) + "\n" for i, r in enumerate(records)))
    return path


def test_everything_that_a_row_may_have(tmp_path: Path) -> None:
    counts = dict.fromkeys(COUNTS, 0) | {"age": 1, "place": 2, "domain": 3}
    row = {"cluster": "yes", **counts, "subject": "third", "register": "case", "stratum": "random", "document": "d1"}
    (record,) = read_labelled(write(tmp_path, row))
    assert (record.answer.id, record.cluster, record.subject) == ("0", "yes", "third")
    assert record.counts == counts
    assert (record.register, record.domain, record.stratum, record.document) == ("case", None, "random", "d1")


def test_least_that_a_row_must_have(tmp_path: Path) -> None:
    records = read_labelled(write(tmp_path, {"label": "One "}, {"cluster": "no", "label": "NO"}, {"label": "unclear"}))
    assert [r.cluster for r in records] == ["one", "no", "unclear"]
    assert records[0].counts == {}


def test_domain_is_a_count_or_a_name(tmp_path: Path) -> None:
    one, two, three = read_labelled(write(tmp_path, {"label": "no", "domain": 2}, {"label": "no", "domain": "law"},
                                          {"label": "no", "domain": None}))
    assert (one.counts, one.domain) == ({"domain": 2}, None)
    assert (two.counts, two.domain) == ({}, "law")
    assert (three.counts, three.domain) == ({}, None)


def test_csv_counts_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("id,answer,cluster,age,place,domain,subject\n1,x,one,1,,medical,\n2,y,no,0,0,2,none\n")
    one, two = read_labelled(path)
    assert (one.counts, one.domain, one.subject) == ({"age": 1}, "medical", None)
    assert (two.counts, two.domain, two.subject) == ({"age": 0, "place": 0, "domain": 2}, None, "none")


@pytest.mark.parametrize(("row", "expected"), [
    ({}, "line 1: there is neither 'cluster' nor 'label'; expected one of yes, one, no, unclear"),
    ({"cluster": None, "label": ""}, "neither 'cluster' nor 'label'"),
    ({"label": "MARKED"}, "'label' is not a judgement that is known; expected one of yes, one, no, unclear"),
    ({"cluster": True}, "'cluster' is not a judgement"),
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


def test_ids_are_unique(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 2: the id of this row was used before, in line 1"):
        read_labelled(write(tmp_path, {"label": "no", "id": "a"}, {"label": "no", "id": "a"}))
