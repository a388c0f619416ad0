"""Models in memory to scores: scikit-learn estimators, functions, Hugging Face pipelines and classifiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from discreet.audit.scores.adapters.scorer import Settings, as_logits, score_texts
from discreet.audit.scores.signals import CLIP
from discreet.core.errors import InputError, UsageError, need
from discreet.core.types import FloatArray
from discreet.inputs.in_memory import taken
from discreet.inputs.python_object import FittedObject

CHUNK = 4096
"""Inputs that a model is asked for together."""
TASK = "text-classification"


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """A model's (n, K) logits, whether they were given as probabilities, the names of its columns where it has them,
    and what a report says of it."""

    logits: FloatArray
    given_as: Literal["logit", "prob"]
    classes: tuple[str, ...] | None
    facts: Mapping[str, str]

    def like(self, classes: tuple[str, ...] | None, n_classes: int, name: str) -> FloatArray:
        """The logits (n, n_classes) with the columns of another model, by name where both have names.

        A class that this model never saw in training has probability 0, clipped as those of a table. Raises InputError
        for other classes, and for a class never seen by a model that gives logits.
        """
        own = self.classes
        if own is None or classes is None:
            if self.logits.shape[1] != n_classes:
                raise InputError(f"{name}: it has {self.logits.shape[1]} classes where the target has {n_classes}; "
                                 "expected a model of the same classes")
            return self.logits
        if unknown := set(own) - set(classes):
            raise InputError(f"{name}: {len(unknown)} of its {len(own)} classes are none of the target's; expected a "
                             "model of the same classes")
        if len(own) < len(classes) and self.given_as == "logit":
            raise InputError(f"{name}: it has {len(own)} classes where the target has {len(classes)}, and logits of a "
                             "class that is not there cannot be known; expected records of each class in its training")
        found = np.full((len(self.logits), n_classes), np.log(CLIP))
        found[:, [classes.index(one) for one in own]] = self.logits
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """A model that was asked before: its answers to the texts in `row`, by place, its earlier states, and those of the
    texts that it was trained on."""

    answers: Answers
    row: Mapping[str, int]
    earlier: tuple[Recorded, ...] = ()
    trained_on: frozenset[str] = frozenset()


def check_model(model: Any, name: str) -> None:
    """Whether `model` can be scored in memory, before any work: UsageError or InputError where it cannot,
    MissingExtraError where its extra is not installed."""
    if isinstance(model, Recorded):
        return
    if huggingface(model, name) is not None:
        for module in ("torch", "transformers"):
            need(module, "an audit of a Hugging Face model", "fit")
    else:
        FittedObject(model, name)


def score_in_memory(model: Any, inputs: Any, name: str, *, batch: int = 16) -> Answers:
    """The answers of `model` to n inputs, which it is asked for in their order.

    Members and non-members must be mixed: a model that drifts, or feels batch mates, would tell them apart. Raises as
    `check_model`, and InputError for answers that are neither logits nor probabilities.
    """
    if isinstance(model, Recorded):
        return replace(model.answers, logits=model.answers.logits[[model.row[text] for text in inputs]])
    loaded = huggingface(model, name)
    if loaded is not None:
        if not isinstance(inputs, list) or not all(isinstance(one, str) for one in inputs):
            raise InputError(f"{name}: a Hugging Face classifier was given inputs that are no texts; expected a list "
                             "of str")
        return _transformer(loaded, inputs, name, batch)
    asked = FittedObject(model, name)
    n = len(inputs) if isinstance(inputs, list) else int(inputs.shape[0])
    chunks = [np.arange(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK)]
    parts = [asked.answers(taken(inputs, rows), rows.size) for rows in chunks]
    if len({part.shape[1:] for part in parts}) > 1:
        raise InputError(f"{name}: the number of classes is not the same for all inputs; expected one model")
    logits, given_as = as_logits(np.concatenate(parts), asked.kind, name)
    return Answers(logits, given_as, asked.classes, {"model_type": asked.model_type})


def huggingface(model: Any, name: str) -> tuple[Any, Any] | None:
    """Classifier and tokeniser of a `transformers` pipeline or a pair (model, tokenizer); None for other objects."""
    if isinstance(model, tuple) and len(model) == 2:
        return model[0], model[1]
    if all(hasattr(model, part) for part in ("model", "tokenizer", "task")):
        if model.task != TASK:
            raise UsageError(f"{name}: a pipeline for {model.task!r} was given; expected one for {TASK!r}")
        return model.model, model.tokenizer
    if hasattr(model, "get_input_embeddings") and hasattr(model, "config"):
        raise UsageError(f"{name}: a {type(model).__name__} was given without its tokeniser; expected (model, "
                         "tokenizer), or a pipeline")
    return None


def _transformer(loaded: tuple[Any, Any], texts: list[str], name: str, batch: int) -> Answers:
    from discreet.audit.scores.adapters.transformer import Transformer

    with untouched(loaded[0]):
        scorer = Transformer(name, Settings(batch), loaded)
        run = score_texts(scorer, texts, batch=batch)
    return Answers(run.logits, run.given_as, scorer.classes, scorer.facts(texts))


@contextmanager
def untouched(model: Any) -> Iterator[None]:
    """The model in evaluation mode; the mode of each module and the padding token are afterwards what they were."""
    modes, config = [(part, part.training) for part in model.modules()], model.config.get_text_config()
    pad = config.pad_token_id
    model.eval()
    try:
        yield
    finally:
        # `model.train()` would wake modules that a training keeps frozen.
        for part, training in modes:
            part.training = training
        config.pad_token_id = pad
