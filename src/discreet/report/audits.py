"""What the pages of both audits have: the headline, key figures, controls, reasons, claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from discreet.core.numbers import NOTHING, say
from discreet.report.summary import Bullets, Control, Controls, Facts, Key, Record, Section, Text


def headline(record: Record, headlines: Mapping[str, str], **figures: str) -> tuple[str, str]:
    """Headline and scope of a summary: of how many models, where there are several; `figures` fill the templates."""
    targets, verdict, scope = record["targets"], record["verdict"], ""
    n = sum(one["verdict"] == verdict for one in targets)
    model = "this model" if len(targets) == 1 else "these models"
    if len(targets) > 1 and verdict != "pass":
        model = "it" if n == 1 else "each of them"
        of = f"{n} of {len(targets)}" if n < len(targets) else "both" if n == 2 else f"all {n}"
        scope = f" for {of} models"
    return headlines[verdict].format(model=model, **figures), scope


def key(text: str, estimate: Record, show: Callable[[float], str], control: str = "") -> Key:
    """A key figure of an estimate, its numbers written by `show`, with what is said of its control."""
    if estimate["value"] is None:
        return Key(NOTHING, f"{text}. Unresolved: {estimate['reason']}.")
    low, high = ("" if None in (estimate["low"], estimate["high"]) else show(estimate[end]) for end in ("low", "high"))
    return Key(show(estimate["value"]), text, low, high, control)


def control_of(figure: str) -> str:
    """What is said of the control of a key figure: its `figure`, which is empty where there is none."""
    return f"control {figure}" if figure else "no control"


def controls_section(verdict: str, shown: tuple[Control, ...]) -> Section:
    """The controls; a verdict is not called believable over one that does not hold."""
    broken = verdict == "inconclusive" or any(one.state == "broken" for one in shown)
    return Section("What the controls say" if broken else "Why this can be believed", (Controls(shown),),
                   name="believe", terminal=True)


def controls_of(states: Record, words: Record, facts: Record) -> tuple[Control, ...]:
    """The controls by the states that the audit gave them; `facts` fill the sentences of their codes."""
    return tuple(Control(name, states[key]["state"], "".join(say(words[code], facts) for code in states[key]["codes"]))
                 for key, name in words["names"].items())


def decisive(record: Record) -> Record:
    """The target that the verdict of the whole is explained by."""
    found: Record = next(one for one in record["targets"] if one["target"] == record["decisive"])
    return found


def because_of(target: Record) -> tuple[Text, ...]:
    """The reasons of a target's verdict."""
    return tuple(Text(reason, "because") for reason in target["reasons"])


def unresolved(reasons: Iterable[tuple[str, str]], between: str = ", ") -> Facts | None:
    """Each reason once, with the attacks that it concerns, from pairs of both."""
    found: dict[str, dict[str, None]] = {}
    for name, reason in reasons:
        found.setdefault(reason, {})[name] = None
    return Facts(tuple((between.join(names), reason) for reason, names in found.items()),
                 "What could not be computed, and why") if found else None


def claims(said: Record) -> Section:
    """What an audit can say, and what it cannot."""
    return Section("What this audit can say, and what it cannot", (
        Bullets("It can say", tuple(said["can"])), Bullets("It cannot say", tuple(said["cannot"]))), name="claims")
