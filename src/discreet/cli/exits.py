"""How a command ends: every error in one line on stderr, with the exit code that belongs to it.

An unexpected error is named by its type and place only. Its message and its traceback may quote an answer, so they
are shown only where DISCREET_DEBUG=1 asks for them.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import typer

from discreet.core.errors import DiscreetError
from discreet.core.files import why

INTERRUPTED = 130
PIPE_CLOSED = 141
PACKAGE = Path(__file__).resolve().parents[1]
# typer carries its own copy of click since 0.20, and click's own before: the base class is found by its name.
CLICK_ERROR: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


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
        _close_stdout()
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
    return (f"unexpected {type(error).__name__}{_place(error)}; this is a mistake in discreet: please open an issue "
            "at the project's repository (DISCREET_DEBUG=1 shows the traceback, which may quote answers)")


def usage_message(error: Exception, argv: Sequence[str]) -> str:
    """What typer says of a wrong option, in one line, without any argument that may be the text of an answer."""
    message = error.format_message().strip().rstrip(".")  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "discreet"
    if "unexpected extra argument" in message:
        message = "more than one TEXT was given; expected one: put it in quotes"
    for argument in argv:
        if len(argument) > 40 or any(c.isspace() for c in argument):
            for shown in (argument, repr(argument)[1:-1]):
                message = message.replace(shown, "…")
    return f"{message} (see {command} --help)"


def _place(error: Exception) -> str:
    ours = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(PACKAGE)]
    frames = [f for f in ours if f.filename != __file__]
    if not frames:
        return ""
    return f" in {Path(frames[-1].filename).relative_to(PACKAGE).as_posix()} line {frames[-1].lineno}"


def _say(message: str, code: int) -> int:
    with suppress(BrokenPipeError):
        print("discreet:", " ".join(message.split()), file=sys.stderr, flush=True)
    return code


def _close_stdout() -> None:
    # What is still in the buffer would raise again when the interpreter ends.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
