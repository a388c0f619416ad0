"""Fit a guard: read, deal, encode, fit, calibrate, evaluate, save.

Fit, calibration and evaluation are three sets that share no text and no group. ν is chosen by five folds inside the
first; θ and τ come from the second; the figures of the card from the third.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from discreet.core.errors import UsageError
from discreet.domains import DomainLike, load_domain
from discreet.encode.base import Encoder
from discreet.encode.presets import build_encoders, default_cache
from discreet.guard.card import card_of
from discreet.guard.defaults import DEFAULT_DENSITY, DEFAULT_DISCRIMINATOR, DEFAULT_ENCODERS, THETA_PERCENTILE
from discreet.guard.density import densities
from discreet.guard.detector import Detector, Encoded
from discreet.guard.discriminators import DENSITY, DISCRIMINATORS, given, unfitted
from discreet.guard.dual_density import DualDensity
from discreet.guard.guard import Guard
from discreet.guard.points import Costs, operating_points, thetas
from discreet.guard.policy import Policy
from discreet.guard.prepare import EncodedCorpus, Files, encode_corpus, read_corpus

EVERY = tuple(DISCRIMINATORS)


def fit_guard(
    domain: DomainLike, safe: Files, unsafe: Files, borderline: Files | None = None, *,
    encoders: str | Sequence[Encoder] = DEFAULT_ENCODERS, density: str = DEFAULT_DENSITY,
    discriminator: str | None = None, seed: int = 42, out: Path | str | None = None, cache: Path | str | None = None,
    policy: Policy | None = None, encoded: Encoded = "answer", costs: Costs | None = None, quiet: bool = True,
) -> Guard:
    """Fit a guard on texts of both sides.

    Parameters
    ----------
    domain : Domain, str or Path
        Name of a built-in domain, or the folder of one.
    safe, unsafe, borderline : path or paths
        See `corpus.read_side`. The safe side of the density is safe + borderline (the paper's v4; without borderline
        texts its v3).
    encoders : str or sequence of Encoder
        See `encode.presets`.
    density : str
        "ocsvm", "gmm" or "rff"; decides what is out of distribution.
    discriminator : str, optional
        Whose δ decides between safe and flag: "density", or one of `DISCRIMINATORS`; `DEFAULT_DISCRIMINATOR` by
        default. All are fitted and saved.
    out, cache : path, optional
        Where the guard is saved; where exported encoders are kept (by default the user's cache folder).
    policy : Policy, optional
        Of the domain; by default the one in its folder.
    encoded : {"answer", "question+answer"}
        What the encoders of pieces read.
    costs : Costs, optional
        Adds the operating point "costs".

    Raises
    ------
    InputError, UsageError, MissingExtraError
        For files that cannot be read, too few texts of a side, an impossible option, a package that is missing.
    """
    decides = discriminator or DEFAULT_DISCRIMINATOR
    if decides not in (DENSITY, *EVERY):
        raise UsageError(f"--discriminator {decides!r}: expected one of {', '.join((DENSITY, *EVERY))}")
    if density not in list(densities):
        raise UsageError(f"--density {density!r}: expected one of {', '.join(densities)}")
    domain = load_domain(domain)
    policy = policy or Policy.of(domain)
    if policy.domain != domain:
        raise UsageError(f"--domain is {domain.name!r}, but the policy is for {policy.domain.name!r}; expected the "
                         "same domain")
    corpus = read_corpus(policy, safe, unsafe, borderline or (), seed=seed, quiet=quiet)
    if isinstance(encoders, str):
        encoders = build_encoders(encoders, domain=domain, cache=Path(cache) if cache else default_cache())
    rows = encode_corpus(corpus, encoders, encoded)
    dual = DualDensity(density, random_state=seed)
    detector = fit_detector(rows, dual, decides=decides, seed=seed, costs=costs)
    guard = Guard(policy, detector=detector, card=card_of(rows, detector, dual, seed=seed, costs=costs))
    if out is not None:
        guard.save(out)
    return guard


def fit_detector(
    rows: EncodedCorpus, dual: DualDensity, *, decides: str = DEFAULT_DISCRIMINATOR, kinds: Sequence[str] = EVERY,
    borderline: bool = True, seed: int = 42, costs: Costs | None = None, percentile: float = THETA_PERCENTILE,
) -> Detector:
    """Densities and discriminators on the fit set, thresholds on the calibration set.

    `dual` is fitted in place. `kinds` are the discriminators to fit; `decides` is one of them or "density". Without
    `borderline` the safe texts alone are the safe side, of fit and calibration (v3). θ stands at `percentile`
    of each side's calibration scores.
    """
    wanted = ["safe", "unsafe", *(["borderline"] if borderline else [])]
    among = np.isin(rows.kinds("fit"), wanted)
    labels = (rows.kinds("fit")[among] == "unsafe").astype(np.int64)
    dual.fit(rows.features[among], labels)
    draws = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(len(EVERY))]
    found = {}
    for kind in kinds:
        x = given(DISCRIMINATORS[kind].reads, rows.features, rows.evidence)
        found[kind] = unfitted(kind).fit(x[among], labels, rng=draws[EVERY.index(kind)])
    domain = rows.corpus.policy.domain
    bare = Detector(domain, rows.encoded, rows.fusion, rows.reader, dual.fitted_, found, decides)
    return _calibrated(rows, bare, wanted, costs, percentile)


def _calibrated(rows: EncodedCorpus, bare: Detector, wanted: Sequence[str], costs: Costs | None,
                percentile: float) -> Detector:
    """θ from the density's scores of the calibration set, then τ of every discriminator on what θ keeps."""
    of, held = rows.kinds("calibration"), rows.held["calibration"]
    among, unsafe = np.isin(of, wanted), of == "unsafe"
    safe = among & ~unsafe
    sigmas = bare.dual.sigmas(held.features)
    by_density = bare.deciding(DENSITY).score(held, sigmas)
    spread = float(np.std(by_density.delta[among]))
    gate = thetas(by_density.sigmas[safe], by_density.sigmas[unsafe], percentile)
    gated = replace(bare, thetas=gate, spread=spread if spread > 0 else 1.0)
    points = {}
    for kind in (DENSITY, *bare.discriminators):
        scores = gated.deciding(kind).score(held, sigmas)
        # Where a discriminator is sure of nothing, its thresholds are of no consequence, and still must be numbers.
        sides = [side & scores.kept if np.any(side & scores.kept) else side for side in (unsafe, safe)]
        points[kind] = operating_points(scores.delta[sides[0]], scores.delta[sides[1]], costs)
    return replace(gated, points=points)
