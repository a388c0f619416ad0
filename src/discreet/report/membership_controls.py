"""The key figures of a membership audit with their controls, and what was checked besides them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.core.design import ASSIGNED, STATED, WORDS, decides, known_design, off, reads_apart
from discreet.core.numbers import NOTHING, bound, interval, number, p_value, percent, times
from discreet.core.records import Estimate
from discreet.report.audited import Audited
from discreet.report.summary import Control, Key, Record


def keys(one: Audited, record: Record) -> tuple[Key, ...]:
    """The figures that say what a leak, or its absence, means, each with its control's."""
    primary, facts_, base = one.primary, one.facts["controls"], record["provenance"]["base_rate"]
    if primary is None:
        return ()
    difference = primary["difference"].get("tpr_at_1pct_fpr")
    paired = "" if not difference or difference["value"] is None else (
        f"difference {interval(difference, show=lambda value: f'{100 * value:+.1f}')} points")
    found = [
        ("chance that a random member outranks a random non-member (AUC); a coin toss gives .500", primary["auc"],
         number, interval(primary["placebo_auc"], missing="")),
        ("of members found while 1% of others are wrongly named", primary["tpr_at_1pct_fpr"], percent,
         _control_tpr(primary)),
        (f"of those an attacker names are members, where {percent(base, 0) if base >= 0.01 else percent(base)} of "
         "people are and 5% of the others are wrongly named", facts_.get("ppv"), percent,
         interval(facts_.get("placebo_ppv"), show=percent, missing="")),
        ("is the least that the privacy parameter ε of this training run can be, with 95% confidence; 0 says nothing",
         facts_.get("epsilon_lower"), lambda value: f"{value:.2f}",
         bound(facts_.get("placebo_epsilon_lower"), missing=""))]
    if (facts_.get("group_auc") or {}).get("value") is not None:
        found.insert(1, ("the same for all records of one person together", facts_["group_auc"], number,
                         interval(facts_.get("placebo_group_auc"), missing="")))
    made = [_key(text, estimate, show, f"control {control}" if control else "no "
                                                                            "control") for text, estimate, show, control
            in found if estimate is not None]
    if paired and len(made) > 1:
        place = next(k for k, key in enumerate(made) if "1% of others" in key.text)
        made[place] = Key(made[place].value, made[place].text, made[place].interval, f"{made[place].control}, {paired}")
    return (*made, *_worst(one))


def _key(text: str, estimate: Mapping[str, Any], show: Any, control: str) -> Key:
    if estimate["value"] is None:
        return Key(NOTHING, f"{text}. Unresolved: {estimate['reason']}.")
    said = interval(estimate, show=show)
    return Key(show(estimate["value"]), text, said.partition(" ")[2].strip("[]").replace(", ", " to "), control)


def _control_tpr(primary: Record) -> str:
    """The control's TPR: the target's less their difference on the same rows."""
    one, difference = primary["tpr_at_1pct_fpr"], primary["difference"].get("tpr_at_1pct_fpr")
    if one["value"] is None or not difference or difference["value"] is None:
        return ""
    # The difference of two shares of the same members: what rounding leaves below 0 is none.
    return percent(max(0.0, one["value"] - difference["value"]))


def _worst(one: Audited) -> tuple[Key, ...]:
    """The most exposed of the parts of the data, shown where it is more exposed than all records together."""
    parts = one.parts
    if len(parts) < 2 or one.primary is None or one.primary["auc"]["value"] is None:
        return ()
    name, row = max(parts, key=lambda pair: float(pair[1]["auc"]["value"]))
    if row["auc"]["value"] <= one.primary["auc"]["value"]:
        return ()
    control = interval(row["placebo_auc"], missing="")
    return (_key(f"AUC in the most exposed of {len(parts)} parts: {name} ({row['n_members']:,} members, "
                 f"{row['n_nonmembers']:,} others). Chosen as the largest, so it may be too large", row["auc"], number,
                 f"control {control}" if control else "no control"),)


def controls(one: Audited, record: Record) -> tuple[Control, ...]:
    """What was checked besides the figure."""
    design, found = known_design(record["design"]), one.facts["controls"]
    state = "stated" if design in STATED else "holds" if decides(design) else "lacking"
    said = f"{WORDS[design][0].upper()}{WORDS[design][1:]}."
    return (Control("Chance alone decided who was trained on", state, said),
            _placebo(found.get("placebo_auc"), one.tolerance), _blind(found["blind_auc"], one.tolerance, design),
            _planted(found["planted"], found.get("detectable_auc"), design), _family(one, record["provenance"]))


def _placebo(estimate: Mapping[str, Any] | None, tolerance: float) -> Control:
    name = "The same attack finds nothing on the control model"
    if estimate is None or estimate["value"] is None:
        return Control(name, "lacking", "There is no control model, so no figure here can pass.")
    if off(Estimate.from_json(estimate), tolerance):
        return Control(name, "broken", f"It gets {interval(estimate)} there: it recognises something else than memory.")
    near = estimate["low"] is not None and estimate["low"] <= 0.5 <= estimate["high"]
    state, few = _within(estimate, tolerance)
    return Control(name, state, f"It gets {interval(estimate)} there, "
                                f"{'as a coin toss would' if near else 'off chance by less than the tolerance'}.{few}")


def _blind(estimate: Mapping[str, Any], tolerance: float, design: str) -> Control:
    name = "Without any model, the two sets cannot be told apart"
    if estimate["value"] is None:
        return Control(name, "lacking", f"Not known: {estimate['reason']}.")
    source = "the texts" if "on texts" in estimate["method"] else (
        "labels, categories and lengths (where they are known)")
    state, few = _within(estimate, tolerance)
    if reads_apart(Estimate.from_json(estimate), tolerance):
        # A draw that the run made itself is random whatever the texts show.
        state, few = ("unshown", " The draw was random all the same: see the verdict's reasons.") if (
            design == ASSIGNED) else ("broken", "")
    return Control(name, state, f"From {source} alone one gets {interval(estimate)}.{few}")


def _within(estimate: Mapping[str, Any], tolerance: float) -> tuple[str, str]:
    """Whether a control that should be ½ is shown to be under the tolerance, and what to say where it is not."""
    if estimate["high"] is not None and estimate["high"] < tolerance:
        return "holds", ""
    return "unshown", f" The records are too few to rule out {number(tolerance)}, the tolerance."


def _planted(planted: Sequence[Record], detectable: Mapping[str, Any] | None, design: str) -> Control:
    name = "A leak would have been seen"
    smallest = "" if detectable is None or detectable["value"] is None else (
        f" With this many records a leak of AUC {number(detectable['value'])} in all members is found four times in "
        "five, a smaller one less often.")
    if not planted:
        return Control(name, "holds" if design == "sealed" and smallest else "lacking",
                       "No records were planted on purpose." + smallest)
    said = "; ".join(f"{times(one['repetitions'])} {_one_planted(one)}" for one in planted)
    if all(one["auc"]["value"] is None for one in planted):
        return Control(name, "lacking", f"Records were planted on purpose, but too few to say: {said}.{smallest}")
    seen, level = any(one["detected"] for one in planted), planted[0]["auc"]["level"]
    weak = all(one.get("weak", False) for one in planted)
    if not seen and weak:
        smallest = " They are too few for that to mean much." + smallest
    return Control(name, "holds" if seen else "unshown" if weak else "broken",
                   f"Records planted on purpose {'stand out' if seen else 'do not stand out'}; AUC with "
                   f"{100 * level:.3g}% interval where planted {said}.{smallest}")


def _one_planted(one: Record) -> str:
    if one["auc"]["value"] is None:
        return f"unresolved ({one['auc']['reason']})"
    control = "no control" if one["placebo_auc"]["value"] is None else f"control {interval(one['placebo_auc'])}"
    return f"{interval(one['auc'])}, {control}, {'seen' if one['detected'] else 'not seen'}"


def _family(one: Audited, provenance: Record) -> Control:
    name = "The attack that decides was chosen before any score was read"
    tested = [row["null_p"]["value"] for row in one.rows if not row["oracle"] and row["null_p"]["value"] is not None]
    if not tested:
        return Control(name, "holds", "The other rows were not tested: no permutations were asked for.")
    return Control(name, "holds", f"The other {len(tested) - 1:,} honest rows are tested together, so that luck among "
                                  f"many does not count as a leak: the smallest p of all is {p_value(min(tested))}, "
                                  f"after {provenance['permutations']:,} permutations of the membership labels.")
