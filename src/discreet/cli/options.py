"""Options: typed groups that commands share, and the step that turns a group into the options of a command.

A command takes a group as a parameter whose type is a dataclass; `with_options` replaces it by one option for each of
its fields, shown under the heading of the group. Their values may come from a YAML file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, TypeVar, cast, dataclass_transform, get_args, get_type_hints

import typer

import discreet
from discreet.cli import library as lib
from discreet.core.errors import DiscreetError, InputError, UsageError, meant
from discreet.core.files import read_yaml

N = TypeVar("N", int, float)
C = TypeVar("C", bound=type[Any])
NOT_IN_A_FILE = ("config", "help", "text")


def option(metavar: str, text: str, *names: str, **more: Any) -> Any:
    """An option with a value; `with_options` names it by its parameter unless `names` are given."""
    return typer.Option(*names, metavar=metavar, help=text, **more)


def flag(text: str, *names: str) -> Any:
    """An option without a value."""
    return typer.Option(*names, help=text)


def argument(metavar: str, text: str) -> Any:
    """What a command is given without the name of an option."""
    return typer.Argument(metavar=metavar, help=text, show_default=False)


@dataclass_transform(kw_only_default=True, frozen_default=True)
def group(heading: str) -> Callable[[C], C]:
    """Make a class a group of options, shown under `heading`."""
    def made(plain: C) -> C:
        plain.HEADING = heading
        return cast(C, dataclass(frozen=True, kw_only=True)(plain))

    return made


DOMAINS = "medical, finance, law, or the folder of a domain of your own."
"""What --domain takes; a test keeps the names."""
ENCODERS = ("reader, embedded, lexical, paper, a registered encoder such as hashed or evidence (with options: "
            "hashed:dim=1024), a folder or a name on the hub; several with commas. By default reader.")

About = Annotated[str, option("D", "What the texts are about: " + DOMAINS)]
AllowSplitGroups = Annotated[bool, flag(
    "Leave out groups that have records among members and non-members, instead of refusing the table.")]
Encoders = Annotated[str | None, option("E", ENCODERS)]
Engine = Annotated[str, option("E", "local (processes), inline or ray.")]
Population = Annotated[Path | None, option(
    "F", "Count in this population, which 'discreet population fit' made, instead of the one that ships.")]
Sizes = Annotated[str | None, option(
    "a=N,…", "Examples of each set (a, b, val, cal, eval, neutral, control); by default as in the paper.")]
Seed = Annotated[int, option("N", "Seed of random draws.", min=0)]
TrainedRecipe = Annotated[str, option(
    "R", "tfidf-mlp, transformer:base=minilm,regime=lora, … or a YAML file with a recipe's name and options.")]
TrainingData = Annotated[Path, option(
    "F", "JSON Lines, CSV or Parquet with id, text (or turns) and label; group, category and structure if there.")]
ShowText = Annotated[bool, flag("Show the words themselves, on the terminal and in HTML; never in JSON.")]
Workers = Annotated[int | None, option("N", "Tasks that run at a time.")]


@group("Execution")
class Execution:
    """Where models are trained, and where the results of steps are kept."""

    engine: Engine = "local"
    workers: Workers = None
    address: Annotated[str | None, option(
        "A", "With --engine ray: the address of a cluster; one is started here if not given.")] = None
    store: Annotated[Path | None, option(
        "DIR", "Where results of steps are kept, so that a stopped run resumes and a later run trains only what is "
        "new; OUT/store if not given.")] = None
    keep_models: Annotated[bool, flag("Keep the trained models in the store.")] = False

    @contextmanager
    def trained(self, experiments: list[Any], out: Path | None, *, quiet: bool,
                check: Callable[[Any], object] | None = None) -> Iterator[list[Any]]:
        """What the experiments trained. Results of steps are in `store`, in the run's folder, or in one until here.

        `check` sees how the records of the first are assigned, before any model is trained.
        """
        with ExitStack() as stack:
            part = None if self.store or out else stack.enter_context(TemporaryDirectory(prefix="discreet-"))
            store = Path(part) if part else self.store or Path(out or ".") / "store"
            try:
                yield lib.runner.train(experiments, store, engine=self.engine, workers=self.workers,
                                       address=self.address, quiet=quiet, check=check)
            except DiscreetError as error:
                # A folder that goes takes its log with it.
                said = str(error).removesuffix(f"; {store / 'log.jsonl'} has the calls")
                if part is None or said == str(error):
                    raise
                raise DiscreetError(f"{said}; run again with --out DIR or --store DIR, whose log keeps the calls"
                                    ) from None


@group("Guard")
class ByGuard:
    """A fitted guard, or the one that ships, under the policy of a domain."""

    guard: Annotated[Path | None, option(
        "DIR", "The fitted guard in this folder, which 'discreet guard fit' made.")] = None
    domain: Annotated[str | None, option(
        "D", "The guard that ships, under the policy of this domain: " + DOMAINS)] = None

    def load(self, *, audience: str | None = None, policy: Path | None = None, point: str | None = None,
             discriminator: str | None = None) -> discreet.Guard:
        """The guard that the options name. Raises UsageError where none does, or two that disagree."""
        if self.guard is None:
            if self.domain is None and policy is None:
                raise UsageError("there is no policy to judge by; expected --domain, --policy or --guard")
            if discriminator is not None:
                raise UsageError("--discriminator belongs to a fitted guard; expected --guard DIR with it")
            return discreet.Guard(policy_of(self.domain, audience, policy), point=point)
        found = discreet.Guard.load(self.guard, policy=policy, audience=audience, point=point,
                                   discriminator=discriminator)
        fitted = found.policy.domain
        if self.domain is not None and (given := lib.domains.load_domain(self.domain)) != fitted:
            how = "with other files" if given.name == fitted.name else "the only one that it judges"
            raise UsageError(f"--domain is {self.domain!r}, but {self.guard} is a guard for {fitted.name!r}, {how}; "
                             "drop --domain")
        return found


@group("Guard")
class ForAudience:
    """Whom answers are for."""

    audience: Annotated[str | None, option("A", "Whom the answers are for, as the policy names them.")] = None
    policy: Annotated[Path | None, option("F", "This policy file instead of a built-in one.")] = None


@group("Guard")
class Judging(ForAudience, ByGuard):
    """A guard, whom it judges for, and at which operating point."""

    point: Annotated[str | None, option(
        "P", "Operating point: conservative, balanced or strict; costs for a guard that was fitted or calibrated with "
        "costs; by default the policy's.")] = None

    def load_guard(self, discriminator: str | None = None) -> discreet.Guard:
        """The guard that the options name; see `ByGuard.load`."""
        return self.load(audience=self.audience, policy=self.policy, discriminator=discriminator, point=self.point)


@group("Costs")
class Costing:
    """What mistakes and reviews cost."""

    cost_miss: Annotated[float | None, option(
        "C", "Cost of a leak that passes, in any unit; with the next, adds the operating point 'costs'.")] = None
    cost_false_flag: Annotated[float | None, option("C", "Cost of a false flag.")] = None
    cost_review: Annotated[float, option("C", "Cost of a review.")] = 0.0
    prevalence: Annotated[float | None, option(
        "P", "Share of answers that leak where the guard is used; by default the sample's.")] = None

    def costs(self) -> lib.points.Costs | None:
        """The stated costs, or None where none were stated. Raises UsageError for one without the other."""
        if self.cost_miss is None and self.cost_false_flag is None:
            return None
        if self.cost_miss is None or self.cost_false_flag is None:
            raise UsageError("--cost-miss and --cost-false-flag belong together; expected both")
        return lib.points.Costs(self.cost_miss, self.cost_false_flag, self.cost_review, self.prevalence)


def policy_of(domain: str | None, audience: str | None, path: Path | None) -> discreet.Policy:
    """The policy that --policy or, without it, --domain names."""
    return discreet.Policy.of(str(domain), audience) if path is None else discreet.Policy.load(path, audience, domain)


def with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with one keyword parameter for each field of its groups, as Typer reads it."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, type[Any]] = {name: kind for name, kind in hints.items() if hasattr(kind, "HEADING")}
    parameters: dict[str, Parameter] = {}

    def add(name: str, annotation: Any, default: Any, heading: str | None = None) -> None:
        if name in parameters:
            raise TypeError(f"{function.__name__}: two groups have an option {name!r}")
        parameters[name] = Parameter(name, Parameter.KEYWORD_ONLY, default=default,
                                     annotation=_named(annotation, name, heading))

    for name, parameter in signature(function).parameters.items():
        if name not in groups:
            add(name, hints[name], parameter.default)
            continue
        of_fields = get_type_hints(groups[name], include_extras=True)
        for field in fields(groups[name]):
            add(field.name, of_fields[field.name], Parameter.empty if field.default is MISSING else field.default,
                groups[name].HEADING)

    @wraps(function)
    def command(**given: Any) -> Any:
        made = {name: kind(**{field.name: given.pop(field.name) for field in fields(kind)})
                for name, kind in groups.items()}
        return function(**given, **made)

    command.__signature__ = Signature(list(parameters.values()))  # type: ignore[attr-defined]
    command.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return command


def _named(annotation: Any, name: str, heading: str | None) -> Any:
    """The annotation of an option with its name, if it has none, under `heading` unless it names another."""
    if not hasattr(annotation, "__metadata__"):
        return annotation
    kind, given = get_args(annotation)
    given = copy(given)
    given.rich_help_panel = given.rich_help_panel or heading
    # Typer keeps a first name where a default would be.
    if isinstance(given, typer.models.OptionInfo) and not isinstance(given.default, str):
        given.param_decls = (f"--{name.replace('_', '-')}",)
    return Annotated[kind, given]


def load_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the values of a YAML file the defaults of this command's options, so that flags win over them."""
    if path is None:
        return None
    known = {name: parameter for parameter in context.command.params for name in plain_names(parameter)
             if name not in NOT_IN_A_FILE}
    names = known | {name.replace("-", "_"): parameter for name, parameter in known.items()}
    context.default_map = {}
    for key, value in _read_yaml(path).items():
        if key not in names:
            raise InputError(f"{path}: {str(key)!r} is not an option of {context.command_path}; "
                             f"{meant(key, names, known)}")
        several = getattr(names[key], "multiple", False)
        words = isinstance(value, list) and all(isinstance(v, str) for v in value)
        if isinstance(value, dict | list) and not (several and words):
            kind = "list" if isinstance(value, list) else "mapping"
            raise InputError(f"{path}: {key!r} is a {kind}; expected one value")
        one = value if isinstance(value, bool | int | float | list | None) else str(value)
        context.default_map[str(names[key].name)] = [str(one)] if several and not isinstance(one, list) else one
    return path


def plain_names(parameter: Any) -> list[str]:
    """The names of an option without dashes; of an argument, that of its parameter."""
    return [one[2:] for one in parameter.opts if one.startswith("--")] or [str(parameter.name)]


def _read_yaml(path: Path) -> dict[Any, Any]:
    expected = "expected lines such as 'domain: medical'"
    read = read_yaml(path, "a YAML file of options", expected)
    if not isinstance(read, dict):
        raise InputError(f"{path} holds no options; {expected}")
    return read


def one_of(**given: object) -> None:
    """Raise UsageError where more than one argument is not None."""
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names)} were given together; expected one of them")


def not_an_input(name: str, path: Path | None, *inputs: object) -> None:
    """Raise UsageError where the file that the option `name` writes is one that the command reads."""
    for one in inputs:
        if path is not None and isinstance(one, str | Path) and path.exists() and Path(one).exists() and (
                path.samefile(one)):
            raise UsageError(f"{name} is the input, {one}; name another file")


def names_of(name: str, given: str, known: Collection[str] | None = None) -> tuple[str, ...]:
    """`a,b` as words, each once. UsageError for an empty one, and for one that is not `known`."""
    found = tuple(dict.fromkeys(part.strip() for part in given.split(",")))
    if not all(found):
        raise UsageError(f"{name} is {given[:20]!r}; expected words with commas between them")
    if known is not None and (unknown := [one for one in found if one not in known]):
        raise UsageError(f"{name} holds {unknown[0][:20]!r}; expected some of {', '.join(known)}")
    return found


def numbers_of(name: str, given: str, kind: type[N], *, least: float = 0, most: float = 10**9,
               positive: bool = False, infinite: bool = False, once: bool = True) -> tuple[N, ...]:
    """`1,4,16` as numbers from `least` to `most`, in order. Raises UsageError for anything else.

    `positive` leaves 0 out, `infinite` lets inf in; `once` keeps each number once.
    """
    found: list[N] = []
    for part in given.split(","):
        try:
            value = kind(part.strip())
        except ValueError:
            value = None
        if value is None or not (least <= value <= most or (infinite and value == float("inf"))) or (
                positive and value == 0):
            limits = ("above 0" if positive else f"from {least:g}") + ("" if most >= 10**9 else f" to {most:g}")
            raise UsageError(f"{name} holds {part.strip()[:20]!r}; expected {'whole ' if kind is int else ''}numbers "
                             f"{limits}{', or inf' if infinite else ''}, with commas between them")
        found.append(value)
    return tuple(dict.fromkeys(found) if once else found)


def planted_of(given: str) -> tuple[int, ...]:
    """`1,4,16` as numbers of repetitions; `none` as none. UsageError for anything else."""
    return () if given.strip().lower() == "none" else numbers_of("--planted", given, int, least=1)


def sizes_of(given: str | None) -> dict[str, int]:
    """`a=400,b=400` as a mapping. Raises UsageError for anything else."""
    found: dict[str, int] = {}
    for part in given.split(",") if given else ():
        name, _, number = (one.strip() for one in part.partition("="))
        if not (number.isascii() and number.isdecimal()) or name in found:
            raise UsageError(f"--sizes holds {part.strip()[:20]!r}; expected set=number, each set once, with "
                             "commas between them")
        found[name] = int(number)
    return found
