"""The paper's tables and figures (`items.yaml`): the experiments that each needs, and the rows made of their audits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from discreet.audit.membership.evaluation_sets import BOUNDARY_N
from discreet_papers.mia.corpora import CORPORA
from discreet_papers.mia.results import (
    DEFINITIONS,
    NON_BOUNDARY,
    Audit,
    Definition,
    accuracy,
    change,
    estimates,
    figures,
    kept_steps,
    paper_range,
    reach,
)
from discreet_papers.mia.settings import FULL, LORA, Condition, Setting
from discreet_papers.shared import ROOM, averaged

Audits = Mapping[Condition, Mapping[str, Any]]
Rows = list[dict[str, Any]]

STRUCTURES = ("single-turn", "multi-turn", "multi-conversation", "pooled")
LABELS: Mapping[str, int | None] = {"safe": 0, "unsafe": 1}
SHOWN: tuple[Definition, ...] = ("paper", "honest, p", "honest, logit")
BRIEF: tuple[Definition, ...] = ("paper", "honest, logit")
ALL_REGIMES = "all regimes"
PLAIN = "plain"
SELECTIONS: Mapping[str, Mapping[str, Any]] = {
    "global": {}, "boundary": {"selection": "boundary", "n": BOUNDARY_N},
    "non_boundary": {"selection": NON_BOUNDARY, "n": BOUNDARY_N}}


@dataclass(frozen=True, slots=True)
class Item:
    """One table, figure or section, as `items.yaml` has it."""

    name: str
    title: str
    rows: str
    grids: Sequence[Mapping[str, Any]]
    options: Mapping[str, Any]
    supplementary: bool = False

    def conditions(self, setting: Setting) -> list[Condition]:
        """The conditions whose audits are needed, each once."""
        return list(dict.fromkeys(one for grid in self.grids for one in _grid(setting, **grid)))

    def of_audits(self, setting: Setting, audits: Audits) -> Rows:
        """The rows of the table from the audits by condition."""
        return ROWS[self.rows](self.name, self.conditions(setting), audits, **self.options)


def _grid(setting: Setting, structures: Sequence[str], models: Sequence[str] | None = None,
          regimes: Sequence[str] = (LORA, FULL), variants: Sequence[str] = ("",), *, further: bool = False,
          one_regime: bool = False, first_seed: bool = False) -> Iterator[Condition]:
    corpora = [(one, setting.corpora[one]) for one in structures if one in setting.corpora]
    # Further corpora each have the structure that they are of.
    corpora += [(CORPORA[corpus].structure, corpus) for corpus in setting.further if further]
    named = list(setting.models) if models is None else next(
        (found for name in models if (found := getattr(setting, name))), list(setting.models)[:1])
    if one_regime:
        regimes = [one for one in regimes if any(one in of for of in setting.models.values())][:1]
    if any("{mismatched}" in one for one in variants) and not setting.mismatched:
        return
    for variant in dict.fromkeys(one.format(size=size, mismatched=setting.mismatched) for one in variants
                                 for size in (setting.curve if "{size}" in one else (0,))):
        for structure, corpus in corpora:
            for model in named:
                for regime in regimes:
                    if regime in setting.models[model]:
                        for seed in setting.seeds[:1] if first_seed else setting.seeds:
                            yield Condition(corpus, structure, model, regime, seed, variant)


def grouped(conditions: Iterable[Condition], audits: Audits) -> Iterator[tuple[list[Condition], list[Audit]]]:
    """Conditions that differ in seed alone, and their audits."""
    groups: dict[Condition, list[Condition]] = {}
    for condition in conditions:
        groups.setdefault(replace(condition, seed=0), []).append(condition)
    for group in groups.values():
        yield group, [audits[condition]["audit"] for condition in group]


def head(condition: Condition, *more: str) -> dict[str, Any]:
    """What the rows of a condition have in common."""
    return {name: getattr(condition, name) for name in ("corpus", "structure", "model", "regime", *more)}


def _utility(group: Sequence[Audit]) -> dict[str, Any]:
    return {"accuracy": accuracy(group), "accuracy_gap": accuracy(group, "gap"),
            **{f"accuracy_{name}": accuracy(group, label=str(label)) for name, label in LABELS.items()}}


def _ends(group: Sequence[Audit], definition: Definition, places: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """AUC and control of the reference attack under several selections, under the names of these."""
    return {f"{place}_{key}": value for place, asked in places.items()
            for key, value in figures(group, "reference", definition, **asked).items() if key in ("auc", "control")}


def attack_rows(item: str, conditions: Sequence[Condition], audits: Audits, attacks: Sequence[str],
                definitions: Sequence[Definition] | None = None, selections: Sequence[str] = ("global",),
                plain: str = "") -> Rows:
    """A row for each condition, attack and definition; of a pooled model also for each structure of its inputs."""
    rows = []
    for selection in selections:
        for (condition, *_), group in grouped(conditions, audits):
            utility, variant = _utility(group), condition.variant or plain
            for attack in attacks:
                known = {row["structure"] for audit in group for row in audit["attacks"] if row["attack"] == attack}
                parts = sorted(known - {None}) if condition.structure == "pooled" else []
                for definition in DEFINITIONS[attack]:
                    if definitions is None or definition in definitions:
                        rows += [{**head(condition), "variant": variant, "part": part, "attack": attack,
                                  "definition": definition, "selection": selection,
                                  **figures(group, attack, definition, structure=part, **SELECTIONS[selection]),
                                  **utility, **(_paper(condition, item, attack)
                                                if definition == "paper" and part is None else {})}
                                 for part in (None, *parts)]
    return rows


def _paper(condition: Condition, item: str, attack: str) -> dict[str, Any]:
    """The paper's AUC, and its TPR at 5% FPR, of one attack."""
    said = {"structure": condition.structure, "attack": attack,
            **({} if item == "table 10" else {"regime": condition.regime})}
    return {"paper": paper_range(item, metric="auc", **said),
            "paper_tpr": paper_range(item, metric="tpr_at_5pct_fpr", **said)}


def gain_rows(item: str, conditions: Sequence[Condition], audits: Audits) -> Rows:
    """Gains by label, and of both together: boundary less global, of the paper's definition and the honest ones."""
    rows = []
    for (condition, *_), group in grouped(conditions, audits):
        structure = "all" if condition.structure in STRUCTURES[:3] else condition.structure
        for name, label in {**LABELS, "both": None}.items():
            whole, edge = {"label": label}, {"label": label, **SELECTIONS["boundary"]}
            paper = paper_range(item, structure=structure, regime=condition.regime, label=name, metric="gain of auc")
            for definition in SHOWN:
                value, control = change([(audit, audit) for audit in group], definition, edge, whole)
                rows.append({**head(condition, "variant"), "label": name, "definition": definition,
                             **_ends(group, definition, {"global": whole, "boundary": edge}), "gain": value,
                             "control_gain": control, "paper": paper if definition == "paper" else None})
    return rows


def stratum_rows(item: str, conditions: Sequence[Condition], audits: Audits) -> Rows:
    """By decile of the target's and of the selector's confidence, with the least and the most over A and B; and by
    category, of each regime and, as the paper's bars are, of all regimes together."""
    rows = [row for (condition, *_), group in grouped(conditions, audits) for row in _strata(condition, group)]
    merged: dict[Condition, list[Condition]] = {}
    for condition in conditions:
        merged.setdefault(replace(condition, regime=ALL_REGIMES), []).append(condition)
    together = {condition: {"audit": {"attacks": [row for one in held for row in audits[one]["audit"]["attacks"]]}}
                for condition, held in merged.items()}
    return rows + [row for (condition, *_), group in grouped(together, together)
                   for row in _strata(condition, group) if row["category"] is not None]


def _strata(condition: Condition, group: Sequence[Audit]) -> Rows:
    found = {(row["category"], row["decile"], row["decile_by"]) for audit in group for row in audit["attacks"]
             if row["attack"] == "reference" and (row["category"] is not None or row["decile"] is not None)}
    every = [dict(zip(("category", "decile", "decile_by"), one, strict=True)) for one in sorted(found, key=str)]
    return [{**head(condition, "variant"), **asked, "definition": definition,
             **figures(group, "reference", definition, **asked), **reach(group, "reference", definition, **asked)}
            for asked in every for definition in BRIEF]


def copy_rows(item: str, conditions: Sequence[Condition], audits: Audits) -> Rows:
    """AUC of all records, at the boundary and off it, and accuracy, under copies of the training set; the change of
    each against the plain training set of the same seed; and how much of the training early stopping kept."""
    rows = []
    for held, group in grouped(conditions, audits):
        variant = held[0].variant
        pairs = list(zip(group, (audits[replace(one, variant=PLAIN)]["audit"] for one in held), strict=True))
        steps = kept_steps([audits[condition]["training"] for condition in held])
        for definition in BRIEF:
            row = {**head(held[0], "variant"), "definition": definition, **_ends(group, definition, SELECTIONS),
                   **_utility(group)}
            if variant != PLAIN:
                for place, asked in SELECTIONS.items():
                    row[f"{place}_change"], row[f"{place}_control_change"] = change(pairs, definition, asked, asked)
                row["accuracy_change"] = accuracy(group, before=[before for _, before in pairs])
                if definition == "paper":
                    row |= {"paper": paper_range(item, metric=f"gain of auc, {variant}"),
                            "paper_non_boundary": paper_range(item, selection="non-boundary", metric="auc")}
            rows.append(row | {"steps": steps})
    return rows


def user_rows(item: str, conditions: Sequence[Condition], audits: Audits) -> Rows:
    """Records, resampled by user; and users, by the mean score of their records."""
    rows: Rows = []
    for (condition, *_), group in grouped(conditions, audits):
        of = head(condition, "variant")
        rows += [{**of, "unit": "record", "attack": attack, "definition": definition,
                  **figures(group, attack, definition)} for attack in ("loss", "reference") for definition in SHOWN
                 if definition in DEFINITIONS[attack]]
        rows.append({**of, "unit": "user", "attack": "reference", "definition": "honest, logit",
                     **{key: averaged([estimates(audit["users"], name) for audit in group]).to_json()
                        for key, name in (("auc", "group_auc"), ("control", "control_auc"))}})
    return rows


ROWS: Mapping[str, Callable[..., Rows]] = {
    "attacks": attack_rows, "gains": gain_rows, "strata": stratum_rows, "copies": copy_rows, "users": user_rows}


def _items() -> Iterator[Item]:
    for name, given in yaml.safe_load((ROOM / "mia" / "items.yaml").read_text(encoding="utf-8")).items():
        own = {key: given.pop(key) for key in ("title", "rows", "supplementary") if key in given}
        yield Item(name, grids=given.pop("conditions"), options=given, **own)


ITEMS: Mapping[str, Item] = {item.name: item for item in _items()}
"""Every item, in the order in which they are made."""
