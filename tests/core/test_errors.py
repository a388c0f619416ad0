from __future__ import annotations

import pickle

import pytest

from discreet.core.errors import (
    DetectorError,
    DiscreetError,
    InputError,
    MissingExtraError,
    PolicyError,
    UsageError,
    meant,
)


@pytest.mark.parametrize(("error", "base", "code"), [
    (UsageError("x"), DiscreetError, 2), (MissingExtraError("x", "audit", "scipy"), UsageError, 2),
    (InputError("x"), DiscreetError, 2), (PolicyError("x"), InputError, 2),
    (DetectorError("a", "b"), DiscreetError, 1)])
def test_the_tree(error: DiscreetError, base: type[DiscreetError], code: int) -> None:
    assert isinstance(error, base)
    assert error.exit_code == code
    assert not isinstance(error, ValueError | KeyError | OSError)


@pytest.mark.parametrize(("given", "listed", "said"), [
    ("lable", None, "did you mean 'label'?"), ("colour", None, "expected some of label, name"),
    (7, ["name"], "expected some of name")])
def test_the_nearest_key_is_named(given: object, listed: list[str] | None, said: str) -> None:
    assert meant(given, ["name", "label"], listed) == said


def test_a_missing_extra_says_what_to_do() -> None:
    error = MissingExtraError("an HTML report", "report", "jinja2")
    assert str(error) == (
        "an HTML report needs the package 'jinja2', which is not installed: pip install 'discreet[report]'"
    )
    assert (error.extra, error.module) == ("report", "jinja2")


def test_a_detector_error_names_the_detector_and_the_kind() -> None:
    error = DetectorError("recogniser 'ssn'", "KeyError")
    assert str(error) == "recogniser 'ssn' failed with KeyError; the answer was not judged"
    assert (error.detector, error.kind) == ("recogniser 'ssn'", "KeyError")


@pytest.mark.parametrize(
    "error", [MissingExtraError("x", "audit", "scipy"), DetectorError("names", "KeyError"), UsageError("x")]
)
def test_errors_come_back_from_other_processes(error: DiscreetError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back), vars(back)) == (type(error), str(error), vars(error))
