"""`POST /analyze` in the shape of Presidio's analyzer: spans of direct identifiers and of attributes.

It finds and does not decide: who sends a text to it gets every finding that counts, as Presidio's clients expect. It is
for the operator's role, for spans are evidence.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Body, Depends
from pydantic import BaseModel, ConfigDict, Field

from discreet.core.records import Answer
from discreet.guard.decide import Judgement
from discreet.guard.score import probability
from discreet.guard.text.direct.presidio import ENTITIES
from discreet.serve.doors.unread import refuse_unread
from discreet.serve.fair import length_of
from discreet.serve.gate import Gate
from discreet.serve.limits import Fields, Many, RefusedError, answers_of, too_long
from discreet.serve.roles import OperatorOf

NAMES = {ours: theirs for theirs, ours in ENTITIES.items()} | {"person_name": "PERSON", "place": "LOCATION"}
"""Presidio's names of what both know; another type is its own in capitals."""


class Asked(Fields):
    """A text or several, as Presidio's analyzer takes them. Fields that would change what counts are refused."""

    model_config = ConfigDict(strict=True)
    text: str | Annotated[Many[str], Field(min_length=1)]
    language: Literal["en"] = "en"
    entities: list[str] | None = Field(None, max_length=200)
    score_threshold: float | None = Field(None, ge=0, le=1)
    correlation_id: str | None = Field(None, max_length=200)
    return_decision_process: bool | None = False
    allow_list: Many[str] | None = None
    allow_list_match: str | None = Field("exact", pattern="^exact$")


class Found(BaseModel):
    """A span of the text; `score` is 1 for a direct identifier, else the probability that the text singles out."""

    entity_type: str
    start: int
    end: int
    score: float
    analysis_explanation: dict[str, Any] | None = None


def router(gate: Gate) -> APIRouter:
    """`/analyze`, by the default guard or that of the key."""
    routes = APIRouter(tags=["presidio"], dependencies=[Depends(refuse_unread())])

    @routes.post("/analyze", responses=answers_of(404), response_model=list[Found] | list[list[Found]])
    async def analyze(body: Annotated[Asked, Body()], caller: OperatorOf) -> list[Found] | list[list[Found]]:
        """Where a text says what about a person. 503 where it could not be read: no span is not "nothing found"."""
        texts = [body.text] if isinstance(body.text, str) else body.text
        limits = gate.settings.limits
        if len(texts) > limits.texts:
            raise RefusedError(413, "texts", f"{len(texts)} texts; expected 1 to {limits.texts}")
        answers = [Answer(uuid4().hex, text) for text in texts]
        if (longest := max(map(length_of, answers))) > limits.text_chars:
            raise too_long(f"{longest:,} characters", limits.text_chars)
        outcome = await gate.decide(caller, gate.route(caller, None, None), answers, door="presidio")
        if any(one.verdict.action == "failed" for one in outcome.judgements):
            raise RefusedError(503, "privacy/not_judged", "the guard could not judge the text; nothing was found in it "
                               "or ruled out")
        spans = [_spans(answer.answer, judgement, body)
                 for answer, judgement in zip(answers, outcome.judgements, strict=True)]
        return spans[0] if isinstance(body.text, str) else spans

    return routes


def _spans(text: str, judgement: Judgement, asked: Asked) -> list[Found]:
    """Findings that count, by place, in what the request asks for."""
    score = 1.0 if judgement.evidence is None else probability(judgement.evidence.logit)
    found = {}
    for one in judgement.findings:
        name = NAMES.get(one.type, one.type.upper())
        sure = 1.0 if one.layer == "direct" else score
        if (not one.counts or (asked.entities is not None and name not in asked.entities)
                or sure < (asked.score_threshold or 0) or text[one.start : one.end] in (asked.allow_list or ())):
            continue
        why = {"recognizer": f"discreet/{one.layer}", "subject": one.subject, "person": one.person, "rule": one.why}
        found[one.start, one.end, name] = Found(
            entity_type=name, start=one.start, end=one.end, score=sure,
            analysis_explanation=why if asked.return_decision_process else None)
    return [found[key] for key in sorted(found)]
