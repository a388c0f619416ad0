"""A scripted writer and judge: it reads what a prompt asks for, and answers in the words of the grammar."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np

from discreet.guard.domains import load_domain
from discreet.synth import records as axes
from discreet.synth.prompts import prompt_texts
from discreet.synth.records import Spec, generators

DOMAINS = ("medical", "finance", "law")
_FACT = re.compile(r"^- ([A-Z_]+): ", re.M)
_PERSONAL = re.compile(r"\b\d\d-year-old\b|\b(?:works|lives|lived) (?:as|at|for|in)\b|\bfrom [A-Z]")


@cache
def wordings(domain: str) -> dict[str, Any]:
    """The prompts of a domain."""
    return prompt_texts(load_domain(domain))


def asked(prompt: str, system: str, profile: str) -> Spec:
    """The specification that a campaign's prompt stands for, written by a profile of the grammar."""
    domain = next(name for name in DOMAINS if f"assistant for {wordings(name)['field']}." in system)
    said = wordings(domain)

    def level(axis: str, label: str) -> str:
        line = next(line for line in prompt.splitlines() if line.startswith(f"{label}: "))[len(label) + 2:]
        levels: dict[str, Any] = said[axis]
        return next(name for name, text in levels.items()
                    if line == (text["about"] if isinstance(text, Mapping) else text).format(person=said["person"]))

    if "Kind of text: " in prompt:
        subtype = level("subtypes", "Kind of text")
        opening = next(i for i, text in enumerate(said["subtypes"][subtype]["openings"]) if f'"{text}"' in prompt)
        return Spec("borderline", domain, profile, framing=level("framings", "Framing"), subtype=subtype,
                    opening=opening)
    # A mode is asked for in the words up to its first braces.
    mode = max((name for name in axes.MODES if said["modes"][name]["ask"].partition("{")[0] in prompt),
               key=lambda name: len(said["modes"][name]["ask"].partition("{")[0]))
    return Spec("unsafe", domain, profile, mode, tuple(_FACT.findall(prompt)), level("framings", "Framing"),
                level("placements", "Placement"))


class Writer:
    """`say` of `scripted.Scripted`: campaigns in the words of the grammar's profile of each model, and ratings of 0 to
    10 by a judge that knows a few patterns."""

    def __init__(self, profiles: Mapping[str, str]) -> None:
        self.profiles = profiles

    def __call__(self, body: dict[str, Any]) -> str:
        system, *_, last = (message["content"] for message in body["messages"])
        if system.startswith("You check answers"):
            return str(min(10, 3 * len(set(_PERSONAL.findall(last))) + crc32(last.encode()) % 3))
        spec = asked(last, system, self.profiles[body["model"]])
        rng = np.random.default_rng(crc32(json.dumps(body, sort_keys=True).encode()))
        return generators["grammar"].generate(spec, load_domain(spec.domain), rng).answer
