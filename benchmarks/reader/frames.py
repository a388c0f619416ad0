"""Training rows from frames: texts with slots and optional parts, whose marks say whose each attribute is.

`frames.jsonl` holds the frames, `slots.json` what fills them; language models wrote both. Because parts come and go and
values change, neither the words nor the length of a text tell how much one person has: only the sentence does. A slot is
`{A:job}`, a literal `<A:family,r|her sister>`, an optional part `[[ … ]]`, one of several or none `[[ a || b ]]`, exactly
one `[[! a || b ]]`.
"""

from __future__ import annotations

import json
import random
import re
from functools import cache
from typing import Any

from benchmarks.reader.passages import HERE
from benchmarks.reader.rows import COUNTED, Row, lines

PRONOUNS = {"he": ("he", "she"), "He": ("He", "She"), "his": ("his", "her"), "His": ("His", "Her"), "him": ("him", "her"),
            "himself": ("himself", "herself"), "man": ("man", "woman"), "male": ("male", "female"), "Mr": ("Mr.", "Ms.")}
SLOTS = {"job": "occupation", "town": "place", "country": "place", "nation": "ethnicity", "religion": "ethnicity",
         "employer": "affiliation", "school": "affiliation", "club": "affiliation", "kids": "family", "marital": "family"}
NAMED = {"employer": ("{last} & Sons", "{last} Logistics", "{town} General Hospital", "{last} Foods", "the {town} fire brigade", "{last} and {town} Mills",
                      "{town} City Council", "{last} Bank", "Hotel {last}", "{last} Textiles", "{town} Airport", "the {last} Group", "{last}tech"),
         "school": ("{town} University", "{last} College", "the University of {town}", "{last} High School", "{town} Primary School",
                    "{town} School of Nursing", "{last} Academy", "the {town} Polytechnic"),
         "club": ("{town} United", "the {last} Choir", "St. {last}'s parish", "{town} Rowing Club", "Local 412 of the {town} dockers", "the {town} mosque",
                  "{last} Lodge", "the {town} Quilters", "the {town} Chess Club")}  # fmt: skip
_PART = re.compile(r"\[\[(.*?)\]\]", re.S)
_MARK = re.compile(r"\{(\w+):(\w+)\}|<(\w+):([^|>]*)\|([^>]*)>")
_AN = re.compile(r"(?:[aeio]|u(?!ni|se|k|r[aieou]|ga|ti)|8|11|18|hon|heir)", re.I)


def frames() -> list[Row]:
    return lines(HERE / "frames.jsonl")


@cache
def slots() -> dict[str, list[str]]:
    """Words by slot. What people belong to is called after people and towns, in more ways than the file lists."""
    said: dict[str, list[str]] = json.loads((HERE / "slots.json").read_text(encoding="utf-8"))
    rng = random.Random(0)
    towns = [t for t in said["town"] if "," not in t]
    for slot, shapes in NAMED.items():
        said[slot] += [rng.choice(shapes).format(last=rng.choice(said["last"]), town=rng.choice(towns)) for _ in range(400)]
    return said


def filled(frame: Row, rng: random.Random) -> Row:
    """A frame's text with its spans, in the form of `rows.py`; the person with most is the main one."""
    lists, often = slots(), rng.choice((0.2, 0.4, 0.6))

    def part(m: re.Match[str]) -> str:
        said, must = m[1], m[1].startswith("!")
        return rng.choice((said[1:] if must else said).split("||")).strip("\t") if must or rng.random() < often else ""

    text = _PART.sub(part, frame["text"])
    keys = {name: k for k, name in enumerate(frame["people"], start=1)}
    sex = {name: rng.randrange(2) for name in keys}
    last_names = rng.sample(lists["last"], len(keys))
    called = {name: (rng.choice(lists[("male", "female")[sex[name]]]), last_names[k - 1]) for name, k in keys.items()}
    drawn: dict[tuple[str, str], str] = {}
    seen: set[tuple[str, str, str]] = set()
    out: list[str] = []
    spans: list[list[Any]] = []
    last = 0

    def say(words: str, kind: str, who: str, flags: str) -> None:
        start = sum(map(len, out))
        out.append(words)
        spans.append([start, start + len(words), kind, keys.get(who, 0), flags])

    for m in _MARK.finditer(text):
        out.append(text[last : m.start()])
        last = m.end()
        if m[3] is not None:
            kind, *flags = m[4].split(",")
            repeated = any(s[2] == kind and s[3] == keys.get(m[3], 0) and "w" not in s[4] for s in spans)
            say(m[5], kind, m[3], "".join(f for f in flags if f != "r" or repeated))
            continue
        who, slot = m[1], m[2]
        if slot in PRONOUNS:
            first = slot != "Mr" and (who, "sex", "") not in seen and frame["people"][who] != "group"
            if first:
                seen.add((who, "sex", ""))
                say(PRONOUNS[slot][sex[who]], "sex", who, "")
            else:
                out.append(PRONOUNS[slot][sex[who]])
            continue
        if slot in ("name", "first", "last"):
            words = {"name": " ".join(called[who]), "first": called[who][0], "last": called[who][1]}[slot]
            kind, value = "name", "name"
        elif slot in ("age", "aged"):
            years = drawn.setdefault((who, "age"), str(rng.randint(18, 91)))
            words, kind, value = (years if slot == "age" else f"{years}-year-old"), "age", years
        else:
            words = value = drawn.setdefault((who, slot), rng.choice(lists[slot]))
            kind = SLOTS[slot]
        again = (who, kind, value) in seen
        seen.add((who, kind, value))
        say(words, kind, who, "r" if again else "")
    out.append(text[last:])
    return _row(frame, "".join(out), spans, {str(k): frame["people"][name] for name, k in keys.items()})


def _row(frame: Row, text: str, spans: list[list[Any]], people: dict[str, str]) -> Row:
    has = dict.fromkeys(people, 0)
    for s in spans:
        if s[2] in COUNTED and not set(str(s[4])) & {"r", "w"} and str(s[3]) in has:
            has[str(s[3])] += 1
    told = [p for p, kind in people.items() if kind in ("third", "speaker")]
    main = max(told, key=lambda p: has[p], default="0")
    cluster = "no" if main == "0" or not has[main] else "one" if has[main] == 1 else "yes"
    row = {"id": frame["id"], "family": "frames", "text": text, "spans": spans, "people": people, "inferred": [],
           "main": int(main), "cluster": cluster, "teaches": True}
    return articles(row)


def articles(row: Row) -> Row:
    """"a" before a consonant, "an" before a vowel, wherever a slot follows; the offsets move along."""
    from benchmarks.reader.rows import edited

    edits = []
    starts = {s[0] for s in row["spans"]}
    for m in re.finditer(r"\b(a|an|A|An) (?=\S)", row["text"]):
        if m.end() in starts and not any(s[0] < m.end() - 1 and s[1] > m.start() for s in row["spans"]):
            right = m[1][0] + ("n" if _AN.match(row["text"], m.end()) else "")
            if right != m[1]:
                edits.append((m.start(), m.start() + len(m[1]), right))
    return edited(row, edits) if edits else row


def drawn(rng: random.Random, count: int) -> list[Row]:
    """Rows of frames taken in turn from a shuffled list, each filled anew."""
    order = list(frames())
    rng.shuffle(order)
    return [filled(order[i % len(order)], rng) for i in range(count)]
