"""`discreet audit labels`: do a model's outputs give away the labels that it was trained on?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, cast

import typer

from discreet.cli import library
from discreet.cli.options import Execution, Seed, names_of, numbers_of, planted_of
from discreet.cli.output import Output, PageOutput, end, provenance
from discreet.core.errors import UsageError

MOST_SEEDS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """How a table of scores is audited."""

    HEADING: ClassVar[str] = "Audit"

    assignment: Annotated[str, typer.Option(
        "--assignment", metavar="A", help="How canary labels were drawn: independent and uniform, or "
                                          "balanced.")] = "uniform"
    permutations: Annotated[int, typer.Option(
        "--permutations", metavar="N", help="Draws of the labels for null p values; 0 leaves them out.")] = 999
    tune: Annotated[bool, typer.Option(
        "--tune/--no-tune", help="Also try attacks that are tuned on half of the canaries and judged on the other "
                                 "half.")] = True
    seed: Seed = 42


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What is trained on what."""

    HEADING: ClassVar[str] = "Training"

    recipe: Annotated[str, typer.Option(
        "--recipe", metavar="R", help="mlp, cnn:width=8, rnn, resnet18, token-transformer, … or a YAML file with a "
                                      "recipe's name and options.")]
    data: Annotated[Path, typer.Option(
        "--data", metavar="F", help="A table as CSV, Parquet or JSON Lines (texts where it has a column text), or "
                                    "arrays and images as .npz, .npy or IDX.")]
    target: Annotated[str, typer.Option(
        "--target", metavar="COLUMN", help="The column of the labels; of a .npz the array, of .npy and IDX the file.")]
    positive: Annotated[str | None, typer.Option(
        "--positive", metavar="V,V,…", help="Values of the target that become class 1; all others are class 0.")] = None
    group: Annotated[str | None, typer.Option(
        "--group", metavar="COLUMN", help="Users or regions; one is canary, control or held out as a whole.")] = None
    drop: Annotated[str | None, typer.Option(
        "--drop", metavar="COLUMN,…", help="Columns of a table that are no features; id and the group never "
                                           "are.")] = None
    mechanism: Annotated[str, typer.Option(
        "--mechanism", metavar="M,M,…", help="What is done to labels before training: rr, alibi, rr_with_prior "
                                             "(LP-2ST), rr_top_k.")] = "rr"
    epsilon: Annotated[str, typer.Option(
        "--epsilon", metavar="E,E,…", help="The ε of each mechanism, inf for no noise.")] = "inf"
    canaries: Annotated[float, typer.Option(
        "--canaries", metavar="S", help="Rows whose labels are drawn by chance; a share of those not held out, or a "
                                        "number from 1.")] = 0.02
    placebo: Annotated[float, typer.Option(
        "--placebo", metavar="S", help="Held-out canaries: the same of rows that no target is trained on.")] = 0.02
    planted: Annotated[str, typer.Option(
        "--planted", metavar="N,N,…", help="How often the canaries of the positive control stand in training; 'none' "
                                           "leaves them out.")] = "1,4,16"
    heldout: Annotated[float, typer.Option(
        "--heldout", metavar="S", help="Rows that only measure accuracy; a share of all, or a number from 1.")] = 0.2
    references: Annotated[int, typer.Option(
        "--references", metavar="R", help="Models that the attacker trains for each target, with labels drawn "
                                          "afresh.")] = 4
    seeds: Annotated[int, typer.Option(
        "--seeds", metavar="N", help="How often everything is drawn and trained, under --seed and the numbers after "
                                     "it.")] = 1

    def experiments(self, audit: Audit, *, keep_models: bool) -> list[library.LabelExperiment]:
        """One experiment for each seed. Raises UsageError for what cannot be trained."""
        if not 1 <= self.seeds <= MOST_SEEDS:
            raise UsageError(f"--seeds is {self.seeds}; expected 1 to {MOST_SEEDS:,}")
        mechanisms = names_of("--mechanism", self.mechanism)
        for name in mechanisms:
            # An arm takes broken mechanisms too, and would name them among those that there are.
            if name != library.NO_MECHANISM:
                library.label_mechanism(name, 1.0, 2)
        # The labels of arrays may lie in a file of their own.
        apart = self.data.name.lower().endswith(library.ARRAYS) and Path(self.target).is_file()
        experiment = library.LabelExperiment(
            library.DataFile.of(self.data), "labels" if apart else self.target, self.recipe,
            library.arms_of(mechanisms, numbers_of("--epsilon", self.epsilon, float, positive=True, infinite=True)),
            audit.seed, self.canaries, self.placebo, planted_of(self.planted), heldout=self.heldout,
            references=self.references, assignment=cast(Any, audit.assignment),
            labels=library.DataFile.of(self.target) if apart else None,
            group=self.group, positive=None if self.positive is None else names_of("--positive", self.positive),
            drop=() if self.drop is None else names_of("--drop", self.drop), keep_models=keep_models)
        experiment.check()
        return [experiment.with_seed(audit.seed + number) for number in range(self.seeds)]


def scores(
    scores: Annotated[Path, typer.Argument(
        metavar="FILE", show_default=False,
        help="Parquet, CSV or JSON Lines: a row per model and example with model, example, example_role (canary, "
             "placebo, train, heldout), label_original, label_canary, label_trained and logit_0 … or prob_0 …; also "
             "model_role, epsilon, mechanism, seed, planted, group.")],
    *, audit: Audit, output: PageOutput,
) -> None:
    """Audit a table of scores of canaries. A verdict, with held-out canaries and what the scores could show.

    Exits with 0 for pass, 1 for fail, 3 for inconclusive.
    """
    library.check_label_options(audit.permutations, audit.seed, audit.assignment)
    table = library.load_scores(scores, kind="labels")
    _audit(table, scores, audit, output)


def train(*, training: Training, execution: Execution, audit: Audit, output: PageOutput) -> None:
    """Draw canary labels, train every model that an audit needs, and audit their scores, which --out keeps.

    Exits with 0 for pass, 1 for fail, 3 for inconclusive.
    """
    library.check_label_options(audit.permutations, audit.seed, audit.assignment)
    # What cannot be trained is refused before a run folder is made.
    experiments = training.experiments(audit, keep_models=execution.keep_models)
    # Training is long, and goes on in its run folder where it was stopped.
    run = output.open_run()
    with execution.store_in(output.out) as store:
        done = library.train_experiments(experiments, store, engine=execution.engine, workers=execution.workers,
                                         address=execution.address, quiet=output.quiet)
        table, record = library.joined(done), library.label_training_record(done)
    _audit(table, training.data, audit, output, run=run, training=record)


def plan(
    epsilon: Annotated[float, typer.Option("--epsilon", metavar="E", help="The ε to be shown.")] = 1.0,
    classes: Annotated[int, typer.Option("--classes", metavar="K", help="The number of classes.")] = 2,
    guessed: Annotated[float, typer.Option(
        "--guessed", metavar="S", help="Share of canaries that the attack is sure enough of to guess.")] = 1.0,
    *, output: Output,
) -> None:
    """Plan an audit: how many canaries it takes to show an ε."""
    output.show({"kind": "plan labels", "schema": 1, **library.plan_canaries(epsilon, classes, guessed)})


def _audit(table: library.ScoreTable, source: Path, audit: Audit, output: PageOutput, *,
           run: library.Run | None = None, training: dict[str, Any] | None = None) -> None:
    """Audit `table`, keep and show the record, and end with its exit code; `training` is of what was trained here."""
    done = library.audit_labels(
        table, permutations=audit.permutations, seed=audit.seed, assignment=audit.assignment, tune=audit.tune,
        drawn_here=training is not None, facts=provenance(source, finished=True))
    run = run or output.open_run()
    record = done.record
    if training is not None:
        record["training"] = training
        if run is not None:
            library.write_scores(table, run.path / "scores.parquet")
    output.finish_with_page(record, run, {"n": record["provenance"]["examples"], "verdict": done.verdict},
                            report=output.report)
    end(done.verdict)
