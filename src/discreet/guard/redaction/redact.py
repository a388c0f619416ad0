"""Redaction: an answer that was held, without what gives a person away, judged again before it goes out.

Direct identifiers that count become marks. What a sentence tells of a person is put more widely where `wording.py` is
sure how, class by class, as long as that is not enough; then sentences are left out, those that tell most first. The
text goes out only where a guard with stricter thresholds calls it safe, each sentence about a person by itself too,
nothing that counts stands as it was told, and what is left, taken for one person's, is less than a cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from discreet.core.records import Answer
from discreet.guard.reading import Finding, Reading
from discreet.guard.redaction.changes import Change, applied, overlap, placed
from discreet.guard.redaction.marks import MARK, NUMBER, further_of, marks_of
from discreet.guard.redaction.pieces import Pieces
from discreet.guard.redaction.wording import ORDER, Edit, wider
from discreet.guard.text.reader import TOLD
from discreet.guard.text.reply import NEVER

if TYPE_CHECKING:
    from discreet.guard.decide import Judgement
    from discreet.guard.guard import Guard

_Fact = tuple[str, str, int, int]
"""Class, value and place of an attribute."""
Outcome = Literal["unchanged", "redacted", "not_judged", "quote", "probe", "too_long", "not_enough"]
NEXT = {"conservative": "balanced", "balanced": "strict"}
"""The operating point by whose thresholds a redacted answer is judged."""
MARGIN = 0.5
"""Log-odds by which these thresholds are lower than the guard's own at least."""
COUNTED = 0.0
"""Log-odds of the reader's count of one sentence above which the sentence tells so many attributes."""
NOBODY = -10.0
"""Log-odds of the reader's count of one sentence below which it surely tells nothing of anybody."""
MOST = 64
"""Most sentences of an answer that is redacted; a longer one is withheld."""
_CANNOT = ("empty", "language", "unreadable", "out_of_distribution", "failed", "second", "restated", "over_turns",
           "unsure_over_turns", "verbatim", "probe")
_WHOLE_ONLY = ("language", "unreadable", "out_of_distribution", "empty")
"""Why one sentence may be undecided though the answer as a whole is not: it is short."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """What became of an answer.

    `text` may go out; None where the answer must be withheld, and `outcome` says why: it could not be judged
    ("not_judged"), quotes a passage ("quote"), answers a probe ("probe"), has more than `MOST` sentences ("too_long"),
    or no text was left that is surely safe ("not_enough"). `changes` are in order of place and never overlap; none
    where nothing goes out. `before` is the judgement on the answer, `after` that on the text, or on the last attempt,
    by stricter thresholds; None where nothing was attempted.
    """

    text: str | None = field(repr=False)
    outcome: Outcome
    changes: tuple[Change, ...]
    before: Judgement
    after: Judgement | None


def redact(guard: Guard, answer: Answer) -> Redaction:
    """An answer that the guard calls safe as it is; another one redacted, or None for its text."""
    before, reading = guard.judged(answer, None)
    cause = "failed" if before.verdict.cause is None else before.verdict.cause.cause
    if before.verdict.action == "safe":
        return Redaction(answer.answer, "unchanged", (), before, None)
    counted = [one for one in before.findings if one.counts]
    withheld: Outcome | None = None
    if any(one.layer == "verbatim" for one in counted) or cause == "verbatim":
        withheld = "quote"
    elif any(one.type == "answer_to_probe" for one in counted) or cause == "probe":
        withheld = "probe"
    elif reading is None or cause in _CANNOT:
        withheld = "not_judged"
    if withheld is not None or reading is None:
        return Redaction(None, withheld or "not_judged", (), before, None)
    return _Search(stricter(guard), answer, before, reading).run()


def stricter(guard: Guard) -> Guard:
    """The guard at the next stricter operating point, its thresholds lower by `MARGIN` at least; asks no second."""
    point = NEXT.get(guard.point, guard.point)
    unsure = guard.unsure_above(guard.point)
    tau = guard.tau
    if tau is not None and guard.is_fitted:
        tau = min(guard.detector.tau(point), tau - MARGIN)
    other = guard.at(tau, min(guard.model.threshold(point), guard.evidence_tau - MARGIN),
                     min(guard.unsure_above(point), unsure - MARGIN))
    other.point, other.second = point, None
    return other


@dataclass(frozen=True, slots=True)
class _Checked:
    """A text with its judgement, how many attributes each piece tells and the log-odds of any, the pieces that are not
    safe by themselves, how many attributes all of them tell, taken for one person's, and how many of these stand as in
    the original."""

    text: str
    judgement: Judgement
    told: tuple[tuple[int, float], ...]
    unsafe: frozenset[int]
    total: int
    as_told: int


class _Search:
    """The search for the least changes that are enough."""

    def __init__(self, guard: Guard, answer: Answer, before: Judgement, reading: Reading) -> None:
        self.guard, self.answer, self.before = guard, answer, before
        self.original = answer.answer
        self.pieces = Pieces.of(self.original)
        found = [*before.findings, *further_of(reading, before.findings, guard.policy)]
        self.marks = marks_of(self.original, found) if len(self.pieces.pieces) <= MOST else []
        self._alone: dict[str, tuple[Judgement, Reading | None]] = {}
        self.options: dict[str, list[tuple[Edit, ...]]] = {}
        self.found: list[Finding] = []
        self.general: frozenset[int] = frozenset()

    def run(self) -> Redaction:
        """The redaction of the answer."""
        if len(self.pieces.pieces) > MOST:
            return self._withheld("too_long")
        self.general = frozenset(filter(self._is_general, range(len(self.pieces.pieces))))
        counted = [one for one in self.before.findings if one.counts and one.layer != "direct"
                   and not self.general.issuperset(self.pieces.at(one.start, one.end))]
        self.found = [*counted, *(one for i in range(len(self.pieces.pieces)) for one in self._findings(i))]
        for one in self.found:
            edits = wider(one.type, self.original, one.start, one.end)
            prose = all(map(self.pieces.is_prose, self.pieces.at(one.start, one.end)))
            if edits and prose and edits not in self.options.setdefault(one.type, []):
                self.options[one.type].append(edits)
        chosen: list[str] = []
        checked = self._check(chosen, ())
        if checked is not None and self._enough(checked, marked=True):
            return Redaction(checked.text, "redacted", self._changes(chosen, ()), self.before, checked.judgement)
        for kind in ORDER:
            if checked is None or self._enough(checked):
                break
            if self.options.get(kind):
                chosen.append(kind)
                checked = self._check(chosen, ())
        return self._leave_out(chosen, checked)

    def _leave_out(self, chosen: Sequence[str], checked: _Checked | None) -> Redaction:
        dropped: set[int] = set()
        while checked is not None and not self._enough(checked):
            more = checked.unsafe - dropped or self._fullest(checked, dropped) or self._likeliest(chosen, dropped)
            if not more:
                return self._withheld("not_enough", checked.judgement)
            dropped = self._together(dropped | more)
            checked = self._check(chosen, dropped)
        if checked is None or not any(c.isalnum() for c in MARK.sub("", checked.text)):
            return self._withheld("not_enough", None if checked is None else checked.judgement)
        return Redaction(checked.text, "redacted", self._changes(chosen, dropped), self.before, checked.judgement)

    def _together(self, dropped: set[int]) -> set[int]:
        """Pieces that go, with those that hold the rest of an identifier."""
        for edit, _ in self.marks:
            if not dropped.isdisjoint(of := self.pieces.at(edit.start, edit.end)):
                dropped = dropped.union(of)
        return dropped

    def _withheld(self, outcome: Outcome, after: Judgement | None = None) -> Redaction:
        return Redaction(None, outcome, (), self.before, after)

    def _findings(self, i: int) -> list[Finding]:
        """What counts in a piece of the original by itself, at its place in the original, where the piece speaks of
        somebody and the answer as a whole does not give it to somebody who does not count."""
        piece = self.pieces.pieces[i]
        judgement, alone = self._by_itself(self.original[piece.start : piece.end])
        named = any(edit.start < piece.end and piece.start < edit.end for edit, _ in self.marks)
        if alone is None or not (named or self._tells(alone)):
            return []
        settled = [one for one in self.before.findings if one.layer == "contextual" and not one.counts
                   and one.subject != "nobody" and one.start < piece.end and piece.start < one.end]
        # What is short may read as an answer to anything: whether it confirms what was asked, the whole answer says.
        found = [replace(one, start=one.start + piece.start, end=one.end + piece.start) for one in judgement.findings
                 if one.counts and one.layer == "contextual" and one.type != "answer_to_probe"]
        return [one for one in found if not any(other.type == one.type and other.start < one.end
                                                and one.start < other.end for other in settled)]

    def _is_general(self, i: int) -> bool:
        """Whether a piece by itself speaks of nobody and surely tells nothing, whatever the answer makes of it:
        "In Nebraska the test is free." behind a sentence about a patient."""
        piece = self.pieces.pieces[i]
        judgement, alone = self._by_itself(self.original[piece.start : piece.end])
        named = any(edit.start < piece.end and piece.start < edit.end for edit, _ in self.marks)
        return (alone is not None and alone.seen is not None and judgement.verdict.action == "safe" and not named
                and not alone.attributes and not self._tells(alone) and float(alone.seen.counts.max()) < NOBODY)

    def _by_itself(self, text: str) -> tuple[Judgement, Reading | None]:
        if text not in self._alone:
            self._alone[text] = self.guard.judged(replace(self.answer, answer=text), None)
        return self._alone[text]

    def _changes(self, chosen: Sequence[str], dropped: Collection[int]) -> tuple[Change, ...]:
        cuts = [Change(start, end, "sentence", "") for start, end in self.pieces.cuts(self.original, dropped)]
        kept: list[Change] = []
        # Marks before everything else, and the classes in their order: what overlaps these is not put more widely.
        groups = [[one] for one in self.marks] + [[(edit, kind) for edit in group] for kind in chosen
                                                  for group in self.options[kind]]
        for group in groups:
            new = [Change(edit.start, edit.end, kind, edit.new) for edit, kind in group]
            if not any(overlap(a, b) for a in new for b in (*kept, *cuts)):
                kept += new
        return tuple(sorted([*cuts, *kept], key=lambda one: (one.start, one.end)))

    def _check(self, chosen: Sequence[str], dropped: Collection[int]) -> _Checked | None:
        """The text with these changes; None where nothing is left of it, or a detector breaks."""
        changes = self._changes(chosen, dropped)
        text = applied(self.original, changes)
        if not text.strip():
            return None
        whole, reading = self.guard.judged(replace(self.answer, answer=text), None)
        if reading is None:
            return None
        told: list[tuple[int, float]] = []
        unsafe: set[int] = set()
        every: set[tuple[str, str]] = set()
        more = as_told = 0
        wide = [one for one in changes if one.type in ORDER and one.replacement]
        new = [(placed(changes, one.start), one.replacement) for one in wide]
        for i, piece in enumerate(self.pieces.pieces):
            start, end = placed(changes, piece.start), placed(changes, piece.end)
            said = text[start:end]
            if i in dropped or not any(c.isalnum() for c in said):
                told.append((0, NEVER))
                continue
            judgement, alone = self._by_itself(said)
            found, further = self._facts(reading, alone, start, end)
            facts = {(kind, value) for kind, value, _, _ in found}
            stay = {(one.type, one.start) for one in self.found if one.start < piece.end and piece.start < one.end
                    and not any(change.start < one.end and one.start < change.end for change in changes)}
            odds = -NEVER if alone is None else float(alone.seen.counts.max())
            told.append((max(len(facts) + further, len(stay)), odds))
            if i in self.general:  # What is given to somebody for its place alone.
                continue
            as_told += len(stay)
            every |= facts
            more += further
            inside = [(at, at + len(words)) for at, words in new if start <= at < end]
            as_told += sum(not any(lo < b and a < hi for lo, hi in inside) for _, _, a, b in found)
            if self._unsafe(judgement, alone):
                unsafe.add(i)
        return _Checked(text, whole, tuple(told), frozenset(unsafe), len(every) + more, as_told)

    def _facts(self, whole: Reading, alone: Reading | None, start: int, end: int) -> tuple[set[_Fact], int]:
        """What a piece tells that counts, by the answer as a whole and by itself, with its place in the text, and how
        many further attributes the reader counts in it. What the answer as a whole says of somebody who does not count
        is left out, and what only a sentence that speaks of nobody says ("p. 69" by itself)."""
        policy = self.guard.policy
        mine = [a for a in whole.attributes if a.kind in policy.counted and a.start < end and start < a.end]
        tells = alone is None or self._tells(alone)
        sure = [a for a in mine if a.subject in policy.subjects and (tells or not a.weak)]
        facts = {(a.kind, a.value, a.start, a.end) for a in sure}
        others = [a for a in mine if a.subject not in policy.subjects and a.subject != "nobody"]
        if alone is None:
            return facts, 1
        spared = False
        for a in alone.attributes:
            if a.kind in policy.counted and a.subject in policy.subjects and tells:
                if any(b.kind == a.kind and b.start < start + a.end and start + a.start < b.end for b in others):
                    spared = True
                else:
                    facts.add((a.kind, a.value, start + a.start, start + a.end))
        if alone.seen is None or spared or others or any(a.overruled for a in alone.attributes):
            return facts, 0
        spoken = {r.subject for r in alone.referents(policy) if r.form != "plural"}
        told = [i for i, subject in enumerate(TOLD) if subject in policy.subjects and subject in spoken]
        odds = alone.seen.counts[told].max(0) if told else ()
        return facts, max(0, sum(float(one) > COUNTED for one in odds) - len({one[:2] for one in facts}))

    def _enough(self, checked: _Checked, *, marked: bool = False) -> bool:
        """Whether a text may go out: safe, and with less than a cluster left, none of it as it was told; where it only
        got marks, what is less than a cluster may stay."""
        policy = self.guard.policy
        if checked.as_told and not marked:
            return False
        if checked.judgement.verdict.action != "safe" or checked.unsafe or checked.total >= policy.cluster:
            return False
        fewest = policy.fewer_than
        return fewest is None or all(one.count.estimate is not None and not one.upper_bound
                                     and one.count.interval95[0] >= fewest for one in checked.judgement.people)

    @staticmethod
    def _fullest(checked: _Checked, dropped: Collection[int]) -> set[int]:
        """The piece that tells most, of these the one that does so most likely."""
        (most, _), at = max((told, i) for i, told in enumerate([*checked.told, (0, NEVER)]))
        return {at} - set(dropped) if most else set()

    def _likeliest(self, chosen: Sequence[str], dropped: Collection[int]) -> set[int]:
        """Where nothing that counts is left and the text is still held: of the pieces that speak of somebody, the one
        without which the evidence is least."""
        odds: dict[int, float] = {}
        for i, piece in enumerate(self.pieces.pieces):
            _, alone = self._by_itself(self.original[piece.start : piece.end])
            if i not in dropped and (alone is None or self._tells(alone)):
                text = applied(self.original, self._changes(chosen, {*dropped, i}))
                found = self.guard.judge(replace(self.answer, answer=text)).verdict
                odds[i] = MOST if found.logit is None else found.logit
        return {min(odds, key=odds.__getitem__)} if odds else set()

    def _tells(self, alone: Reading) -> bool:
        """Whether a sentence speaks of an individual who counts, or of one with a mark."""
        subjects = self.guard.policy.subjects
        return (any(r.subject in subjects and r.form != "plural" for r in alone.referents(self.guard.policy))
                or any(m[1] != NUMBER for m in MARK.finditer(alone.answer.answer)))

    def _unsafe(self, judgement: Judgement, alone: Reading | None) -> bool:
        """Whether one sentence is not safe by itself. What is short may read as no language or as an answer to
        anything, which the answer as a whole decides, and where it speaks of nobody, only a flag counts."""
        verdict = judgement.verdict
        cause = None if verdict.cause is None else verdict.cause.cause
        if verdict.action == "safe" or cause in _WHOLE_ONLY:
            return False
        if alone is None or verdict.logit is None or (verdict.action == "flag" and cause != "probe"):
            return True
        return self._tells(alone) and verdict.logit > self.guard.unsure_above(self.guard.point)
