"""The models that write a campaign: a YAML file of generators, each with its role, prices and limits; and what the
campaign will take, before anything is asked.

Who writes for training must not write for evaluation, or a figure measures who wrote (section IV-D, IV-E). A model is
the same by its name at the endpoint, whatever the file calls it and wherever it runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from discreet.core.errors import InputError, UsageError
from discreet.core.files import read_yaml
from discreet.inputs.endpoints.asking import AsyncChat, prompt_tokens
from discreet.synth.plan import PARTITIONS, Plan
from discreet.synth.prompts import Prompter
from discreet.synth.records import PASSAGES, SETTINGS, first_problem
from discreet.synth.seeds import SeedPassage

Role = Literal["train", "heldout", "borderline", "borderline_eval", "matched"]
MEANING: dict[str, str] = {"train": "training pool", "heldout": "held out", "borderline": "borderline-train",
                           "borderline_eval": "borderline-eval", "matched": "matched pair"}
SHARED_ROLES: dict[str, tuple[frozenset[str], ...]] = {
    name: tuple(frozenset(pair) for pair in pairs) for name, pairs in SETTINGS["shared_roles"].items()}
"""Roles that one model may have together, by the name that --roles gives to the rule."""
Positive = Annotated[float, Field(gt=0)]
Price = Annotated[float, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Prices(_Strict):
    """In the file's currency, for a million tokens."""

    prompt: Price = 0.0
    completion: Price = 0.0

    def of(self, prompt: float, completion: float) -> float:
        """What so many tokens cost."""
        return (prompt * self.prompt + completion * self.completion) / 1e6


class Limits(_Strict):
    """What the endpoint allows: `concurrency` requests at a time, and rates."""

    concurrency: Annotated[int, Field(ge=1, le=1024)] = 32
    requests_per_minute: Positive | None = None
    tokens_per_minute: Positive | None = None


class Settings(_Strict):
    """How a model is asked; what `defaults` may hold for all."""

    temperature: Annotated[float, Field(ge=0, le=2)] = 0.9
    max_tokens: Annotated[int, Field(ge=1)] = 600
    timeout: Positive = 120.0
    stream: bool = False
    send_seed: bool = True
    seconds: Positive = 10.0
    """What a plan assumes that one answer takes."""
    price: Prices = Prices()
    limits: Limits = Limits()


class Endpoint(Settings):
    """One generator."""

    name: str
    url: str
    model: Annotated[str, Field(min_length=1)]
    key_variable: str | None = None
    roles: Annotated[tuple[Role, ...], Field(min_length=1)]
    seed: Annotated[int, Field(ge=0)] = 0

    @field_validator("name")
    @classmethod
    def _is_name(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
            raise ValueError("not at most 64 letters, digits, '.', '_' and '-', the first a letter or digit")
        return name

    @field_validator("url")
    @classmethod
    def _is_address(cls, url: str) -> str:
        if not re.match(r"https?://[^/\s]", url):
            raise ValueError("not an address such as http://127.0.0.1:8000/v1")
        return url

    def chat(self, **more: Any) -> AsyncChat:
        """The client of this endpoint. Errors as of `AsyncChat`."""
        try:
            return self._chat(**more)
        except UsageError as error:
            raise UsageError(f"the generator {self.name!r}: {error}") from None

    def _chat(self, **more: Any) -> AsyncChat:
        return AsyncChat(self.url, self.model, api_key_from_environment=self.key_variable, timeout=self.timeout,
                         temperature=self.temperature, max_tokens=self.max_tokens, stream=self.stream,
                         **{**self.limits.model_dump(), **more})

    def identity(self) -> dict[str, Any]:
        """What decides what it writes; address, key, prices and limits may change while a campaign runs."""
        return {"name": self.name, "model": self.model, "roles": list(self.roles), "seed": self.seed,
                "temperature": self.temperature, "max_tokens": self.max_tokens}


class Budget(_Strict):
    """What a campaign may spend in all: money in the file's currency, and tokens of prompts and answers."""

    cost: Price | None = None
    tokens: Annotated[int, Field(ge=0)] | None = None


class Endpoints(_Strict):
    """An endpoints file."""

    currency: str = "USD"
    budget: Budget = Budget()
    generators: Annotated[tuple[Endpoint, ...], Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            raise ValueError("expected a mapping with generators")
        data = dict(data)
        defaults, listed = data.pop("defaults", None) or {}, data.get("generators")
        if not isinstance(defaults, dict):
            raise ValueError("defaults are no mapping")
        if isinstance(listed, list) and all(isinstance(one, dict) for one in listed):
            if unknown := sorted(set(defaults) - set(Settings.model_fields)):
                raise ValueError(f"defaults hold {unknown[0]!r}, expected some of {', '.join(Settings.model_fields)}")
            data["generators"] = [{**defaults, **one} for one in listed]
        return data

    @classmethod
    def load(cls, path: Path | str) -> Endpoints:
        """Read a file. Raises InputError naming the file and the key that is wrong."""
        expected = "expected generators with name, url, model and roles"
        data = read_yaml(Path(path), "a YAML file of generators", expected)
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise InputError(f"{path}: {first_problem(error)}; {expected}") from None

    def __iter__(self) -> Iterator[Endpoint]:  # type: ignore[override]
        return iter(self.generators)

    def __getitem__(self, name: str) -> Endpoint:
        return next(one for one in self.generators if one.name == name)

    def check_roles(self, rule: str = "strict") -> None:
        """Raise UsageError where one model has roles that must be disjoint under `rule`, strict or paper.

        `paper`: a model of the training pool may write one of the two borderline sets, as the paper's Mistral and Phi-3
        do (section IV-E). Held-out models, and the two borderline sets, are disjoint under either rule.
        """
        names = [one.name for one in self.generators]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UsageError(f"two generators are called {twice!r}; expected a name each")
        roles: dict[str, set[str]] = {}
        for one in self.generators:
            roles.setdefault(one.model.casefold(), set()).update(one.roles)
        for one in self.generators:
            for pair in combinations([role for role in MEANING if role in roles[one.model.casefold()]], 2):
                if frozenset(pair) in SHARED_ROLES[rule]:
                    continue
                hint = ("name another model, or allow what the paper does with --roles paper"
                        if frozenset(pair) in SHARED_ROLES["paper"] else "name another model for one of them")
                raise UsageError(
                    f"the model {one.model!r} writes for {MEANING[pair[0]]} ({pair[0]}) and {MEANING[pair[1]]} "
                    f"({pair[1]}); expected different models, so that no figure measures who wrote: {hint}")

    def roles(self) -> dict[str, list[str]]:
        """Names by role, for `make_plan`."""
        return {"safe": [PASSAGES], **{role: [one.name for one in self.generators if role in one.roles]
                                       for role in MEANING}}

    def sizes(self, sizes: Mapping[str, int], *, seeded: bool = False) -> dict[str, int]:
        """The partitions that models write and somebody here has the role for.

        Safe answers are passages of seed corpora (section IV-A), where there are any (`seeded`); domain-only clusters
        are the grammar's.
        """
        who, without = self.roles(), {"domain_only"} if seeded else {"domain_only", "safe"}
        return {name: n for name, n in sizes.items() if name not in without and who[PARTITIONS[name].role]}

    def identity(self, names: Sequence[str]) -> str:
        """One line that changes whenever what these generators write may."""
        return json.dumps([self[name].identity() for name in sorted(names)], sort_keys=True)


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
