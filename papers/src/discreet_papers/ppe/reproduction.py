"""`reproduce ppe`: from campaigns over vectors and detectors to the tables that were asked for, and what that takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from discreet import __version__
from discreet.core.errors import InputError, UsageError
from discreet.core.records import plain
from discreet.inputs.encode.base import Encoder
from discreet.inputs.encode.presets import build_encoders
from discreet.synth.plan import Plan
from discreet_papers.ppe import curves
from discreet_papers.ppe.baselines import Further
from discreet_papers.ppe.corpora import (
    GRAMMAR,
    PPECorpus,
    Sizes,
    encode_campaign,
    read_corpus,
    write_campaigns,
    writers,
)
from discreet_papers.ppe.curves import Fit, Rows
from discreet_papers.ppe.detectors import DetectorSettings, Scored, kept, scored
from discreet_papers.ppe.limits import limited
from discreet_papers.ppe.results import mean_items
from discreet_papers.ppe.tables import TABLES, Domain, made
from discreet_papers.shared import ROOM, merged_items

__all__ = ["BY_NAME", "ORDER", "SETTINGS", "STRICT", "Setting", "Study", "is_analogue", "merged",
           "reproduce", "reproduce_seeds"]

ORDER = tuple(TABLES)
LIMITS, CURVES, ENCODERS = "section limits", "section curves", "section encoders"
BY_NAME = (CURVES, ENCODERS, LIMITS)
"""Items that are made where they are asked for by name alone: they take longer than all tables together."""
STRICT = "strict"
"""The writer roles that the grammar has where nothing else is asked for, of `synth.plan.ROLES`."""
TITLES = {CURVES: "How many borderline texts", ENCODERS: "Which encoders"}
CURVED = ("T3+GMM-v4", "T3+OCSVM-v4")
"""Detectors of the curves; the last is that of the encoders too."""
LIMIT_TEXTS = {"smoke": 3, "small": 24, "paper": 60}
"""Texts of each writer in the suites of the limits, by scale."""
NUMERALS = dict(enumerate("III IV V VI VII VIII IX X XI".split(), start=3))
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Setting:
    """One scale of `settings.yaml`: which domains, encoded by what, in which sizes; `ablated` are the encoders of
    `section encoders`, `fine_tuned` how many texts an encoder is trained on as a baseline (None: all)."""

    scale: str
    domains: tuple[str, ...]
    encoders: str
    seed: int
    block: int
    sizes: Sizes
    detectors: tuple[DetectorSettings, ...]
    ablated: tuple[str, ...]
    fine_tuned: int | None = None
    proportional: bool = False

    def only(self, domains: Sequence[str] | None = None, texts: int | None = None, encoders: str | None = None
             ) -> Setting:
        """The same with some of its domains, with fewer texts a side to fit on (the borderline ones in proportion;
        where the setting is `proportional`, all sets), or other encoders. UsageError for more texts than the scale
        has, or none."""
        sizes = self.sizes
        if texts is not None:
            if not 0 < texts <= sizes.fit:
                raise UsageError(f"--texts is {texts}; expected 1 to {sizes.fit}, what --scale {self.scale} fits on")
            names = [one.name for one in fields(sizes)] if self.proportional else ["fit", "borderline"]
            sizes = replace(sizes, **{name: max(1, round(getattr(sizes, name) * texts / self.sizes.fit))
                                      for name in names})
        kept = tuple(name for name in self.domains if domains is None or name in domains)
        return replace(self, domains=kept, sizes=sizes, encoders=encoders or self.encoders)


def _settings() -> tuple[dict[str, Setting], dict[str, set[str]]]:
    said = yaml.safe_load((ROOM / "ppe" / "settings.yaml").read_text("utf-8"))
    detectors = tuple(DetectorSettings(name, **given) for name, given in said["detectors"].items())
    scales = {scale: Setting(scale, tuple(given["domains"]), given["encoders"], given["seed"], given["block"],
                             Sizes(**given["sizes"]), detectors, tuple(given["ablated"]), given.get("fine_tuned"),
                             given.get("proportional", False))
              for scale, given in said["scales"].items()}
    return scales, {model: set(roles) for model, roles in said["models"].items()}


SETTINGS, MODELS = _settings()
"""By scale: smoke, small, paper; and the paper's models with what each writes."""


@dataclass(frozen=True, slots=True)
class Study:
    """A setting, the folder of campaigns of language models (None: the grammar writes), where results are kept, and
    where encoders are.

    Campaigns, with their texts, are written to `out`/data, vectors and scores to `out`/store. `roles` says who writes
    the borderline texts of the grammar: "strict" or "paper" (`synth.plan.ROLES`); campaigns of models have their own.
    """

    setting: Setting
    data: Path | None
    out: Path
    cache: Path
    roles: str = STRICT

    def campaigns(self, domain: str) -> Iterator[Path]:
        """The folders of a domain's campaigns, each there when it is yielded. InputError where `data` has none."""
        setting = self.setting
        if self.data is None:
            # Blocks are those of the whole scale: with fewer texts, the first of them.
            whole = SETTINGS[setting.scale].sizes
            blocks = -(-setting.sizes.fit // setting.block)
            to = self.out / "data" / ("" if self.roles == STRICT else f"roles-{self.roles}")
            folders = write_campaigns(domain, whole, setting.seed, to, block=setting.block, roles=self.roles)
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
              more: Mapping[str, Further] | None = None) -> dict[str, Any]:
    """The record of the items: `{"items": {name: {"title", "rows"}}}`; rows on texts of the grammar name their `roles`.

    Domains are encoded in turn, a campaign each, so that a run that is stopped has something of all of them. `more` are
    further detectors, such as baselines. Raises DiscreetError where data or encoders are not there.
    """
    setting, by_name = study.setting, dict[str, Any]()
    if LIMITS in items:
        by_name[LIMITS] = limited(setting.domains, LIMIT_TEXTS[setting.scale], setting.seed)
    for name, make in ((CURVES, _curves), (ENCODERS, _encoders)):
        if name in items:
            by_name[name] = {"title": TITLES[name], "rows": plain(make(study, note))}
    tables = [name for name in items if name not in BY_NAME]
    if not tables:
        return {"items": _with_roles(by_name, study)}
    encoders = build_encoders(setting.encoders, cache=study.cache)
    folders = _prepared(study, encoders, note)
    domains = [_domain(study, name, folders[name], encoders, note, more or {}) for name in setting.domains]
    return {"items": _with_roles(made(domains, tables) | by_name, study)}


def _with_roles(items: Mapping[str, Any], study: Study) -> dict[str, Any]:
    """The items with `roles` in every row that depends on them."""
    if study.data is not None:
        return dict(items)
    return {name: item if name == LIMITS else {**item, "rows": [{**row, "roles": study.roles} for row in item["rows"]]}
            for name, item in items.items()}


def reproduce_seeds(study: Study, items: Sequence[str], seeds: Sequence[int], *, roles: Sequence[str] = (STRICT,),
                    note: Progress = lambda _: None, more: Callable[[int], Mapping[str, Further]] = lambda _: {}
                    ) -> dict[str, Any]:
    """`reproduce` under each of the writer `roles` with each seed, and means over seeds (`seeds.mean_items`).

    `more(seed)` are further detectors. Where the grammar writes and there are several seeds, each has a folder of its
    own: `out`/seed-N.
    """
    items_of = dict[str, Any]()
    for who in roles:
        found = []
        # The limits have texts of their own, which no role changes.
        asked = [name for name in items if name != LIMITS or who == roles[0]]
        for seed in seeds:
            own = len(seeds) > 1 and study.data is None
            one = replace(study, setting=replace(study.setting, seed=seed), roles=who,
                          out=study.out / f"seed-{seed}" if own else study.out)
            found.append(reproduce(one, asked, note=note, more=more(seed))["items"])
        items_of = merged(items_of, found[0] if len(found) == 1 else mean_items(found, fresh=study.data is None))
    return {"items": items_of}


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
            more: Mapping[str, Further]) -> Domain:
    store = study.out / "store"
    corpus = _corpus(study, name, folders, encoders, study.setting.sizes)
    fit = _fitting(study, note)
    found = {one.name: fit(corpus, one, seed=study.setting.seed) for one in study.setting.detectors}
    for detector, further in more.items():
        facts = {"corpus": corpus.key, "discreet": __version__, **further.facts}
        found[detector] = kept(detector, store, facts, partial(further.make, corpus))
        note(f"{name}: {detector}")
    return Domain(corpus, found, _yields(folders))


def _corpus(study: Study, name: str, folders: Sequence[Path], encoders: Sequence[Encoder], sizes: Sizes) -> PPECorpus:
    source = GRAMMAR if study.data is None else study.data.name
    return read_corpus(name, folders, encoders, sizes, study.out / "store", source=source)


def _fitting(study: Study, note: Progress) -> Fit:
    def fit(corpus: PPECorpus, settings: DetectorSettings, *, seed: int) -> Scored:
        found = scored(corpus, settings, study.out / "store", seed=seed)
        note(f"{corpus.domain.name}: {settings.name}")
        return found

    return fit


def _curves(study: Study, note: Progress) -> Rows:
    """Borderline texts on the safe side, from none to all that the whole scale has."""
    setting = study.setting
    whole = SETTINGS[setting.scale].sizes
    every = replace(study, setting=replace(setting, sizes=whole))
    built = build_encoders(setting.encoders, cache=study.cache)
    folders = _prepared(every, built, note)
    rows: Rows = []
    for name in setting.domains:
        corpus = _corpus(study, name, folders[name], built, replace(setting.sizes, borderline=whole.borderline))
        most = len(corpus.records["borderline_fit"])
        steps = sorted({min(size, most) for size in curves.AUGMENTATION})
        rows += curves.augmentation(corpus, _chosen(setting, CURVED), steps, seed=setting.seed,
                                    fit=_fitting(study, note))
    return rows


def _encoders(study: Study, note: Progress) -> Rows:
    """The scale's encoders alone, in pairs, together, and each with evidence."""
    setting, rows = study.setting, list[dict[str, Any]]()
    for name in setting.domains:
        folders = list(study.campaigns(name))

        def read(words: str, name: str = name, folders: Sequence[Path] = folders) -> PPECorpus:
            note(f"{name}: {words}")
            return _corpus(study, name, folders, build_encoders(words, domain=name, cache=study.cache), setting.sizes)

        rows += curves.encoders(read, setting.ablated, _chosen(setting, CURVED[-1:]), seed=setting.seed,
                                fit=_fitting(study, note))
    return rows


def _chosen(setting: Setting, names: Sequence[str]) -> list[DetectorSettings]:
    return [one for one in setting.detectors if one.name in names]


def _yields(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """How many drafts of a model were kept, by mode, profile and partition, as manifests say it; none of a grammar."""
    rows = []
    for folder in folders:
        if Plan.load(folder / "plan.json").generator == GRAMMAR:
            continue
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        rows += [{"set": f"{axis} {level}", "drafts": said["n"], "yielded": said, "source": folder.name}
                 for axis, levels in manifest["yields"].items() for level, said in levels.items()]
    return rows


def is_analogue(study: Study) -> bool:
    """False where the paper's models wrote in its roles, its encoders read, and no set is smaller than at its scale.

    Names decide: no weights are looked at.
    """
    setting = study.setting
    if study.data is None or setting.scale != "paper" or setting.sizes != SETTINGS["paper"].sizes or (
            setting.encoders.partition("=")[0] != "paper"):
        return True
    return any(writers(folder) != MODELS for domain in setting.domains for folder in study.campaigns(domain))


def merged(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Items of two calls in order; of an item of both, the later call's rows, and the earlier's of other domains and
    writer roles."""
    return merged_items(earlier, later, (*ORDER, *BY_NAME), ["domain", "roles"])
