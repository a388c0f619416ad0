"""What a fitted guard says of its own texts, against what it is known to hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from discreet.core.errors import InputError, UsageError
from discreet.guard.exposure import OUTPUTS, Exposure, Released, expose
from discreet.guard.guard import Guard

SIDES = ("safe", "unsafe", "borderline")


@pytest.fixture(scope="module")
def exposure(fitted_guard: Guard, side_files: Mapping[str, Path]) -> Exposure:
    return expose(fitted_guard, *(side_files[side] for side in SIDES), references=2)


def test_the_fits_own_split_says_who_is_a_member(exposure: Exposure, fitted_guard: Guard) -> None:
    counts = fitted_guard.card["counts"]
    for fitted, part in ((True, "fit"), (False, "evaluation")):
        for unsafe, kinds in ((True, ("unsafe",)), (False, ("safe", "borderline"))):
            n = int((exposure.unsafe[exposure.fitted == fitted] == unsafe).sum())
            assert n == sum(counts[f"{part}_{kind}"] for kind in kinds)
    assert len(set(exposure.id)) == len(exposure.id)


def test_what_is_given_out_is_what_a_caller_gets(exposure: Exposure, fitted_guard: Guard) -> None:
    for place in range(0, len(exposure.id), 40):
        verdict = fitted_guard.check(exposure.text[place])
        assert verdict.delta == exposure.guard.delta[place]
        assert (verdict.sigma_safe, verdict.sigma_unsafe) == tuple(exposure.guard.sigmas[place])
        assert verdict.action == {-1.0: "safe", 0.0: "abstain", 1.0: "flag"}[exposure.guard.verdict[place]]


def test_peers_are_made_as_the_guard_was(fitted_guard: Guard, side_files: Mapping[str, Path],
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a canary the twin is the guard."""
    from discreet.guard import exposure as module

    twins: list[Guard] = []
    original = module._Peers.released

    def released(peers: module._Peers, guard: Guard, rows: np.ndarray) -> Released:
        if rows.size and peers.parts[rows[0]] == "canary":
            twins.append(guard)
        return original(peers, guard, rows)

    monkeypatch.setattr(module._Peers, "released", released)
    monkeypatch.setattr(module, "CANARY_SHARE", 0.02)  # one a side, of which no half is fitted on
    found = expose(fitted_guard, *(side_files[side] for side in SIDES), references=0)
    assert found.canaries.fitted.sum() == 0
    twin, own = (one.detector for one in twins)
    for name, array in own.dual.state().items():
        np.testing.assert_array_equal(twin.dual.state()[name], array)
    for name, array in own.discriminators[own.decides].state().items():
        np.testing.assert_array_equal(twin.discriminators[own.decides].state()[name], array)


def test_references_are_halves_and_complements(exposure: Exposure) -> None:
    (_, one), (_, other) = exposure.references
    assert (one ^ other).all()
    assert abs(one.mean() - 0.5) < 0.01


def test_canaries_are_planted_by_halves_in_the_twin_alone(exposure: Exposure) -> None:
    canaries = exposure.canaries
    for side in (True, False):
        n = int((canaries.unsafe == side).sum())
        assert n > 8
        assert int(canaries.fitted[canaries.unsafe == side].sum()) == n // 2
    for output in OUTPUTS:
        found = canaries.auc(canaries.guard, output)
        assert found.low is not None
        assert found.low < 0.5 < (found.high or 0.0)


def test_the_outputs_that_an_attack_reads() -> None:
    released = Released(np.array([2.0, -1.0]), np.array([[0.1, 0.7], [0.3, 0.2]]), np.array([1.0, -1.0]))
    unsafe = np.array([True, False])
    assert released.logits("delta", unsafe).tolist() == [[0.0, 2.0], [0.0, -1.0]]
    assert released.logits("sigma", unsafe).tolist() == [[0.0, 0.7], [0.3, 0.0]]
    assert released.logits("verdict", unsafe).tolist() == [[0.0, 1.0], [0.0, -1.0]]


def test_support_vectors_are_recognised_and_no_other_text(exposure: Exposure, fitted_guard: Guard) -> None:
    """Each stored embedding is that of one text: so many fitted texts are recognised as there are support vectors,
    or more where two texts have one embedding."""
    kept = fitted_guard.detector.dual.stored_rows()
    for side, inside in (("safe", ~exposure.unsafe), ("unsafe", exposure.unsafe)):
        of = exposure.stored[side]
        assert of["rows"] == kept[side]
        assert of["identified"].value >= kept[side] / (inside & exposure.fitted).sum() - 1e-9
        # Templates say the same twice: one of 24 other texts has the embedding of a support vector.
        assert of["others"].value <= 1 / 24


def test_other_texts_are_refused(fitted_guard: Guard, side_files: Mapping[str, Path]) -> None:
    with pytest.raises(InputError, match="other texts than the guard was fitted on: its card counts 240 texts read"):
        expose(fitted_guard, side_files["safe"], side_files["unsafe"])
    with pytest.raises(UsageError, match="not fitted"):
        expose(Guard("medical"), side_files["safe"], side_files["unsafe"])
