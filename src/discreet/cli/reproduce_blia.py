"""`discreet reproduce blia`: the label inference paper's tables and figures, its definitions beside honest ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import common, pages
from discreet.cli.reproduce_entry import check_data, corpora_of, opened, seeds_of
from discreet.core.errors import UsageError

if TYPE_CHECKING:
    from discreet.core.runs import Run
    from discreet.studies.blia.settings import Setting

Tables = Annotated[list[int] | None, typer.Option("--table", metavar="N", help="2 to 8; may be repeated. Everything if "
                                                                               "none of the three is given.")]
Figures = Annotated[list[int] | None, typer.Option("--figure", metavar="N", help="2.")]
Sections = Annotated[list[str] | None, typer.Option(
    "--section", metavar="S", help="Beyond the paper: utility (which mechanism, which ε?), stronger (honest attacks "
                                   "against LIA-Threshold), prevalence (the share of class 1); may be repeated.")]
Scale = Annotated[str, typer.Option("--scale", metavar="S", help="smoke (made-up data, a minute), small (parts of "
                                    "public data and small models, an hour or two on two cores), paper (the paper's "
                                    "sizes as far as the data go; needs a GPU).")]
Data = Annotated[Path | None, typer.Option("--data", metavar="DIR", help="With small and paper: the folder of public "
                                                                         "data sets.")]
Seeds = Annotated[str | None, typer.Option("--seeds", metavar="N,N,…", help="Seeds to pool; the corpus's own if not "
                                           "given.")]
Only = Annotated[str | None, typer.Option("--corpora", metavar="C,C,…", help="Only these corpora.")]
Epsilons = Annotated[str | None, typer.Option("--epsilon", metavar="E,E,…", help="Only these ε of the scale; inf, "
                                              "which says how long to train, is always among them.")]
Engine = Annotated[str, typer.Option("--engine", metavar="E", help="local (processes), inline or ray.")]
Workers = Annotated[int | None, typer.Option("--workers", metavar="N", help="Tasks at a time.")]

KIND = "reproduce blia"
DECIDES = ("scale",)
"""What a figure hangs on besides its corpus, ε and seeds, which every row names."""


def blia(
    context: typer.Context, *, table: Tables = None, figure: Figures = None, section: Sections = None,
    scale: Scale = "smoke", data: Data = None, seeds: Seeds = None, corpora: Only = None, epsilon: Epsilons = None,
    engine: Engine = "local", workers: Workers = None, as_json: common.Json = False, out: common.Out = None,
    config: common.Config = None, quiet: common.Quiet = False,
) -> None:
    """Rerun the label inference paper: its definitions, honest attacks and placebos, beside the paper's figures.

    Keeps models' scores in OUT/store, so that a run that was stopped goes on; corpora, with their rows, in OUT/data.
    Later calls add corpora and items to OUT.
    """
    from tempfile import TemporaryDirectory

    from discreet.core.files import dump_json
    from discreet.report import summarise, to_markdown
    from discreet.studies.blia.reproduce import known_items, reproduce
    from discreet.studies.blia.trials import Study

    items = known_items(table or (), figure or (), section or ())
    setting = _setting(scale, seeds, corpora, epsilon)
    check_data(scale, data, ("small", "paper"))
    with TemporaryDirectory(prefix="discreet-") as part:
        run = opened(out, context, DECIDES)
        study = Study(setting, data, Path(part) if run is None else run.path)
        found = reproduce(study, items, engine=engine, workers=workers, quiet=quiet)
    record = {"kind": KIND, "schema": 1, "scale": scale, "analogue": scale != "paper", **found,
              "provenance": _provenance(setting, data)}
    if run is not None:
        _write(_with_earlier(record, run), run, quiet)
    sys.stdout.write(dump_json(record) + "\n" if as_json else "" if quiet else to_markdown(summarise(record)))


def _setting(scale: str, seeds: str | None, corpora: str | None, epsilon: str | None) -> Setting:
    from discreet.studies.blia.corpora import CORPORA
    from discreet.studies.blia.settings import setting_of

    setting = setting_of(scale)
    wanted = None if corpora is None else corpora_of(corpora, CORPORA, setting.corpora, scale)
    return setting.only(wanted, None if epsilon is None else _epsilons(epsilon, setting),
                        None if seeds is None else seeds_of(seeds))


def _epsilons(epsilon: str, setting: Setting) -> list[float]:
    there = sorted({one for work in setting.corpora.values() for one in work.epsilons}, reverse=True)
    try:
        found = [float(part) for part in epsilon.split(",")]
    except ValueError:
        found = []
    if not found or not set(found) <= set(there):
        raise UsageError(f"--epsilon is {epsilon[:20]!r}; expected some of {', '.join(f'{one:g}' for one in there)}")
    return found


def _provenance(setting: Setting, data: Path | None) -> dict[str, Any]:
    return {"data": None if data is None else data.name,
            "corpora": {name: {"recipe": dict(work.recipe), "rows": work.rows, "seeds": list(work.seeds),
                               "references": work.references} for name, work in setting.corpora.items()},
            **common.provenance(finished=True)}


def _with_earlier(record: dict[str, Any], run: Run) -> dict[str, Any]:
    """With the items that the run has from before, and the rows of items of this call that are of other corpora."""
    import json

    from discreet.studies.blia.reproduce import merged

    try:
        there = json.loads(run.result.read_text(encoding="utf-8"))
        if all(there[name] == record[name] for name in ("kind", "schema")) and (
                there["provenance"]["discreet"] == record["provenance"]["discreet"]):
            return {**record, "items": merged(there["items"], record["items"]), "provenance": {
                **record["provenance"],
                "corpora": {**there["provenance"]["corpora"], **record["provenance"]["corpora"]}}}
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return record


def _write(record: dict[str, Any], run: Run, quiet: bool) -> None:
    """The record, its tables in Markdown, its page and its figures."""
    from discreet.core.files import write_atomic
    from discreet.report import summarise, to_markdown

    run.finish(record, n=len(record["items"]))
    write_atomic(run.path / "tables.md", to_markdown(summarise(record)))
    pages.write_pages(record, None, run, quiet=quiet)
