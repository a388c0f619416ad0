from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

Cli = Callable[..., Any]
MARK = "MARKEDWORD"
pytestmark = pytest.mark.usefixtures("system_coins")


@pytest.fixture
def sealed(cli: Cli, tmp_path: Path) -> Path:
    rows = [{"id": f"name-{i}", "text": f"{MARK} {'ab ' * (3 + i % 17)}{i}", "label": i % 2, "user": f"u{i % 60}"}
            for i in range(240)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert cli("seal", tmp_path / "data.jsonl", "--pairs", "60", "--out", tmp_path / "s", "--quiet").code == 0
    return tmp_path / "s"


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def scores(folder: Path, shift: float, *, logits: bool = False, seed: int = 0) -> Path:
    """Scores beside the seal; those of trained records are `shift` higher."""
    inside, rng = {r["id"] for r in read(folder / "train.jsonl")}, np.random.default_rng(seed)
    path = folder.parent / "scores.jsonl"
    with path.open("w") as handle:
        for row in read(folder / "probe.jsonl"):
            x = float(rng.normal()) + shift * (row["id"] in inside)
            mine, other = f"logit_{row['label']}", f"logit_{1 - row['label']}"
            made = {"label": row["label"], mine: x, other: 0.0} if logits else {"score": x}
            handle.write(json.dumps({"id": row["id"], **made}) + "\n")
    return path


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    key = Ed25519PrivateKey.generate()
    private, public = tmp_path / "key.pem", tmp_path / "public.pem"
    private.write_bytes(key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo))
    return private, public


@pytest.mark.parametrize("logits", [False, True])
def test_a_leak_is_found_and_the_certificate_verifies(cli: Cli, sealed: Path, tmp_path: Path, logits: bool) -> None:
    out = tmp_path / "certificate.json"
    ended = cli("unseal", sealed, "--scores", scores(sealed, 2.5, logits=logits), "--out", out)
    assert (ended.code, ended.err) == (1, "")
    certificate = json.loads(out.read_text())
    assert certificate["rejected"]
    assert certificate["e_value"] >= 20
    assert certificate["epsilon_lower"] > 0.5
    assert certificate["scores"]["names"] == (["log_p", "margin"] if logits else ["score"])
    said = " ".join(ended.out.split())
    assert said.startswith(f"Fail: {certificate['reason']}")
    assert certificate["commitment"] in ended.out
    # Each bound on epsilon is shown with what it can show itself: that for stopping early may exceed the other's most.
    ceiling = f"{certificate['epsilon_ceiling']:.3f}"
    assert f"; this bound can show {ceiling} at the most with these pairs)" in said
    anytime = next(line for line in ended.out.splitlines() if "anytime" in line)
    assert f"  {certificate['epsilon_lower_anytime']:.3f} (another bound" in anytime
    assert ceiling not in anytime
    assert MARK not in out.read_text() + ended.out
    assert "name-" not in out.read_text()
    checked = cli("verify", out)
    assert (checked.code, checked.err) == (0, "")
    assert checked.out.startswith("The certificate is consistent. It says fail: ")
    assert "not signed" in checked.out


@pytest.mark.parametrize(("more", "code", "verdict"), [([], 3, "inconclusive"), (["--tolerance", "0.9"], 0, "pass")])
def test_no_leak_is_found_where_there_is_none(cli: Cli, sealed: Path, more: list[str], code: int, verdict: str) -> None:
    ended = cli("unseal", sealed, "--scores", scores(sealed, 0.0), "--json", *more)
    record = json.loads(ended.out)
    assert (ended.code, record["verdict"], record["rejected"], record["pairs"]) == (code, verdict, False, 60)
    assert "opened" not in record
    written = json.loads((sealed / "certificate.json").read_text())
    assert {k: v for k, v in written.items() if k not in ("opened", "scores")} == record
    assert cli("verify", sealed / "certificate.json", "--quiet") == type(ended)(0, "", "")


def test_published_commitment_and_signature(cli: Cli, sealed: Path, tmp_path: Path, keys: tuple[Path, Path]) -> None:
    private, public = keys
    out, other = tmp_path / "c.json", tmp_path / "other"
    assert cli("unseal", sealed, "--scores", scores(sealed, 2.5), "--out", out, "--sign", private).code == 1
    assert cli("seal", tmp_path / "data.jsonl", "--pairs", "60", "--out", other).code == 0
    good = cli("verify", out, "--commitment", sealed / "commitment.json", "--public-key", public)
    assert good.code == 0
    assert good.out.endswith("  - alpha 0.05, in the commitment\n")
    plain = json.loads(out.read_text())["commitment"]
    for given in (plain, plain.upper()):
        assert cli("verify", out, "--commitment", given).code == 0
    (tmp_path / "bom.json").write_text((sealed / "commitment.json").read_text(), encoding="utf-8-sig")
    assert cli("verify", out, "--commitment", tmp_path / "bom.json").code == 0
    wrong = cli("verify", out, "--commitment", other / "commitment.json")
    assert wrong.code == 1
    assert "another seal" in wrong.out
    unsigned = tmp_path / "u.json"
    cli("unseal", sealed, "--scores", scores(sealed, 2.5), "--out", unsigned)
    checked = cli("verify", unsigned, "--public-key", public, "--json")
    assert checked.code == 1
    assert json.loads(checked.out)["problems"] == ["it is not signed with the key that was given"]


@pytest.mark.parametrize("change", ["e_value", "coins", "signature", "infinite"])
def test_tampering_ends_with_1(cli: Cli, sealed: Path, tmp_path: Path, change: str) -> None:
    out = tmp_path / "c.json"
    cli("unseal", sealed, "--scores", scores(sealed, 2.5), "--out", out)
    certificate = json.loads(out.read_text())
    if change == "coins":
        certificate["opened"]["coins"] = certificate["opened"]["coins"][::-1]
    elif change == "signature":
        del certificate["signature"]
    elif change == "infinite":
        certificate["alpha"] = float("inf")
    else:
        certificate[change] = 0.0
    out.write_text(json.dumps(certificate).replace("Infinity", "1e999"))
    ended = cli("verify", out)
    assert (ended.code, ended.err) == (1, "")
    assert ended.out.startswith("The certificate is not consistent:\n")


@pytest.mark.parametrize(("bad", "said"), [
    ("missing", "has no score for 1 members of the 60 pairs"), ("text", "'score' is not a number"),
    ("none", "there is no file"),
])
def test_bad_scores(cli: Cli, sealed: Path, tmp_path: Path, bad: str, said: str) -> None:
    path = scores(sealed, 1.0)
    first, *rest = path.read_text().splitlines()
    name = json.dumps(json.loads(first)["id"])
    start = [f'{{"id": {name}, "score": "{MARK}"}}'] if bad == "text" else []
    path.write_text("\n".join([*start, *rest]) + "\n")
    source = tmp_path / "none" if bad == "none" else path
    ended = cli("unseal", sealed, "--scores", source, "--out", tmp_path / "c.json")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert said in ended.err
    assert MARK not in ended.err
    assert not (tmp_path / "c.json").exists()
    assert not (sealed / "opened.json").exists()


@pytest.mark.parametrize(("arguments", "said"), [
    ([], "Missing argument 'DIR'"), (["{s}"], "Missing option '--scores'"), (["{f}", "--scores", "{f}"], "coins.json"),
    (["{s}", "--scores", "{f}", "--commitment", "x"], "No such option: --commitment"),
    (["{s}", "--scores", "{f}", "--alpha", "5"], "expected alpha between 0 and 1"),
    (["{s}", "--scores", "{f}", "--alpha", "0.1"], "--alpha 0.1 was given and the seal commits to 0.05"),
    (["{s}", "--scores", "{f}", "--out", "{s}/opened.json"], "is a file of the seal or of the scores"),
    (["{s}", "--scores", "{f}", "--seed", "1"], "--seed"), (["{s}", "--scores", "{f}", "--show-text"], "--show-text"),
    (["{s}", "--scores", "{f}", "--tolerance", "0.5"], "tolerance between .5 and 1"),
    (["{s}", "--scores", "{f}", "--sign", "{f}"], "no Ed25519 private key"),
    (["{s}", "--scores", "{f}", "--out", "{s}/coins.json"], "is a file of the seal or of the scores"),
    (["{s}", "--scores", "{f}", "--out", "{f}"], "is a file of the seal or of the scores"),
])
def test_usage(cli: Cli, sealed: Path, arguments: list[str], said: str) -> None:
    path = scores(sealed, 1.0)
    ended = cli("unseal", *(a.format(s=sealed, f=path) for a in arguments))
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert said in ended.err


@pytest.mark.parametrize(("file", "said"), [("scores", "is not JSON"), ("commitment", "is no certificate")])
def test_what_is_no_certificate(cli: Cli, sealed: Path, file: str, said: str) -> None:
    ended = cli("verify", scores(sealed, 1.0) if file == "scores" else sealed / "commitment.json")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert said in ended.err


def test_a_second_opening_with_other_scores_says_so(cli: Cli, sealed: Path, tmp_path: Path) -> None:
    first = cli("unseal", sealed, "--scores", scores(sealed, 0.0))
    assert re.search(r"openings +1\n", first.out)
    assert "files of scores" not in first.out
    again = cli("unseal", sealed, "--scores", scores(sealed, 0.0), "--tolerance", "0.9")
    assert re.search(r"openings +1\n", again.out)
    out = tmp_path / "second.json"
    second = cli("unseal", sealed, "--scores", scores(sealed, 2.5, seed=1), "--out", out)
    assert (second.code, second.err) == (1, "")
    assert re.search(r"openings +2; average e-value 10\^", second.out)
    assert "opened with 2 different files of scores" in second.out
    certificate, record = json.loads(out.read_text()), json.loads((sealed / "opened.json").read_text())
    assert certificate["openings"] == len(record["openings"]) == 2
    assert [one["scores"] for one in certificate["other_openings"]] == [record["openings"][0]["scores"]]
    assert certificate["e_value_average"] < certificate["e_value"]
    checked = cli("verify", out)
    assert checked.code == 0
    assert "opened with 2 different files of scores, of which this is one" in checked.out
    assert json.loads(cli("verify", out, "--json").out)["openings"] == 2
    # What was certified first is not written over: it did not know of the second.
    assert json.loads((sealed / "certificate.json").read_text())["openings"] == 1
