"""What the verbs share: the options that every command has, configuration files, and words for a terminal."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.core.errors import InputError, UsageError
from discreet.core.files import why

if TYPE_CHECKING:
    from discreet.core.runs import Run

DOMAINS = "medical, finance, law, or the folder of a domain of your own."
"""What --domain takes; a test keeps the names."""
# Options that say where results go and who works them out but not what they are, and those that hold text: no part of
# a saved configuration.
NOT_SAVED = frozenset({"text", "question", "config", "out", "output", "report", "json", "quiet", "help", "version",
                       "engine", "workers", "address", "store"})
# Folders that are written, in part across runs: their content is no input.
NOT_READ = NOT_SAVED | {"cache", "save"}


def load_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the values of a YAML file the defaults of this command's options, so that flags win over them."""
    if path is None:
        return None
    names = {spelling: str(name) for name, flags in _flags(context).items() for flag in flags
             for spelling in (flag, flag.replace("-", "_"))}
    several = {str(p.name) for p in context.command.params if getattr(p, "multiple", False)}
    defaults: dict[str, Any] = {}
    for key, value in _read_yaml(path).items():
        if key not in names or key in ("config", "help"):
            near = difflib.get_close_matches(str(key), names, n=1)
            known = ", ".join(sorted({flag for flags in _flags(context).values() for flag in flags}))
            raise InputError(f"{path}: {str(key)!r} is not an option of {context.command_path}; "
                             + (f"did you mean {near[0]!r}?" if near else f"expected some of {known}"))
        if isinstance(value, list) and names[key] in several and all(isinstance(v, str) for v in value):
            defaults[names[key]] = value
            continue
        if isinstance(value, dict | list):
            raise InputError(f"{path}: {key!r} is a {'list' if isinstance(value, list) else 'mapping'}; expected one "
                             f"value")
        one = value if isinstance(value, bool | int | float | None) else str(value)
        defaults[names[key]] = [str(one)] if names[key] in several else one
    context.default_map = defaults
    return path


def _flags(context: typer.Context) -> dict[str | None, list[str]]:
    return {p.name: [o[2:] for o in p.opts if o.startswith("--")] for p in context.command.params}


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
    given = {(flags or [str(name)])[0]: context.params.get(str(name)) for name, flags in _flags(context).items()}
    return {flag: getattr(value, "value", value) for flag, value in given.items()
            if value is not None and flag not in NOT_SAVED}


def open_run(out: Path | None, context: typer.Context, *, without: Collection[str] = (),
             further: Mapping[str, bytes] | None = None) -> Run | None:
    """The run folder, where one is asked for, for this configuration and the content of what the options name.

    Parameters
    ----------
    without : collection of str
        Options that say nothing about this run.
    further : mapping, optional
        What is read beside files, by what a message calls it: standard input, or a text on the command line.
    """
    from discreet.core.runs import Run

    if out is None:
        return None
    config = {name: value for name, value in resolved(context).items() if name not in without}
    return Run.open(out, config, {**inputs(context), **(further or {})})


def inputs(context: typer.Context) -> dict[str, Sequence[Path]]:
    """Files and folders that the options of this call name and that are there, by option."""
    found: dict[str, Sequence[Path]] = {}
    for parameter in context.command.params:
        given = context.params.get(str(parameter.name))
        if given is None or str(parameter.name) in NOT_READ:
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
        from discreet.domains import builtin_domains

        return None if value in builtin_domains() else Path(value)
    return Path(value.split("=", 1)[-1]) if parameter.metavar in ("F", "M", "KIND=M", "R") else None


def provenance(*paths: Path, finished: bool = False, **facts: Any) -> dict[str, Any]:
    """Where a record comes from: the version, the inputs with their keyed hashes, `facts`, and when it was `finished`.

    A folder of tables is known by its scores. Several inputs are listed, one is not.
    """
    from datetime import UTC, datetime

    from discreet import __version__
    from discreet.core.files import KeyedHash

    found: dict[str, Any] = {"discreet": __version__}
    if paths:
        keyed = KeyedHash.from_environment()
        files = [path if path.is_file() else next(iter(sorted(path.glob("scores.*"))), None) for path in paths]
        names, hashes = [path.name for path in paths], [None if file is None else keyed.of_file(file) for file in files]
        several = len(paths) > 1
        found |= {"input": names if several else names[0], "data_hash": hashes if several else hashes[0],
                  "hash_key": keyed.scope}
    return {**found, **facts, **({"finished": datetime.now(UTC).isoformat(timespec="seconds")} if finished else {})}


def coloured() -> bool:
    """Whether stdout is a terminal that wants colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def one_of(**given: object) -> str | None:
    """The name of the one argument that is not None, None if there is none. Raises UsageError for two."""
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names)} were given together; expected one of them")
    return names[0] if names else None


Json = Annotated[bool, typer.Option("--json", help="Print JSON Lines for machines.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Keep the run in this folder: configuration, "
                                          "results, log, and the report where there is one.")]
Config = Annotated[Path | None, typer.Option("--config", metavar="F", is_eager=True, callback=load_config,
                                             help="YAML file of options, named as the flags; flags win.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of random draws.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress, notes or summary.")]
ShowText = Annotated[bool, typer.Option("--show-text", help="Show the words themselves, on the terminal and in HTML; "
                                        "never in JSON.")]
