"""`discreet reproduce`: the tables and figures of two papers, their definitions next to corrected ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, ClassVar

import typer

from discreet.cli import library
from discreet.cli.options import Engine, Seed, Workers, names_of, numbers_of
from discreet.cli.output import RunOutput, provenance
from discreet.core.errors import UsageError
from discreet.core.files import dump_json, write_atomic

DTYPES = ("auto", "float32", "bfloat16")
DECIDES = ("scale", "seed", "permutations", "dtype")
"""What a figure of `mia` depends on; the other options say which are made. A figure of `blia` depends on the scale, and
on its corpus, ε and seeds, which every row names."""
MADE_WITH = ("seeds", "corpora", "dtype", "discreet")
"""Items of a run of `mia` are kept together where these are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """On which data and seeds, and where."""

    HEADING: ClassVar[str] = "Execution"

    data: Annotated[Path | None, typer.Option(
        "--data", metavar="DIR", help="The folder of public data sets, where the scale needs it.")] = None
    corpora: Annotated[str | None, typer.Option("--corpora", metavar="C,C,…", help="Only these corpora.")] = None
    seeds: Annotated[str | None, typer.Option(
        "--seeds", metavar="N,N,…", help="Seeds to average over or to pool; the scale's own if not given.")] = None
    engine: Engine = "local"
    workers: Workers = None

    def known_corpora(self, known: Collection[str], there: Collection[str], scale: str) -> list[str] | None:
        """The corpora that were asked for. UsageError for one not `known`, and where a scale has none `there`."""
        if self.corpora is None:
            return None
        wanted = list(names_of("--corpora", self.corpora))
        if unknown := [name for name in wanted if name not in known]:
            raise UsageError(f"--corpora holds {unknown[0][:20]!r}; expected some of {', '.join(known)}")
        if not set(wanted) & set(there):
            raise UsageError(f"--corpora names none of --scale {scale}; expected some of "
                             f"{', '.join(dict.fromkeys(there))}")
        return wanted

    def known_seeds(self) -> tuple[int, ...] | None:
        """The seeds that were asked for."""
        return None if self.seeds is None else numbers_of("--seeds", self.seeds, int)

    def check_data(self, scale: str, needing: Collection[str]) -> None:
        """UsageError for a scale among `needing` without a folder of data, and for what is no folder."""
        if scale in needing and self.data is None:
            raise UsageError(f"--scale {scale} was given without --data; expected the folder of public data sets")
        if self.data is not None and not self.data.is_dir():
            raise UsageError(f"{self.data} is not a folder; expected the folder of public data sets")


def mia(
    *,
    table: Annotated[list[int] | None, typer.Option(
        "--table", metavar="N", help="1, 2, 6, 7, 8, 9 or 10; may be repeated. Everything if none of the three is "
                                     "given.")] = None,
    figure: Annotated[list[int] | None, typer.Option(
        "--figure", metavar="N", help="2, 3 or 4; may be repeated.")] = None,
    section: Annotated[list[str] | None, typer.Option(
        "--section", metavar="S", help="7.1 (diagnostics), 8.2 (copies), or, beyond the paper: size, mismatched, "
                                       "users; may be repeated.")] = None,
    scale: Annotated[str, typer.Option(
        "--scale", metavar="S", help="smoke (made-up data, seconds), small (the packaged encoder on public data, hours "
                                     "on a laptop), paper (its models and data; needs a hub and a GPU).")] = "smoke",
    paraphraser: Annotated[str, typer.Option(
        "--paraphraser", metavar="P", help="For section 8.2: rules (offline, rough), or "
                                           "llm:http://host/v1,model=NAME.")] = "rules",
    dtype: Annotated[str, typer.Option(
        "--dtype", metavar="T", help="Of transformers: auto (bfloat16 on a GPU that has it), float32, or bfloat16, for "
                                     "processors that multiply it.")] = "auto",
    permutations: Annotated[int, typer.Option("--permutations", metavar="N", help="Of each audit.")] = 99,
    seed: Seed = 42, execution: Execution, output: RunOutput,
) -> None:
    """Rerun the membership paper: each figure by its definition and corrected, with its control model and the paper's.

    Keeps models' scores in OUT/store, so that a stopped run resumes; corpora, with their texts, in OUT/data.
    """
    items = library.chosen_items(library.MIA_ORDER, table or (), figure or (), section or ())
    if dtype not in DTYPES:
        raise UsageError(f"--dtype is {dtype[:20]!r}; expected {', '.join(DTYPES)}")
    setting = replace(library.setting_of(library.MIA_SETTINGS, scale), dtype=dtype)
    seeds = execution.known_seeds() or (None if seed == 42 else (seed,))
    setting = setting if seeds is None else replace(setting, seeds=seeds)
    there = [*setting.corpora.values(), *setting.further]
    corpora = execution.known_corpora(library.MIA_CORPORA, there, scale)
    setting = setting if corpora is None else setting.only(corpora)
    execution.check_data(scale, ("small",))
    used = paraphraser if "section 8.2" in items else None
    with _opened(output, DECIDES) as (run, folder):
        study = library.MiaStudy(setting, execution.data, folder, permutations=permutations)
        if used is not None:
            study = replace(study, paraphraser=library.paraphraser_of(used, seed))
        found = library.reproduce_mia(setting, study, items, engine=execution.engine, workers=execution.workers,
                                      quiet=output.quiet)
    record = {"kind": "reproduce mia", "schema": 1, "scale": scale, "analogue": scale != "paper", **found,
              "provenance": {
                  "seeds": list(setting.seeds), "data": None if execution.data is None else execution.data.name,
                  "corpora": list(dict.fromkeys([*setting.corpora.values(), *setting.further])),
                  "models": {name: list(regimes) for name, regimes in setting.models.items()}, "dtype": setting.dtype,
                  # What a service is called stays; where it is, does not.
                  "paraphraser": None if used is None else used.partition(":")[0], **provenance(finished=True)}}
    _finish(record, _with_earlier_items(record, run), run, output)


def blia(
    *,
    table: Annotated[list[int] | None, typer.Option(
        "--table", metavar="N", help="2 to 8; may be repeated. Everything if none of the three is given.")] = None,
    figure: Annotated[list[int] | None, typer.Option("--figure", metavar="N", help="2.")] = None,
    section: Annotated[list[str] | None, typer.Option(
        "--section", metavar="S", help="Beyond the paper: utility (which mechanism, which ε?), stronger (corrected "
                                       "attacks against LIA-Threshold), prevalence (the share of class 1); may be "
                                       "repeated.")] = None,
    scale: Annotated[str, typer.Option(
        "--scale", metavar="S", help="smoke (made-up data, a minute), small (parts of public data and small models, an "
                                     "hour or two on two cores), paper (the paper's sizes as far as the data go; needs "
                                     "a GPU).")] = "smoke",
    epsilon: Annotated[str | None, typer.Option(
        "--epsilon", metavar="E,E,…", help="Only these ε of the scale; inf, which says how long to train, is always "
                                           "among them.")] = None,
    execution: Execution, output: RunOutput,
) -> None:
    """Rerun the label inference paper: its definitions, corrected attacks and controls, next to the paper's figures.

    Keeps models' scores in OUT/store, so that a stopped run resumes; corpora, with their rows, in OUT/data. Later calls
    add corpora and items to OUT.
    """
    items = library.chosen_items(library.BLIA_ORDER, table or (), figure or (), section or ())
    setting = library.setting_of(library.BLIA_SETTINGS, scale)
    corpora = execution.known_corpora(library.BLIA_CORPORA, setting.corpora, scale)
    epsilons = None
    if epsilon is not None:
        there = sorted({one for work in setting.corpora.values() for one in work.epsilons}, reverse=True)
        epsilons = list(numbers_of("--epsilon", epsilon, float, positive=True, infinite=True))
        if not set(epsilons) <= set(there):
            raise UsageError(f"--epsilon is {epsilon[:20]!r}; expected some of "
                             f"{', '.join(f'{one:g}' for one in there)}")
    setting = setting.only(corpora, epsilons, execution.known_seeds())
    execution.check_data(scale, ("small", "paper"))
    with _opened(output, ("scale",)) as (run, folder):
        study = library.BliaStudy(setting, execution.data, folder)
        found = library.reproduce_blia(study, items, engine=execution.engine, workers=execution.workers,
                                       quiet=output.quiet)
    record = {"kind": "reproduce blia", "schema": 1, "scale": scale, "analogue": scale != "paper", **found,
              "provenance": {
                  "data": None if execution.data is None else execution.data.name,
                  "corpora": {name: {"recipe": dict(work.recipe), "rows": work.rows, "seeds": list(work.seeds),
                                     "references": work.references} for name, work in setting.corpora.items()},
                  **provenance(finished=True)}}
    _finish(record, _with_earlier_corpora(record, run), run, output)


@contextmanager
def _opened(output: RunOutput, decides: Collection[str]) -> Iterator[tuple[library.Run | None, Path]]:
    """The run folder, if one is asked for, and where the study works: there, or in a folder for the time of the run."""
    with TemporaryDirectory(prefix="discreet-") as part:
        run = output.open_run(only=decides)
        yield run, Path(part) if run is None else run.path


def _earlier(record: Mapping[str, Any], run: library.Run | None) -> dict[str, Any] | None:
    """The record that the run has from before, if it is of the same kind."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        there: dict[str, Any] = json.loads(run.result.read_text(encoding="utf-8")) if run is not None else {}
        if all(there[name] == record[name] for name in ("kind", "schema")):
            return there
    return None


def _with_earlier_items(record: dict[str, Any], run: library.Run | None) -> dict[str, Any]:
    """With the items that the run has from before, of the same seeds and corpora."""
    there, items = _earlier(record, run), record["items"]
    with suppress(KeyError, TypeError):
        if there and all(there["provenance"][name] == record["provenance"][name] for name in MADE_WITH):
            items = {**there["items"], **items}
    return {**record, "items": {name: items[name] for name in library.MIA_ORDER if name in items}}


def _with_earlier_corpora(record: dict[str, Any], run: library.Run | None) -> dict[str, Any]:
    """With the items that the run has from before, and the rows of items of this call that are of other corpora."""
    there, ours = _earlier(record, run), record["provenance"]
    with suppress(KeyError, TypeError):
        if there and there["provenance"]["discreet"] == ours["discreet"]:
            return {**record, "items": library.merged_blia(there["items"], record["items"]), "provenance": {
                **ours, "corpora": {**there["provenance"]["corpora"], **ours["corpora"]}}}
    return record


def _finish(record: dict[str, Any], whole: dict[str, Any], run: library.Run | None, output: RunOutput) -> None:
    """Keep the `whole` record with its tables in Markdown, its page and its figures; show what this call made."""
    if run is not None:
        run.finish(whole, n=len(whole["items"]))
        write_atomic(run.path / "tables.md", library.to_markdown(library.summarise(whole)))
        output.write_page(whole, run)
    if output.as_json:
        sys.stdout.write(dump_json(record) + "\n")
    elif not output.quiet:
        sys.stdout.write(library.to_markdown(library.summarise(record)))
        output.say_where(None, run)
