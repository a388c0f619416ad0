from __future__ import annotations

import copy
import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric import ed25519, x25519
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.audit.sealed.scenes import audit, data, scored

from discreet.audit.sealed import Certificate, Scores, findings, make_certificate, read_openings, seal, unseal
from discreet.audit.sealed.certificate import Signer, digest_of, read_public_key, same, verifies
from discreet.audit.sealed.opening import OPENINGS_FILE, canonical
from discreet.core.errors import InputError, UsageError
from discreet.core.files import dump_json

ASKED = {"e_value", "rejected", "alpha", "epsilon_lower", "pairs", "power", "commitment", "scores", "opened",
         "signature"}


def problems(certificate: dict[str, Any], **known: Any) -> list[str]:
    return Certificate(certificate).problems(**known)


def test_it_carries_all_that_a_check_needs() -> None:
    revealed = audit(1.0, alpha=0.1)
    certificate = make_certificate(revealed, tolerance=0.6, delta=1e-6)
    assert set(certificate) >= ASKED
    expected = findings(revealed.differences(), ("score",), unit="record", source="seed", alpha=0.1, tolerance=0.6,
                        delta=1e-6)
    assert {key: certificate[key] for key in expected} == expected
    assert certificate["commitment"] == revealed.opening.commitment()
    assert certificate["opened"] == revealed.opening.to_json()
    assert len(certificate["scores"]["values"]) == 200
    assert certificate["signature"] is None
    body = {k: v for k, v in certificate.items() if k not in ("digest", "signature")}
    assert certificate["digest"] == digest_of(certificate) == hashlib.sha256(canonical(body)).hexdigest()


def test_no_text_and_no_id() -> None:
    written = dump_json(make_certificate(audit(1.0, users=60, pairs=20)))
    assert "MARK" not in written
    assert '"r1' not in written
    assert '"u1' not in written


def test_it_survives_a_file(tmp_path: Path) -> None:
    certificate = make_certificate(audit(1.0, names=("a", "b")))
    for encoding in ("utf-8", "utf-8-sig"):
        (tmp_path / "c.json").write_text(dump_json(certificate, indent=1), encoding=encoding)
        assert problems(Certificate.load(tmp_path / "c.json")) == []
    assert json.loads(dump_json(certificate)) == Certificate.load(tmp_path / "c.json")


@pytest.mark.parametrize("content", ["[]", "{}", "x", '{"kind": "discreet.certificate", "schema": 2}',
                                     '{"kind": "discreet.certificate", "schema": 3, "e_value": NaN}'])
def test_no_certificate(tmp_path: Path, content: str) -> None:
    (tmp_path / "c.json").write_text(content)
    with pytest.raises(InputError, match=r"expected (what|a certificate of) discreet unseal"):
        Certificate.load(tmp_path / "c.json")


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


@pytest.mark.parametrize("change", [{"value": "00" * 64}, {"value": "zz"}, {"value": 1}, {"public_key": "00" * 32},
                                    {"public_key": "d7"}, {"algorithm": "RSA"}, {"public_key": None}])
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


Change = Callable[[dict[str, Any]], object]


def first(values: dict[str, list[Any]]) -> list[Any]:
    return next(iter(values.values()))


ALTERED = "is not what coins and scores give: it was altered"
CHANGES: dict[str, tuple[Change, str]] = {
    "coin": (lambda c: c["opened"].update(coins=c["opened"]["coins"].translate({48: 49, 49: 48})), ALTERED),
    "order": (lambda c: c["opened"]["pairs"].reverse(), ALTERED),
    "sides": (lambda c: c["opened"]["pairs"][3].reverse(), ALTERED),
    "salt": (lambda c: c["opened"].update(salt="0" * 64), ALTERED),
    "source": (lambda c: c["opened"].update(source="os"), ALTERED),
    "commitment": (lambda c: c.update(commitment="0" * 64), ALTERED),
    "dropped pair": (lambda c: c["opened"].update(pairs=c["opened"]["pairs"][:-1], coins=c["opened"]["coins"][:-1]),
                     "exactly the members"),
    "dropped score": (lambda c: c["scores"]["values"].popitem(), "exactly the members"),
    "score": (lambda c: first(c["scores"]["values"]).__setitem__(0, 99.0), ALTERED),
    "score of text": (lambda c: first(c["scores"]["values"]).__setitem__(0, "1"), "one finite number"),
    "score too long": (lambda c: first(c["scores"]["values"]).append(1.0), "one finite number"),
    "huge score": (lambda c: first(c["scores"]["values"]).__setitem__(0, 10**400), "one finite number"),
    "no names": (lambda c: c["scores"].update(names=[]), "no names"),
    "two names": (lambda c: c["scores"].update(names=["a", "a"]), "a name twice"),
    "no scores": (lambda c: c.pop("scores"), "not names and values"),
    "no opening": (lambda c: c.pop("opened"), "no opened seal"),
    "alpha": (lambda c: c.update(alpha=0.5), f"'alpha' {ALTERED}"),
    "another opening": (lambda c: c.update(other_openings=[]), "'openings' is not what coins and scores give"),
    "openings of text": (lambda c: c.update(other_openings="none"), "is no list of openings"),
    "no openings": (lambda c: c.pop("other_openings"), "is no list of openings"),
    "an opening twice": (lambda c: c["other_openings"].append(c["other_openings"][0]), "is no list of openings"),
    "its own opening": (lambda c: c["other_openings"][0].update(scores=c["scores_hash"]), "is no list of openings"),
    "an opening beyond all": (lambda c: c["other_openings"][0].update(log10_e_value=1e300), "is no list of openings"),
    "hash of scores": (lambda c: c.update(scores_hash="0" * 64), ALTERED),
    "alpha of text": (lambda c: c.update(alpha="0.05"), f"'alpha' {ALTERED}"),
    "tolerance": (lambda c: c.update(tolerance=2), "tolerance or delta"),
    "no delta": (lambda c: c.pop("delta"), "tolerance or delta"),
    "added to scores": (lambda c: c["scores"].update(note="all is well"), "not names and values"),
    "no signature": (lambda c: c.pop("signature"), "signature of a certificate of schema 3 is missing"),
    "no date": (lambda c: c.pop("made"), "made of a certificate of schema 3 is missing"),
    "added": (lambda c: c.update(note="all is well"), "1 fields are not of a certificate"),
    "kind": (lambda c: c.update(kind="other"), ALTERED),
}


@pytest.fixture
def certificate() -> dict[str, Any]:
    earlier = {"when": "2026-01-01T00:00:00+00:00", "scores": "a" * 64, "log10_e_value": 0.5}
    made: dict[str, Any] = json.loads(json.dumps(make_certificate(audit(1.0, names=("a", "b")), others=[earlier])))
    assert made["rejected"]
    assert problems(made) == []
    return made


def renewed(certificate: dict[str, Any], change: Change) -> dict[str, Any]:
    other = copy.deepcopy(certificate)
    change(other)
    return {**other, "digest": digest_of(other)}


@pytest.mark.parametrize("name", CHANGES)
def test_every_alteration_is_noticed_though_the_digest_is_renewed(certificate: dict[str, Any], name: str) -> None:
    change, said = CHANGES[name]
    found = problems(renewed(certificate, change))
    assert any(said in problem for problem in found), found
    assert all("\n" not in problem for problem in found)


def test_every_figure_is_recomputed(certificate: dict[str, Any]) -> None:
    figures = set(certificate) - {"kind", "schema", "discreet", "made", "commitment", "alpha", "tolerance", "delta",
                                  "scores", "opened", "digest", "signature", "other_openings", "scores_hash"}
    assert len(figures) == 30
    for name in figures:
        value = certificate[name]
        other = (not value) if isinstance(value, bool) else value * 1.001 + 1 if isinstance(value, int | float) else "x"
        altered = {**certificate, name: other}
        assert f"'{name}' {ALTERED}" in problems({**altered, "digest": digest_of(altered)})
        del altered[name]
        assert problems({**altered, "digest": digest_of(altered)})


@pytest.mark.parametrize("name", ["made", "discreet", "alpha", "e_value"])
def test_the_digest_covers_the_rest(certificate: dict[str, Any], name: str) -> None:
    if name in ("made", "discreet"):
        assert problems({**certificate, name: "2001"}) == ["the digest does not fit: something was altered"]
    # What json.loads makes of 1e999.
    assert problems({**certificate, name: float("inf")}) == [
        "it holds a number that is not finite: something was altered"]


def test_another_seal_is_found_out_by_the_published_commitment(certificate: dict[str, Any]) -> None:
    other = make_certificate(audit(0.0, seed=9))
    assert problems(other) == []
    assert problems(other, commitment=other["commitment"]) == []
    assert problems(other, commitment=certificate["commitment"]) == [
        "the opened coins do not hash to the commitment that was published: they are of another seal"]


def test_signatures() -> None:
    signer, stranger = (Signer(Ed25519PrivateKey.generate()) for _ in range(2))
    revealed = audit(1.0)
    signed, forged = make_certificate(revealed, signer=signer), make_certificate(audit(0.0), signer=stranger)
    key = signed["signature"]["public_key"]
    assert problems(signed) == problems(signed, public_key=key) == problems(forged) == []
    assert "it is not signed with the key that was given" in problems(forged, public_key=key)
    assert "it is not signed with the key that was given" in problems(make_certificate(revealed), public_key=key)
    altered = renewed(signed, lambda c: c.update(made="2001"))
    assert problems(altered) == ["the signature does not fit: something was altered, or another key signed"]
    claimed = {**forged, "signature": {**forged["signature"], "public_key": key}}
    assert problems(claimed, public_key=key) == problems(altered)
    assert problems({**signed, "signature": "x"}, public_key=key)


def test_same_allows_for_the_arithmetic_of_another_machine_only() -> None:
    alike: list[tuple[Any, Any]] = [(1.0 + 1e-9, 1.0), (3, 3.0), ({"a": [1.0, None]}, {"a": (1.0, None)})]
    other: list[tuple[Any, Any]] = [
        (1.0 + 1e-5, 1.0), (True, 1.0), (1, True), (1.0, 1), ({"a": [1.0]}, {"a": [1.0, 2.0]}), ({"a": 1}, {"b": 1}),
        (None, 0.0), (float("inf"), 1.0)]
    assert all(same(*pair) for pair in alike)
    assert not any(same(*pair) for pair in other)


def test_an_average_beyond_all_floats() -> None:
    made = make_certificate(audit(0.0), others=[{"when": "2026", "scores": "a" * 64, "log10_e_value": 4_000.0}])
    assert made["log10_e_value_average"] == pytest.approx(4_000.0, abs=0.31)
    assert 8e307 < made["e_value_average"] < 1e308


def rows_of(scores: Scores) -> list[dict[str, Any]]:
    return [{"id": name, **dict(zip(scores.names, row, strict=True))}
            for name, row in zip(scores.ids, scores.values.tolist(), strict=True)]


@pytest.mark.usefixtures("system_coins")
def test_every_opening_is_counted_once(tmp_path: Path) -> None:
    sealed, folder = seal(data(), 100, seed=5), tmp_path / "s"
    sealed.save(folder)
    first, second = (rows_of(scored(sealed, shift, seed)) for shift, seed in ((0.0, 1), (1.0, 2)))
    found = [unseal(folder, rows) for rows in (first, first, second, first)]
    assert [one["openings"] for one in found] == [1, 1, 2, 2]
    kept = read_openings(folder, sealed.opening.commitment())
    assert [one["scores"] for one in kept] == [found[0]["scores_hash"], found[2]["scores_hash"]]
    assert kept[0]["log10_e_value"] == found[0]["log10_e_value"]
    assert (kept[1]["when"], kept[1]["alpha"], kept[1]["rejected"]) == (found[2]["made"], 0.05, found[2]["rejected"])
    assert found[2]["other_openings"] == [{name: kept[0][name] for name in ("when", "scores", "log10_e_value")}]
    assert found[3]["other_openings"][0]["scores"] == kept[1]["scores"]
    assert found[2]["e_value_average"] == pytest.approx((found[0]["e_value"] + found[2]["e_value"]) / 2)
    assert [one.problems() for one in found] == [[]] * 4
    assert not (folder / "certificate.json").exists()
    # A certificate is no file of the seal.
    for name in ("coins.json", OPENINGS_FILE):
        with pytest.raises(UsageError, match="is a file of the seal"):
            unseal(folder, first, out=folder / name)
    with pytest.raises(UsageError, match="a tolerance between"):
        unseal(folder, first, tolerance=0.5)
    assert unseal(folder, first, out=tmp_path / "c.json") == json.loads((tmp_path / "c.json").read_text())
