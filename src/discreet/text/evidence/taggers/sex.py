"""Sex, by noun or pronoun: a modifier that narrows, never an attribute that counts towards a cluster."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.text.evidence.mentions import Context, Mention, taggers

_WORD = {"f": "female", "m": "male"}


@taggers.register("sex")
class SexTagger:
    """The sex of every person that a gendered word points at, once a person."""

    kinds = ("sex",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """The first gendered referent of each particular person."""
        seen: set[str] = set()
        for r in context.referents:
            if r.gender and r.subject in ("third", "public", "speaker") and r.person not in seen:
                seen.add(r.person)
                yield context.mention("sex", _WORD[r.gender], r.first, r.last, "gendered word", who=_key(r.person, r.subject))


def _key(person: str, subject: str) -> str | None:
    return None if subject == "public" else person
