"""`discreet audit membership`: do a model's scores give away who was in its training set?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import discreet
from discreet.cli import library as lib
from discreet.cli.options import (
    AllowSplitGroups,
    Execution,
    Seed,
    ShowText,
    Sizes,
    TrainedRecipe,
    TrainingData,
    argument,
    flag,
    group,
    names_of,
    numbers_of,
    option,
    planted_of,
    sizes_of,
)
from discreet.cli.output import PageOutput, end, provenance
from discreet.cli.parts import look_at_assigned, look_at_parts
from discreet.core.design import ASSIGNED, Design, shown_design
from discreet.core.errors import InputError, UsageError
from discreet.core.files import KeyedHash, progress

Coins = tuple["lib.sealed.Opening", KeyedHash, bool]
"""The opened coins of a seal, the hashes of its names, and whether the seal was compared with what was published."""
NO_SELECTOR = ("--show-text shows the records at the decision boundary, and no selection model says where that is; "
               "expected ")


@group("Audit")
class Audit:
    """How a table of scores is audited."""

    tolerance_auc: Annotated[float, option(
        "A", "What AUC of the deciding attack is acceptable over all records.")] = 0.55
    tolerance_part: Annotated[float, option(
        "A", "What AUC is acceptable in a part: a class, category, structure, or the least likely records.")] = 0.65
    exclude_parts: Annotated[str | None, option(
        "P,P,…", "Parts that the verdict does not cover, such as 'class 0,category fraud', or 'class' for all classes; "
        "chosen before scores are read. The headline names them.")] = None
    base_rates: Annotated[str, option(
        "R,R,…", "Shares of members among those whom an attacker asks about: what naming is worth.")] = "0.01,0.1,0.5"
    attacks: Annotated[str | None, option(
        "A,A,…", "Explore these attacks only (docs/attacks.md lists them); loss and reference, which a verdict rests "
        "on, run in any case.")] = None
    embeddings: Annotated[Path | None, option(
        "E", "Vectors of the examples, for a picture of the boundary and its diagnostics: .npz with example and "
        "vectors, or a table with example, e0, e1, …; never kept. Needs a selection model.")] = None
    permutations: Annotated[int, option(
        "N", "Permutations of the membership labels, for p values; 0 leaves them out.")] = 999
    bootstraps: Annotated[int, option("N", "Resamples for differences of TPRs.")] = 1000
    history: Annotated[Path | None, option(
        "F", "Keep a line of this run in a history (JSON Lines), and show all its runs on the page; the same scores "
        "audited again with the same settings replace their line.")] = None
    seed: Seed = 42
    show_text: ShowText = False

    def check(self) -> None:
        """Raise UsageError for an option out of range, InputError for a file that is no history, before hours of
        work."""
        if self.history is not None:
            lib.history.read_history(self.history)
        lib.membership_options.check_options(
            tolerance_auc=self.tolerance_auc, tolerance_part=self.tolerance_part, base_rates=self.rates(),
            permutations=self.permutations, bootstraps=self.bootstraps, seed=self.seed)
        self.excluded()
        if self.attacks is not None:
            names_of("--attacks", self.attacks, list(lib.attack.attacks))

    def options(self) -> dict[str, Any]:
        """The options of `audit_membership` that do not depend on where scores come from."""
        return {"tolerance_auc": self.tolerance_auc, "tolerance_part": self.tolerance_part,
                "exclude_parts": self.excluded(), "base_rates": self.rates(), "permutations": self.permutations,
                "bootstraps": self.bootstraps, "seed": self.seed,
                "attacks": None if self.attacks is None else names_of("--attacks", self.attacks)}

    def alone(self) -> str | None:
        """The option that was given and is about a single training, if any."""
        given = {"--embeddings": self.embeddings is not None, "--history": self.history is not None,
                 "--show-text": self.show_text}
        return next((name for name, is_given in given.items() if is_given), None)

    def rates(self) -> tuple[float, ...]:
        """The base rates."""
        return numbers_of("--base-rates", self.base_rates, float, most=1.0, positive=True)

    def excluded(self) -> tuple[str, ...]:
        """The names of the parts to exclude."""
        return () if self.exclude_parts is None else names_of("--exclude-parts", self.exclude_parts)


@group("Design")
class Assignment:
    """How members came to be members."""

    design: Annotated[str, option(
        "D", "How members came to be members: sealed, randomised, matched or convenience. Only the first two can pass "
        "or fail. Without --seal, sealed is only what you say and counts as randomised.")] = "convenience"
    seal: Annotated[Path | None, option(
        "DIR", "With --design sealed: the folder that discreet seal wrote. 'member' is compared with its coins, and "
        "only what they decided is judged.")] = None
    commitment: Annotated[str | None, option(
        "F|HASH", "With --seal: the published commitment.json, or its hash.")] = None
    allow_split_groups: AllowSplitGroups = False

    def check(self) -> tuple[Design, Coins | None]:
        """The design, and the coins where there is a seal. Raises UsageError for what does not go together."""
        coins = None
        if self.seal is not None:
            opening, keyed = lib.sealed.read_coins(self.seal)
            if self.commitment is not None and lib.sealed.known_commitment(self.commitment) != opening.commitment():
                raise InputError(f"{self.seal} is another seal than the one whose commitment was published; expected "
                                 "the folder that belongs to it")
            coins = (opening, keyed, self.commitment is not None)
        elif self.commitment is not None:
            raise UsageError("--commitment was given without --seal; expected the folder of the seal too")
        return shown_design(self.design, seal=coins is not None), coins


@group("Training")
class Training:
    """What is trained on what."""

    recipe: TrainedRecipe
    data: TrainingData
    sizes: Sizes = None
    seeds: Annotated[int, option(
        "N", "Retrainings on the same sets, from --seed on; with two or more the verdict is on the recipe.", min=1)] = 1
    shadows: Annotated[int, option("K", "References trained on random sets, for LiRA and RMIA.")] = 0
    planted: Annotated[str, option(
        "N,N,…", "Repetitions of the records planted as a positive control; 'none' leaves them out.")] = "1,4,16"
    mismatched: Annotated[Path | None, option(
        "F", "Another corpus with the same labels; the neutral reference is trained on it.")] = None
    allow_near: Annotated[bool, flag("Let near duplicates stand in different sets.")] = False
    deduplicate: Annotated[bool, flag("Train on one of several near-duplicate rows, which stay members all the same.")
                           ] = False
    balance: Annotated[bool, flag("As many rows of every class in each set, as in the paper; else each class has its "
                                  "share of the data, as in a model that ships.")] = False
    plan: Annotated[bool, flag("Keep and audit nothing: say which records, parts, planted records and models this run "
                               "has, what it can decide, and, by a short timed piece of the training, the minutes.")
                    ] = False


def scores(
    scores: Annotated[Path, argument(
        "FILE|DIR", "Parquet, CSV or JSON Lines: a row per model and example with model, model_role, example, label, "
        "member and logit_0 … or prob_0 …; or a folder of the three tables.")],
    models: Annotated[Path | None, option("F", "The table of models, if apart.")] = None,
    examples: Annotated[Path | None, option("F", "The table of examples, if apart.")] = None,
    texts: Annotated[Path | None, option(
        "F", "JSON Lines, CSV or Parquet with id (or example) and text, for the blind baseline; never kept.")] = None,
    *, assignment: Assignment, audit: Audit, output: PageOutput,
) -> None:
    """Audit a table of scores. A verdict, with its control models and checks.

    Exits with 0 for pass, 1 for fail, 3 for inconclusive.
    """
    design, coins = assignment.check()
    audit.check()
    if audit.show_text and texts is None:
        raise UsageError("--show-text has nothing to show; expected --texts F with it")
    table = discreet.load_scores(scores, kind="membership", models=models, examples=examples,
                                allow_split_groups=assignment.allow_split_groups)
    if audit.show_text and not table.of_role("selection"):
        raise UsageError(NO_SELECTOR + "one in the table (model_role 'selection', 'member' false)")
    audit_table(table, scores, design, audit, output, coins=coins, texts=texts)


def train(*, training: Training, execution: Execution, audit: Audit, output: PageOutput) -> None:
    """Split data at random, train every model that an audit needs, and audit their scores. --out keeps them, too.

    Exits with 0 for pass, 1 for fail, 3 for inconclusive.
    """
    audit.check()
    if training.seeds > 1 and (alone := audit.alone()):
        raise UsageError(f"{alone} is about one training, and --seeds {training.seeds} trains several; expected one of "
                         "both")
    mismatched = training.mismatched
    experiment = lib.membership_experiments.MembershipExperiment(
        lib.engine.DataFile.of(training.data), training.recipe, audit.seed, sizes_of(training.sizes), training.shadows,
        planted_of(training.planted), keep_models=execution.keep_models, allow_near=training.allow_near,
        balance=training.balance, deduplicate=training.deduplicate,
        mismatched=None if mismatched is None else lib.engine.DataFile.of(mismatched))
    # A recipe that is not there, or takes no texts, is refused before a run folder is made.
    experiment.tasks()
    experiment.check_retrainings(training.seeds)
    if training.plan:
        if output.out is not None or output.report is not None:
            raise UsageError("--plan keeps nothing; expected neither --out nor --report with it")
        output.show({"kind": "plan training", "schema": 1, **lib.training_plan.plan_training(
            experiment, tolerance_auc=audit.tolerance_auc, tolerance_part=audit.tolerance_part, seeds=training.seeds,
            excluded=audit.excluded())})
        return
    # Training is long, and goes on in its run folder where it was stopped.
    run = output.open_run()
    experiments = [replace(experiment, training_seed=audit.seed + number) for number in range(training.seeds)]
    with execution.trained(experiments, output.out, quiet=output.quiet,
                           check=lambda one: look_at_assigned(one, output, audit.excluded())) as trained:
        tables = [one.table(reference="neutral" if mismatched is None else "mismatched") for one in trained]
        said = [one.training() for one in trained]
    texts = trained[0].texts()
    if len(tables) > 1:
        _audit_recipe(tables, said, texts, training.data, audit, output, run)
    else:
        audit_table(tables[0], training.data, ASSIGNED, audit, output, texts=texts, further={"training": said[0]},
                    run=run, looked_at=True)


def _audit_recipe(tables: Sequence[lib.table.ScoreTable], trained: Sequence[Mapping[str, Any]],
                  texts: Mapping[str, str], source: Path, audit: Audit, output: PageOutput,
                  run: lib.runs.Run | None) -> None:
    """Audit each retraining, keep its record, page and scores in a folder of its own, and judge the recipe."""
    known, audits = provenance(source, finished=True), dict[int, discreet.MembershipAudit]()
    for scored, said in zip(progress(tables, len(tables), quiet=output.quiet, label="audits"), trained, strict=True):
        table, left_out = scored.without_split_groups()
        lib.check.check_enough(table, source, left_out)
        audits[said["seed"]] = done = discreet.audit_membership(
            table, design=ASSIGNED, texts=texts, provenance={**known, "split_groups_left_out": left_out},
            **audit.options())
        if run is not None:
            folder = done.save(run.path / f"seed-{said['seed']}")
            lib.write.write_scores(table, folder / "scores.parquet")
    found = lib.recipe.audit_recipe(audits, known)
    output.finish_with_page({**found.record, "training": trained[0]}, run,
                            {"n": found.provenance["examples"], "verdict": found.verdict})
    end(found.verdict)


def audit_table(table: lib.table.ScoreTable, source: Path, design: Design, audit: Audit, output: PageOutput, *,
                coins: Coins | None = None, texts: Path | Mapping[str, str] | None = None,
                facts: Mapping[str, Any] | None = None, further: Mapping[str, Any] | None = None,
                run: lib.runs.Run | None = None, looked_at: bool = False) -> None:
    """Audit `table`, keep it and the record in the run folder, show the record, and end with its exit code.

    `facts` go into the provenance, `further` into the record as it is; `looked_at` says that its parts were.
    """
    known = provenance(source, finished=True) | dict(facts or {})
    if coins is not None:
        opening, keyed, published = coins
        table, apart = lib.sealed.under_seal(table, opening, keyed, str(source))
        known |= {"seal": opening.commitment(), "seal_compared_with_published": published,
                  "sealed_pairs": len(opening.pairs), "not_sealed_left_out": apart}
    table, left_out = table.without_split_groups()
    lib.check.check_enough(table, source, left_out)
    found = lib.texts.texts_of_examples(texts, table.examples.id) if isinstance(texts, Path) else texts
    if not looked_at:
        look_at_parts(table, output, audit.excluded())
    vectors = None if audit.embeddings is None else _vectors(audit.embeddings, table)
    run = run or output.open_run()
    done = discreet.audit_membership(table, design=design, texts=found, **audit.options(),
                                     provenance={**known, "split_groups_left_out": left_out})
    record: dict[str, Any] = {**done.record, **(further or {})}
    target = done.decisive.target
    if vectors is not None and audit.embeddings is not None:
        record["embedding"] = lib.diagnostics.embedding_record(
            vectors, table, table.index(target), lib.random.default_rng(audit.seed),
            representation=f"the vectors of {audit.embeddings.name}", permutations=audit.permutations)
    if run is not None:
        done.write_records(run.path / "records.csv")
        lib.write.write_scores(table, run.path / "scores.parquet")
    if audit.history is not None:
        run_hash = lib.history.run_hash(table, {**audit.options(), "design": design, "texts": found})
        record["history"], earlier = lib.history.add_run(audit.history, record, run_hash)
        if earlier is not None:
            output.note(f"{audit.history} has this run already, of {earlier} (the same scores and settings): its line "
                        "is replaced")
    shown = lib.diagnostics.boundary_records(table, found) if audit.show_text and found is not None else ()
    output.finish_with_page(record, run, {"n": record["provenance"]["examples"], "verdict": done.verdict}, texts=shown)
    end(done.verdict)


def _vectors(path: Path, table: lib.table.ScoreTable) -> Any:
    """Vectors (N, d) of the examples, in their order. InputError where no picture can be made of them."""
    for target in table.of_role("target"):  # Before hours of attacks, not after.
        lib.diagnostics.boundary_places(table, target, lib.random.default_rng(0))
    return lib.diagnostics.load_vectors(path, table.examples.id)

