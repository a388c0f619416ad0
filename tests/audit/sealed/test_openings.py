from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.audit.sealed import Revealed, make_certificate, others_than, problems, read_openings, record_opening
from discreet.audit.sealed.openings import FILE, are_openings, hash_of_scores
from discreet.core.errors import InputError, UsageError
from discreet.core.files import dump_json

Audit = Callable[..., Revealed]


def open_with(folder: Path, revealed: Revealed) -> dict[str, Any]:
    """What the command does, but for the certificate's file."""
    openings = read_openings(folder, revealed.opening.commitment())
    certificate = make_certificate(revealed, others=others_than(openings, revealed))
    record_opening(folder, openings, certificate)
    return certificate


def test_every_opening_is_counted_once(audit: Audit, tmp_path: Path) -> None:
    first, second = audit(0.0, scored=1), audit(1.0, scored=2)
    found = [open_with(tmp_path, one) for one in (first, first, second, first)]
    assert [one["openings"] for one in found] == [1, 1, 2, 2]
    kept = read_openings(tmp_path, first.opening.commitment())
    assert [one["scores"] for one in kept] == [hash_of_scores(one.names, one.scores) for one in (first, second)]
    assert kept[0]["log10_e_value"] == found[0]["log10_e_value"]
    assert (kept[1]["when"], kept[1]["alpha"], kept[1]["rejected"]) == (found[2]["made"], 0.05, found[2]["rejected"])
    assert found[2]["other_openings"] == [{name: kept[0][name] for name in ("when", "scores", "log10_e_value")}]
    assert found[3]["other_openings"][0]["scores"] == kept[1]["scores"]
    assert found[2]["e_value_average"] == pytest.approx((found[0]["e_value"] + found[2]["e_value"]) / 2)
    for certificate in found:
        assert problems(json.loads(dump_json(certificate))) == []
    assert [p.name for p in tmp_path.iterdir()] == [FILE]


def test_the_same_scores_under_other_names_are_others(audit: Audit) -> None:
    one, again, named, order = audit(0.0), audit(0.0), audit(0.0, names=("score_a",)), audit(0.0)
    hashes = [hash_of_scores(r.names, r.scores) for r in (one, again, named)]
    assert hashes[0] == hashes[1] != hashes[2]
    assert hash_of_scores(order.names, dict(reversed(list(order.scores.items())))) == hashes[0]


GOOD = {"when": "2026-01-01", "scores": "a" * 64, "log10_e_value": 0.5}


@pytest.mark.parametrize("change", [
    {"kind": "x"}, {"schema": 2}, {"commitment": "0" * 64}, {"openings": None}, {"openings": [1]},
    {"openings": [{**GOOD, "scores": "A" * 64}]}, {"openings": [{**GOOD, "log10_e_value": "1"}]},
    {"openings": [{**GOOD, "log10_e_value": True}]}, {"openings": [{**GOOD, "when": 1}]}, {"openings": [GOOD, GOOD]},
])
def test_a_record_that_is_none_is_not_taken_for_no_opening(
    audit: Audit, tmp_path: Path, change: dict[str, Any]
) -> None:
    revealed = audit(0.0)
    open_with(tmp_path, revealed)
    path = tmp_path / FILE
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError, match=r"opened\.json is no record of the openings of this seal") as caught:
        read_openings(tmp_path, revealed.opening.commitment())
    assert "\n" not in str(caught.value)


def test_no_certificate_where_the_opening_cannot_be_recorded(audit: Audit, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        open_with(tmp_path / "gone", audit(0.0))


def test_an_average_beyond_all_floats(audit: Audit) -> None:
    made = make_certificate(audit(0.0), others=[{**GOOD, "log10_e_value": 4_000.0}])
    assert made["log10_e_value_average"] == pytest.approx(4_000.0, abs=0.31)
    assert 8e307 < made["e_value_average"] < 1e308
    assert are_openings([GOOD, {**GOOD, "scores": "b" * 64, "log10_e_value": -3}])
    assert not are_openings([{**GOOD, "log10_e_value": float("nan")}])
