"""`discreet`: the table of contents of the command line."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, MutableMapping, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from discreet import __version__
from discreet.cli.exits import guarded
from discreet.cli.options import with_options

# Plain help instead of rich's: it halves the time that --help takes, and docs/cli.md can be made from it.
SETTINGS: dict[str, Any] = {"max_content_width": 100, "help_option_names": ["-h", "--help"]}
ANSWERS, MODELS, OTHER = "Answers", "Classifiers", "Papers and reports"

COMMANDS: dict[str, tuple[str | None, str, str]] = {
    "guard": (None, ANSWERS, "Judge answers: does one name a person, or bind enough attributes to single one out?"),
    "guard check": ("guard_check:check", "", "Judge answers: safe, flag, abstain or failed, and why."),
    "guard fit": ("guard_fit:fit", "", "Fit a guard on safe and unsafe texts."),
    "guard evaluate": ("guard_evaluate:evaluate", "", "Evaluate a guard on labelled answers."),
    "guard pairings": ("guard_evaluate:pairings", "", "Fit and evaluate the paper's configurations on partitions."),
    "guard calibrate": ("guard_evaluate:calibrate", "", "What each operating point costs on your own answers."),
    "stress-test": ("stress_test:stress_test", ANSWERS, "Does a classifier read content or style? With a gate."),
    "synth": (None, ANSWERS, "Write safe, unsafe and borderline answers to fit and test guards on, offline."),
    "synth plan": ("synth:plan", "", "How many records of which partition, writer profile and mode."),
    "synth run": ("synth:run", "", "Write the partitions of a plan."),
    "synth validate": ("synth:validate", "", "Are records what they say they are?"),
    "audit": (None, MODELS, "Find out what a model's outputs give away about its training data."),
    "audit membership": (None, "", "Who was in the training set?"),
    "audit membership scores": ("audit_membership:scores", "", "Audit a table of scores."),
    "audit membership model": ("audit_membership:model", "", "Score a model on members and non-members, and audit it."),
    "audit membership train": ("audit_membership:train", "", "Train every model that an audit needs, and audit them."),
    "audit labels": (None, "", "Which labels was the model trained on?"),
    "audit labels scores": ("audit_labels:scores", "", "Audit a table of scores of canaries."),
    "audit labels train": ("audit_labels:train", "", "Train every model that an audit needs, and audit them."),
    "audit labels plan": ("audit_labels:plan", "", "How many canaries does it take to show an ε?"),
    "audit check-table": ("audit_check_table:check_table", "", "Is a published table possible at its stated ε?"),
    "seal": ("seal:seal", MODELS, "Before training: coins decide which record of a pair is trained on."),
    "unseal": ("seal:unseal", MODELS, "After training: open the coins and write a certificate."),
    "verify": ("seal:verify", MODELS, "Check a certificate."),
    "defend": (None, MODELS, "Release less of a classifier's scores: what it gains, and what it costs."),
    "defend frontier": ("defend_frontier:frontier", "", "What attacks lose and users pay when scores are noisy."),
    "reproduce": (None, OTHER, "Rerun the tables and figures of a paper: its definitions next to corrected ones."),
    "reproduce mia": ("reproduce:mia", "", "Boundary-targeted membership inference."),
    "reproduce blia": ("reproduce:blia", "", "Label inference."),
    "report": ("report:report", OTHER, "Render the report of a run folder again."),
}
"""By its path each command: the function (None for a group), its heading in the help of its group, and what it does."""


class Members(MutableMapping[str, Any]):
    """The commands of the group at `path`, imported when they are asked for."""

    def __init__(self, path: str) -> None:
        self.prefix = f"{path} ".lstrip()
        self.loaded: dict[str, Any] = {}
        self.names = [name for one in COMMANDS if one.startswith(self.prefix)
                      and " " not in (name := one[len(self.prefix):])]

    def __getitem__(self, name: str) -> Any:
        if name not in self.loaded:
            if name not in self.names:
                raise KeyError(name)
            self.loaded[name] = command_at(self.prefix + name)
        return self.loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self.loaded[name] = command

    def __delitem__(self, name: str) -> None:
        raise TypeError("a command cannot be taken away")

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


class Group(TyperGroup):
    """A group whose help names its commands by the table, without importing them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": {}})
        self.commands: Any = Members("")

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings."""
        headings: dict[str, list[tuple[str, str]]] = {}
        for name in self.commands:
            _, heading, about = COMMANDS[self.commands.prefix + name]
            headings.setdefault(heading or "Commands", []).append((name, about))
        write_sections(formatter, headings)


class Command(TyperCommand):
    """A command whose help shows its options under the headings of their groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options under their headings."""
        headings: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                argument = parameter.param_type_name == "argument"
                heading = "Arguments" if argument else getattr(parameter, "rich_help_panel", None) or "Options"
                headings.setdefault(heading, []).append(record)
        # What every command has stands last.
        if len(headings["Options"]) == 1 and "Output" in headings:
            headings["Output"] += headings.pop("Options")
        write_sections(formatter, {name: headings[name] for name in sorted(headings, key="Output".__eq__)})


def write_sections(formatter: Any, sections: dict[str, list[tuple[str, str]]]) -> None:
    """Write each section that holds something."""
    for heading, rows in sections.items():
        if rows:
            with formatter.section(heading):
                formatter.write_dl(rows)


def command_at(path: str) -> Any:
    """The command or group of that path, as Typer runs it."""
    where, _, about = COMMANDS[path]
    made = typer.Typer(cls=Group, help=about, rich_markup_mode=None, add_completion=False, context_settings=SETTINGS)
    if where is None:
        made.callback(invoke_without_command=True)(_help_alone)
        group = typer.main.get_command(made)
        group.name, group.commands = path.rpartition(" ")[2], Members(path)  # type: ignore[attr-defined]
        return group
    module, _, function = where.partition(":")
    body = getattr(import_module(f"discreet.cli.{module}"), function)
    made.command(path.rpartition(" ")[2], cls=Command)(with_options(body))
    return typer.main.get_command(made)


def _help_alone(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


app = typer.Typer(name="discreet", cls=Group, rich_markup_mode=None, add_completion=False,
                  pretty_exceptions_enable=False, context_settings=SETTINGS)


@app.callback(invoke_without_command=True)
def discreet(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True,
                                          help="Print the version and stop.")] = False,
) -> None:
    """Find out what a classifier or a RAG answer gives away about people, and stop it.

    Exit codes: 0 done or pass, 1 fail, 2 usage or input error, 3 inconclusive.
    """
    _help_alone(context)


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; no exception leaves, no traceback is shown."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

    def command() -> None:
        tree = typer.main.get_command(app)
        with tree.make_context("discreet", list(arguments)) as context:
            tree.invoke(context)

    return guarded(command, arguments)


if __name__ == "__main__":
    sys.exit(run())
