"""Who is spoken of: that it is somebody in particular, and of which sex. Neither ever counts towards a cluster.

The first only orders answers that hold no attribute: a story about somebody stands nearer to a leak than a rule about
nobody. The second is a modifier that narrows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from discreet.guard.text.evidence.mentions import Context, Mention, tagger

_SEX = {"f": "female", "m": "male"}


@tagger("person", "person")
def persons(context: Context) -> Iterator[Mention]:
    """The speaker of a personal text, and each third person with at least two referents, at the first place."""
    times = Counter(r.person for r in context.referents if r.form != "plural")
    seen: set[str] = set()
    for r in context.referents:
        told = context.is_personal if r.subject == "speaker" else r.subject == "third" and times[r.person] >= 2
        if told and r.person not in seen:
            seen.add(r.person)
            yield context.mention("person", r.person, r.first, r.last, "somebody in particular", who=r.person)


@tagger("sex", "sex")
def sexes(context: Context) -> Iterator[Mention]:
    """The first gendered referent of each particular person."""
    seen: set[str] = set()
    for r in context.referents:
        if r.gender and r.subject in ("third", "public", "speaker") and r.person not in seen:
            seen.add(r.person)
            who = None if r.subject == "public" else r.person
            yield context.mention("sex", _SEX[r.gender], r.first, r.last, "gendered word", who=who)
