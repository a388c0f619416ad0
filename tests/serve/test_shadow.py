from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli, cli  # noqa: F401
from tests.serve.conftest import BREAKS, DIRECT, LITIGATOR, SAFE, UNDECIDED, Start

from discreet.core.errors import InputError
from discreet.core.records import CAUSES, Answer, Prompts
from discreet.guard import Guard
from discreet.serve.console.pages import words
from discreet.serve.shadow import counted, facts_of, nothing_declared, read_log, summarise
from discreet.serve.telemetry import MOST_KINDS, Metrics

ECHO = "You are a 52-year-old litigator from Omaha."
MINE = "I am a 52-year-old litigator from Omaha. May I apply?"
PROMPT = f"Answer by these notes.\n\nNotes: metformin.\n\nQuestion: {MINE}"


def logged(start: Start, tmp_path: Path, **given: Any) -> Path:
    """The log of a service that observed seven requests."""
    service = start(mode="observe", **given)
    for text in (SAFE, LITIGATOR, LITIGATOR, DIRECT, UNDECIDED, BREAKS):
        assert service.ask("/v1/check", {"text": text, "question": "Who is it?"}).json()["action"] == "pass"
    service.ask("/v1/check", {"text": ECHO, "question": PROMPT, "sources": [SAFE], "conversation": [
        {"role": "tool", "content": "Nothing."}]})
    log = tmp_path / "log.jsonl"
    log.write_text(service.log.getvalue())
    return log


def test_what_would_be_withheld_is_written_without_text(start: Start, tmp_path: Path) -> None:
    log = logged(start, tmp_path)
    events = [one for one in map(json.loads, log.read_text().splitlines()) if one["event"] == "would_withhold"]
    assert [one["cause"] for one in events] == ["cluster", "cluster", "direct", "language", "failed", "cluster"]
    assert {key: events[0][key] for key in ("guard", "door", "caller", "layer", "code", "kinds", "attributes", "needed",
                                            "origins")} == {
        "guard": "medical", "door": "check", "caller": "caller", "layer": "contextual", "code": "privacy/contextual",
        "kinds": ["age", "family", "occupation", "place"], "attributes": events[0]["attributes"], "needed": 2,
        "origins": [{"origin": "user", "how": "plain", "n": 1}]}
    assert {(one["origin"], one["how"]): one["n"] for one in events[-1]["origins"]} == {
        ("retrieved", "source"): 1, ("tool", "role"): 1, ("unknown", "undeclared"): 1}
    for word in ("litigator", "Omaha", "jane", "Metformin", "apply", "notes"):
        assert word not in log.read_text()


def test_the_counts_of_the_service_say_what_its_log_says(start: Start, tmp_path: Path) -> None:
    service = start(mode="observe")
    for text in (SAFE, LITIGATOR, LITIGATOR, DIRECT, UNDECIDED, BREAKS):
        service.ask("/v1/check", {"text": text})
    service.ask("/v1/check", {"text": ECHO, "question": PROMPT, "sources": [SAFE]})
    log = tmp_path / "log.jsonl"
    log.write_text(service.log.getvalue())
    assert counted(service.gate.telemetry.metrics).to_json() == read_log(log).to_json()
    [observed] = service.ask("/v1/observed", role="operator").json()
    assert {one["code"]: one["count"] for one in observed["would_hold"]} == {
        "privacy/contextual": 3, "privacy/direct": 1, "privacy/undecided": 1, "privacy/not_judged": 1}


def test_the_console_shows_what_would_be_withheld(start: Start, tmp_path: Path) -> None:
    service = start(mode="observe", queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys"},
                    guards={"medical": {"domain": "medical"}, "law": {"domain": "law"}}, default_guard="medical")
    for text in (SAFE, LITIGATOR, LITIGATOR, DIRECT):
        service.ask("/v1/check", {"text": text})
    service.ask("/v1/check/law", {"text": SAFE}, "operator")
    service.client.post("/console/sign-in", data={"key": service.tokens["reviewer"]})
    page = service.client.get("/console/observed").text
    assert "medical: 4 requests" in page
    assert "law: 1 request" not in page  # The reviewer's key is of the default guard.
    assert "75%" in page
    assert "30%" in page
    for shown in ("attributes that single a person out", "age, family, occupation, place", "direct identifier",
                  "50.0%"):
        assert shown in page
    assert "litigator" not in page


@pytest.mark.parametrize(("origins", "nothing"), [
    ([], True), ([("retrieved", "source")], True), ([("unknown", "undeclared")], True),
    ([("user", "declared")], False), ([("unknown", "undeclared"), ("user", "plain")], False),
    ([("unknown", "shared")], False)])
def test_a_check_without_any_request_declares_nothing(origins: list[tuple[str, str]], nothing: bool) -> None:
    assert nothing_declared({"origin": origin, "how": how} for origin, how in origins) == nothing


def test_every_cause_has_words() -> None:
    assert set(words()["cause"]) == set(CAUSES)


def test_enforcing_writes_none(start: Start) -> None:
    service = start()
    service.ask("/v1/check", {"text": LITIGATOR})
    assert service.events("would_withhold") == []


def test_the_table_of_a_log(start: Start, tmp_path: Path, cli: Cli) -> None:  # noqa: F811
    log = logged(start, tmp_path)
    found = read_log(log)
    assert (found.decided, found.withheld, found.undeclared) == ({"medical": 7}, {"medical": 6}, {"medical": 1})
    assert sum(row.count for row in found.rows) == 6
    assert sum(row.share for row in found.rows) == pytest.approx(6 / 7)
    printed = cli("serve", "shadow", str(log))
    assert printed.code == 0
    assert "7 requests observed, 6 (85.7%) would be withheld" in printed.out
    assert "nothing was declared: 1 (16.7%) of the withheld" in printed.out
    assert "cluster   age, family, occupation, place" in printed.out
    assert json.loads(cli("serve", "shadow", str(log), "--json").out) == found.to_json()


def test_a_log_that_cannot_be_read_is_one_line(tmp_path: Path, cli: Cli) -> None:  # noqa: F811
    for number, (lines, said) in enumerate((
            (None, "cannot read"), ("{\n", "line 1: no event"), ("[1]\n", "line 1: no event"),
            ("", "no observed request"), ('{"event": "decision", "guard": "a"}\n', "no observed request"),
            ('{"event": "would_withhold"}\n', "without its fields"), ("\xff", "is not UTF-8"))):
        log = tmp_path / f"{number}.jsonl"
        if lines is not None:
            log.write_bytes(lines.encode("latin-1"))
        ended = cli("serve", "shadow", str(log))
        assert (ended.code, ended.err.count("\n")) == (2, 1)
        assert said in ended.err


def test_origins_where_the_guard_broke(medical: Guard) -> None:
    answer = Answer("1", LITIGATOR, "Who?", prompts=Prompts(templates=("{wrong}",)))
    judgement = medical.judge(answer)
    assert judgement.verdict.action == "failed"
    assert facts_of(answer, judgement)["origins"] == []
    with pytest.raises(InputError, match="no observed request"):
        summarise([])


def test_who_chooses_the_texts_does_not_choose_how_many_series_there_are() -> None:
    metrics = Metrics()
    for number in range(1000):
        metrics.hold("medical", "p", "privacy/direct", "block", "direct", f"email,kind{number}", "no")
    metrics.hold("medical", "p", "privacy/undecided", "block", "language", "", "no")
    metrics.hold("medical", "p", "privacy/direct", "block", "direct", "email,kind0", "no")
    rows = {row.kinds: row.count for row in counted(metrics).rows}
    assert (len(rows), sum(rows.values())) == (MOST_KINDS + 1, 1002)
    assert (rows["email", "kind0"], rows["other",], rows[()]) == (2, 1001 - MOST_KINDS, 1)
