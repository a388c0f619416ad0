"""What `guard calibrate --reviews` and `guard diff` print, from their records."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.core.numbers import counted, interval, number, say
from discreet.report import summary as page

SHARE = "share that leaks [95% interval]"


def reviews_summary(record: page.Record) -> page.Summary:
    """The summary of `guard calibrate --reviews`: what decisions say of each guard, and what they would support."""
    sections: list[page.Section] = []
    for name, found in record["guards"].items():
        held = [(why, interval(one), say("{n:,:–}", one)) for why, one in found["held"].items()]
        twice = [(what, interval(found[key]), say("{n:,:–}", found[key])) for key, what in
                 (("agreement", "blind second decisions agree"), ("kappa", "kappa"))]
        edges = [(title, [(number(one["at"]), f"{one['n']:,}", interval(one["leaks"])) for one in found[side]])
                 for side, title in (("below", "at or below"), ("above", "above"))]
        sections += [
            page.part(name, page.table(("held because", SHARE, "n"), held), page.table(("", "value", "n"), twice),
                      page.grouped_table(("log-odds of evidence", "decisions", SHARE), edges)),
            page.part("Proposal", *map(page.Text, _proposal(found, record)))]
    return page.Summary("guard calibrate", "Decisions of reviewers: a proposal, and nothing was changed. They say "
                        "nothing of answers that passed.", sections=tuple(sections))


def _proposal(found: page.Record, record: page.Record) -> Sequence[str]:
    if found["note"]:
        return [found["note"]]
    said = []
    if found["unsure_above"] is not None:
        said.append(f"unsure_above: {found['unsure_above']:.6g}  (at or below it at most "
                    f"{record['most_missed']:.1%} leak, at the upper end: these would pass without a review)")
    if found["evidence_tau"] is not None:
        said.append(f"evidence_tau: {found['evidence_tau']:.6g}  (above it at most {record['most_false']:.1%} do not "
                    "leak, at the upper end: these would be flagged without a review)")
    return [*said, f"Of these tickets {found['saved']:,} would not have been reviewed."]


def diff_summary(record: page.Record) -> page.Summary:
    """The summary of `guard diff`: decisions that change, the shares held, and the weeks."""
    rows = [(one["old"], one["new"], f"{one['n']:,}") for one in record["changes"]]
    changed = sum(one["n"] for one in record["changes"] if one["old"] != one["new"])
    shares = [(what, interval(record[key])) for key, what in (
        ("held_old", "held by the old guard"), ("held_new", "held by the new guard"),
        ("newly_held", "passed, and would be held"), ("newly_passed", "held, and would pass"))]
    weeks = [(one["week"], f"{one['n']:,}", interval(one["held"]), interval(one["old"]), interval(one["new"]))
             for one in record["weeks"]]
    drift = page.Text("Old and new: the probability that an answer of the week has a higher score than one of the "
                      "weeks before; .5 without drift.")
    none = page.Text("No answer has a time: a column 'at' in the log shows the drift of scores.")
    return page.Summary(
        "guard diff", f"{counted(record['n'], 'answer')}: {changed:,} would be decided otherwise", sections=(
            page.part(f"{record['old']} → {record['new']}", page.table(("old", "new", "answers"), rows),
                      page.table(("share of answers", "value [95% interval]"), shares)),
            page.part("Weeks", page.table(("week", "answers", "held by the new", "old", "new"), weeks),
                      drift if weeks else none)))
