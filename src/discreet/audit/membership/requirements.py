"""What attacks ask of a view: which references count as not trained on a row, and what is missing, in words."""

from __future__ import annotations

import numpy as np

from discreet.audit.membership.view import Attack, References, Scale, View
from discreet.core.types import BoolArray
from discreet.scores.table import ReferenceKind


def out_models(references: References, kind: ReferenceKind) -> BoolArray:
    """(R, N): may this reference stand for "a model that did not train on this row"?

    "population" and "neutral": only where the table says so; a null is no statement. "paired": everywhere; that
    reference *is* trained on the non-members, which is what makes the paper's attack an oracle, and leaving those rows
    out would leave no non-members.
    """
    if kind == "paired":
        return np.ones(references.member.shape, dtype=np.bool_)
    return np.asarray(references.member == 0, dtype=np.bool_)


def in_models(references: References) -> BoolArray:
    """(R, N): was this reference trained on this row, as far as the table says?"""
    return np.asarray(references.member == 1, dtype=np.bool_)


def lacking(attack: Attack, view: View, kind: ReferenceKind | None, *, n_in: int = 0, n_out: int = 0) -> str | None:
    """A clause if `attack` cannot run with references of this kind, else None.

    `n_in` and `n_out` are the references that an example needs on each side; one judged example that has them is
    enough, the others are NaN. Where nothing is judged, any example counts.
    """
    if kind not in attack.kinds:
        able = " or ".join(str(k) for k in attack.kinds if k is not None) or "no"
        return f"it works with {able} references and was asked for {kind or 'none'}"
    if kind is None:
        return None
    if kind not in view.references or view.references[kind].log_p.shape[0] == 0:
        return f"it needs {kind} references and none were brought"
    if not n_in and not n_out:
        return None
    references = view.references[kind]
    enough = np.ones(view.label.size, dtype=np.bool_)
    for least, models in ((n_in, in_models(references)), (n_out, out_models(references, kind))):
        if least:
            enough &= models.sum(axis=0, dtype=np.int32) >= least
    if (enough[view.judged] if view.judged.size else enough).any():
        return None
    asked = " and ".join(part for part in (
        f"{n_in} that trained on it" if n_in else "", f"{n_out} that did not train on it" if n_out else "",
    ) if part)
    return f"it needs, of the {kind} references of an example, at least {asked}, and no judged example has them"


def must_have(attack: Attack, view: View, scale: Scale, kind: ReferenceKind | None) -> None:
    """ValueError if `attack` has no such scale or this view does not suffice; callers ask `needs` first."""
    if scale not in attack.scales:
        raise ValueError(f"scale is {scale!r}: expected one of {', '.join(attack.scales)}")
    clause = attack.needs(view, kind)
    if clause is not None:
        raise ValueError(f"this attack cannot be run on this view: {clause}")
