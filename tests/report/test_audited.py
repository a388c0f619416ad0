from __future__ import annotations

import copy
from typing import Any

from discreet.report.audited import attack_words, audited, listed

Record = dict[str, Any]


def test_the_decisive_target_comes_first(innocent: Record) -> None:
    two = copy.deepcopy(innocent)
    worse = copy.deepcopy(two["targets"][0]) | {"target": "B", "verdict": "fail"}
    two["targets"].append(worse)
    two["verdict"] = "fail"
    assert [one.name for one in audited(two)] == ["B", "target-0"]
    assert audited(two)[0].rows == ()
    assert len(audited(two)[0].peers) == len(two["attacks"])


def test_whole_rows_are_of_no_part_of_the_records(innocent: Record) -> None:
    rows = audited(innocent)[0].whole()
    assert rows
    assert all(row["label"] is row["category"] is row["decile"] is None for row in rows)


def test_one_structure_of_all_inputs_is_no_part(innocent: Record) -> None:
    same = copy.deepcopy(innocent)
    for row in [*same["attacks"], same["primary"], same["targets"][0]["primary"]]:
        row["structure"] = "single turn"
    assert len(audited(same)[0].whole()) == len(audited(innocent)[0].whole())
    assert audited(same)[0].structures == []
    same["attacks"][5]["structure"] = "several turns"
    assert audited(same)[0].structures == ["several turns"]


def test_the_table_begins_with_the_primary_and_keeps_oracles_apart(innocent: Record) -> None:
    honest, oracle = listed(audited(innocent)[0])
    assert honest[0] == innocent["primary"]
    assert not any(row["oracle"] for row in honest)
    assert all(row["oracle"] for row in oracle)
    assert {row["n"] for row in [*honest, *oracle]} == {None, 20}


def test_attacks_in_words() -> None:
    row = {"attack": "lira_offline", "scale": "logit", "reference_kind": "neutral"}
    assert attack_words(row) == "LiRA offline, neutral, logit scale"
    assert attack_words({**row, "attack": "my_own", "reference_kind": None}, scale=False) == "my own"
