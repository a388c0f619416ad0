"""Options: typed groups that commands share, and the one step that turns a group into the options of a command.

A command takes a group as a parameter whose type is a dataclass; `with_options` replaces it by one option for each of
its fields, shown under the heading `HEADING` of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_type_hints

import typer

from discreet.core.errors import DiscreetError, UsageError

N = TypeVar("N", int, float)

DOMAINS = "medical, finance, law, or the folder of a domain of your own."
"""What --domain takes; a test keeps the names."""
ENCODERS = ("embedded, lexical, paper, a registered encoder such as hashed or evidence (with options: "
            "hashed:dim=1024), a folder or a name on the hub; several with commas.")

Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of random draws.")]
ShowText = Annotated[bool, typer.Option("--show-text", help="Show the words themselves, on the terminal and in HTML; "
                                        "never in JSON.")]
Engine = Annotated[str, typer.Option("--engine", metavar="E", help="local (processes), inline or ray.")]
Workers = Annotated[int | None, typer.Option("--workers", metavar="N", help="Tasks that run at a time.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Where models are trained, and where the results of steps are kept."""

    HEADING: ClassVar[str] = "Execution"

    engine: Engine = "local"
    workers: Workers = None
    address: Annotated[str | None, typer.Option(
        "--address", metavar="A", help="With --engine ray: the address of a cluster; one is started here if not "
                                       "given.")] = None
    store: Annotated[Path | None, typer.Option(
        "--store", metavar="DIR", help="Where results of steps are kept, so that a stopped run resumes and a later run "
                                       "trains only what is new; OUT/store if not given.")] = None
    keep_models: Annotated[bool, typer.Option("--keep-models", help="Keep the trained models in the store.")] = False

    @contextmanager
    def store_in(self, out: Path | None) -> Iterator[Path]:
        """The folder where results of steps are kept: as named, in the run's folder, or for the time of the run."""
        if self.store is not None or out is not None:
            yield self.store or Path(out or ".") / "store"
            return
        with TemporaryDirectory(prefix="discreet-") as part:
            try:
                yield Path(part)
            except DiscreetError as error:
                # The folder goes with the run, and its log with it.
                said = str(error).removesuffix(f"; {Path(part) / 'log.jsonl'} has the calls")
                if said == str(error):
                    raise
                raise DiscreetError(f"{said}; run again with --out DIR or --store DIR, whose log keeps the calls"
                                    ) from None


def with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with one keyword parameter for each field of its groups, as Typer reads it."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, type[Any]] = {}
    parameters: dict[str, Parameter] = {}
    for name, parameter in signature(function).parameters.items():
        group = hints[name]
        if not is_dataclass(group):
            parameters[name] = parameter.replace(annotation=group, kind=Parameter.KEYWORD_ONLY)
            continue
        groups[name] = group  # type: ignore[assignment]
        of_fields = get_type_hints(group, include_extras=True)
        for field in fields(group):
            if field.name in parameters:
                raise TypeError(f"{function.__name__}: two groups have an option {field.name!r}")
            default = Parameter.empty if field.default is MISSING else field.default
            annotation = _headed(of_fields[field.name], getattr(group, "HEADING", None))
            parameters[field.name] = Parameter(field.name, Parameter.KEYWORD_ONLY, default=default,
                                               annotation=annotation)

    @wraps(function)
    def command(**given: Any) -> Any:
        made = {name: group(**{field.name: given.pop(field.name) for field in fields(group)})
                for name, group in groups.items()}
        return function(**given, **made)

    command.__signature__ = Signature(list(parameters.values()))  # type: ignore[attr-defined]
    command.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return command


def _headed(annotation: Any, heading: str | None) -> Any:
    """The annotation of an option, shown under `heading` unless it names another."""
    if heading is None or not hasattr(annotation, "__metadata__"):
        return annotation
    kind, option = get_args(annotation)
    option = copy(option)
    option.rich_help_panel = option.rich_help_panel or heading
    return Annotated[kind, option]


def one_of(**given: object) -> str | None:
    """The name of the one argument that is not None, None if there is none. Raises UsageError for two."""
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names)} were given together; expected one of them")
    return names[0] if names else None


def names_of(option: str, given: str) -> tuple[str, ...]:
    """`a,b` as words, each once. UsageError for an empty one."""
    found = tuple(dict.fromkeys(part.strip() for part in given.split(",")))
    if not all(found):
        raise UsageError(f"{option} is {given[:20]!r}; expected words with commas between them")
    return found


def numbers_of(option: str, given: str, kind: type[N], *, least: float = 0, most: float = 10**9,
               positive: bool = False, infinite: bool = False) -> tuple[N, ...]:
    """`1,4,16` as numbers from `least` to `most`, in order and each once. Raises UsageError for anything else.

    `positive` leaves 0 out, `infinite` lets inf in.
    """
    found: dict[N, None] = {}
    for part in given.split(","):
        try:
            value = kind(part.strip())
        except ValueError:
            value = None
        if value is None or not (least <= value <= most or (infinite and value == float("inf"))) or (
                positive and value == 0):
            limits = ("above 0" if positive else f"from {least:g}") + ("" if most >= 10**9 else f" to {most:g}")
            raise UsageError(f"{option} holds {part.strip()[:20]!r}; expected {'whole ' if kind is int else ''}numbers "
                             f"{limits}{', or inf' if infinite else ''}, with commas between them")
        found[value] = None
    return tuple(found)


def planted_of(given: str) -> tuple[int, ...]:
    """`1,4,16` as numbers of repetitions; `none` as none. UsageError for anything else."""
    return () if given.strip().lower() == "none" else numbers_of("--planted", given, int, least=1)
