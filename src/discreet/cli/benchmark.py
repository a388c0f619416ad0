"""`discreet benchmark`: guards over labelled passages, with the same figures for all."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from discreet.cli import library as lib
from discreet.cli.options import DOMAINS, option
from discreet.cli.output import PageOutput, provenance
from discreet.core.errors import UsageError
from discreet.core.files import progress
from discreet.core.records import plain


def benchmark(
    *,
    labelled: Annotated[list[str], option(
        "F", "Labelled passages (JSON Lines), or a file of SPIA's; NAME=F names the set; may be repeated.", "--set")],
    guard: Annotated[list[str], option(
        "G", "A guard: discreet or rules (without the learned reader), either with :DOMAIN, the folder of a fitted "
        "guard, presidio, regex, langchain, python:module:function, or the address of a service; may be repeated.")],
    texts: Annotated[list[Path] | None, option(
        "F", "Texts of the passages, a table of passage and text; may be repeated.")] = None,
    places: Annotated[list[Path] | None, option(
        "F", "Tables of passage and what the labels lack: register, domain, document, and where the text stands.")
    ] = None,
    data: Annotated[Path | None, option("DIR", "The folder that the places of texts are in.")] = None,
    domain: Annotated[str | None, option(
        "D", "For the guard discreet: the domain of passages that name none. " + DOMAINS.capitalize())] = None,
    point: Annotated[str | None, option("P", "Operating point of discreet's guards; by default the policy's.")] = None,
    output: PageOutput,
) -> None:
    """Run guards over labelled passages and compare them: what they hold, bind, abstain on, and how fast.

    With --out a run that was stopped goes on where it was. No text is printed or kept. A service gets the texts, and
    python: runs the code of its module.
    """
    sets = dict(map(named, labelled))
    if len(sets) < len(labelled) or len(set(guard)) < len(guard):
        raise UsageError("a set or a guard was given twice; expected sets with file names of their own, and each guard "
                         "once")
    read = {name: lib.benchmark.read_passages(path, texts or (), places or (), data, domain)
            for name, path in sets.items()}
    opened = {name: lib.benchmark.open_guard(name, point) for name in guard}
    run = output.open_run()
    results: list[dict[str, Any]] = []
    for number, (name, tested) in enumerate(opened.items(), start=1):
        judged = {of: lib.benchmark.judge(
            tested, progress(passages, len(passages), quiet=output.quiet, label=f"{shown(name)}, {of}"),
            kept=run.path / f"predictions-{number}-{of}.jsonl" if run else None) for of, passages in read.items()}
        for of, cases in judged.items():
            others = [case for other, those in judged.items() if other != of for case in those]
            results.append({"guard": shown(name), "set": of, **lib.benchmark.figures_of(
                cases, threshold=tested.threshold, probability=tested.probability, others=others)})
    record = {"kind": "benchmark", "schema": 1, "point": point,
              "sets": {one["set"]: one["counts"] for one in results}, "results": plain(results),
              "provenance": provenance(*sets.values(), finished=True, guards=[shown(name) for name in guard])}
    output.finish_with_page(record, run, {"n": sum(map(len, read.values())), "guards": len(guard)},
                            when_quiet="nothing")


def named(given: str) -> tuple[str, Path]:
    """The name of a set and its file."""
    name, equals, path = given.rpartition("=")
    return (name if equals else Path(path).name.partition(".")[0]), Path(path)


def shown(name: str) -> str:
    """The name of a guard without what an address may hold besides."""
    return name.partition("?")[0] if name.startswith("http") else name
