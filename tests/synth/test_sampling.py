from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domains import builtin_domains, load_domain
from discreet.synth.records import SHARED
from discreet.synth.sampling import apportion, class_sets, spread, uniform

SEEDS = st.integers(0, 2**32 - 1)


@given(st.integers(0, 5_000), st.lists(st.floats(0.01, 100), min_size=1, max_size=8))
def test_apportion_is_exact_in_sum_and_within_one_of_every_share(total: int, weights: list[float]) -> None:
    shares = apportion(total, dict(enumerate(weights)))
    assert sum(shares.values()) == total
    for level, weight in enumerate(weights):
        assert abs(shares[level] - total * weight / sum(weights)) < 1 + 1e-6


def test_apportion_of_the_prior() -> None:
    assert apportion(1_000, {2: 0.45, 3: 0.35, 4: 0.20}) == {2: 450, 3: 350, 4: 200}
    assert apportion(0, {"a": 1.0}) == {"a": 0}


@given(st.dictionaries(st.sampled_from("abcde"), st.integers(0, 60), min_size=1), SEEDS)
def test_spread_keeps_the_counts(counts: dict[str, int], seed: int) -> None:
    order = spread(counts, np.random.default_rng(seed))
    assert Counter(order) == Counter({level: n for level, n in counts.items() if n})


@given(st.integers(40, 400), SEEDS, st.integers(0, 300), st.integers(20, 200))
def test_every_stretch_has_nearly_the_shares_of_the_whole(n: int, seed: int, begin: int, length: int) -> None:
    levels = uniform("abcd", n, np.random.default_rng(seed))
    part = levels[begin:begin + length]
    for level in "abcd":
        # A level's copies lie one in each of its equal stretches: at most two are gained or lost at the ends.
        assert abs(part.count(level) - len(part) * levels.count(level) / n) <= 2


@given(st.integers(0, 500), SEEDS)
def test_uniform_levels_differ_by_one_at_most(n: int, seed: int) -> None:
    counts = Counter(uniform(range(6), n, np.random.default_rng(seed)))
    assert sum(counts.values()) == n
    assert max(counts.values(), default=0) - min([counts[i] for i in range(6)]) <= 1


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([2, 3, 4]), min_size=30, max_size=200), SEEDS, st.sampled_from(builtin_domains()))
def test_class_sets_are_balanced_distinct_and_hold_a_shared_class(sizes: list[int], seed: int, domain: str) -> None:
    sets = class_sets(sizes, tuple(load_domain(domain).labels), np.random.default_rng(seed))
    assert [len(s) for s in sets] == sizes
    assert all(len(set(s)) == len(s) for s in sets)
    assert all(set(s) & set(SHARED) for s in sets)
    counts = Counter(qi for s in sets for qi in s)
    assert max(counts.values()) - min(counts[qi] for qi in tuple(load_domain(domain).labels)) <= 1


def test_sets_of_domain_facts_need_no_shared_class() -> None:
    sets = class_sets([2, 3, 2, 2, 3, 2], load_domain("law").own_labels, np.random.default_rng(0))
    assert all(set(s) <= set(load_domain("law").own_labels) for s in sets)


def test_pairs_of_classes_are_not_all_alike() -> None:
    sets = class_sets([2] * 2_000, tuple(load_domain("medical").labels), np.random.default_rng(1))
    pairs = Counter(sets)
    # 25 pairs hold a shared class; balancing tilts them, but none may vanish or take over.
    assert len(pairs) == 25
    assert max(pairs.values()) < 5 * min(pairs.values())


@pytest.mark.parametrize("seed", range(3))
def test_the_same_seed_gives_the_same_sets(seed: int) -> None:
    labels = tuple(load_domain("law").labels)
    one, two = (class_sets([2, 3, 4] * 20, labels, np.random.default_rng(seed)) for _ in range(2))
    assert one == two
