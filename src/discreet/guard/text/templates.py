"""Templates of prompts: by the fixed words around them, which words of a message a user typed, and which were put in.

A template is matched as a whole: its first words begin the message and its last words end it. Where the words between
two slots stand in the message more than once, there are several ways to cut it, because retrieved text may hold them
too; a slot is given only the words that every way gives to it. So words that a passage forges are never the user's, and
a question that holds the template's own words is cut short (`../docs/provenance.md`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from discreet.core.errors import UsageError

SLOTS = ("question", "context", "other")
_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
_BLANKS = re.compile(r"\s+")
_WORD = re.compile(r"\w+")
_LABEL = re.compile(r"(?:^|\n|[.?!] )\W{0,4}(?:question|query|user|human|customer|client|patient|input|prompt|q)\b"
                    r"[ \w]{0,20}[:>\]]", re.IGNORECASE)
_OWN = 3
"""Words that a closed template needs at its start: fewer are no words of its own."""


class Message:
    """A message with its white space collapsed, once for all templates: with line breaks (`lined`), and blanks alone
    (`said`)."""

    def __init__(self, text: str) -> None:
        self.lined = collapsed(text)
        self.said = self.lined.translate(_ONE_BLANK)


@dataclass(frozen=True, slots=True)
class Template:
    """Fixed texts (n + 1) and the n slots between them, white space as one blank."""

    fixed: tuple[str, ...]
    slots: tuple[str, ...]

    @property
    def is_closed(self) -> bool:
        """Whether it says by itself what is the user's: fixed words begin and end it, and stand around that slot."""
        return ("question" in self.slots and len(_WORD.findall(self.fixed[0])) >= _OWN
                and all(map(_WORD.search, self.fixed)))

    def cut(self, message: Message) -> tuple[Slot, ...] | None:
        """What stands in each slot; None where the message is of another template.

        A fixed text between two slots stands as far left as it can for the end of the slot before it, and as far right
        as it can for the beginning of the slot behind it: what is left is what every way to cut the message gives to
        the slot. Time is linear in the message for each slot.
        """
        lined, said = message.lined, message.said
        first, *between, last = self.fixed
        first, last = first.translate(_ONE_BLANK), last.translate(_ONE_BLANK)
        if not said.startswith(first) or not said.endswith(last) or len(said) < len(first) + len(last):
            return None
        begin, end = len(first), len(said) - len(last)
        lefts, at = [], begin
        for fixed in between:
            at = _text_of(fixed, lined, said).find(_sought(fixed), at, end)
            if at < 0:
                return None
            lefts.append(at)
            at += len(fixed)
        rights: list[int] = []
        at = end
        for fixed in reversed(between):
            at = _text_of(fixed, lined, said).rfind(_sought(fixed), begin, at)
            rights.insert(0, at)
        sizes = [len(fixed) for fixed in between]
        starts = [begin, *(at + size for at, size in zip(rights, sizes, strict=True))]
        widest = [begin, *(at + size for at, size in zip(lefts, sizes, strict=True))]
        return tuple(
            Slot(name, _shown(lined[start:stop]), _shown(lined[low:high]))
            for name, start, stop, low, high in zip(self.slots, starts, [*lefts, end], widest, [*rights, end],
                                                    strict=True))

    def is_sure(self, message: Message, slots: tuple[Slot, ...]) -> bool:
        """Whether a message can be of this template only, as far as can be told without the application's word.

        Each fixed text stands in it once, no slot holds a label of another question, and none but the user's ends as a
        question does: else a passage may have forged the whole template.
        """
        said = message.said
        worded = [fixed.translate(_ONE_BLANK).strip() for fixed in self.fixed if fixed.strip()]
        once = all(said.count(one) == sum(fixed.count(one) for fixed in worded) for one in worded)
        others = [slot.widest for slot in slots if slot.name != "question"]
        return once and not any(_LABEL.search(text) or text.endswith("?") for text in others)


@dataclass(frozen=True, slots=True)
class Slot:
    """The words that every way to cut a message gives to a slot, and those that any way does (`widest`)."""

    name: str
    text: str
    widest: str


_PARAGRAPH = "\v"
_ONE_BLANK = str.maketrans({_PARAGRAPH: " ", "\n": " "})


def collapsed(text: str) -> str:
    """A text with each stretch of white space as one blank, line break or break of a paragraph; none at its ends."""
    def one(blank: re.Match[str]) -> str:
        breaks = blank[0].count("\n") or blank[0].count("\r")
        return " " if not breaks else "\n" if breaks == 1 else _PARAGRAPH

    return _BLANKS.sub(one, text).strip()


def _text_of(fixed: str, lined: str, said: str) -> str:
    """Where a fixed text is sought: white space alone only as the very break that it is."""
    return said if fixed.strip() else lined


def _sought(fixed: str) -> str:
    return fixed.translate(_ONE_BLANK) if fixed.strip() else fixed


def _shown(text: str) -> str:
    return text.replace(_PARAGRAPH, "\n\n").strip()


@cache
def parse(text: str) -> Template:
    """The template of a text, or of a known prompt's name.

    UsageError for one without `{question}` or `{context}`, with a slot of another name, or where two slots touch.
    """
    known = texts()
    if "{" not in text and text not in known:
        raise UsageError(f"the template is {text[:40]!r}; expected a text with {{question}} and {{context}}, or the "
                         f"name of a known prompt such as {next(iter(known))}")
    fixed, slots, at = [""], [], 0
    source = known.get(text, text)
    for part in _PART.finditer(source):
        fixed[-1] += source[at : part.start()]
        at = part.end()
        if part[1] is None:
            fixed[-1] += part[0][0]
        elif part[1] not in SLOTS:
            raise UsageError(f"the template has a slot {part[1][:40]!r}; expected {{question}}, {{context}} or "
                             "{other}, and {{ for a brace of its own")
        else:
            slots.append(part[1])
            fixed.append("")
    fixed[-1] += source[at:]
    if not set(slots) & {"question", "context"} and text not in known:
        raise UsageError("the template has neither {question} nor {context}; expected at least one of them")
    bare = [collapsed(f"|{one}|")[1:-1] for one in fixed]
    bare[0], bare[-1] = bare[0].lstrip(), bare[-1].rstrip()
    if slots.count("question") > 1:
        raise UsageError("the template has {question} twice; expected it once")
    if any(not one for one in bare[1:-1]):
        raise UsageError("two slots of the template touch; expected fixed words or a blank between them")
    return Template(tuple(bare), tuple(slots))


@cache
def texts(role: str | None = None) -> Mapping[str, str]:
    """The known prompts by name, as `data/prompts.yaml` has them: those of messages of "user" or "system", or all."""
    import yaml  # where a message may be a prompt: most are not

    found = yaml.safe_load(files("discreet.guard.text").joinpath("data", "prompts.yaml").read_text(encoding="utf-8"))
    return MappingProxyType({**found["user"], **found["system"]} if role is None else found[role])


@cache
def known(role: str = "user") -> tuple[Template, ...]:
    """The known prompts of messages of a role."""
    return tuple(parse(name) for name in texts(role))
