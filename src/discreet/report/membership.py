"""A saved membership audit to its summary: the verdict, what it rests on, and every figure with its control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.core.design import known_design
from discreet.core.numbers import NOTHING, REFERENCES, SELECTIONS, attack_name, given, interval, number, p_value
from discreet.report import frontier, membership_charts, training
from discreet.report.audited import BOUNDARY_N, Audited, audited, below
from discreet.report.figure import Figure
from discreet.report.membership_controls import controls, keys
from discreet.report.summary import (
    MOST_OPEN,
    Block,
    Bullets,
    Cells,
    Control,
    Controls,
    Facts,
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
from discreet.report.words import words_of

WORDS = words_of("membership")

HEADLINES: Mapping[str, str] = WORDS["headlines"]
LABEL_FREE = ("confidence", "entropy")
LEVEL = 0.05
OF_TARGET = {one.__name__: one for one in (
    membership_charts.protocols, membership_charts.attacks, membership_charts.roc, membership_charts.boundary,
    membership_charts.sizes, membership_charts.deciles, membership_charts.strata)}
WHY_NOT = WORDS["why_not"]
DIAGNOSTICS: Mapping[str, str] = WORDS["diagnostics"]
HEAD = ("attack", "scale", "reference", "records", "members + others", "AUC", "control", "difference", "p")
ORACLE = WORDS["oracle"]
GLOSSARY = tuple(WORDS["glossary"].items())


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
        _top(first), _trained(record), *_frontier(record), _embedding(record.get("embedding")),
        Section("What this audit can say, and what it cannot", (
            Bullets("It can say", tuple(first.facts["claims"]["can"])),
            Bullets("It cannot say", tuple(first.facts["claims"]["cannot"]))), name="claims"),
        _texts(texts, first)]
    return Summary(
        kind=str(record.get("kind", "audit membership")), verdict=record["verdict"], headline=headline(record),
        kicker=kicker(record, f"{known_design(record['design'])} design", f"tolerance AUC {given(first.tolerance)}"),
        leads=_leads(targets, record), figure=membership_charts.standing(first), keys=keys(first, record),
        sections=tuple(one for one in sections if one is not None), glossary=GLOSSARY,
        provenance=(("design", known_design(record["design"])), *facts(record["provenance"]),
                    *training.provenance(record)),
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
    if "test" in utility and one.facts["verdict"] != "fail":
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


def _models(targets: Sequence[Audited]) -> Section | None:
    if not targets[1:]:
        return None
    rows = [(one.name, one.facts["verdict"], *(interval(one.primary and one.primary[name]) for name in (
        "auc", "placebo_auc")), why(one.facts, targets[0].facts)) for one in targets]
    return Section("The models audited", blocks(table(("model", "verdict", "deciding AUC", "control", "why"), rows)),
                   name="models", terminal=True)


def why(facts_: Record, decisive: Record) -> str:
    """The first reason of a model's verdict, where it is not that of the decisive one, which is read before."""
    first: str = facts_["reasons"][0]
    return "" if first == decisive["reasons"][0] else first.replace("*", "")


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
    # Sizes and differences are on the page: a terminal is narrow.
    shown = [place for place, name in enumerate(HEAD) if name not in ("members + others", "difference")]
    rows = [_cells(row) for row in [*first, *rest]]
    found = table([HEAD[place] for place in shown], [[row[place] for place in shown] for row in rows], first=6)
    return None if found is None else Section("The deciding attack, and the strongest others", (found,), name="top",
                                              terminal=True, page=False)


def _trained(record: Record) -> Section | None:
    """For the terminal: what was trained, in a few sentences."""
    said = training.membership_training_lines(record)
    return Section("What was trained", tuple(map(Text, said)), terminal=True, page=False) if said else None


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
    return Section(f"Where the boundary lies, in {found['representation']}", blocks(
        figure, table(("what", "figure", "by chance", "p"), rows), note), name="where", terminal=bool(rows))


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
