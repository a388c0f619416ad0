from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InputError, UsageError
from discreet.core.files import dump_json
from discreet.guard.domains import builtin_domains, load_domain
from discreet.synth.plan import (
    PAPER_K,
    PARTITIONS,
    ROLES,
    Plan,
    apportion,
    class_sets,
    distance,
    distances,
    equal_sizes,
    make_plan,
    paper_sizes,
    spread,
    uniform,
)
from discreet.synth.records import FRAMINGS, PLACEMENTS, REGISTERS, SHARED, SUBTYPES


def assert_even(counts: dict[str, int], levels: int, within: float = 0.05) -> None:
    mean = sum(counts.values()) / levels
    assert len(counts) == levels
    assert all(abs(n - mean) <= max(1, within * mean) for n in counts.values()), counts


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(builtin_domains()), st.integers(300, 900))
def test_marginals_of_the_unsafe_partition(seed: int, domain: str, n: int) -> None:
    found = make_plan(domain, {"unsafe": n}, seed).to_json()["marginals"]["unsafe"]
    assert_even(found["framing"], 6)
    assert_even(found["placement"], 4)
    assert_even(found["qi"], 8)
    assert_even(found["profile"], 3)
    assert set(found["framing"]) == set(FRAMINGS)
    assert set(found["placement"]) == set(PLACEMENTS)
    assert set(found["qi"]) == set(load_domain(domain).labels)
    for k, share in {"2": 0.45, "3": 0.35, "4": 0.20}.items():
        assert abs(found["k"][k] - share * n) < 1
    for mode, records in {"NONE": 15_000, "INDIRECT_QI": 1_500, "DISTRACTOR_PADDED": 1_500,
                          "STYLE_TRANSFER": 1_500}.items():
        assert abs(found["mode"][mode] - n * records / 19_500) < 1


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 2**31))
def test_marginals_of_the_other_partitions(seed: int) -> None:
    plan = make_plan("finance", equal_sizes(240), seed)
    found = plan.to_json()["marginals"]
    assert_even(found["safe"]["register"], len(REGISTERS))
    for name in ("borderline", "borderline_eval", "matched_borderline"):
        assert_even(found[name]["subtype"], len(SUBTYPES))
        assert_even(found[name]["opening"], 5)
        assert_even(found[name]["framing"], 6)
    assert set(found["domain_only"]["qi"]) == set(load_domain("finance").own_labels)
    assert_even(found["domain_only"]["qi"], 3)


def test_every_batch_is_balanced_nearly_as_the_whole_is() -> None:
    plan = make_plan("law", {"unsafe": 1_200}, 3)
    specs = plan.specs("unsafe")
    at = 0
    for batch in plan.batches:
        part = Counter(s.framing for s in specs[at:at + batch.n])
        assert all(abs(part[f] - batch.n / 6) <= 2 for f in FRAMINGS)
        assert {(s.profile, s.mode) for s in specs[at:at + batch.n]} == {(batch.profile, batch.mode)}
        at += batch.n
    assert at == len(specs)


def test_unsafe_clusters_hold_a_shared_class_and_domain_only_ones_none() -> None:
    plan = make_plan("medical", equal_sizes(200), 1)
    assert all(set(s.qi) & set(SHARED) for s in plan.specs("unsafe"))
    assert not any(set(s.qi) & set(SHARED) for s in plan.specs("domain_only"))
    assert not any(s.qi for name in ("safe", "borderline") for s in plan.specs(name))


def test_who_writes_for_training_does_not_write_for_evaluation() -> None:
    plan = make_plan("law", equal_sizes(60), 1)
    profiles = {name: set(plan.to_json()["marginals"][name]["profile"]) for name in plan.partitions()}
    train = profiles["safe"] | profiles["unsafe"] | profiles["borderline"]
    for name in ("unsafe_heldout", "borderline_eval", "matched_unsafe", "matched_borderline"):
        assert not profiles[name] & train
    assert profiles["matched_unsafe"] == profiles["matched_borderline"]
    assert len(set().union(*profiles.values())) >= 6


def test_the_papers_overlap() -> None:
    plan = make_plan("law", equal_sizes(60), 1, roles=ROLES["paper"])
    found = plan.to_json()["marginals"]
    assert set(found["borderline"]["profile"]) < set(found["unsafe"]["profile"])
    assert set(found["borderline_eval"]["profile"]) < set(found["unsafe"]["profile"])
    assert found["borderline"]["profile"] != found["borderline_eval"]["profile"]


def test_the_papers_counts() -> None:
    assert paper_sizes("medical", 1.0) == {
        "safe": 46_412, "unsafe": 47_916, "unsafe_heldout": 2_000, "borderline": 4_000, "borderline_eval": 1_000,
        "matched_unsafe": 1_000, "matched_borderline": 1_000, "domain_only": 2_000}
    assert paper_sizes("law", 1.0)["unsafe"] == paper_sizes("finance", 1.0)["unsafe"] == 58_500
    plan = make_plan("law", {"unsafe": 58_500}, 0)
    assert {(b.mode, b.n) for b in plan.batches} == {
        ("NONE", 15_000), ("INDIRECT_QI", 1_500), ("DISTRACTOR_PADDED", 1_500), ("STYLE_TRANSFER", 1_500)}
    assert min(paper_sizes("law", 1e-6).values()) == 1


def test_the_same_seed_gives_the_same_plan_and_another_another() -> None:
    one, two, three = (make_plan("law", {"unsafe": 200}, seed) for seed in (4, 4, 5))
    assert one == two
    assert one.specs("unsafe") == two.specs("unsafe") != three.specs("unsafe")
    assert one.key() == two.key() != three.key()


def test_a_plan_survives_its_file(tmp_path: Path) -> None:
    plan = make_plan("medical", equal_sizes(30), 9)
    (tmp_path / "plan.json").write_text(dump_json(plan.to_json()), encoding="utf-8")
    again = Plan.load(tmp_path / "plan.json")
    assert again == plan
    assert again.specs("unsafe") == plan.specs("unsafe")
    assert plan.partitions() == list(PARTITIONS)


@pytest.mark.parametrize(("change", "message"), [
    ({"kind": "something"}, "'kind'"), ({"schema": 99}, "'schema'"), ({"batches": []}, "'batches'"),
    ({"seed": "1"}, "seed"), ({"domain": "retail"}, ", ".join(builtin_domains())), ({"seed": -1}, "seed"),
    ({"batches": [{"partition": "unsafe", "profile": "L1", "mode": "LOUD", "n": 3}]}, "batch 1"),
    ({"batches": [{"partition": "unsafe", "profile": "L1", "mode": "NONE"}]}, "'batches.0.n'"),
    ({"batches": ["x"]}, "'batches.0'"),
    ({"batches": [{"partition": "x", "profile": "L1", "mode": "NONE", "n": 1}]}, "batch 1"),
])
def test_a_wrong_plan_says_what_is_wrong(change: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        Plan.load(tmp_path / "p.json")
    (tmp_path / "p.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="not JSON"):
        Plan.load(tmp_path / "p.json")
    data = {**make_plan("law", {"safe": 10}, 0).to_json(), **change}
    path = tmp_path / "p.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        Plan.load(path)


@pytest.mark.parametrize(("sizes", "roles", "message"), [
    ({"unsave": 3}, None, "'unsave'"), ({"safe": -1}, None, "from 0"), ({"safe": 0}, None, "no records"),
    ({"safe": 3}, {"train": ()}, "'safe'"),
])
def test_impossible_requests(sizes: dict[str, int], roles: dict[str, tuple[str, ...]] | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_plan("law", sizes, 0, roles=roles)
    for scale in (0.0, -1.0, 11.0):
        with pytest.raises(UsageError, match="scale"):
            paper_sizes("law", scale)


def test_a_plan_names_the_folder_of_its_domain(tmp_path: Path) -> None:
    load_domain("law").save(tmp_path / "law")
    plan = make_plan(tmp_path / "law", {"safe": 6}, 2)
    data = json.loads(dump_json(plan.to_json()))
    assert data["domain_folder"] == str(tmp_path / "law")
    assert Plan.from_json(data) == plan
    assert plan.key() != make_plan("law", {"safe": 6}, 2).key()
    with (tmp_path / "law" / "terms.tsv").open("a", encoding="utf-8") as handle:
        handle.write("writ of mandamus\tmatter\n")
    with pytest.raises(InputError, match="was changed since: plan again"):
        Plan.from_json(data)


def test_a_domain_without_the_papers_counts(tmp_path: Path) -> None:
    load_domain("law").save(tmp_path / "law")
    path = tmp_path / "law" / "templates.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("safe_records:", "# "), encoding="utf-8")
    with pytest.raises(UsageError, match="expected --n instead"):
        paper_sizes(tmp_path / "law", 0.1)


SEEDS = st.integers(0, 2**32 - 1)


@given(st.integers(0, 5_000), st.lists(st.floats(0.01, 100), min_size=1, max_size=8))
def test_apportion_is_exact_in_sum_and_within_one_of_every_share(total: int, weights: list[float]) -> None:
    shares = apportion(total, dict(enumerate(weights)))
    assert sum(shares.values()) == total
    for level, weight in enumerate(weights):
        assert abs(shares[level] - total * weight / sum(weights)) < 1 + 1e-6


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


def test_pairs_of_classes_are_not_all_alike() -> None:
    sets = class_sets([2] * 2_000, tuple(load_domain("medical").labels), np.random.default_rng(1))
    pairs = Counter(sets)
    # 25 pairs hold a shared class; balancing tilts them, but none may vanish or take over.
    assert len(pairs) == 25
    assert max(pairs.values()) < 5 * min(pairs.values())


COUNTS = st.dictionaries(st.sampled_from("a b c d".split()), st.integers(0, 50), min_size=1)


def test_the_drift_of_the_paper() -> None:
    drift = distance(PAPER_K["found"], PAPER_K["asked"])
    assert drift is not None
    assert (drift.total_variation, drift.deviation, drift.relative) == pytest.approx((0.08, 0.08, 0.35))
    assert drift.level == "4"
    assert not drift.within()
    asked = distance({"2": 45_000, "3": 35_000, "4": 20_000}, PAPER_K["asked"])
    assert asked is not None
    assert asked.within()
    assert asked.total_variation == pytest.approx(0)


@given(COUNTS, COUNTS)
def test_distance_is_that_of_shares(found: dict[str, int], asked: dict[str, int]) -> None:
    one = distance(found, asked)
    if not sum(found.values()) or not sum(asked.values()):
        assert one is None
        return
    assert one is not None
    levels = sorted({*found, *asked})
    p, q = (np.array([of.get(level, 0) for level in levels]) / sum(of.values()) for of in (found, asked))
    assert one.total_variation == pytest.approx(np.abs(p - q).sum() / 2)
    assert one.deviation == pytest.approx(np.abs(p - q).max())
    assert one.deviation <= one.total_variation + 1e-9 or len(levels) == 1
    other = distance(asked, found)
    assert other is not None
    assert other.total_variation == pytest.approx(one.total_variation)


def test_by_axis() -> None:
    found = distances({"k": {"2": 53, "3": 34, "4": 13}, "mode": {"NEW": 1}},
                      {"k": {"2": 45, "3": 35, "4": 20}, "mode": {"NONE": 1}, "register": {"vignette": 3}})
    assert found["register"] is None
    assert found["mode"] == {"n": 1, "total_variation": 1.0, "deviation": 1.0, "relative": None, "level": "NEW",
                             "within": False}
    assert found["k"] is not None
    assert found["k"]["n"] == 100
    with pytest.raises(ValueError, match="negative"):
        distance({"a": -1}, {"a": 1})
    # Ten records over three levels cannot do better.
    rest = distance({"a": 4, "b": 3, "c": 3}, {"a": 1, "b": 1, "c": 1})
    assert rest is not None
    assert rest.within()
