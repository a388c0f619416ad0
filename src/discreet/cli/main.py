"""`discreet`: the table of contents of the command line."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from discreet import __version__
from discreet.cli import (
    audit_check_table,
    audit_labels,
    audit_membership,
    defend_frontier,
    guard_calibrate,
    guard_check,
    guard_evaluate,
    guard_fit,
    report,
    reproduce_blia,
    reproduce_mia,
    seal,
    stress_test,
    synth_plan,
    synth_run,
    synth_validate,
    unseal,
)
from discreet.cli.exits import guarded

# Plain help instead of rich's: it halves the time that --help takes, and docs/cli.md can be made from it.
SETTINGS = {"max_content_width": 100, "help_option_names": ["-h", "--help"]}

app = typer.Typer(name="discreet", rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False,
                  context_settings=SETTINGS)
guard = typer.Typer(rich_markup_mode=None, context_settings=SETTINGS)
app.add_typer(guard, name="guard")
guard.command("fit")(guard_fit.fit)
guard.command("check")(guard_check.check)
guard.command("evaluate")(guard_evaluate.evaluate)
guard.command("calibrate")(guard_calibrate.calibrate)
synth = typer.Typer(rich_markup_mode=None, context_settings=SETTINGS)
app.add_typer(synth, name="synth")
synth.command("plan")(synth_plan.plan)
synth.command("run")(synth_run.run)
synth.command("validate")(synth_validate.validate)
defend = typer.Typer(rich_markup_mode=None, context_settings=SETTINGS)
app.add_typer(defend, name="defend")
defend.command("frontier")(defend_frontier.frontier)
audit = typer.Typer(rich_markup_mode=None, context_settings=SETTINGS)
app.add_typer(audit, name="audit")
audit.command("membership")(audit_membership.membership)
audit.command("labels")(audit_labels.labels)
audit.command("check-table")(audit_check_table.check_table)
reproduce = typer.Typer(rich_markup_mode=None, context_settings=SETTINGS)
app.add_typer(reproduce, name="reproduce")
reproduce.command("mia")(reproduce_mia.mia)
reproduce.command("blia")(reproduce_blia.blia)
app.command("report")(report.report)
app.command("stress-test")(stress_test.stress_test)
app.command("seal")(seal.seal)
app.command("unseal")(unseal.unseal)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


def _help_alone(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


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


@guard.callback(invoke_without_command=True)
def about_guard(context: typer.Context) -> None:
    """Judge answers: does one name a person, or bind enough attributes to single a person out?"""
    _help_alone(context)


@synth.callback(invoke_without_command=True)
def about_synth(context: typer.Context) -> None:
    """Write safe, unsafe and borderline answers to fit and test guards on, without a network."""
    _help_alone(context)


@audit.callback(invoke_without_command=True)
def about_audit(context: typer.Context) -> None:
    """Find out what a model's answers give away about its training data."""
    _help_alone(context)


@defend.callback(invoke_without_command=True)
def about_defend(context: typer.Context) -> None:
    """Release less of what a classifier says: what it buys against attacks, and what it costs."""
    _help_alone(context)


@reproduce.callback(invoke_without_command=True)
def about_reproduce(context: typer.Context) -> None:
    """Rerun the tables and figures of a paper: its definitions beside honest ones."""
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
