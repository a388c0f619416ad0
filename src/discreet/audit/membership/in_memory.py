"""A membership audit of a model in memory: scored here, with control model and references trained by `clone`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from inspect import signature
from itertools import chain
from typing import Any, Unpack

import numpy as np
from numpy.random import Generator

import discreet
from discreet.audit.core.verdict import check_at_least
from discreet.audit.membership.audit import MembershipAudit, audit_membership
from discreet.audit.membership.facts import tree_structure
from discreet.audit.membership.memory_sets import (
    MemorySets,
    blind_features,
    can_clone,
    fitted_clone,
    group_codes,
    label_codes,
)
from discreet.audit.membership.options import AuditOptions, check_options, check_parts
from discreet.audit.scores.adapters.in_memory import Answers, Recorded, check_model, score_in_memory
from discreet.audit.scores.adapters.scorer import class_codes, named_classes
from discreet.audit.scores.check import check_enough, check_table
from discreet.audit.scores.table import CHECKPOINT_OF, IN, OUT, Examples, Model, ReferenceKind, Role, ScoreTable
from discreet.core.calls import check_flags, checked_call
from discreet.core.design import shown_design
from discreet.core.errors import InputError, UsageError, need, shown
from discreet.core.numbers import counted
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.inputs.in_memory import Records
from discreet.inputs.perturbed import perturbed
from discreet.inputs.splits import halves

SOURCE = "members and non_members"
ROLE_OF: dict[str, tuple[Role, ReferenceKind | None]] = {
    "control": ("control", None), "neutral": ("reference", "neutral"), "selector": ("selection", None)}


@dataclass(frozen=True, slots=True, eq=False)
class _Further:
    """A model besides the target: its place in the table, and which of the N records it was trained on."""

    model: Any
    role: Role
    kind: ReferenceKind | None
    member: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class _Perturbed:
    """Changed copies of the inputs, one for each seed: made when a model is asked, since many do not fit in memory."""

    inputs: Any
    seeds: Sequence[int]
    batch: int

    def steadiness(self, model: Any, answers: Answers, table: ScoreTable, classes: tuple[str, ...] | None, name: str
                   ) -> FloatArray | None:
        """(1, N) share of each record and its copies that `model`, which gave `answers` to the records, gives the true
        class; None without copies."""
        if not self.seeds:
            return None
        right = np.zeros(len(table.examples))
        for place in range(len(self.seeds) + 1):
            given = answers if not place else score_in_memory(
                model, perturbed(self.inputs, np.random.default_rng(self.seeds[place - 1])), name, batch=self.batch)
            right += given.like(classes, table.n_classes, name).argmax(axis=1) == table.examples.label
        return np.asarray(right / (len(self.seeds) + 1))[None]


@checked_call
def audit_model(model: Any, members: Any, non_members: Any, *, references: int = 0, perturbations: int = 0,
                checkpoints: Callable[[Any], Sequence[Any]] | None = None,
                control_data: Any = None, control: Any = None, neutral: Any = None, selector: Any = None,
                classes: Sequence[str] | None = None, label: str = "label", text: str = "text", batch: int = 16,
                allow_split_groups: bool = False, **options: Unpack[AuditOptions]) -> MembershipAudit:
    """Audit a model in memory for membership leakage: does it give away who was in its training set?

    Parameters
    ----------
    model : estimator, function, pipeline or (model, tokenizer)
        A fitted scikit-learn classifier or pipeline; a function of inputs that returns probabilities or logits
        (n, K); a `text-classification` pipeline of transformers, or a sequence classifier with its tokeniser.
    members, non_members : (inputs, labels), (inputs, labels, groups), or a table
        What the model was trained on, and what it was not. Inputs are an array (n, …), a sparse matrix, a list of texts
        or a data frame; labels are those that the model was trained with, numbers or names; groups are users or
        documents. A table (pandas, polars, `datasets`, a mapping of columns) has the columns `label` and `text` or
        features, and may have `group` and `category`. Inputs that are in both sets are left out of both, repeated ones
        count once.
    references : int >= 0
        Train a control model, and so many reference models, as clones of `model`: the references on random halves of
        members and judged non-members (Carlini et al. 2022; LiRA needs four), the control model on `control_data`.
    perturbations : int >= 0
        Ask target and control model for so many changed copies of each record (words dropped and swapped; noise on
        numbers), for the label-only attack.
    checkpoints : function, optional
        From a fitted model to its earlier states, models too, as many for each: asked for the target, the control model
        and references, for the loss trajectory attack.
    control_data : as `members`, optional
        Records in neither set. Without them a random half of the non-members trains the control model, unjudged.
    control, neutral, selector : as `model`, or a list of them, optional
        Fitted models that were trained on neither set: the control model, instead of a clone; reference models; the
        model that finds the least likely records and the decision boundary.
    classes : sequence of K str, optional
        Names of the model's outputs, in order, for a model without `classes_`, or for the report.
    label, text : str
        Columns of a table.
    batch : int >= 1
        Texts that a transformer is asked for together.
    allow_split_groups : bool
        Leave out groups with members and non-members, instead of refusing the records.
    **options :
        Of `audit_membership`: design, tolerance_auc, tolerance_part, exclude_parts, base_rates, permutations,
        bootstraps, seed, attacks. Only with `design="randomised"` (a random draw decided who is a member, as
        `train_test_split` does) can the verdict be pass or fail.

    Returns what `discreet audit membership` makes: `print` it, `.save(folder)`, `.to_html(path)`, `.record`; of trees
    and forests also `.structure`, the checks of disclosure control. Raises
    MissingExtraError, before anything runs, where scikit-learn or SciPy, or for a transformer torch, are absent;
    UsageError for an option that cannot be, and references of a model that cannot be cloned; InputError for records or
    models that do not go together, without a value of a record.
    """
    options["design"] = shown_design(options.get("design", "convenience"), seal=False)
    check_options([name for name, one in signature(audit_model).parameters.items() if one.kind is one.KEYWORD_ONLY],
                  **options)
    check_flags(allow_split_groups=allow_split_groups)
    own = given_models(control=control, neutral=neutral, selector=selector)
    _check(model, own, references, control_data)
    for count, asked_for, least in (("references", references, 0), ("perturbations", perturbations, 0),
                                    ("batch", batch, 1)):
        check_at_least(count, asked_for, least)
    if checkpoints is not None and not callable(checkpoints):
        raise UsageError(f"checkpoints is {shown(checkpoints)}: expected a function from a fitted model to its earlier "
                         "states")
    if classes is not None and (isinstance(classes, str) or not isinstance(classes, Collection)):
        raise UsageError(f"classes is {shown(classes)}: expected a list of names, in the order of the model's outputs")
    rng = np.random.default_rng((options.get("seed", 0), 27))
    sets = MemorySets.of(members, non_members, control_data, rng, label=label, text=text,
                         aside=references > 0 and control is None and control_data is None)
    target = score_in_memory(model, sets.records.inputs, "model", batch=batch)
    table = _table(sets, target, classes)
    if selector is None:
        # Before hours of training; with a selector there is one more part, and its scores come later.
        check_parts(table, options.get("exclude_parts", ()))
    asked = _Perturbed(sets.records.inputs, [int(one) for one in rng.integers(2**31, size=perturbations)], batch)
    table = replace(table, steadiness=asked.steadiness(model, target, table, target.classes, "model"))
    further = chain([_Further(model, "target", None, sets.member)],
                    _trained(model, sets, references, rng, control=control is None), _brought(own, sets))
    table = _with_models(table, _named(further, checkpoints), sets, target.classes, batch, asked)
    check_table(table, SOURCE, allow_split_groups=allow_split_groups)
    kept = np.flatnonzero(~_split(table))
    check_enough(table.take(kept), SOURCE)
    inputs = sets.records.inputs
    if sets.records.texts:
        blind: dict[str, Any] = {"texts": dict(zip(table.examples.id, inputs, strict=True))}
    else:
        blind = {"features": blind_features(inputs, rng)[kept]}
    trained_on = sets.records.take(np.flatnonzero(sets.member))
    found = audit_membership(table.take(kept), **options, **blind, provenance={
        "discreet": discreet.__version__, "input": "records in memory", "model_type": target.facts["model_type"],
        "references_trained": references, "control_trained_on": 0 if sets.control is None else len(sets.control),
        **sets.left_out, "finished": datetime.now(UTC).isoformat(timespec="seconds")})
    return replace(found, structure=tree_structure(model, trained_on.inputs, trained_on.labels))


def given_models(**given: Any) -> dict[str, list[Any]]:
    """The user's own models by what they are for, as lists."""
    return {name: one if isinstance(one, list) else [one] for name, one in given.items() if one is not None}


def memory_table(model: Any, sets: MemorySets, own: Mapping[str, Sequence[Any]],
                 checkpoints: Callable[[Any], Sequence[Any]]) -> ScoreTable:
    """The table of models that are all there, which `audit_model` makes of them."""
    target = score_in_memory(model, sets.records.inputs, "model")
    further = chain([_Further(model, "target", None, sets.member)], _brought(own, sets))
    return _with_models(_table(sets, target, None), _named(further, checkpoints), sets, target.classes, 1,
                        _Perturbed(sets.records.inputs, [], 1))


def check_packages() -> None:
    """MissingExtraError where a package is absent that every audit needs."""
    for module, purpose in (("scipy.special", "an interval"), ("sklearn.linear_model", "the blind baseline")):
        need(module, purpose, "audit")


def _check(model: Any, own: Mapping[str, Sequence[Any]], references: int, control_data: Any) -> None:
    """Whether all models can be asked and all packages are there, before anything runs."""
    check_packages()
    for name, one in (("model", model), *((name, one) for name, given in own.items() for one in given)):
        check_model(one, name)
    if references and not can_clone(model):
        raise UsageError(f"references is {references}, and a {type(model).__name__} cannot be cloned and trained; "
                         "expected an estimator of scikit-learn, or models of your own: control=, neutral=")
    if control_data is not None and (not references or "control" in own):
        raise UsageError("control_data trains the control model, and no control model is trained; expected "
                         "references=N without control=, or no control_data")


def _brought(own: Mapping[str, Sequence[Any]], sets: MemorySets) -> Iterator[_Further]:
    """The user's own models: trained on neither set, but for those that say what they were trained on."""
    for name, models in own.items():
        role, kind = ROLE_OF[name]
        for one in models:
            seen = one.trained_on if isinstance(one, Recorded) else frozenset()
            inputs = sets.records.inputs if seen else [""] * len(sets.records)
            member = np.array([text in seen for text in inputs], dtype=np.bool_)
            yield _Further(one, role, "population" if seen else kind, member)


def _table(sets: MemorySets, target: Answers, classes: Sequence[str] | None) -> ScoreTable:
    """The table of the target alone."""
    n_classes, records = target.logits.shape[1], sets.records
    if classes is not None and not len({str(one) for one in classes}) == len(classes) == n_classes:
        twice = "" if len(set(classes)) == len(classes) else ", some of them twice"
        raise UsageError(f"classes has {counted(len(classes), 'name')}{twice}, and the model {n_classes} classes; "
                         "expected a name of its own for each, in the order of the model's outputs")
    names = tuple(map(str, classes)) if classes is not None else None
    own = target.classes or names or records.classes
    given = [str(one) for one in records.labels]
    # Labels are called as the model calls its classes, or else as the user does.
    codes = class_codes(given, names if names is not None and set(given) <= set(names) else own, n_classes, SOURCE,
                        "" if names else ", and classes= can")
    shown = next((one for given in (names, own, records.classes) if (one := named_classes(given, n_classes))), None)
    examples = Examples(np.array(sets.id, dtype=np.object_), codes, np.zeros(len(records), dtype=np.int64),
                        group_codes(records), categories=records.categories)
    return ScoreTable((Model("target", "target", facts=target.facts),), examples, target.logits[None, :, None, :],
                      np.where(sets.member, IN, OUT).astype(np.int8)[None], target.given_as, class_names=shown)


def _trained(model: Any, sets: MemorySets, references: int, rng: Generator, *, control: bool) -> Iterator[_Further]:
    """Clones of the target: references on random halves of the records, each half and its complement; and a control
    model. Made one at a time, when it is their turn to be scored."""
    if not references:
        return
    rows = np.arange(len(sets.records))
    strata = 2 * label_codes(sets.records) + sets.member
    groups, pending = group_codes(sets.records), list[IntArray]()
    seeds = [int(one) for one in rng.integers(2**31 - 1, size=references + 1)]
    for seed in seeds[:references]:
        half = pending.pop() if pending else None
        if half is None:
            half, other = halves(rows, strata, groups, rng)
            pending.append(other)
        trained = _fitted(model, sets.records.take(half), seed, "a reference")
        yield _Further(trained, "reference", "population", np.isin(rows, half))
    if control and sets.control is not None:
        trained = _fitted(model, sets.control, seeds[-1], "the control model")
        yield _Further(trained, "control", None, np.zeros(rows.size, dtype=np.bool_))


def _fitted(model: Any, records: Records, seed: int, name: str) -> Any:
    return fitted_clone(model, records.inputs, np.array(records.labels.tolist()), seed, name)


def _named(models: Iterable[_Further], checkpoints: Callable[[Any], Sequence[Any]] | None
           ) -> Iterator[tuple[_Further, str, dict[str, str]]]:
    """Each model with its name, by kind or role, and what is known of it; its checkpoints follow. Not the target."""
    seen = Counter[str]()
    for one in models:
        kind = one.kind or one.role
        seen[kind] += 1
        name = kind if seen[kind] == 1 else f"{kind}_{seen[kind]}"
        if one.role != "target":
            yield one, name, {}
        for place, earlier in enumerate(_earlier(checkpoints, one.model, name) if checkpoints else ()):
            stage = replace(one, model=earlier, role="checkpoint", kind=None)
            yield stage, f"{name}_checkpoint_{place + 1:03}", {CHECKPOINT_OF: name}


def _earlier(checkpoints: Callable[[Any], Sequence[Any]], model: Any, name: str) -> list[Any]:
    try:
        return list(checkpoints(model))
    except Exception as error:
        # The message may quote a record.
        raise InputError(f"checkpoints: {type(error).__name__} when asked for the earlier states of {name}; expected a "
                         "list of models") from None


def _with_models(table: ScoreTable, further: Iterable[tuple[_Further, str, dict[str, str]]], sets: MemorySets,
                 classes: tuple[str, ...] | None, batch: int, perturbed_copies: _Perturbed) -> ScoreTable:
    """The table with the scores of all other models."""
    models, logits, member, given_as = list(table.models), [table.logits], [table.member], {table.given_as}
    steady = [table.steadiness]
    for one, name, facts in further:
        answers = score_in_memory(one.model, sets.records.inputs, name, batch=batch)
        models.append(Model(name, one.role, one.kind, {**answers.facts, **facts}))
        logits.append(answers.like(classes, table.n_classes, name)[None, :, None, :])
        member.append(np.where(one.member, IN, OUT).astype(np.int8)[None])
        given_as.add(answers.given_as)
        # References are not asked: the attack needs none.
        steady.append(perturbed_copies.steadiness(one.model, answers, table, classes, name)
                      if one.role == "control" else None)
    known = [np.full(table.member.shape, np.nan) if one is None else one for one in steady]
    return replace(table, models=tuple(models), logits=np.concatenate(logits), member=np.concatenate(member),
                   given_as="prob" if "prob" in given_as else "logit",
                   steadiness=np.concatenate(known) if perturbed_copies.seeds else None)


def _split(table: ScoreTable) -> BoolArray:
    """(N,) whether the record's group has members and non-members."""
    if table.examples.group is None:
        return np.zeros(len(table.examples), dtype=np.bool_)
    return table.split_groups(0)[np.unique(table.examples.group, return_inverse=True)[1].reshape(-1)]
