"""`reproduce ppe`: from campaigns over vectors and detectors to the tables that were asked for, and what that takes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import yaml

from discreet.core.errors import InputError, UsageError
from discreet.encode.base import Encoder
from discreet.encode.presets import build_encoders
from discreet.studies import ROOM
from discreet.studies.ppe.corpora import Sizes, encode_campaign, read_corpus, write_campaigns
from discreet.studies.ppe.detectors import COMPONENTS, DetectorSettings, Scored, scored
from discreet.studies.ppe.limits import limited
from discreet.studies.ppe.tables import TABLES, Domain, made, paper
from discreet.synth.plan import Plan

__all__ = ["DETECTORS", "LIMITS", "ORDER", "SETTINGS", "Setting", "Study", "merged", "plan", "reproduce"]

ORDER = tuple(TABLES)
LIMITS = "section limits"
"""An item that is made where it is asked for by name: no detector is fitted for it."""
LIMIT_TEXTS = {"smoke": 3, "small": 24, "paper": 60}
"""Texts of each writer in the suites of the limits, by scale."""
NUMERALS = dict(enumerate("III IV V VI VII VIII IX X XI".split(), start=3))
GRAMMAR = "grammar"
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Setting:
    """One scale of `settings.yaml`: which domains, encoded by what, in which sizes."""

    scale: str
    domains: tuple[str, ...]
    encoders: str
    seed: int
    block: int
    sizes: Sizes
    detectors: tuple[DetectorSettings, ...]
    proportional: bool = False

    def only(self, domains: Sequence[str] | None = None, texts: int | None = None, encoders: str | None = None,
             seed: int | None = None) -> Setting:
        """The same with some of its domains, with fewer texts a side to fit on (the borderline ones in proportion;
        where the setting is `proportional`, all sets), other encoders, or another seed. UsageError for more texts than
        the scale has, or none."""
        sizes = self.sizes
        if texts is not None:
            if not 0 < texts <= sizes.fit:
                raise UsageError(f"--texts is {texts}; expected 1 to {sizes.fit}, what --scale {self.scale} fits on")
            names = [one.name for one in fields(sizes)] if self.proportional else ["fit", "borderline"]
            sizes = replace(sizes, **{name: max(1, round(getattr(sizes, name) * texts / self.sizes.fit))
                                      for name in names})
        kept = tuple(name for name in self.domains if domains is None or name in domains)
        return replace(self, domains=kept, sizes=sizes, encoders=encoders or self.encoders,
                       seed=self.seed if seed is None else seed)


def _settings() -> tuple[dict[str, Setting], dict[str, Any]]:
    said = yaml.safe_load((ROOM / "ppe" / "settings.yaml").read_text("utf-8"))
    detectors = tuple(DetectorSettings(name, **given) for name, given in said["detectors"].items())
    scales = {scale: Setting(scale, tuple(given["domains"]), given["encoders"], given["seed"], given["block"],
                             Sizes(**given["sizes"]), detectors, given.get("proportional", False))
              for scale, given in said["scales"].items()}
    return scales, said["plan"]


SETTINGS, PLAN = _settings()
"""By scale: smoke, small, paper; and what `plan` reckons with."""
DETECTORS = tuple(one.name for one in next(iter(SETTINGS.values())).detectors)


@dataclass(frozen=True, slots=True)
class Study:
    """A setting, the folder of campaigns of language models (None: the grammar writes), where results are kept, and
    where encoders are.

    Campaigns, with their texts, are written to `out`/data, vectors and scores to `out`/store.
    """

    setting: Setting
    data: Path | None
    out: Path
    cache: Path

    def campaigns(self, domain: str) -> Iterator[Path]:
        """The folders of a domain's campaigns, each there when it is yielded. InputError where `data` has none."""
        setting = self.setting
        if self.data is None:
            # Blocks are those of the whole scale: with fewer texts, the first of them.
            whole = SETTINGS[setting.scale].sizes
            blocks = -(-setting.sizes.fit // setting.block)
            folders = write_campaigns(domain, whole, setting.seed, self.out / "data", block=setting.block)
            for _ in range(1 + blocks):
                yield next(folders)
            return
        found = sorted(path.parent for path in self.data.glob("*/manifest.json")
                       if path.parent.name.split("-")[0] == domain)
        if not found:
            raise InputError(f"{self.data} has no campaign of {domain}; expected folders that 'discreet synth run' "
                             f"left, named {domain} or {domain}-…")
        yield from found


def reproduce(study: Study, items: Sequence[str], *, note: Progress = lambda _: None,
              more: Mapping[str, Callable[[Any], Mapping[str, Scored]]] | None = None) -> dict[str, Any]:
    """The record of the items: `{"items": {name: {"title", "rows"}}}`.

    Domains are encoded in turn, a campaign each, so that a run that is stopped has something of all of them. `more` are
    functions of a corpus that give further detectors. Raises DiscreetError where data or encoders are not there.
    """
    limits: dict[str, Any] = {}
    if LIMITS in items:
        setting = study.setting
        limits[LIMITS] = limited(setting.domains, LIMIT_TEXTS[setting.scale], setting.seed)
        if len(items) == 1:
            return {"items": limits}
    encoders = build_encoders(study.setting.encoders, cache=study.cache)
    folders = _prepared(study, encoders, note)
    domains = [_domain(study, name, folders[name], encoders, note, more or {}) for name in study.setting.domains]
    return {"items": made(domains, [name for name in items if name != LIMITS]) | limits}


def _prepared(study: Study, encoders: Sequence[Encoder], note: Progress) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {name: [] for name in study.setting.domains}
    left = {name: study.campaigns(name) for name in found}
    while left:
        for name in list(left):
            folder = next(left[name], None)
            if folder is None:
                del left[name]
                continue
            encode_campaign(folder, encoders, study.out / "store")
            found[name].append(folder)
            note(f"{folder.name} encoded")
    return found


def _domain(study: Study, name: str, folders: Sequence[Path], encoders: Sequence[Encoder], note: Progress,
            more: Mapping[str, Callable[[Any], Mapping[str, Scored]]]) -> Domain:
    setting, store = study.setting, study.out / "store"
    manifests = [json.loads((folder / "manifest.json").read_text(encoding="utf-8")) for folder in folders]
    source = GRAMMAR if study.data is None else study.data.name
    corpus = read_corpus(name, folders, encoders, setting.sizes, store, source=source)
    facts = json.dumps([[one["key"] for one in manifests], corpus.encoder, corpus.dims, str(setting.sizes)])
    key = hashlib.sha256(facts.encode()).hexdigest()[:24]
    found = {}
    for one in setting.detectors:
        found[one.name] = scored(corpus, one, store, key, seed=setting.seed)
        note(f"{name}: {one.name}")
    for make in more.values():
        found |= make(corpus)
    return Domain(corpus, found, _yields(folders))


def _yields(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """How many drafts of a model were kept, by mode, profile and partition, as manifests say it; none of a grammar."""
    rows = []
    for folder in folders:
        if Plan.load(folder / "plan.json").generator == GRAMMAR:
            continue
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        rows += [{"set": f"{axis} {level}", "n": said["n"], "yielded": said, "yield": "run", "source": folder.name}
                 for axis, levels in manifest["yields"].items() for level, said in levels.items()]
    return rows


def merged(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Items of two calls in `ORDER`; of an item of both, the later call's rows and the earlier's of other domains."""
    found: dict[str, Any] = {}
    for name in (*ORDER, LIMITS):
        if name in earlier and name in later:
            anew = {row["domain"] for row in later[name]["rows"]}
            found[name] = {**later[name], "rows": [row for row in earlier[name]["rows"] if row["domain"] not in anew]
                           + later[name]["rows"]}
        elif name in earlier or name in later:
            found[name] = later.get(name, earlier.get(name))
    return found


def plan(setting: Setting) -> dict[str, Any]:
    """What a run takes: texts, memory and hours, by stage, with the rates that are assumed (`settings.yaml`).

    Figures of arithmetic, not of a measurement: floating-point operations over a sustained rate, bytes of what is held
    at once.
    """
    rate, rows = PLAN, []
    parameters = sum(rate["parameters"].values()) if setting.encoders.startswith("paper") else 22.7
    dim = 1024 * len(rate["parameters"]) if setting.encoders.startswith("paper") else 384
    for domain in setting.domains:
        n = setting.sizes
        fitted = 2 * n.fit + n.borderline
        texts = fitted + 2 * (n.calibration + n.holdout) + n.unsafe_heldout + n.borderline_eval + 2 * n.matched
        flops = 2.0 * parameters * 1e6 * rate["tokens"] * texts
        p = min(512, dim, n.fit // (2 * COMPONENTS))
        # An iteration of EM: densities and covariances of every row under every component; four fits of 50 each.
        mixture = 4 * 50 * 4.0 * n.fit * COMPONENTS * p * p
        # The Gram rows of support vectors and candidates, about .15 of the rows, of a sweep over ν on both sides.
        kernel = 4 * 2 * 2.0 * 0.15 * min(n.fit, 20_000) ** 2 * dim
        written = texts * rate["drafts_per_record"]
        seconds = written * rate["generated_tokens"] / rate["generator_tokens_per_second"]
        said = paper("III", domain, "", "total")
        rows.append({
            "domain": domain, "texts": texts, "paper_generated": said and int(said["records"]),
            "generator_hours_gpu": seconds / 3600 if setting.scale == "paper" else None,
            "generator_memory_gib": rate["generator_parameters"] * 2 / 2**30 + 4 if setting.scale == "paper" else None,
            "encode_hours_gpu": flops / rate["gpu_flops"] / 3600,
            "encode_hours_core": flops / rate["core_flops"] / 3600,
            "encoder_memory_gib": 4.0 * parameters * 1e6 / 2**30, "vectors_gib": 4.0 * texts * dim / 2**30,
            "fit_hours_core": (mixture + kernel) / rate["core_flops"] / 3600,
            "fit_memory_gib": (8.0 * (fitted * dim * 2 + 3 * COMPONENTS * p * p) + 2 * 2**30) / 2**30})
    return {"scale": setting.scale, "encoders": setting.encoders, "dim": dim, "assumed": dict(rate), "domains": rows}
