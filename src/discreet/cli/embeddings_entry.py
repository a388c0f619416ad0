"""The option of `discreet audit membership` for vectors of the examples, and what a record holds of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from discreet.scores.table import FloatArray, ScoreTable

Embeddings = Annotated[Path | None, typer.Option(
    "--embeddings", metavar="E", help="Vectors of the examples, for a picture of the boundary and its diagnostics: "
                                      ".npz with example and vectors, or a table with example, e0, e1, …; never kept. "
                                      "Needs a selection model.")]


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Vectors (N, d) of the examples of a table, in its order, and what they are in words."""

    representation: str
    values: FloatArray

    def record(self, table: ScoreTable, target: str, seed: int, permutations: int) -> dict[str, Any]:
        """What a record holds of them under "embedding"."""
        import numpy as np

        from discreet.audit.membership.embedding import embedding_record

        return embedding_record(self.values, table, table.index(target), np.random.default_rng(seed),
                                representation=self.representation, permutations=permutations)


def read_vectors(path: Path | None, table: ScoreTable) -> Vectors | None:
    """The vectors of the examples of `table`, None without a file. InputError where no picture can be made of them."""
    import numpy as np

    from discreet.audit.membership.embedding import boundary_places, load_vectors

    if path is None:
        return None
    for target in table.of_role("target"):
        # Before hours of attacks, not after.
        boundary_places(table, target, np.random.default_rng(0))
    return Vectors(f"the vectors of {path.name}", load_vectors(path, table.examples.id))
