from __future__ import annotations

import copy
import re
import sys
from typing import Any

import pytest
from tests.report.reading import read, words_of

from discreet.core.errors import MissingExtraError
from discreet.report.membership import membership_figures, membership_page

Record = dict[str, Any]


@pytest.mark.parametrize(("name", "verdict"), [("innocent", "Pass"), ("leaking", "Fail"), ("bare", "Inconclusive")])
def test_the_verdict_comes_first_and_then_its_reasons(
    name: str, verdict: str, request: pytest.FixtureRequest
) -> None:
    record = request.getfixturevalue(name)
    html = membership_page(record)
    found = re.search(r"<h1><span[^>]*>(\w+):</span>", html)
    assert found is not None
    assert found.group(1) == verdict
    said = words_of(html)
    places = [said.index(reason.replace("*", "")) for reason in record["reasons"]]
    assert places == sorted(places)
    for claim in (*record["claims"]["can"], *record["claims"]["cannot"]):
        assert claim in said
    read(html)


def test_every_figure_has_words_a_table_and_its_data(innocent: Record) -> None:
    html = membership_page(innocent)
    reader = read(html)
    names = [figure.name for figure in membership_figures(innocent)]
    assert names == ["standing", "protocols", "attacks", "roc", "boundary", "sizes", "deciles", "strata"]
    assert reader.figures == reader.captions == len(names)
    assert set(reader.named) <= set(reader.ids)
    assert len(reader.ids) == len(set(reader.ids))
    assert html.count(">As a table<") == len(names)
    assert len(reader.urls) == len(names)
    assert all(url.startswith("data:text/csv") for url in reader.urls)


def test_loads_nothing_and_follows_the_scheme(innocent: Record) -> None:
    html = membership_page(innocent)
    assert read(html).handlers == []
    assert not re.search(r"https?:|@import|url\(|@font-face|<script", html)
    assert "default-src 'none'" in html
    assert html.count("prefers-color-scheme: dark") == 2


def test_a_page_of_little_says_why_there_is_no_more(bare: Record) -> None:
    html = membership_page(bare)
    assert [figure.name for figure in membership_figures(bare)] == ["standing", "attacks", "roc", "deciles", "strata"]
    assert "no selection model was scored" in html
    assert "lira cannot run" in html
    assert "uncontrolled" in html


def test_texts_are_shown_only_where_given(innocent: Record) -> None:
    texts = [{"id": "e1", "side": "member", "label": 0, "p": 0.25, "text": "<b>MARK</b>"}]
    html = membership_page(innocent, texts=texts)
    assert "&lt;b&gt;MARK&lt;/b&gt;" in html
    assert "This page shows records in full." in html
    assert "This page holds no text of any record." in membership_page(innocent)


def test_names_cannot_break_the_page(innocent: Record) -> None:
    evil = copy.deepcopy(innocent)
    for row in evil["attacks"]:
        if row["category"] == "abuse":
            row["category"] = "</svg><script>x"
    for facts in (*evil["targets"], *evil["attacks"]):
        facts["target"] = "\"><script>y"
    evil["targets"][0]["reasons"].append("An *odd* one * <script>")
    html = membership_page(evil)
    assert "<script" not in html
    read(html)


def test_emphasis_of_reasons_becomes_emphasis(innocent: Record) -> None:
    assert any("*reference*" in reason for reason in innocent["reasons"])
    html = membership_page(innocent)
    assert "<em>reference</em>" in html
    assert "*reference*" not in html


def test_every_model_has_figures_of_its_own(leaking: Record) -> None:
    two = copy.deepcopy(leaking)
    two["targets"].append(copy.deepcopy(two["targets"][0]) | {"target": "B"})
    two["attacks"] += [row | {"target": "B"} for row in copy.deepcopy(two["attacks"])]
    names = [figure.name for figure in membership_figures(two)]
    assert len(names) == len(set(names)) == 16
    html = membership_page(two)
    reader = read(html)
    assert len(reader.ids) == len(set(reader.ids))
    assert "The models audited" in html


def test_frontier_and_embedding_are_drawn_where_they_are(innocent: Record) -> None:
    points = [{"set": "random", "x": 0.0, "y": 1.0}, {"set": "boundary members", "x": 1.0, "y": 0.0}]
    more = innocent | {"embedding": {"representation": "a sentence encoder", "points": points}}
    assert [figure.name for figure in membership_figures(more)][-1] == "embedding"
    assert "a sentence encoder" in membership_page(more)


def test_without_jinja_the_error_names_the_extra(innocent: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"discreet\[report\]"):
        membership_page(innocent)
