"""What a record says of a representation, in words: are records at the boundary distinctive by their content?"""

from __future__ import annotations

from discreet.core.numbers import p_value
from discreet.report.audited import Record
from discreet.report.figures.figure import bracketed, span, spoken

NAMES = {
    "outlier_boundary": "further from their {k} nearest: boundary than other records of the label (AUC)",
    "outlier_boundary_members": "further from their {k} nearest: boundary members than non-members (AUC)",
    "side_agreement_boundary": "the {k} nearest on the same side: boundary records",
    "side_agreement": "the {k} nearest on the same side: all records",
    "label_agreement_boundary": "the {k} nearest with the same label: boundary records",
}
HEAD = ("what", "figure", "by chance", "p")
LEVEL = 0.05


def table(embedding: Record) -> list[dict[str, str]]:
    """A row per diagnostic, for a page: `{name, figure, chance, p}`."""
    return [{"name": name(one, embedding), "figure": span(one["estimate"], 3), "chance": _known(one["chance"]),
             "p": p_value(one["p"]["value"])} for one in embedding["diagnostics"]]


def lines(embedding: Record) -> list[str]:
    """The same for a terminal, under a title and above what it means."""
    cells = [HEAD, *((name(one, embedding), bracketed(one["estimate"]), _known(one["chance"]),
                      p_value(one["p"]["value"])) for one in embedding["diagnostics"])]
    widths = [max(len(row[place]) for row in cells) for place in range(len(HEAD))]
    drawn = ["  ".join(cell.ljust(width) if place == 0 else cell.rjust(width)
                       for place, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip() for row in cells]
    return [f"Where the boundary lies, in {embedding['representation']} ({embedding['records']:,} records)", *drawn,
            summary(embedding)]


def name(one: Record, embedding: Record) -> str:
    """What a diagnostic asks."""
    return NAMES.get(one["name"], str(one["name"]).replace("_", " ")).format(k=embedding["neighbours"])


def summary(embedding: Record) -> str:
    """What the rows mean together."""
    known = [one for one in embedding["diagnostics"] if one["p"]["value"] is not None]
    if not known:
        return "Whether anything is distinctive was not tested."
    least = min(known, key=lambda one: float(one["p"]["value"]))
    p = f"p {p_value(least['p']['value'])}, by permutation and corrected for {len(known)} looks"
    if least["p"]["value"] >= LEVEL:
        return (f"No evidence that records at the boundary, or the two sides, are distinctive by their content "
                f"(smallest {p}). That is no proof that they are not.")
    found = "; ".join(name(one, embedding) for one in known if one["p"]["value"] < LEVEL)
    return (f"Other than by chance ({p}): {found}. In vectors of the audited model that may be its memory; in those of "
            f"a model that never saw the records it is their content.")


def _known(value: float | None) -> str:
    return "–" if value is None else spoken(value, 3)
