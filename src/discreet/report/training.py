"""What a record says of the models that its run trained, for both audits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.core.numbers import NOTHING, counted, listed, number, percent, times
from discreet.report.summary import Bullets, Record, Section, Table, Text, blocks, table
from discreet.report.words import words_of

WORDS = words_of("training")

SETS: Mapping[str, tuple[str, str]] = WORDS["sets"]
MODELS: Mapping[str, tuple[str, str]] = WORDS["models"]
HEAD = ("model", "role", "trained on", "rows", "accuracy on validation", "best step", "learning rate", "tokens seen")
CALLED = {"table": "a table", "text": "texts", "array": "arrays"}
MOST_CLASSES = 12
DIGEST = 12


def membership_training(record: Record) -> Section | None:
    """Who was trained on what in a membership audit, and how good it is; None where the run trained nothing."""
    said = record.get("training")
    if not said:
        return None
    classes, groups = said["classes"], said.get("groups")
    end = "" if groups is None else f" All records of one user are in one set ({groups:,} groups)."
    lead = (f"Every model was trained here, by the recipe {_recipe(said['recipe'])}, to tell {len(classes)} classes "
            f"apart ({', '.join(map(str, classes))}; equally many in every set, so that a guess is right "
            f"{percent(1 / len(classes), 0)} of the time). A draw with seed {said['seed']} decided which record is in "
            f"which set.{end}")
    rows = [_model(name, said) for name in MODELS if name in said["models"]] + _shadows(said)
    return Section("What was trained", blocks(Text(lead), _sets(said), table(HEAD, rows), Bullets("", _notes(said))),
                   name="trained")


def membership_training_lines(record: Record) -> tuple[str, ...]:
    """Recipe, rows and accuracies, and what was left out, for the terminal; empty where the run trained nothing."""
    said = record.get("training")
    if not said:
        return ()
    models = {name: said["models"][name] for name in MODELS if name in said["models"]}
    rows = ", ".join(f"{name} {one['trained_on']:,} "
                     f"({percent(one['validation_accuracy'], 0, missing='accuracy unknown')})"
                     for name, one in models.items())
    shadows = f", {said['shadows']['number']:,} shadows" if said.get("shadows") else ""
    pool = sum(said["planted"].values())
    planted = f" Planted in f_A or f_B: {pool:,} records." if pool else ""
    trained = (f"Trained here with {_recipe(said['recipe'])}, seed {said['seed']}. Rows and accuracy on validation: "
               f"{rows}{shadows}.{planted}")
    return trained, _duplicates(said["duplicates"])


def provenance(record: Record) -> tuple[tuple[str, str], ...]:
    """Recipe with every option, and versions, as pairs of words for the end of a page."""
    said = record.get("training")
    if not said or "versions" not in said:
        return ()
    options = ", ".join(f"{name}={_plain(value)}" for name, value in said["recipe"].items() if name != "name")
    versions = ", ".join(f"{name} {_version(value)}" for name, value in said["versions"].items())
    return (("recipe", f"{said['recipe']['name']}{f': {options}' if options else ''}"), ("trained with", versions))


def _sets(said: Record) -> Table | None:
    rows = [(SETS[name][0], f"{said['sides'][name]:,}", SETS[name][1]) for name in SETS if said["sides"].get(name)]
    if pool := sum(said["planted"].values()):
        each = ", ".join(f"{n:,} of them {copies}×" for copies, n in said["planted"].items())
        rows.append(("planted", f"{pool:,}", f"half of each kind trains f_A and half f_B: {each}"))
    return table(("set", "records", "what they are for"), rows)


def _model(name: str, said: Record) -> list[str]:
    one, (role, where) = said["models"][name], MODELS[name]
    planted, steps, rate = one.get("planted_records"), one.get("steps"), one.get("learning_rate")
    return [name, role, f"{where} and {planted:,} planted records" if planted else where, f"{one['trained_on']:,}",
            percent(one["validation_accuracy"], 0, missing=NOTHING),
            NOTHING if steps is None else f"{one.get('best_step', steps):,} of {one.get('planned_steps', steps):,}",
            NOTHING if rate is None else f"{rate:g}", percent(one.get("token_share"), missing=NOTHING)]


def _shadows(said: Record) -> list[list[str]]:
    found = said.get("shadows")
    if not found:
        return []
    rows = " to ".join(f"{one:,}" for one in sorted({found["fewest_rows"], found["most_rows"]}))
    return [[f"{found['number']:,} shadows", "references", "random sets out of A, B and evaluation", rows,
             *[NOTHING] * (len(HEAD) - 4)]]


def _notes(said: Record) -> tuple[str, ...]:
    one = said["models"]["f_A"]
    found = [_duplicates(said["duplicates"]), *(f"{note}." for note in said["notes"])]
    if "parameters" in one:
        found.append(f"The model is a {one['family']} of {counted(one['layers'], 'layer')} and {one['parameters']:,} "
                     f"parameters; {one['trained']:,} were trained. It computes in {one['dtype']}.")
    if "learning_rate_by" in one:
        found.append(f"Where the learning rate comes from: {one['learning_rate_by']}.")
    if one.get("token_share", 1.0) < 1.0:
        found.append("Where not all tokens are seen, long records were cut: the models know nothing of the rest.")
    if said["copies"] > 1:
        found.append(f"Every training row is {said['copies']} times in its training set.")
    return tuple(found)


def _duplicates(found: Record) -> str:
    repeated, conflicting = found["repeated_rows"], found["conflicting_rows"]
    told = (f"{repeated + conflicting:,} of {found['rows']:,} rows were left out: {repeated:,} repeat the text of "
            f"another row, {conflicting:,} have a text that occurs with two labels."
            if repeated + conflicting else f"None of {found['rows']:,} rows repeats another's text.")
    if found["near_clusters"] is None:
        return f"{told} Near-duplicates were allowed in different sets."
    return told if not found["near_clusters"] else (
        f"{told} {found['near_rows']:,} rows in {found['near_clusters']:,} clusters of near-duplicates were kept "
        "together.")


def _recipe(recipe: Record) -> str:
    """"transformer (minilm, lora, rank 64)": name and what matters most; all options are in the provenance."""
    shown = [str(recipe[name]).rstrip("/").rpartition("/")[2] for name in ("base", "encoder", "regime")
             if recipe.get(name) is not None]
    shown += [f"rank {recipe['rank']}"] if recipe.get("regime") == "lora" else []
    return str(recipe["name"]) + (f" ({', '.join(shown)})" if shown else "")


def _plain(value: Any) -> str:
    return "+".join(map(str, value)) if isinstance(value, list | tuple) else "none" if value is None else str(value)


def _version(value: str) -> str:
    """A distribution's version; of a package's source the beginning of its hash."""
    version, found, source = str(value).rpartition("source:")
    return f"{version}{source[:DIGEST]}" if source and found else str(value)


def label_training(record: Record) -> tuple[str, ...]:
    """Recipe and data, who is what, references, and how long a label audit trained; empty where it trained nothing."""
    said = record.get("training")
    if not said:
        return ()
    classes, seeds = [str(one)[:40] for one in said["classes"]], list(said["deals"])
    shown = ", ".join(classes[:MOST_CLASSES]) + (", …" if len(classes) > MOST_CLASSES else "")
    return (f"Every model was trained here by the recipe {said['recipe']['name']}, on {CALLED[said['data']]} with "
            f"{len(classes)} classes ({shown}); {'seed' if len(seeds) == 1 else 'seeds'} {listed(seeds)}.",
            _assigned(said), _references(said), _epochs(said))


def _assigned(said: Record) -> str:
    seed, sizes = next(iter(said["deals"].items()))
    planted = [f"{n:,} {times(int(copies))}" for copies, n in sizes["planted"].items() if n]
    also = f" Further canaries were planted in training, {listed(planted)}." if planted else ""
    alike = all(one == sizes for one in said["deals"].values())
    groups = " Each of these holds whole groups." if said["grouped"] else ""
    return (f"{'Of' if alike else f'With seed {seed}, of'} {sizes['rows']:,} rows {sizes['heldout']:,} were held out. "
            f"Of the others, {sizes['canary']:,} canaries and {sizes['placebo']:,} held-out canaries were drawn at "
            f"random and given random labels; {sizes['train']:,} kept theirs.{also}{groups}")


def _references(said: Record) -> str:
    targets = sum(one["role"] == "target" for one in said["models"])
    references = len(said["models"]) - targets
    if not references:
        return "No references were trained."
    return (f"For {counted(targets, 'target')}, {counted(references, 'reference')} of an attacker "
            f"{'was' if references == 1 else 'were'} trained on the rows of a target and its held-out canaries, with "
            "labels of the canaries drawn afresh.")


def _epochs(said: Record) -> str:
    done = sorted({one["epochs_done"] for one in said["models"]})
    found = (f"Each was trained for {' to '.join(map(str, (done[0], done[-1])[:len(done)]))} "
             f"{'epoch' if done == [1] else 'epochs'}")
    wanted = said["recipe"].get("until_accuracy")
    if wanted is None:
        return f"{found}."
    if not said["same_epochs"]:
        return f"{found}, until {percent(wanted, 0)} of its training rows were classified as trained, or to the end."
    short = [f"seed {one['seed']}" for one in said["models"] if not one.get("reached", True)]
    missed = f" That accuracy was not reached with {listed(short)}." if short else ""
    return (f"{found}: as long as the one without noise took to classify {percent(wanted, 0)} of its training rows as "
            f"trained.{missed}")


def learnt_nothing(accuracy: Mapping[str, Any], classes: int) -> str:
    """A warning where a model is hardly better than a guess among `classes`; empty where it is."""
    if accuracy["value"] is None or accuracy["value"] > 1 / classes + 0.05:
        return ""
    return (f"The model has learnt next to nothing: it is right on {number(accuracy['value'])} of rows that it was not "
            f"trained on, and a guess among {classes} classes on {number(1 / classes)}. What was not learnt cannot "
            "leak; this verdict says nothing of a model that works.")
