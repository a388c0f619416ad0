"""What releasing less buys: each mechanism after one query and after many, with what it costs."""

from __future__ import annotations

from typing import Any

from discreet.report.audited import Record
from discreet.report.figures.dots import Line, dots
from discreet.report.figures.figure import Figure, Row, ends, spoken

WORDS = {"none": "all scores, as they are", "laplace": "fresh noise", "keyed": "keyed noise",
         "rounding": "rounding", "top_label": "top label only"}


def frontier(record: Record) -> Figure | None:
    """A row per mechanism and strength, from one query to the most; None where no point has a figure."""
    found: dict[tuple[Any, ...], list[Record]] = {}
    for point in record["points"]:
        found.setdefault((point["mechanism"], point["strength"], point["queried"]), []).append(point)
    lines, data, before = [], list[Row](), None
    for (mechanism, strength, queried), points in found.items():
        first, last = points[0], points[-1]
        aucs = [_primary(record, point) for point in (first, last)]
        if aucs[0]["auc"]["value"] is None:
            continue
        name = WORDS.get(mechanism, mechanism.replace("_", " ")) + (f", {first['knob']} {strength:g}" if strength
                                                                    is not None else "")
        utility = first["utility"]
        lines.append(Line(name + (", near-duplicates" if queried != "same" else ""),
                          [("hollow dot-target", {**aucs[0]["auc"], "low": None, "high": None}),
                           ("dot-target", aucs[1]["auc"])],
                          joined=True, space=before is not None and before != mechanism,
                          note=f"{spoken(utility['accuracy']['value'], 3)} / "
                               f"{spoken(utility['missed_positives']['value'], 3)}"))
        before = mechanism
        data += [{"mechanism": mechanism, "strength": strength, "queried": queried, "queries": point["queries"],
                  **ends("auc", _primary(record, point)["auc"]),
                  **ends("placebo_auc", _primary(record, point)["placebo_auc"]),
                  **ends("accuracy", point["utility"]["accuracy"]),
                  **ends("missed_positives", point["utility"]["missed_positives"]),
                  "local_epsilon": point["local_epsilon"]} for point in points]
    if not lines:
        return None
    most = max(point["queries"] for point in record["points"])
    body, width, height = dots(
        lines, tolerance=None, notes=150, note_title="accuracy / missed", labels=320,
        legend=[("hollow dot-target", "one query"), ("dot-target", f"{most} queries")])
    caption = (f"The deciding attack when less is released: after one query (hollow) and after {most} (filled); fresh "
               f"noise averages out, keyed noise does not unless near-duplicates are asked for. To the right, what "
               f"users get: accuracy, and the share of class {record['positive']} that is missed.")
    return Figure("frontier", "What releasing less would buy", caption, body, width, height, tuple(data))


def _primary(record: Record, point: Record) -> Record:
    wanted = record["primary"]
    return next(one for one in point["attacks"] if all(one[name] == value for name, value in wanted.items())
                and not one["oracle"])
