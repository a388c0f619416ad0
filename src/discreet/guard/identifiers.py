"""Direct identifiers of an answer: which there are, by the recognisers and by the reader, and whose each of them is."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from discreet.core.records import PERSONS, Answer, Public, Subject
from discreet.guard.policy import Policy
from discreet.guard.text.direct.detect import DirectSpan
from discreet.guard.text.direct.recognisers.internet import is_local
from discreet.guard.text.doc import Doc
from discreet.guard.text.known_names import is_known, named_by_caption, words_of
from discreet.guard.text.provenance import Request
from discreet.guard.text.reader import Seen
from discreet.guard.text.record import pieces, seen_in
from discreet.guard.text.render import render
from discreet.guard.text.reply import NOTHING, OTHERS, Stretch
from discreet.guard.text.resources import given_names, patterns, words

_T = TypeVar("_T")
_NEAR = 40
"""Characters of a text within which what stands in apposition to a name begins or ends."""
_BEFORE_OFFICE = 80
"""Characters before an address or a number, or behind a name, in which words may say that it is an office's."""
_OF_STAFF = -2.5
"""Log-odds of telling something of somebody private, below which such words are believed of a name."""
_OF_OFFICE: tuple[Subject, ...] = ("staff", "public", "historic")
_APPOSED = re.compile(r"[\s,:;()*–—-]{0,6}"
                      r"(?:(?:is|was|the|an?|our|named|who is|Dr|Mrs?|Ms|Prof|Sister|Shri|Smt)\.? ){0,3}")
"""What stands between a name and the office that its bearer holds."""
_TITLED = re.compile(r"(?:Dr|Mrs?|Ms|Miss|Mx|Prof|Sir|Dame|Rev|Fr|Sr|Judge|Justice)\b", re.IGNORECASE)
_INITIALS = re.compile(rf"\s*(?:{_TITLED.pattern}\.?)?(?:\s*[^\W\d_]\b\.?)*(?:['’]s)?\s*", re.IGNORECASE)
"""A name that is anonymised to its first letters, with its title, or a title alone."""
_BEFORE = re.compile(r"([A-Za-z]+)\.?\s+$")
_NAMES = ("person_name", "person_name_hypothetical")
_SORT = {**dict.fromkeys(_NAMES, "name"), "phone": "contact", "email": "contact", "street_address": "address",
         "postal_code": "address"}
"""The reader's class for identifiers that may be those of an office."""
_KNOWN, _SURELY = 6.0, 7.0
"""The same for staff and known persons where question and answer were read together: names and dates of birth are
theirs, and mail addresses, telephone numbers and streets those of their office."""
_NOBODY = -8.0
"""Log-odds of telling something of somebody private, below which addresses and numbers in an answer in which nobody
is seen are those of firms and offices."""
_OF_KNOWN = -3.3
"""Log-odds of telling something of somebody private, below which a known name means the known person."""
_HOUSE = re.compile(r"\b(?:branch|chambers|clinic|office|practice|premises|shop|studio|surgery|workshop)\b",
                    re.IGNORECASE)
"""Where somebody works whose address may be said."""
_SURE, _GIVEN = 0.9, 0.7
"""From this probability on a name that only the reader sees is a name; and one that is known as a given name: those of
some peoples it sees less surely ("Only Kwame")."""
_CODE = re.compile(r"\b(?=[\w-]*\d)[A-Z\d-]+(?: (?:[A-Z]*\d[A-Z\d]*|[A-Z]{2})\b)?")


def identifiers_in(spans: Sequence[DirectSpan], seen: Seen, doc: Doc) -> list[DirectSpan]:
    """Direct identifiers: of the recognisers' names those that have a title or that the reader takes for a name too,
    and further names that the reader is sure of. Initials, placeholders, what a program says that it is called and the
    one given name by which an answer greets its reader name nobody, nor does an address within a network in a text that
    tells of nobody. Other identifiers stay: they have a form of their own."""
    programs = frozenset(m["name"] for m in programs_in(doc))
    nobody = not any(s.subject in (*PERSONS, "speaker") for s in seen.spans)
    greeted = patterns("requests")["greeted"].match(_plain_of(doc))
    first = greeted.end() if greeted else 0
    names = [(*doc.prepared.span(s.start, s.end), s) for s in seen.spans
             if s.kind == "name" and s.start >= first and not _names_nobody(doc.text[s.start : s.end], programs)]
    seen_names = Places(names)
    kept = [span for span in spans if (span.type not in _NAMES and not (
                nobody and span.type == "ip" and is_local(doc.prepared.original[span.start : span.end])))
            or any(seen_names.at(span.start, span.end))
            or (_TITLED.match(said := doc.prepared.original[span.start : span.end]) and not _names_nobody(said))]
    there = Places((span.start, span.end, span) for span in kept)
    more = [DirectSpan("person_name", start, end) for start, end, s in names
            if s.subject in ("third", "speaker") and doc.text[s.start : s.end].strip()
            and s.probability >= (_GIVEN if _is_given(doc.text[s.start : s.end]) else _SURE)
            and not _in_office(doc.text, s.start)
            and not any(there.at(start, end))]
    return sorted([*kept, *more], key=lambda span: (span.start, span.end))


def programs_in(doc: Doc) -> tuple[re.Match[str], ...]:
    """Where programs say in a text what they are called ("I'm Ava, your virtual assistant")."""
    return doc.once("programs", lambda: tuple(patterns("requests")["program"].finditer(_plain_of(doc))))


def _names_nobody(name: str, programs: frozenset[str] = frozenset()) -> bool:
    """Whether a name is one of initials ("Mr P."), stands for anybody ("John Doe") or is that of a program."""
    said = " ".join(words_of(name))
    return _INITIALS.fullmatch(name) is not None or said in words("names")["placeholders"] or said in programs


def _is_given(name: str) -> bool:
    """Whether a name is a given name, and no word besides."""
    return given_names().get(name.strip().lower()) == "-"


def _is_common(name: str) -> bool:
    """Whether a name is a common given name and a common surname."""
    said = words_of(name)
    return len(said) > 1 and said[0] in given_names() and said[-1] in words("names")["surnames"]


def _in_office(text: str, start: int) -> bool:
    """Whether the word before a name is a title of office ("Dr.", "Judge"), whose bearers the recognisers pass."""
    before = _BEFORE.search(text, max(0, start - 24), start)
    return before is not None and before[1].lower() in words("names")["offices"]


class Places(Generic[_T]):
    """Stretches of a text with what stands there, looked up by place: a look at all of them for each of many others
    would take time quadratic in the text."""

    def __init__(self, of: Iterable[tuple[int, int, _T]]) -> None:
        self._of = sorted(of, key=lambda one: one[0])
        self._longest = max((end - start for start, end, _ in self._of), default=0)

    def at(self, start: int, end: int) -> Iterator[_T]:
        """What shares a character with a stretch."""
        at = bisect_right(self._of, start - self._longest, key=lambda one: one[0])
        while at < len(self._of) and self._of[at][0] < end:
            if self._of[at][1] > start:
                yield self._of[at][2]
            at += 1


class Status:
    """Whose identifiers the reader takes those of an answer for, by place in the original; some persons count as
    `private` whatever it takes them for. A name is also that of an office right before or behind it ("the district
    supervisor, Hyacinth Dubé"). What the classifier says of a stretch holds for what stands in it, whatever the rest
    is about."""

    def __init__(self, seen: Seen | None, doc: Doc, private: Collection[str], apart: Sequence[Stretch] = ()) -> None:
        spans = [] if seen is None else [s for s in seen.spans if s.subject in PERSONS]
        offices = Places((s.start, s.end, s) for s in spans if s.kind in ("occupation", "affiliation")
                          and s.subject in _OF_OFFICE and s.person not in private)
        self._doc = doc
        self._tells_of_public = any(s.kind != "name" and s.subject in ("public", "historic") for s in spans)
        self._of_firm = _HOUSE.search(doc.text) is not None or (
            seen is not None and any(s.kind in ("affiliation", "organisation") for s in seen.spans))
        self._others = seen is not None and not private and seen.asked and seen.case.others > OTHERS
        self._nobody = seen is not None and not private and _of_nobody(seen)
        together = NOTHING if seen is None or private else seen.together or NOTHING
        known = together.status in _OF_OFFICE
        names = [] if seen is None else [doc.text[s.start : s.end] for s in seen.spans if s.kind == "name"]
        doubtful = known and not (names and all(is_known(name, (doc,)) for name in names))
        self._apart = together.others > (_KNOWN if doubtful else OTHERS)
        self._office = known and together.others > _SURELY
        self._stretches = Places((*doc.prepared.span(one.start, one.end), one) for one in apart)
        self._clears = together.tells < 0
        self._whole = [seen.together] if seen is not None and seen.together is not None else []
        found: dict[str, list[tuple[int, int, Subject]]] = {}
        for s in spans:
            subject: Subject = "third" if s.person in private else s.subject
            if subject == "third" and s.person not in private and s.kind == "name":
                subject = next((one.subject for one in offices.at(s.start - _NEAR, s.end + _NEAR)
                                if _beside(doc.text, s.start, s.end, one.start, one.end)), subject)
            found.setdefault(s.kind, []).append((*doc.prepared.span(s.start, s.end), subject))
        self._spans = {kind: Places(of) for kind, of in found.items()}

    def in_doubt(self, span: DirectSpan, *, known: bool = False) -> bool:
        """Whether the classifier is not sure that what is told around an identifier is of nobody private; of a `known`
        name it need be less sure."""
        around = [one.case for one in self._stretches.at(span.start, span.end)] or self._whole
        return any(not (case.surely_of_others or (known and case.tells < _OF_KNOWN)) for case in around)

    def _may_be_public(self, span: DirectSpan) -> bool:
        """Whether a name may be that of somebody public: anything but a name is told of such a person, nearly everybody
        knows it, or not many are called so."""
        name = self._doc.prepared.original[span.start : span.end]
        return self._tells_of_public or not _is_common(name) or is_known(name, (self._doc,))

    def _is_office(self, span: DirectSpan) -> bool:
        """Whether the words right before say that it is an office's ("our clinic is at", "reception:")."""
        original = self._doc.prepared.original
        before = _plain(original[max(0, span.start - _BEFORE_OFFICE) : span.start])
        return patterns("requests")["office before"].search(before) is not None

    def _is_of_team(self, span: DirectSpan) -> bool:
        """Whether the words right behind a name make somebody of a team of it ("Sophie from the billing team"), and the
        classifier says that the answer speaks of staff."""
        behind = _plain(self._doc.prepared.original[span.end : span.end + _BEFORE_OFFICE])
        staff = all(case.status == "staff" and case.tells < _OF_STAFF for case in self._whole)
        return bool(self._whole) and staff and patterns("requests")["of a team"].match(behind) is not None

    def of(self, span: DirectSpan) -> Subject:
        """That of the reader's spans of the same sort that share a character with an identifier, where they agree;
        else nobody's where the answer as a whole speaks of others or of nobody, else private."""
        kind = _SORT.get(span.type)
        around = list(self._stretches.at(span.start, span.end))
        private, may_be_office = any(one.private for one in around), kind is not None or span.type == "date_of_birth"
        if may_be_office and self._clears and around and not self.in_doubt(span):
            return "nobody"
        if kind in ("contact", "address") and self._is_office(span):
            return "nobody"
        if kind == "name" and not private and self._is_of_team(span):
            return "staff"
        if not private and kind is not None and (self._others or self._office or (self._nobody and kind != "name")):
            return "nobody"
        if not private and self._apart and (kind == "name" or span.type == "date_of_birth"):
            return "nobody"
        there = self._spans.get(kind or "")
        shared = set() if there is None else set(there.at(span.start, span.end))
        subject = shared.pop() if len(shared) == 1 else "third"
        if kind == "name" and subject in ("public", "historic") and not self._may_be_public(span):
            return "third"
        if kind == "address" and not self._of_firm:
            return "third"  # Where no firm or house is named, the address of a plumber is their home.
        return subject if kind == "name" or subject in _OF_OFFICE else "third"


def _of_nobody(seen: Seen) -> bool:
    """Whether no person is seen, and neither by itself nor to a question anything is told of one."""
    return (all(case.tells < _NOBODY for case in (seen.case, *seen.behind))
            and not any(s.subject in (*PERSONS, "speaker") for s in seen.spans))


def _beside(text: str, start: int, end: int, other_start: int, other_end: int) -> bool:
    """Whether two stretches stand in apposition."""
    last, first = (end, other_start) if start < other_start else (other_end, start)
    return _APPOSED.fullmatch(text, last, max(last, first)) is not None


def whose(span: DirectSpan, doc: Doc, request: Request, answer: Answer, policy: Policy, status: Status) -> Subject:
    """The asker's own, a published party's, a listed person's or a name of somebody who is not private, else a third
    person's.

    Who treats or represents the person, or has proved to be the person, may read again any identifier that they gave.
    """
    value = render(doc.prepared.original[span.start : span.end]).text
    if span.type == "postal_code" and (code := _CODE.search(value)) is not None:
        value = code.group()  # which tells the town
    if request.own is not None:
        known = not policy.subjects or answer.asker == "self" or request.theirs
        if doc.once(("gave", span.type, value, known), lambda: request.gave(span.type, value, anybody=known)):
            return "asker"
        if _declines(doc, span) and doc.once(("gave", value), lambda: request.gave(span.type, value, anybody=True)):
            return "asker"
    if span.type in _NAMES:
        start = doc.tokens[doc.token_at_original(span.start)].start if doc.tokens else 0
        if named_by_caption(doc, start, start + len(value)):
            return "public"
        if doc.once(("listed", value), lambda: policy.may_name(value, doc.text)):
            return "public"
        asked = doc.once(("gave", value), lambda: request.gave(span.type, value, anybody=True))
        if asked and status.in_doubt(span, known=_is_known(value, doc, request)):
            return "third"  # Whom the user asks about by name is nobody else because of what stands around.
    # The reader's word, but private where a record of the request gives the identifier to somebody private.
    subject = status.of(span)
    spared = subject != "third" and subject not in policy.subjects
    held = spared and doc.once(("recorded", span.type, value), lambda: _in_record(value, request, policy))
    return "third" if held else subject


def _is_known(name: str, doc: Doc, request: Request) -> bool:
    """Whether nearly everybody knows a bearer of a name."""
    texts = (doc, *(request.docs[text] for text in request.of("user")))
    return doc.once(("known", name), lambda: is_known(name, texts))


def _in_record(value: str, request: Request, policy: Policy) -> bool:
    """Whether retrieved text that holds an identifier tells of somebody private, and of nobody else."""
    wanted = value.casefold()
    texts = (text for text in request.of("retrieved", "tool")
             if not isinstance(text, Public) and wanted in text.casefold())
    for piece in (piece for text in texts for piece in pieces(text) if wanted in piece.casefold()):
        doc = request.docs[piece]
        seen = seen_in(doc, doc.text)
        told = {s.subject for s in seen.spans if s.kind == "name" or s.kind in policy.counted}
        if told & {"third", "speaker"} and not told & {"staff", "public"}:
            return True
    return False


def _declines(doc: Doc, span: DirectSpan) -> bool:
    """Whether the clause that holds an identifier declines: a refusal that repeats a name tells nothing; "I'm sorry,
    but Ana Ortiz was here" does."""
    at = doc.token_at_original(span.start)
    begin, end = doc.sentence_of(at)
    start, stop = doc.tokens[begin].start, doc.tokens[end - 1].end
    sentence, place, cues = _plain(doc.text[start:stop]), doc.tokens[at].start - start, patterns("requests")
    ends = [(m.start(), m.end()) for m in cues["but tells"].finditer(sentence)]
    first = max((last for _, last in ends if last <= place), default=0)
    last = min((first for first, _ in ends if first >= place), default=len(sentence))
    return cues["declines"].search(" ".join(sentence[first:last].split())) is not None


def _plain_of(doc: Doc) -> str:
    """The whole text of a document so, made once."""
    return doc.once("plain", lambda: _plain(doc.text))


def _plain(text: str) -> str:
    """A text in lower case with straight quotes, as long as it was."""
    return "".join(c if len(c) == 1 else " " for c in map(str.lower, text.replace("’", "'")))


def counts_directly(span: DirectSpan, subject: Subject, policy: Policy) -> bool:
    """Whether a direct identifier makes the answer a flag."""
    spared = subject in ("asker", "nobody", *PERSONS[1:]) and subject not in policy.subjects
    return not spared and span.type not in policy.allow_direct
