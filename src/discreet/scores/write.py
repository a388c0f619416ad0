"""A `ScoreTable` as one flat Parquet file that `load_scores` reads back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.files import write_atomic
from discreet.data.columns import LIST_MARK, need_arrow
from discreet.scores.read import EXAMPLE_COLUMNS, MODEL_COLUMNS
from discreet.scores.table import EXAMPLE_ROLES, UNKNOWN, Canaries, ScoreTable


def write_scores(table: ScoreTable, path: Path | str) -> None:
    """Write `table` as Parquet, a row per model, example and query, to `path`: whole or not at all.

    Rows that were not scored (all classes NaN) are left out. `load_scores` gives the table back with models and
    examples in order of name, groups as the ranks of their codes, and only the facts and columns that it knows.
    Raises UsageError where `path` cannot be written, MissingExtraError without pyarrow.
    """
    pa = need_arrow()
    from pyarrow import parquet

    n_queries = table.logits.shape[2]
    examples = {name: values.take(pa.array(np.repeat(np.arange(len(table.examples)), n_queries)))
                for name, values in _examples(table).items()}
    sink, writer = pa.BufferOutputStream(), None
    # One model at a time: the rows of all of them as Arrow columns would stand beside the table itself.
    for place in range(len(table.models)):
        drawn = {} if table.drawn is None else _canaries(table.drawn, place)
        rows = pa.table({**_model(table, place), **examples, **drawn, **_scores(table, place)})
        scored = ~np.isnan(table.logits[place]).all(axis=-1).ravel()
        writer = writer or parquet.ParquetWriter(sink, rows.schema, compression="zstd")
        writer.write_table(rows if scored.all() else rows.filter(pa.array(scored)))
    if writer is None:
        raise ValueError("a table without models has no rows to write")
    writer.close()
    write_atomic(path, sink.getvalue().to_pybytes())


def _words(values: Iterable[str | None]) -> Any:
    pa = need_arrow()
    return pa.array(list(values), pa.string()).dictionary_encode()


def _examples(table: ScoreTable) -> dict[str, Any]:
    """The columns that say one thing for all rows of an example."""
    pa = need_arrow()
    examples, canaries = table.examples, table.drawn is not None
    found = {"example": _words(examples.id), "label_original" if canaries else "label": pa.array(examples.label)}
    if not canaries:
        found["planted"] = pa.array(examples.planted)
    if examples.group is not None:
        found["group"] = pa.array(examples.group)
    if examples.split is not None:
        found["split"] = _words(examples.split)
    if examples.categories is not None:
        found["category"] = _words(LIST_MARK.join(sorted(names)) or None for names in examples.categories)
    for name in EXAMPLE_COLUMNS:
        if name in examples.columns:
            found[name] = _words(None if value is None else str(value) for value in examples.columns[name])
    return found


def _canaries(canaries: Canaries, place: int) -> dict[str, Any]:
    pa = need_arrow()
    trained = canaries.trained[place]
    return {"example_role": _words(EXAMPLE_ROLES).take(pa.array(canaries.role[place])),
            "label_canary": pa.array(canaries.label[place]),
            "label_trained": pa.array(trained, mask=trained == UNKNOWN), "planted": pa.array(canaries.planted[place])}


def _model(table: ScoreTable, place: int) -> dict[str, Any]:
    """The columns that say one thing for all rows of a model; the examples' `structure` comes before a model's."""
    model, n_rows = table.models[place], table.logits.shape[1] * table.logits.shape[2]
    said: dict[str, str | None] = {"model": model.name, "model_role": model.role}
    if table.drawn is None:
        said["reference_kind"] = model.reference_kind
    columns = [one.stated for one in table.models]
    said |= {name: columns[place].get(name) for name in MODEL_COLUMNS
             if name not in table.examples.columns and any(name in one for one in columns)}
    first = need_arrow().array(np.zeros(n_rows, dtype=np.int64))
    return {name: _words([value]).take(first) for name, value in said.items()}


def _scores(table: ScoreTable, place: int) -> dict[str, Any]:
    pa = need_arrow()
    n_examples, n_queries, n_classes = table.logits.shape[1:]
    member = np.repeat(table.member[place], n_queries)
    # Whether a canary table's rows were trained on is what `example_role` says.
    found = {} if table.drawn is not None else {"member": pa.array(member == 1, mask=member == UNKNOWN)}
    if n_queries > 1:
        found["query"] = pa.array(np.tile(np.arange(n_queries), n_examples))
    scores = table.logits[place].reshape(-1, n_classes)
    for number in range(n_classes):
        column = scores[:, number] if table.given_as == "logit" else np.exp(scores[:, number])
        found[f"{table.given_as}_{number}"] = pa.array(np.ascontiguousarray(column))
    return found
