"""`discreet synth plan`: what a campaign would write."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import common
from discreet.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.synth.plan import Plan

DEFAULT_N = 2_000


class Roles(StrEnum):
    """Who writes for what."""

    strict = "strict"
    paper = "paper"


Domain = Annotated[str | None, typer.Option("--domain", metavar="D", help="What to write about: " + common.DOMAINS)]
Count = Annotated[int | None, typer.Option(
    "--n", metavar="N", min=1, help=f"Records in each partition; {DEFAULT_N:,} where neither --n nor --scale is "
                                    "given.")]
Scale = Annotated[float | None, typer.Option(
    "--scale", metavar="S", help="Records as in the paper's Table III, times S.")]
RolesOf = Annotated[Roles | None, typer.Option(
    "--roles", metavar="R", help="strict (the default: no writer profile writes for training and for evaluation) or "
                                 "paper (its overlap: borderline records by profiles that write unsafe ones).")]
Generator = Annotated[str | None, typer.Option(
    "--generator", metavar="G", help="Who writes; 'grammar' by default, which needs no network.")]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="Seed of random draws; 42 by default.")]
File = Annotated[Path | None, typer.Option("--out", metavar="F", help="Write the plan as JSON, for run --plan.")]


def plan(
    context: typer.Context, *, domain: Domain = None, n: Count = None, scale: Scale = None, roles: RolesOf = None,
    generator: Generator = None, seed: Seed = None, out: File = None, as_json: common.Json = False,
    config: common.Config = None, quiet: common.Quiet = False,
) -> None:
    """Plan a campaign: how many records of which partition, writer profile and mode, with all marginals."""
    from discreet.core.files import dump_json, write_atomic

    made = planned(domain, n, scale, roles, generator, seed)
    if out is not None:
        write_atomic(out, dump_json(made.to_json(), indent=2) + "\n")
    if as_json:
        sys.stdout.write(dump_json(made.to_json()) + "\n")
    elif not quiet:
        print("\n".join(lines(made)))


def planned(domain: str | None, n: int | None, scale: float | None, roles: Roles | None, generator: str | None,
            seed: int | None) -> Plan:
    """The plan that the options ask for."""
    from discreet.synth.plan import ROLES, equal_sizes, make_plan, paper_sizes

    if domain is None:
        raise UsageError("there is no domain to write for; expected --domain: " + common.DOMAINS)
    common.one_of(**{"--n": n, "--scale": scale})
    sizes: Mapping[str, int] = equal_sizes(n or DEFAULT_N) if scale is None else paper_sizes(domain, scale)
    return make_plan(domain, sizes, 42 if seed is None else seed, generator=generator or "grammar",
                     roles=ROLES[(roles or Roles.strict).value])


def lines(made: Plan) -> list[str]:
    """The batches of a plan, a line for each partition."""
    total = sum(b.n for b in made.batches)
    out = [f"{made.domain.name}: {total:,} records by {made.generator!r}, seed {made.seed}"]
    for name in made.partitions():
        batches = [b for b in made.batches if b.partition == name]
        by = {key: sum(b.n for b in batches if key in (b.profile, b.mode))
              for key in dict.fromkeys([b.profile for b in batches] + [b.mode for b in batches if b.mode != "NONE"])}
        parts = ", ".join(f"{key} {count:,}" for key, count in by.items())
        out.append(f"  {name:20} {sum(b.n for b in batches):>7,}   {parts}")
    return out
