"""The three ways in which a generator with retrieval gives somebody away (paper section III-B), as cases with passages.

    retention     one retrieved passage holds the cluster, and the answer repeats it
    synthesis     each of several passages tells one attribute of the same person, and the answer joins them
    fabrication   no passage speaks of anybody, and the answer makes up a person with a cluster

A case has a control: the same question and passages with an answer that binds nothing to anybody. The grammar writes
cases offline; `ask_leaks` has a model write the passages and answers of such a case in its own words.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.random import Generator as Rng

from discreet.core.errors import UsageError
from discreet.core.records import Answer
from discreet.guard.domains import Domain, DomainLike, load_domain
from discreet.synth.grammar import Cluster, borderline_text, case_text, without_marks
from discreet.synth.plan import apportion, uniform
from discreet.synth.prompts import Prompter
from discreet.synth.records import PLACEMENTS, SETTINGS, SHARED, SUBTYPES, Draft, Record, Slot, Spec
from discreet.synth.validate import Check
from discreet.synth.writer import PROFILES, Writer, sentence_case

if TYPE_CHECKING:
    from discreet.inputs.endpoints.chat import Message

Leak = Literal["retention", "synthesis", "fabrication"]
LEAKS: tuple[Leak, ...] = get_args(Leak)
GENERAL = 2
"""Passages of a case that speak of nobody; one in `fabrication` more."""
Complete = Callable[[Sequence[Sequence["Message"]]], Sequence[str]]


@dataclass(frozen=True, slots=True)
class LeakCase:
    """An answer that leaks, its control, and the passages that both had.

    `qi` are the classes that the answer binds to one person, at least two of them shared; `facts` how they are said in
    plain words; `told` the classes that each passage tells of this person; `verbatim` whether the answer repeats the
    sentences of the passage as they stand (retention only). `profiles` wrote the passages and the answers; `slots` say
    where the grammar told the classes in `answer`.
    """

    id: str
    leak: Leak
    domain: str
    profiles: tuple[str, str]
    qi: tuple[str, ...]
    told: tuple[tuple[str, ...], ...]
    topic: str
    verbatim: bool = False
    generator: str = "grammar"
    facts: tuple[str, ...] = field(default=(), repr=False)
    question: str = field(default="", repr=False)
    sources: tuple[str, ...] = field(default=(), repr=False)
    answer: str = field(default="", repr=False)
    slots: tuple[Slot, ...] = field(default=(), repr=False)
    control: str = field(default="", repr=False)

    def answers(self) -> tuple[Answer, Answer]:
        """The leak and its control, as a guard judges them."""
        return (Answer(self.id, self.answer, self.question, self.sources),
                Answer(f"{self.id}-control", self.control, self.question, self.sources))

    def to_json(self) -> Iterator[dict[str, Any]]:
        """Two lines that `guard check` and `synth validate` read: the leak and its control."""
        for leaks, one in zip((True, False), self.answers(), strict=True):
            yield {"id": one.id, "kind": "unsafe" if leaks else "borderline", "domain": self.domain, "leak": self.leak,
                   "question": one.question, "answer": one.answer, "sources": list(one.sources),
                   "qi": list(self.qi) if leaks else [], "told": [list(of) for of in self.told],
                   **({"slots": [asdict(slot) for slot in self.slots]} if leaks and self.slots else {}),
                   "verbatim": self.verbatim, "profile": self.profiles[1], "generator": self.generator,
                   "synthetic": True}


def make_leaks(domain: DomainLike, n: int, seed: int, *, profiles: Sequence[str] = PROFILES) -> list[LeakCase]:
    """n cases of each leak, written by the grammar; the same arguments give the same cases.

    Two profiles write each case, one the passages and another one the answers, so that the answer is in other words
    than the passages. Half of the retentions repeat sentences as they stand. UsageError for fewer than two profiles.
    """
    found = load_domain(domain)
    if len(profiles) < 2 or n < 1:
        raise UsageError(f"{n} cases by {len(profiles)} writer profile(s) were asked for; expected at least 1 by 2")
    out = []
    for leak in LEAKS:
        rng = np.random.default_rng((seed, zlib.crc32(f"{found.name}/{leak}".encode())))
        sizes = apportion(n, SETTINGS["classes_bound"])
        each = [k for k, count in sizes.items() for _ in range(count)]
        placements = uniform(PLACEMENTS, n, rng)
        for i, k in enumerate(each):
            authors = [profiles[int(j)] for j in rng.permutation(len(profiles))[:2]]
            spec = Spec("unsafe", found.name, authors[0], qi=_classes(k, found, rng), framing="CASE_VOICE",
                        placement=placements[i])
            case = LeakCase(f"{found.name}-{leak}-{i:05d}", leak, found.name, (authors[0], authors[1]), spec.qi, (), "",
                            verbatim=leak == "retention" and i % 2 == 0)
            out.append(_written(case, spec, found, rng))
    return out


def _classes(k: int, domain: Domain, rng: Rng) -> tuple[str, ...]:
    """k classes, at least two of them shared: a cluster by the default rule and by the paper's."""
    labels = list(domain.labels)
    shared = [qi for qi in labels if qi in SHARED]
    chosen = {shared[int(i)] for i in rng.permutation(len(shared))[:2]}
    rest = [qi for qi in labels if qi not in chosen]
    chosen |= {rest[int(i)] for i in rng.permutation(len(rest))[: k - 2]}
    return tuple(qi for qi in labels if qi in chosen)


def _written(case: LeakCase, spec: Spec, domain: Domain, rng: Rng) -> LeakCase:
    """A case with its passages and answers by the grammar."""
    author, speaker = Writer(spec, domain, rng), Writer(replace(spec, profile=case.profiles[1]), domain, rng)
    # Both speak of one person and one subject.
    speaker.sex, speaker.topic = author.sex, author.topic
    cluster = Cluster(author)
    retold = Cluster(speaker, dict(cluster.values))
    notes: list[list[str]] = []
    if case.leak == "retention":
        notes = [[cluster.single(qi) for qi in spec.qi]]
    elif case.leak == "synthesis":
        notes = [[cluster.single(qi)] for qi in spec.qi]
    bound = (lambda: list(notes[0])) if case.verbatim else retold.bound
    answer = case_text(speaker, bound, retold)
    told = [tuple(spec.qi)] if case.leak == "retention" else [(qi,) for qi in spec.qi] if notes else []
    passages = [(_note(author, note), of) for note, of in zip(notes, told, strict=True)]
    passages += [(_note(author, []), ()) for _ in range(GENERAL + (case.leak == "fabrication"))]
    order = [passages[int(i)] for i in rng.permutation(len(passages))]
    return replace(case, topic=str(author.topic["name"]), question=answer.question, answer=answer.answer,
                   slots=answer.slots, control=_control(speaker, domain, rng), sources=tuple(text for text, _ in order),
                   told=tuple(of for _, of in order),
                   facts=tuple(without_marks(cluster.verb_phrase(qi), spec.qi)[0] for qi in spec.qi))


def _note(author: Writer, sentences: list[str]) -> str:
    """A passage with these sentences about the person among general ones; without any, a bulletin about nobody."""
    if sentences:
        # No statistics about groups: a note tells of its case.
        rest = [author.from_pool(pool) for pool in ("voice", "content", "voice")]
        marked = sentence_case(author.profile.joiner.join(
            [author.one_of("openings", "CONSULT_NOTE"), *rest[:1], *sentences, *rest[1:]]))
        return without_marks(marked, author.spec.qi)[0]
    lines = [author.one_of("styles", "bulletin"), *(author.from_pool("content") for _ in range(4))]
    return sentence_case(author.profile.joiner.join(lines))


def _control(speaker: Writer, domain: Domain, rng: Rng) -> str:
    """An answer on the same subject in the voice of a case that binds nothing."""
    subtype = SUBTYPES[int(rng.integers(len(SUBTYPES)))]
    spec = replace(speaker.spec, kind="borderline", qi=(), placement=None, subtype=subtype,
                   opening=int(rng.integers(5)))
    writer = Writer(spec, domain, rng)
    writer.topic = speaker.topic
    return borderline_text(writer).answer


def ask_leaks(cases: Sequence[LeakCase], prompter: Prompter, complete: Complete, name: str, check: Check
              ) -> tuple[list[LeakCase], Counter[str]]:
    """The cases in the words of a model, `name`, and how many were left out, by reason.

    The model writes every passage from the classes that it is to tell, then the leaking answer and the control from its
    passages. `check` (a `Validator` of the domain) says whether the answers are what they claim: a case is left out, as
    `REASON`, where the leak does not bind its classes to one person, and as `control:REASON` and `passage:REASON` where
    a text binds what it may not. Raises whatever `complete` raises.
    """
    notes = [messages for case in cases for messages in passage_messages(case, prompter)]
    texts = iter(complete(notes))
    asked = [replace(case, generator=name, slots=(), sources=tuple(next(texts).strip() for _ in case.told))
             for case in cases]
    answers = iter(complete([answer_messages(case, prompter, leaks) for case in asked for leaks in (True, False)]))
    kept, left_out = [], Counter[str]()
    for case in asked:
        one = replace(case, answer=next(answers).strip(), control=next(answers).strip())
        if reason := _fault(one, prompter.domain, check):
            left_out[reason] += 1
        else:
            kept.append(one)
    return kept, left_out


def _fault(case: LeakCase, domain: Domain, check: Check) -> str | None:
    """Why a case is not what it claims; its passages may be shorter than answers."""
    def reasons(text: str, kind: Literal["unsafe", "borderline"]) -> Sequence[str]:
        spec = Spec(kind, domain.name, case.generator, qi=case.qi if kind == "unsafe" else ())
        return check(Record(case.id, spec, Draft(case.question, text), case.generator))

    if found := reasons(case.answer, "unsafe"):
        return found[0]
    if found := reasons(case.control, "borderline"):
        return f"control:{found[0]}"
    single = [text for text, of in zip(case.sources, case.told, strict=True) if len(of) < 2]
    found = [r for text in single for r in reasons(text, "borderline") if r != "length"]
    return f"passage:{found[0]}" if found else None


def passage_messages(case: LeakCase, prompter: Prompter) -> Iterator[tuple[Message, ...]]:
    """What is asked for each passage of a case."""
    said, given = prompter.texts["leaks"], _given(case, prompter)
    facts: Mapping[str, str] = dict(zip(case.qi, case.facts, strict=True))
    for number, of in enumerate(case.told):
        wanted = "general" if not of else "one_fact" if len(of) == 1 else "whole_cluster"
        content = said[wanted].format(**{**given, "facts": "; ".join(facts[qi] for qi in of)})
        documents = prompter.texts["documents"] if of else ["a public handbook"]
        yield _messages(prompter, said["chunk"].format(
            **given, content=content, document=documents[number % len(documents)]))


def answer_messages(case: LeakCase, prompter: Prompter, leaks: bool) -> tuple[Message, ...]:
    """What is asked for the answer that leaks, or for the control."""
    said, given = prompter.texts["leaks"], _given(case, prompter)
    manner = said["manner"][case.leak if leaks else "control"].format(**given)
    passages = "\n".join(f"[{i}] {text}" for i, text in enumerate(case.sources, start=1))
    return _messages(prompter, said["answer"].format(**given, passages=passages, manner=manner))


def _given(case: LeakCase, prompter: Prompter) -> dict[str, Any]:
    least, most = prompter.texts["words"]
    return {"person": prompter.texts["person"], "topic": case.topic, "facts": "; ".join(case.facts),
            "question": case.question, "least": least, "most": most}


def _messages(prompter: Prompter, asked: str) -> tuple[Message, ...]:
    said = prompter.texts
    system = said["system"].format(field=said["field"], direct=said["direct"], person=said["person"])
    return ({"role": "system", "content": system.strip()}, {"role": "user", "content": asked.strip()})
