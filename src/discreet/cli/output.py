"""What a command does with its record: the terminal, `--json`, the run folder with its page and figures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from discreet import __version__
from discreet.cli import library as lib
from discreet.cli.options import flag, group, load_config, option, plain_names
from discreet.core.errors import MissingExtraError, UsageError
from discreet.core.files import KeyedHash, dump_json, write_atomic

Record = Mapping[str, Any]
WhenQuiet = Literal["headline", "summary", "nothing"]
EXIT = {"pass": 0, "fail": 1, "inconclusive": 3, None: 0}
# Options that say where results go and who works them out but not what they are, and those that hold text: no part of
# a saved configuration.
NOT_SAVED = frozenset({"text", "question", "user-words", "config", "out", "output", "report", "json", "quiet", "help",
                       "version", "engine", "workers", "address", "store", "history"})
# Folders that are written, in part across runs: their content is no input.
NOT_READ = NOT_SAVED | {"cache", "save"}
FILES = ("F", "M", "KIND=M", "R")
"""How the value of an option is called that may be a path, or a name that is no file."""


@group("Output")
class Output:
    """How a command prints what it found."""

    context: typer.Context
    as_json: Annotated[bool, flag("Print JSON Lines for machines.", "--json")] = False
    quiet: Annotated[bool, flag("No progress, notes or summary.")] = False
    config: Annotated[Path | None, option(
        "F", "YAML file of options, named as the flags; flags win.", is_eager=True, callback=load_config)] = None

    def show(self, record: Record, run: lib.runs.Run | None = None, *, when_quiet: WhenQuiet = "headline",
             **options: Any) -> None:
        """Print a record: as JSON, or its summary, and where its page and its run folder are.

        `--quiet` leaves what `when_quiet` says: a command whose figures are all that it is asked for leaves its
        summary. `options` are of the record's kind, see `discreet.report.summarise`.
        """
        headline = self.quiet and when_quiet == "headline"
        self.say(record, lambda: lib.report.to_text(lib.report.summarise(record, **options), quiet=headline),
                 whenever=when_quiet != "nothing")
        self.say_where(run)

    def say(self, record: Any, text: Callable[[], str], *, whenever: bool = False) -> None:
        """Print a record as JSON, or as the text, which `--quiet` leaves out unless it is said `whenever`."""
        if self.as_json:
            sys.stdout.write(dump_json(record) + "\n")
        elif whenever or not self.quiet:
            print(text())

    def wanted(self, run: lib.runs.Run | None) -> list[Path]:
        """Where the page goes."""
        return [] if run is None else [run.report]

    def say_where(self, run: lib.runs.Run | None) -> None:
        """Print where the page and the run folder are."""
        page = next((path for path in self.wanted(run) if path.exists()), None)
        where = [f"{name}: {path}" for name, path in (("Report", page), ("Run folder", run and run.path)) if path]
        if where and not self.as_json and not self.quiet:
            print("\n".join(["", *where]))

    def note(self, said: str) -> None:
        """Say something beside the result, on standard error."""
        if not self.quiet:
            print(f"discreet: {said}", file=sys.stderr)


@group("Output")
class RunOutput(Output):
    """The same of a command that keeps a run."""

    out: Annotated[Path | None, option(
        "DIR", "Keep the run in this folder: configuration, results, log, and the report where there is one.")] = None

    def open_run(self, *, only: Collection[str] | None = None,
                 further: Mapping[str, bytes] | None = None) -> lib.runs.Run | None:
        """The run folder, where one is asked for, for this configuration and the content of what the options name.

        Parameters
        ----------
        only : collection of str, optional
            The options that decide what a result is, where later calls may add others to the run; all of them if None.
        further : mapping, optional
            What is read beside files, by what a message calls it: standard input, or a text on the command line; what
            stands for the content of an argument, by its name.
        """
        if self.out is None:
            return None
        options: dict[str, Any] = {}
        inputs: dict[str, Any] = {} if only is not None else dict(further or {})
        for parameter in self.context.command.params:
            name, given = plain_names(parameter)[0], self.context.params.get(str(parameter.name))
            if given is None:
                continue
            if name not in NOT_SAVED and (only is None or name in only):
                options[name] = getattr(given, "value", given)
            if only is not None or name in NOT_READ:
                continue
            values = given if isinstance(given, list | tuple) else [given]
            called = next((o for o in parameter.opts if o.startswith("--")), name)
            there = [path for value in values if (path := _file(parameter, value)) and path.exists()]
            if there and called not in inputs:
                inputs[called] = there
        return lib.runs.Run.open(self.out, options, inputs, command=self.context.command_path.partition(" ")[2])

    def finish(self, record: Record, run: lib.runs.Run | None, facts: Mapping[str, Any], *,
               when_quiet: WhenQuiet = "summary", **options: Any) -> None:
        """Keep the record in its run, with `facts` in the log, and show it.

        Files first: a reader of the output who has seen enough must not cost the run its results.
        """
        if run:
            if record.get("verdict") is not None:
                _for_ci(record, run, **{name: value for name, value in options.items() if name != "texts"})
            run.finish(record, **facts)
        self.show(record, run, when_quiet=when_quiet, **options)

    def finish_with_page(self, record: Record, run: lib.runs.Run | None, facts: Mapping[str, Any], *,
                         when_quiet: WhenQuiet = "headline", texts: Sequence[Record] = ()) -> None:
        """The same of a record that has a page. `texts` are for page and terminal alone."""
        options = {"texts": texts} if texts else {}
        self.write_page(record, run, **options)
        self.finish(record, run, facts, when_quiet=when_quiet, **options)

    def write_page(self, record: Record, run: lib.runs.Run | None, **options: Any) -> None:
        """Write the page to where it is wanted, and the figures to `run`."""
        if pages := self.pages(run):
            summary = lib.report.summarise(record, **options)
            page = lib.report.to_html(summary)
            if run:
                lib.report.save_figures(summary.figures, run.figures)
            for path in pages:
                write_atomic(path, page)

    def pages(self, run: lib.runs.Run | None, *, charts: bool = True) -> list[Path]:
        """Where the page goes: nowhere where none is wanted, or none can be made."""
        wanted = self.wanted(run)
        try:
            if wanted:
                lib.render.environment()
            if wanted and charts:
                lib.figure.can_draw()
        except MissingExtraError as error:
            # A run folder without its page is still a run.
            self.note(f"no report.html in the run folder: {error}")
            return []
        return wanted


@group("Output")
class PageOutput(RunOutput):
    """The same of a command whose page may go to a file of its own. Raises where that file cannot be written."""

    report: Annotated[Path | None, option("F", "Write an HTML report.")] = None

    def __post_init__(self) -> None:
        # Before any work is done.
        if self.report is not None:
            lib.render.environment()
            lib.figure.can_draw()
            if self.report.is_dir() or not self.report.parent.is_dir():
                found = "it is a folder" if self.report.is_dir() else "its folder is not there"
                raise UsageError(f"cannot write {self.report}: {found}; expected the name of a file in a folder that "
                                 "is there")

    def wanted(self, run: lib.runs.Run | None) -> list[Path]:
        """Where the page goes."""
        return [*([self.report] if self.report else []), *super().wanted(run)]


def _for_ci(record: Record, run: lib.runs.Run, **options: Any) -> None:
    """Write what a build fails for, and what its page says: no text of a record."""
    write_atomic(run.path / "junit.xml", lib.junit.to_junit(record))
    shown = lib.report.summarise(record, **options)
    shown = replace(shown, sections=tuple(one for one in shown.sections if one.page))
    write_atomic(run.path / "summary.md", lib.report.to_markdown(shown))


def _file(parameter: Any, value: object) -> Path | None:
    """The path that an option's value may be; a model, a recipe or a domain is a path, or a name that is no file."""
    if isinstance(value, Path) or not isinstance(value, str):
        return value if isinstance(value, Path) else None
    if value.startswith("@"):
        return Path(value[1:])
    if parameter.name == "domain":
        return None if value in lib.domains.builtin_domains() else Path(value)
    return Path(value.split("=", 1)[-1]) if parameter.metavar in FILES else None


def provenance(*paths: Path, finished: bool = False, **facts: Any) -> dict[str, Any]:
    """Where a record comes from: the version, inputs with keyed hashes, `facts`, and when it was `finished`."""
    found: dict[str, Any] = {"discreet": __version__}
    if paths:
        hashes = KeyedHash.from_environment()
        files = [path if path.is_file() else next(iter(sorted(path.glob("scores.*"))), None) for path in paths]
        names, said = [path.name for path in paths], [None if file is None else hashes.of_file(file) for file in files]
        found |= {"input": names if len(names) > 1 else names[0], "data_hash": said if len(said) > 1 else said[0],
                  "hash_key": hashes.scope}
    return {**found, **facts, **({"finished": datetime.now(UTC).isoformat(timespec="seconds")} if finished else {})}


def end(verdict: str | None) -> None:
    """End the command with the exit code of its verdict."""
    if code := EXIT[verdict]:
        raise typer.Exit(code)
