from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.audit.labels.tables import changed

from discreet.audit.labels.simulate import LabelWorld, simulated_labels
from discreet.core.errors import InputError
from discreet.scores.check import check_label_table
from discreet.scores.table import CANARY, PLACEBO, Model, ScoreTable

RNG = np.random.default_rng


def made(seed: int = 0, n_classes: int = 2) -> ScoreTable:
    return simulated_labels(LabelWorld(canaries=80, placebos=80, n_classes=n_classes, references=2), RNG(seed))


def test_draws_of_one_s_own_pass() -> None:
    """At a level of 1e-6 none of 200 tables with two references is refused."""
    for seed in range(100):
        for n_classes in (2, 10):
            check_label_table(made(seed, n_classes), "t")


@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("kept", [1.0, 0.9])
def test_a_reference_with_the_target_s_draws_is_refused(n_classes: int, kept: float) -> None:
    table = made(1, n_classes)
    secret = table.canaries.label.copy()
    secret[2] = np.where(RNG(2).random(160) < kept, secret[0], secret[2])
    with pytest.raises(InputError, match=r"^t: reference 'reference-2' has the canary label of target 'target' for "
                                         r"1\d\d of 160 canaries and placebos, where draws of its own "
                                         r"agree on about (80|16);"):
        check_label_table(changed(table, label=secret), "t")


def test_among_many_pairs_some_agree_by_chance() -> None:
    # The least agreement that one pair alone may not have.
    alike = next(k for k in range(80, 160) if stats.binom.sf(k - 1, 160, 0.5) < 1e-6)

    def table(references: int) -> ScoreTable:
        found = simulated_labels(LabelWorld(canaries=80, placebos=80, references=references), RNG(1))
        secret = found.canaries.label.copy()
        secret[1] = np.where(np.arange(160) < alike, secret[0], 1 - secret[0])
        return changed(found, label=secret)

    with pytest.raises(InputError, match=f"for {alike} of 160"):
        check_label_table(table(1), "t")
    check_label_table(table(40), "t")


def test_so_is_one_with_the_opposite_draws() -> None:
    table = made(1)
    secret = table.canaries.label.copy()
    secret[1] = 1 - secret[0]
    with pytest.raises(InputError, match="for 0 of 160 canaries"):
        check_label_table(changed(table, label=secret), "t")


def two_targets(seeds: tuple[str | None, str | None]) -> ScoreTable:
    table = made()
    models = (Model("t", seed=seeds[0]), Model("u", seed=seeds[1]), Model("r", "reference"))
    role = table.canaries.role.copy()
    role[1] = np.where(np.arange(160) < 70, CANARY, PLACEBO)
    return changed(table, models=models, role=role)


@pytest.mark.parametrize("seeds", [("0", "0"), (None, None)])
def test_targets_of_one_seed_share_their_canaries(seeds: tuple[str | None, str | None]) -> None:
    with pytest.raises(InputError, match="canaries overlap placebos: 10 examples of targets 't' and 'u'"):
        check_label_table(two_targets(seeds), "t")


def test_targets_of_other_seeds_draw_for_themselves() -> None:
    check_label_table(two_targets(("0", "1")), "t")


def test_infinite_logits() -> None:
    table = made()
    logits = table.logits[:, :, 0].copy()
    logits[0, 3, 1] = np.inf
    with pytest.raises(InputError, match="logits hold NaN or infinity"):
        check_label_table(changed(table, logits=logits), "t")


@pytest.mark.parametrize(("roles", "words"), [
    ((CANARY, PLACEBO), "all 80 canaries"), ((CANARY,), "all 80 canaries"), ((PLACEBO,), "all 80 placebos")])
def test_secrets_that_are_the_original_labels_were_not_drawn(roles: tuple[int, ...], words: str) -> None:
    table = made(1)
    secret = table.canaries.label.copy()
    secret[0] = np.where(np.isin(table.canaries.role[0], roles), table.examples.label, secret[0])
    with pytest.raises(InputError, match=rf"^t: no canary label was drawn: the canary label of target 'target' is "
                                         rf"the original one for {words}, where uniform draws agree on about 40;"):
        check_label_table(changed(table, label=secret), "t")


@pytest.mark.parametrize("flipped", [0.2, 1.0])
def test_nor_were_secrets_that_depend_on_the_original_labels(flipped: float) -> None:
    table = made(1)
    secret = table.canaries.label.copy()
    secret[0] = np.where(RNG(2).random(160) < flipped, 1 - table.examples.label, table.examples.label)
    with pytest.raises(InputError, match="not drawn uniformly: the canary label of target 'target' is "):
        check_label_table(changed(table, label=secret), "t")


def test_a_few_groups_that_share_a_draw_may_keep_their_labels() -> None:
    """Ten draws that all agree by chance have a probability of .1%, whatever the number of rows."""
    table = made(1)
    kept = changed(table, group=np.arange(160) // 16, label=np.stack([table.examples.label, *table.canaries.label[1:]]))
    check_label_table(kept, "t")
    with pytest.raises(InputError, match="for all 40 groups of canaries,"):
        check_label_table(changed(kept, group=np.arange(160) // 2), "t")
