"""What is asked of a generator, what it hands back, and a finished line of a partition.

CASE_VOICE, IMPLICIT_CASE, REFERRAL, FRAME_OPENING and DISTRIBUTED are named in the paper (section IV-C); the other
levels of the axes are ours, to make up its six framings and four placements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from typing import Annotated, Any, Literal, Protocol

import yaml
from numpy.random import Generator as Rng
from pydantic import Field, TypeAdapter, ValidationError

from discreet.core.registry import Registry
from discreet.guard.domains import SHARED as SHARED_CLASSES
from discreet.guard.domains import Domain

Kind = Literal["safe", "unsafe", "borderline", "domain_only"]
FRAMINGS = ("CASE_VOICE", "IMPLICIT_CASE", "REFERRAL", "CONSULT_NOTE", "FAMILY_INQUIRY", "HYPOTHETICAL")
PLACEMENTS = ("FRAME_OPENING", "DISTRIBUTED", "FRAME_CLOSING", "MID_ANSWER")
MODES = ("NONE", "INDIRECT_QI", "DISTRACTOR_PADDED", "STYLE_TRANSFER")
REGISTERS = ("authoritative", "vignette", "conversational")
SUBTYPES = ("POPULATION_DEMOGRAPHICS", "PUBLIC_GUIDELINE_QUOTES", "SECOND_PERSON_EDUCATION", "ANONYMIZED_CASE_REPORTS",
            "EMPATHETIC_DEFLECTION")
"""Ways in which a safe answer comes to look like a leak (section IV-E, appendix E); `data/borderline.yaml`."""
SHARED = tuple(SHARED_CLASSES.values())
"""The quasi-identifier classes that all domains share, as records name them."""

PASSAGES = "passages"
"""The generator of safe records that are passages of seed corpora: real text."""
Whole = Annotated[int, Field(strict=True, ge=0)]


def read_data(name: str) -> dict[str, Any]:
    """The content of a YAML file under `data/`."""
    text = files("discreet.synth").joinpath("data", f"{name}.yaml").read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return data


SETTINGS = read_data("campaign")
"""Sizes, modes, roles and retries of a campaign."""


@dataclass(frozen=True, slots=True)
class Spec:
    """One record to be written, by a writer profile: templates of a grammar, or a model.

    `domain_only` binds classes of the domain only: a cluster under the paper's rule, none under `identifying`. `qi` are
    the classes to bind to one person (none in safe and borderline records); `framing`, `placement`, `register` and
    `subtype` the levels of the axes that the kind has; `opening` which of a subtype's five, 0 to 4.
    """

    kind: Kind
    domain: str
    profile: str
    mode: str = "NONE"
    qi: tuple[str, ...] = ()
    framing: str | None = None
    placement: str | None = None
    register: str | None = None
    subtype: str | None = None
    opening: Whole = 0


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a draft states a requested class: offsets in the answer, the end not included."""

    qi: str
    start: Whole
    end: Whole


@dataclass(frozen=True, slots=True)
class Draft:
    """What a generator wrote; `slots` say where the requested classes stand, where it knows it.

    `forbidden` are the plain words that a paraphrase stands for: the answer may not hold them (mode INDIRECT_QI).
    """

    question: str = field(repr=False)
    answer: str = field(repr=False)
    slots: tuple[Slot, ...] = ()
    forbidden: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Record:
    """A line of a partition. What a grammar or a model wrote is marked `synthetic`."""

    id: str
    spec: Spec
    draft: Draft
    generator: str

    def to_json(self) -> dict[str, Any]:
        """Keys in a fixed order; axes that the kind does not have are left out."""
        spec, draft = self.spec, self.draft
        axes = {**{axis: getattr(spec, axis) for axis in ("register", "subtype", "framing", "placement")},
                "mode": spec.mode if spec.qi else None, "opening": spec.opening if spec.subtype else None}
        return {
            "id": self.id, "kind": spec.kind, "domain": spec.domain, "question": draft.question,
            "answer": draft.answer, "profile": spec.profile,
            **{name: level for name, level in axes.items() if level is not None},
            "qi": list(spec.qi), "k": len(spec.qi),
            **({"slots": [asdict(slot) for slot in draft.slots]} if draft.slots else {}),
            **({"forbidden": list(draft.forbidden)} if draft.forbidden else {}),
            "generator": self.generator, "synthetic": self.generator != PASSAGES,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Record:
        """Read back what `to_json` wrote, or a record of one's own with at least id, kind, domain and answer.

        Raises ValueError, naming the key only, where a value has another type.
        """
        said = {key: value for key, value in row.items() if value is not None}
        said = {"question": "", "profile": "", **said}
        try:
            return _RECORD.validate_python({"id": said.get("id"), "generator": said.get("generator", ""), "spec": said,
                                            "draft": said})
        except ValidationError as error:
            raise ValueError(first_problem(error)) from None


_RECORD = TypeAdapter(Record)


def first_problem(error: ValidationError) -> str:
    """Key and kind of the first mistake, without the value."""
    one = error.errors(include_input=False, include_url=False)[0]
    key = ".".join(str(part) for part in one["loc"] if part not in ("spec", "draft"))
    said = str(one["msg"]).removeprefix("Value error, ")
    return f"{key!r}: {said[:1].lower()}{said[1:]}" if key else said


class Generator(Protocol):
    """Writes one draft at a time: a grammar, an LLM endpoint, or anything else.

    The same spec and state of `rng` give the same draft, except from a remote model; a campaign keeps what it got.
    """

    @property
    def profiles(self) -> tuple[str, ...]:
        """The names that `Spec.profile` may have, in a fixed order."""

    @property
    def version(self) -> str:
        """Changes whenever drafts may come out differently, so that a campaign never goes on with stale ones."""

    def generate(self, spec: Spec, domain: Domain, rng: Rng) -> Draft:
        """A draft for `spec`, which names `domain`. What it is worth is the validator's business."""


generators: Registry[Generator] = Registry("generators", builtin="discreet.synth.grammar")
