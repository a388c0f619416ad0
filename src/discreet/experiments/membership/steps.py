"""The steps of a world, run by the engine: deal the sides, train a model and score with it. Results hold no text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.data.texts import LabelledText, read_texts
from discreet.engine import Job, Result, seeds_of
from discreet.experiments.membership.assign import SCORED, classes_of, deal, training_rows
from discreet.train import recipe_of

if TYPE_CHECKING:
    from discreet.train import Data, Fitted

IntArray = NDArray[np.int64]


def prepare(job: Job) -> dict[str, Any]:
    """Row numbers of each side, of the planted pool and of what is scored; counts of duplicates; the classes."""
    rows = read_texts(job.files["data"])
    return deal(rows, job.params, job.rng("sides"), job.files["data"].name)


def fit(job: Job) -> dict[str, Any]:
    """Train the model of one role and score with it."""
    rows, dealt = read_texts(job.files["data"]), job.inputs["prepare"]
    at = training_rows(dealt.arrays, job.params["role"])
    train = _copied(job, rows, at, _classes(dealt))
    return _fitted(job, train, rows, dealt, hidden=bool(job.params["hidden"]))


def fit_mismatched(job: Job) -> dict[str, Any]:
    """Train a reference on another corpus with the same labels, and score with it."""
    rows, dealt = read_texts(job.files["data"]), job.inputs["prepare"]
    classes, others = _classes(dealt), read_texts(job.files["other"])
    if (found := classes_of(others)) != classes:
        raise InputError(f"{job.files['other'].name} has {len(found)} classes, and they are not the "
                         f"{len(classes)} of {job.files['data'].name}; expected a corpus with the same labels")
    size = dealt.arrays["a"].size
    chosen = job.rng("rows").permutation(len(others))[:size]
    by_id = sorted(others, key=lambda row: row.id)
    return _fitted(job, data_of([by_id[row] for row in np.sort(chosen)], classes), rows, dealt)


def fit_shadows(job: Job) -> dict[str, Any]:
    """Train shadows, each on a random set of the size of A out of A, B and eval, and score with each.

    `member` is (shadows, scored): what each trained on. The draw of a shadow hangs on its number and the seed alone.
    """
    rows, dealt = read_texts(job.files["data"]), job.inputs["prepare"]
    arrays, classes = dealt.arrays, _classes(dealt)
    drawn_from = np.concatenate([arrays["a"], arrays["b"], arrays["eval"]])
    pool, size = arrays[SCORED][np.isin(arrays[SCORED], drawn_from)], arrays["a"].size
    chosen = {number: _drawn(pool, arrays["unit"], size, job.seed, number) for number in job.params["which"]}
    data, validation = data_of([rows[row] for row in pool], classes), _side(rows, arrays["val"], classes)
    recipe, scored = recipe_of(job.params["recipe"]), _side(rows, arrays[SCORED], classes)
    seeds = [seeds_of(job.seed, f"shadow/{number}", "fit") for number in chosen]
    if len(chosen) > 1:
        weights = np.stack([np.isin(pool, inside).astype(np.int64) for inside in chosen.values()])
        fitted = recipe.fit_many(data, weights, validation, len(classes), seeds)  # type: ignore[attr-defined]
    else:
        fitted = [recipe.fit(data.take(np.flatnonzero(np.isin(pool, inside))), validation, len(classes), one)
                  for inside, one in zip(chosen.values(), seeds, strict=True)]
    return {"logits": np.stack([one.logits(scored.inputs) for one in fitted]),
            "member": np.stack([np.isin(arrays[SCORED], inside) for inside in chosen.values()]).astype(np.int8),
            "which": np.array(list(chosen), dtype=np.int64), "facts": [dict(one.facts) for one in fitted]}


def data_of(rows: Sequence[LabelledText], classes: Sequence[str]) -> Data:
    """Rows as what a recipe trains on and scores."""
    from discreet.train import Data

    code = {name: number for number, name in enumerate(classes)}
    return Data(tuple(row.text for row in rows), np.array([code[row.label] for row in rows], dtype=np.int64))


def _fitted(job: Job, train: Data, rows: Sequence[LabelledText], dealt: Result, *, hidden: bool = False
            ) -> dict[str, Any]:
    arrays, classes = dealt.arrays, _classes(dealt)
    validation, scored = _side(rows, arrays["val"], classes), _side(rows, arrays[SCORED], classes)
    fitted: Fitted = recipe_of(job.params["recipe"]).fit(train, validation, len(classes), job.seeds("fit"))
    found: dict[str, Any] = {
        "logits": fitted.logits(scored.inputs), "facts": dict(fitted.facts),
        "trained_on": int(train.labels.size),
        "validation_accuracy": _accuracy(fitted, validation)}
    if hidden:
        found["hidden"] = fitted.hidden(scored.inputs).astype(np.float32)
    if job.params["keep"]:
        fitted.save(job.folder / "model")
    return found


def _accuracy(fitted: Fitted, data: Data) -> float | None:
    """Share of right answers; None without rows."""
    if not data.labels.size:
        return None
    return float(np.mean(fitted.logits(data.inputs).argmax(axis=1) == data.labels))


def _side(rows: Sequence[LabelledText], at: IntArray, classes: Sequence[str]) -> Data:
    return data_of([rows[row] for row in at], classes)


def _classes(dealt: Result) -> list[str]:
    return list(dealt.value["classes"])


def _drawn(pool: IntArray, unit: IntArray, size: int, seed: int, number: int) -> IntArray:
    """About `size` rows of the pool, whole groups at a time, in the order of a seeded shuffle."""
    rng = np.random.default_rng(seeds_of(seed, f"shadow/{number}", "rows"))
    names, counts = np.unique(unit[pool], return_counts=True)
    order = rng.permutation(names.size)
    taken = names[order[np.cumsum(counts[order]) <= size]]
    return pool[np.isin(unit[pool], taken)]


def _copied(job: Job, rows: Sequence[LabelledText], at: IntArray, classes: Sequence[str]) -> Data:
    """The training set of paper §8.2: every row (or those of the last class) `copies` times, or with paraphrases."""
    copies, paraphrases = int(job.params["copies"]), job.files.get("paraphrases")
    data = _side(rows, at, classes)
    again = np.flatnonzero(data.labels == len(classes) - 1) if job.params["positives_only"] else np.arange(at.size)
    if copies == 1 or job.params["role"] in ("selector",):
        return data
    if paraphrases is None:
        return data.take(np.concatenate([np.arange(at.size), np.repeat(again, copies - 1)]))
    said = _paraphrases(read_texts(paraphrases), [rows[at[row]] for row in again], copies - 1, paraphrases.name)
    return data_of([*(rows[row] for row in at), *said], classes)


def _paraphrases(found: Sequence[LabelledText], rows: Sequence[LabelledText], wanted: int, source: str
                 ) -> list[LabelledText]:
    there: Mapping[str, LabelledText] = {row.id: row for row in found}
    names = [f"{row.id}#{number}" for row in rows for number in range(1, wanted + 1)]
    if missing := [name for name in names if name not in there]:
        raise InputError(f"{source} lacks {len(missing):,} of {len(names):,} paraphrases, the first of them "
                         f"{missing[0][:40]!r}; make {wanted} of each row")
    return [there[name] for name in names]
