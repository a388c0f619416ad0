"""A saved membership audit to its summary: the verdict, what it rests on, and every figure with its control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.core.design import DEALT, STATED, WORDS, decides, off, reads_apart
from discreet.core.names import REFERENCES, SELECTIONS, attack_name
from discreet.core.numbers import NOTHING, bound, given, interval, number, p_value, percent, times
from discreet.core.records import Estimate
from discreet.report import frontier, membership_charts, training
from discreet.report.audited import BOUNDARY_N, Audited, audited, below
from discreet.report.figure import Figure
from discreet.report.summary import (
    MOST_OPEN,
    Block,
    Bullets,
    Cells,
    Control,
    Controls,
    Facts,
    Key,
    Record,
    Section,
    Summary,
    Text,
    blocks,
    facts,
    grouped_table,
    kicker,
    table,
)

HEADLINES = {
    "pass": "Pass: no attack that was tried tells, beyond the tolerance, who was in the training set of {model}.",
    "fail": "Fail: {model} gives away who was in its training set.",
    "inconclusive": "Inconclusive: from these scores one cannot say whether {model} gives away who was in its training "
                    "set.",
}
LABEL_FREE = ("confidence", "entropy")
LEVEL = 0.05
OF_TARGET = {one.__name__: one for one in (
    membership_charts.protocols, membership_charts.attacks, membership_charts.roc, membership_charts.boundary,
    membership_charts.sizes, membership_charts.deciles, membership_charts.strata)}
WHY_NOT = {
    "boundary": "The decision boundary is unresolved: no selection model was scored that says it was trained on other "
                "records, and a target never selects for itself.",
    "sizes": "There is no curve over n without a selection model.",
    "strata": "The records have no two categories or structures to compare.",
}
DIAGNOSTICS = {
    "outlier_boundary": "further from their {k} nearest: boundary than other records of the label (AUC)",
    "outlier_boundary_members": "further from their {k} nearest: boundary members than non-members (AUC)",
    "side_agreement_boundary": "the {k} nearest in the same set: boundary records",
    "side_agreement": "the {k} nearest in the same set: all records",
    "label_agreement_boundary": "the {k} nearest with the same label: boundary records",
}
HEAD = ("attack", "scale", "reference", "records", "members + others", "AUC", "control", "difference", "p")
ORACLE = ("With the paired reference, or against the non-members that it was trained on (oracle): the paper's figures, "
          "no part in the verdict")
GLOSSARY = (
    ("control model (placebo)", "A model trained on neither set, attacked in the same way: what the attack finds there "
                                "is not memory of the audited model."),
    ("reference ratio", "The attack that asks how much surer your model is of a record than a reference model is."),
    ("neutral, population, paired", "Who the reference was trained on: neither set; random halves; exactly the "
                                    "non-members (the paper's, which remembers them, so that it decides nothing)."),
    ("p scale, logit scale", "Whether scores are compared as probabilities or as log-odds, where the differences "
                             "between sure answers are still visible."),
    ("decision boundary", f"The {BOUNDARY_N} records per label and set whose true class another model finds least "
                          "likely."),
    ("planted records", "Records repeated in training on purpose, assigned at random: they show which leak the audit "
                        "can see."),
)


def summary(record: Record, texts: Sequence[Mapping[str, Any]] = ()) -> Summary:
    """The summary of what `audit membership` saves.

    Parameters
    ----------
    record : mapping
        `MembershipAudit.to_json()` with `kind`; with `frontier`, `embedding` and `training` where there are such.
    texts : sequence of mappings
        `{id, side, label, p, text}` of records at the boundary, where texts may be shown.
    """
    targets = audited(record)
    first = targets[0]
    shown = controls(first, record)
    sections = [
        Section(controls_title(record["verdict"], shown), (Controls(shown),), name="believe", terminal=True),
        _models(targets), _published(first), training.membership_training(record),
        Section("In detail" + (f": {first.name}" if targets[1:] else ""), _details(first), name="in-detail"),
        *(Section(f"{one.name}: {one.facts['verdict']}", (
            *(Text(reason, "because") for reason in one.facts["reasons"]), *blocks(*(
                _named(draw(one), k) for draw in (membership_charts.standing, membership_charts.protocols))),
            *_details(one, k)), name=f"target-{k}", folded=True) for k, one in enumerate(targets[1:], start=2)),
        _top(first), *_frontier(record), _embedding(record.get("embedding")),
        Section("What this audit can say, and what it cannot", (
            Bullets("It can say", tuple(first.facts["claims"]["can"])),
            Bullets("It cannot say", tuple(first.facts["claims"]["cannot"]))), name="claims"),
        _texts(texts, first)]
    return Summary(
        kind=str(record.get("kind", "audit membership")), verdict=record["verdict"], headline=headline(record),
        kicker=kicker(record, f"{record['design']} design", f"tolerance AUC {given(first.tolerance)}"),
        leads=_leads(targets, record), figure=membership_charts.standing(first), keys=keys(first, record),
        sections=tuple(one for one in sections if one is not None), glossary=GLOSSARY,
        provenance=(("design", record["design"]), *facts(record["provenance"]), *training.provenance(record)),
        footer=("This page shows records in full." if texts else "This page holds no text of any record.")
        + " A verdict is about the attacks listed here, at this many queries a record, on these records.")


def headline(record: Record) -> str:
    """The verdict in one sentence."""
    targets, verdict = record["targets"], record["verdict"]
    if len(targets) == 1:
        return HEADLINES[verdict].format(model="this model")
    n = sum(one["verdict"] == verdict for one in targets)
    said = HEADLINES[verdict].format(model="these models" if verdict == "pass" else "it" if n == 1 else "each of them")
    return said if verdict == "pass" else said.replace(": ", f" for {n} of {len(targets)} models: ", 1)


def controls_title(verdict: str, shown: Sequence[Control]) -> str:
    """A verdict is not called believable over a control that does not hold."""
    broken = any(one.state == "broken" for one in shown)
    return "What the controls say" if verdict == "inconclusive" or broken else "Why this can be believed"


def _leads(targets: Sequence[Audited], record: Record) -> tuple[str, ...]:
    one, found = targets[0], []
    primary, utility = one.primary, one.facts["utility"].get("all") or {}
    if one.facts["verdict"] != "inconclusive" and primary is not None and primary["auc"]["value"] is not None:
        control = ("" if primary["placebo_auc"]["value"] is None else
                   f" On a model that has seen neither, the same attack picks {_in_100(primary['placebo_auc'])}.")
        found.append(f"Shown one record from the training set and one from outside, an attacker picks the right one "
                     f"{_in_100(primary['auc'])} times in 100; a coin toss picks 50.{control}")
    if "test" in utility:
        labels = sum(name not in ("all", "target") for name in one.facts["utility"])
        found.append(training.learnt_nothing(utility["test"], max(2, labels)))
    detectable = one.facts["controls"].get("detectable_auc")
    if one.facts["verdict"] == "pass" and detectable is not None and detectable["value"] is not None:
        found.append(f"The least leak that this audit finds four times in five is an AUC of "
                     f"{number(detectable['value'])} over all members; a smaller one may be there.")
    found += one.facts["reasons"]
    if len(targets) > 1:
        found.append(f"The intervals in these sentences are corrected for {len(targets)} models, and wider than the "
                     "95% intervals in the figures.")
    return tuple(filter(None, found))


def _in_100(estimate: Mapping[str, Any]) -> str:
    return f"{100 * estimate['value']:.0f}"


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
    design, found = record["design"], one.facts["controls"]
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
            design == DEALT) else ("broken", "")
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


def _models(targets: Sequence[Audited]) -> Section | None:
    if not targets[1:]:
        return None
    rows = [(one.name, one.facts["verdict"], *(interval(one.primary and one.primary[name]) for name in (
        "auc", "placebo_auc")), one.facts["reasons"][0].replace("*", "")) for one in targets]
    return Section("The models audited", blocks(table(("model", "verdict", "deciding AUC", "control", "why"), rows)),
                   name="models", terminal=True)


def _published(one: Audited) -> Section | None:
    """Why the published protocol's figure is not the verdict; None where it is not above chance."""
    paper, primary = one.paper, one.primary
    if paper is None or paper["auc"]["value"] is None or (paper["auc"]["low"] or 0.0) <= 0.5:
        return None
    said = ["The published test compares two models on each record: yours, and a reference that was trained on "
            "precisely those records that yours never saw. Where yours is surer, it says “member”. But the reference "
            "remembers its own training records and is unusually sure of them, so that all other records look like "
            "members, whichever model is tested."]
    control, auc = paper["placebo_auc"], number(paper["auc"]["value"], 2)
    if control["value"] is None:
        said.append(f"Here it gives {auc}. How much of that is the reference's own memory, a model trained on neither "
                    "set would show; there is none.")
    else:
        ours = "" if primary is None or primary["auc"]["value"] is None else (
            f" With references that cannot know either set, your model gets {number(primary['auc']['value'], 2)} and "
            f"the control model {number(primary['placebo_auc']['value'], 2)}.")
        said.append("The control model was trained on neither set and can remember nobody. The published test gives "
                    f"it {number(control['value'], 2)}; your model gets {auc}.{ours} Only what your model has beyond "
                    "the control model can be its own memory.")
    return Section("Why the published test's figure is not the verdict",
                   (*(Text(one_, "prose") for one_ in said), *blocks(membership_charts.protocols(one))),
                   name="published")


def _details(one: Audited, place: int = 1) -> tuple[Block, ...]:
    figures = {name: _named(draw(one), place) for name, draw in OF_TARGET.items() if name != "protocols"}
    parts = (("Every attack", ("attacks",)), ("At few false accusations", ("roc",)),
             ("At the decision boundary", ("boundary", "sizes")), ("In parts of the data", ("deciles", "strata")))
    found: list[Any] = []
    for title, names in parts:
        if any(figures[name] for name in names):
            found += [Text(title, "heading"), *(figures[name] for name in names)]
        if title.startswith("At the decision") and (note := turned(one)):
            found.append(Text(note))
    found += [Text(said) for name, said in WHY_NOT.items() if figures[name] is None]
    utility = [("all" if name == "all" else one.label(int(name)), *(interval(rates[part]) for part in (
        "train", "test", "gap"))) for name, rates in one.facts["utility"].items() if name != "target"]
    return blocks(*found, Text("The figures behind it", "heading"), _rows(one), _unresolved(one),
                  Text("What the model is good for", "heading"),
                  table(("accuracy", "on members", "on others", "gap"), utility))


def _named(figure: Figure | None, place: int) -> Figure | None:
    return figure if figure is None or place == 1 else figure.named(f"target-{place}-")


def _listed(one: Audited) -> tuple[list[Record], list[Record]]:
    """Rows for a table, each attack global and at the boundary: honest ones, the primary first; and oracle ones."""
    rows = [row for row in one.whole() if row["n"] in (None, BOUNDARY_N)]
    honest, first = [row for row in rows if not row["oracle"]], one.primary
    if first is not None:
        named = ("attack", "scale", "reference_kind", "selection", "nonmembers")
        honest.sort(key=lambda row: any(row[name] != first[name] for name in named))
    return honest, [row for row in rows if row["oracle"]]


def _rows(one: Audited) -> Any:
    honest, oracle = ([row for row in rows if row["auc"]["value"] is not None] for rows in _listed(one))
    return grouped_table(HEAD, [("", [_cells(row) for row in merged(honest)]), (
        ORACLE, [_cells(row) for row in merged(oracle)])], title="AUC with its 95% interval, control, difference, p",
        open=len(honest) + len(oracle) <= MOST_OPEN, note="p is family-wise over all rows of its kind. Attacks that "
        "give one figure are in one row. Curves over n, labels, categories and tenths are in result.json.")


def merged(rows: Sequence[Record]) -> list[dict[str, Any]]:
    """Rows whose figures are the same once, with all their names: with two classes several attacks are one."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = (*(row["auc"][end] for end in ("value", "low", "high")), row["placebo_auc"]["value"], *(
            row[name] for name in ("reference_kind", "selection", "nonmembers", "n_members", "n_nonmembers")))
        kept = found.setdefault(key, {**row, "names": {}, "scales": {}})
        kept["names"][attack_name(row, scale=False, reference=False)] = None
        kept["scales"][row["scale"]] = None
    return list(found.values())


def _cells(row: Record) -> Cells:
    others = ", paper's others" if row["nonmembers"] == "reference_train" else ""
    return (", ".join(row["names"]), ", ".join(row["scales"]), REFERENCES[row["reference_kind"]],
            f"{SELECTIONS.get(row['selection'], row['selection'])}{others}",
            f"{row['n_members']:,} + {row['n_nonmembers']:,}", interval(row["auc"]),
            "no control" if row["uncontrolled"] else number(row["placebo_auc"]["value"]),
            interval(row["difference"].get("auc"), sign=True, missing=NOTHING), p_value(row["null_p"]["value"]))


def _unresolved(one: Audited) -> Facts | None:
    """Each reason once, with the attacks that it concerns."""
    found: dict[str, dict[str, None]] = {}
    for row in [row for rows in _listed(one) for row in rows if row["auc"]["value"] is None]:
        name = f"{attack_name(row, scale=False)} ({SELECTIONS.get(row['selection'], row['selection'])})"
        found.setdefault(row["auc"]["reason"], {})[name] = None
    return None if not found else Facts(tuple((", ".join(names), reason) for reason, names in found.items()),
                                        "What could not be computed, and why")


def _top(one: Audited) -> Section | None:
    """For the terminal: the strongest rows of all, and how many there are."""
    honest = merged([row for row in _listed(one)[0] if row["auc"]["value"] is not None])
    first, rest = honest[:1], sorted(honest[1:], key=lambda row: -abs(row["auc"]["value"] - 0.5))
    found = table(HEAD, [_cells(row) for row in [*first, *rest]], first=6)
    return None if found is None else Section("The deciding attack, and the strongest others", (found,), name="top",
                                              terminal=True, page=False)


def turned(one: Audited) -> str:
    """Why an attack that sees no label falls below one half at the boundary; empty where none clearly does."""
    found = [row for row in one.whole(oracle=False, selection="boundary", n=BOUNDARY_N)
             if row["attack"] in LABEL_FREE and below(row["auc"], 0.5)]
    if not found:
        return ""
    least = min(found, key=lambda row: float(row["auc"]["value"]))
    control = "no control" if least["uncontrolled"] else f"control {number(least['placebo_auc']['value'])}"
    end = "Then it is the same leak with its sign turned." if least["uncontrolled"] else (
        "It is the same leak with its sign turned." if below(least["difference"].get("auc"), 0.0) else
        "Here the control is not clearly higher, so that this figure alone shows no leak either.")
    return (f"An AUC below .5 at the boundary is no sign of safety: {least['attack']} gives "
            f"{number(least['auc']['value'])} there ({control}). At the boundary are the records whose true class is "
            "least likely, so the class that the model finds likeliest is mostly a wrong one. Training on such a "
            "record makes the model surer of the true class and so less sure of that wrong one; an attack that sees "
            f"only how sure the model is, without the label, then takes members for others. {end}")


def _frontier(record: Record) -> list[Section]:
    found = record.get("frontier")
    if not found:
        return []
    return [Section(frontier.TITLE, blocks(frontier.drawn(found), *frontier.tables(found)), name="less"),
            Section(frontier.TITLE, (frontier.brief(found),), terminal=True, page=False)]


def _embedding(found: Record | None) -> Section | None:
    figure = membership_charts.embedding(found)
    if found is None or figure is None and not found.get("diagnostics"):
        return None
    rows = [(diagnostic_name(one, found), interval(one["estimate"]), number(one["chance"], missing=NOTHING),
             p_value(one["p"]["value"])) for one in found.get("diagnostics", ())]
    note = Text(_distinctive(found)) if rows else None
    return Section("Where the boundary lies", blocks(figure, table(("what", "figure", "by chance", "p"), rows), note),
                   name="where", terminal=bool(rows))


def diagnostic_name(one: Record, embedding: Record) -> str:
    """What a diagnostic of a representation asks."""
    return DIAGNOSTICS.get(one["name"], str(one["name"]).replace("_", " ")).format(k=embedding["neighbours"])


def _distinctive(embedding: Record) -> str:
    known = [one for one in embedding["diagnostics"] if one["p"]["value"] is not None]
    if not known:
        return "Whether anything is distinctive was not tested."
    p = (f"p {p_value(min(float(one['p']['value']) for one in known))}, by permutation and corrected for {len(known)} "
         "looks")
    found = [diagnostic_name(one, embedding) for one in known if one["p"]["value"] < LEVEL]
    if not found:
        return ("No evidence that records at the boundary, or the two sets, are distinctive by their content "
                f"(smallest {p}). That is no proof that they are not.")
    return (f"Other than by chance ({p}): {'; '.join(found)}. In vectors of the audited model that may be its memory; "
            "in those of a model that never saw the records it is their content.")


def _texts(texts: Sequence[Mapping[str, Any]], one: Audited) -> Section | None:
    if not texts:
        return None
    shown = [block for row in texts for block in (
        Text(f"{row['id']} · {row['side']} · {one.label(row['label'])} · probability of its class {number(row['p'])}"),
        Text(row["text"], "quote"))]
    return Section("Records at the boundary", (Text(
        "The least likely records of each label by the selection model, in full. Keep this page as you keep the "
        "records."), *shown), name="texts", terminal=True)
