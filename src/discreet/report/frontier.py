"""A saved defence frontier, and a saved comparison of ways to train, to their summaries and figures."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from discreet.core.numbers import REFERENCES, attack_name, counted, listed, say
from discreet.report import summary as page
from discreet.report import training
from discreet.report.charts import datum, dot_figure
from discreet.report.figure import Figure, Row

ON = {"global": "on all judged examples", "boundary": "at the decision boundary"}
FIGURES = {"global": "frontier", "boundary": "frontier-boundary"}
SAME = ("mechanism", "knob", "strength", "queried")
"""What makes two points one mechanism at one strength, asked for the same input or for near-duplicates."""


def released(record: page.Record) -> dict[str, list[page.Record]]:
    """The points of each mechanism of a frontier by its name, by queries; the undefended one first."""
    found: dict[str, list[page.Record]] = {}
    names: Mapping[str, str] = page.words_of("frontier")["mechanisms"]
    for point in record["points"]:
        mechanism, knob, strength, queried = (point[name] for name in SAME)
        name = names.get(mechanism, mechanism.replace("_", " ")) + (
            "" if strength is None else f", {knob} {strength:g}") + (", near-duplicates" if queried != "same" else "")
        found.setdefault(name, []).append(point)
    return found


def attacked(record: page.Record, point: page.Record, selection: str = "global") -> page.Record | None:
    """The row of the attack that is shown first, on all judged examples or at the boundary; None without one."""
    wanted = {**record["primary"], "selection": selection, "oracle": False}
    return next((row for row in point["attacks"] if all(row[name] == value for name, value in wanted.items())), None)


def missing(record: page.Record, selection: str) -> str:
    """Why there is no figure on a selection, empty where there is one."""
    row = attacked(record, record["points"][0], selection)
    return "the attack was not tried there" if row is None else (
        "" if row["auc"]["value"] is not None else str(row["auc"]["reason"]))


def summary(record: page.Record) -> page.Summary:
    """The summary of what `defend frontier` saves: `Frontier.to_json()` with `provenance`."""
    words, absent = page.words_of("frontier"), missing(record, "boundary")
    notes = [say(words["means"], {"draws": counted(record["draws"], "noise draw")}), say(words["jitter"], record),
             *([f"There are no figures at the boundary: {absent}."] if absent else []), *record["notes"]]
    figures = {selection: figure for selection in ON if (figure := drawing(record, selection)) is not None}
    return page.Summary(
        kind="defend frontier", headline=words["title"], kicker=page.kicker(record, record["target"]),
        leads=_leads(record, words["leads"]), sections=(
            *(page.Section(ON[selection][0].upper() + ON[selection][1:], page.blocks(figure), name=selection)
              for selection, figure in figures.items()),
            page.Section("The figures behind it", page.blocks(*tables(record), *map(page.Text, notes)), name="numbers",
                    terminal=True)),
        provenance=page.facts({"target": record["target"], "control model": record["control"],
                          "noise draws": record["draws"], "clip": record["clip"], **record["provenance"]}),
        footer=words["footer"])


def drawing(record: page.Record, selection: str = "global") -> Figure | None:
    """A row per mechanism and strength, from one query to the most, its control under it; None without a figure."""
    lines, data, before = list[page.Record](), list[Row](), None
    for name, points in released(record).items():
        rows = [(point, row) for point in points if (row := attacked(record, point, selection)) is not None]
        if rows and rows[0][1]["auc"]["value"] is not None:
            first = rows[0][0]
            lines.append({"line": name, "one": rows[0][1], "last": rows[-1][1], "space": before not in (
                None, first["mechanism"]), "note": say("{accuracy:interval} / {missed_positives:interval}",
                                                       first["utility"])})
            before = first["mechanism"]
            data += [datum({**point, "row": row}, (
                "mechanism strength queried queries auc*=row.auc control_auc*=row.control_auc "
                "accuracy*=utility.accuracy missed_positives*=utility.missed_positives local_epsilon"))
                for point, row in rows]
    most = max(point["queries"] for point in record["points"])
    controlled = any(line["one"]["control_auc"]["value"] is not None for line in lines)
    return dot_figure(
        FIGURES[selection], lines, [("target hollow", "one.auc"), ("target", "last.auc")], data=data, joined=True,
        under=[("control hollow", "one.control_auc"), ("control", "last.control_auc")], words="frontier", said={
            "where": "" if selection == "global" else f" {ON[selection]}", "most": most,
            "positive": record["positive"]}, notes=262, labels=282, note_title="accuracy / missed, 95% intervals",
        legend=[("target hollow", "one query"), ("target", counted(most, "query", "queries")),
                *([("control", "the same, control model")] if controlled else [])])


def tables(record: page.Record) -> list[page.Table | None]:
    """What users get, and the AUC at every number of queries with its control's."""
    words = page.words_of("frontier")
    users = [{**points[0], "name": name} for name, points in released(record).items() if points[0]["queried"] == "same"]
    found = [page.tabled(words["users"], users, open=False, title=words["users_title"],
                    note=words["unclipped" if record["clip"] is None else "clipped"])]
    for selection, on in ON.items():
        if not missing(record, selection):
            rows = [{**row, "name": name, "queries": queries} for name, points in released(record).items()
                    for queries, row in _by_queries(record, points, selection)]
            found.append(page.tabled(words["queries"], rows, open=False,
                                title=f"AUC {on} at every number of queries, with 95% intervals"))
    return found


def _by_queries(record: page.Record, points: list[page.Record], selection: str) -> list[tuple[str, page.Record]]:
    """Rows with how many queries they hold for, ("1 to 16", row); runs of queries that change nothing stand once."""
    rows = [(point["queries"], row) for point in points if (row := attacked(record, point, selection)) is not None]
    runs = [(row, [queries for queries, _ in run]) for row, run in groupby(rows, key=lambda pair: pair[1])]
    return [(" to ".join(dict.fromkeys(f"{end(queries):,}" for end in (min, max))), row) for row, queries in runs]


def _leads(record: page.Record, words: page.Record) -> tuple[str, ...]:
    row, primary = attacked(record, record["points"][0]), record["primary"]
    assert row is not None
    kind = primary["reference_kind"]
    titled = {**primary, **record["attack_facts"][primary["attack"]]}
    attack = (f"the {attack_name(titled, scale=False, reference=False)} attack"
              + ("" if kind is None else f" with {REFERENCES[kind]} references"))
    said = say(words["attack"], {**row, "attack": attack}) + say(
        words["no_control" if record["control"] is None else "control"], row)
    faint = row["auc"]["low"] is not None and row["auc"]["low"] <= 0.5
    return (said, *([words["faint"]] if faint else []), words["worth"])


def training_summary(record: page.Record) -> page.Summary:
    """The summary of what `defend training` saves: `DefenceComparison.to_json()` with `training` and `provenance`."""
    words, base = page.words_of("training_defences"), record["undefended"]
    rows = [{**one, "effect": words["effects"][one["effect"]], "more": listed(
        [part["name"] for part in one["parts"] if part["worse"]] or ["–"])} for one in record["defences"]]
    first = {**base, "effect": "", "more": ""}
    several = words["several" if record["seeds"] > 1 else "once"]
    facts = {**record, "verdict_on": several["verdict_on"],
             "over": several["over"].format(seeds=counted(record["seeds"], "retraining"))}
    return page.Summary(
        kind="defend training", verdict=record["verdict"], headline=_training_headline(record, words),
        kicker=page.kicker(record), leads=_training_leads(record, words),
        sections=(
            page.part(words["leak"], page.tabled(words["leak_columns"], [first, *rows],
                                                 note=say(words["leak_note"], facts), open=True)),
            page.part(words["parts"], page.tabled(words["part_columns"], [first, *rows],
                                                  note=say(words["parts_note"], facts), open=True)),
            page.part(words["task"], page.tabled(words["task_columns"], [first, *rows],
                                                 note=say(words["task_note"], facts), open=True)),
            page.part("", page.Bullets("", tuple(words["notes"]))),
            training.membership_training(record["training"]), training.membership_lines(record["training"])),
        provenance=(*page.facts(record["provenance"]), *training.provenance(record["training"])),
        footer=words["footer"])


def _training_headline(record: page.Record, words: page.Record) -> str:
    named = record["cheapest"]
    if record["verdict"] == "fail":
        which = "broken"
        named = [one["name"] for one in (record["undefended"], *record["defences"]) if one["effect"] == "broken"]
    elif named:
        which = "one" if len(named) == 1 else "two"
    else:
        which = "no_leak" if {one["effect"] for one in record["defences"]} <= {"no leak"} else "none"
    which += "_alone" if len(record["defences"]) == 1 and which in ("one", "none") else ""
    return str(words["headlines"][which].format(names=listed(named) if named else "",
                                                n=counted(len(record["defences"]), "defence")))


def _training_leads(record: page.Record, words: page.Record) -> tuple[str, ...]:
    by_name = {one["name"]: one for one in record["defences"]}
    found = [*record["reasons"], say(words["leads"]["undefended"], record)]
    for one in (by_name[name] for name in record["cheapest"]):
        in_part = "" if one["worst"] is None else say(words["leads"]["in_part"], one)
        found.append(say(words["leads"]["named"], {**one, "in_part": in_part}))
    found += [f"{name}: {one['guarantee']['sentence']}" for name, one in by_name.items()
              if one["guarantee"] is not None and not one["guarantee"]["broken"]]
    if record["next_name"] is not None:
        low, high = record["next_change"]["low"], record["next_change"]["high"]
        certain = low is not None and high is not None and (low > 0.0 or high < 0.0)
        found.append(say(words["leads"]["order" if certain else "no_order"],
                         {**record, "last": record["cheapest"][-1]}))
    if record["cheapest"] and all(by_name[name]["verdict"] != "pass" for name in record["cheapest"]):
        found.append(words["leads"]["still_one" if len(record["cheapest"]) == 1 else "still_two"])
    return tuple(found)
