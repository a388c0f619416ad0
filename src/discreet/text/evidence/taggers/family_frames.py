"""Relatives and households that no list of kin holds: words built like kin, and what only a household does."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.evidence.mentions import Context, Mention, taggers

_MANY = r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}|several)"
_OWN = r"(?:his|her|their|my|our|an?|one|two|three|four|five|six|seven)"
_ROOF = r"(?:home|house|household|flat|apartment|cottage|farm|farmhouse|cabin|bungalow|hearth|roof|lodgings|bedroom)"
_SHARES = re.compile(
    rf"\b(?:shares?|shared|sharing) (?:{_OWN}|the) (?:\w+ )?{_ROOF} (with {_OWN} (?!(?:rule|right|trust|company|law)\b)[\w'-]+(?: [\w'-]+)?)")
_IN_CARE = re.compile(
    rf"\b({_MANY} (?:[\w-]+ ){{0,2}}?(?!patients?\b|clients?\b|residents?\b|inmates?\b|accounts?\b|propert|assets?\b|funds?\b|cases?\b|files?\b)"
    rf"[a-z-]{{3,}}) (?:in|under) (?:his|her|their|my) (?:care|roof|wing)\b(?! (?:plan|team|home|setting|package|provider|manager))")
_KIN = r"(?:god(?!s\b|ly|send|d|down|speed|awful|fearing|forsaken)|step-?(?=[cdfgmnpsu][a-z]{3})(?!mania|page)|foster(?!ing|ed|s\b)[ -]?(?!home|care|famil|parent)|half-(?=[bs][a-z]{4})|"\
       r"grand-?(?=[cdfmnpsau][a-z]{2})(?!fathered|stand|parent s)|great-(?:great-)?grand-?|adoptive )[a-z]{3,12}"
_HAS_KIN = re.compile(rf"\b(?:has|have|had|with|of|and|raising|raises|supports|supporting|left|leaves|lost) ({_MANY} (?:\w+ )?{_KIN})\b(?! (?:home|care|agency|system|application))")
_REARS = re.compile(
    rf"\b(?:is|are|was|'s|'re|been) (?:\w+ )?(?:bringing up|rearing|fostering|raising) ({_OWN} (?:[\w-]+ ){{0,2}}?(?!(?:concern|question|issue|objection|point|claim|defen[cs]e|doubt|fund|capital|"
    r"money|rate|price|cattle|sheep|goat|chicken|flag|alarm|problem|family|cat|dog|pupp|kitten|round|bar)[a-z]*\b)[a-z-]{4,})(?= (?:alone|on|with|in|by|at|as|since|and|who|from|after|under)\b|[,.;])")


@taggers.register("family_frames")
class FamilyFrameTagger:
    """Who shares a roof, who is in somebody's care, and kin by the form of the word ("two foster girls")."""

    kinds = ("family",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """One mention a construction; the binder says whose it is."""
        text = context.lower
        for pattern, why in ((_SHARES, "living arrangement"), (_IN_CARE, "somebody in their care"),
                             (_HAS_KIN, "a relative that somebody has"), (_REARS, "somebody whom they bring up")):
            for m in pattern.finditer(text):
                yield Mention("family", " ".join(m.group(1).split()), m.start(1), m.end(1), why)
