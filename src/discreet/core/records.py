"""The frozen records that cross rooms.

Nothing here shows an answer's text in its `repr`: records end up in logs and tracebacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite, isnan
from typing import Any, Literal, get_args

Action = Literal["safe", "flag", "abstain", "failed"]
Layer = Literal["direct", "contextual", "verbatim"]
Code = Literal["ok", "privacy/direct", "privacy/contextual", "privacy/verbatim", "privacy/undecided",
               "privacy/not_judged"]
Origin = Literal["user", "retrieved", "tool", "system", "answer", "unknown"]
UserMessages = Literal["auto", "words", "prompt"]
Asker = Literal["unknown", "self"]
Subject = Literal["third", "speaker", "asker", "public", "staff", "historic", "hypothetical", "fictional", "cohort",
                  "nobody"]

CODES: dict[Layer, Code] = {"direct": "privacy/direct", "contextual": "privacy/contextual",
                            "verbatim": "privacy/verbatim"}
"""The reason code of a flag by its layer."""
ACTIONS: tuple[Action, ...] = ("safe", "flag", "abstain", "failed")
ORIGINS: tuple[Origin, ...] = ("user", "retrieved", "tool", "system", "answer", "unknown")
USER_MESSAGES: tuple[UserMessages, ...] = ("auto", "words", "prompt")
SUBJECTS: tuple[Subject, ...] = get_args(Subject)
PERSONS: tuple[Subject, ...] = ("third", "public", "staff", "historic", "hypothetical", "fictional")
"""The subjects who are individuals of whom a text tells: private, public in a public role, staff in a professional
role, historic or of a published case, hypothetical, fictional."""


def plain(value: Any) -> Any:
    """Mappings, lists and tuples with everything in them that has `to_json` as plain values."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.to_json() if hasattr(value, "to_json") else value


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval, or the reason why there is none.

    `value`, `low` and `high` are None where the sample cannot resolve the figure; `reason` says why, and what sample
    would. `level` is the nominal coverage of the interval, in (0, 1); `n` the sample size in `unit`, what was resampled
    or counted ("answer", "user", "pair", …); `n_pos` and `n_neg` are those of two classes; `method` says how it was
    made.
    """

    value: float | None
    low: float | None
    high: float | None
    level: float = 0.95
    n: int | None = None
    n_pos: int | None = None
    n_neg: int | None = None
    unit: str = "answer"
    method: str = ""
    reason: str | None = None

    def __post_init__(self) -> None:
        numbers = [v for v in (self.value, self.low, self.high) if v is not None]
        if any(isnan(v) for v in numbers):
            raise ValueError("an Estimate holds no NaN: use Estimate.unresolved(reason=…)")
        if self.value is None and not self.reason:
            raise ValueError("an Estimate without a value must say why: use Estimate.unresolved(reason=…)")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"an interval must have low <= high, got {self.low} > {self.high}")

    @classmethod
    def unresolved(cls, reason: str, **facts: Any) -> Estimate:
        """An explicit "this sample cannot say", never zero and never NaN."""
        return cls(value=None, low=None, high=None, reason=reason, **facts)

    @property
    def resolved(self) -> bool:
        """Whether there is a figure at all."""
        return self.value is not None

    def to_json(self) -> dict[str, Any]:
        """The same ten keys in every JSON file; null where they do not apply."""
        found = {name: getattr(self, name) for name in self.__slots__}
        return found | {name: float(found[name]) if found[name] is not None and isfinite(found[name]) else None
                        for name in ("value", "low", "high")}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Estimate:
        """Read back what `to_json` wrote."""
        return cls(**{key: data[key] for key in cls.__slots__})

    def __str__(self) -> str:
        if self.value is None:
            return f"unresolved ({self.reason})"
        if self.low is None or self.high is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier message, or one typed part of a message, of the request that an answer belongs to.

    `origin` is that of a typed part (a document, a search result, the result of a tool), and may only withdraw consent:
    without it the role decides, and the text of a user message is undeclared.
    """

    role: str
    text: str = field(repr=False)
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Prompts:
    """What the application of a caller sends as user messages.

    `user_messages`: "words", each is the user's own words; "prompt", none is, but for what a template says; "auto", a
    message that reads as a user's speech as a whole is. `templates` are those of the application, with the slots
    `{question}`, `{context}` and `{other}`, or names of known ones (`discreet.guard.text.templates.known`).
    `public_sources`: anybody may read the passages that it retrieves (not what its tools give), as if each were a
    `Public`.
    """

    user_messages: UserMessages = "auto"
    templates: tuple[str, ...] = field(default=(), repr=False)
    public_sources: bool = False


class Public(str):
    """A retrieved passage that anybody may read: what an answer tells out of it is no leak. A string otherwise."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What the guard judges: a generated answer with the request that it answers.

    `user_words` declares what the user typed: the caller vouches for it. `question` is the last user message as the
    model got it, which may hold retrieved text; `prompts` says what such messages are. `sources` are the retrieved
    passages, those that anybody may read as `Public`; `conversation` holds the earlier messages, oldest first. `asker`
    is "self" where the caller has authenticated that the user is the person whom the records describe. `calls`: the
    answer is arguments of tool calls, and what the model was given stands in the other fields; text that is said beside
    them is an answer of its own.
    """

    id: str
    answer: str = field(repr=False)
    question: str | None = field(default=None, repr=False)
    sources: tuple[str, ...] = field(default=(), repr=False)
    conversation: tuple[Turn, ...] = field(default=(), repr=False)
    user_words: str | None = field(default=None, repr=False)
    prompts: Prompts = Prompts()
    asker: Asker = "unknown"
    calls: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where an answer says what about whom: a type and a span of the *original* text, never the text itself."""

    type: str
    subject: str
    start: int
    end: int

    def to_json(self) -> dict[str, Any]:
        """`{type, subject, start, end}`."""
        return {"type": self.type, "subject": self.subject, "start": self.start, "end": self.end}


@dataclass(frozen=True, slots=True)
class People:
    """How many people of a population fit what an answer says of one person: an estimate with two intervals.

    `used`, `dropped` and `unknown` are classes of attributes, never values: counted; said, but not in the population;
    said with a value that it does not have. `not_counted` are classes of the domain, for which there is no population.
    The count is an `upper_bound` where something that was said is not in it. Where there is none (`estimate` None),
    `problem` says why: two attributes that nobody has together, or none that could be counted. `uncounted` is the
    number of further words about the person that are in no counted attribute. `place` is where, in words, and
    `uncounted_words` are those words; both leave the process only where text may be shown.
    """

    estimate: float | None
    interval80: tuple[float, float]
    interval95: tuple[float, float]
    used: tuple[str, ...]
    dropped: tuple[str, ...]
    unknown: tuple[str, ...]
    not_counted: tuple[str, ...]
    upper_bound: bool
    source: str
    year: str
    problem: str | None = None
    place: str = field(default="", repr=False)
    uncounted: int = 0
    uncounted_words: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if (self.estimate is None) != (self.problem is not None):
            raise ValueError("a count of people is a number, or says why there is none")
        numbers = (self.estimate or 0.0, *self.interval80, *self.interval95)
        if not all(isfinite(n) and n >= 0 for n in numbers):
            raise ValueError("a count of people is finite and not below 0")

    def sentence(self, *, where: bool = False) -> str:
        """"about 40 people fit (8 to 190)", with the 95% interval; with `where` "about 40 people in Nebraska fit".

        Figures are rounded to two digits: the estimate has no more.
        """
        if self.estimate is None:
            return f"how many people fit cannot be said: {self.problem}"
        number = rounded(self.estimate)
        who = f"about {number:,} people" if number > 1 else "about 1 person" if number else "hardly anybody"
        low, high = (rounded(one) for one in self.interval95)
        there = f" in {self.place}" if where and self.place else ""
        fits = f"{who}{there} {'fit' if number > 1 else 'fits'} ({low:,} to {high:,})"
        return f"at most {fits}" if self.upper_bound and number else fits

    def to_json(self, *, where: bool = False) -> dict[str, Any]:
        """Figures and classes; `where` names the place in the sentence, and adds the words that were not counted."""
        words = {"uncounted_words": list(self.uncounted_words)} if where else {}
        return {"estimate": self.estimate, "interval80": list(self.interval80), "interval95": list(self.interval95),
                "used": list(self.used), "dropped": list(self.dropped), "unknown": list(self.unknown),
                "not_counted": list(self.not_counted), "upper_bound": self.upper_bound, "source": self.source,
                "year": self.year, "problem": self.problem, "sentence": self.sentence(where=where),
                "uncounted": self.uncounted, **words}


def rounded(number: float) -> int:
    """A count to two significant digits."""
    return int(float(f"{number:.2g}") + 0.5)


Cause = Literal["none", "suppressed", "direct", "cluster", "few_people", "probe", "density", "verbatim", "over_turns",
                "restated", "empty", "language", "unreadable", "out_of_distribution", "unsure", "unsure_over_turns",
                "disagree", "second", "failed"]
CAUSES: tuple[Cause, ...] = get_args(Cause)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a verdict is what it is, for machines; `Verdict.reason` is the sentence that is made of it.

    `kinds` are the classes of attributes that count, or types of direct identifiers; `attributes` how many are bound to
    the person, `weak` those of them on an uncertain cue, `needed` how many the policy asks for; `subject` whose they
    are; `inferred` the classes that no words state. `odds` are the log-odds of evidence and `threshold` that of the
    operating point `point`. `words` is the length of a quote (cause "verbatim"), `facts` how many are told again
    ("restated"), `detector` the one that broke ("failed"), such as "recogniser 'ssn'". What a cause does not have is
    None or empty. `detail` is a clause in words, without text of the answer.
    """

    cause: Cause
    kinds: tuple[str, ...] = ()
    subject: str = ""
    attributes: int | None = None
    weak: int = 0
    needed: int | None = None
    inferred: tuple[str, ...] = ()
    odds: float | None = None
    threshold: float | None = None
    point: str = ""
    detail: str = ""
    words: int | None = None
    facts: int | None = None
    detector: str = ""

    def to_json(self) -> dict[str, Any]:
        """Every field as a plain value."""
        return {name: plain(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the guard says of one answer.

    `score`, a number unless the action is `failed`, belongs to what decided: 1 for a direct identifier, the
    probability by evidence where that flags. `logit` are the log-odds of evidence, flagged above `threshold`; `delta`
    (flagged above `tau`) and both sigmas are those of a fitted layer 2, None without one. `cause` says why, `reason`
    says it in a sentence. `people` says how many people fit what the answer says of the person whom it narrows down
    most, where that was asked and anything is said.
    """

    id: str
    action: Action
    layer: Layer | None
    score: float | None
    delta: float | None
    evidence: tuple[Evidence, ...]
    policy: str
    reason: str
    sigma_safe: float | None = None
    sigma_unsafe: float | None = None
    tau: float | None = None
    latency_ms: float | None = None
    people: People | None = None
    logit: float | None = None
    threshold: float | None = None
    cause: Reason | None = None

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise ValueError(f"action must be one of {ACTIONS}, got {self.action!r}")
        if (self.score is None) != (self.action == "failed"):
            raise ValueError("score is a number in every verdict but `failed`, and null there")

    @property
    def rank(self) -> float | None:
        """What ranks answers by: δ of a fitted layer 2, else the log-odds of evidence; None where the guard failed."""
        return self.logit if self.delta is None else self.delta

    @property
    def code(self) -> Code:
        """The reason code: all that a user may know of the verdict."""
        if self.action == "flag":
            return CODES[self.layer or "contextual"]
        if self.action == "safe":
            return "ok"
        return "privacy/undecided" if self.action == "abstain" else "privacy/not_judged"

    def to_json(self, *, where: bool = False) -> dict[str, Any]:
        """The line that machines read; keys are fixed, null where a mode has no such field.

        `where` lets the sentence on people name their place, and adds the words that were not counted: for whoever may
        read the answer itself.
        """
        return {
            "id": self.id, "action": self.action, "layer": self.layer, "score": self.score, "delta": self.delta,
            "sigma_safe": self.sigma_safe, "sigma_unsafe": self.sigma_unsafe, "tau": self.tau,
            "evidence": [e.to_json() for e in self.evidence], "policy": self.policy, "reason": self.reason,
            "latency_ms": self.latency_ms, "people": self.people and self.people.to_json(where=where),
            "logit": self.logit, "threshold": self.threshold, "cause": self.cause and self.cause.to_json(),
        }
