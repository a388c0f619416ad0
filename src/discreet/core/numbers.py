"""How numbers and names are written, alike on pages, the terminal, Markdown tables and in sentences of a verdict.

Shares and AUCs are written without the zero before the point (".882"), an interval stands in brackets behind its
estimate (".882 [.848, .911]"), and what could not be computed is never written as zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import inf
from string import Formatter
from typing import Any, TypeAlias

from discreet.core.records import Estimate

UNRESOLVED = "unresolved"
NOTHING = "–"
"""Stands in a cell that does not apply."""
SEVERAL: Mapping[str, str] = {"class": "classes", "category": "categories"}
"""Of a kind of part of the data, where it is not the kind with an s."""


def number(value: float | None, digits: int = 3, *, sign: bool = False, missing: str = UNRESOLVED) -> str:
    """".882"; "−.025"; with `sign` "+.025", and ".000" never has a minus."""
    if value is None:
        return missing
    said = f"{abs(value):.{digits}f}"
    said = said[1:] if said.startswith("0.") else said
    negative = value < 0 and said.strip(".0") != ""
    return ("−" if negative else "+" if sign else "") + said


def percent(value: float | None, digits: int = 1, *, missing: str = UNRESOLVED) -> str:
    """"61.2%" for a share of .612."""
    return missing if value is None else f"{100 * value:.{digits}f}%"


def interval(estimate: Estimate | Mapping[str, Any] | None, digits: int = 3, *, sign: bool = False,
             show: Callable[[float], str] | None = None, missing: str = UNRESOLVED) -> str:
    """".882 [.848, .911]", or the value alone where there is no interval.

    Parameters
    ----------
    estimate : Estimate, the mapping of its `to_json`, or None
    show : callable or None
        How each of the three numbers is written; `number` with `digits` and `sign` if None.
    missing : str
        What is written where there is no value.
    """
    if isinstance(estimate, Estimate):
        estimate = estimate.to_json()
    if estimate is None or estimate["value"] is None:
        return missing
    shown = show or (lambda value: number(value, digits, sign=sign))
    if estimate["low"] is None or estimate["high"] is None:
        return shown(estimate["value"])
    return f"{shown(estimate['value'])} [{shown(estimate['low'])}, {shown(estimate['high'])}]"


def share(estimate: Estimate | Mapping[str, Any] | None, digits: int = 1, *, missing: str = UNRESOLVED) -> str:
    """"61.2% [56.3%, 66.0%]"."""
    return interval(estimate, show=lambda value: percent(value, digits), missing=missing)


def share_of(estimate: Estimate | Mapping[str, Any]) -> str:
    """"61.2% [56.3%, 66.0%] of 400"; what was counted goes after it."""
    n = estimate.n if isinstance(estimate, Estimate) else estimate["n"]
    return share(estimate) + ("" if n is None else f" of {n:,}")


def given(value: float) -> str:
    """A number as a user gave it: ".55", "2"."""
    said = f"{value:g}"
    return said[1:] if said.startswith("0.") else said


def p_value(p: float | None) -> str:
    """".034"; "< .001"."""
    return NOTHING if p is None else "< .001" if p < 0.001 else number(p)


def epsilon(value: float | str | None) -> str:
    """A privacy parameter as it was given: "2", "0.25", "∞" for infinity or "inf"."""
    return NOTHING if value is None else "∞" if value in ("inf", inf) else f"{float(value):g}"


def bound(estimate: Estimate | Mapping[str, Any] | None, *, missing: str = NOTHING) -> str:
    """"2.16": a lower bound on ε."""
    value = estimate.value if isinstance(estimate, Estimate) else None if estimate is None else estimate["value"]
    return missing if value is None else f"{value:.2f}"


def counted(n: int, one: str, several: str | None = None) -> str:
    """"1 row", "1,204 rows"; `several` where it is not `one` with an s."""
    return f"{n:,} {one if n == 1 else several or one + 's'}"


def times(n: int) -> str:
    """"once", "4 times"."""
    return "once" if n == 1 else f"{n:,} times"


def listed_parts(parts: Iterable[tuple[str, str]], most: int = 5) -> str:
    """Names of parts of the data such as "class 1", given with their kinds: "class 1 and 245 categories".

    Of a kind with more than `most` it says how many there are.
    """
    names: dict[str, list[str]] = {}
    for kind, name in parts:
        names.setdefault(kind, []).append(name)
    said: list[str] = []
    for kind, found in names.items():
        said += found if len(found) <= most else [counted(len(found), kind, SEVERAL.get(kind))]
    return listed(said) if said else ""


def listed(names: Sequence[Any]) -> str:
    """"a, b and c"."""
    *others, last = map(str, names)
    return f"{', '.join(others)} and {last}" if others else last


REFERENCES: Mapping[str | None, str] = {None: "none", "paired": "paired", "neutral": "neutral",
                                        "population": "population"}
SELECTIONS: Mapping[str, str] = {"global": "all", "boundary": "boundary", "boundary_union": "boundary, pooled"}
LABEL_ATTACKS: Mapping[str, str] = {
    "lia_threshold": "LIA-Threshold", "lia_delta_margin": "LIA-Delta-Margin", "lira_label": "LiRA-label",
    "reference": "reference-calibrated", "likeliest": "likeliest class"}
LOSS_AT: Mapping[str, str] = {
    "predicted": "loss at the predicted label", "original": "loss at the original label",
    "canary": "loss at the canary label itself", "trained": "loss at the trained label itself"}


def attack_name(row: Mapping[str, Any], *, scale: bool = True, reference: bool = True) -> str:
    """"reference ratio, neutral, logit scale": the attack of a row of a membership audit."""
    parts = [str(row["attack_title"])]
    if reference and row["reference_kind"] is not None:
        parts.append(REFERENCES[row["reference_kind"]])
    if scale:
        parts.append(f"{row['scale']} scale")
    return ", ".join(parts)


def label_attack_name(row: Mapping[str, Any], *, brief: bool = False) -> str:
    """"LIA-Delta-Margin, loss at the predicted label, β/α 1": `row` has the keys of `Settings.to_json()`, and tuned.

    `brief`, for a column: "LIA-Delta-Margin at predicted, β/α 1".
    """
    said = [LABEL_ATTACKS.get(row["attack"], str(row["attack"]).replace("_", " "))]
    source = row["loss_labels"]
    if source is not None and brief:
        said[0] += f" at {source}"
    elif source is not None:
        said.append(LOSS_AT.get(source, str(source)))
    threshold = row["threshold"]
    if threshold is not None:
        said.append(threshold if isinstance(threshold, str) else f"τ {number(float(threshold), 2)}")
    if row["beta"] is not None and row["alpha"]:
        said.append(f"β/α {row['beta'] / row['alpha']:g}")
    if row["margin"] not in (None, "p1-second"):
        said.append("max" if brief else str(row["margin"]))
    if row["fit"] is not None:
        said.append(str(row["fit"]))
    if row.get("tuned"):
        said.append("tuned")
    return ", ".join(said)


def condition_name(mechanism: str, budget: float | str) -> str:
    """"rr, ε = 2"; "no mechanism"."""
    return "no mechanism" if mechanism == "none" and epsilon(budget) == "∞" else f"{mechanism}, ε = {epsilon(budget)}"


def printable(text: str) -> str:
    """`text` with control characters spelled out: an id or an answer must not steer the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _plain(form: Callable[[Any], str]) -> Callable[[Any], str]:
    """A form of numbers for estimates too."""
    return lambda value: form(value["value"] if isinstance(value, Mapping) else value)


Forms: TypeAlias = Mapping[str, Callable[[Any], str]]
FORMS: Forms = {
    "interval": interval, "interval2": partial(interval, digits=2), "signed": partial(interval, sign=True),
    "share": share, "share0": partial(share, digits=0), "bound": bound, "epsilon": epsilon, "times": times,
    "number": _plain(number), "number2": _plain(partial(number, digits=2)), "p": _plain(p_value),
    "percent": _plain(percent), "percent0": _plain(partial(percent, digits=0)),
    "percent2": _plain(partial(percent, digits=2)), "in_100": _plain(lambda value: f"{100 * value:.0f}")}
"""How a value is written: the functions above by name. Any other form is a format of Python."""


def value_at(record: Any, path: str) -> Any:
    """What stands at a path such as "null_band.0" of a record, "." for all; None where it is not there."""
    for part in path.split(".") if path != "." else ():
        if isinstance(record, Mapping):
            record = record.get(part)
        else:
            record = record[int(part)] if isinstance(record, list | tuple) else None
    return record


def shown(value: Any, form: str = "", missing: str = NOTHING, forms: Forms = FORMS) -> str:
    """A value in one of the `forms`; `missing` for None, an empty word and an estimate without a value."""
    if value is None or value == "" or (isinstance(value, Mapping) and value.get("value", value) is None):
        return missing
    make = forms.get(form) or FORMS.get(form)
    return make(value) if make else format(value, form) if form else str(value)


class _Filled(Formatter):
    def __init__(self, missing: str, forms: Forms) -> None:
        self.missing, self.forms = missing, forms

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        return value_at(kwargs, field_name), field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        form, colon, missing = format_spec.partition(":")
        return shown(value, form, missing if colon else self.missing, self.forms)


def say(template: str, record: Mapping[str, Any], missing: str = UNRESOLVED, forms: Forms = FORMS) -> str:
    """A template with each `{path}`, `{path:form}` or `{path:form:missing}` filled from a record."""
    return _Filled(missing, forms).vformat(template, (), record)
