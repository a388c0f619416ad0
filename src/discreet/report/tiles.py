"""The figures that say what a leak, or its absence, means, each beside its placebo's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from discreet.report.audited import Audited, Record
from discreet.report.figures.figure import span, spoken


def tiles(one: Audited, record: Record) -> list[dict[str, str]]:
    """`{figure, beside, placebo, said, why}`; `why` instead of a figure where there is none."""
    primary, facts, base = one.primary, one.facts["controls"], record["provenance"]["base_rate"]
    if primary is None:
        return []
    found: list[tuple[str, Mapping[str, Any] | None, Callable[[float], str], str]] = [
        ("chance that a random member outranks a random non-member; a coin toss gives .500", primary["auc"], _auc,
         beside_auc(primary)),
        ("of members found while 1% of others are wrongly named", primary["tpr_at_1pct_fpr"], rate,
         beside_tpr(primary, "tpr_at_1pct_fpr")),
        (f"of those an attacker names are members, where {_share(base)} of people are and 5% of the others are wrongly "
         f"named", facts.get("ppv"), rate, beside(facts, "ppv", rate)),
        ("is the least that the privacy parameter ε of this training run can be, with 95% confidence; 0 says nothing",
         facts.get("epsilon_lower"), epsilon, beside_epsilon(facts)),
    ]
    if facts.get("group_auc", {}).get("value") is not None:
        found.insert(1, ("the same for all records of one person together", facts["group_auc"], _auc,
                         beside(facts, "group_auc", _auc)))
    return [_tile(said, estimate, show, stands) for said, estimate, show, stands in found if estimate is not None]


def lines(one: Audited, record: Record) -> list[str]:
    """The AUC per person, the PPV and the lower bound on ε, each beside its placebo's, a sentence each."""
    primary, facts, base = one.primary, one.facts["controls"], record["provenance"]["base_rate"]
    found = []
    if facts.get("group_auc", {}).get("value") is not None:
        found.append(f"AUC of all records of one person together: {_with_ends(facts['group_auc'], _auc)}; "
                     f"{beside(facts, 'group_auc', _auc)}")
    if primary is not None and (ppv := facts.get("ppv")) is not None:
        said = f"unresolved ({ppv['reason']})" if ppv["value"] is None else (
            f"{_with_ends(ppv, rate)}; {beside(facts, 'ppv', rate)}")
        found.append(f"PPV where {_share(base)} are members and 5% of others are wrongly named: {said}")
    if (bound := facts.get("epsilon_lower")) is not None:
        said = f"unresolved ({bound['reason']})" if bound["value"] is None else (
            f"at least {epsilon(bound['value'])}, with 95% confidence; {beside_epsilon(facts)}")
        found.append(f"Epsilon of this training run: {said}")
    return found


def beside(facts: Record, name: str, show: Callable[[float], str]) -> str:
    """ "placebo 1.7% (1.0% to 2.9%)": the same figure of the placebo."""
    found = facts.get(f"placebo_{name}")
    if found is None or found["value"] is None:
        return "uncontrolled"
    return f"placebo {_with_ends(found, show)}"


def beside_epsilon(facts: Record) -> str:
    """ "placebo at least 0.00": of training that saw neither side nothing but 0 is true."""
    found = facts.get("placebo_epsilon_lower")
    if found is None or found["value"] is None:
        return "uncontrolled"
    return f"placebo at least {epsilon(found['value'])}{', where 0 is true' if found['value'] else ''}"


def beside_auc(primary: Record) -> str:
    """ "placebo .501 (.466 to .536)"."""
    return "uncontrolled" if primary["placebo_auc"]["value"] is None else f"placebo {span(primary['placebo_auc'], 3)}"


def beside_tpr(primary: Record, name: str) -> str:
    """ "placebo 4.3%, difference +28.0 points (+14.6 to +36.3)": on the same rows, so the difference is paired."""
    placebo, difference = placebo_tpr(primary, name), primary["difference"].get(name)
    if placebo is None or difference is None:
        return "uncontrolled"
    value, low, high = (f"{100 * difference[end]:+.1f}" for end in ("value", "low", "high"))
    return f"placebo {rate(placebo)}, difference {value} points ({low} to {high})"


def placebo_tpr(primary: Record, name: str) -> float | None:
    """The placebo's TPR: the target's less their difference on the same rows. None without a placebo."""
    difference = primary["difference"].get(name)
    if primary[name]["value"] is None or difference is None or difference["value"] is None:
        return None
    # The difference of two shares of the same members: what rounding leaves below 0 is none.
    return max(0.0, float(primary[name]["value"] - difference["value"]))


def rate(value: float) -> str:
    """ "4.3%"."""
    return f"{100 * value:.1f}%"


def epsilon(value: float) -> str:
    """ "2.73"."""
    return f"{value:.2f}"


def _auc(value: float) -> str:
    return spoken(value, 3)


def _share(base: float) -> str:
    return f"{100 * base:g}%"


def _with_ends(estimate: Record, show: Callable[[float], str]) -> str:
    low, high, said = estimate["low"], estimate["high"], show(estimate["value"])
    return said if low is None or high is None else f"{said} ({show(low)} to {show(high)})"


def _tile(said: str, estimate: Mapping[str, Any], show: Callable[[float], str], stands: str) -> dict[str, str]:
    value, low, high = estimate["value"], estimate["low"], estimate["high"]
    if value is None:
        return {"figure": "–", "said": said, "beside": "", "placebo": "", "why": f"Unresolved: {estimate['reason']}."}
    return {"figure": show(value), "said": said, "why": "", "placebo": stands,
            "beside": "" if low is None or high is None else f"{show(low)} to {show(high)}"}
