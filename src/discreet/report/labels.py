"""A saved label audit to its summary: the verdict, what it rests on, and every attack with its control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.core.numbers import (
    NOTHING,
    bound,
    condition_name,
    epsilon,
    interval,
    label_attack_name,
    number,
    p_value,
    percent,
    share,
    times,
)
from discreet.report import label_charts
from discreet.report.audited import decisive, kinds, published, resolved, rows_of, strongest
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
from discreet.report.training import label_training, learnt_nothing, provenance
from discreet.report.words import words_of

WORDS = words_of("labels")

HEADLINES: Mapping[str, str] = WORDS["headlines"]
HEAD = ("attack", "label", "guesses", "right", "control", "ceiling", "p", "after Holm", "null p", "ε at least", "")
ACCESS = WORDS["access"]
WITH_REFERENCES = ("reference", "lira_label")
LED = ("learned_nothing", "no_references")
LABELS = WORDS["labels"]
MODELS = ("model", "labels", "seed", "verdict", "canary label right", "control", "ceiling", "oracle / control",
          "ε at least", "test accuracy", "why")
GLOSSARY = tuple(WORDS["glossary"].items())


def summary(record: Record) -> Summary:
    """The summary of what `audit labels` saves: `LabelAudit.to_json()` with `kind`, and `training` where it trained."""
    first, shown = decisive(record), controls(record)
    several = len(record["targets"]) > 1
    broken = any(one.state == "broken" for one in shown)
    figures = {draw.__name__: draw(record) for draw in label_charts.DRAWN}
    trained = label_training(record)
    models = [_model_cells(record, one) for one in record["targets"]]
    sections = [
        Section("The models audited", blocks(table(MODELS, models)), name="models", terminal=True) if several else None,
        Section("What the controls say" if record["verdict"] == "inconclusive" or broken else "Why this can be "
                                                                                              "believed",
                (Controls(shown),), name="believe", terminal=True),
        _published(record),
        Section("What noise costs, and its benefit", blocks(figures["utility"]), name="utility")
        if figures["utility"] else None,
        Section("How sure the model is of canary labels", blocks(figures["confidence"]), name="sure")
        if figures["confidence"] else None,
        Section("Every attack" + (f": {first['target']}" if several else ""), _details(record, first),
                name="in-detail"),
        *(Section(f"{one['target']} ({condition_name(one['mechanism'], one['epsilon'])}): {one['verdict']}", (
            *(Text(reason, "because") for reason in one["reasons"]), *_details(record, one)), name=f"target-{k}",
            folded=True) for k, one in enumerate((one for one in record["targets"] if one is not first), start=2)),
        _top(record, first),
        Section("What was trained", tuple(Text(one, "prose") for one in trained), name="trained", terminal=True)
        if trained else None,
        Section("What this audit can say, and what it cannot", (
            Bullets("It can say", tuple(record["claims"]["can"])),
            Bullets("It cannot say", tuple(record["claims"]["cannot"]))), name="claims")]
    return Summary(
        kind=str(record.get("kind", "audit labels")), verdict=record["verdict"], headline=headline(record),
        kicker=kicker(record, f"{record['provenance']['classes']} classes"),
        leads=_leads(record, first), figure=figures["success"], keys=_keys(record, first),
        sections=tuple(one for one in sections if one is not None), glossary=GLOSSARY,
        provenance=(*provenance(record), *facts(record["provenance"])),
        footer="This page holds no text and no label of any example. A verdict is about the attacks listed here, on "
               "these canaries.")


def headline(record: Record) -> str:
    """The verdict in one sentence."""
    targets, verdict = record["targets"], record["verdict"]
    if len(targets) == 1:
        return HEADLINES[verdict].format(model="this model", they="it was")
    n = sum(one["verdict"] == verdict for one in targets)
    said = HEADLINES[verdict].format(model="these models" if verdict == "pass" else "it" if n == 1 else "each of them",
                                     they="it was")
    return said if verdict == "pass" else said.replace(
        ": ", f" for {'all' if n == len(targets) else f'{n} of'} {len(targets)} models: ", 1)


def _leads(record: Record, one: Record) -> tuple[str, ...]:
    rows = rows_of(record, one)
    classes = int(record["provenance"]["classes"])
    row, found = strongest(rows), [] if record["verdict"] == "fail" else [
        learnt_nothing(one["utility"]["test_accuracy"], classes)]
    if record["verdict"] == "pass" and not any(r["attack"] in WITH_REFERENCES for r in resolved(rows)):
        found.append("No attack with reference models was tried, and such attacks are the stronger ones: this pass is "
                     "about the attacks listed here alone.")
    if row is not None and row["placebo"]["value"] is not None and record["verdict"] != "inconclusive":
        tried = sum(row["decides"] for row in record["attacks"])
        chosen = "" if tried < 2 else (
            f" This is the strongest of {tried:,} comparisons, chosen by its result: p after Holm pays for that "
            "choice, these two shares do not, and may lie too far apart.")
        end = ", and chance explains the difference." if record["verdict"] == "pass" else "."
        found.insert(0, "Asked for the label of one example from the training set, an attacker who sees nothing but "
                        f"the model's outputs is right {_in_100(row['success'])} times in 100. Of examples that nobody "
                        f"trained on, with labels drawn alike, the same attack is right {_in_100(row['placebo'])} "
                        f"times{end}{chosen}")
    # A reason with a code of `LED` is said above in other words.
    said = zip(record["reasons"], record.get("reason_codes", [""] * len(record["reasons"])), strict=True)
    return tuple(filter(None, (*found, *(reason for reason, code in said if not found or code not in LED))))


def _in_100(estimate: Record) -> str:
    return f"{100 * estimate['value']:.0f}"


def _keys(record: Record, one: Record) -> tuple[Key, ...]:
    row = strongest(rows_of(record, one), "secret")
    found = []
    if row is not None:
        said = share(row["success"])
        ceiling = "" if row["ceiling"] is None else f"; at most {percent(row['ceiling'])} under its ε"
        found.append(Key(said.partition(" ")[0], "of canary labels guessed right by the strongest attack on outputs; "
                         f"chance is {percent(row['chance'], 0)}{ceiling}",
                         said.partition(" ")[2].strip("[]").replace(", ", " to "),
                         f"control {share(row['placebo'], missing='none')}"))
    if one["epsilon_lower"]["value"] is not None:
        found.append(Key(bound(one["epsilon_lower"]), "is the least that ε of this training run can be, with 95% "
                         f"confidence; {epsilon(one['epsilon'])} was stated"))
    seen = [part for part in one["planted"] if part["seen"]]
    if seen:
        found.append(Key(share(seen[0]["row"]["success"]).partition(" ")[0], "of canaries planted "
                         f"{times(seen[0]['copies'])} guessed right: the least memory that was seen"))
    return tuple(found)


def controls(record: Record) -> tuple[Control, ...]:
    """What was checked besides the figures."""
    one = decisive(record)
    rows = rows_of(record, one)
    return (Control("Held-out canaries", *_placebo(rows)), Control("Planted memorisation", *_planted(one["planted"])),
            Control("The mechanism keeps its ε", *_mechanism(one["conformance"])),
            Control("Labels drawn again", *_null(rows)))


def _placebo(rows: Sequence[Record]) -> tuple[str, str]:
    controlled = [row for row in resolved(rows) if row["access"] == "outputs" and row["target"] == "secret"
                  and row["placebo"]["value"] is not None]
    if not controlled:
        return "lacking", "There are no held-out canaries, so that nothing tells memory from guesswork."
    values = [row["placebo"]["value"] for row in controlled]
    void = sum(row["vetoed"] for row in controlled)
    said = (f"{max(row['placebo']['n'] for row in controlled):,} examples with labels drawn like the canaries', never "
            f"trained on. Attacks on outputs are right about {percent(min(values), 0)} to {percent(max(values), 0)} of "
            f"them; chance is {percent(rows[0]['chance'], 0)}")
    if not void:
        return "holds", f"{said}."
    of = "all" if void == len(values) else f"{void} of {len(values)}"
    return ("broken" if void == len(values) else "holds",
            f"{said}, which does not explain {of} of these attacks: they are void.")


def _planted(planted: Sequence[Record]) -> tuple[str, str]:
    if not planted:
        return "lacking", "No canary was planted several times; nothing shows that memorised labels would be seen."
    said = "; ".join(f"{times(one['copies'])}: " + ("no figure" if one["row"] is None else (
        f"{number(one['row']['success']['value'], 2)} right of {one['n']}, {'seen' if one['seen'] else 'not seen'}"))
        for one in planted)
    return "holds" if any(one["seen"] for one in planted) else "broken", f"Canaries planted {said}."


def _mechanism(found: Record) -> tuple[str, str]:
    if found["ok"] is None:
        return "lacking", "Which labels were trained on is not in the table, so that flips cannot be counted."
    observed = found["observed"]
    if found["ok"] and found["expected_flip"] == 0.0 and observed["value"] == 0.0:
        return "holds", f"There is none (ε = ∞), and of {observed['n']:,} labels none was changed."
    said = (f"{percent(observed['value'])} of {observed['n']:,} labels were changed; ε = {epsilon(found['epsilon'])} "
            f"demands {'at least ' if found['at_least'] else ''}{percent(found['expected_flip'])}.")
    return ("holds", said) if found["ok"] else ("broken", f"{said} {'; '.join(found['reasons'])}.")


def _null(rows: Sequence[Record]) -> tuple[str, str]:
    given = [row for row in resolved(rows) if row["null_p"] is not None]
    if not given:
        return "lacking", "Labels were not drawn again (--permutations 0)."
    least = [(min((row["null_p"] for row in given if row["access"] == access), default=None), words)
             for access, words in (("outputs", "for attacks on outputs"), ("oracle", "for oracles"))]
    parts = " and ".join(f"{p_value(p)} {words}" for p, words in least if p is not None)
    return "done", (f"With labels drawn again, and everything an attack saw of them, the least p is {parts}, before "
                    "any correction.")


def _published(record: Record) -> Section | None:
    """Why the published attack "succeeds" without memory, on the model where it shows most; None where it does not."""
    found = [row for target in record["targets"] if (row := published(rows_of(record, target))) is not None
             and (row["placebo"]["low"] or 0.0) > row["chance"]]
    if not found:
        return None
    row = max(found, key=lambda row: float(row["placebo"]["value"]))
    return Section("What the published attack would have said", (
        Text(f"LIA-Delta-Margin, as its published figures were made, is right about {_in_100(row['success'])} in 100 "
             f"of the canaries of {row['model']}, and about {_in_100(row['placebo'])} in 100 held-out canaries, whose "
             "labels were drawn by chance and which the model never saw.", "prose"),
        Text("The reason is not the model. The attack weighs how confident the model is against its loss, and takes "
             "that loss at the very label that it then claims to guess. Whoever runs it must already know the canary "
             "label; a real attacker does not.", "prose"),
        Text("So that figure is printed as an oracle's and has no part in the verdict. What counts is whether an "
             "attack that sees only outputs does better on canaries than on held-out canaries.", "prose")),
        name="published")


def _model_cells(record: Record, target: Record) -> Cells:
    rows = rows_of(record, target)
    best, oracle = strongest(rows, "secret"), published(rows)
    return (str(target["target"]), condition_name(target["mechanism"], target["epsilon"]),
            NOTHING if target["seed"] is None else str(target["seed"]), target["verdict"],
            interval(best and best["success"]), interval(best and best["placebo"], missing="no control"),
            NOTHING if best is None else number(best["ceiling"], missing=NOTHING),
            NOTHING if oracle is None else " / ".join(number(oracle[name]["value"], missing=NOTHING)
                                                      for name in ("success", "placebo")),
            bound(target["epsilon_lower"]), number(target["utility"]["test_accuracy"]["value"]),
            "" if target["reasons"][0] in record["reasons"] else target["reasons"][0])


def row_cells(row: Record, *, brief: bool = False) -> Cells:
    """One row of a table of attacks."""
    return (label_attack_name(row, brief=brief), LABELS[row["target"]], f"{row['success']['n'] or 0:,}",
            interval(row["success"]), interval(row["placebo"], missing="no control"),
            number(row["ceiling"], missing=NOTHING), p_value(row["difference_p"]), p_value(row["holm_p"]),
            p_value(row["null_p"]), bound(row["epsilon_lower"]), "void" if row["vetoed"] else "")


def _details(record: Record, one: Record) -> tuple[Block, ...]:
    found = kinds(rows_of(record, one))
    train = one["utility"]["train_accuracy"]
    reasons: dict[str, dict[str, None]] = {}
    for row in rows_of(record, one):
        if row["success"]["value"] is None:
            reasons.setdefault(row["success"]["reason"], {})[label_attack_name(row)] = None
    rows: Any = grouped_table(HEAD, [(ACCESS[name], map(row_cells, part)) for name, part in found.items()],
                              title="Success with its exact 95% interval, control, ceiling, p",
                              open=sum(map(len, found.values())) <= 3 * MOST_OPEN, note=(
        "p: Fisher's exact test of success against the control, two-sided; after Holm over all attacks on outputs "
        "alone, of all models. Null p: labels drawn again. ε at least: lower bound at 95%, of this attack by itself. "
        "Void: the control excludes chance, at 95% over all rows of the model."))
    return blocks(rows, Facts(tuple(("; ".join(names), reason) for reason, names in reasons.items()),
                              "What could not be computed, and why") if reasons else None,
                  Text("What the model is good for", "heading"),
                  table(("accuracy", "share, 95% interval"), [
                      ("train, against the label trained on", interval(train["trained"])),
                      ("train, against the canary label", interval(train["secret"])),
                      ("train, against the original", interval(train["original"])),
                      ("test, against the original", interval(one["utility"]["test_accuracy"]))]))


def _top(record: Record, one: Record) -> Section | None:
    """For the terminal: the strongest attacks, and of those that decide nothing the published settings."""
    found = kinds(rows_of(record, one))
    deciding = [row for row in found["outputs"] if row["decides"] or row["target"] == "secret"]
    others = {name: [row for row in found[name] if row["alpha"] == row["beta"] and not row["tuned"]
                     and row["target"] == "secret" and row["margin"] == "p1-second"]
              for name in ("privileged", "oracle")}
    rows: Any = grouped_table(HEAD, [(ACCESS[name], [row_cells(row, brief=True) for row in part])
                                     for name, part in ({"outputs": deciding} | others).items()], first=6)
    return None if rows is None else Section("The strongest attacks", (rows,), name="top", terminal=True, page=False)


def plan_summary(record: Record) -> Summary:
    """How many canaries a plan needs."""
    rows = [(percent(row["success"]), "no reasonable number" if row["canaries"] is None else f"{row['canaries']:,}")
            for row in record["rows"]]
    return Summary(kind="plan labels", headline=record["said"], sections=(Section("", blocks(
        table(("guesses right", "canaries"), rows), Text(record["note"])), terminal=True),))
