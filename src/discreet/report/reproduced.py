"""A record of `reproduce` as Markdown tables: ours by the paper's definition and honestly, placebo and paper beside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from discreet.report import diagnostics

Row = Mapping[str, Any]
Columns = Sequence[tuple[str, Callable[[Row], str]]]

NOTHING = "–"


def markdown(record: Mapping[str, Any]) -> str:
    """All items, each a heading and a table, under what they are."""
    parts = [WHAT[record["scale"]]]
    for name, item in record["items"].items():
        parts.append(f"### {heading(name, item)}\n\n{table_of(name, item['rows'], paper=beside_paper(record))}")
    return "\n\n".join(parts) + "\n"


WHAT = {
    "smoke": "Made-up sentences: these figures show that the commands run, and nothing else.",
    "small": "*Analogue*: other models and other data than the paper's, whose figures stand beside for orientation; no "
             "row is a reproduction.",
    "paper": "The paper's models and data, by its definitions and by honest ones."}


def heading(name: str, item: Mapping[str, Any]) -> str:
    """"Table 7: All attacks, all structures"."""
    return f"{name[0].upper()}{name[1:]}: {item['title']}"


def beside_paper(record: Mapping[str, Any]) -> bool:
    """Whether the paper's figures stand beside: not beside made-up data."""
    return bool(record["scale"] != "smoke")


def table_of(name: str, rows: Sequence[Row], *, paper: bool = True) -> str:
    """One item's table in Markdown."""
    head, cells = tabulated(name, rows, paper=paper)
    if not cells:
        return "Nothing was asked for that has such a row."
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |"
                     for line in (head, ["---"] * len(head), *cells))


def tabulated(name: str, rows: Sequence[Row], *, paper: bool = True) -> tuple[list[str], list[list[str]]]:
    """Head and cells of one item's table, without columns that say nothing; the paper's only where it is asked for."""
    columns, flat = COLUMNS.get(name, ATTACKS), list(rows)
    if name == "figure 4":
        columns, flat = FRONTIER, list(_frontier_rows(rows))
    if name == "section 7.1":
        columns, flat = DIAGNOSTICS, list(_diagnostic_rows(rows))
    kept = [(head, cell) for head, cell in columns if paper or not head.startswith("paper")]
    lines = [[cell(row) for _, cell in kept] for row in flat]
    said = [place for place in range(len(kept)) if any(line[place] != NOTHING for line in lines)]
    return [kept[place][0] for place in said], [[line[place] for place in said] for line in lines]


def interval(estimate: Mapping[str, Any] | None) -> str:
    """`.710 [.693, .726]`; a dash for what is unresolved."""
    if estimate is None or estimate["value"] is None:
        return NOTHING
    if estimate["low"] is None or estimate["high"] is None:
        return number(estimate["value"])
    return f"{number(estimate['value'])} [{number(estimate['low'])}, {number(estimate['high'])}]"


def signed(estimate: Mapping[str, Any] | None) -> str:
    """`+.025`, with an interval where there is one."""
    if estimate is None or estimate["value"] is None:
        return NOTHING
    ends = [estimate["value"], *(estimate[end] for end in ("low", "high") if estimate[end] is not None)]
    said = [("+" if one >= 0 or number(-one) == ".000" else "−") + number(abs(one)) for one in ends]
    return said[0] if len(said) < 3 else f"{said[0]} [{said[1]}, {said[2]}]"


def number(value: float) -> str:
    """Three decimals, without the nought of a share below one."""
    said = f"{value:.3f}"
    return said.removeprefix("0") if value >= 0 else "−" + said.removeprefix("-").removeprefix("0")


def _span(low: float | None, high: float | None) -> str:
    return NOTHING if low is None or high is None else f"{number(low)} to {number(high)}"


def apart(head: Sequence[str], lines: Sequence[Sequence[str]]) -> tuple[str, list[str], list[list[str]]]:
    """A table without the columns that say where its rows come from where that is one place: that place in words, and
    the rest."""
    one = [place for place, name in enumerate(head) if name in PLACES and len({line[place] for line in lines}) == 1]
    if len(lines) < 2 or not one:
        return "", list(head), [list(line) for line in lines]
    kept = [place for place in range(len(head)) if place not in one]
    return (", ".join(lines[0][place] for place in one), [head[place] for place in kept],
            [[line[place] for place in kept] for line in lines])


PLACES = ("structure", "corpus", "model", "regime")


def _word(name: str) -> Callable[[Row], str]:
    return lambda row: str(row[name]) if row.get(name) not in (None, "") else NOTHING


def _figure(name: str, shown: Callable[[Mapping[str, Any] | None], str] = interval) -> Callable[[Row], str]:
    return lambda row: shown(row.get(name))


def _paper(name: str = "paper") -> Callable[[Row], str]:
    """The paper's value, or its least and largest over models, or how far it says that a figure reaches."""
    def shown(row: Row) -> str:
        paper = row.get(name)
        if not paper:
            return NOTHING
        if paper["low"] is None:
            return f"up to {number(paper['high'])}"
        ends = [number(paper["low"]), number(paper["high"])]
        return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"

    return shown


def _counts(name: str, sep: str = " ") -> Callable[[Row], str]:
    """Counts that are not nought, each behind (or, with "×", before) what it is of."""
    def shown(row: Row) -> str:
        held = {key: value for key, value in (row.get(name) or {}).items() if isinstance(value, int) and value}
        said = (f"{key.replace('_', ' ')} {value:,}" if sep == " " else f"{value:,} {sep}{key}"
                for key, value in held.items())
        return ", ".join(said) if held else NOTHING

    return shown


def _steps(row: Row) -> str:
    """Updates of the weights that were kept, of those planned."""
    steps = row.get("steps")
    return f"{steps['kept']:,.0f} of {steps['planned']:,.0f}" if steps else NOTHING


_HEAD: Columns = (("structure", _word("structure")), ("corpus", _word("corpus")), ("model", _word("model")),
                  ("regime", _word("regime")))
_TPR_1 = (("TPR at 1% FPR", _figure("tpr_at_1pct_fpr")),)
ATTACKS: Columns = (
    *_HEAD, ("variant", _word("variant")), ("within", _word("part")), ("unit", _word("unit")),
    ("attack", _word("attack")), ("definition", _word("definition")), ("AUC", _figure("auc")),
    ("placebo", _figure("placebo")), ("paper's AUC", _paper()), ("TPR at 5% FPR", _figure("tpr_at_5pct_fpr")),
    ("paper's TPR", _paper("paper_tpr")), ("accuracy", _figure("accuracy")),
    ("train–test gap", _figure("accuracy_gap", signed)))
GAINS: Columns = (
    *_HEAD, ("label", _word("label")), ("definition", _word("definition")), ("global", _figure("global_auc")),
    ("its placebo", _figure("global_placebo")), ("boundary", _figure("boundary_auc")),
    ("its placebo", _figure("boundary_placebo")), ("gain", _figure("gain", signed)),
    ("placebo's gain", _figure("placebo_gain", signed)), ("paper's gain", _paper()))
STRATA: Columns = (
    *_HEAD, ("category", _word("category")), ("tenth", lambda row: NOTHING if row["decile"] is None
                                              else str(row["decile"] + 1)),
    ("by", _word("decile_by")), ("definition", _word("definition")), ("AUC", _figure("auc")),
    ("least to most of A and B", lambda row: _span(row.get("least"), row.get("most"))),
    ("placebo", _figure("placebo")))
COPIES: Columns = (
    *_HEAD, ("training set", _word("variant")), ("definition", _word("definition")),
    ("boundary", _figure("boundary_auc")), ("its placebo", _figure("boundary_placebo")),
    ("change", _figure("boundary_change", signed)), ("paper's change", _paper()),
    ("placebo's change", _figure("boundary_placebo_change", signed)),
    ("off the boundary", _figure("non_boundary_auc")), ("its placebo", _figure("non_boundary_placebo")),
    ("paper's off the boundary", _paper("paper_non_boundary")), ("all", _figure("global_auc")),
    ("its placebo", _figure("global_placebo")), ("accuracy", _figure("accuracy")),
    ("its change", _figure("accuracy_change", signed)),
    ("updates kept", _steps))
SIDES: Columns = (
    ("corpus", _word("corpus")), ("stands for", _word("stands_for")), ("sides", _counts("sides")),
    ("planted in each", _counts("planted", "×")),
    ("duplicates", _counts("duplicates")), ("paper", _counts("paper")))
CORPORA: Columns = (
    ("corpus", _word("corpus")), ("structure", _word("structure")), ("stands for", _word("stands_for")),
    ("rows", lambda row: f"{row['n']:,}"), ("positive", lambda row: f"{row['positive_share']:.1%}"),
    ("words: mean, median, most", lambda row: f"{row['words_mean']:,.0f}, {row['words_median']:,.0f}, "
                                              f"{row['words_max']:,}"),
    ("paper's tokens: mean, median, most", lambda row: ", ".join(
        f"{row['paper'][name]:,.0f}" for name in ("tokens mean", "tokens median", "tokens max"))
        if row.get("paper") else NOTHING))
COLUMNS: Mapping[str, Columns] = {
    "figure 2": GAINS, "figure 3": STRATA, "section 8.2": COPIES, "table 1": SIDES, "table 8": SIDES,
    "table 2": CORPORA, "mismatched": (*ATTACKS[:7], ("selection", _word("selection")), *ATTACKS[7:]),
    **dict.fromkeys(("table 9", "table 10"), (*ATTACKS[:12], *_TPR_1, *ATTACKS[12:]))}
FRONTIER: Columns = (
    ("model", _word("model")), ("regime", _word("regime")), ("noise", _word("noise")), ("σ", _word("strength")),
    ("queries", _word("queries")), ("accuracy", _figure("accuracy")), ("missed positives", _figure("missed_positives")),
    ("boundary, paper's", _figure("paper")), ("placebo", _figure("paper_placebo")),
    ("boundary, honest", _figure("honest")), ("placebo", _figure("honest_placebo")))
DIAGNOSTICS: Columns = (
    ("model", _word("model")), ("regime", _word("regime")), ("representation", _word("representation")),
    ("figure", _word("name")), ("value", _figure("value")), ("by chance", lambda row: NOTHING if row["chance"] is None
                                                             else number(row["chance"])),
    ("p", lambda row: interval(row["p"])))


DEFINED: Mapping[str, Mapping[str, str]] = {
    "paper": {"reference_kind": "paired", "scale": "p", "nonmembers": "reference_train"},
    "honest": {"reference_kind": "neutral", "scale": "logit", "nonmembers": "clean"}}
"""The two definitions that figure 4 shows."""


def at_boundary(point: Mapping[str, Any], definition: str) -> Mapping[str, Any] | None:
    """The reference attack at the boundary in a point of a frontier, by one of `DEFINED`."""
    asked = {"attack": "reference", "selection": "boundary", **DEFINED[definition]}
    return next((one for one in point["attacks"] if all(one[name] == value for name, value in asked.items())), None)


def _frontier_rows(rows: Iterable[Row]) -> Iterable[Row]:
    """Undefended, then fresh and keyed noise, of the reference attack at the boundary."""
    for row in rows:
        for point in row["frontier"]["points"]:
            if point["queried"] != "same":
                continue
            found = {"model": row["model"], "regime": row["regime"], "noise": point["noise"],
                     "strength": point["strength"] or 0, "queries": point["queries"], **point["utility"]}
            for name in DEFINED:
                if (figure := at_boundary(point, name)) is not None:
                    found |= {name: figure["auc"], f"{name}_placebo": figure["placebo_auc"]}
            yield found


def _diagnostic_rows(rows: Iterable[Row]) -> Iterable[Row]:
    for row in rows:
        found = row["embedding"]
        for one in found["diagnostics"]:
            yield {"model": row["model"], "regime": row["regime"], "representation": found["representation"],
                   "name": diagnostics.name(one, found), "value": one["estimate"], "chance": one["chance"],
                   "p": one["p"]}
