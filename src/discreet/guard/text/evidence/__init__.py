"""Quasi-identifiers: tagged, normalised, and bound to a person.

A tagger of your own finds `Mention`s in a `Context` and is registered in `mentions.taggers`;
binding says whose they are.
"""

from discreet.guard.text.evidence.bind import find_evidence, named_by_caption
from discreet.guard.text.evidence.mentions import Attribute, Context, Mention, Tagger, classes_of

__all__ = ["Attribute", "Context", "Mention", "Tagger", "classes_of", "find_evidence", "named_by_caption"]
