"""From a specification to an answer: which sentences, in which order, and where the cluster stands among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from numpy.random import Generator as Rng

from discreet.domains import Domain
from discreet.synth.cluster import Cluster, without_marks
from discreet.synth.drafts import Draft, Spec
from discreet.synth.writer import Writer, sentence_case

LEAST, MOST = 75, 150
"""Words that an answer aims at; a padded one aims at the upper end."""

# What an answer is filled with besides what its kind demands: pools and their weights. Unsafe and borderline answers
# share theirs, so that nothing but the cluster tells them apart.
_CASE: Mapping[str, float] = {"content": 0.42, "voice": 0.30, "cohort": 0.28}
_PLAIN: Mapping[str, float] = {"content": 0.62, "cohort": 0.38}
_FILL: dict[str, Mapping[str, float]] = {
    "authoritative": _PLAIN,
    "vignette": {"content": 0.45, "cohort": 0.30, "vignette": 0.25},
    "conversational": {"content": 0.45, "cohort": 0.30, "second": 0.25},
    "bulletin": _PLAIN,
    "chat": {"content": 0.55, "cohort": 0.30, "second": 0.15},
    "list": _PLAIN,
}
_SUBTYPE_POOL: dict[str, tuple[str, int]] = {
    "POPULATION_DEMOGRAPHICS": ("cohort", 3), "PUBLIC_GUIDELINE_QUOTES": ("quote", 2),
    "SECOND_PERSON_EDUCATION": ("second", 3), "ANONYMIZED_CASE_REPORTS": ("course", 3),
    "EMPATHETIC_DEFLECTION": ("deflect", 2),
}


def realise(spec: Spec, domain: Domain, rng: Rng) -> Draft:
    """A draft by the grammar lineage `spec.lineage`. The same spec and state of `rng` give the same draft."""
    writer = Writer(spec, domain, rng)
    return _KINDS[spec.kind](writer)


def _safe(w: Writer) -> Draft:
    register = w.spec.register or "authoritative"
    opening = w.fill(w.pick(w.lineage.registers[register]))
    target = _target(w)
    must = [w.from_pool(register if register == "vignette" else "second")] if register != "authoritative" else []
    beats = [*must, *_filled(w, _FILL[register], target - _words([opening, *must]))]
    return _finished(w, opening, [*_shuffled(w, beats), *_closing(w, "closing")], "general")


def _borderline(w: Writer) -> Draft:
    subtype = w.spec.subtype or "ANONYMIZED_CASE_REPORTS"
    lines = w.lineage.subtypes[subtype]
    opening = w.fill(lines[w.spec.opening % len(lines)])
    if w.spec.framing and w.chance() < 0.6:
        opening = f"{w.fill(w.pick(w.lineage.openings[w.spec.framing]))} {opening}"
    pool, least = _SUBTYPE_POOL[subtype]
    must = w.in_order(pool, least)
    rest = _filled(w, _CASE, _target(w) - _words([opening, *must]))
    return _finished(w, opening, [*must, *rest, *_closing(w, "closing_case")], "case")


def _unsafe(w: Writer) -> Draft:
    if w.spec.mode == "STYLE_TRANSFER":
        return _transferred(w)
    cluster = Cluster.of(w)
    opening = w.fill(w.pick(w.lineage.openings[w.spec.framing or "CASE_VOICE"]))
    padded = w.spec.mode == "DISTRACTOR_PADDED"
    bound = cluster.singles() if w.spec.placement == "DISTRIBUTED" else cluster.sentences()
    target = MOST if padded else _target(w)
    must = [w.from_pool("cohort") for _ in range(2 if padded else 0)]
    rest = _filled(w, _CASE, target - _words([opening, *bound, *must]))
    beats = _placed(_shuffled(w, [*must, *rest]), bound, w.spec.placement)
    return _finished(w, opening, [*beats, *_closing(w, "closing_case")], "case", cluster)


def _transferred(w: Writer) -> Draft:
    """A leak in the register of a safe text: a bulletin, a chat, a list."""
    cluster = Cluster.of(w)
    style = w.pick(("bulletin", "chat", "list"))
    opening = w.fill(w.pick(w.lineage.styles[style]))
    if w.spec.placement == "DISTRIBUTED":
        bound = cluster.singles()
    elif w.chance() < 0.5:
        bound = [w.from_pool("instance", np=cluster.noun_phrase())]
    else:
        bound = cluster.sentences()
    rest = _filled(w, _FILL[style], _target(w) - _words([opening, *bound]))
    beats = [*_placed(rest, bound, w.spec.placement), *_closing(w, "closing")]
    if style == "list":
        beats = [f"\n- {beat}" for beat in beats]
    return _finished(w, opening, beats, "general", cluster)


def _target(w: Writer) -> int:
    return LEAST + int(w.chance() * (MOST - LEAST))


def _filled(w: Writer, weights: Mapping[str, float], words: int) -> list[str]:
    """Lines drawn from the pools until they make up `words`."""
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


def _closing(w: Writer, pool: str) -> list[str]:
    return [w.from_pool(pool)] if w.chance() < 0.5 else []


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


def _words(beats: list[str]) -> int:
    return sum(len(beat.split()) for beat in beats)


def _finished(w: Writer, opening: str, beats: list[str], asked: str, cluster: Cluster | None = None) -> Draft:
    body = w.lineage.joiner.join(beats)
    marked = sentence_case(f"{opening}{w.lineage.opening_joiner}{body}".replace(" \n", "\n").replace("\n\n-", "\n-"))
    answer, slots = without_marks(marked, w.spec.qi)
    question = sentence_case(w.fill(w.pick(w.lineage.questions[asked])))
    forbidden = tuple(cluster.forbidden) if cluster is not None and w.spec.mode == "INDIRECT_QI" else ()
    return Draft(question, answer, slots, forbidden)


_KINDS: dict[str, Callable[[Writer], Draft]] = {
    "safe": _safe, "borderline": _borderline, "unsafe": _unsafe, "domain_only": _unsafe,
}
