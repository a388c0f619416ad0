"""A model that the Trainer of transformers trains: asked at each epoch for what a membership audit needs."""

from __future__ import annotations

import hashlib
import io
import random
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from inspect import signature
from operator import attrgetter
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.random import Generator

from discreet.audit.core.verdict import check_at_least
from discreet.audit.membership.audit import MembershipAudit
from discreet.audit.membership.in_memory import audit_model, check_packages, given_models, memory_table
from discreet.audit.membership.memory_sets import MemorySets
from discreet.audit.membership.options import AuditOptions
from discreet.audit.scores.adapters.in_memory import Answers, Recorded, untouched
from discreet.audit.scores.adapters.scorer import as_logits, named_classes
from discreet.audit.scores.adapters.transformer import check_problem
from discreet.audit.scores.write import write_scores
from discreet.audit.train.transformer.reading import token_limit
from discreet.core.calls import checked_call, path_of
from discreet.core.errors import InputError, UsageError, need
from discreet.core.files import write_atomic
from discreet.core.types import FloatArray
from discreet.inputs.columns import need_arrow
from discreet.inputs.in_memory import SPECIAL, TEXT, input_keys

PURPOSE = "an audit of a model that the Trainer trains"
LABELS = ("labels", "label", "label_ids")
"""The columns that the Trainer takes for labels."""
STATES = "_discreet_states_{}.npz"
"""The file of the answers, by a digest of the records. The Trainer uploads no file whose name begins so."""


class AuditCallback:
    """A `transformers.TrainerCallback` that keeps what a membership audit needs while the Trainer trains.

    At the end of each epoch it asks the model for its logits of members and non-members. Training stays bit for bit
    what it is without: module modes, gradients and the states of random numbers are put back.

    Parameters
    ----------
    members, non_members : data set
        The training set, and records of the same draw that the model is not trained on, as the Trainer takes them: with
        a length, rows that are mappings. Tokenised rows (`input_ids`) go through the Trainer's own collator; rows with
        a column of texts are tokenised by its `processing_class`, cut at the model's limit. `group`, `category` and
        `id` are read where they are there.
    sample : int >= 1, optional
        Ask for so many members and so many non-members, drawn by `seed`, instead of all.
    every : int >= 1, optional
        Record every so many optimiser steps, instead of at the end of each epoch.
    seed : int >= 0
        Of the draw of `sample`.
    label, text : str
        Columns: of labels `labels`, `label` or `label_ids`, whichever is there, where none is named.

    Only the main process records; an audit in another one is refused. The answers, no text, also lie in
    `_discreet_states_….npz` in the Trainer's `output_dir`, so that a training that is resumed goes on. With
    `load_best_model_at_end` the audited model is the best one.

    Raises MissingExtraError, before anything runs, where a package is absent; InputError for data sets that are none;
    and before the first step UsageError for a model whose weights are sharded over processes, which one cannot ask.
    """

    def __new__(cls, *_args: Any, **_options: Any) -> AuditCallback:
        """The callback, once all packages are found."""
        check_packages()
        need_arrow()
        for module in ("torch", "accelerate"):
            need(module, PURPOSE, "train")
        base = need("transformers", PURPOSE, "train").TrainerCallback
        # The base class is there only where transformers is: `import discreet` does without.
        made = cls if issubclass(cls, base) else type(cls.__name__, (cls, base), {"__module__": cls.__module__})
        found: AuditCallback = object.__new__(made)
        return found

    def __init__(self, members: Any, non_members: Any, *, sample: int | None = None, every: int | None = None,
                 seed: int = 0, label: str | None = None, text: str = TEXT) -> None:
        for name, given, least in (("sample", sample, 1), ("every", every, 1), ("seed", seed, 0)):
            if given is not None:
                check_at_least(name, given, least)
        rng = np.random.default_rng((seed, 28))
        held = _Held(members, "members", label, text), _Held(non_members, "non_members", label, text)
        # A record that is left out by `sample` was trained on too.
        known = set(input_keys(held[0].texts(range(held[0].n)))) if sample is not None else set[bytes]()
        (inside, self._members), (outside, self._non_members) = (
            one.taken(sample, rng, without) for one, without in zip(held, (set[bytes](), known), strict=True))
        MemorySets.of(self._members, self._non_members, None, rng, label=LABELS[0], text=TEXT, aside=False)
        texts = [*self._members[TEXT], *self._non_members[TEXT]]
        rows = dict(zip(texts, [*inside, *outside], strict=True))
        # Records of like length together, members and non-members mixed: a model that drifts would tell them apart.
        order = sorted(rows, key=lambda one: (len(one), input_keys([one])[0], one))
        self._row = {one: place for place, one in enumerate(order)}
        self._rows = [rows[one] for one in order]
        self._digest = hashlib.sha256(repr(order).encode("utf-8", "surrogatepass")).hexdigest()
        self._tokenised, self._every = all("input_ids" in row for row in self._rows), every
        self._text = text
        self.states: dict[int, FloatArray] = {}
        """(n, K) logits by optimiser step, rising."""

    def on_train_begin(self, args: Any, state: Any, _control: Any, **given: Any) -> None:
        """Take what earlier steps of a resumed training recorded, and try whether the model can be asked."""
        model, tokenizer = given["model"], given.get("processing_class")
        if any(type(part).__name__ == "FullyShardedDataParallel" for part in model.modules()) or any(
                hasattr(one, "device_mesh") or hasattr(one, "ds_id") for one in model.parameters()):
            raise UsageError("the model's weights are sharded over processes (FSDP, ZeRO stage 3, tensor parallel) and "
                             "the main process alone cannot ask it; expected data parallel training, or an audit of "
                             "the saved model: discreet audit membership model")
        if not state.is_world_process_zero:
            return
        check_problem(model, "model")
        self._batch, self._inputs = args.per_device_eval_batch_size, self._rows
        if self._tokenised:
            self._collate: Any = given["train_dataloader"].collate_fn
        elif tokenizer is None:
            raise UsageError("the records are texts and the Trainer has no tokeniser; expected "
                             "Trainer(processing_class=tokenizer), or tokenised records")
        else:
            read = tokenizer([row[self._text] for row in self._rows], truncation=True,
                             max_length=token_limit(tokenizer, model.config.get_text_config()))
            self._inputs = [{name: read[name][place] for name in read} for place in range(len(self._rows))]
            self._collate = need("transformers", PURPOSE, "train").DataCollatorWithPadding(tokenizer)
        self.states = {step: one for step, one in {**_kept(self._file(args)), **self.states}.items()
                       if step <= state.global_step}
        # The longest: what does not fit, or is no logit, is told before hours of training.
        as_logits(self._logits(model, self._inputs[-self._batch:]), "logit", "model")

    def on_step_end(self, args: Any, state: Any, _control: Any, **given: Any) -> None:
        """Record where `every` says so."""
        if self._every and not state.global_step % self._every:
            self._record(args, state, state.global_step, given["model"])

    def on_epoch_end(self, args: Any, state: Any, _control: Any, **given: Any) -> None:
        """Record, unless `every` does."""
        if not self._every:
            self._record(args, state, state.global_step, given["model"])

    def on_train_end(self, args: Any, state: Any, _control: Any, **given: Any) -> None:
        """Record the model that training leaves; what came after the best one was no earlier state of it."""
        best = args.load_best_model_at_end and state.best_model_checkpoint
        step = int(best.rpartition("-")[2]) if best else state.global_step
        self.states = {one: logits for one, logits in self.states.items() if one <= step}
        self._record(args, state, step, given["model"])

    @checked_call
    def audit(self, *, references: Any = None, control: Any = None, neutral: Any = None, selector: Any = None,
              classes: Sequence[str] | None = None, allow_split_groups: bool = False, **options: Unpack[AuditOptions]
              ) -> MembershipAudit:
        """The audit of the trained model, as `audit_model` makes it.

        The other models are callbacks, or lists of them, that recorded other trainings and hold the same records:
        `references` were trained on their own members, a random half of all records, and as many epochs (then the
        attack `trajectory` runs); `control`, `neutral` and `selector` on none of the records. Further options are
        those of `audit_model`. Raises UsageError where nothing is recorded.
        """
        return audit_model(self._recorded("this callback", self), self._members, self._non_members,
                           checkpoints=attrgetter("earlier"), classes=classes, label=LABELS[0],
                           allow_split_groups=allow_split_groups,
                           **self._own(references, control=control, neutral=neutral, selector=selector), **options)

    @checked_call
    def save(self, path: Path | str, *, references: Any = None, control: Any = None, neutral: Any = None,
             selector: Any = None) -> None:
        """Write the scores as Parquet, which `discreet audit membership scores` reads; the other models as in `audit`.

        Raises UsageError where nothing is recorded, or `path` cannot be written.
        """
        sets = MemorySets.of(self._members, self._non_members, None, np.random.default_rng((0, 27)), label=LABELS[0],
                             text=TEXT, aside=False)
        own = self._own(references, control=control, neutral=neutral, selector=selector)
        write_scores(memory_table(self._recorded("this callback", self), sets, own, attrgetter("earlier")),
                     path_of(path, "path"))

    def _own(self, references: Any, **given: Any) -> dict[str, Any]:
        """The other models by what `audit_model` takes them for: references say for themselves what they saw."""
        found = {name: [self._recorded(name, one) for one in models] for name, models in given_models(**given).items()}
        for one in given_models(references=references).get("references", ()):
            recorded = self._recorded("references", one)
            found.setdefault("neutral", []).append(replace(recorded, trained_on=frozenset(one._members[TEXT])))
        return found

    def _recorded(self, name: str, other: Any) -> Recorded:
        """The model that `other` recorded, with its earlier states."""
        if not isinstance(other, AuditCallback) or other._digest != self._digest:
            raise UsageError(f"{name} holds a {type(other).__name__}: expected an AuditCallback that recorded another "
                             "training and holds the same records")
        if not other.states:
            raise UsageError(f"{name} recorded nothing; expected an audit after Trainer.train(), in the main process "
                             "of a distributed training: no other one records")
        states = [Recorded(Answers(logits, "logit", other._classes, other._facts), other._row)
                  for _, logits in sorted(other.states.items())]
        return replace(states[-1], earlier=tuple(states[:-1]))

    def _record(self, args: Any, state: Any, step: int, model: Any) -> None:
        if not state.is_world_process_zero:
            return
        if step not in self.states:
            self.states[step] = self._logits(model, self._inputs)
        config, n_classes = model.config, self.states[step].shape[1]
        names = dict(getattr(config, "id2label", None) or {})
        self._classes = named_classes(tuple(str(names[place]) for place in sorted(names)), n_classes)
        self._facts = {"model_type": str(config.model_type), "dtype": str(model.dtype).removeprefix("torch.")}
        held = io.BytesIO()
        states: dict[str, Any] = {str(step): logits for step, logits in self.states.items()}
        np.savez(held, **states)
        self._file(args).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(self._file(args), held.getvalue())

    def _file(self, args: Any) -> Path:
        return Path(args.output_dir) / STATES.format(self._digest[:12])

    def _logits(self, model: Any, rows: Sequence[Mapping[str, Any]]) -> FloatArray:
        """(n, K) logits as the model gives them for rows in batches of the Trainer."""
        torch = need("torch", PURPOSE, "train")
        base = model.get_base_model() if hasattr(model, "get_base_model") else model
        taken, device, found = {*signature(type(base).forward).parameters, *LABELS}, next(model.parameters()).device, []
        with _undisturbed(model, device, torch):
            for start in range(0, len(rows), self._batch):
                batch = self._collate([{name: value for name, value in row.items() if name in taken}
                                       for row in rows[start:start + self._batch]])
                fed = {name: value.to(device) for name, value in batch.items() if name not in LABELS}
                found.append(model(**fed).logits.float().cpu().numpy())
        return np.concatenate(found).astype(np.float64)


class _Held:
    """A data set of the Trainer, read a row at a time."""

    def __init__(self, given: Any, name: str, label: str | None, text: str) -> None:
        rows = hasattr(given, "__len__") and hasattr(given, "__getitem__")
        self.n = len(given) if rows and not isinstance(given, Mapping | str | tuple) else 0
        if not self.n or not isinstance(first := given[0], Mapping):
            raise InputError(f"{name}: a {type(given).__name__} was given; expected a data set as the Trainer takes "
                             "it, with a length of at least 1, whose rows are mappings of columns")
        self._given, self._text = given, "input_ids" if "input_ids" in first else text
        self._label = label or next((one for one in LABELS if one in first), LABELS[0])
        for column, said in ((self._text, "text"), (self._label, "label")):
            if column not in first:
                raise InputError(f"{name}: there is no column {column!r} among {', '.join(map(repr, first))}; expected "
                                 f"input_ids or texts, and labels: name the column with {said}=")
        self._more = [one for one in SPECIAL[:3] if one in first]

    def texts(self, places: Sequence[int]) -> list[str]:
        """What tells these records apart: their tokens as words, or their texts."""
        return [self._words(self._given[place]) for place in places]

    def taken(self, sample: int | None, rng: Generator, without: set[bytes]
              ) -> tuple[list[Mapping[str, Any]], dict[str, list[Any]]]:
        """The rows, at most `sample` and none of `without`, and their table as `audit_model` reads it."""
        drawn = range(self.n) if sample is None else rng.permutation(self.n).tolist()
        rows = list[Mapping[str, Any]]()
        for place in drawn:
            row = self._given[place]
            if not without or input_keys([self._words(row)])[0] not in without:
                rows.append(row)
            if len(rows) == sample:
                break
        columns = {TEXT: [self._words(row) for row in rows], LABELS[0]: [_plain(row[self._label]) for row in rows]}
        return rows, columns | {name: [_plain(row[name]) for row in rows] for name in self._more}

    def _words(self, row: Mapping[str, Any]) -> str:
        given = row[self._text]
        return given if isinstance(given, str) else " ".join(map(str, np.asarray(given).tolist()))


def _plain(given: Any) -> Any:
    """A number of a tensor as one of Python."""
    return given.item() if hasattr(given, "item") else given


def _kept(path: Path) -> dict[int, FloatArray]:
    """What an earlier process recorded, as far as it is whole."""
    # A file that is not whole says nothing: the states begin anew.
    with suppress(OSError, ValueError, EOFError, zipfile.BadZipFile), \
            np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as held:
        return {int(name): held[name] for name in held.files}
    return {}


@contextmanager
def _undisturbed(model: Any, device: Any, torch: Any) -> Iterator[None]:
    """Nothing that the training goes on with is changed. No `inference_mode`: a model may keep a tensor for later."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with untouched(model), torch.random.fork_rng([device] if device.type == "cuda" else []), torch.no_grad():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
