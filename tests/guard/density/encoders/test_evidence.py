from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InputError, UsageError
from discreet.core.records import Subject
from discreet.guard.density.encoders.evidence import (
    Detected,
    EvidenceEncoder,
    columns_of,
    evidence_row,
    feature_names,
    read,
)
from discreet.guard.domains import builtin_domains, load_domain
from discreet.guard.text.attributes import Attribute
from discreet.guard.text.direct.detect import DirectSpan
from discreet.guard.text.doc import Doc
from discreet.guard.text.record import Read
from discreet.inputs.encode.base import WholeText

OMAHA = "The client is a 52-year-old female litigator from Omaha with two children and a recent custody filing."


OTHERS: tuple[Subject, ...] = ("asker", "public", "cohort", "nobody")


def said(kind: str, value: str, person: str = "p1", subject: Subject = "third", *, weak: bool = False) -> Attribute:
    return Attribute(kind, value, subject, person, 0, 1, "because", weak)


def row(*attributes: Attribute, direct: tuple[DirectSpan, ...] = (), domain: str = "medical") -> dict[str, float]:
    values = evidence_row(Detected(attributes, direct), domain)
    return dict(zip(feature_names(domain), values.tolist(), strict=True))


def seen(**values: float) -> dict[str, float]:
    """All columns: those given, and 0 for every other one; `__` stands for the colon."""
    given_ = {name.replace("__", ":"): np.float32(value) for name, value in values.items()}
    assert set(given_) <= set(feature_names("medical"))
    return {name: float(given_.get(name, 0.0)) for name in feature_names("medical")}


CASES: list[tuple[list[Attribute], dict[str, float]]] = [
    ([], {}),
    # That somebody is spoken of is no evidence.
    ([said("person", "p1")], {}),
    # One person, by class; a value that comes twice counts once, and what is strong once is not weak.
    ([said("age", "52", weak=True), said("age", "52"), said("place", "Omaha"), said("place", "Omaha"),
      said("place", "Lincoln"), said("family", "2 child", weak=True), said("condition", "anemia"),
      said("sex", "female")],
     {"strong__age": 1 / 3, "strong__place": 2 / 3, "weak__family": 1 / 3, "strong__condition": 1 / 3,
      "strong__sex": 1 / 3, "strong": 3 / 6, "total": 4 / 6, "classes": 3 / 6, "facts": 1 / 6, "pair__strong": 1,
      "pair__total": 1, "pair__paper": 1}),
    # The fullest person is counted, also one who speaks of oneself.
    ([said("age", "9", "p1"), said("age", "40", "speaker", "speaker"),
      said("occupation", "nurse", "speaker", "speaker"), said("place", "Reno", "p2", weak=True)],
     {"strong__age": 1 / 3, "strong__occupation": 1 / 3, "strong": 2 / 6, "total": 2 / 6, "classes": 2 / 6,
      "pair__strong": 1, "pair__total": 1, "pair__paper": 1}),
    # Two weak ones are a pair, and no strong one; facts of the domain are one under the paper's rule only.
    ([said("age", "9", weak=True), said("place", "Reno", weak=True)],
     {"weak__age": 1 / 3, "weak__place": 1 / 3, "total": 2 / 6, "classes": 2 / 6, "pair__total": 1, "pair__paper": 1}),
    ([said("condition", "asthma"), said("treatment", "albuterol")],
     {"strong__condition": 1 / 3, "strong__treatment": 1 / 3, "facts": 2 / 6, "pair__paper": 1}),
    *(([said("age", "50", "x", subject), said("place", "Reno", "y", subject), said("visit", "yearly", "x", subject)],
       {f"{subject}__identifying": 2 / 6, f"{subject}__facts": 1 / 6}) for subject in OTHERS),
]


@pytest.mark.parametrize(("attributes", "columns"), CASES)
def test_what_is_counted(attributes: list[Attribute], columns: dict[str, float]) -> None:
    assert row(*attributes) == seen(**columns)


def test_direct_identifiers() -> None:
    spans = tuple(DirectSpan(kind, 0, 1) for kind in ("person_name", "person_name_hypothetical", "ssn"))
    assert row(direct=spans) == seen(direct__names=2 / 4, direct__others=1 / 4)


def test_a_tie_goes_to_the_first() -> None:
    assert row(said("age", "9", "p2"), said("place", "Reno", "p1"))["strong:age"] > 0
    assert row(said("place", "Reno", "p1"), said("age", "9", "p2"))["strong:place"] > 0


ATTRIBUTES = st.lists(st.builds(
    said, st.sampled_from(columns_of("finance")), st.text("ab", max_size=2), st.sampled_from(["p1", "p2", "speaker"]),
    st.sampled_from(["third", "speaker", "asker", "cohort"]), weak=st.booleans(),
), max_size=30)  # fmt: skip


@given(ATTRIBUTES)
def test_every_value_is_in_the_unit_interval(attributes: list[Attribute]) -> None:
    values = np.array(list(row(*attributes, domain="finance").values()))
    assert ((values >= 0) & (values <= 1)).all()


@given(ATTRIBUTES, st.sampled_from(columns_of("finance")))
def test_a_further_strong_fact_about_the_fullest_never_lowers_the_sums(found: list[Attribute], kind: str) -> None:
    found = [a for a in found if a.person == "p1" and a.subject == "third"]
    before, after = row(*found, domain="finance"), row(*found, said(kind, "new"), domain="finance")
    for name in ("strong", "total", "classes", "facts", "pair:strong", "pair:total", "pair:paper", f"strong:{kind}"):
        assert after[name] >= before[name]


@pytest.mark.parametrize("domain", builtin_domains())
def test_columns_are_named_once_and_alike_in_number(domain: str) -> None:
    names = feature_names(domain)
    assert len(set(names)) == len(names) == EvidenceEncoder(domain).dim == 37


def test_the_paper_s_sentence_is_full_and_advice_is_empty() -> None:
    encoder = EvidenceEncoder("law")
    assert isinstance(encoder, WholeText)
    full, empty = encoder.encode([OMAHA, "A court may grant custody to either parent."])
    columns = dict(zip(encoder.features, full.tolist(), strict=True))
    assert columns["pair:strong"] == 1
    assert columns["strong"] >= 3 / 6 - 1e-6
    assert dict(zip(encoder.features, empty.tolist(), strict=True))["strong"] == 0


def test_unknown_domains() -> None:
    with pytest.raises(UsageError, match="unknown domain 'sport'"):
        EvidenceEncoder("sport")


def test_other_features_are_refused(tmp_path: Path) -> None:
    encoder = EvidenceEncoder("law")
    encoder.features = encoder.features[:-1]
    encoder.save(tmp_path / "e")
    with pytest.raises(InputError, match="counts other evidence features"):
        EvidenceEncoder.load(tmp_path / "e")


def test_a_domain_of_ones_own_is_saved_with_it(tmp_path: Path) -> None:
    load_domain("law").save(tmp_path / "law")
    encoder = EvidenceEncoder(tmp_path / "law")
    encoder.save(tmp_path / "e")
    shutil.rmtree(tmp_path / "law")
    again = EvidenceEncoder.load(tmp_path / "e")
    assert (again.domain, again.domain.builtin) == (load_domain("law"), False)
    np.testing.assert_array_equal(again.encode([OMAHA]), EvidenceEncoder("law").encode([OMAHA]))
    shutil.rmtree(tmp_path / "e" / "domain")
    with pytest.raises(InputError, match="does not hold its domain 'law'"):
        EvidenceEncoder.load(tmp_path / "e")


def test_what_the_detectors_see() -> None:
    text = "Her SSN is 536-22-8145. She is a 47-year-old welder from Omaha."
    found = read(text, "medical")
    assert found.attributes == Read.of(Doc.of(text), load_domain("medical")).attributes
    assert [(s.type, text[s.start : s.end]) for s in found.direct] == [("ssn", "536-22-8145")]
    assert "Omaha" not in repr(found)
