from __future__ import annotations

from collections.abc import Callable

import pytest

from discreet.core.unicode import prepare
from discreet.guard.text.direct.detect import find_direct

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(("text", "names"), [
    ("Mrs. Alvarez came with Mr. J. Smith.", ["Mrs. Alvarez", "Mr. J. Smith"]),
    ("Ms Whitfield-Jones left", ["Ms Whitfield-Jones"]), ("Mr. and Mrs. Whitfield", ["Mrs. Whitfield"]),
    ("Jane Whitfield is the borrower.", ["Jane Whitfield"]),
    ("Jane M. Whitfield and José Núñez met.", ["Jane M. Whitfield", "José Núñez"]),
    ("John Whitfield filed; Mary Alvarez-Cruz left", ["John Whitfield", "Mary Alvarez-Cruz"]),
    ("Tom O'Brien and Ann McDonald", ["Tom O'Brien", "Ann McDonald"]),
    ("Maria de la Cruz and Ludwig van der Berg", ["Maria de la Cruz", "Ludwig van der Berg"]),
    ("Robert Whitfield III", ["Robert Whitfield III"]), ("JANE WHITFIELD was admitted", ["JANE WHITFIELD"]),
    ("Jane Hill and Tyler House", ["Jane Hill", "Tyler House"]), ("Attorney Jane Smith of Omaha", ["Jane Smith"]),
    ("client Austin Powell; Mark Johnson said", ["Austin Powell", "Mark Johnson"]),
    ("Austin Wexford, a 34-year-old welder", ["Austin Wexford"]), ("Estate of Mary Jones", ["Mary Jones"]),
    ("52 y/o F, Jane D., seen today", ["Jane D"]), ("Jane Whitfield’s MRI", ["Jane Whitfield"]),
    ("Jаne Whitfield", ["Jаne Whitfield"]),
])
def test_full_names_and_titled_names_are_found(found: Found, text: str, names: list[str]) -> None:
    assert found(text, "person_name") == names


@pytest.mark.parametrize(("text", "names"), [
    ("a recent widow, Jane, asked about her pension", ["Jane"]), ("my son Tyler has asthma", ["Tyler"]),
    ("a patient named Maria was seen", ["Maria"]),
    ("my sons Tyler and Jake, and her daughter Grace", ["Tyler", "Jake", "Grace"]),
    ("her husband, Will, says so", ["Will"]), ("Maria presented with chest pain", ["Maria"]),
    ("Jane, 52, is tired. Jane's diagnosis was late.", ["Jane", "Jane"]),
    ("Tyler, who lost his job, owes rent", ["Tyler"]),
    ("Jane was diagnosed with lupus. Later Jane sold it.", ["Jane", "Jane"]), ("My name is Jane.", ["Jane"]),
    ("his mother-in-law Ruth", ["Ruth"]), ("patient Jane's chart", ["Jane"]),
])
def test_a_lone_given_name_bound_to_a_person_is_found(found: Found, text: str, names: list[str]) -> None:
    assert found(text, "person_name") == names


@pytest.mark.parametrize(("text", "name"), [
    ("Patient name: Xiuying Tran", "Xiuying Tran"), ("Name: Whitfield, Jane", "Whitfield, Jane"),
    ("**Patient:** Whitfield, Jane", "Whitfield, Jane"), ("client = Jane Whitfield", "Jane Whitfield"),
    ("Account holder's name: Kwabena Mensah", "Kwabena Mensah"),
])
def test_the_field_of_a_form_is_found(found: Found, text: str, name: str) -> None:
    assert found(text, "person_name") == [name]


@pytest.mark.parametrize("text", [
    "Dr. Lee recommends rest, and Dr. Jane Lee agrees.", "Drs. Jane Park and John Lee wrote it.",
    "Jane Lee, MD, and Tom Ruiz, Ph.D., saw him.",
    "Judge Brown ruled; Justice Kagan and Justice Elena Kagan joined; Chief Justice John Roberts wrote.",
    "Agent Ruiz, Special Agent Tom Ruiz and Officer Jane Smith came; the detective Jane Smith left.",
    "The Honorable Michael G. Gotsch; President Joe Biden; Attorney General Lisa Madigan",
    "Brown v. Board of Education, 347 U.S. 483 (1954)",
    "Roe v. Wade; Jane Roe v. Henry Wade; Smith v. Jones, 123 F.3d 456; Ernesto Miranda v. Arizona; In re Jane",
    "Parkinson's disease, Crohn's, Down syndrome, Hodgkin lymphoma, Lou Gehrig's disease, Miller Fisher syndrome",
    "a Roth IRA, the Graham-Harris test, St. Mary's, St. Joseph Hospital, San Jose, Tommy John surgery",
    "the Lilly Ledbetter Fair Pay Act, Megan's Law, Miranda warnings, a Terry stop, the Ryan White Program",
    "Charles Schwab, Edward Jones, Morgan Stanley, Fannie Mae, Stanley Black & Decker, Mary Lanning Hospital",
    "Will Medicare cover it? May Congress act? Mark the date; in April First Street closed.",
    "Austin, Texas; Georgia Power; Virginia Tech was; Jordan Valley; Chase Bank; Grant Thornton",
    "Hurricane Maria, King Charles, Warren Buffett, Albert Einstein, Ruth Bader Ginsburg",
    "John Doe, Jane Doe, Mr. X, Ms. A, Mr. President, Mr. Market, Ms. Magazine",
    "Maria Garcia et al. (2019); W. Chen, P. Lewis and J. Dillon (2020)",
    "LoRA and BERT; an ANA titer; Traditional IRA contribution; THE END", "a drug named Victoria; a storm named Maria",
    "I talked about it with Jane yesterday.",
])
def test_who_is_in_office_or_public_or_nobody_passes(text: str) -> None:
    kinds = {s.type for s in find_direct(prepare(text))}
    assert not kinds & {"person_name", "person_name_hypothetical"}


@pytest.mark.parametrize(("text", "names"), [
    ("Alice sues Bob.", ["Alice", "Bob"]), ("Alice, a landowner, conveys Blackacre to Carol.", ["Alice", "Carol"]),
    ("If Tyler hits Jake, he is liable.", ["Tyler", "Jake"]),
])
def test_hypothetical_parties_have_their_own_type(found: Found, text: str, names: list[str]) -> None:
    assert found(text, "person_name_hypothetical") == names
    assert found(text, "person_name") == []


def test_a_surname_or_a_relative_makes_a_hypothetical_party_a_person(found: Found) -> None:
    assert found("Alice Whitfield sues Bob.", "person_name") == ["Alice Whitfield"]
    assert found("My wife Alice sues Bob.", "person_name") == ["Alice"]


def test_a_hypothetical_does_not_reach_into_the_next_paragraph(found: Found) -> None:
    assert found("Alice sues Bob.\n\nTyler came.", "person_name_hypothetical") == ["Alice", "Bob"]


@pytest.mark.parametrize(("text", "name"), [
    ("The tenant, Sybren Hoekstra, owes rent", "Sybren Hoekstra"), ("My name is Żaneta Kępka.", "Żaneta Kępka"),
    ("We spoke with Bilgehan Karaduman yesterday", "Bilgehan Karaduman"), ("Dear Torquil Menzies,", "Torquil Menzies"),
    ("Best regards,\nThainá da Mata", "Thainá da Mata"), ("Gelsomina Trapani's landlord left", "Gelsomina Trapani"),
    ("Invoice to: Aagje van den Broek", "Aagje van den Broek"), ("the account of Hemlata Kulkarni", "Hemlata Kulkarni"),
    ("Patient name Käthe Heidrich DOB 1/2/1960", "Käthe Heidrich"), ("her husband Sybren works", "Sybren"),
    ("Sra. Jucélia das Neves called", "Sra. Jucélia das Neves"), ("Yesterday Loup Bouvier left", "Loup Bouvier"),
])
def test_a_name_that_no_list_holds_is_found_by_its_frame(found: Found, text: str, name: str) -> None:
    assert found(text, "person_name") == [name]


@pytest.mark.parametrize("text", [
    "She flew to Los Angeles and Buenos Aires", "Key Takeaways\n\nRisk Factors For Stroke", "I am Claude. I'm Siri.",
    "with Hodgkin Lymphoma or Guillain-Barré Syndrome", "under the Dodd Frank Act and Sarbanes Oxley",
    "Dear Hiring Manager,",
    "a letter from Deutsche Bank and Goldman Sachs", "treated with Warfarin Sodium", "contact Customer Service",
    "Attn: Claims Department", "Company: Kestrel Zwickau", "the Genetic Testing Registry helps", "in Machu Picchu",
    "Presumably I left", "healthy Sri Lankan men",
])
def test_what_is_only_capitalised_is_no_name(found: Found, text: str) -> None:
    assert found(text, "person_name") == []


@pytest.mark.parametrize(("text", "name"), [
    ("pt maria gonzalez called re refill", "maria gonzalez"), ("spoke w/ john smith re bill", "john smith"),
    ("rx for emily watson ready", "emily watson"), ("maria gonzalez dob 3/4/1961", "maria gonzalez"),
])
def test_a_name_in_a_note_without_capitals_is_found_behind_what_only_a_person_fits(found: Found, text: str, name: str
                                                                                   ) -> None:
    assert found(text, "person_name") == [name]


@pytest.mark.parametrize("text", [
    "pt tolerating diet well", "spoke w/ pharmacy re refill", "pt rose slowly from bed", "client grant money was spent",
    "called joe biden a hero", "works at morgan stanley", "called johns hopkins clinic", "patient may shower tomorrow",
    "The nurse spoke with john smith. Then She Left For Ohio And Utah With The Two Sons Of Her Late Aunt.",
])
def test_words_of_a_note_are_no_name(found: Found, text: str) -> None:
    assert found(text, "person_name") == []
