"""Seeded identifiers in sentences, decoys, and filler for `layer1_presidio.py`. Every number is made up here."""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from stdnum import iban as stdnum_iban
from stdnum import luhn

Rng = np.random.Generator
Make = Callable[[Rng], str]


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence; `start:end` is its identifier of type `kind` (for decoys both are 0)."""

    kind: str
    text: str
    start: int = 0
    end: int = 0


def digits(rng: Rng, size: int) -> str:
    return "".join(map(str, rng.integers(0, 10, size)))


def pick(rng: Rng, *options: str) -> str:
    return options[int(rng.integers(len(options)))]


def ssn(rng: Rng) -> str:
    area = int(rng.choice([a for a in range(1, 900) if a != 666]))
    number = f"{area:03}", f"{rng.integers(1, 100):02}", f"{rng.integers(1, 10000):04}"
    return pick(rng, "-", "-", "-", " ", "").join(number)


def itin(rng: Rng) -> str:
    group = int(rng.choice([g for g in (*range(50, 66), *range(70, 89), *range(90, 100)) if g != 93]))
    return pick(rng, "-", "-", " ").join((f"9{digits(rng, 2)}", str(group), digits(rng, 4)))


def grouped(rng: Rng, number: str, *sizes: int) -> str:
    mark = pick(rng, " ", "-", "")
    cuts = np.cumsum((0, *sizes))
    return mark.join(number[a:b] for a, b in pairwise(cuts))


def card(rng: Rng) -> str:
    prefix, length, sizes = [
        ("4", 16, (4, 4, 4, 4)), ("51", 16, (4, 4, 4, 4)), ("54", 16, (4, 4, 4, 4)), ("37", 15, (4, 6, 5)),
        ("6011", 16, (4, 4, 4, 4)), ("65", 16, (4, 4, 4, 4)), ("3530", 16, (4, 4, 4, 4)),
    ][int(rng.integers(7))]  # fmt: skip
    body = prefix + digits(rng, length - 1 - len(prefix))
    return grouped(rng, body + luhn.calc_check_digit(body), *sizes)


def iban(rng: Rng) -> str:
    country, bban = [
        ("DE", digits(rng, 18)), ("NL", "ABNA" + digits(rng, 10)), ("GB", "NWBK" + digits(rng, 14)),
        ("FR", digits(rng, 23)), ("ES", digits(rng, 20)), ("BE", digits(rng, 12)), ("CH", digits(rng, 17)),
    ][int(rng.integers(7))]  # fmt: skip
    number = country + stdnum_iban.calc_check_digits(f"{country}00{bban}") + bban
    mark = pick(rng, "", " ")
    return mark.join(number[i : i + 4] for i in range(0, len(number), 4))


def aba(rng: Rng) -> str:
    body = f"{int(rng.choice([*range(1, 13), *range(21, 33), *range(61, 73)])):02}{digits(rng, 6)}"
    check = -sum(w * int(d) for w, d in zip((3, 7, 1, 3, 7, 1, 3, 7), body, strict=True)) % 10
    number = f"{body}{check}"
    return pick(rng, number, number, f"{number[:4]}-{number[4:8]}-{number[8]}")


def bank_account(rng: Rng) -> str:
    return str(rng.integers(1, 10)) + digits(rng, int(rng.integers(7, 13)))


def npi(rng: Rng) -> str:
    body = pick(rng, "1", "2") + digits(rng, 8)
    return body + luhn.calc_check_digit("80840" + body)


def dea(rng: Rng) -> str:
    d = rng.integers(0, 10, 6)
    check = (d[0] + d[2] + d[4] + 2 * (d[1] + d[3] + d[5])) % 10
    letter = string.ascii_uppercase[int(rng.integers(26))]
    return f"{pick(rng, *'ABFGMPR')}{letter}{''.join(map(str, d))}{check}"


GIVEN = ("jane", "tyler", "maria", "kofi", "wei", "ana", "liam", "noor", "ivy", "omar")
FAMILY = ("whitfield", "okafor", "nguyen", "garcia", "kowalski", "smith", "haddad", "lindqvist")


def email(rng: Rng) -> str:
    name = pick(rng, ".", "_", "").join((pick(rng, *GIVEN), pick(rng, *FAMILY)))
    tail = pick(rng, "", "", str(rng.integers(1, 99)), "+bills")
    return f"{name}{tail}@{pick(rng, 'example.com', 'mail.example.org', 'example.co.uk', 'example.net', 'my-mail.de')}"


AREAS = ("212", "402", "312", "617", "415", "303", "713", "206", "305", "602")


def phone(rng: Rng) -> str:
    a, b, c = pick(rng, *AREAS), f"{rng.integers(2, 10)}{digits(rng, 2)}", digits(rng, 4)
    if b[1:] == "11":
        b = b[0] + "55"
    abroad = f"+44 20 7{digits(rng, 3)} {digits(rng, 4)}"
    return pick(rng, f"({a}) {b}-{c}", f"{a}-{b}-{c}", f"{a}.{b}.{c}", f"+1 {a} {b} {c}", f"1-{a}-{b}-{c}", f"{a} {b} {c}",
                f"{a}{b}{c}", abroad)  # fmt: skip


def ip(rng: Rng) -> str:
    four = ".".join(str(rng.integers(10, 250)) for _ in range(4))
    six = ":".join(f"{rng.integers(1, 65536):x}" for _ in range(8))
    return pick(rng, four, four, f"192.168.{rng.integers(1, 250)}.{rng.integers(1, 250)}", six, f"2001:db8::{six[-9:].strip(':')}")


def url(rng: Rng) -> str:
    who = f"{pick(rng, *GIVEN)}-{pick(rng, *FAMILY)}"
    return pick(rng, f"https://www.facebook.com/{who}", f"linkedin.com/in/{who}", f"http://{who}.com", f"www.{who}.net/about",
                f"https://portal.example.com/records?id={digits(rng, 6)}", f"https://x.com/{who.replace('-', '')}")  # fmt: skip


MAKE: dict[str, Make] = {
    "ssn": ssn, "itin": itin, "card": card, "iban": iban, "aba_routing": aba, "bank_account": bank_account, "npi": npi,
    "dea": dea, "email": email, "phone": phone, "ip": ip, "url": url,
}  # fmt: skip

SENTENCES: dict[str, tuple[str, ...]] = {
    "ssn": ("Her Social Security number is {}.", "SSN: {}", "The SSN on the claim form, {}, does not match.",
            "He gave {} as his social security number.", "The borrower (SSN {}) signed on Friday.",
            "We ran the report under SSN {} and found two accounts.", "The W-2 lists her SSN as {}."),
    "itin": ("Her ITIN is {}.", "The return was filed under ITIN {}.", "His individual taxpayer ID number, {}, has expired.",
             "Use {} as the taxpayer identification number.", "ITIN: {}", "The client files with the ITIN {} since 2014."),
    "card": ("The charge went to card {}.", "She paid with her Visa, {}.", "Card number {} was declined.", "Please refund {} today.",
             "The dispute concerns credit card {}.", "Her debit card {} was used in Lincoln.", "On file: {}, exp. 04/27."),
    "iban": ("Wire the money to {}.", "His IBAN is {}.", "IBAN: {}", "The rent goes to {} every month.",
             "Her account in Europe, {}, was never reported.", "The transfer to {} was returned."),
    "aba_routing": ("The routing number is {}.", "Routing {} belongs to her credit union.", "ABA number: {}",
                    "Use routing number {} for direct deposit.", "The check shows the ABA routing number {}.",
                    "Set up the ACH transfer with routing number {}."),
    "bank_account": ("Her account number is {}.", "The checking account {} was closed.", "Account: {}", "Deposit it to account {}.",
                     "The bank froze account number {} in May.", "His savings account, no. {}, earns nothing.",
                     "The refund went to bank account {}."),
    "npi": ("Her NPI is {}.", "The referring provider (NPI {}) signed it.", "NPI: {}", "The claim lists provider NPI {}.",
            "National Provider Identifier {} was revoked."),
    "dea": ("The prescriber's DEA number is {}.", "DEA {}", "The script carries DEA registration {}.", "Call the office of {} to verify.",
            "She wrote it under DEA number {}."),
    "email": ("Write to {}.", "Her email is {}.", "The message came from {} last night.", "Send the records to {}, please.",
              "<{}> asked again.", "Contact: {}"),
    "phone": ("Call her at {}.", "His phone number is {}.", "Her mobile: {}", "You can reach the tenant at {}.", "Phone: {}",
              "She left a message from {}, her cell phone.", "Fax it to {}.", "Text {} before you come."),
    "ip": ("The login came from {}.", "IP address {} was blocked.", "The last session used {}.", "Her router answers at {}.",
           "The server logged {} twice.", "The posts trace back to {}."),
    "url": ("Her profile is {}.", "See {} for the photos.", "He posted it on {}.", "Her page, {}, lists the address.", "Link: {}",
            "The listing at {} names her."),
}  # fmt: skip


def positives(rng: Rng, count: int) -> list[Case]:
    """`count` sentences of each of the twelve types. Bare digits only where a word of the sentence says what they are."""
    cases = []
    for kind, make in MAKE.items():
        for i in range(count):
            sentence = SENTENCES[kind][i % len(SENTENCES[kind])]
            value = make(rng)
            start = sentence.index("{}")
            cases.append(Case(kind, sentence.replace("{}", value), start, start + len(value)))
    return cases


def broken(number: str) -> str:
    """The number with another last digit: its check digit no longer fits."""
    return f"{number[:-1]}{(int(number[-1]) + 1) % 10}"


DECOYS: dict[str, Make] = {
    "all-zero routing number": lambda r: "The form shows routing number 000000000 as an example.",
    "SSN of an area never given out": lambda r: f"The SSN {pick(r, '000', '666', '900', '987')}-{pick(r, '12', '31')}-{digits(r, 4)} cannot exist.",
    "card, wrong check digit": lambda r: f"The card number {broken(card(r))} was a typing error.",
    "IBAN, wrong check digits": lambda r: f"IBAN {broken(iban(r).replace('ABNA', 'RABO'))} is invalid.",
    "NPI, wrong check digit": lambda r: f"NPI {broken(npi(r))} fails the check.",
    "DEA, wrong check digit": lambda r: f"The DEA number {broken(dea(r))} is forged.",
    "order number": lambda r: f"Your order number {digits(r, int(r.integers(8, 13)))} has shipped.",
    "tracking number": lambda r: f"Tracking {pick(r, '1Z999AA1', '9400 1000 ')}{digits(r, 12)} shows it delivered.",
    "invoice number": lambda r: f"Invoice #{r.integers(10**7, 10**8)} is past due.",
    "version": lambda r: f"Install version {r.integers(1, 20)}.{r.integers(0, 30)}.{r.integers(0, 30)}.{r.integers(0, 99)} of the driver.",
    "case citation": lambda r: f"Brown v. Board of Education, {r.integers(100, 600)} U.S. {r.integers(100, 999)} (19{r.integers(30, 99)}), settled it.",
    "federal reporter": lambda r: f"See Smith v. Jones, {r.integers(100, 999)} F.3d {r.integers(100, 1500)} (9th Cir. 20{r.integers(10, 24)}).",
    "statute": lambda r: f"Under {r.integers(10, 50)} U.S.C. § {r.integers(1000, 9999)}(a)({r.integers(1, 9)}) and 45 CFR 164.514(b)(2), notice is due.",
    "dose": lambda r: f"Start {r.integers(1, 9) * 250} mg twice daily, at most {r.integers(2, 5) * 1000} mg in 24 hours.",
    "laboratory range": lambda r: f"Platelets were {r.integers(150, 400)}000 (150000-400000), creatinine 0.{r.integers(60, 99)}-1.{r.integers(10, 30)}.",
    "ISBN": lambda r: f"The textbook, ISBN 978-0-{r.integers(100, 999)}-{r.integers(10000, 99999)}-{r.integers(0, 9)}, covers it.",
    "ISBN-10 in one piece": lambda r: f"The older edition is ISBN {r.integers(10**9, 2 * 10**9)}.",
    "ICD and CPT codes": lambda r: f"Code it E{r.integers(10, 14)}.{r.integers(10, 99)} with CPT {r.integers(99200, 99215)}-25.",
    "date": lambda r: f"The rule took effect on {r.integers(1, 12):02}/{r.integers(1, 28):02}/20{r.integers(10, 24)}.",
    "range of years": lambda r: f"Between {r.integers(1980, 2000)} and {r.integers(2001, 2024)}, i.e. {r.integers(1980, 2000)}-{r.integers(2001, 2024)}, it rose.",
    "amount of money": lambda r: f"The fund holds ${r.integers(1, 99)},{r.integers(100, 999)},{r.integers(100, 999)}.{r.integers(10, 99)} in cash.",
    "large amount without commas": lambda r: f"The estate is worth {r.integers(10**8, 10**9)} dollars.",
    "DOI": lambda r: f"doi:10.{r.integers(1000, 9999)}/j.cell.20{r.integers(10, 24)}.{r.integers(1, 12):02}.{r.integers(100, 999):03} has the data.",
    "PMID": lambda r: f"PMID: {r.integers(10**7, 4 * 10**7)} reports the same.",
    "trial registration": lambda r: f"The trial, NCT{r.integers(10**7, 10**8)}, is still open.",
    "gene and variant": lambda r: f"Carriers of rs{r.integers(10**6, 10**9)} in CYP2D6 or HER2 metabolise it slowly.",
    "row of a table": lambda r: "Cases: " + " ".join(str(r.integers(100, 9999)) for _ in range(6)) + ".",
    "toll-free hotline": lambda r: f"Call {pick(r, '1-800-', '1-888-', '(800) ')}{r.integers(200, 999)}-{digits(r, 4)} for help at any hour.",
    "public web page": lambda r: pick(r, "See https://www.cdc.gov/flu/index.html for the dates.", "Form 1040 is at www.irs.gov/forms.",
                                      "https://www.mayoclinic.org/diseases-conditions/flu explains it.", "The text is on law.cornell.edu."),
    "office mailbox": lambda r: f"Questions go to {pick(r, 'info', 'help', 'foia')}@{pick(r, 'cdc.gov', 'irs.gov', 'who.int')}.",
    "ZIP+4": lambda r: f"Mail it to Omaha, NE {r.integers(68000, 68999)}-{digits(r, 4)}.",
    "Unix time": lambda r: f"The log line starts with {r.integers(1_500_000_000, 1_790_000_000)}.",
    "commit": lambda r: "Fixed in " + "".join(pick(r, *"0123456789abcdef") for _ in range(40)) + ".",
    "part number": lambda r: f"Replace part number {digits(r, 3)}-{digits(r, 2)}-{digits(r, 4)} first.",
    "file or module name": lambda r: pick(r, "Open main.py and setup.cfg.", "Node.js and Vue.js are fine.", "Rename data.in to data.me."),
    "sections of an outline": lambda r: f"Section {r.integers(1, 9)}.{r.integers(1, 9)}.{r.integers(1, 9)}.{r.integers(1, 9)} says so.",
}  # fmt: skip


def decoys(rng: Rng, count: int) -> list[Case]:
    """`count` sentences of each kind, none of which identifies anybody."""
    return [Case(kind, make(rng)) for kind, make in DECOYS.items() for _ in range(count)]


FILLER = (
    "The recommended first step is to review the current treatment and check for interactions.",
    "Adults over 65 should have their blood pressure measured at each visit, and the dose adjusted every 4 weeks.",
    "A contribution made before April 15 may still count for the previous tax year.",
    "The court weighs four factors before it grants a preliminary injunction.",
    "If symptoms persist for more than 10 days, imaging is reasonable; otherwise 500 mg three times daily is enough.",
    "Under the agreement, the tenant pays utilities and the landlord keeps the premises in repair.",
    "Diversification lowers risk, but it does not guarantee a profit or protect against loss.",
    "In Miranda v. Arizona, 384 U.S. 436 (1966), the Court required warnings before custodial interrogation.",
    "Patients with a history of asthma were excluded (n = 42), as were those on anticoagulants.",
    "The limit for 2023 was $6,500, or $7,500 for savers aged 50 and over.",
    "Side effects include nausea, dizziness and, rarely, a rash that needs attention at once.",
    "The statute of limitations runs from the date on which the injury was or should have been discovered.",
    "Dr. Lee reports that most of her patients improve within six to eight weeks.",
    "Compound interest rewards those who start early, even with small amounts.",
    "She described the pain as dull, 4 of 10, worse at night, and without fever.",
)  # fmt: skip


def texts(rng: Rng, count: int, length: int) -> list[str]:
    """`count` texts of exactly `length` characters: filler, and in every third one sentence with an identifier."""
    made = []
    kinds = list(MAKE)
    for i in range(count):
        parts: list[str] = []
        if i % 3 == 0:
            kind = kinds[int(rng.integers(len(kinds)))]
            parts.append(pick(rng, *SENTENCES[kind]).replace("{}", MAKE[kind](rng)))
        while sum(map(len, parts)) + len(parts) < length + 1:
            parts.append(pick(rng, *FILLER))
        made.append(" ".join(parts)[:length])
    return made
