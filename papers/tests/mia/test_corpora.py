"""Corpora: of tiny sets that lie in a folder as the public ones do, and of a hub whose `load_dataset` is ours."""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InputError, MissingExtraError, UsageError
from discreet.inputs.texts import LabelledText, read_texts
from discreet_papers.mia import hf_datasets as hf
from discreet_papers.mia.corpora import CORPORA, Corpus, write_corpus
from discreet_papers.mia.hf_datasets import SAFE, UNSAFE, balanced, sample


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


def made(name: str, folder: Path = Path()) -> list[LabelledText]:
    return CORPORA[name].make(folder, np.random.default_rng(0))


def lines(rows: list[LabelledText]) -> list[str]:
    return [line for row in rows for line in row.text.splitlines() if line]


def are_told_once(rows: list[LabelledText]) -> bool:
    return len(lines(rows)) == len(set(lines(rows)))


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
    assert are_told_once(rows)
    assert {row.structure for row in rows} == {"multi-conversation"}
    assert {row.label for row in rows} == {SAFE, UNSAFE}


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
    with pytest.raises(UsageError, match=r"was made from .*, not from .*other; name another --out"):
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
    rows = made("made_up_users")
    users = Counter(row.group for row in rows)
    assert set(users.values()) == {3}
    assert len({(row.group, row.label) for row in rows}) == len(users)
    words = {word for row in rows for word in row.text.split()[2:-2]}
    assert not words & {word for row in made("made_up") for word in row.text.split()[2:-2]}


def test_samples_keep_the_order_of_the_rows() -> None:
    rows = [LabelledText(str(n), "x", (SAFE, UNSAFE)[n % 2]) for n in range(20)]
    found = [int(row.id) for row in sample(rows, 7, np.random.default_rng(1))]
    assert found == sorted(found)
    assert len(set(found)) == 7
    assert Counter(row.label for row in balanced(rows, 4, np.random.default_rng(1))) == {SAFE: 4, UNSAFE: 4}


# The paper's data sets

USERS = [f"user-{n}" for n in range(24)]


def wildchat() -> Iterator[dict[str, Any]]:
    for n in range(168):
        roles = ("user", "assistant", "user", "assistant")[:2 if n % 7 == 6 else 4]
        yield {"conversation_hash": f"h{n}", "language": "French" if n % 11 == 10 else "English", "toxic": n % 13 == 12,
               "hashed_ip": USERS[n % 24], "timestamp": n,
               "conversation": [{"role": role, "content": f"chat {n} turn {k}"} for k, role in enumerate(roles)]}


def sets() -> dict[tuple[str, str], list[dict[str, Any]]]:
    answers = [("one", True), ("one", False), ("one", True), ("two", False), ("tie", True), ("tie", False),
               ("  two ", True), ("two", False), ("three", True)]
    beavertails = [{"prompt": prompt, "response": "r", "is_safe": safe,
                    "category": {"theft": not safe, "hate": False}} for prompt, safe in answers]
    beavertails += [{"prompt": f"p{n}", "is_safe": n % 2 == 0, "category": {"theft": n % 2 == 1}} for n in range(40)]
    xguard = [{"conversations": [{"from": who, "value": f"attack {n} {k}"} for k, who in enumerate(
        ("human", "gpt", "human") if n % 5 else ("human", "gpt"))]} for n in range(30)]
    esconv = [{"text": json.dumps({"dialog": [{"speaker": who, "text": f"worry {n} {k}"} for k, who in enumerate(
        ("sys", "usr", "sys", "usr"))]})} for n in range(20)]
    therapy = [{"pairing_id": 1 + n // 12, "session_id": 1 + n // 4 % 3, "turn": 4 - n % 4,
                "speaker": ("Patient", "Therapist")[n % 2], "message": f"session {n}"} for n in range(24)]
    posts = [{"title": f"title {n}", "body": ("[removed]", "body", "[deleted]", None)[n % 4] if n % 2 else f"body {n}",
              "subreddit": ("depression", "OCD", "ADHD")[n % 3]} for n in range(60)]
    return {(hf.BEAVERTAILS, "330k_train"): beavertails[:5], (hf.BEAVERTAILS, "330k_test"): beavertails[5:],
            (hf.XGUARD, "train"): xguard, (hf.WILDCHAT, "train"): list(wildchat()),
            (hf.ESCONV, "train"): esconv[:12], (hf.ESCONV, "validation"): esconv[12:16],
            (hf.ESCONV, "test"): esconv[16:],
            (hf.PSYCHOTHERAPY, "train"): therapy, (hf.DEPRESSION, "train"): posts}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, bool]]:
    """A hub that has the sets above; what was asked of it."""
    found: list[tuple[str, str, bool]] = []

    def load_dataset(name: str, *, split: str, streaming: bool, data_files: str | None = None) -> Any:
        found.append((data_files or name, split, streaming))
        return iter(sets()[data_files or name, split])

    monkeypatch.setattr(import_module("datasets"), "load_dataset", load_dataset)
    return found


def test_each_prompt_of_beavertails_stands_once_with_the_label_of_most_answers(asked: list[Any]) -> None:
    rows = {row.text: row for row in made("hub_beavertails")}
    assert rows["one"].label == SAFE
    assert rows["two"].label == UNSAFE
    assert rows["three"].label == SAFE
    assert "tie" not in rows
    assert (rows["one"].categories, rows["two"].categories) == (frozenset(), frozenset({"theft"}))
    assert len(rows) == 43
    assert all(streaming for _, _, streaming in asked)


def test_multi_turn_is_of_two_turns_or_more_in_english_and_unflagged(asked: list[Any]) -> None:
    rows = made("hub_multi_turn")
    assert Counter(row.label for row in rows) == {UNSAFE: 24, SAFE: 24}
    assert {row.structure for row in rows} == {"multi-turn"}
    chats = [int(row.id.removeprefix("wildchat/h")) for row in rows if row.label == SAFE]
    assert all(n % 11 != 10 and n % 13 != 12 and n % 7 != 6 for n in chats)


def test_roles_of_wildchat_share_no_conversation_and_no_user(asked: list[Any]) -> None:
    roles = [list(hf.wildchat(role)) for role in ("multi-turn", "bundles")]
    assert all(len(rows) > 10 for rows in roles)
    for name in ("id", "text", "group"):
        first, second = ({getattr(row, name) for row in rows} for rows in roles)
        assert not first & second
    assert {hf.role_of_user(user) for user in USERS} == {"multi-turn", "bundles"}
    counts = Counter(row.group for rows in roles for row in rows)
    assert max(counts.values()) <= hf.A_USER


def test_bundles_are_of_one_user_in_order_of_time(asked: list[Any]) -> None:
    rows = made("hub_support")
    counts = Counter(row.label for row in rows)
    assert counts[SAFE] == counts[UNSAFE] > 5
    for row in rows:
        if row.label == SAFE:
            numbers = [int(line.split()[2]) for line in row.text.splitlines() if line]
            assert numbers == sorted(numbers)
            assert len({number % 24 for number in numbers}) == 1
    patients = [row for row in rows if row.id.startswith("therapy/")]
    assert {row.group for row in patients} == {"therapy/1", "therapy/2"}
    assert are_told_once(rows)


def test_sessions_are_in_the_order_of_their_turns(asked: list[Any]) -> None:
    found = [row for row in hf._in_need() if row.id == "therapy/1-1"]
    assert [int(line.split()[-1]) for line in found[0].text.splitlines()] == [3, 2, 1, 0]
    first = next(iter(hf._in_need()))
    assert first.text.splitlines()[:2] == ["<|assistant|> worry 0 0", "<|user|> worry 0 1"]


@pytest.mark.parametrize("name", ["pooled", "hub_pooled"])
def test_the_pool_has_three_structures_and_no_conversation_twice(folder: Path, asked: list[Any], name: str) -> None:
    rows = made(name, folder)
    assert {row.structure for row in rows} == {"single-turn", "multi-turn", "multi-conversation"}
    assert are_told_once(rows)


def test_removed_posts_are_left_out_and_classes_are_even(asked: list[Any]) -> None:
    rows = made("hub_depression")
    counts = Counter(row.label for row in rows)
    assert counts[UNSAFE] == 15
    assert counts[SAFE] == 30
    assert all("[" not in row.text and "None" not in row.text for row in rows)
    assert rows[0].text.startswith("title ")


@pytest.mark.parametrize("name", [name for name in CORPORA if name.startswith("hub_")])
def test_every_corpus_can_be_written_with_groups_for_all_rows_or_none(asked: list[Any], tmp_path: Path, name: str
                                                                      ) -> None:
    rows = read_texts(write_corpus(CORPORA[name], Path(), 0, tmp_path))
    assert len({row.group is None for row in rows}) == 1
    assert len({row.id for row in rows}) == len(rows)


def test_without_a_hub_one_line_says_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*args: Any, **options: Any) -> Any:
        raise ConnectionError("a long story\nof retries")

    monkeypatch.setattr(import_module("datasets"), "load_dataset", unreachable)
    with pytest.raises(InputError, match="needs the Hugging Face hub and, for gated sets, a token") as caught:
        made("hub_multi_turn")
    assert "\n" not in str(caught.value)
    assert "story" not in str(caught.value)
    assert hf.XGUARD in str(caught.value)


def test_a_set_of_another_form_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"message": "secret words"}]
    monkeypatch.setattr(import_module("datasets"), "load_dataset", lambda *args, **options: iter(rows))
    with pytest.raises(InputError, match="has no column 'conversations'") as caught:
        made("hub_multi_turn")
    assert "secret" not in str(caught.value)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"discreet\[train\]"):
        made("hub_depression")
