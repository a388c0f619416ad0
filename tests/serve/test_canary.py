"""A marker through every door, outcome and error: only in the answer to its owner and, encrypted, in its ticket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import BREAKS, LITIGATOR, SAFE, UNDECIDED, Service, Start
from tests.serve.doors.upstream import Model, chunks, completion, events

MARK = "zqxcanary"
OUTCOMES = {"pass": f"{SAFE} {MARK.capitalize()} too.", "direct": f"Write to {MARK}@example.org.",
            "contextual": f"{LITIGATOR} {MARK}", "undecided": f"{UNDECIDED} {MARK}", "failed": f"{BREAKS} {MARK}"}


def bodies(text: str) -> dict[str, list[Any]]:
    """By path requests that bring the text to a door: well formed, and in every way that is refused."""
    said = {"role": "assistant", "content": text}
    chat = {"model": "tiny", "messages": [{"role": "user", "content": "Who?"}]}
    broken: list[Any] = [text, [text], {text: text}, {"text": {text: 1}}, {"body": text}, {"messages": text}]
    return {
        "/v1/check": [{"text": text}, {"text": [SAFE, text], "review": True}, {"text": SAFE, "question": text},
                      {"text": text, "model": text}, *broken],
        f"/v1/check/{MARK}": [{"text": text}],
        "/v1/chat/completions": [chat, {**chat, "stream": True}, {**chat, "n": 2}, {**chat, "tools": text}, *broken],
        "/v1/chat/completions?": [{**chat, "messages": [{"role": "user", "content": text}]}],
        "/v1/moderations": [{"input": text}, {"input": [text, text]}, {"input": [{"type": text}]}, *broken],
        "/response": [{"body": {"choices": [{"message": said}]}}, {"body": {"choices": text}}, *broken],
        "/request": [{"body": {"messages": [said]}}, *broken],
        "/analyze": [{"text": text}, {"text": text, "language": text}, *broken],
    }


def model_says(text: str) -> list[Any]:
    """What the model behind the proxy may answer, whole and cut, well formed and not."""
    return [text, completion(text, reasoning_content=text, refusal=text), completion("", no_such=text),
            events(chunks(text), b""), events(chunks(text))[:-40], f"data: {text}\n\n".encode(), {"error": text},
            text.encode(), completion(text, annotations=[{"type": text}])]


@pytest.mark.parametrize(("outcome", "mode"), [*((one, "enforce") for one in OUTCOMES), ("contextual", "observe")])
def test_it_is_told_to_its_owner_alone(start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture,
                                       capfd: pytest.CaptureFixture[str], outcome: str, mode: str) -> None:
    caplog.set_level(0)
    text = OUTCOMES[outcome]
    answers: list[Any] = []
    model = Model(lambda body: answers[0])
    service = start(mode=mode, transport=model.transport, upstream={"url": "http://model.test/v1"}, queue={
        "url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys"})
    said = []
    for path, asked in bodies(text).items():
        for body in asked:
            for answers[:] in ([one] for one in (model_says(text) if path.endswith("/completions") else [SAFE])):
                response = service.ask(path, body, "operator" if path == "/analyze" else "caller")
                may = path.startswith("/v1/chat")  # It gives back what passes.
                if not (may and (outcome == "pass" or mode == "observe")):
                    said.append(response.text + str(response.headers))
    assert len(said) > 20
    said += [service.ask(path, role="operator").text for path in ("/metrics", "/v1/observed", f"/v1/tickets/{MARK}")]
    out, err = capfd.readouterr()
    assert service.events("crash") == []
    for where in (*said, service.log.getvalue(), out, err, logged(caplog), *stored(service, tmp_path)):
        assert MARK not in where.lower()


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """All that was logged by anything but the test's own client."""
    return "".join(str(one.__dict__) for one in caplog.records
                   if not one.name.startswith("httpx") or "testserver" not in one.getMessage())


def stored(service: Service, folder: Path) -> list[str]:
    """The database with its write-ahead log, and the keys, as they lie on the disk."""
    files = [one for one in folder.rglob("*") if one.is_file()]
    assert any(one.name == "queue.db" for one in files)
    return [one.read_bytes().decode("latin-1") for one in files]
