from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from discreet.core.errors import InputError, UsageError
from discreet.inputs.python_object import PythonObject

TEXTS = ["bread and rivers", "a form", "bread", "the river is high"]
Module = Callable[[str], str]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Module]:
    """Writes a module into the working directory and gives its spec's beginning."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made: list[str] = []

    def make(code: str) -> str:
        name = f"brought_{len(made)}_{tmp_path.name.replace('-', '_')}"
        (tmp_path / f"{name}.py").write_text(dedent(code), encoding="utf-8")
        made.append(name)
        return f"python:{name}:"

    yield make
    for name in made:
        sys.modules.pop(name, None)


PIPELINE = """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    texts = ["bread", "river", "bread form", "river high"] * 3
    logistic = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, [2, 1, 2, 1] * 3)
    svm = make_pipeline(CountVectorizer(), LinearSVC()).fit(texts, ["b", "a", "b", "a"] * 3)

    class Held:
        model = logistic
"""


def test_estimators(module: Module) -> None:
    before = list(sys.path)
    spec = module(PIPELINE)
    logistic, svm = PythonObject(f"{spec}logistic"), PythonObject(f"{spec}svm")
    assert sys.path == before
    assert (logistic.kind, logistic.classes) == ("prob", ("1", "2"))
    found = logistic.outputs(TEXTS)
    assert found.shape == (4, 2)
    assert (found[:, 1] > 0.5).tolist() == [True, True, True, False]
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (svm.kind, svm.classes, svm.outputs(TEXTS).shape) == ("logit", ("a", "b"), (4,))
    assert logistic.facts(TEXTS) == {"model_type": "Pipeline"}
    np.testing.assert_array_equal(PythonObject(f"{spec}Held.model").outputs(TEXTS), found)


def test_functions(module: Module) -> None:
    spec = module("""
        def scores(texts):
            assert type(texts) is list
            return [[0.0, float(len(text))] for text in texts]
    """)
    model = PythonObject(f"{spec}scores")
    assert (model.kind, model.classes) == ("either", None)
    assert model.outputs(tuple(TEXTS))[:, 1].tolist() == [16, 6, 5, 17]


def test_fingerprints(module: Module) -> None:
    """Of the state where it can be read, else of the answers: another function, or one that draws, is another."""
    model = PythonObject(f"{module(PIPELINE)}logistic")
    before, answer = model.fingerprint(["zzz"]), model.outputs(["zzz"])
    assert model.fingerprint(["zzz"]) == before
    model._object[-1].coef_ *= 1.001
    np.testing.assert_array_equal(model.outputs(["zzz"]), answer)
    assert model.fingerprint(["zzz"]) != before
    functions = module("""
        import random
        made = [lambda texts, k=k: [[0.0, len(text) * k] for text in texts] for k in (1, 1, 2)]
        first, again, second = made
        def drawn(texts):
            return [[0.0, random.random()] for text in texts]
        calls = []
        def shaky(texts):
            calls.append(1)
            return [[-0.0, 1.0 + 1e-9 * len(calls)] for text in texts]
    """)
    first, second = (PythonObject(f"{functions}{name}").fingerprint(TEXTS) for name in ("first", "second"))
    assert first == PythonObject(f"{functions}first").fingerprint(TEXTS)
    assert first != second
    drawn, shaky = PythonObject(f"{functions}drawn"), PythonObject(f"{functions}shaky")
    assert drawn.fingerprint(TEXTS) != drawn.fingerprint(TEXTS)
    # The last bits do not count.
    assert shaky.fingerprint(TEXTS) == shaky.fingerprint(TEXTS)


@pytest.mark.parametrize("spec", ["python:", "python:json", "python:json:", "python:a b:c", "python:../x:y"])
def test_specs_that_are_none(spec: str) -> None:
    with pytest.raises(UsageError, match=r"expected python:package.module:object"):
        PythonObject(spec)


def test_objects_that_are_none(module: Module) -> None:
    spec = module("""
        import numpy as np
        number = 3
        class Kind: pass
        class Several:
            classes_ = [np.array([0, 1]), np.array([0, 1])]
            def predict_proba(self, texts): return None
        several = Several()
    """)
    for name, message in (("number", "a int has neither"), ("Kind", "is a class"), ("none", "there is no none"),
                          ("several", "several things at once")):
        with pytest.raises(InputError, match=message):
            PythonObject(f"{spec}{name}")
    with pytest.raises(InputError, match="importing no_such_module_1 failed with ModuleNotFoundError"):
        PythonObject("python:no_such_module_1:x")


@pytest.mark.parametrize(("returned", "message"), [
    ("[[0.5, 0.5]]", r"4 inputs gave an array of the shape \(1, 2\)"), ("1.0", r"shape \(\)"),
    ("['x'] * 4", "ValueError"), ("1 / 0", "ZeroDivisionError"), ("texts[99]", "IndexError"),
    ("[[0.1], [0.2, 0.3], [0.1], [0.1]]", "ValueError"),
    ("(_ for _ in ()).throw(ValueError(texts[0]))",
     r"ValueError when asked for the scores of 4 inputs, a list; .* wrap it in a function that does"),
])
def test_answers_that_are_none(module: Module, returned: str, message: str) -> None:
    model = PythonObject(f"{module(f'def scores(texts): return {returned}')}scores")
    with pytest.raises(InputError, match=message) as caught:
        model.outputs(TEXTS)
    assert "bread" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
