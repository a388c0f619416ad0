from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from numpy.random import Generator as Rng

from discreet.domains import Domain, load_domain
from discreet.synth.plan import make_plan, marginals
from discreet.synth.records import Draft, Record, Spec
from discreet.synth.shards import DRAFTS, ROUNDS, Shard, ShardWriter

LAW = load_domain("law")


class Counting:
    """Writes a different text each time; remembers what it was asked."""

    profiles: tuple[str, ...] = ("L1",)
    version = "test"

    def __init__(self) -> None:
        self.asked: list[Spec] = []

    def generate(self, spec: Spec, domain: Domain, rng: Rng) -> Draft:
        self.asked.append(spec)
        return Draft("", f"text {rng.integers(2**62)}")


def specs(n: int, mode: str = "NONE", seed: int = 0) -> list[Spec]:
    plan = make_plan("law", {"unsafe": 20 * n}, seed)
    return [s for s in plan.specs("unsafe") if s.mode == mode and s.profile == "L1"][:n]


def written(asked: list[Spec], check: object, seed: int = 0) -> Shard:
    return ShardWriter(asked, LAW, (seed, 1), Counting(), check, prefix="t", made_by="t").run()  # type: ignore[arg-type]


def luck(record: Record, share: float) -> Sequence[str]:
    """Rejects `share` of drafts by their text alone."""
    return ("luck",) if int(record.draft.answer.split()[1]) % 1_000 < 1_000 * share else ()


def test_nothing_rejected_nothing_traded() -> None:
    asked = specs(50)
    shard = written(asked, lambda _: ())
    assert (shard.drafts, shard.kept, shard.short, shard.traded) == (50, 50, 0, 0)
    assert [r.spec for r in shard.records] == asked
    assert [r.id for r in shard.records] == [f"t-{i:03d}" for i in range(50)]


@pytest.mark.parametrize("seed", range(3))
def test_marginals_hold_though_nine_of_ten_drafts_are_rejected(seed: int) -> None:
    asked = specs(120, seed=seed)
    shard = written(asked, lambda record: luck(record, 0.9), seed)
    assert shard.short == 0
    assert marginals([r.spec for r in shard.records]) == marginals(asked)
    assert Counter(r.spec.qi for r in shard.records) == Counter(s.qi for s in asked)
    assert shard.drafts == shard.kept + shard.rejected["luck"]
    assert 0.07 < shard.kept / shard.drafts < 0.13
    assert shard.traded > 0


@pytest.mark.parametrize("seed", range(3))
def test_marginals_hold_though_one_combination_is_rejected_always(seed: int) -> None:
    """Retrying alone could never write these: only trading an axis away does."""
    def check(record: Record) -> Sequence[str]:
        return ("never",) if (record.spec.framing, record.spec.placement) == ("REFERRAL", "MID_ANSWER") else ()

    asked = specs(150, seed=seed)
    assert any(check(Record("", s, Draft("", ""), "")) for s in asked)
    shard = written(asked, check, seed)
    assert shard.short == 0
    assert marginals([r.spec for r in shard.records]) == marginals(asked)
    assert not any(check(r) for r in shard.records)


def test_marginals_hold_where_rejection_grows_with_k() -> None:
    """The paper's skew: k of (2, 3, 4) came out as (.53, .34, .13)."""
    asked = specs(120, "INDIRECT_QI", seed=5)
    shard = written(asked, lambda record: luck(record, {2: 0.3, 3: 0.7, 4: 0.93}[len(record.spec.qi)]))
    assert shard.short == 0
    assert Counter(len(r.spec.qi) for r in shard.records) == Counter(len(s.qi) for s in asked)


def test_what_can_never_be_written_ends_and_is_counted() -> None:
    asked = specs(40)
    shard = written(asked, lambda record: ("k",) if len(record.spec.qi) == 4 else ())
    fours = sum(len(s.qi) == 4 for s in asked)
    assert fours > 0
    assert shard.short == fours
    assert shard.drafts <= (DRAFTS + 4) * len(asked) + 4
    nothing = written(asked[:5], lambda _: ("no",))
    assert nothing.records == ()
    assert nothing.short == 5
    assert nothing.drafts <= (DRAFTS + 4) * 5 + 4


def test_no_text_twice() -> None:
    class Repeating(Counting):
        def generate(self, spec: Spec, domain: Domain, rng: Rng) -> Draft:
            return Draft("", f"Text  {rng.integers(30)}")

    shard = ShardWriter(specs(20), LAW, (0,), Repeating(), lambda _: (), prefix="t", made_by="t").run()
    assert len({r.draft.answer for r in shard.records}) == 20
    assert shard.rejected["duplicate"] > 0


def test_the_result_depends_on_the_arguments_alone() -> None:
    asked = specs(60)
    one, two, three = (written(asked, lambda record: luck(record, 0.6), seed) for seed in (1, 1, 2))
    assert one == two
    assert one.records != three.records


def test_the_budget_of_a_mode_is_kept() -> None:
    writer = Counting()
    asked = specs(1, "INDIRECT_QI")
    ShardWriter(asked, LAW, (0,), writer, lambda _: ("no",), prefix="t", made_by="t").run()
    # Whole budgets until the shard's drafts are used up, and one more for what is still open.
    assert len(writer.asked) == (min(ROUNDS, -(-DRAFTS // 12)) + 1) * 12
