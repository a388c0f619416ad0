"""A saved rerun of the membership paper to its page and its figures. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from discreet.report.audited import said_of
from discreet.report.figures.embedding import embedding
from discreet.report.figures.figure import Figure, span
from discreet.report.figures.gains import copies, gains, sizes
from discreet.report.figures.tenths import categories, name_of, tenths
from discreet.report.figures.tradeoff import tradeoff
from discreet.report.html import environment
from discreet.report.reproduced import NOTHING, apart, beside_paper, heading, tabulated

Record = Mapping[str, Any]

KIND = "reproduce mia"
OPEN_ROWS = 12
TITLES: Mapping[str, str] = {
    "smoke": "A trial of the commands on made-up sentences",
    "small": "An analogue of the membership paper, by its definitions and by honest ones",
    "paper": "The membership paper's figures, by its definitions and by honest ones"}
LEADS: Mapping[str, tuple[str, ...]] = {
    "smoke": ("Every sentence here is made up: the figures show that everything runs, and say nothing of any model.",),
    "small": ("Other models and other data than the paper's: no figure here is a reproduction, and the paper's own "
              "stand beside for orientation only.",),
    "paper": ("Trained anew on the paper's models and data.",)}
DEFINED = ("By the paper's definition the reference is trained on the very non-members in question, on the probability "
           "scale. By the honest ones it is trained on neither side, non-members were seen by no model, and the "
           "logit scale stands beside that of probabilities. Beside every figure stands its placebo: the same attack "
           "on a model trained on neither side, which has nothing to remember.")
NOTES: Mapping[str, str] = {
    "table 1": "A and B are the two training sets; the paper has neither a neutral reference nor a placebo.",
    "table 2": "Words here, the models' own tokens in the paper.",
    "table 7": "Intervals are those of one training run, averaged over the two directions, as the paper averages them.",
    "figure 3": "Categories are of all records in them: a boundary of 20 a label leaves too few of any. Bars of the "
                "paper are means over regimes, and so are these.",
    "section 7.1": "Whether records at the boundary can be told from others by their content.",
    "figure 4": "f_A of the first seed; means over noise draws (50 in the paper), the boundary set that of no noise.",
    "section 8.2": "Copies or paraphrases are in the training sets of every model but the selector, so that the "
                   "boundary stays the same.",
    "size": "Everything but the training sets keeps its size.",
    "mismatched": "The neutral reference against one trained on another corpus, as public guard weights would be.",
    "users": "A user counts by the mean score of their records; records are resampled by user."}


def reproduction_figures(record: Record) -> list[Figure]:
    """All figures of a record, with distinct names."""
    return [figure for name, item in record["items"].items() for figure in figures_of(name, item["rows"], record)]


def figures_of(name: str, rows: Sequence[Record], record: Record) -> list[Figure]:
    """The figures of one item."""
    draw = DRAWN.get(name)
    return [] if draw is None else [figure for figure in draw(rows, record) if figure is not None]


def _gains(rows: Sequence[Record], record: Record) -> Iterator[Figure | None]:
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        yield gains([row for row in rows if row["corpus"] == corpus], corpus, paper=beside_paper(record))


def _strata(rows: Sequence[Record], record: Record) -> Iterator[Figure | None]:
    yield tenths(rows)
    regimes = {row["regime"] for row in rows if row["category"] is not None}
    regime = "all regimes" if "all regimes" in regimes else next(iter(sorted(regimes)), "")
    for model in dict.fromkeys(row["model"] for row in rows):
        yield categories(rows, model, regime)


def _pictures(rows: Sequence[Record], record: Record) -> Iterator[Figure | None]:
    for row in sorted(rows, key=lambda row: not row["embedding"]["representation"].startswith("hidden")):
        found = embedding(row["embedding"])
        if found is not None:
            where = f"{row['model']}, {row['regime']}"
            name = name_of(f"{where} {row['embedding']['representation']}")
            yield replace(found, name=f"figure-4-{name}", title=f"{where}: {row['embedding']['representation']}")


DRAWN: Mapping[str, Callable[[Sequence[Record], Record], Iterator[Figure | None]]] = {
    "figure 2": _gains, "figure 3": _strata, "section 7.1": _pictures,
    "figure 4": lambda rows, record: iter([tradeoff(rows)]),
    "section 8.2": lambda rows, record: iter([copies(rows, paper=beside_paper(record))]),
    "size": lambda rows, record: iter([sizes(rows)])}


def reproduction_page(record: Record) -> str:
    """The report as one HTML file.

    Parameters
    ----------
    record : mapping
        What `reproduce mia` saves in result.json.

    Raises
    ------
    MissingExtraError
        Without jinja2.
    """
    return rerun_page(record, title=TITLES[record["scale"]], leads=[*LEADS[record["scale"]], *_found(record)],
                      defined=DEFINED, provenance=_provenance(record), sections=[
                          _section(name, item, record) for name, item in record["items"].items()])


def rerun_page(record: Record, **said: Any) -> str:
    """The page of a rerun of any paper: `title`, `leads`, `defined`, `sections` (see `section`) and `provenance`."""
    return environment().get_template("reproduction.html.j2").render(record=record, **said)


def _section(name: str, item: Record, record: Record) -> dict[str, Any]:
    of, head, lines = apart(*tabulated(name, item["rows"], paper=beside_paper(record)))
    drawn = figures_of(name, item["rows"], record)
    return section(name, item, record, note=NOTES.get(name, ""), drawn=drawn, first=FIRST.get(name, 4),
                   tables=[(of, head, lines)])


def section(name: str, item: Record, record: Record, *, note: str, drawn: Sequence[Figure], first: int,
            tables: Sequence[tuple[str, Sequence[str], Sequence[Sequence[str]]]]) -> dict[str, Any]:
    """One item on the page: its figures, the `first` of them open, and its tables, each with what it is of."""
    return {"id": f"item-{name_of(name)}", "title": heading(name, item), "note": note,
            "analogue": record["analogue"] and record["scale"] != "smoke", "figures": drawn[:first],
            "further": drawn[first:], "tables": [
                {"of": of, "head": head, "rows": lines, "open": len(lines) <= OPEN_ROWS and not drawn,
                 "kinds": [_kind([line[place] for line in lines]) for place in range(len(head))]}
                for of, head, lines in tables if lines]}


FIRST: Mapping[str, int] = {"section 7.1": 2}
"""Figures of an item that stand open, if not four; the others are folded."""


LONG = 40
"""Characters from which a column's cells are broken into lines."""


def _kind(cells: Sequence[str]) -> str:
    """The class of a column: figures stand to the right, long words are broken."""
    if all(cell == NOTHING or cell[:1] in "+−.0123456789" for cell in cells):
        return "num"
    return "long" if max(map(len, cells)) > LONG else ""


def _found(record: Record) -> list[str]:
    """What the first table says in a sentence."""
    rows = [row for row in record["items"].get("table 7", {"rows": []})["rows"]
            if row["attack"] == "reference" and not row.get("part")]
    if record["scale"] == "smoke" or not rows:
        return []
    said = []
    for paper in (row for row in rows if row["definition"] == "paper"):
        same = ("corpus", "model", "regime", "variant")
        honest = next((row for row in rows if row["definition"] == "honest, logit"
                       and all(row[name] == paper[name] for name in same)), None)
        if honest is not None and None not in (paper["auc"]["value"], honest["auc"]["value"]):
            said.append(f"{paper['model']}, {paper['regime']}, on {paper['corpus']}: the reference attack reaches an "
                        f"AUC of {span(paper['auc'])} by the paper's definition (placebo {span(paper['placebo'])}) and "
                        f"{span(honest['auc'])} by the honest one (placebo {span(honest['placebo'])}).")
        if len(said) == 2:
            break
    return said


def _provenance(record: Record) -> list[tuple[str, str]]:
    facts = record["provenance"]
    models = "; ".join(f"{name} ({', '.join(regimes)})" for name, regimes in facts["models"].items())
    rest = {name: value for name, value in facts.items() if name not in ("models", "seeds", "corpora", "finished")}
    listed = [("scale", record["scale"]), ("models", models), ("seeds", ", ".join(map(str, facts["seeds"])))]
    return [*listed, *([("corpora", ", ".join(facts["corpora"]))] if facts.get("corpora") else []), *said_of(rest)]
