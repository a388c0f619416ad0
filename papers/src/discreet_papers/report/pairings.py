"""`reproduce pairings` to its summary: each configuration on each pairing of partitions."""

from __future__ import annotations

from discreet.core.numbers import say
from discreet.report import summary as page
from discreet_papers.report.words import words_of


def summary(record: page.Record) -> page.Summary:
    """The summary of `reproduce pairings`: a table a pairing, of the texts that each configuration keeps."""
    point, found = record["point"], record["configurations"]
    words = words_of("reproduce pairings")
    paired, subtyped = ([[head.format(point=point), cell] for head, cell in words[name]]
                        for name in ("paired", "subtypes"))
    sections = []
    for pairing in dict.fromkeys(name for of in found.values() for name in of):
        rows = [{**of[pairing], "name": name} for name, of in found.items()]
        subtypes = found.get("default", {}).get(pairing, {}).get("subtypes", {})
        sections.append(page.part(pairing.replace("_", " "), page.tabled(paired, rows), page.tabled(
            subtyped, [{**of, "name": kind} for kind, of in subtypes.items()])))
    mixtures = [(name, say(words["components"], one)) for name, one in (record.get("components") or {}).items()]
    if mixtures:
        sections.append(page.part("Gaussian mixtures", page.table(("configuration", "components"), mixtures)))
    return page.Summary(
        "reproduce pairings", f"{record['domain']}: texts that the detector does not abstain on; default "
        f"point {point}", sections=tuple(sections))
