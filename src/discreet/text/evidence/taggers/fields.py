"""Records in the form of fields: "Age: 41. Occupation: pilot. Residence: Fairbanks", in lines, lists or tables.

A field names its class, and a record of two or more fields is about one person, whom no other word need point at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.evidence import gazetteers
from discreet.text.evidence.mentions import IDENTIFYING, Context, Mention, taggers
from discreet.text.resources import rows

_LABELS = dict(rows("field_labels", 2))
_ANY_LABEL = "|".join(sorted(map(re.escape, _LABELS), key=len, reverse=True))
_FIELD = re.compile(
    rf"(?:^|[.;,|\n*•-])[ \t*_]*({_ANY_LABEL})[ \t*_]*[:|=][ \t*_|]*([^\n|;.,]{{1,60}})", re.IGNORECASE
)
_NOTHING = re.compile(
    r"^\W*(?:n/?a|none|unknown|not (?:stated|given|known|applicable)|redacted|withheld|any|all|varies|see|your|the|a|"
    r"an)?\W*$|[\[{<_]{1}|\b(?:or|to|between|over|under|and older)\b",
    re.IGNORECASE,
)
_LEAST = 2


@taggers.register("fields")
class FieldTagger:
    """Labelled fields of one record."""

    kinds = IDENTIFYING
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """All filled fields, where there are at least two classes of them."""
        stated = (m for m in _FIELD.finditer(context.text) if not _NOTHING.search(m.group(2)))
        found = [(m, _LABELS[m.group(1).lower()]) for m in stated]
        filled = [(m, kind) for m, kind in found if kind != "age" or any(c.isdigit() for c in m.group(2))]
        if len({kind for _, kind in filled}) < _LEAST:
            return
        for m, kind in filled:
            words = m.group(2).rstrip(" \t*_")
            start, end = m.start(2), m.start(2) + len(words)
            yield Mention(kind, _normal(kind, words.strip()), start, end, "field of a record", "record")


def _normal(kind: str, words: str) -> str:
    low = words.lower()
    if kind == "occupation":
        job = gazetteers.occupations().get(low)
        return job.canonical if job is not None else low
    if kind == "place":
        return gazetteers.canonical_place(words) or low
    return low
