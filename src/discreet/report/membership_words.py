"""A membership audit in words that need no statistics: the headline, the controls, and the published protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.core.design import DEALT, STATED, WORDS, decides, off, reads_apart
from discreet.core.numbers import p_value
from discreet.core.records import Estimate
from discreet.report.audited import Audited, Record
from discreet.report.figures.figure import span, spoken

HEADLINES = {
    "pass": "Pass: whoever sees {model} scores cannot tell, beyond the tolerance, who was in {its} training set.",
    "fail": "Fail: {model} scores give away who was in {its} training set.",
    "inconclusive": "Inconclusive: from these scores one cannot say whether {model} training set is given away.",
}
LABEL_FREE = ("confidence", "entropy")
BOUNDARY_N = 20
STATES = {"holds": "holds", "stated": "stated", "unshown": "not shown", "broken": "does not hold",
          "lacking": "not there"}


def headline(record: Record) -> str:
    """The verdict in one sentence."""
    targets, verdict = record["targets"], record["verdict"]
    if len(targets) == 1:
        return HEADLINES[verdict].format(model="this model's", its="its")
    n = sum(one["verdict"] == verdict for one in targets)
    if verdict == "pass":
        return HEADLINES["pass"].format(model="these models'", its="their")
    whose = f"{n} of {len(targets)} models: "
    return HEADLINES[verdict].format(model="their", its="their").replace(": ", f" for {whose}", 1)


def lead(one: Audited) -> str:
    """The deciding figure as a bet anyone can picture; empty without one, and where it decides nothing."""
    primary = one.primary
    if primary is None or primary["auc"]["value"] is None or one.facts["verdict"] == "inconclusive":
        return ""
    said = (f"Shown one record from the training set and one from outside, an attacker picks the right one "
            f"{_in_100(primary['auc'])} times in 100; a coin toss picks 50.")
    if primary["placebo_auc"]["value"] is None:
        return said
    return f"{said} On a model that has seen neither, the same attack picks {_in_100(primary['placebo_auc'])}."


def _in_100(estimate: Mapping[str, Any]) -> str:
    return f"{100 * estimate['value']:.0f}"


def plain(sentence: str) -> str:
    """A reason without the asterisks of its emphasis."""
    return sentence.replace("*", "")


def controls(one: Audited, record: Record) -> list[dict[str, str]]:
    """What was checked besides the figure: `{name, state, word, said}`, the state one of `STATES`."""
    design, facts = record["design"], one.facts["controls"]
    chance = "stated" if design in STATED else "holds" if decides(design) else "lacking"
    found = [("Chance alone decided who was trained on", chance, f"{WORDS[design][0].upper()}{WORDS[design][1:]}.")]
    found += [_placebo(facts.get("placebo_auc"), one.tolerance), _blind(facts["blind_auc"], one.tolerance, design)]
    found.append(_planted(facts["planted"], facts.get("detectable_auc"), design))
    found.append(_family(one, record["provenance"]))
    return [{"name": name, "state": state, "word": STATES[state], "said": said} for name, state, said in found]


def _placebo(estimate: Mapping[str, Any] | None, tolerance: float) -> tuple[str, str, str]:
    name = "The same attack on a model trained on neither side finds nothing"
    if estimate is None or estimate["value"] is None:
        return name, "lacking", "No placebo was brought, so no figure here can pass."
    if off(Estimate.from_json(estimate), tolerance):
        return name, "broken", f"It gets {span(estimate, 3)} there: it recognises something else than memory."
    near = estimate["low"] is not None and estimate["low"] <= 0.5 <= estimate["high"]
    state, few = _within(estimate, tolerance)
    return name, state, (f"It gets {span(estimate, 3)} there, "
                         f"{'as a coin toss would' if near else 'off chance by less than the tolerance'}.{few}")


def _blind(estimate: Mapping[str, Any], tolerance: float, design: str) -> tuple[str, str, str]:
    name = "Without any model, the two sets cannot be told apart"
    if estimate["value"] is None:
        return name, "lacking", f"Not known: {estimate['reason']}."
    from_what = "the texts" if "on texts" in estimate["method"] else (
        "labels, categories and lengths (where they are known)")
    state, few = _within(estimate, tolerance)
    if reads_apart(Estimate.from_json(estimate), tolerance):
        # A draw that the run made itself is random whatever the texts show.
        state, few = ("unshown", " The draw was random all the same: see the verdict's reasons.") if (
            design == DEALT) else ("broken", "")
    return name, state, f"From {from_what} alone one gets {span(estimate, 3)}.{few}"


def _within(estimate: Mapping[str, Any], tolerance: float) -> tuple[str, str]:
    """Whether a control that should be ½ is shown to be under the tolerance, and what to say where it is not."""
    if estimate["high"] is not None and estimate["high"] < tolerance:
        return "holds", ""
    return "unshown", f" The records are too few to rule out {spoken(tolerance, 3)}, the tolerance."


def _planted(planted: list[Record], detectable: Mapping[str, Any] | None, design: str) -> tuple[str, str, str]:
    name = "A leak would have been seen"
    smallest = "" if detectable is None or detectable["value"] is None else (
        f" With this many records a leak of AUC {spoken(detectable['value'], 3)} in all members is found four times in "
        "five, a smaller one less often.")
    if not planted:
        return name, "holds" if design == "sealed" and smallest else "lacking", (
            "No records were planted on purpose." + smallest)
    said = "; ".join(f"{_times(one['repetitions'])} {_one_planted(one)}" for one in planted)
    seen, level = any(one["detected"] for one in planted), planted[0]["auc"]["level"]
    if all(one["auc"]["value"] is None for one in planted):
        return name, "lacking", f"Records were planted on purpose, but too few to say: {said}.{smallest}"
    weak = all(one.get("weak", False) for one in planted)
    if not seen and weak:
        smallest = " They are too few for that to mean much." + smallest
    return name, "holds" if seen else "unshown" if weak else "broken", (
        f"Records planted on purpose {'stand out' if seen else 'do not stand out'}; AUC with {100 * level:.3g}% "
        f"interval where planted {said}.{smallest}")


def _one_planted(one: Record) -> str:
    if one["auc"]["value"] is None:
        return f"unresolved ({one['auc']['reason']})"
    beside = "no placebo" if one["placebo_auc"]["value"] is None else f"placebo {span(one['placebo_auc'], 3)}"
    return f"{span(one['auc'], 3)}, {beside}, {'seen' if one['detected'] else 'not seen'}"


def _family(one: Audited, provenance: Record) -> tuple[str, str, str]:
    name = "The attack that decides was chosen before any score was read"
    tested = [row for row in one.rows if not row["oracle"] and row["null_p"]["value"] is not None]
    if not tested:
        return name, "holds", "The other rows were not tested: no permutations were asked for."
    least = min(row["null_p"]["value"] for row in tested)
    return name, "holds", (f"The other {len(tested) - 1:,} honest rows are explored together, so that luck among many "
                           f"does not count as a leak: the smallest p of all is {p_value(least)}, after "
                           f"{provenance['permutations']:,} dealings of membership at random.")


def story(one: Audited) -> dict[str, Any] | None:
    """Why the published protocol's figure is not the verdict: `{title, said}`; None where it accuses nobody."""
    paper, primary = one.paper, one.primary
    if paper is None or paper["auc"]["value"] is None or (paper["auc"]["low"] or 0.0) <= 0.5:
        return None
    said = ["The published test asks two models about each record: yours, and a reference model that was trained on "
            "precisely those records that yours never saw. Where yours is surer, it says “member”.",
            "But the reference knows its own training records by heart and is unusually sure of them. They come out "
            "as “others” and everyone else as a “member”, whichever model stands in your model's place. It is a "
            "line-up whose witness knows all the innocent by name and points at whom he has never met."]
    placebo = paper["placebo_auc"]
    if placebo["value"] is None:
        return {"title": "Why the published test's figure is not the verdict", "said": [*said, (
            f"Here it gives {spoken(paper['auc']['value'])}. How much of that is the reference's own memory, a model "
            "trained on neither side would show; none was brought.")]}
    check = (f"The check: put a model in your model's place that was trained on neither side and so can remember "
             f"nobody. The published test gives it {spoken(placebo['value'])}; yours gets "
             f"{spoken(paper['auc']['value'])}.")
    ours = "" if primary is None or primary["auc"]["value"] is None else (
        f" Asked against references that cannot know either side, your model gets {spoken(primary['auc']['value'])}"
        f" and the other one {spoken(primary['placebo_auc']['value'])}.")
    accused = one.facts["verdict"] == "pass"
    end = " A test that convicts a model which cannot be guilty proves nothing against yours." if accused else (
        " Only what your model has beyond the other one can be its own memory.")
    title = "Why the published test would have convicted this innocent model" if accused else (
        "Why the published test's figure is not the verdict")
    return {"title": title, "said": [*said, check + ours + end]}


def from_behind(one: Audited) -> str:
    """Why an attack that sees no label falls below one half at the boundary; empty where none clearly does."""
    found = [row for row in one.whole(oracle=False, selection="boundary", n=BOUNDARY_N)
             if row["attack"] in LABEL_FREE and _below(row["auc"], 0.5)]
    if not found:
        return ""
    least = min(found, key=lambda row: float(row["auc"]["value"]))
    beside = "no placebo was brought" if least["uncontrolled"] else (
        f"placebo {spoken(least['placebo_auc']['value'], 3)}")
    end = "Then it is the same leak with its sign turned." if least["uncontrolled"] else (
        "It is the same leak with its sign turned." if _below(least["difference"].get("auc"), 0.0) else
        "Here the placebo is not clearly higher, so that this figure alone shows no leak either.")
    return (
        f"An AUC below .5 at the boundary is no sign of safety: {least['attack']} gives "
        f"{spoken(least['auc']['value'], 3)} there ({beside}). At the boundary are the records whose true class is "
        "least likely, so the class that the model finds likeliest is mostly a wrong one. Training on such a record "
        "makes the model surer of the true class and so less sure of that wrong one; an attack that sees only how sure "
        f"the model is, without the label, then takes members for others. {end}")


def _below(estimate: Mapping[str, Any] | None, bound: float) -> bool:
    return estimate is not None and estimate["high"] is not None and estimate["high"] < bound


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"
