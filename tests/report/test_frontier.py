from __future__ import annotations

import copy
import json
import re
import sys
from html import unescape
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from discreet.audit.defences.frontier import frontier as computed
from discreet.audit.membership.simulate import World, simulated_table
from discreet.core.errors import MissingExtraError
from discreet.report.figures.figure import span
from discreet.report.frontier import frontier_figures, frontier_page, frontier_tables
from discreet.report.membership import membership_page
from discreet.report.released import attacked

Record = dict[str, Any]


def made(**changes: Any) -> Record:
    table = simulated_table(World(**{"members": 60, "others": 60, "clean": 60, "selector": 30, "leak": 2.0, **changes}),
                            np.random.default_rng(0))
    found = computed(table, 0, np.random.default_rng(0), strengths={"sigma": [2.0], "decimals": [1.0]},
                     queries=(1, 8, 64), draws=2)
    return {"kind": "defend-frontier", "schema": 1, **json.loads(json.dumps(found.to_json())),
            "provenance": {"input": "scores.csv", "seed": 0, "finished": "2026-01-02T03:04:05+00:00"}}


@pytest.fixture(scope="module")
def record() -> Record:
    return made()


def cells(html: str) -> list[str]:
    return [unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", html)]


def test_every_auc_has_its_interval_and_its_placebo_at_every_number_of_queries(record: Record) -> None:
    html = cells(frontier_page(record))
    pairs = set(pairwise(html))
    for selection in ("global", "boundary"):
        for point in record["points"]:
            row = attacked(record, point, selection)
            assert row is not None
            assert (span(row["auc"], 3), span(row["placebo_auc"], 3)) in pairs
    for point in record["points"]:
        utility = point["utility"]
        assert (span(utility["accuracy"], 3), span(utility["missed_positives"], 3)) in pairs


def test_where_there_is_nothing_to_take_away_the_page_says_so(record: Record) -> None:
    said = "not clearly above chance: there is little to take away here"
    assert said not in frontier_page(record)
    quiet = copy.deepcopy(record)
    row = attacked(quiet, quiet["points"][0])
    assert row is not None
    row["auc"] |= {"value": 0.51, "low": 0.48, "high": 0.54}  # type: ignore[index]
    assert said in frontier_page(quiet)


def test_fresh_noise_has_a_row_for_each_number_of_queries(record: Record) -> None:
    table = frontier_tables(record)[1]
    start = next(at for at, row in enumerate(table["rows"]) if row["name"] == "fresh noise, sigma 2")
    assert [row["cells"][0] for row in table["rows"][start:start + 3]] == ["1", "8", "64"]
    assert [row["span"] for row in table["rows"][start:start + 3]] == [3, 0, 0]
    assert (table["rows"][0]["cells"][0], table["rows"][0]["span"]) == ("1 to 64", 1)


def test_every_row_of_a_table_is_under_one_name(record: Record) -> None:
    for table in frontier_tables(record):
        assert sum(row["span"] for row in table["rows"]) == len(table["rows"])


def test_without_placebo_or_selector_the_page_says_so() -> None:
    bare = made(placebos=0, selector=0)
    html = frontier_page(bare)
    assert "uncontrolled" in cells(html)
    assert "No placebo was brought" in html
    assert "There are no figures at the boundary: the table has no scores of a selection model" in html
    assert [figure.name for figure in frontier_figures(bare)] == ["frontier"]
    assert [figure.name for figure in frontier_figures(made())] == ["frontier", "frontier-boundary"]


def test_the_page_loads_nothing_and_names_cannot_break_it(record: Record) -> None:
    evil = copy.deepcopy(record)
    evil["target"] = "\"><script>x"
    evil["notes"] = ["<script>y"]
    html = frontier_page(evil)
    assert not re.search(r"https?:|@import|url\(|@font-face|<script", html)
    assert "This page holds no text of any record." in html
    assert html.count("<figure ") == html.count("</figure>") == 2


def test_an_audit_shows_the_same_tables(innocent: Record, record: Record) -> None:
    html = membership_page({**innocent, "frontier": record})
    row = attacked(record, record["points"][-1])
    assert row is not None
    assert span(row["placebo_auc"], 3) in cells(html)


def test_without_jinja_the_error_names_the_extra(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"discreet\[report\]"):
        frontier_page(record)
