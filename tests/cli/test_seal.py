"""`seal`, `unseal` and `verify`, as they are typed one after the other."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.cli.conftest import MARK, Cli, Ended, Refused, jsonl, lines

pytestmark = pytest.mark.usefixtures("system_coins")


def rows(n: int = 240, users: int = 60) -> list[dict[str, Any]]:
    return [{"id": f"name-{i}", "text": f"{MARK} {'ab ' * (3 + i % 17)}{i}", "label": ("safe", "unsafe")[i % 2],
             "user": f"person-{i % users}", "more": 1} for i in range(n)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return jsonl(tmp_path / "data.jsonl", rows())


@pytest.fixture
def sealed(cli: Cli, data: Path) -> Path:
    assert cli("seal", data, "--pairs", "60", "--out", data.parent / "s", "--quiet").code == 0
    return data.parent / "s"


def scores(folder: Path, shift: float, *, logits: bool = False, seed: int = 0) -> Path:
    """Scores beside the seal; those of trained records are `shift` higher."""
    inside, rng = {r["id"] for r in lines(folder / "train.jsonl")}, np.random.default_rng(seed)
    made = []
    for row in lines(folder / "probe.jsonl"):
        x = float(rng.normal()) + shift * (row["id"] in inside)
        other = {"safe": "unsafe", "unsafe": "safe"}[row["label"]]
        given = {"label": row["label"], f"logit_{row['label']}": x, f"logit_{other}": 0.0} if logits else {"score": x}
        made.append({"id": row["id"], **given})
    return jsonl(folder.parent / "scores.jsonl", made)


def test_four_files_and_what_to_do_next(cli: Cli, data: Path, tmp_path: Path) -> None:
    ended = cli("seal", data, "--pairs", "40", "--alpha", "0.01", "--out", tmp_path / "s")
    assert (ended.code, ended.err) == (0, "")
    assert sorted(p.name for p in (tmp_path / "s").iterdir()) == ["coins.json", "commitment.json", "probe.jsonl",
                                                                  "train.jsonl"]
    assert stat.S_IMODE((tmp_path / "s" / "coins.json").stat().st_mode) == 0o600
    commitment, coins = (json.loads((tmp_path / "s" / f"{name}.json").read_text()) for name in ("commitment", "coins"))
    assert commitment["commitment"] in ended.out
    assert commitment["alpha"] == coins["opened"]["alpha"] == 0.01
    assert "40 pairs of records; train on 200 records, score 80" in ended.out
    assert "160 records in no pair" in ended.out
    assert "with chance 0.01 at the most; the commitment holds that level" in " ".join(ended.out.split())
    assert MARK not in ended.out
    train, probe = lines(tmp_path / "s" / "train.jsonl"), lines(tmp_path / "s" / "probe.jsonl")
    assert list(train[0]) == ["id", "text", "label"]
    assert len({r["id"] for r in probe} & {r["id"] for r in train}) == 40
    for name in ("coins.json", "commitment.json"):
        written = (tmp_path / "s" / name).read_text()
        assert MARK not in written
        assert "name-" not in written


def test_what_a_seal_can_find_is_said(cli: Cli, data: Path, tmp_path: Path) -> None:
    assert "cannot find a leak" in cli("seal", data, "--pairs", "5", "--out", tmp_path / "s").out
    strict, lax = (cli("seal", data, "--pairs", "40", "--alpha", alpha, "--out", tmp_path / alpha, "--json").record
                   for alpha in ("0.01", "0.2"))
    assert [strict["alpha"], lax["alpha"]] == [0.01, 0.2]
    # A stricter level needs a clearer leak.
    assert strict["least_win_rate"] > lax["least_win_rate"]


def test_canaries_and_a_configuration(cli: Cli, data: Path, tmp_path: Path) -> None:
    canaries = jsonl(tmp_path / "c.jsonl", [{**r, "id": f"k{r['id']}", "text": r["text"] + "k"} for r in rows(40)])
    (tmp_path / "config.yaml").write_text(f"pairs: 12\ncanaries: {canaries}\n")
    assert cli("seal", data, "--config", tmp_path / "config.yaml", "--out", tmp_path / "s").code == 0
    assert all(r["id"].startswith("k") for r in lines(tmp_path / "s" / "probe.jsonl"))
    assert len(lines(tmp_path / "s" / "train.jsonl")) == 240 + 40 - 12


@pytest.mark.parametrize(("change", "options", "said"), [
    ({"label": "safe"}, [], "all 240 records have the same label"), ({}, ["--pairs", "0"], "pairs is 0: expected"),
    ({"text": None}, [], "line 1: 'text' is null"), ({}, ["--pairs", "many"], "--pairs"),
    ({}, ["--group", "team"], "there is no 'team'"), ({}, ["--alpha", "nan"], "alpha is nan: expected"),
    ({}, ["--seed", "-1"], "seed is -1: expected"),
])
def test_data_that_cannot_be_sealed_leave_nothing(
    refused: Refused, tmp_path: Path, change: dict[str, Any], options: list[str], said: str
) -> None:
    data = jsonl(tmp_path / "data.jsonl", [{**row, **change} for row in rows()])
    refused(said, "seal", data, "--pairs", "10", "--out", tmp_path / "s", *options)
    assert [p.name for p in tmp_path.iterdir()] == ["data.jsonl"]


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
    record = ended.record
    assert (ended.code, record["verdict"], record["rejected"], record["pairs"]) == (code, verdict, False, 60)
    assert "opened" not in record
    written = json.loads((sealed / "certificate.json").read_text())
    assert {k: v for k, v in written.items() if k not in ("opened", "scores")} == record
    assert cli("verify", sealed / "certificate.json", "--quiet") == Ended(0, "", "")


def test_published_commitment_and_signature(cli: Cli, sealed: Path, tmp_path: Path) -> None:
    key, private, public = Ed25519PrivateKey.generate(), tmp_path / "key.pem", tmp_path / "public.pem"
    private.write_bytes(key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo))
    out, other = tmp_path / "c.json", tmp_path / "other"
    assert cli("unseal", sealed, "--scores", scores(sealed, 2.5), "--out", out, "--sign", private).code == 1
    assert cli("seal", tmp_path / "data.jsonl", "--pairs", "60", "--out", other).code == 0
    good = cli("verify", out, "--commitment", sealed / "commitment.json", "--public-key", public)
    assert good.code == 0
    assert good.out.endswith("  - alpha 0.05, in the commitment\n")
    plain = json.loads(out.read_text())["commitment"]
    (tmp_path / "bom.json").write_text((sealed / "commitment.json").read_text(), encoding="utf-8-sig")
    for given in (plain, plain.upper(), tmp_path / "bom.json"):
        assert cli("verify", out, "--commitment", given).code == 0
    wrong = cli("verify", out, "--commitment", other / "commitment.json")
    assert wrong.code == 1
    assert "another seal" in wrong.out
    unsigned = tmp_path / "u.json"
    cli("unseal", sealed, "--scores", scores(sealed, 2.5), "--out", unsigned)
    checked = cli("verify", unsigned, "--public-key", public, "--json")
    assert checked.code == 1
    assert checked.record["problems"] == ["it is not signed with the key that was given"]


@pytest.mark.parametrize("change", ["e_value", "coins", "signature", "infinite"])
def test_tampering_ends_with_1(cli: Cli, sealed: Path, tmp_path: Path, change: str) -> None:
    out = tmp_path / "c.json"
    cli("unseal", sealed, "--scores", scores(sealed, 2.5), "--out", out)
    certificate = json.loads(out.read_text())
    if change == "coins":
        certificate["opened"]["coins"] = certificate["opened"]["coins"][::-1]
    elif change == "signature":
        del certificate["signature"]
    else:
        certificate["alpha" if change == "infinite" else change] = float("inf") if change == "infinite" else 0.0
    out.write_text(json.dumps(certificate).replace("Infinity", "1e999"))
    ended = cli("verify", out)
    assert (ended.code, ended.err) == (1, "")
    assert ended.out.startswith("The certificate is not consistent:\n")


@pytest.mark.parametrize(("bad", "said"), [
    ("missing", "has no score for 1 members of the 60 pairs"), ("text", "'score' is a string; expected a number"),
    ("none", "there is no file"),
])
def test_bad_scores(refused: Refused, sealed: Path, tmp_path: Path, bad: str, said: str) -> None:
    first, *rest = lines(path := scores(sealed, 1.0))
    jsonl(path, [{**first, "score": MARK}, *rest] if bad == "text" else rest)
    source = tmp_path / "none" if bad == "none" else path
    refused(said, "unseal", sealed, "--scores", source, "--out", tmp_path / "c.json")
    assert not (tmp_path / "c.json").exists()
    assert not (sealed / "opened.json").exists()


@pytest.mark.parametrize(("arguments", "said"), [
    (["unseal"], "Missing argument 'DIR'"), (["unseal", "{s}"], "Missing option '--scores'"),
    (["unseal", "{f}", "--scores", "{f}"], "coins.json"),
    *((["unseal", "{s}", "--scores", "{f}", *options.split()], said) for options, said in (
        ("--commitment x", "No such option: --commitment"), ("--alpha 0.1", "No such option: --alpha"),
        ("--seed 1", "--seed"),
        ("--show-text", "--show-text"), ("--tolerance 0.5", "tolerance between .5 and 1"),
        ("--sign {f}", "no Ed25519 private key"), ("--out {s}/opened.json", "is a file of the seal or of the scores"),
        ("--out {s}/coins.json", "is a file of the seal or"), ("--out {f}", "is a file of the seal or of the scores"))),
    (["verify", "{f}"], "is not JSON"), (["verify", "{s}/commitment.json"], "is no certificate"),
])
def test_what_cannot_be_asked(refused: Refused, sealed: Path, arguments: list[str], said: str) -> None:
    path = scores(sealed, 1.0)
    refused(said, *(word.format(s=sealed, f=path) for word in arguments))


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
    assert cli("verify", out, "--json").record["openings"] == 2
    # What was certified first is not written over: it did not know of the second.
    assert json.loads((sealed / "certificate.json").read_text())["openings"] == 1
