"""Records in the form of fields: "Age: 41. Occupation: pilot. Residence: Fairbanks", in lines, lists or tables.

A field names its class, and a record of two or more fields is about one person, whom no other word need point at.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from discreet.guard.text.evidence import lexicon as lex
from discreet.guard.text.evidence.mentions import IDENTIFYING, Context, Mention, tagger
from discreet.guard.text.resources import patterns, rows

_LABELS = dict(rows("field_labels", 2))
_ANY_LABEL = "|".join(sorted(map(re.escape, _LABELS), key=len, reverse=True))
_NO_ENTRY = patterns("fields")["no entry"]
_FIELD = re.compile(
    rf"(?:^|[.;,|\n*•-])[ \t*_]*({_ANY_LABEL})[ \t*_]*[:|=][ \t*_|]*([^\n|;.,]{{1,60}})", re.IGNORECASE)


@tagger("fields", *IDENTIFYING)
def fields(context: Context) -> Iterator[Mention]:
    """All filled fields of every record that has at least two classes of them."""
    filled = [(m, kind) for m in _FIELD.finditer(context.text)
              if not _NO_ENTRY.search(m[2])
              and ((kind := _LABELS[m[1].lower()]) != "age" or any(c.isdigit() for c in m[2]))]
    for who, m, kind in _of_records(context.text, filled):
        entry = m[2].rstrip(" \t*_")
        value = entry.strip().lower()
        if kind == "occupation" and value in lex.occupations():
            value = lex.occupations()[value].canonical
        elif kind == "place":
            value = lex.canonical_place(entry.strip()) or value
        yield Mention(kind, value, m.start(2), m.start(2) + len(entry), "field of a record", who)


def _of_records(text: str, filled: list[tuple[re.Match[str], str]]) -> Iterator[tuple[str, re.Match[str], str]]:
    """The fields of records with two classes or more, each with its record; tables part their records by a mark."""
    ends = [m.start() for m in re.finditer("\x1e", text)]
    numbers = [bisect_right(ends, m.start()) for m, _ in filled]
    kinds: dict[int, set[str]] = {}
    for n, (_, kind) in zip(numbers, filled, strict=True):
        kinds.setdefault(n, set()).add(kind)
    for n, (m, kind) in zip(numbers, filled, strict=True):
        if len(kinds[n]) > 1:
            yield f"record {n + 1}" if n and numbers[0] < n else "record", m, kind
