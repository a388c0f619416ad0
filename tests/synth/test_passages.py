from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.synth.asked import read_safe, record_of, shortened
from discreet.synth.campaign import SHARD
from discreet.synth.records import PASSAGES, Record
from discreet.synth.seeds import SeedPassage
from discreet.synth.validate import Validator

SAFE = ("Adults with a new cough should rest, drink enough and see a doctor when it has not gone after three weeks. "
        "Number {n} of these leaflets explains when an X-ray of the chest helps and when it does not: topic {topic}.")
CLUSTER = ("The patient is a 58-year-old widowed crane operator from Toledo who lives with two sons. She was given a "
           "brace for her knee in week {n} and told to rest.")
TOPICS = ("fever sputum wheezing reflux smoking asthma pollen dust mould flu shingles measles gout migraine vertigo "
          "tinnitus eczema acne psoriasis hives").split()


def seeds(n: int) -> list[SeedPassage]:
    """Every fourth is about somebody, every fifth a copy of the one before."""
    found = []
    for i in range(n):
        at = i - (i % 5 == 4)
        words = " ".join(TOPICS[(at * 7 + j * j * (at + 3)) % len(TOPICS)] for j in range(25))
        text = CLUSTER.format(n=i) if i % 4 == 3 else SAFE.format(n=at, topic=words)
        found.append(SeedPassage(f"c/{i}", "leaflets", "authoritative" if i % 2 else None, "What about it?", text))
    return found


def test_passages_that_pass_are_records_of_real_text(tmp_path: Path) -> None:
    found = read_safe("medical", 10, seeds(60), 3, Validator("medical", words=(12, 180)), 180, tmp_path)
    assert (len(found.records), found.kept, found.short) == (10, 10, 0)
    assert found.drafts == 10 + sum(found.rejected.values())
    assert set(found.rejected) == {"cluster", "near_duplicate"}
    row = found.records[0].to_json()
    assert (row["kind"], row["profile"], row["generator"], row["synthetic"]) == ("safe", "leaflets", PASSAGES, False)
    assert Record.from_json(row) == found.records[0]


def test_what_was_judged_is_kept_without_its_text(tmp_path: Path) -> None:
    given = seeds(SHARD + 40)
    check = Validator("medical", words=(12, 180))
    first = read_safe("medical", 10**6, given, 3, check, 180, tmp_path)
    assert first.short == 10**6 - len(first.records)
    assert len(list(tmp_path.glob("safe-*.json"))) == 2
    assert not any(b"leaflets explains" in one.read_bytes() for one in tmp_path.iterdir())

    def again(record: Record) -> tuple[str, ...]:
        asked.append(record.id)
        return ()

    asked: list[str] = []
    assert read_safe("medical", 10**6, given, 3, again, 180, tmp_path) == first
    (tmp_path / f"safe-{SHARD:06d}.json").write_text("{", encoding="utf-8")
    read_safe("medical", 10**6, given, 3, again, 180, tmp_path)
    assert len(asked) == 40
    assert json.loads((tmp_path / f"safe-{SHARD:06d}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "most", "found"), [
    ("One two three. Four five six.", 6, "One two three. Four five six."),
    ("One two three. Four five six.", 5, "One two three."), ("One two. Three four five six seven", 6,
                                                             "One two. Three four five six"),
    ("One two three four", 2, "One two"), ('He said "no." Then he left at once.', 5, 'He said "no."')])
def test_long_passages_end_with_a_sentence(text: str, most: int, found: str) -> None:
    assert shortened(text, most) == found


@given(st.text(alphabet="ab .?\n", max_size=80), st.integers(1, 12))
def test_never_more_words_and_always_a_head(text: str, most: int) -> None:
    found = shortened(text, most)
    assert len(found.split()) <= most
    assert text.startswith(found)


def test_a_passage_s_question_and_register_stay() -> None:
    record = record_of("medical", seeds(2)[1], 12)
    assert (record.draft.question, record.spec.register) == ("What about it?", "authoritative")
    assert len(record.draft.answer.split()) <= 12
