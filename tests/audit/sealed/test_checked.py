from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from discreet.audit.sealed import Datum, Sealed, seal_data, under_seal
from discreet.core.errors import InputError
from discreet.core.files import KeyedHash
from discreet.scores.table import Examples, Model, ScoreTable

Data = Callable[..., list[Datum]]
pytestmark = pytest.mark.usefixtures("system_coins")


def table_of(sealed: Sealed, records: Sequence[Datum], planted: int = 0) -> ScoreTable:
    """A target that was trained on train.jsonl and a placebo; the first `planted` records are planted ones."""
    inside = {d.id for d in sealed.train}
    trained = np.array([d.id in inside for d in records], dtype=np.int8)
    examples = Examples(np.array([d.id for d in records], dtype=object), np.zeros(len(records), dtype=np.int64),
                        (np.arange(len(records)) < planted).astype(np.int64),
                        split=np.array([None] * len(records), dtype=object))
    logits = np.random.default_rng(0).normal(size=(2, len(records), 1, 2))
    return ScoreTable((Model("f", "target"), Model("p", "placebo")), examples, logits,
                      np.stack([trained, np.zeros(len(records), dtype=np.int8)]))


def check(sealed: Sealed, table: ScoreTable) -> tuple[ScoreTable, int]:
    return under_seal(table, sealed.opening, KeyedHash(sealed.key), "F")


@pytest.mark.parametrize("users", [0, 60])
def test_only_what_coins_decided_is_judged(data: Data, users: int) -> None:
    records = data(users=users)
    sealed = seal_data(records, 20)
    kept, left_out = check(sealed, table_of(sealed, records))
    probed = {d.id for d in sealed.probe}
    assert set(kept.examples.id) == probed
    assert left_out == 240 - len(probed)
    assert int((kept.member[0] == 1).sum()) == len(probed) // 2
    assert kept.logits.shape[1] == len(probed)
    alone = table_of(sealed, sealed.probe)
    assert check(sealed, alone) == (alone, 0)


def test_planted_records_and_the_population_stay(data: Data) -> None:
    records = data()
    sealed = seal_data(records, 20)
    probed = {d.id for d in sealed.probe}
    table = table_of(sealed, records, planted=10)
    assert table.examples.split is not None
    table.examples.split[-10:] = "population"
    kept, left_out = check(sealed, table)
    ends = {d.id for d in (*records[:10], *records[-10:])}
    assert set(kept.examples.id) == probed | ends
    assert left_out == 240 - len(probed | ends)


def test_a_member_that_the_coins_left_out_is_refused(data: Data) -> None:
    sealed = seal_data(data(), 20)
    table = table_of(sealed, sealed.probe)
    member = table.member.copy()
    member[0, :2] = 1 - member[0, :2]
    with pytest.raises(InputError, match=r"^F: 'member' of target 'f' is not what the coins say for 2 of 40 sealed"):
        check(sealed, replace(table, member=member))
    # Other models may have been trained on anything.
    member = table.member.copy()
    member[1] = 1
    assert check(sealed, replace(table, member=member))[1] == 0


def test_the_table_of_another_seal_is_refused(data: Data) -> None:
    one, other = (seal_data(data(), 100) for _ in range(2))
    with pytest.raises(InputError, match=r"in the pairs of the seal have no scores|is not what the coins say"):
        check(other, table_of(one, one.probe))


def test_nobody_is_left_out_by_choice(data: Data) -> None:
    sealed = seal_data(data(), 20)
    with pytest.raises(InputError, match=r"^F: 1 record of the 40 in the pairs of the seal has no scores; score every"):
        check(sealed, table_of(sealed, sealed.probe[1:]))
    with pytest.raises(InputError, match=r"^F: 40 records of the 40 .* have no scores"):
        under_seal(table_of(sealed, sealed.probe), sealed.opening, KeyedHash(bytes(32)), "F")


def test_coins_from_a_seed_decide_nothing(data: Data) -> None:
    sealed = seal_data(data(), 20, seed=1)
    with pytest.raises(InputError, match="came from a seed and were no secret"):
        check(sealed, table_of(sealed, sealed.probe))
