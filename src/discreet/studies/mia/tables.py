"""The paper's tables and figures, each as the experiments that it needs and what is made of their audits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.audit.membership.evaluation_sets import BOUNDARY_N
from discreet.studies import averaged
from discreet.studies.mia.corpora import CORPORA
from discreet.studies.mia.results import (
    DEFINITIONS,
    NON_BOUNDARY,
    Audit,
    Definition,
    accuracy,
    accuracy_change,
    change,
    estimates,
    figures,
    gain,
    kept_steps,
    paper_range,
    reach,
)
from discreet.studies.mia.settings import FULL, LORA, RANKS, Condition, Setting

Audits = Mapping[Condition, Mapping[str, Any]]
Rows = list[dict[str, Any]]

STRUCTURES = ("single-turn", "multi-turn", "multi-conversation", "pooled")
LABELS: Mapping[str, int | None] = {"safe": 0, "unsafe": 1}
HONEST: tuple[Definition, ...] = ("honest, p", "honest, logit")
SHOWN: tuple[Definition, ...] = ("paper", *HONEST)
BRIEF: tuple[Definition, ...] = ("paper", "honest, logit")
ALL_REGIMES = "all regimes"


@dataclass(frozen=True, slots=True)
class Table:
    """One table, figure or section.

    Attributes
    ----------
    conditions : callable
        From a setting to the conditions whose audits are needed.
    rows : callable
        From the setting and the audits by condition to the rows of the table.
    supplementary : bool
        Whether it needs what `discreet.studies.mia.results.supplementary` finds.
    """

    name: str
    title: str
    conditions: Callable[[Setting], list[Condition]]
    rows: Callable[[Setting, Audits], Rows]
    supplementary: bool = False


def _regimes(setting: Setting, model: str) -> list[str]:
    """Those of table 7 among a model's: full, and LoRA of rank 64."""
    return [regime for regime in (LORA, FULL) if regime in setting.models[model]]


def _grid(setting: Setting, corpora: Sequence[tuple[str, str]], models: Sequence[str], variant: str = "",
          regimes: Sequence[str] | None = None) -> list[Condition]:
    return [Condition(corpus, structure, model, regime, seed, variant)
            for structure, corpus in corpora for model in models
            for regime in (_regimes(setting, model) if regimes is None else
                           [one for one in regimes if one in setting.models[model]])
            for seed in setting.seeds]


def _corpora(setting: Setting) -> list[tuple[str, str]]:
    """Structure and corpus of table 7; further corpora too, each with the structure that it is of."""
    return [*((one, setting.corpora[one]) for one in STRUCTURES if one in setting.corpora),
            *((CORPORA[corpus].structure, corpus) for corpus in setting.further)]


def _corpus(setting: Setting, structure: str = "single-turn") -> list[tuple[str, str]]:
    """Structure and corpus, or nothing where the study is of other corpora."""
    return [(structure, setting.corpora[structure])] if structure in setting.corpora else []


def grouped(conditions: Sequence[Condition], audits: Audits) -> Iterator[tuple[list[Condition], list[Audit]]]:
    """Conditions that differ in seed alone, and their audits."""
    groups: dict[Condition, list[Condition]] = {}
    for condition in conditions:
        groups.setdefault(replace(condition, seed=0), []).append(condition)
    for group in groups.values():
        yield group, [audits[condition]["audit"] for condition in group]


def _head(condition: Condition) -> dict[str, Any]:
    return {name: getattr(condition, name) for name in ("corpus", "structure", "model", "regime", "variant")}


def _utility(group: Sequence[Audit]) -> dict[str, Any]:
    return {"accuracy": accuracy(group), "accuracy_gap": accuracy(group, "gap"),
            **{f"accuracy_{name}": accuracy(group, label=str(label)) for name, label in LABELS.items()}}


def _attacks(conditions: Sequence[Condition], audits: Audits, item: str, attacks: Sequence[str],
             definitions: Sequence[Definition] | None = None, **asked: Any) -> Rows:
    """A row for each condition, attack and definition; of a pooled model also for each structure of its inputs."""
    rows = []
    for (condition, *_), group in grouped(conditions, audits):
        utility = _utility(group)
        for attack in attacks:
            for definition in DEFINITIONS[attack]:
                if definitions is not None and definition not in definitions:
                    continue
                for part in [None, *(_parts(group, attack) if condition.structure == "pooled" else [])]:
                    rows.append({**_head(condition), "part": part, "attack": attack, "definition": definition,
                                 "selection": asked.get("selection", "global"),
                                 **figures(group, attack, definition, structure=part, **asked), **utility,
                                 **(_paper(condition, item, attack) if definition == "paper" and part is None else {})})
    return rows


def _parts(group: Sequence[Audit], attack: str) -> list[str]:
    """The input structures that an audit tells apart."""
    return sorted({row["structure"] for audit in group for row in audit["attacks"]
                   if row["attack"] == attack and row["structure"] is not None})


def _paper(condition: Condition, item: str, attack: str) -> dict[str, Any]:
    """The paper's AUC, and its TPR at 5% FPR, of one attack."""
    known = {} if item == "table 10" else {"regime": condition.regime}
    said = {"structure": condition.structure, "attack": attack, **known}
    return {"paper": paper_range(item, metric="auc", **said),
            "paper_tpr": paper_range(item, metric="tpr_at_5pct_fpr", **said)}


def _table_6(setting: Setting) -> list[Condition]:
    return _grid(setting, _corpus(setting), setting.sweep, regimes=[FULL, *(f"lora r={rank}" for rank in RANKS)])


def _table_7(setting: Setting) -> list[Condition]:
    return _grid(setting, _corpora(setting), setting.broad or list(setting.models)[:1])


def sizes_of_models(setting: Setting) -> list[Condition]:
    """Every model on the single-turn corpus."""
    return _grid(setting, _corpus(setting), list(setting.models))


def _depression(setting: Setting) -> list[Condition]:
    return _grid(setting, _corpus(setting, "depression"), setting.depressed or list(setting.models)[:1],
                 regimes=[LORA] if any(LORA in one for one in setting.models.values()) else [FULL])


def _boundary(**more: Any) -> dict[str, Any]:
    return {"selection": "boundary", "n": BOUNDARY_N, **more}


def _figure_2(setting: Setting, audits: Audits) -> Rows:
    """Gains by label, and of both together: boundary less global, of the paper's definition and the honest ones."""
    rows = []
    for (condition, *_), group in grouped(_figure_2_conditions(setting), audits):
        for name, label in {**LABELS, "both": None}.items():
            for definition in SHOWN:
                rows.append({**_head(condition), "label": name, "definition": definition,
                             **_ends(group, definition, {"global": {"label": label},
                                                         "boundary": _boundary(label=label)}),
                             **gain(group, definition, n=BOUNDARY_N, label=label),
                             "paper": _paper_gain(condition, name) if definition == "paper" else None})
    return rows


def _ends(group: Sequence[Audit], definition: Definition, places: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """AUC and placebo of the reference attack under several selections, under the names of these."""
    return {f"{place}_{key}": value for place, asked in places.items()
            for key, value in figures(group, "reference", definition, **asked).items() if key in ("auc", "placebo")}


def _figure_2_conditions(setting: Setting) -> list[Condition]:
    return list(dict.fromkeys([*_table_7(setting), *sizes_of_models(setting)]))


def _paper_gain(condition: Condition, label: str) -> dict[str, Any] | None:
    structure = "all" if condition.structure in STRUCTURES[:3] else condition.structure
    return paper_range("figure 2", structure=structure, regime=condition.regime, label=label, metric="gain of auc")


def _figure_3(setting: Setting, audits: Audits) -> Rows:
    """By decile of the target's and of the selector's confidence, with the least and the most over A and B; and by
    category, of each regime and, as the paper's bars are, of all regimes together."""
    rows = []
    for (condition, *_), group in grouped(sizes_of_models(setting), audits):
        rows += _strata(_head(condition), group)
    merged: dict[Condition, list[Condition]] = {}
    for condition in sizes_of_models(setting):
        merged.setdefault(replace(condition, regime=ALL_REGIMES), []).append(condition)
    together = {condition: {"audit": {"attacks": [row for one in held for row in audits[one]["audit"]["attacks"]]}}
                for condition, held in merged.items()}
    for (condition, *_), group in grouped(list(together), together):
        rows += [row for row in _strata(_head(condition), group) if row["category"] is not None]
    return rows


def _strata(head: Mapping[str, Any], group: Sequence[Audit]) -> Rows:
    found = {(row["category"], row["decile"], row["decile_by"]) for audit in group for row in audit["attacks"]
             if row["attack"] == "reference" and (row["category"] is not None or row["decile"] is not None)}
    rows = []
    for category, decile, by in sorted(found, key=str):
        asked = {"category": category, "decile": decile, "decile_by": by}
        rows += [{**head, **asked, "definition": definition, **figures(group, "reference", definition, **asked),
                  **reach(group, "reference", definition, **asked)} for definition in BRIEF]
    return rows


PLAIN = "plain"
UPSAMPLED = (PLAIN, "duplicated x2", "duplicated x4", "paraphrased x2", "paraphrased x4")
PLACES: Mapping[str, Mapping[str, Any]] = {
    "global": {}, "boundary": _boundary(), "non_boundary": {"selection": NON_BOUNDARY, "n": BOUNDARY_N}}


def _section_8_2_conditions(setting: Setting) -> list[Condition]:
    return [condition for variant in UPSAMPLED
            for condition in _grid(setting, _corpus(setting), setting.upsampled or setting.sweep, variant)]


def _section_8_2(setting: Setting, audits: Audits) -> Rows:
    """AUC of all records, at the boundary and off it, and accuracy, under copies of the training set; the change of
    each against the plain training set of the same seed; and how much of the training early stopping kept."""
    rows = []
    for conditions, group in grouped(_section_8_2_conditions(setting), audits):
        base = [audits[replace(condition, variant=PLAIN)]["audit"] for condition in conditions]
        pairs = list(zip(group, base, strict=True))
        for definition in BRIEF:
            row = {**_head(conditions[0]), "definition": definition, **_ends(group, definition, PLACES),
                   **_utility(group)}
            if conditions[0].variant != PLAIN:
                for place, asked in PLACES.items():
                    row[f"{place}_change"], row[f"{place}_placebo_change"] = change(pairs, definition, asked, asked)
                row["accuracy_change"] = accuracy_change(pairs)
                if definition == "paper":
                    row |= {"paper": paper_range("section 8.2", metric=f"gain of auc, {conditions[0].variant}"),
                            "paper_non_boundary": paper_range("section 8.2", selection="non-boundary", metric="auc")}
            rows.append(row | {"steps": kept_steps([audits[condition]["training"] for condition in conditions])})
    return rows


def _simple(item: str, conditions: Callable[[Setting], list[Condition]], attacks: Sequence[str],
            definitions: Sequence[Definition] | None = None, **asked: Any) -> Callable[[Setting, Audits], Rows]:
    return lambda setting, audits: _attacks(conditions(setting), audits, item, attacks, definitions, **asked)


def _curve(setting: Setting) -> list[Condition]:
    return [condition for size in setting.curve
            for condition in _grid(setting, _corpus(setting), setting.sweep, f"size {size}")]


def _mismatched(setting: Setting) -> list[Condition]:
    if not setting.mismatched:
        return []
    return [*_grid(setting, _corpus(setting), setting.sweep),
            *_grid(setting, _corpus(setting), setting.sweep, f"mismatched {setting.mismatched}")]


def _mismatched_rows(setting: Setting, audits: Audits) -> Rows:
    """All records and the boundary, honestly: next to each matched reference the one of another corpus."""
    conditions = _mismatched(setting)
    return [row | {"variant": row["variant"] or "matched"} for asked in ({}, _boundary())
            for row in _attacks(conditions, audits, "mismatched", ["reference"], HONEST, **asked)]


def _users_conditions(setting: Setting) -> list[Condition]:
    return _grid(setting, _corpus(setting, "users"), setting.sweep)


def _users(setting: Setting, audits: Audits) -> Rows:
    """Records, resampled by user; and users, by the mean score of their records."""
    rows: Rows = []
    for (condition, *_), group in grouped(_users_conditions(setting), audits):
        rows += [{**_head(condition), "unit": "record", "attack": attack, "definition": definition,
                  **figures(group, attack, definition)} for attack in ("loss", "reference") for definition in SHOWN
                 if definition in DEFINITIONS[attack]]
        rows.append({**_head(condition), "unit": "user", "attack": "reference", "definition": "honest, logit",
                     **{key: averaged([estimates(audit["users"], name) for audit in group]).to_json()
                        for key, name in (("auc", "group_auc"), ("placebo", "placebo_auc"))}})
    return rows


ALL = ("probe", "loss", "reference")
TABLES: Mapping[str, Table] = {table.name: table for table in (
    Table("table 6", "Rank of LoRA", _table_6, _simple("table 6", _table_6, ALL)),
    Table("table 7", "All attacks, all structures", _table_7, _simple("table 7", _table_7, ALL)),
    Table("table 9", "Depression: global", _depression, _simple("table 9", _depression, ALL)),
    Table("table 10", "Depression: boundary", _depression, _simple("table 10", _depression, ["reference"],
                                                                  **_boundary())),
    Table("figure 2", "Global to boundary, by label", _figure_2_conditions, _figure_2),
    Table("figure 3", "Deciles and categories", sizes_of_models, _figure_3),
    Table("section 8.2", "Duplicated and paraphrased training sets", _section_8_2_conditions, _section_8_2,
          supplementary=True),
    Table("size", "Training-set size", _curve, _simple("size", _curve, ["reference", "loss"])),
    Table("mismatched", "A reference of another corpus", _mismatched, _mismatched_rows),
    Table("users", "Users as units", _users_conditions, _users, supplementary=True),
)}
