"""Where the model stands: the deciding figure between chance and tolerance, beside its placebo and planted records."""

from __future__ import annotations

from discreet.report.audited import Audited
from discreet.report.figures.dots import Line, dots
from discreet.report.figures.figure import Figure, Row, ends, spoken


def standing(one: Audited) -> Figure | None:
    """The primary endpoint with what it must be read against; None where it has no figure."""
    primary = one.primary
    if primary is None or primary["auc"]["value"] is None:
        return None
    rows = [("your model", "dot-target", primary["auc"], primary["n_members"]),
            ("a model trained on neither side (placebo)", "dot-placebo", primary["placebo_auc"], None)]
    for planted in one.facts["controls"]["planted"]:
        said = f"records planted {_times(planted['repetitions'])}"
        rows.append((f"your model, on {said}", "dot-second", planted["auc"], planted["auc"]["n_pos"]))
        if planted["placebo_auc"]["value"] is not None:
            rows.append((f"placebo, on {said}", "dot-placebo", planted["placebo_auc"], None))
    lines = [Line(label, [(kind, estimate)], note="" if estimate["value"] is None else spoken(estimate["value"], 3),
                  space=kind == "dot-second", kind="placebo-text" if label.startswith("placebo") else "")
             for label, kind, estimate, _ in rows]
    data: list[Row] = [{"what": label, "members": n, **ends("auc", estimate)} for label, _, estimate, n in rows]
    body, width, height = dots(lines, tolerance=one.tolerance, notes=60, labels=320,
                               axis="chance that a random member outranks a random non-member (AUC)")
    caption = ("The deciding attack on your model should lie where chance and the placebo lie, and left of the "
               "tolerance; records that were planted on purpose should lie to the right, and their placebo at "
               "chance, which shows that the audit can see a leak." if one.facts["controls"]["planted"] else
               "The deciding attack on your model should lie where chance and the placebo lie, and left of the "
               "tolerance.")
    return Figure("standing", "Where the model stands", f"{caption} Thin lines are 95% intervals{_shared(one)}.", body,
                  width, height, tuple(data))


def _shared(one: Audited) -> str:
    """Numbers of repetitions share the 5%, so that their intervals are wider."""
    levels = {planted["auc"]["level"] for planted in one.facts["controls"]["planted"]} - {0.95}
    return "".join(f", those of planted records {100 * level:.3g}%" for level in sorted(levels))


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"
