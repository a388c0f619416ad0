"""A saved rerun of the label inference paper to its page and its figures. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.core.numbers import epsilon as epsilon_words
from discreet.report.figures.figure import Figure
from discreet.report.figures.label_rerun import over_epsilon, utility_leak
from discreet.report.reproduced import beside_paper
from discreet.report.reproduced_labels import percent, tables_of
from discreet.report.reproduction import rerun_page as page_of
from discreet.report.reproduction import section

Record = Mapping[str, Any]

TITLES: Mapping[str, str] = {
    "smoke": "A trial of the commands on made-up data",
    "small": "An analogue of the label inference paper, by its definitions and by honest ones",
    "paper": "The label inference paper's figures, by its definitions and by honest ones"}
LEADS: Mapping[str, str] = {
    "smoke": "All data here are made up: the figures show that everything runs, and say nothing of any model.",
    "small": "Parts of the data, and small models: no figure here is a reproduction, and the paper's own stand beside "
             "for orientation only.",
    "paper": "Trained anew on the paper's data, as far as they are public, with its architectures."}
DEFINED = ("Canaries have their label redrawn by a fair coin before training; that is the secret, and mechanisms come "
           "after it. The paper's LIA-Delta-Margin takes its loss at the secret itself, and is no attack; it stands "
           "here because its figures fit nothing else. Honest attacks see outputs alone, with models of their own "
           "where they need them; the strongest of them is chosen on one half of the canaries and judged on the other. "
           "Beside every figure stands its placebo: the same attack on canaries that were drawn "
           "alike and never trained on, where there is nothing to remember. The ceiling is what ε allows anyone to "
           "guess right. Canaries of all seeds count together; every seed draws them anew.")
NOTES: Mapping[str, str] = {
    "table 2": "Trained until the paper's train accuracy. Planted canaries stand in training so many times: what "
               "would be seen if it were remembered.",
    "figure 2": "The right panel's mechanism keeps a label with the chance p of randomised response and else draws one "
                "at random, the same one among them: it flips half as often as its ε demands, as the paper's train "
                "accuracies suggest. Its ceiling is that of the ε it claims.",
    "section utility": "The attack is chosen on every other canary and judged on those between. The bound on ε is of "
                       "all canaries, and corrected for the number of attacks.",
    "section stronger": "Only where any attack on outputs beats its placebo at p < .01, canaries of all seeds "
                        "together. Then McNemar's exact test on the same canaries against the type of LIA-Threshold "
                        "that is hardest to beat, Holm over all attacks of a condition.",
    "section prevalence": "The same model and data with other shares of class 1, trained for a few epochs. What is "
                          "shown the secret is right as often on placebos, and the more often the commoner class 1 "
                          "is: its figure follows that share. What is remembered, honest attacks show."}
OVER = ("By mechanism and ε. Where a star stands, success and placebo differ at p < .01, after Holm over the attacks "
        "of the row.")
FIRST = 6


def rerun_figures(record: Record) -> list[Figure]:
    """All figures of a record, with distinct names."""
    return [figure for name, item in record["items"].items() for figure in _figures(name, item["rows"], record)]


def rerun_page(record: Record) -> str:
    """The report as one HTML file, of what `reproduce blia` saves in result.json. Raises MissingExtraError."""
    sections = []
    for name, item in record["items"].items():
        tables = [(one.title, one.head, one.lines)
                  for one in tables_of(name, item["rows"], paper=beside_paper(record))]
        sections.append(section(name, item, record, note=NOTES.get(name, OVER) if item["rows"] else "",
                                first=FIRST, tables=tables, drawn=_figures(name, item["rows"], record)))
    return page_of(record, title=TITLES[record["scale"]], leads=[LEADS[record["scale"]], *_found(record)],
                   defined=DEFINED, sections=sections, provenance=_provenance(record))


def _figures(name: str, rows: Sequence[Record], record: Record) -> list[Figure]:
    corpora = dict.fromkeys(row["corpus"] for row in rows)
    if name == "figure 2":
        drawn = [over_epsilon(rows, corpus, paper=beside_paper(record)) for corpus in corpora]
    elif name == "section utility":
        drawn = [utility_leak(rows, corpus) for corpus in corpora]
    else:
        drawn = []
    return [figure for figure in drawn if figure is not None]


def _found(record: Record) -> list[str]:
    """What table 2 says of each corpus in a sentence."""
    if record["scale"] == "smoke":
        return []
    said = []
    for row in record["items"].get("table 2", {"rows": []})["rows"]:
        oracle, best = row["delta_margin"], row["strongest"]
        if oracle is None or best is None:
            continue
        said.append(f"{row['corpus']}, no noise: by the paper's definition LIA-Delta-Margin is right "
                    f"{percent(oracle['success']['value'])}% of the time, and {percent(oracle['placebo']['value'])}% "
                    f"on placebos; the strongest honest attack ({best['name']}) "
                    f"{percent(best['success']['value'])}%, and "
                    f"{percent(best['placebo']['value'])}% on placebos.")
    return said


def _provenance(record: Record) -> list[tuple[str, str]]:
    facts = record["provenance"]
    listed = [("scale", record["scale"]), ("discreet", str(facts["discreet"])), ("data", str(facts["data"] or "none"))]
    for name, one in facts["corpora"].items():
        options = ", ".join(f"{key} {value}" for key, value in one["recipe"].items() if key != "name")
        listed.append((name, f"{one['recipe']['name']} ({options}); rows {one['rows'] or 'all'}; seeds "
                             f"{', '.join(map(str, one['seeds']))}; references {one['references']}"))
    epochs = {(row["corpus"], row["mechanism"], epsilon_words(row["epsilon"])): row["epochs"]
              for item in record["items"].values() for row in item["rows"] if row.get("epochs")}
    trained = {corpus: found for (corpus, mechanism, _), found in epochs.items() if mechanism == "none"}
    return [*listed, *((f"epochs, {corpus}", ", ".join(map(str, found))) for corpus, found in trained.items())]
