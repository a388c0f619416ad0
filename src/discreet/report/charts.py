"""The two kinds of drawing that all figures are made of: rows of dots on one axis, and panels side by side.

All is laid out in pixels of the page: Matplotlib's points, at 72 dots per inch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.core.numbers import given, printable
from discreet.report.figure import COLOURS, can_draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

WIDTH, NARROW = 960.0, 400.0
ROW, GAP = 24.0, 12.0
Mark = tuple[str, Mapping[str, Any] | None]
"""A role of `COLOURS`, with " hollow" behind it for a ring, and an estimate."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of dots: words and its marks, with space before it, or a heading without any.

    Where `joined`, a line goes from the first mark to the last. `band` is drawn behind, `note` to the right.
    """

    label: str
    marks: Sequence[Mark] = ()
    soft: bool = False
    joined: bool = False
    space: bool = False
    heading: bool = False
    note: str = ""
    band: tuple[float, float] | None = None


def dots(lines: Sequence[Line], *, tolerance: float | None = None, legend: Sequence[tuple[str, str]] = (),
         axis: str = "AUC", labels: float = 300.0, notes: float = 0.0, note_title: str = "", narrow: bool = False
         ) -> Canvas:
    """Rows of dots with their intervals on one axis, chance and tolerance as lines across; ½ is chance.

    `labels` and `notes` are the widths left and right of the axis. A `narrow` drawing has each label above its row.
    """
    width, row = (NARROW, 2 * ROW - 4) if narrow else (WIDTH, ROW)
    left, right = (4.0, width - 10) if narrow else (labels, width - 24 - notes)
    top = 40.0 + (20.0 * (len(legend) if narrow else 1) if legend else 0.0)
    places, y = list[float](), top
    for one in lines:
        y += GAP if one.space and places else 0.0
        height = ROW if one.heading else row
        places.append(y + height / 2)
        y += height
    canvas, (axes,) = _canvas(width, y + 40, [(left, top, right - left, y - top)])
    values = [mark[end] for one in lines for _, mark in one.marks if mark for end in ("value", "low", "high")
              if mark[end] is not None]
    low, high = max(0.0, min([0.4, *values]) - 0.02), min(1.0, max([0.7, *values]) + 0.02)
    axes.set(xlim=(low, high), ylim=(y, top), yticks=[])
    step = 0.2 if narrow and high - low > 0.45 else 0.1
    axes.set_xticks([round(tick * step, 10) for tick in range(11) if low <= tick * step <= high])
    axes.xaxis.set_major_formatter(lambda value, _: given(round(value, 10)))
    axes.grid(axis="x", color=COLOURS["grid"])

    def words(x: float, at: float, said: str, **options: Any) -> None:
        canvas.text(x / width, 1 - at / (y + 40), printable(said), va="center", **{"fontsize": 13, **options})

    words(right, y + 32, axis, ha="right", color=COLOURS["soft"], fontsize=12)
    for value, role, said, ha, shift in ((0.5, "soft", "chance", "right", -5),
                                         (tolerance, "tolerance", f"tolerance {given(tolerance or 0)}", "left", 5)):
        if value is not None and low <= value <= high:
            axes.axvline(value, color=COLOURS[role], lw=1.2, ls="-" if role == "soft" else (0, (5, 4)))
            words(left + (value - low) / (high - low) * (right - left) + shift, top - 12, said, ha=ha, fontsize=12,
                  color=COLOURS[role])
    if note_title:
        words(width - 8, top - 12, note_title, ha="right", color=COLOURS["soft"], fontsize=12)
    for one, place in zip(lines, places, strict=True):
        above = place - 12 if narrow and not one.heading else place
        words(left if narrow else 0 if one.heading else 14, above, one.label,
              color=COLOURS["soft" if one.soft else "ink"], weight="bold" if one.heading else "normal")
        if one.note:
            words(width - 8, above, one.note, ha="right", color=COLOURS["soft"], fontsize=12)
        _row(axes, one, place + 10 if narrow else place)
    _legend(canvas, legend, left, narrow=narrow)
    return canvas


def _row(axes: Axes, one: Line, y: float) -> None:
    if one.band is not None:
        axes.fill_between(one.band, y - 8, y + 8, color=COLOURS["null"], lw=0)
    known = [(role, mark) for role, mark in one.marks if mark and mark["value"] is not None]
    if one.marks and not known:
        axes.text(axes.get_xlim()[0], y, "  unresolved", va="center", color=COLOURS["soft"], fontsize=12)
    if one.joined and len(known) > 1:
        axes.plot([known[0][1]["value"], known[-1][1]["value"]], [y, y], lw=5, alpha=0.3,
                  color=COLOURS[known[-1][0].split()[0]])
    for role, mark in known:
        if mark["low"] is not None and mark["high"] is not None:
            whisker(axes, [mark["low"], mark["high"]], [y, y], role)
        dot(axes, mark["value"], y, role)


def panels(count: int, *, side: float = 250.0, top: float = 76.0, rows: int = 1, between: float = 104.0,
           legend: Sequence[tuple[str, str]] = ()) -> tuple[Canvas, list[Axes]]:
    """`rows` of `count` panels of equal width in a drawing of the page's width, row by row."""
    gap, edge = 54.0, 48.0
    width = (WIDTH - edge - 28 - gap * (count - 1)) / count
    height = top + rows * side + (rows - 1) * between + 44
    canvas, axes = _canvas(WIDTH, height, [(edge + place * (width + gap), top + row * (side + between), width, side)
                                           for row in range(rows) for place in range(count)])
    for one in axes:
        one.grid(color=COLOURS["grid"])
        one.yaxis.set_major_formatter(lambda value, _: given(round(value, 10)))
    _legend(canvas, legend, edge)
    return canvas, axes


def titled(axes: Axes, title: str, *, beside: str = "", x: str = "", y: str = "") -> None:
    """Words around a panel: its title, what stands under it, and what its axes are."""
    axes.annotate(printable(title), (0, 1), (0, 30 if beside else 14), xycoords="axes fraction",
                  textcoords="offset points", fontsize=13, weight="bold", color=COLOURS["ink"])
    for said, place, shift, ha in ((beside, (0, 1), (0, 13), "left"), (x, (1, 0), (0, -36), "right"),
                                   (y, (0, 1), (-8, 13), "right")):
        if said:
            axes.annotate(printable(said), place, shift, xycoords="axes fraction", textcoords="offset points", ha=ha,
                          fontsize=12, color=COLOURS["soft"])


def dot(axes: Axes, x: float, y: float, role: str, size: float = 9.0, alpha: float = 1.0) -> None:
    """A dot, or a ring where `role` says hollow."""
    name, hollow = role.split(maxsplit=1)[0], "hollow" in role
    axes.plot([x], [y], "o", ms=size, mfc=COLOURS["ground" if hollow else name], mew=2 if hollow else 1, alpha=alpha,
              mec=COLOURS[name if hollow else "ground"], clip_on=False, zorder=4)


def whisker(axes: Axes, x: Sequence[float], y: Sequence[float], role: str) -> None:
    """An interval."""
    axes.plot(x, y, lw=1.6, alpha=0.6, color=COLOURS[role.split(maxsplit=1)[0]], solid_capstyle="round", zorder=3)


def upright(axes: Axes, x: float, estimate: Mapping[str, Any], role: str, size: float = 9.0) -> None:
    """An estimate with its interval standing upright; nothing where there is none."""
    if estimate["value"] is None:
        return
    if estimate["low"] is not None and estimate["high"] is not None:
        whisker(axes, [x, x], [estimate["low"], estimate["high"]], role)
    dot(axes, x, estimate["value"], role, size)


def curve(axes: Axes, points: Sequence[tuple[float, float]], role: str, **options: Any) -> None:
    """A line through points, dashed for a control."""
    style = (0, (5, 3)) if role == "placebo" else "-"
    axes.plot([x for x, _ in points], [y for _, y in points],
              **{"lw": 2, "color": COLOURS[role], "ls": style, "zorder": 3, **options})


def across(axes: Axes, value: float | None, role: str) -> None:
    """A line over the whole width: "soft" for chance, "tolerance"."""
    if value is not None and axes.get_ylim()[0] <= value <= axes.get_ylim()[1]:
        axes.axhline(value, color=COLOURS[role], lw=1.2, ls="-" if role == "soft" else (0, (5, 4)), zorder=2)


def reach(values: Sequence[float], low: float = 0.4, high: float = 0.7) -> tuple[float, float]:
    """The ends of an axis of shares that holds `values` and at least `low` to `high`."""
    return max(0.0, min([low, *values]) - 0.02), min(1.0, max([high, *values]) + 0.02)


def _canvas(width: float, height: float, boxes: Sequence[tuple[float, float, float, float]]
            ) -> tuple[Canvas, list[Axes]]:
    can_draw()
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(width / 72, height / 72), dpi=72, facecolor="none")
    found = []
    for x, top, across_, down in boxes:
        axes = canvas.add_axes((x / width, 1 - (top + down) / height, across_ / width, down / height), facecolor="none")
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, labelsize=12, labelcolor=COLOURS["soft"], pad=6)
        axes.set_axisbelow(True)
        found.append(axes)
    return canvas, found


def _legend(canvas: Canvas, entries: Sequence[tuple[str, str]], left: float, *, narrow: bool = False) -> None:
    """Entries of a role and words: dots, or with " line", " area" or " dashed" behind the role what that says."""
    if not entries:
        return
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for role, _ in entries:
        name, *kind = role.split()
        colour = COLOURS[name]
        if "area" in kind:
            handles.append(Patch(facecolor=colour, alpha=1.0 if name == "null" else 0.16, lw=0))
        elif "line" in kind or "dashed" in kind:
            handles.append(Line2D([], [], color=colour, lw=2, ls=(0, (5, 3)) if "dashed" in kind else "-"))
        else:
            hollow = "hollow" in kind
            handles.append(Line2D([], [], ls="", marker="o", ms=9, mfc=COLOURS["ground"] if hollow else colour,
                                  mec=colour if hollow else COLOURS["ground"], mew=2 if hollow else 1))
    width, height = canvas.get_size_inches() * 72
    canvas.legend(handles, [said for _, said in entries], loc="upper left", ncols=1 if narrow else len(entries),
                  frameon=False, fontsize=12, labelcolor=COLOURS["soft"], borderpad=0, borderaxespad=0,
                  handlelength=1.8, columnspacing=1.6, bbox_to_anchor=(left / width, 1 - 2 / height))
