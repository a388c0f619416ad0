"""A saved verdict on a recipe to its summary: several retrainings, each with its own figures, and what they have in
common."""

from __future__ import annotations

from discreet.core.numbers import given, listed, number
from discreet.report import audits, training
from discreet.report import summary as page


def summary(record: page.Record) -> page.Summary:
    """The summary of `RecipeAudit.to_json()` with `training`, that of the first retraining."""
    words, trained, seeds = page.words_of("recipe"), record.get("training"), record["seeds"]
    sections = [
        page.part(words["parts"]["title"], page.tabled(
            words["parts"]["columns"], map(_part, record["parts"]), note=words["parts"]["note"])),
        page.part(words["models"]["title"], page.tabled(
            words["models"]["columns"], record["models"], note=words["models"]["note"])),
        *([training.membership_training(trained), training.membership_lines(trained)] if trained else ()),
        audits.claims(record["claims"])]
    return page.Summary(
        kind=str(record["kind"]), verdict=record["verdict"],
        headline=words["headlines"][record["verdict"]].format(
            n=len(seeds), whole=given(record["provenance"]["tolerance_auc"]),
            part=given(record["provenance"]["tolerance_part"])),
        kicker=page.kicker(record, words["kicker"].format(n=len(seeds), seeds=listed(seeds))),
        leads=tuple(record["reasons"]), sections=tuple(sections), glossary=tuple(words["glossary"].items()),
        provenance=(*page.facts(record["provenance"]), *(training.provenance(trained) if trained else ())),
        footer=words["footer"])


def _part(part: page.Record) -> dict[str, object]:
    words = page.words_of("recipe")["parts"]
    return {**part, "state": words["states"][part["state"]], "tolerance": given(part["tolerance"]),
            "each": ", ".join(number(value) for value in part["values"]), "more": words["more"][part["more"]]}
