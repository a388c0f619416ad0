from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.core.errors import InputError
from discreet.core.records import Answer
from discreet.guard.calibrate import Calibration, calibrate, with_points
from discreet.guard.density.discriminators import DENSITY
from discreet.guard.density.points import Costs, Thetas
from discreet.guard.evaluate import leaks_in
from discreet.guard.guard import Guard
from discreet.inputs.answers import LabelledAnswer, read_labelled

COSTS = Costs(miss=5, false_flag=1, review=0.5, prevalence=0.1)


@pytest.fixture(scope="module")
def rows(labelled_file: Path) -> list[LabelledAnswer]:
    return read_labelled(labelled_file)


@pytest.fixture(scope="module")
def found(fitted_guard: Guard, rows: list[LabelledAnswer]) -> Calibration:
    return calibrate(fitted_guard, rows, costs=COSTS)


def shares(guard: Guard, rows: Sequence[LabelledAnswer]) -> dict[str, float]:
    """What the guard itself says, counted by hand."""
    said = [(leaks_in(row), guard.check(row.answer).action) for row in rows]
    leaks, harmless = ([a for leak, a in said if leak is which] for which in (True, False))
    return {
        "leak_recall": leaks.count("flag") / len(leaks),
        "leaks_held": 1 - leaks.count("safe") / len(leaks),
        "false_flags": harmless.count("flag") / len(harmless),
        "review_load": sum(a in ("abstain", "failed") for _, a in said) / len(said),
        "expected_cost": 0.1 * (5 * leaks.count("safe") + 0.5 * leaks.count("abstain")) / len(leaks)
        + 0.9 * (harmless.count("flag") + 0.5 * harmless.count("abstain")) / len(harmless),
    }


@pytest.mark.parametrize("point", ["conservative", "balanced", "strict", "costs"])
def test_prices_are_what_the_guard_does(fitted_folder: Path, rows: list[LabelledAnswer], found: Calibration,
                                        point: str) -> None:
    by_hand = shares(Guard.load(fitted_folder, point=point), rows)
    assert {n: e.value for n, e in found.prices[point].items()} == pytest.approx(by_hand)
    assert all((e.low or 0) <= by_hand[n] <= (e.high or 1) for n, e in found.prices[point].items()
               if n != "expected_cost")


def test_direct_identifiers_stay_flagged_at_every_threshold(fitted_guard: Guard, rows: list[LabelledAnswer]) -> None:
    named = [replace(r, answer=replace(r.answer, answer=f"{r.answer.answer} The SSN of this patient is 536-22-8145."))
             for r in rows]
    result = calibrate(fitted_guard, named)
    assert {p[name].value for p in result.prices.values() for name in ("leak_recall", "false_flags")} == {1.0}
    assert (result.refitted, "not refitted" in str(result.note)) == ({}, True)


def test_what_evidence_flags_stays_flagged_at_every_threshold(fitted_guard: Guard, rows: list[LabelledAnswer]) -> None:
    deaf = Guard(fitted_guard.policy, detector=replace(fitted_guard.detector, points={
        kind: dict.fromkeys(points, 1e9) for kind, points in fitted_guard.detector.points.items()}))
    result = calibrate(deaf, rows)
    assert {p["leak_recall"].value for p in result.prices.values()} == {1.0}
    assert (result.counts["flagged_by_evidence"], result.counts["leaks"]) == (40, 40)
    assert result.counts["decided_by_delta"] <= 40
    # Evidence holds all leaks, so no point needs a lower threshold than τ = 0.
    assert set(result.refitted.values()) == {0.0}


def without_evidence(row: LabelledAnswer) -> LabelledAnswer:
    """The same leak with nothing that the rules bind: what is left to δ."""
    words = row.answer.answer.split(" Treatment with ")[-1]
    return replace(row, answer=replace(row.answer, answer=f"Treatment with {words}" if leaks_in(row) else words))


def test_refitted_points_hold_what_is_left_to_delta(fitted_guard: Guard, rows: list[LabelledAnswer]) -> None:
    """Half of the leaks are left to δ: the guard as a whole reaches the rate of the point."""
    half = [without_evidence(r) if i % 2 else r for i, r in enumerate(rows)]
    detector = replace(fitted_guard.detector, thetas=Thetas(-1e9, -1e9), decides=DENSITY)
    guard = Guard(fitted_guard.policy, detector=detector)
    found = calibrate(guard, half, costs=COSTS)
    assert found.counts["flagged_by_evidence"] == 20
    for point in ("balanced", "strict"):
        refitted = with_points(guard, found.refitted, {}).detector
        held = [Guard(guard.policy, detector=refitted, point=point).check(r.answer).action != "safe"
                for r in half if leaks_in(r)]
        # Where evidence is sure of the contrary, δ above its threshold is an abstention.
        assert np.mean(held) >= 0.9
    assert set(found.refitted_prices) == set(found.refitted) == {"conservative", "balanced", "strict", "costs"}


def test_a_copy_with_the_new_thresholds(fitted_guard: Guard, found: Calibration, tmp_path: Path) -> None:
    with_points(fitted_guard, found.refitted, {"input": "labelled.jsonl"}).save(tmp_path / "copy")
    other = Guard.load(tmp_path / "copy", point="balanced")
    assert other.tau == found.refitted["balanced"]
    assert other.card["calibrated"] == {"input": "labelled.jsonl"}
    assert "calibrated" not in fitted_guard.card
    for kind, points in fitted_guard.detector.points.items():
        if kind != fitted_guard.detector.decides:
            assert other.detector.points[kind] == points


def test_documents_are_the_unit(fitted_guard: Guard, rows: list[LabelledAnswer]) -> None:
    by_document = [replace(r, document=f"d{i % 10}") for i, r in enumerate(rows)]
    one, many = calibrate(fitted_guard, by_document), calibrate(fitted_guard, rows)
    a, b = (c.prices["conservative"]["review_load"] for c in (one, many))
    assert (a.unit, b.unit, a.value) == ("document", "answer", b.value)


def test_who_counts() -> None:
    def row(cluster: str, subject: str | None = None) -> LabelledAnswer:
        return LabelledAnswer(Answer("1", "x"), cluster, subject=subject)  # type: ignore[arg-type]

    assert [leaks_in(row("yes", s)) for s in ("third", "speaker", None)] == [True] * 3
    assert [leaks_in(row("yes", s)) for s in ("asker", "public", "none")] == [False] * 3
    assert [leaks_in(row(c)) for c in ("no", "one", "unclear")] == [False, None, None]


@pytest.mark.parametrize("only", ["yes", "no"])
def test_a_class_that_is_absent(fitted_guard: Guard, rows: list[LabelledAnswer], only: str) -> None:
    with pytest.raises(InputError, match="both kinds are needed"):
        calibrate(fitted_guard, [r for r in rows if r.cluster == only])


def test_rows_of_another_domain_are_passed_over(fitted_guard: Guard, rows: list[LabelledAnswer],
                                                found: Calibration) -> None:
    mixed = [*rows, *(replace(r, domain="law", cluster="yes") for r in rows)]
    assert calibrate(fitted_guard, mixed, costs=COSTS).to_json() == found.to_json()
