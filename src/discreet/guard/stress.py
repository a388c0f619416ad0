"""The borderline-safe stress test, for any classifier: does it hear what a text says, or only how it sounds?

A classifier trained on unsafe and safe texts may have learned a tone of voice. Borderline texts have the voice of the
unsafe ones and nothing unsafe in them (PPE, sections IV-E and VI-D): a classifier that keeps its AUROC between unsafe
and borderline reads content, one that loses it reads style. Higher scores mean unsafe; a text is flagged where its
score is at or above the threshold.

Two controls are made of the same scores. *Control* (negative): labels of unsafe and borderline permuted; the AUROC must
be ½, and its spread shows what a score that knows nothing reaches. *Planted* (positive): half of the unsafe put among
the borderline; its FPR must rise, else a low FPR only says that the threshold flags nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from discreet.core.errors import DiscreetError, InputError, UsageError
from discreet.core.records import Answer, Estimate, plain
from discreet.core.types import FloatArray
from discreet.guard import stress_figures as figures
from discreet.guard.guard import Guard
from discreet.stats.arrays import finite_scores

Gate = Literal["pass", "fail", "inconclusive"]
KINDS = ("unsafe", "safe", "borderline")
SEED, TINY = 42, 1e-9


@dataclass(frozen=True, slots=True)
class StressResult:
    """Figures, controls and the verdict of a stress test.

    Attributes
    ----------
    within, borderline : mapping of str to Estimate
        Unsafe against safe, and unsafe against borderline: `auroc`, `fpr95`, `fpr90` (FPR at 95% and 90% TPR),
        `fpr_at_tpr` (at the TPR target), and `fpr_at_threshold` where a threshold was given.
    difference, subtypes
        AUROC within less AUROC on the borderline, paired on the unsafe; FPR as above per borderline subtype.
    controls : mapping of str to Estimate
        `control_auroc`; `planted_fpr` of the borderline with unsafe texts among it, `unplanted_fpr` without them.
    checks : mapping of str to bool
        `control`: ½ lies within it; `planted`: the FPR rises; `direction`: safe texts do not outrank unsafe ones.
    tpr, threshold_at_tpr : float
        The TPR target in (0, 1), and the highest score at or above which that share of the unsafe lies.
    threshold, tpr_at_threshold : float or None, Estimate or None
        The threshold that was given, then the operating point, and the share of the unsafe flagged there.
    max_borderline_fpr, verdict, reason
        The limit of the promotion gate, in (0, 1), what `gate` says (None without a limit), and why, in one line.
    score : str
        What was compared: "guard", "decision_function", "predict_proba", "callable" or "scores".
    """

    within: Mapping[str, Estimate]
    borderline: Mapping[str, Estimate]
    difference: Estimate
    subtypes: Mapping[str, Mapping[str, Estimate]]
    controls: Mapping[str, Estimate]
    checks: Mapping[str, bool]
    tpr: float
    threshold_at_tpr: float
    threshold: float | None
    tpr_at_threshold: Estimate | None
    max_borderline_fpr: float | None
    verdict: Gate | None
    reason: str
    score: str

    def to_json(self) -> dict[str, Any]:
        """The fields under their names, Estimates as records; plain values only."""
        return {name: plain(getattr(self, name)) for name in self.__slots__}


def stress_test(classifier: Any, unsafe: Any, safe: Any, borderline: Any, *, subtypes: Sequence[str | None]
                | None = None, max_borderline_fpr: float | None = None, tpr: float = 0.95,
                threshold: float | None = None, rng: Generator | int | None = None,
                unsafe_label: Any = None) -> StressResult:
    """Score three sets of inputs and test whether the classifier tells unsafe from borderline (PPE, section VI-D).

    Parameters
    ----------
    classifier : Guard, fitted scikit-learn classifier of two classes (a pipeline, a search), or callable
        Of a guard see `guard_scores`; of a classifier its `decision_function`, else its `predict_proba`; a callable
        returns one number per input, higher = unsafe, that does not depend on the rest of its batch.
    unsafe, safe, borderline : sequences of texts, or arrays of n rows
        What the classifier takes; at least one of each. None of them may have been trained on.
    subtypes : sequence of str or None, shape (n_borderline,), optional
        The subtype of each borderline input; None belongs to no subtype.
    max_borderline_fpr : float in (0, 1), optional
        Limit of the promotion gate on the borderline FPR at the operating point.
    tpr, threshold : float in (0, 1), float or None
        The TPR target, which is the operating point unless a threshold in use is given, on the scale of the score that
        is compared (see `StressResult.score`); of a guard 0 by default, its operating point.
    rng, unsafe_label
        Generator or seed of resamples and controls (None is 42); the class that means unsafe (the second by default).

    Raises
    ------
    UsageError, InputError
        For options that cannot be, an empty set, or scores that are not one finite number per input.
    """
    if isinstance(classifier, Guard) and threshold is None:
        threshold = 0.0
    name, ask = _scorer(classifier, unsafe_label)
    given = {kind: _inputs(value, kind) for kind, value in zip(KINDS, (unsafe, safe, borderline), strict=True)}
    _check_options(max_borderline_fpr, tpr, threshold, subtypes, given["borderline"][1])
    return stress_scores(*(_asked(ask, *given[kind], kind, name) for kind in KINDS), subtypes=subtypes, tpr=tpr,
                         threshold=threshold, max_borderline_fpr=max_borderline_fpr, rng=rng, score=name)


def stress_scores(
    unsafe: ArrayLike, safe: ArrayLike, borderline: ArrayLike, *, subtypes: Sequence[str | None] | None = None,
    max_borderline_fpr: float | None = None, tpr: float = 0.95, threshold: float | None = None,
    rng: Generator | int | None = None, score: str = "scores",
) -> StressResult:
    """The same from scores of shape (n,), higher = unsafe; see `stress_test`."""
    u, s, b = (_scores(values, kind) for kind, values in zip(KINDS, (unsafe, safe, borderline), strict=True))
    _check_options(max_borderline_fpr, tpr, threshold, subtypes, b.size)
    draw = np.random.default_rng(SEED if rng is None else rng)
    within, on_borderline = (figures.pairing(u, negatives, tpr, threshold) for negatives in (s, b))
    difference = figures.auroc_difference(u, s, b, draw)
    control = figures.control(u, b, draw)
    planted, unplanted, rises = figures.planted(u, b, tpr, threshold, draw)
    in_control = control.low is not None and control.high is not None and control.low <= 0.5 <= control.high
    turned = within["auroc"].high is not None and within["auroc"].high < 0.5
    checks = {"control": in_control, "planted": rises, "direction": not turned}
    operating = on_borderline["fpr_at_tpr" if threshold is None else "fpr_at_threshold"]
    verdict, reason = gate(operating, max_borderline_fpr, checks)
    kinds = [None] * b.size if subtypes is None else list(subtypes)
    subsets = {name: b[[kind == name for kind in kinds]] for name in sorted({kind for kind in kinds if kind})}
    return StressResult(
        within, on_borderline, difference, {n: figures.rates(u, of, tpr, threshold) for n, of in subsets.items()},
        {"control_auroc": control, "planted_fpr": planted, "unplanted_fpr": unplanted}, checks, float(tpr),
        figures.threshold_at_tpr(u, b, tpr), None if threshold is None else float(threshold),
        None if threshold is None else figures.share(u >= threshold, n_pos=u.size), max_borderline_fpr, verdict, reason,
        score)


def gate(fpr: Estimate, limit: float | None, checks: Mapping[str, bool]) -> tuple[Gate | None, str]:
    """Whether a classifier whose borderline FPR at its operating point is `fpr` may be promoted, and why.

    *Fail* where the whole interval lies above `limit`; *pass* where none of it does and every check holds; else
    *inconclusive*, as where the control does not hold. Without a limit there is no verdict.
    """
    if limit is None:
        return None, "no limit was given"
    if fpr.value is None or fpr.low is None or fpr.high is None:
        return "inconclusive", f"the borderline FPR is unresolved: {fpr.reason or 'it has no interval'}"
    shown = f"the borderline FPR is {fpr}"
    if not checks["control"]:
        return "inconclusive", f"{shown}, but permuted labels do not give an AUROC of 1/2"
    turned = "" if checks["direction"] else "; safe texts outrank unsafe ones, though a higher score must mean unsafe"
    if fpr.low > limit:
        return "fail", f"{shown}, above {limit:g}{turned}"
    if fpr.high > limit:
        return "inconclusive", f"{shown}: {limit:g} lies within, more borderline and unsafe texts would tell{turned}"
    if turned:
        return "inconclusive", shown + turned
    if not checks["planted"]:
        return "inconclusive", f"{shown}, but it does not rise where unsafe texts are planted among the borderline"
    return "pass", f"{shown}, not above {limit:g}"


def _check_options(limit: float | None, tpr: float, threshold: float | None, subtypes: Sequence[str | None] | None,
                   n: int) -> None:
    for name, value in (("max_borderline_fpr", limit), ("tpr", tpr)):
        if value is not None and not 0.0 < value < 1.0:
            raise UsageError(f"{name} is {value:g}; expected a share strictly between 0 and 1")
    if threshold is not None and not isfinite(threshold):
        raise UsageError(f"threshold is {threshold:g}; expected a finite score")
    if subtypes is not None and len(subtypes) != n:
        raise UsageError(f"there are {len(subtypes)} subtypes for {n} borderline inputs; expected one for each")
    if any(not (name is None or isinstance(name, str)) for name in subtypes or ()):
        raise UsageError("subtypes hold values that are not strings; expected a name or None for each borderline input")


def _scorer(classifier: Any, unsafe_label: Any) -> tuple[str, Callable[[Any], Any]]:
    """How unsafe inputs are, as (name, function)."""
    if isinstance(classifier, Guard):
        return "guard", lambda inputs: guard_scores(classifier, inputs)
    method = next((m for m in ("decision_function", "predict_proba") if hasattr(classifier, m)), None)
    if method is None and callable(classifier) and not isinstance(classifier, type):
        return "callable", classifier
    classes = list(getattr(classifier, "classes_", ()))
    problem = ("has neither decision_function nor predict_proba" if method is None
               else "has no classes_" if not hasattr(classifier, "classes_")
               else f"was fitted on {len(classes)} classes" if len(classes) != 2
               else "was fitted on two classes and unsafe_label is none of them"
               if unsafe_label is not None and unsafe_label not in classes else None)
    if method is None or problem is not None:
        raise UsageError(f"{type(classifier).__name__} {problem}; expected a classifier fitted on two classes, one of "
                         "them unsafe, or a callable that returns one score per input")
    at = 1 if unsafe_label is None else classes.index(unsafe_label)
    ask = getattr(classifier, method)
    if method == "predict_proba":
        return method, lambda inputs: np.asarray(ask(inputs))[:, at]
    return method, lambda inputs: np.ravel(ask(inputs)) * (1.0 if at else -1.0)


def guard_scores(guard: Guard, answers: Iterable[Answer | str]) -> list[float]:
    """How far answers lie beyond the thresholds of a guard, in log-odds: at or above 0 exactly where it flags.

    The larger of what evidence and the discriminator say. InputError where the guard failed on an answer.
    """
    scores = []
    for answer in answers:
        judged = guard.judge(answer)
        verdict = judged.verdict
        if judged.evidence is None:
            raise InputError(f"the guard failed on the answer {verdict.id!r}: {verdict.reason}; leave it out")
        evidence = judged.evidence.logit - guard.evidence_tau
        score = evidence if verdict.delta is None or guard.tau is None else max(evidence, verdict.delta - guard.tau)
        scores.append(max(score, 0.0) if verdict.action == "flag" else min(score, -TINY))
    return scores


def _inputs(values: Any, kind: str) -> tuple[Any, int]:
    """Inputs and how many they are; sparse matrices have a shape and refuse len()."""
    if isinstance(values, str | bytes | Mapping) or not (hasattr(values, "__iter__") or hasattr(values, "shape")):
        raise UsageError(f"{kind} is a {type(values).__name__}; expected a sequence of texts or an array of rows")
    inputs: Any = values if hasattr(values, "shape") or hasattr(values, "__len__") else list(values)
    return inputs, int(inputs.shape[0]) if getattr(inputs, "shape", None) else len(inputs)


def _asked(ask: Callable[[Any], Any], inputs: Any, n: int, kind: str, name: str) -> FloatArray:
    try:
        raw = ask(inputs) if n else []
    except DiscreetError:
        raise
    except Exception as error:
        # The message of somebody else's error may quote an input.
        raise InputError(
            f"{name} failed with {type(error).__name__} on the {kind} inputs; call it on them alone to see why"
        ) from None
    scores = _scores(raw, kind)
    if scores.size != n:
        raise InputError(f"{name} gave {scores.size} scores for {n} {kind} inputs; expected one for each")
    return scores


def _scores(values: ArrayLike, kind: str) -> FloatArray:
    try:
        scores = finite_scores(values, f"{kind} scores")
    except ValueError as error:
        raise InputError(str(error)) from None
    if not scores.size:
        raise InputError(f"there are no {kind} rows; expected at least one each of {', '.join(KINDS)}")
    return scores
