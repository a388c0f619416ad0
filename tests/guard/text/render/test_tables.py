from __future__ import annotations

import pytest

from discreet.guard.guard import Guard
from discreet.guard.text.reader import FOLDER, MODEL
from discreet.guard.text.render import render
from discreet.guard.text.render.tables import ALWAYS_LABELLED, MAX_LABELS, is_sentence, tells_of_one

RECORDS = "Age, City.\n\x1e\nAge: 52.\nCity: Omaha.\n\x1e\nAge: 60.\nCity: Boise"
FIELDS = "Field: Value.\nAge: 52.\nCity: Omaha."


@pytest.mark.parametrize("text", [
    "| Age | City |\n|---|---|\n| 52 | Omaha |\n| 60 | Boise |", "Age | City\n:--|--:\n52 | Omaha\n60 | Boise",
    "| Age | City |\n| 52 | Omaha |\n| 60 | Boise |", "Age,City\n52,Omaha\n60,Boise",
    "Age\tCity\n52\tOmaha\n60\tBoise", "Age  City\n52   Omaha\n60   Boise", "Age;City\n52;Omaha\n60;Boise",
    "┌─────┬───────┐\n│ Age │ City  │\n├─────┼───────┤\n│ 52  │ Omaha │\n│ 60  │ Boise │\n└─────┴───────┘",
    "| **Age** | `City` |\n|---|---|\n| 52 | *Omaha* |\n| 60 | Boise |"])
def test_a_row_is_a_record(text: str) -> None:
    assert render(text).text.strip().rstrip(".") == RECORDS


@pytest.mark.parametrize("text", [
    "| Field | Value |\n|---|---|\n| Age | 52 |\n| City | Omaha |",
    "+---+---+\n| Field | Value |\n+===+===+\n| Age | 52 |\n+---+---+\n| City | Omaha |"])
def test_two_columns_may_be_fields(text: str) -> None:
    assert render(text).text.strip() == FIELDS


@pytest.mark.parametrize(("text", "expected"), [
    ("| | A | B |\n|-|-|-|\n| Age | 52 | 60 |\n| City | Omaha | Boise |", "A; B.\nAge: 52; 60.\nCity: Omaha; Boise."),
    ("| Job | State | Median wage |\n|---|---|---|\n| Nurse | Texas | 7 |\n| Cook | Ohio | 5 |",
     "Job, State, Median wage.\n\x1dNurse, Texas, 7.\n\x1dCook, Ohio, 5."),
    ("| Age | State |\n|---|---|\n| 40-49 | Texas |", "Age, State.\n\x1d40-49, Texas."),
    ("| Age | City |\n|---|---|\n| 52 | |\n| | Boise |", "Age, City.\n\x1e\nAge: 52.\n\x1e\nCity: Boise."),
    ('id,answer\n1,"She, a nurse, is a tall person of 52"\nend',
    "id, answer.\n\x1e\nId: 1.\nAnswer:\nShe, a nurse, is a tall person of 52.\nend"),
])
def test_other_tables(text: str, expected: str) -> None:
    assert render(text).text == expected


@pytest.mark.parametrize("text", [
    "Yes, no\nand, or", "Omaha, Nebraska\nTulsa, Oklahoma", "Age, sex\n", "a | b", "one\ttwo\nthree\tfour",
    "| alone |", "Dear Ann,\nthank you, Bob"])
def test_what_is_no_table(text: str) -> None:
    assert render(text).text == text


@pytest.mark.parametrize("wide", [10, 1_000, 20_000])
def test_labels_of_many_records_are_bounded_and_what_is_left_is_told(wide: int) -> None:
    text = f"| Age | City {'x' * wide} |\n|---|---|\n" + "| 52 | Omaha |\n" * 2_000
    rendered = render(text)
    assert rendered.text.count("52") == rendered.text.count("Omaha") == 2_000
    assert len(rendered.text) <= 3 * len(text) + max(ALWAYS_LABELLED, MAX_LABELS * len(text))
    assert rendered.beyond == (wide > 100)


PERSON = "Retired welder, 71, widowed, lives near Boise"


@pytest.mark.parametrize(("row", "expected"), [
    (["Lisinopril", "10 mg", PERSON], f"\x1dLisinopril, 10 mg, \x1f{PERSON}."),
    (["Lisinopril", PERSON, "10 mg"], f"\x1dLisinopril, \x1f{PERSON}, \x1d10 mg."),
    ([PERSON, "10 mg", "daily"], f"{PERSON}, \x1d10 mg, daily."),
    (["Lisinopril", "10 mg", "daily"], "\x1dLisinopril, 10 mg, daily.")])
def test_a_cell_about_a_person_is_read_in_a_table_of_other_things(row: list[str], expected: str) -> None:
    rows = [["Drug", "Dose", "Note"], ["---"] * 3, ["Metformin", "500 mg", "with food"], row]
    said = render("\n".join("| " + " | ".join(cells) + " |" for cells in rows)).text
    assert said == f"Drug, Dose, Note.\n\x1dMetformin, 500 mg, with food.\n{expected}"


def test_persons_of_two_rows_are_two_records() -> None:
    text = f"| Drug | Dose | Rate |\n|---|---|---|\n| A | 5 | {PERSON} |\n| B | 6 | low |\n| C | 7 | {PERSON} |"
    assert render(text).text == (f"Drug, Dose, Rate.\n\x1dA, 5, \x1f{PERSON}.\n\x1dB, 6, low.\n\x1e\n\x1dC, 7, \x1f"
                                 f"{PERSON}.")


SHORT_NOTES = ("Retired welder, 71, widowed, lives near Boise", "Mother of two, 34, night-shift nurse in Duluth")


@pytest.mark.skipif(not (FOLDER / MODEL).exists(), reason="needs the weights of the reader")
@pytest.mark.parametrize("mark", ["|", "\t"])
@pytest.mark.parametrize("person", [PERSON, "52-year-old litigator from Omaha with two children",
                                    "Mother of two, 34, night-shift nurse in Duluth"])
@pytest.mark.parametrize("rows", [
    [["Item", "Note"], ["Metformin", "500 mg"], ["Patient", "?"]],
    [["Drug", "Dose", "Note"], ["Metformin", "500 mg", "with food"], ["Lisinopril", "10 mg", "?"]],
    [["Case", "Year", "Holding"], ["Smith v. Jones", "1999", "Affirmed"], ["Ours", "2021", "?"]],
    [["Expense", "Amount", "Share"], ["Rent", "$500", "20%"], ["?", "$100", "3%"]]])
def test_one_person_among_other_rows_is_flagged(rows: list[list[str]], person: str, mark: str) -> None:
    if mark == "\t" and rows[0][0] == "Expense" and person in SHORT_NOTES:
        pytest.xfail("behind tabs, among sums of money, the reader takes a short note for a group's")
    said = [[person if cell == "?" else cell for cell in row] for row in rows]
    action = Guard("medical").check("\n".join(mark.join(row) for row in [said[0], ["---"] * len(said[0]), *said[1:]]
                                              if mark == "|" or row[0] != "---")).action
    # Behind tabs alone a short row may be a line of notes about a group: such an answer goes to review at least.
    assert action == "flag" or (mark == "\t" and action == "abstain")


@pytest.mark.skipif(not (FOLDER / MODEL).exists(), reason="needs the weights of the reader")
@pytest.mark.parametrize("mark", ["|", ","])
@pytest.mark.parametrize("header", [
    "Full name", "full_name", "Surname", "Customer name", "Employee", "Tenant", "Policyholder", "Volunteer", "Witness",
    "Who", "Initials", "Case", "Ref", "Mother"])
def test_a_list_of_persons_is_read_whatever_its_column_is_called(header: str, mark: str) -> None:
    rows = [[header, "Job", "Town"], ["J.R.", "litigator", "Omaha"], ["M.K.", "baker", "Delft"]]
    text = "\n".join(mark.join(row) for row in rows)
    assert Guard("medical").check(f"Here you are.\n\n{text}").action != "safe"


@pytest.mark.parametrize("header", ["", "Assigned", "Kontakt"])
def test_rows_that_begin_with_names_are_persons(header: str) -> None:
    text = f"| {header} | Job | Town |\n|---|---|---|\n| Ana Rowe | litigator | Omaha |\n| Mark Klein | baker | Delft |"
    assert Guard("medical").check(text).action == "flag"


@pytest.mark.parametrize("text", [
    "name,price\nWalney table,310\nLeeds chair,120",
    "| Model | Owner | Price |\n|---|---|---|\n| Baker 200 | Acme | 310 |\n| Nurse 12 | Acme | 120 |",
    "| ID | Product | City |\n|---|---|---|\n| 12 | Rice | Omaha |\n| 13 | Oil | Delft |",
    "| Case | Court | Year |\n|---|---|---|\n| Smith v. Jones | Ohio | 1999 |\n| Roe v. Wade | Texas | 1973 |",
    "| Employee benefit | Full-time | Part-time |\n|---|---|---|\n| Dental | yes | no |\n| Vision | yes | no |",
    "| Author | Book | Born |\n|---|---|---|\n| Jane Austen | Emma | 1775 |\n| Mark Twain | Tom Sawyer | 1835 |"])
def test_a_list_of_other_things_is_not_flagged(text: str) -> None:
    assert Guard("medical").check(text).action == "safe"


@pytest.mark.parametrize("body", [
    [["Registered nurse with twenty years of experience", "Texas", "$70,000"], ["Cook in a school", "Ohio", "$30,000"]],
    [["Men aged 45 to 54 who smoke and drink daily", "120", "3"], ["Total", "210", "5"]],
    [["Divorced mother with two children under 18", "$41,000", "12%"], ["Retired couple", "$52,000", "20%"]]])
def test_wages_strata_and_totals_stay_nobodys(body: list[list[str]]) -> None:
    rows = [["Group", "Number", "Median wage"], ["---"] * 3, *body]
    assert Guard("medical").check("\n".join("| " + " | ".join(row) + " |" for row in rows)).action == "safe"


@pytest.mark.parametrize("text", [
    "52-year-old litigator from Omaha with two children", "58yo plumber from Omaha, 3 daughters",
    "Retired welder, 71, widowed, lives near Boise", "Mother of two, 34, night-shift nurse in Duluth",
    "He drives a truck out of Tulsa and has three sons", "The plaintiff is fifty-two, a litigator in Omaha",
    "Her husband, a farmer near Duluth, has two grandsons", "Patient aged 45, a dentist from Boise, divorced"])
def test_prose_about_one_person(text: str) -> None:
    assert tells_of_one(text)


@pytest.mark.parametrize("text", [
    "", "500 mg", "Nurse", "52-year-old man", "He is 52",
    "Registered nurse with twenty years of experience in hospitals",
    "Single filer, aged 65 or older, with no dependents", "Men aged 45 to 54 who smoke and drink daily",
    "Women aged 55-64 who work as nurses in Texas", "Divorced mother with two children under 18",
    "Tell the patient to call his or her doctor at once", "Elementary school teacher, 40 hours a week, Nebraska"])
def test_drugs_strata_and_advice(text: str) -> None:
    assert not tells_of_one(text)


@pytest.mark.parametrize(("text", "expected"), [
    ("The patient works as a litigator.", True), ('"Does he live in Omaha?"', True), ("Rent is due.", False),
    ("Registered nurse with twenty years", False), ("$1,200.50", False), ("", False)])
def test_a_sentence_has_words_and_an_end(text: str, expected: bool) -> None:
    assert is_sentence(text) is expected
