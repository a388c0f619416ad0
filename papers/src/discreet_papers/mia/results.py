"""Figures of the audits of experiments: the paper's next to the honest ones, averaged over directions and seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from discreet.audit.core.resampling import Units
from discreet.audit.engine import Job, Task
from discreet.audit.experiments import MembershipExperiment
from discreet.audit.experiments.membership import score_table
from discreet.audit.experiments.runner import LIBRARIES
from discreet.audit.membership.attack import Scores, primary_scores, score_all
from discreet.audit.membership.controls import group_level, same_examples
from discreet.audit.membership.evaluation_sets import BOUNDARY_N, EvaluationSets, Selector, evaluation_sets
from discreet.audit.membership.rows import estimate_rows, judged_rows
from discreet.core.records import Estimate
from discreet.inputs.texts import read_texts
from discreet_papers.shared import averaged, paper_figures

Row = Mapping[str, Any]
Audit = Mapping[str, Any]
NON_BOUNDARY = "non-boundary"
RESAMPLES = 100
Definition = Literal["paper", "paper, clean non-members", "honest, p", "honest, logit"]

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


def figures(audits: Sequence[Audit], attack: str, definition: Definition, **asked: Any) -> dict[str, Any]:
    """AUC, TPR at 5% (and 1%) FPR and the control's AUC of one question, averaged over directions and seeds."""
    by_seed = [rows_of(audit, attack, definition, **asked) for audit in audits]
    names = {"auc": "auc", "control": "control_auc", "tpr_at_1pct_fpr": "tpr_at_1pct_fpr",
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
    """AUC of the reference attack `after` less `before`, one pair of audits a seed; and the same of the control.

    Means over directions and seeds. The two AUCs may share examples, so their intervals do not make one for the
    difference: it has one from three seeds on, and is a point before.
    """
    value, control = (averaged([[_less(one, other) for one, other in zip(
        estimates(rows_of(second, "reference", definition, **after), key),
        estimates(rows_of(first, "reference", definition, **before), key), strict=True)]
        for second, first in pairs], (-1.0, 1.0)).to_json() for key in ("auc", "control_auc"))
    return value, control


def accuracy(audits: Sequence[Audit], part: str = "test", label: str = "all", *, before: Sequence[Audit] | None = None
             ) -> dict[str, Any]:
    """Accuracy of the targets on members ("train") or on data nobody trained on ("test"), or their "gap".

    With `before`, an audit for each, less theirs.
    """
    by_seed, other = ([[Estimate.from_json(target["utility"][label][part]) for target in audit["targets"]]
                       for audit in some] for some in (audits, before or ()))
    if before is not None:
        by_seed = [list(map(_less, ours, theirs)) for ours, theirs in zip(by_seed, other, strict=True)]
    return averaged(by_seed, (0.0 if before is None and part != "gap" else -1.0, 1.0)).to_json()


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
    return [row for row in paper_figures("mia")
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


def supplementary_task(experiment: MembershipExperiment) -> Task:
    """The figures of an experiment that its audit has not; see `supplementary`."""
    # The name decides what is drawn at random.
    return Task.of(supplementary, "beside", inputs=experiment.tasks(), files={"data": experiment.data},
                   seed=experiment.seed, libraries=(*LIBRARIES, "discreet.audit", "discreet.stats",
                                                    "discreet.audit.experiments.membership", "scipy"))


def supplementary(job: Job) -> dict[str, Any]:
    """`{"attacks": rows, "users": [{target, group_auc, control_auc}]}`, the rows as an audit's, with the selection
    "non-boundary": the reference attack on the records that the boundary of the audit of the same seed leaves out."""
    table = score_table(job.inputs, read_texts(job.files["data"]))
    units, rng = Units.of(table), job.rng()
    attacks, users = [], []
    for target in table.of_role("target"):
        # The generators of the audit, whose boundary is meant.
        sets = evaluation_sets(table, target, np.random.default_rng((job.seed, target, 0)))
        selector = Selector.of(table, sets, np.random.default_rng((job.seed, target, 5)))
        scores = score_all(table, sets, seed=job.seed, names=["reference"])
        judged = [one if one.reason is not None else replace(one, rows=np.setdiff1d(one.pool, one.rows))
                  for one in judged_rows(table, sets, selector, scores, lambda one: False)
                  if one.spec.selection == "boundary" and one.spec.n == BOUNDARY_N]
        attacks += [row.to_json() | {"selection": NON_BOUNDARY}
                    for row in estimate_rows(judged, units, rng, n_resamples=RESAMPLES)]
        users.append({"target": table.models[target].name, **_users(scores, sets, units)})
    return {"attacks": attacks, "users": users}


def _users(scores: list[Scores], sets: EvaluationSets, units: Units) -> dict[str, Any]:
    chosen = primary_scores(scores)
    if chosen is None:
        nothing = Estimate.unresolved("no reference ratio could be computed", unit="group").to_json()
        return {"group_auc": nothing, "control_auc": nothing}
    target, control = (group_level(one, sets, units).to_json() for one in (chosen, same_examples(chosen)[1]))
    return {"group_auc": target, "control_auc": control}
