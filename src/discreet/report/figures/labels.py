"""Figures of a label audit: success over ε with ceiling and placebos, how sure of secrets, utility against leak."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from discreet.core.names import label_attack_name as attack_words
from discreet.core.numbers import epsilon as epsilon_words
from discreet.report import labels_words as words
from discreet.report.figures.figure import Cell, Figure, Row, ends
from discreet.report.figures.panels import WIDTH, Panel, places
from discreet.report.figures.svg import Scale, box, dot, key, line, path, text
from discreet.report.labels_words import Record

TOP, SIDE = 62.0, 250.0
MOST_HISTOGRAMS = 4
JITTER = 0.13
FEW_SLOTS = 5


def success(record: Record) -> Figure | None:
    """The strongest attack on outputs and the published oracle at every ε, a panel for each label; None without any."""
    shared = _ordered(record)
    labels = [label for label in ("secret", "trained")
              if any(words.strongest(words.rows_of(record, one), label) for one in shared) and (
                  label == "secret" or any(row["decides"] and row["target"] == label for row in record["attacks"]))]
    if not labels:
        return None
    slots = list(dict.fromkeys(_slot(one) for one in shared))
    data, drawn = list[Row](), []
    rows = [(label, one, words.strongest(words.rows_of(record, one), label)) for label in labels for one in shared]
    known = [(label, one, row) for label, one, row in rows if row is not None]
    chance = known[0][2]["chance"]
    low = max(0.0, min([chance - 0.1, *(end for _, _, row in known for end in _ends(row))]) - 0.02)
    # A panel of a few slots looks empty over the whole width.
    beside = max(len(labels), 2 if len(slots) <= FEW_SLOTS else 1)
    for label, (left, right) in zip(labels, places(beside), strict=False):
        panel = Panel(Scale(-0.6, len(slots) - 0.4, left, right), Scale(low, 1.0, TOP + SIDE, TOP))
        mine = [(one, row) for of, one, row in known if of == label]
        drawn += _success_panel(panel, label, mine, slots, record)
        data += [_facts(label, one, row, record) for one, row in mine]
    legend = [("dot-target", "strongest attack on outputs"), ("area-null", "its placebos, 95%"),
              ("tolerance", "most that ε allows"), ("dot-oracle", "oracle, shown the secret"),
              ("hollow dot-oracle", "on placebos")]
    caption = ("Share of labels guessed right at every ε. Left to right the noise grows. What the grey band covers, "
               "placebos show too, and is no memory. The dashed line is the most that anyone can be right about "
               "secrets under that ε; the label that was trained on has no such line. The oracle is shown the secret: "
               "where its hollow dot is as high as its filled one, it says nothing of the model. Thin lines are 95% "
               "intervals.")
    return Figure("success", "Labels guessed right, over ε", caption, key(44, 14, legend) + "".join(drawn), WIDTH,
                  TOP + SIDE + 44, tuple(data))


def histograms(record: Record) -> Figure | None:
    """How sure models are of secrets, canaries beside placebos, for the first model of up to four conditions."""
    first: dict[str, Record] = {}
    for one in _ordered(record):
        first.setdefault(_slot(one), one)
    chosen = list(first.items())[:MOST_HISTOGRAMS]
    drawn, data = [], list[Row]()
    shares = [(slot, one, {side: _shares(one["histogram"][side]) for side in ("canary", "placebo")})
              for slot, one in chosen]
    most = max((value for _, _, sides in shares for part in sides.values() for value in part), default=0.0)
    if most == 0.0:
        return None
    high = min(1.0, most + 0.05)
    for (slot, one, sides), (left, right) in zip(shares, places(max(2, len(shares))), strict=False):
        edges = one["histogram"]["edges"]
        panel = Panel(Scale(0.0, 1.0, left, right), Scale(0.0, high, TOP + SIDE, TOP))
        drawn.append(panel.frame(slot, x_ticks=[(0.0, "0"), (0.5, ".5"), (1.0, "1")],
                                 x_title="probability of the secret", y_title="share" if left < 60 else ""))
        drawn += [path(_steps(panel, edges, sides[side]), kind)
                  for side, kind in (("placebo", "line-placebo"), ("canary", "line-target")) if sides[side]]
        data += [{"model": one["target"], "from": edges[place], "to": edges[place + 1],
                  "canary": _at(one["histogram"]["canary"], place), "placebo": _at(one["histogram"]["placebo"], place)}
                 for place in range(len(edges) - 1)]
    legend = [("line-target", "canaries"), ("line-placebo", "placebos")]
    caption = ("How sure each model is of the secret label. Secrets are drawn by chance, so that without memory the "
               "two lines are alike; memory moves canaries to the right.")
    return Figure("confidence", "How sure the model is of secrets", caption, key(44, 14, legend) + "".join(drawn),
                  WIDTH, TOP + SIDE + 44, tuple(data))


def frontier(record: Record) -> Figure | None:
    """Test accuracy against success at the secret, a dot for each model; None for fewer than two with both."""
    found = [(one, row) for one in _ordered(record) if one["utility"]["test_accuracy"]["value"] is not None
             and (row := words.strongest(words.rows_of(record, one), "secret")) is not None]
    if len(found) < 2:
        return None
    accuracy = [one["utility"]["test_accuracy"]["value"] for one, _ in found]
    chance = found[0][1]["chance"]
    low = max(0.0, min([chance - 0.1, *(end for _, row in found for end in _ends(row))]) - 0.02)
    left, right = places(1)[0]
    panel = Panel(Scale(max(0.0, min(accuracy) - 0.05), min(1.0, max(accuracy) + 0.05), left, right),
                  Scale(low, 1.0, TOP + SIDE, TOP))
    drawn = [panel.frame("", x_ticks=[(tick, f"{tick:.0%}") for tick in panel.x.ticks(0.05)], x_title="test accuracy",
                         y_title="right"), panel.across(chance, "chance")]
    data, named = list[Row](), set[str]()
    for one, row in found:
        x, y = panel.at(one["utility"]["test_accuracy"]["value"], row["success"]["value"])
        drawn += [*_whisker(panel, x, row["success"], "line-target"), dot(x, y, "dot-target")]
        if _slot(one) not in named:
            drawn.append(text(x + 8, y - 6, _slot(one), "soft"))
        named.add(_slot(one))
        if row["placebo"]["value"] is not None:
            drawn.append(dot(x, panel.y(row["placebo"]["value"]), "hollow dot-placebo", 3.5))
        data.append({"model": one["target"], "mechanism": one["mechanism"], "epsilon": one["epsilon"],
                     "seed": one["seed"], **ends("test_accuracy", one["utility"]["test_accuracy"]),
                     **ends("success", row["success"]), **ends("placebo", row["placebo"])})
    caption = ("What noise costs and what it buys: test accuracy, and how often the strongest attack on outputs "
               "guesses the secret right; its placebo is hollow. Good models lie low and to the right.")
    legend = [("dot-target", "strongest attack on outputs"), ("hollow dot-placebo", "its placebo")]
    return Figure("utility-leak", "Accuracy against leak", caption, key(44, 14, legend) + "".join(drawn), WIDTH,
                  TOP + SIDE + 44, tuple(data))


def _success_panel(panel: Panel, label: str, mine: Sequence[tuple[Record, Record]], slots: Sequence[str],
                   record: Record) -> list[str]:
    title = {"secret": "the secret, before the mechanism", "trained": "the label that was trained on"}[label]
    drawn = []
    for place, slot in enumerate(slots):
        here = [(one, row) for one, row in mine if _slot(one) == slot]
        spans = [row["placebo"] for _, row in here if row["placebo"]["low"] is not None]
        if spans:
            top, bottom = (panel.y(value) for value in (max(one["high"] for one in spans),
                                                        min(one["low"] for one in spans)))
            x = panel.x(place - 0.4)
            drawn.append(box(x, top, panel.x(place + 0.4) - x, bottom - top, "area-null"))
    drawn += [panel.frame(title, x_ticks=[(place, slot) for place, slot in enumerate(slots)], x_title="ε",
                          y_title="right"), panel.across(mine[0][1]["chance"], "chance")]
    for place, slot in enumerate(slots):
        here = [(one, row) for one, row in mine if _slot(one) == slot]
        if here and here[0][1]["ceiling"] is not None:
            y = panel.y(here[0][1]["ceiling"])
            drawn.append(line(panel.x(place - 0.4), y, panel.x(place + 0.4), y, "tolerance"))
        for number, (one, row) in enumerate(here):
            x = panel.x(place + JITTER * (number - (len(here) - 1) / 2) - 0.1)
            drawn += [*_whisker(panel, x, row["success"], "line-target"),
                      dot(x, panel.y(row["success"]["value"]), "dot-target")]
            oracle = words.published(words.rows_of(record, one)) if label == "secret" else None
            if oracle is not None:
                beside = x + (panel.x(0.2) - panel.x(0.0))
                if oracle["placebo"]["value"] is not None:
                    drawn.append(dot(beside, panel.y(oracle["placebo"]["value"]), "hollow dot-oracle", 5.5))
                drawn.append(dot(beside, panel.y(oracle["success"]["value"]), "dot-oracle", 3))
    return drawn


def _whisker(panel: Panel, x: float, estimate: Record, kind: str) -> list[str]:
    if estimate["low"] is None or estimate["high"] is None:
        return []
    return [line(x, panel.y(estimate["low"]), x, panel.y(estimate["high"]), f"whisker {kind}")]


def _facts(label: str, one: Record, row: Record, record: Record) -> dict[str, Cell]:
    oracle = words.published(words.rows_of(record, one)) if label == "secret" else None
    return {"label": label, "model": one["target"], "mechanism": one["mechanism"], "epsilon": one["epsilon"],
            "seed": one["seed"], "attack": attack_words(row), **ends("success", row["success"]),
            **ends("placebo", row["placebo"]), "ceiling": row["ceiling"], "holm_p": row["holm_p"],
            **ends("oracle", None if oracle is None else oracle["success"]),
            **ends("oracle_placebo", None if oracle is None else oracle["placebo"])}


def _ordered(record: Record) -> list[Record]:
    """Targets by mechanism, least noise first."""
    return sorted(record["targets"], key=lambda one: (
        one["mechanism"] != "none", one["mechanism"], -(inf if one["epsilon"] == "inf" else one["epsilon"]),
        one["seed"] or ""))


def _slot(one: Record) -> str:
    """"no noise", "rr 2"."""
    if one["mechanism"] == "none" and one["epsilon"] == "inf":
        return "no noise"
    return f"{one['mechanism']} {epsilon_words(one['epsilon'])}"


def _ends(row: Record) -> list[float]:
    return [estimate[end] for estimate in (row["success"], row["placebo"]) for end in ("value", "low", "high")
            if estimate[end] is not None]


def _shares(counts: Sequence[int] | None) -> list[float]:
    total = sum(counts or ())
    return [count / total for count in counts] if counts and total else []


def _at(counts: Sequence[int] | None, place: int) -> int | None:
    return None if counts is None else counts[place]


def _steps(panel: Panel, edges: Sequence[float], shares: Sequence[float]) -> list[tuple[float, float]]:
    return [panel.at(edge, share) for place, share in enumerate(shares) for edge in (edges[place], edges[place + 1])]
