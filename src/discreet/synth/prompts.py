"""What a language model is asked for one record, and its answer as a draft (paper sections IV-C to IV-E, appendix E).

The words are data: `synth/data/prompts.yaml` for every domain, with the domain's own `prompts.yaml` over it. A prompt
asks for classes and a kind of value for each and quotes two examples that may not be used, so that values vary and no
list of them can be learned by heart.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.random import Generator as Rng

from discreet.core.errors import InputError, UsageError
from discreet.guard.domains import Domain, DomainLike, load_domain
from discreet.guard.domains.domain import PROMPTS
from discreet.synth import records as axes
from discreet.synth.records import Draft, Spec, read_data
from discreet.synth.seeds import SeedPassage

if TYPE_CHECKING:
    from discreet.inputs.endpoints.chat import Message

T = TypeVar("T")
INDIRECT = "INDIRECT_QI"
EXAMPLES = 2
_END = re.compile(r"(?<=[.!?])[\"”’)]*\s")
_LABEL = re.compile(r"\A(?:answer|response)\s*:\s+", re.I)
_LEVELS = {"framings": axes.FRAMINGS, "placements": axes.PLACEMENTS, "modes": axes.MODES, "subtypes": axes.SUBTYPES,
           "registers": axes.REGISTERS}
_WORDINGS = ("system", "unsafe", "borderline", "safe", "material", "without_seed", "fact", "indirect_fact",
             "constraint", "field", "person", "direct")


class Prompter:
    """The prompts of a domain. InputError, naming file and key, where its `prompts.yaml` lacks one."""

    def __init__(self, domain: DomainLike) -> None:
        self.domain = load_domain(domain)
        self.texts = prompt_texts(self.domain)
        self.words: tuple[int, int] = tuple(self.texts["accepted"])
        """Fewest and most words of an answer that pass; the prompt asks for fewer."""

    @cached_property
    def version(self) -> str:
        """A hash of the wordings, 16 hexadecimal digits: a campaign never goes on with other ones."""
        return hashlib.sha256(json.dumps(self.texts, sort_keys=True).encode()).hexdigest()[:16]

    def messages(self, spec: Spec, seed: SeedPassage | None, rng: Rng) -> tuple[Message, ...]:
        """A system and a user message that ask for `spec`, about the seed's subject where there is one.

        Raises UsageError for a specification of another domain, or with classes or levels that it does not have.
        """
        said, kind = self.texts, "unsafe" if spec.kind == "domain_only" else spec.kind
        unknown = [qi for qi in spec.qi if qi not in self.domain.labels]
        if spec.domain != self.domain.name or unknown:
            raise UsageError(f"a record of {spec.domain!r} with classes {', '.join(spec.qi) or 'none'} was asked of "
                             f"the prompts of {self.domain.name!r}; expected its own domain and classes")
        least, most = said["words"]
        given = {"field": said["field"], "person": said["person"], "direct": said["direct"], "least": least,
                 "most": most, "k": len(spec.qi), "constraint": said["constraint"],
                 "framing": self._level("framings", spec.framing or "CASE_VOICE")}
        question = self.question(spec, seed)
        given["material"] = (said["without_seed"].format(question=question) if seed is None else
                             said["material"].format(question=question, passage=cut(seed.text, said["seed_words"])))
        if kind == "unsafe":
            mode = said["modes"][spec.mode]
            given["placement"] = self._level("placements", spec.placement or "FRAME_OPENING").format(**given)
            given["facts"] = "\n".join(self._fact(qi, spec.mode, rng) for qi in spec.qi)
            given["mode"] = mode["ask"].format(**given, forbidden=", ".join(self.forbidden(spec)),
                                               style=_drawn(mode.get("styles", [""]), 1, rng)[0])
        elif kind == "borderline":
            subtype = self._level("subtypes", spec.subtype or "")
            openings = subtype["openings"]
            given |= {"subtype": subtype["about"], "register": subtype["register"],
                      "opening": openings[spec.opening % len(openings)]}
        else:
            given["register"] = self._level("registers", spec.register or "authoritative")
        return ({"role": "system", "content": said["system"].format(**given).strip()},
                {"role": "user", "content": said[kind].format(**given).strip()})

    def draft(self, spec: Spec, answer: str, seed: SeedPassage | None) -> Draft:
        """What the model answered, with the question that it was asked and the words that the mode bans.

        Without white space at its ends, and without a first "Answer:"; nothing else is repaired.
        """
        return Draft(self.question(spec, seed), _LABEL.sub("", answer.strip()), (), self.forbidden(spec))

    def question(self, spec: Spec, seed: SeedPassage | None) -> str:
        """The seed's question, or one of the domain's, always the same for the same seed and specification."""
        if seed is not None and seed.question:
            return " ".join(seed.question.split())
        questions: Sequence[str] = self.texts["questions"]
        return questions[zlib.crc32(f"{seed.id if seed else ''} {spec!r}".encode()) % len(questions)]

    def forbidden(self, spec: Spec) -> tuple[str, ...]:
        """Words and phrases that the mode bans: of INDIRECT_QI those of the classes asked for, of STYLE_TRANSFER the
        voice of a case."""
        if not spec.qi:
            return ()
        if spec.mode == INDIRECT:
            listed = [word for qi in spec.qi for word in self.texts["classes"][qi]["forbidden"]]
        elif spec.mode == "STYLE_TRANSFER":
            person = self.texts["person"]
            listed = [f"{which} {person}" for which in ("this", "our", "my", "your")]
        else:
            listed = self.texts["modes"][spec.mode].get("forbidden", [])
        return tuple(dict.fromkeys(listed))

    def _fact(self, qi: str, mode: str, rng: Rng) -> str:
        said = self.texts["classes"][qi]
        indirect = mode == INDIRECT
        examples = _drawn(said["indirect" if indirect else "examples"], EXAMPLES, rng)
        wording: str = self.texts["indirect_fact" if indirect else "fact"]
        return wording.format(name=qi, means=said["means"], kind=_drawn(said["kinds"], 1, rng)[0],
                              examples=" or ".join(f'"{one}"' for one in examples))

    def _level(self, axis: str, level: str) -> Any:
        if level not in self.texts[axis]:
            raise UsageError(f"the prompts of {self.domain.name!r} have no {level or 'level'!r} among their {axis}; "
                             f"expected one of {', '.join(self.texts[axis])}")
        return self.texts[axis][level]


def prompt_texts(domain: Domain) -> dict[str, Any]:
    """The common wordings with the domain's over them, checked. Raises InputError."""
    where = f"{domain.folder}/{PROMPTS}"
    said: dict[str, Any] = _over(read_data("prompts"), domain.prompts)
    wanted: list[tuple[Any, str, Any]] = [(said, key, str) for key in _WORDINGS]
    wanted.append((said, "questions", list))
    wanted += [(said.get(axis), level, object) for axis, levels in _LEVELS.items() for level in levels]
    classes = said.get("classes")
    wanted += [(classes, label, Mapping) for label in domain.labels]
    for label in domain.labels:
        body = classes.get(label) if isinstance(classes, Mapping) else None
        wanted += [(body, key, str if key == "means" else list)
                   for key in ("means", "kinds", "examples", "indirect", "forbidden")]
    for holder, key, kind in wanted:
        found = holder.get(key) if isinstance(holder, Mapping) else None
        if not found or not isinstance(found, kind):
            raise InputError(f"{where}: {key} is missing or of another form; start from a copy of a built-in domain's")
    for name, one in said["subtypes"].items():
        if not isinstance(one, Mapping) or not {"about", "register", "openings"} <= set(one):
            raise InputError(f"{where}: the subtype {name} needs about, register and openings")
    return said


def cut(text: str, most: int) -> str:
    """At most `most` words of a text, whole sentences where one ends in the second half of them."""
    pieces = list(re.finditer(r"\S+", text))
    if len(pieces) <= most:
        return text
    short = text[: pieces[most - 1].end()]
    ends = [m.start() for m in _END.finditer(short) if m.start() > len(short) // 2]
    return short[: ends[-1]] if ends else short


def _over(base: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """`other` laid over `base`, mappings key by key."""
    def merged(one: Any, two: Any) -> Any:
        return _over(one, two) if isinstance(one, Mapping) and isinstance(two, Mapping) else two

    return {**base, **{key: merged(base.get(key), value) for key, value in other.items()}}


def _drawn(items: Sequence[T], n: int, rng: Rng) -> list[T]:
    """`n` different ones of `items`, or all where there are fewer."""
    return [items[int(i)] for i in rng.permutation(len(items))[:n]]
