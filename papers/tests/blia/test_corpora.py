"""Corpora in files: sizes, shares of class 1, and what is not there."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from discreet.core.errors import InputError
from discreet.inputs.datasets import read_dataset
from discreet_papers.blia.corpora import CORPORA, Rows, file_of, sampled, smaller, write_corpus
from discreet_papers.blia.tables import BENCHMARKS


def test_tables_and_texts_are_read_back_with_their_labels(tmp_path: Path) -> None:
    path = write_corpus(CORPORA["made_up"], tmp_path, tmp_path / "data", rows=500)
    found = read_dataset(path, "label")
    assert (path.name, len(found), found.kind, found.classes) == ("made_up-500.csv", 500, "table", ("0", "1"))
    inputs = np.asarray(found.inputs(np.arange(500)))
    assert inputs.shape == (500, 6)
    assert np.corrcoef(inputs[:, 0], found.labels)[0, 1] > 0.6
    texts = CORPORA["made_up_texts"]
    path = write_corpus(texts, tmp_path, tmp_path / "data", rows=200, prevalence=0.1)
    found = read_dataset(path, "label")
    assert (path.name, found.kind, int(found.labels.sum())) == ("made_up_texts-200-10.jsonl", "text", 20)
    with pytest.raises(InputError, match=r"made_up_texts: 5,000 rows are asked for and there are 600 where 5,000"):
        write_corpus(texts, tmp_path, tmp_path / "data", rows=5000)
    with pytest.raises(InputError, match=r"600 rows with a share of 0.9 of class 1"):
        write_corpus(texts, tmp_path, tmp_path / "data", rows=600, prevalence=0.9)


def test_shares_draw_from_one_order() -> None:
    labels = np.arange(100) % 2
    few, many = (sampled(labels, 40, share, np.random.default_rng(5), "c") for share in (0.25, 0.5))
    assert [labels[few].sum(), labels[many].sum()] == [10, 20]
    assert set(few[labels[few] == 1]) < set(many[labels[many] == 1])
    assert (np.diff(few) > 0).all()


def test_images_are_halved_by_means_of_four_and_read_back(tmp_path: Path) -> None:
    pixels = np.arange(30 * 16, dtype=np.uint8).reshape(30, 1, 4, 4)
    slow = [[[np.round(np.mean([pixels[n, 0, 2 * y + i, 2 * x + j] for i in (0, 1) for j in (0, 1)]))
              for x in range(2)] for y in range(2)] for n in range(30)]
    found = smaller(pixels)
    assert found.dtype == np.uint8
    assert found[:, 0].tolist() == np.array(slow).tolist()
    packed = file_of(Rows(pixels, np.arange(30) % 2, list(map(str, range(30)))), np.arange(30), halved=True)
    assert isinstance(packed, bytes)
    (tmp_path / "some.npz").write_bytes(packed)
    back = read_dataset(tmp_path / "some.npz", "labels")
    assert back.labels.tolist() == (np.arange(30) % 2).tolist()
    assert np.asarray(back.inputs(np.arange(30))).shape == (30, 1, 2, 2)


def test_a_corpus_of_two_files_is_written_once(tmp_path: Path) -> None:
    (tmp_path / "one" / "code_vulnerability").mkdir(parents=True)
    for part in ("cve_functions", "project_functions"):
        rows = [{"id": f"{part}{n}", "text": f"int f{n}();", "label": ("safe", "vulnerable")[n % 2]} for n in range(4)]
        (tmp_path / "one" / "code_vulnerability" / f"{part}.jsonl.gz").write_bytes(
            gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    path = write_corpus(CORPORA["code"], tmp_path / "one", tmp_path / "data")
    assert read_dataset(path, "label").labels.tolist() == [0, 1] * 4
    assert write_corpus(CORPORA["code"], tmp_path / "one", tmp_path / "data") == path


@pytest.mark.parametrize("name", [name for name, corpus in CORPORA.items() if corpus.folder])
def test_a_folder_without_the_set_is_said(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"expected the folder of public data with the data set .* in it"):
        write_corpus(CORPORA[name], tmp_path, tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_every_table_of_the_paper_has_a_corpus() -> None:
    assert {corpus.benchmark for corpus in CORPORA.values() if corpus.folder} == set(BENCHMARKS)
