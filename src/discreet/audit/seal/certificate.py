"""The certificate: coins, scores, figures and commitment in one JSON object that can be checked by itself."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.audit.seal.commit import canonical
from discreet.audit.seal.findings import ALPHA, TOLERANCE, findings
from discreet.audit.seal.reveal import Revealed, read_object
from discreet.audit.seal.sign import Signer
from discreet.errors import InputError

KIND = "discreet.certificate"
SCHEMA = 1
SEALS = ("digest", "signature")
"""Fields that cover all others."""


def make_certificate(revealed: Revealed, *, alpha: float = ALPHA, tolerance: float = TOLERANCE, delta: float = 0.0,
                     signer: Signer | None = None, version: str | None = None) -> dict[str, Any]:
    """A certificate as plain JSON values; see `findings` for the figures and their arguments.

    `digest` is the SHA-256 of everything else and finds an alteration by who does not renew it; `signature` (Ed25519,
    null without `signer`) also one by who does. `version` is that of the program, for the record.
    """
    opening = revealed.opening
    body = {
        "kind": KIND, "schema": SCHEMA, "discreet": version,
        "made": datetime.now(UTC).isoformat(timespec="seconds"), "commitment": opening.commitment(),
        **findings(revealed.differences(), revealed.names, unit=opening.unit, source=opening.source, alpha=alpha,
                   tolerance=tolerance, delta=delta),
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
