"""A model, members and non-members to a `ScoreTable`: the entry of an audit for whoever has no table of scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from discreet.audit.scores.adapters.http_endpoint import HttpEndpoint
from discreet.audit.scores.adapters.scorer import (
    Dtype,
    Run,
    Scorer,
    Settings,
    class_codes,
    columns_like,
    named_classes,
    score_texts,
)
from discreet.audit.scores.adapters.transformer import Transformer
from discreet.audit.scores.check import check_table
from discreet.audit.scores.table import (
    IN,
    OUT,
    REFERENCE_KINDS,
    UNKNOWN,
    Examples,
    MemberArray,
    Model,
    ReferenceKind,
    Role,
    ScoreTable,
)
from discreet.audit.train.transformer.reading import AUTO, NONE
from discreet.core.errors import InputError, UsageError
from discreet.core.types import BoolArray, IntArray
from discreet.inputs.columns import name_codes, name_order
from discreet.inputs.python_object import PYTHON, PythonObject
from discreet.inputs.texts import LabelledText, read_texts

REFERENCE_TRAIN = "reference_train"
"""The `split` of non-members that a paired reference was trained on, where it was not trained on all of them."""
FINGERPRINT_SHOWN = 16
COPIES_NAMED = 3
"""Non-members with the text of a member that an error names."""
HTTP = ("http://", "https://")


def open_model(spec: str, settings: Settings) -> Scorer:
    """The model that `spec` names.

    - `python:package.module:object`: an estimator, or a function of a list of texts. Importing it runs its code.
    - `http://…` or `https://…`: a classifier behind HTTP.
    - else a local folder or a hub name of a Hugging Face sequence classifier, or of a PEFT adapter of one.

    Raises UsageError for a spec that is none of them, and for a prompt that is given to what reads texts as they are;
    InputError for a model that cannot be loaded, MissingExtraError without the packages that it needs.
    """
    plain = spec.startswith(PYTHON) or spec.lower().startswith(HTTP)
    if plain and settings.prompt not in (NONE.name, AUTO):
        raise UsageError("a prompt was given for a Python object or a service, which reads texts as they are; expected "
                         "one with Hugging Face classifiers only: let the object or the service put it before a text")
    if spec.startswith(PYTHON):
        return PythonObject(spec)
    if spec.lower().startswith(HTTP):
        return HttpEndpoint(spec, batch=settings.batch)
    return Transformer(spec, settings)


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """A model of the table, its scores, and its names of the classes where it has them."""

    model: Model
    run: Run
    classes: tuple[str, ...] | None


def scored_from_model(
    spec: str, members: Path | str, nonmembers: Path | str, *, references: Sequence[str] = (),
    controls: Sequence[str] = (), selector: str | None = None, batch: int = 16, device: str | None = None,
    max_tokens: int | None = None, quiet: bool = True, cache: Path | None = None, dtype: Dtype = "float32",
    chat: bool = False, prompt: str = "none", allow_split_groups: bool = False,
) -> tuple[ScoreTable, dict[str, str]]:
    """Score members and non-members with a model, and with the others that an audit compares it to.

    Parameters
    ----------
    spec : str
        The audited model, as `open_model`.
    members, nonmembers : path
        JSON Lines, CSV or Parquet with `id, text, label` and, where they are there, `group, category, split,
        planted`: what the model was trained on, and what it was not. No id and no text may stand in both.
    references : sequence of str
        "KIND=SPEC". neutral: trained on neither set. paired: trained on the non-members, or, where some have the
        split "reference_train", on those. population: trained on random halves, of which nothing is known.
    controls, selector : specs
        Models that were trained on neither set.
    batch, device, max_tokens, dtype, chat, prompt :
        As `Settings`, for all models alike.
    quiet : bool
        Without progress on standard error.
    cache : path, optional
        Folder in which scores are kept, so that a run that was stopped goes on.
    allow_split_groups : bool
        Accept groups with texts on both sets, for whoever leaves them out afterwards.

    Returns
    -------
    table : ScoreTable
        Models named by role ("target", "control", "neutral_2" …), with a `fingerprint` and, for transformers,
        the share of tokens seen among their facts; one query.
    texts : dict of str to str
        The text of each id, for the blind baseline.

    Raises UsageError for a spec that is none, one that is given twice, settings that cannot be; MissingExtraError
    without the packages; InputError for files, models or labels that do not go together, and as `check_table`.
    """
    if other := [one for one in (spec, *references, *controls, *([] if selector is None else [selector]))
                 if not isinstance(one, str)]:
        raise UsageError(f"a model is given as {type(other[0]).__name__}; expected a string: a folder, a hub name, "
                         "http://… or python:MODULE:OBJECT; an object in memory is for discreet.audit_model")
    specs = _models(spec, references, controls, selector)
    settings = Settings(batch, device, max_tokens, dtype, chat, prompt)
    source = f"{members} and {nonmembers}"
    rows, member = _rows(read_texts(members), read_texts(nonmembers), source)
    first = _scored(*specs[0], rows, settings, cache, quiet)
    n_classes = first.run.logits.shape[1]
    # Before the other models are loaded: a mistake in the labels is then known early.
    labels = class_codes([row.label for row in rows], first.classes, n_classes, source)
    scored, logits = [first], [first.run.logits]
    for model, of in specs[1:]:
        one = _scored(model, of, rows, settings, cache, quiet)
        found = one.run.logits
        scored.append(one)
        logits.append(found[:, columns_like(one.classes, first.classes, model.name, found.shape[1], n_classes)])
    table = ScoreTable(tuple(one.model for one in scored), _examples(rows, labels, source),
                       np.stack(logits)[:, :, None, :],
                       np.stack([_trained_on(one.model, rows, member) for one in scored]),
                       "prob" if any(one.run.given_as == "prob" for one in scored) else "logit",
                       class_names=named_classes(first.classes, n_classes))
    check_table(table, source, allow_split_groups=allow_split_groups)
    return table, {row.id: row.text for row in rows}


def _models(spec: str, references: Sequence[str], controls: Sequence[str], selector: str | None
            ) -> list[tuple[Model, str]]:
    """The models and the specs that open them, named by role: a spec may hold a path, an address or a token."""
    given: list[tuple[str, Role, ReferenceKind | None, str]] = [("target", "target", None, spec)]
    for reference in references:
        said, _, of = reference.partition("=")
        kind = next((kind for kind in REFERENCE_KINDS if kind == said.strip().lower()), None)
        if kind is None or not of:
            raise UsageError(f"a reference does not say of which kind it is; expected KIND=MODEL, where KIND is one of "
                             f"{', '.join(REFERENCE_KINDS)}")
        given.append((kind, "reference", kind, of))
    given += [("control", "control", None, one) for one in controls]
    given += [] if selector is None else [("selector", "selection", None, selector)]
    if len({of for *_, of in given}) < len(given):
        raise UsageError("the same model is given twice; expected target, references, controls and selector to be "
                         "models of their own")
    seen: Counter[str] = Counter()
    models = []
    for word, role, kind, of in given:
        seen[word] += 1
        models.append((Model(word if seen[word] == 1 else f"{word}_{seen[word]}", role, kind), of))
    return models


def _rows(members: list[LabelledText], others: list[LabelledText], source: str
           ) -> tuple[list[LabelledText], BoolArray]:
    """The rows of both sets in order of their ids, and which are members."""
    ids = {row.id for row in members}
    if twice := sum(row.id in ids for row in others):
        raise InputError(f"{source}: {twice:,} ids stand in both files; expected each example to be a member or not: "
                         f"give it an id of its own, or take it out")
    of_text = {row.text_key: row.id for row in members}
    if copies := [(row.id, of_text[row.text_key]) for row in others if row.text_key in of_text]:
        named = ", ".join(f"{ours!r} (that of member {theirs!r})" for ours, theirs in copies[:COPIES_NAMED])
        raise InputError(f"{source}: {len(copies):,} non-members have the text of a member, so the model was trained "
                         f"on it: {named}{', …' if len(copies) > COPIES_NAMED else ''}; take these rows out of "
                         "the file of non-members")
    rows = [*members, *others]
    order = name_order(tuple(row.id for row in rows))
    return [rows[place] for place in order], order < len(members)


def _scored(model: Model, spec: str, rows: Sequence[LabelledText], settings: Settings, cache: Path | None, quiet: bool
            ) -> _Scored:
    """One model's scores; the model itself is let go, so that the next finds its memory free."""
    texts = [row.text for row in rows]
    scorer = open_model(spec, settings)
    run = score_texts(scorer, texts, batch=settings.batch, cache=cache, quiet=quiet, label=model.name)
    facts = {**scorer.facts(texts), "fingerprint": run.fingerprint[:FINGERPRINT_SHOWN]}
    return _Scored(replace(model, facts=facts), run, scorer.classes)


def _trained_on(one: Model, rows: Sequence[LabelledText], member: BoolArray) -> MemberArray:
    if one.role == "target":
        return np.where(member, IN, OUT).astype(np.int8)
    if one.reference_kind == "population":
        return np.full(len(rows), UNKNOWN, dtype=np.int8)
    if one.reference_kind != "paired":
        return np.full(len(rows), OUT, dtype=np.int8)
    said = np.array([row.split == REFERENCE_TRAIN for row in rows]) & ~member
    return np.where(said if said.any() else ~member, IN, OUT).astype(np.int8)


def _examples(rows: Sequence[LabelledText], labels: IntArray, source: str) -> Examples:
    groups = [row.group for row in rows if row.group is not None]
    if groups and len(groups) < len(rows):
        raise InputError(f"{source}: 'group' is null for {len(rows) - len(groups):,} of {len(rows):,} texts; give a "
                         f"text without a user or document a group of its own")
    return Examples(
        np.array([row.id for row in rows], dtype=np.object_), labels,
        np.array([row.planted for row in rows], dtype=np.int64), name_codes(groups) if groups else None,
        np.array([row.split for row in rows], dtype=np.object_) if any(row.split for row in rows) else None,
        tuple(row.categories for row in rows) if any(row.categories for row in rows) else None)
