"""The detectors of the study: the paper's in its own form, ours, and what they say of every text that is held out."""

from __future__ import annotations

import hashlib
import io
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.core.files import write_atomic
from discreet.core.records import plain
from discreet.core.types import BoolArray, FloatArray
from discreet.guard.density.discriminators import Perceptron
from discreet.guard.density.dual_density import PCA, DualDensity
from discreet.guard.density.points import PAPER_PERCENTILE, THETA_PERCENTILE, operating_points, thetas
from discreet_papers.ppe.corpora import CALIBRATION, HOLDOUT, UNSEEN, PPECorpus
from discreet_papers.shared import paper_figures

VERSION = 1
"""Of the scores on disk: another one makes them anew."""
COMPONENTS, ROWS_PER_DIMENSION = 8, 2
SCORED = (*(f"{kind}_{part}" for kind in ("safe", "unsafe") for part in (CALIBRATION, HOLDOUT)), *UNSEEN)
"""The sets that a detector scores: all that nothing was fitted on."""
TIMED = 50


@dataclass(frozen=True, slots=True)
class DetectorSettings:
    """One detector of `settings.yaml`.

    `form` "paper": eight components on all rows, raw scales, θ at the fifth percentile, τ that may lie above 0; "ours":
    as `DualDensity` and a fitted guard have it. With `v4` borderline texts are on the safe side. `band` of "mlp": it
    abstains where 1 − band < p < band, or "calibration": on the 5% of calibration texts that it is least sure of.
    `shuffled` permutes the labels that it is fitted on: the control that knows nothing. `ratio` "paper" leaves rows of
    the larger side out until there are as many unsafe ones for each safe one as in table III, on which the sum of raw
    scales depends: .95 in medicine, 1.26 in finance, 1.54 in law, borderline texts among the safe.
    """

    name: str
    density: Literal["gmm", "ocsvm", "rff", "mlp"]
    form: Literal["paper", "ours"]
    v4: bool
    features: str = "embedding"
    band: float | Literal["calibration"] = 0.9
    shuffled: bool = False
    ratio: Literal["paper"] | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is not set is left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """What one detector says of the texts of each set in `SCORED`: the row schema of every table.

    `delta` (n,), higher = unsafe, and `abstains` (n,), by set, in the order of `PPECorpus.records`; `taus`, the
    operating points *conservative* (τ = 0), *balanced*, *strict*: a text is flagged where δ > τ. `facts` are plain JSON
    values: components, ν, dimensions, θ, seconds.
    """

    detector: str
    delta: Mapping[str, FloatArray] = field(repr=False)
    abstains: Mapping[str, BoolArray] = field(repr=False)
    taus: Mapping[str, float]
    facts: Mapping[str, Any] = field(default_factory=dict)


def fit_and_score(corpus: PPECorpus, settings: DetectorSettings, *, seed: int = 42) -> Scored:
    """Fit a detector on the corpus, calibrate it on the calibration sets, and score what is held out."""
    x, y = corpus.fitted(borderline=settings.v4)
    if settings.ratio is not None:
        kept = _as_the_papers(y, corpus.domain.name, np.random.default_rng((seed, 2)))
        x, y = x[kept], y[kept]
    if settings.shuffled:
        y = np.random.default_rng((seed, 1)).permutation(y)
    started = time.perf_counter()
    made = _perceptron if settings.density == "mlp" else _dual
    delta, abstains, facts = made(corpus, settings, x, y, seed, started)
    calibration = {}
    for kind in ("unsafe", "safe"):
        values, held = delta[f"{kind}_{CALIBRATION}"], abstains[f"{kind}_{CALIBRATION}"]
        # A perceptron that is sure of nothing still needs numbers, which then decide about nothing.
        calibration[kind] = values if held.all() else values[~held]
    taus = operating_points(calibration["unsafe"], calibration["safe"], paper=settings.form == "paper")
    return Scored(settings.name, delta, abstains, taus, {**settings.to_json(), "seed": seed, "dim": int(x.shape[1]),
                                                         "n_safe": int((y == 0).sum()), "n_unsafe": int((y == 1).sum()),
                                                         **facts})


def _as_the_papers(y: NDArray[np.int64], domain: str, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows, rising, of which unsafe to safe are as in table III; all where the paper does not have the domain."""
    counts = {row["part"]: float(row["value"]) for row in paper_figures("ppe")
              if row["table"] == "III" and row["domain"] == domain}
    if not counts:
        return np.arange(y.size)
    ratio = counts["unsafe"] / (counts["safe"] + counts["borderline"])
    n_safe, n_unsafe = (int((y == label).sum()) for label in (0, 1))
    wanted = (min(n_safe, round(n_unsafe / ratio)), min(n_unsafe, round(n_safe * ratio)))
    return np.sort(np.concatenate([rng.permutation(np.flatnonzero(y == label))[:n]
                                   for label, n in enumerate(wanted)]))


_Made = tuple[dict[str, FloatArray], dict[str, BoolArray], dict[str, Any]]


def dual_of(settings: DetectorSettings, fewest: int, dims: tuple[int, ...], seed: int) -> DualDensity:
    """The pair of densities of a detector, for `fewest` rows of its smaller class.

    K stays at eight in the paper's form; where the rows do not carry eight full covariances in 512 components, of which
    each needs two rows a dimension, it is the principal components that give way.
    """
    paper = settings.form == "paper"
    reduced = settings.density == "gmm" and settings.features == "embedding"
    most = max(1, min(PCA, fewest // (ROWS_PER_DIMENSION * COMPONENTS))) if paper and reduced else "auto"
    return DualDensity(settings.density, n_components=COMPONENTS, fixed_components=paper, pca=most,
                       features=settings.features, widths=dims if settings.features == "typicality" else None,
                       nu=0.01 if settings.shuffled else "sweep", scale="libsvm" if paper else "normalised",
                       random_state=seed)


def _dual(corpus: PPECorpus, settings: DetectorSettings, x: NDArray[np.float32], y: NDArray[np.int64], seed: int,
          started: float) -> _Made:
    dual = dual_of(settings, int(np.bincount(y).min()), corpus.dims, seed).fit(x, y)
    fitted = dual.fitted_
    seconds = time.perf_counter() - started
    sigmas = {name: fitted.sigmas(corpus.vectors[name]) for name in SCORED}
    percentile = PAPER_PERCENTILE if settings.form == "paper" else THETA_PERCENTILE
    limits = thetas(sigmas[f"safe_{CALIBRATION}"], sigmas[f"unsafe_{CALIBRATION}"], percentile)
    one = corpus.vectors[f"safe_{HOLDOUT}"][:TIMED]
    facts = {"nu": dual.nu_, "components": dual.components_, "scale": dual.scale, "percentile": percentile,
             "pca": None if fitted.projection is None else int(fitted.projection.components.shape[0]),
             "converged": [getattr(density, "converged", None) for density in fitted.densities],
             "theta_safe": limits.safe, "theta_unsafe": limits.unsafe, "fit_seconds": round(seconds, 1),
             "stored_rows": fitted.stored_rows(), "score_ms": _milliseconds(one, fitted.sigmas)}
    return ({name: np.diff(found, axis=1)[:, 0] for name, found in sigmas.items()},
            {name: limits.out_of_distribution(found) for name, found in sigmas.items()}, facts)


def _perceptron(corpus: PPECorpus, settings: DetectorSettings, x: NDArray[np.float32], y: NDArray[np.int64], seed: int,
                started: float) -> _Made:
    found = Perceptron.fit(x, y, rng=np.random.default_rng(seed))
    seconds = time.perf_counter() - started
    delta = {name: found.delta(corpus.vectors[name]) for name in SCORED}
    if settings.band == "calibration":
        sizes = np.abs(np.concatenate([delta[f"{kind}_{CALIBRATION}"] for kind in ("safe", "unsafe")]))
        unsure = float(np.percentile(sizes, PAPER_PERCENTILE))
    else:
        unsure = replace(found, sure=settings.band).unsure
    facts = {"unsure": unsure, "sure": float(1.0 / (1.0 + np.exp(-unsure))), "fit_seconds": round(seconds, 1),
             "score_ms": _milliseconds(corpus.vectors[f"safe_{HOLDOUT}"][:TIMED], found.delta)}
    return delta, {name: np.abs(value) < unsure for name, value in delta.items()}, facts


def _milliseconds(rows: NDArray[np.float32], score: Any) -> float:
    """Median time of one row by itself, in ms."""
    times = []
    for row in rows:
        started = time.perf_counter()
        score(row[None, :])
        times.append(time.perf_counter() - started)
    return round(1e3 * float(np.median(times)), 3)


def scored(corpus: PPECorpus, settings: DetectorSettings, store: Path, *, seed: int = 42) -> Scored:
    """`fit_and_score`, kept in `store` under the corpus' key: made once."""
    return kept(settings.name, store, {"corpus": corpus.key, "seed": seed, **settings.to_json()},
                lambda: fit_and_score(corpus, settings, seed=seed))


def kept(detector: str, store: Path, facts: Mapping[str, Any], make: Callable[[], Scored]) -> Scored:
    """What `make` says, kept in `store` under the `facts` that it depends on: made once."""
    named = json.dumps({"version": VERSION, **facts}, sort_keys=True)
    path = store / "scores" / f"{hashlib.sha256(named.encode()).hexdigest()[:24]}.npz"
    if path.is_file():
        with np.load(path, allow_pickle=False) as there:
            said = json.loads(str(there["facts"]))
            return Scored(detector, {name: there[f"delta/{name}"] for name in SCORED},
                          {name: there[f"abstains/{name}"] for name in SCORED}, said["taus"], said["facts"])
    made = make()
    arrays = {f"{what}/{name}": getattr(made, what)[name] for what in ("delta", "abstains") for name in SCORED}
    packed = io.BytesIO()
    np.savez(packed, facts=np.array(json.dumps({"taus": dict(made.taus), "facts": plain(made.facts)})), **arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, packed.getvalue())
    return made
