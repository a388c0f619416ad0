"""No line of a page contradicts its verdict: controls, parts, sizes and designs are walked, and the sentences read."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.report.reading import words_of

from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.membership.audit import audit_membership
from discreet.audit.scores.table import ScoreTable
from discreet.report import summarise, to_html, to_text

Record = dict[str, Any]

LARGE, SMALL = 900, 120
LEAKS: dict[str, dict[str, Any]] = {
    "none": {}, "everywhere": {"leak": 1.8}, "class": {"leak": 4.0, "leak_in": "class 1", "rare": 0.05},
    "category": {"leak": 3.0, "leak_in": "category fraud"}, "sets differ": {"shift": 1.2}}
CONTROLS: dict[str, dict[str, Any]] = {"control": {}, "no control": {"controls": 0}}

# What may not be read under a verdict; of the reasons, the figures and the controls alike.
NEVER = {
    "pass": ["The model gives away", "same leak with its sign turned. ", "no figure here can pass", "do not decide",
             "does not hold", "not above control", "not decided", "would have missed a leak", "not there: A leak",
             "recognises something", "nothing shows that it learned"],
    "fail": ["stays within the tolerances", "no attack that was tried tells", "In each of", "would have missed a leak",
             "does not hold: A leak would have been seen", "does not hold: The same attack", "do not decide",
             "nothing shows that it learned", "is within the tolerance of"],
    "inconclusive": ["The model gives away", "no attack that was tried tells", "Why this can be believed",
                     "times in 100; a coin toss"],
}


def table_of(leak: str, control: str, size: int, planted: bool, tiny: bool) -> ScoreTable:
    world = World(**{"members": size, "others": 0, "clean": size, "selector": 150, "paired": 0, "neutral": 0,
                     "planted": {16: 120} if planted else {}, **LEAKS[leak], **CONTROLS[control]})
    table = simulated_table(world, np.random.default_rng(7))
    if tiny:
        member = table.member[0]
        two = [np.flatnonzero((member == one) & (table.examples.split != "planted"))[:count] for one, count in (
            (1, 2), (0, 40))]
        # Two records of a category of their own, with the highest scores of all.
        categories = list(table.examples.categories or ())
        for row in np.concatenate(two):
            categories[row] = frozenset({"rarity"})
        logits = table.logits.copy()
        logits[0, two[0], 0, table.examples.label[two[0]]] += 40.0
        table = replace(table, examples=replace(table.examples, categories=tuple(categories)), logits=logits)
    return table


# Planted records, a part of two records, what is excluded, the design.
SETTINGS: list[tuple[bool, bool, tuple[str, ...], str]] = [
    (True, False, (), "randomised"), (False, False, (), "sealed"), (True, True, (), "randomised"),
    (True, True, ("category", "class 1"), "randomised"), (False, False, ("least likely records",), "convenience")]
WALK = [(*case, *setting) for case, setting in product(product(LEAKS, CONTROLS, (LARGE, SMALL)), SETTINGS)]


@pytest.fixture(scope="module")
def walked() -> list[tuple[tuple[Any, ...], Record]]:
    found = []
    for leak, control, size, planted, tiny, excluded, design in WALK:
        audit = audit_membership(table_of(leak, control, size, planted, tiny), design=design, exclude_parts=excluded,
                                 permutations=19, bootstraps=5, attacks=["loss", "confidence"])
        found.append(((leak, control, size, planted, tiny, excluded, design), json.loads(json.dumps(audit.record))))
    return found


def test_every_verdict_is_walked(walked: list[tuple[tuple[Any, ...], Record]]) -> None:
    assert {record["verdict"] for _, record in walked} == {"pass", "fail", "inconclusive"}
    assert {part["state"] for _, record in walked for part in record["parts"]} == {
        "exceeds", "within", "control", "unclear", "excluded"}


def test_no_sentence_contradicts_the_verdict(walked: list[tuple[tuple[Any, ...], Record]]) -> None:
    for case, record in walked:
        said = to_text(summarise(record)).replace("\n", " ")
        said = f"{' '.join(said.split())} {' '.join(summarise(record).leads)}"
        for words in NEVER[record["verdict"]]:
            assert words not in said, (case, record["verdict"], words, record["reasons"])


def test_the_verdict_is_what_its_parts_say(walked: list[tuple[tuple[Any, ...], Record]]) -> None:
    for case, record in walked:
        parts, deciding = record["parts"], case[-1] != "convenience"
        states = {part["state"] for part in parts}
        if record["verdict"] == "fail":
            assert "exceeds" in states, case
        if record["verdict"] == "pass":
            assert states <= {"within", "excluded"}, case
            assert all(part["auc"]["high"] <= part["tolerance"] for part in parts if part["state"] == "within"), case
            assert all(part["control_auc"]["value"] is not None for part in parts if part["state"] == "within"), case
        for part in parts:
            if part["state"] == "exceeds":
                assert part["p"]["value"] < 0.05, case
                assert part["auc"]["value"] > part["tolerance"], case
                assert record["verdict"] == "fail" or not deciding or "sets_differ" in record["reason_codes"], case


def test_a_headline_names_tolerances_exclusions_and_no_part_of_two_records(
    walked: list[tuple[tuple[Any, ...], Record]]
) -> None:
    for case, record in walked:
        headline = summarise(record).sentence
        assert "tolerated AUC .55 over all records" in headline, case
        for part in record["parts"]:
            assert (part["name"] in headline.partition("Excluded beforehand")[2]) == (part["state"] == "excluded"), case
        if not case[5]:
            assert "rarity" not in headline, case
            tiny = [part for part in record["parts"] if part["n_members"] < 10]
            assert {part["state"] for part in tiny} <= {"unclear"}, case


@pytest.mark.parametrize("verdict", ["pass", "fail", "inconclusive"])
def test_the_page_reads_like_the_terminal(walked: list[tuple[tuple[Any, ...], Record]], verdict: str) -> None:
    record = next(record for _, record in walked if record["verdict"] == verdict)
    said = words_of(to_html(summarise(record)))
    for words in NEVER[verdict]:
        assert words not in said, (words, record["reasons"])
