"""Configuration files, and the run folder that keeps what a command was called with."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from discreet.cli import library
from discreet.core.errors import InputError
from discreet.core.files import why

# Options that say where results go and who works them out but not what they are, and those that hold text: no part of
# a saved configuration.
NOT_SAVED = frozenset({"text", "question", "config", "out", "output", "report", "json", "quiet", "help", "version",
                       "engine", "workers", "address", "store"})
# Folders that are written, in part across runs: their content is no input.
NOT_READ = NOT_SAVED | {"cache", "save"}
NOT_IN_A_FILE = ("config", "help", "text")


def load_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the values of a YAML file the defaults of this command's options, so that flags win over them."""
    if path is None:
        return None
    known = {name: parameter for parameter in context.command.params for name in _names(parameter)
             if name not in NOT_IN_A_FILE}
    names = known | {name.replace("-", "_"): parameter for name, parameter in known.items()}
    defaults: dict[str, Any] = {}
    for key, value in _read_yaml(path).items():
        if key not in names:
            near = difflib.get_close_matches(str(key), names, n=1)
            meant = f"did you mean {near[0]!r}?" if near else f"expected some of {', '.join(sorted(known))}"
            raise InputError(f"{path}: {str(key)!r} is not an option of {context.command_path}; {meant}")
        several = getattr(names[key], "multiple", False)
        if isinstance(value, dict | list) and not (
                several and isinstance(value, list) and all(isinstance(v, str) for v in value)):
            raise InputError(f"{path}: {key!r} is a {'list' if isinstance(value, list) else 'mapping'}; expected one "
                             "value")
        one = value if isinstance(value, bool | int | float | list | None) else str(value)
        defaults[str(names[key].name)] = [str(one)] if several and not isinstance(one, list) else one
    context.default_map = defaults
    return path


def _names(parameter: Any) -> list[str]:
    """The names of an option without dashes; of an argument, that of its parameter."""
    return [option[2:] for option in parameter.opts if option.startswith("--")] or [str(parameter.name)]


def _read_yaml(path: Path) -> dict[Any, Any]:
    import yaml

    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {why(error)}; expected a YAML file of options") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8; expected a YAML file of options") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise InputError(f"{path}{where}: not YAML; expected lines such as 'domain: medical'") from None
    if not isinstance(read, dict):
        raise InputError(f"{path} holds no options; expected lines such as 'domain: medical'")
    return read


def resolved(context: typer.Context) -> dict[str, Any]:
    """The options of this call in the order of `--help`, without those that are null or in `NOT_SAVED`."""
    given = {_names(parameter)[0]: context.params.get(str(parameter.name)) for parameter in context.command.params}
    return {name: getattr(value, "value", value) for name, value in given.items()
            if value is not None and name not in NOT_SAVED}


def open_run(context: typer.Context, out: Path | None, *, only: Collection[str] | None = None,
             further: Mapping[str, bytes] | None = None) -> library.Run | None:
    """The run folder, where one is asked for, for this configuration and the content of what the options name.

    Parameters
    ----------
    only : collection of str, optional
        The options that decide what a result is, where later calls may add others to the run; all of them if None.
    further : mapping, optional
        What is read beside files, by what a message calls it: standard input, or a text on the command line.
    """
    if out is None:
        return None
    command = context.command_path.partition(" ")[2]
    options = resolved(context)
    if only is not None:
        return library.Run.open(out, {name: options[name] for name in only if name in options}, command=command)
    return library.Run.open(out, options, {**inputs(context), **(further or {})}, command=command)


def inputs(context: typer.Context) -> dict[str, Sequence[Path]]:
    """Files and folders that the options of this call name and that are there, by option."""
    found: dict[str, Sequence[Path]] = {}
    for parameter in context.command.params:
        given = context.params.get(str(parameter.name))
        if given is None or _names(parameter)[0] in NOT_READ:
            continue
        values = given if isinstance(given, list) else [given]
        named = [path for value in values if (path := _file(parameter, value)) is not None and path.exists()]
        if named:
            found[next((o for o in parameter.opts if o.startswith("--")), str(parameter.metavar))] = named
    return found


def _file(parameter: Any, value: object) -> Path | None:
    """The path that an option's value may be; a model, a recipe or a domain is a path, or a name that is no file."""
    if isinstance(value, Path) or not isinstance(value, str):
        return value if isinstance(value, Path) else None
    if value.startswith("@"):
        return Path(value[1:])
    if parameter.name == "domain":
        return None if value in library.builtin_domains() else Path(value)
    return Path(value.split("=", 1)[-1]) if parameter.metavar in ("F", "M", "KIND=M", "R") else None
