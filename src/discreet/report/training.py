"""What a record says of the models that its run trained: for the page, and in a few lines for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.core.numbers import counted
from discreet.report.audited import Record

SIDES: Mapping[str, tuple[str, str]] = {
    "a": ("A", "members of f_A, non-members of f_B"),
    "b": ("B", "members of f_B, non-members of f_A"),
    "val": ("validation", "may say when to stop training, and nothing else"),
    "cal": ("calibration", "one half trains f_S, which picks the decision boundary; the other is RMIA's population"),
    "eval": ("evaluation", "non-members: no target trains on them"),
    "neutral": ("neutral", "trains the neutral reference"),
    "placebo": ("placebo", "trains the placebo"),
}
MODELS: Mapping[str, tuple[str, str]] = {
    "f_A": ("audited", "A"), "f_B": ("audited", "B"), "neutral": ("reference", "neutral"),
    "mismatched": ("reference", "another corpus"), "placebo": ("placebo", "placebo"),
    "f_S": ("picks the boundary", "one half of calibration"),
}
HEAD = ("model", "role", "trained on", "rows", "accuracy on validation", "best step", "learning rate", "tokens seen")
NOTHING = "–"
DIGEST = 12


def training(record: Record) -> dict[str, Any] | None:
    """What the page shows: `{lead, sides, head, models, notes}`; None where the run trained nothing.

    `sides` are rows of side, records and purpose; `head` and `models` a table without the columns that nobody fills.
    """
    said = record.get("training")
    if not said:
        return None
    rows = [_model(name, said) for name in MODELS if name in said["models"]] + _shadows(said)
    filled = [place for place in range(len(HEAD)) if any(row[place] != NOTHING for row in rows)]
    return {"lead": _lead(said), "sides": _sides(said), "head": [HEAD[place] for place in filled],
            "models": [[row[place] for place in filled] for row in rows], "notes": _notes(said)}


def lines(record: Record) -> list[str]:
    """The recipe, who trained on how much, how good the models are, and what was left out: a sentence each."""
    said = record.get("training")
    if not said:
        return []
    models = {name: said["models"][name] for name in MODELS if name in said["models"]}
    on = ", ".join(f"{name} {one['trained_on']:,}" for name, one in models.items())
    shadows = said.get("shadows")
    found = [f"{_recipe(said['recipe'])}; seed {said['seed']}.",
             f"Rows trained on: {on}{f', {_counted_shadows(shadows)}' if shadows else ''}.{_planted(said)}"]
    if any(one["validation_accuracy"] is not None for one in models.values()):
        found.append("Accuracy on validation: " + ", ".join(
            f"{name} {_share(one['validation_accuracy'])}" for name, one in models.items()) + ".")
    return [*found, _duplicates(said["duplicates"]), *(f"{note}." for note in said["notes"][1:])]


def provenance(record: Record) -> list[tuple[str, str]]:
    """Recipe with every option, and versions, as pairs of words for the end of a page."""
    said = record.get("training")
    if not said:
        return []
    options = ", ".join(f"{name}={_plain(value)}" for name, value in said["recipe"].items() if name != "name")
    versions = ", ".join(f"{name} {_version(value)}" for name, value in said["versions"].items())
    return [("recipe", f"{said['recipe']['name']}{f': {options}' if options else ''}"),
            ("trained with", versions)]


def _lead(said: Record) -> str:
    classes, n = ", ".join(map(str, said["classes"])), len(said["classes"])
    groups = said.get("groups")
    end = "" if groups is None else f" Records of one user stand on one side, all of them ({groups:,} groups)."
    return (f"Every model was trained here, by the recipe {_recipe(said['recipe'])}, to tell {n} "
            f"classes apart ({classes}; equally many on every side, so that a guess is right {_share(1 / n)} of the "
            f"time). A draw with seed {said['seed']} decided which record stands on which "
            f"side.{end}")


def _sides(said: Record) -> list[dict[str, str]]:
    rows = [{"name": SIDES[side][0], "records": f"{said['sides'][side]:,}", "purpose": SIDES[side][1]}
            for side in SIDES if said["sides"].get(side)]
    if pool := sum(said["planted"].values()):
        times = ", ".join(f"{number:,} of them {times}×" for times, number in said["planted"].items())
        rows.append({"name": "planted", "records": f"{pool:,}",
                     "purpose": f"half of each kind trains f_A and half f_B: {times}"})
    return rows


def _model(name: str, said: Record) -> list[str]:
    one, (role, where) = said["models"][name], MODELS[name]
    planted = one.get("planted_records")
    steps, rate = one.get("steps"), one.get("learning_rate")
    return [name, role, f"{where} and {planted:,} planted records" if planted else where, f"{one['trained_on']:,}",
            NOTHING if one["validation_accuracy"] is None else _share(one["validation_accuracy"]),
            NOTHING if steps is None else f"{one.get('best_step', steps):,} of {one.get('planned_steps', steps):,}",
            NOTHING if rate is None else f"{rate:g}",
            NOTHING if one.get("token_share") is None else f"{100 * one['token_share']:.1f}%"]


def _shadows(said: Record) -> list[list[str]]:
    found = said.get("shadows")
    if not found:
        return []
    rows = sorted({found["fewest_rows"], found["most_rows"]})
    return [[f"{found['number']:,} shadows", "references", "random sets out of A, B and evaluation",
             " to ".join(f"{one:,}" for one in rows), *[NOTHING] * (len(HEAD) - 4)]]


def _notes(said: Record) -> list[str]:
    facts = said["models"]["f_A"]
    found = [_duplicates(said["duplicates"]), *(f"{note}." for note in said["notes"])]
    if "parameters" in facts:
        found.append(f"The model is a {facts['family']} of {counted(facts['layers'], 'layer')} and "
                     f"{facts['parameters']:,} parameters; {facts['trained']:,} were trained. It computes in "
                     f"{facts['dtype']}.")
    if "learning_rate_by" in facts:
        found.append(f"Where the learning rate comes from: {facts['learning_rate_by']}.")
    if facts.get("token_share", 1.0) < 1.0:
        found.append("Where not all tokens are seen, long records were cut: the models know nothing of the rest.")
    if said["copies"] > 1:
        found.append(f"Every training row stood {said['copies']} times in its training set.")
    return found


def _duplicates(found: Record) -> str:
    repeated, conflicting = found["repeated_rows"], found["conflicting_rows"]
    told = (f"{repeated + conflicting:,} of {found['rows']:,} rows were left out: the text of {repeated:,} stands in "
            f"another row too, that of {conflicting:,} with two labels."
            if repeated + conflicting else f"None of {found['rows']:,} rows repeats another's text.")
    if found["near_clusters"] is None:
        return f"{told} Rows that say nearly the same were let stand on different sides."
    return told if not found["near_clusters"] else (
        f"{told} {found['near_rows']:,} rows in {found['near_clusters']:,} clusters say nearly the same and stayed "
        "together.")


def _planted(said: Record) -> str:
    pool = sum(said["planted"].values())
    if not pool:
        return " No records were planted."
    *others, last = said["planted"]
    times = "once" if not others and last == "1" else f"{' and '.join(filter(None, [', '.join(others), last]))} times"
    return f" Planted in f_A or f_B: {pool:,} records, {times}."


def _counted_shadows(found: Record) -> str:
    rows = sorted({found["fewest_rows"], found["most_rows"]})
    return f"{found['number']:,} shadows {' to '.join(f'{one:,}' for one in rows)}"


def _recipe(recipe: Record) -> str:
    """ "transformer (minilm, lora, rank 64)": name and what matters most; all options are in the provenance."""
    shown = [str(recipe[name]).rstrip("/").rpartition("/")[2] for name in ("base", "encoder", "regime")
             if recipe.get(name) is not None]
    shown += [f"rank {recipe['rank']}"] if recipe.get("regime") == "lora" else []
    return str(recipe["name"]) + (f" ({', '.join(shown)})" if shown else "")


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{100 * value:.0f}%"


def _plain(value: Any) -> str:
    return "+".join(map(str, value)) if isinstance(value, list | tuple) else "none" if value is None else str(value)


def _version(value: str) -> str:
    """A distribution's version; of a package's source the beginning of its hash."""
    version, _, source = str(value).rpartition("source:")
    return f"{version}{source[:DIGEST]}" if source and _ else str(value)
