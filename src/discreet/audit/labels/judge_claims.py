"""What can and what cannot be claimed about training labels from what was brought, in sentences."""

from __future__ import annotations

from math import inf

from discreet.audit.labels.judge_rows import Sides
from discreet.scores.table import CANARY, HELDOUT, PLACEBO, UNKNOWN, ScoreTable


def can_claim(table: ScoreTable, target: int, sides: Sides, planted: bool) -> tuple[str, ...]:
    """What the audit may say of one target."""
    said = []
    if sides.placebo is not None:
        said.append("Whether these attacks know labels that the model was trained on better than labels drawn alike "
                    "that nobody trained on: chance alone decided which are which.")
        said.append("A lower bound on the ε of what was done to the labels in this one training run.")
    if "trained" in sides.truths and table.models[target].epsilon < inf:
        said.append("Whether the mechanism changed as many labels as its ε demands.")
    if planted:
        said.append("Which planted memorisation would have been seen.")
    if table.label_references(target):
        said.append("How an attacker does who trained models with label draws of their own.")
    return tuple(said)


def cannot_claim(table: ScoreTable, target: int, sides: Sides, planted: bool, *, drawn_here: bool = False
                 ) -> tuple[str, ...]:
    """What the audit may not say, and what would be needed; `drawn_here` where this package drew the labels itself."""
    said = []
    if sides.placebo is None:
        said.append("Pass or fail: without placebo canaries nothing tells memory from guesswork. Draw as many as "
                    "canaries, give them labels alike, and keep them out of training.")
    if not planted:
        said.append("A pass: without planted canaries nothing shows that memorised labels would have been seen.")
    if (table.canaries.trained[target, table.canaries.role[target] == CANARY] == UNKNOWN).any():
        said.append("A pass: 'label_trained' is null for some canaries, and nothing shows that the model was trained "
                    "on them.")
    if not table.label_references(target):
        said.append("What an attacker with reference models would find: none were brought.")
    if "trained" not in sides.truths:
        said.append("Anything about the labels after the mechanism, or that it keeps its ε: 'label_trained' is not "
                    "there.")
    if not ((table.canaries.role[target] == HELDOUT) | (table.canaries.role[target] == PLACEBO)).any():
        said.append("How accurate the model is on new examples: no row is 'heldout' or 'placebo'.")
    if not drawn_here:
        said.append("That labels were drawn by chance: that is your word.")
    said.append("Anything about training labels that are no canaries, or that no attack at all succeeds: only these "
                "attacks were tried.")
    return tuple(said)
