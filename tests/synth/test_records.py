from __future__ import annotations

import json

import pytest

from discreet.core.files import dump_json
from discreet.synth import records
from discreet.synth.campaign import RETRIES
from discreet.synth.plan import ROLES
from discreet.synth.records import SETTINGS, Draft, Record, Slot, Spec
from discreet.synth.writer import PROFILES

UNSAFE = Record(
    "a-1", Spec("unsafe", "law", "L1", "INDIRECT_QI", ("AGE", "FAMILY"), "REFERRAL", "DISTRIBUTED"),
    Draft("Q?", "Our client is 52 and has two sons.", (Slot("AGE", 11, 16), Slot("FAMILY", 21, 33)), ("52",)),
    "grammar",
)
BORDERLINE = Record(
    "b-1", Spec("borderline", "law", "L6", framing="CASE_VOICE", subtype="EMPATHETIC_DEFLECTION", opening=3),
    Draft("Q?", "We cannot say."), "grammar",
)
SAFE = Record("c-1", Spec("safe", "law", "L2", register="vignette"), Draft("Q?", "A client asks."), "grammar")


@pytest.mark.parametrize("record", [UNSAFE, BORDERLINE, SAFE])
def test_a_record_survives_json(record: Record) -> None:
    assert Record.from_json(json.loads(dump_json(record))) == record


def test_what_a_line_holds() -> None:
    row = UNSAFE.to_json()
    assert row["synthetic"] is True
    assert (row["kind"], row["qi"], row["k"], row["mode"]) == ("unsafe", ["AGE", "FAMILY"], 2, "INDIRECT_QI")
    assert [row["answer"][s["start"]:s["end"]] for s in row["slots"]] == ["is 52", "has two sons"]
    assert not {"register", "subtype", "opening"} & set(row)
    assert BORDERLINE.to_json()["opening"] == 3
    assert SAFE.to_json()["register"] == "vignette"


def test_no_text_in_a_repr() -> None:
    assert "sons" not in repr(UNSAFE)
    assert "52" not in repr(UNSAFE.draft)


@pytest.mark.parametrize(("change", "key"), [
    ({"kind": "leak"}, "kind"), ({"answer": None}, "answer"), ({"qi": "AGE"}, "qi"), ({"qi": [1]}, "qi.0"),
    ({"slots": [{"qi": "AGE", "start": -1, "end": 2}]}, "slots.0.start"), ({"opening": True}, "opening"),
    ({"slots": ["AGE"]}, "slots.0"), ({"id": 7}, "id"),
])
def test_a_wrong_value_is_named_by_its_key_only(change: dict[str, object], key: str) -> None:
    with pytest.raises(ValueError, match=f"'{key}'") as caught:
        Record.from_json({**UNSAFE.to_json(), **change})
    assert "sons" not in str(caught.value)


def test_ones_own_record_needs_little() -> None:
    record = Record.from_json({"id": "x", "kind": "safe", "domain": "law", "answer": "Text."})
    assert record.spec == Spec("safe", "law", "")
    assert record.draft == Draft("", "Text.")


def test_levels_of_the_paper() -> None:
    axes = (records.FRAMINGS, records.PLACEMENTS, records.MODES, records.REGISTERS, records.SUBTYPES)
    assert [len(set(axis)) for axis in axes] == [6, 4, 4, 3, 5]
    assert SETTINGS["classes_bound"] == {2: 0.45, 3: 0.35, 4: 0.20}
    assert tuple(SETTINGS["modes"]) == tuple(RETRIES) == records.MODES
    assert sum(SETTINGS["modes"].values()) == 15_000 + 1_500 + 3_000
    assert {name for roles in ROLES.values() for names in roles.values() for name in names} == set(PROFILES)
