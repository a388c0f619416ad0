"""Which guard judges: the options that `guard check`, `guard evaluate` and `stress-test` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import discreet
from discreet.cli import library as lib
from discreet.cli.options import DOMAINS, group, option
from discreet.core.errors import UsageError


@group("Guard")
class ByGuard:
    """A fitted guard, or the rules under the policy of a domain."""

    guard: Annotated[Path | None, option(
        "DIR", "The fitted guard in this folder, which 'discreet guard fit' made.")] = None
    domain: Annotated[str | None, option("D", "The rules, under the policy of this domain: " + DOMAINS)] = None

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
