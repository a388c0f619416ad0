from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.loopback import PROXIES, Service, serving

from discreet.audit.scores.adapters.http_endpoint import ATTEMPTS, HttpEndpoint
from discreet.core.errors import InputError, UsageError

pytest.importorskip("httpx")

TEXTS = ["bread and rivers", "a form", "secret bread", "the river is high", "naïve 😀"]


def lengths(texts: list[str]) -> list[list[float]]:
    return [[0.0, float(len(text)), 1.5] for text in texts]


@pytest.fixture
def service(socket_enabled: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    for name in (*PROXIES, "DISCREET_MODEL_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with serving(lambda asked: {"logits": lengths(asked["texts"])}, "/score") as found:
        yield found


def test_logits_in_batches(service: Service) -> None:
    model = HttpEndpoint(service.url, batch=2)
    np.testing.assert_array_equal(model.outputs(TEXTS), lengths(TEXTS))
    assert service.asked == [{"texts": TEXTS[:2]}, {"texts": TEXTS[2:4]}, {"texts": TEXTS[4:]}]
    assert (model.kind, model.classes, model.facts(TEXTS)) == ("logit", None, {"model_type": "http"})


def test_probabilities_labels_and_version(service: Service) -> None:
    service.answer = lambda asked: {"probabilities": [[0.25, 0.75]] * len(asked["texts"]), "labels": ["safe", "unsafe"],
                                    "model": "guard-3"}
    model = HttpEndpoint(service.url)
    assert model.outputs(TEXTS).shape == (5, 2)
    assert (model.kind, model.classes) == ("prob", ("safe", "unsafe"))
    assert model.facts(TEXTS)["model_version"] == "guard-3"


def test_the_token_comes_from_the_environment(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    HttpEndpoint(service.url).outputs(TEXTS)
    monkeypatch.setenv("DISCREET_MODEL_TOKEN", "abc")
    HttpEndpoint(service.url).outputs(TEXTS)
    assert [headers.get("Authorization") for headers in service.headers] == [None, "Bearer abc"]


def test_failures_pass_or_end_as_of_every_endpoint(service: Service) -> None:
    service.first = [(503, {}, b""), (429, {"Retry-After": "7"}, b""), (500, {"Retry-After": "soon"}, b"")]
    pauses: list[float] = []
    found = HttpEndpoint(service.url, pause=pauses.append).outputs(TEXTS)
    np.testing.assert_array_equal(found, lengths(TEXTS))
    assert pauses == [0.5, 7.0, 2.0]
    service.first = [(503, {"Retry-After": "30"}, b"secret bread")] * ATTEMPTS
    with pytest.raises(InputError, match="/score: no answer in 5 attempts, at last status 503") as caught:
        HttpEndpoint(service.url, pause=pauses.append).outputs(TEXTS)
    assert pauses[3:] == [30.0] * (ATTEMPTS - 1)
    assert "bread" not in str(caught.value)
    service.first = [(404, {}, b"")]
    with pytest.raises(InputError, match=r"status 404; expected 200, for a POST of"):
        HttpEndpoint(service.url).outputs(TEXTS)


@pytest.mark.parametrize(("answer", "message"), [
    (b"<html>secret bread</html>", "not JSON"), ([1, 2], "neither 'logits' nor"), ({}, "neither 'logits' nor"),
    ({"logits": [[1, 2]] * 5, "probabilities": [[1, 0]] * 5}, "both 'logits' and"),
    ({"logits": [[1, 2]] * 4}, r"shape \(4, 2\) for 5 texts"), ({"logits": [1, 2, 3, 4, 5]}, r"shape \(5,\)"),
    ({"logits": [[1, 2]] * 4 + [[1]]}, "not a list of equally long lists"), ({"logits": "bread"}, "not a list of"),
    ({"logits": [[1, 2]] * 5, "labels": ["a"]}, "'labels' has 1 names for 2 columns"),
    ({"logits": [[1, 2]] * 5, "labels": "ab"}, "'labels' is no list"),
    ({"logits": [[1, "bread"]] * 5}, "not a list of equally long lists of numbers"),
])
def test_answers_that_are_none(service: Service, answer: Any, message: str) -> None:
    service.answer = lambda asked: answer
    with pytest.raises(InputError, match=message) as caught:
        HttpEndpoint(service.url).outputs(TEXTS)
    assert "bread" not in str(caught.value)


@pytest.mark.parametrize("change", [{"model": "2"}, {"labels": ["x", "y", "z"]},
                                    {"logits": None, "probabilities": [[1, 0, 0]] * 2}])
def test_one_model_for_the_whole_run(service: Service, change: dict[str, Any]) -> None:
    service.answer = lambda asked: {"logits": lengths(asked["texts"]), "model": "1", "labels": ["a", "b", "c"],
                                    **(change if asked["texts"] != TEXTS[:2] else {})}
    with pytest.raises(InputError, match="changed between two answers"):
        HttpEndpoint(service.url, batch=2).outputs(TEXTS[:4])


def test_numbers_of_classes_stay(service: Service) -> None:
    service.answer = lambda asked: {"logits": [[0.0] * (2 if asked["texts"] == TEXTS[:2] else 3)] * len(asked["texts"])}
    with pytest.raises(InputError, match="different numbers of classes"):
        HttpEndpoint(service.url, batch=2).outputs(TEXTS[:4])


def test_fingerprints_change_with_version_and_answers(service: Service) -> None:
    first = HttpEndpoint(service.url).fingerprint(TEXTS)
    assert HttpEndpoint(service.url, batch=1).fingerprint(TEXTS) == first
    service.answer = lambda asked: {"logits": lengths(asked["texts"]), "model": "2"}
    second = HttpEndpoint(service.url).fingerprint(TEXTS)
    service.answer = lambda asked: {"logits": [[x + 0.01 for x in row] for row in lengths(asked["texts"])],
                                    "model": "2"}
    assert len({first, second, HttpEndpoint(service.url).fingerprint(TEXTS)}) == 3


def test_names_hold_no_secrets() -> None:
    model = HttpEndpoint("https://example.org:8443/score?key=hunter2")
    assert model.name == "https://example.org:8443/score"
    with pytest.raises(UsageError, match="holds a password; expected it in DISCREET_MODEL_TOKEN") as caught:
        HttpEndpoint("https://user:hunter2@example.org/score")
    assert "hunter2" not in str(caught.value)
    for url in ("http://", "http:///path", "http://[::1"):
        with pytest.raises(UsageError, match="the address of the model"):
            HttpEndpoint(url)
