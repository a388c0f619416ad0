"""A small sealed data set and scores for it."""

from __future__ import annotations

import numpy as np

from discreet.audit.sealed import Datum, Revealed, Scores, Sealed, reveal, seal
from discreet.core.files import KeyedHash


def data(n: int = 240, users: int = 0, seed: int = 0) -> list[Datum]:
    rng = np.random.default_rng(seed)
    return [Datum(f"r{i}", "MARK " + "x" * int(rng.integers(5, 40)) + str(i), ("safe", "unsafe")[int(rng.integers(2))],
                  f"u{i % users}" if users else None) for i in range(n)]


def scored(sealed: Sealed, shift: float, seed: int = 1, names: tuple[str, ...] = ("score",)) -> Scores:
    """Normal scores; those of trained records are `shift` higher."""
    rng, inside = np.random.default_rng(seed), {d.id for d in sealed.train}
    lift = np.array([shift * (d.id in inside) for d in sealed.probe])
    values = rng.normal(size=(len(sealed.probe), len(names))) + lift[:, None]
    return Scores(names, tuple(d.id for d in sealed.probe), values)


def audit(shift: float, pairs: int = 100, users: int = 0, names: tuple[str, ...] = ("score",), seed: int = 5,
          alpha: float = 0.05) -> Revealed:
    """Sealed, scored and revealed."""
    sealed = seal(data(users=users), pairs, seed=seed, alpha=alpha)
    return reveal(sealed.opening, KeyedHash(sealed.key), scored(sealed, shift, names=names))
