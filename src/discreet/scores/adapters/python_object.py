"""A scikit-learn estimator, or any function of a list of texts, named as `python:package.module:object`.

Importing a module runs its code, with all that it may do: name only modules that you trust as your own.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.errors import InputError, UsageError
from discreet.core.types import FloatArray
from discreet.scores.adapters.scorer import Kind

PYTHON = "python:"
SPEC = re.compile(rf"{PYTHON}(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<object>[^\W\d]\w*(?:\.[^\W\d]\w*)*)")
DECIMALS = 4
"""To which the answers to probes are compared: services and threads round the last bits differently."""


class PythonObject:
    """An object with `predict_proba` or `decision_function` over a list of texts, or a function of one.

    Both give a row a text, a column a class; a function may return probabilities or logits. `predict_proba` comes
    first, `classes_` names the columns. The module may lie in the working directory. Raises UsageError for a spec of
    another form, InputError for a module or object that is not there or cannot be asked.
    """

    def __init__(self, spec: str) -> None:
        self.name = spec
        self._object = load_object(spec)
        self._ask, self.kind = _method(self._object, spec)
        self.classes = _classes(self._object, spec)

    def fingerprint(self, probes: Sequence[str]) -> str:
        """By what the object holds, where joblib can hash it, and by what it says of `probes`."""
        digest = hashlib.sha256(f"{self.name} {_held(self._object)}".encode())
        digest.update(rounded(self.outputs(probes)))
        return digest.hexdigest()

    def outputs(self, texts: Sequence[str]) -> FloatArray:
        """As `Scorer`. InputError where the object fails or does not return a row a text."""
        try:
            given = np.asarray(self._ask(list(texts)), dtype=np.float64)
        except Exception as error:
            # The message may quote a text.
            raise InputError(f"{self.name}: {type(error).__name__} when asked for the scores of {len(texts)} texts; "
                             f"expected it to take a list of strings and return a row of numbers each") from None
        if given.ndim == 0 or len(given) != len(texts):
            raise InputError(f"{self.name}: {len(texts)} texts gave an array of the shape {given.shape}; expected a "
                             f"row a text")
        return given

    def facts(self, texts: Sequence[str]) -> Mapping[str, str]:
        """The type of the object."""
        return {"model_type": type(self._object).__name__}


def rounded(outputs: FloatArray) -> bytes:
    """The bytes of `outputs` to a few decimals, without negative zeros."""
    return (np.round(outputs, DECIMALS) + 0.0).tobytes()


def load_object(spec: str, expected: str = "an estimator or a function") -> Any:
    """What `python:package.module:object` names, `expected` as messages say. Raises as `PythonObject`."""
    named = SPEC.fullmatch(spec)
    if named is None:
        raise UsageError(f"{spec!r} names no Python object; expected {PYTHON}package.module:object")
    module, path = named["module"], named["object"]
    # The command has no working directory on its path, as `python` has.
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found = import_module(module)
    except Exception as error:
        raise InputError(f"{spec}: importing {module} failed with {type(error).__name__}; expected a module that "
                         f"python -c 'import {module}' imports") from error
    finally:
        sys.path.remove(here)
    for name in path.split("."):
        if not hasattr(found, name):
            raise InputError(f"{spec}: there is no {path} in {module}; expected {expected}")
        found = getattr(found, name)
    return found


def _method(found: Any, spec: str) -> tuple[Any, Kind]:
    if isinstance(found, type):
        raise InputError(f"{spec}: it is a class; expected a fitted estimator or a function")
    if hasattr(found, "predict_proba"):
        return found.predict_proba, "prob"
    if hasattr(found, "decision_function"):
        return found.decision_function, "logit"
    if callable(found):
        return found, "either"
    raise InputError(f"{spec}: a {type(found).__name__} has neither predict_proba nor decision_function and cannot be "
                     f"called; expected an estimator or a function of a list of texts")


def _classes(found: Any, spec: str) -> tuple[str, ...] | None:
    given = getattr(found, "classes_", None)
    if given is None:
        return None
    if np.ndim(given) != 1:
        raise InputError(f"{spec}: it predicts several things at once; expected a classifier with one list of classes_")
    return tuple(str(one).removesuffix(".0") for one in np.asarray(given).tolist())


def _held(found: Any) -> str:
    """A hash of the object's state; empty where there is no joblib, or it cannot look inside."""
    try:
        return str(import_module("joblib").hash(found))
    except Exception:
        return ""
