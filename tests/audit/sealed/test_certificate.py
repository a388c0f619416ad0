from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.audit.sealed import Revealed, findings, make_certificate, problems, read_certificate
from discreet.audit.sealed.certificate import digest_of
from discreet.audit.sealed.commit import canonical
from discreet.core.errors import InputError, UsageError
from discreet.core.files import dump_json

Audit = Callable[..., Revealed]

ASKED = {"e_value", "rejected", "alpha", "epsilon_lower", "pairs", "power", "commitment", "scores", "opened",
         "signature"}


def test_it_carries_all_that_a_check_needs(audit: Audit) -> None:
    revealed = audit(1.0, alpha=0.1)
    certificate = make_certificate(revealed, tolerance=0.6, delta=1e-6)
    assert set(certificate) >= ASKED
    expected = findings(revealed.differences(), ("score",), unit="record", source="seed", alpha=0.1, tolerance=0.6,
                        delta=1e-6, committed=True)
    assert {key: certificate[key] for key in expected} == expected
    assert certificate["commitment"] == revealed.opening.commitment()
    assert certificate["opened"] == revealed.opening.to_json()
    assert len(certificate["scores"]["values"]) == 200
    assert certificate["signature"] is None
    body = {k: v for k, v in certificate.items() if k not in ("digest", "signature")}
    assert certificate["digest"] == digest_of(certificate) == hashlib.sha256(canonical(body)).hexdigest()


def test_no_text_and_no_id(audit: Audit) -> None:
    written = dump_json(make_certificate(audit(1.0, users=60, pairs=20)))
    assert "MARK" not in written
    assert '"r1' not in written
    assert '"u1' not in written


def test_it_survives_a_file(audit: Audit, tmp_path: Path) -> None:
    certificate = make_certificate(audit(1.0, names=("a", "b")))
    (tmp_path / "c.json").write_text(dump_json(certificate, indent=1))
    assert problems(read_certificate(tmp_path / "c.json")) == []
    assert json.loads(dump_json(certificate)) == read_certificate(tmp_path / "c.json")


@pytest.mark.parametrize("content", ["[]", "{}", "x", '{"kind": "discreet.certificate", "schema": 1}',
                                     '{"kind": "discreet.certificate", "schema": 2, "e_value": NaN}'])
def test_no_certificate(tmp_path: Path, content: str) -> None:
    (tmp_path / "c.json").write_text(content)
    with pytest.raises(InputError, match=r"expected (what|a certificate of) discreet unseal"):
        read_certificate(tmp_path / "c.json")


def test_the_level_is_that_of_the_seal(audit: Audit) -> None:
    revealed = audit(1.0, alpha=0.01)
    certificate = make_certificate(revealed)
    assert (certificate["alpha"], certificate["alpha_from"]) == (0.01, "seal")
    assert make_certificate(revealed, alpha=0.01)["alpha"] == 0.01
    with pytest.raises(UsageError, match=r"--alpha 0\.05 was given and the seal commits to 0\.01"):
        make_certificate(revealed, alpha=0.05)


def test_an_old_seal_takes_the_level_that_is_given_and_says_so(audit: Audit) -> None:
    revealed = audit(1.0)
    old = replace(revealed, opening=replace(revealed.opening, alpha=None, key_hash=None))
    for given, alpha in ((None, 0.05), (0.2, 0.2)):
        certificate = json.loads(dump_json(make_certificate(old, alpha=given)))
        assert (certificate["alpha"], certificate["alpha_from"]) == (alpha, "unsealing")
        assert any("was chosen at the opening" in claim for claim in certificate["claims"])
        assert problems(certificate) == []
    assert not any("chosen at the opening" in claim for claim in make_certificate(revealed)["claims"])


def test_a_byte_order_mark_is_no_hindrance(audit: Audit, tmp_path: Path) -> None:
    certificate = make_certificate(audit(1.0))
    (tmp_path / "c.json").write_text(dump_json(certificate), encoding="utf-8-sig")
    assert problems(read_certificate(tmp_path / "c.json")) == []
