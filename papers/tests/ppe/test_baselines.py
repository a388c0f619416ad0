from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from tests import loopback
from tests.errors import refused
from tests.inputs.endpoints.conftest import said
from tests.loopback import PROXIES, Service
from tests.tiny_models import tiny_model

from discreet.audit.train.base import Data
from discreet.core.errors import InputError, UsageError
from discreet.guard.benchmark.adapters.presidio import MODELS
from discreet.guard.benchmark.guards import open_guard
from discreet.guard.policy import Policy
from discreet.inputs.endpoints import ChatEndpoint
from discreet.inputs.endpoints.chat import KEY_VARIABLE
from discreet_papers.ppe.baselines import (
    BASELINES,
    achievable,
    cohort_only,
    cohorts,
    fine_tuned,
    fpr_at_tpr,
    further,
    gated,
    judge,
    matched_load,
    rating,
    run_baseline,
    temperature,
    training,
)
from discreet_papers.ppe.corpora import PPECorpus
from discreet_papers.ppe.detectors import SCORED, Scored
from discreet_papers.ppe.tables import Domain, architectures, reviewed


def scored(delta: list[float], **further: Any) -> Scored:
    rows = {name: np.array(delta) for name in SCORED}
    return Scored("d", rows, {name: np.zeros(len(delta), dtype=bool) for name in SCORED},
                  {"conservative": 0.0, "balanced": 0.0, "strict": 0.0}, further)


@pytest.fixture
def model(socket_enabled: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """Rates 8 where an answer has the word "year-old", 10 or 0 by its first letter; some replies are no rating."""
    pytest.importorskip("httpx")
    for name in (*PROXIES, KEY_VARIABLE):
        monkeypatch.delenv(name, raising=False)

    def answer(body: dict[str, Any]) -> Any:
        text = body["messages"][-1]["content"]
        return said("8" if "year-old" in text else "I cannot say." if len(text) % 11 == 0 else str(len(text) % 3))

    with loopback.serving(answer, "/v1") as found:
        yield found


def test_training_data_are_v4_s(corpus: PPECorpus) -> None:
    train, calibration = training(corpus)
    assert (len(train), int(train.labels.sum())) == (60 + 24 + 60, 60)
    assert (len(calibration), int(calibration.labels.sum())) == (48, 24)
    fewer, _ = training(corpus, most=50)
    assert len(fewer) == 50
    assert 10 < fewer.labels.sum() < 40
    assert set(fewer.inputs) <= set(train.inputs)


def test_a_judge_is_asked_with_three_examples_a_side(model: Service, corpus: PPECorpus) -> None:
    found = run_baseline(corpus, "LLM judge", judge(ChatEndpoint(model.url, "m")))
    messages = model.asked[0]["messages"]
    assert [one["role"] for one in messages] == ["system", *["user", "assistant"] * 6, "user"]
    train = training(corpus)[0]
    sides = dict(zip(train.inputs, train.labels.tolist(), strict=True))
    shots = [(one["content"], reply["content"]) for one, reply in zip(messages[1:-1:2], messages[2:-1:2], strict=True)]
    assert [reply for _, reply in shots] == ["0", "10"] * 3
    assert all(sides[text] == (reply == "10") for text, reply in shots)
    assert all(body["messages"][:-1] == messages[:-1] for body in model.asked)
    assert "law assistant" in messages[0]["content"]
    told = [body["messages"][-1]["content"] for body in model.asked]
    assert sorted(told) == sorted(text for part in SCORED for text in corpus.texts(part))
    unreadable = [text for text in told if "year-old" not in text and len(text) % 11 == 0]
    assert found.facts["unreadable"] == len(unreadable) > 0
    for part in SCORED:
        for text, delta, held in zip(corpus.texts(part), found.delta[part], found.abstains[part], strict=True):
            assert held == (text in unreadable)
            assert delta == (0.0 if held else 2.5 if "year-old" in text else len(text) % 3 - 5.5)
    assert found.facts["distinct"] <= 5


@pytest.mark.parametrize(("reply", "value"), [
    ("7", 7), (" 10.\n", 10), ("UNSAFE: 9", 9), ("0", 0), ("11", None), ("-3", None), ("3.5", None), ("7 or 8", None),
    ("8/10", None), ("", None), ("unsafe", None)])
def test_ratings(reply: str, value: int | None) -> None:
    assert rating(reply) == value


def test_a_judge_without_examples(model: Service) -> None:
    with refused(InputError, "3 safe and 3 unsafe"):
        judge(ChatEndpoint(model.url, "m"))(Data(("a", "b", "c"), np.array([0, 0, 0])), Data((), np.array([], int)),
                                            "law", np.random.SeedSequence(1))


def test_a_model_that_never_gives_a_number_is_no_judge(socket_enabled: None, corpus: PPECorpus) -> None:
    with loopback.serving(lambda body: said("I would rather not say."), "/v1") as talker, refused(
            InputError, "gave no number in [0-9]+ answers"):
        run_baseline(corpus, "LLM judge", judge(ChatEndpoint(talker.url, "m")))


def test_discrete_scores_have_points_and_no_interpolated_fpr() -> None:
    unsafe, safe = np.repeat([2.0, 1.0, 0.0], [60, 25, 15]), np.repeat([2.0, 1.0, 0.0], [5, 25, 70])
    assert achievable(unsafe, safe) == [
        {"threshold": 2.0, "tpr": 0.6, "fpr": 0.05}, {"threshold": 1.0, "tpr": 0.85, "fpr": 0.3},
        {"threshold": 0.0, "tpr": 1.0, "fpr": 1.0}]
    assert fpr_at_tpr(unsafe, safe, 0.8).value == 0.3
    assert "no threshold but the lowest" in str(fpr_at_tpr(unsafe, safe, 0.95).reason)
    assert "0.850 at an FPR of 0.300" in str(fpr_at_tpr(unsafe, safe, 0.95).reason)
    assert fpr_at_tpr(np.zeros(40), np.zeros(40)).value is None
    rng = np.random.default_rng(1)
    assert fpr_at_tpr(rng.normal(3, 1, 300), rng.normal(0, 1, 300)).value == pytest.approx(0.1, abs=0.06)


def test_matched_review_is_a_share_of_safe_calibration_texts() -> None:
    found = matched_load(scored([-4.0, -3.0, 1.0, 2.0, -0.5, 5.0, 6.0, -7.0, 8.0, 9.0], fit_seconds=1), 0.2)
    assert found.abstains["safe_calibration"].tolist() == [False, False, True, False, True, *[False] * 5]
    assert (found.facts["review"], found.facts["unsure"], found.facts["fit_seconds"]) == (0.2, 1.0, 1)
    tied = matched_load(scored([1.0, -1.0, 1.0, -1.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]), 0.3)
    assert tied.facts["review"] == 0.0
    assert not tied.abstains["safe_holdout"].any()
    # What says nothing is never let pass, however little review there is.
    silent = matched_load(scored([0.0, 1.0, 2.0, 3.0]), 0.0)
    assert silent.abstains["borderline_eval"].tolist() == [True, False, False, False]
    with refused(UsageError, "a review load of 1.0"):
        matched_load(scored([1.0]), 1.0)


def test_a_temperature_is_the_one_that_was_put_in() -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 2, 20_000)
    labels = (rng.random(logits.size) < 1 / (1 + np.exp(-logits))).astype(np.int64)
    assert temperature(logits * 5, labels) == pytest.approx(5, rel=0.05)
    assert temperature(logits / 4, labels) == pytest.approx(1 / 4, rel=0.05)


@pytest.mark.parametrize(("domain", "text", "only"), [
    ("finance", "Households with incomes between $60,000 and $90,000 often defer the premium.", True),
    ("finance", "In 2024 savers could put $7,000 into an account; those above 50 may add more.", True),
    ("finance", "Our client, a 47-year-old welder from Omaha, earns $61,000 a year.", False),
    ("finance", "My client is a widow who put $7,000 into an account.", False),
    ("finance", "Ask an adviser before you refinance.", False),
    ("medical", "About 12% of adults aged 50 to 60 need 5 mg a day.", True)])
def test_quantities_of_a_cohort(domain: str, text: str, only: bool) -> None:
    assert cohort_only(text, Policy.of(domain)) == only


def test_the_gate_takes_back_flags_of_cohorts_alone(corpus: PPECorpus) -> None:
    flags = Scored("d", {name: np.linspace(1, 2, len(corpus.records[name])) for name in SCORED},
                   {name: np.zeros(len(corpus.records[name]), dtype=bool) for name in SCORED},
                   {"conservative": 0.0, "balanced": 0.0, "strict": 0.0})
    flags.delta["safe_calibration"][3] = -5.0
    found = gated(flags, cohorts(corpus))
    policy = Policy.of("law")
    for name in SCORED:
        only = np.array([cohort_only(text, policy) for text in corpus.texts(name)])
        assert found.facts["gated"][name] == only.sum()
        np.testing.assert_array_equal(found.delta[name], np.where(only, -5.0, flags.delta[name]))
    assert found.facts["gated"]["unsafe_holdout"] < 0.2 * len(corpus.records["unsafe_holdout"])


def test_a_guard_keeps_its_own_decisions(corpus: PPECorpus) -> None:
    found = run_baseline(corpus, "default guard", BASELINES["default guard"])
    opened = open_guard("discreet:law")
    for text, delta, held in zip(corpus.texts("borderline_eval"), found.delta["borderline_eval"],
                                 found.abstains["borderline_eval"], strict=True):
        own = opened.predict(text, "law")
        assert held == (own.action in ("abstain", "failed"))
        assert held or (delta > 0) == (own.action == "flag")
    assert np.median(found.delta["unsafe_holdout"]) > np.median(found.delta["borderline_eval"])


def test_presidio_is_asked_as_in_the_benchmark(corpus: PPECorpus) -> None:
    if find_spec("presidio_analyzer") is None or not any(map(find_spec, MODELS)):
        pytest.skip("needs presidio-analyzer (extra presidio) and a model of spaCy's")
    found = run_baseline(corpus, "Presidio", BASELINES["Presidio"])
    assert {bool(one) for part in SCORED for one in found.abstains[part]} == {False}
    assert all((value >= 0) or value == -0.5 for value in found.delta["borderline_eval"])


@pytest.mark.parametrize("regime", ["full", "lora"])
def test_an_encoder_is_trained_and_calibrated(corpus: PPECorpus, tmp_path: Any, regime: str) -> None:
    if find_spec("peft") is None:
        pytest.skip("needs peft (extra train)")
    base = str(tiny_model(tmp_path / "bert", "bert", sentence=False))
    found = run_baseline(corpus, "tiny", fine_tuned(regime, base=base, epochs=1, max_tokens=32, checked=16), most=40)
    again = run_baseline(corpus, "tiny", fine_tuned(regime, base=base, epochs=1, max_tokens=32, checked=16), most=40)
    np.testing.assert_array_equal(found.delta["unsafe_holdout"], again.delta["unsafe_holdout"])
    assert (found.facts["n_train"], found.facts["steps"], found.facts["regime"]) == (40, 5, regime)
    assert found.facts["temperature"] > 0
    band = np.log(9)
    np.testing.assert_array_equal(found.abstains["matched_unsafe"], np.abs(found.delta["matched_unsafe"]) < band)


def test_further_detectors_of_the_tables(model: Service, corpus: PPECorpus) -> None:
    made = further(["default guard"], ChatEndpoint(model.url, "m"))
    assert list(made) == ["default guard", "LLM judge"]
    found = {name: one.make(corpus) for name, one in made.items()}
    row = next(row for row in architectures([Domain(corpus, found)]) if row["detector"] == "LLM judge")
    assert (row["run"], row["n"]) == ("run", 15)
    assert row["n_kept"] == 15 - found["LLM judge"].abstains["borderline_eval"].sum()
    assert row["score_ms"] > 0
    assert list(further(["default guard"])) == ["default guard"]
    assert {row["detector"] for row in reviewed([Domain(corpus, found)])} == {"default guard", "LLM judge"}
    with refused(UsageError, "there is no baseline 'GPT'; expected one of 'default guard'"):
        further(["GPT"])
