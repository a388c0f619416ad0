"""Which guard judges: the options that `guard check`, `guard evaluate` and `stress-test` share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from discreet.cli import library
from discreet.cli.options import DOMAINS
from discreet.core.errors import InputError, UsageError


class Point(StrEnum):
    """The named operating points."""

    conservative = "conservative"
    balanced = "balanced"
    strict = "strict"
    costs = "costs"


@dataclass(frozen=True, kw_only=True)
class ByGuard:
    """A fitted guard, or the rules under the policy of a domain."""

    HEADING: ClassVar[str] = "Guard"

    guard: Annotated[Path | None, typer.Option(
        "--guard", metavar="DIR", help="The fitted guard in this folder, which 'discreet guard fit' made.")] = None
    domain: Annotated[str | None, typer.Option(
        "--domain", metavar="D", help="The rules, under the policy of this domain: " + DOMAINS)] = None

    def load(self, *, audience: str | None = None, policy: Path | None = None, point: str | None = None,
             discriminator: str | None = None) -> library.Guard:
        """The guard that the options name. Raises UsageError where none does, or two that disagree."""
        if self.guard is None:
            if self.domain is None and policy is None:
                raise UsageError("there is no policy to judge by; expected --domain, --policy or --guard with a name "
                                 "or path")
            if discriminator is not None:
                raise UsageError("--discriminator belongs to a fitted guard; expected --guard DIR with it")
            return library.Guard(policy_of(self.domain, audience, policy), point=point)
        found = library.Guard.load(self.guard, policy=policy, audience=audience, point=point,
                                   discriminator=discriminator)
        fitted = found.policy.domain
        if self.domain is not None and (given := library.load_domain(self.domain)) != fitted:
            how = "with other files" if given.name == fitted.name else "the only one that it judges"
            raise UsageError(f"--domain is {self.domain!r}, but {self.guard} is a guard for {fitted.name!r}, {how}; "
                             "drop --domain")
        return found


@dataclass(frozen=True, kw_only=True)
class ForAudience:
    """Whom answers are for."""

    HEADING: ClassVar[str] = "Guard"

    audience: Annotated[str | None, typer.Option(
        "--audience", metavar="A", help="Whom the answers are for, as the policy names them.")] = None
    policy: Annotated[Path | None, typer.Option(
        "--policy", metavar="F", help="This policy file instead of a built-in one.")] = None


@dataclass(frozen=True, kw_only=True)
class Judging(ForAudience, ByGuard):
    """A guard, whom it judges for, and at which operating point."""

    point: Annotated[Point | None, typer.Option(
        "--point", metavar="P", help="Operating point: conservative, balanced or strict; costs for a guard that was "
                                     "fitted or calibrated with costs; by default the policy's.")] = None

    def load_guard(self, discriminator: str | None = None) -> library.Guard:
        """The guard that the options name; see `ByGuard.load`."""
        return self.load(audience=self.audience, policy=self.policy, discriminator=discriminator,
                         point=None if self.point is None else self.point.value)


@dataclass(frozen=True, kw_only=True)
class Costing:
    """What mistakes and reviews cost."""

    HEADING: ClassVar[str] = "Costs"

    cost_miss: Annotated[float | None, typer.Option(
        "--cost-miss", metavar="C", help="Cost of a leak that passes, in any unit; with the next, adds the operating "
                                         "point 'costs'.")] = None
    cost_false_flag: Annotated[float | None, typer.Option(
        "--cost-false-flag", metavar="C", help="Cost of a false flag.")] = None
    cost_review: Annotated[float, typer.Option("--cost-review", metavar="C", help="Cost of a review.")] = 0.0
    prevalence: Annotated[float | None, typer.Option(
        "--prevalence", metavar="P", help="Share of answers that leak where the guard is used; by default the "
                                          "sample's.")] = None

    def costs(self) -> library.Costs | None:
        """The stated costs, or None where none were stated. Raises UsageError for one without the other."""
        if self.cost_miss is None and self.cost_false_flag is None:
            return None
        if self.cost_miss is None or self.cost_false_flag is None:
            raise UsageError("--cost-miss and --cost-false-flag belong together; expected both")
        return library.Costs(self.cost_miss, self.cost_false_flag, self.cost_review, self.prevalence)


def policy_of(domain: str | None, audience: str | None, path: Path | None) -> library.Policy:
    """The policy that --policy or, without it, --domain names."""
    if path is not None:
        return library.Policy.load(path, audience, domain)
    return library.Policy.of(str(domain), audience)


def writable(out: Path) -> None:
    """Raise InputError before hours of work where a guard could not be written to `out`."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; expected the name of a folder to write")
    if out.is_dir() and any(out.iterdir()) and not (out / "guard.json").exists():
        raise InputError(f"{out} is not empty and holds no guard: name a new folder, or empty this one")
