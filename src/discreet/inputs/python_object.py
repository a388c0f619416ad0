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
from typing import Any, Literal

import numpy as np

from discreet.core.errors import InputError, UsageError
from discreet.core.types import FloatArray

Kind = Literal["logit", "prob", "either"]
"""What the outputs of an object are."""
PYTHON = "python:"
SPEC = re.compile(rf"{PYTHON}(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<object>[^\W\d]\w*(?:\.[^\W\d]\w*)*)")
DECIMALS = 4
"""To which the answers to probes are compared: services and threads round the last bits differently."""


class FittedObject:
    """An object with `predict_proba` or `decision_function`, or a function, that scores a batch of inputs.

    Each gives a row an input, a column a class; a function may return probabilities or logits. `predict_proba` comes
    first, `classes_` names the columns. Raises InputError for an object that cannot be asked; `name` begins messages.
    """

    def __init__(self, found: Any, name: str, takes: str = "the inputs") -> None:
        self.name, self._object, self._takes = name, found, takes
        self._ask, self.kind = _method(found, name, takes)
        self.classes = _classes(found, name)

    def answers(self, inputs: Any, n: int) -> FloatArray:
        """(n, K) scores of n inputs. InputError where the object fails or does not return a row an input."""
        try:
            given = self._ask(inputs)
            # A tensor of torch may carry gradients, or lie on another device.
            given = np.asarray(given.detach().cpu() if hasattr(given, "detach") else given, dtype=np.float64)
        except Exception as error:
            # The message may quote a text.
            wrap = ": wrap it in a function that does" if self.kind == "either" else ""
            raise InputError(f"{self.name}: {type(error).__name__} when asked for the scores of {n} inputs, a "
                             f"{type(inputs).__name__}; expected it to take {self._takes} and return a row of numbers "
                             f"each{wrap}") from None
        if given.ndim == 0 or len(given) != n:
            texts = " (texts in a data frame: name their column with text=)" if hasattr(inputs, "columns") else ""
            raise InputError(f"{self.name}: {n} inputs gave an array of the shape {given.shape}; expected a row an "
                             f"input{texts}")
        return given

    @property
    def model_type(self) -> str:
        """The type of the object; of a pipeline also that of its last step."""
        steps = getattr(self._object, "steps", None)
        last = f" ({type(steps[-1][1]).__name__})" if isinstance(steps, list) and steps else ""
        return type(self._object).__name__ + last


class PythonObject(FittedObject):
    """A `FittedObject` over a list of texts, in a module.

    The module may lie in the working directory. Raises UsageError for a spec of another form, InputError for a module
    or object that is not there.
    """

    def __init__(self, spec: str) -> None:
        super().__init__(load_object(spec), spec, "a list of strings")

    def fingerprint(self, probes: Sequence[str]) -> str:
        """By what the object holds, where joblib can hash it, and by what it says of `probes`."""
        digest = hashlib.sha256(f"{self.name} {_held(self._object)}".encode())
        digest.update(rounded(self.outputs(probes)))
        return digest.hexdigest()

    def outputs(self, texts: Sequence[str]) -> FloatArray:
        """As `Scorer`."""
        return self.answers(list(texts), len(texts))

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


def _method(found: Any, spec: str, takes: str) -> tuple[Any, Kind]:
    if isinstance(found, type):
        raise InputError(f"{spec}: it is a class; expected a fitted estimator or a function")
    if hasattr(found, "predict_proba"):
        return found.predict_proba, "prob"
    if hasattr(found, "decision_function"):
        return found.decision_function, "logit"
    if callable(found):
        return found, "either"
    raise InputError(f"{spec}: a {type(found).__name__} has neither predict_proba nor decision_function and cannot be "
                     f"called; expected an estimator or a function of {takes}"
                     + (", such as its method predict" if hasattr(found, "predict") else ""))


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
