"""Is a record what it says? Direct identifiers, requested classes bound to one person, banned words, attributes nobody
asked for, and the marks of text that is no answer (paper sections IV-B, IV-D, IV-E, appendices A and E).

What a generator knows of its own text (the slots) is taken from it, and a grammar knows all of its words: its records
are made to test what reads them, so the learned reader picks none of them. What a model wrote has no slots: there the
reader says which attributes a text binds to whom. Facts of the domain bind loosely in running prose, so unplanned ones
are not looked for.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from discreet.core.errors import UsageError
from discreet.guard.domains import IDENTIFYING, DomainLike, load_domain
from discreet.guard.text import lexicon as lex
from discreet.guard.text.attributes import Attribute, attributes_of, terms_of
from discreet.guard.text.consent import OwnWords, Spoken, repeated
from discreet.guard.text.direct import find_direct
from discreet.guard.text.doc import Doc
from discreet.guard.text.language import guess_language
from discreet.guard.text.record import seen_in
from discreet.guard.text.render import render
from discreet.synth.records import PASSAGES, Record, read_data
from discreet.synth.seeds import SeedPassage

MAIN = "main"
"""The one that a text is about."""
# Not "so" for a significant other, "mil" and the like.
_KIN = "|".join(sorted((re.escape(w) for w in lex.KIN if len(w) > 3 or w in ("mom", "mum", "dad", "son", "kid")),
                       key=len, reverse=True))
_PEOPLE = ("person|man|woman|patient|client|customer|claimant|applicant|caller|resident|student|pupil|case|individual|"
           "borrower|member|visitor|participant|party|one|guy|lady|gentleman|boy|girl|child|adult")
_COMPANION = ("neighbou?r|colleague|co-?worker|friend|room-?mate|flat-?mate|house-?mate|stranger|carer|caregiver|"
              "companion|boss|relative|visitor|guardian|landlord|landlady|lodger|bystander|witness|partner|cousin|"
              "in-law|acquaintance|classmate|godparent|interpreter|escort|driver")
_OTHER = r"another|(?:a|some|any|one|the)\s+(?:other|different|second|third|fourth|next)"
_NEAR = (r"in\s+the\s+(?:next|other|opposite|adjoining)|next\s+door|across\s+the|opposite|"
         r"who\s+(?:came|comes|went|goes)\s+along")
_CLAUSE = re.compile(
    r"[.!?][\"”’)]*\s+|\n+(?:[-*•]\s*)?|[;:]\s+|\s[—–-]+\s|—|"
    r",\s+(?:and|but|while|whereas|though|although|yet)\s+|\s+(?:while|whereas)\s+", re.I)
_SENTENCE = re.compile(r"[.!?\n]")
_LEAD = r"(?:as\s+for\s+|meanwhile,?\s+|by\s+contrast,?\s+|in\s+contrast,?\s+|also,?\s+|and\s+|but\s+|yet\s+)?"
_VERB = (r"(?:,|['’]s\b|(?:is|was|has|had|does|did|can|could|will|would|may|might|who|whose|lives|lived|resides|"
         r"resided|works|worked|teaches|taught|earns|belongs|makes|runs|keeps|holds|serves|drives|comes|came|goes|went|"
         r"turns|turned)\b)")
_CUES = (
    # Somebody of the same kind, who is not the same.
    ("other", re.compile(rf"{_LEAD}(?:(?:{_OTHER})\s+(?:[\w-]+\s+)?(?:{_PEOPLE}|{_COMPANION})\b|(?:somebody|someone)\s+"
                         rf"else\b|(?:the\s+(?:other|second|third|latter|younger|older|elder)|another)\s*(?={_VERB})|"
                         rf"(?:the|a|one)\s+(?:[\w-]+\s+)?(?:{_PEOPLE})\s+(?:{_NEAR})\b)", re.I)),
    # Somebody who belongs to the one, as a subject. "A mother of two" is the one herself.
    ("kin", re.compile(rf"{_LEAD}(?:(?:the|her|his|their|my|our)\s+|[\w-]+\s+[\w-]+['’]s\s+)(?:[\w-]+\s+)?"
                       rf"(?P<head>{_KIN}|{_COMPANION})\b(?!\s+(?:of|to)\s+(?!the\b|this\b|that\b|our\b|my\b))", re.I)),
    ("kin", re.compile(rf"{_LEAD}an?\s+(?:[\w-]+\s+)?(?P<head>{_KIN}|{_COMPANION})\s+of\s+(?:the|this|that|our|hers|"
                       r"his|theirs)\b", re.I)),
    ("kin", re.compile(rf"{_LEAD}an?\s+(?:[\w-]+\s+)?(?P<head>{_COMPANION})\b", re.I)),
)
_LABEL = re.compile(rf"(?i:{_LEAD}(?:(?:the|this|our)\s+)?(?:{_PEOPLE}))\s+(?P<label>[A-H]|[1-9]|one|two|three)\b(?!-)")
_RELATIVE = re.compile(rf"\b(?:{_KIN}|{_COMPANION}),?\s+who(?:se)?\b.*?(?=,|\s+and\b|$)", re.I | re.S)
_PRONOUN = re.compile(rf"{_LEAD}(?:s?he|they|his|her|their)\b", re.I)
_SUBJECT = re.compile(rf"{_LEAD}(?:the|this|that|these|those|an?|our|your|my|its?|you|we|i|there|here|both|all|each)\b",
                      re.I)


@dataclass(frozen=True, slots=True)
class Turn:
    """Where [start, end) may be told of the persons `about`: `MAIN`, or somebody else's key."""

    start: int
    end: int
    about: frozenset[str]
    relatives: bool = False

    def of(self, kind: str) -> frozenset[str]:
        """Whom a class may be told of. That there is a relative is a fact of whose relative they are."""
        return self.about | {MAIN} if self.relatives and kind == "family" else self.about


def turns(text: str) -> tuple[Turn, ...]:
    """The clauses of a text that may be, or are, about somebody else; whatever lies in none is about `MAIN`.

    A pronoun after a relative may mean either of the two; after "another patient" it means the other one.
    """
    labels = {m["label"].lower() for start, end, _ in _clauses(text) if (m := _LABEL.match(text, start, end))}
    found: list[Turn] = []
    key, relatives = "", False
    for start, end, opens in _clauses(text):
        named = _LABEL.match(text, start, end) if len(labels) > 1 else None
        cue = next(((kind, m) for kind, one in _CUES if (m := one.match(text, start, end))), None)
        if named is not None:
            key, relatives = f"label {named['label'].lower()}", False
        elif cue is not None:
            kind, match = cue
            relatives = kind == "kin"
            key = f"kin {match['head'].lower()}" if relatives else f"other {start}"
        elif key and _PRONOUN.match(text, start, end):
            found.append(Turn(start, end, frozenset({key, MAIN} if relatives else {key}), relatives))
            continue
        elif opens or _SUBJECT.match(text, start, end):
            key = ""
        if key:
            found.append(Turn(start, end, frozenset({key}), relatives))
        elif (relative := _RELATIVE.search(text, start, end)) is not None:
            found.append(Turn(relative.start(), relative.end(), frozenset({f"relative {start}"}), True))
    return tuple(found)


def _clauses(text: str) -> Iterator[tuple[int, int, bool]]:
    """Start and end of each clause, and whether it opens a sentence."""
    cuts = [(0, 0), *(m.span() for m in _CLAUSE.finditer(text)), (len(text), len(text))]
    for (left, start), (end, _) in pairwise(cuts):
        if end > start:
            yield start, end, start == 0 or bool(_SENTENCE.search(text, left, start))


ECHO = 12
"""Words in a row that an answer shares with its seed passage, from which it is an echo of it."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CLOSERS = "\"'”’)]}*_`»"
_STOPS = ".!?…"
_ITEM = re.compile(r"\s*(?:[-*•–]|\(?\w{1,3}[.)])\s+\S")


def task_talk(answer: str) -> str | None:
    """"task" where an answer speaks of its task ("Here is the rewritten answer"), refuses it or says what a model says
    of itself; "placeholder" where it left one open ("[City]"); else None."""
    patterns = _task_patterns()
    opening = answer.lstrip(" \n\t#*_>\"“'")
    if any(p.match(opening) for p in patterns["start"]) or any(p.search(answer) for p in patterns["anywhere"]):
        return "task"
    return "placeholder" if any(p.search(answer) for p in patterns["placeholder"]) else None


@cache
def _task_patterns() -> Mapping[str, Sequence[re.Pattern[str]]]:
    said: dict[str, list[str]] = read_data("prompts")["task_talk"]
    return {where: [re.compile(one, re.I) for one in listed] for where, listed in said.items()}


def is_truncated(answer: str) -> bool:
    """Whether the last sentence has no end. The items of a list need none where no item before has one."""
    lines = [line.rstrip() for line in answer.splitlines() if line.strip()]
    if not lines:
        return True
    if _ends(lines[-1]):
        return False
    items = [line for line in lines[:-1] if _ITEM.match(line)]
    return not (_ITEM.match(lines[-1]) and items and not any(map(_ends, items)))


def _ends(line: str) -> bool:
    return line.rstrip(_CLOSERS + " ")[-1:] in (*_STOPS,)


def longest_echo(answer: str, passage: str) -> int:
    """Most words in a row that an answer shares with a passage; case, punctuation and line ends do not matter.

    The longest common run of two sequences of words; in time linear in their length, but for words that are frequent.
    """
    said, known = (_WORD.findall(text.casefold()) for text in (answer, passage))
    places: dict[str, list[int]] = {}
    for place, word in enumerate(known):
        places.setdefault(word, []).append(place)
    longest, before = 0, dict[int, int]()
    for word in said:
        # Length of the common run that ends at this word and at each place of it in the passage.
        before = {place: before.get(place - 1, 0) + 1 for place in places.get(word, ())}
        longest = max(longest, *before.values()) if before else longest
    return longest


Check = Callable[[Record], Sequence[str]]
"""Why a record fails, or nothing; `Validator` is one."""
WORDS: tuple[int, int] = (60, 180)
"""Fewest and most words of an answer."""
INFERRED = 0.5
"""Probability from which a class that no words state counts as told, in mode INDIRECT_QI."""
SURE = 0.9
"""Probability from which an attribute that nobody asked for counts as told."""
GRAMMAR = "grammar"
QUOTES = "PUBLIC_GUIDELINE_QUOTES"
_TOLD = ("third", "speaker")


class Validator:
    """The checks of one domain, whose policy may let direct identifiers pass.

    Parameters
    ----------
    domain : Domain, str or Path
        Whose classes and policy count.
    words : (int, int)
        Fewest and most words of an answer; `Prompter.words` for what its prompts asked for.

    Raises UsageError for an unknown domain and impossible `words`.
    """

    def __init__(self, domain: DomainLike, *, words: tuple[int, int] = WORDS) -> None:
        self.domain = load_domain(domain)
        if not 0 < words[0] <= words[1]:
            raise UsageError(f"an answer of {words[0]} to {words[1]} words cannot be: expected 0 < fewest <= most")
        self._words = words

    def __call__(self, record: Record, seed: SeedPassage | None = None) -> tuple[str, ...]:
        """Why a record fails, or nothing. The cheapest checks come first and the rest are left out once one fails.

        Reasons: `domain`; `length`; `request` (classes that the kind cannot have, or fewer than two); `slot` (a slot
        that is empty, outside the answer, or of a class that was not asked for); `missing:CLASS`; `task` (the answer
        speaks of its task); `placeholder` ("[City]"); `truncated` (no end); `forbidden` (a banned word); `echo` (twelve
        words in a row of its seed; quotations of public guidance may); `direct:TYPE` (a direct identifier: a named
        individual, a formatted date of birth, …); `language`; `unbound` (the requested classes are told, but not of one
        person); `unplanned:KIND` (an identifying attribute that was not asked for); `cluster` (two identifying
        attributes of one person in a safe or borderline record).
        """
        return self._request(record) or self._form(record, seed) or self._content(record)

    def _request(self, record: Record) -> tuple[str, ...]:
        spec, draft = record.spec, record.draft
        if spec.domain != self.domain.name:
            return ("domain",)
        if not self._words[0] <= len(draft.answer.split()) <= self._words[1]:
            return ("length",)
        allowed = self.domain.own_labels if spec.kind == "domain_only" else tuple(self.domain.labels)
        leaks = len(set(spec.qi)) == len(spec.qi) >= 2 and set(spec.qi) <= set(allowed)
        if spec.qi if spec.kind in ("safe", "borderline") else not leaks:
            return ("request",)
        if any(s.qi not in spec.qi or not 0 <= s.start < s.end <= len(draft.answer) for s in draft.slots):
            return ("slot",)
        if draft.slots and (missing := set(spec.qi) - {s.qi for s in draft.slots}):
            return tuple(f"missing:{qi}" for qi in spec.qi if qi in missing)
        return ()

    def _form(self, record: Record, seed: SeedPassage | None) -> tuple[str, ...]:
        answer, spec = record.draft.answer, record.spec
        if (said := task_talk(answer)) is not None:
            return (said,)
        if record.generator != PASSAGES and is_truncated(answer):
            return ("truncated",)
        if any(re.search(rf"(?<!\w){re.escape(w)}(?!\w)", answer, re.I) for w in record.draft.forbidden):
            return ("forbidden",)
        copied = seed is not None and spec.subtype != QUOTES and longest_echo(answer, seed.text) >= ECHO
        return ("echo",) if copied else ()

    def _content(self, record: Record) -> tuple[str, ...]:
        prepared = render(record.draft.answer)
        direct = {span.type for span in find_direct(prepared)}.difference(self.domain.allowed_direct)
        if direct:
            return tuple(f"direct:{kind}" for kind in sorted(direct))
        doc = Doc(prepared)
        if not guess_language(doc).english:
            return ("language",)
        if record.draft.slots or record.generator == GRAMMAR:
            return ()
        read = self._read(record, doc)
        if record.spec.kind in ("safe", "borderline"):
            return ("cluster",) if clustered(read.attributes) else ()
        return self._claimed(record, read) or self._unplanned(record, read)

    def _read(self, record: Record, doc: Doc) -> Told:
        """What the answer tells of whom. Raises DetectorError."""
        # Where a leak is only claimed, what the question already contains is no leak.
        question = record.draft.question if record.spec.qi else None
        own = OwnWords(() if question is None else (Spoken(question),))
        seen = seen_in(doc, doc.text)
        found = (*attributes_of(seen, doc), *terms_of(doc, self.domain, seen.spans))
        return Told(repeated(found, doc, own), frozenset(k for k, p in seen.inferred.items() if p >= INFERRED))

    def _claimed(self, record: Record, read: Told) -> tuple[str, ...]:
        """Requested classes that are not told, or not of one person."""
        spec = record.spec
        wanted = {self.domain.labels[qi]: qi for qi in spec.qi}
        kinds = set().union(*persons(read.attributes))
        kinds |= {a.kind for a in read.attributes if a.kind in self.domain.own}
        missing = set(wanted) - kinds
        if spec.mode == "INDIRECT_QI":
            # No lexicon knows how a fact of the domain may be paraphrased; of the others some are inferred only.
            missing -= {*self.domain.own, *read.inferred}
        if missing:
            return tuple(f"missing:{qi}" for kind, qi in wanted.items() if kind in missing)
        shared = kinds & {*wanted} & {*IDENTIFYING}
        elsewhere = turns(record.draft.answer)
        bound = any(shared <= of for of in persons(read.attributes, elsewhere))
        return () if bound or not shared else ("unbound",)

    def _unplanned(self, record: Record, read: Told) -> tuple[str, ...]:
        """Identifying attributes that the reader is sure of and nobody asked for."""
        wanted = {self.domain.labels[qi] for qi in record.spec.qi}
        unplanned = {a.kind for a in read.attributes if a.subject in _TOLD and a.kind in IDENTIFYING
                     and a.kind not in wanted and a.probability >= SURE}
        return tuple(f"unplanned:{kind}" for kind in sorted(unplanned))


@dataclass(frozen=True, slots=True)
class Told:
    """What a text tells of whom, and classes that can be inferred."""

    attributes: tuple[Attribute, ...]
    inferred: frozenset[str] = frozenset()


def persons(attributes: Iterable[Attribute], elsewhere: Sequence[Turn] = ()) -> list[set[str]]:
    """The classes that are told of each individual; of nobody both those of a turn of the text and those outside it."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for a in attributes:
        if a.subject in _TOLD:
            turn = next((one for one in elsewhere if one.start <= a.start < one.end), None)
            for about in turn.of(a.kind) if turn else (MAIN,):
                found[a.person, about].add(a.kind)
    return list(found.values())


def clustered(attributes: Iterable[Attribute]) -> bool:
    """Whether two distinct identifying attributes are told of one individual ("no QI cluster of size ≥ 2")."""
    bound: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for a in attributes:
        if a.subject in _TOLD and a.kind in IDENTIFYING:
            bound[a.person].add((a.kind, a.value))
    return any(len(said) >= 2 for said in bound.values())
