"""What is read before a membership audit, its plan, and after several: old against new, the history, and the verdict on
a recipe that was trained several times."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from discreet.core.numbers import counted, given, listed, number, say
from discreet.report import audits, training
from discreet.report import summary as page
from discreet.report.charts import dot_figure

MOST_RUNS = 30
"""Latest runs of a history that are drawn."""
BOTH = [("target", "auc"), ("control hollow", "control_auc")]
NO_FIGURE = {"value": None, "low": None, "high": None}


def plan_summary(record: page.Record) -> page.Summary:
    """The summary of `audit membership plan`."""
    words = page.words_of("membership_runs")["plan"]
    facts = {**record, "parts": counted(len(record["shares"]), "part"),
             "times": f"{listed(record['repetitions'])} times"}
    rows = [{**one, "tolerance": given(one["tolerance"])} for one in record["parts"]]
    return page.Summary(kind="plan membership", headline=say(words["headline"], facts), sections=(
        page.part(words["parts"], page.tabled(words["columns"], rows)),
        page.part(words["choices"], page.tabled(words["choice"], record["choices"])),
        page.part("", page.Bullets("", tuple(say(one, facts) for one in words["notes"])))))


def training_plan_summary(record: page.Record) -> page.Summary:
    """The summary of `audit membership train --plan`."""
    words = page.words_of("membership_runs")["training_plan"]
    planted = "; ".join(f"{number:,} planted {times} times" for times, number in record["planted"].items())
    facts = {**record, "planted": planted or "no planted records", "tried": listed(
        [f"{one['rows']:,}" for one in record["pieces"]]), "spent": sum(one["seconds"] for one in record["pieces"]),
        "took": f"about {ceil(record['minutes']):,} minutes" if record["minutes"] > 1.0 else "less than a minute",
        "sets": ", ".join(f"{name} {n:,}" for name, n in record["sides"].items())}
    rows = [{**one, "tolerance": given(one["tolerance"])} for one in record["parts"]]
    return page.Summary(kind="plan training", headline=say(words["headline"], facts), sections=(
        page.part(words["parts"], page.tabled(words["columns"], rows)),
        page.part("", page.Bullets("", (*(say(one, facts) for one in words["notes"]),
                                        say(words["timed"] + words["by"][record["timed"]], facts), *record["notes"])))))


def compare_summary(record: page.Record) -> page.Summary:
    """The summary of `audit membership compare`."""
    words = page.words_of("membership_runs")["compare"]
    several = len({one["target"] for one in record["parts"]}) > 1
    rows = [{**one, "finding": words["directions"][one["direction"]],
             "name": f"{one['target']}, {one['name']}" if several else one["name"]} for one in record["parts"]]
    left = page.Text(say(words["left_out"], record)) if record["left_out"] else None
    return page.Summary(
        kind="compare membership", headline=words["headlines"][record["verdict"]], verdict=record["verdict"],
        kicker=page.kicker(record), leads=tuple(record["reasons"]), provenance=page.facts(record["provenance"]),
        sections=(page.part(words["parts"], page.tabled(words["columns"], rows, note=words["note"]), left),))


def history(entries: Sequence[page.Record], tolerance: float) -> page.Section:
    """The runs of a history as a chart: over all records, and in the part with the largest AUC."""
    words, rows = page.words_of("membership_runs")["history"], []
    for one in entries[-MOST_RUNS:]:
        when = "this run" if one.get("this") else one["at"][:10]
        rows.append({**one, "part": "all records", "line": f"{when}, {one['model']}",
                     "note": f"{one['verdict']}, {number(one['auc']['value'])}"})
        worst = one.get("worst_part")
        if worst is not None and worst["value"] is not None:
            rows.append({**one, "part": worst["name"], "auc": worst, "control_auc": NO_FIGURE, "soft": True,
                         "line": words["worst"].format(part=worst["name"]), "note": number(worst["value"])})
    drawn = dot_figure("history", rows, BOTH, "at model part verdict record auc* control_auc*", tolerance=tolerance,
                       notes=170, legend=[("target", "the model"), ("control hollow", "control model")])
    return page.Section(words["title"], page.blocks(
        page.Text(words["note"].format(n=counted(len(entries), "run"))), drawn), name="history")


def recipe_summary(record: page.Record) -> page.Summary:
    """The summary of `RecipeAudit.to_json()` with `training`, that of the first retraining."""
    words, trained, seeds = page.words_of("recipe"), record.get("training"), record["seeds"]
    sections = [
        page.part(words["parts"]["title"], page.tabled(
            words["parts"]["columns"], map(_recipe_part, record["parts"]), note=words["parts"]["note"])),
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


def _recipe_part(part: page.Record) -> dict[str, object]:
    words = page.words_of("recipe")["parts"]
    return {**part, "state": words["states"][part["state"]], "tolerance": given(part["tolerance"]),
            "each": ", ".join(number(value) for value in part["values"]), "more": words["more"][part["more"]]}
