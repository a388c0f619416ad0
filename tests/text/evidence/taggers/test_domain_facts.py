from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Row = tuple[str, str, str]

CONDITION: list[Row] = [
    ("The patient has type 2 diabetes.", "third", "diabetes"),
    ("She was diagnosed with lupus.", "third", "lupus"),
    ("A 60-year-old man with atrial fibrillation was seen.", "third", "atrial fibrillation"),
    ("He suffers from gout.", "third", "gout"),
    ("I have asthma.", "speaker", "asthma"),
    ("My mother has dementia.", "third", "dementia"),
    ("The patient's hypertension got worse.", "third", "hypertension"),
    ("She developed pneumonia.", "third", "pneumonia"),
    ("I was told that I have endometriosis.", "speaker", "endometriosis"),
    ("His son has autism.", "third", "autism"),
    ("He had a stroke in May.", "third", "stroke"),
    ("A woman with a history of migraine was seen.", "third", "migraine"),
    ("The client's daughter was treated for leukemia.", "third", "leukemia"),
    ("The boy has epilepsy.", "third", "epilepsy"),
    ("I live with multiple sclerosis.", "speaker", "multiple sclerosis"),
    ("He has chronic hepatitis C.", "third", "hepatitis C"),
]
TREATMENT: list[Row] = [
    ("The patient takes metformin.", "third", "metformin"),
    ("She was started on warfarin.", "third", "warfarin"),
    ("He had an appendectomy.", "third", "appendectomy"),
    ("I take sertraline.", "speaker", "sertraline"),
    ("My father is on dialysis.", "third", "dialysis"),
    ("The woman finished chemotherapy.", "third", "chemotherapy"),
    ("She had a hysterectomy.", "third", "hysterectomy"),
    ("He uses insulin.", "third", "insulin"),
    ("The man received a kidney transplant.", "third", "kidney transplant"),
    ("I was prescribed amoxicillin.", "speaker", "amoxicillin"),
    ("Her lisinopril was stopped.", "third", "lisinopril"),
    ("The boy uses albuterol.", "third", "albuterol"),
    ("She had radiation therapy.", "third", "radiation therapy"),
    ("He goes to physical therapy.", "third", "physical therapy"),
    ("I got a hip replacement.", "speaker", "hip replacement"),
]
VISIT: list[Row] = [
    ("A 52-year-old man presented to the clinic.", "third", "presented"),
    ("The patient was admitted on 3 May.", "third", "admitted"),
    ("She was hospitalised for four days.", "third", "hospitalised"),
    ("He was discharged on day 6.", "third", "discharged"),
    ("The woman was seen in our clinic.", "third", "seen in our clinic"),
    ("A 4-year-old boy comes to the office with a cough.", "third", "comes to the office"),
    ("The girl was brought to the emergency department.", "third", "brought"),
    ("I was admitted last night.", "speaker", "admitted"),
    ("My son was hospitalized in June.", "third", "hospitalized"),
    ("She has monthly infusions.", "third", "monthly infusions"),
    ("The patient was transferred to our hospital.", "third", "transferred"),
    ("He returned for a follow-up visit.", "third", "follow-up visit"),
    ("I have weekly sessions.", "speaker", "weekly sessions"),
    ("The man was referred to us.", "third", "referred"),
    ("My mother was hospitalized twice.", "third", "hospitalized"),
]
ASSET: list[Row] = [
    ("The client owns a rental property.", "third", "rental property"),
    ("She has a 401(k).", "third", "401(k)"),
    ("I have a Roth IRA.", "speaker", "Roth IRA"),
    ("My father has a brokerage account.", "third", "brokerage account"),
    ("The borrower has student loans.", "third", "student loans"),
    ("He carries credit card debt.", "third", "credit card debt"),
    ("The client holds an annuity.", "third", "annuity"),
    ("He owns bitcoin.", "third", "bitcoin"),
    ("We have a savings account.", "speaker", "savings account"),
    ("The man has a home equity loan.", "third", "home equity loan"),
    ("The taxpayer owned municipal bonds.", "third", "municipal bonds"),
    ("My wife has a pension.", "third", "pension"),
    ("She holds stock options.", "third", "stock options"),
    ("I still have a mortgage.", "speaker", "mortgage"),
    ("The widow owns a condo.", "third", "condo"),
]
INCOME: list[Row] = [
    ("She earns $82,000 a year.", "third", "$82,000"),
    ("He makes $40k.", "third", "$40k"),
    ("My salary is $65,000.", "speaker", "salary"),
    ("The client has a pension of $2,100.", "third", "$2,100"),
    ("I live on Social Security.", "speaker", "Social Security"),
    ("She receives alimony.", "third", "alimony"),
    ("He takes home $3,200 a month.", "third", "$3,200"),
    ("The taxpayer reported wages.", "third", "wages"),
    ("I was paid $15,000.", "speaker", "$15,000"),
    ("Our client got a bonus of $10,000.", "third", "bonus"),
    ("My husband makes $120,000.", "third", "$120,000"),
    ("He receives disability benefits.", "third", "disability benefits"),
    ("I live on unemployment benefits.", "speaker", "unemployment benefits"),
    ("She collects rental income.", "third", "rental income"),
    ("The client receives dividends.", "third", "dividends"),
]
TRANSACTION: list[Row] = [
    ("He sold his house for $410,000.", "third", "$410,000"),
    ("She bought a car for $22,000.", "third", "$22,000"),
    ("I borrowed $5,000.", "speaker", "$5,000"),
    ("The client transferred $90,000 to her son.", "third", "$90,000"),
    ("He withdrew $12,000.", "third", "$12,000"),
    ("The taxpayer donated $3,000.", "third", "$3,000"),
    ("We refinanced last year.", "speaker", "refinanced"),
    ("My father gifted me $50,000.", "third", "$50,000"),
    ("She wired $8,000 to a broker.", "third", "$8,000"),
    ("I paid $2,400 for a roof.", "speaker", "$2,400"),
    ("The client received an inheritance.", "third", "inheritance"),
    ("He inherited $200,000.", "third", "$200,000"),
    ("The client invested $30,000.", "third", "$30,000"),
    ("I owe $7,000 to the IRS.", "speaker", "$7,000"),
    ("She loaned $15,000 to a friend.", "third", "$15,000"),
]
MATTER: list[Row] = [
    ("She is going through a divorce.", "third", "divorce"),
    ("He was charged with burglary.", "third", "burglary"),
    ("I was arrested for DUI.", "speaker", "DUI"),
    ("The plaintiff sued for malpractice.", "third", "malpractice"),
    ("She seeks asylum.", "third", "asylum"),
    ("He is facing deportation.", "third", "deportation"),
    ("My brother was accused of assault.", "third", "assault"),
    ("I have a custody dispute.", "speaker", "custody dispute"),
    ("He was convicted of embezzlement.", "third", "embezzlement"),
    ("She filed a discrimination claim.", "third", "discrimination claim"),
    ("The tenant got an eviction notice.", "third", "eviction notice"),
    ("The defendant was tried for armed robbery.", "third", "armed robbery"),
    ("I filed a lawsuit.", "speaker", "lawsuit"),
    ("My sister has a restraining order against him for domestic violence.", "third", "domestic violence"),
    ("The petitioner has a felony record.", "third", "felony record"),
]
ROLE: list[Row] = [
    ("She is the plaintiff.", "third", "plaintiff"),
    ("The defendant pleaded guilty.", "third", "defendant"),
    ("My brother is the executor.", "third", "executor"),
    ("I am a tenant.", "speaker", "tenant"),
    ("He was an eyewitness.", "third", "eyewitness"),
    ("She is the sole heir.", "third", "sole heir"),
    ("I am the sole beneficiary.", "speaker", "sole beneficiary"),
    ("The petitioner moved to Ohio.", "third", "petitioner"),
    ("He is a debtor.", "third", "debtor"),
    ("My mother is the trustee.", "third", "trustee"),
    ("The claimant was hurt at work.", "third", "claimant"),
    ("She is a refugee.", "third", "refugee"),
    ("He became an informant.", "third", "informant"),
    ("I was a juror.", "speaker", "juror"),
    ("The prisoner was moved.", "third", "prisoner"),
]
DISPOSITION: list[Row] = [
    ("He was convicted in 2018.", "third", "convicted"),
    ("She was acquitted.", "third", "acquitted"),
    ("My case was dismissed.", "speaker", "dismissed"),
    ("I was sentenced to two years.", "speaker", "sentenced"),
    ("He pleaded guilty.", "third", "pleaded guilty"),
    ("The plaintiff settled out of court.", "third", "settled out of court"),
    ("He is on probation.", "third", "probation"),
    ("She was granted asylum.", "third", "granted asylum"),
    ("The man was deported.", "third", "deported"),
    ("The client was evicted.", "third", "evicted"),
    ("I was placed on parole.", "speaker", "parole"),
    ("The defendant received a suspended sentence.", "third", "suspended sentence"),
    ("She won custody.", "third", "won custody"),
    ("My brother was indicted.", "third", "indicted"),
    ("He was found not guilty.", "third", "not guilty"),
]
NOT_SAID: dict[str, list[str]] = {
    "condition": [
        "Diabetes is a common disease.",
        "Asthma affects many children.",
        "Patients with lupus should avoid the sun.",
        "If you have gout, drink more water.",
        "The drug is approved for epilepsy.",
        "Hypertension can lead to stroke.",
        "A person with dementia may wander.",
        "What is pneumonia?",
        "Smoking causes lung cancer.",
        "Children with autism may need routine.",
        "Screening for depression is recommended.",
        "Ms. Dunne signed the form.",
    ],
    "treatment": [
        "Metformin lowers blood sugar.",
        "Patients on warfarin need regular tests.",
        "Your doctor may prescribe amoxicillin.",
        "Chemotherapy can cause nausea.",
        "Insulin is stored in the fridge.",
        "If you take lisinopril, do not stop at once.",
        "Albuterol is used for asthma.",
        "Dialysis is needed when kidneys fail.",
        "Some people need an appendectomy.",
        "Physical therapy helps most adults.",
    ],
    "visit": [
        "Patients are admitted only if they cannot drink.",
        "Call your doctor or come to the clinic.",
        "Adults should have annual visits.",
        "A follow-up visit is recommended.",
        "If symptoms persist, go to the emergency room.",
        "Most people are seen within a week.",
        "The study presented data on statins.",
        "Infusions are given monthly.",
        "Children who were hospitalized recovered.",
        "Evidence was presented at the conference.",
    ],
    "asset": [
        "A 401(k) is offered by an employer.",
        "Roth IRA contributions are made after tax.",
        "If you own a rental property, keep receipts.",
        "Student loans can be consolidated.",
        "Investors often hold municipal bonds.",
        "Bitcoin is volatile.",
        "A savings account earns little.",
        "Your mortgage interest may be deductible.",
        "Any taxpayer with a brokerage account gets a form.",
        "People with credit card debt should pay it first.",
    ],
    "income": [
        "People who earn more than $200,000 pay a surtax.",
        "The median income is $70,000.",
        "If you make $50,000, you owe less.",
        "Employers must report wages.",
        "Social Security is indexed.",
        "Dividends are taxed at a lower rate.",
        "Alimony is no longer deductible.",
        "Your salary decides which bracket applies.",
        "Any worker may claim unemployment benefits.",
        "A taxpayer with rental income must file Schedule E.",
    ],
    "transaction": [
        "You can withdraw $10,000 without a penalty.",
        "Banks lent $3 trillion last year.",
        "If you sell a house, report the gain.",
        "The Federal Reserve bought $80 billion of bonds a month.",
        "Investors withdrew $4 billion.",
        "A gift of $18,000 is exempt.",
        "Each spouse can transfer $1,000,000.",
        "An inheritance is not income.",
        "Any borrower who refinanced can deduct points.",
        "A taxpayer who donated $300 may deduct it.",
    ],
    "matter": [
        "Divorce is governed by state law.",
        "Burglary is a felony.",
        "Landlords must give notice before an eviction.",
        "Anyone charged with DUI may lose the license.",
        "Asylum must be claimed within a year.",
        "If you are sued for malpractice, call your insurer.",
        "The statute defines assault.",
        "Embezzlement requires intent.",
        "Deportation can be appealed.",
    ],
    "role": [
        "A plaintiff must prove each element.",
        "Defendants have the right to remain silent.",
        "If a tenant refuses, the landlord may sue.",
        "The executor must file an inventory.",
        "Any creditor may object.",
        "Refugees can apply after a year.",
        "A juror may not talk about the case.",
        "Each beneficiary is entitled to an account.",
        "Prisoners keep some rights.",
        "A trustee owes a duty of care.",
    ],
    "disposition": [
        "A court may order probation.",
        "If you are convicted, you lose the license.",
        "Probation lasts up to five years.",
        "Anyone who pleaded guilty may appeal.",
        "A plea bargain saves time.",
        "An acquittal bars a second trial.",
        "Parole is not a right.",
        "Persons who were deported may not return.",
        "A default judgment can be vacated.",
        "Restitution is ordered in most cases.",
    ],
}
SAID: dict[str, list[Row]] = {
    "condition": CONDITION,
    "treatment": TREATMENT,
    "visit": VISIT,
    "asset": ASSET,
    "income": INCOME,
    "transaction": TRANSACTION,
    "matter": MATTER,
    "role": ROLE,
    "disposition": DISPOSITION,
}
DOMAIN = {
    **dict.fromkeys(("condition", "treatment", "visit"), "medical"),
    **dict.fromkeys(("asset", "income", "transaction"), "finance"),
    **dict.fromkeys(("matter", "role", "disposition"), "law"),
}


@pytest.mark.parametrize(
    ("kind", "text", "subject", "cue"), [(kind, *row) for kind, rows in SAID.items() for row in rows]
)
def test_facts_of_one_person(assert_said: Callable[..., None], kind: str, text: str, subject: str, cue: str) -> None:
    assert_said(kind, DOMAIN[kind], text, subject, cue)


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in NOT_SAID.items() for text in texts])
def test_facts_of_nobody(assert_not_said: Callable[..., None], kind: str, text: str) -> None:
    assert_not_said(kind, DOMAIN[kind], text)


@pytest.mark.parametrize(("kind", "domain"), [(kind, d) for kind in SAID for d in ("medical", "finance", "law")])
def test_facts_are_of_their_domain_only(read: Callable[..., Any], kind: str, domain: str) -> None:
    found = [a for text, _, _ in SAID[kind] for a in read(text, domain, kind=kind)]
    assert bool(found) == (DOMAIN[kind] == domain)


def test_parties_of_a_published_case(read: Callable[..., Any]) -> None:
    text = (
        "In Gideon v. Wainwright, 372 U.S. 335 (1963), the Court held that a defendant charged with burglary had "
        "to be given counsel."
    )
    assert {a.subject for a in read(text, "law", kind="matter")} == {"public"}


@pytest.mark.parametrize(
    ("one", "two"),
    [("The patient has diabetes.", "The patient has DIABETES."), ("She takes Metformin.", "She takes metformin.")],
)
def test_case_does_not_make_another_value(read: Callable[..., Any], one: str, two: str) -> None:
    kinds = ("condition", "treatment")
    assert [(a.kind, a.value) for a in read(one) if a.kind in kinds] == [
        (a.kind, a.value) for a in read(two) if a.kind in kinds
    ]
