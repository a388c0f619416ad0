"""Checking a certificate: the commitment, the order, every figure. No text, no model, no training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isclose, isfinite
from typing import Any

from discreet.audit.sealed.certificate import KIND, SCHEMA, SEALS, digest_of
from discreet.audit.sealed.commit import Opening, canonical
from discreet.audit.sealed.findings import findings, in_range
from discreet.audit.sealed.openings import are_openings, hash_of_scores
from discreet.audit.sealed.reveal import Revealed
from discreet.audit.sealed.scores import MOST_SCORE
from discreet.audit.sealed.sign import verifies
from discreet.core.errors import InputError

HEAD = ("kind", "schema", "discreet", "made", "commitment")
TAIL = ("other_openings", "scores_hash", "scores", "opened", *SEALS)
SETTINGS = {"alpha", "tolerance", "delta"}
TOLERANCE = 1e-6


def problems(certificate: Mapping[str, Any], *, commitment: str | None = None,
             public_key: str | None = None) -> list[str]:
    """Why a certificate is not consistent, one line each; empty where it is.

    Parameters
    ----------
    certificate : mapping
        As `read_certificate` returns it; anything may be wrong with it.
    commitment : str or None
        The hash that was published before training. Without it the certificate is only checked against its own.
    public_key : str or None
        Raw Ed25519 key in hexadecimal digits; where given, the certificate must be signed with it.
    """
    try:
        return list(_problems(certificate, commitment, public_key))
    except (InputError, RecursionError) as error:
        return [str(error)]
    except ValueError:
        # JSON spells a number beyond all floats as 1e999; nothing that discreet writes holds one.
        return ["it holds a number that is not finite: something was altered"]


def _problems(certificate: Mapping[str, Any], commitment: str | None, public_key: str | None) -> Iterator[str]:
    yield from _seals(certificate, public_key)
    opening = Opening.from_json(certificate.get("opened"), "certificate")
    found = opening.commitment()
    if certificate.get("commitment") != found:
        yield "the opened coins do not hash to the certificate's commitment: one of them was altered"
    if commitment is not None and found != commitment:
        yield "the opened coins do not hash to the commitment that was published: they are of another seal"
    revealed = _revealed(opening, certificate.get("scores"))
    if isinstance(revealed, str):
        yield revealed
        return
    settings = {name: float(certificate[name]) for name in SETTINGS if _number(certificate.get(name))}
    if set(settings) != SETTINGS or not in_range(**settings):
        yield "alpha, tolerance or delta is missing or out of range"
        return
    if opening.alpha is not None and settings["alpha"] != opening.alpha:
        yield f"'alpha' is not the {opening.alpha:g} that was committed to: it was altered"
    mine, others = hash_of_scores(revealed.names, revealed.scores), certificate.get("other_openings")
    if certificate.get("scores_hash") != mine:
        yield "'scores_hash' is not that of the scores: one of them was altered"
    if not are_openings(others) or any(one["scores"] == mine for one in others or ()):
        yield "'other_openings' is no list of openings with other scores: it was altered"
        return
    expected = findings(revealed.differences(), revealed.names, unit=opening.unit, source=opening.source,
                        committed=opening.alpha is not None,
                        others=[float(one["log10_e_value"]) for one in others or ()], **settings)
    for name, value in expected.items():
        if name not in certificate or not same(certificate[name], value):
            yield f"'{name}' is not what coins and scores give: it was altered"
    if extra := sorted(set(certificate) - set(expected) - {*HEAD, *TAIL}):
        yield f"{len(extra)} fields are not of a certificate of schema {SCHEMA}: they were added"


def _seals(certificate: Mapping[str, Any], public_key: str | None) -> Iterator[str]:
    if certificate.get("kind") != KIND or certificate.get("schema") != SCHEMA:
        yield f"it is no certificate of schema {SCHEMA}"
    if missing := sorted({*HEAD, *TAIL} - set(certificate)):
        yield f"{', '.join(missing)} of a certificate of schema {SCHEMA} is missing: it was taken out"
    if certificate.get("digest") != digest_of(certificate):
        yield "the digest does not fit: something was altered"
    signature = certificate.get("signature")
    if signature is not None:
        body = {key: value for key, value in certificate.items() if key != "signature"}
        if not verifies(signature, canonical(body)):
            yield "the signature does not fit: something was altered, or another key signed"
    if public_key is not None and (not isinstance(signature, Mapping) or signature.get("public_key") != public_key):
        yield "it is not signed with the key that was given"


def _revealed(opening: Opening, scores: Any) -> Revealed | str:
    """Opening and scores, or what is wrong with the scores."""
    names = scores.get("names") if isinstance(scores, Mapping) else None
    values = scores.get("values") if isinstance(scores, Mapping) else None
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        return "the scores have no names"
    if set(scores) != {"names", "values"}:
        return "the scores hold something else than names and values"
    if len(set(names)) < len(names) or not isinstance(values, Mapping):
        return "the scores have a name twice, or no values"
    members = {k for pair in opening.pairs for side in pair for k in side}
    if set(values) != members:
        return "the scores are not of exactly the members of the pairs"
    for row in values.values():
        whole = isinstance(row, list) and len(row) == len(names)
        if not whole or not all(_number(v) and abs(v) <= MOST_SCORE for v in row):
            return "the scores hold something else than one finite number per name"
    return Revealed(opening, tuple(names), values)


def same(given: Any, expected: Any) -> bool:
    """Equal JSON values; floats up to what another machine's arithmetic may change."""
    if isinstance(expected, Mapping):
        return isinstance(given, Mapping) and set(given) == set(expected) and all(
            same(given[key], value) for key, value in expected.items())
    if isinstance(expected, list | tuple):
        return isinstance(given, list) and len(given) == len(expected) and all(map(same, given, expected))
    if isinstance(expected, float):
        return _number(given) and isclose(given, expected, rel_tol=TOLERANCE, abs_tol=1e-9)
    return type(given) is type(expected) and bool(given == expected)


def _number(value: Any) -> bool:
    # A whole number of JSON may be too large for a float.
    ordinary = isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**1000)
    return ordinary and not isinstance(value, bool) and isfinite(value)
