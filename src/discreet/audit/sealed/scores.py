"""Scores of the records in the pairs, one or several numbers per id where a higher one says "member", and what the
coins say of them: e-value, ε lower bounds, power and a verdict, as a pure function of the differences."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import exp, inf, log
from numbers import Real
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from discreet.audit.core.verdict import Sentences
from discreet.audit.scores.read import Given, short
from discreet.audit.scores.signals import LARGEST, class_logits
from discreet.audit.scores.table import IN, OUT, UNKNOWN, ScoreTable
from discreet.audit.sealed.opening import Opening, Source, Unit, hash_of
from discreet.core.errors import InputError, need
from discreet.core.files import KeyedHash
from discreet.core.numbers import counted
from discreet.core.types import BoolArray, FloatArray
from discreet.inputs.columns import ColumnFile, Frame, frame_columns, open_columns, row_columns
from discreet.inputs.rows import Place, Row, iter_rows
from discreet.stats import epsilon as bounds
from discreet.stats.estimates import rate_estimate
from discreet.stats.evalues import KINDS, first_crossing, log_e_average

Rows: TypeAlias = Path | str | Frame | Iterable[Mapping[str, Any]]
"""A JSON Lines, CSV or Parquet file, a data frame, or mappings."""

GIVEN: tuple[Given, ...] = ("logit", "prob")
LEAST_PROB = 1e-300
GIVEN_DATA = "the given data"
EXPECTED = "expected a path, a data frame, or a mapping of columns for each row"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scores:
    """`values[j]` (float64, shape (n, s)) belongs to `ids[j]`; `names` (s) says what the columns are."""

    names: tuple[str, ...]
    ids: tuple[str, ...]
    values: FloatArray


def rows_of(source: Rows, columns: Collection[str], required: Collection[str]) -> Iterator[Row]:
    """The rows of a file (see `iter_rows`), a data frame or mappings; InputError for none, or a missing column."""
    if isinstance(source, str | Path):
        yield from iter_rows(Path(source), columns, required)
        return
    if hasattr(source, "__arrow_c_stream__"):
        source = need("pyarrow", "reading a data frame", "audit").table(source).to_pylist()
    if isinstance(source, bytes | Mapping) or not isinstance(source, Iterable):
        raise InputError(f"{GIVEN_DATA} are of the type {type(source).__name__}; {EXPECTED}")
    number = 0
    for number, row in enumerate(source, start=1):
        place = Place(GIVEN_DATA, "row", number)
        if not isinstance(row, Mapping):
            place.fail(f"the row is of the type {type(row).__name__}; {EXPECTED}")
        if absent := [name for name in required if name not in row]:
            place.fail(f"there is no {absent[0]!r}; expected {', '.join(required)}")
        yield place, row
    if not number:
        raise InputError(f"{GIVEN_DATA} hold no rows; expected at least one with {', '.join(required)}")


def read_scores(source: Rows) -> Scores:
    """Scores of a JSON Lines, CSV or Parquet file, a data frame, or mappings.

    Columns: `id` and `score` (and any `score_…`, each a score of its own); or `id`, `label` and `logit_<class>` (or
    `prob_<class>`) of every class, of which two scores are made: `log_p`, the log probability of the label (minus
    the loss), and `margin`, its logit minus the largest other. The label is the <class> itself, such as 0 for logit_0.

    InputError for neither, an id twice, a value that is no finite number, a label without its column, and probabilities
    that do not sum to 1.
    """
    file = _opened(source)
    if "id" not in file.names:
        file.fail("there is no 'id'; expected a row for each record, with its id")
    ids = file.coded("id")
    first = np.unique(ids.codes, return_index=True)[1]
    twice = np.setdiff1d(np.arange(file.rows), first)
    for rows, what in ((np.flatnonzero(ids.codes < 0), "'id' is empty; expected a string or a whole number"),
                       (twice, "the id of this row was used before; ids must be unique")):
        if rows.size:
            file.fail(what, int(rows[0]))
    if scores := sorted(filter(_is_score, file.names)):
        names, values = scores, np.stack([file.numbers(name) for name in scores], axis=1)
        for name, column in zip(scores, values.T, strict=True):
            _refuse(file, ~(np.abs(column) <= LARGEST), f"{name!r} is NaN, infinite or null", "a finite number")
    else:
        names, values = ["log_p", "margin"], _of_classes(file)
    return Scores(tuple(names), tuple(ids.names[code] for code in ids.codes), values)


def _opened(source: Rows) -> ColumnFile:
    if isinstance(source, str | Path):
        return open_columns(Path(source), _known, _is_number, "id, score")
    if hasattr(source, "__arrow_c_stream__"):
        return frame_columns(cast("Frame", source), _known, GIVEN_DATA)
    return row_columns(Path(GIVEN_DATA), rows_of(source, (), ()), _known, _is_number)


def _known(name: str) -> bool:
    return name in ("id", "label") or _is_number(name)


def _is_number(name: str) -> bool:
    return _is_score(name) or name.startswith(tuple(f"{one}_" for one in GIVEN))


def _is_score(name: str) -> bool:
    return name == "score" or name.startswith("score_")


def _of_classes(file: ColumnFile) -> FloatArray:
    """Log probability and margin of the label of each row, (R, 2)."""
    given = next((one for one in GIVEN if any(name.startswith(f"{one}_") for name in file.names)), None)
    if given is None:
        file.fail("there is neither 'score' nor 'logit_…'; expected id and score, or id, label and logit_0 … logit_K")
    columns = sorted(name for name in file.names if name.startswith(f"{given}_"))
    if "label" not in file.names:
        file.fail(f"there is '{given}_…' and no 'label'; expected the label of every row, or a column 'score'")
    if len(columns) == 1:
        file.fail(f"there is one column '{given}_…'; expected one for every class")
    labels = file.coded("label")
    place = {name: number for number, name in enumerate(columns)}
    label = np.array([*(place.get(f"{given}_{name}", -1) for name in labels.names), -1])[labels.codes]
    _refuse(file, label < 0, "the label has no column", f"one of the {len(columns)} classes of '{given}_…'")
    rows = np.arange(file.rows)
    logits = class_logits(file, given, columns, rows, partial(_refuse, file), clip=LEAST_PROB)
    own = logits[rows, label]
    others = logits[np.arange(len(columns)) != label[:, None]].reshape(file.rows, -1) - own[:, None]
    log_p = own if given == "prob" else -np.logaddexp.reduce(np.insert(others, others.shape[1], 0.0, axis=1), axis=1)
    return np.stack([log_p, -others.max(axis=1)], axis=1)


def _refuse(file: ColumnFile, bad: BoolArray, what: str, expected: str) -> None:
    if bad.any():
        file.fail(f"{what} here, and so in {counted(int(bad.sum()), 'row')}; expected {expected}", int(bad.argmax()))


@dataclass(frozen=True, slots=True, repr=False)
class Revealed:
    """An opening with the scores of its members: by keyed id one number per name, such as ("log_p", "margin")."""

    opening: Opening
    names: tuple[str, ...]
    scores: Mapping[str, Sequence[float]]

    def differences(self) -> FloatArray:
        """Score of the trained side minus that of the other (means over their records), shape (names, pairs)."""
        trained, left = ([np.mean([self.scores[keyed] for keyed in side], axis=0) for side in sides]
                         for sides in self.opening.members())
        return np.asarray(np.subtract(trained, left), dtype=np.float64).T

    def scores_hash(self) -> str:
        """SHA-256 of the scores under keyed ids: the same whatever file they came in."""
        return hash_of({"names": list(self.names), "values": {k: list(v) for k, v in self.scores.items()}})


def reveal(opening: Opening, keyed: KeyedHash, scores: Scores, source: str = "scores") -> Revealed:
    """Join opening and scores; scores of records in no pair are passed over. InputError where a member has none."""
    of = {keyed.of(name): row for name, row in zip(scores.ids, scores.values.tolist(), strict=True)}
    wanted = [(number, k) for number, pair in enumerate(opening.pairs, start=1) for side in pair for k in side]
    missing = [number for number, k in wanted if k not in of]
    if len(missing) == len(wanted):
        raise InputError(f"{source} has no score for any of the {len(wanted)} members of the pairs: its ids are those "
                         f"of other records; expected one for every row of probe.jsonl, under the same ids")
    if missing:
        raise InputError(f"{source} has no score for {len(missing)} members of the {len(opening.pairs)} pairs (the "
                         f"first in pair {missing[0]}); expected one for every row of probe.jsonl, under the same ids")
    return Revealed(opening, scores.names, {k: tuple(of[k]) for _, k in wanted})


def under_seal(table: ScoreTable, opening: Opening, keyed: KeyedHash, source: str) -> tuple[ScoreTable, int]:
    """A membership table with the examples that coins decided, and how many others were left out.

    A record in no pair was trained on whatever the coins said, so it cannot be compared with those that were left to
    them. Examples that are never compared so are kept: planted ones and those of the split "population". InputError,
    beginning with `source`, for coins from a seed, which were no secret; a record of a pair without scores, for whoever
    leaves some out may choose which; a target whose 'member' says something else than the coins.
    """
    if opening.source != "os":
        raise InputError(f"{source}: the coins of this seal came from a seed and were no secret; expected a seal made "
                         f"without --seed, or --design randomised")
    trained, left = opening.members()
    said = {name: code for sides, code in ((trained, IN), (left, OUT)) for side in sides for name in side}
    coins = np.array([said.get(keyed.of(str(name)), UNKNOWN) for name in table.examples.id], dtype=np.int8)
    if absent := len(said) - int((coins != UNKNOWN).sum()):
        raise InputError(f"{source}: {counted(absent, 'record')} of the {len(said):,} in the pairs of the seal "
                         f"{'has' if absent == 1 else 'have'} no scores; score every row of probe.jsonl, under the "
                         f"same ids")
    for target in table.of_role("target"):
        if wrong := int(((coins != UNKNOWN) & (table.member[target] != coins)).sum()):
            raise InputError(f"{source}: 'member' of target {short(table.models[target].name)} is not what the coins "
                             f"say for {wrong:,} of {len(said):,} sealed records; expected true for those of "
                             f"train.jsonl, or the seal that this target was trained under")
    kept = (coins != UNKNOWN) | (table.examples.planted > 0)
    if table.examples.split is not None:
        kept |= np.asarray(table.examples.split == "population", dtype=np.bool_)
    return (table if kept.all() else table.take(np.flatnonzero(kept))), int((~kept).sum())


ALPHA = 0.05
TOLERANCE = 0.55
POWER = 0.8
LOG_MOST = 709.0
say = Sentences.read(__package__).of("certificate")


def findings(differences: FloatArray, names: Sequence[str], *, unit: Unit, source: Source, alpha: float = ALPHA,
             tolerance: float = TOLERANCE, delta: float = 0.0, others: Sequence[float] = ()) -> dict[str, Any]:
    """The figures of a certificate.

    Parameters
    ----------
    differences : (s, n) finite
        Score of the trained side minus that of the other, in the committed order of pairs, a row per name.
    alpha : float in (0, 1)
        `rejected` where the e-process ever reaches 1/alpha; ε bounds hold with confidence 1 − alpha.
    tolerance : float in (½, 1)
        The win rate (how often the trained one of a pair scores higher) that must not be missed.
    delta : float in [0, 1)
        Of (ε, δ); the anytime bound is of δ = 0.
    others : sequence of float
        log10 of the `e_value` of every other file of scores that the seal was opened with.

    Returns
    -------
    dict of plain JSON values. `e_value` is the e-process after all pairs and `e_value_max` its highest point, which
    `rejected` is about and `p_value` is 1 over, valid at any time (both at most 8e307; their `log10_…` have no such
    limit). `e_value_average` is that of all `openings`. `power` is a lower bound of the chance that a leak of win rate
    `tolerance` is found by these pairs, `least_win_rate` the one that is found with chance .8, and `least_epsilon` the
    least ε that allows such a win rate. `reason_code` and `claim_codes` stay when the sentences change.
    """
    path = log_e_average(differences, 0.5)
    # The e-process at its end and at its highest, and the average of all ends.
    ends = [float(path[-1]), *(one * log(10.0) for one in others)]
    logs = {"e_value": ends[0], "e_value_max": float(path.max()),
            "e_value_average": float(np.logaddexp.reduce(ends)) - log(len(ends))}
    crossing = first_crossing(path, alpha)
    scores, n = differences.shape
    untied = [int((row != 0).sum()) for row in differences]
    wins = [int((row > 0).sum()) for row in differences]
    betting = min(untied)
    threshold = KINDS * scores / alpha
    bound = bounds.ladder_epsilon(differences, alpha, delta=delta)
    least = bounds.least_rate(betting, threshold, POWER)
    rates = {name: rate_estimate(w, m, level=1.0 - alpha / scores, unit="pair", of="pairs without a tie")
             for name, w, m in zip(names, wins, untied, strict=True)}
    found: dict[str, Any] = {
        "design": "sealed", "unit": unit, "coins_from": "operating system" if source == "os" else "seed: not secret",
        "alpha": alpha, "rejected": crossing is not None, "rejected_at": crossing,
        **{name: exp(min(value, LOG_MOST)) for name, value in logs.items()},
        **{f"log10_{name}": value / log(10.0) for name, value in logs.items()}, "openings": 1 + len(others),
        "p_value": min(1.0, exp(-float(path.max()))), "pairs": n, "pairs_untied": dict(zip(names, untied, strict=True)),
        "win_rate": {name: rate.to_json() for name, rate in rates.items()}, "epsilon_lower": bound.epsilon,
        "epsilon_lower_anytime": bounds.anytime_epsilon(differences, alpha),
        "epsilon_lower_add_remove": bound.epsilon / 2.0, "delta": delta, "epsilon_level": 1.0 - alpha,
        "epsilon_from": {"score": names[bound.score], "guesses": bound.guesses, "correct": bound.correct},
        "epsilon_ceiling": bounds.epsilon_ceiling(betting, alpha, scores=scores) if betting else None,
        "power": bounds.detection_power(betting, tolerance, threshold), "tolerance": tolerance, "least_win_rate": least,
        "least_epsilon": None if least is None else bounds.epsilon_of_rate(least)}
    high = max(inf if rate.high is None else rate.high for rate in rates.values())
    verdict, reason = ("fail", "leak_found") if found["rejected"] else (
        "inconclusive", "power_too_low") if found["power"] < POWER else (
        "inconclusive", "win_rate_unclear") if high > tolerance else ("pass", "no_leak_found")
    last = {"several_openings": bool(others), "seeded": source != "os"}
    claims = ["false_findings", "what_leaks" if found["rejected"] else "no_proof_of_privacy",
              "no_difference" if found["epsilon_ceiling"] is None else "largest_epsilon", "blind_scorer",
              *(code for code, applies in last.items() if applies)]
    facts = {**found, "who": "record" if unit == "record" else "user", "odds": 1.0 / alpha, "least_power": POWER,
             "high": high, "any_false": min(1.0, found["openings"] * alpha)}
    return {**found, "verdict": verdict, "reason": str(say(reason, **facts)), "reason_code": reason,
            "claims": [str(say(code, **facts)) for code in claims], "claim_codes": claims}


def in_range(tolerance: Any, delta: Any) -> bool:
    """Whether the settings of an opening can be."""
    return (isinstance(tolerance, Real) and isinstance(delta, Real)
            and 0.5 < float(tolerance) < 1.0 and 0.0 <= float(delta) < 1.0)
