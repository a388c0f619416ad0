from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.audit.membership.scenes import drawn, sure

from discreet.audit.core.simulate import World
from discreet.audit.membership.audit import MembershipAudit, audit_membership
from discreet.audit.membership.history import add_run, read_history, record_hash, run_entry, run_hash
from discreet.audit.scores.load import load_scores
from discreet.audit.scores.write import write_scores
from discreet.core.errors import InputError, UsageError


@pytest.fixture(scope="module")
def audit() -> MembershipAudit:
    return audit_membership(drawn(World(members=80, others=0, clean=80, selector=20, paired=0)), permutations=0,
                            bootstraps=5, attacks=["loss"])


def test_a_line_a_run_with_its_headline_figures(audit: MembershipAudit, tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    assert read_history(file) == []
    (first, before), (second, after) = (add_run(file, audit.record, name) for name in ("one", "two"))
    assert [len(first), before, len(second), after] == [1, None, 2, None]
    assert [one.pop("this", False) for one in second] == [False, True]
    assert read_history(file) == json.loads(json.dumps(second))
    line, record = read_history(file)[0], audit.record
    assert line["verdict"] == audit.verdict
    assert line["model"] == "target-0"
    assert line["auc"]["value"] == record["primary"]["auc"]["value"]
    assert line["control_auc"]["high"] == record["primary"]["control_auc"]["high"]
    assert line["worst_part"]["value"] == max(part["auc"]["value"] for part in record["parts"][1:])


def test_a_run_that_is_done_again_replaces_its_line_where_it_stands(audit: MembershipAudit, tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    first = {**audit.record, "provenance": {**audit.record["provenance"], "finished": "2026-01-01T00:00:00+00:00"}}
    for record, run in ((first, "one"), (audit.record, "two")):
        add_run(file, record, run)
    lines, earlier = add_run(file, {**audit.record, "verdict": "fail"}, "one")
    assert earlier == "2026-01-01T00:00:00+00:00"
    assert [(one["run"], one["verdict"], one.get("this")) for one in lines] == [
        ("one", "fail", True), ("two", audit.verdict, None)]
    assert [one["run"] for one in read_history(file)] == ["one", "two"]


def test_a_run_is_the_content_of_its_scores_and_its_settings(tmp_path: Path) -> None:
    table = drawn(World(members=30, others=0, clean=30, selector=10, paired=0, group_size=2))
    write_scores(table, tmp_path / "scores.parquet")
    frame = pd.read_parquet(tmp_path / "scores.parquet")
    frame.sample(frac=1.0, random_state=0)[list(frame.columns[::-1])].to_csv(tmp_path / "scores.csv", index=False)
    order = np.random.default_rng(0).permutation(len(table.examples))
    same = [load_scores(tmp_path / f"scores.{end}") for end in ("parquet", "csv")]
    assert len({run_hash(one, {"seed": 0}) for one in (*same, same[0].take(order))}) == 1
    assert run_hash(same[0], {"seed": 1}) != run_hash(same[0], {"seed": 0})
    assert run_hash(same[0], {"attacks": ("loss", "rmia")}) == run_hash(same[0], {"attacks": ["rmia", "loss"]})
    one = same[0]
    logits, member, group = one.logits.copy(), one.member.copy(), sure(one.examples.group).copy()
    logits[0, 0, 0, 0] += 1e-3
    member[0, 0] = 1 - member[0, 0]
    group[0] = group.max() + 1
    named = replace(one, models=(replace(one.models[0], name="another"), *one.models[1:]))
    others = [replace(one, logits=logits), replace(one, member=member), named, one.take(order[:-1]),
              replace(one, examples=replace(one.examples, group=group))]
    assert len({run_hash(other, {"seed": 0}) for other in (one, *others)}) == 1 + len(others)


def test_the_hash_is_of_the_record_as_it_is_saved(audit: MembershipAudit, tmp_path: Path) -> None:
    record = audit.record
    audit.save(tmp_path)
    saved = json.loads((tmp_path / "result.json").read_text())
    by_hand = hashlib.sha256(json.dumps(saved, sort_keys=True).encode()).hexdigest()
    assert run_entry(record, "one")["record"] == record_hash(saved) == by_hand
    assert record_hash({**saved, "history": [1]}) == by_hand
    assert record_hash({**saved, "verdict": "pass"}) != by_hand


def test_a_record_without_a_figure_is_null_never_zero(audit: MembershipAudit) -> None:
    line = run_entry({**audit.record, "primary": None, "parts": []}, "one")
    assert line["auc"] == {"value": None, "low": None, "high": None}
    assert line["worst_part"] is None


def test_what_is_no_history_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text('{"at": 1}\n')
    with pytest.raises(InputError, match=r"notes.txt line 1 is no run of a history"):
        read_history(file)
    file.write_text("words\n")
    with pytest.raises(InputError, match="line 1"):
        read_history(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="no text"):
        read_history(file)
    for where, said in ((tmp_path, "it is a folder"), (tmp_path / "none" / "h.jsonl", "its folder is not there")):
        with pytest.raises(UsageError, match=said):
            read_history(where)
