"""The verdict: a reading, a policy and thresholds to an action with its reason. The only place that makes verdicts.

The first of these that applies decides: a detector broke (`failed`); a direct identifier (`flag`); a cluster of
evidence about one person in what is English, or fewer people who fit than the policy's `fewer_than` (`flag`); an answer
to a probe (as the policy says); one person over several answers (`flag`); a quote, where the policy flags them; what
cannot be judged: empty, not English, unreadable, out of distribution (`abstain`); unsure evidence (`abstain`); δ of a
fitted layer 2 (`flag`, or `abstain` where evidence is sure of the contrary); a quote, where the policy holds them;
facts of a withheld answer told again (`abstain`); `safe`. What was not read, not counted or not understood clears
nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from discreet.core.numbers import counted
from discreet.core.records import PERSONS, Action, Cause, Evidence, Layer, Reason, Verdict
from discreet.guard.policy import Policy
from discreet.guard.reading import Finding, Reading
from discreet.guard.score import EvidenceScore, probability
from discreet.guard.text.attributes import Attribute

if TYPE_CHECKING:
    from discreet.guard.population.people import Measured


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with all findings, those that do not count too, and the score of evidence (None where `failed`).

    `people`: how many fit what is said of each person whose attributes count, fewest first, where that was asked.
    `told` are the words of facts in sentences of a safe answer about individuals, `own` those that the user said.
    """

    verdict: Verdict
    findings: tuple[Finding, ...] = field(default=())
    evidence: EvidenceScore | None = None
    people: tuple[Measured, ...] = field(default=(), repr=False)
    told: tuple[str, ...] = field(default=(), repr=False)
    own: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What an operating point asks for: evidence flags above the log-odds `flags` where the reader's count is above
    `counted`, and is unsure above `unsure`; δ of a fitted layer 2 flags above `tau` what evidence is unsure of."""

    point: str
    flags: float
    counted: float
    unsure: float
    tau: float | None = None


@dataclass(frozen=True, slots=True)
class Layer2:
    """What a fitted layer 2 says: δ on the scale of a logit, δ, σ_s and σ_u, and why it abstains, if it does."""

    logit: float
    delta: float
    safe: float
    unsafe: float
    abstains: str | None


@dataclass(frozen=True, slots=True)
class OverTurns:
    """One person over several answers: sure enough for a flag or not, how many attributes, in which classes, how many
    of them in earlier answers, and where those of this answer stand."""

    sure: bool
    subject: str
    attributes: int
    kinds: tuple[str, ...]
    earlier: int
    chance: float
    evidence: tuple[Evidence, ...]


def decide(reading: Reading, policy: Policy, label: str, found: EvidenceScore, at: Thresholds, *,
           findings: Iterable[Finding] = (), layer2: Layer2 | None = None, people: Sequence[Measured] = (),
           over_turns: OverTurns | None = None) -> Verdict:
    """The verdict on an answer."""
    safe = _safe(reading, label, found, at, policy, layer2)
    if people:
        safe = replace(safe, people=people[0].people())
    change = _unless_safe(safe, reading, policy, found, at, findings, layer2, people, over_turns)
    verdict = replace(safe, **change)
    if not reading.quotes:
        return verdict
    listed = tuple(Evidence("quote", "nobody", one.start, one.end) for one in reading.quotes)
    return replace(verdict, evidence=verdict.evidence + listed)


def _safe(reading: Reading, label: str, found: EvidenceScore, at: Thresholds, policy: Policy,
           layer2: Layer2 | None) -> Verdict:
    """The verdict "safe", with every score."""
    reason = _of_evidence("none", found, at, policy)
    verdict = Verdict(reading.answer.id, "safe", None, probability(found.logit), None, found.listed(), label,
                      sentence(reason), logit=found.logit, threshold=at.flags, cause=reason)
    if layer2 is None:
        return verdict
    return replace(verdict, score=probability(layer2.logit), delta=layer2.delta, sigma_safe=layer2.safe,
                   sigma_unsafe=layer2.unsafe, tau=at.tau)


def _unless_safe(safe: Verdict, reading: Reading, policy: Policy, found: EvidenceScore, at: Thresholds,
            findings: Iterable[Finding], layer2: Layer2 | None, people: Sequence[Measured],
            over_turns: OverTurns | None) -> dict[str, Any]:
    """What differs from the verdict "safe"."""
    flagged = (_direct(safe, findings) or _by_evidence(reading, found, at, policy, people)
               or _probed(safe, reading, policy, "flag") or _linked(safe, over_turns, sure=True))
    if flagged:
        return flagged
    copied = Reason("verbatim", words=max([q.words for q in reading.quotes], default=0))
    if reading.quotes and policy.quotes.action == "flag":
        return _as("flag", copied, "verbatim", score=1.0)
    if (unjudged := _unjudged(reading)) is not None:
        return _as("abstain", unjudged)
    if layer2 is not None and layer2.abstains is not None and policy.subjects:
        return _as("abstain", Reason("out_of_distribution", detail=layer2.abstains))
    by_delta = layer2 is not None and at.tau is not None and layer2.delta > at.tau
    suppressed = suppressed_by_subject(reading.attributes, policy) if by_delta else None
    unsure = found.logit > at.unsure and (found.cluster or not found.stated_only)
    implies = found.cluster or not reading.brief
    if unsure and implies and policy.subjects and (not by_delta or suppressed is not None):
        return _as("abstain", _of_evidence("unsure", found, at, policy))
    held = (_probed(safe, reading, policy, "abstain") or _linked(safe, over_turns, sure=False)
            or (_as("abstain", copied) if reading.quotes and policy.quotes.action == "abstain" else {}))
    if not by_delta:
        return held
    if suppressed is not None:
        return held or _as("safe", Reason("suppressed", detail=suppressed))
    if not unsure:
        return _as("abstain", _of_evidence("disagree", found, at, policy))
    return _as("flag", _of_evidence("density", found, at, policy), "contextual")


def _as(action: Action, reason: Reason, layer: Layer | None = None, **more: Any) -> dict[str, Any]:
    return {"action": action, "layer": layer, "cause": reason, "reason": sentence(reason), **more}


def _direct(safe: Verdict, findings: Iterable[Finding]) -> dict[str, Any]:
    blocked = [f for f in findings if f.layer == "direct" and f.counts]
    if not blocked:
        return {}
    where = tuple(Evidence(f.type, f.subject, f.start, f.end) for f in blocked)
    reason = Reason("direct", tuple(sorted({f.type for f in blocked})), blocked[0].subject)
    return _as("flag", reason, "direct", score=1.0, evidence=where + safe.evidence)


def _by_evidence(reading: Reading, found: EvidenceScore, at: Thresholds, policy: Policy, people: Sequence[Measured]
                 ) -> dict[str, Any]:
    """A cluster, or fewer people than the policy asks for: the upper end of their 95% interval is below it. What is
    told in another language is not judged: a text that holds some is flagged by a cluster in what is English."""
    score = probability(found.logit)
    judged = reading.language.english or reading.in_english(found.listed()) >= policy.cluster
    if judged and found.flags(at.flags, at.counted):
        return _as("flag", _of_evidence("cluster", found, at, policy), "contextual", score=score)
    fewest = policy.fewer_than
    for one in people:
        if fewest is not None and one.count.estimate is not None and one.count.interval95[1] < fewest:
            reason = replace(_of_evidence("few_people", found, at, policy),
                             detail=f"fewer than {fewest:,}: {one.people().sentence()}")
            return _as("flag", reason, "contextual", score=score)
    return {}


def _probed(safe: Verdict, reading: Reading, policy: Policy, action: Action) -> dict[str, Any]:
    probe = reading.probe(policy) if policy.probe == action else None
    if probe is None:
        return {}
    reason = Reason("probe", probe.kinds, probe.subject, needed=policy.cluster,
                    detail="a direct identifier" if probe.named else "")
    where = (Evidence("answer_to_probe", probe.subject, 0, len(reading.answer.answer)),)
    layer: Layer | None = "contextual" if action == "flag" else None
    return _as(action, reason, layer, evidence=safe.evidence + where, score=1.0 if action == "flag" else safe.score)


def _linked(safe: Verdict, over_turns: OverTurns | None, *, sure: bool) -> dict[str, Any]:
    if over_turns is None or over_turns.sure is not sure:
        return {}
    cause: Cause = "over_turns" if sure else "unsure_over_turns"
    reason = Reason(cause, over_turns.kinds, over_turns.subject, over_turns.attributes,
                    detail=f"{over_turns.earlier} of them in earlier answers")
    evidence = tuple(dict.fromkeys((*safe.evidence, *over_turns.evidence)))
    return _as("flag" if sure else "abstain", reason, "contextual" if sure else None, score=over_turns.chance,
               evidence=evidence)


def _unjudged(reading: Reading) -> Reason | None:
    """Why an answer cannot be judged. An empty one is not safe: whoever sent it may have lost the text on the way."""
    if reading.empty:
        return Reason("empty")
    if reading.doc.prepared.beyond:
        return Reason("unreadable", detail="more coded or tabular text than is decoded")
    if not reading.language.readable:
        return Reason("unreadable", detail=reading.language.reason)
    if not reading.language.english:
        return Reason("language", detail=reading.language.reason)
    return None


def _of_evidence(cause: Cause, found: EvidenceScore, at: Thresholds, policy: Policy) -> Reason:
    best = found.best
    if best is None:
        return Reason(cause, attributes=0, needed=policy.cluster, inferred=found.inferred, odds=found.logit,
                      threshold=at.flags, point=at.point)
    kinds = tuple(sorted({a.kind for a in best.attributes}))
    return Reason(cause, kinds, best.subject, best.size, best.weak, policy.cluster, found.inferred, found.logit,
                  at.flags, at.point)


_SETTLED = frozenset({"asker", *PERSONS[1:]})
"""Subjects that explain why a text speaks of a person."""


def suppressed_by_subject(attributes: Iterable[Attribute], policy: Policy) -> str | None:
    """Why a contextual flag by δ does not stand, or None where it does.

    An embedding sees that a text speaks of a person, not whose record that is. So such a flag does not stand where the
    policy counts nobody's attributes (a clinician who reads about their own patient), nor where evidence finds as many
    distinct attributes that count as make a cluster, and every one belongs to the asker or to somebody who is not
    private (or speaks of a cohort). What is said of a cohort, or one attribute that the user said too, does not
    explain the rest.
    """
    if not policy.subjects:
        return "the policy counts nobody's attributes"
    found = {(a.kind, a.value, a.subject) for a in attributes if a.kind in policy.counted}
    subjects = {subject for _, _, subject in found}
    settled = subjects & _SETTLED
    spared = subjects <= (_SETTLED | {"cohort"}) - set(policy.subjects)
    if spared and len({(kind, value) for kind, value, subject in found if subject in settled}) >= policy.cluster:
        return f"every attribute belongs to the {', '.join(sorted(settled))}: already said by the user, or not private"
    return None


def seconded(first: Verdict, second: Verdict) -> Verdict:
    """What a second detector makes of an abstention. Its reason may quote the answer and is left behind."""
    reason = Reason("second", detail=f"abstained ({first.reason}); the second detector says {second.action}")
    if second.action == "failed":
        return replace(first, score=None, delta=None, logit=None, **_as("failed", reason))
    layer: Layer | None = (second.layer or "contextual") if second.action == "flag" else None
    return replace(first, **_as(second.action, reason, layer))


def restated(safe: Verdict, facts: int, seconds: float) -> Verdict:
    """A safe verdict on an answer that tells facts again which were withheld so many seconds ago."""
    reason = Reason("restated", facts=facts, detail=f"{seconds:.0f} s ago")
    return replace(safe, **_as("abstain", reason))


def failed(answer: str, label: str, why: str, *, detector: str = "", latency_ms: float | None = None) -> Verdict:
    """The verdict on an answer that could not be judged, by `detector` where one broke; `why` holds no text of it."""
    reason = Reason("failed", detail=why, detector=detector)
    return Verdict(answer, "failed", None, None, None, (), label, sentence(reason), latency_ms=latency_ms, cause=reason)


def sentence(reason: Reason) -> str:
    """A reason in words."""
    kinds = ", ".join(reason.kinds)
    whose = f"{_attributes(reason)} bound to one person ({reason.subject})"
    inferred = f"can be inferred: {', '.join(reason.inferred)}" if reason.inferred else ""
    told = "; ".join(filter(None, (f"{whose}: {kinds}" if reason.attributes else "", inferred)))
    few = reason.needed is not None and (reason.attributes or 0) < reason.needed
    quiet = ("no attribute that counts is bound to one person" if not reason.attributes else
             f"{whose}, fewer than the {reason.needed} that make a cluster" if few else
             f"{whose}, below the threshold of the operating point {reason.point}")
    described = " and ".join(filter(None, (reason.detail, kinds)))
    sentences: Mapping[Cause, str] = {
        "none": quiet,
        "suppressed": reason.detail,
        "direct": f"direct identifiers: {kinds}",
        "cluster": told,
        "few_people": reason.detail,
        "probe": f"the question describes a person by {described}, and the answer tells something of them",
        "density": f"reads like the unsafe texts of the fit, though evidence alone does not flag it: {quiet}",
        "verbatim": f"quotes a retrieved passage nearly word for word ({counted(reason.words or 0, 'word')})",
        "over_turns": f"over turns: {whose}: {kinds}; {reason.detail}",
        "unsure_over_turns": f"unsure over turns: {whose}: {kinds}; {reason.detail}",
        "restated": f"restates {counted(reason.facts or 0, 'fact')} of an answer that was withheld {reason.detail}",
        "empty": "the answer is empty: there is nothing to judge",
        "language": f"not judged: {reason.detail}",
        "unreadable": f"not judged: {reason.detail}",
        "out_of_distribution": reason.detail,
        "unsure": f"unsure: {quiet}, but the text may imply more about the person than it states",
        "disagree": "reads like the unsafe texts that the guard was fitted on, but evidence is sure that it is not",
        "second": reason.detail,
        "failed": f"{reason.detail}; the answer was not judged",
    }
    return sentences[reason.cause]


def _attributes(reason: Reason) -> str:
    weak = f" ({reason.weak} weak)" if reason.weak else ""
    return f"{counted(reason.attributes or 0, 'attribute')}{weak}"
