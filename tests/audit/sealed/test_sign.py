from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric import ed25519, x25519

from discreet.audit.sealed.sign import Signer, read_public_key, verifies
from discreet.core.errors import InputError

SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")


def pem(path: Path, key: ed25519.Ed25519PrivateKey | x25519.X25519PrivateKey, password: bytes | None = None) -> Path:
    lock = s.NoEncryption() if password is None else s.BestAvailableEncryption(password)
    path.write_bytes(key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, lock))
    return path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return pem(tmp_path / "key.pem", ed25519.Ed25519PrivateKey.from_private_bytes(SEED))


def test_rfc_8032_test_1(key: Path) -> None:
    signed = Signer.read(key).sign(b"")
    assert signed["public_key"] == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert signed["value"].startswith("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb882159")
    assert verifies(signed, b"")
    assert SEED.hex() not in repr(Signer.read(key))


def test_openssl_agrees(tmp_path: Path) -> None:
    made, public = tmp_path / "k.pem", tmp_path / "p.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", made], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", made, "-pubout", "-out", public], check=True, capture_output=True)
    assert read_public_key(public) == read_public_key(made) == Signer.read(made).sign(b"x")["public_key"]


@pytest.mark.parametrize("change", [
    {"value": "00" * 64}, {"value": "zz"}, {"value": 1}, {"public_key": "00" * 32}, {"public_key": "d7"},
    {"algorithm": "RSA"}, {"public_key": None},
])
def test_what_does_not_verify(key: Path, change: dict[str, object]) -> None:
    signed: dict[str, object] = dict(Signer.read(key).sign(b"content"))
    assert verifies(signed, b"content")
    assert not verifies(signed, b"Content")
    assert not verifies({**signed, **change}, b"content")
    assert not verifies("x", b"content")
    assert not verifies({k: v for k, v in signed.items() if k not in change}, b"content")


def test_other_keys(tmp_path: Path) -> None:
    locked = pem(tmp_path / "l.pem", ed25519.Ed25519PrivateKey.generate(), b"secret")
    other = pem(tmp_path / "x.pem", x25519.X25519PrivateKey.generate())
    (tmp_path / "n.pem").write_text("no key")
    for path in (locked, other, tmp_path / "n.pem"):
        with pytest.raises(InputError, match="no Ed25519 private key"):
            Signer.read(path)
        with pytest.raises(InputError, match="no Ed25519 key"):
            read_public_key(path)
    with pytest.raises(InputError, match="cannot read"):
        Signer.read(tmp_path / "none.pem")
