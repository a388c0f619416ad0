"""A record of `reproduce blia` as tables: the paper's figures, ours by its definitions, honest ones and placebos."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.core.numbers import epsilon as epsilon_words
from discreet.core.numbers import p_value as p_words
from discreet.report.reproduced import NOTHING, beside_paper, heading

Row = Mapping[str, Any]
Columns = Sequence[tuple[str, Callable[[Row], str]]]

WHAT = {
    "smoke": "Made-up data: these figures show that the commands run, and nothing else.",
    "small": "*Analogue*: parts of the data, and small models; the paper's figures stand beside for orientation, and "
             "no row is a reproduction. All shares in per cent, 95% intervals in brackets.",
    "paper": "The paper's sizes as far as public data go. All shares in per cent, 95% intervals in brackets."}
MECHANISMS = {"none": "none", "rr": "rr", "rr_halved": "rr, flips halved", "alibi": "ALIBI",
              "rr_with_prior": "RRWithPrior"}


@dataclass(frozen=True, slots=True)
class Tabled:
    """A table: what it shows in words that may be empty, its head and its cells."""

    title: str
    head: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]

    @property
    def markdown(self) -> str:
        """The table, under its title."""
        said = "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |"
                         for line in (self.head, ("---",) * len(self.head), *self.lines))
        return f"{self.title}\n\n{said}" if self.title else said


def markdown(record: Mapping[str, Any]) -> str:
    """All items, each a heading and its tables, under what they are."""
    parts = [WHAT[record["scale"]]]
    for name, item in record["items"].items():
        tables = tables_of(name, item["rows"], paper=beside_paper(record))
        said = "\n\n".join(one.markdown for one in tables) or NOTHING_ASKED
        parts.append(f"### {heading(name, item)}\n\n{said}")
    return "\n\n".join(parts) + "\n"


NOTHING_ASKED = "Nothing was asked for that has such a row."


def tables_of(name: str, rows: Sequence[Row], *, paper: bool = True) -> list[Tabled]:
    """An item's tables, without columns that say nothing; the paper's figures only where they are asked for."""
    if not rows:
        return []
    if name in ONE:
        return [_table("", ONE[name], rows, paper)]
    found = [_table("By the paper's definitions.", DEFINED, rows, paper),
             _table("Attacks that see outputs alone; the same attack on placebos in brackets.", (
                 *_WHERE, ("ceiling", _share("ceiling")), *_honest(rows), *_LAST), rows, paper)]
    return found[1:] if name == "figure 2" else found


def _table(title: str, columns: Columns, rows: Sequence[Row], paper: bool) -> Tabled:
    kept = [(head, cell) for head, cell in columns if paper or "paper" not in head]
    lines = [[cell(row) for _, cell in kept] for row in rows]
    said = [place for place in range(len(kept)) if any(line[place] != NOTHING for line in lines)]
    return Tabled(title, tuple(kept[place][0] for place in said),
                  tuple(tuple(line[place] for place in said) for line in lines))


def percent(value: float | None, digits: int = 1) -> str:
    """`98.0`, of a share; a dash for none."""
    return NOTHING if value is None else f"{100 * value:.{digits}f}"


def interval(estimate: Mapping[str, Any] | None, digits: int = 1) -> str:
    """`98.0 [96.9, 98.8]`; a dash for what is unresolved."""
    if estimate is None or estimate["value"] is None:
        return NOTHING
    if estimate["low"] is None or estimate["high"] is None:
        return percent(estimate["value"], digits)
    value, low, high = (percent(estimate[name], digits) for name in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"


def _share(name: str) -> Callable[[Row], str]:
    return lambda row: percent(row.get(name))


def _rate(*path: str) -> Callable[[Row], str]:
    """An estimate with its interval, where the row has one there."""
    def shown(row: Row) -> str:
        found: Any = row
        for name in path:
            found = None if found is None else found.get(name)
        return interval(found)

    return shown


def _paper(name: str) -> Callable[[Row], str]:
    return lambda row: percent((row.get("paper") or {}).get(name), 2)


def _word(name: str) -> Callable[[Row], str]:
    return lambda row: str(row[name]) if row.get(name) not in (None, "") else NOTHING


def _strongest(row: Row) -> str:
    return row["strongest"]["name"] if row.get("strongest") else NOTHING


def _beside(row: Row, found: Row | None) -> str:
    """`57.2 (50.1)`: success and, in brackets, on placebos; with a star where the two differ at p < .01 after Holm."""
    if found is None or found["success"]["value"] is None:
        return NOTHING
    star = "*" if found["holm_p"] is not None and found["holm_p"] < STARRED else ""
    return f"{percent(found['success']['value'])}{star} ({percent(found['placebo']['value'])})"


STARRED = 0.01


def _honest(rows: Sequence[Row]) -> Columns:
    """A column for each attack on outputs; of LIA-Delta-Margin with α = β only, as the paper has it."""
    names = dict.fromkeys(one["name"] for row in rows for one in row["honest"] if one["alpha"] == one["beta"])
    return tuple((name, _named(name)) for name in names)


def _named(name: str) -> Callable[[Row], str]:
    return lambda row: _beside(row, next((one for one in row["honest"] if one["name"] == name), None))


def _flips(row: Row) -> str:
    """`11.9 of 11.9`: the share of labels changed, of what ε demands; told where a check failed."""
    flips = row["flips"]
    if flips["observed"]["value"] is None:
        return NOTHING
    demanded = "" if flips["expected"] is None else f" of {percent(flips['expected'])}"
    return f"{percent(flips['observed']['value'])}{demanded}{'' if flips['ok'] else ', broken'}"


def _proved(row: Row) -> str:
    value = row["epsilon_lower"]["value"]
    return NOTHING if value is None else f"{value:.2f}"


def _planted(row: Row) -> str:
    return ", ".join(f"{one['copies']}×: {interval(one['success'], 0)}" for one in row["planted"]) or NOTHING


def _count(name: str) -> Callable[[Row], str]:
    return lambda row: f"{row[name]:,}" if row.get(name) is not None else NOTHING


def _p(name: str) -> Callable[[Row], str]:
    return lambda row: NOTHING if row.get(name) is None else p_words(row[name])


_WHERE: Columns = (("corpus", _word("corpus")), ("ε", lambda row: epsilon_words(row["epsilon"])),
                   ("mechanism", lambda row: MECHANISMS.get(row["mechanism"], str(row["mechanism"]))))
_TRAIN: Columns = (
    ("train accuracy, paper", _paper("train_accuracy")), ("train accuracy", _rate("train_accuracy", "trained")),
    ("on true labels", _rate("train_accuracy", "original")), ("test accuracy", _rate("test_accuracy")))
_ATTACKS: Columns = (
    ("LIA-Threshold, paper", _paper("threshold")), ("LIA-Threshold", _rate("threshold", "success")),
    ("its placebo", _rate("threshold", "placebo")), ("LIA-Delta-Margin, paper", _paper("delta_margin")),
    ("LIA-Delta-Margin, shown the secret", _rate("delta_margin", "success")),
    ("its placebo", _rate("delta_margin", "placebo")))
_STRONGEST: Columns = (("honest attack, chosen on one half", _strongest),
                       ("success on the other", _rate("strongest", "success")),
                       ("its placebo", _rate("strongest", "placebo")))
_LAST: Columns = (("LIA-Threshold at the label trained on", lambda row: _beside(row, row["threshold_trained"])),
                  ("ε at least", _proved))
DEFINED: Columns = (*_WHERE, ("labels changed", _flips), *_TRAIN, *_ATTACKS, ("ceiling", _share("ceiling")))
WITHOUT: Columns = (
    ("corpus", _word("corpus")), ("stands for", _word("stands_for")), ("trained on", _count("n_trained")),
    ("trained on, paper", lambda row: f"{row['paper_sizes']['n_train']:,}" if row.get("paper_sizes") else NOTHING),
    ("canaries, all seeds", _count("n_canaries")), *_TRAIN, *_ATTACKS, *_STRONGEST,
    ("planted canaries right", _planted))
UTILITY: Columns = (
    *_WHERE, ("test accuracy", _rate("test_accuracy")), ("on true labels", _rate("train_accuracy", "original")),
    *_STRONGEST, ("ceiling", _share("ceiling")), ("ε at least", _proved))
PREVALENT: Columns = (("corpus", _word("corpus")), ("class 1", _share("prevalence")), *_TRAIN[1:], *_ATTACKS[1:],
                      *_STRONGEST)
STRONGER: Columns = (
    *_WHERE, ("canaries", _count("n_canaries")), ("attack", _word("attack")), ("right", _count("right")),
    ("right by LIA-Threshold", _count("baseline_right")),
    ("of type", lambda row: str(row.get("baseline") or NOTHING).removeprefix("LIA-Threshold, ")),
    ("only it", _count("only_attack")), ("only LIA-Threshold", _count("only_baseline")), ("Holm p", _p("holm_p")),
    ("placebo difference p", _p("difference_p")), ("stronger", lambda row: "yes" if row["stronger"] else "no"))
ONE: Mapping[str, Columns] = {"table 2": WITHOUT, "section utility": UTILITY, "section stronger": STRONGER,
                              "section prevalence": PREVALENT}
