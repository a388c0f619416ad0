"""What an attacker gets of one target of a membership audit, and which members can be named one by one: sections of its
page, and key figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from discreet.core.numbers import interval, percent, printable, say
from discreet.report import audits
from discreet.report import summary as page
from discreet.report.membership_charts import Audited

Figure = tuple[str, page.Record, Callable[[float], str], str]
RARE = 0.01
"""Shares below this are written with a decimal."""


def lead(one: Audited) -> str:
    """The sentence that a reader can defend, of the larger FPR; where the verdict is *fail*, what is shown at least."""
    return next((" ".join(filter(None, _sentences(one, bound))) for bound in one.facts.get("named", ())), "")


def section(one: Audited, words: page.Record) -> page.Section | None:
    """The sentences at every FPR, and what naming is worth at each base rate; None for a record without them."""
    said, named = words["attackers"], one.facts.get("named", ())
    if not named:
        return None
    rows = [{**gain, "rate": share(gain["base_rate"]), "others": share(gain["fpr"]),
             "times": interval(gain["lift"], show=lambda value: f"{value:.1f}")}
            for gain in one.facts["gains"] if gain["ppv"]["value"] is not None]
    sentences = tuple(" ".join(filter(None, _sentences(one, bound))) for bound in named)
    return page.Section(said["title"], page.blocks(page.Bullets("", sentences), page.tabled(
        said["columns"], rows, note=said["note"])), name="attackers")


def _sentences(one: Audited, bound: page.Record) -> tuple[str, ...]:
    # What the strongest attack names at least is a finding of a leak only where the verdict is one.
    return bound["at_most"], bound["at_least"] if one.facts["verdict"] == "fail" else ""


def keys(one: Audited, words: page.Record) -> Iterator[Figure]:
    """The TPRs of the deciding attack at 1% FPR, and at .1% where that is resolved, and what naming is worth: what each
    says, its estimate, how it is written, and what is said of its control."""
    primary = one.primary
    for name, others in (("tpr_at_1pct_fpr", "1%"), ("tpr_at_0_1pct_fpr", "0.1%")):
        tpr = None if primary is None else primary.get(name)
        if primary is None or tpr is None or (tpr["value"] is None and name != "tpr_at_1pct_fpr"):
            continue
        difference = primary["difference"].get(name)
        zero = words["zero"].format(others=others) if tpr["value"] == 0 else ""
        yield words["tpr"].format(others=others) + zero, tpr, percent, _control(tpr, difference)
    gains = one.facts.get("gains", ())
    if gains:
        first, *rest = [gain for gain in gains if gain["fpr"] == gains[0]["fpr"]]
        text = words["gain"].format(people=share(first["base_rate"]), others=share(first["fpr"])) + "".join(
            words["gain_too"].format(people=share(gain["base_rate"]), named=percent(gain["ppv"]["value"]))
            for gain in rest if gain["ppv"]["value"] is not None)
        yield text, first["ppv"], percent, audits.control_of(interval(first["control_ppv"], show=percent, missing=""))


def _control(tpr: page.Record, difference: Any) -> str:
    """The control model's share and the paired difference."""
    if not difference or difference["value"] is None:
        return audits.control_of("")
    points = f"difference {interval(difference, show=lambda value: f'{100 * value:+.1f}')} points"
    if tpr["value"] is None:
        return f"no control, {points}"
    # The difference of two shares of the same members: what rounding leaves below 0 is none.
    return f"control {percent(max(0.0, tpr['value'] - difference['value']))}, {points}"


def share(value: float) -> str:
    """"10%", "1%", "0.1%"."""
    return percent(value, 0) if value >= RARE else percent(value)


def record_sections(one: Audited, words: page.Record) -> Iterator[page.Section]:
    """What the list means, its parts and its first names; for the terminal a sentence. Nothing for a record without
    them."""
    risk, said = one.facts.get("records"), words["records"]
    if risk is None:
        return
    parts = [{**part, "groups": part["controls"] if part["controls"] != part["nonmembers"] else None}
             for part in risk["parts"]]
    names = [{**row, "id": printable(row["id"])} for row in risk["first"]]
    title = say(said["first"], {"shown": len(names), "named": int(risk["named"]["value"] or 0)})
    yield page.Section(said["title"], page.blocks(
        page.Text(risk["said"], "prose"), page.tabled(said["columns"], parts, note=say(said["note"], risk)),
        page.tabled(said["names"], names, title=title)), name="records")
    yield page.Section("", (page.Text(risk["brief"]),), name="records-brief", terminal=True, page=False)
