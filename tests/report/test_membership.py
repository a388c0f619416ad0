"""The summary and the page of a membership audit."""

from __future__ import annotations

import copy
import re
import sys
from dataclasses import replace
from html import unescape
from typing import Any

import numpy as np
import pytest
from tests.report.reading import read, words_of

from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.membership.audit import audit_membership
from discreet.core.errors import MissingExtraError
from discreet.core.numbers import interval
from discreet.report import summarise, to_html, to_markdown, to_text
from discreet.report.membership import controls, keys, turned
from discreet.report.membership_charts import audited, merged
from discreet.report.summary import Control, Drawing, Section, Summary, Table, Text
from discreet.report.summary import words_of as words_of_part

Record = dict[str, Any]

NOTHING = {"value": None, "low": None, "high": None}


def states(record: Record) -> list[str]:
    return [one.state for one in controls(audited(record)[0], record)]


def said_of(record: Record, place: int) -> Control:
    return controls(audited(record)[0], record)[place]


def section(summary: Summary, name: str) -> Section:
    return next(one for one in summary.sections if one.name == name)


def two_of(record: Record, verdict: str = "inconclusive") -> Record:
    two = copy.deepcopy(record)
    two["targets"].append(copy.deepcopy(two["targets"][0]) | {"target": "B", "verdict": verdict})
    two["attacks"] += [row | {"target": "B"} for row in copy.deepcopy(two["attacks"])]
    return two


@pytest.mark.parametrize(("name", "verdict"), [("passing", "Pass"), ("leaking", "Fail"), ("bare", "Inconclusive")])
def test_the_verdict_comes_first_and_then_its_reasons(
    name: str, verdict: str, request: pytest.FixtureRequest
) -> None:
    found = summarise(request.getfixturevalue(name))
    record = request.getfixturevalue(name)
    assert found.sentence.startswith(f"{verdict}: ")
    places = [found.leads.index(reason) for reason in record["reasons"]]
    assert places == sorted(places)
    said = [one for block in section(found, "claims").blocks for one in block.items]  # type: ignore[union-attr]
    assert said == [*record["claims"]["can"], *record["claims"]["cannot"]]


def test_every_figure_has_words_a_table_and_its_data(passing: Record, passing_page: str) -> None:
    reader = read(passing_page)
    names = [figure.name for figure in summarise(passing).figures]
    assert names == ["standing", "protocols", "attacks", "roc", "boundary", "sizes", "deciles", "strata"]
    assert reader.figures == reader.captions == len(names)
    assert set(reader.named) <= set(reader.ids)
    assert len(reader.ids) == len(set(reader.ids))
    assert passing_page.count(">As a table<") == len(names)
    assert len(reader.urls) == len(names)
    assert all(url.startswith("data:text/csv") for url in reader.urls)
    for words in ("Words on this page", "control model", "paired", "logit scale"):
        assert words in passing_page


def test_the_page_loads_nothing_and_follows_the_scheme(passing_page: str) -> None:
    assert read(passing_page).handlers == []
    assert not re.search(r"https?:|@import|url\((?!#)|@font-face|<script", passing_page)
    assert "default-src 'none'" in passing_page
    assert passing_page.count("prefers-color-scheme: dark") == 2


def test_names_cannot_break_the_page_nor_the_terminal(passing: Record) -> None:
    evil = copy.deepcopy(passing)
    for row in evil["attacks"]:
        if row["category"] == "abuse":
            row["category"] = "</svg><script>x\x1b"
    for facts in (*evil["targets"], *evil["attacks"]):
        facts["target"] = evil["decisive"] = "\"><script>y"
    evil["targets"][0]["reasons"].append("An *odd* one * <script>\x1b")
    html = to_html(summarise(evil))
    assert "<script" not in html
    read(html)
    assert "\x1b" not in to_text(summarise(evil))
    assert "<em>reference</em>" in html
    assert "*reference*" not in html


def test_a_summary_of_little_says_why_there_is_no_more(bare: Record) -> None:
    found = summarise(bare)
    assert [figure.name for figure in found.figures] == ["standing", "attacks", "roc", "deciles", "strata"]
    html = words_of(to_html(found))
    for said in ("no selection model was scored", "lira cannot run", "no control"):
        assert said in html


def test_texts_are_shown_only_where_given(passing: Record) -> None:
    texts = [{"id": "e1", "side": "member", "label": 0, "p": 0.25, "text": "<b>MARK</b>"}]
    found = summarise(passing, texts=texts)
    assert "<b>MARK</b>" in to_text(found)
    assert "This page shows records in full." in found.footer
    assert "This page holds no text of any record." in summarise(passing).footer


def test_without_jinja_the_page_names_the_extra_and_the_terminal_works(
    passing: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("jinja2", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)
    found = summarise(passing)
    assert to_text(found).startswith("Pass: ")
    with pytest.raises(MissingExtraError, match=r"discreet\[report\]"):
        to_html(found)


def test_a_terminal_shows_a_screenful(passing: Record, leaking: Record) -> None:
    for record in (passing, leaking):
        lines = to_text(summarise(record)).splitlines()
        assert len(lines) <= 55
        assert max(map(len, lines)) <= 120
        places = [next(at for at, line in enumerate(lines) if part in line) for part in (
            record["verdict"].capitalize(), "outranks a random", "control", "The deciding attack, and")]
        assert places == sorted(places)
        assert to_text(summarise(record), quiet=True).count("\n") == 0


class TestVerdict:
    def test_several_models_are_counted_and_each_has_its_reason(self, leaking: Record) -> None:
        two = two_of(leaking)
        found = summarise(two)
        assert found.sentence.startswith("Fail for 1 of 2 models: it ")
        assert "B" not in found.sentence
        table = section(found, "models").blocks[0]
        assert isinstance(table, Table)
        # The first reason of the decisive model is read before.
        assert "why" not in table.head
        two["targets"][1]["reasons"] = ["Another reason.", *two["targets"][1]["reasons"]]
        other = section(summarise(two), "models").blocks[0]
        assert isinstance(other, Table)
        assert [row[-1] for row in other.rows] == ["", "Another reason."]
        assert any("corrected for 2 models" in lead for lead in found.leads)
        names = [figure.name for figure in found.figures]
        assert len(names) == len(set(names)) == 16

    def test_the_lead_is_the_auc_as_a_bet(self, leaking: Record, bare: Record) -> None:
        lead = summarise(leaking).leads[0]
        assert f"{100 * leaking['primary']['auc']['value']:.0f} times in 100" in lead
        assert lead.endswith(f"{100 * leaking['primary']['control_auc']['value']:.0f}.")
        assert "times in 100" not in summarise(bare).leads[0]

    def test_a_pass_says_the_least_leak_it_would_have_found(self, passing: Record, leaking: Record) -> None:
        least = f"an AUC of {passing['controls']['detectable_auc']['value']:.3f}".replace("0.", ".")
        assert any(least in lead for lead in summarise(passing).leads)
        assert not any("The least leak that" in lead for lead in summarise(leaking).leads)

    def test_tolerances_exclusions_and_the_leaking_part_are_in_the_headline(self, passing: Record) -> None:
        assert "tolerated AUC .65 over all records, .65 in each of 6 parts" in summarise(passing).sentence
        partly = copy.deepcopy(passing) | {"verdict": "fail"}
        partly["targets"][0]["verdict"] = "fail"
        _, first, second, *_ = partly["targets"][0]["parts"]
        first["state"], second["state"] = "exceeds", "excluded"
        found = summarise(partly)
        assert "training set in a part of the records, class 0 (" in found.sentence
        assert "in each of 5 parts" in found.sentence
        assert found.sentence.endswith("Excluded beforehand, not covered: class 1.")
        assert "both in the part class 0, an attacker" in found.leads[0]
        assert found.figure is not None
        assert [row["what"] for row in found.figure.data][2] == "your model, class 0 (tolerance .65)"

    def test_the_page_has_every_part_and_the_terminal_those_that_are_not_within(self, passing: Record,
                                                                              leaking: Record) -> None:
        for record, brief in ((passing, False), (leaking, True)):
            table = section(summarise(record), "parts").blocks[0]
            assert isinstance(table, Table)
            assert [row[0] for row in table.rows] == [part["name"] for part in record["parts"]]
            assert ("What the verdict covers" in to_text(summarise(record))) == brief

    def test_no_control_that_fails_stands_under_a_verdict_called_believable(self, passing: Record) -> None:
        assert section(summarise(passing), "believe").title == "Why this can be believed"
        broken = copy.deepcopy(passing)
        broken["targets"][0]["control_states"]["control"]["state"] = "broken"
        assert section(summarise(broken), "believe").title == "What the controls say"

    def test_classes_have_their_names_where_they_are_known(self, leaking: Record) -> None:
        named = leaking | {"training": {"classes": ["harmless", "toxic"]}}
        assert audited(named)[0].label(1) == "toxic"
        assert [part["shown"] for part in audited(named)[0].parts()][1:3] == ["class harmless", "class toxic"]
        assert audited(leaking)[0].label(1) == "class 1"


class TestKeys:
    def test_each_has_its_control(self, leaking: Record) -> None:
        auc, tpr, _, least, *_ = keys(audited(leaking)[0])
        primary, found = leaking["primary"], leaking["controls"]
        assert auc.control == f"control {interval(primary['control_auc'])}"
        difference = primary["difference"]["tpr_at_1pct_fpr"]
        control = primary["tpr_at_1pct_fpr"]["value"] - difference["value"]
        assert tpr.control.startswith(f"control {100 * control:.1f}%, difference {100 * difference['value']:+.1f} [")
        assert (least.value, least.control) == (f"{found['epsilon_lower']['value']:.2f}", "control 0.00")

    def test_a_share_of_0_over_tied_scores_says_why(self, leaking: Record) -> None:
        table = simulated_table(World(leak=2.0), np.random.default_rng(0))
        tied = audit_membership(replace(table, logits=np.sign(table.logits)), permutations=0, bootstraps=5).record
        said = [next(key for key in keys(audited(one)[0]) if "wrongly named" in key.text)
                for one in (tied, leaking)]
        assert [("where scores tie" in key.text, key.value == "0.0%") for key in said] == [(True, True), (False, False)]

    def test_what_there_is_not_has_a_reason(self, bare: Record) -> None:
        found = keys(audited(bare)[0])
        assert "one person" in found[1].text
        assert {key.control for key in found if key.value != "–"} == {"no control"}
        assert any(key.value == "–" for key in found)
        assert all("Unresolved: " in key.text for key in found if key.value == "–")

    def test_a_smaller_share_is_shown_where_the_records_resolve_it(self, leaking: Record) -> None:
        resolved = copy.deepcopy(leaking)
        primary = resolved["targets"][0]["primary"]
        assert not any("0.1% of others" in key.text for key in keys(audited(leaking)[0]))
        primary["tpr_at_0_1pct_fpr"] = primary["tpr_at_1pct_fpr"]
        assert any("0.1% of others" in key.text for key in keys(audited(resolved)[0]))


class TestAttackers:
    def test_the_sentence_is_on_page_and_terminal(self, leaking: Record, passing: Record) -> None:
        for record in (leaking, passing):
            [named] = record["named"]
            for shown in (to_text(summarise(record)), unescape(to_html(summarise(record)))):
                said = " ".join(shown.split())
                assert named["at_most"] in said
                assert "on the control model: " in named["at_most"]

    def test_what_naming_is_worth_at_each_base_rate(self, leaking: Record) -> None:
        table = section(summarise(leaking), "attackers").blocks[1]
        assert isinstance(table, Table)
        rows = [row for _, part in table.groups for row in part]
        assert [row[:2] for row in rows] == [("1%", "1%"), ("10%", "1%"), ("50%", "1%")]
        for row, gain in zip(rows, leaking["gains"], strict=True):
            assert row[2].startswith(f"{100 * gain['ppv']['value']:.1f}% [")
            assert row[4].startswith(f"{gain['ppv']['value'] / gain['base_rate']:.1f} [")
            assert row[5] == f"{100 * gain['at_most']:.1f}%"
        assert "a part of them may be worse off" in table.note
        gain = leaking["gains"]
        key = next(key for key in keys(audited(leaking)[0]) if "of those named" in key.text)
        assert key.value == f"{100 * gain[0]['ppv']['value']:.1f}%"
        assert key.control.startswith(f"control {100 * gain[0]['control_ppv']['value']:.1f}% [")
        assert key.text.endswith(f"{100 * gain[2]['ppv']['value']:.1f}% where 50% are")

    def test_a_finding_of_a_leak_is_only_said_of_one(self, leaking: Record) -> None:
        for verdict in ("fail", "inconclusive", "pass"):
            record = copy.deepcopy(leaking)
            record["targets"][0]["verdict"] = record["verdict"] = verdict
            record["targets"][0]["named"][0]["at_least"] = "Names at least so many."
            assert ("Names at least so many." in to_text(summarise(record))) == (verdict == "fail")


class TestControls:
    def test_a_control_that_is_off_in_a_part_is_not_said_to_hold(self, passing: Record) -> None:
        assert to_markdown(summarise(passing)).count("**holds**") == 4
        record = copy.deepcopy(passing)
        target = record["targets"][0]
        target["control_states"]["control"] = {"state": "unshown", "codes": ["near", "off_in_parts"]}
        target["parts"][1]["control_off"] = True
        assert f" In {target['parts'][1]['name']} it is further off chance" in said_of(record, 1).text

    def test_markdown_has_what_the_page_has(self, passing: Record) -> None:
        summary = summarise(passing)
        said = to_markdown(summary)
        assert all(lead in said for lead in summary.leads)
        assert all(key.text in said for key in summary.keys)
        assert all(f"### {one.title}" in said for one in summary.sections if one.page and one.title and any(
            not isinstance(block, Drawing) for block in one.blocks))

    def test_of_a_pass_all_hold(self, passing: Record) -> None:
        assert passing["verdict"] == "pass"
        assert states(passing) == ["stated"] + ["holds"] * 4

    def test_what_was_not_brought_is_not_there(self, bare: Record) -> None:
        assert states(bare) == ["lacking", "lacking", "unshown", "lacking", "holds"]

    def test_every_code_has_its_sentence(self, passing: Record) -> None:
        words = words_of_part("membership")["controls"]
        record = copy.deepcopy(passing)
        target = record["targets"][0]
        states, target["parts"][1]["state"], target["controls"]["blind_auc"]["reason"] = (
            target["control_states"], "control", "none")
        target["parts"][1]["control_off"] = True
        for code in set(words) - {"names"}:
            states["control"] = {"state": "unshown", "codes": [code, "few"]}
            found = said_of(record, 1)
            assert (found.state, found.word) == ("unshown", "not shown")
            assert found.text.endswith(" The records are too few to rule out .650, the tolerance.")
            assert "unresolved" not in found.text, code

    def test_planted_records(self, passing: Record) -> None:
        record = copy.deepcopy(passing)
        planted = record["targets"][0]["controls"]["planted"]
        for one in planted:
            assert f"{interval(one['auc'])}, control {interval(one['control_auc'])}, seen" in said_of(passing, 3).text
        # Two numbers of repetitions share the 5%.
        assert "97.5% interval" in said_of(passing, 3).text
        planted[0] |= {"detected": False, "control_auc": NOTHING | {"reason": "none"}}
        assert ", no control, not seen" in said_of(record, 3).text
        planted[0]["auc"] |= NOTHING | {"reason": "2 members are too few"}
        assert "once unresolved (2 members are too few); 4 times" in said_of(record, 3).text


class TestParts:
    def test_the_published_figure_is_explained_where_it_is_above_chance(self, passing: Record, bare: Record) -> None:
        one = audited(passing)[0]
        assert one.paper is not None
        said = " ".join(block.text for block in section(summarise(passing), "published").blocks
                        if isinstance(block, Text))
        assert f"{one.paper['control_auc']['value']:.2f}"[1:] in said
        assert "published" not in [part.name for part in summarise(bare).sections]
        alone = copy.deepcopy(passing)
        for row in alone["attacks"]:
            row["control_auc"] |= NOTHING | {"reason": "none"}
        assert "there is none" in to_html(summarise(alone))

    def test_attacks_that_are_one_figure_are_in_one_row(self, passing: Record) -> None:
        rows = [row for row in audited(passing)[0].whole(selection="global", oracle=False)
                if row["auc"]["value"] is not None]
        found = merged(rows)
        assert len(found) < len(rows)
        # With two classes the larger probability, its log-odds and the entropy put records in one order.
        [sure] = [row for row in found if "entropy" in row["names"]]
        assert list(sure["names"]) == ["confidence, top class", "entropy"]
        assert list(sure["scales"]) == ["p", "logit"]
        assert sum(len(row["names"]) * len(row["scales"]) >= 1 for row in found) == len(found)

    def test_a_label_free_attack_below_one_half_at_the_boundary_is_explained(self, passing: Record) -> None:
        assert turned(audited(passing)[0]) == ""
        low = {"value": 0.21, "low": 0.1, "high": 0.4}

        def said(auc: Record, difference: Record = {}, control_auc: Record = {},  # noqa: B006
                 verdict: str = "fail") -> str:
            record = copy.deepcopy(passing)
            record["verdict"] = record["targets"][0]["verdict"] = verdict
            for row in record["attacks"]:
                if (row["attack"], row["scale"], row["selection"], row["nonmembers"]) == (
                        "confidence", "logit", "boundary", "clean"):
                    row["auc"] |= auc
                    row["control_auc"] |= control_auc
                    row["difference"]["auc"] |= difference
                    row["uncontrolled"] = row["control_auc"]["value"] is None
            return turned(audited(record)[0])

        below = said(low, {"value": -0.3, "low": -0.4, "high": -0.1}, {"value": 0.51, "low": 0.4, "high": 0.6})
        assert "confidence gives .210 there (control .510)" in below
        assert below.endswith("the same leak with its sign turned.")
        # Next to a pass the note does not call a leak what the verdict calls none.
        assert "If it is more than chance" in said(
            low, {"value": -0.3, "low": -0.4, "high": -0.1}, {"value": 0.51, "low": 0.4, "high": 0.6}, "pass")
        near = said(low, {"value": -0.1, "low": -0.3, "high": 0.1})
        assert near.endswith("this figure alone shows no leak either.")
        assert "(no control)" in said(low, control_auc=NOTHING | {"reason": "none"})
        assert said({**low, "high": 0.52}) == ""

    def test_an_embedding_is_there_where_it_is_in_the_record(self, passing: Record) -> None:
        points = [{"set": "random", "x": 0.0, "y": 1.0}, {"set": "boundary members", "x": 1.0, "y": 0.0}]
        found = {"name": "outlier_boundary", "estimate": {"value": 0.63, "low": None, "high": None}, "chance": 0.5,
                 "p": {"value": 0.01}}
        more = passing | {"embedding": {"representation": "a sentence encoder", "points": points, "neighbours": 10,
                                         "diagnostics": [found]}}
        part = section(summarise(more), "where")
        assert summarise(more).figures[-1].name == "embedding"
        said = to_text(summarise(more))
        assert "further from their 10 nearest: boundary than other records of the label (AUC)" in said
        assert "Other than by chance (p .010" in said
        found["p"] = {"value": 0.4}
        assert "No evidence" in to_text(summarise(more))
        assert part.terminal
