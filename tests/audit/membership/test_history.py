from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from tests.audit.membership.scenes import drawn

from discreet.audit.core.simulate import World
from discreet.audit.membership.audit import MembershipAudit, audit_membership
from discreet.audit.membership.history import add_run, read_history, record_hash, run_entry
from discreet.core.errors import InputError, UsageError


@pytest.fixture(scope="module")
def audit() -> MembershipAudit:
    return audit_membership(drawn(World(members=80, others=0, clean=80, selector=20, paired=0)), permutations=0,
                            bootstraps=5, attacks=["loss"])


def test_a_line_a_run_with_its_headline_figures(audit: MembershipAudit, tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    assert read_history(file) == []
    first, second = add_run(file, audit.record), add_run(file, audit.record)
    assert [len(first), len(second), len(file.read_text().splitlines())] == [1, 2, 2]
    assert read_history(file) == json.loads(json.dumps(second))
    line, record = read_history(file)[0], audit.record
    assert line["verdict"] == audit.verdict
    assert line["model"] == "target-0"
    assert line["auc"]["value"] == record["primary"]["auc"]["value"]
    assert line["control_auc"]["high"] == record["primary"]["control_auc"]["high"]
    assert line["worst_part"]["value"] == max(part["auc"]["value"] for part in record["parts"][1:])


def test_the_hash_is_of_the_record_as_it_is_saved(audit: MembershipAudit, tmp_path: Path) -> None:
    record = audit.record
    audit.save(tmp_path)
    saved = json.loads((tmp_path / "result.json").read_text())
    by_hand = hashlib.sha256(json.dumps(saved, sort_keys=True).encode()).hexdigest()
    assert run_entry(record)["record"] == record_hash(saved) == by_hand
    assert record_hash({**saved, "history": [1]}) == by_hand
    assert record_hash({**saved, "verdict": "pass"}) != by_hand


def test_a_record_without_a_figure_is_null_never_zero(audit: MembershipAudit) -> None:
    line = run_entry({**audit.record, "primary": None, "parts": []})
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
