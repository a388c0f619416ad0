"""Words that bind quasi-identifiers to one person, by class and by profile, each marked with where it stands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet.synth.records import SHARED, Slot
from discreet.synth.writer import PERSON, Writer, with_article

# Private-use characters mark where a class is stated until the whole text stands: no template holds them.
OPEN, CLOSE = 0xE000, 0xE100
_MARK = re.compile("([\uE000-\uE1FF])")
_TENS = {2: "twenty", 3: "thirty", 4: "forty", 5: "fifty", 6: "sixty", 7: "seventy", 8: "eighty"}
_ONES = " one two three four five six seven eight nine".split(" ")
_DECADES = {1: "teens", 2: "twenties", 3: "thirties", 4: "forties", 5: "fifties", 6: "sixties", 7: "seventies",
            8: "eighties"}
_YEAR = 2025
_LAST = ("who ", "and ", "whose ")


@dataclass
class Cluster:
    """The values of the requested classes, and the phrases that state them."""

    writer: Writer
    values: dict[str, Mapping[str, str]] = field(default_factory=dict)
    forbidden: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, writer: Writer) -> Cluster:
        """Draw a value for each class that the spec asks for."""
        cluster = cls(writer)
        for qi in writer.spec.qi:
            cluster.values[qi] = cluster._value(qi)
        return cluster

    def _value(self, qi: str) -> Mapping[str, str]:
        w = self.writer
        lexicon = w.profile.lexicon
        indirect = w.spec.mode == "INDIRECT_QI"
        if qi == "AGE":
            low, high, x = w.pick(w.profile.forms[qi]["indirect"]) if indirect else (20, 84, "")
            n = low + int(w.chance() * (high - low + 1))
            third = ("early", "mid", "late")[min(2, n % 10 // 4)]
            value = {"n": str(n), "words": in_words(n), "nth": ordinal(n), "x": x, "born": str(_YEAR - n),
                     "decade": f"{third} {_DECADES.get(n // 10, 'teens')}"}
            self.forbidden.append(str(n))
        elif qi == "OCCUPATION":
            value = w.fresh("jobs", lexicon["jobs"])
            self.forbidden += [value["job"], value["jobs"]]
        elif qi in ("LOCATION", "AFFILIATION"):
            name, pool = ("town", "towns") if qi == "LOCATION" else ("org", "orgs")
            entry = w.fresh(pool, lexicon[pool])
            value = {name: entry["name"], "x": entry["x"]}
            self.forbidden.append(entry["name"])
        else:
            entries = lexicon["family"] if qi == "FAMILY" else w.data.qi[qi]
            entry = w.pick([e for e in entries if e.get("g", w.sex) == w.sex])
            value = {"post": entry["post"], "vp": entry["vp"], "x": entry.get("x") or entry["indirect"]}
            self.forbidden.append(entry["lit"])
        return value

    def _form(self, qi: str, form: str) -> str:
        w, value = self.writer, dict(self.values[qi])
        forms = w.profile.forms.get(qi)
        if form == "x" or (forms is None and form in value):
            said = w.text(value[form], **{k: v for k, v in value.items() if k != form})
        else:
            assert forms is not None
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

    def sentences(self) -> list[str]:
        """The cluster in one sentence."""
        w = self.writer
        if w.spec.mode != "INDIRECT_QI" and w.chance() < 0.5:
            return [w.from_pool("np_frames", np=self.noun_phrase())]
        return [w.from_pool("vp_frames", vps=self.verb_phrases())]

    def singles(self) -> list[str]:
        """The cluster in one sentence a class."""
        w = self.writer
        return [w.from_pool("single_frames", vp=self.verb_phrase(qi)) for qi in self._shuffled()]


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
