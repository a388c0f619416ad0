"""A model in memory, audited: whoever memorises is found, whoever does not is not, whatever the form of the records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.heavy import need

import discreet
from discreet.audit.membership import in_memory
from discreet.audit.membership.memory_sets import MemorySets, blind_features, can_clone, fitted_clone
from discreet.core.errors import InputError, MissingExtraError, UsageError
from discreet.inputs.in_memory import read_records

NAMES = np.array(["calm", "toxic"])
QUICK: dict[str, Any] = {"design": "randomised", "permutations": 0, "bootstraps": 1}
X, Y = make_classification(1200, 8, n_informative=5, flip_y=0.15, random_state=3)
Y = NAMES[Y]
IN, OUT = (X[:500], Y[:500]), (X[500:], Y[500:])
FOREST = RandomForestClassifier(20, random_state=0).fit(*IN)


@pytest.fixture(scope="module")
def audit() -> discreet.MembershipAudit:
    return discreet.audit_model(FOREST, IN, OUT, references=6, design="randomised", permutations=19, bootstraps=5)


def test_a_model_that_memorises_fails_beside_a_clean_control(audit: discreet.MembershipAudit) -> None:
    assert audit.verdict == "fail"
    primary = audit.decisive.primary
    assert primary is not None
    assert (primary.spec.attack, primary.spec.reference_kind) == ("reference", "population")
    assert (primary.n_members, primary.n_nonmembers) == (500, 315)  # 350 trained the control, a tenth is RMIA's.
    assert primary.control_auc.low is not None
    assert primary.control_auc.low < 0.5 < (primary.control_auc.high or 0.0)
    assert {row.spec.attack for row in audit.attacks if row.auc.resolved} >= {"lira", "rmia", "reference", "loss"}
    facts = audit.record["provenance"]
    assert facts["models"] == {"target": 1, "reference": 6, "control": 1}
    assert (facts["class_names"], facts["control_trained_on"]) == (["calm", "toxic"], 350)


def test_classes_are_called_by_their_names_everywhere(audit: discreet.MembershipAudit, tmp_path: Path) -> None:
    assert [part.name for part in audit.decisive.parts] == ["all records", "class calm", "class toxic"]
    page = (audit.save(tmp_path / "run") / "report.html").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "run" / "result.json").read_text())["verdict"] == "fail"
    for shown in (page, str(audit)):
        assert "class toxic" in shown
        assert "class 1" not in shown
    assert str(audit).startswith("Fail: this model gives away who was in its training set")


def test_every_form_of_the_same_records_gives_the_same_figures() -> None:
    words = np.array(["river", "bread", "form", "shelter", "notice"])
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, 6)) + f" {place}" for place in range(300)]
    labels = np.array(["no", "yes"])[rng.integers(2, size=300)]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=100)).fit(texts[:150], labels[:150])
    frame = pd.DataFrame({"text": texts, "label": labels})
    dataset = need("datasets").Dataset.from_pandas(frame)
    forms = [((texts[:150], labels[:150]), (texts[150:], labels[150:])), (frame[:150], frame[150:]),
             (dataset.select(range(150)), dataset.select(range(150, 300))),
             (frame[:150].to_dict("list"), frame[150:].to_dict("records"))]
    found = [discreet.audit_model(model, *form, references=4, attacks=[], **QUICK) for form in forms]
    records = [{name: value for name, value in one.record.items() if name != "provenance"} for one in found]
    assert all(one == records[0] for one in records)
    assert not any(text in json.dumps(one.record) for one in found for text in texts)
    assert "on texts" in found[0].decisive.controls["blind_auc"].method


def test_a_pipeline_over_the_columns_of_a_frame() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.choice(["Ely", "Rye", "Deal"], 400), "age": rng.normal(size=400),
                          "label": rng.integers(2, size=400), "category": rng.choice(["web", "desk"], 400)})
    model = make_pipeline(make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough"),
                          RandomForestClassifier(10, random_state=0)).fit(frame[:200][["town", "age"]],
                                                                          frame[:200]["label"])
    found = discreet.audit_model(model, frame[:200], frame[200:], references=2, attacks=[], **QUICK)
    assert found.verdict == "fail"
    assert "on inputs" in found.decisive.controls["blind_auc"].method
    assert {part.name for part in found.decisive.parts} >= {"category web", "category desk", "class 0"}


def test_functions_bring_their_own_control_and_references() -> None:
    """And the records that a table by hand gives: the audit is `audit_membership`'s own."""
    other, third = (RandomForestClassifier(20, random_state=1).fit(X[rows], Y[rows])
                    for rows in (slice(600, 850), slice(850, 1200)))
    found = discreet.audit_model(FOREST.predict_proba, IN, (X[500:600], Y[500:600]), control=other.predict_proba,
                                 neutral=[third.predict_proba], classes=["calm", "toxic"], attacks=[],
                                 exclude_parts=["class toxic"], **QUICK)
    assert found.verdict == "fail"
    primary = found.decisive.primary
    assert primary is not None
    p = [np.log(np.clip(one.predict_proba(X[:600]), 1e-7, 1 - 1e-7)) for one in (FOREST, third)]
    toxic = (Y[:600] == "toxic").astype(int)
    right, wrong = (np.arange(600), toxic), (np.arange(600), 1 - toxic)
    ratio = (p[0][right] - p[0][wrong]) - (p[1][right] - p[1][wrong])
    # Ties of a forest may be broken by the last bit.
    assert primary.auc.value == pytest.approx(roc_auc_score(np.arange(600) < 500, ratio.round(9)), abs=1e-4)
    assert [part.state for part in found.decisive.parts] == ["exceeds", "exceeds", "excluded"]


def test_records_of_the_sets() -> None:
    """Copies leave both sets, repetitions count once, the control's records come from the user or from non-members."""
    texts = [f"text {place}" for place in range(20)]
    members = ([*texts[:10], "Text  3", texts[15]], [0, 1] * 6)
    others = (texts[10:], [1, 0] * 5)
    sets = MemorySets.of(members, others, None, np.random.default_rng(0), label="label", text="text", aside=True)
    assert sets.control is not None
    held = {one for part in (sets.records.inputs, sets.control.inputs) for one in part}
    assert held == set(texts) - {"text 15"}
    assert (int(sets.member.sum()), len(sets.records), len(sets.control)) == (10, 14, 5)
    assert sets.left_out == {"members_left_out_as_copies": 2, "non_members_left_out_as_copies": 1}
    for name, inside, text in zip(sets.id, sets.member, sets.records.inputs, strict=True):
        given, place = name.rstrip("]").split("[")
        assert (given == "members") == inside
        assert (members if inside else others)[0][int(place)] == text
    own = MemorySets.of(members, others, (["text 1", "new", "other"], [0, 1, 0]), np.random.default_rng(0),
                        label="label", text="text", aside=False)
    assert own.control is not None
    assert own.control.inputs == ["new", "other"]
    assert len(own.records) == 19


def test_what_the_blind_baseline_reads() -> None:
    rng = np.random.default_rng(0)
    plain = blind_features(np.array([[1.0, 5.0, np.nan], [3.0, 5.0, 2.0]]), rng)
    np.testing.assert_allclose(plain, [[-1, 0, 0], [1, 0, 0]])
    frame: Any = blind_features(pd.DataFrame({"town": ["Ely", "Rye"], "age": [10, 20]}), rng)
    np.testing.assert_allclose(frame.toarray(), np.array([[0.5, 1, 0], [1, 0, 1]]))
    assert blind_features(rng.normal(size=(3, 2500)), rng).shape == (3, 2000)
    apart = discreet.audit_model(FOREST, IN, (X[500:] + 3.0, Y[500:]), attacks=[], **QUICK)
    assert apart.decisive.judgement.reason_codes[0] == "sets_differ"


def test_groups() -> None:
    users = np.arange(1200) // 4
    found = discreet.audit_model(FOREST, (*IN, users[:500]), (*OUT, users[500:]), references=4, attacks=[], **QUICK)
    primary = found.decisive.primary
    assert primary is not None
    assert (primary.auc.unit, primary.auc.n_pos) == ("group", 125)
    users[498:502] = 999
    split = (*IN, users[:500]), (*OUT, users[500:])
    with pytest.raises(InputError, match="members and non_members: 1 of 301 groups are split over both sets"):
        discreet.audit_model(FOREST, *split, attacks=[], **QUICK)
    found = discreet.audit_model(FOREST, *split, attacks=[], allow_split_groups=True, **QUICK)
    primary = found.decisive.primary
    assert primary is not None
    assert (primary.n_members, primary.n_nonmembers) == (498, 698)


@pytest.mark.parametrize(("options", "error", "match"), [
    ({"references": -1}, UsageError, "references is -1"),
    ({"references": "3"}, UsageError, "references is '3': expected a whole number of at least 0"),
    ({"references": True}, UsageError, "references is True: expected a whole number"),
    ({"references": [FOREST]}, UsageError, "references is a list: expected a whole number"),
    ({"reference": 3}, UsageError, "no option 'reference'; did you mean 'references'"),
    ({"selection": FOREST}, UsageError, "no option 'selection'; did you mean 'selector'"),
    ({"batch": 0}, UsageError, "batch is 0: expected a whole number of at least 1"),
    ({"checkpoints": 3}, UsageError, "checkpoints is 3: expected a function from a fitted model"),
    ({"classes": "ab"}, UsageError, "classes is 'ab': expected a list of names"),
    ({"seed": "a"}, UsageError, "seed is 'a': expected a whole number"),
    ({"permutations": 9.5}, UsageError, r"permutations is 9\.5: expected a whole number"),
    ({"attacks": "loss"}, UsageError, r"attacks is 'loss': expected a list of names, such as \['loss'\]"),
    ({"exclude_parts": "class calm"}, UsageError, "exclude_parts is 'class calm': expected a list of names"),
    ({"exclude_parts": [1]}, UsageError, "exclude_parts holds 1: expected a list of names"),
    ({"exclude_parts": ["class clam"]}, UsageError,
     r"'class clam' is no part that can be excluded: did you mean 'class calm'\? Expected some of class calm, class "),
    ({"exclude_parts": ["toxic"]}, UsageError, r"'toxic' is no part .*: did you mean 'class toxic'\?"),
    ({"base_rates": 0.1}, UsageError, r"base_rates is 0\.1: expected a list of shares"),
    ({"tolerance_auc": "0.6"}, UsageError, r"tolerance AUC is '0\.6': expected a number"),
    ({"design": "randomized"}, UsageError, "design is 'randomized'; did you mean 'randomised'"),
    ({"control_data": OUT}, UsageError, "control_data trains the control model, and no control"),
    ({"control": FOREST}, InputError, "control 'control' has the same scores as target 'target'"),
    ({"classes": ["one"]}, UsageError, "classes has 1 name, and the model 2 classes"),
    ({"classes": ["one", "one"]}, UsageError, "classes has 2 names, some of them twice, and the model 2 classes"),
    ({"exclude_parts": ["class spam"]}, UsageError,
     "'class spam' is no part that can be excluded: expected some of class calm, class toxic"),
    ({"tolerance_aucs": 0.6}, UsageError, "no option 'tolerance_aucs'; did you mean 'tolerance_auc'"),
    ({"tolerance_auc": 0.4}, UsageError, r"tolerance AUC is 0\.4"),
    ({"design": "random"}, UsageError, "design is 'random'"),
])
def test_refused(options: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        discreet.audit_model(FOREST, IN, OUT, **options)


def test_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(inputs: Any) -> Any:
        raise AssertionError("the model was asked")

    with pytest.raises(UsageError, match="references is 2, and a function cannot be cloned"):
        discreet.audit_model(never, IN, OUT, references=2)

    def absent(module: str, purpose: str, extra: str) -> Any:
        raise MissingExtraError(purpose, extra, module)

    monkeypatch.setattr(in_memory, "need", absent)
    with pytest.raises(MissingExtraError, match=r"needs the package 'scipy.special'.*discreet\[audit\]"):
        discreet.audit_model(never, IN, OUT)


def test_labels_that_the_model_does_not_know() -> None:
    with pytest.raises(InputError, match="'label' is outside the classes of the model for 1,200 of 1,200 records"):
        discreet.audit_model(FOREST, (IN[0], np.repeat("x", 500)), (OUT[0], np.repeat("x", 700)))
    with pytest.raises(InputError, match="every input is in another set too"):
        discreet.audit_model(FOREST, IN, IN)


def test_halves_of_the_references(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each record is in one of every two halves; halves hold as many members as non-members leave for them."""
    tables: list[Any] = []
    kept = discreet.audit_membership

    def audited(table: Any, **more: Any) -> Any:
        tables.append(table)
        return kept(table, **more)

    monkeypatch.setattr(in_memory, "audit_membership", audited)
    discreet.audit_model(LogisticRegression(max_iter=500).fit(*IN), IN, OUT, references=4, attacks=[], **QUICK)
    [table] = tables
    inside = table.member[list(table.references("population"))]
    assert (inside[0] + inside[1] == 1).all()
    assert (inside[2] + inside[3] == 1).all()
    assert (inside[0] != inside[2]).any()
    members = table.member[0] == 1
    assert abs(int(inside[0][members].sum()) - 250) <= 1
    assert abs(int(inside[0][~members].sum()) - 175) <= 1
    assert not table.member[table.index("control")].any()


def test_records_given_as_one_form_only() -> None:
    with pytest.raises(InputError, match="inputs are given as list and ndarray"):
        discreet.audit_model(FOREST, IN, (["a"] * 10, Y[:10]))
    assert len(read_records(IN, "members")) == 500


def test_a_table_of_texts_whose_column_has_another_name() -> None:
    """A vectoriser reads the names of the columns of a data frame: the message says what to name."""
    texts = [f"word {place} number {place % 7}" for place in range(60)]
    labels = np.where(np.arange(60) % 2, "a", "b")
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, labels)
    table = pd.DataFrame({"body": texts, "label": labels})
    with pytest.raises(InputError, match=r"gave an array of the shape \(1, 2\).*name their column with text="):
        discreet.audit_model(model, table[:30], table[30:])
    found = discreet.audit_model(model, table[:30], table[30:], text="body", attacks=[], permutations=0, bootstraps=1)
    assert found.verdict == "inconclusive"


def test_a_run_is_not_saved_over_a_file(tmp_path: Path) -> None:
    found = discreet.audit_model(FOREST, IN, OUT, attacks=[], permutations=0, bootstraps=1)
    (tmp_path / "run").write_text("mine")
    with pytest.raises(UsageError, match=r"cannot write .*run.result\.json: not a directory"):
        found.save(tmp_path / "run")
    assert (tmp_path / "run").read_text() == "mine"


def test_a_booster_needs_no_wrapping() -> None:
    """LightGBM's and XGBoost's `predict` is the probability of class 1 of two."""
    class Booster:
        def predict(self, inputs: Any) -> Any:
            return FOREST.predict_proba(inputs)[:, 1]

    numbers = [(inputs, (labels == "toxic").astype(int)) for inputs, labels in (IN, OUT)]
    audit = discreet.audit_model(Booster().predict, *numbers, **QUICK)
    assert audit.verdict == "fail"
    assert [part.name for part in audit.decisive.parts] == ["all records", "class 0", "class 1"]
    named = discreet.audit_model(Booster().predict, IN, OUT, classes=["calm", "toxic"], **QUICK)
    assert named.decisive.parts[0].auc.value == audit.decisive.parts[0].auc.value
    with pytest.raises(InputError, match="the model does not name its classes, and classes= can"):
        discreet.audit_model(Booster().predict, IN, OUT, **QUICK)
    with pytest.raises(InputError, match=r"cannot be called; expected .*, such as its method predict"):
        discreet.audit_model(Booster(), *numbers, **QUICK)


INPUTS = np.random.default_rng(0).normal(size=(60, 3))
CLASSES = np.where(INPUTS[:, 0] > 0, "high", "low")


def test_a_clone_is_trained_on_what_it_is_given_and_leaves_the_original_alone() -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.5)).fit(INPUTS, CLASSES)
    before = model.predict_proba(INPUTS)
    clone = fitted_clone(model, INPUTS[:30], CLASSES[:30], 7, "a reference")
    np.testing.assert_allclose(clone.predict_proba(INPUTS), make_pipeline(
        StandardScaler(), LogisticRegression(C=0.5)).fit(INPUTS[:30], CLASSES[:30]).predict_proba(INPUTS))
    np.testing.assert_array_equal(model.predict_proba(INPUTS), before)


def test_every_random_state_is_the_seed() -> None:
    model = make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)).fit(INPUTS, CLASSES)
    clone = fitted_clone(model, INPUTS, CLASSES, 5, "a reference")
    np.testing.assert_array_equal(clone.predict_proba(INPUTS), make_pipeline(
        StandardScaler(), RandomForestClassifier(3, random_state=5)).fit(INPUTS, CLASSES).predict_proba(INPUTS))
    assert model.get_params()["randomforestclassifier__random_state"] == 0


def test_a_fit_that_fails_names_the_clone_and_quotes_nothing() -> None:
    with pytest.raises(InputError, match=r"^the control model: ValueError when a clone of Logistic") as no:
        fitted_clone(LogisticRegression(), np.array([["secret"]] * 4), CLASSES[:4], 0, "the control model")
    assert "secret" not in str(no.value)


def test_what_can_be_cloned() -> None:
    assert can_clone(LogisticRegression())
    assert not can_clone(lambda inputs: inputs)
