"""A `ScoreTable` as one flat Parquet file that `load_scores` reads back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from discreet.audit.scores.read import EXAMPLE_COLUMNS, MODEL_COLUMNS
from discreet.audit.scores.table import EXAMPLE_ROLES, UNKNOWN, ScoreTable
from discreet.core.files import write_atomic
from discreet.inputs.columns import LIST_MARK, need_arrow


def write_scores(table: ScoreTable, path: Path | str) -> None:
    """Write `table` as Parquet, a row per model, example and query, to `path`: whole or not at all.

    Rows that were not scored (all classes NaN) are left out. `load_scores` gives the table back with models and
    examples in order of name, groups as the ranks of their codes, and only the facts and columns that it knows.
    Raises UsageError where `path` cannot be written, MissingExtraError without pyarrow.
    """
    pa = need_arrow()
    from pyarrow import parquet

    if not table.models:
        raise ValueError("a table without models has no rows to write")
    n_examples, n_queries = table.logits.shape[1:3]
    example = pa.array(np.repeat(np.arange(n_examples), n_queries))
    examples = {name: values.take(example) for name, values in _examples(table).items()}
    if n_queries > 1:
        examples["query"] = pa.array(np.tile(np.arange(n_queries), n_examples))
    sink = pa.BufferOutputStream()
    writer: Any = None
    # One model at a time: the rows of all of them as Arrow columns would need memory besides the table itself.
    for place in range(len(table.models)):
        model = pa.array(np.zeros(n_examples * n_queries, dtype=np.int64))
        rows = pa.table({
            **{name: _words([value]).take(model) for name, value in _model(table, place).items()}, **examples,
            **{name: values.take(example) for name, values in _set(table, place).items()}, **_scores(table, place)})
        scored = ~np.isnan(table.logits[place]).all(axis=-1).ravel()
        writer = writer or parquet.ParquetWriter(sink, rows.schema, compression="zstd")
        kept = rows if scored.all() else rows.filter(pa.array(scored))
        # A row group holds the names of all examples, however few rows it has: one a model, not one a million rows.
        writer.write_table(kept, row_group_size=max(1, len(kept)))
    writer.close()
    write_atomic(path, sink.getvalue().to_pybytes())


def _words(values: Iterable[object]) -> Any:
    pa = need_arrow()
    return pa.array([None if value is None else str(value) for value in values], pa.string()).dictionary_encode()


def _examples(table: ScoreTable) -> dict[str, Any]:
    """The columns that say one thing for all rows of an example."""
    array, examples = need_arrow().array, table.examples
    found = {"example": _words(examples.id)}
    if table.drawn is None:
        found |= {"label": array(examples.label), "planted": array(examples.planted)}
    else:
        found["label_original"] = array(examples.label)
    if examples.group is not None:
        found["group"] = array(examples.group)
    if examples.split is not None:
        found["split"] = _words(examples.split)
    if examples.categories is not None:
        found["category"] = _words(LIST_MARK.join(sorted(names)) or None for names in examples.categories)
    return found | {name: _words(examples.columns[name]) for name in EXAMPLE_COLUMNS if name in examples.columns}


def _set(table: ScoreTable, place: int) -> dict[str, Any]:
    """What a model's training set says of the examples: of canaries whether they were trained on is their role."""
    array, drawn, member = need_arrow().array, table.drawn, table.member[place]
    if drawn is None:
        return {"member": array(member == 1, mask=member == UNKNOWN)}
    trained = drawn.trained[place]
    return {"example_role": _words(EXAMPLE_ROLES).take(array(drawn.role[place])),
            "label_canary": array(drawn.label[place]), "label_trained": array(trained, mask=trained == UNKNOWN),
            "planted": array(drawn.planted[place])}


def _model(table: ScoreTable, place: int) -> dict[str, str | None]:
    """The columns that say one thing for all rows of a model; the examples' `structure` comes before a model's."""
    model, stated = table.models[place], [one.stated for one in table.models]
    said: dict[str, str | None] = {"model": model.name, "model_role": model.role}
    if table.drawn is None:
        said["reference_kind"] = model.reference_kind
    return said | {name: stated[place].get(name) for name in MODEL_COLUMNS
                   if name not in table.examples.columns and any(name in one for one in stated)}


def _scores(table: ScoreTable, place: int) -> dict[str, Any]:
    scores = table.logits[place].reshape(-1, table.n_classes).T
    return {f"{table.given_as}_{number}": need_arrow().array(
        np.ascontiguousarray(column if table.given_as == "logit" else np.exp(column)))
        for number, column in enumerate(scores)}
