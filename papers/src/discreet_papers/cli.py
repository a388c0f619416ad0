"""`discreet reproduce`: the tables and figures of three papers, their definitions next to corrected ones; and the guard
paper's configurations on partitions that `discreet synth run` left."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from sys import stderr
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import discreet
from discreet.cli.options import (
    About,
    Encoders,
    Engine,
    Seed,
    Workers,
    argument,
    group,
    names_of,
    numbers_of,
    one_of,
    option,
    policy_of,
)
from discreet.cli.output import RunOutput, provenance
from discreet.core.errors import UsageError
from discreet.core.files import write_atomic
from discreet.core.folders import check_target
from discreet_papers import library as lib

Record = dict[str, Any]
DTYPES = ("auto", "float32", "bfloat16")
DECIDES = ("scale", "seed", "permutations", "dtype")
"""What a figure of `mia` depends on; the other options say which are made. A figure of `blia` depends on the scale, and
on its corpus, ε and seeds, which every row names."""
MADE_WITH = ("seeds", "corpora", "dtype", "discreet")
"""Items of a run of `mia` are kept together where these are the same."""


@group("Execution")
class OnData:
    """On which data and seeds."""

    data: Annotated[Path | None, option("DIR", "The folder of public data sets, where the scale needs it.")] = None
    corpora: Annotated[str | None, option("C,C,…", "Only these corpora.")] = None
    seeds: Annotated[str | None, option(
        "N,N,…", "Seeds to average over or to pool; the scale's own if not given.")] = None

    def known_corpora(self, known: Collection[str], there: Collection[str], scale: str) -> list[str] | None:
        """The corpora that were asked for. UsageError for one not `known`, and where a scale has none `there`."""
        if self.corpora is None:
            return None
        wanted = list(names_of("--corpora", self.corpora, known))
        if not set(wanted) & set(there):
            raise UsageError(f"--corpora names none of --scale {scale}; expected some of "
                             f"{', '.join(dict.fromkeys(there))}")
        return wanted

    def known_seeds(self) -> tuple[int, ...] | None:
        """The seeds that were asked for."""
        return None if self.seeds is None else numbers_of("--seeds", self.seeds, int)

    def check_data(self, scale: str, needing: Collection[str], expected: str = "the folder of public data sets"
                   ) -> None:
        """UsageError for a scale among `needing` without a folder of data, and for what is no folder."""
        if scale in needing and self.data is None:
            raise UsageError(f"--scale {scale} was given without --data; expected {expected}")
        if self.data is not None and not self.data.is_dir():
            raise UsageError(f"{self.data} is not a folder; expected {expected}")


@group("Execution")
class Execution(OnData):
    """On which data and seeds, and where."""

    engine: Engine = "local"
    workers: Workers = None


def mia(
    *,
    table: Annotated[list[int] | None, option(
        "N", "1, 2, 6, 7, 8, 9 or 10; may be repeated. Everything if none of the three is given.")] = None,
    figure: Annotated[list[int] | None, option("N", "2, 3 or 4; may be repeated.")] = None,
    section: Annotated[list[str] | None, option(
        "S", "7.1 (diagnostics), 8.2 (copies); beyond the paper size, mismatched, users; may be repeated.")] = None,
    scale: Annotated[str, option(
        "S", "smoke (made-up data, seconds), small (the packaged encoder on public data, hours on a laptop), paper "
        "(its models and data; needs a hub and a GPU).")] = "smoke",
    paraphraser: Annotated[str, option(
        "P", "For section 8.2: rules (offline, rough), or llm:http://host/v1,model=NAME.")] = "rules",
    dtype: Annotated[str, option(
        "T", "Of transformers: auto (bfloat16 on a GPU that has it), float32, or bfloat16.")] = "auto",
    permutations: Annotated[int, option("N", "Of each audit.")] = 99,
    seed: Seed = 42, execution: Execution, output: RunOutput,
) -> None:
    """Rerun the membership paper: each figure by its definition and corrected, with its control model and the paper's.

    Keeps models' scores in OUT/store, so that a stopped run resumes; corpora, with their texts, in OUT/data.
    """
    items = lib.shared.chosen_items(lib.mia.ORDER, table or (), figure or (), section or ())
    if dtype not in DTYPES:
        raise UsageError(f"--dtype is {dtype[:20]!r}; expected {', '.join(DTYPES)}")
    setting = replace(lib.shared.setting_of(lib.mia_settings.SETTINGS, scale), dtype=dtype)
    seeds = execution.known_seeds() or (None if seed == 42 else (seed,))
    setting = setting if seeds is None else replace(setting, seeds=seeds)
    there = [*setting.corpora.values(), *setting.further]
    corpora = execution.known_corpora(lib.mia_corpora.CORPORA, there, scale)
    setting = setting if corpora is None else setting.only(corpora)
    execution.check_data(scale, ("small",))
    used = paraphraser if "section 8.2" in items else None
    run = output.open_run(only=DECIDES)
    with TemporaryDirectory(prefix="discreet-") as part:
        study = lib.mia_settings.Study(setting, execution.data, run.path if run else Path(part), permutations)
        if used is not None:
            study = replace(study, paraphraser=lib.paraphrase.paraphraser_of(used, seed, quiet=output.quiet))
        found = lib.mia.reproduce(setting, study, items, engine=execution.engine, workers=execution.workers,
                                      quiet=output.quiet)
    facts = {"seeds": list(setting.seeds), "data": None if execution.data is None else execution.data.name,
             "corpora": list(dict.fromkeys([*setting.corpora.values(), *setting.further])),
             "models": {name: list(regimes) for name, regimes in setting.models.items()}, "dtype": setting.dtype,
             # What a service is called stays; where it is, does not.
             "paraphraser": None if used is None else used.partition(":")[0]}

    def merged(there: Record, record: Record) -> Record:
        return {**record, "items": lib.shared.merged_items(there["items"], record["items"], lib.mia.ORDER, ())}

    analogue = lib.mia.is_analogue(scale, setting, found["items"])
    _finish(_record("mia", scale, found, facts, analogue=analogue), run, output, MADE_WITH, merged)


def blia(
    *,
    table: Annotated[list[int] | None, option(
        "N", "2 to 8; may be repeated. Everything if none of the three is given.")] = None,
    figure: Annotated[list[int] | None, option("N", "2.")] = None,
    section: Annotated[list[str] | None, option(
        "S", "Beyond the paper: utility (which mechanism, which ε?), stronger (corrected attacks against "
        "LIA-Threshold), prevalence (the share of class 1); may be repeated.")] = None,
    scale: Annotated[str, option(
        "S", "smoke (made-up data, a minute), small (parts of public data and small models, an hour or two on two "
        "cores), paper (the paper's sizes as far as the data go; needs a GPU).")] = "smoke",
    epsilon: Annotated[str | None, option(
        "E,E,…", "Only these ε of the scale; inf, which says how long to train, is always among them.")] = None,
    execution: Execution, output: RunOutput,
) -> None:
    """Rerun the label inference paper: its definitions, corrected attacks and controls, next to the paper's figures.

    Keeps models' scores in OUT/store, so that a stopped run resumes; corpora, with their rows, in OUT/data. Later calls
    add corpora and items to OUT.
    """
    items = lib.shared.chosen_items(lib.blia.ORDER, table or (), figure or (), section or ())
    setting = lib.shared.setting_of(lib.blia.SETTINGS, scale)
    corpora = execution.known_corpora(lib.blia_corpora.CORPORA, setting.corpora, scale)
    epsilons = None
    if epsilon is not None:
        there = sorted({one for work in setting.corpora.values() for one in work.epsilons}, reverse=True)
        epsilons = list(numbers_of("--epsilon", epsilon, float, positive=True, infinite=True))
        if not set(epsilons) <= set(there):
            raise UsageError(f"--epsilon is {epsilon[:20]!r}; expected some of "
                             f"{', '.join(f'{one:g}' for one in there)}")
    setting = setting.only(corpora, epsilons, execution.known_seeds())
    execution.check_data(scale, ("small", "paper"))
    run = output.open_run(only=("scale",))
    with TemporaryDirectory(prefix="discreet-") as part:
        study = lib.blia.Study(setting, execution.data, run.path if run else Path(part))
        found = lib.blia.reproduce(study, items, engine=execution.engine, workers=execution.workers,
                                       quiet=output.quiet)
    facts = {"data": None if execution.data is None else execution.data.name,
             "corpora": {name: {"recipe": dict(work.recipe), "rows": work.rows, "seeds": list(work.seeds),
                                "references": work.references} for name, work in setting.corpora.items()}}

    def merged(there: Record, record: Record) -> Record:
        ours = record["provenance"]
        return {**record, "items": lib.blia.merged(there["items"], record["items"]), "provenance": {
            **ours, "corpora": {**there["provenance"]["corpora"], **ours["corpora"]}}}

    analogue = lib.blia.is_analogue(scale, found["items"])
    _finish(_record("blia", scale, found, facts, analogue=analogue), run, output, ("discreet",), merged)


@group("Execution")
class OnCampaigns(OnData):
    """On which texts."""

    data: Annotated[Path | None, option(
        "DIR", "Campaigns of 'discreet synth run', a folder for each domain, instead of texts by the grammar.")] = None
    corpora: Annotated[str | None, option("D,D,…", "Only these domains: medical, finance, law.")] = None
    seeds: Annotated[str | None, option(
        "N,N,…", "Several seeds, to show means over them; a run for each.")] = None


def ppe(
    *,
    table: Annotated[list[str] | None, option(
        "N", "III to XI (or 3 to 11); may be repeated. Everything if none of the three is given.")] = None,
    figure: Annotated[list[int] | None, option("N", "4.")] = None,
    section: Annotated[list[str] | None, option(
        "S", "Beyond the paper: rule (what is a cluster), controls, scores (histograms, risk over coverage), baselines "
        "(at the same review), detectors; by name only, as they take long: curves (of borderline texts on the safe "
        "side, all of the scale whatever --texts), encoders (alone, in pairs, with evidence), limits (section IX-E); "
        "may be repeated.")] = None,
    scale: Annotated[str, option(
        "S", "smoke (tiny, a minute), small (the packaged encoder on text of the grammar, hours on two cores), paper "
        "(its encoders on campaigns of language models in --data; needs a GPU).")] = "smoke",
    texts: Annotated[int | None, option(
        "N", "Fit on N texts a side, of those of the scale; at the scale paper all other sets shrink with it.")] = None,
    encoders: Annotated[str | None, option(
        "E", "The scale's own if not given. embedded, lexical, paper (from the hub) or paper=DIR, a registered encoder "
        "such as hashed (with options: hashed:dim=1024), a folder or a name on the hub; several with commas.")] = None,
    baseline: Annotated[list[str] | None, option(
        "B", "Judge the texts by this too: 'default guard', Presidio, 'MiniLM, full' or 'MiniLM, LoRA'; "
        "may be repeated.")] = None,
    roles: Annotated[str | None, option(
        "R,R", "Who writes the borderline texts of the grammar: strict (the default: nobody who writes unsafe texts), "
        "paper (writers of unsafe training texts, as in the paper), or both with a comma, which are shown side by side."
        )] = None,
    judge: Annotated[str | None, option("URL", "An endpoint of the OpenAI protocol, which gets texts: the LLM judge of "
                                        "table IX. Needs --model.")] = None,
    model: Annotated[str | None, option("M", "What that endpoint calls the model.")] = None,
    seed: Annotated[int | None, option(
        "N", "Seed of random draws; the scale's own if neither this nor --seeds is given.", min=0)] = None,
    execution: OnCampaigns, output: RunOutput,
) -> None:
    """Rerun the guard paper: its detectors in its own form next to ours, on every pairing, with controls.

    Without --data the grammar writes the texts: self-consistency, an analogue. Keeps campaigns, with their texts, in
    OUT/data, vectors and scores in OUT/store, so that a stopped run resumes. Of several --seeds it shows means; without
    --data each seed has texts of its own.
    """
    numerals = {str(number): roman for number, roman in lib.ppe.NUMERALS.items()}
    tables = [numerals.get(name, name.upper()) for name in table or ()]
    known = (*lib.ppe.ORDER, *lib.ppe.BY_NAME)
    items = [name for name in lib.shared.chosen_items(known, tables, figure or (), section or ())
             if table or figure or section or name not in lib.ppe.BY_NAME]
    setting = lib.shared.setting_of(lib.ppe.SETTINGS, scale)
    domains = execution.known_corpora(setting.domains, setting.domains, scale)
    setting = setting.only(domains, texts, encoders)
    one_of(**{"--seed": seed, "--seeds": execution.seeds})
    who = (lib.ppe.STRICT,) if roles is None else names_of("--roles", roles, lib.plan.ROLES)
    if roles is not None and execution.data is not None:
        raise UsageError("--roles and --data were given together; campaigns in --data have their writers: drop --roles "
                         "(it is an option of 'discreet synth run' too)")
    seeds = execution.known_seeds() or (setting.seed if seed is None else seed,)
    execution.check_data(scale, ("paper",), "the folder of campaigns that 'discreet synth run' left")
    if (judge is None) != (model is None):
        raise UsageError("--judge and --model go together: expected the address of an endpoint and what it calls the "
                         "model")
    lib.ppe_baselines.further(baseline or ())  # Names no baseline? Then say so before a folder is made.
    run = output.open_run(only=("scale",))
    # An answer of a judge is paid for: who goes on with a run that was stopped asks for the rest alone.
    endpoint = None if judge is None else lib.endpoints.ChatEndpoint(
        judge, model or "", cache=None if run is None else run.path / "store" / "judge")
    note = (lambda _: None) if output.quiet else partial(print, file=stderr)
    with TemporaryDirectory(prefix="discreet-") as part:
        study = lib.ppe.Study(setting, execution.data, run.path if run else Path(part), lib.presets.default_cache())
        found = lib.ppe.reproduce_seeds(study, items, seeds, roles=who, note=note,
                                        more=lambda seed: lib.ppe_baselines.further(
                                            baseline or (), endpoint, most=setting.fine_tuned, seed=seed))
        analogue = lib.ppe.is_analogue(study)
    facts = {"source": "grammar" if execution.data is None else execution.data.name, "domains": list(setting.domains),
             "encoders": setting.encoders, "texts": setting.sizes.fit, "seed": seeds[0] if len(seeds) == 1 else
             list(seeds), "sizes": asdict(setting.sizes), "roles": list(who) if execution.data is None else None}

    def merged(there: Record, record: Record) -> Record:
        both = {name: [*(there["provenance"][name] or ()), *(record["provenance"][name] or ())]
                for name in ("domains", "roles")}
        return {**record, "items": lib.ppe.merged(there["items"], record["items"]), "provenance": {
            **record["provenance"], **{name: list(dict.fromkeys(each)) or None for name, each in both.items()}}}

    _finish(_record("ppe", scale, found, facts, analogue=analogue), run, output,
            ("discreet", "encoders", "texts", "seed"), merged)


def _record(study: str, scale: str, found: Mapping[str, Any], facts: Mapping[str, Any], *, analogue: bool) -> Record:
    return {"kind": f"reproduce {study}", "schema": 1, "scale": scale, "analogue": analogue, **found,
            "provenance": {**facts, **provenance(finished=True)}}


def _finish(record: Record, run: lib.runs.Run | None, output: RunOutput, same: Collection[str],
            merged: Callable[[Record, Record], Record]) -> None:
    """Show the record of this call; keep it `merged` with the one that the run has, if it is of the `same` facts."""
    if run is not None:
        whole = record
        with suppress(OSError, ValueError, KeyError, TypeError):
            there: Record = json.loads(run.result.read_text(encoding="utf-8"))
            if all(there[name] == record[name] for name in ("kind", "schema")) and all(
                    there["provenance"][name] == record["provenance"][name] for name in same):
                whole = {**merged(there, record), "analogue": bool(there["analogue"] or record["analogue"])}
        run.finish(whole, n=len(whole["items"]))
        write_atomic(run.path / "tables.md", lib.report.to_tables(lib.report.summarise(whole)))
        output.write_page(whole, run)
    output.say(record, lambda: lib.report.to_tables(lib.report.summarise(record)).removesuffix("\n"))
    output.say_where(run)


def pairings(
    partitions: Annotated[Path, argument("DIR", "What synth run leaves, or files of those names.")],
    *,
    domain: About,
    configurations: Annotated[str | None, option(
        "C", "Some of gmm-v3, gmm-v4, ocsvm-v3, ocsvm-v4, rff-v3, rff-v4, default; all if not given.")] = None,
    encoders: Encoders = None,
    save: Annotated[Path | None, option("DIR", "Keep the default guard.")] = None,
    seed: Seed = 42, output: RunOutput,
) -> None:
    """Fit the paper's configurations and the default guard, and evaluate each in every pairing of the partitions.

    Pairings are within, across writers, against borderline texts and matched.
    """
    room = lib.pairings
    default = room.DEFAULT
    names = names_of("--configurations", configurations) if configurations else (*room.PAPER_CONFIGURATIONS, default)
    if save is not None:
        if default not in names:
            raise UsageError(f"--save keeps the guard of the configuration {default!r}; add it to --configurations")
        check_target(save, lib.detector.MANIFEST)
    policy = policy_of(domain, None, None)
    run = output.open_run()
    encoders = encoders or "reader"
    built = lib.presets.build_encoders(encoders, domain=policy.domain, cache=lib.presets.default_cache())
    made = room.read_partitions(partitions, policy, built, seed=seed, quiet=output.quiet)
    detectors, duals = room.fit_configurations(made, names, seed=seed)
    found = room.evaluate_pairings(made, detectors)
    components = {name: dual.components_ for name, dual in duals.items() if dual.components_ is not None}
    counts = made.corpus.corpus.counts
    record = {"kind": "reproduce pairings", "schema": 1, "domain": policy.domain.name, "point": policy.point,
              "seed": seed, "encoders": encoders, "counts": dict(counts), "components": components,
              "configurations": found}
    if save is not None:
        card = lib.fit.card_of(made.corpus, detectors[default], duals[default], seed=seed)
        discreet.Guard(policy, detector=detectors[default], card=card).save(save)
    output.finish(record, run, {"n": counts.get("read", 0), "components": components}, when_quiet="nothing")
