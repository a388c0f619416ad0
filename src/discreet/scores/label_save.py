"""A `LabelTable` as one flat Parquet file that `load_label_scores` reads back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.errors import MissingExtraError
from discreet.core.files import write_atomic
from discreet.scores.label_load import FACTS
from discreet.scores.label_table import EXAMPLE_ROLES, UNKNOWN, LabelTable


def write_label_scores(table: LabelTable, path: Path | str) -> None:
    """Write `table` as Parquet, a row per model and example, to `path`: whole or not at all.

    `load_label_scores` gives the table back with models and examples in order of name, groups as the ranks of their
    codes, and only the facts that it knows. Raises UsageError where `path` cannot be written, MissingExtraError without
    pyarrow.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("writing a table of label scores", "audit", "pyarrow") from None
    if not table.models:
        raise ValueError("a table without models has no rows to write")
    sink = pa.BufferOutputStream()
    first = pa.table(_rows(table, 0))
    # A model at a time: names and roles of all rows of all models take a hundred times what the file does.
    with parquet.ParquetWriter(sink, first.schema, compression="zstd") as writer:
        writer.write_table(first)
        for place in range(1, len(table.models)):
            writer.write_table(pa.table(_rows(table, place)))
    write_atomic(path, sink.getvalue().to_pybytes())


def _rows(table: LabelTable, place: int) -> dict[str, Any]:
    import pyarrow as pa

    model, n = table.models[place], len(table)
    facts = {name: model.facts.get(name) for name in FACTS if any(name in other.facts for other in table.models)}
    said = {"model": model.name, "model_role": model.role, "mechanism": model.mechanism, "seed": model.seed, **facts}
    found = {name: _words([value], np.zeros(n, dtype=np.int8)) for name, value in said.items()}
    trained = table.trained[place]
    found |= {
        "epsilon": pa.array(np.full(n, model.epsilon)), "example": pa.array([str(one) for one in table.id]),
        "example_role": _words(EXAMPLE_ROLES, table.role[place]),
        "label_original": pa.array(table.original), "label_secret": pa.array(table.secret[place]),
        "label_trained": pa.array(trained, mask=trained == UNKNOWN), "planted": pa.array(table.planted[place]),
    }
    if table.group is not None:
        found["group"] = pa.array(table.group)
    scores = table.logits[place]
    return found | {f"logit_{number}": pa.array(np.ascontiguousarray(scores[:, number]))
                    for number in range(table.n_classes)}


def _words(names: Sequence[str | None], places: np.ndarray[Any, Any]) -> Any:
    """The names at these places, without a Python object for each row."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(places), pa.array(names, pa.string())).cast(pa.string())
