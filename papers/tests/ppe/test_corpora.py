from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.inputs.encode.encoders.hashed import HashedEncoder
from discreet_papers.ppe.corpora import SETS, PPECorpus, read_corpus, write_campaigns

from .conftest import SIZES


class Counting(HashedEncoder):
    """Counts the texts that it is given."""

    seen = 0

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.seen += len(texts)
        return super().encode(texts)


def test_every_set_has_its_size_and_shares_no_text_with_another(corpus: PPECorpus) -> None:
    assert {name: len(corpus.records[name]) for name in SETS} == {name: SIZES.of(name) for name in SETS}
    assert not corpus.short
    texts = [text for name in SETS for text in corpus.texts(name)]
    assert len(set(texts)) == len(texts)
    for name in SETS:
        assert corpus.vectors[name].shape == (len(corpus.records[name]), 48)


def test_rows_are_those_of_their_texts(corpus: PPECorpus) -> None:
    for name in ("safe_fit", "unsafe_holdout", "matched_borderline"):
        np.testing.assert_array_equal(corpus.vectors[name], HashedEncoder(dim=48).encode(corpus.texts(name)))


def test_who_writes_to_fit_writes_no_unseen_partition(corpus: PPECorpus) -> None:
    wrote = {name: set(corpus.axis(name, "profile").tolist()) for name in SETS}
    pool = wrote["safe_fit"] | wrote["unsafe_fit"] | wrote["borderline_fit"]
    assert wrote["unsafe_holdout"] <= wrote["unsafe_fit"]
    for name in ("unsafe_heldout", "borderline_eval", "matched_unsafe"):
        assert not wrote[name] & pool
    assert wrote["matched_unsafe"] == wrote["matched_borderline"]


def test_the_papers_roles_let_writers_of_unsafe_texts_write_borderline_ones(corpus: PPECorpus, tmp_path: Path) -> None:
    folders = list(write_campaigns("law", SIZES, 3, tmp_path / "data", block=30, roles="paper"))
    found = read_corpus("law", folders, [HashedEncoder(dim=48)], SIZES, tmp_path / "store")
    wrote = {name: set(found.axis(name, "profile").tolist()) for name in SETS}
    assert wrote["borderline_fit"] | wrote["borderline_eval"] <= wrote["unsafe_fit"]
    assert not wrote["borderline_fit"] & wrote["borderline_eval"]
    for name in ("safe_fit", "unsafe_fit", "unsafe_holdout", "matched_borderline"):
        assert found.texts(name) == corpus.texts(name)
    assert found.key != corpus.key


def test_some_unsafe_records_are_clusters_under_the_papers_rule_alone(corpus: PPECorpus) -> None:
    for part in ("fit", "calibration", "holdout"):
        leaks = corpus.leaks(f"unsafe_{part}")
        assert 0 < (~leaks).sum() == round(0.054 * leaks.size)
    assert corpus.leaks("unsafe_heldout").all()


def test_v4_adds_the_borderline_texts_to_the_safe_side(corpus: PPECorpus) -> None:
    (v3, y3), (v4, y4) = (corpus.fitted(borderline=borderline) for borderline in (False, True))
    assert (y3 == 0).sum() == SIZES.fit
    assert (y4 == 0).sum() == SIZES.fit + SIZES.borderline
    np.testing.assert_array_equal(v3[y3 == 1], v4[y4 == 1])


def test_vectors_are_made_once_and_a_larger_study_keeps_those_of_a_smaller(campaigns: list[Path],
                                                                           tmp_path: Path) -> None:
    encoder = Counting(dim=48)
    small = read_corpus("law", campaigns[:2], [encoder], replace(SIZES, fit=30, borderline=12), tmp_path)
    first = encoder.seen
    large = read_corpus("law", campaigns, [encoder], SIZES, tmp_path)
    assert 0 < encoder.seen - first < first
    again = encoder.seen
    read_corpus("law", campaigns, [encoder], SIZES, tmp_path)
    assert encoder.seen == again
    np.testing.assert_array_equal(small.vectors["safe_fit"], large.vectors["safe_fit"][:30])
    for name in ("safe_holdout", "borderline_eval"):
        np.testing.assert_array_equal(small.vectors[name], large.vectors[name])


def test_passages_of_two_campaigns_count_once(campaigns: list[Path], tmp_path: Path) -> None:
    """Or one text would be fitted on and held out."""
    for name in ("law-a", "law-b"):
        shutil.copytree(campaigns[0], tmp_path / name)
        safe = tmp_path / name / "safe.jsonl"
        safe.write_text(safe.read_text(encoding="utf-8").replace('"grammar"', '"passages"'), encoding="utf-8")
    homes = [tmp_path / "law-a", tmp_path / "law-b", *campaigns[1:]]
    found = read_corpus("law", homes, [HashedEncoder(dim=48)], SIZES, tmp_path / "store")
    texts = [text for name in SETS if name.startswith("safe") for text in found.texts(name)]
    assert len(set(texts)) == len(texts) == SIZES.fit + SIZES.calibration + SIZES.holdout


def test_a_finished_campaign_is_left_alone(campaigns: list[Path], tmp_path: Path) -> None:
    home = tmp_path / "data"
    shutil.copytree(campaigns[0].parent, home)
    marked = home / "law-0" / "manifest.json"
    marked.write_text(marked.read_text(encoding="utf-8").replace('"key": "', '"key": "0'), encoding="utf-8")
    said = marked.read_text(encoding="utf-8")
    assert [folder.name for folder in write_campaigns("law", SIZES, 3, home, block=30)] == ["law-0", "law-1", "law-2"]
    assert marked.read_text(encoding="utf-8") == said


def test_encoders_weigh_the_same_where_there_are_several(campaigns: list[Path], tmp_path: Path) -> None:
    class Loud(HashedEncoder):
        name = "loud"

        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return 7 * super().encode(texts)

    quiet, loud = HashedEncoder(dim=32), Loud(dim=16)
    loud.name = "loud"
    found = read_corpus("law", campaigns, [quiet, loud], SIZES, tmp_path)
    assert found.dims == (32, 16)
    fitted = np.vstack([found.vectors[name] for name in SETS if name.endswith("_fit")]).astype(np.float64)
    for block in (fitted[:, :32], fitted[:, 32:]):
        assert (block**2).sum(axis=1).mean() == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("break_it", ["no manifest", "no partition", "no record"])
def test_what_is_no_campaign_is_refused(campaigns: list[Path], tmp_path: Path, break_it: str) -> None:
    home = tmp_path / "law-0"
    shutil.copytree(campaigns[0], home)
    if break_it == "no manifest":
        (home / "manifest.json").unlink()
    elif break_it == "no partition":
        (home / "borderline_eval.jsonl").unlink()
    else:
        (home / "safe.jsonl").write_text('{"id": 3}\n', encoding="utf-8")
    with pytest.raises(InputError, match="discreet synth run"):
        read_corpus("law", [home, *campaigns[1:]], [HashedEncoder(dim=48)], SIZES, tmp_path / "store")
