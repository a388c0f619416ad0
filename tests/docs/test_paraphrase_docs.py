"""docs/paraphrase.md executes: a file of paraphrases by rules, and an endpoint that answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.endpoints.conftest import serving
from tests.loopback import PROXIES

from discreet.studies.paraphrase.base import paraphrasers

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "paraphrase.md").read_text(encoding="utf-8")
FILES, ENDPOINT = re.findall(r"```python\n(.*?)```", PAGE, re.S)


def test_a_file_by_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    exec(compile(FILES, "paraphrase.md", "exec"), namespace)
    assert str(namespace["file"]) == re.search(r"# (out/\S+)", FILES)[1]  # type: ignore[index]
    assert [row["id"] for row in namespace["said"]] == [f"{one}#{k}" for one in ("r1", "r2") for k in (1, 2, 3)]
    assert namespace["manifest"]["distinct"]["value"] == 1.0


def test_an_endpoint(socket_enabled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx")
    for name in (*PROXIES, "DISCREET_CHAT_KEY"):
        monkeypatch.delenv(name, raising=False)
    with serving() as service:
        namespace: dict[str, Any] = {}
        exec(compile(ENDPOINT.replace("http://127.0.0.1:8000/v1", service.url), "paraphrase.md", "exec"), namespace)
    assert namespace["answers"] == ["BREAD?", "RIVERS?"]


def test_the_table_is_the_registry() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, re.M)
    assert rows == sorted(paraphrasers, reverse=True)
