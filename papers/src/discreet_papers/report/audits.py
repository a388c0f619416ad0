"""A saved rerun of a paper to its summary: ours by its definitions and honestly, controls, the paper's figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from discreet.core.numbers import NOTHING, Forms, number, percent, say, share
from discreet.report import summary as page
from discreet.report.embedding import diagnostic_name
from discreet.report.figure import Figure, name_of
from discreet_papers.report import charts
from discreet_papers.report.charts import words_of

PLACES = ("structure", "corpus", "model", "regime")
"""Columns that go to the title of a table where they hold one value."""
NO_ROWS = page.Text("Nothing was asked for that has such a row.")
STARRED = 0.01


def summary(record: page.Record) -> page.Summary:
    """The summary of what `reproduce mia` and `reproduce blia` save."""
    words, scale = words_of(record["kind"]), record["scale"]
    mia = record["kind"] == "reproduce mia"
    sections = [one for name, item in record["items"].items() for one in section(
        name, item, record, tables_of(record["kind"], name, item["rows"], paper=with_paper(record)),
        (_mia_figures if mia else _blia_figures)(name, item["rows"], with_paper(record)))]
    end = " Nothing on it is a reproduction of the paper's figures." if record["analogue"] else ""
    return page.Summary(
        kind=record["kind"], headline=words["titles"][scale], kicker=page.kicker(record, f"scale {scale}"),
        leads=(words["leads"][scale], *(_found_mia if mia else _found_blia)(record, words["found"]), words["defined"]),
        sections=tuple(sections), provenance=(_provenance_mia if mia else _provenance_blia)(record),
        footer=f"This page holds no text of any record.{end}", contents=True)


def with_paper(record: page.Record) -> bool:
    """Whether the paper's figures are shown: not next to made-up data."""
    return bool(record["scale"] != "smoke")


def section(name: str, item: page.Record, record: page.Record, tables: Sequence[page.Table], figures: Sequence[Figure]
            ) -> tuple[page.Section, ...]:
    """One item: its figures, the first of them open, and its tables."""
    words = words_of(record["kind"])
    note = words["notes"].get(name, words.get("other_note")) if item["rows"] or "other_note" not in words else None
    first = words["open_figures"].get(name, words["open_figures"]["other"])
    heading = f"{name[0].upper()}{name[1:]}: {item['title']}"
    # Several figures have their titles above them; one has that of the item.
    opened, further = ([part for figure in some for part in (page.Text(figure.title, "heading"), figure)]
                       for some in (figures[:first], figures[first:]))
    shown = (replace(table, open=len(table.rows) <= page.MOST_OPEN and not figures) for table in tables)
    one = page.Section(heading, page.blocks(
        page.Text(note) if note else None, *(figures if len(figures) == 1 else opened), *shown,
        None if tables else NO_ROWS), name=f"item-{name_of(name)}",
        badge="analogue" if record["analogue"] and with_paper(record) else "")
    rest = page.Section(f"Further figures: {heading}", page.blocks(*further), name=f"{one.name}-further", folded=True)
    return (one, rest) if further else (one,)


def tables_of(kind: str, name: str, rows: Sequence[page.Record], *, paper: bool = True) -> list[page.Table]:
    """An item's tables; the columns of the paper's figures only where they are asked for."""
    columns = words_of(kind)["columns"]
    if kind == "reproduce mia":
        made = _chosen(columns.get(name, columns["attacks"]), list(ROWS[name](rows)) if name in ROWS else rows,
                       paper=paper or name == "figure 4")
        return [without_constant(one, PLACES) for one in made]
    if name in columns:
        return _chosen(columns[name], rows, paper=paper)
    # Of LIA-Delta-Margin with α = β only, as the paper has it.
    attacks = dict.fromkeys(one["name"] for row in rows for one in row["honest"] if one["alpha"] == one["beta"])
    named = [{**row, "by_name": [next((one for one in row["honest"] if one["name"] == attack), None)
                                 for attack in attacks]} for row in rows]
    honest = [*columns["where"], ["ceiling", "ceiling:percent"],
              *([attack, f"by_name.{place}:starred"] for place, attack in enumerate(attacks)), *columns["last"]]
    return [*([] if name == "figure 2" else _chosen(
        columns["definitions"], rows, paper=paper, title="By the paper's definitions.")), *_chosen(
        honest, named, paper=paper,
        title="Attacks that see outputs alone; the same attack on held-out canaries in brackets.")]


def _chosen(columns: Iterable[Any], rows: Sequence[page.Record], *, paper: bool, title: str = "") -> list[page.Table]:
    """A table of these columns, the paper's only where they are asked for; no table without rows."""
    found = page.tabled([pair for pair in _flat(columns) if paper or "paper" not in pair[0]], rows, FORMS, title=title)
    return [] if found is None else [found]


def _flat(columns: Iterable[Any]) -> Iterator[Sequence[str]]:
    for one in columns:
        yield from [one] if isinstance(one[0], str) else _flat(one)


def without_constant(one: page.Table, columns: Iterable[str], *, named: bool = False) -> page.Table:
    """The table without those `columns` that hold one value in all of its several rows; the values go to its title,
    with the names of their columns where they are to be `named`."""
    gone = [place for place, name in enumerate(one.head) if name in columns and len(one.rows) > 1
            and len({row[place] for row in one.rows}) == 1]

    def rest(cells: Sequence[str]) -> tuple[str, ...]:
        return tuple(cell for place, cell in enumerate(cells) if place not in gone)

    title = ", ".join([*([one.title.rstrip(".")] if one.title else []), *(
        f"{one.head[place]}: {one.rows[0][place]}" if named else one.rows[0][place] for place in gone)])
    return replace(one, head=rest(one.head), title=title if gone else one.title, groups=tuple(
        (name, tuple(map(rest, rows))) for name, rows in one.groups))


def _paper(paper: page.Record) -> str:
    """The paper's value, or its least and largest over models, or how far it says that a figure reaches."""
    if paper["low"] is None:
        return f"up to {number(paper['high'])}"
    return " to ".join(dict.fromkeys(number(paper[end]) for end in ("low", "high")))


def _counts(of: page.Record, form: str = "{0} {1:,}") -> str:
    """Counts above zero, each with what it is of."""
    return ", ".join(form.format(key.replace("_", " "), value) for key, value in of.items()
                     if isinstance(value, int) and value) or NOTHING


def _starred(found: page.Record) -> str:
    """"57.2% (50.1%)": success and, in brackets, on held-out canaries; with a star where the two differ."""
    if found["success"]["value"] is None:
        return NOTHING
    star = "*" if found["holm_p"] is not None and found["holm_p"] < STARRED else ""
    return say(f"{{success:percent}}{star} ({{control:percent}})", found, NOTHING)


def _flips(flips: page.Record) -> str:
    """"11.9% of 11.9%": the share of labels changed, of what ε demands; told where a check failed."""
    if flips["observed"]["value"] is None:
        return NOTHING
    demanded = "" if flips["expected"] is None else f" of {percent(flips['expected'])}"
    return f"{percent(flips['observed']['value'])}{demanded}{'' if flips['ok'] else ', broken'}"


FORMS: Forms = {
    "paper": _paper, "counts": _counts, "copies": lambda of: _counts(of, "{1:,} ×{0}"), "starred": _starred,
    "flips": _flips, "tenth": lambda decile: str(decile + 1), "yes_no": lambda value: "yes" if value else "no",
    "steps": lambda steps: f"{steps['kept']:,.0f} of {steps['planned']:,.0f}",
    "tokens": lambda paper: ", ".join(f"{paper[f'tokens {name}']:,.0f}" for name in ("mean", "median", "max")),
    "mechanism": lambda name: words_of("reproduce blia")["mechanisms"].get(name, str(name)),
    "type": lambda name: str(name).removeprefix("LIA-Threshold, "),
    "ends": lambda row: NOTHING if None in (ends := [row.get("least"), row.get("most")]) else " to ".join(
        map(number, ends)),
    "planted": lambda planted: ", ".join(f"{one['copies']}×: {share(one['success'], 0)}" for one in planted) or NOTHING}
"""How a value is written in these tables, besides the forms of `core.numbers`."""


def _frontier_rows(rows: Iterable[page.Record]) -> Iterator[page.Record]:
    """Undefended, then fresh and keyed noise, of the reference attack at the boundary."""
    for row in rows:
        for point in row["frontier"]["points"]:
            if point["queried"] == "same":
                yield {**row, **point, "strength": point["strength"] or 0, **{
                    name: charts.at_boundary(point, name) for name in charts.DEFINITIONS}}


ROWS: Mapping[str, Any] = {"figure 4": _frontier_rows, "section 7.1": lambda rows: (
    {**row, **one, "name": diagnostic_name(one, row["embedding"])}
    for row in rows for one in row["embedding"]["diagnostics"])}


def _mia_figures(name: str, rows: Sequence[page.Record], paper: bool) -> list[Figure]:
    found: list[Figure | None] = []
    if name == "figure 2":
        found = [charts.gains([row for row in rows if row["corpus"] == corpus], corpus, paper=paper)
                 for corpus in dict.fromkeys(row["corpus"] for row in rows)]
    elif name == "figure 3":
        regimes = sorted({row["regime"] for row in rows if row["category"] is not None})
        regime = "all regimes" if "all regimes" in regimes else next(iter(regimes), "")
        found = [charts.tenths(rows), *(charts.categories(rows, model, regime)
                                        for model in dict.fromkeys(row["model"] for row in rows))]
    elif name == "section 7.1":
        found = list(map(charts.embedded, sorted(
            rows, key=lambda row: not row["embedding"]["representation"].startswith("hidden"))))
    elif name == "figure 4":
        found = [charts.tradeoff(rows)]
    elif name == "section 8.2":
        found = [charts.copies(rows, paper=paper)]
    elif name == "size":
        found = [charts.sizes(rows)]
    return [one for one in found if one is not None]


def _blia_figures(name: str, rows: Sequence[page.Record], paper: bool) -> list[Figure]:
    found = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        if name == "figure 2":
            found.append(charts.over_epsilon(rows, corpus, paper=paper))
        elif name == "section utility":
            found.append(charts.utility_leak(rows, corpus))
    return [figure for figure in found if figure is not None]


def _found_mia(record: page.Record, said: str) -> list[str]:
    """What the first table says in a sentence."""
    rows = [row for row in record["items"].get("table 7", {"rows": []})["rows"]
            if row["attack"] == "reference" and not row.get("part")]
    pairs = [(paper, honest) for paper in rows if paper["definition"] == "paper" and with_paper(record)
             for honest in rows if honest["definition"] == "honest, logit"
             and all(honest[name] == paper[name] for name in ("corpus", "model", "regime", "variant"))]
    return [say(said, {**paper, "honest": honest}) for paper, honest in pairs
            if None not in (paper["auc"]["value"], honest["auc"]["value"])][:2]


def _found_blia(record: page.Record, said: str) -> list[str]:
    """What table 2 says of each corpus in a sentence."""
    rows = record["items"].get("table 2", {"rows": []})["rows"] if with_paper(record) else []
    return [say(said, row) for row in rows if row["delta_margin"] is not None and row["strongest"] is not None]


def _provenance_mia(record: page.Record) -> tuple[tuple[str, str], ...]:
    given = record["provenance"]
    models = "; ".join(f"{name} ({', '.join(regimes)})" for name, regimes in given["models"].items())
    return page.facts({"scale": record["scale"], "models": models,
                  **({"corpora": given["corpora"]} if given.get("corpora") else {}),
                  **{name: value for name, value in given.items() if name not in ("models", "corpora")}})


def _provenance_blia(record: page.Record) -> tuple[tuple[str, str], ...]:
    given = record["provenance"]
    corpora = {name: say("{recipe.name} ({options}); rows {rows::all}; seeds {listed}; references {references}", {
        **one, "listed": ", ".join(map(str, one["seeds"])), "rows": one["rows"] or "all",
        "options": ", ".join(f"{key} {value}" for key, value in one["recipe"].items() if key != "name")})
        for name, one in given["corpora"].items()}
    epochs = {f"epochs, {row['corpus']}": ", ".join(map(str, row["epochs"])) for item in record["items"].values()
              for row in item["rows"] if row.get("epochs") and row["mechanism"] == "none"}
    return (("scale", record["scale"]), ("discreet", str(given["discreet"])), ("data", str(given["data"] or "none")),
            *corpora.items(), *epochs.items())
