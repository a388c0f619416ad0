"""Records in the form of fields: "Age: 41. Occupation: pilot. Residence: Fairbanks", in lines, lists or tables.

A field names its class, and a record of two or more fields is about one person, whom no other word need point at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.evidence import lexicon as lex
from discreet.text.evidence.mentions import IDENTIFYING, Context, Mention, tagger
from discreet.text.resources import patterns, rows

_LABELS = dict(rows("field_labels", 2))
_ANY_LABEL = "|".join(sorted(map(re.escape, _LABELS), key=len, reverse=True))
_NO_ENTRY = patterns("fields")["no entry"]
_FIELD = re.compile(
    rf"(?:^|[.;,|\n*•-])[ \t*_]*({_ANY_LABEL})[ \t*_]*[:|=][ \t*_|]*([^\n|;.,]{{1,60}})", re.IGNORECASE)


@tagger("fields", *IDENTIFYING)
def fields(context: Context) -> Iterator[Mention]:
    """All filled fields, where there are at least two classes of them."""
    filled = [(m, kind) for m in _FIELD.finditer(context.text)
              if not _NO_ENTRY.search(m[2])
              and ((kind := _LABELS[m[1].lower()]) != "age" or any(c.isdigit() for c in m[2]))]
    for m, kind in filled if len({kind for _, kind in filled}) > 1 else ():
        entry = m[2].rstrip(" \t*_")
        value = entry.strip().lower()
        if kind == "occupation" and value in lex.occupations():
            value = lex.occupations()[value].canonical
        elif kind == "place":
            value = lex.canonical_place(entry.strip()) or value
        yield Mention(kind, value, m.start(2), m.start(2) + len(entry), "field of a record", "record")
