"""docs/domains.md: its commands run and print what it shows, and what it quotes stands in the files of the example."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from discreet.cli.main import run
from discreet.guard import Guard
from discreet.guard.domains import load_domain

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "domains.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "domains" / "education"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.S | re.M)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tutorial")
    shutil.copytree(EXAMPLE, folder / "examples" / "domains" / "education")
    return folder


def test_the_tutorial(work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(work)

    def discreet(*argv: str) -> tuple[int, str]:
        code = run(list(argv))
        said = capsys.readouterr()
        return code, said.out + said.err if code else said.out

    ran = []
    for step in "".join(blocks("console")).split("$ discreet ")[1:]:
        command, *shown = step.strip().splitlines()
        code, said = discreet(*shlex.split(command))
        assert code == 0, said
        for line in shown:
            assert line in said.splitlines()
        ran.append(command.split(" --")[0])
    assert ran[2:] == ["synth run", "synth validate", "synth run", "guard fit", *ran[6:7], "stress-test"]
    # The guard is whole without the folder that it was fitted from.
    domain = load_domain(work / "examples" / "domains" / "education")
    shutil.rmtree(work / "examples")
    guard = Guard.load(work / "guards" / "education")
    assert (guard.policy.domain, guard.policy.domain.builtin) == (domain, False)
    assert guard.detector.evidence.domain == domain
    assert discreet("guard", "check", "--guard", "guards/education", "--audience", "adviser", "She is 19.")[0] == 0
    (work / "guards" / "education" / "domain" / "terms.tsv").unlink()
    code, said = discreet("guard", "check", "--guard", "guards/education", "She is 19.")
    assert (code, "was changed since it was saved" in said) == (2, True)


def test_what_is_quoted_stands_in_the_example() -> None:
    files = "\n".join(path.read_text(encoding="utf-8") for path in sorted(EXAMPLE.iterdir()))
    quoted = [*blocks("yaml"), *blocks("text")]
    assert len(quoted) >= 6
    for block in quoted:
        if block.count("\t"):
            assert all(line in files.splitlines() for line in block.splitlines())
        else:
            assert block in files


def test_the_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    [code] = blocks("python")
    exec(compile(code, "domains.md", "exec"), {})


def test_there_is_no_python_in_the_example() -> None:
    assert {path.suffix for path in EXAMPLE.iterdir()} == {".yaml", ".tsv"}
    domain = load_domain(EXAMPLE)
    assert (domain.name, len(domain.own)) == ("education", 4)
