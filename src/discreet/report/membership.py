"""A saved membership audit to its page and its figures. Nothing is computed here that the record does not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from discreet.core.numbers import p_value
from discreet.report import diagnostics
from discreet.report import membership_words as words
from discreet.report.audited import REFERENCES, SELECTIONS, Audited, Record, attack_words, audited, listed, said_of
from discreet.report.figures.attacks import attacks
from discreet.report.figures.boundary import boundary
from discreet.report.figures.deciles import deciles
from discreet.report.figures.embedding import embedding
from discreet.report.figures.figure import Figure, span, spoken
from discreet.report.figures.frontier import frontier
from discreet.report.figures.protocols import protocols
from discreet.report.figures.roc import roc
from discreet.report.figures.sizes import sizes
from discreet.report.figures.standing import standing
from discreet.report.figures.strata import strata
from discreet.report.frontier import frontier_tables
from discreet.report.html import environment
from discreet.report.tiles import tiles
from discreet.report.training import provenance, training

KIND = "audit membership"
OF_TARGET = (standing, protocols, attacks, roc, boundary, sizes, deciles, strata)
WHY_NOT = {
    "boundary": "The decision boundary is unresolved: no selection model was scored that says it was trained on other "
                "records, and a target never selects for itself.",
    "sizes": "There is no curve over n without a selection model.",
    "strata": "The records have neither categories nor structures.",
}


def membership_figures(record: Record) -> list[Figure]:
    """All figures of a record, with distinct names: the first target's, the others' (numbered), and the frontier."""
    found: list[Figure] = []
    for place, one in enumerate(audited(record)):
        prefix = "" if place == 0 else f"target-{place + 1}-"
        found += [figure.named(prefix) for figure in _figures(one).values()]
    return [*found, *_further(record).values()]


def membership_page(record: Record, *, texts: Sequence[Mapping[str, Any]] = ()) -> str:
    """The report as one HTML file.

    Parameters
    ----------
    record : mapping
        What `audit membership` saves in result.json: `MembershipAudit.to_json()`, with `frontier` where it was asked
        for, `embedding` where there is one, and `training` where the run trained the models.
    texts : sequence of mappings
        `{id, side, label, p, text}` of records at the boundary, where texts may be shown.

    Raises
    ------
    MissingExtraError
        Without jinja2.
    """
    targets = audited(record)
    first, further = targets[0], _further(record)
    return environment().get_template("membership.html.j2").render(
        headline=words.headline(record), lead=words.lead(first), verdict=record["verdict"], record=record,
        reasons=[_emphasis(one) for one in first.facts["reasons"]], controls=words.controls(first, record),
        tiles=tiles(first, record), story=words.story(first), tolerance=first.tolerance,
        sections=[_section(one, place) for place, one in enumerate(targets)], others=targets[1:],
        claims=first.facts["claims"], frontier=further.get("frontier"), embedding=further.get("embedding"),
        frontier_tables=frontier_tables(record["frontier"]) if "frontier" in further else [],
        diagnostics=_diagnostics(record.get("embedding")), training=training(record),
        texts=texts, provenance=_provenance(record),
    )


def _diagnostics(found: Record | None) -> dict[str, Any]:
    if not found or not found.get("diagnostics"):
        return {"rows": [], "summary": ""}
    return {"rows": diagnostics.table(found), "summary": diagnostics.summary(found)}


def _figures(one: Audited) -> dict[str, Figure]:
    return {draw.__name__: figure for draw in OF_TARGET if (figure := draw(one)) is not None}


def _further(record: Record) -> dict[str, Figure]:
    drawn = {"frontier": frontier(record["frontier"]) if record.get("frontier") else None,
             "embedding": embedding(record.get("embedding"))}
    return {name: figure for name, figure in drawn.items() if figure is not None}


def _section(one: Audited, place: int) -> dict[str, Any]:
    """What the page shows of one target."""
    prefix = "" if place == 0 else f"target-{place + 1}-"
    honest, oracle = listed(one)
    return {
        "name": one.name, "verdict": one.facts["verdict"], "primary": one.primary,
        "reasons": [_emphasis(reason) for reason in one.facts["reasons"]],
        "figures": {name: figure.named(prefix) for name, figure in _figures(one).items()},
        "missing": [said for name, said in WHY_NOT.items() if name not in _figures(one)],
        "behind": words.from_behind(one),
        "honest": [_row(row) for row in honest if row["auc"]["value"] is not None],
        "oracle": [_row(row) for row in oracle if row["auc"]["value"] is not None],
        "unresolved": _unresolved([*honest, *oracle]), "utility": _utility(one.facts["utility"]),
    }


def _row(row: Record) -> dict[str, str]:
    difference = row["difference"].get("auc")
    selection = str(SELECTIONS.get(row["selection"], row["selection"]))
    return {
        "attack": attack_words({**row, "reference_kind": None}, scale=False), "scale": row["scale"],
        "reference": REFERENCES[row["reference_kind"]],
        "selection": selection + (
            ", paper's others" if row["nonmembers"] == "reference_train" else ""),
        "n": f"{row['n_members']:,} + {row['n_nonmembers']:,}", "auc": span(row["auc"], 3),
        "placebo": "uncontrolled" if row["uncontrolled"] else spoken(row["placebo_auc"]["value"], 3),
        "difference": "–" if difference is None or difference["value"] is None else span(difference, 3),
        "p": p_value(row["null_p"]["value"]),
    }


def _unresolved(rows: Sequence[Record]) -> list[tuple[str, str]]:
    """Each reason once, with the attacks that it concerns."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        if row["auc"]["value"] is None:
            name = f"{attack_words(row, scale=False)} ({SELECTIONS.get(row['selection'], row['selection'])})"
            found.setdefault(row["auc"]["reason"], {})[name] = None
    return [(", ".join(names), reason) for reason, names in found.items()]


def _utility(utility: Record) -> list[dict[str, str]]:
    return [{"name": "all" if name == "all" else f"label {name}",
             **{part: span(rates[part], 3) for part in ("train", "test", "gap")}}
            for name, rates in utility.items() if name != "target"]


def _provenance(record: Record) -> list[tuple[str, str]]:
    return [("design", record["design"]), *said_of(record["provenance"]), *provenance(record)]


def _emphasis(sentence: str) -> str:
    """HTML of a reason: its asterisks as emphasis, everything else escaped."""
    parts = escape(sentence).split("*")
    return parts[0] if len(parts) % 2 == 0 else "".join(
        f"<em>{part}</em>" if place % 2 else part for place, part in enumerate(parts))
