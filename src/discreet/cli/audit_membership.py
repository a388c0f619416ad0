"""`discreet audit membership`: do a model's scores give away who was in its training set?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import audit_entry, common, embeddings_entry, model_entry, pages, recipe_entry
from discreet.core.errors import InputError, UsageError
from discreet.core.numbers import counted

if TYPE_CHECKING:
    from discreet.core.runs import Run
    from discreet.data.rows import Place
    from discreet.scores.table import ScoreTable

EXIT = {"pass": 0, "fail": 1, "inconclusive": 3}
FRONTIER = {"sigma": [0.5, 1.0, 2.0], "decimals": [2.0, 1.0]}
FRONTIER_QUERIES = (1, 16, 256)
FRONTIER_DRAWS = 5
FEWEST = 10
"""Members, and non-members, without which nothing is said."""

Scores = Annotated[Path | None, typer.Option(
    "--scores", metavar="F", help="Parquet, CSV or JSON Lines: a row per model and example with model, model_role, "
                                  "example, label, member and logit_0 … or prob_0 …; or a folder of the three tables.")]
Models = Annotated[Path | None, typer.Option("--models", metavar="F", help="The table of models, if it is apart.")]
Examples = Annotated[Path | None, typer.Option("--examples", metavar="F", help="The table of examples, if it is "
                                                                               "apart.")]
Design = Annotated[str, typer.Option(
    "--design", metavar="D", help="How members came to be members: sealed, randomised, matched or convenience. Only "
                                  "the first two can pass or fail. Without --seal, sealed is only what you say and "
                                  "counts as randomised.")]
Seal = Annotated[Path | None, typer.Option(
    "--seal", metavar="DIR", help="With --design sealed: the folder that discreet seal wrote. 'member' is compared "
                                  "with its coins, and only what they decided is judged.")]
Commitment = Annotated[str | None, typer.Option("--commitment", metavar="F|HASH", help="With --seal: the published "
                                                "commitment.json, or its hash.")]
Tolerance = Annotated[float, typer.Option("--tolerance-auc", metavar="A", help="What AUC of the deciding attack is "
                                                                               "acceptable.")]
BaseRate = Annotated[float, typer.Option("--base-rate", metavar="R", help="Share of members among those an attacker "
                                                                          "asks about, for the PPV.")]
Texts = Annotated[Path | None, typer.Option("--texts", metavar="F", help="JSON Lines, CSV or Parquet with id and text, "
                                            "for the blind baseline; never kept.")]
Permutations = Annotated[int, typer.Option("--permutations", metavar="N", help="Dealings of membership at random, for "
                                                                               "p values; 0 leaves them out.")]
Bootstraps = Annotated[int, typer.Option("--bootstraps", metavar="N", help="Resamples for differences of TPRs.")]
Attacks = Annotated[str | None, typer.Option(
    "--attacks", metavar="A,A,…", help="Explore these attacks only; all if not given. The reference and loss attacks, "
                                       "which a verdict rests on, are run in any case.")]
Split = Annotated[bool, typer.Option(
    "--allow-split-groups", help="Leave out groups that have records on both sides, instead of refusing the table.")]
WithFrontier = Annotated[bool, typer.Option("--frontier", help="Say too what releasing less would buy (a short "
                                                               "`defend frontier`).")]
Report = Annotated[Path | None, typer.Option("--report", metavar="F", help="Write an HTML report.")]


def membership(
    context: typer.Context, *, scores: Scores = None, model: model_entry.Model = None,
    members: model_entry.Members = None, nonmembers: model_entry.Nonmembers = None,
    reference: model_entry.References = None, placebo: model_entry.Placebos = None,
    selector: model_entry.Selector = None, batch: model_entry.Batch = 16, device: model_entry.Device = None,
    max_tokens: model_entry.MaxTokens = None, dtype: model_entry.Dtype = "float32", chat: model_entry.Chat = False,
    prompt: model_entry.Prompt = None, cache: model_entry.Cache = None, recipe: recipe_entry.Recipe = None,
    data: recipe_entry.Data = None, sizes: recipe_entry.Sizes = None, shadows: recipe_entry.Shadows = 0,
    planted: recipe_entry.Planted = "1,4,16", mismatched: recipe_entry.Mismatched = None,
    engine: recipe_entry.Engine = "local",
    workers: recipe_entry.Workers = None, address: recipe_entry.Address = None, store: recipe_entry.StoreAt = None,
    keep_models: recipe_entry.Keep = False, allow_near: recipe_entry.Near = False, models: Models = None,
    examples: Examples = None, design: Design = "convenience", seal: Seal = None, commitment: Commitment = None,
    tolerance_auc: Tolerance = 0.55, base_rate: BaseRate = 0.01, texts: Texts = None,
    embeddings: embeddings_entry.Embeddings = None, permutations: Permutations = 999, bootstraps: Bootstraps = 1000,
    attacks: Attacks = None, allow_split_groups: Split = False, with_frontier: WithFrontier = False,
    report: Report = None, as_json: common.Json = False, out: common.Out = None, config: common.Config = None,
    seed: common.Seed = 42, quiet: common.Quiet = False, show_text: common.ShowText = False,
) -> None:
    """Do a model's scores give away who was in its training set? A verdict, with its placebo and controls.

    Exits with 0 for pass, 1 for fail, 3 for inconclusive.
    """
    from discreet.audit.membership.audit import audit_membership, check_options
    from discreet.audit.membership.embedding import boundary_records

    entry = audit_entry.entry_of(context.params)
    # Before the run folder keeps an option that cannot be.
    check_options(tolerance_auc, base_rate, permutations, bootstraps, seed)
    chosen = None if attacks is None else known_attacks(attacks)
    if show_text and texts is None and not entry.has_texts:
        raise UsageError("--show-text has nothing to show; expected --texts F with it")
    if report is not None:
        pages.can_report(report)
    # Training is long, and goes on in its run folder where it was stopped.
    # It assigns membership itself: the default of --design says nothing about it.
    run = common.open_run(out, context, without=("design",)) if entry.trains else None
    brought = entry.read(quiet=quiet)
    table, source = brought.table, brought.source
    enough(table, source, brought.left_out)
    said = brought.texts if texts is None else read_texts(texts, table)
    vectors = embeddings_entry.read_vectors(embeddings, table)
    if run is None:
        run = common.open_run(out, context)
    found = audit_membership(
        table, design=brought.design, tolerance_auc=tolerance_auc, base_rate=base_rate, texts=said,
        permutations=permutations, bootstraps=bootstraps, seed=seed, attacks=chosen,
        provenance={**common.provenance(source, finished=True, split_groups_left_out=brought.left_out),
                    **brought.provenance})
    record: dict[str, Any] = {**found.record, **brought.further}
    if with_frontier:
        record["frontier"] = _frontier(table, found.decisive.target, seed, quiet)
    if vectors is not None:
        record["embedding"] = vectors.record(table, found.decisive.target, seed, permutations)
    shown = boundary_records(table, said) if show_text and said is not None else []
    # Files first: a reader of the output who has seen enough must not cost the run its results.
    if run is not None and entry.trains:
        _keep(table, run)
    pages.write_run(record, report, run, quiet=quiet, texts=shown, n=record["provenance"]["examples"],
                    verdict=record["verdict"])
    pages.show(record, as_json=as_json, quiet=quiet, report=report, run=run, texts=shown)
    if code := EXIT[found.verdict]:
        raise typer.Exit(code)


def _keep(table: ScoreTable, run: Run) -> None:
    from discreet.scores.write import write_scores

    write_scores(table, run.path / "scores.parquet")


def enough(table: ScoreTable, path: Path, left_out: int = 0) -> None:
    """InputError where a target has too few examples on a side for any figure to mean something.

    `left_out` groups had records on both sides and are gone from `table` (see `ScoreTable.without_split_groups`).
    """
    if left_out and not len(table.examples):
        raise InputError(f"{path}: nothing is left to judge: every group of the table has records on both sides, "
                         f"{left_out:,} in all, and was left out; keep each group on one side")
    for target in table.of_role("target"):
        judged = table.member[target][table.examples.planted == 0]
        sides = (int((judged == 1).sum()), int((judged == 0).sum()))
        if min(sides) < FEWEST:
            after = (f" after {counted(left_out, 'group')} with records on both sides "
                     f"{'was' if left_out == 1 else 'were'} left out" if left_out else "")
            remedy = "keep each group on one side, or score more examples" if left_out else "score more examples"
            raise InputError(f"{path}: target {table.models[target].name[:40]!r} has {counted(sides[0], 'member')} and "
                             f"{counted(sides[1], 'non-member')}, planted ones apart{after}; expected at least "
                             f"{FEWEST} of each: {remedy}")


def known_attacks(given: str) -> list[str]:
    """The names of a list with commas, once each. UsageError for one that is not registered."""
    from discreet.audit.membership.attack import attacks

    names = list(dict.fromkeys(part.strip() for part in given.split(",")))
    if unknown := [name for name in names if name not in set(attacks)]:
        raise UsageError(f"--attacks holds {unknown[0][:20]!r}; expected some of {', '.join(sorted(attacks))}, with "
                         "commas between them")
    return names


def read_texts(path: Path, table: ScoreTable) -> dict[str, str]:
    """The text of each example of `table`. InputError for a row that has none, or an example without one."""
    from discreet.data.answers import unique
    from discreet.data.rows import iter_rows

    rows = unique(iter_rows(path, ("id", "text"), ("id", "text")), _text_row, lambda row: row[0])
    found = {name: text for _, (name, text) in rows}
    lacking = [name for name in table.examples.id if name not in found]
    if lacking:
        raise InputError(f"{path}: {len(lacking):,} of {len(table.examples):,} examples have no text, the first of "
                         f"them {str(lacking[0])[:40]!r}; expected a row with id and text for each")
    return found


def _text_row(place: Place, row: Mapping[str, Any]) -> tuple[str, str]:
    from discreet.data.rows import json_type

    name, text = row["id"], row["text"]
    if isinstance(name, bool) or not isinstance(name, str | int) or not str(name).strip():
        place.fail(f"'id' is {'empty' if name == '' else json_type(name)}; expected a string or a whole number")
    if not isinstance(text, str):
        place.fail(f"'text' is {json_type(text)}; expected a string")
    return str(name), text


def _frontier(table: ScoreTable, target: str, seed: int, quiet: bool) -> dict[str, Any]:
    import numpy as np

    from discreet.audit.defences.frontier import frontier
    from discreet.core.files import progress

    return frontier(
        table, table.index(target), np.random.default_rng(seed), strengths=FRONTIER, queries=FRONTIER_QUERIES,
        draws=FRONTIER_DRAWS, each=lambda todo: progress(todo, len(todo), quiet=quiet, label="mechanisms")).to_json()
