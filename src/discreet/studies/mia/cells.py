"""One cell of a table: a world's audit, and the figures that the paper prints beside the honest ones."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any, Literal

from discreet.core.records import Estimate

Row = Mapping[str, Any]
Audit = Mapping[str, Any]
Definition = Literal["paper", "paper, clean non-members", "honest, p", "honest, logit"]

PAPER = Path(__file__).parent.parent / "paper_mia.csv"
SEEDS_FOR_INTERVAL = 3
T_975 = {2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
"""97.5% points of Student's t by degrees of freedom; 1.96 beyond is close enough from 30 on, 2.26 is safe before."""

DEFINITIONS: Mapping[str, Mapping[Definition, tuple[str, str | None, str]]] = {
    "reference": {"paper": ("p", "paired", "reference_train"), "paper, clean non-members": ("p", "paired", "clean"),
                  "honest, p": ("p", "neutral", "clean"), "honest, logit": ("logit", "neutral", "clean")},
    "loss": {"paper": ("p", None, "reference_train"), "honest, p": ("p", None, "clean")},
    "probe": {"paper": ("p", "paired", "reference_train"), "paper, clean non-members": ("p", "paired", "clean")},
}
"""For each attack, scale, references and non-members of the paper's definition and of the honest ones.

The paper's "LiRA" is a ratio to one reference that was trained on the non-members; its "loss" needs none, but its
non-members are those of the other training set; its "logit vector" is a probe trained on the paired model, and needs
one: a neutral model has no members among the rows.
"""


@dataclass(frozen=True, slots=True)
class Cell:
    """A world of the study. `variant` says what is done to it besides: "", "duplicated x2", "size 100", …"""

    corpus: str
    structure: str
    model: str
    regime: str
    seed: int
    variant: str = ""


def rows_of(audit: Audit, attack: str, definition: Definition, *, selection: str = "global",
            n: int | None = None, label: int | None = None, **stratum: Any) -> list[Row]:
    """The audit's rows of one question, of both directions."""
    scale, kind, nonmembers = DEFINITIONS[attack][definition]
    asked = {"attack": attack, "scale": scale, "reference_kind": kind, "nonmembers": nonmembers,
             "selection": selection, "n": n, "label": label, "structure": None, "category": None, "decile": None,
             **stratum}
    return [row for row in audit["attacks"] if all(row[name] == value for name, value in asked.items())]


def estimates(rows: Iterable[Row], name: str) -> list[Estimate]:
    """One figure of each row."""
    return [Estimate.from_json(row[name]) for row in rows]


def averaged(found: Sequence[Sequence[Estimate]], within: tuple[float, float] = (0.0, 1.0)) -> Estimate:
    """The mean over seeds of means over directions.

    From three seeds on with a t interval over seeds, kept `within` what the figure can be; with fewer, as the paper
    averages over A and B, value and ends are averaged: the ends of one training run, which say nothing of how another
    would come out. Unresolved where any part is.
    """
    parts = [one for seed in found for one in seed]
    if not parts:
        return Estimate.unresolved("no such row in the audit")
    if lacking := next((one for one in parts if one.value is None), None):
        return Estimate.unresolved(lacking.reason or "unresolved")
    means = [sum(one.value or 0.0 for one in seed) / len(seed) for seed in found if seed]
    value = sum(means) / len(means)
    n = parts[0].n
    if len(means) >= SEEDS_FOR_INTERVAL:
        spread = sqrt(sum((one - value) ** 2 for one in means) / (len(means) - 1))
        half = T_975.get(len(means) - 1, 2.262) * spread / sqrt(len(means))
        return Estimate(value, max(within[0], value - half), min(within[1], value + half), n=len(means), unit="seed",
                        method="t over seeds")
    if any(one.low is None or one.high is None for one in parts):
        return Estimate(value, None, None, n=n, unit=parts[0].unit, method="mean over directions")
    low, high = (sum(end(one) or 0.0 for one in parts) / len(parts) for end in _ENDS)
    return Estimate(value, low, high, n=n, n_pos=parts[0].n_pos, n_neg=parts[0].n_neg, unit=parts[0].unit,
                    method="value and ends averaged over directions and seeds")


_ENDS: tuple[Callable[[Estimate], float | None], ...] = (lambda one: one.low, lambda one: one.high)


def figures(audits: Sequence[Audit], attack: str, definition: Definition, **asked: Any) -> dict[str, Any]:
    """AUC, TPR at 5% (and 1%) FPR and the placebo's AUC of one question, averaged over directions and seeds."""
    by_seed = [rows_of(audit, attack, definition, **asked) for audit in audits]
    names = {"auc": "auc", "placebo": "placebo_auc", "tpr_at_1pct_fpr": "tpr_at_1pct_fpr",
             "tpr_at_5pct_fpr": "tpr_at_5pct_fpr"}
    return {key: averaged([estimates(rows, name) for rows in by_seed]).to_json() for key, name in names.items()}


def reach(audits: Sequence[Audit], attack: str, definition: Definition, **asked: Any) -> dict[str, Any]:
    """The least and the most AUC among directions and seeds: the error bars of the paper's figure 3.

    None where any is unresolved, as the mean is: a span of what is left would look narrower.
    """
    found = [row["auc"]["value"] for audit in audits for row in rows_of(audit, attack, definition, **asked)]
    values = [] if None in found else found
    return {"least": min(values, default=None), "most": max(values, default=None)}


def change(pairs: Sequence[tuple[Audit, Audit]], definition: Definition, after: Mapping[str, Any],
           before: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """AUC of the reference attack `after` less `before`, one pair of audits a seed; and the same of the placebo.

    Means over directions and seeds. The two AUCs may share examples, so their intervals do not make one for the
    difference: it has one from three seeds on, and is a point before.
    """
    found = []
    for key in ("auc", "placebo_auc"):
        by_seed = [[_less(one, other) for one, other in zip(
            estimates(rows_of(second, "reference", definition, **after), key),
            estimates(rows_of(first, "reference", definition, **before), key), strict=True)]
            for second, first in pairs]
        found.append(averaged(by_seed, (-1.0, 1.0)).to_json())
    return found[0], found[1]


def gain(audits: Sequence[Audit], definition: Definition, *, n: int, label: int | None = None) -> dict[str, Any]:
    """Boundary less global AUC of the reference attack, and the same of the placebo; see `change`."""
    value, placebo = change([(audit, audit) for audit in audits], definition,
                            {"selection": "boundary", "n": n, "label": label}, {"label": label})
    return {"gain": value, "placebo_gain": placebo}


def accuracy(audits: Sequence[Audit], part: str = "test", label: str = "all") -> dict[str, Any]:
    """Accuracy of the targets on members ("train") or on data nobody trained on ("test"), or their "gap"."""
    return averaged([_accuracies(audit, part, label) for audit in audits], (-1.0 if part == "gap" else 0.0, 1.0)
                    ).to_json()


def accuracy_change(pairs: Sequence[tuple[Audit, Audit]]) -> dict[str, Any]:
    """Accuracy on data nobody trained on of the first audit of each pair less that of the second."""
    return averaged([[_less(one, other) for one, other in zip(_accuracies(second, "test", "all"),
                                                              _accuracies(first, "test", "all"), strict=True)]
                     for second, first in pairs], (-1.0, 1.0)).to_json()


def _accuracies(audit: Audit, part: str, label: str) -> list[Estimate]:
    return [Estimate.from_json(target["utility"][label][part]) for target in audit["targets"]]


def _less(one: Estimate, other: Estimate) -> Estimate:
    if one.value is None or other.value is None:
        return Estimate.unresolved(one.reason or other.reason or "unresolved")
    return Estimate(one.value - other.value, None, None, n=one.n, unit=one.unit, method="difference")


def kept_steps(trainings: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Updates of the weights that were kept, and those that were planned: means over f_A and f_B of all seeds.

    None for models that are not trained in steps with evaluations between.
    """
    found = [training["models"][name] for training in trainings for name in ("f_A", "f_B")]
    if not found or any(one.get("best_step") is None or one.get("planned_steps") is None for one in found):
        return None
    kept, planned = (sum(one[name] for one in found) / len(found) for name in ("best_step", "planned_steps"))
    return {"kept": kept, "planned": planned}


def paper_rows(item: str, **asked: str) -> list[dict[str, str]]:
    """The paper's figures of one item, those that agree with every column named in `asked`."""
    with PAPER.open(encoding="utf-8", newline="") as handle:
        return [row for row in csv.DictReader(handle)
                if row["item"] == item and all(row[name] == value for name, value in asked.items())]


def paper_range(item: str, **asked: str) -> dict[str, Any] | None:
    """Least and largest of what the paper prints over its models, and of how many; None where it prints nothing.

    `low` is None where it says only how far a figure reaches.
    """
    rows = paper_rows(item, **asked)
    values = [float(row["value"]) for row in rows if row["value"]]
    if values:
        return {"low": min(values), "high": max(values), "models": len(values)}
    ends = [(float(row["low"]) if row["low"] else None, float(row["high"])) for row in rows if row["high"]]
    return {"low": ends[0][0], "high": ends[0][1], "models": None} if ends else None
