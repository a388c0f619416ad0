from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.core.arrays import read_arrays
from discreet.core.errors import DetectorError, InputError
from discreet.core.records import Answer
from discreet.guard.calibrate import calibrate, with_points
from discreet.guard.density import detector as detectors
from discreet.guard.density.detector import rows_of
from discreet.guard.density.professional import ARRAYS, Professional, professional, weights
from discreet.guard.fit import fit_guard
from discreet.guard.guard import Guard
from discreet.guard.policy import POINTS
from discreet.guard.reading import read_answer
from discreet.guard.score import combined, odds, score
from discreet.guard.text import reader
from discreet.inputs.answers import LabelledAnswer

LEAK = ("The patient is a 61-year-old welder from Tulsa with three children. Treatment with warfarin for gout was "
        "started and went well.")
SAFE = "Warfarin is often used for gout. Adults should ask a pharmacist before they take more than 8 tablets."
ONE = "The patient is a retired teacher, and takes warfarin for gout."


@pytest.fixture(scope="module")
def folder(side_files: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small medical guard that was fitted with the reader."""
    home = tmp_path_factory.mktemp("read") / "guard"
    fit_guard("medical", side_files["safe"], side_files["unsafe"], side_files["borderline"], out=home)
    return home


@pytest.fixture(scope="module")
def guard(folder: Path) -> Guard:
    return Guard.load(folder)


def vectors(*texts: str) -> np.ndarray:
    return np.array([reader.packaged().read(text).vector for text in texts])


def limited(limit: float, unsure: float = -9.0) -> Professional:
    return replace(professional(), limit=limit, unsure=dict.fromkeys(POINTS, unsure))


def test_distances_against_the_slow_way() -> None:
    kept, found = read_arrays(reader.FOLDER / ARRAYS), professional()
    given = vectors(LEAK, SAFE, ONE, "qwer zxcv poiu lkjh " * 9)
    apart = given.astype(np.float64) - kept["mean"]
    along = apart @ kept["components"].T.astype(np.float64)
    outside = (apart**2).sum(1) - (along**2).sum(1)
    slowly = ((along**2 / kept["variances"]).sum(1) + outside / kept["rest"][0]) / given.shape[1]
    assert found.distances(given) == pytest.approx(slowly, rel=1e-4)
    assert np.array_equal(found.distances(given[::-1])[::-1], found.distances(given))
    assert np.array_equal(found.distances(given[:1]), found.distances(given)[:1])
    assert found.distances(given[:0]).shape == (0,)
    assert found.out_of_distribution(given).tolist() == (found.distances(given) > found.limit).tolist()
    assert not found.out_of_distribution(given[:3]).any()


def test_what_ships_is_small_and_of_these_weights() -> None:
    card = reader.packaged().card
    assert (reader.FOLDER / ARRAYS).stat().st_size < 200_000
    assert weights() == {"weights": card["sha256"][reader.MODEL], "professional": card["professional"]["sha256"]}
    for point in POINTS:
        assert combined().unsure_above(point) <= professional().unsure_above(point) <= combined().threshold(point)
    assert professional().unsure_above("costs") == professional().unsure_above("conservative")


@pytest.fixture
def spoilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the reader's folder, which is read instead of it."""
    home = tmp_path / "reader"
    shutil.copytree(reader.FOLDER, home)
    monkeypatch.setattr(reader, "FOLDER", home)
    professional.cache_clear()
    yield home
    professional.cache_clear()


@pytest.mark.parametrize("how", ["gone", "changed"])
def test_an_altered_reference_is_a_failure_never_safe(spoilt: Path, guard: Guard, how: str) -> None:
    if how == "gone":
        (spoilt / ARRAYS).unlink()
    else:
        (spoilt / ARRAYS).write_bytes((spoilt / ARRAYS).read_bytes()[:-8] + bytes(8))
    with pytest.raises(DetectorError, match="the reference of professional text failed"):
        professional()
    verdict = guard.check(SAFE)
    assert (verdict.action, verdict.score) == ("failed", None)


def test_a_card_without_the_reference(spoilt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As training leaves it, until the reference is made."""
    card = {k: v for k, v in reader.packaged().card.items() if k != "professional"}
    monkeypatch.setattr(reader.packaged(), "card", card)
    with pytest.raises(DetectorError, match="KeyError"):
        professional()


class TestFitted:
    def test_reads_as_it_was_fitted(self, guard: Guard, folder: Path) -> None:
        assert (guard.detector.gate, guard.detector.decides) == ("professional", "odds+logistic")
        assert [e.kind for e in guard.detector.fusion.encoders] == ["reader"]
        assert guard.card["reader"] == weights()
        assert {"abstain", "abstain_fitted"} < set(guard.card["metrics"]["odds+logistic"]["within"])
        leak, safe = guard.check(LEAK), guard.check(SAFE)
        assert (leak.action, safe.action) == ("flag", "safe")
        assert None not in (safe.sigma_safe, safe.sigma_unsafe, safe.delta)

    def test_the_reader_runs_once(self, guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
        calls: list[str] = []
        read = reader.Reader.read

        def counted(self: reader.Reader, text: str, asked: str = "") -> reader.Seen:
            calls.append(text)
            return read(self, text, asked)

        monkeypatch.setattr(reader.Reader, "read", counted)
        guard.check(SAFE)
        assert len(calls) == 1

    def test_there_and_back(self, guard: Guard, folder: Path, tmp_path: Path) -> None:
        guard.save(tmp_path / "again")
        again = Guard.load(tmp_path / "again")
        for text in (LEAK, SAFE, ONE):
            one, other = (replace(g.check(text), id="", latency_ms=None) for g in (guard, again))
            assert one == other
        manifest = json.loads((folder / "guard.json").read_text())
        manifest["reader"]["professional"] = "0" * 64
        (tmp_path / "again" / "guard.json").write_text(json.dumps(manifest))
        with pytest.raises(InputError, match="fitted with another reader"):
            Guard.load(tmp_path / "again")

    def test_distance_abstains_but_never_above_decided_evidence(self, guard: Guard,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(detectors, "professional", lambda: limited(0.0))
        far = guard.at(-1e9)
        assert (far.check(LEAK).action, far.check(SAFE).action) == ("flag", "abstain")
        assert far.check(SAFE).reason == "unlike the professional text that the reader knows"
        monkeypatch.setattr(detectors, "professional", lambda: limited(1e9))
        assert guard.check("qwer zxcv poiu lkjh " * 9).action != "flag"

    def test_the_papers_gate_stays_reachable(self, guard: Guard, side_files: Mapping[str, Path],
                                             monkeypatch: pytest.MonkeyPatch) -> None:
        paper = replace(guard.detector, gate="fitted")
        read = read_answer(Answer("1", SAFE, None), guard.policy)
        rows = rows_of(paper.fusion, paper.evidence, [read], "answer", paper.counted)
        monkeypatch.setattr(detectors, "professional", lambda: pytest.fail("asked"))
        scores = paper.score(rows)
        assert scores.out_of_distribution.tolist() == paper.thetas.out_of_distribution(scores.sigmas).tolist()

    def test_unsure_between_its_own_limit_and_the_threshold(self, guard: Guard,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
        read = read_answer(Answer("1", LEAK, None), guard.policy)
        logit = score(read, guard.policy, combined()).logit
        cautious = guard.at(1e9, evidence_tau=logit + 1)
        monkeypatch.setattr(detectors, "professional", lambda: limited(1e9, logit - 0.1))
        assert cautious.check(LEAK).reason.startswith("unsure: ")
        monkeypatch.setattr(detectors, "professional", lambda: limited(1e9, logit + 0.1))
        assert cautious.check(LEAK).action == "safe"

    def test_where_the_scores_disagree_it_abstains(self, guard: Guard) -> None:
        eager = guard.at(-1e9, evidence_tau=1e9)
        assert eager.check(SAFE).action == "abstain"
        cause = eager.check(SAFE).cause
        assert cause is not None
        assert cause.cause == "disagree"
        assert eager.check(LEAK).action == "flag"

    def test_odds_are_what_the_score_adds_up(self, guard: Guard) -> None:
        for text in (LEAK, SAFE):
            read = read_answer(Answer("1", text, None), guard.policy)
            found = score(read, guard.policy, combined())
            together = () if read.seen.together is None else (read.seen.together.tells,)
            intercept, *weights = combined().alone if together else combined().whole
            added = intercept + np.dot(weights, [*odds(read, guard.policy), read.seen.case.tells, *together])
            assert found.logit == pytest.approx(added)
            assert guard.detector.counted == guard.policy

    def test_prices_are_what_the_guard_does(self, guard: Guard, side_files: Mapping[str, Path]) -> None:
        rows = [LabelledAnswer(Answer(f"{kind}{i}", json.loads(line)["answer"], None),
                               "yes" if kind == "unsafe" else "no", domain="medical") for kind in ("unsafe", "safe")
                for i, line in enumerate(side_files[kind].read_text().splitlines()[:25])]
        found = calibrate(guard, rows)
        for point in POINTS:
            actions = [Guard(guard.policy, detector=guard.detector, point=point).check(r.answer).action for r in rows]
            assert found.prices[point]["leaks_held"].value == np.mean([a != "safe" for a in actions[:25]])
            assert found.prices[point]["review_load"].value == np.mean([a == "abstain" for a in actions])
        assert with_points(guard, found.points, {}).detector.points
