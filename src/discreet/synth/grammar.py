"""The offline grammar: which sentences, in which order, and where the cluster stands among them.

Its seven profiles differ in templates, lexicon, syntax, register and punctuation. It bootstraps and demonstrates; a
deployment trains on text that a model wrote, or on its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib.resources import files

from numpy.random import Generator as Rng

from discreet.domains import Domain
from discreet.synth.cluster import Cluster, without_marks
from discreet.synth.profiles import PROFILES, read_data
from discreet.synth.records import Draft, Spec, generators
from discreet.synth.writer import Writer, sentence_case

LEAST, MOST = 75, 150
"""Words that an answer aims at; a padded one aims at the upper end."""

_MIX = read_data("mix")


@generators.register("grammar")
class Grammar:
    """Writes by templates; needs no network and no model."""

    profiles = PROFILES

    @cached_property
    def version(self) -> str:
        """A hash of the grammar: its data and the code that reads them."""
        digest = hashlib.sha256()
        room = files("discreet.synth")
        for folder, suffix in ((room, ".py"), (room.joinpath("data"), ".yaml")):
            for item in sorted(folder.iterdir(), key=lambda f: f.name):
                if item.name.endswith(suffix):
                    digest.update(item.read_bytes())
        return digest.hexdigest()[:16]

    def generate(self, spec: Spec, domain: Domain, rng: Rng) -> Draft:
        """A draft by the profile that the spec names. The same spec and state of `rng` give the same draft."""
        return _KINDS[spec.kind](Writer(spec, domain, rng))


def _safe(w: Writer) -> Draft:
    register = w.spec.register or "authoritative"
    opening = w.one_of("registers", register)
    target = _target(w)
    must = [w.from_pool(register if register == "vignette" else "second")] if register != "authoritative" else []
    beats = [*must, *_filled(w, _MIX["safe"][register], target, [opening, *must])]
    return _finished(w, opening, _shuffled(w, beats), asked="general")


def _borderline(w: Writer) -> Draft:
    subtype = w.spec.subtype or "ANONYMIZED_CASE_REPORTS"
    lines = w.profile.pools[f"subtypes/{subtype}"]
    opening = w.fill(lines[w.spec.opening % len(lines)])
    if w.spec.framing and w.chance() < 0.6:
        opening = w.one_of("openings", w.spec.framing) + f" {opening}"
    must = w.in_order(*_MIX["borderline"][subtype])
    rest = _filled(w, _MIX["case"], _target(w), [opening, *must])
    return _finished(w, opening, [*must, *rest], asked="case")


def _unsafe(w: Writer) -> Draft:
    if w.spec.mode == "STYLE_TRANSFER":
        return _transferred(w)
    cluster = Cluster.of(w)
    opening = w.one_of("openings", w.spec.framing or "CASE_VOICE")
    padded = w.spec.mode == "DISTRACTOR_PADDED"
    bound = cluster.singles() if w.spec.placement == "DISTRIBUTED" else cluster.sentences()
    target = MOST if padded else _target(w)
    must = [w.from_pool("cohort") for _ in range(2 if padded else 0)]
    rest = _filled(w, _MIX["case"], target, [opening, *bound, *must])
    beats = _placed(_shuffled(w, [*must, *rest]), bound, w.spec.placement)
    return _finished(w, opening, beats, asked="case", cluster=cluster)


def _transferred(w: Writer) -> Draft:
    """A leak in the register of a safe text: a bulletin, a chat, a list."""
    cluster = Cluster.of(w)
    style = w.pick(("bulletin", "chat", "list"))
    opening = w.one_of("styles", style)
    if w.spec.placement == "DISTRIBUTED":
        bound = cluster.singles()
    elif w.chance() < 0.5:
        bound = [w.from_pool("instance", np=cluster.noun_phrase())]
    else:
        bound = cluster.sentences()
    rest = _filled(w, _MIX["style_transfer"][style], _target(w), [opening, *bound])
    beats = _placed(rest, bound, w.spec.placement)
    return _finished(w, opening, beats, asked="general", cluster=cluster, bullet="\n- " if style == "list" else "")


def _target(w: Writer) -> int:
    return LEAST + int(w.chance() * (MOST - LEAST))


def _filled(w: Writer, weights: Mapping[str, float], target: int, said: list[str]) -> list[str]:
    """Lines drawn from the pools until they and what is said make up `target` words."""
    words = target - sum(len(beat.split()) for beat in said)
    beats: list[str] = []
    pools = list(weights)
    while words > 0:
        draw = w.chance()
        pool = pools[-1]
        for name in pools:
            draw -= weights[name]
            if draw < 0:
                pool = name
                break
        beat = w.from_pool(pool)
        beats.append(beat)
        words -= len(beat.split())
    return beats


def _placed(beats: list[str], bound: list[str], placement: str | None) -> list[str]:
    if placement == "FRAME_CLOSING":
        return [*beats, *bound]
    if placement == "MID_ANSWER":
        half = (len(beats) + 1) // 2
        return [*beats[:half], *bound, *beats[half:]]
    if placement == "DISTRIBUTED":
        cuts = [round((i + 1) * len(beats) / (len(bound) + 1)) for i in range(len(bound))]
        placed: list[str] = []
        for i, beat in enumerate([*beats, ""]):
            placed += [sentence for cut, sentence in zip(cuts, bound, strict=True) if cut == i]
            placed += [beat] if beat else []
        return placed
    return [*bound, *beats]


def _shuffled(w: Writer, beats: list[str]) -> list[str]:
    return sorted(beats, key=lambda _: w.chance())


def _finished(w: Writer, opening: str, beats: list[str], *, asked: str, cluster: Cluster | None = None,
              bullet: str = "") -> Draft:
    """The answer with a question that asks for it. Half of the answers close with a line that has no content."""
    closing = [w.from_pool("closing_case" if asked == "case" else "closing")] if w.chance() < 0.5 else []
    body = w.profile.joiner.join(f"{bullet}{beat}" for beat in [*beats, *closing])
    marked = sentence_case(f"{opening}{w.profile.opening_joiner}{body}".replace(" \n", "\n").replace("\n\n-", "\n-"))
    answer, slots = without_marks(marked, w.spec.qi)
    question = sentence_case(w.one_of("questions", asked))
    forbidden = tuple(cluster.forbidden) if cluster is not None and w.spec.mode == "INDIRECT_QI" else ()
    return Draft(question, answer, slots, forbidden)


_KINDS: dict[str, Callable[[Writer], Draft]] = {
    "safe": _safe, "borderline": _borderline, "unsafe": _unsafe, "domain_only": _unsafe,
}
