"""The page of the service: its two commands, its settings, and that it leaves none out."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import httpx
import pytest
from pydantic import BaseModel
from tests.cli.test_serve import serving

from discreet.serve import presets
from discreet.serve.app import create_app
from discreet.serve.keys import add_key
from discreet.serve.settings import GuardSettings, Limits, QueueSettings, Settings, Upstream, Webhook
from discreet.serve.telemetry import Metrics

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")
SH = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.S | re.M)


@pytest.mark.usefixtures("socket_enabled")
def test_the_two_commands(tmp_path: Path) -> None:
    serve, _, curl = SH[0].replace("\\\n", " ").partition("\n")
    words = shlex.split(curl)
    with serving(tmp_path, *shlex.split(serve)[2:], "--workers", "1") as service:
        service.ready()
        url = words[1].replace("http://127.0.0.1:8300", service.url)
        name, _, value = words[words.index("-H") + 1].partition(": ")
        found = httpx.post(url, content=words[words.index("-d") + 1], headers={name: value}).text
    for shown in re.findall(r'`("\w+":"[^`]+")`', PAGE):
        assert shown in found


def test_the_settings_of_the_page_are_all_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    block = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.S | re.M)[0]
    (tmp_path / "serve.yaml").write_text(block)
    found = Settings.read(tmp_path / "serve.yaml")
    assert found.default == "medical"
    kinds: list[type[BaseModel]] = [Settings, Limits, Upstream, QueueSettings, Webhook, GuardSettings]
    missing = [f"{kind.__name__}.{name}" for kind in kinds for name in kind.model_fields
               if not re.search(rf"\b{name}\b", block)]
    assert missing == []


def test_paths_and_metrics_of_the_page_are_there(tmp_path: Path) -> None:
    add_key(tmp_path / "keys.json", "caller")
    settings = Settings.read(None, guards={"medical": {"domain": "medical"}}, keys=tmp_path / "keys.json",
                             upstream={"url": "http://127.0.0.1:8000/v1"}, workers=1)
    known = set(json.loads(json.dumps(create_app(settings).openapi()))["paths"])
    told = set(re.findall(r"(?:POST|GET|, ) ?`?(/[a-z0-9/_{}]+)", PAGE.split("## Doors")[1].split("## Keys")[0]))
    assert {one.replace("{id}", "{ticket}") for one in told} - {"/openapi"} <= known
    metrics = Metrics().page().decode()
    for name in re.findall(r"`(discreet_[a-z_]+)`", PAGE):
        assert f"# HELP {name.removesuffix('_total')}" in metrics


def test_rates_of_the_page_are_those_that_are_printed() -> None:
    for point, at in presets.presets()["points"].items():
        row = re.search(rf"^\| {point} \|(.*)\|$", PAGE, re.M)
        assert row is not None
        for cell, rate in zip(row[1].split("|"), at.values(), strict=True):
            assert [float(one) for one in re.findall(r"[\d.]+", cell)] == [round(100 * one, 1) for one in rate]
