"""`discreet synth`: plan, write and validate safe, unsafe and borderline records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import discreet
from discreet.cli import library as lib
from discreet.cli.options import DOMAINS, argument, flag, group, not_an_input, one_of, option
from discreet.cli.output import Output, end
from discreet.core.errors import UsageError
from discreet.core.files import dump_json, progress, write_atomic
from discreet.core.numbers import printable

DEFAULT_N = 2_000
COLUMNS = ("id", "kind", "domain", "question", "answer", "profile", "register", "subtype", "opening",
           "framing", "placement", "mode", "qi", "slots", "forbidden", "generator")
STOPPED = {
    "budget": "its next request might break the budget; raise it in the file of endpoints",
    "denied": "the endpoint refused address, key or model; check url, key_variable and model",
    "unavailable": "the endpoint gave no answer; check url, or wait",
    "malformed": "the endpoint answered what no OpenAI-compatible endpoint does; check url",
    "refused": "the endpoint refused one request after another; check model, max_tokens and temperature"}
"""What to do about each reason why a campaign of models stops."""
REQUIRED = ("id", "kind", "domain", "answer")


Seeds: TypeAlias = Annotated[list[Path] | None, option(
    "PATH", "Passages that prompts of language models are about, and that are the safe records: a file or folder; may "
    "be repeated.")]


@group("Campaign")
class Campaign:
    """What is written, and how much of it; None is the default, so that a plan can say which was given."""

    domain: Annotated[str | None, option("D", "What to write about: " + DOMAINS)] = None
    n: Annotated[int | None, option(
        "N", f"Records in each partition; {DEFAULT_N:,} where neither --n nor --scale is given.", min=1)] = None
    scale: Annotated[float | None, option("S", "Records as in the paper's Table III, times S.")] = None
    roles: Annotated[str | None, option(
        "R", "strict (the default: no writer profile writes for training and for evaluation) or paper (its overlap: "
        "borderline records by profiles that write unsafe ones).")] = None
    generator: Annotated[str | None, option("G", "Who writes; 'grammar' by default, which needs no network.")] = None
    endpoints: Annotated[Path | None, option(
        "F", "YAML of language models that write: name, url, model, roles, price and limits of each.")] = None
    seed: Annotated[int | None, option("N", "Seed of random draws; 42 by default.", min=0)] = None

    def plan(self, seeds: list[Path] | None) -> lib.plan.Plan:
        """The plan that the options ask for; safe records of a campaign of models are passages of `seeds`."""
        if self.domain is None:
            raise UsageError("there is no domain to write for; expected --domain: " + DOMAINS.removesuffix("."))
        one_of(**{"--n": self.n, "--scale": self.scale})
        sizes = (lib.plan.equal_sizes(self.n or DEFAULT_N) if self.scale is None
                 else lib.plan.paper_sizes(self.domain, self.scale))
        seed = 42 if self.seed is None else self.seed
        roles = _roles_of(self.roles)
        if self.endpoints is None:
            generator = "grammar" if self.generator is None else self.generator
            # Raises for one that is not there.
            lib.records.generators[generator]
            return lib.plan.make_plan(self.domain, sizes, seed, generator=generator, roles=lib.plan.ROLES[roles])
        if self.generator is not None:
            raise UsageError("--generator and --endpoints were given together; the endpoints write: drop --generator")
        models = lib.synth_endpoints.Endpoints.load(self.endpoints)
        models.check_roles(roles)
        return lib.plan.make_plan(self.domain, models.sizes(sizes, seeded=bool(seeds)), seed,
                                  generator=lib.asked.GENERATOR, roles=models.roles())


def _roles_of(given: str | None) -> str:
    roles = "strict" if given is None else given
    if roles not in lib.plan.ROLES:
        raise UsageError(f"--roles is {roles[:20]!r}; expected one of {', '.join(lib.plan.ROLES)}")
    return roles


def plan(
    *, campaign: Campaign, seeds: Seeds = None,
    out: Annotated[Path | None, option("F", "Write the plan as JSON, for run --plan.")] = None,
    output: Output,
) -> None:
    """Plan a campaign: how many records of which partition, writer profile and mode, with all marginals.

    With --endpoints also the requests, tokens, money and hours that the models will take.
    """
    _check_seeds(campaign, seeds)
    not_an_input("--out", out, campaign.endpoints, *(seeds or ()))
    made = campaign.plan(seeds)
    record = made.to_json()
    if campaign.endpoints is not None:
        record["costs"] = lib.synth_endpoints.costs(made, lib.synth_endpoints.Endpoints.load(campaign.endpoints),
                                          lib.prompts.Prompter(made.domain), _seeds(made, seeds))
    if out is not None:
        write_atomic(out, dump_json(record, indent=2) + "\n")
    output.say(record, lambda: "\n".join(_plan_lines(made) + _cost_lines(record.get("costs"))))


def run(
    *,
    out: Annotated[Path, option("DIR", "Folder for the partitions; the same command resumes one that was begun.")],
    plan: Annotated[Path | None, option("F", "A plan from synth plan; without it, the options of a campaign.")] = None,
    seeds: Seeds = None,
    campaign: Campaign, output: Output,
) -> None:
    """Write safe, unsafe and borderline records: one JSON Lines file a partition, and a manifest.

    Every draft is validated and written again where it fails; specifications that cannot be written trade axis levels,
    so that marginals hold after validation. What a grammar wrote is marked: it bootstraps and demonstrates; a
    deployment trains on text that a language model wrote (--endpoints), or on text of its own. Exits with 1 where
    records are missing, also where a budget or an endpoint ended it: the same command goes on.
    """
    of_plan = {name: value for name, value in asdict(campaign).items() if name not in ("endpoints", "roles")}
    if plan is not None and (given := next((name for name, value in of_plan.items() if value is not None), None)):
        raise UsageError(f"--plan and --{given} were given together; the plan says it: drop --{given}")
    if plan is not None and campaign.roles is not None and campaign.endpoints is None:
        raise UsageError("--plan and --roles were given together; the plan says it: drop --roles")
    _check_seeds(campaign, seeds)
    made = campaign.plan(seeds) if plan is None else lib.plan.Plan.load(plan)
    if (made.generator == lib.asked.GENERATOR) != (campaign.endpoints is not None):
        raise UsageError("the plan is one of language models, and --endpoints is missing; give the file that it was "
                         "made with" if campaign.endpoints is None else
                         f"--endpoints was given for a plan of {made.generator!r}; plan with --endpoints")
    if campaign.endpoints is not None:
        _run_models(made, campaign, seeds, out, output)
        return
    manifest = lib.campaign.run_campaign(
        made, out, watch=lambda jobs: progress(jobs, len(jobs), quiet=output.quiet, label="shards written"))
    output.say(manifest, lambda: "\n".join(_manifest_lines(manifest, out)))
    end("fail" if manifest["short"] else "pass")


def _run_models(made: lib.plan.Plan, campaign: Campaign, seeds: list[Path] | None, out: Path, output: Output) -> None:
    assert campaign.endpoints is not None
    roles = _roles_of(campaign.roles)
    with closing(_counted(output)) as answers:
        manifest = lib.asked.run_asked(
            made, lib.synth_endpoints.Endpoints.load(campaign.endpoints), out, seeds=_seeds(made, seeds), roles=roles,
            tell=lambda: next(answers))
    finished = manifest["state"] == "finished"
    stopped = [f"stopped: {name or 'the campaign'}: {STOPPED[reason]}"
               for name, reason in manifest.get("stopped", {}).items()]
    output.say(manifest, lambda: "\n".join(_manifest_lines(manifest, out) if finished else [
        *stopped, "Then the same command goes on.", "",
        *_status_lines(lib.ledger.read_ledger(out / lib.ledger.LEDGER))]))
    end("pass" if finished and not manifest["short"] else "fail")


def _counted(output: Output) -> Generator[int, None, None]:
    """Says how many answers came, as they are taken: a campaign may take hours."""
    yield from progress(count(1), quiet=output.quiet, label="answers received")


def status(
    *,
    folder: Annotated[Path, argument("DIR", "The folder of a campaign of language models.")],
    output: Output,
) -> None:
    """How far a campaign of language models is: requests by state, yields, and what was spent; while it runs, too."""
    if not (folder / lib.ledger.LEDGER).is_file():
        raise UsageError(f"{folder} holds no {lib.ledger.LEDGER}; expected the folder of synth run --endpoints")
    found = lib.ledger.read_ledger(folder / lib.ledger.LEDGER)
    made = lib.plan.Plan.load(folder / "plan.json")
    # Passages are no requests.
    wanted = sum(batch.n for batch in made.by_models().batches)
    record = {"kind": "synth status", "schema": 1, "domain": made.domain.name, "records": wanted,
              "finished": (folder / "manifest.json").is_file(), **found, "spent": asdict(found["spent"])}
    output.say(record, lambda: "\n".join(_status_lines(found, wanted)))


def _check_seeds(campaign: Campaign, seeds: list[Path] | None) -> None:
    if seeds and campaign.endpoints is None:
        raise UsageError("--seeds was given without --endpoints; only prompts of language models are about passages: "
                         "give --endpoints F with it, or drop it")


def _seeds(made: lib.plan.Plan, paths: list[Path] | None) -> Sequence[lib.seeds.SeedPassage]:
    return lib.seeds.read_seeds(made.domain, paths) if paths else ()


def _cost_lines(found: Mapping[str, Any] | None) -> list[str]:
    """What the models will take, a line each."""
    if found is None:
        return []
    rows = [*found["generators"].items(), ("in all", found["total"])]
    return ["", "Expected: requests, tokens of prompts and answers, cost (at the most), hours",
            *(f"  {name:20} {row['requests']:>9,} {row['prompt_tokens']:>13,} {row['completion_tokens']:>12,}   "
              f"{_amount(row['cost'])} ({_amount(row['most_cost'])}) {found['currency']}   {_amount(row['hours'])}"
              for name, row in rows)]


def _amount(value: float) -> str:
    """A sum of money or hours: two decimals, or two digits where it is less than 1."""
    return f"{value:,.2f}" if value >= 1 else f"{value:.2g}"


def _status_lines(found: Mapping[str, Any], wanted: int | None = None) -> list[str]:
    """A ledger: a line for each partition, generator and mode, then what was spent."""
    said = ["partition, generator, mode: kept of whole answers (yield); failed, lost, under way" if found["rows"] else
            "no request was made"]
    kept = 0
    for row in found["rows"]:
        states = row["states"]
        kept += states.get("kept", 0)
        share = f" ({row['yield']})" if row["yield"].n else ""
        under_way = states.get("sent", 0) + states.get("reserved", 0)
        said.append(f"  {row['partition']:18} {row['generator']:16} {row['mode']:18} {states.get('kept', 0):,} of "
                    f"{row['yield'].n:,}{share}; {states.get('failed', 0):,}, {states.get('lost', 0):,}, "
                    f"{under_way:,}")
    spent = found["spent"]
    said += ["", f"spent {spent.cost:,.4f} and {spent.tokens:,} tokens; reserved {spent.reserved_cost:,.4f} and "
             f"{spent.reserved_tokens:,}"]
    if wanted is not None and kept:
        rest = f"; as it went so far, the rest will cost {spent.cost / kept * (wanted - kept):,.4f}"
        said.append(f"{min(kept, wanted):,} of {wanted:,} records by models{rest if kept < wanted else ''}")
    for name in ("errors", "reasons"):
        if found[name]:
            said += ["", f"{name.capitalize()}", *(f"  {what:24} {n:,}" for what, n in found[name].items())]
    return said


def validate(
    *,
    source: Annotated[Path, option(
        "F", "JSON Lines with id, kind, domain and answer, and with qi where a leak is claimed.", "--input")],
    domain: Annotated[str, option("D", "What the records are about: " + DOMAINS)],
    min_words: Annotated[int, option("N", "Fewest words of an answer.", min=1)] = 60,
    max_words: Annotated[int, option("N", "Most words of an answer.", min=1)] = 180,
    failures: Annotated[Path | None, option(
        "F", "Write the ids of records that fail, with the reasons, as JSON Lines.", "--output")] = None,
    report_only: Annotated[bool, flag("Exit with 0 whatever fails.")] = False,
    output: Output,
) -> None:
    """Validate records: direct identifiers, requested classes, forbidden words, attributes nobody asked for.

    Where a record has no slots, the requested classes are looked for in its text. Exits with 1 if any record fails,
    unless --report-only. No text is printed.
    """
    not_an_input("--output", failures, source)
    check = lib.validate.Validator(domain, words=(min_words, max_words))
    failed: list[dict[str, Any]] = []
    reasons: Counter[tuple[str, str]] = Counter()
    kinds: Counter[str] = Counter()
    for record in progress(_records(source), quiet=output.quiet, label="records validated"):
        kind = record.spec.kind
        kinds[kind] += 1
        if why := list(check(record)):
            reasons.update((kind, reason) for reason in why)
            failed.append({"id": record.id, "kind": kind, "reasons": why})
    if failures is not None:
        write_atomic(failures, "".join(dump_json(row) + "\n" for row in failed))
    found = {kind: {reason: count for (of, reason), count in sorted(reasons.items()) if of == kind} for kind in kinds}
    result = {"kind": "synth validate", "schema": 1, "domain": check.domain.name, "n": sum(kinds.values()),
               "failed": len(failed), "kinds": dict(kinds), "reasons": found}
    output.say(result, lambda: "\n".join(_validation_lines(result)))
    end("fail" if failed and not report_only else "pass")


def _records(source: Path) -> Iterator[lib.records.Record]:
    def read(place: lib.rows.Place, row: Mapping[str, Any]) -> lib.records.Record:
        try:
            return lib.records.Record.from_json(row)
        except ValueError as error:
            place.fail(f"{error}; expected a record of synth run")

    rows = lib.rows.iter_rows(source, COLUMNS, REQUIRED)
    return (record for _, record in lib.rows.unique(rows, read, lambda record: record.id))


def _plan_lines(made: lib.plan.Plan) -> list[str]:
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


def _manifest_lines(manifest: dict[str, Any], out: Path) -> list[str]:
    """Counts and yields of a campaign."""
    by_grammar = manifest["generator"] == "grammar"
    written = "self-consistency data (grammar)" if by_grammar else f"written by {manifest['generator']!r}"
    said = [f"{manifest['domain']}: {written}, seed {manifest['seed']}, in {out}"]
    for name, part in manifest["partitions"].items():
        missing = f"   {part['short']:,} could not be written" if part["short"] else ""
        said.append(f"  {name:20} {part['n']:>7,}   {', '.join(part['profiles'])}{missing}")
    said += ["", "Drafts that passed, by mode (unsafe) and writer profile"]
    for axis in ("mode", "profile"):
        for level, found in manifest["yields"][axis].items():
            one = discreet.Estimate.from_json(found)
            said.append(f"  {level:20} {one}   n={one.n:,}")
    if manifest["rejected"]:
        said += ["", "Rejected, by reason", *(f"  {reason:24} {count:,}"
                                              for reason, count in manifest["rejected"].items())]
    return said


def _validation_lines(record: dict[str, Any]) -> list[str]:
    """How many records there are and fail, and a table of the reasons."""
    total, kinds = record["n"], sorted(record["kinds"].items())
    rows = [(count, kind, reason) for kind, of in record["reasons"].items() for reason, count in of.items()]
    return [f"{total:,} record{'' if total == 1 else 's'} ({', '.join(f'{n:,} {kind}' for kind, n in kinds)}): "
            f"{record['failed']:,} fail",
            *(f"  {kind:12} {printable(reason):28} {count:,}"
              for count, kind, reason in sorted(rows, key=lambda row: (-row[0], row[1:])))]
