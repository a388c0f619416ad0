"""A saved rerun of the membership paper to its summary: ours by its definitions and honestly, controls, the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from discreet.core.numbers import NOTHING, interval, number, percent
from discreet.report import membership_charts, reproduction_charts
from discreet.report.figure import Figure, name_of
from discreet.report.membership import diagnostic_name
from discreet.report.reproduction_charts import at_boundary
from discreet.report.summary import (
    MOST_OPEN,
    Record,
    Section,
    Summary,
    Text,
    blocks,
    facts,
    kicker,
    table,
    without_constant,
)
from discreet.report.words import words_of

WORDS = words_of("reproduction")

Columns = Sequence[tuple[str, Callable[[Record], str]]]

TITLES: Mapping[str, str] = WORDS["titles"]
LEADS: Mapping[str, str] = WORDS["leads"]
DEFINED = WORDS["defined"]
NOTES: Mapping[str, str] = WORDS["notes"]
FIRST: Mapping[str, int] = {"section 7.1": 2}
"""Figures of an item that stand open, if not four; the others are folded."""
PLACES = ("structure", "corpus", "model", "regime")
"""Columns that go to the title of a table where they hold one value."""
NO_ROWS = Text("Nothing was asked for that has such a row.")


def summary(record: Record) -> Summary:
    """The summary of what `reproduce mia` saves."""
    given = record["provenance"]
    models = "; ".join(f"{name} ({', '.join(regimes)})" for name, regimes in given["models"].items())
    rest = {name: value for name, value in given.items() if name not in ("models", "corpora")}
    corpora = {"corpora": given["corpora"]} if given.get("corpora") else {}
    items = [(name, item, table_of(name, item["rows"], paper=beside_paper(record)),
              figures_of(name, item["rows"], record)) for name, item in record["items"].items()]
    return rerun(record, TITLES, LEADS, _found(record), DEFINED, facts({
        "scale": record["scale"], "models": models, **corpora, **rest}), [
            section(name, item, record, NOTES.get(name, ""), [] if rows is None else [without_constant(rows, PLACES)],
                    figures, FIRST.get(name, 4)) for name, item, rows, figures in items])


def rerun(record: Record, titles: Mapping[str, str], leads: Mapping[str, str], found: Sequence[str], defined: str,
          provenance: tuple[tuple[str, str], ...], sections: Sequence[tuple[Section, ...]]) -> Summary:
    """The summary of a rerun of any paper."""
    end = " Nothing on it is a reproduction of the paper's figures." if record["analogue"] else ""
    return Summary(
        kind=record["kind"], headline=titles[record["scale"]], kicker=kicker(record, f"scale {record['scale']}"),
        leads=(leads[record["scale"]], *found, defined), sections=tuple(one for part in sections for one in part),
        provenance=provenance, footer=f"This page holds no text of any record.{end}", contents=True)


def section(name: str, item: Record, record: Record, note: str, tables: Sequence[Any], figures: Sequence[Figure],
            first: int) -> tuple[Section, ...]:
    """One item: its figures, the `first` of them open, and its tables."""
    shown = [replace(one, open=len(one.rows) <= MOST_OPEN and not figures) for one in tables]
    # Several figures have their titles above them; one has that of the item.
    drawn = figures[:first] if len(figures) == 1 else [
        part for figure in figures[:first] for part in (Text(figure.title, "heading"), figure)]
    one = Section(heading(name, item), blocks(Text(note) if note else None, *drawn, *(shown or [NO_ROWS])),
                  name=f"item-{name_of(name)}", badge="analogue" if record["analogue"] and beside_paper(record) else "")
    further = [Section(f"Further figures: {heading(name, item)}", blocks(*(
        part for figure in figures[first:] for part in (Text(figure.title, "heading"), figure))),
                       name=f"{one.name}-further", folded=True)] if figures[first:] else []
    return (one, *further)


def heading(name: str, item: Mapping[str, Any]) -> str:
    """"Table 7: All attacks, all structures"."""
    return f"{name[0].upper()}{name[1:]}: {item['title']}"


def beside_paper(record: Record) -> bool:
    """Whether the paper's figures are shown: not next to made-up data."""
    return bool(record["scale"] != "smoke")


def chosen(columns: Columns, rows: Iterable[Record], *, paper: bool, title: str = "") -> Any:
    """A table of these columns without those that say nothing; the paper's only where they are asked for."""
    kept = [(head, cell) for head, cell in columns if paper or "paper" not in head]
    return table([head for head, _ in kept], [[cell(row) for _, cell in kept] for row in rows], title=title)


def table_of(name: str, rows: Sequence[Record], *, paper: bool = True) -> Any:
    """One item's table; None without rows."""
    if name == "figure 4":
        return chosen(FRONTIER, _frontier_rows(rows), paper=True)
    if name == "section 7.1":
        return chosen(DIAGNOSTICS, _diagnostic_rows(rows), paper=paper)
    return chosen(COLUMNS.get(name, ATTACKS), rows, paper=paper)


def word(name: str) -> Callable[[Record], str]:
    """A column of words."""
    return lambda row: str(row[name]) if row.get(name) not in (None, "") else NOTHING


def _figure(name: str, *, sign: bool = False) -> Callable[[Record], str]:
    return lambda row: interval(row.get(name), sign=sign, missing=NOTHING)


def _paper(name: str = "paper") -> Callable[[Record], str]:
    """The paper's value, or its least and largest over models, or how far it says that a figure reaches."""
    def shown(row: Record) -> str:
        paper = row.get(name)
        if not paper:
            return NOTHING
        if paper["low"] is None:
            return f"up to {number(paper['high'])}"
        return " to ".join(dict.fromkeys(number(paper[end]) for end in ("low", "high")))

    return shown


def _counts(name: str, sep: str = " ") -> Callable[[Record], str]:
    """Counts above zero, each behind (or, with "×", before) what it is of."""
    def shown(row: Record) -> str:
        held = {key: value for key, value in (row.get(name) or {}).items() if isinstance(value, int) and value}
        said = (f"{key.replace('_', ' ')} {value:,}" if sep == " " else f"{value:,} {sep}{key}"
                for key, value in held.items())
        return ", ".join(said) if held else NOTHING

    return shown


def _steps(row: Record) -> str:
    """Updates of the weights that were kept, of those planned."""
    steps = row.get("steps")
    return f"{steps['kept']:,.0f} of {steps['planned']:,.0f}" if steps else NOTHING


def _least_most(row: Record) -> str:
    ends = [row.get(end) for end in ("least", "most")]
    return NOTHING if None in ends else " to ".join(map(number, ends))


_HEAD: Columns = tuple((name, word(name)) for name in PLACES)
ATTACKS: Columns = (
    *_HEAD, ("variant", word("variant")), ("within", word("part")), ("unit", word("unit")), ("attack", word("attack")),
    ("definition", word("definition")), ("AUC", _figure("auc")), ("control", _figure("placebo")),
    ("paper's AUC", _paper()), ("TPR at 5% FPR", _figure("tpr_at_5pct_fpr")), ("paper's TPR", _paper("paper_tpr")),
    ("accuracy", _figure("accuracy")), ("train–test gap", _figure("accuracy_gap", sign=True)))
GAINS: Columns = (
    *_HEAD, ("label", word("label")), ("definition", word("definition")), ("global", _figure("global_auc")),
    ("its control", _figure("global_placebo")), ("boundary", _figure("boundary_auc")),
    ("its control", _figure("boundary_placebo")), ("gain", _figure("gain", sign=True)),
    ("control's gain", _figure("placebo_gain", sign=True)), ("paper's gain", _paper()))
STRATA: Columns = (
    *_HEAD, ("category", word("category")),
    ("tenth", lambda row: NOTHING if row["decile"] is None else str(row["decile"] + 1)), ("by", word("decile_by")),
    ("definition", word("definition")), ("AUC", _figure("auc")), ("least to most of A and B", _least_most),
    ("control", _figure("placebo")))
COPIES: Columns = (
    *_HEAD, ("training set", word("variant")), ("definition", word("definition")),
    ("boundary", _figure("boundary_auc")), ("its control", _figure("boundary_placebo")),
    ("change", _figure("boundary_change", sign=True)), ("paper's change", _paper()),
    ("control's change", _figure("boundary_placebo_change", sign=True)),
    ("off the boundary", _figure("non_boundary_auc")), ("its control", _figure("non_boundary_placebo")),
    ("paper's off the boundary", _paper("paper_non_boundary")), ("all", _figure("global_auc")),
    ("its control", _figure("global_placebo")), ("accuracy", _figure("accuracy")),
    ("its change", _figure("accuracy_change", sign=True)), ("updates kept", _steps))
SETS: Columns = (
    ("corpus", word("corpus")), ("stands for", word("stands_for")), ("sets", _counts("sides")),
    ("planted in each", _counts("planted", "×")), ("duplicates", _counts("duplicates")), ("paper", _counts("paper")))
CORPORA: Columns = (
    ("corpus", word("corpus")), ("structure", word("structure")), ("stands for", word("stands_for")),
    ("rows", lambda row: f"{row['n']:,}"), ("positive", lambda row: percent(row["positive_share"])),
    ("words: mean, median, most",
     lambda row: f"{row['words_mean']:,.0f}, {row['words_median']:,.0f}, {row['words_max']:,}"),
    ("paper's tokens: mean, median, most", lambda row: ", ".join(
        f"{row['paper'][name]:,.0f}" for name in ("tokens mean", "tokens median", "tokens max"))
        if row.get("paper") else NOTHING))
COLUMNS: Mapping[str, Columns] = {
    "figure 2": GAINS, "figure 3": STRATA, "section 8.2": COPIES, "table 1": SETS, "table 8": SETS, "table 2": CORPORA,
    "mismatched": (*ATTACKS[:7], ("selection", word("selection")), *ATTACKS[7:]),
    **dict.fromkeys(("table 9", "table 10"), (*ATTACKS[:12], ("TPR at 1% FPR", _figure("tpr_at_1pct_fpr")),
                                              *ATTACKS[12:]))}
FRONTIER: Columns = (
    ("model", word("model")), ("regime", word("regime")), ("noise", word("noise")), ("σ", word("strength")),
    ("queries", word("queries")), ("accuracy", _figure("accuracy")), ("missed positives", _figure("missed_positives")),
    ("boundary, paper's", _figure("paper")), ("control", _figure("paper_placebo")),
    ("boundary, honest", _figure("honest")), ("control", _figure("honest_placebo")))
DIAGNOSTICS: Columns = (
    ("model", word("model")), ("regime", word("regime")), ("representation", word("representation")),
    ("figure", word("name")), ("value", _figure("value")), ("by chance", lambda row: number(row["chance"],
                                                                                         missing=NOTHING)),
    ("p", lambda row: interval(row["p"], missing=NOTHING)))


def _frontier_rows(rows: Iterable[Record]) -> Iterator[Record]:
    """Undefended, then fresh and keyed noise, of the reference attack at the boundary."""
    for row in rows:
        for point in row["frontier"]["points"]:
            if point["queried"] != "same":
                continue
            found = {"model": row["model"], "regime": row["regime"], "noise": point["noise"],
                     "strength": point["strength"] or 0, "queries": point["queries"], **point["utility"]}
            for name in reproduction_charts.DEFINITIONS:
                if (figure := at_boundary(point, name)) is not None:
                    found |= {name: figure["auc"], f"{name}_placebo": figure["placebo_auc"]}
            yield found


def _diagnostic_rows(rows: Iterable[Record]) -> Iterator[Record]:
    for row in rows:
        for one in row["embedding"]["diagnostics"]:
            yield {"model": row["model"], "regime": row["regime"],
                   "representation": row["embedding"]["representation"], "name": diagnostic_name(one, row["embedding"]),
                   "value": one["estimate"], "chance": one["chance"], "p": one["p"]}


def figures_of(name: str, rows: Sequence[Record], record: Record) -> list[Figure]:
    """The figures of one item."""
    paper = beside_paper(record)
    found: list[Figure | None] = []
    if name == "figure 2":
        found = [reproduction_charts.gains([row for row in rows if row["corpus"] == corpus], corpus, paper=paper)
                 for corpus in dict.fromkeys(row["corpus"] for row in rows)]
    elif name == "figure 3":
        regimes = sorted({row["regime"] for row in rows if row["category"] is not None})
        regime = "all regimes" if "all regimes" in regimes else next(iter(regimes), "")
        found = [reproduction_charts.tenths(rows), *(reproduction_charts.categories(rows, model, regime)
                                                     for model in dict.fromkeys(row["model"] for row in rows))]
    elif name == "section 7.1":
        found = [_embedded(row) for row in sorted(
            rows, key=lambda row: not row["embedding"]["representation"].startswith("hidden"))]
    elif name == "figure 4":
        found = [reproduction_charts.tradeoff(rows)]
    elif name == "section 8.2":
        found = [reproduction_charts.copies(rows, paper=paper)]
    elif name == "size":
        found = [reproduction_charts.sizes(rows)]
    return [one for one in found if one is not None]


def _embedded(row: Record) -> Figure | None:
    found, where = membership_charts.embedding(row["embedding"]), f"{row['model']}, {row['regime']}"
    kind = row["embedding"]["representation"]
    return found and replace(found, name=f"figure-4-{name_of(f'{where} {kind}')}", title=f"{where}: {kind}")


def _found(record: Record) -> list[str]:
    """What the first table says in a sentence."""
    rows = [row for row in record["items"].get("table 7", {"rows": []})["rows"]
            if row["attack"] == "reference" and not row.get("part")]
    said: list[str] = []
    for paper in (row for row in rows if row["definition"] == "paper" and beside_paper(record)):
        honest = next((row for row in rows if row["definition"] == "honest, logit"
                       and all(row[name] == paper[name] for name in ("corpus", "model", "regime", "variant"))), None)
        if honest is not None and None not in (paper["auc"]["value"], honest["auc"]["value"]):
            said.append(f"{paper['model']}, {paper['regime']}, on {paper['corpus']}: the reference attack reaches an "
                        f"AUC of {interval(paper['auc'], 2)} by the paper's definition (control "
                        f"{interval(paper['placebo'], 2)}) and {interval(honest['auc'], 2)} by the honest one (control "
                        f"{interval(honest['placebo'], 2)}).")
    return said[:2]
