"""Which members can be named one by one, of one target of a membership audit: a section of its page."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.core.numbers import printable, say
from discreet.report import summary as page
from discreet.report.membership_charts import Audited


def sections(one: Audited, words: page.Record) -> Iterator[page.Section]:
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
