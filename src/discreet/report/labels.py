"""A saved label audit to its page and its figures. Nothing is computed here that the record does not hold."""

from __future__ import annotations

from typing import Any

from discreet.report import labels_training, training
from discreet.report import labels_words as words
from discreet.report.audited import said_of
from discreet.report.figures.figure import Figure, span
from discreet.report.figures.labels import frontier, histograms, success
from discreet.report.html import environment
from discreet.report.labels_words import KIND, Record

DRAWN = (success, histograms, frontier)
MOST_OPEN = 40

__all__ = ["KIND", "labels_figures", "labels_page"]


def labels_figures(record: Record) -> list[Figure]:
    """All figures of a record that it has the data for, with distinct names."""
    return list(_figures(record).values())


def labels_page(record: Record) -> str:
    """The report as one HTML file.

    Parameters
    ----------
    record : mapping
        What `audit labels` saves in result.json: `LabelAudit.to_json()`.

    Raises
    ------
    MissingExtraError
        Without jinja2.
    """
    first = words.decisive(record)
    return environment().get_template("labels.html.j2").render(
        headline=words.headline(record), verdict=record["verdict"], record=record, lead=words.lead(record),
        reasons=record["reasons"], controls=words.controls(record), story=words.story(record),
        figures=_figures(record), models=[words.model_line(record, one) for one in record["targets"]],
        first=_section(record, first), others=[_section(record, one) for one in record["targets"] if one is not first],
        claims=record["claims"], trained=labels_training.lines(record),
        provenance=[*training.provenance(record), *said_of(record["provenance"])])


def _figures(record: Record) -> dict[str, Figure]:
    return {draw.__name__: figure for draw in DRAWN if (figure := draw(record)) is not None}


def _section(record: Record, target: Record) -> dict[str, Any]:
    """What the page shows of one target."""
    rows = words.rows_of(record, target)
    kinds = words.kinds(rows)
    train = target["utility"]["train_accuracy"]
    return {
        "name": target["target"], "verdict": target["verdict"], "reasons": target["reasons"],
        "line": words.model_line(record, target),
        "kinds": {name: [words.row_cells(row) for row in found] for name, found in kinds.items()},
        "n_rows": sum(map(len, kinds.values())), "open": sum(map(len, kinds.values())) <= MOST_OPEN,
        "unresolved": words.unresolved(rows),
        "utility": [("train, against the label trained on", span(train["trained"], 3)),
                    ("train, against the secret", span(train["secret"], 3)),
                    ("train, against the original", span(train["original"], 3)),
                    ("test, against the original", span(target["utility"]["test_accuracy"], 3))],
    }
