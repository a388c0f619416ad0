"""Wrong calls of the public functions: one line of our own that says what is wrong, never a bare error of Python."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import discreet
from discreet.audit.core.simulate import LabelWorld, World, simulated_labels, simulated_table
from discreet.audit.core.verdict import Audit
from discreet.audit.sealed.certificate import Certificate
from discreet.audit.sealed.sealing import Sealed
from discreet.core.errors import DiscreetError
from discreet.report import summarise

TABLE = simulated_table(World(members=60, others=60, clean=60, selector=0), np.random.default_rng(0))
LABELS = simulated_labels(LabelWorld(canaries=60, held_out=60), np.random.default_rng(0))
X = np.random.default_rng(0).normal(size=(300, 4))
Y = (X[:, 0] > 0).astype(int)
MODEL = LogisticRegression().fit(X[:100], Y[:100])
IN, OUT = (X[:100], Y[:100]), (X[100:], Y[100:])
DATA = pd.DataFrame({"id": [str(n) for n in range(40)], "text": [f"this is text number {n}" for n in range(40)],
                     "label": [n % 2 for n in range(40)]})
QUICK: dict[str, Any] = {"bootstraps": 1, "permutations": 0}


def membership(*args: Any, **options: Any) -> Any:
    return discreet.audit_membership(*(args or (TABLE,)), **QUICK | options)


def labels(*args: Any, **options: Any) -> Any:
    return discreet.audit_labels(*(args or (LABELS,)), **options)


def model(*args: Any, **options: Any) -> Any:
    return discreet.audit_model(*(args or (MODEL, IN, OUT)), **QUICK | options)


def seal(*args: Any, **options: Any) -> Any:
    return discreet.seal(*(args or (DATA, 5)), **options)


@pytest.fixture(scope="module")
def audit() -> discreet.MembershipAudit:
    return discreet.audit_membership(TABLE, **QUICK)


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sealed") / "seal"
    seal(seed=1).save(folder)
    return folder


@pytest.fixture(scope="module")
def scores(sealed: Path) -> pd.DataFrame:
    rows = [json.loads(line) for line in (sealed / "probe.jsonl").read_text().splitlines()]
    return pd.DataFrame({"id": [row["id"] for row in rows], "score": np.arange(len(rows)) * 1.0})


def said(call: Callable[..., Any], *args: Any, **options: Any) -> str:
    with pytest.raises(DiscreetError) as found:
        call(*args, **options)
    return str(found.value)


CALLS: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], str]] = [
    (membership, (), {"tolerance": 0.6},
     "audit_membership() has no argument 'tolerance'; did you mean 'tolerance_auc'?"),
    (discreet.audit_membership, (), {},
     "audit_membership() was called without scores; expected audit_membership(scores, …)"),
    (membership, (TABLE, "randomised"), {},
     "audit_membership() was called with 2 arguments without a name; expected audit_membership(scores, …): name"),
    (membership, (TABLE,), {"scores": TABLE}, "audit_membership() was given an argument twice"),
    (membership, (3,), {}, "scores are of the type int; expected a path, a DataFrame or a ScoreTable"),
    (membership, (LABELS,), {}, "the table is that of a label audit, with canaries; expected one with 'member'"),
    (membership, (), {"design": 3}, "design is 3; expected some of"),
    (membership, (), {"tolerance_auc": "x"}, "tolerance AUC is 'x': expected a number from 0.5 to 1"),
    (membership, (), {"exclude_parts": "class 0"}, "exclude_parts is 'class 0': expected a list of names"),
    (membership, (), {"exclude_parts": None}, "exclude_parts is None: expected a list of names"),
    (membership, (), {"base_rates": None}, "base_rates is None: expected a list of shares of 1"),
    (membership, (), {"attacks": [3]}, "attacks holds 3: expected a list of names"),
    (membership, (), {"texts": 3}, "texts is 3: expected a mapping of example ids to texts"),
    (membership, (), {"texts": dict.fromkeys(TABLE.examples.id, 3)},
     "texts is a mapping with other things than words: expected a mapping of example ids to texts"),
    (membership, (), {"features": np.zeros((3, 2))}, "features have the shape (3, 2): expected an array"),
    (membership, (), {"features": "x"}, "features are 'x': expected an array or a sparse matrix"),
    (membership, (), {"provenance": 3}, "provenance is 3; expected a mapping of names to facts"),
    (membership, (), {"provenance": {"x": object()}}, "provenance holds a value that JSON cannot; expected words"),
    (labels, (), {"tolerance": 0.6}, "audit_labels() has no argument 'tolerance'; expected some of assignment"),
    (discreet.audit_labels, (), {}, "audit_labels() was called without scores; expected audit_labels(scores, …)"),
    (labels, (TABLE,), {}, "the table has no canaries; expected the columns example_role"),
    (labels, (), {"assignment": 3}, "assignment is 3: expected one of uniform, balanced, unknown"),
    (labels, (), {"attacks": "lia"}, "attacks is 'lia'; expected one or more LabelAttack"),
    (labels, (), {"attacks": []}, "attacks is a list; expected one or more LabelAttack"),
    (labels, (), {"tune": "no"}, "tune is 'no'; expected True or False"),
    (labels, (), {"facts": 3}, "facts is 3; expected a mapping of names to facts"),
    (discreet.audit_model, (MODEL, IN), {},
     "audit_model() was called without non_members; expected audit_model(model, members, non_members, …)"),
    (discreet.audit_model, (MODEL,), {"members": IN, "nonmembers": OUT},
     "audit_model() was called without non_members (nonmembers was given)"),
    (model, (), {"tolerance": 0.6}, "there is no option 'tolerance'; did you mean 'tolerance_auc'?"),
    (model, (MODEL, IN, None), {}, "non_members: a NoneType was given; expected (inputs, labels)"),
    (model, (MODEL, (X[:100], np.eye(2)[Y[:100]]), OUT), {}, "members: 100 of 100 labels hold several values"),
    (model, (), {"classes": 3}, "classes is 3: expected a list of names"),
    (model, (), {"checkpoints": lambda _: 3}, "checkpoints: TypeError when asked for the earlier states of target"),
    (model, (), {"allow_split_groups": "no"}, "allow_split_groups is 'no'; expected True or False"),
    (discreet.seal, (DATA,), {}, "seal() was called without pairs; expected seal(data, pairs, …)"),
    (seal, (3, 5), {}, "the given data are of the type int; expected a path, a data frame, or a mapping"),
    (seal, ([3], 5), {}, "the given data, row 1: the row is of the type int; expected a path, a data frame"),
    (seal, (DATA, "5"), {}, "pairs is '5': expected a whole number of at least 1"),
    (seal, (), {"seed": 1.5}, "seed is 1.5: expected a whole number of at least 0"),
    (seal, (), {"alpha": None}, "alpha is None: expected a number between 0 and 1"),
    (seal, (), {"group": 3}, "group is 3: expected the name of the column of users"),
    (seal, (), {"canaries": 3}, "the given data are of the type int; expected a path"),
    (discreet.load_scores, (), {}, "load_scores() was called without source; expected load_scores(source, …)"),
    (discreet.load_scores, ("scores.csv",), {"kind": "x"},
     "kind is 'x'; expected one of membership, labels, or None"),
    (Certificate.load, (3,), {}, "path is 3; expected a path: a str or a Path"),
    (summarise, (3,), {}, "the record is 3; expected a mapping, as an audit's record")]


@pytest.mark.parametrize(("call", "args", "options", "message"), CALLS, ids=[one[3][:60] for one in CALLS])
def test_a_wrong_call(call: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], message: str) -> None:
    found = said(call, *args, **options)
    assert found.startswith(message)
    assert "\n" not in found


@pytest.mark.parametrize("name", ["save", "to_html", "write_records"])
def test_what_is_no_path(audit: discreet.MembershipAudit, name: str) -> None:
    taken = next(iter(inspect.signature(getattr(audit, name)).parameters))
    for given, called in ((3, "3"), (None, "None"), (b"run", "a bytes")):
        assert said(getattr(audit, name), given) == f"{taken} is {called}; expected a path: a str or a Path"
    assert said(getattr(audit, name)) == f"{name}() was called without {taken}; expected {name}({taken})"


def test_a_seal_that_cannot_be_kept_or_opened(sealed: Path, scores: pd.DataFrame) -> None:
    assert said(seal(seed=1).save, 3).startswith("folder is 3; expected a path")
    assert said(discreet.unseal, sealed) == "unseal() was called without scores; expected unseal(folder, scores, …)"
    assert said(discreet.unseal, scores, sealed).startswith("folder is a DataFrame; expected a path")
    assert said(discreet.unseal, sealed, None).startswith("the given data are of the type NoneType; expected a path")
    assert said(discreet.unseal, sealed, [1.0, 2.0]).startswith("the given data, row 1: the row is of the type float")
    for option, given, message in (
            ("tolerance", "x", "tolerance 'x', delta 0.0; expected a tolerance between"),
            ("delta", None, "tolerance 0.55, delta None; expected"), ("sign", 3, "sign is 3; expected"),
            ("out", 3, "out is 3; expected"), ("alpha", 0.1, "unseal() has no argument 'alpha'")):
        assert said(discreet.unseal, sealed, scores, **{option: given}).startswith(message)
    assert not (sealed / "opened.json").exists()  # Nothing was opened by any of these.


def test_checked_functions_keep_name_signature_and_words() -> None:
    for one in (discreet.audit_model, discreet.seal, discreet.unseal, Audit.save, Sealed.save):
        assert inspect.getdoc(one)
        assert one.__name__ in ("audit_model", "seal", "unseal", "save")
        assert "args" not in inspect.signature(one).parameters


def test_arrays_of_numpy_are_lists_too() -> None:
    found = membership(base_rates=np.array([0.1, 0.2]), tolerance_auc=np.float32(0.6))
    assert [gain.base_rate for gain in found.decisive.gains][:2] == [0.1, 0.2]
