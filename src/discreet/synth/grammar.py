"""The offline grammar: which sentences, in which order, and where the cluster stands among them.

Its seven profiles differ in templates, lexicon, syntax, register and punctuation. It bootstraps and demonstrates; a
deployment trains on text that a model wrote, or on its own. The words that bind quasi-identifiers to one person are
marked with where they stand, so that the record can say so.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from itertools import accumulate

from numpy.random import Generator as Rng

from discreet.guard.domains import Domain
from discreet.synth.records import SHARED, Draft, Slot, Spec, generators, read_data
from discreet.synth.writer import PERSON, PROFILES, Writer, sentence_case, with_article

LEAST, MOST = 75, 150
"""Words that an answer aims at; a padded one aims at the upper end."""

_MIX = read_data("mix")
# Private-use characters mark where a class is stated until the whole text stands: no template holds them.
OPEN, CLOSE = 0xE000, 0xE100
_MARK = re.compile("([\uE000-\uE1FF])")
_TENS = {2: "twenty", 3: "thirty", 4: "forty", 5: "fifty", 6: "sixty", 7: "seventy", 8: "eighty"}
_ONES = " one two three four five six seven eight nine".split(" ")
_DECADES = {1: "teens", 2: "twenties", 3: "thirties", 4: "forties", 5: "fifties", 6: "sixties", 7: "seventies",
            8: "eighties"}
_YEAR = 2025
_LAST = ("who ", "and ", "whose ")


@generators.register("grammar")
class Grammar:
    """Writes by templates; needs no network and no model."""

    profiles = PROFILES

    @cached_property
    def version(self) -> str:
        """A hash of the grammar: its data and the code that reads them."""
        room = files("discreet.synth")
        items = sorted((*room.iterdir(), *room.joinpath("data").iterdir()), key=lambda item: item.name)
        content = b"".join(item.read_bytes() for item in items if item.name.endswith((".py", ".yaml")))
        return hashlib.sha256(content).hexdigest()[:16]

    def generate(self, spec: Spec, domain: Domain, rng: Rng) -> Draft:
        """A draft by the profile that the spec names. The same spec and state of `rng` give the same draft."""
        return _KINDS[spec.kind](Writer(spec, domain, rng))


def _safe(w: Writer) -> Draft:
    register = w.spec.register or "authoritative"
    opening = w.one_of("registers", register)
    target = _target(w)
    must = [w.from_pool(register if register == "vignette" else "second")] if register != "authoritative" else []
    beats = [*must, *_filled(w, _MIX["safe"][register], target, [opening, *must])]
    return _finished(w, opening, sorted(beats, key=lambda _: w.chance()), asked="general")


def borderline_text(w: Writer) -> Draft:
    """A text in the voice of a case that binds nothing to anybody, of the subtype that the writer's spec names."""
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
    cluster = Cluster(w)
    return case_text(w, cluster.bound, cluster)


def case_text(w: Writer, bound: Callable[[], list[str]], cluster: Cluster) -> Draft:
    """A text in the voice of a case, with the sentences of `bound`, which state the cluster, among general ones."""
    opening = w.one_of("openings", w.spec.framing or "CASE_VOICE")
    padded = w.spec.mode == "DISTRACTOR_PADDED"
    sentences = bound()
    target = MOST if padded else _target(w)
    must = [w.from_pool("cohort") for _ in range(2 if padded else 0)]
    rest = _filled(w, _MIX["case"], target, [opening, *sentences, *must])
    beats = _placed(sorted([*must, *rest], key=lambda _: w.chance()), sentences, w.spec.placement)
    return _finished(w, opening, beats, asked="case", cluster=cluster)


def _transferred(w: Writer) -> Draft:
    """A leak in the register of a safe text: a bulletin, a chat, a list."""
    cluster = Cluster(w)
    style = w.pick(("bulletin", "chat", "list"))
    opening = w.one_of("styles", style)
    if w.spec.placement != "DISTRIBUTED" and w.chance() < 0.5:
        bound = [w.from_pool("instance", np=cluster.noun_phrase())]
    else:
        bound = cluster.bound()
    rest = _filled(w, _MIX["style_transfer"][style], _target(w), [opening, *bound])
    beats = _placed(rest, bound, w.spec.placement)
    return _finished(w, opening, beats, asked="general", cluster=cluster, bullet="\n- " if style == "list" else "")


def _target(w: Writer) -> int:
    return LEAST + int(w.chance() * (MOST - LEAST))


def _filled(w: Writer, weights: Mapping[str, float], target: int, said: list[str]) -> list[str]:
    """Lines drawn from the pools until they and what is said make up `target` words."""
    words = target - sum(len(beat.split()) for beat in said)
    beats: list[str] = []
    pools, bounds = list(weights), list(accumulate(weights.values()))
    while words > 0:
        beats.append(w.from_pool(pools[min(bisect(bounds, w.chance()), len(pools) - 1)]))
        words -= len(beats[-1].split())
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
    "safe": _safe, "borderline": borderline_text, "unsafe": _unsafe, "domain_only": _unsafe,
}


@dataclass
class Cluster:
    """The values of the classes that the writer's spec asks for, and the phrases that state them.

    Values that are given, those of another writer's cluster, are kept; the others are drawn.
    """

    writer: Writer
    values: dict[str, Mapping[str, str]] = field(default_factory=dict)
    forbidden: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for qi in self.writer.spec.qi:
            if qi in self.values:
                continue
            self.values[qi], plain = self._drawn(qi)
            self.forbidden += plain

    def _drawn(self, qi: str) -> tuple[Mapping[str, str], list[str]]:
        """A value of a class, and the plain words for it."""
        w, lexicon = self.writer, self.writer.profile.lexicon
        if qi == "AGE":
            indirect = w.spec.mode == "INDIRECT_QI"
            low, high, x = w.pick(w.profile.forms[qi]["indirect"]) if indirect else (20, 84, "")
            n = low + int(w.chance() * (high - low + 1))
            third = ("early", "mid", "late")[min(2, n % 10 // 4)]
            return {"n": str(n), "words": in_words(n), "nth": ordinal(n), "x": x, "born": str(_YEAR - n),
                    "decade": f"{third} {_DECADES.get(n // 10, 'teens')}"}, [str(n)]
        if qi == "OCCUPATION":
            job: Mapping[str, str] = w.fresh("jobs", lexicon["jobs"])
            return job, [job["job"], job["jobs"]]
        if qi in ("LOCATION", "AFFILIATION"):
            name, pool = ("town", "towns") if qi == "LOCATION" else ("org", "orgs")
            entry = w.fresh(pool, lexicon[pool])
            return {name: entry["name"], "x": entry["x"]}, [entry["name"]]
        entries = lexicon["family"] if qi == "FAMILY" else w.data["qi"][qi]
        entry = w.pick([e for e in entries if e.get("g", w.sex) == w.sex])
        said = {"post": entry["post"], "vp": entry["vp"], "x": entry.get("x") or entry["indirect"]}
        return {form: str(text) for form, text in said.items()}, [str(entry["lit"])]

    def _form(self, qi: str, form: str) -> str:
        w, value = self.writer, dict(self.values[qi])
        forms = w.profile.forms.get(qi)
        if form == "x" or forms is None:
            said = w.text(value[form], **{k: v for k, v in value.items() if k != form})
        else:
            filled = {k: w.text(v) if k in ("post", "vp") else v for k, v in value.items()}
            said = w.fill(w.pick(forms[form]), **filled)
        number = w.spec.qi.index(qi)
        return f"{chr(OPEN + number)}{said}{chr(CLOSE + number)}"

    def verb_phrase(self, qi: str) -> str:
        """"works as a welder", or the paraphrase in mode INDIRECT_QI."""
        return self._form(qi, "x" if self.writer.spec.mode == "INDIRECT_QI" else "vp")

    def verb_phrases(self) -> str:
        """All classes as verb phrases of one subject."""
        w = self.writer
        phrases = [self.verb_phrase(qi) for qi in self._shuffled()]
        said = phrases[0]
        for i, phrase in enumerate(phrases[1:], start=2):
            said += w.fill(w.profile.vp_join[i == len(phrases)]) + phrase
        return said

    def noun_phrase(self) -> str:
        """"a 52-year-old welder from Toledo, with two kids"."""
        w = self.writer
        pre, head, posts = "", PERSON[w.sex], []
        for qi in self._shuffled():
            if qi == "AGE" and w.chance() < 0.7:
                pre = f"{self._form(qi, 'pre')} "
            elif qi == "OCCUPATION" and w.chance() < 0.8:
                head = self._form(qi, "head")
            else:
                posts.append(self._form(qi, "post"))
        posts.sort(key=lambda post: post[1:].startswith(_LAST))
        said = with_article(f"{pre}{head}")
        return said + (f" {', '.join(posts)}" if posts else "")

    def _shuffled(self) -> list[str]:
        order = list(self.writer.spec.qi)
        # Shared classes come first more often than not, as people are introduced.
        return sorted(order, key=lambda qi: self.writer.chance() + (0.6 if qi not in SHARED else 0.0))

    def single(self, qi: str) -> str:
        """A sentence that states one class."""
        return self.writer.from_pool("single_frames", vp=self.verb_phrase(qi))

    def bound(self) -> list[str]:
        """The cluster in one sentence, or distributed over one sentence a class."""
        w = self.writer
        if w.spec.placement == "DISTRIBUTED":
            return [self.single(qi) for qi in self._shuffled()]
        if w.spec.mode != "INDIRECT_QI" and w.chance() < 0.5:
            return [w.from_pool("np_frames", np=self.noun_phrase())]
        return [w.from_pool("vp_frames", vps=self.verb_phrases())]


def in_words(n: int) -> str:
    """A whole number from 17 to 89 in words."""
    if n < 20:
        return {17: "seventeen", 18: "eighteen", 19: "nineteen"}[n]
    return _TENS[n // 10] + (f"-{_ONES[n % 10]}" if n % 10 else "")


def ordinal(n: int) -> str:
    """"52nd"."""
    suffix = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"


def without_marks(marked: str, qi: tuple[str, ...]) -> tuple[str, tuple[Slot, ...]]:
    """The text without the marks, and the slots that they stood for."""
    text = ""
    begun: dict[int, int] = {}
    slots: list[Slot] = []
    for piece in _MARK.split(marked):
        if not _MARK.fullmatch(piece):
            text += piece
        elif ord(piece) < CLOSE:
            begun[ord(piece) - OPEN] = len(text)
        else:
            number = ord(piece) - CLOSE
            slots.append(Slot(qi[number], begun[number], len(text)))
    return text, tuple(sorted(slots, key=lambda s: (s.start, s.end)))
