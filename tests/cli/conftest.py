"""The command line in this process, with a guard that follows a script: the id of an answer says what it gets."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.jsonl import jsonl as jsonl  # noqa: PLC0414

from discreet.cli.main import run
from discreet.core.records import Answer, Evidence, Subject, Verdict
from discreet.guard.domains import load_domain
from discreet.guard.reading import Finding

MARK = "MARKEDWORD"
"""Stands in texts that no output may hold."""
KEY = "ab" * 32
"""Of the hashes of data, so that runs can be compared."""


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def record(self) -> dict[str, Any]:
        """What `--json` printed."""
        return cast("dict[str, Any]", json.loads(self.out))


Cli = Callable[..., Ended]
Refused = Callable[..., None]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def result(run: Path) -> dict[str, Any]:
    """The record of a run, without the moment when it ended."""
    found: dict[str, Any] = json.loads((run / "result.json").read_text(encoding="utf-8"))
    found.get("provenance", {}).pop("finished", None)
    return found


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rendered_again(cli: Cli, run: Path) -> None:
    """`discreet report` leaves the run as it was, with page and figures that were taken away."""
    before = content(run)
    for path in (run / "report.html", *(run / "figures").glob("*.svg")):
        path.unlink()
    ended = cli("report", run)
    assert (ended.code, ended.out) == (0, f"{run / 'report.html'}\n")
    assert content(run) == before


def run_kept(factory: pytest.TempPathFactory, *words: object) -> tuple[int, str, Path]:
    """Exit code, what was printed, and the folder of a run that a module's tests share."""
    out, printed = factory.mktemp("runs") / "run", io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setenv("DISCREET_HASH_KEY", KEY)
        code = run([str(one) for one in (*words, "--out", out)])
    return code, printed.getvalue(), out


@dataclass
class ScriptedGuard:
    """Ids that begin with flag, direct, abstain, failed or broken get that; others are safe. Spans cover words 1, 2."""

    policy: Any
    point: str = "balanced"
    tau: float = 0.25
    evidence_tau: float = 0.25
    is_fitted: bool = False

    def judge(self, answer: Answer) -> Any:
        kind = answer.id.split("-")[0]
        if kind == "broken":
            raise RuntimeError(f"cannot judge {answer.answer}")
        cut = answer.answer.find(" ") if " " in answer.answer else len(answer.answer)
        spans = [Evidence("age", "third", 0, cut), Evidence("place_of_birth", "third", cut, len(answer.answer))]
        actions: dict[str, tuple[Any, Any, str]] = {
            "flag": ("flag", "contextual", "2 attributes bound to one person"),
            "direct": ("flag", "direct", "direct identifiers: name"),
            "abstain": ("abstain", None, "not English"), "failed": ("failed", None, "a detector failed"),
        }
        action, layer, reason = actions.get(kind, ("safe", None, "nothing is bound to one person"))
        verdict = Verdict(answer.id, action, layer, None if action == "failed" else 0.5, 0.1,
                          tuple(spans if action == "flag" else ()), self.policy.label(), reason, tau=self.tau,
                          latency_ms=1.5)
        found = tuple(Finding(e.type, cast(Subject, e.subject), "person 1", e.start, e.end, "a rule",
                              layer or "contextual", i == 0) for i, e in enumerate(spans)) if action == "flag" else ()
        return SimpleNamespace(verdict=verdict, findings=found)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every policy and point is accepted and leads to the scripted guard."""
    policy = SimpleNamespace(domain=load_domain("medical"), audience="public", label=lambda: "medical/public@1#abc")
    monkeypatch.setattr("discreet.cli.options.ByGuard.load", lambda *_, **__: ScriptedGuard(policy))


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """`cli("guard", "check", …, stdin=b"…")`; without `stdin`, standard input is a terminal."""
    monkeypatch.delenv("DISCREET_DEBUG", raising=False)
    monkeypatch.delenv("DISCREET_HASH_KEY", raising=False)

    def call(*argv: object, stdin: bytes | None = None) -> Ended:
        source = io.TextIOWrapper(io.BytesIO(stdin or b""), encoding="utf-8")
        monkeypatch.setattr(source, "isatty", lambda: stdin is None, raising=False)
        monkeypatch.setattr(sys, "stdin", source)
        capsys.readouterr()
        code = run([str(a) for a in argv])
        out, err = capsys.readouterr()
        return Ended(code, out, err)

    return call


@pytest.fixture
def refused(cli: Cli) -> Refused:
    """`refused("what is said", "guard", "check", …)`: exit code 2, one line on standard error, and no text in it."""
    def check(said: str, *argv: object, stdin: bytes | None = None) -> None:
        ended = cli(*argv, stdin=stdin)
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert ended.err.startswith("discreet: ")
        assert said in ended.err
        assert MARK not in ended.err

    return check
