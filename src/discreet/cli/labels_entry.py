"""The options of `discreet audit labels` for a recipe and data instead of scores: everything is trained here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.recipe_entry import planted_of, store_of
from discreet.core.errors import UsageError

if TYPE_CHECKING:
    from discreet.engine import DataFile
    from discreet.experiments import LabelExperiment
    from discreet.scores.table import ScoreTable

Recipe = Annotated[str | None, typer.Option(
    "--recipe", metavar="R", help="Train everything here: mlp, cnn:width=8, rnn, resnet18, token-transformer, … or "
                                  "a YAML file with a recipe's name and options.")]
Data = Annotated[Path | None, typer.Option(
    "--data", metavar="F", help="With --recipe: a table as CSV, Parquet or JSON Lines (texts where it has a column "
                                "text), or arrays and images as .npz, .npy or IDX.")]
Target = Annotated[str | None, typer.Option(
    "--target", metavar="COLUMN", help="With --recipe: the column of the labels; of a .npz the array, of .npy and IDX "
                                       "the file.")]
Positive = Annotated[str | None, typer.Option("--positive", metavar="V,V,…", help="With --recipe: values of the target "
                                              "that become class 1; all others are class 0.")]
Group = Annotated[str | None, typer.Option("--group", metavar="COLUMN", help="With --recipe: users or regions; one is "
                                           "canary, placebo or held out as a whole.")]
Drop = Annotated[str | None, typer.Option("--drop", metavar="COLUMN,…", help="With --recipe: columns of a table that "
                                          "are no features; id and the group never are.")]
Canaries = Annotated[float, typer.Option("--canaries", metavar="S", help="With --recipe: rows whose labels are drawn "
                                         "by chance; a share of those not held out, or a number from 1.")]
Placebo = Annotated[float, typer.Option("--placebo", metavar="S", help="With --recipe: the same of rows that no target "
                                        "is trained on.")]
Heldout = Annotated[float, typer.Option("--heldout", metavar="S", help="With --recipe: rows that only measure "
                                        "accuracy; a share of all, or a number from 1.")]
Planted = Annotated[str, typer.Option("--planted", metavar="N,N,…", help="With --recipe: how often the canaries of the "
                                      "positive control stand in training; 'none' leaves them out.")]
Mechanism = Annotated[str, typer.Option("--mechanism", metavar="M,M,…", help="With --recipe: what is done to labels "
                                        "before training: rr, alibi, rr_with_prior (LP-2ST), rr_top_k.")]
Seeds = Annotated[int, typer.Option("--seeds", metavar="N", help="With --recipe: how often everything is drawn and "
                                    "trained, under --seed and the numbers after it.")]
References = Annotated[int, typer.Option("--references", metavar="R", help="With --recipe: models that the attacker "
                                         "trains for each target, with labels drawn afresh.")]
Workers = Annotated[int | None, typer.Option("--workers", metavar="N", help="With --recipe: banks of models trained at "
                                             "a time.")]
StoreAt = Annotated[Path | None, typer.Option("--store", metavar="DIR", help="With --recipe: where results of steps "
                                              "are kept, so that a run that was stopped goes on, and a later ε or seed "
                                              "trains itself alone; OUT/store if not given.")]

ALONE: Mapping[str, Any] = {
    "data": None, "target": None, "positive": None, "group": None, "drop": None, "canaries": 0.02, "placebo": 0.02,
    "heldout": 0.2, "planted": "1,4,16", "mechanism": "rr", "seeds": 1, "references": 4, "engine": "local",
    "workers": None, "address": None, "store": None, "keep_models": False}
MOST_SEEDS = 1000


@dataclass(frozen=True, slots=True)
class Trains:
    """What there is to train, as the options say it."""

    experiments: tuple[LabelExperiment, ...]
    engine: str
    workers: int | None
    address: str | None
    store: Path | None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Trains | None:
        """From the parameters of the command; None without a recipe. UsageError for what cannot be."""
        if given["recipe"] is None:
            if wrong := [name for name, default in ALONE.items() if given[name] != default]:
                raise UsageError(f"--{wrong[0].replace('_', '-')} was given without --recipe; expected it with "
                                 "--recipe R --data F --target COLUMN only")
            return None
        for name in ("data", "target"):
            if given[name] is None:
                raise UsageError(f"--recipe was given without --{name}; expected --recipe R --data F --target COLUMN")
        for name in ("scores", "plan"):
            if given[name]:
                raise UsageError(f"--recipe and --{name} were given together; expected one of --recipe, --scores and "
                                 "--plan")
        from discreet.engine import DataFile
        from discreet.experiments.labels import LabelExperiment, arms_of
        from discreet.mechanisms.labels.base import label_mechanism
        from discreet.scores.table import NO_MECHANISM

        if not 1 <= given["seeds"] <= MOST_SEEDS:
            raise UsageError(f"--seeds is {given['seeds']}; expected 1 to {MOST_SEEDS:,}")
        target, labels = _labels_of(given["data"], given["target"])
        mechanisms = words_of("mechanism", given["mechanism"])
        for name in mechanisms:
            # An arm takes broken mechanisms too, and would name them among those that there are.
            if name != NO_MECHANISM:
                label_mechanism(name, 1.0, 2)
        experiment = LabelExperiment(
            DataFile.of(given["data"]), target, given["recipe"],
            arms_of(mechanisms, epsilons_of(given["epsilon"] or "inf")), given["seed"], given["canaries"],
            given["placebo"], planted_of(given["planted"]), heldout=given["heldout"],
            references=given["references"], law=given["law"], labels=labels, group=given["group"],
            positive=None if given["positive"] is None else words_of("positive", given["positive"]),
            drop=() if given["drop"] is None else words_of("drop", given["drop"]), keep_models=given["keep_models"])
        # What cannot be is said before a run folder is made.
        experiment.check()
        seeds = range(given["seed"], given["seed"] + given["seeds"])
        return cls(tuple(experiment.with_seed(seed) for seed in seeds), given["engine"], given["workers"],
                   given["address"], given["store"])

    def scored(self, out: Path | None, *, quiet: bool) -> tuple[ScoreTable, dict[str, Any]]:
        """The table of all seeds, and what the report says of the training.

        Results of steps, which hold no text, are kept in the store, or for the time of the run where there is none.
        """
        from discreet.experiments import train
        from discreet.experiments.labels import joined, training_record

        with store_of(self.store, out) as store:
            trained = train(self.experiments, store, engine=self.engine, workers=self.workers, address=self.address,
                            quiet=quiet)
            return joined(trained), training_record(trained)

    @property
    def source(self) -> Path:
        """The file of the data."""
        return self.experiments[0].data.path


def epsilons_of(given: str) -> tuple[float, ...]:
    """`inf,4,.5` as numbers above 0, each once. UsageError for anything else."""
    found: dict[float, None] = {}
    for part in given.split(","):
        try:
            value = float(part)
        except ValueError:
            value = float("nan")
        if isnan(value) or value <= 0.0:
            raise UsageError(f"--epsilon holds {part.strip()[:20]!r}; expected numbers above 0, or inf for no noise, "
                             "with commas between them")
        found[inf if value == inf else value] = None
    return tuple(found)


def words_of(name: str, given: str) -> tuple[str, ...]:
    """`a,b` as words, each once. UsageError for an empty one."""
    found = tuple(dict.fromkeys(part.strip() for part in given.split(",")))
    if not all(found):
        raise UsageError(f"--{name} is {given[:20]!r}; expected words with commas between them")
    return found


def _labels_of(data: Path, target: str) -> tuple[str, DataFile | None]:
    """The target's name, and the file of the labels where they lie apart from arrays."""
    from discreet.data.datasets import ARRAYS
    from discreet.engine import DataFile

    if not data.name.lower().endswith(ARRAYS) or not Path(target).is_file():
        return target, None
    return "labels", DataFile.of(target)
