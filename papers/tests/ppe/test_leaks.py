from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.guard.guard import Guard
from discreet.synth.leaks import make_leaks
from discreet_papers.ppe.leaks import Row, measure_leaks


@pytest.fixture(scope="module")
def rows() -> dict[tuple[str, str], Row]:
    found = measure_leaks(Guard("law"), make_leaks("law", 12, 1))
    return {(row["leak"], row["cases"]): row for row in found}


def test_rules_see_each_class_and_leave_its_control(rows: dict[tuple[str, str], Row]) -> None:
    for leak in ("retention", "synthesis", "fabrication"):
        row = rows[leak, "all"]
        assert row["n"] == 12
        # Who layer 1 stops is counted apart.
        assert row["direct"].n == 24
        assert row["flagged"].n + row["control_flagged"].n == 24 - round(24 * row["direct"].value)
        assert row["flagged"].value >= 0.5 > row["control_flagged"].value
        assert row["flagged"].method == "Wilson"
        assert row["held"].value >= row["flagged"].value
        assert rows[leak, "listed words"]["n"] + rows[leak, "unlisted words"]["n"] == 12
        assert row["general_flagged"].value == 0
    # Only synthesis has passages with one attribute each.
    assert rows["retention", "all"]["passage_flagged"] is None
    assert rows["synthesis", "all"]["passage_flagged"].n >= 24
    assert rows["synthesis", "all"]["passage_flagged"].value < rows["synthesis", "all"]["flagged"].value
    assert rows["retention", "verbatim"]["n"] == rows["retention", "restated"]["n"] == 6
    assert ("fabrication", "verbatim") not in rows


def test_the_passages_do_not_decide() -> None:
    """Where an attribute comes from changes nothing about what an answer tells."""
    cases = make_leaks("law", 6, 2)
    bare = [replace(case, sources=(), told=()) for case in cases]
    guard = Guard("law")
    for one, two in zip(measure_leaks(guard, cases), measure_leaks(guard, bare), strict=True):
        assert (one["flagged"], one["control_flagged"]) == (two["flagged"], two["control_flagged"])
        assert two["passage_flagged"] is two["general_flagged"] is None


def test_what_layer_one_stops_is_no_recall() -> None:
    cases = [replace(case, answer=f"{case.answer} Write to j.ortiz@example.org.") for case in make_leaks("law", 4, 3)]
    row = next(measure_leaks(Guard("law"), cases))
    assert row["flagged"].value is None
    assert row["direct"].value >= 0.5
