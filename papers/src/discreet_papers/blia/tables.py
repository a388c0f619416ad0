"""The paper's tables and figures, and what it has not, as pure functions of the records of conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any, TypeAlias

from discreet.core.numbers import label_attack_name
from discreet.stats.testing import holm
from discreet_papers.blia.corpora import CORPORA
from discreet_papers.shared import paper_figures

Condition: TypeAlias = Mapping[str, Any]
Found: TypeAlias = Mapping[str, Sequence[Condition]]
Rows: TypeAlias = list[dict[str, Any]]

NONE, RR, HALVED = "none", "rr", "rr_halved"
BENCHMARKS: Mapping[str, tuple[str, str]] = {
    "cifar100": ("table 3", "CIFAR-100"), "census": ("table 4", "Census"), "imdb": ("table 5", "IMDB"),
    "fashion_mnist": ("table 6", "FashionMNIST"), "cifar10": ("table 7", "CIFAR-10"), "big_vul": ("table 8", "Big-Vul")}
"""Which table is of which benchmark, and its name; table 2 is the first row of each."""
SHARES: Mapping[str, str] = {"lia_threshold": "threshold", "lia_delta_margin": "delta_margin"}
MEMORISED = 0.01
"""The p of a control difference, canaries of all seeds together, from which something counts as memorised."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table, figure or section: its rows from the conditions of the corpora of its benchmark, or of all."""

    name: str
    title: str
    rows: Callable[[Found], Rows]
    benchmark: str | None = None

    def corpora(self, names: Iterable[str]) -> list[str]:
        """The names of those whose conditions it needs."""
        return [name for name in names if self.benchmark in (None, CORPORA[name].benchmark)]


def paper_values(benchmark: str, epsilon: float) -> dict[str, float] | None:
    """`{"train_accuracy", "threshold", "delta_margin"}` as shares in [0, 1]; None for an ε that the paper has not."""
    found: dict[str, float] = {}
    for row in paper_figures("blia"):
        if row["benchmark"] == benchmark and isclose(float(row["epsilon"]), epsilon):
            # The paper's figures have two decimals of a percentage: not more is kept.
            found |= {"train_accuracy": round(float(row["train_accuracy"]) / 100.0, 6),
                      SHARES[row["attack"]]: round(float(row["success"]) / 100.0, 6)}
    return found or None


def paper_sizes(benchmark: str) -> dict[str, int | str]:
    """`{"n_train", "n_canaries", "architecture"}` of the paper's table 1."""
    row = next(row for row in paper_figures("blia") if row["benchmark"] == benchmark)
    return {"n_train": int(row["n_train"]), "n_canaries": int(row["n_canaries"]), "architecture": row["architecture"]}


def line(one: Condition) -> dict[str, Any]:
    """What the tables say of one condition: the paper's figures, ours by its definitions, and honest attacks.

    The paper's attacks are LIA-Threshold at ½ and LIA-Delta-Margin with the loss at the canary label, an
    oracle; both infer the label before the mechanism. Attacks on outputs have `holm_p`, their
    `difference_p` after Holm over all of them; None where there is none.
    """
    corpus, names = CORPORA[one["corpus"]], ("corpus", "mechanism", "epsilon", "seeds", "epochs", "n_trained",
                                             "n_canaries", "n_controls", "chance", "ceiling", "flips", "planted",
                                             "epsilon_lower")
    own = [row for row in one["attacks"] if row["target"] == "canary"]
    fixed = {"attack": "lia_threshold", "threshold": "fixed"}
    family = [_said(row) for row in own if row["access"] == "outputs" and row["success"]["value"] is not None]
    family.append(_said(_one([row for row in one["attacks"] if row["target"] == "trained"], **fixed)))
    p = {place: row["difference_p"] for place, row in enumerate(family) if row and row["difference_p"] is not None}
    held = dict(zip(p, holm(list(p.values())).tolist(), strict=True)) if p else {}
    *honest, threshold_trained = (row and {**row, "holm_p": held.get(place)} for place, row in enumerate(family))
    return {
        **{name: one[name] for name in names}, "stands_for": corpus.stands_for,
        "paper": paper_values(corpus.benchmark, float(one["epsilon"])),
        "train_accuracy": one["utility"]["train_accuracy"], "test_accuracy": one["utility"]["test_accuracy"],
        "threshold": _said(_one(own, **fixed)),
        "delta_margin": _said(_one(own, attack="lia_delta_margin", loss_labels="canary", margin="p1-second",
                                   alpha=1.0, beta=1.0)),
        "honest": honest, "threshold_trained": threshold_trained, "strongest": _said(one["chosen"])}


def _one(rows: Iterable[Mapping[str, Any]], **asked: Any) -> Mapping[str, Any] | None:
    return next((row for row in rows if all(row[name] == value for name, value in asked.items())), None)


SAID = ("attack", "threshold", "margin", "alpha", "beta", "loss_labels", "fit", "oracle", "success", "control",
        "difference_p", "vetoed")


def _said(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if row is None else {"name": label_attack_name(row, brief=True), **{name: row[name] for name in SAID}}


def _of(found: Found, mechanisms: Sequence[str] | None = None) -> Iterable[Condition]:
    """Conditions of all corpora, no mechanism first, of these mechanisms or of any; by ε, the largest first."""
    for conditions in found.values():
        kept = [one for one in conditions if mechanisms is None or one["mechanism"] in (NONE, *mechanisms)]
        yield from sorted(kept, key=lambda one: -float(one["epsilon"]))


def by_epsilon(found: Found) -> Rows:
    """Tables 3 to 8, and figure 2: randomised response as it is meant and as it flips half as often, over ε."""
    return [line(one) for one in _of(found, (RR, HALVED))]


def without_noise(found: Found) -> Rows:
    """Table 2: ε = ∞."""
    return [{**line(one), "paper_sizes": paper_sizes(CORPORA[one["corpus"]].benchmark)}
            for one in _of(found, ()) if one["mechanism"] == NONE]


def utility(found: Found) -> Rows:
    """Every mechanism that keeps its ε."""
    return [line(one) for one in _of(found) if one["mechanism"] != HALVED]


def stronger(found: Found) -> Rows:
    """Where anything is memorised, honest attacks against LIA-Threshold on the same canaries.

    A row for each attack that leads, the best of a condition first; one row without an attack where none does.
    """
    rows = []
    for one in _of(found):
        if one["mechanism"] == HALVED or not memorised(one):
            continue
        head = {name: one[name] for name in ("corpus", "mechanism", "epsilon", "seeds", "n_canaries", "ceiling")}
        leading = sorted((row for row in one["stronger"] if row["right"] > row["baseline_right"]),
                         key=lambda row: (not row["stronger"], row["holm_p"], -row["right"]))
        rows += [{**head, **row} for row in leading] or [{**head, "attack": None, "stronger": False}]
    return rows


def memorised(one: Condition) -> bool:
    """Whether an attack on outputs is right about canary labels more often than about controls', p < .01."""
    return any(row["access"] == "outputs" and row["target"] == "canary" and row["difference_p"] is not None
               and row["difference_p"] < MEMORISED and row["success"]["value"] > row["control"]["value"]
               for row in one["attacks"])


def prevalence(conditions: Sequence[Condition]) -> Rows:
    """The oracle next to honest attacks by the share of class 1, at ε = ∞."""
    return [{**line(one), "prevalence": one["prevalence"], "paper": None} for one in conditions]


TABLES: Mapping[str, Table] = {table.name: table for table in (
    Table("table 2", "Without noise", without_noise), *(Table(number, f"{name} over ε", by_epsilon, benchmark)
                                                        for benchmark, (number, name) in BENCHMARKS.items()),
    Table("figure 2", "Success over ε", by_epsilon), Table("section utility", "Which mechanism, which ε?", utility),
    Table("section stronger", "Stronger than LIA-Threshold?", stronger))}
