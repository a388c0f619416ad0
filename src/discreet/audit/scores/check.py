"""Whether a table of scores can be audited at all: what its models, sets and draws say of one another.

Two models may be one: its scores rescaled, rounded, or with a little noise on them, which keeps the order of the
examples. Two models that were trained apart do not agree about which of two alike examples is the easier: their rank
correlation stays below `COPY`.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, product
from pathlib import Path

import numpy as np

from discreet.audit.scores.read import short
from discreet.audit.scores.signals import phi, query_mean
from discreet.audit.scores.table import CANARY, CHECKPOINT_OF, CONTROL, IN, OUT, UNKNOWN, Role, ScoreTable
from discreet.core.errors import InputError
from discreet.core.numbers import counted
from discreet.core.types import FloatArray, IntArray
from discreet.stats.arrays import midranks
from discreet.stats.intervals import binomial_lower, binomial_upper

COPY = 0.9999
"""Rank correlation from which two models are one."""

DISTINCT = 50
"""Distinct values of the coarser model without which nothing is said: few values, as of hard labels, may agree."""

SAMPLED, NEAR = 1024, 0.99
"""A sample of so many examples clears two models whose rank correlation there is not even this."""

APART: tuple[Role, ...] = ("target", "reference", "selection", "control")
SCREENED = 64
FEWEST = 10
"""Members, and non-members, without which nothing is said."""
SAME = 1e-9
NEARLY = f", rescaled, rounded or with a little noise (rank correlation above {COPY:g})"


def check_table(table: ScoreTable, source: str, *, allow_split_groups: bool = False) -> None:
    """Raise InputError, beginning with `source`, for a table that no audit can begin with.

    - No target; a target whose membership is unknown somewhere, or the same everywhere.
    - A control, or a neutral reference, that was trained on a member of the target: it stands on neither side.
    - A checkpoint of no model of the table.
    - A target, reference, selector or control with the scores of another of them in another role, or with scores
      that order the examples as those do (rescaled, rounded, or with a little noise).
    - A group (user, document) with examples in both sets of a target, unless `allow_split_groups`.
    """
    _check_targets(table, source)
    names = {model.name for model in table.models}
    for model in table.models:
        if model.role == "checkpoint" and model.facts.get(CHECKPOINT_OF) not in names:
            raise InputError(f"{source}: checkpoint {short(model.name)} is of no model of the table; name its model in "
                             f"{CHECKPOINT_OF!r}")
    for target in table.targets:
        _check_members(table, source, target)
        _check_neither(table, source, target)
        if not allow_split_groups:
            _check_groups(table, source, target)
    _check_apart(table, source)


def _check_targets(table: ScoreTable, source: str) -> None:
    if not table.targets:
        raise InputError(f"{source}: no model has the role 'target'; name the audited model in 'model_role'")


def _check_members(table: ScoreTable, source: str, target: int) -> None:
    name, member = short(table.models[target].name), table.member[target]
    unknown = int((member == UNKNOWN).sum())
    if unknown:
        raise InputError(f"{source}: 'member' of target {name} is null for {unknown:,} of {member.size:,} examples; an "
                         f"audit needs true or false for each: fill it in, or take the examples out")
    for value, word in ((IN, "members"), (OUT, "non-members")):
        if not (member == value).any():
            raise InputError(f"{source}: target {name} has no {word} among {member.size:,} examples; an audit compares "
                             f"the two sets: add examples of the other one")


def _check_neither(table: ScoreTable, source: str, target: int) -> None:
    for place, model in enumerate(table.models):
        neutral = (model.role, model.reference_kind) == ("reference", "neutral")
        what = "control" if model.role == "control" else "neutral reference" if neutral else ""
        shared = int(((table.member[place] == IN) & (table.member[target] == IN)).sum())
        if what and shared:
            raise InputError(f"{source}: {what} {short(model.name)} was trained on {counted(shared, 'member')} of "
                             f"target {short(table.models[target].name)}; it must know neither side: correct its "
                             f"role, its kind or 'member'")


def _check_groups(table: ScoreTable, source: str, target: int) -> None:
    split = table.split_groups(target)
    if split.any():
        raise InputError(f"{source}: {int(split.sum()):,} of {split.size:,} groups are split over both sets, with "
                         f"members and non-members of target {short(table.models[target].name)}; keep each "
                         f"group in one set, or allow split groups, and those groups are left out")


def _check_apart(table: ScoreTable, source: str) -> None:
    shown = Shown(table)
    for places in combinations(table.of_role(*APART), 2):
        pair = sorted((table.models[place] for place in places), key=lambda model: APART.index(model.role))
        if pair[0].role == pair[1].role:
            continue
        same = _same_scores(table, *places)
        if same or shown.copies(*places):
            first, second = (f"{'selector' if one.role == 'selection' else one.role} {short(one.name)}" for one in pair)
            raise InputError(f"{source}: {second} has the {'same scores as' if same else 'scores of'} {first}"
                             f"{'' if same else NEARLY}; each must be a model of its own")


def _same_scores(table: ScoreTable, one: int, other: int) -> bool:
    """Equal up to a constant in each row, which a softmax does not see; a few rows settle most pairs."""
    for rows in (slice(SCREENED), slice(None)):
        first, second = (part - part.max(axis=-1, keepdims=True)
                         for part in (table.logits[one, rows], table.logits[other, rows]))
        if not np.allclose(first, second, rtol=0.0, atol=SAME, equal_nan=True):
            return False
    return True


class Shown:
    """What the models of a table show, for comparing them two at a time; computed once a model."""

    def __init__(self, table: ScoreTable) -> None:
        def shown(model: int, step: int) -> list[FloatArray]:
            return signals(table.logits[model, ::step], table.examples.label[::step], table.given_as == "prob")

        self._signals = lru_cache(maxsize=None)(shown)
        self._step = max(1, len(table.examples) // SAMPLED)

    def copies(self, one: int, other: int) -> bool:
        """Whether models `one` and `other` order the examples alike, by any of `signals`."""
        near = map(order_agreement, self._signals(one, self._step), self._signals(other, self._step))
        if all(found is not None and found < NEAR for found in near):
            return False
        return any((order_agreement(a, b) or 0.0) > COPY
                   for a, b in zip(self._signals(one, 1), self._signals(other, 1), strict=True))


def signals(logits: FloatArray, label: IntArray, as_prob: bool = False) -> list[FloatArray]:
    """What of (n, Q, K) logits is compared, (n,) each: the label's log odds, and its logit less the mean logit.

    Rounded probabilities keep the order of the first, rescaled logits of more than two classes that of the second;
    of two classes they are one. With `as_prob` the logits are logs of probabilities that may be rounded; the label's
    then stands for its log odds, for rounding every class on its own moves these.
    """
    chosen = np.take_along_axis(logits, label[:, None, None], axis=-1)[..., 0]
    found = [query_mean(chosen if as_prob else phi(logits, label))]
    if logits.shape[-1] > 2:
        found.append(query_mean(chosen - logits.mean(axis=-1)))
    return found


def order_agreement(one: FloatArray, other: FloatArray) -> float | None:
    """Spearman's rank correlation of two (n,) arrays over one example for each value of the coarser array.

    Rounding ties examples and saturation ties most of them; so of equal values only the first counts. Examples that
    are not finite in both are left out. None with fewer than `DISTINCT` values, or where nothing varies.
    """
    both = np.isfinite(one) & np.isfinite(other)
    values = [one[both], other[both]]
    firsts = [np.unique(part, return_index=True)[1] for part in values]
    kept = min(firsts, key=len)
    if kept.size < DISTINCT:
        return None
    ranks = [midranks(part[kept]) - (kept.size + 1) / 2.0 for part in values]
    spread = [float(np.sqrt((part * part).sum())) for part in ranks]
    return None if not min(spread) > 0.0 else float(ranks[0] @ ranks[1]) / (spread[0] * spread[1])


UNLIKELY = 1e-6
"""Draws that agree so much more, or less, often than chance lets them are not draws of one's own; of all pairs of a
target and a reference (or the original labels) together, as a study of many seeds and ε has tens of thousands."""


def check_label_table(table: ScoreTable, source: str) -> None:
    """Raise InputError, beginning with `source`, for a table that no label audit can begin with.

    - No target; logits that are not finite.
    - A target without canaries, or with a class that is no canary's label: guesses of it are never right.
    - An example that is a canary for one target and a control for another of the same seed.
    - A target whose canary labels are the original ones, or avoid them, as `check_canary_labels`.
    - A reference whose canary labels agree with a target's otherwise than chance explains: its draws would give the
      target's labels away to attacks that receive references and must not receive those.
    """
    if not np.isfinite(table.logits).all():
        raise InputError(f"{source}: logits hold NaN or infinity; expected finite numbers: score these rows again")
    _check_targets(table, source)
    for one, other in combinations(table.targets, 2):
        if table.models[one].seed == table.models[other].seed:
            _check_overlap(table, source, one, other)
    for target in table.targets:
        _check_classes(table, source, target)
    check_canary_labels(table, source)
    pairs = list(product(table.targets, table.of_role("reference")))
    for target, reference in pairs:
        _check_draws(table, source, target, reference, UNLIKELY / len(pairs))


def check_canary_labels(table: ScoreTable, source: str) -> None:
    """Raise InputError where canary labels of a target agree with the original labels more or less than by chance.

    Canaries and controls are looked at apart and together: where one of the two was drawn and the other was not, an
    attack that knows no more than the original labels tells them apart. Of a group, which may share one draw, one row
    counts.
    """
    parts = (((CANARY,), "canaries"), ((CONTROL,), "controls"), ((CANARY, CONTROL), "canaries and held-out ones"))
    unlikely = UNLIKELY / (len(parts) * max(1, len(table.targets)))
    for target in table.targets:
        for roles, kind in parts:
            rows = np.flatnonzero(np.isin(table.canaries.role[target], roles))
            if table.examples.group is not None:
                rows = rows[np.unique(table.examples.group[rows], return_index=True)[1]]
            n, alike = rows.size, int((table.canaries.label[target, rows] == table.examples.label[rows]).sum())
            if not n or not _beyond_chance(alike, n, table.n_classes, unlikely):
                continue
            what = "no canary label was drawn" if alike == n else "canary labels were not drawn uniformly"
            of = f"all {n:,}" if alike == n else f"{alike:,} of {n:,}"
            unit = "" if table.examples.group is None else "groups of "
            raise InputError(f"{source}: {what}: the canary label of target {short(table.models[target].name)} is "
                             f"the original one for {of} {unit}{kind}, where uniform draws agree on about "
                             f"{n / table.n_classes:,.0f}; draw a label for each canary and each control uniformly "
                             f"from the {table.n_classes} classes")


def _beyond_chance(alike: int, n: int, n_classes: int, unlikely: float) -> bool:
    """Whether draws from `n_classes` classes agree with given labels so often, or so seldom, with p < `unlikely`."""
    chance = 1.0 / n_classes
    return binomial_lower(alike, n, unlikely) > chance or binomial_upper(alike, n, unlikely) < chance


def _check_classes(table: ScoreTable, source: str, target: int) -> None:
    canary = table.canaries.role[target] == CANARY
    name = short(table.models[target].name)
    if not canary.any():
        raise InputError(f"{source}: target {name} has no canary among {len(table.examples):,} examples; a label audit "
                         f"needs examples whose 'example_role' is canary")
    count = np.bincount(table.canaries.label[target, canary], minlength=table.n_classes)
    if (count == 0).any():
        raise InputError(f"{source}: class {int(count.argmin())} has no canary of target {name} among "
                         f"{counted(int(canary.sum()), 'canary', 'canaries')}; draw labels over all "
                         f"{table.n_classes} classes, or more canaries")


def _check_overlap(table: ScoreTable, source: str, one: int, other: int) -> None:
    first, second = table.canaries.role[[one, other]]
    both = ((first == CANARY) & (second == CONTROL)) | ((first == CONTROL) & (second == CANARY))
    if both.any():
        raise InputError(f"{source}: canaries overlap held-out ones: {counted(int(both.sum()), 'example')} of targets "
                         f"{short(table.models[one].name)} and {short(table.models[other].name)} are one for this and "
                         f"one for that; a control is never trained on: correct 'example_role', or give runs with "
                         f"draws of their own a 'seed' each")


def _check_draws(table: ScoreTable, source: str, target: int, reference: int, unlikely: float) -> None:
    drawn = np.isin(table.canaries.role[[target, reference]], (CANARY, CONTROL)).all(axis=0)
    n = int(drawn.sum())
    if not n:
        return
    alike = int((table.canaries.label[target] == table.canaries.label[reference])[drawn].sum())
    if _beyond_chance(alike, n, table.n_classes, unlikely):
        raise InputError(f"{source}: reference {short(table.models[reference].name)} has the canary label of target "
                         f"{short(table.models[target].name)} for {alike:,} of {n:,} canaries and held-out ones, where "
                         f"draws of its own agree on about {n / table.n_classes:,.0f}; give each reference fresh draws "
                         f"of the canary labels")


def check_enough(table: ScoreTable, source: Path | str, left_out: int = 0) -> None:
    """InputError where a target has too few examples of either kind for any figure to mean something.

    `left_out` groups had records of both kinds and are gone from `table` (see `ScoreTable.without_split_groups`).
    """
    if left_out and not len(table.examples):
        raise InputError(f"{source}: nothing is left to judge: every group of the table has members and non-members, "
                         f"{left_out:,} in all, and was left out; keep each group among one of them")
    for target in table.of_role("target"):
        judged = table.member[target][table.examples.planted == 0]
        members, nonmembers = int((judged == IN).sum()), int((judged == OUT).sum())
        if min(members, nonmembers) < FEWEST:
            after = (f" after {counted(left_out, 'group')} with members and non-members "
                     f"{'was' if left_out == 1 else 'were'} left out" if left_out else "")
            remedy = "keep each group among one of them, or score more examples" if left_out else "score more examples"
            raise InputError(f"{source}: target {table.models[target].name[:40]!r} has {counted(members, 'member')} "
                             f"and {counted(nonmembers, 'non-member')}, planted ones apart{after}; expected at least "
                             f"{FEWEST} of each: {remedy}")
