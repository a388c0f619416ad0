from __future__ import annotations

import json
import re
from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InputError, UsageError
from discreet.inputs.duplicates import (
    NearDuplicates,
    find_duplicates,
    first_seen,
    merged_groups,
    near_clusters,
    nearest_duplicates,
    without_duplicates,
)
from discreet.inputs.texts import LabelledText

LONG = "one two three four five six seven eight nine ten eleven twelve"


def rows_of(*pairs: tuple[str, str]) -> list[LabelledText]:
    return [LabelledText(str(number), text, label) for number, (text, label) in enumerate(pairs)]


ROWS = rows_of(("A b", "0"), ("c", "0"), ("a  B", "0"), ("c", "1"), ("d", "1"), ("a b", "0"), ("C", "0"), ("e", "1"),
               ("e", "2"))


def test_what_is_dropped_and_kept() -> None:
    kept, found = without_duplicates(ROWS)
    assert [row.id for row in kept] == ["0", "4"]
    assert found.repeated.tolist() == [2, 5]
    assert found.conflicting.tolist() == [1, 3, 6, 7, 8]
    assert found.dropped.tolist() == [1, 2, 3, 5, 6, 7, 8]
    assert found.to_json() == {"rows": 9, "kept": 2, "repeated_rows": 2, "conflicting_rows": 5,
                               "conflicting_texts": 2, "near_clusters": None, "near_rows": None}
    assert str(found) == ("2 of 9 rows are kept; 2 repeat an earlier text; 5 rows of 2 texts have two labels")


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("01")), min_size=1, max_size=25))
def test_first_of_every_text_with_one_label(pairs: list[tuple[str, str]]) -> None:
    labels: dict[str, set[str]] = defaultdict(set)
    for text, label in pairs:
        labels[text].add(label)
    expected = [str(number) for number, (text, _) in enumerate(pairs)
                if len(labels[text]) == 1 and text not in [other for other, _ in pairs[:number]]]
    if not expected:
        with pytest.raises(InputError, match=f"all {len(pairs)} rows have texts that stand in the table with two"):
            without_duplicates(rows_of(*pairs))
        return
    kept, found = without_duplicates(rows_of(*pairs))
    assert [row.id for row in kept] == expected
    assert found.n_conflicting == sum(len(said) > 1 for said in labels.values())
    assert without_duplicates(kept)[1].dropped.size == 0


def test_nearly_the_same() -> None:
    rows = rows_of((LONG, "0"), ("other", "0"), (f"{LONG}!", "0"), (f"{LONG} z", "1"), (LONG, "0"), (f"{LONG} x", "0"),
                   (f"{LONG} x", "1"))
    found = find_duplicates(rows, near=True)
    assert found.dropped.tolist() == [4, 5, 6]
    assert found.near is not None
    assert [cluster.tolist() for cluster in found.near] == [[0, 2, 3]]
    assert found.to_json()["near_clusters"] == 1
    assert found.to_json()["near_rows"] == 3
    assert str(found).endswith("3 rows in 1 clusters are nearly the same")


def test_no_text_in_what_is_reported() -> None:
    found = find_duplicates(rows_of(("secret words", "0"), ("secret words", "1")), near=True)
    assert "secret" not in repr(found) + str(found) + json.dumps(found.to_json())
    assert find_duplicates([]).n == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 9)), min_size=1, max_size=15))
def test_merged_groups_is_the_finest_that_keeps_all_together(codes: list[tuple[int, int, int]]) -> None:
    n = len(codes)
    linked = np.array([[any(a == b for a, b in zip(one, two, strict=True)) for two in codes] for one in codes])
    reached = np.linalg.matrix_power(linked.astype(float), n) > 0
    found = merged_groups(*np.array(codes).T)
    assert ((found[:, None] == found) == reached).all()
    assert found.max() == np.unique(found).size - 1


def test_merged_groups_takes_names_and_refuses_other_shapes() -> None:
    assert merged_groups(["x", "y", "x"], [1, 2, 3]).tolist() == [0, 1, 0]
    for wrong in ([], [[1, 2], [1]], [[[1]]]):
        with pytest.raises(ValueError, match="expected one shape"):
            merged_groups(*wrong)


VOCABULARY = [f"w{number}" for number in range(12)]


def slow_clusters(texts: list[str], words: int = 5, at_least: float = 0.8) -> list[int]:
    """Every pair compared on sets of tuples, every chain followed."""
    sets = []
    for text in texts:
        spoken = re.findall(r"\w+", text) or [text]
        width = min(words, len(spoken))
        # A text shorter than a shingle is a whole of its own kind.
        sets.append({tuple(spoken[at:at + width]) for at in range(len(spoken) - width + 1)})
    cluster = list(range(len(texts)))
    for one, two in combinations(range(len(texts)), 2):
        if len(sets[one] & sets[two]) / len(sets[one] | sets[two]) >= at_least:
            low, high = sorted((cluster[one], cluster[two]))
            cluster = [low if code == high else code for code in cluster]
    return first_seen(cluster).tolist()  # type: ignore[no-any-return]


def edited(generator: np.random.Generator, spoken: list[str]) -> list[str]:
    """The words with a few put at the ends, replaced, or cut off."""
    kind, many = generator.integers(4), int(generator.integers(0, 4))
    new = [f"x{number}" for number in generator.integers(0, 1000, many)]
    if kind == 0:
        return spoken + new
    if kind == 1:
        return new + spoken
    if kind == 2:
        return spoken[many:]
    place = int(generator.integers(len(spoken) + 1))
    return spoken[:place] + new + spoken[place + many:]


@pytest.mark.parametrize("seed", range(8))
def test_clusters_are_those_of_all_pairs(seed: int) -> None:
    generator = np.random.default_rng(seed)
    texts = []
    for _ in range(25):
        spoken = [f"v{number}" for number in generator.integers(0, 3000, int(generator.integers(3, 60)))]
        for _ in range(int(generator.integers(1, 7))):
            texts.append(" ".join(spoken))
            spoken = edited(generator, spoken)
    order = generator.permutation(len(texts))
    texts = [texts[place] for place in order]
    expected = slow_clusters(texts)
    assert 25 <= max(expected) + 1 < len(texts)
    assert near_clusters(texts).tolist() == expected


@given(st.lists(st.lists(st.sampled_from(VOCABULARY), max_size=14), max_size=12))
def test_short_texts_of_few_words(spoken: list[list[str]]) -> None:
    texts = [" ".join(one) for one in spoken]
    assert near_clusters(texts).tolist() == slow_clusters(texts)


def test_the_threshold_is_part_of_what_is_near() -> None:
    base = [f"w{number}" for number in range(13)]
    # 9 shingles and 9, 10 or 12 of them shared with longer texts: similarity 9/10, 9/11, 9/12.
    texts = [" ".join([*base, *(f"y{number}" for number in range(more))]) for more in (0, 1, 2, 3)]
    assert near_clusters([texts[0], texts[2]]).tolist() == [0, 0]
    assert near_clusters([texts[0], texts[3]]).tolist() == [0, 1]
    # 8 of 10 exactly.
    eight = [" ".join(f"w{number}" for number in range(12)), " ".join(f"w{number}" for number in range(14))]
    assert near_clusters(eight).tolist() == [0, 0]
    # A chain joins its ends.
    assert near_clusters([texts[0], texts[3], texts[2]]).tolist() == [0, 0, 0]


def test_punctuation_is_no_word_and_a_text_without_words_is_itself() -> None:
    assert near_clusters(["can you, please?", "can you please", "?!", "?!", "!?", ""]).tolist() == [0, 0, 1, 1, 2, 3]
    # A short text is no part of a long one, and words run together are others.
    assert near_clusters(["a b", "a b c", "ab", "b a"]).tolist() == [0, 1, 2, 3]
    assert near_clusters([]).tolist() == []


def test_many_copies_and_many_half_alike() -> None:
    base = " ".join(f"w{number}" for number in range(60))
    assert near_clusters([f"{base} z{number}" for number in range(300)]).max() == 0
    half = " ".join(f"w{number}" for number in range(20))
    alike = [f"{half} " + " ".join(f"z{number}of{place}" for place in range(8)) for number in range(300)]
    assert near_clusters(alike).tolist() == list(range(300))


def test_near_duplicates_one_by_one() -> None:
    words = [f"w{i}" for i in range(100)]
    near = NearDuplicates()
    assert near.add("a", " ".join(words))
    assert not near.add("b", " ".join(words).upper() + "!")
    # Twelve of 96 shingles on either side: Jaccard .78; forty: .41.
    changed = [*words[:50], *"one two three four five six seven eight".split(), *words[58:]]
    assert not near.add("b", " ".join(changed))
    assert near.add("b", " ".join([*words[:30], *words[80:], *words[30:70:2]]))
    assert len(near) == 2
    assert near.add("c", "?")
    assert not near.add("d", "?")
    assert NearDuplicates(1.0).add("a", " ".join(words))
    strict = NearDuplicates(0.9)
    assert strict.add("a", " ".join(words))
    assert strict.add("b", " ".join(changed))
    with pytest.raises(UsageError, match="twice"):
        near.add("a", "other")
    for similarity in (0.0, 1.1):
        with pytest.raises(UsageError, match="similarity"):
            NearDuplicates(similarity)


@given(st.lists(st.lists(st.sampled_from("a b c d e f".split()), min_size=1, max_size=9), max_size=12))
def test_what_is_kept_one_by_one_is_apart(texts: list[list[str]]) -> None:
    near, kept = NearDuplicates(0.8), []
    for number, text in enumerate(" ".join(one) for one in texts):
        if near.add(str(number), text):
            kept.append(text)
    assert len(set(near_clusters(kept).tolist())) == len(kept)


def test_the_nearest_duplicate_is_the_most_similar_near_text() -> None:
    """Against all pairs; itself and texts that are not near do not count."""
    rng = np.random.default_rng(4)
    base = [" ".join(rng.choice(list("abcdefghij"), 40)) for _ in range(12)]
    texts = [*base, *(f"{text} and more" for text in base[:4]), base[0].upper(), "?!", "..."]
    asked = np.arange(len(texts))
    folded = [text.casefold().split() for text in texts]
    runs = [{" ".join(words[at:at + 5]) for at in range(max(1, len(words) - 4))} for words in folded]
    slow = []
    for one in asked:
        alike = [len(runs[one] & other) / len(runs[one] | other) for other in runs]
        alike[one] = 0.0
        slow.append(int(np.argmax(alike)) if max(alike) >= 0.8 else -1)
    assert nearest_duplicates(texts, asked).tolist() == slow
    assert slow[0] == 16
    assert slow[5] == -1
