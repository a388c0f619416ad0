"""`guard list`, as it is typed."""

from __future__ import annotations

import json

import pytest
from tests.cli.conftest import Cli

from discreet.guard.domains import builtin_domains
from discreet.guard.text.direct.detect import known_types, recogniser, recognisers


def test_what_is_installed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognisers, "_items", dict(recognisers.items()))
    recognisers.register("badge")(recogniser("badge_number")(lambda facts: ()))
    found = json.loads(cli("guard", "list", "--json").out)
    assert tuple(found["domains"]) == builtin_domains()
    assert found["domains"]["medical"] == ["public", "clinician", "treating"]
    assert sorted({one for types in found["recognisers"].values() for one in types}) == list(known_types())
    assert (found["recognisers"]["badge"], found["plug_ins"]) == (["badge_number"], ["badge"])
    lines = cli("guard", "list").out.splitlines()
    assert [line.split() for line in lines if "plug-in" in line] == [["badge", "badge_number", "(plug-in)"]]
    assert {line.split()[0] for line in lines} == {"domains", "recognisers", *builtin_domains(), *recognisers}
