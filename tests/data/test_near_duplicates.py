from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.duplicates import BAND_ROWS, BANDS, first_seen, merged_groups, near_clusters

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
    assert near_clusters(texts, seed=seed).tolist() == expected


@given(st.lists(st.lists(st.sampled_from(VOCABULARY), max_size=14), max_size=12), st.integers(1, 3))
def test_short_texts_of_few_words(spoken: list[list[str]], words: int) -> None:
    texts = [" ".join(one) for one in spoken]
    assert near_clusters(texts, words=words).tolist() == slow_clusters(texts, words)


def test_the_threshold_is_part_of_what_is_near() -> None:
    base = [f"w{number}" for number in range(13)]
    # 9 shingles and 9, 10 or 12 of them shared with longer texts: similarity 9/10, 9/11, 9/12.
    texts = [" ".join([*base, *(f"y{number}" for number in range(more))]) for more in (0, 1, 2, 3)]
    assert near_clusters([texts[0], texts[2]]).tolist() == [0, 0]
    assert near_clusters([texts[0], texts[3]]).tolist() == [0, 1]
    assert near_clusters([texts[0], texts[1]], at_least=0.9).tolist() == [0, 0]
    assert near_clusters([texts[0], texts[2]], at_least=0.9).tolist() == [0, 1]
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


def test_seeds_change_hashes_and_not_clusters() -> None:
    generator = np.random.default_rng(1)
    texts = [" ".join(f"v{number}" for number in generator.integers(0, 9, 12)) for _ in range(40)]
    assert near_clusters(texts, seed=1).tolist() == near_clusters(texts, seed=-5).tolist()


def test_a_pair_at_the_threshold_is_missed_less_than_once_in_ten_million() -> None:
    assert (1 - 0.8 ** BAND_ROWS) ** BANDS < 1e-7


@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=12, max_size=12))
def test_merged_groups_keep_together_what_any_partition_does(n: int, drawn: list[tuple[int, int]]) -> None:
    sets = {item: {item} for item in range(n)}
    for which in (0, 1):
        for one, two in combinations(range(n), 2):
            if drawn[one][which] == drawn[two][which]:
                both = sets[one] | sets[two]
                sets.update(dict.fromkeys(both, both))
    codes = merged_groups(*([pair[which] for pair in drawn[:n]] for which in (0, 1))).tolist()
    assert all((codes[one] == codes[two]) == (two in sets[one]) for one in range(n) for two in range(n))
    assert codes == first_seen(codes).tolist()


@pytest.mark.parametrize("options", [{"words": 0}, {"at_least": 0.7}, {"at_least": 1.1}])
def test_mistakes(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected words from 1 and a share in"):
        near_clusters(["a"], **options)  # type: ignore[arg-type]
