"""What a label audit says of the models that its run trained, in sentences for a page and for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.core.numbers import counted
from discreet.report.labels_words import Record

CALLED = {"table": "a table", "text": "texts", "array": "arrays"}
MOST_CLASSES = 12


def lines(record: Record) -> list[str]:
    """Recipe and data, who is what, references, and how long was trained; empty where the run trained nothing."""
    said = record.get("training")
    if not said:
        return []
    return [_recipe(said), *_deals(said), _references(said), _epochs(said)]


def _recipe(said: Record) -> str:
    classes, seeds = [str(one)[:40] for one in said["classes"]], list(said["deals"])
    shown = ", ".join(classes[:MOST_CLASSES]) + (", …" if len(classes) > MOST_CLASSES else "")
    return (f"Every model was trained here by the recipe {said['recipe']['name']}, on {CALLED[said['data']]} with "
            f"{len(classes)} classes ({shown}); {'seed' if len(seeds) == 1 else 'seeds'} {_listed(seeds)}.")


def _deals(said: Record) -> list[str]:
    seed, sizes = next(iter(said["deals"].items()))
    planted = [f"{number:,} {'once' if times == '1' else f'{times} times'}" for times, number in
               sizes["planted"].items() if number]
    also = f" Further canaries stood in training on purpose, {_listed(planted)}." if planted else ""
    alike = all(one == sizes for one in said["deals"].values())
    groups = " A group is one of these as a whole." if said["grouped"] else ""
    return [f"{'Of' if alike else f'With seed {seed}, of'} {sizes['rows']:,} rows {sizes['heldout']:,} were held out. "
            f"Chance made {sizes['canary']:,} of the others canaries and {sizes['placebo']:,} placebos, and drew their "
            f"labels; {sizes['train']:,} kept theirs.{also}{groups}"]


def _references(said: Record) -> str:
    targets = [one for one in said["models"] if one["role"] == "target"]
    references = len(said["models"]) - len(targets)
    if not references:
        return "No references were trained."
    return (f"Beside {counted(len(targets), 'target')} an attacker's {counted(references, 'reference')} "
            f"{'was' if references == 1 else 'were'} trained, on the rows of a target and its placebos, with labels "
            "of canaries and placebos drawn afresh.")


def _epochs(said: Record) -> str:
    done = sorted({one["epochs_done"] for one in said["models"]})
    told = f"{done[0]}" if len(done) == 1 else f"{done[0]} to {done[-1]}"
    found = f"Each was trained for {told} {'epoch' if done == [1] else 'epochs'}"
    wanted = said["recipe"].get("until_accuracy")
    if wanted is None:
        return f"{found}."
    if not said["same_epochs"]:
        return f"{found}, until {100 * wanted:.0f}% of its training rows were classified as trained, or to the end."
    short = [one for one in said["models"] if not one.get("reached", True)]
    seeds = _listed([f"seed {one['seed']}" for one in short]) if short else ""
    missed = f" That accuracy was not reached with {seeds}." if short else ""
    return (f"{found}: as long as it took the one without noise to classify {100 * wanted:.0f}% of its training rows "
            f"as trained.{missed}")


def _listed(names: Sequence[Any]) -> str:
    *others, last = map(str, names)
    return f"{', '.join(others)} and {last}" if others else last
