"""`discreet synth run`: write the partitions of a plan."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import common
from discreet.cli.synth_plan import Count, Domain, Generator, RolesOf, Scale, Seed, planned
from discreet.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PlanFile = Annotated[Path | None, typer.Option(
    "--plan", metavar="F", help="A plan from synth plan; without it, the options of synth plan.")]
Folder = Annotated[Path, typer.Option(
    "--out", metavar="DIR", help="Folder for the partitions; the same command goes on with one that was begun.")]


def run(
    context: typer.Context, *, out: Folder, plan: PlanFile = None, domain: Domain = None, n: Count = None,
    scale: Scale = None, roles: RolesOf = None, generator: Generator = None, seed: Seed = None,
    as_json: common.Json = False, config: common.Config = None, quiet: common.Quiet = False,
) -> None:
    """Write safe, unsafe and borderline records: one JSON Lines file a partition, and a manifest.

    Every draft is validated and written again where it fails; specifications that cannot be written trade axis levels,
    so that marginals hold after validation. What a grammar wrote is marked: it bootstraps and demonstrates; a
    deployment trains on text that a language model wrote, or on its own. Exits with 1 where records are missing.
    """
    from discreet.core.files import dump_json, progress
    from discreet.synth.campaign import run_campaign
    from discreet.synth.plan import Plan

    if plan is not None:
        given = {"--domain": domain, "--n": n, "--scale": scale, "--roles": roles, "--generator": generator,
                 "--seed": seed}
        for name, value in given.items():
            if value is not None:
                raise UsageError(f"--plan and {name} were given together; the plan says it: drop {name}")
        made = Plan.load(plan)
    else:
        made = planned(domain, n, scale, roles, generator, seed)

    def watch(jobs: Sequence[Any]) -> Iterable[Any]:
        return progress(jobs, len(jobs), quiet=quiet, label="shards written")

    manifest = run_campaign(made, out, watch=watch)
    if as_json:
        sys.stdout.write(dump_json(manifest) + "\n")
    elif not quiet:
        print("\n".join(lines(manifest, out)))
    if manifest["short"]:
        raise typer.Exit(1)


def lines(manifest: dict[str, Any], out: Path) -> list[str]:
    """Counts and yields of a campaign in words."""
    from discreet.core.records import Estimate

    said = [f"{manifest['domain']}: self-consistency data ({manifest['generator']}), seed {manifest['seed']}, in {out}"]
    for name, part in manifest["partitions"].items():
        missing = f"   {part['short']:,} could not be written" if part["short"] else ""
        said.append(f"  {name:20} {part['n']:>7,}   {', '.join(part['profiles'])}{missing}")
    said += ["", "Drafts that passed, by mode (unsafe) and writer profile"]
    for axis in ("mode", "profile"):
        for level, found in manifest["yields"][axis].items():
            one = Estimate.from_json(found)
            said.append(f"  {level:20} {one}   n={one.n:,}")
    if manifest["rejected"]:
        said += ["", "Rejected, by reason", *(f"  {reason:24} {count:,}"
                                              for reason, count in manifest["rejected"].items())]
    return said
