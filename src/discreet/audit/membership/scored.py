"""Every attack that a table allows, run once on the target and once on its placebo."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from discreet.audit.membership.attacker_view import placebo_view, target_view
from discreet.audit.membership.evaluation_sets import Sides
from discreet.audit.membership.view import Attack, Scale, View, attacks
from discreet.core.types import FloatArray
from discreet.scores.table import ReferenceKind, ScoreTable

KIND_NAMES: dict[ReferenceKind | None, str] = {
    None: "no reference", "paired": "paired references", "neutral": "neutral references",
    "population": "population references",
}


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """An attack's scores of all N rows, or the reason why there are none.

    Attributes
    ----------
    target, placebo : (N,) float array or None
        Higher = more like a member; NaN where a row could not be scored. Placebo None without a placebo.
    reason : str or None
        Why the attack could not run; both arrays are then None.
    """

    attack: str
    scale: Scale
    kind: ReferenceKind | None
    target: FloatArray | None
    placebo: FloatArray | None = None
    reason: str | None = None


def score_all(table: ScoreTable, sides: Sides, *, seed: int, names: Sequence[str] | None = None) -> list[Scored]:
    """Run the attacks called `names` (all registered ones if None) in all their scales and reference kinds.

    Target and placebo get equal generators, so that an attack that draws treats both alike. An attack that cannot run
    with any kind comes back once, with the reason.
    """
    view = target_view(table, sides)
    placebo = placebo_view(table, sides, view)
    found: list[Scored] = []
    runs: list[tuple[Attack, str, Scale, ReferenceKind | None]] = []
    for name in attacks if names is None else names:
        attack = attacks[name]
        lacking = {kind: attack.needs(view, kind) for kind in attack.kinds}
        able = [kind for kind, clause in lacking.items() if clause is None]
        if not able:
            kind = next((kind for kind in attack.kinds if kind in view.references), attack.kinds[0])
            found += [Scored(name, scale, kind, None, None, f"{name} cannot run: {lacking[kind]}")
                      for scale in attack.scales]
        runs += [(attack, name, scale, kind) for kind in able for scale in attack.scales]
    # Each run has a generator of its own, so that working two at a time cannot change what it draws.
    with ThreadPoolExecutor(2) as pool:
        found += pool.map(lambda run: _run(*run, view=view, placebo=placebo, seed=seed), runs)
    return sorted(found, key=lambda one: one.attack)


def _run(
    attack: Attack, name: str, scale: Scale, kind: ReferenceKind | None, *, view: View,
    placebo: View | None, seed: int,
) -> Scored:
    key = (seed, zlib.crc32(f"{name}/{scale}/{kind}".encode()))
    scores = attack.scores(view, scale, kind, np.random.default_rng(key))
    beside = None if placebo is None else attack.scores(placebo, scale, kind, np.random.default_rng(key))
    return Scored(name, scale, kind, scores, beside)
