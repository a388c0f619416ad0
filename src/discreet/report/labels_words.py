"""A label audit in words that need no statistics: the headline, the controls, and the published attack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from discreet.core.names import condition_name as condition_words
from discreet.core.names import label_attack_name as attack_words
from discreet.core.numbers import epsilon as epsilon_words
from discreet.core.numbers import p_value
from discreet.report.figures.figure import span, spoken

Record: TypeAlias = Mapping[str, Any]

KIND = "audit labels"
HEADLINES = {
    "pass": "Pass: whoever sees {model} outputs learns no training label that they could not have guessed.",
    "fail": "Fail: {model} outputs give away labels that {they} trained on.",
    "inconclusive": "Inconclusive: from these scores one cannot say whether {model} outputs give away training labels.",
}
STATES = {"holds": "holds", "broken": "does not hold", "lacking": "not there"}
REDRAWN = "Labels drawn again"


def headline(record: Record) -> str:
    """The verdict in one sentence."""
    targets, verdict = record["targets"], record["verdict"]
    if len(targets) == 1:
        return HEADLINES[verdict].format(model="this model's", they="it was")
    n = sum(one["verdict"] == verdict for one in targets)
    said = HEADLINES[verdict].format(model="these models'" if verdict == "pass" else "their", they="they were")
    return said if verdict == "pass" else said.replace(
        ": ", f" for {'all' if n == len(targets) else f'{n} of'} {len(targets)} models: ", 1)


def decisive(record: Record) -> Record:
    """The target that the verdict of the whole is explained by."""
    found: Record = next(one for one in record["targets"] if one["target"] == record["decisive"])
    return found


def rows_of(record: Record, target: Record) -> list[Record]:
    """The rows of one target."""
    return [row for row in record["attacks"] if row["model"] == target["target"]]


def resolved(rows: Sequence[Record]) -> list[Record]:
    """Those with a figure."""
    return [row for row in rows if row["success"]["value"] is not None]


def strongest(rows: Sequence[Record], label: str | None = None) -> Record | None:
    """Of the attacks on outputs alone the one that comes nearest to a finding; about one label, or about either."""
    honest = [row for row in resolved(rows) if row["access"] == "outputs" and label in (None, row["target"])]
    controlled = [row for row in honest if row["placebo"]["value"] is not None and not row["vetoed"]]
    deciding = [row for row in controlled if row["decides"]] or controlled or honest
    return min(deciding, default=None, key=_nearness)


def published(rows: Sequence[Record]) -> Record | None:
    """LIA-Delta-Margin with the loss at the secret, α = β, as the paper's figures have it; about the secret."""
    return next((row for row in resolved(rows) if row["loss_labels"] == "secret" and row["target"] == "secret"
                 and not row["tuned"] and row["alpha"] == row["beta"] and row["margin"] == "p1-second"), None)


def lead(record: Record) -> str:
    """The deciding figure as times in 100, and out of how many it was chosen; empty where it decides nothing."""
    row = strongest(rows_of(record, decisive(record)))
    if row is None or row["placebo"]["value"] is None or record["verdict"] == "inconclusive":
        return ""
    end = ", and chance explains the difference." if record["verdict"] == "pass" else "."
    return (f"Asked for the label of one example from the training set, an attacker who sees nothing but the model's "
            f"outputs is right {_in_100(row['success'])} times in 100. Of examples that nobody trained on, with labels "
            f"drawn alike, the same attack is right {_in_100(row['placebo'])} times{end}{_chosen(record)}")


def controls(record: Record) -> list[dict[str, str]]:
    """What was checked besides the figure: `{name, state, word, said}`, state "holds", "broken" or "lacking"."""
    one = decisive(record)
    rows = rows_of(record, one)
    found = [("Placebo canaries", *_placebo(rows)), ("Planted memorisation", *_planted(one["planted"])),
             ("The mechanism keeps its ε", *_mechanism(one["conformance"])), (REDRAWN, *_null(rows))]
    return [{"name": name, "state": state, "word": "done" if name == REDRAWN and state == "holds" else STATES[state],
             "said": said} for name, state, said in found]


def story(record: Record) -> dict[str, Any] | None:
    """Why the published attack convicts an innocent model, told of the model where it shows most; None if it does not.
    """
    found = [row for target in record["targets"] if (row := published(rows_of(record, target))) is not None
             and (row["placebo"]["low"] or 0.0) > row["chance"]]
    if not found:
        return None
    row = max(found, key=lambda row: row["placebo"]["value"])
    said = [
        f"LIA-Delta-Margin, as its published figures were made, is right about {_in_100(row['success'])} in 100 of "
        f"the canaries of {row['model']}. That sounds like a leak. But it is also right about "
        f"{_in_100(row['placebo'])} in 100 placebos, whose labels were drawn by chance and which the model never saw.",
        "The reason is not the model. The attack weighs how confident the model is against its loss, and takes that "
        "loss at the very label that it then claims to guess. It is like a mind reader who asks for your number, to "
        "check it, before naming it. Whoever runs it must already know the secret; a real attacker does not.",
        "So that figure is printed as an oracle's and has no part in the verdict. What counts is whether an attack "
        "that sees only outputs does better on canaries than on placebos.",
    ]
    return {"title": "What the published attack would have said", "said": said}


def model_line(record: Record, target: Record) -> dict[str, str]:
    """One target in a table of all: condition, verdict, strongest attack, placebo, ceiling, oracle, bound, accuracy."""
    rows = rows_of(record, target)
    best, oracle = strongest(rows, "secret"), published(rows)
    return {
        "model": str(target["target"]), "condition": condition_words(target["mechanism"], target["epsilon"]),
        "seed": "–" if target["seed"] is None else str(target["seed"]), "verdict": target["verdict"],
        "success": "unresolved" if best is None else span(best["success"], 3),
        "placebo": "uncontrolled" if best is None or best["placebo"]["value"] is None else span(best["placebo"], 3),
        "ceiling": "–" if best is None or best["ceiling"] is None else spoken(best["ceiling"], 3),
        "oracle": "–" if oracle is None else f"{spoken(oracle['success']['value'], 3)} / "
                                             f"{spoken(oracle['placebo']['value'], 3)}",
        "bound": "–" if target["epsilon_lower"]["value"] is None else f"{target['epsilon_lower']['value']:.2f}",
        "accuracy": spoken(target["utility"]["test_accuracy"]["value"], 3),
    }


def row_cells(row: Record) -> dict[str, str]:
    """One row of a table of attacks."""
    bound = row["epsilon_lower"]
    return {
        "attack": attack_words(row), "label": row["target"],
        "n": f"{row['success']['n']:,}" if row["success"]["n"] is not None else "0", "success": span(row["success"], 3),
        "placebo": "uncontrolled" if row["placebo"]["value"] is None else span(row["placebo"], 3),
        "ceiling": "–" if row["ceiling"] is None else spoken(row["ceiling"], 3),
        "p": p_value(row["difference_p"]), "holm": p_value(row["holm_p"]), "null": p_value(row["null_p"]),
        "bound": "–" if bound["value"] is None else f"{bound['value']:.2f}", "note": "void" if row["vetoed"] else "",
    }


def kinds(rows: Sequence[Record]) -> dict[str, list[Record]]:
    """Rows with a figure by access; the strongest first among those on outputs, then in order."""
    found = {access: [row for row in resolved(rows) if row["access"] == access]
             for access in ("outputs", "privileged", "oracle")}
    found["outputs"].sort(key=_nearness)
    return found


def unresolved(rows: Sequence[Record]) -> list[tuple[str, str]]:
    """Each reason once, with the attacks that it concerns."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        if row["success"]["value"] is None:
            found.setdefault(row["success"]["reason"], {})[attack_words(row)] = None
    return [("; ".join(names), reason) for reason, names in found.items()]


def _chosen(record: Record) -> str:
    """The largest of many differences is too large, whichever it is."""
    tried = sum(row["decides"] for row in record["attacks"])
    return "" if tried < 2 else (
        f" This is the strongest of {tried:,} comparisons, chosen by its result: p after Holm pays for that choice, "
        f"these two shares do not, and may lie too far apart.")


def _placebo(rows: Sequence[Record]) -> tuple[str, str]:
    controlled = [row for row in resolved(rows) if row["access"] == "outputs" and row["target"] == "secret"
                  and row["placebo"]["value"] is not None]
    honest = [row["placebo"] for row in controlled]
    if not honest:
        return "lacking", "There are no placebo canaries, so that nothing tells memory from guesswork."
    low, high = min(one["value"] for one in honest), max(one["value"] for one in honest)
    void, chance = sum(row["vetoed"] for row in controlled), rows[0]["chance"]
    said = (f"{max(one['n'] for one in honest):,} examples with labels drawn like the canaries', never trained on. "
            f"Attacks on outputs are right about {low:.0%} to {high:.0%} of them; chance is {chance:.0%}")
    if not void:
        return "holds", f"{said}."
    of = "all" if void == len(honest) else f"{void} of {len(honest)}"
    said = f"{said}, which does not explain {of} of these attacks: they are void."
    return "broken" if void == len(honest) else "holds", said


def _planted(planted: Sequence[Record]) -> tuple[str, str]:
    if not planted:
        return "lacking", "No canary was planted several times; nothing shows that memorised labels would be seen."
    said = "; ".join(f"{_times(one['copies'])}: {_of_planted(one)}" for one in planted)
    return "holds" if any(one["seen"] for one in planted) else "broken", f"Canaries planted {said}."


def _of_planted(one: Record) -> str:
    if one["row"] is None:
        return "no figure"
    return (f"{spoken(one['row']['success']['value'], 2)} right of {one['n']}, "
            f"{'seen' if one['seen'] else 'not seen'}")


def _mechanism(found: Record) -> tuple[str, str]:
    if found["ok"] is None:
        return "lacking", "Which labels were trained on is not in the table, so that flips cannot be counted."
    observed, least = found["observed"], "at least " if found["at_least"] else ""
    if found["ok"] and found["expected_flip"] == 0.0 and observed["value"] == 0.0:
        return "holds", f"There is none (ε = ∞), and of {observed['n']:,} labels none was changed."
    said = (f"{observed['value']:.1%} of {observed['n']:,} labels were changed; ε = {epsilon_words(found['epsilon'])} "
            f"demands {least}{found['expected_flip']:.1%}.")
    if found["ok"]:
        return "holds", said
    return "broken", f"{said} {'; '.join(found['reasons'])}."


def _null(rows: Sequence[Record]) -> tuple[str, str]:
    given = [row for row in resolved(rows) if row["null_p"] is not None]
    if not given:
        return "lacking", "Labels were not drawn again (--permutations 0)."
    least = {access: min((row["null_p"] for row in given if row["access"] == access), default=None)
             for access in ("outputs", "oracle")}
    parts = [f"{p_value(p)} {words}" for p, words in ((least["outputs"], "for attacks on outputs"),
                                                        (least["oracle"], "for oracles")) if p is not None]
    return "holds", (f"With labels drawn again, and everything an attack saw of them, the least p is "
                     f"{' and '.join(parts)}, before any correction.")


def _nearness(row: Record) -> tuple[float, float, float]:
    """Smaller where a row is nearer to a finding."""
    p = [1.0 if row[name] is None else float(row[name]) for name in ("holm_p", "difference_p")]
    return p[0], p[1], -_excess(row)


def _excess(row: Record) -> float:
    return 0.0 if row["placebo"]["value"] is None else float(row["success"]["value"] - row["placebo"]["value"])


def _in_100(estimate: Record) -> str:
    return f"{100 * estimate['value']:.0f}"


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"
