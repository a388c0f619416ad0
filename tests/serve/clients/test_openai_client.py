"""OpenAI's own client, unchanged, in front of the service in a process of its own; and the page's two commands."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_serve import serving
from tests.loopback import PROXIES
from tests.serve.clients.conftest import Proxy
from tests.serve.conftest import LITIGATOR, SAFE, UNDECIDED
from tests.serve.integrations.environments import ROOT, environment

pytestmark = [pytest.mark.services, pytest.mark.enable_socket]
PAGE = (ROOT / "docs" / "proxy.md").read_text(encoding="utf-8")
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "OPENAI"))
         and key not in PROXIES}
Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def python() -> Path:
    return environment("clients")


@pytest.fixture(scope="module")
def client(python: Path) -> Iterator[subprocess.Popen[str]]:
    """The client, which answers lines."""
    with subprocess.Popen([python, Path(__file__).parent / "real_client.py", "real_openai"], env=CLEAN, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def ask(client: subprocess.Popen[str], shared: Proxy) -> Ask:
    """What the client hears; with `release` a reviewer releases the ticket meanwhile."""
    def asked(question: str, *, stream: bool, role: str = "caller", path: str = "/v1", release: bool = False,
              extra: Any = None) -> Any:
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write(json.dumps({"url": shared.served.url + path, "key": shared.tokens[role], "stream": stream,
                                       "question": question, "extra": extra}) + "\n")
        client.stdin.flush()
        if release:
            shared.release()
        return json.loads(client.stdout.readline())

    return asked


@pytest.mark.parametrize("stream", [False, True])
def test_an_unchanged_client(ask: Ask, shared: Proxy, stream: bool) -> None:
    safe = ask("safe", stream=stream, path="/guards/medical/v1")
    assert (safe["text"], safe["finish"], safe["tokens"]) == (SAFE, "stop", 7)
    [result] = safe["moderation"]["output"]["results"]
    assert not result["flagged"]
    blocked = ask("person", stream=stream)
    assert (blocked["finish"], blocked["tokens"]) == ("content_filter", 7)
    assert "withheld" in blocked["text"]
    assert not {"litigator", "Omaha", "52-year-old", "evidence", "details"} & set(re.findall(r"[\w-]+", str(blocked)))
    [result] = blocked["moderation"]["output"]["results"]
    assert [name for name, is_so in result["categories"].items() if is_so] == ["privacy/contextual"]
    assert set(result["category_scores"].values()) == {0.0, 1.0}
    [result] = ask("person", stream=stream, role="operator")["moderation"]["output"]["results"]
    assert {"age", "occupation", "place", "family"} <= {one["type"] for one in result["details"][0]["findings"]}
    cut = ask("cut", stream=True)
    assert (cut["status"], cut["code"]) == (502, "upstream_malformed")
    assert ask("safe", stream=stream, path="/guards/none/v1")["status"] == 404
    log = shared.served.log.read_text()
    assert not any(text in log for text in (LITIGATOR, SAFE, "litigator"))


@pytest.mark.parametrize("stream", [False, True])
def test_what_a_client_declares_in_its_extra_body(ask: Ask, stream: bool) -> None:
    assert ask("safe", stream=stream, extra={"discreet": {"sources": ["A passage."]}})["text"] == SAFE
    refused = ask("safe", stream=stream, extra={"discreet": {"user_words": "safe"}})
    assert (refused["status"], refused["code"]) == (403, "declaration")
    assert ask("safe", stream=stream, extra={"discreet": {"words": "safe"}})["status"] == 422


@pytest.mark.parametrize("stream", [False, True])
def test_an_undecided_answer_waits_and_is_released(ask: Ask, shared: Proxy, stream: bool) -> None:
    released = ask("undecided", stream=stream, release=True)
    assert (released["text"], released["finish"]) == (UNDECIDED, "stop")
    pending = ask("undecided", stream=stream)
    assert pending["finish"] == "content_filter"
    ticket = shared.release()
    assert ticket in pending["text"]
    assert UNDECIDED not in str(pending)
    assert UNDECIDED not in shared.served.log.read_text()


def test_the_two_commands_of_the_page(python: Path, model: str, tmp_path: Path) -> None:
    [code] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.S | re.M)
    commands, *_ = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.S | re.M)
    [shown] = re.findall(r"^```text\n(.*?)^```$", PAGE, re.S | re.M)
    (tmp_path / "ask.py").write_text(code)
    serve, call = (shlex.split(line) for line in commands.splitlines())
    words = [word.replace("http://127.0.0.1:8000/v1", model) for word in serve[2:]]
    with serving(tmp_path, *words, "--workers", "1") as served:
        served.ready()
        given = dict(word.split("=", 1) for word in call[:2])
        given["OPENAI_BASE_URL"] = given["OPENAI_BASE_URL"].replace("http://127.0.0.1:8300", served.url)
        for question, expected in ((call[4], f"stop {SAFE}\n"), ("person", shown)):
            ended = subprocess.run([python, call[3], question], env={**CLEAN, **given}, text=True, check=True,
                                   cwd=tmp_path, capture_output=True)
            assert ended.stdout == expected
