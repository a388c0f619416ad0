"""`discreet audit membership`: do a model's scores give away who was in its training set?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from discreet.cli import library
from discreet.cli.options import Execution, Seed, ShowText, names_of, planted_of
from discreet.cli.output import PageOutput, end, provenance
from discreet.cli.seal import Coins
from discreet.core.errors import UsageError
from discreet.core.files import KeyedHash, progress

FRONTIER = {"sigma": [0.5, 1.0, 2.0], "decimals": [2.0, 1.0]}
FRONTIER_QUERIES = (1, 16, 256)
FRONTIER_DRAWS = 5
NO_SELECTOR = ("--show-text shows the records at the decision boundary, and no selection model says where that is; "
               "expected ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """How a table of scores is audited."""

    HEADING: ClassVar[str] = "Audit"

    tolerance_auc: Annotated[float, typer.Option(
        "--tolerance-auc", metavar="A", help="What AUC of the deciding attack is acceptable.")] = 0.55
    base_rate: Annotated[float, typer.Option(
        "--base-rate", metavar="R", help="Share of members among those an attacker asks about, for the PPV.")] = 0.01
    attacks: Annotated[str | None, typer.Option(
        "--attacks", metavar="A,A,…", help="Explore these attacks only; all if not given. The reference and loss "
                                           "attacks, which a verdict rests on, are run in any case.")] = None
    embeddings: Annotated[Path | None, typer.Option(
        "--embeddings", metavar="E", help="Vectors of the examples, for a picture of the boundary and its diagnostics: "
                                          ".npz with example and vectors, or a table with example, e0, e1, …; never "
                                          "kept. Needs a selection model.")] = None
    permutations: Annotated[int, typer.Option(
        "--permutations", metavar="N", help="Permutations of the membership labels, for p values; 0 leaves them "
                                            "out.")] = 999
    bootstraps: Annotated[int, typer.Option(
        "--bootstraps", metavar="N", help="Resamples for differences of TPRs.")] = 1000
    frontier: Annotated[bool, typer.Option(
        "--frontier", help="Also measure what releasing less would change (a short `defend frontier`).")] = False
    seed: Seed = 42
    show_text: ShowText = False

    def check(self) -> None:
        """Raise UsageError for an option out of range, before hours of work."""
        library.check_membership_options(self.tolerance_auc, self.base_rate, self.permutations, self.bootstraps,
                                         self.seed)
        if self.attacks is not None and (
                unknown := [one for one in names_of("--attacks", self.attacks) if one not in library.attacks]):
            raise UsageError(f"--attacks holds {unknown[0][:20]!r}; expected some of "
                             f"{', '.join(sorted(library.attacks))}, with commas between them")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """How members came to be members."""

    HEADING: ClassVar[str] = "Design"

    design: Annotated[str, typer.Option(
        "--design", metavar="D", help="How members came to be members: sealed, randomised, matched or convenience. "
                                      "Only the first two can pass or fail. Without --seal, sealed is only what you "
                                      "say and counts as randomised.")] = "convenience"
    seal: Annotated[Path | None, typer.Option(
        "--seal", metavar="DIR", help="With --design sealed: the folder that discreet seal wrote. 'member' is compared "
                                      "with its coins, and only what they decided is judged.")] = None
    commitment: Annotated[str | None, typer.Option(
        "--commitment", metavar="F|HASH", help="With --seal: the published commitment.json, or its hash.")] = None
    allow_split_groups: Annotated[bool, typer.Option(
        "--allow-split-groups", help="Leave out groups that have records among members and non-members, instead of "
                                     "refusing the table.")] = False

    def check(self) -> tuple[library.Design, Coins | None]:
        """The design, and the coins where there is a seal. Raises UsageError for what does not go together."""
        coins = None
        if self.seal is not None:
            coins = Coins.read(self.seal, self.commitment)
        elif self.commitment is not None:
            raise UsageError("--commitment was given without --seal; expected the folder of the seal too")
        return library.shown_design(self.design, seal=coins is not None), coins


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What is trained on what."""

    HEADING: ClassVar[str] = "Training"

    recipe: Annotated[str, typer.Option(
        "--recipe", metavar="R", help="tfidf-mlp, transformer:base=minilm,regime=lora, … or a YAML file with a "
                                      "recipe's name and options.")]
    data: Annotated[Path, typer.Option(
        "--data", metavar="F", help="JSON Lines, CSV or Parquet with id, text (or turns) and label; group, category "
                                    "and structure if there.")]
    sizes: Annotated[str | None, typer.Option(
        "--sizes", metavar="a=N,…", help="Examples of each set (a, b, val, cal, eval, neutral, placebo); the paper's "
                                         "proportions if not given.")] = None
    shadows: Annotated[int, typer.Option(
        "--shadows", metavar="K", help="References trained on random sets, for LiRA and RMIA.")] = 0
    planted: Annotated[str, typer.Option(
        "--planted", metavar="N,N,…", help="Repetitions of the records planted as a positive control; 'none' leaves "
                                           "them out.")] = "1,4,16"
    mismatched: Annotated[Path | None, typer.Option(
        "--mismatched", metavar="F", help="Another corpus with the same labels; the neutral reference is trained on "
                                          "it.")] = None
    allow_near: Annotated[bool, typer.Option(
        "--allow-near", help="Let near duplicates stand in different sets.")] = False

    def sizes_by_set(self) -> dict[str, int]:
        """`a=400,b=400` as a mapping. Raises UsageError for anything else."""
        found: dict[str, int] = {}
        for part in self.sizes.split(",") if self.sizes else ():
            name, _, number = (one.strip() for one in part.partition("="))
            if not (number.isascii() and number.isdecimal()) or name in found:
                raise UsageError(f"--sizes holds {part.strip()[:20]!r}; expected set=number, each set once, with "
                                 "commas between them")
            found[name] = int(number)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """The models that are scored, and how."""

    HEADING: ClassVar[str] = "Models"

    model: Annotated[str, typer.Option(
        "--model", metavar="M", help="The model to audit: the folder or hub name of a Hugging Face sequence classifier "
                                     "or adapter, python:module:object, or http://….")]
    members: Annotated[Path, typer.Option(
        "--members", metavar="F", help="JSON Lines, CSV or Parquet with id, text and label: what M was trained on.")]
    nonmembers: Annotated[Path, typer.Option(
        "--nonmembers", metavar="F", help="The same for what it was not trained on.")]
    references: Annotated[list[str] | None, typer.Option(
        "--reference", metavar="KIND=M", help="A model to compare it to; neutral=M (trained on neither set), paired=M "
                                              "(on the non-members), population=M. May be repeated.")] = None
    placebos: Annotated[list[str] | None, typer.Option(
        "--placebo", metavar="M", help="A control model: trained on neither set, attacked the same way. May be "
                                       "repeated.")] = None
    selector: Annotated[str | None, typer.Option(
        "--selector", metavar="M", help="A model trained on neither set, which finds the decision boundary.")] = None
    batch: Annotated[int, typer.Option("--batch", metavar="N", help="Texts that are scored together.")] = 16
    device: Annotated[str | None, typer.Option(
        "--device", metavar="D", help="cpu, cuda, cuda:1 …; a GPU where there is one, if not given.")] = None
    max_tokens: Annotated[int | None, typer.Option(
        "--max-tokens", metavar="N", help="Longer texts keep head and tail; what M allows, if not given.")] = None
    dtype: Annotated[str, typer.Option(
        "--dtype", metavar="T", help="float32, or bfloat16, which moves scores.")] = "float32"
    chat: Annotated[bool, typer.Option(
        "--chat", help="Put each text into the tokeniser's chat template, as a user's turn.")] = False
    prompt: Annotated[str, typer.Option(
        "--prompt", metavar="P", help="What M was trained to read before each text: none, safety or depression (the "
                                      "paper's), @F (the content of the file F), or auto (chat template and safety "
                                      "prompt, where there is a template).")] = "none"
    cache: Annotated[Path | None, typer.Option(
        "--cache", metavar="DIR", help="Keep scores (no texts) in DIR, so that a stopped run resumes.")] = None

    def score(self, output: PageOutput, *, allow_split_groups: bool) -> tuple[library.ScoreTable, dict[str, str]]:
        """The table, and the text of each example; a note where texts were cut."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        table, texts = library.scored_from_model(
            given.pop("model"), given.pop("members"), given.pop("nonmembers"), **given, quiet=output.quiet,
            allow_split_groups=allow_split_groups)
        for one in table.models:
            if (seen := float(one.facts.get("tokens_seen", 1.0))) < 1.0:
                output.note(f"{one.name} sees {seen:.1%} of the tokens: texts beyond {one.facts['max_tokens']} tokens "
                            "keep head and tail")
        return table, texts

    def provenance(self, table: library.ScoreTable) -> dict[str, Any]:
        """Both files, keyed hashes of them, and what is known of each model that was scored."""
        hashes, files = KeyedHash.from_environment(), (self.members, self.nonmembers)
        facts = {f"scored_{one.name}": "; ".join(f"{name.replace('_', ' ')} {value}"
                                                 for name, value in one.facts.items()) for one in table.models}
        if self.prompt.startswith("@"):
            facts["prompt_hash"] = hashes.of_file(Path(self.prompt[1:]))
        return {"input": ", ".join(file.name for file in files), "hash_key": hashes.scope,
                "data_hash": ", ".join(hashes.of_file(file) for file in files), **facts}


def scores(
    scores: Annotated[Path, typer.Argument(
        metavar="FILE|DIR", show_default=False,
        help="Parquet, CSV or JSON Lines: a row per model and example with model, model_role, example, label, member "
             "and logit_0 … or prob_0 …; or a folder of the three tables.")],
    models: Annotated[Path | None, typer.Option("--models", metavar="F", help="The table of models, if apart.")] = None,
    examples: Annotated[Path | None, typer.Option(
        "--examples", metavar="F", help="The table of examples, if apart.")] = None,
    texts: Annotated[Path | None, typer.Option(
        "--texts", metavar="F", help="JSON Lines, CSV or Parquet with id (or example) and text, for the blind "
                                     "baseline; never kept.")] = None,
    *, assignment: Assignment, audit: Audit, output: PageOutput,
) -> None:
    """Audit a table of scores. A verdict, with its control models and checks.

    Exits with 0 for pass, 1 for fail, 3 for inconclusive.
    """
    design, coins = assignment.check()
    audit.check()
    if audit.show_text and texts is None:
        raise UsageError("--show-text has nothing to show; expected --texts F with it")
    table = library.load_scores(scores, kind="membership", models=models, examples=examples,
                                allow_split_groups=assignment.allow_split_groups)
    if audit.show_text and not table.of_role("selection"):
        raise UsageError(NO_SELECTOR + "one in the table (model_role 'selection', 'member' false)")
    _audit(table, scores, design, audit, output, coins=coins, texts=texts)


def model(*, scoring: Scoring, assignment: Assignment, audit: Audit, output: PageOutput) -> None:
    """Score a model on members and non-members, and audit the scores, which --out keeps.

    Exits with 0 for pass, 1 for fail, 3 for inconclusive.
    """
    design, coins = assignment.check()
    audit.check()
    if audit.show_text and scoring.selector is None:
        raise UsageError(NO_SELECTOR + "--selector M")
    table, texts = scoring.score(output, allow_split_groups=assignment.allow_split_groups)
    _audit(table, scoring.members, design, audit, output, coins=coins, texts=texts, facts=scoring.provenance(table),
           keep=True)


def train(*, training: Training, execution: Execution, audit: Audit, output: PageOutput) -> None:
    """Split data at random, train every model that an audit needs, and audit their scores, which --out keeps.

    Exits with 0 for pass, 1 for fail, 3 for inconclusive.
    """
    audit.check()
    mismatched = training.mismatched
    experiment = library.MembershipExperiment(
        library.DataFile.of(training.data), training.recipe, audit.seed, training.sizes_by_set(), training.shadows,
        planted_of(training.planted), keep_models=execution.keep_models, allow_near=training.allow_near,
        mismatched=None if mismatched is None else library.DataFile.of(mismatched))
    # A recipe that is not there, or takes no texts, is refused before a run folder is made.
    experiment.tasks()
    # Training is long, and goes on in its run folder where it was stopped.
    run = output.open_run()
    with execution.store_in(output.out) as store:
        (trained,) = library.train_experiments([experiment], store, engine=execution.engine, workers=execution.workers,
                                               address=execution.address, quiet=output.quiet)
        table = trained.table(reference="neutral" if mismatched is None else "mismatched")
        further = {"training": trained.training()}
    _audit(table, training.data, library.ASSIGNED, audit, output, texts=trained.texts(), further=further, run=run,
           keep=True)


def _audit(table: library.ScoreTable, source: Path, design: library.Design, audit: Audit, output: PageOutput, *,
           coins: Coins | None = None, texts: Path | Mapping[str, str] | None = None,
           facts: Mapping[str, Any] | None = None, further: Mapping[str, Any] | None = None,
           run: library.Run | None = None, keep: bool = False) -> None:
    """Audit `table`, keep and show the record, and end with its exit code.

    `facts` go into the provenance, `further` into the record as it is; `keep` writes the table to the run folder.
    """
    known = provenance(source, finished=True) | dict(facts or {})
    if coins is not None:
        table, sealed = coins.judged(table, source)
        known |= sealed
    table, left_out = table.without_split_groups()
    library.check_enough(table, source, left_out)
    found = library.texts_of_examples(texts, table.examples.id) if isinstance(texts, Path) else texts
    vectors = None if audit.embeddings is None else _vectors(audit.embeddings, table)
    run = run or output.open_run()
    done = library.audit_membership(
        table, design=design, tolerance_auc=audit.tolerance_auc, base_rate=audit.base_rate, texts=found,
        permutations=audit.permutations, bootstraps=audit.bootstraps, seed=audit.seed,
        attacks=None if audit.attacks is None else names_of("--attacks", audit.attacks),
        provenance={**known, "split_groups_left_out": left_out})
    record: dict[str, Any] = {**done.record, **(further or {})}
    target = done.decisive.target
    if audit.frontier:
        record["frontier"] = _frontier(table, target, audit.seed, output.quiet)
    if vectors is not None and audit.embeddings is not None:
        record["embedding"] = library.embedding_record(
            vectors, table, table.index(target), library.default_rng(audit.seed),
            representation=f"the vectors of {audit.embeddings.name}", permutations=audit.permutations)
    if run is not None and keep:
        library.write_scores(table, run.path / "scores.parquet")
    shown = library.boundary_records(table, found) if audit.show_text and found is not None else ()
    output.finish_with_page(record, run, {"n": record["provenance"]["examples"], "verdict": done.verdict},
                            report=output.report, texts=shown)
    end(done.verdict)


def _vectors(path: Path, table: library.ScoreTable) -> Any:
    """Vectors (N, d) of the examples, in their order. InputError where no picture can be made of them."""
    for target in table.of_role("target"):
        # Before hours of attacks, not after.
        library.boundary_places(table, target, library.default_rng(0))
    return library.load_vectors(path, table.examples.id)


def _frontier(table: library.ScoreTable, target: str, seed: int, quiet: bool) -> dict[str, Any]:
    return library.frontier(
        table, table.index(target), library.default_rng(seed), strengths=FRONTIER, queries=FRONTIER_QUERIES,
        draws=FRONTIER_DRAWS, each=lambda todo: progress(todo, len(todo), quiet=quiet, label="mechanisms")).to_json()
