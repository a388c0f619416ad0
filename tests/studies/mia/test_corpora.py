"""Corpora on disk, made from tiny sets that lie in a folder as the public ones do."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InputError, UsageError
from discreet.data.texts import LabelledText, read_texts
from discreet.studies.mia.corpora import CORPORA, Corpus, write_corpus
from discreet.studies.mia.hf_datasets import SAFE, UNSAFE, balanced, sample


def put(folder: Path, name: str, rows: Iterable[dict[str, Any]]) -> None:
    (folder / name).mkdir(parents=True, exist_ok=True)
    with gzip.open(folder / name / "all.jsonl.gz", "wt", encoding="utf-8") as handle:
        handle.writelines(json.dumps(row) + "\n" for row in rows)


def turns(said: str) -> list[dict[str, str]]:
    return [{"role": role, "text": f"{said} {number}"} for number, role in enumerate(("user", "assistant", "user"))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(tmp_path, "beavertails_mini", [{"id": f"b{n}", "text": f"prompt {n}", "label": ("safe", "unsafe")[n % 2]}
                                       for n in range(40)])
    put(tmp_path, "hate_stormfront", [{"id": f"s{n}", "text": f"post {n}", "label": ("noHate", "hate", "skip")[n % 3],
                                       "user_id": n // 6} for n in range(30)])
    put(tmp_path, "multiturn_jailbreaks", [{"id": f"j{n}", "turns": turns(f"attack {n}"), "label": "harmful"}
                                           for n in range(12)])
    put(tmp_path, "topical_chat", [{"id": f"t{n}", "turns": turns(f"chat {n}"), "label": "benign"} for n in range(60)])
    put(tmp_path, "esconv", [{"id": f"e{n}", "turns": turns(f"worry {n}"), "label": "anxiety"} for n in range(20)])
    return tmp_path


def made(name: str, folder: Path) -> list[LabelledText]:
    return CORPORA[name].make(folder, np.random.default_rng(0))


def test_labels_are_renamed_and_others_left_out(folder: Path) -> None:
    assert Counter(row.label for row in made("beavertails", folder)) == {SAFE: 20, UNSAFE: 20}
    rows = made("stormfront", folder)
    assert len(rows) == 20
    assert Counter(row.group for row in rows) == {f"hate_stormfront/{user}": 4 for user in range(5)}


def test_multi_turn_classes_are_of_one_size_and_of_two_sources(folder: Path) -> None:
    rows = made("multi_turn", folder)
    assert Counter((row.label, row.id.split(":")[0].split("/")[0]) for row in rows) == {
        (UNSAFE, "0"): 12, (SAFE, "topical"): 12}
    assert {row.structure for row in rows} == {"multi-turn"}
    assert all(row.text.startswith("<|user|>") for row in rows)


def test_no_conversation_is_in_two_bundles(folder: Path) -> None:
    rows = made("multi_conversation", folder)
    said = [line for row in rows for line in row.text.splitlines() if line]
    assert len(said) == len(set(said))
    assert {row.structure for row in rows} == {"multi-conversation"}
    assert {row.label for row in rows} == {SAFE, UNSAFE}


def test_the_pool_has_three_structures_and_no_conversation_twice(folder: Path) -> None:
    rows = made("pooled", folder)
    assert {row.structure for row in rows} == {"single-turn", "multi-turn", "multi-conversation"}
    said = [line for row in rows for line in row.text.splitlines() if line]
    assert len(said) == len(set(said))


def test_a_folder_without_the_set_is_said_in_one_line(folder: Path) -> None:
    with pytest.raises(InputError, match="expected the folder of public data with the data set diasafety") as caught:
        made("diasafety", folder)
    assert "\n" not in str(caught.value)


def test_a_corpus_is_written_once_and_not_for_another_folder(folder: Path, tmp_path: Path) -> None:
    to = tmp_path / "out"
    path = write_corpus(CORPORA["beavertails"], folder, 0, to)
    written = path.stat().st_mtime_ns
    assert len(read_texts(path)) == 40
    assert write_corpus(CORPORA["beavertails"], folder, 0, to).stat().st_mtime_ns == written
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(UsageError, match="name another --out"):
        write_corpus(CORPORA["beavertails"], other, 0, to)


def test_a_made_up_corpus_is_of_no_folder(tmp_path: Path) -> None:
    first = write_corpus(CORPORA["made_up"], tmp_path, 0, tmp_path / "out")
    assert write_corpus(CORPORA["made_up"], Path(), 0, tmp_path / "out") == first
    rows = read_texts(first)
    assert Counter(row.label for row in rows) == {SAFE: 700, UNSAFE: 700}
    assert {name for row in rows for name in row.categories} == {"kind 0", "kind 1", "kind 2"}


@pytest.mark.parametrize(("groups", "expected"), [
    (("a", "b", None), {None}), (("a", "a", "b"), {"a", "b"}), (("a", "a", None), {"a", "alone/2"})])
def test_groups_that_say_nothing_are_dropped(tmp_path: Path, groups: tuple[str | None, ...],
                                             expected: set[str | None]) -> None:
    rows = [LabelledText(str(n), f"text {n}", SAFE, group=group) for n, group in enumerate(groups)]
    corpus = Corpus("one", "single-turn", lambda folder, rng: rows, "none", on_disk=False)
    assert {row.group for row in read_texts(write_corpus(corpus, tmp_path, 0, tmp_path))} == expected


def test_users_of_the_made_up_corpus_have_three_posts_of_one_label() -> None:
    rows = made("made_up_users", Path())
    users = Counter(row.group for row in rows)
    assert set(users.values()) == {3}
    assert len({(row.group, row.label) for row in rows}) == len(users)
    words = {word for row in rows for word in row.text.split()[2:-2]}
    assert not words & {word for row in made("made_up", Path()) for word in row.text.split()[2:-2]}


def test_samples_keep_the_order_of_the_rows() -> None:
    rows = [LabelledText(str(n), "x", (SAFE, UNSAFE)[n % 2]) for n in range(20)]
    found = [int(row.id) for row in sample(rows, 7, np.random.default_rng(1))]
    assert found == sorted(found)
    assert len(set(found)) == 7
    assert Counter(row.label for row in balanced(rows, 4, np.random.default_rng(1))) == {SAFE: 4, UNSAFE: 4}
