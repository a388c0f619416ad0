"""What a command does with its record: the terminal, `--json`, the page and the figures of its run folder."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import typer

from discreet import __version__
from discreet.cli import config, library
from discreet.core.errors import MissingExtraError, UsageError
from discreet.core.files import KeyedHash, dump_json, write_atomic

Record = Mapping[str, Any]
WhenQuiet = Literal["headline", "summary", "nothing"]
EXIT = {"pass": 0, "fail": 1, "inconclusive": 3, None: 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """How a command prints what it found."""

    HEADING: ClassVar[str] = "Output"

    context: typer.Context
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON Lines for machines.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, notes or summary.")] = False
    config: Annotated[Path | None, typer.Option(
        "--config", metavar="F", is_eager=True, callback=config.load_config,
        help="YAML file of options, named as the flags; flags win.")] = None

    def show(self, record: Record, *, report: Path | None = None, run: library.Run | None = None,
             when_quiet: WhenQuiet = "headline", **options: Any) -> None:
        """Print a record: as JSON, or its summary, and where its page and its run folder are.

        Parameters
        ----------
        when_quiet : "headline", "summary" or "nothing"
            What `--quiet` leaves: a command whose figures are all that it is asked for leaves its summary.
        **options
            Of the record's kind, see `discreet.report.summarise`.
        """
        if self.as_json:
            sys.stdout.write(dump_json(record) + "\n")
        elif not self.quiet or when_quiet != "nothing":
            print(library.to_text(library.summarise(record, **options),
                                  quiet=self.quiet and when_quiet == "headline"))
        self.say_where(report, run)

    def say_where(self, report: Path | None, run: library.Run | None) -> None:
        """Print where the page and the run folder are."""
        page = next((path for path in (report, run and run.report) if path and path.exists()), None)
        where = [f"{name}: {path}" for name, path in (("Report", page), ("Run folder", run and run.path)) if path]
        if where and not self.as_json and not self.quiet:
            print("\n".join(["", *where]))

    def note(self, said: str) -> None:
        """Say something beside the result, on standard error."""
        if not self.quiet:
            print(f"discreet: {said}", file=sys.stderr)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutput(Output):
    """The same of a command that keeps a run."""

    out: Annotated[Path | None, typer.Option(
        "--out", metavar="DIR", help="Keep the run in this folder: configuration, results, log, and the report where "
                                     "there is one.")] = None

    def open_run(self, *, only: Collection[str] | None = None,
                 further: Mapping[str, bytes] | None = None) -> library.Run | None:
        """The run folder; see `config.open_run`."""
        return config.open_run(self.context, self.out, only=only, further=further)

    def finish(self, record: Record, run: library.Run | None, facts: Mapping[str, Any], *,
               when_quiet: WhenQuiet = "summary", **options: Any) -> None:
        """Keep the record in its run, with `facts` in the log, and show it.

        Files first: a reader of the output who has seen enough must not cost the run its results.
        """
        if run:
            run.finish(record, **facts)
        self.show(record, run=run, when_quiet=when_quiet, **options)

    def finish_with_page(self, record: Record, run: library.Run | None, facts: Mapping[str, Any], *,
                         report: Path | None = None, when_quiet: WhenQuiet = "headline",
                         texts: Sequence[Record] = ()) -> None:
        """The same of a record that has a page, which goes to `report` too. `texts` are for page and terminal alone."""
        self.write_page(record, run, report=report, texts=texts)
        if run:
            run.finish(record, **facts)
        self.show(record, report=report, run=run, when_quiet=when_quiet, **({"texts": texts} if texts else {}))

    def write_page(self, record: Record, run: library.Run | None, *, report: Path | None = None,
                   texts: Sequence[Record] = ()) -> None:
        """Write the page to `report`, and the page and the figures to `run`."""
        if report is None and run is None:
            return
        summary = library.summarise(record, **({"texts": texts} if texts else {}))
        try:
            page = library.to_html(summary)
            if run:
                library.save_figures(summary.figures, run.figures)
        except MissingExtraError as error:
            # A run folder without its page is still a run.
            self.note(f"no report.html in the run folder: {error}")
            return
        for path in (report, run and run.report):
            if path:
                write_atomic(path, page)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOutput(RunOutput):
    """The same of a command whose page may go to a file of its own. Raises where that file cannot be written."""

    report: Annotated[Path | None, typer.Option("--report", metavar="F", help="Write an HTML report.")] = None

    def __post_init__(self) -> None:
        # Before any work is done.
        if self.report is not None:
            can_report(self.report)


def can_report(path: Path) -> None:
    """Raise MissingExtraError where no page can be made, UsageError where it cannot be written to `path`."""
    library.environment()
    library.can_draw()
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: {'it is a folder' if path.is_dir() else 'its folder is not there'}; "
                         "expected the name of a file in a folder that is there")


def provenance(path: Path | None = None, *, finished: bool = False, **facts: Any) -> dict[str, Any]:
    """Where a record comes from: the version, the input with its keyed hash, `facts`, and when it was `finished`."""
    found: dict[str, Any] = {"discreet": __version__}
    if path is not None:
        hashes = KeyedHash.from_environment()
        file = path if path.is_file() else next(iter(sorted(path.glob("scores.*"))), None)
        found |= {"input": path.name, "data_hash": None if file is None else hashes.of_file(file),
                  "hash_key": hashes.scope}
    return {**found, **facts, **({"finished": datetime.now(UTC).isoformat(timespec="seconds")} if finished else {})}


def end(verdict: str | None) -> None:
    """End the command with the exit code of its verdict."""
    if code := EXIT[verdict]:
        raise typer.Exit(code)
