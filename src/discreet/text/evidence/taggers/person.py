"""That a particular person is spoken of at all: no attribute, and never counted as one.

It only orders answers that hold no attribute: a story about somebody stands nearer to a leak than a rule about nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from discreet.text.evidence.mentions import Context, Mention, taggers


@taggers.register("person")
class PersonTagger:
    """Every person whom a text points at more than once, at the first place."""

    kinds = ("person",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """The speaker of a personal text; a third person with at least two referents."""
        times = Counter(r.person for r in context.referents if r.form != "plural")
        seen: set[str] = set()
        for r in context.referents:
            told = context.is_personal if r.subject == "speaker" else r.subject == "third" and times[r.person] >= 2
            if told and r.person not in seen:
                seen.add(r.person)
                yield context.mention("person", r.person, r.first, r.last, "somebody in particular", who=r.person)
