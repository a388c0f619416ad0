"""The three leak classes of the threat model (section III-B) as suites: how many of each a guard flags, and how many of
their controls, which had the same question and passages.

The guard reads the answer and compares nothing with the passages that the paper's threat model lets it see: where an
attribute comes from changes nothing about what the answer tells. The suites say whether that holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from discreet.core.records import Answer
from discreet.guard.domains import builtin_domains
from discreet.guard.guard import Guard
from discreet.stats import rate_estimate
from discreet.synth.leaks import LEAKS, LeakCase, make_leaks

Row = dict[str, Any]
UNLISTED = ("L4", "L6", "L7")
"""Profiles whose towns, jobs, employers and relations stand in no list of the package."""


def leak_rows(n: int, seed: int = 0, data: Path | None = None, domains: Sequence[str] | None = None) -> Iterator[Row]:
    """`measure_leaks` of n cases of each leak in some domains, by default the built-in ones, by the default guard of
    each. `data` is not used: the suite needs no text of others."""
    for domain in domains or builtin_domains():
        yield from measure_leaks(Guard(domain), make_leaks(domain, n, seed))


def measure_leaks(guard: Guard, cases: Sequence[LeakCase]) -> Iterator[Row]:
    """A row for each leak and each kind of its cases.

    `flagged` and `held` (flagged or not decided) are shares of the leaking answers, `control_flagged` and
    `control_held` of the controls; `passage_flagged` of the passages that tell one attribute of a person, which should
    be innocuous one by one, and `general_flagged` of those that speak of nobody. All of these are of texts that pass
    layer 1; `direct` is the share of answers that do not, which hold no direct identifier: its false alarms. Wilson
    intervals at 95%; None where nothing was counted. Cases are "all", those whose facts are in words that the
    gazetteers do not hold ("unlisted words"), the other ones, and retentions that are verbatim or restated.
    """
    kinds: dict[str, Callable[[LeakCase], bool]] = {
        "all": lambda _: True, "unlisted words": lambda c: c.profiles[0] in UNLISTED,
        "listed words": lambda c: c.profiles[0] not in UNLISTED, "verbatim": lambda c: c.verbatim,
        "restated": lambda c: c.leak == "retention" and not c.verbatim}
    def said(answer: Answer) -> str:
        verdict = guard.check(answer)
        return "direct" if verdict.layer == "direct" else verdict.action

    judged = [(case, [said(one) for one in case.answers()],
               [(len(of), said(Answer(f"{case.id}-{i}", text))) for i, (text, of)
                in enumerate(zip(case.sources, case.told, strict=True))]) for case in cases]
    for leak in LEAKS:
        for kind, of_kind in kinds.items():
            chosen = [each for each in judged if each[0].leak == leak and of_kind(each[0])]
            if not chosen:
                continue
            leaking, control = ([actions[i] for _, actions, _ in chosen] for i in (0, 1))
            one, none = ([action for _, _, passages in chosen for told, action in passages if told == k]
                         for k in (1, 0))
            yield {"suite": "leaks", "domain": chosen[0][0].domain, "leak": leak, "cases": kind, "n": len(chosen),
                   "flagged": _share(leaking, ("flag",)), "held": _share(leaking, ("flag", "abstain", "failed")),
                   "control_flagged": _share(control, ("flag",)),
                   "control_held": _share(control, ("flag", "abstain", "failed")),
                   "passage_flagged": _share(one, ("flag",)) if one else None,
                   "general_flagged": _share(none, ("flag",)) if none else None,
                   "direct": rate_estimate((leaking + control).count("direct"), 2 * len(chosen), unit="answer",
                                           of="answers", method="wilson")}


def _share(actions: Sequence[str], counted: Sequence[str]) -> Any:
    passed = [action for action in actions if action != "direct"]
    return rate_estimate(sum(action in counted for action in passed), len(passed), unit="answer", of="answers",
                         method="wilson")
