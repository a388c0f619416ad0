"""Ed25519 signatures (RFC 8032) over certificates; keys are PEM files, as `openssl genpkey` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.core.errors import InputError, MissingExtraError
from discreet.core.files import why

ALGORITHM = "Ed25519"


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key."""

    _key: Any = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Signer:
        """The key of a PEM file without a password; InputError for anything else."""
        ed25519, serialization = _cryptography()
        try:
            key = serialization.load_pem_private_key(_bytes(path), password=None)
        except (ValueError, TypeError):
            key = None
        if not isinstance(key, ed25519.Ed25519PrivateKey):
            raise InputError(f"{path} is no Ed25519 private key without a password; expected the PEM file that "
                             f"'openssl genpkey -algorithm ed25519' writes")
        return cls(key)

    def sign(self, content: bytes) -> dict[str, str]:
        """`{algorithm, public_key, value}`, the latter two in hexadecimal digits."""
        return {"algorithm": ALGORITHM, "public_key": self._key.public_key().public_bytes_raw().hex(),
                "value": self._key.sign(content).hex()}


def read_public_key(path: Path) -> str:
    """The raw public key of a PEM file (public, or private without a password), as 64 hexadecimal digits."""
    ed25519, serialization = _cryptography()
    content = _bytes(path)
    for load in (serialization.load_pem_public_key, lambda c: serialization.load_pem_private_key(c, None).public_key()):
        try:
            key = load(content)
        except (ValueError, TypeError):
            continue
        if isinstance(key, ed25519.Ed25519PublicKey):
            return str(key.public_bytes_raw().hex())
    raise InputError(f"{path} is no Ed25519 key; expected the PEM file that 'openssl pkey -pubout' writes")


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


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {why(error)}; expected an Ed25519 key in a PEM file") from None


def _cryptography() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtraError("a signature", "audit", "cryptography") from None
    return ed25519, serialization
