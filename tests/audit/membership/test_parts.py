from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import mannwhitneyu
from tests.audit.membership.scenes import drawn, scene, sure

from discreet.audit.core.resampling import Units
from discreet.audit.core.simulate import World
from discreet.audit.membership.audit import MembershipAudit, audit_membership
from discreet.audit.membership.evaluation_sets import Selector
from discreet.audit.membership.options import FEWEST, check_parts, part_sizes, small_parts
from discreet.audit.membership.parts import PartFinding, covered_parts, part_findings
from discreet.audit.membership.rows import judged_row
from discreet.audit.scores.table import ScoreTable
from discreet.core.errors import InputError, UsageError
from discreet.core.types import FloatArray
from discreet.stats import auroc, rank_sum_p

RARE = World(members=1500, others=0, clean=1500, selector=0, paired=0, neutral=0, rare=0.03)


def audited(table: ScoreTable, **options: object) -> MembershipAudit:
    return audit_membership(table, **{"design": "randomised", "permutations": 0, "bootstraps": 5,  # type: ignore
                                      "attacks": ["loss"], **options})


def found_in(world: World, excluded: tuple[str, ...] = (), seed: int = 0) -> list[PartFinding]:
    table, sets, scores = scene(world, seed)
    selector = Selector.of(table, sets, np.random.default_rng(0))
    parts = covered_parts(judged_row(table, sets, scores, "clean"), table, selector, excluded)
    return list(part_findings(parts, Units.of(table), 0.55, 0.65))


def two_samples(auc: float, n: int, others: int) -> tuple[FloatArray, FloatArray]:
    """Scores of n members and the others whose AUC is `auc`, as evenly as can be."""
    return np.linspace(100.0 * auc, 100.0 * auc + 0.1, n), np.linspace(0.0, 100.0, others)


def judged_alone(auc: float, n: int, others: int) -> PartFinding:
    """The finding of class 1 with this AUC, next to many records of class 0 without any leak."""
    table = drawn(World(members=2000, others=0, clean=3000, selector=0, paired=0, neutral=0))
    label = np.zeros(len(table.examples), dtype=np.int64)
    inside, outside = np.flatnonzero(table.member[0] == 1)[:n], np.flatnonzero(table.member[0] == 0)[:others]
    label[np.concatenate([inside, outside])] = 1
    odds, rng = np.zeros((2, label.size)), np.random.default_rng(3)
    odds[:] = rng.normal(size=odds.shape)
    odds[0, inside], odds[0, outside] = two_samples(auc, n, others)
    # The control model has no AUC but ½ in class 1.
    odds[1, inside], odds[1, outside] = two_samples(0.5, n, others)
    phi = odds * np.where(label == 1, 1.0, -1.0)
    examples = replace(table.examples, label=label, categories=None)
    logits = np.stack([-phi / 2.0, phi / 2.0], axis=-1)[:, :, None, :]
    [part] = [one for one in audited(replace(table, examples=examples, logits=logits)).decisive.parts
              if one.name == "class 1"]
    return part


@pytest.mark.parametrize(("auc", "state"), [(0.50, "within"), (0.62, "unclear"), (0.70, "exceeds")])
def test_fifty_members_and_fifty_others_of_five_thousand_records(auc: float, state: str) -> None:
    part = judged_alone(auc, 50, 50)
    assert (part.n_members, part.n_nonmembers) == (50, 50)
    assert part.auc.value == pytest.approx(auc, abs=0.01)
    assert part.state == state
    assert sure(part.auc.high) == pytest.approx({0.5: 0.595, 0.62: 0.708, 0.7: 0.777}[auc], abs=0.03)
    assert (part.lacks_members > 0) == (state == "unclear")


def test_two_records_decide_nothing_whatever_their_scores() -> None:
    part = judged_alone(0.99, 2, 60)
    assert (part.state, part.p.resolved) == ("unclear", False)
    # Enough for a bound below .65 four times in five without a leak: 2.486² / (6 × (logit(.65) / 4)²) = 44 after 43.
    assert (part.lacks_members, part.lacks_nonmembers) == (42, 0)
    assert judged_alone(0.99, FEWEST, 60).state == "exceeds"


def test_a_leak_in_a_rare_class_does_not_show_over_all_records_and_fails() -> None:
    audit = audited(drawn(replace(RARE, leak=5.0, leak_in="class 1")))
    whole, common, rare, *_ = audit.decisive.parts
    assert (whole.name, common.name, rare.name) == ("all records", "class 0", "class 1")
    assert sure(whole.auc.value) < 0.55
    assert (whole.state, rare.state, audit.verdict) != ("exceeds", "exceeds", "pass")
    assert rare.state == "exceeds"
    assert audit.verdict == "fail"
    assert audit.decisive.judgement.reason_codes[:2] == ("leak_in_part", "finding")
    assert "class 1 (AUC" in audit.decisive.judgement.reasons[0]


def test_parts_are_named_by_what_the_table_has_and_whole_ones_are_not_repeated() -> None:
    names = [one.name for one in found_in(World())]
    assert names == ["all records", "class 0", "class 1", "category abuse", "category fraud", "category weapons",
                     "least likely records"]
    table = drawn(World(selector=0))
    same = replace(table, examples=replace(
        table.examples, label=np.zeros(len(table.examples), dtype=np.int64), categories=None,
        columns={"structure": np.array(["post", "reply"] * (len(table.examples) // 2), dtype=object)}))
    assert [one.name for one in audited(same).decisive.parts] == ["all records", "structure post", "structure reply"]


def test_an_excluded_part_has_no_figure_and_is_named() -> None:
    table = drawn(replace(RARE, leak=5.0, leak_in="class 1"))
    audit = audited(table, exclude_parts=["class 1"])
    [part] = [one for one in audit.decisive.parts if one.state == "excluded"]
    assert (part.name, part.auc.resolved, part.p.resolved) == ("class 1", False, False)
    assert audit.verdict != "fail"
    assert "does not cover: class 1." in " ".join(audit.decisive.judgement.reasons)
    assert [one.state for one in audited(table, exclude_parts=["class"]).decisive.parts][1:3] == ["excluded"] * 2
    for wrong in ("class 7", "all records", "structure", "least likely records"):
        with pytest.raises(UsageError, match="is no part that can be excluded: expected some of class 0, class 1"):
            check_parts(table, [wrong])


def test_the_sizes_of_parts_are_those_that_are_judged() -> None:
    table = drawn(World(selector=0))
    judged = {one.name: (one.n_members, one.n_nonmembers) for one in audited(table).decisive.parts[1:]}
    sizes = part_sizes(table)
    assert {name: one for of_kind in sizes.values() for name, one in of_kind.items()} == judged
    assert list(part_sizes(table, ["category", "class 0"])) == ["class"]
    # Of users each counts once.
    users = drawn(World(members=400, others=0, clean=400, selector=0, group_size=4))
    assert part_sizes(users)["class"]["class 0"][0] < (users.examples.label[users.member[0] == 1] == 0).sum()


def test_a_column_that_is_nearly_an_id_is_refused_before_scores_are_read_unless_excluded() -> None:
    table = drawn(RARE)
    n = len(table.examples)

    def by(values: int, rest: str = "common") -> ScoreTable:
        """So many values of six records each; the others have one value."""
        names = [f"case-{row // 6}" if row // 6 < values else rest for row in np.random.default_rng(0).permutation(n)]
        return replace(table, examples=replace(table.examples, categories=tuple(frozenset({one}) for one in names)),
                       logits=np.full_like(table.logits, np.nan))

    with pytest.raises(InputError, match=r"'category' names [0-9]+ parts .* too few to decide .* exclude 'category'"):
        check_parts(by(120))
    assert list(check_parts(by(120), ["category"])) == ["class"]
    check_parts(by(40))
    [said] = small_parts(check_parts(by(40)))
    assert said.startswith("40 of the 41 parts by 'category' have fewer than 10 members or non-members (the smallest, ")
    assert small_parts(check_parts(table)) == []
    # Many parts that are large enough are no id.
    check_parts(replace(table, examples=replace(table.examples, categories=tuple(
        frozenset({f"topic {row % 60}"}) for row in np.random.default_rng(1).permutation(n)))))


def test_a_control_model_that_the_attack_finds_too_leaves_a_part_undecided() -> None:
    audit = audited(drawn(World(members=600, others=0, clean=600, selector=0, paired=0, neutral=0, shift=1.5)))
    assert {one.state for one in audit.decisive.parts} == {"control"}
    assert audit.decisive.judgement.reason_codes[0] == "control_off"
    assert audit.verdict == "inconclusive"


@pytest.mark.parametrize("ties", [False, True])
def test_the_rank_sum_p_is_mann_whitneys(ties: bool) -> None:
    rng = np.random.default_rng(0)
    for n, others in ((12, 30), (40, 400)):
        truth = np.arange(n + others) < n
        scores = rng.normal(size=truth.size) + 0.5 * truth
        scores = np.round(scores) if ties else scores
        expected = mannwhitneyu(scores[truth], scores[~truth], alternative="greater", method="asymptotic",
                                use_continuity=False).pvalue
        assert rank_sum_p(scores, truth) == pytest.approx(expected, rel=1e-9)
    assert rank_sum_p([1.0, 1.0, 1.0], [1, 0, 1]) == 1.0


def test_the_rank_sum_p_of_groups_is_uniform_where_membership_goes_by_group() -> None:
    rng, small = np.random.default_rng(1), 0
    for _ in range(800):
        group = np.repeat(np.arange(60), rng.integers(1, 8, 60))
        member = rng.permutation(np.arange(60) < 30)
        scores = rng.normal(size=60)[group] + 0.3 * rng.normal(size=group.size)
        small += rank_sum_p(scores, member[group], group) < 0.05
    # Binomial(800, .05) exceeds 58 in one of a thousand runs.
    assert 22 <= small <= 58
    with pytest.raises(ValueError, match="a group has positives and negatives"):
        rank_sum_p([1.0, 2.0], [1, 0], [0, 0])


def test_figures_of_a_part_are_those_of_its_records() -> None:
    world = World(leak=1.0)
    table, sets, scores = scene(world)
    base = judged_row(table, sets, scores, "clean")
    for one in found_in(world):
        if one.kind == "class":
            rows = base.rows[table.examples.label[base.rows] == int(one.value)]
            assert one.auc.value == pytest.approx(auroc(sure(scores.target)[rows], base.member[rows] == 1))
            assert one.control_auc.value == pytest.approx(auroc(sure(scores.control)[rows], base.member[rows] == 1))
