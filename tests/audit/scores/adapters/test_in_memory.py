from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from tests.audit.scores.adapters.conftest import TEXTS, MakeModel, alone
from tests.heavy import need, quiet

from discreet.audit.scores.adapters import in_memory
from discreet.audit.scores.adapters.in_memory import Answers, check_model, score_in_memory
from discreet.audit.scores.signals import CLIP
from discreet.core.errors import InputError, MissingExtraError, UsageError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]


def test_an_estimator_gives_its_own_probabilities_and_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_memory, "CHUNK", 7)
    model = LogisticRegression().fit(X, Y)
    found = score_in_memory(model, X, "model")
    np.testing.assert_allclose(np.exp(found.logits), model.predict_proba(X))
    assert (found.classes, found.given_as, found.facts) == (("no", "yes"), "prob", {"model_type": "LogisticRegression"})


def test_log_odds_and_functions() -> None:
    svm = LinearSVC().fit(X, Y)
    found = score_in_memory(svm, X, "model")
    np.testing.assert_allclose(found.logits[:, 1] - found.logits[:, 0], svm.decision_function(X))
    as_logits = score_in_memory(lambda rows: rows[:, :2], X, "model")
    assert (as_logits.given_as, as_logits.classes) == ("logit", None)
    np.testing.assert_array_equal(as_logits.logits, X[:, :2])
    probabilities = score_in_memory(lambda rows: np.full((len(rows), 4), 0.25), X, "model")
    np.testing.assert_allclose(probabilities.logits, np.log(0.25))


def test_columns_are_those_of_the_target() -> None:
    target = ("a", "b", "c")
    swapped = Answers(np.log([[0.1, 0.7, 0.2]]), "prob", ("c", "a", "b"), {})
    np.testing.assert_allclose(np.exp(swapped.like(target, 3, "control")), [[0.7, 0.2, 0.1]])
    lacking = Answers(np.log([[0.4, 0.6]]), "prob", ("c", "a"), {})
    np.testing.assert_allclose(np.exp(lacking.like(target, 3, "control")), [[0.6, CLIP, 0.4]])
    for other, match in ((("a", "z", "b"), "1 of its 3 classes are none of the target's"),):
        with pytest.raises(InputError, match=match):
            Answers(np.zeros((1, 3)), "prob", other, {}).like(target, 3, "control")
    with pytest.raises(InputError, match="2 classes where the target has 3, and logits"):
        Answers(np.zeros((1, 2)), "logit", ("a", "b"), {}).like(target, 3, "control")
    with pytest.raises(InputError, match="it has 2 classes where the target has 3"):
        Answers(np.zeros((1, 2)), "logit", None, {}).like(target, 3, "control")


@pytest.fixture(scope="module")
def folder(make_model: MakeModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "llama", "llama")


@pytest.fixture
def pair(folder: Path) -> tuple[Any, Any]:
    transformers = need("transformers")
    with quiet():
        return (transformers.AutoModelForSequenceClassification.from_pretrained(folder),
                transformers.AutoTokenizer.from_pretrained(folder))


def test_a_transformer_and_its_pipeline(folder: Path, pair: tuple[Any, Any]) -> None:
    """Without a padding token, in training mode: each text as if it were alone, and the model as it was afterwards."""
    model, tokenizer = pair
    expected = np.stack([alone(folder, text) for text in TEXTS])
    model.train()
    pad = model.config.pad_token_id
    found = score_in_memory(pair, TEXTS, "model", batch=3)
    np.testing.assert_allclose(found.logits, expected, atol=1e-5)
    assert model.training
    assert model.config.pad_token_id == pad
    assert found.facts["model_type"] == "llama"
    with quiet():
        pipeline = need("transformers").pipeline("text-classification", model=model, tokenizer=tokenizer)
    check_model(pipeline, "model")
    np.testing.assert_allclose(score_in_memory(pipeline, TEXTS, "model").logits, expected, atol=1e-5)


def test_a_module_of_torch_goes_in_as_a_function_and_its_tensors_may_carry_gradients() -> None:
    torch = need("torch")
    network = torch.nn.Linear(X.shape[1], 2)
    found = score_in_memory(lambda x: network(torch.as_tensor(x, dtype=torch.float32)), X, "model")
    np.testing.assert_allclose(found.logits, X @ network.weight.detach().numpy().T + network.bias.detach().numpy(),
                               atol=1e-5)
    with pytest.raises(InputError, match=r"TypeError when asked .* a ndarray; .* wrap it in a function that does"):
        score_in_memory(network, X, "model")
    with pytest.raises(InputError, match=r"the scores of 80 inputs have the shape \(80,\); expected \(80, K\)"):
        score_in_memory(lambda x: x[:, 0], X, "model")


def test_refused(pair: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = pair
    with pytest.raises(UsageError, match="was given without its tokeniser; expected"):
        check_model(model, "model")
    with quiet():
        other = need("transformers").pipeline("feature-extraction", model=model, tokenizer=tokenizer)
    with pytest.raises(UsageError, match="a pipeline for 'feature-extraction' was given"):
        check_model(other, "model")
    with pytest.raises(InputError, match="given inputs that are no texts"):
        score_in_memory(pair, X, "model")
    with pytest.raises(InputError, match="has neither predict_proba nor decision_function"):
        check_model(3, "control")
    with pytest.raises(InputError, match="NotFittedError when asked for the scores of 80 inputs"):
        score_in_memory(LogisticRegression(), X, "model")

    def absent(module: str, purpose: str, extra: str) -> Any:
        raise MissingExtraError(purpose, extra, module)

    monkeypatch.setattr(in_memory, "need", absent)
    with pytest.raises(MissingExtraError, match=r"discreet\[fit\]"):
        check_model(pair, "model")
