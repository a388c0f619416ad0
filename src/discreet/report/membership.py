"""A saved membership audit to its summary: the verdict, what it rests on, and every figure with its control."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from discreet.core import design as designs
from discreet.core.numbers import (
    attack_name,
    bound,
    counted,
    given,
    interval,
    listed,
    listed_parts,
    number,
    p_value,
    say,
    times,
)
from discreet.report import attackers, audits, embedding, membership_runs, training
from discreet.report import membership_charts as charts
from discreet.report import summary as page
from discreet.report.membership_charts import BOUNDARY_N, Audited, audited, merged, selection_name

PARTS = {"Every attack": (charts.attacks,), "At few false accusations": (charts.roc,),
         "At the decision boundary": (charts.boundary, charts.sizes),
         "In parts of the data": (charts.deciles, charts.strata)}
MOST_NAMED = 3
"""Leaking parts that a headline names."""
NOT_IN_TERMINAL = ("members + others", "difference", "would take more", "TPR at 1% FPR")
"""Columns that the page has: a terminal is narrow."""


def summary(record: page.Record, texts: Sequence[Mapping[str, Any]] = ()) -> page.Summary:
    """The summary of `MembershipAudit.to_json()` with, where there are such, `embedding` and `training`.

    `texts` are `{id, side, label, p, text}` of records at the boundary, where texts may be shown.
    """
    targets, words, trained = audited(record), page.words_of("membership"), record.get("training")
    first, design = targets[0], designs.known_design(record["design"])
    sections = [
        *_parts(first, words), attackers.section(first, words), *attackers.record_sections(first, words),
        audits.controls_section(record["verdict"], controls(first, record)),
        _models(targets, words),
        _published(first, words),
        training.membership_training(trained) if trained else None,
        page.Section("In detail" + (f": {first.name}" if targets[1:] else ""), _details(first, words),
                     name="in-detail"),
        *(page.Section(f"{one.name}: {one.facts['verdict']}", (
            *audits.because_of(one.facts),
            *page.blocks(_named(charts.standing(one), k), _named(charts.protocols(one), k)),
            *_details(one, words, k)), name=f"target-{k}", folded=True) for k, one in enumerate(targets[1:], start=2)),
        _top(first, words), training.membership_lines(trained) if trained else None,
        embedding.section(record["embedding"]) if record.get("embedding") else None,
        _structure(record["structure"], words) if record.get("structure") else None,
        membership_runs.history(record["history"], first.tolerance) if record.get("history") else None,
        audits.claims(first.facts["claims"]), _texts(texts, first, words)]
    headlines, guarantee = words["headlines"], first.facts.get("guarantee")
    if guarantee is not None and guarantee["broken"]:
        headlines = {**headlines, "fail": say(headlines["beyond_guarantee"], guarantee)}
    headline, scope = audits.headline(record, headlines, **_covered(first, words))
    return page.Summary(
        kind=str(record.get("kind", "audit membership")), verdict=record["verdict"],
        headline=headline, scope=scope,
        kicker=page.kicker(record, f"{design} design"),
        leads=_leads(targets, record["provenance"], words), figure=charts.standing(first), keys=keys(first),
        sections=tuple(one for one in sections if one is not None), glossary=tuple(words["glossary"].items()),
        provenance=(("design", design), *page.facts(record["provenance"]),
                    *(training.provenance(trained) if trained else ())),
        footer=words["with_texts" if texts else "without_texts"] + words["footer"])


def _leads(targets: Sequence[Audited], made: page.Record, words: page.Record) -> tuple[str, ...]:
    one, found, said = targets[0], [], words["leads"]
    verdict, leaking = one.facts["verdict"], one.parts("exceeds")
    shown = leaking[0] if verdict == "fail" and leaking else one.primary
    if verdict != "inconclusive" and shown is not None and shown["auc"]["value"] is not None:
        control = "" if shown["control_auc"]["value"] is None else say(said["control"], shown)
        of = f", both in the part {shown['shown']}" if shown.get("kind", "all records") != "all records" else ""
        found.append(say(said["auc"], {**shown, "of": of}) + control)
    least = (one.facts["controls"].get("detectable_auc") or {}).get("value")
    if verdict == "pass" and least is not None and least <= one.tolerance:
        found.append(say(said["least"], one.facts["controls"]))
    found += [*one.facts["reasons"], attackers.lead(one)]
    if left_out := made.get("attacks_left_out"):
        found.append(said["some_attacks"].format(left_out=listed(left_out)))
        # An attack that somebody asked for and that could not run is no attack that found nothing.
        rows = one.whole(selection="global")
        known = {row["attack"] for row in rows if row["auc"]["value"] is not None}
        why = {row["attack"]: row["auc"]["reason"] for row in rows if row["attack"] not in known}
        found += [said["not_run"].format(why=reason) for reason in why.values()]
    if len(targets) > 1:
        found.append(said["several"].format(n=len(targets)))
    return tuple(filter(None, found))


def _covered(one: Audited, words: page.Record) -> dict[str, str]:
    """What a headline says of parts: the tolerances, where the leak is if not over all records, what was excluded."""
    said, leaking, excluded = words["covered"], one.parts("exceeds"), one.parts("excluded")
    parts, rest, where = len(one.parts()) - 1 - len(excluded), len(leaking) - MOST_NAMED, ""
    if leaking and leaking[0]["kind"] != "all records":
        named = [part["shown"] for part in leaking[:MOST_NAMED]] + ([counted(rest, "other part")] if rest > 0 else [])
        where = said["where"].format(parts=listed(named))
    return {"where": where, "tolerances": said["tolerances" if parts > 0 else "tolerance"].format(
        whole=given(one.tolerance), part=given(one.tolerance_part), parts=counted(max(parts, 0), "part")),
        "excluded": said["excluded"].format(parts=listed_parts((part["kind"], part["shown"]) for part in excluded))
            if excluded else ""}


def _parts(one: Audited, words: page.Record) -> Iterator[page.Section | None]:
    """What the verdict covers: each part with its figure and what it means; the terminal has those that are not within
    their tolerance, if there are any."""
    said, rows = words["parts"], list[dict[str, Any]]()
    for part in one.parts():
        lacking = " and ".join(f"{part[name]:,} {what}" for name, what in said["lacks"] if part[name])
        rows.append({**part, "state": said["states"][part["state"]], "tolerance": given(part["tolerance"]),
                     "lacking": lacking})
    found = page.tabled(said["columns"], rows, note=said["note"])
    yield None if found is None else page.Section(said["title"], (found,), name="parts")
    columns = [pair for pair in said["columns"] if pair[0] not in NOT_IN_TERMINAL]
    brief = page.tabled(columns, [row for row in rows if row["state"] != said["states"]["within"]], first=4)
    yield None if brief is None else page.Section(said["title"], (brief,), name="parts-brief", terminal=True,
                                                  page=False)


def _models(targets: Sequence[Audited], words: page.Record) -> page.Section | None:
    if not targets[1:]:
        return None
    first = targets[0].facts["reasons"][0]
    # The first reason of the decisive model is read before.
    rows = [{**one.facts, "why": "" if one.facts["reasons"][0] == first else one.facts["reasons"][0].replace("*", "")}
            for one in targets]
    return page.Section("The models audited", page.blocks(page.tabled(words["models"], rows)), name="models",
                        terminal=True)


def _published(one: Audited, words: page.Record) -> page.Section | None:
    """Why the published protocol's figure is not the verdict; None where it is not above chance."""
    paper, primary, said = one.paper, one.primary, words["published"]
    if paper is None or "paper" not in one.facts["reason_codes"]:
        return None
    ours = "" if primary is None or primary["auc"]["value"] is None else say(said["ours"], primary)
    template = said["uncontrolled" if paper["control_auc"]["value"] is None else "controlled"]
    return page.Section("Why the published test's figure is not the verdict", (
        page.Text(said["why"], "prose"), page.Text(say(template, {**paper, "ours": ours}), "prose"),
        *page.blocks(charts.protocols(one))), name="published")


def _details(one: Audited, words: page.Record, place: int = 1) -> tuple[page.Block, ...]:
    found: list[Any] = []
    for title, draws in PARTS.items():
        figures = {draw.__name__: _named(draw(one), place) for draw in draws}
        found += [page.Text(title, "heading")] if any(figures.values()) else []
        found += [figure or (page.Text(words["why_not"][name]) if name in words["why_not"] else None)
                  for name, figure in figures.items()]
        if charts.boundary in draws and (note := turned(one)):
            found.append(page.Text(note))
    second = f"class {one.classes[1]}" if one.classes[1:] else "class 1"
    rates_of = {name: said.format(second=second) for name, said in words["rates"].items()}
    utility = [{**rates, "name": one.label(int(name)) if name.isdecimal() else rates_of[name]}
               for name, rates in one.facts["utility"].items() if name != "target"]
    return page.blocks(*found, page.Text("The figures behind it", "heading"), _rows(one, words), audits.unresolved(
            (f"{attack_name(row, scale=False)} ({selection_name(row)})", row["auc"]["reason"])
            for rows in _listed(one) for row in rows if row["auc"]["value"] is None),
                  page.Text("What the model is good for", "heading"), page.tabled(words["utility"], utility))


def _named(figure: Any, place: int) -> Any:
    return figure if figure is None or place == 1 else figure.named(f"target-{place}-")


def _listed(one: Audited) -> tuple[list[page.Record], list[page.Record]]:
    """Rows for a table, each attack global and at the boundary: honest ones, the primary first; and oracle ones."""
    rows = [row for row in one.whole() if row["n"] in (None, BOUNDARY_N)]
    first, named = one.primary, (*charts.ROW_OF, "selection")
    honest = sorted((row for row in rows if not row["oracle"]), key=lambda row: first is not None and any(
        row[name] != first[name] for name in named))
    return honest, [row for row in rows if row["oracle"]]


def _rows(one: Audited, words: page.Record) -> page.Table | None:
    honest, oracle = ([row for row in rows if row["auc"]["value"] is not None] for rows in _listed(one))
    return page.tabled(words["columns"], groups=[("", merged(honest)), (words["oracle"], merged(oracle))],
                  title="AUC with its 95% interval, control, difference, p",
                  open=len(honest) + len(oracle) <= page.MOST_OPEN, note=words["columns_note"])


def _top(one: Audited, words: page.Record) -> page.Section | None:
    """For the terminal: the strongest rows of all, and how many there are."""
    honest = merged(row for row in _listed(one)[0] if row["auc"]["value"] is not None)
    rest = sorted(honest[1:], key=lambda row: -abs(row["auc"]["value"] - 0.5))
    columns = [pair for pair in words["columns"] if pair[0] not in NOT_IN_TERMINAL]
    found = page.tabled(columns, [*honest[:1], *rest], first=4)
    return None if found is None else page.Section(
        "The deciding attack, and the strongest others", (found,), name="top", terminal=True, page=False)


def turned(one: Audited) -> str:
    """Why an attack that sees no label falls below one half at the boundary; empty where none clearly does."""
    words = page.words_of("membership")["turned"]
    found = [row for row in one.whole(oracle=False, selection="boundary", n=BOUNDARY_N)
             if row["label_free"] and _below(row["auc"], 0.5)]
    if not found:
        return ""
    least = min(found, key=lambda row: float(row["auc"]["value"]))
    end = "uncontrolled" if least["uncontrolled"] else (
        "clear" if _below(least["difference"].get("auc"), 0.0) else "unclear")
    if end != "unclear" and one.facts["verdict"] == "pass":
        end = "within"
    return say(words["said"] + words[end], {**least, "control": "no control" if least["uncontrolled"] else
                                            f"control {number(least['control_auc']['value'])}"})


def _below(estimate: Mapping[str, Any] | None, least: float) -> bool:
    return estimate is not None and estimate["high"] is not None and bool(estimate["high"] < least)


def _structure(found: page.Record, words: page.Record) -> page.Section:
    """What disclosure control checks in a fitted tree or ensemble of trees."""
    said = words["structure"]
    rows = [{"check": say(check, found), "figure": say(figure, found), "concerned": say(concerned, found),
             "finding": said["risk" if name in found["risks"] else "none"]}
            for name, check, figure, concerned in said["checks"]]
    return page.part(said["title"], page.tabled(said["columns"], rows, note=say(said["note"], found)))


def _texts(texts: Sequence[Mapping[str, Any]], one: Audited, words: page.Record) -> page.Section | None:
    shown = [block for row in texts for block in (
        page.Text(say("{id} · {side} · {called} · probability of its class {p:number}", {
            **row, "called": one.label(row["label"])})),
        page.Text(row["text"], "quote"))]
    return page.Section("Records at the boundary", (page.Text(words["texts"]), *shown), name="texts", terminal=True
                   ) if texts else None


def keys(one: Audited) -> tuple[page.Key, ...]:
    """The figures that say what a leak, or its absence, means, each with its control's."""
    primary, found = one.primary, one.facts["controls"]
    if primary is None:
        return ()
    words = page.words_of("membership")["keys"]
    group = found.get("group_auc") or {}
    parts: list[tuple[str, page.Record | None, Callable[[float], str], str]] = [
        (words["auc"], primary["auc"], number,
         audits.control_of(interval(primary["control_auc"], missing=""))),
        (words["group"], group if group.get("value") is not None else None, number,
         audits.control_of(interval(found.get("control_group_auc"), missing=""))),
        *attackers.keys(one, words),
        (words["epsilon"], found.get("epsilon_lower"), lambda value: f"{value:.2f}",
         audits.control_of(bound(found.get("control_epsilon_lower"), missing="")))]
    guarantee = one.facts.get("guarantee")
    spent = () if guarantee is None else (page.Key(
        f"{guarantee['epsilon']:.2f}", say(words["guarantee"], {**guarantee, "least": bound(guarantee["lower"])})),)
    return (*(audits.key(text, estimate, show, said) for text, estimate, show, said in parts if estimate is not None),
            *spent)


def controls(one: Audited, record: page.Record) -> tuple[page.Control, ...]:
    """What was checked besides the figure."""
    words, planted = page.words_of("membership")["controls"], one.facts["controls"]["planted"]
    drawn = designs.WORDS[designs.known_design(record["design"])]
    tested = [row["null_p"]["value"] for row in one.rows if not row["oracle"] and row["null_p"]["value"] is not None]
    return audits.controls_of(one.facts["control_states"], words, {
        **one.facts["controls"], "drawn": f"{drawn[0].upper()}{drawn[1:]}", "tolerance": one.tolerance,
        "off": listed([part["shown"] for part in one.parts()[1:] if part["control_off"]] or [""]),
        "beside": listed([part["shown"] for part in one.parts("control")] or [""]),
        "stood": "; ".join(map(_stood, planted)),
        "level": 100 * planted[0]["auc"]["level"] if planted else None, "rows": len(tested) - 1,
        "p": p_value(min(tested, default=None)), "permutations": record["provenance"]["permutations"]})


def _stood(planted: page.Record) -> str:
    """How often some records were planted, and what the attack finds in them."""
    if planted["auc"]["value"] is None:
        return f"{times(planted['repetitions'])} unresolved ({planted['auc']['reason']})"
    control = "no control" if planted["control_auc"]["value"] is None else f"control {interval(planted['control_auc'])}"
    return (f"{times(planted['repetitions'])} {interval(planted['auc'])}, {control}, "
            f"{'seen' if planted['detected'] else 'not seen'}")
