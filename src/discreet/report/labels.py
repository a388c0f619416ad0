"""A saved label audit to its summary: the verdict, what it rests on, and every attack with its control."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.core.numbers import NOTHING, bound, condition_name, label_attack_name, percent, say, share, times
from discreet.report import audits, label_charts, training
from discreet.report import summary as page
from discreet.report.label_charts import nearness, published, resolved, rows_of, strongest

LED = ("learned_nothing", "no_references")
"""Codes of the reasons that are read first."""


def summary(record: page.Record) -> page.Summary:
    """The summary of what `audit labels` saves: `LabelAudit.to_json()` with `kind`, and `training` where it trained."""
    words, trained = page.words_of("labels"), record.get("training")
    first, several = audits.decisive(record), len(record["targets"]) > 1
    utility, confidence = label_charts.utility(record), label_charts.confidence(record)
    others = [one for one in record["targets"] if one is not first]
    models = [_model(record, one) for one in record["targets"]]
    sections = [
        page.Section("The models audited", page.blocks(page.tabled(words["models"], models)), name="models",
                     terminal=True) if several else None,
        audits.controls_section(record["verdict"], controls(record)), _published(record, words["published"]),
        page.Section("What noise costs, and its benefit", page.blocks(utility), name="utility") if utility else None,
        page.Section("How sure the model is of canary labels", page.blocks(confidence), name="sure")
        if confidence else None,
        page.Section("Every attack" + (f": {first['target']}" if several else ""), _details(record, first, words),
                name="in-detail"),
        *(page.Section(f"{one['target']} ({condition_name(one['mechanism'], one['epsilon'])}): {one['verdict']}", (
            *audits.because_of(one), *_details(record, one, words)), name=f"target-{k}", folded=True)
            for k, one in enumerate(others, start=2)),
        _top(record, first, words),
        page.Section("What was trained", tuple(page.Text(one, "prose") for one in training.label_training(trained)),
                name="trained", terminal=True) if trained else None, audits.claims(record["claims"])]
    headline, scope = audits.headline(record, _headlines(first, words["headlines"]), epsilon=_promised(record))
    return page.Summary(
        kind=str(record.get("kind", "audit labels")), verdict=record["verdict"],
        headline=headline, scope=scope,
        kicker=page.kicker(record, f"{record['provenance']['classes']} classes"),
        leads=_leads(record, first, words["leads"]), figure=label_charts.success(record),
        keys=_keys(record, first, words["keys"]),
        sections=tuple(one for one in sections if one is not None), glossary=tuple(words["glossary"].items()),
        provenance=(*(training.provenance(trained) if trained else ()), *page.facts(record["provenance"])),
        footer=words["footer"])


def _headlines(one: page.Record, words: page.Record) -> dict[str, str]:
    """Headlines by verdict; where there is one for the first reason of a verdict, that."""
    return {**words, one["verdict"]: words.get(one["reason_codes"][0], words[one["verdict"]])}


def _promised(record: page.Record) -> str:
    """The ε of the models that have the verdict, and the most that the largest allows an attacker to be right."""
    rows = [row for one in record["targets"] if one["verdict"] == record["verdict"] for row in rows_of(record, one)
            if row["ceiling"] is not None and row["epsilon"] != "inf"]
    stated = sorted({float(row["epsilon"]) for row in rows})
    most = max((row["ceiling"] for row in rows), default=None)
    return f"ε = {', '.join(f'{one:g}' for one in stated)} (at most {percent(most)} of canary labels right)"


def _leads(record: page.Record, one: page.Record, words: page.Record) -> tuple[str, ...]:
    row, verdict, found = strongest(rows_of(record, one)), record["verdict"], list[str]()
    if row is not None and row["control"]["value"] is not None and verdict != "inconclusive":
        tried = sum(row["decides"] for row in record["attacks"])
        found.append(say(words["success"], row) + _explained(one, row, words)
                     + (words["chosen"].format(tried=tried) if tried > 1 else ""))
    said = zip(record["reasons"], record["reason_codes"], strict=True)
    return tuple(found + [reason for reason, _ in sorted(said, key=lambda pair: pair[1] not in LED)])


def _explained(one: page.Record, row: page.Record, words: page.Record) -> str:
    if row["ceiling"] is not None and one["epsilon"] != "inf":
        return say(words["by_epsilon"], row)
    return str(words["by_chance" if one["verdict"] == "pass" else "not_by_chance"])


def _keys(record: page.Record, one: page.Record, words: page.Record) -> tuple[page.Key, ...]:
    row, found = strongest(rows_of(record, one), "canary"), []
    if row is not None:
        ceiling = "" if row["ceiling"] is None else say(words["ceiling"], row)
        found.append(audits.key(say(words["success"], row) + ceiling, row["success"], percent,
                              f"control {share(row['control'], missing='none')}"))
    if one["epsilon_lower"]["value"] is not None:
        found.append(page.Key(bound(one["epsilon_lower"]), say(words["epsilon"], one)))
    if seen := [part for part in one["planted"] if part["detected"]]:
        row = named(seen[0]["row"])
        found.append(page.Key(percent(row["success"]["value"]), say(words["planted"], {**seen[0], "row": row})))
    return tuple(found)


def controls(record: page.Record) -> tuple[page.Control, ...]:
    """What was checked besides the figures."""
    one = audits.decisive(record)
    rows, conformance = resolved(rows_of(record, one)), one["conformance"]
    controlled = [row for row in rows if row["access"] == "outputs" and row["target"] == "canary"
                  and row["control"]["value"] is not None]
    values = [row["control"]["value"] for row in controlled]
    return audits.controls_of(one["control_states"], page.words_of("labels")["controls"], {
        **conformance, "n": max((row["control"]["n"] for row in controlled), default=None),
        "least": min(values, default=None), "most": max(values, default=None),
        "chance": rows[0]["chance"] if rows else None, "control_p": one["control_p"], "test": one["test"],
        "stood": "; ".join(map(_stood, one["planted"])), "bound": "at least " if conformance["at_least"] else "",
        "why": "; ".join(conformance["reasons"])})


def _stood(planted: page.Record) -> str:
    """How often some canaries were planted, and what the attack finds in them."""
    found = "no figure" if planted["row"] is None else say("{row.success:number2} right of {n}, {said}", {
        **planted, "said": "seen" if planted["detected"] else "not seen"})
    return f"{times(planted['repetitions'])}: {found}"


def _published(record: page.Record, words: page.Record) -> page.Section | None:
    """Why the published attack "succeeds" without memory, on the model where it shows most; None where it does not."""
    found = [row for target in record["targets"] if "oracle_right_on_held_out" in target["reason_codes"]
             and (row := published(rows_of(record, target))) is not None]
    row = max(found, key=lambda row: float(row["control"]["value"]), default=None)
    return None if row is None else page.Section("What the published attack would have said", tuple(
        page.Text(say(said, row), "prose") for said in words), name="published")


def _model(record: page.Record, target: page.Record) -> dict[str, Any]:
    rows = rows_of(record, target)
    oracle = published(rows)
    return {**target, "best": strongest(rows, "canary"),
            "oracles": say("{success:number} / {control:number}", oracle, NOTHING) if oracle else NOTHING,
            "condition": condition_name(target["mechanism"], target["epsilon"]),
            "why": "" if target["reasons"][0] in record["reasons"] else target["reasons"][0]}


def kinds(rows: Sequence[page.Record]) -> dict[str, list[page.Record]]:
    """Rows with a figure by access; the strongest first among those on outputs, then in order."""
    found = {access: [row for row in resolved(rows) if row["access"] == access]
             for access in ("outputs", "privileged", "oracle")}
    found["outputs"].sort(key=nearness)
    return found


def named(row: page.Record, *, brief: bool = False) -> dict[str, Any]:
    """A row with the words of a table of attacks."""
    return {**row, "name": label_attack_name(row, brief=brief), "void": "void" if row["vetoed"] else "",
            "label": page.words_of("labels")["labels"][row["target"]]}


def _details(record: page.Record, one: page.Record, words: page.Record) -> tuple[page.Block, ...]:
    rows = rows_of(record, one)
    found = kinds(rows)
    attacks = page.tabled(words["columns"], groups=[(words["access"][name], map(named, part))
                                               for name, part in found.items()],
                     title="Success with its exact 95% interval, control, ceiling, p",
                     open=sum(map(len, found.values())) <= 3 * page.MOST_OPEN, note=words["columns_note"])
    accuracies = [{"name": name, "share": one["utility"][where] if part is None else one["utility"][where][part]}
                  for name, where, part in words["accuracies"]]
    return page.blocks(attacks, audits.unresolved((
        (label_attack_name(row), row["success"]["reason"]) for row in rows if row["success"]["value"] is None), "; "),
                  page.Text("What the model is good for", "heading"), page.tabled(words["utility"], accuracies))


def _top(record: page.Record, one: page.Record, words: page.Record) -> page.Section | None:
    """For the terminal: the strongest attacks, and of those that decide nothing the published settings."""
    found = kinds(rows_of(record, one))
    chosen = {name: [row for row in rows if (name == "outputs" and (row["decides"] or row["target"] == "canary")) or (
        row["alpha"] == row["beta"] and not row["tuned"] and row["target"] == "canary"
        and row["margin"] == "p1-second")] for name, rows in found.items()}
    shown = page.tabled(words["columns"], first=6, groups=[
        (words["access"][name], [named(row, brief=True) for row in part]) for name, part in chosen.items()])
    return None if shown is None else page.Section(
        "The strongest attacks", (shown,), name="top", terminal=True, page=False)


def plan_summary(record: page.Record) -> page.Summary:
    """How many canaries a plan needs."""
    rows = [{"right": percent(row["success"]), **row} for row in record["rows"]]
    return page.Summary(kind="plan labels", headline=record["said"], sections=(
        page.part("", page.tabled(page.words_of("labels")["plan"], rows), page.Text(record["note"])),))
