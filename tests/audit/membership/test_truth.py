"""The truth table of benchmarks/membership_truth.py on made texts: who trains on whom, what is said beforehand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import membership_truth, membership_truth_tables
from benchmarks.membership_truth import COPIES, LEAKS, PLANTED, Corpus, Draw, Source, corpus_of, kept_lines, run

from discreet.audit.membership.evaluation_sets import boundary
from discreet.audit.membership.options import LEAST_LIKELY
from discreet.audit.membership.parts import LEAST_LIKELY_SIZE

ROWS = 600
MADE = Source("made/all.jsonl.gz", {"calm": None, "rude": 150}, group="user")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one made set, and vectors as if an encoder had made them."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(200)])
    rows = [{"text": " ".join(rng.choice(words, 12)), "label": "rude" if place % 4 == 0 else "calm",
             "user": int(rng.integers(400))} for place in range(ROWS)]
    (tmp_path / "made").mkdir()
    (tmp_path / MADE.path).write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    np.savez(tmp_path / f"made_{ROWS}.npz", vectors=rng.normal(size=(ROWS, 4)), near=np.arange(ROWS),
             topic=np.arange(ROWS) % 3)
    monkeypatch.setattr(membership_truth, "SETS", {"made": MADE})
    monkeypatch.setattr(membership_truth, "FAMILIES", {"linear": membership_truth.FAMILIES["linear"]})
    monkeypatch.setattr(membership_truth, "REFERENCES", 2)
    return tmp_path


@pytest.fixture
def corpus(data: Path) -> Corpus:
    return corpus_of(data, "made", data)


def test_a_set_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"all\.jsonl\.gz is not there: expected .* --data"):
        corpus_of(tmp_path, "imbalance 1:50", tmp_path)


def test_units_are_on_one_side(corpus: Corpus) -> None:
    side = Draw(corpus, 0).side
    assert corpus.unit.size > np.unique(corpus.unit).size
    for unit in np.unique(corpus.unit):
        assert np.unique(side[corpus.unit == unit]).size == 1


@pytest.mark.parametrize("leak", [leak for leak in LEAKS if leak not in (LEAST_LIKELY, PLANTED)])
def test_a_target_trains_on_members_where_it_leaks_and_on_the_pool_elsewhere(corpus: Corpus, leak: str) -> None:
    draw = Draw(corpus, 0)
    rows, labels = draw.trained_on(leak)
    leaks = {"everywhere": np.ones(ROWS, dtype=bool), "rare class": corpus.label == corpus.rare,
             "one group": corpus.topic == 0}.get(leak, np.zeros(ROWS, dtype=bool))
    expected = [row for row in range(ROWS) if draw.side[row] == (0 if leaks[row] else 2)]
    assert rows.tolist() == expected
    same = labels.tolist() == corpus.label[rows].tolist()
    assert same == (leak != "learnt nothing")
    assert sorted(labels) == sorted(corpus.label[rows])


@pytest.mark.parametrize(("leak", "copies"), [(LEAST_LIKELY, 1), (PLANTED, COPIES)])
def test_a_target_trains_on_the_pool_and_on_the_members_of_a_small_part(corpus: Corpus, leak: str, copies: int) -> None:
    draw = Draw(corpus, 0)
    rows, count = np.unique(draw.trained_on(leak)[0], return_counts=True)
    member = draw.side[rows] == 0
    assert set(rows[~member]) == set(np.flatnonzero(draw.side == 2))
    assert set(count[member]) == {copies}
    told = draw.told(draw.table("linear"), leak)
    if leak == PLANTED:
        assert set(rows[member]) == {int(told.examples.id[place]) for place in np.flatnonzero(
            (told.examples.planted == COPIES) & (told.member[0] == 1))}
    else:
        part = boundary(draw.selector[np.arange(draw.judged.size), told.examples.label], told.examples.label,
                        told.member[0], LEAST_LIKELY_SIZE)
        assert set(rows[member]) == set(draw.judged[part][told.member[0][part] == 1])
        assert not told.member[told.of_role("selection")[0]].any()


def test_references_and_control_are_as_stated(corpus: Corpus) -> None:
    draw = Draw(corpus, 0)
    table = draw.table("linear")
    assert [one.role for one in table.models] == ["target", "reference", "reference", "control"]
    first, second, control = table.member[1:]
    assert (first + second == 1).all()
    assert not control.any()
    assert set(table.examples.id) == {str(row) for row in range(ROWS) if draw.side[row] < 2}
    assert (table.member[0] == (draw.side[draw.judged] == 0)).all()


def test_a_run_goes_on_where_it_ended(data: Path) -> None:
    runs = data / "runs.jsonl"
    run(data, runs, 1, "", LEAKS)
    lines = runs.read_text(encoding="utf-8").splitlines()
    assert [line["leak"] for line in kept_lines(runs)] == list(LEAKS)
    runs.write_text("\n".join(lines[:3]) + "\n", encoding="utf-8")
    run(data, runs, 1, "", LEAKS)
    again = kept_lines(runs)
    for one in (*again, *(first := [json.loads(line) for line in lines])):
        del one["cpu"]
    assert again == first
    found = {line["leak"]: line["verdict"] for line in again}
    assert found["no leak"] != "fail"
    assert found["everywhere"] == "fail"


def line(leak: str, seed: int, auc: float, n: int, verdict: str = "pass") -> dict[str, Any]:
    parts = [{"name": name, "state": "within", "auc": value, "control": 0.5, "lacks": [0, 0], "n": [size, size + 5]}
             for name, value, size in (("all records", 0.5, 2000), ("class 1", auc, n))]
    return {"set": "s", "family": "f", "leak": leak, "seed": seed, "verdict": verdict, "codes": [],
            "place": "class 1" if leak == "rare class" else "", "parts": parts, "cpu": 0.0}


@pytest.mark.parametrize(("auc", "n", "kind", "resolvable"), [
    (0.9, 200, "leak", True), (0.7, 60, "leak", False), (0.6, 200, "hardly leaks", False)])
def test_what_a_leak_is_is_said_from_other_seeds(auc: float, n: int, kind: str, resolvable: bool) -> None:
    lines = [line("rare class", 0, auc - 0.05, n), line("rare class", 1, auc + 0.05, n),
             line("rare class", 2, 0.5, n, "inconclusive")]
    [one] = membership_truth_tables.judged(lines, 2)
    assert one.strength == {"all records": 0.5, "class 1": pytest.approx(auc)}
    assert (one.kind, one.resolvable) == (kind, resolvable)


def test_a_model_leaks_everywhere_where_it_leaks_in_some_part() -> None:
    lines = [{**line("everywhere", seed, 0.9, 200, "fail"), "place": "all records"} for seed in (0, 1, 2)]
    [one] = membership_truth_tables.judged(lines, 2)
    assert (one.kind, one.resolvable, one.hidden) == ("leak", True, True)


@pytest.mark.parametrize(("n", "resolvable"), [(30, False), (300, True)])
def test_what_a_model_without_a_leak_needs_is_said_from_sizes(n: int, resolvable: bool) -> None:
    [one] = membership_truth_tables.judged([line("no leak", 0, 0.99, n), line("no leak", 2, 0.99, n)], 2)
    assert (one.kind, one.resolvable) == ("no leak", resolvable)
