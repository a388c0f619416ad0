"""A saved rerun of the label inference paper to its summary: its definitions, honest attacks, controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from discreet.core.numbers import NOTHING, bound, epsilon, p_value, percent, share
from discreet.report.figure import Figure
from discreet.report.reproduction import Columns, beside_paper, chosen, rerun, section, word
from discreet.report.reproduction_charts import over_epsilon, utility_leak
from discreet.report.summary import Record, Summary
from discreet.report.words import words_of

WORDS = words_of("reproduction_labels")

TITLES: Mapping[str, str] = WORDS["titles"]
LEADS: Mapping[str, str] = WORDS["leads"]
DEFINED = WORDS["defined"]
NOTES: Mapping[str, str] = WORDS["notes"]
OVER = WORDS["over"]
FIRST = 6
STARRED = 0.01
MECHANISMS = WORDS["mechanisms"]


def summary(record: Record) -> Summary:
    """The summary of what `reproduce blia` saves."""
    sections = []
    for name, item in record["items"].items():
        tables = tables_of(name, item["rows"], paper=beside_paper(record))
        note = NOTES.get(name, OVER) if item["rows"] else ""
        sections.append(section(name, item, record, note, tables, _figures(name, item["rows"], record), FIRST))
    return rerun(record, TITLES, LEADS, _found(record), DEFINED, _provenance(record), sections)


def tables_of(name: str, rows: Sequence[Record], *, paper: bool = True) -> list[Any]:
    """An item's tables; the paper's figures only where they are asked for."""
    if not rows:
        return []
    if name in ONE:
        return [chosen(ONE[name], rows, paper=paper)]
    honest = chosen((*_WHERE, ("ceiling", _share("ceiling")), *_honest(rows), *_LAST), rows, paper=paper,
                    title="Attacks that see outputs alone; the same attack on held-out canaries in brackets.")
    return [honest] if name == "figure 2" else [
        chosen(DEFINITIONS, rows, paper=paper, title="By the paper's definitions."), honest]


def _share(name: str) -> Callable[[Record], str]:
    return lambda row: percent(row.get(name), missing=NOTHING)


def _rate(*path: str) -> Callable[[Record], str]:
    """An estimate with its interval, where the row has one there."""
    def shown(row: Record) -> str:
        found: Any = row
        for name in path:
            found = None if found is None else found.get(name)
        return share(found, missing=NOTHING)

    return shown


def _paper(name: str) -> Callable[[Record], str]:
    return lambda row: percent((row.get("paper") or {}).get(name), 2, missing=NOTHING)


def _with_control(row: Record, found: Record | None) -> str:
    """"57.2% (50.1%)": success and, in brackets, on held-out canaries; with a star where the two differ."""
    if found is None or found["success"]["value"] is None:
        return NOTHING
    star = "*" if found["holm_p"] is not None and found["holm_p"] < STARRED else ""
    return f"{percent(found['success']['value'])}{star} ({percent(found['placebo']['value'], missing=NOTHING)})"


def _honest(rows: Sequence[Record]) -> Columns:
    """A column for each attack on outputs; of LIA-Delta-Margin with α = β only, as the paper has it."""
    def named(name: str) -> Callable[[Record], str]:
        return lambda row: _with_control(row, next((one for one in row["honest"] if one["name"] == name), None))

    names = dict.fromkeys(one["name"] for row in rows for one in row["honest"] if one["alpha"] == one["beta"])
    return tuple((name, named(name)) for name in names)


def _flips(row: Record) -> str:
    """"11.9% of 11.9%": the share of labels changed, of what ε demands; told where a check failed."""
    flips = row["flips"]
    if flips["observed"]["value"] is None:
        return NOTHING
    demanded = "" if flips["expected"] is None else f" of {percent(flips['expected'])}"
    return f"{percent(flips['observed']['value'])}{demanded}{'' if flips['ok'] else ', broken'}"


def _count(name: str) -> Callable[[Record], str]:
    return lambda row: f"{row[name]:,}" if row.get(name) is not None else NOTHING


_WHERE: Columns = (("corpus", word("corpus")), ("ε", lambda row: epsilon(row["epsilon"])),
                   ("mechanism", lambda row: MECHANISMS.get(row["mechanism"], str(row["mechanism"]))))
_TRAIN: Columns = (
    ("train accuracy, paper", _paper("train_accuracy")), ("train accuracy", _rate("train_accuracy", "trained")),
    ("on true labels", _rate("train_accuracy", "original")), ("test accuracy", _rate("test_accuracy")))
_ATTACKS: Columns = (
    ("LIA-Threshold, paper", _paper("threshold")), ("LIA-Threshold", _rate("threshold", "success")),
    ("its control", _rate("threshold", "placebo")), ("LIA-Delta-Margin, paper", _paper("delta_margin")),
    ("LIA-Delta-Margin, shown the label", _rate("delta_margin", "success")),
    ("its control", _rate("delta_margin", "placebo")))
_STRONGEST: Columns = (
    ("honest attack, chosen on one half", lambda row: row["strongest"]["name"] if row.get("strongest") else NOTHING),
    ("success on the other", _rate("strongest", "success")), ("its control", _rate("strongest", "placebo")))
_BOUND: Columns = (("ε at least", lambda row: bound(row["epsilon_lower"])),)
_LAST: Columns = (("LIA-Threshold at the label trained on", lambda row: _with_control(row, row["threshold_trained"])),
                  *_BOUND)
DEFINITIONS: Columns = (*_WHERE, ("labels changed", _flips), *_TRAIN, *_ATTACKS, ("ceiling", _share("ceiling")))
WITHOUT: Columns = (
    ("corpus", word("corpus")), ("stands for", word("stands_for")), ("trained on", _count("n_trained")),
    ("trained on, paper", lambda row: f"{row['paper_sizes']['n_train']:,}" if row.get("paper_sizes") else NOTHING),
    ("canaries, all seeds", _count("n_canaries")), *_TRAIN, *_ATTACKS, *_STRONGEST,
    ("planted canaries right", lambda row: ", ".join(f"{one['copies']}×: {share(one['success'], 0)}"
                                                     for one in row["planted"]) or NOTHING))
UTILITY: Columns = (
    *_WHERE, ("test accuracy", _rate("test_accuracy")), ("on true labels", _rate("train_accuracy", "original")),
    *_STRONGEST, ("ceiling", _share("ceiling")), *_BOUND)
PREVALENT: Columns = (("corpus", word("corpus")), ("class 1", _share("prevalence")), *_TRAIN[1:], *_ATTACKS[1:],
                      *_STRONGEST)
STRONGER: Columns = (
    *_WHERE, ("canaries", _count("n_canaries")), ("attack", word("attack")), ("right", _count("right")),
    ("right by LIA-Threshold", _count("baseline_right")),
    ("of type", lambda row: str(row.get("baseline") or NOTHING).removeprefix("LIA-Threshold, ")),
    ("only it", _count("only_attack")), ("only LIA-Threshold", _count("only_baseline")),
    ("Holm p", lambda row: p_value(row.get("holm_p"))), ("control difference p", lambda row: p_value(
        row.get("difference_p"))), ("stronger", lambda row: "yes" if row["stronger"] else "no"))
ONE: Mapping[str, Columns] = {"table 2": WITHOUT, "section utility": UTILITY, "section stronger": STRONGER,
                              "section prevalence": PREVALENT}


def _figures(name: str, rows: Sequence[Record], record: Record) -> list[Figure]:
    found = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        if name == "figure 2":
            found.append(over_epsilon(rows, corpus, paper=beside_paper(record)))
        elif name == "section utility":
            found.append(utility_leak(rows, corpus))
    return [figure for figure in found if figure is not None]


def _found(record: Record) -> list[str]:
    """What table 2 says of each corpus in a sentence."""
    rows = record["items"].get("table 2", {"rows": []})["rows"] if beside_paper(record) else []
    return [f"{row['corpus']}, no noise: by the paper's definition LIA-Delta-Margin is right "
            f"{percent(row['delta_margin']['success']['value'])} of the time, and "
            f"{percent(row['delta_margin']['placebo']['value'])} on held-out canaries; the strongest honest attack "
            f"({row['strongest']['name']}) {percent(row['strongest']['success']['value'])}, and "
            f"{percent(row['strongest']['placebo']['value'])} on held-out canaries."
            for row in rows if row["delta_margin"] is not None and row["strongest"] is not None]


def _provenance(record: Record) -> tuple[tuple[str, str], ...]:
    facts = record["provenance"]
    listed = [("scale", record["scale"]), ("discreet", str(facts["discreet"])), ("data", str(facts["data"] or "none"))]
    for name, one in facts["corpora"].items():
        options = ", ".join(f"{key} {value}" for key, value in one["recipe"].items() if key != "name")
        listed.append((name, f"{one['recipe']['name']} ({options}); rows {one['rows'] or 'all'}; seeds "
                             f"{', '.join(map(str, one['seeds']))}; references {one['references']}"))
    trained = {row["corpus"]: row["epochs"] for item in record["items"].values() for row in item["rows"]
               if row.get("epochs") and row["mechanism"] == "none"}
    return (*listed, *((f"epochs, {corpus}", ", ".join(map(str, found))) for corpus, found in trained.items()))
