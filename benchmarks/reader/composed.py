"""Training rows put together from parts: two or three people who have something to do with each other, and attributes that
are now one's, now the other's, in every place that a sentence has for them. The same parts give all counts, so only the
syntax says whose an attribute is."""

from __future__ import annotations

import random
import re

from benchmarks.reader.frames import articles, slots
from benchmarks.reader.rows import CLASSES, Row, edited

ROLES = ("patient claimant witness caller tenant landlord donor visitor driver passenger buyer seller guest applicant borrower cyclist "
         "complainant guarantor volunteer neighbour visitor lodger trainee finder sender bidder defendant resident").split()
WHICH = ("the {}", "the other {}", "the first {}", "the second {}", "my {}", "a {}", "this {}", "the {} upstairs", "the {} in seat 4")
# `@` stands for the person, `#` for the attribute; <is>, <has>, <work> for the verb; {his} for the pronoun.
EVENTS = ("@A met @B at the station.", "@A was given a lift by @B.", "It was @B who called @A.", "@A owes @B an apology.",
          "@A and @B argued about the bill.", "@B testified that @A had left early.", "@A, not @B, signed the form.",
          "@A introduced @B to the committee.", "Between @A and @B there was never a contract.", "@A told @B that the results were late.",
          "Although @A had asked twice, @B did not answer.", "@A sold the car to @B.", "@A is represented by the same firm as @B.",
          "The notice was read to @A by @B.", "@A shares a room with @B.", "@A has known @B since the spring.", "@B found @A on the stairs.",
          "When @A arrived, @B had gone.", "@A wrote to @B about the leak.", "@A takes the same tablets as @B.", "@A was mistaken for @B.",
          "@B guarantees the loan of @A.", "@A helps @B with the shopping.", "According to @B, @A never replied.", "@A thanked @B and left.",
          "@A sat behind @B.", "@A photographed @B in the yard.", "@A cannot stand @B.", "Neither @A nor @B read the terms.")  # fmt: skip
AFTER = {"age": (", #,", ", aged #,", ", who <is> #,", ", who turned # in May,", ", now #,", " (#)"),
         "job": (", a #,", ", who <work> as a #,", ", a # by trade,", ", once a #,", " (a #)", ", whose job is that of a #,"),
         "town": (" from #", " of #", ", who <live> in #,", " (#)", ", a native of #,", ", lately of #,"),
         "nation": (", who <is> #,", ", a # national,", " (#)", ", a # citizen,"), "religion": (", who <is> #,", ", a devout #,"),
         "kids": (", who <has> #,", ", who brought up #,"), "marital": (", who <is> #,", ", recently #,", " (#)"),
         "employer": (", who <work> for #,", " of #", ", employed by #,", " (#)"), "school": (", who went to #,", ", formerly of #,"),
         "club": (", a member of #,", ", who belongs to #,")}  # fmt: skip
CLAUSES = {"age": ("@ <is> #.", "@ <is> # years old.", "@ turned # last week.", "@ will be # soon.", "At #, @ still <drive>.", "Age of @: #."),
           "job": ("@ <is> a #.", "@ <work> as a #.", "By trade @ <is> a #.", "@ <has> always been a #.", "It is as a # that @ <earn> a living.",
                   "@ trained as a # and still <work> as one."),
           "town": ("@ <live> in #.", "@ grew up in #.", "@ moved here from #.", "Home for @ is #.", "@ <has> a flat in #.", "@ was born in #.",
                    "The train to # takes @ home."),
           "nation": ("@ <is> #.", "@ <hold> a # passport.", "@ <is> of # descent.", "@ <is> a # national."), "religion": ("@ <is> #.", "@ was raised #."),
           "kids": ("@ <has> #.", "At home @ <has> #.", "@ <live> with #."), "marital": ("@ <is> #.", "@ <has> been # for a while.", "On the form @ put #."),
           "employer": ("@ <work> for #.", "@ <work> at #.", "@ joined # in spring.", "@ was let go by #."), "school": ("@ <study> at #.", "@ went to #."),
           "club": ("@ <belong> to #.", "@ <sing> with #.", "@ <volunteer> for #.")}  # fmt: skip
FILLERS = ("", "", "", " The matter is still open.", " Nothing was written down.", " It rained all day.", " The file was closed in June.",
           " Follow-up in two weeks.", " Both were polite.", " There is no more to say.", " The form was sent back.")  # fmt: skip
CLASS = {"age": "age", "job": "occupation", "town": "place", "nation": "ethnicity", "religion": "ethnicity", "kids": "family", "marital": "family",
         "employer": "affiliation", "school": "affiliation", "club": "affiliation"}  # fmt: skip
IRREGULAR = {"is": ("is", "am"), "has": ("has", "have"), "study": ("studies", "study")}
SPLITS = [(1, 1, 0), (1, 1, 1), (2, 0, 0), (0, 2, 0), (2, 1, 0), (1, 2, 0), (1, 0, 0), (0, 1, 0), (3, 0, 0), (0, 3, 1), (2, 2, 0), (0, 0, 0), (1, 1, 0)]


class Told:
    """One of the people of a text: how they are called, first and later."""

    def __init__(self, key: int, rng: random.Random, sex: int, *, speaker: bool) -> None:
        lists = slots()
        self.key, self.sex, self.speaker, self.rng = key, sex, speaker, rng
        first, last = rng.choice(lists[("male", "female")[sex]]), rng.choice(lists["last"])
        title = ("Mr.", "Ms.")[sex]
        self.forms: list[tuple[str, bool]]  # words, and whether they hold a name
        if rng.random() < 0.45:
            role = rng.choice(WHICH).format(rng.choice(ROLES))
            again = "the " + role.split(" ", 1)[1] if role.startswith(("a ", "this ")) else role
            self.forms = [(role, False), (again, False)]
        else:
            self.forms = rng.choice([[(f"{first} {last}", True), (first, True)], [(first, True)] * 2, [(f"{title} {last}", True)] * 2,
                                     [(f"{first} {last}", True), (f"{title} {last}", True)], [(f"{first} {last[0]}.", True)] * 2])
        self.seen = False

    def call(self, *, opening: bool, pronoun: bool, subject: bool) -> tuple[str, bool]:
        """Their words here, and whether these are a name."""
        if self.speaker:
            return ("I" if subject else "me"), False
        if self.seen and pronoun and subject and self.rng.random() < 0.6:
            return (("He", "She") if opening else ("he", "she"))[self.sex], False
        words, name = self.forms[int(self.seen)]
        self.seen = True
        return (words[0].upper() + words[1:] if opening else words), name


def composed(rng: random.Random) -> Row:
    """One text about two or three people, in the form of `rows.py`."""
    number = 3 if rng.random() < 0.15 else 2
    sexes = [rng.randrange(2) for _ in range(number)]
    people = [Told(k + 1, rng, sexes[k], speaker=k == 1 and rng.random() < 0.2) for k in range(number)]
    shares = list(rng.choice(SPLITS))[:number]
    said = {p.key: rng.sample(sorted(CLASS), n) for p, n in zip(people, shares, strict=True)}
    out: list[str] = []
    spans: list[list[object]] = []

    def add(words: str, kind: str | None = None, who: int = 0) -> None:
        start = sum(map(len, out))
        if kind:
            spans.append([start, start + len(words), kind, who, ""])
        out.append(words)

    def tell(template: str, who: Told, slot: str, *, opening: bool, pronoun: bool) -> None:
        for piece in _pieces(template):
            if piece == "@":
                words, name = who.call(opening=opening and not out[-1:] or (out[-1][-1:] in " \n" and template.startswith("@")), pronoun=pronoun,
                                       subject=template.startswith("@") or " @ " in template.replace("for @ ", "").replace("takes @ ", ""))  # fmt: skip
                add(words, "name" if name else None, who.key)
            elif piece == "#":
                value = str(rng.randint(18, 91)) if slot == "age" else rng.choice(slots()[slot])
                add(value, CLASS[slot], who.key)
            elif piece.startswith("<"):
                third, first = IRREGULAR.get(piece[1:-1], (piece[1:-1] + "s", piece[1:-1]))
                add(first if who.speaker else third)
            else:
                add(piece)

    event = rng.choice(EVENTS)
    clauses = [(who, slot) for who in people for slot in said[who.key]]
    rng.shuffle(clauses)
    inside: dict[int, str] = {}
    for who, slot in list(clauses):
        if not who.speaker and who.key < 3 and who.key not in inside and rng.random() < 0.45:
            inside[who.key] = slot
            clauses.remove((who, slot))
    before = [c for c in clauses if rng.random() < 0.2]
    sentences: list[object] = [*before, event, *(c for c in clauses if c not in before)]
    last: Told | None = None
    for i, sentence in enumerate(sentences):
        if i:
            add(rng.choice((" ", " ", " ", "\n")))
        if isinstance(sentence, tuple):
            who, slot = sentence
            clear = who is last and (len(set(sexes)) == number or number == 1)
            tell(rng.choice(CLAUSES[slot]), who, slot, opening=True, pronoun=clear)
            last = who
            continue
        rest = event
        while "@" in rest:
            words, rest = rest.split("@", 1)
            add(words)
            who, rest = people[ord(rest[0]) - 65], rest[1:]
            subject = rest.startswith((" met", " owes", " and", " told", " sold", " has", " is", " was", " wrote", " takes", " had", " sat", " did"))
            if who.speaker:
                add("I" if not words.strip() or subject and " " + rest.split()[0] not in (" is", " was", " has", " owes", " takes") else "me")
                continue
            name, is_name = who.call(opening=not words.strip() and event.startswith("@A") and who.key == 1, pronoun=False, subject=subject)
            add(name, "name" if is_name else None, who.key)
            if who.key in inside:
                form = rng.choice(AFTER[inside[who.key]])
                if form.endswith(",") and rest[:1] in ".,":
                    form = form[:-1]
                tell(form, who, inside[who.key], opening=False, pronoun=False)
        add(rest)
    add(rng.choice(FILLERS))
    row = _row("".join(out), spans, people, said)
    return edited(row, [(m.start(), m.end(), ".") for m in re.finditer(r"\.\.", row["text"])])


def _pieces(template: str) -> list[str]:
    """The person, the attribute, verbs, and what stands between them."""
    return re.findall(r"<\w+>|[@#]|[^@#<]+", template)


def _row(text: str, spans: list[list[object]], people: list[Told], said: dict[int, list[str]]) -> Row:
    main = max(people, key=lambda p: len(said[p.key]))
    most = len(said[main.key])
    row: Row = {"id": "composed", "family": "composed", "text": text, "spans": spans, "inferred": [], "teaches": True,
                "people": {str(p.key): "speaker" if p.speaker else "third" for p in people},
                "main": main.key if most else 0, "cluster": "no" if not most else "one" if most == 1 else "yes",
                "marks": {c: "all" for c in CLASSES if c not in ("domain", "sex", "organisation", "date")}}  # fmt: skip
    return articles(row)
