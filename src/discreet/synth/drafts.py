"""The records of this room: what is asked of a generator, what it hands back, and a finished line of a partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Kind = Literal["safe", "unsafe", "borderline", "domain_only"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Spec:
    """One record to be written.

    Attributes
    ----------
    kind : {"safe", "unsafe", "borderline", "domain_only"}
        `domain_only` binds facts of the domain only: a cluster under the paper's rule, none under `identifying`.
    lineage : str
        Who writes: a grammar, or a model.
    mode : str
        One of `axes.MODES`.
    qi : tuple of str
        The classes to bind to one person; empty for safe and borderline records.
    framing, placement, register, subtype : str or None
        Levels of the axes that the kind has.
    opening : int
        Which of a subtype's five openings, 0 to 4.
    """

    kind: Kind
    domain: str
    lineage: str
    mode: str = "NONE"
    qi: tuple[str, ...] = ()
    framing: str | None = None
    placement: str | None = None
    register: str | None = None
    subtype: str | None = None
    opening: int = 0

    @property
    def k(self) -> int:
        """How many classes are bound."""
        return len(self.qi)


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a draft states a requested class: offsets in the answer, the end not included."""

    qi: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Draft:
    """What a generator wrote.

    `slots` say where the requested classes stand, where the generator knows it. `forbidden` are the plain words that
    a paraphrase stands for: the answer may not hold them (mode INDIRECT_QI).
    """

    question: str = field(repr=False)
    answer: str = field(repr=False)
    slots: tuple[Slot, ...] = ()
    forbidden: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Record:
    """A line of a partition. Every record of this room is marked `synthetic`."""

    id: str
    spec: Spec
    draft: Draft
    generator: str

    def to_json(self) -> dict[str, Any]:
        """Keys in a fixed order; axes that the kind does not have are left out."""
        spec, draft = self.spec, self.draft
        axes = {"register": spec.register, "subtype": spec.subtype, "framing": spec.framing,
                "placement": spec.placement, "mode": spec.mode if spec.qi else None}
        return {
            "id": self.id, "kind": spec.kind, "domain": spec.domain, "question": draft.question,
            "answer": draft.answer, "lineage": spec.lineage,
            **{name: level for name, level in axes.items() if level is not None},
            **({"opening": spec.opening} if spec.subtype else {}),
            "qi": list(spec.qi), "k": spec.k,
            **({"slots": [{"qi": s.qi, "start": s.start, "end": s.end} for s in draft.slots]} if draft.slots else {}),
            **({"forbidden": list(draft.forbidden)} if draft.forbidden else {}),
            "generator": self.generator, "synthetic": True,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Record:
        """Read back what `to_json` wrote, or a record of one's own with at least id, kind, domain and answer.

        Raises ValueError, naming the key only, where a value has another type.
        """
        spec = Spec(
            kind=_level(row, "kind", KINDS), domain=_text(row, "domain"), lineage=_text(row, "lineage", ""),
            mode=_text(row, "mode", "NONE"), qi=tuple(_texts(row, "qi")), framing=_text(row, "framing", None),
            placement=_text(row, "placement", None), register=_text(row, "register", None),
            subtype=_text(row, "subtype", None), opening=_whole(row, "opening"),
        )
        slots = tuple(Slot(_text(s, "qi"), _whole(s, "start"), _whole(s, "end")) for s in _list(row, "slots"))
        draft = Draft(_text(row, "question", ""), _text(row, "answer"), slots, tuple(_texts(row, "forbidden")))
        return cls(_text(row, "id"), spec, draft, _text(row, "generator", ""))


_NEEDED = object()


def _text(row: Mapping[str, Any], key: str, default: Any = _NEEDED) -> Any:
    value = row.get(key, None) if isinstance(row, Mapping) else None
    if value is None and default is not _NEEDED:
        return default
    if not isinstance(value, str):
        raise ValueError(f"{key!r} is missing or no string")
    return value


def _level(row: Mapping[str, Any], key: str, levels: tuple[Kind, ...]) -> Kind:
    value = _text(row, key)
    for level in levels:
        if value == level:
            return level
    raise ValueError(f"{key!r} is not one of {', '.join(levels)}")


def _list(row: Mapping[str, Any], key: str) -> list[Any]:
    value = row.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"{key!r} is no list")
    return value


def _texts(row: Mapping[str, Any], key: str) -> list[str]:
    values = _list(row, key)
    if not all(isinstance(v, str) for v in values):
        raise ValueError(f"{key!r} holds something other than strings")
    return values


def _whole(row: Mapping[str, Any], key: str) -> int:
    value = row.get(key, 0) if isinstance(row, Mapping) else None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{key!r} is no whole number from 0")
    return value
