"""Paraphrasers by name, what counts as another text, and the file of paraphrases."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator

from discreet.core.errors import InputError, UsageError
from discreet.core.records import Estimate
from discreet.inputs.texts import read_texts
from discreet_papers.paraphrase import paraphraser_of
from discreet_papers.paraphrase.llm import Llm
from discreet_papers.paraphrase.rewording import holds, marks_of, overlap, words_of
from discreet_papers.paraphrase.rules import Rules
from discreet_papers.paraphrase.writing import FORM, TOGETHER, change, named, write_paraphrases


def test_words_are_what_is_left_without_case_punctuation_and_marks() -> None:
    assert words_of("<|user|> Don’t go, at 12:30!\n<|assistant|> OK_then.") == ("don't", "go", "at", "12", "30", "ok",
                                                                             "then")
    assert words_of("DON'T... go at 12 30 ok then") == words_of("<|user|> Don’t go, at 12:30!\n<|assistant|> OK_then.")
    assert words_of("?! <|user|>") == ()
    assert words_of("Straße") == words_of("STRASSE")


def test_marks_in_order() -> None:
    assert marks_of("<|user|> a <|assistant|> b<|user|>") == ["<|user|>", "<|assistant|>", "<|user|>"]
    assert marks_of("<user> |assistant|") == []


@given(st.text("ab c.'", max_size=12), st.text("ab c.'", max_size=12))
def test_overlap_and_holds_by_hand(first: str, second: str) -> None:
    a, b = words_of(first), words_of(second)
    both = len(set(a) | set(b))
    assert overlap(first, second) == (len(set(a) & set(b)) / both if both else None)
    found = any(b[start : start + len(a)] == a for start in range(len(b) - len(a) + 1))
    if a:
        assert holds(second, first) == found


def test_what_is_said_of_a_change() -> None:
    texts = ["a b", "c d", "e f"]
    found = change(texts, [["so, a b", "b a"], ["d x", "d x!"], ["E, f.", "g"]])
    assert (found["distinct"].value, found["distinct"].n) == (1 / 3, 3)
    assert found["overlap"].value == pytest.approx((2 / 3 + 1 + 1 / 3 + 1 / 3 + 1 + 0) / 6)
    assert (found["wrapped"].value, found["wrapped"].n) == (2 / 6, 6)


def test_nothing_to_compare_is_no_figure() -> None:
    found = change(["?"], [["!"]])
    assert not found["overlap"].resolved
    assert isinstance(found["overlap"], Estimate)
    assert found["distinct"].value == 0.0
    assert not change([], [])["distinct"].resolved


def test_names_and_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx")
    monkeypatch.chdir(tmp_path)  # A cache has a key of its own, which is made at once.
    assert named("rules") == Rules()
    assert named("llm:http://host:8000/v1?v=1,model=org/m-1") == Llm("http://host:8000/v1?v=1", "org/m-1")
    assert named("llm:http://host/v1,cache=kept,model=m=1") == Llm("http://host/v1", "m=1", cache="kept")


@pytest.mark.parametrize("spec", [
    "nobody", "", "rules:", "rules:seed=3", "llm", "llm:http://h/v1", "llm:http://h/v1,m", "llm:http://h/v1,model=",
    "llm:,model=m", "llm:http://h/v1,model=m,model=n", "llm:http://h/v1,model=m,workers=2"])
def test_specs_that_are_none(spec: str) -> None:
    with pytest.raises(UsageError, match=f"there is no paraphraser '{re.escape(spec)}'; expected rules, or llm:URL"):
        paraphraser_of(spec, 3)


def test_an_address_that_is_none() -> None:
    pytest.importorskip("httpx")
    with pytest.raises(UsageError, match="the address of the endpoint cannot be read"):
        paraphraser_of("llm:host,model=m", 3)


@dataclass
class Counted:
    """Says a text with a number behind it, and counts what it was asked."""

    facts: Mapping[str, Any] = field(default_factory=lambda: {"kind": "test", "version": 1})
    label: str = "counted"
    asked: list[int] = field(default_factory=list)

    def paraphrase(self, texts: Sequence[str], n: int, rng: Generator) -> list[list[str]]:
        self.asked.append(len(texts))
        return [[f"{text} {k} {rng.integers(10**6)}" for k in range(n)] for text in texts]


def manifest(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return found


def test_rows_that_an_experiment_reads(data: Path, tmp_path: Path) -> None:
    path = write_paraphrases(data, 2, tmp_path / "new" / "out", Rules(), 7)
    assert path == tmp_path / "new" / "out" / "texts.x2.rules.s7.jsonl"
    rows, said = read_texts(data), read_texts(path)
    assert [one.id for one in said] == ["a#1", "a#2", "b#1", "b#2", "c#1", "c#2"]
    assert [one.label for one in said] == ["safe", "safe", "unsafe", "unsafe", "1", "1"]
    assert [one.structure for one in said[::2]] == ["single-turn", None, "single-turn"]
    for row, ours in zip(rows, zip(said[::2], said[1::2], strict=True), strict=True):
        assert len({words_of(one.text) for one in (row, *ours)}) == 3
    assert said[-1].text.startswith("<|user|> ")
    assert sorted(one.name for one in path.parent.iterdir()) == ["texts.x2.rules.s7.json", path.name]


def test_the_manifest_says_how_and_holds_no_text(data: Path, tmp_path: Path) -> None:
    found = manifest(write_paraphrases(data, 2, tmp_path, Rules(), 7))
    assert (found["n"], found["seed"], found["texts"], found["unchanged"]) == (2, 7, 3, 0)
    assert (found["paraphraser"]["kind"], len(found["paraphraser"]["version"])) == ("rule-based", 16)
    assert found["distinct"]["value"] == 1.0
    assert 0.0 < found["overlap"]["value"] < 1.0
    said = json.dumps(found).lower()
    assert not any(word in said for word in ("bread", "oven", "smith", "drawer"))
    again = manifest(write_paraphrases(data, 2, tmp_path / "again", Rules(), 7))
    assert again["data"] != found["data"]


def test_whatever_is_other_is_made_anew(data: Path, tmp_path: Path) -> None:
    model = Counted()

    def made(n: int = 1, seed: int = 7) -> int:
        before = len(model.asked)
        write_paraphrases(data, n, tmp_path, model, seed)
        return len(model.asked) - before

    assert [made(), made(), made(n=2), made(seed=8), made(), made(n=2)] == [1, 0, 1, 1, 0, 0]
    model.facts = {"kind": "test", "version": 2}
    assert [made(), made()] == [1, 0]
    path = tmp_path / "texts.x1.counted.s7.jsonl"
    for other in (path, path.with_suffix(".json")):
        kept = other.read_bytes()
        for content in (b"", kept[:-9], kept.replace(b'"', b"'"), b"{}", b'{"key": "0"}', b'{"key": 3}'):
            other.write_bytes(content)
            assert [made(), made()] == [1, 0]
        other.unlink()
        assert [made(), made()] == [1, 0]
    data.write_text(data.read_text().replace("bread", "bricks"))
    assert [made(), made()] == [1, 0]
    assert "bricks" in path.read_text()


def test_portions_are_one_stream(tmp_path: Path) -> None:
    data = tmp_path / "many.jsonl.gz"
    n_texts = 2 * TOGETHER + 5
    data.write_bytes(gzip.compress("".join(
        json.dumps({"id": number, "text": f"I can't see {number} rivers.", "label": 0}) + "\n"
        for number in range(n_texts)).encode()))
    model = Counted()
    path = write_paraphrases(data, 1, tmp_path, model, 7)
    assert (path.name, model.asked) == ("many.x1.counted.s7.jsonl", [TOGETHER, TOGETHER, 5])
    # Drawn in one go, the same comes out.
    again = tmp_path / "again"
    more = write_paraphrases(data, 1, again, Rules(), 7)
    said = Rules().paraphrase([row.text for row in read_texts(data)], 1,
                              np.random.default_rng((7, *FORM.encode())))
    assert [row.text for row in read_texts(more)] == [one for [one] in said]


@pytest.mark.parametrize("said", [[], [["a"]], [["a"], ["b"], ["c"]], [["a", "b"], ["a", " "], ["a", "b"]]])
def test_a_paraphraser_that_does_not_keep_its_word(data: Path, tmp_path: Path, said: list[list[str]]) -> None:
    class Broken(Counted):
        def paraphrase(self, texts: Sequence[str], n: int, rng: Generator) -> list[list[str]]:
            return said

    with pytest.raises(ValueError, match="gave other than 2 texts for each of 3"):
        write_paraphrases(data, 2, tmp_path / "out", Broken(), 7)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_failure_leaves_what_was_there(data: Path, tmp_path: Path) -> None:
    class Failing(Counted):
        def paraphrase(self, texts: Sequence[str], n: int, rng: Generator) -> list[list[str]]:
            raise InputError("no answer")

    path = write_paraphrases(data, 1, tmp_path, Counted(), 7)
    before = path.read_bytes()
    with pytest.raises(InputError, match="no answer"):
        write_paraphrases(data, 1, tmp_path, Failing(facts={"version": 2}), 7)
    assert path.read_bytes() == before


def test_what_cannot_be(data: Path, tmp_path: Path) -> None:
    for n in (0, 64):
        with pytest.raises(UsageError, match=f"{n} paraphrases of each text .* expected 1 to 63"):
            write_paraphrases(data, n, tmp_path, Rules(), 7)
    with pytest.raises(UsageError, match="seed of the paraphrases is -1"):
        write_paraphrases(data, 1, tmp_path, Rules(), -1)
    with pytest.raises(UsageError, match="cannot make the folder"):
        write_paraphrases(data, 1, data / "below", Rules(), 7)
    with pytest.raises(InputError):
        write_paraphrases(tmp_path / "none.jsonl", 1, tmp_path, Rules(), 7)
