from __future__ import annotations

from typing import Any

from discreet.report.released import attacked, by_queries, released

Record = dict[str, Any]


def row(auc: float, selection: str = "global", oracle: bool = False) -> Record:
    return {"attack": "reference", "scale": "logit", "reference_kind": "neutral", "selection": selection,
            "oracle": oracle, "auc": {"value": auc}}


def point(queries: int, auc: float, mechanism: str = "laplace", queried: str = "same") -> Record:
    return {"mechanism": mechanism, "knob": "sigma", "strength": 0.5, "queried": queried, "queries": queries,
            "attacks": [row(0.99, oracle=True), row(auc), row(auc + 0.1, "boundary")]}


def record(*points: Record) -> Record:
    primary = {"attack": "reference", "scale": "logit", "reference_kind": "neutral", "selection": "global"}
    return {"primary": primary, "points": list(points)}


def test_points_of_one_mechanism_stand_together_in_order() -> None:
    found = released(record(point(1, 0.6), point(1, 0.7, "keyed"), point(4, 0.8),
                            point(4, 0.7, "keyed", "near-duplicates"), point(4, 0.7, "own_kind")))
    assert [(one.name, len(one.points)) for one in found] == [
        ("laplace sigma 0.5", 2), ("keyed sigma 0.5", 1), ("keyed sigma 0.5, near-duplicates", 1),
        ("own_kind sigma 0.5", 1)]
    assert [one.words for one in found][0::3] == ["fresh noise, sigma 0.5", "own kind, sigma 0.5"]


def test_the_row_is_that_of_the_primary_attack_and_no_oracle() -> None:
    one = point(1, 0.6)
    assert attacked(record(one), one) == row(0.6)
    assert attacked(record(one), one, "boundary") == row(0.7, "boundary")
    assert attacked(record(one), one, "boundary_union") is None


def test_queries_that_change_nothing_stand_once() -> None:
    whole = record(point(1, 0.6), point(16, 0.6), point(1024, 0.6), point(2048, 0.7), point(4096, 0.6))
    [one] = released(whole)
    assert [(queries, found["auc"]["value"]) for queries, found in by_queries(whole, one)] == [
        ("1 to 1,024", 0.6), ("2,048", 0.7), ("4,096", 0.6)]
    assert by_queries(whole, one, "boundary_union") == []
