from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.audit.seal import Revealed, findings, make_certificate, problems, read_certificate
from discreet.audit.seal.certificate import digest_of
from discreet.audit.seal.commit import canonical
from discreet.errors import InputError
from discreet.files import dump_json

Audit = Callable[..., Revealed]

ASKED = {"e_value", "rejected", "alpha", "epsilon_lower", "pairs", "power", "commitment", "scores", "opened",
         "signature"}


def test_it_carries_all_that_a_check_needs(audit: Audit) -> None:
    revealed = audit(1.0)
    certificate = make_certificate(revealed, alpha=0.1, tolerance=0.6, delta=1e-6)
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


@pytest.mark.parametrize("content", ["[]", "{}", "x", '{"kind": "discreet.certificate", "schema": 2}',
                                     '{"kind": "discreet.certificate", "schema": 1, "e_value": NaN}'])
def test_no_certificate(tmp_path: Path, content: str) -> None:
    (tmp_path / "c.json").write_text(content)
    with pytest.raises(InputError, match=r"expected (what|a certificate of) discreet unseal"):
        read_certificate(tmp_path / "c.json")
