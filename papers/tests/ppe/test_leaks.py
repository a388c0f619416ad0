from __future__ import annotations

from dataclasses import replace

from discreet.guard.guard import Guard
from discreet.synth.leaks import LEAKS, make_leaks
from discreet_papers.ppe.leaks import measure_leaks


def test_leaks_are_held_and_the_passages_do_not_decide() -> None:
    """Where an attribute comes from changes nothing about what an answer tells."""
    cases, guard = make_leaks("law", 12, 1), Guard("law")
    found = measure_leaks(guard, cases)
    assert list(found) == list(LEAKS)
    for leaking, control in found.values():
        assert leaking.value is not None
        assert control.value is not None
        assert leaking.value >= 0.5 > control.value
        assert leaking.method == "Wilson"
    without = measure_leaks(guard, [replace(case, sources=(), told=()) for case in cases])
    assert all((leaking.value or 0) >= 0.5 > (control.value or 0) for leaking, control in without.values())


def test_what_layer_one_stops_is_no_recall() -> None:
    cases = [replace(case, answer=f"{case.answer} His SSN is 536-22-8712.") for case in make_leaks("law", 4, 3)]
    leaking, control = measure_leaks(Guard("law"), cases)["retention"]
    assert leaking.value is None
    assert control.n == 4
