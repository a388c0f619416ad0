"""What a campaign of language models will take, before anything is asked: requests, tokens, money and hours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.inputs.endpoints.asking import prompt_tokens
from discreet.synth.endpoints import Endpoint, Endpoints
from discreet.synth.plan import Plan
from discreet.synth.prompts import Prompter
from discreet.synth.records import SETTINGS
from discreet.synth.seeds import SeedPassage

SAMPLE = 20
"""Prompts of a batch whose tokens are counted."""
YIELD: dict[str, float] = SETTINGS["expected_yield"]
ANSWER_TOKENS: int = SETTINGS["answer_tokens"]


def costs(plan: Plan, endpoints: Endpoints, prompts: Prompter, seeds: Sequence[SeedPassage] = ()) -> dict[str, Any]:
    """Of each generator and in all: `records`, `requests`, `prompt_tokens`, `completion_tokens`, `cost`, `hours`.

    Requests are records over the expected yield of their mode (appendix B for two of the four); tokens of prompts are
    those of some prompts, at a third of their bytes each, and of answers the settings' `answer_tokens`. `most_cost` is
    what would be reserved if every request took all it may. Hours are those of the slowest generator, at the
    concurrency, rates and seconds an answer that the endpoints file says.
    """
    plan = plan.by_models()
    specs = {name: plan.specs(name) for name in plan.partitions()}
    at = dict.fromkeys(specs, 0)
    rows: dict[str, dict[str, Any]] = {}
    for batch in plan.batches:
        mine = specs[batch.partition][at[batch.partition] : at[batch.partition] + batch.n]
        at[batch.partition] += batch.n
        rng = np.random.default_rng((plan.seed, len(rows)))
        drawn = [mine[int(i)] for i in rng.permutation(len(mine))[:SAMPLE]]
        each = np.mean([prompt_tokens(prompts.messages(
            spec, seeds[int(rng.integers(len(seeds)))] if seeds else None, rng)) for spec in drawn])
        requests = batch.n / YIELD[batch.mode]
        row = rows.setdefault(batch.profile, dict.fromkeys(
            ("records", "requests", "prompt_tokens", "completion_tokens"), 0.0))
        row["records"] += batch.n
        row["requests"] += requests
        row["prompt_tokens"] += requests * float(each)
        row["completion_tokens"] += requests * ANSWER_TOKENS
    found = {name: _of(endpoints[name], row) for name, row in rows.items()}
    total = {key: sum(row[key] for row in found.values()) for key in next(iter(found.values())) if key != "hours"}
    return {"currency": endpoints.currency, "generators": found,
            "total": {**total, "hours": max(row["hours"] for row in found.values())},
            "assumed": {"yield": YIELD, "answer_tokens": ANSWER_TOKENS}}


def _of(endpoint: Endpoint, row: dict[str, float]) -> dict[str, Any]:
    limits, tokens = endpoint.limits, row["prompt_tokens"] + row["requests"] * endpoint.max_tokens
    slowest = max(row["requests"] * endpoint.seconds / limits.concurrency / 3600,
                  row["requests"] / limits.requests_per_minute / 60 if limits.requests_per_minute else 0.0,
                  tokens / limits.tokens_per_minute / 60 if limits.tokens_per_minute else 0.0)
    return {**{key: round(value) for key, value in row.items()},
            "cost": round(endpoint.price.of(row["prompt_tokens"], row["completion_tokens"]), 4),
            "most_cost": round(endpoint.price.of(row["prompt_tokens"], row["requests"] * endpoint.max_tokens), 4),
            "hours": round(slowest, 3)}
