"""`discreet audit labels`, `check-table`: do a model's outputs give away the labels that it was trained on?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import discreet
from discreet.cli import library as lib
from discreet.cli.options import Execution, Seed, argument, flag, group, names_of, numbers_of, option, planted_of
from discreet.cli.output import Output, PageOutput, RunOutput, end, provenance
from discreet.core.errors import UsageError

MOST_SEEDS = 1000


@group("Audit")
class Audit:
    """How a table of scores is audited."""

    assignment: Annotated[str, option(
        "A", "How canary labels were drawn: independent and uniform, balanced, or unknown.")] = "uniform"
    tune: Annotated[bool, flag(
        "Also try attacks tuned on half of the canaries and judged on the other half.", "--tune/--no-tune")] = True
    seed: Seed = 42


@group("Training")
class Training:
    """What is trained on what."""

    recipe: Annotated[str, option(
        "R", "mlp, cnn:width=8, rnn, resnet18, token-transformer, … or a YAML file with a recipe's name and options.")]
    data: Annotated[Path, option(
        "F", "CSV, Parquet or JSON Lines (texts where there is a column text); .npz, .npy or IDX of arrays, images.")]
    target: Annotated[str, option("COLUMN", "The column of the labels; of a .npz the array, of .npy and IDX the file.")]
    positive: Annotated[str | None, option(
        "V,V,…", "Values of the target that become class 1; all others are class 0.")] = None
    group: Annotated[str | None, option(
        "COLUMN", "Users or regions; one is canary, control or held out as a whole.")] = None
    drop: Annotated[str | None, option(
        "COLUMN,…", "Columns of a table that are no features; id and the group never are.")] = None
    mechanism: Annotated[str, option(
        "M,M,…", "What is done to labels before training: rr, alibi, rr_with_prior (LP-2ST), rr_top_k.")] = "rr"
    epsilon: Annotated[str, option("E,E,…", "The ε of each mechanism, inf for no noise.")] = "inf"
    canaries: Annotated[float, option(
        "S", "Rows whose labels are drawn by chance; a share of those not held out, or a number from 1.")] = 0.02
    control: Annotated[float, option("S", "Held-out canaries: the same of rows that no target is trained on.")] = 0.02
    planted: Annotated[str, option(
        "N,N,…", "How often each canary of the positive control stands in training; 'none' for none.")] = "1,4,16"
    heldout: Annotated[float, option("S", "Rows that only measure accuracy; a share of all, or a number from 1.")] = 0.2
    references: Annotated[int, option(
        "R", "Models that the attacker trains for each target, with labels drawn afresh.")] = 4
    seeds: Annotated[int, option(
        "N", "How often everything is drawn and trained, under --seed and the numbers after it.")] = 1

    def experiments(self, audit: Audit, *, keep_models: bool) -> list[lib.label_experiments.LabelExperiment]:
        """One experiment for each seed. Raises UsageError for what cannot be trained."""
        if not 1 <= self.seeds <= MOST_SEEDS:
            raise UsageError(f"--seeds is {self.seeds}; expected 1 to {MOST_SEEDS:,}")
        mechanisms = names_of("--mechanism", self.mechanism)
        for name in mechanisms:
            # An arm takes broken mechanisms too, and would name them among those that there are.
            if name != lib.table.NO_MECHANISM:
                lib.label_mechanisms.label_mechanism(name, 1.0, 2)
        epsilons = numbers_of("--epsilon", self.epsilon, float, positive=True, infinite=True)
        # The labels of arrays may lie in a file of their own.
        apart = self.data.name.lower().endswith(lib.datasets.ARRAYS) and Path(self.target).is_file()
        experiment = lib.label_experiments.LabelExperiment(
            lib.engine.DataFile.of(self.data), "labels" if apart else self.target, self.recipe,
            lib.label_experiments.arms_of(mechanisms, epsilons), audit.seed, self.canaries, self.control,
            planted_of(self.planted), heldout=self.heldout, references=self.references,
            assignment=cast(Any, audit.assignment), labels=lib.engine.DataFile.of(self.target) if apart else None,
            group=self.group, positive=None if self.positive is None else names_of("--positive", self.positive),
            drop=() if self.drop is None else names_of("--drop", self.drop), keep_models=keep_models)
        experiment.check()
        return [replace(experiment, seed=audit.seed + number) for number in range(self.seeds)]


def scores(
    scores: Annotated[Path, argument(
        "FILE", "Parquet, CSV or JSON Lines: a row per model and example with model, example, example_role (canary, "
        "control, train, heldout), label_original, label_canary, label_trained and logit_0 … or prob_0 …; also "
        "model_role, epsilon, mechanism, seed, planted, group.")],
    *, audit: Audit, output: PageOutput,
) -> None:
    """Audit a table of scores of canaries. A verdict, with held-out canaries and what the scores could show.

    Exits with 0 for pass, 1 for fail, 3 for inconclusive.
    """
    lib.label_audit.check_options(audit.seed, audit.assignment)
    table = discreet.load_scores(scores, kind="labels")
    _audit(table, scores, audit, output)


def train(*, training: Training, execution: Execution, audit: Audit, output: PageOutput) -> None:
    """Draw canary labels, train every model that an audit needs, and audit their scores, which --out keeps.

    Exits with 0 for pass, 1 for fail, 3 for inconclusive.
    """
    lib.label_audit.check_options(audit.seed, audit.assignment)
    # What cannot be trained is refused before a run folder is made.
    experiments = training.experiments(audit, keep_models=execution.keep_models)
    # Training is long, and goes on in its run folder where it was stopped.
    run = output.open_run()
    with execution.trained(experiments, output.out, quiet=output.quiet) as done:
        table, record = lib.label_experiments.joined(done), lib.label_experiments.training_record(done)
    _audit(table, training.data, audit, output, run=run, training=record)


def plan(
    epsilon: Annotated[float, option("E", "The ε to be shown.")] = 1.0,
    classes: Annotated[int, option("K", "The number of classes.")] = 2,
    guessed: Annotated[float, option("S", "Share of canaries that the attack is sure enough of to guess.")] = 1.0,
    *, output: Output,
) -> None:
    """Plan an audit: how many canaries it takes to show an ε."""
    output.show({"kind": "plan labels", "schema": 1, **lib.bounds.plan_canaries(epsilon, classes, guessed)})


def _audit(table: lib.table.ScoreTable, source: Path, audit: Audit, output: PageOutput, *,
           run: lib.runs.Run | None = None, training: dict[str, Any] | None = None) -> None:
    """Audit `table`, keep and show the record, and end with its exit code; `training` is of what was trained here."""
    done = discreet.audit_labels(
        table, seed=audit.seed, assignment=cast(Any, audit.assignment), tune=audit.tune,
        drawn_here=training is not None, facts=provenance(source, finished=True))
    run = run or output.open_run()
    record = done.record
    if training is not None:
        record["training"] = training
        if run is not None:
            lib.write.write_scores(table, run.path / "scores.parquet")
    output.finish_with_page(record, run, {"n": record["provenance"]["examples"], "verdict": done.verdict})
    end(done.verdict)


def check_table(
    file: Annotated[Path, argument(
        "FILE", "JSON Lines, CSV or Parquet, a row a figure: n_canaries, train_accuracy (may be empty), epsilon (or "
        "inf) and success; also n_classes (2), n_train, benchmark, attack, and guess: prediction where the attack "
        "answers the model's own prediction. Shares, or percent where a column holds a number above 1.")],
    *,
    alpha: Annotated[float, option(
        "A", "Chance that a sound table is called impossible, for the ceilings and for the accuracies each.")] = 0.05,
    output: RunOutput,
) -> None:
    """Check whether a published table is possible at its stated ε.

    Success is compared with what ε allows, and train accuracy with success and the flip rate. Exits with 0 where every
    cell is possible, with 1 where one is not. A suspect flip rate alone changes no exit code.
    """
    if not 0.0 < alpha < 1.0:
        raise UsageError(f"--alpha is {alpha:g}; expected a number strictly between 0 and 1")
    result = lib.published_table.check_cells(lib.published_table.read_cells(file), alpha)
    run = output.open_run()
    record = {"kind": "check-table", "schema": 1, **result, "provenance": provenance(file)}
    output.finish(record, run, {"n": result["n_cells"], "impossible": result["impossible"]}, when_quiet="headline")
    end("fail" if result["impossible"] else "pass")
