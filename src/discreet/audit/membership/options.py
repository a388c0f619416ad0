"""The options of a membership audit, and what is refused before anything is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, TypedDict, Unpack

import numpy as np

from discreet.audit.core.verdict import check_at_least
from discreet.core.calls import check_facts
from discreet.core.errors import UsageError, meant, shown


class AuditOptions(TypedDict, total=False):
    """The options of `audit_membership` that do not depend on where scores come from."""

    design: str
    tolerance_auc: float
    tolerance_part: float
    exclude_parts: Sequence[str]
    base_rates: Sequence[float]
    permutations: int
    bootstraps: int
    seed: int
    attacks: Sequence[str] | None


def check_options(known: Iterable[str] = (), /, **options: Unpack[AuditOptions]) -> None:
    """UsageError for an option that `audit_membership` cannot take; `known` are further ones that may be meant."""
    if unknown := set(options) - set(AuditOptions.__annotations__):
        raise UsageError(f"there is no option {min(unknown)!r}; "
                         f"{meant(min(unknown), {*known, *AuditOptions.__annotations__})}")
    values: Mapping[str, Any] = options
    for option, kind, expected in (("exclude_parts", str, "names, such as ['class 0']"),
                                   ("attacks", str, "names, such as ['loss']"), ("base_rates", Real, "shares of 1")):
        given = values.get(option, ())
        if option == "attacks" and given is None:
            continue
        if isinstance(given, str) or not isinstance(given, Collection | np.ndarray):
            raise UsageError(f"{option} is {shown(given)}: expected a list of {expected}")
        if wrong := [shown(one) for one in given if not isinstance(one, kind)]:
            raise UsageError(f"{option} holds {wrong[0]}: expected a list of {expected}")
    for name, usual in (("AUC", 0.55), ("part", 0.65)):
        value = values.get(f"tolerance_{name.lower()}", usual)
        if not isinstance(value, Real) or not 0.5 < float(value) < 1.0:
            raise UsageError(f"tolerance {name} is {shown(value)}: expected a number from 0.5 to 1, such as {usual}")
    for rate in options.get("base_rates", ()):
        if not 0.0 < rate < 1.0:
            raise UsageError(f"base rate is {rate}: expected a share between 0 and 1, such as 0.01")
    check_at_least("permutations", options.get("permutations", 0))
    check_at_least("bootstraps", options.get("bootstraps", 1), 1)
    check_at_least("seed", options.get("seed", 0))


def check_brought(texts: Any, features: Any, provenance: Any, examples: int) -> None:
    """UsageError for `texts`, `features` of so many `examples`, or `provenance` that `audit_membership` cannot take."""
    if texts is not None and not (isinstance(texts, Mapping)
                                  and all(isinstance(one, str) for one in (*texts, *texts.values()))):
        what = "a mapping with other things than words" if isinstance(texts, Mapping) else shown(texts)
        raise UsageError(f"texts is {what}: expected a mapping of example ids to texts")
    shape: tuple[int, ...] = tuple(getattr(features, "shape", ()))
    if features is not None and (len(shape) != 2 or shape[0] != examples):
        what = f"have the shape {shape}" if shape else f"are {shown(features)}"
        raise UsageError(f"features {what}: expected an array or a sparse matrix with a row for each of the "
                         f"{examples:,} examples")
    if provenance is not None:
        check_facts(provenance, "provenance")
