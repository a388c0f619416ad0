"""The certificate: coins, scores, figures and commitment in one JSON object that can be checked by itself."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.audit.sealed.commit import canonical
from discreet.audit.sealed.findings import ALPHA, TOLERANCE, findings
from discreet.audit.sealed.openings import hash_of_scores
from discreet.audit.sealed.reveal import Revealed, read_object
from discreet.audit.sealed.sign import Signer
from discreet.core.errors import InputError, UsageError

KIND = "discreet.certificate"
SCHEMA = 2
SEALS = ("digest", "signature")
"""Fields that cover all others."""


def make_certificate(revealed: Revealed, *, alpha: float | None = None, tolerance: float = TOLERANCE,
                     delta: float = 0.0, others: Sequence[Mapping[str, Any]] = (), signer: Signer | None = None,
                     version: str | None = None) -> dict[str, Any]:
    """A certificate as plain JSON values; see `findings` for the figures and their arguments.

    `alpha` is that of the seal; a seal that commits to none takes the one given (.05 if none is). UsageError for
    another than the seal's. `others` are the openings with other scores, as `others_than` returns them.

    `digest` is the SHA-256 of everything else and finds an alteration by who does not renew it; `signature` (Ed25519,
    null without `signer`) also one by who does. `version` is that of the program, for the record.
    """
    opening = revealed.opening
    if None not in (opening.alpha, alpha) and alpha != opening.alpha:
        raise UsageError(f"--alpha {alpha:g} was given and the seal commits to {opening.alpha:g}; expected none: it "
                         f"was fixed before training")
    level = next(one for one in (opening.alpha, alpha, ALPHA) if one is not None)
    body = {
        "kind": KIND, "schema": SCHEMA, "discreet": version,
        "made": datetime.now(UTC).isoformat(timespec="seconds"), "commitment": opening.commitment(),
        **findings(revealed.differences(), revealed.names, unit=opening.unit, source=opening.source, alpha=level,
                   tolerance=tolerance, delta=delta, committed=opening.alpha is not None,
                   others=[one["log10_e_value"] for one in others]),
        "other_openings": [dict(one) for one in others],
        "scores_hash": hash_of_scores(revealed.names, revealed.scores),
        "scores": {"names": list(revealed.names), "values": {k: list(v) for k, v in revealed.scores.items()}},
        "opened": opening.to_json(),
    }
    signed = {**body, "digest": digest_of(body)}
    return {**signed, "signature": None if signer is None else signer.sign(canonical(signed))}


def digest_of(certificate: Mapping[str, Any]) -> str:
    """SHA-256 of everything but `SEALS`, as 64 hexadecimal digits."""
    body = {key: value for key, value in certificate.items() if key not in SEALS}
    return hashlib.sha256(canonical(body)).hexdigest()


def read_certificate(path: Path) -> dict[str, Any]:
    """The object in a file, not yet checked; InputError where it claims to be no certificate of this schema."""
    value = read_object(path, "a certificate of discreet unseal")
    if value.get("kind") != KIND or value.get("schema") != SCHEMA:
        raise InputError(f"{path} is no certificate of schema {SCHEMA}; expected what discreet unseal --out wrote")
    return value
