from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.guard.guard import Guard
from discreet.stats import rate_estimate
from discreet.synth import Draft
from discreet.synth.leaks import LEAKS, make_leaks
from discreet.synth.records import Slot
from discreet_papers.ppe import limits, limits_rewrites
from discreet_papers.ppe.limits import EDITS, LENGTHS, Document, drafts, measure_leaks, measure_quotes, quote_cases
from discreet_papers.ppe.limits_rewrites import BUDGETS, Meaning, attack, one_shot, query_attacks
from discreet_papers.ppe.limits_turns import LINKS, measure_turns, plain_exchanges, sentences_of, spread_exchanges
from discreet_papers.ppe.reproduction import LIMITS, SETTINGS, Study, merged, reproduce
from discreet_papers.report.ppe import tables_of


@pytest.fixture(scope="module")
def rules() -> Guard:
    return Guard("medical")


@pytest.fixture(scope="module")
def spread() -> list[Draft]:
    return [one for _, one in drafts("medical", "unsafe", 16, 0, placement="DISTRIBUTED", mode="NONE")]


@pytest.fixture(scope="module")
def safe() -> list[Draft]:
    return [one for _, one in drafts("medical", "safe", 20, 1)]


def invented(n: int = 12) -> list[Document]:
    rng = np.random.default_rng(0)
    words = [f"{a}{b}{c}" for a in "bdfgklm" for b in ("ar", "en", "iv", "os", "um") for c in ("ta", "le", "rin", "do")]
    drawn = [[f"{words[int(k)]}{chr(97 + number)}" for k in rng.integers(len(words), size=90)] for number in range(n)]
    return [Document(" ".join(one) + ".", str(number)) for number, one in enumerate(drawn)]


def test_quotes_are_found() -> None:
    cases = list(quote_cases(invented(), 2, np.random.default_rng(1)))
    assert len(cases) == 2 * len(EDITS) * len(LENGTHS)
    none = next(c for c in cases if c.edit == "none" and c.words == 20)
    said = none.answer.answer[none.place[0] : none.place[1]]
    assert sum(said in source for source in none.answer.sources) == 1
    assert (measure_quotes(cases).value or 0.0) >= 0.95
    unrelated = [replace(case, answer=replace(case.answer, sources=("Nothing of it stands here.",))) for case in cases]
    assert measure_quotes(unrelated).value == 0.0


def test_documents_of_one_group_do_not_stand_together() -> None:
    same = [Document(one.text, "case") for one in invented()]
    with pytest.raises(ValueError, match="fewer than 6 groups"):
        list(quote_cases(same, 1, np.random.default_rng(0)))


def test_clusters_are_cut_over_turns(spread: Sequence[Draft], safe: Sequence[Draft]) -> None:
    rng = np.random.default_rng(2)
    found = list(spread_exchanges(spread, safe, rng))
    assert {one.kind for one in found} == set(LINKS)
    for one in found:
        assert 2 <= one.parts <= 5
        assert one.spread is not None
        assert 1 <= one.spread < len(one.turns)
    for draft in spread:
        for qi, sentence in sentences_of(draft):
            assert sum(slot.qi == qi and draft.answer[slot.start : slot.end] in sentence for slot in draft.slots) == 1


def test_a_conversation_sees_what_answers_alone_do_not(rules: Guard, spread: Sequence[Draft], safe: Sequence[Draft]
                                                       ) -> None:
    rng = np.random.default_rng(3)
    exchanges = [*spread_exchanges(spread, safe, rng), *plain_exchanges(spread, safe, rng)]
    controls, clusters = measure_turns(rules, exchanges)
    assert clusters["added"].value > 0.8
    assert clusters["alone"].value < 0.5
    assert controls["together"].value < 0.6
    [nobody] = measure_turns(rules, [one for one in exchanges if one.kind == "nobody"])
    assert nobody["together"].value == nobody["alone"].value


TEXT = "The patient is a 52-year-old welder from Omaha. Metformin lowers blood glucose and is taken with meals."


def drafted(text: str = TEXT) -> Draft:
    slots = [Slot(qi, text.index(words), text.index(words) + len(words))
             for qi, words in (("AGE", "52-year-old"), ("OCCUPATION", "welder"), ("LOCATION", "from Omaha"))]
    return Draft("What is known?", text, tuple(slots))


@pytest.mark.parametrize(("said", "kept"), [
    (TEXT, True), (TEXT.replace("52", "fifty-two"), True), (TEXT.replace("Omaha", "**Oma**ha"), True),
    (TEXT.replace("welder", "person"), False), (TEXT.replace("52-year-old ", ""), False),
    (TEXT.replace("Omaha", "Nebraska"), False),
])
def test_the_meaning_is_what_the_slots_tell(said: str, kept: bool) -> None:
    assert Meaning.of(drafted()).kept(said) is kept


@pytest.mark.parametrize("name", list(limits_rewrites.MOVES))
def test_a_move_draws_the_same_from_the_same_state(name: str) -> None:
    move = limits_rewrites.MOVES[name]
    first, again = (move(TEXT, np.random.default_rng(5)) for _ in range(2))
    assert first == again
    assert move("", np.random.default_rng(5)).strip() == ""


@pytest.mark.parametrize("sees", ["action", "delta"])
def test_an_attack_keeps_to_its_budget_and_to_the_meaning(sees: str) -> None:
    asked: list[str] = []

    class Counting(Guard):
        def judge(self, answer: Any, question: str | None = None) -> Any:
            asked.append(answer.answer)
            return super().judge(answer, question)

    guard = Counting("medical")
    needed = attack(guard, drafted(), sees, np.random.default_rng(0), 25)
    assert needed.remembered is None  # Every rewriting restates what was withheld.
    assert all(Meaning.of(drafted()).kept(one) for one in asked)
    assert asked[0] == TEXT  # The answer that was withheld, which is no query.
    alone = [Guard("medical").check(one, "What is known?").action for one in asked[1:]]
    assert needed.alone == (alone.index("safe") + 1 if "safe" in alone else None)
    assert len(asked) <= 26


def test_an_adversary_may_change_the_values() -> None:
    text, meaning = TEXT, Meaning.of(drafted())
    rng = np.random.default_rng(3)
    for _ in range(40):
        text, meaning = limits_rewrites.misspelt(text, meaning, rng)
    assert meaning.kept(text)
    assert not meaning.kept(TEXT)
    assert max(meaning.wrong.values()) == 2
    text, meaning = limits_rewrites.hinted(drafted())
    assert "largest city in Nebraska" in text
    assert "early fifties" in text
    assert meaning.kept(text)
    assert not meaning.kept(TEXT)


def test_rows_of_attacks(rules: Guard) -> None:
    rows = list(one_shot(rules, [drafted()], np.random.default_rng(0), draws=2))
    assert {(r["attack"], r["normalised"]) for r in rows} >= {("disguised letters", False), ("synonyms", True)}
    found = list(query_attacks({"medical": rules}, {"medical": [drafted()] * 3}, 0, 2))
    assert {r["held"].n for r in found} == {2}
    for name in ("held", "remembered"):
        curve = [r[name].value for r in found]
        assert len(curve) == len(BUDGETS)
        assert curve == sorted(curve, reverse=True)
        assert curve[0] == 1.0
    assert all(r["remembered"].value >= r["held"].value for r in found)


def test_the_item_of_the_study_needs_no_detector(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    share = rate_estimate(3, 4)
    shares = dict.fromkeys(("held", "alone", "together", "added", "whole"), share)
    monkeypatch.setattr(limits, "quotes", lambda n, seed: share)
    monkeypatch.setattr(limits, "turns", lambda n, seed, domains: [
        {"spread": True, "domain": one, "partition": "unsafe", **shares} for one in domains])
    monkeypatch.setattr(limits, "rewrites", lambda n, seed, domains, budgets: [
        {"attack": "sees delta", "queries": budget, **shares} for budget in budgets])
    monkeypatch.setattr(limits, "make_leaks", lambda domain, n, seed: [])
    monkeypatch.setattr(limits, "measure_leaks", lambda guard, cases: {"synthesis": (share, share)})
    study = Study(SETTINGS["smoke"].only(("medical", "law")), None, tmp_path, tmp_path)
    found = reproduce(study, [LIMITS])["items"]
    rows = found[LIMITS]["rows"]
    assert [row["suite"] for row in rows] == ["quotes"] + 8 * ["turns"] + 2 * ["rewrites"] + 4 * ["leaks"]
    assert rows[10]["what"] == "sees delta, 10 queries"
    assert [(row["domain"], row["what"]) for row in rows[11:13]] == [
        ("medical", "synthesis: held"), ("medical", "synthesis: controls held")]
    assert {row["share"]["value"] for row in rows} == {0.75}
    assert [row["domain"] for row in merged(found, {LIMITS: {**found[LIMITS], "rows": rows[5:9]}})[LIMITS]["rows"]
            ].count("law") == 4
    [table] = tables_of(LIMITS, rows[:1])
    assert table.rows


def test_leaks_are_held_and_the_passages_do_not_decide() -> None:
    """Where an attribute comes from changes nothing about what an answer tells."""
    cases, guard = make_leaks("law", 12, 1), Guard("law")
    found = measure_leaks(guard, cases)
    assert list(found) == list(LEAKS)
    for leaking, control in found.values():
        assert leaking.value is not None
        assert control.value is not None
        assert leaking.value >= 0.5 > control.value
        assert leaking.method == "Wilson"
    without = measure_leaks(guard, [replace(case, sources=(), told=()) for case in cases])
    assert all((leaking.value or 0) >= 0.5 > (control.value or 0) for leaking, control in without.values())


def test_what_layer_one_stops_is_no_recall() -> None:
    cases = [replace(case, answer=f"{case.answer} His SSN is 536-22-8712.") for case in make_leaks("law", 4, 3)]
    leaking, control = measure_leaks(Guard("law"), cases)["retention"]
    assert leaking.value is None
    assert control.n == 4
