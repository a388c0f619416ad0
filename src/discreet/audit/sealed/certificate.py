"""The certificate: coins, scores, figures and commitment in one JSON object, and the check that anybody can make of it.

Its digest finds an alteration by who does not renew it, its signature (Ed25519, RFC 8032; keys are PEM files) also one
by who does. The check recomputes every figure: no text, no model, no training.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isclose, isfinite
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.audit.scores.signals import LARGEST
from discreet.audit.sealed import opening as commitments
from discreet.audit.sealed.scores import TOLERANCE, Revealed, Rows, findings, in_range, read_scores, reveal
from discreet.audit.sealed.sealing import FILES
from discreet.core.calls import checked_call, path_of
from discreet.core.errors import InputError, UsageError, need, shown
from discreet.core.files import dump_json, why, write_atomic

KIND = "discreet.certificate"
SCHEMA = 3
ALGORITHM = "Ed25519"
SEALS = ("digest", "signature")
"""Fields that cover all others."""
UNCHECKED = ("discreet", "made")
"""Fields that nothing else in a certificate decides."""
RELATIVE = 1e-6
"""What another machine's arithmetic may change."""


class Certificate(dict[str, Any]):
    """What was found, with all that a check needs, as plain JSON values; `findings` says what the figures are."""

    @property
    def verdict(self) -> str:
        """"pass", "fail" or "inconclusive"."""
        return str(self["verdict"])

    @property
    def reason(self) -> str:
        """Why, in one sentence."""
        return str(self["reason"])

    @checked_call
    def save(self, path: Path | str) -> None:
        """Write the certificate to a file."""
        write_atomic(path_of(path, "path"), dump_json(self, indent=1) + "\n")

    @classmethod
    def load(cls, path: Path | str) -> Certificate:
        """The certificate in a file, not yet checked; InputError where it claims to be none of this schema."""
        value = commitments.read_object(path_of(path, "path"), "a certificate of discreet unseal")
        if value.get("kind") != KIND or value.get("schema") != SCHEMA:
            raise InputError(f"{path} is no certificate of schema {SCHEMA}; expected what discreet unseal --out wrote")
        return cls(value)

    def problems(self, *, commitment: str | None = None, public_key: str | None = None) -> list[str]:
        """Why the certificate is not consistent, one line each; empty where it is.

        `commitment` is the hash that was published before training: without it the certificate is only checked against
        its own. Where `public_key` (raw Ed25519, hexadecimal digits) is given, the certificate must be signed with it.
        """
        try:
            return list(_problems(self, commitment, public_key))
        except (InputError, RecursionError) as error:
            return [str(error)]
        except ValueError:
            # JSON spells a number beyond all floats as 1e999; nothing that discreet writes holds one.
            return ["it holds a number that is not finite: something was altered"]


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key."""

    _key: Any = field(repr=False)

    @classmethod
    def read(cls, path: Path | str) -> Signer:
        """The key of a PEM file without a password; InputError for anything else."""
        key = _key(path_of(path, "sign"))
        if not hasattr(key, "sign"):
            raise InputError(f"{path} is no Ed25519 private key without a password; expected the PEM file that "
                             f"'openssl genpkey -algorithm ed25519' writes")
        return cls(key)

    def sign(self, content: bytes) -> dict[str, str]:
        """`{algorithm, public_key, value}`, the latter two in hexadecimal digits."""
        return {"algorithm": ALGORITHM, "public_key": self._key.public_key().public_bytes_raw().hex(),
                "value": self._key.sign(content).hex()}


@checked_call
def unseal(folder: Path | str, scores: Rows, *, tolerance: float = TOLERANCE, delta: float = 0.0,
           sign: Path | str | None = None, out: Path | str | None = None) -> Certificate:
    """After training and scoring: open the coins of a seal and say what the scores give away.

    The folder keeps a record of the opening (`opened.json`), also where no certificate is written. UsageError for
    settings out of range or an `out` that is a file of the seal, InputError for a folder that is no seal or was altered
    and for scores that do not fit it.

    Parameters
    ----------
    folder : path
        What `seal(…).save(folder)` wrote.
    scores : path, data frame, or mappings
        As `read_scores`: id and score for every record of `probe.jsonl`.
    tolerance, delta
        As `findings`.
    sign, out : path, optional
        The PEM file of an Ed25519 key to sign with, and where the certificate is written.
    """
    folder = path_of(folder, "folder")
    if not in_range(tolerance, delta):
        raise UsageError(f"tolerance {shown(tolerance)}, delta {shown(delta)}; expected a tolerance between .5 and 1, "
                         f"and a delta from 0 to below 1")
    given = Path(scores) if isinstance(scores, str | Path) else None
    kept = [*(folder / name for name in (*FILES, commitments.OPENINGS_FILE)), *([] if given is None else [given])]
    if out is not None and path_of(out, "out").resolve() in [path.resolve() for path in kept]:
        raise UsageError(f"--out {out} is a file of the seal or of the scores; expected a name of its own for the "
                         f"certificate")
    signer = None if sign is None else Signer.read(sign)
    opening, keyed = commitments.read_coins(folder)
    revealed = reveal(opening, keyed, read_scores(scores), str(given or "the given data"))
    openings = commitments.read_openings(folder, opening.commitment())
    others = [one for one in openings if one["scores"] != revealed.scores_hash()]
    certificate = make_certificate(revealed, tolerance=tolerance, delta=delta, signer=signer, others=others)
    # The record first: a certificate that exists has been counted.
    commitments.record_opening(folder, openings, certificate)
    if out is not None:
        certificate.save(out)
    return certificate


def make_certificate(revealed: Revealed, *, tolerance: float = TOLERANCE, delta: float = 0.0,
                     others: Sequence[Mapping[str, Any]] = (), signer: Signer | None = None) -> Certificate:
    """The certificate of an opening; see `findings` for the figures and their arguments.

    `others` are the recorded openings with other scores.
    """
    body = {"discreet": __version__, "made": datetime.now(UTC).isoformat(timespec="seconds"),
            **_body(revealed, {"tolerance": tolerance, "delta": delta}, others)}
    signed = {**body, "digest": commitments.hash_of(body)}
    return Certificate({**signed, "signature": None if signer is None else signer.sign(commitments.canonical(signed))})


def _body(revealed: Revealed, settings: Mapping[str, float], others: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What coins, scores and settings decide."""
    opening = revealed.opening
    return {
        "kind": KIND, "schema": SCHEMA, "commitment": opening.commitment(),
        **findings(revealed.differences(), revealed.names, unit=opening.unit, source=opening.source,
                   alpha=opening.alpha, others=[float(one["log10_e_value"]) for one in others], **settings),
        "other_openings": [{name: one[name] for name in commitments.SHOWN} for one in others],
        "scores_hash": revealed.scores_hash(),
        "scores": {"names": list(revealed.names), "values": {k: list(v) for k, v in revealed.scores.items()}},
        "opened": opening.to_json(),
    }


def digest_of(certificate: Mapping[str, Any]) -> str:
    """SHA-256 of everything but `SEALS`, as 64 hexadecimal digits."""
    return commitments.hash_of({key: value for key, value in certificate.items() if key not in SEALS})


def _problems(certificate: Mapping[str, Any], commitment: str | None, public_key: str | None) -> Iterator[str]:
    """The certificate is made again from its coins, scores, settings and other openings, and compared."""
    if certificate.get("digest") != digest_of(certificate):
        yield "the digest does not fit: something was altered"
    signature = certificate.get("signature")
    body = {key: value for key, value in certificate.items() if key != "signature"}
    if signature is not None and not verifies(signature, commitments.canonical(body)):
        yield "the signature does not fit: something was altered, or another key signed"
    if public_key is not None and (not isinstance(signature, Mapping) or signature.get("public_key") != public_key):
        yield "it is not signed with the key that was given"
    opening = commitments.Opening.from_json(certificate.get("opened"), "certificate")
    revealed = _revealed(opening, certificate.get("scores"))
    if commitment is not None and opening.commitment() != commitment:
        yield "the opened coins do not hash to the commitment that was published: they are of another seal"
    settings = {name: certificate.get(name) for name in ("tolerance", "delta")}
    if not all(map(_is_number, settings.values())) or not in_range(**settings):
        raise InputError("tolerance or delta is missing or out of range")
    others = certificate.get("other_openings")
    if not commitments.are_openings(others) or any(one["scores"] == revealed.scores_hash() for one in others or ()):
        raise InputError("'other_openings' is no list of openings with other scores: it was altered")
    expected = _body(revealed, {name: float(value or 0.0) for name, value in settings.items()}, others or ())
    if missing := sorted({*expected, *UNCHECKED, *SEALS} - set(certificate)):
        yield f"{', '.join(missing)} of a certificate of schema {SCHEMA} is missing: it was taken out"
    for name, value in expected.items():
        if name in certificate and not same(certificate[name], value):
            yield f"'{name}' is not what coins and scores give: it was altered"
    if extra := sorted(set(certificate) - {*expected, *UNCHECKED, *SEALS}):
        yield f"{len(extra)} fields are not of a certificate of schema {SCHEMA}: they were added"


def _revealed(opening: commitments.Opening, scores: Any) -> Revealed:
    """Opening and scores; InputError where these are not a number of each name for every member."""
    names, values = (scores.get("names"), scores.get("values")) if isinstance(scores, Mapping) else (None, None)
    if not isinstance(values, Mapping) or set(scores) != {"names", "values"}:
        raise InputError("the scores are not names and values")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names) \
            or len(set(names)) < len(names):
        raise InputError("the scores have no names, or a name twice")
    if set(values) != {k for pair in opening.pairs for side in pair for k in side}:
        raise InputError("the scores are not of exactly the members of the pairs")
    for row in values.values():
        if not isinstance(row, list) or len(row) != len(names) or not all(
                _is_number(v) and abs(v) <= LARGEST for v in row):
            raise InputError("the scores hold something else than one finite number per name")
    return Revealed(opening, tuple(names), values)


def same(given: Any, expected: Any) -> bool:
    """Equal JSON values; floats up to `RELATIVE`."""
    if isinstance(expected, Mapping):
        return isinstance(given, Mapping) and set(given) == set(expected) and all(
            same(given[key], value) for key, value in expected.items())
    if isinstance(expected, list | tuple):
        return isinstance(given, list) and len(given) == len(expected) and all(map(same, given, expected))
    if isinstance(expected, float):
        return _is_number(given) and isclose(given, expected, rel_tol=RELATIVE, abs_tol=1e-9)
    return type(given) is type(expected) and bool(given == expected)


def _is_number(value: Any) -> bool:
    # A whole number of JSON may be too large for a float.
    ordinary = isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**1000)
    return ordinary and not isinstance(value, bool) and isfinite(value)


def read_public_key(path: Path) -> str:
    """The raw public key of a PEM file (public, or private without a password), as 64 hexadecimal digits."""
    key = _key(path)
    if key is None:
        raise InputError(f"{path} is no Ed25519 key; expected the PEM file that 'openssl pkey -pubout' writes")
    return str((key.public_key() if hasattr(key, "sign") else key).public_bytes_raw().hex())


def verifies(signature: Any, content: bytes) -> bool:
    """Whether `signature` is what `Signer.sign` makes of `content`. False, never an error, for anything malformed."""
    ed25519, _ = _cryptography()
    from cryptography.exceptions import InvalidSignature

    if not isinstance(signature, Mapping) or signature.get("algorithm") != ALGORITHM:
        return False
    try:
        key = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(signature["public_key"]))
        key.verify(bytes.fromhex(signature["value"]), content)
    except (InvalidSignature, ValueError, TypeError, KeyError):
        return False
    return True


def _key(path: Path) -> Any:
    """The Ed25519 key in a PEM file, private without a password, or public; None where it holds none."""
    ed25519, serialization = _cryptography()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {why(error)}; expected an Ed25519 key in a PEM file") from None
    for load in (serialization.load_pem_public_key, lambda content: serialization.load_pem_private_key(content, None)):
        with suppress(ValueError, TypeError):
            key = load(content)
            return key if isinstance(key, ed25519.Ed25519PrivateKey | ed25519.Ed25519PublicKey) else None
    return None


def _cryptography() -> tuple[Any, Any]:
    ed25519, serialization = (need(f"cryptography.hazmat.primitives.{name}", "a signature", "audit")
                              for name in ("asymmetric.ed25519", "serialization"))
    return ed25519, serialization
