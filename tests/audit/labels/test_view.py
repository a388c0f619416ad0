from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.labels.attacks.lia_delta_margin import lia_delta_margin
from discreet.audit.labels.attacks.lia_threshold import LiaThreshold
from discreet.audit.labels.view import Guesses, OracleView, PrivilegedView, View, all_attacks, label_attacks
from discreet.core.registry import Registry


def test_a_view_has_no_secret() -> None:
    """By type: were there such an attribute, these `ignore`s would be unused, which strict mypy refuses."""
    view = View(np.log([[0.5, 0.5]]))
    with pytest.raises(AttributeError):
        view.secret  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError):
        view.trained  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError):
        view.original  # type: ignore[attr-defined]  # noqa: B018
    privileged = PrivilegedView(view, np.array([0]))
    with pytest.raises(AttributeError):
        privileged.secret  # type: ignore[attr-defined]  # noqa: B018
    assert not issubclass(PrivilegedView, View)
    assert not issubclass(OracleView, View)


def test_an_honest_attack_takes_no_other_view() -> None:
    """By type, as above."""
    view = View(np.log([[0.5, 0.5]]))
    oracle = OracleView(view, np.array([0]), np.array([0]))
    with pytest.raises(AttributeError):
        LiaThreshold().guess(oracle)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        lia_delta_margin(loss_labels="original").guess(oracle)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        lia_delta_margin(loss_labels="secret").guess(view)  # type: ignore[arg-type]


def test_guesses_say_what_is_right() -> None:
    guesses = Guesses(np.array([0, 1, -1, 2]), np.array([1.0, 2.0, 0.0, 3.0]))
    assert guesses.made.tolist() == [True, True, False, True]
    assert guesses.correct(np.array([0, 2, -1, 2])).tolist() == [True, False, False, True]


@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(0, 4)), min_size=1, max_size=20), st.floats(0.0, 1.0))
def test_the_surest_are_kept(rows: list[tuple[int, int]], share: float) -> None:
    label = np.array([one for one, _ in rows])
    confidence = np.array([0.0 if one < 0 else float(sure) for one, sure in rows])
    kept = Guesses(label, confidence).only(share)
    count = min(int(np.ceil(share * len(rows) - 1e-9)), int((label >= 0).sum()))
    assert kept.made.sum() == count
    assert (kept.label[kept.made] == label[kept.made]).all()
    dropped = confidence[(label >= 0) & ~kept.made]
    assert not dropped.size or not count or dropped.max() <= kept.confidence[kept.made].min()
    assert (kept.confidence[~kept.made] == 0.0).all()


def test_a_share_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="share is"):
        Guesses(np.array([0]), np.array([1.0])).only(1.5)


@pytest.mark.parametrize("n_classes", [2, 3, 100])
def test_every_built_in_is_found_once(n_classes: int) -> None:
    assert isinstance(label_attacks, Registry)
    assert set(label_attacks) >= {"lia_threshold", "lia_delta_margin", "likeliest", "reference", "lira_label"}
    found = all_attacks(n_classes)
    settings = [attack.settings for attack in found]
    assert len(set(settings)) == len(settings) > 15
    assert {attack.settings.attack for attack in found} <= set(label_attacks)
    assert all(attack.classes in (None, n_classes) for attack in found)
    assert all(pickle.loads(pickle.dumps(attack)) == attack for attack in found)


def test_settings_have_the_keys_of_the_report() -> None:
    said = lia_delta_margin(loss_labels="secret", beta=3.0).settings.to_json()
    assert said == {"attack": "lia_delta_margin", "threshold": None, "margin": "p1-second", "alpha": 1.0, "beta": 3.0,
                    "loss_labels": "secret", "fit": None}
