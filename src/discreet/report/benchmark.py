"""A saved benchmark of guards to its summary and its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from discreet.core.numbers import counted, interval, say
from discreet.report import summary as page
from discreet.report.charts import Panel, curve, datum, dot_figure, drawn, panels, upright
from discreet.report.figure import Figure, name_of

DETECTION = "auroc* held_positives* held_negatives*"


def summary(record: page.Record) -> page.Summary:
    """The summary of what `discreet benchmark` saves."""
    words, results = page.words_of("benchmark"), record["results"]
    guards, sets = (list(dict.fromkeys(one[name] for one in results)) for name in ("guard", "set"))

    def by_set(columns: str, rows: Callable[[page.Record], Iterable[page.Record]]) -> page.Table | None:
        """A table of the rows of each result, by its set."""
        return page.tabled(words[columns], groups=[(name if len(sets) > 1 else "", [
            {"guard": one["guard"], **row} for one in results if one["set"] == name for row in rows(one)])
            for name in sets])

    def by_register(one: page.Record) -> Iterator[page.Record]:
        for name, row in one["registers"].items() if len(one["registers"]) > 1 else ():
            yield {**row, "guard": f"{one['guard']}, {name}"}

    def people(kind: str) -> page.Section:
        return _section(f"One person with two or more attributes, {kind}", by_set("people", lambda one: [
            one["people"][kind]]))

    def people_by_register(kind: str) -> page.Section:
        return _section(f"By register: one person, {kind}", by_set("people", lambda one: [
            {**row["people"][kind], "guard": row["guard"]} for row in by_register(one)
            if row["people"][kind]["held"]["n"]]))

    return page.Summary(
        kind="benchmark", headline=say(words["headline"], {"guards": counted(len(guards), "guard"),
                                                           "sets": counted(len(sets), "set")}),
        kicker=page.kicker(record), leads=(words["means"],), figure=detection(record), sections=tuple(
            one for one in (
                _section("Texts held", by_set("detection", lambda one: [one["pooled"]]),
                         page.tabled(words["counts"], [{"name": name, **one} for name, one in record["sets"].items()])),
                _section("With direct identifiers", by_set("direct", lambda one: [
                    one["pooled"]] if "held_positives_with_direct" in one["pooled"] else [])),
                _section("By register", by_set("detection", by_register)),
                people("stated"), people("inferred"), people_by_register("stated"), people_by_register("inferred"),
                *(_section(f"Classes: {one['guard']}, {one['set']}", page.tabled(words["classes"], [
                    {"name": kind, **one.get("classes", {}).get(kind, {}), **row}
                    for kind, row in one["spans"].items()])) for one in results if "spans" in one),
                _section("Subject right, of labelled attributes that were found", by_set("subjects", lambda one: [
                    one["subjects"]] if "subjects" in one else [])),
                _section("Scores and abstention", by_set("calibration", lambda one: [one] if {
                    "calibration", "abstention"} & set(one) else []), calibration(record), risk(record)),
                _section("Latency", by_set("latency", lambda one: [
                    {"length": name, **row} for name, row in one["latency"].items()]))) if one.blocks),
        provenance=page.facts(record["provenance"]), footer=words["footer"])


def _section(title: str, *found: page.Table | Figure | None) -> page.Section:
    return page.Section(title, page.blocks(*found), name=name_of(title),
                        terminal=not title.startswith(("By register", "Classes", "Subject")))


def detection(record: page.Record) -> Figure | None:
    """A row a guard and set: the shares of positives and of negatives that are held."""
    rows = [{**one["pooled"], "line": one["guard"], "heading": one["set"], "set": one["set"], "guard": one["guard"],
             "note": interval(one["pooled"]["auroc"])} for one in _by_set(record)]
    return dot_figure("benchmark", rows, [("target", "held_positives"), ("tolerance hollow", "held_negatives")],
                      f"set guard {DETECTION}", axis="share of texts held", labels=250, notes=150, chance=None,
                      note_title="AUROC", legend=[("target", "a cluster is bound"),
                                                  ("tolerance hollow", "nothing is bound")])


def calibration(record: page.Record) -> Figure | None:
    """The reliability diagrams of the guards whose scores are probabilities."""
    found = [(one, [b for b in one["calibration"]["bins"] if b["mean"] is not None]) for one in _by_set(record)
             if "calibration" in one]
    shown = [Panel(title=one["guard"], under=one["set"], x="probability", y="" if at else "came true", marks=[
        curve([(0.0, 0.0), (1.0, 1.0)], "control"), *(upright(b["mean"], b["observed"], "target") for b in bins)],
        axes={"xlim": (0, 1), "ylim": (0, 1)}) for at, (one, bins) in enumerate(found)]
    return drawn("benchmark-calibration", partial(panels, shown, columns=3, side=200), [
        datum({**one, **b}, "set guard low high mean observed* n=observed.n") for one, bins in found for b in bins]
        ) if found else None


def risk(record: page.Record) -> Figure | None:
    """The risk–coverage curves of the guards that decide by one score."""
    found = [(one, one["abstention"]["curve"]) for one in _by_set(record) if "abstention" in one]
    most = max((point["risk"] for _, points in found for point in points), default=0.0)
    shown = [Panel(title=one["guard"], under=one["set"], x="share decided", y="" if at else "wrong", percent="xy",
                   marks=[curve([(point["coverage"], point["risk"]) for point in points], "target")],
                   axes={"xlim": (0, 1), "ylim": (0, most * 1.05 or 1)}) for at, (one, points) in enumerate(found)]
    return drawn("benchmark-risk", partial(panels, shown, columns=3, side=200), [
        {"set": one["set"], "guard": one["guard"], **point} for one, points in found for point in points]
        ) if found else None


def _by_set(record: page.Record) -> list[page.Record]:
    return sorted(record["results"], key=lambda one: list(record["sets"]).index(one["set"]))
