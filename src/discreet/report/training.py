"""What a record says of the models that its run trained (`record["training"]`), for both audits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.core.numbers import counted, listed, percent, say, times
from discreet.report.summary import Bullets, Record, Section, Text, blocks, table, tabled, words_of

MOST_CLASSES = 12
DIGEST = 12


def membership_training(said: Record) -> Section:
    """Who was trained on what in a membership audit, and how good it is."""
    words, classes, groups = words_of("training"), said["classes"], said.get("groups")
    shares = [rows / sum(said["class_rows"]) for rows in said["class_rows"]]
    named = ", ".join(f"{name} {percent(share, 0)}" for name, share in zip(classes, shares, strict=True))
    lead = words["lead"].format(recipe=_recipe(said["recipe"]), n=len(classes), classes=named,
                                guess=percent(max(shares), 0), seed=said["seed"])
    lead += "" if groups is None else words["groups"].format(groups=groups)
    sets = [(name, f"{said['sides'][part]:,}", use) for part, (name, use) in words["sets"].items()
            if said["sides"].get(part)]
    if pool := sum(said["planted"].values()):
        each = ", ".join(f"{n:,} of them {copies}×" for copies, n in said["planted"].items())
        sets.append(("planted", f"{pool:,}", f"half of each kind trains f_A and half f_B: {each}"))
    rows = [_model(name, said["models"][name], *of) for name, of in words["models"].items() if name in said["models"]]
    if found := said.get("shadows"):
        sizes = " to ".join(f"{one:,}" for one in sorted({found["fewest_rows"], found["most_rows"]}))
        rows.append({"name": f"{found['number']:,} shadows", "role": "references", "sizes": sizes,
                     "where": "random sets out of A, B and evaluation"})
    return Section("What was trained", blocks(
        Text(lead), table(("set", "records", "what they are for"), sets), tabled(words["columns"], rows),
        Bullets("", _notes(said, words))), name="trained")


def membership_lines(said: Record) -> Section:
    """Recipe, rows and accuracies, and what was left out, for the terminal."""
    words = words_of("training")
    rows = ", ".join(f"{name} {one['trained_on']:,} "
                     f"({percent(one['validation_accuracy'], 0, missing='accuracy unknown')})"
                     for name in words["models"] if (one := said["models"].get(name)))
    shadows = f", {said['shadows']['number']:,} shadows" if said.get("shadows") else ""
    pool = sum(said["planted"].values())
    planted = f" Planted in f_A or f_B: {pool:,} records." if pool else ""
    trained = (f"Trained here with {_recipe(said['recipe'])}, seed {said['seed']}. Rows and accuracy on validation: "
               f"{rows}{shadows}.{planted}")
    return Section("What was trained", (Text(trained), Text(_duplicates(said["duplicates"], words))), terminal=True,
                   page=False)


def provenance(said: Record) -> tuple[tuple[str, str], ...]:
    """Recipe with every option, and versions, as pairs of words for the end of a page."""
    if "versions" not in said:
        return ()
    options = ", ".join(f"{name}={_plain(value)}" for name, value in said["recipe"].items() if name != "name")
    versions = ", ".join(f"{name} {_version(value)}" for name, value in said["versions"].items())
    return (("recipe", f"{said['recipe']['name']}{f': {options}' if options else ''}"), ("trained with", versions))


def _model(name: str, one: Record, role: str, where: str) -> dict[str, Any]:
    planted, steps = one.get("planted_records"), one.get("steps")
    best = None if steps is None else f"{one.get('best_step', steps):,} of {one.get('planned_steps', steps):,}"
    where += f" and {planted:,} planted records" if planted else ""
    return {**one, "name": name, "role": role, "where": where, "sizes": f"{one['trained_on']:,}", "best": best}


def _notes(said: Record, words: Record) -> tuple[str, ...]:
    one = said["models"]["f_A"]
    found = [_duplicates(said["duplicates"], words), *(f"{note}." for note in said["notes"])]
    if "parameters" in one:
        found.append(say(words["model"], {**one, "layers": counted(one["layers"], "layer")}))
    if "learning_rate_by" in one:
        found.append(f"Where the learning rate comes from: {one['learning_rate_by']}.")
    if one.get("token_share", 1.0) < 1.0:
        found.append(words["cut"])
    if said.get("deduplicate"):
        left = listed([f"{name} {model['near_left_out']:,}" for name, model in said["models"].items()])
        found.append(words["deduplicated"].format(left=left))
    if said["copies"] > 1:
        found.append(f"Every training row is {said['copies']} times in its training set.")
    return tuple(found)


def _duplicates(found: Record, words: Record) -> str:
    left_out = found["repeated_rows"] + found["conflicting_rows"]
    told = say(words["left_out" if left_out else "none_left_out"], {**found, "n": left_out})
    near = "allowed" if found["near_clusters"] is None else "together" if found["near_clusters"] else ""
    return told + (say(words[near], found) if near else "")


def _recipe(recipe: Record) -> str:
    """"transformer (minilm, lora, rank 64)": name and what matters most; all options are in the provenance."""
    said = [str(recipe[name]).rstrip("/").rpartition("/")[2] for name in ("base", "encoder", "regime")
            if recipe.get(name) is not None]
    said += [f"rank {recipe['rank']}"] if recipe.get("regime") == "lora" else []
    return str(recipe["name"]) + (f" ({', '.join(said)})" if said else "")


def _plain(value: Any) -> str:
    return "+".join(map(str, value)) if isinstance(value, list | tuple) else "none" if value is None else str(value)


def _version(value: str) -> str:
    """A distribution's version; of a package's source the beginning of its hash."""
    version, found, source = str(value).rpartition("source:")
    return f"{version}{source[:DIGEST]}" if source and found else str(value)


def label_training(said: Record) -> tuple[str, ...]:
    """Recipe and data, who is what, references, and how long a label audit trained."""
    words = words_of("training")
    classes, seeds = [str(one)[:40] for one in said["classes"]], list(said["deals"])
    targets = sum(one["role"] == "target" for one in said["models"])
    references = len(said["models"]) - targets
    return (words["recipe"].format(
        recipe=said["recipe"]["name"], data=words["data"][said["data"]], n=len(classes),
        classes=", ".join(classes[:MOST_CLASSES]) + (", …" if len(classes) > MOST_CLASSES else ""),
        seeds=f"{'seed' if len(seeds) == 1 else 'seeds'} {listed(seeds)}"),
        _assigned(said, words), words["references"].format(
            targets=counted(targets, "target"), references=counted(references, "reference"),
            were="was" if references == 1 else "were") if references else words["no_references"],
        _epochs(said, words))


def _assigned(said: Record, words: Record) -> str:
    seed, sizes = next(iter(said["deals"].items()))
    planted = [f"{n:,} {times(int(copies))}" for copies, n in sizes["planted"].items() if n]
    alike = all(one == sizes for one in said["deals"].values())
    return (say(words["assigned"], {**sizes, "of": "Of" if alike else f"With seed {seed}, of"})
            + (words["planted"].format(planted=listed(planted)) if planted else "")
            + (words["grouped"] if said["grouped"] else ""))


def _epochs(said: Record, words: Mapping[str, Any]) -> str:
    done = sorted({one["epochs_done"] for one in said["models"]})
    epochs = (f"{' to '.join(map(str, (done[0], done[-1])[:len(done)]))} {'epoch' if done == [1] else 'epochs'}")
    wanted = said["recipe"].get("until_accuracy")
    short = [f"seed {one['seed']}" for one in said["models"] if not one.get("reached", True)]
    how = "fixed" if wanted is None else "as_long" if said["same_epochs"] else "until"
    missed = f" That accuracy was not reached with {listed(short)}." if short and how == "as_long" else ""
    return str(words["epochs"][how].format(epochs=epochs, accuracy=percent(wanted, 0))) + missed
