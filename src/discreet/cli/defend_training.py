"""`discreet defend training`: which ways to train a classifier leak less, and what they cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from discreet.cli import library as lib
from discreet.cli.options import Execution, Seed, Sizes, TrainedRecipe, TrainingData, flag, option, planted_of, sizes_of
from discreet.cli.output import RunOutput, end, provenance
from discreet.cli.parts import look_at_assigned


def training(
    *, recipe: TrainedRecipe, data: TrainingData,
    defences: Annotated[str | None, option(
        "D,D,…", "What is tried: early-stopping=PATIENCE, weight-decay=D, label-smoothing=S, deduplicate, "
        "dp-sgd=EPSILON; a word may stand several times with different numbers. By default those of these that the "
        "recipe has.")] = None,
    seeds: Annotated[int, option("N", "Retrainings of each, from --seed on, on the same sets.", min=2)] = 3,
    sizes: Sizes = None,
    planted: Annotated[str, option(
        "N,N,…", "Repetitions of the records planted as a positive control; 'none' leaves them out.")] = "1,4,16",
    allow_near: Annotated[bool, flag("Let near duplicates stand in different sets.")] = False,
    seed: Seed = 42, execution: Execution, output: RunOutput,
) -> None:
    """Train a recipe without and with defences, audit all, and name the two defences that cost least.

    The same split and seeds for each; a recipe that draws nothing from its seed is trained once. Says so where no
    defence helps. Exits with 1 where an audit shows a larger ε than DP-SGD guarantees.
    """
    experiment = lib.membership_experiments.MembershipExperiment(
        lib.engine.DataFile.of(data), recipe, seed, sizes_of(sizes), planted=planted_of(planted),
        keep_models=execution.keep_models, allow_near=allow_near)
    tried = lib.candidates.defences_of(defences, recipe)
    # A recipe that is not there, takes no texts or lacks a package is refused before a run folder is made.
    ways = [experiment, *(replace(experiment, recipe=one.recipe, deduplicate=one.deduplicate) for one in tried)]
    for way in ways:
        way.tasks()
    draws = any(way.draws for way in ways)
    if not draws:
        seeds = 1
        output.note(f"the recipe {experiment.recipe_name!r} draws nothing from its seed, so that it is trained once "
                    "without and once with each defence; intervals are over records")
    run = output.open_run()
    models = [replace(way, training_seed=seed + number) for way in ways for number in range(seeds)]
    with execution.trained(models, output.out, quiet=output.quiet,
                           check=lambda one: look_at_assigned(one, output, None)) as trained:
        tables = [one.table() for one in trained]
        said = [one.training() for one in trained[::seeds]]
    of_way = [tables[start:start + seeds] for start in range(0, len(tables), seeds)]
    names = [one.name for one in tried]
    found = lib.training_defences.compare_defences(of_way[0], dict(zip(names, of_way[1:], strict=True)), seed=seed,
                                                   draws=draws)
    record = {"kind": "defend-training", "schema": 1, **found.to_json(), "training": said[0],
              "recipes": {name: one["recipe"] for name, one in zip(names, said[1:], strict=True)},
              "trained": {name: one["models"]["f_A"] for name, one in zip(
                  (found.undefended.name, *names), said, strict=True)},
              "provenance": provenance(data, finished=True, seed=seed)}
    output.finish_with_page(record, run, {"n": found.records}, when_quiet="summary")
    end(found.verdict)
