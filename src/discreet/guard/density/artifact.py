"""A fitted guard as a folder: `guard.json`, `arrays.safetensors`, `encoders/`. No pickle, no text, no vocabulary.

`guard.json` holds policy, settings, thresholds, operating points and the card, with size and SHA-256 of the other
files; `encoders/` has manifests of its own, whose hash stands here. It is read only where every hash agrees.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any, cast

from discreet.core.arrays import read_arrays, write_arrays
from discreet.core.errors import InputError
from discreet.core.folders import Manifest, atomic_folder, read_manifest, sha256, write_manifest
from discreet.guard.density.base import prefixed, under
from discreet.guard.density.detector import ENCODED, GATES, Detector, Gate
from discreet.guard.density.discriminators import DENSITY, restore_discriminator
from discreet.guard.density.encoders.evidence import EvidenceEncoder
from discreet.guard.density.fitted_dual import FittedDual
from discreet.guard.density.points import Thetas, read_points
from discreet.guard.density.professional import weights
from discreet.guard.domains import save_facts, saved_domain
from discreet.guard.policy import Policy
from discreet.guard.text.direct.detect import recognisers
from discreet.inputs.encode.fusion import FUSION, Fusion

MANIFEST, ARRAYS, ENCODERS = "guard.json", "arrays.safetensors", "encoders"
FORM, VERSION = "discreet-guard", 1


def save_detector(folder: Path, detector: Detector, policy: Policy, card: Mapping[str, Any]) -> None:
    """Write a guard, whole or not at all. UsageError where `folder` holds something else or cannot be written."""
    arrays = prefixed("dual", detector.dual.state())
    for kind, found in detector.discriminators.items():
        arrays |= prefixed(kind, found.state())
    with atomic_folder(folder, MANIFEST) as part:
        write_arrays(part / ARRAYS, arrays)
        detector.fusion.save(part / ENCODERS)
        facts = {
            **save_facts(detector.domain, part), "policy": policy.settings(), "encoded": detector.encoded,
            "encoders": {"name": detector.fusion.name, "dim": detector.fusion.dim,
                         "sha256": sha256(part / ENCODERS / FUSION)},
            "evidence": detector.evidence.features, "dual": detector.dual.config(),
            "discriminators": {kind: found.config() for kind, found in detector.discriminators.items()},
            "decides": detector.decides, "thetas": detector.thetas.to_json(), "spread": detector.spread,
            "points": {kind: dict(points) for kind, points in detector.points.items()},
            "gate": detector.gate, "reader": weights(), "recognisers": recognisers.outside(), "card": dict(card),
        }  # fmt: skip
        write_manifest(part, MANIFEST, FORM, VERSION, facts)


def load_detector(folder: Path) -> tuple[Detector, Policy, dict[str, Any]]:
    """The detector, the policy that it was fitted under and its card.

    InputError where the folder holds no guard, or one that is truncated, changed, of another version or impossible.
    """
    manifest = read_manifest(folder, MANIFEST, FORM, VERSION)
    if ARRAYS not in manifest.files:
        raise InputError(f"{folder / MANIFEST} lists no {ARRAYS}: copy the whole folder again")
    arrays = read_arrays(manifest.verify().folder / ARRAYS)
    fusion = _read_encoders(manifest)
    domain = saved_domain(manifest.facts, folder)
    evidence = EvidenceEncoder(domain)
    if manifest.fact("evidence", list) != list(evidence.features):
        raise InputError(f"{folder} counts other evidence features than this discreet does: fit the guard again")
    gate, read = manifest.fact("gate", str), manifest.fact("reader", dict)
    if read != weights():
        raise InputError(f"{folder} was fitted with another reader than this discreet ships: fit the guard again")
    if absent := set(manifest.facts.get("recognisers", ())).difference(recognisers):
        raise InputError(f"{folder} was fitted with the recogniser {min(absent)!r}, which is not installed: install "
                         "the package that has it, or fit the guard again")
    encoded, decides, spread = (manifest.fact("encoded", str), manifest.fact("decides", str),
                                manifest.facts.get("spread"))
    try:
        found = {kind: restore_discriminator(config, under(kind, arrays)) for kind,
                 config in manifest.fact("discriminators", dict).items()}
        dual = FittedDual.restore(manifest.fact("dual", dict), under("dual", arrays))
        points = {kind: read_points(taus) for kind, taus in manifest.fact("points", dict).items()}
        thetas = Thetas.from_json(manifest.fact("thetas", dict))
        policy = Policy.restore(manifest.fact("policy", dict), domain)
        if encoded not in ENCODED:
            raise InputError(f"it encodes {encoded!r}; expected {' or '.join(ENCODED)}")
        if gate not in GATES:
            raise InputError(f"its gate is {gate!r}; expected {' or '.join(GATES)}")
        if not isinstance(spread, float) or not (isfinite(spread) and spread > 0):
            raise InputError("it must give a positive spread")
        if decides not in {DENSITY, *found} or set(points) != {DENSITY, *found}:
            raise InputError("it names a discriminator without points, or the other way round")
    except (InputError, TypeError) as error:
        said = error if isinstance(error, InputError) else "it holds a policy of another form"
        raise InputError(f"{folder / MANIFEST}: {said}; fit the guard again") from None
    detector = Detector(domain, encoded, fusion, evidence, dual, found, decides, policy, thetas, points, spread,
                        cast(Gate, gate))
    return detector, policy, manifest.fact("card", dict)


def _read_encoders(manifest: Manifest) -> Fusion:
    home, said = manifest.folder / ENCODERS, manifest.fact("encoders", dict)
    if not (home / FUSION).is_file():
        raise InputError(f"{home} is missing or holds no {FUSION}: the guard's encoders belong in it; copy the whole "
                         "folder again")
    if sha256(home / FUSION) != said.get("sha256"):
        raise InputError(f"{home} holds encoders of another hash than the guard was fitted with "
                         f"({str(said.get('sha256'))[:12]}…): copy the whole folder again")
    return Fusion.load(home)
