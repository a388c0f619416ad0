from __future__ import annotations

import json
import pickle
from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar

import pytest

from discreet.audit.core.verdict import (
    Audit,
    Claims,
    Judgement,
    Planted,
    Sentence,
    check_at_least,
    least_detected,
    overall,
)
from discreet.core.errors import UsageError
from discreet.core.records import Estimate, plain


def test_a_reason_is_its_sentence_and_keeps_its_code() -> None:
    said = Sentence("leak", "It leaks.")
    for one in (said, deepcopy(said), pickle.loads(pickle.dumps(said))):
        assert (one, one.code) == ("It leaks.", "leak")
    found = Judgement("fail", (said, "A note."))
    assert found.reason_codes == ("leak", "")
    assert json.loads(json.dumps(found.to_json())) == {
        "verdict": "fail", "reasons": ["It leaks.", "A note."], "reason_codes": ["leak", ""]}
    assert Claims((said,), ()).to_json() == {"can": ["It leaks."], "cannot": []}


def test_the_worst_verdict_is_the_overall_one() -> None:
    assert overall(["pass", "inconclusive", "fail"]) == "fail"
    assert overall(["pass", "inconclusive"]) == "inconclusive"
    assert overall(["pass"]) == "pass"


def test_the_weakest_control_that_was_detected() -> None:
    controls = [Planted(1, False), Planted(16, True), Planted(4, True)]
    assert least_detected(controls) == Planted(4, True)
    assert least_detected(controls[:1]) is None


def test_an_audit_is_saved_as_the_record_that_pages_are_made_from(tmp_path: Path) -> None:
    class Small(Audit):
        kind: ClassVar[str] = "small"

        def to_json(self) -> dict[str, Any]:
            return {"auc": plain(Estimate(0.5, 0.4, 0.6)), "rows": plain((Claims(("a",), ()),))}

    with pytest.raises(UsageError, match="has no summary"):
        Small().save(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "result.json").read_text(encoding="utf-8")) == Small().record
    assert Small().record["rows"] == [{"can": ["a"], "cannot": []}]
    assert (Small().record["kind"], Small().record["schema"]) == ("small", 1)


def test_an_option_that_is_too_small_is_named() -> None:
    check_at_least("seed", 0)
    with pytest.raises(UsageError, match="bootstraps is 0: expected a whole number of at least 1"):
        check_at_least("bootstraps", 0, 1)
