"""What drawings are made of: rows of dots on one axis, panels in rows, and the marks that are drawn on panels.

All is laid out in pixels of the page: Matplotlib's points, at 72 dots per inch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.core.numbers import given, printable, say, value_at
from discreet.report.figure import COLOURS, Figure, Row, can_draw
from discreet.report.summary import Record, words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

Mark: TypeAlias = Callable[["Axes"], object]
Estimate: TypeAlias = Mapping[str, Any]

WIDTH, NARROW = 960.0, 400.0
ROW, GAP = 24.0, 12.0
LETTER = 7.6
"""Width of a letter of a label, on average, in bold."""
DASHED = (0, (5, 4))


@dataclass(frozen=True, slots=True)
class Line:
    """A row of dots: words and its estimates by role, with space before it, or a heading without any.

    A role is one of `COLOURS`, with " hollow" behind it for a ring. Where `joined`, a line goes from the first mark to
    the last. `band` is drawn behind, `note` to the right.
    """

    label: str
    marks: Sequence[tuple[str, Estimate | None]] = ()
    soft: bool = False
    joined: bool = False
    space: bool = False
    heading: bool = False
    note: str = ""
    band: tuple[float, float] | None = None


def dots(lines: Sequence[Line], *, tolerance: float | None = None, legend: Sequence[tuple[str, str]] = (),
         axis: str = "AUC", labels: float = 300.0, notes: float = 0.0, note_title: str = "", compact: bool = False,
         chance: float | None = 0.5) -> Canvas:
    """Rows of dots with their intervals on one axis, chance and tolerance as lines across.

    `labels` and `notes` are the widths left and right of the axis, the first no wider than the longest label: on a
    narrow screen the axis is then not out of sight. A `compact` drawing has each label above its row.
    """
    width, row = (NARROW, 1.5 * ROW) if compact else (WIDTH, ROW)
    longest = max((LETTER * len(one.label) for one in lines), default=0.0) + 40.0
    left, right = (4.0, width - 10) if compact else (min(labels, longest), width - 24 - notes)
    top = 40.0 + (20.0 * (len(legend) if compact else 1) if legend else 0.0)
    places, y = list[float](), top
    for one in lines:
        y += GAP if one.space and places else 0.0
        height = ROW if one.heading else row
        places.append(y + height / 2)
        y += height
    canvas, (axes,) = _canvas(width, y + 40, [(left, top, right - left, y - top)])
    low, high = reach(mark[end] for one in lines for _, mark in one.marks if mark for end in ("value", "low", "high"))
    axes.set(xlim=(low, high), ylim=(y, top), yticks=[])
    step = 0.2 if compact and high - low > 0.45 else 0.1
    axes.set_xticks([round(tick * step, 10) for tick in range(11) if low <= tick * step <= high])
    axes.xaxis.set_major_formatter(lambda value, _: given(round(value, 10)))
    axes.grid(axis="x", color=COLOURS["grid"])

    def words(x: float, at: float, said: str, **options: Any) -> None:
        canvas.text(x / width, 1 - at / (y + 40), printable(said), va="center", **{"fontsize": 13, **options})

    words(right, y + 32, axis, ha="right", color=COLOURS["soft"], fontsize=12)
    for value, role, said, ha, shift in ((chance, "soft", "chance", "right", -5),
                                         (tolerance, "tolerance", f"tolerance {given(tolerance or 0)}", "left", 5)):
        if value is not None and low <= value <= high:
            axes.axvline(value, color=COLOURS[role], lw=1.2, ls="-" if role == "soft" else DASHED)
            words(left + (value - low) / (high - low) * (right - left) + shift, top - 12, said, ha=ha, fontsize=12,
                  color=COLOURS[role])
    if note_title:
        words(width - 8, top - 12, note_title, ha="right", color=COLOURS["soft"], fontsize=12)
    for one, place in zip(lines, places, strict=True):
        above = place - 8 if compact and not one.heading else place
        words(left if compact else 0 if one.heading else 14, above, one.label,
              color=COLOURS["soft" if one.soft else "ink"], weight="bold" if one.heading else "normal")
        if one.note:
            words(width - 8, above, one.note, ha="right", color=COLOURS["soft"], fontsize=12)
        _row(axes, one, place + 9 if compact else place)
    _legend(canvas, legend, left, below=compact)
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
            whisker([mark["low"], mark["high"]], [y, y], role)(axes)
        dot(mark["value"], y, role)(axes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Axes with their words: `axes` is what `Axes.set` takes, `percent` the axes ("x", "y") written in percent."""

    marks: Sequence[Mark]
    title: str = ""
    under: str = ""
    x: str = ""
    y: str = ""
    axes: Mapping[str, Any] = field(default_factory=dict)
    percent: str = ""


def ticks_of(low: float, high: float, most: int) -> list[float]:
    """At most so many steps of round numbers that cover a range."""
    from matplotlib.ticker import MaxNLocator

    return [float(tick) for tick in MaxNLocator(most).tick_values(low, high)]


def panels(shown: Sequence[Panel], *, columns: int = 2, side: float = 250.0, top: float = 76.0,
           legend: Sequence[tuple[str, str]] = ()) -> Canvas:
    """Panels of equal width in a drawing of the page's width, `columns` in a row."""
    from matplotlib.ticker import NullLocator

    gap, edge, between, rows = 54.0, 48.0, 104.0, -(-len(shown) // columns)
    width = (WIDTH - edge - 28 - gap * (columns - 1)) / columns
    canvas, made = _canvas(WIDTH, top + rows * side + (rows - 1) * between + 44, [
        (edge + place % columns * (width + gap), top + place // columns * (side + between), width, side)
        for place in range(len(shown))])
    for axes, panel in zip(made, shown, strict=True):
        axes.grid(color=COLOURS["grid"])
        axes.yaxis.set_major_formatter(lambda value, _: given(round(value, 10)))
        axes.set(**panel.axes)
        for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
            if name in panel.percent:
                axis.set_major_formatter(lambda value, _: f"{100 * value:.4g}%")
            if axis.get_scale() == "log":
                axis.set_minor_locator(NullLocator())
        axes.annotate(printable(panel.title), (0, 1), (0, 30 if panel.under else 14), xycoords="axes fraction",
                      textcoords="offset points", fontsize=13, weight="bold", color=COLOURS["ink"])
        for said, place, shift, ha in ((panel.under, (0, 1), (0, 13), "left"), (panel.x, (1, 0), (0, -36), "right"),
                                       (panel.y, (0, 1), (-8, 13), "right")):
            if said:
                axes.annotate(printable(said), place, shift, xycoords="axes fraction", textcoords="offset points",
                              ha=ha, fontsize=12, color=COLOURS["soft"])
        for mark in panel.marks:
            mark(axes)
    _legend(canvas, legend, edge)
    return canvas


def dot(x: Any, y: Any, role: str, size: float = 9.0, alpha: float = 1.0) -> Mark:
    """A dot, or a ring where `role` says hollow; several of sequences, none where `y` is None."""
    name, hollow = role.split(maxsplit=1)[0], "hollow" in role
    return lambda axes: y is None or axes.plot(
        x, y, "o", ms=size, mfc=COLOURS["ground" if hollow else name], mew=2 if hollow else 1, alpha=alpha,
        mec=COLOURS[name if hollow else "ground"], clip_on=False, zorder=4)


def whisker(x: Sequence[float], y: Sequence[float], role: str) -> Mark:
    """An interval."""
    return lambda axes: axes.plot(x, y, lw=1.6, alpha=0.6, color=COLOURS[role.split(maxsplit=1)[0]],
                                  solid_capstyle="round", zorder=3)


def upright(x: float, estimate: Estimate, role: str, size: float = 9.0) -> Mark:
    """An estimate with its interval standing upright; nothing where there is none."""
    def draw(axes: Axes) -> None:
        if estimate["value"] is not None and None not in (estimate["low"], estimate["high"]):
            whisker([x, x], [estimate["low"], estimate["high"]], role)(axes)
        dot(x, estimate["value"], role, size)(axes)

    return draw


def curve(points: Iterable[tuple[float, Any]], role: str, **options: Any) -> Mark:
    """A line through points, dashed for a control; those without a height are left out."""
    there = [(x, y) for x, y in points if y is not None]
    style = (0, (5, 3)) if role == "control" else "-"
    return lambda axes: axes.plot([x for x, _ in there], [y for _, y in there],
                                  **{"lw": 2, "color": COLOURS[role], "ls": style, "zorder": 3, **options})


def across(value: float | None, role: str) -> Mark:
    """A line over the whole width, where it is within: "soft" for chance, "tolerance"."""
    return lambda axes: value is not None and axes.get_ylim()[0] <= value <= axes.get_ylim()[1] and axes.axhline(
        value, color=COLOURS[role], lw=1.2, ls="-" if role == "soft" else DASHED, zorder=2)


def band(x: Sequence[float], low: Any, high: Any, role: str = "null", alpha: float = 1.0, **options: Any) -> Mark:
    """An area between two heights, or two sequences of them."""
    return lambda axes: axes.fill_between(x, low, high, color=COLOURS[role], alpha=alpha, lw=0, **options)


def level(x: Sequence[float], y: float | None) -> Mark:
    """A dashed line at one height: a ceiling."""
    return lambda axes: y is None or axes.plot(x, [y] * len(x), color=COLOURS["tolerance"], lw=1.2, ls=DASHED)


def note(x: float, y: float, said: str, shift: tuple[float, float], ha: str = "left") -> Mark:
    """Words beside a place."""
    return lambda axes: axes.annotate(said, (x, y), shift, textcoords="offset points", ha=ha, fontsize=12,
                                      color=COLOURS["soft"])


def reach(values: Iterable[float | None], low: float = 0.4, high: float = 0.7) -> tuple[float, float]:
    """The ends of an axis of shares that holds `values` and at least `low` to `high`."""
    known = [value for value in values if value is not None]
    return max(0.0, min([low, *known]) - 0.02), min(1.0, max([high, *known]) + 0.02)


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


def _legend(canvas: Canvas, entries: Sequence[tuple[str, str]], left: float, *, below: bool = False) -> None:
    """Entries of a role and words: dots, or with " line", " area" or " dashed" behind the role what that says."""
    if not entries:
        return
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for role, _ in entries:
        colour, hollow = COLOURS[role.split()[0]], "hollow" in role
        if "area" in role:
            handles.append(Patch(facecolor=colour, alpha=1.0 if role.startswith("null") else 0.16, lw=0))
        elif "line" in role or "dashed" in role:
            handles.append(Line2D([], [], color=colour, lw=2, ls=(0, (5, 3)) if "dashed" in role else "-"))
        else:
            handles.append(Line2D([], [], ls="", marker="o", ms=9, mew=2 if hollow else 1,
                                  mfc=COLOURS["ground"] if hollow else colour,
                                  mec=colour if hollow else COLOURS["ground"]))
    width, height = canvas.get_size_inches() * 72
    canvas.legend(handles, [said for _, said in entries], loc="upper left", ncols=1 if below else len(entries),
                  frameon=False, fontsize=12, labelcolor=COLOURS["soft"], borderpad=0, borderaxespad=0,
                  handlelength=1.8, columnspacing=1.6, bbox_to_anchor=(left / width, 1 - 2 / height))


# Figures


def drawn(name: str, draw: Callable[[], Canvas], data: Iterable[Row], words: str = "", **options: Any) -> Figure:
    """A figure with the title and caption of `words`, or of its name, in `words.yaml`, filled with further options.

    `table` and `compact` are those of `Figure`.
    """
    said = words_of("figures")[words or name]
    own = {key: options.pop(key) for key in ("table", "compact") if key in options}
    title, caption = (said[part].format(**options) for part in ("title", "caption"))
    return Figure(name, title, caption, draw, tuple(data), **own)


def dot_figure(name: str, rows: Sequence[Record], marks: Sequence[tuple[str, str]], columns: str = "", *,
               under: Sequence[tuple[str, str]] = (), joined: bool = False, data: Iterable[Row] | None = None,
               words: str = "", said: Mapping[str, Any] | None = None, compact: bool = False, **options: Any
               ) -> Figure | None:
    """A figure of `dots`, a line for each row; None without any.

    `marks` are roles (templates of the row) with the paths of their estimates; those `under` are the control's, on a
    line of its own where there is one. Where `joined`, only the last of a line has its interval: two would cover each
    other; the data has both. A row has its words as `line`, and may have a `heading`, which is written where it
    changes, a `note`, a `control_note`, a `band`, and what `Line` calls `soft` and `space`; `columns`: see `datum`.
    """
    lines, before = list[Line](), None
    for row in rows:
        if (heading := row.get("heading")) not in (None, before):
            lines.append(Line(heading, heading=True, space=True))
        before = heading
        for label, pairs, soft, note_ in ((row["line"], marks, row.get("soft", False), row.get("note", "")),
                                          ("control model", under, True, row.get("control_note", ""))):
            found = [(say(role, row), value_at(row, path)) for role, path in pairs]
            if joined and found:
                found[0] = (found[0][0], {**found[0][1], "low": None, "high": None})
            if found and (pairs is marks or found[-1][1]["value"] is not None):
                lines.append(Line(label, found, soft=soft, joined=joined, note=note_, band=row.get("band"),
                                  space=pairs is marks and row.get("space", joined)))
    return drawn(name, partial(dots, lines, compact=compact, **options), [
        datum(row, columns) for row in rows] if data is None else data, words, compact=compact, **(said or {})
        ) if lines else None


def datum(row: Record, columns: str, **further: Any) -> Row:
    """A row of a figure's data: `further`, then `columns` of the record, "name" or "name=path" between spaces.

    With an asterisk behind its name a column is an estimate, and becomes three: the value, `_low` and `_high`.
    """
    found = dict(further)
    for column in columns.split():
        name, _, path = column.partition("=")
        value = value_at(row, path or name.rstrip("*"))
        if name.endswith("*"):
            found |= {name[:-1] + end: value_at(value, key) for end, key in (
                ("", "value"), ("_low", "low"), ("_high", "high"))}
        else:
            found[name] = value
    return found
