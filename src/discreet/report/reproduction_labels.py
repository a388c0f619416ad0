"""A saved rerun of the label inference paper to its summary: its definitions, honest attacks, controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from discreet.core.numbers import NOTHING, bound, epsilon, p_value, percent, share
from discreet.report.figure import Figure
from discreet.report.reproduction import Columns, beside_paper, chosen, rerun, section, word
from discreet.report.reproduction_charts import over_epsilon, utility_leak
from discreet.report.summary import Record, Summary

TITLES: Mapping[str, str] = {
    "smoke": "A trial of the commands on made-up data",
    "small": "An analogue of the label inference paper, by its definitions and by honest ones",
    "paper": "The label inference paper's figures, by its definitions and by honest ones"}
LEADS: Mapping[str, str] = {
    "smoke": "All data here are made up: the figures show that everything runs, and say nothing of any model.",
    "small": "*Analogue*: parts of the data, and small models; the paper's figures are shown for orientation, and no "
             "row is a reproduction. 95% intervals in brackets.",
    "paper": "Trained anew on the paper's data, as far as they are public, with its architectures. 95% intervals in "
             "brackets."}
DEFINED = ("Canaries have their label redrawn by a fair coin before training; that is the canary label, and mechanisms "
           "come after it. The paper's LIA-Delta-Margin takes its loss at the canary label itself, and is no attack; "
           "it is shown because its figures fit nothing else. Honest attacks see outputs alone, with models of their "
           "own where they need them; the strongest of them is chosen on one half of the canaries and judged on the "
           "other. Every figure has its control: the same attack on held-out canaries, drawn alike and never trained "
           "on, where there is nothing to remember. The ceiling is what ε allows anyone to guess right. Canaries of "
           "all seeds count together; every seed draws them anew.")
NOTES: Mapping[str, str] = {
    "table 2": "Trained until the paper's train accuracy. Planted canaries are repeated in training: what would be "
               "seen if it were remembered.",
    "figure 2": "The right panel's mechanism keeps a label with the chance p of randomised response and else draws one "
                "at random, the same one among them: it flips half as often as its ε demands, as the paper's train "
                "accuracies suggest. Its ceiling is that of the ε it claims.",
    "section utility": "The attack is chosen on every other canary and judged on those between. The bound on ε is of "
                       "all canaries, and corrected for the number of attacks.",
    "section stronger": "Only where any attack on outputs beats its control at p < .01, canaries of all seeds "
                        "together. Then McNemar's exact test on the same canaries against the type of LIA-Threshold "
                        "that is hardest to beat, Holm over all attacks of a condition.",
    "section prevalence": "The same model and data with other shares of class 1, trained for a few epochs. What is "
                          "shown the label is right as often on the control, and the more often the commoner class 1 "
                          "is: its figure follows that share. What is remembered, honest attacks show."}
OVER = ("By mechanism and ε. A star marks success and control that differ at p < .01, after Holm over the attacks of "
        "the row.")
FIRST = 6
STARRED = 0.01
MECHANISMS = {"none": "none", "rr": "rr", "rr_halved": "rr, flips halved", "alibi": "ALIBI",
              "rr_with_prior": "RRWithPrior"}


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
