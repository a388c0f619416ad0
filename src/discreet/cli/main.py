"""`discreet`: the table of contents of the command line, and how a command ends.

An unexpected error is named by its type and place only: its message and its traceback may quote an answer, and are
shown only where DISCREET_DEBUG=1 asks for them.
"""

from __future__ import annotations

import io
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from discreet import __version__
from discreet.cli.options import with_options
from discreet.core.errors import DiscreetError, UsageError
from discreet.core.files import why
from discreet.core.registry import offered

# Plain help instead of rich's: it halves the time that --help takes, and docs/cli.md can be made from it.
SETTINGS: dict[str, Any] = {"max_content_width": 100, "help_option_names": ["-h", "--help"]}
ANYTHING: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}
ANSWERS, MODELS, OTHER = "Answers", "Classifiers", "Papers and reports"
INTERRUPTED, PIPE_CLOSED = 130, 141
PACKAGE = Path(__file__).resolve().parents[1]
# typer carries its own copy of click since 0.20, and click's own before: the base class is found by its name.
CLICK_ERROR: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")

COMMANDS: dict[str, tuple[str | None, str, str]] = {
    "guard": (None, ANSWERS, "Judge answers: does one name a person, or bind enough attributes to single one out?"),
    "guard check": ("guard_check:check", "", "Judge answers: safe, flag, abstain or failed, and why."),
    "guard fit": ("guard_fit:fit", "", "Fit a guard on safe and unsafe texts."),
    "guard evaluate": ("guard_fit:evaluate", "", "Evaluate a guard on labelled answers."),
    "guard calibrate": ("guard_fit:calibrate", "", "What each operating point costs on your own answers."),
    "guard list": ("guard_list:installed", "", "Which domains and recognisers are installed?"),
    "serve": ("serve:serve", ANSWERS, "Serve the guard over HTTP: a proxy for models, doors for gateways, a review "
                                      "queue."),
    "serve key": (None, "", "Keys of callers, reviewers and operators."),
    "serve key add": ("serve:key_add", "", "Make a key, and print its token once."),
    "serve key list": ("serve:key_list", "", "Names, roles and guards of keys."),
    "serve key rotate": ("serve:key_rotate", "", "Replace the token of a key, and print the new one once."),
    "serve key remove": ("serve:key_remove", "", "Remove a key."),
    "serve shadow": ("serve_shadow:shadow", "", "What enforcement would withhold, from the log of a service that "
                                                "observes."),
    "serve audit": ("serve_queue:audit", "", "Check that nobody changed the audit of the review queue."),
    "serve reviews": ("serve_queue:reviews", "", "Write down what reviewers decided, for 'guard calibrate'."),
    "guard diff": ("guard_diff:diff", "", "What another guard would decide on recorded answers."),
    "meter": ("meter:meter", ANSWERS, "How many people fit what a text says of somebody?"),
    "population": (None, ANSWERS, "Populations of your own to count people in."),
    "population fit": ("population:fit", "", "Fit a population to a table of people."),
    "stress-test": ("stress_test:stress_test", ANSWERS, "Does a classifier read content or style? With a gate."),
    "benchmark": ("benchmark:benchmark", ANSWERS, "Compare guards on labelled passages."),
    "synth": (None, ANSWERS, "Write safe, unsafe and borderline answers to fit and test guards on."),
    "synth plan": ("synth:plan", "", "How many records of which partition, writer profile and mode."),
    "synth run": ("synth:run", "", "Write the partitions of a plan."),
    "synth status": ("synth:status", "", "How far a campaign of language models is, and what it spent."),
    "synth validate": ("synth:validate", "", "Are records what they say they are?"),
    "synth leaks": ("synth_leaks:leaks", "", "Answers that leak what passages hold, join or never said."),
    "audit": (None, MODELS, "Find out what a model's outputs give away about its training data."),
    "audit membership": (None, "", "Who was in the training set?"),
    "audit membership scores": ("audit_membership:scores", "", "Audit a table of scores."),
    "audit membership model": ("audit_membership_model:model", "", "Score a model on members and non-members, and "
                                                                   "audit it."),
    "audit membership train": ("audit_membership:train", "", "Train every model that an audit needs, and audit them."),
    "audit membership plan": ("audit_membership_runs:plan", "", "How many records and models does a verdict take?"),
    "audit membership compare": ("audit_membership_runs:compare", "", "Does the new model leak more than the old one?"),
    "audit guard": ("audit_guard:guard", "", "Which texts was a guard fitted on?"),
    "audit labels": (None, "", "Which labels was the model trained on?"),
    "audit labels scores": ("audit_labels:scores", "", "Audit a table of scores of canaries."),
    "audit labels train": ("audit_labels:train", "", "Train every model that an audit needs, and audit them."),
    "audit labels plan": ("audit_labels:plan", "", "How many canaries does it take to show an ε?"),
    "audit check-table": ("audit_labels:check_table", "", "Is a published table possible at its stated ε?"),
    "seal": ("seal:seal", MODELS, "Before training: coins decide which record of a pair is trained on."),
    "unseal": ("seal:unseal", MODELS, "After training: open the coins and write a certificate."),
    "verify": ("seal:verify", MODELS, "Check a certificate."),
    "defend": (None, MODELS, "Train so that less leaks, or release less: what it gains, and what it costs."),
    "defend training": ("defend_training:training", "", "Which ways to train leak less, and at what cost?"),
    "defend frontier": ("defend_frontier:frontier", "", "What attacks lose and users pay when scores are noisy."),
    "reproduce": ("main:_no_papers", OTHER, "Rerun the tables and figures of a paper (package discreet-papers)."),
    "report": ("report:report", OTHER, "Render the report of a run folder again."),
}
"""By its path each command: the function (None for a group that shows its help alone), its heading in the help of its
group, and what it does. A package adds to them, or replaces some, by an entry point of the group `discreet.commands`:
a mapping like this one, with whole names of modules."""


@cache
def commands() -> dict[str, tuple[str | None, str, str]]:
    """All commands, those of installed packages among them."""
    return {**COMMANDS, **offered("commands")}


class Group(TyperGroup):
    """A group that knows its commands by the table, and imports one when it is asked for."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.at("")

    def at(self, path: str) -> Group:
        """The group of that path."""
        self.path = f"{path} ".lstrip()
        names = [one.removeprefix(self.path) for one in commands() if one.startswith(self.path)]
        self.commands: dict[str, Any] = {name: None for name in names if " " not in name}
        return self

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, None for another."""
        if self.commands.get(cmd_name, self) is None:
            self.commands[cmd_name] = command_at(self.path + cmd_name)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings."""
        headings: dict[str, list[tuple[str, str]]] = {}
        for name in self.commands:
            _, heading, about = commands()[self.path + name]
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
    where, _, about = commands()[path]
    made = typer.Typer(cls=Group, help=about, rich_markup_mode=None, add_completion=False, context_settings=SETTINGS)
    name = path.rpartition(" ")[2]
    module, _, function = (where or "main:_help_alone").partition(":")
    does = with_options(getattr(import_module(module if "." in module else f"discreet.cli.{module}"), function))
    if where is None or any(one.startswith(f"{path} ") for one in commands()):
        made.callback(invoke_without_command=True)(does)
        group: Any = typer.main.get_command(made)
        group.name = name
        return group.at(path)
    made.command(name, cls=Command, context_settings=ANYTHING if function == "_no_papers" else None)(does)
    return typer.main.get_command(made)


def _no_papers() -> None:
    raise UsageError("'discreet reproduce' was given, and the package discreet-papers, which brings it, is not "
                     "installed; pip install ./papers in a copy of the repository")


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


def guarded(command: Callable[[], object], argv: Sequence[str]) -> int:
    """Call `command` and return the exit code; an error becomes one line on stderr. `argv` is what was typed."""
    try:
        command()
        sys.stdout.flush()
    except typer.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted; nothing was left half-written", INTERRUPTED)
    except BrokenPipeError:
        # What is still in the buffer would raise again when the interpreter ends.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except DiscreetError as error:
        return _say(str(error), error.exit_code)
    except Exception as error:
        if os.environ.get("DISCREET_DEBUG") == "1":
            traceback.print_exc()
            return 2
        return _say(_in_words(error, argv), 2)
    return 0


def _in_words(error: Exception, argv: Sequence[str]) -> str:
    if isinstance(error, CLICK_ERROR):
        return usage_message(error, argv)
    if isinstance(error, OSError) and error.strerror:
        return f"the system refused{f' {error.filename}' if error.filename else ''}: {why(error)}"
    frames = [f for f in traceback.extract_tb(error.__traceback__)
              if Path(f.filename).is_relative_to(PACKAGE) and f.filename != __file__]
    place = [f" in {Path(f.filename).relative_to(PACKAGE).as_posix()} line {f.lineno}" for f in frames[-1:]]
    return (f"unexpected {type(error).__name__}{''.join(place)}; this is a mistake in discreet: please open an issue "
            "at the project's repository (DISCREET_DEBUG=1 shows the traceback, which may quote answers)")


def usage_message(error: Exception, argv: Sequence[str]) -> str:
    """What typer says of a wrong option, in one line, without any argument that may be the text of an answer."""
    message = error.format_message().strip().rstrip(".")  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "discreet"
    if "unexpected extra argument" in message:
        takes = [one.metavar for one in context.command.params if one.param_type_name == "argument"] if context else []
        message = ("more than one TEXT was given; expected one: put it in quotes" if "TEXT" in takes else
                   f"too many arguments were given; expected {' '.join(map(str, takes)) or 'options alone'}: put a "
                   "value of several words in quotes")
    if message.startswith("No such command") and "Did you mean" not in message and context is not None:
        message += f"; expected one of {', '.join(context.command.list_commands(context))}"
    if wrong := re.fullmatch(r"Invalid value for '(--[\w-]+)[^']*': Input should be (.*)", message):
        message = _expected(wrong[1], wrong[2], argv)
    for argument in argv:
        if len(argument) > 40 or any(c.isspace() for c in argument):
            for shown in (argument, repr(argument)[1:-1]):
                message = message.replace(shown, "…")
    return f"{message} (see {command} --help)"


def _expected(option: str, said: str, argv: Sequence[str]) -> str:
    """What pydantic says of a number, in the words of our own errors."""
    limit = said.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
    kind = "a whole number" if "valid integer" in said else "a number" if "valid number" in said else limit
    pairs = [*pairwise(argv), *(one.split("=", 1) for one in argv if "=" in one)]
    given = next((value for name, value in pairs if name == option), None)
    found = "" if given is None else f" is {given if re.fullmatch(r'[-+.0-9]+', given) else repr(given)}"
    return f"{option}{found}; expected {kind}"


def _say(message: str, code: int) -> int:
    with suppress(BrokenPipeError):
        print("discreet:", " ".join(message.split()), file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(run())
