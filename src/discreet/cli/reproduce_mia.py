"""`discreet reproduce mia`: the membership paper's tables and figures, its definitions beside honest ones."""

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
    from discreet.studies.mia.settings import Setting
    from discreet.studies.mia.worlds import Study

Tables = Annotated[list[int] | None, typer.Option("--table", metavar="N", help="1, 2, 6, 7, 8, 9 or 10; may be "
                                                                               "repeated. Everything if none of the "
                                                                               "three is given.")]
Figures = Annotated[list[int] | None, typer.Option("--figure", metavar="N", help="2, 3 or 4; may be repeated.")]
Sections = Annotated[list[str] | None, typer.Option(
    "--section", metavar="S", help="7.1 (diagnostics), 8.2 (copies), or, beyond the paper: size, mismatched, users; "
                                   "may be repeated.")]
Scale = Annotated[str, typer.Option("--scale", metavar="S", help="smoke (made-up data, seconds), small (the packaged "
                                    "encoder on public data, hours on a laptop), paper (its models and data; needs a "
                                    "hub and a GPU).")]
Data = Annotated[Path | None, typer.Option("--data", metavar="DIR", help="With small: the folder of public data sets.")]
Seeds = Annotated[str | None, typer.Option("--seeds", metavar="N,N,…", help="Seeds to average over; the scale's own if "
                                           "not given.")]
Only = Annotated[str | None, typer.Option("--corpora", metavar="C,C,…", help="Only these corpora.")]
Engine = Annotated[str, typer.Option("--engine", metavar="E", help="local (processes), inline or ray.")]
Workers = Annotated[int | None, typer.Option("--workers", metavar="N", help="Models trained at a time.")]
Paraphraser = Annotated[str, typer.Option("--paraphraser", metavar="P", help="For section 8.2: rules (offline, rough), "
                                          "or llm:http://host/v1,model=NAME.")]
Dtype = Annotated[str, typer.Option("--dtype", metavar="T", help="Of transformers: auto (bfloat16 on a GPU that has "
                                    "it), float32, or bfloat16, for processors that multiply it.")]
Permutations = Annotated[int, typer.Option("--permutations", metavar="N", help="Of each audit.")]

KIND = "reproduce mia"
DTYPES = ("auto", "float32", "bfloat16")
DECIDES = ("scale", "seed", "permutations", "dtype")
"""What a figure hangs on; the rest says which are made."""
MADE_WITH = ("seeds", "corpora", "dtype", "discreet")
"""Items of a run stand together where these are the same."""


def mia(
    context: typer.Context, *, table: Tables = None, figure: Figures = None, section: Sections = None,
    scale: Scale = "smoke", data: Data = None, seeds: Seeds = None, corpora: Only = None, engine: Engine = "local",
    workers: Workers = None, paraphraser: Paraphraser = "rules", permutations: Permutations = 99,
    dtype: Dtype = "auto", as_json: common.Json = False, out: common.Out = None, config: common.Config = None,
    seed: common.Seed = 42, quiet: common.Quiet = False,
) -> None:
    """Rerun the membership paper: each figure by its definition and honestly, with its placebo, beside the paper's.

    Keeps models' scores in OUT/store, so that a run that was stopped goes on; corpora, with their texts, in OUT/data.
    """
    from discreet.core.files import dump_json
    from discreet.report import summarise, to_markdown
    from discreet.studies.mia.reproduce import known_items, reproduce

    items = known_items(table or (), figure or (), section or ())
    setting = _setting(scale, seeds, seed, corpora, dtype)
    check_data(scale, data, ("small",))
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="discreet-") as part:
        run = opened(out, context, DECIDES)
        study = _study(setting, data, Path(part) if run is None else run.path, permutations)
        if "section 8.2" in items:
            study = _with_paraphraser(study, paraphraser, seed)
        found = reproduce(setting, study, items, engine=engine, workers=workers, quiet=quiet)
    record = {"kind": KIND, "schema": 1, "scale": scale, "analogue": scale != "paper", **found,
              "provenance": _provenance(setting, data, paraphraser if "section 8.2" in items else None)}
    if run is not None:
        _write(_with_earlier(record, run), run, quiet)
    sys.stdout.write(dump_json(record) + "\n" if as_json else "" if quiet else to_markdown(summarise(record)))


def _setting(scale: str, seeds: str | None, seed: int, corpora: str | None, dtype: str) -> Setting:
    from dataclasses import replace

    from discreet.studies.mia.corpora import CORPORA
    from discreet.studies.mia.settings import setting_of

    if dtype not in DTYPES:
        raise UsageError(f"--dtype is {dtype[:20]!r}; expected {', '.join(DTYPES)}")
    setting = replace(setting_of(scale), dtype=dtype)
    if seeds is not None:
        setting = replace(setting, seeds=seeds_of(seeds))
    elif seed != 42:
        setting = replace(setting, seeds=(seed,))
    if corpora is not None:
        there = [*setting.corpora.values(), *setting.further]
        setting = setting.only(corpora_of(corpora, CORPORA, there, scale))
    return setting


def _study(setting: Setting, data: Path | None, out: Path, permutations: int) -> Study:
    from discreet.studies.mia.worlds import Study

    return Study(setting, data, out, permutations=permutations)


def _with_paraphraser(study: Study, spec: str, seed: int) -> Study:
    from dataclasses import replace

    from discreet.studies.paraphrase import paraphraser_of

    return replace(study, paraphraser=paraphraser_of(spec, seed))


def _provenance(setting: Setting, data: Path | None, paraphraser: str | None) -> dict[str, Any]:
    corpora = list(dict.fromkeys([*setting.corpora.values(), *setting.further]))
    return {"seeds": list(setting.seeds), "data": None if data is None else data.name,
            "corpora": corpora, "models": {name: list(regimes) for name, regimes in setting.models.items()},
            "dtype": setting.dtype,
            # What a service is called stays; where it is, does not.
            "paraphraser": None if paraphraser is None else paraphraser.partition(":")[0],
            **common.provenance(finished=True)}


def _with_earlier(record: dict[str, Any], run: Run) -> dict[str, Any]:
    """With the items that the run has from before, of the same seeds and corpora."""
    import json

    from discreet.studies.mia.reproduce import ORDER

    items = record["items"]
    try:
        there = json.loads(run.result.read_text(encoding="utf-8"))
        if (there["kind"], there["schema"]) == (KIND, record["schema"]) and all(
                there["provenance"][name] == record["provenance"][name] for name in MADE_WITH):
            items = {**there["items"], **items}
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return {**record, "items": {name: items[name] for name in ORDER if name in items}}


def _write(record: dict[str, Any], run: Run, quiet: bool) -> None:
    """The record, its tables in Markdown, its page and its figures."""
    from discreet.core.files import write_atomic
    from discreet.report import summarise, to_markdown

    run.finish(record, n=len(record["items"]))
    write_atomic(run.path / "tables.md", to_markdown(summarise(record)))
    pages.write_pages(record, None, run, quiet=quiet)
