"""Seeded identifiers in the forms of many countries, in sentences, and decoys of these forms, for `layer1_presidio.py`.

Names, streets and numbers are put together here from short lists of our own; none is of a real person on purpose.
"""

from __future__ import annotations

import string
from collections.abc import Callable

import phonenumbers
from stdnum import luhn
from stdnum.br import cpf
from stdnum.es import dni
from stdnum.pl import pesel

from benchmarks.layer1_cases import Case, Make, Rng, digits, grouped, pick

GIVEN = {
    "de": "Eckhart Gundula Traudl Falk Irmtraud Wenzel Ottokar Sigrun Hartwig Roswitha", "fr": "Aurèle Honorine Thibaut Océane Gaspard Capucine Ysaline Anselme Maëlle Firmin",
    "es": "Eutimio Chelo Nicanor Itziar Amparo Jacinta Pío Edelmira Desiderio Leocadia", "it": "Gelsomina Calogero Ottavio Fiamma Rosaria Pompeo Ludovica Oreste Tecla Donato",
    "nl": "Sybren Fenna Jorrit Dieuwertje Aagje Tijmen Wessel Guus Hidde Marijke", "pl": "Wincenty Żaneta Dobrosława Mściwój Olgierd Bogna Ziemowit Sambor Iga Jagoda",
    "in": "Baldev Yuvraj Hemlata Chinmay Parvez Vanya Madhup Gurdeep Tanvi Sukhwinder", "gb": "Alwyn Hettie Barnaby Rhydian Ffion Clodagh Torquil Elspeth Denholm Mhairi",
    "tr": "Bilgehan Sevginur Ümmühan Cüneyt Tuğba Gülşen Alpaslan Nurcihan Şükriye İlteriş", "pt": "Evandro Thainá Benício Marli Jucélia Heitor Ivonete Raimundo Otávio Dalva",
}  # fmt: skip
FAMILY = {
    "de": "Döring Weihmann Heidrich Hübel Zobel Scholtz Trommler Jäckel Rörricht Kirchhoff", "fr": "Besnard Delaunay Guichard Texier Bonnet Bouvier Pruvost Lemarchand Roussel Chauvin",
    "es": "Barragán Figuerola Urrutia Valbuena Cuéllar Bellido Rebollo Carbajo Tello Escudero", "it": "Trapani Spinelli Bragadin Tozzi Cuzzocrea Malatesta Scarfoglio Morabito Zanin Ferrero",
    "nl": "Hoekstra Wieringen Pronk Kooistra Vrolijk Postma Timmer Dijkman Brouwer Veenstra", "pl": "Grabarczyk Wojnarowicz Kępka Sobolewski Cieśla Buczko Sikorzak Rączka Kudła Trzaskowska",
    "in": "Chhabra Sethuraman Kulkarni Bhattacharjee Lodha Deshmukh Sodhi Raval Saraf Balasubramaniam", "gb": "Cartwright Braithwaite Ormerod Pugh Llewellyn Shaughnessy Menzies Haggerty Postlethwaite Gillespie",
    "tr": "Karaduman Şafak Akgündüz Yorulmaz Özdemir Demirel Tanhan Erdoğdu Çorlu Kılıçarslan", "pt": "Cavalcanti Mata Fogaça Siqueira Neves Peixoto Sampaio Brito Caldeira Moura",
}  # fmt: skip
PARTICLE = {"nl": "van", "pt": "da", "fr": "de", "es": "del", "it": "di", "de": "von"}
REGIONS = ("US CA GB DE FR ES IT NL PL PT BR IN TR AU IE BE CH AT SE NO DK FI MX AR ZA NG KE JP KR CN IL GR").split()  # fmt: skip


def person(rng: Rng) -> str:
    land = pick(rng, *GIVEN)
    given, family = pick(rng, *GIVEN[land].split()), pick(rng, *FAMILY[land].split())
    particle = f"{PARTICLE[land]} " if land in PARTICLE and rng.random() < 0.15 else ""
    second = f" {pick(rng, *FAMILY[land].split())}" if land in ("es", "pt") and rng.random() < 0.4 else ""
    return f"{given} {particle}{family}{second}"


def letter(rng: Rng, letters: str = string.ascii_uppercase) -> str:
    return letters[int(rng.integers(len(letters)))]


ADDRESS: dict[str, Make] = {
    "us": lambda r: f"{r.integers(10, 9999)} {pick(r, 'Juniper', 'Old Mill', 'W 34th', 'Pinecrest', 'N Harmon')} {pick(r, 'Street', 'Ave', 'Rd', 'Lane', 'Blvd', 'Drive')}{pick(r, '', ', Apt 4B', ' Unit 12')}{pick(r, '', ', Omaha, NE 68104', ', Tulsa, OK 74103-2212')}",
    "us rural": lambda r: pick(r, f"{r.integers(100, 9999)} County Road {r.integers(2, 900)}", f"{r.integers(1000, 9999)} Highway {r.integers(2, 99)}", f"RR {r.integers(1, 9)} Box {r.integers(10, 300)}", f"PO Box {r.integers(10, 9000)}"),
    "gb": lambda r: f"{pick(r, '', 'Flat 3, ')}{r.integers(1, 250)}{pick(r, '', 'A')} {pick(r, 'Baker', 'High', 'Station', 'Chapel', 'Mill')} {pick(r, 'Street', 'Road', 'Lane', 'St')}{pick(r, '', ', Leeds LS1 4AB', ', London SW1A 1AA')}",
    "de": lambda r: f"{pick(r, 'Hauptstraße', 'Karl-Marx-Allee', 'Lindenweg', 'Goethestr.', 'Am Alten Markt', 'Bahnhofplatz', 'Kurze Gasse')} {r.integers(1, 199)}{pick(r, '', 'a')}{pick(r, '', ', 10115 Berlin', ', 50667 Köln')}",
    "fr": lambda r: f"{r.integers(1, 199)}{pick(r, '', ' bis', ',')} {pick(r, 'rue de la Paix', 'avenue Victor Hugo', 'boulevard Voltaire', 'rue des Lilas', 'impasse du Moulin', 'chemin de Ronde')}{pick(r, '', ', 75002 Paris', ', 69003 Lyon')}",
    "es": lambda r: f"{pick(r, 'Calle Mayor', 'C/ Alcalá', 'Avenida de América', 'Paseo de Gracia', 'Plaza de España')}{pick(r, ' ', ', ')}{r.integers(1, 199)}{pick(r, '', ', 3ºB', ', 28013 Madrid')}",
    "it": lambda r: f"{pick(r, 'Via Roma', 'Viale Trastevere', 'Piazza Navona', 'Corso Garibaldi', 'Vicolo Stretto')}{pick(r, ' ', ', ')}{r.integers(1, 199)}{pick(r, '', ', 00153 Roma', ', 20121 Milano')}",
    "nl": lambda r: f"{pick(r, 'Keizersgracht', 'Kerkstraat', 'Beatrixlaan', 'Stationsplein', 'Molenweg')} {r.integers(1, 399)}{pick(r, '', ', 1015 CJ Amsterdam', ', 3011 AA Rotterdam')}",
    "pl": lambda r: f"{pick(r, 'ul. Długa', 'ul. Jana Pawła II', 'al. Jerozolimskie', 'os. Słoneczne', 'plac Zamkowy')} {r.integers(1, 99)}{pick(r, '', '/3')}{pick(r, '', ', 00-277 Warszawa', ', 31-042 Kraków')}",
    "pt": lambda r: f"{pick(r, 'Rua das Flores', 'Avenida Paulista', 'Travessa do Carmo', 'Rua Augusta', 'Alameda Santos')}, {r.integers(1, 1500)}{pick(r, '', ', São Paulo - SP, 01310-100', ', 1200-093 Lisboa')}",
    "fi hu cz ro gr": lambda r: f"{pick(r, 'Mannerheimintie', 'Koivukuja', 'Petőfi utca', 'nám. Míru', 'tř. Kpt. Jaroše', 'Calea Moșilor', 'Leof. Kifisias', 'Aleea Rozelor')} {r.integers(1, 99)}",
    "se no dk": lambda r: f"{pick(r, 'Hamntorget', 'Björkvägen', 'Skogbrynet', 'Kirkeveien', 'Havnepladsen', 'Toftebakken', 'Lyngbyvej')} {r.integers(1, 99)}",
    "cn kr id mx": lambda r: pick(r, f"No. {r.integers(2, 300)} Zhongshan Lu", f"{r.integers(2, 99)} Seojeon-ro", f"Jl. Melati No. {r.integers(2, 99)}", f"Privada Los Pinos {r.integers(2, 99)}"),
    "in": lambda r: f"{pick(r, 'H.No. 34', 'Flat No. 302', 'Plot No. 7', '64/321', 'C-12')}, {pick(r, 'Sector 5', 'Reddy Nagar', 'Lajpat Nagar', 'Green Enclave', 'Gandhi Marg')}{pick(r, '', ', Chennai 600001', ', Pune 411001')}",
    "tr": lambda r: f"{pick(r, 'Atatürk', 'İstiklal', 'Cumhuriyet')} {pick(r, 'Caddesi', 'Cad.', 'Sokak', 'Bulvarı')} No: {r.integers(1, 199)}{pick(r, '', ' D: 4', ', 34430 İstanbul')}",
}  # fmt: skip


def phone_abroad(rng: Rng) -> str:
    region = pick(rng, *REGIONS)
    example = phonenumbers.example_number_for_type(region, phonenumbers.PhoneNumberType.MOBILE)
    assert example is not None
    number = phonenumbers.PhoneNumber(country_code=example.country_code, italian_leading_zero=example.italian_leading_zero,
                                      national_number=int(str(example.national_number)[:-3] + digits(rng, 3)))  # fmt: skip
    home = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL)
    abroad = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
    return pick(rng, home, home, home.replace(" ", "-"), abroad, abroad.replace(" ", ""), "00" + abroad[1:])


def card_typed(rng: Rng) -> str:
    prefix, sizes = (("4", (4, 4, 4, 4)), ("53", (4, 4, 4, 4)), ("37", (4, 6, 5)), ("6011", (4, 4, 4, 4)))[int(rng.integers(4))]
    body = prefix + digits(rng, sum(sizes) - 1 - len(prefix))
    mark = pick(rng, " ", "-", ".", " - ", "")
    return grouped(rng, body + luhn.calc_check_digit(body), *sizes).translate({32: mark, 45: mark})


MONTHS = ("January", "Feb.", "March", "April", "May", "June", "July", "Aug", "September", "Oct", "Nov.", "December")


def birth(rng: Rng) -> str:
    d, m, y = int(rng.integers(13, 29)), int(rng.integers(1, 13)), int(rng.integers(1930, 2005))
    name = MONTHS[m - 1]
    return pick(rng, f"{d}/{m}/{y}", f"{m}/{d}/{y}", f"{d:02}.{m:02}.{y}", f"{y}-{m:02}-{d:02}", f"{name} {d}, {y}", f"{d} {name} {y}", f"{d}th of {name}, {y}",
                f"{d}-{name[:3].upper()}-{y % 100:02}", f"{d} {name} '{y % 100:02}", f"{m} / {d} / {y}", f"{m}-{d}-{y % 100:02}", f"{d:02} {m:02} {y}", f"{y} {name} {d}")  # fmt: skip


def vin(rng: Rng) -> str:
    values = dict(zip("0123456789ABCDEFGHJKLMNPRSTUVWXYZ", [*range(10), *range(1, 9), *range(1, 6), 7, 9, *range(2, 10)], strict=True))
    body = [letter(rng, "ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(11)]
    body[0] = pick(rng, *"12345")
    text = "".join(body[:8]) + "0" + "".join(body[8:10]) + letter(rng, "ABCDEFGH") + digits(rng, 5)
    total = sum(w * values[c] for w, c in zip((8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2), text, strict=True)) % 11
    return f"{text[:8]}{'0123456789X'[total]}{text[9:]}"


def wrong_vin(number: str) -> str:
    return f"{number[:8]}{'1' if number[8] != '1' else '2'}{number[9:]}"


def wrong_pesel(body: str) -> str:
    return f"{body}{(int(pesel.calc_check_digit(body)) + 1) % 10}"


def plate(rng: Rng) -> str:
    a, b, c = (letter(rng) for _ in range(3))
    return pick(rng, f"{r0(rng)}{a}{b}{c}{digits(rng, 3)}", f"{a}{b}{digits(rng, 2)} {b}{c}{a}", f"M-{a}{b} {digits(rng, 4)}", f"{a}{b}-{digits(rng, 3)}-{c}{a}",
                f"KA {digits(rng, 2)} {a}{b} {digits(rng, 4)}", f"{a}{b}{c}-{digits(rng, 4)}", f"{digits(rng, 4)} {b}{c}{a}")  # fmt: skip


def r0(rng: Rng) -> str:
    return str(rng.integers(1, 10))


def device(rng: Rng) -> str:
    body = digits(rng, 14)
    mac = ":".join(f"{rng.integers(0, 256):02X}" for _ in range(5)) + ":A7"
    return pick(rng, f"IMEI {body}{luhn.calc_check_digit(body)}", f"MAC {mac}", f"serial number {letter(rng)}{letter(rng)}{letter(rng)}{digits(rng, 6)}", f"device ID {digits(rng, 5)}-{letter(rng)}{digits(rng, 3)}")  # fmt: skip


def identity(rng: Rng) -> str:
    nine, ten, eight = digits(rng, 9), f"{rng.integers(50, 99)}{rng.integers(1, 13):02}{rng.integers(1, 29):02}{digits(rng, 4)}", digits(rng, 8)
    made = nine + cpf._calc_check_digits(nine)
    return pick(rng, f"CPF {made[:3]}.{made[3:6]}.{made[6:9]}-{made[9:]}", f"PESEL {ten}{pesel.calc_check_digit(ten)}", f"DNI {eight}{dni.calc_check_digit(eight)}")


def _town(rng: Rng) -> str:
    return pick(rng, "Nieder", "Wald", "Tilbr", "Varn", "Oost") + pick(rng, "brook", "wolde", "mühl", "haven", "gård")


MAKE_ABROAD: dict[str, Make] = {
    "person_name": person, **{f"street_address: {land}": make for land, make in ADDRESS.items()},
    "postal_code": lambda r: pick(r, f"Omaha, NE {r.integers(68000, 68999)}", f"1{digits(r, 4)} Berlin", f"75{digits(r, 3)} Paris", "Leeds, LS1 4AB", f"Chennai 6000{digits(r, 2)}", "Toronto, ON M5V 2T6"),
    "postal_code: unlisted town": lambda r: pick(r, f"1{digits(r, 4)} {_town(r)}", f"D-8{digits(r, 4)} {_town(r)}", f"{r.integers(2100, 9999)} AB {_town(r)}", f"{digits(r, 2)}-{digits(r, 3)} {_town(r)}",
                                                 f"{r.integers(110, 790)} {digits(r, 2)} {_town(r)}", f"{_town(r)} 56{digits(r, 4)}", f"{_town(r)} NSW {r.integers(2100, 2999)}", f"{_town(r)} LS{r0(r)} 4QP"),
    "phone": phone_abroad, "card": card_typed, "date_of_birth": birth,
    "vehicle": lambda r: pick(r, f"VIN {vin(r)}", f"licence plate {plate(r)}", f"plate number {plate(r)}"), "device": device, "national_id": identity,
}  # fmt: skip

_HOME = ("The tenant lives at {}.", "Her parcel went to {} by mistake.", "They searched {} last night.", "We inherited {} from an aunt.", "Address on file: {}", "Nobody answered the door at {}.",
         "The fire at {} started in the kitchen.", "{}", "Bring the keys to {} by noon.", "His old flat ({}) is empty.", "The subpoena was served at {}.")  # fmt: skip
SENTENCES_ABROAD: dict[str, tuple[str, ...]] = {
    "person_name": ("The nurse handed {} the forms.", "{} never came back for the results.", "We are writing on behalf of {}.", "Has anybody heard from {} since Friday?", "{} signed the lease in May.",
                    "A neighbour, {}, saw the accident.", "The policy covers {} and her two sons.", "Kind regards,\n{}", "Patient: {}", "I share a flat with {}.", "{}, who is 34, lost his job.",
                    "They suspended {} without pay.", "The cheque was made out to {}.", "Yesterday {} asked for a refund.", "{}'s mortgage was refused.", "Is {} still your customer?", "Tenant {} owes two months.",
                    "The defendant, {}, denies it.", "Mr {} will see you now.", "Hello {}, your test is back."),
    "postal_code: unlisted town": ("She lives in {}.", "The patient comes from {}.", "He moved to {} last year.", "Her flat in {} is small.", "He visits his sister in {} on Sundays.", "Town: {}"),
    "postal_code": ("She grew up in {}.", "He moved here from {}.", "The widow of {} sold it."),
    "phone": ("Her mobile is {}.", "Ring him on {} after six.", "Tel: {}", "You can reach the tenant at {}.", "WhatsApp: {}", "Call {} and ask for her.", "His number is {}.", "Text {} first."),
    "card": ("Card: {}", "She paid with her card {} twice.", "The Visa {} was stolen.", "Charge {} instead."),
    "date_of_birth": ("DOB: {}", "She was born on {}.", "Date of birth: {}", "his birthday is {}", "born {} in Graz", "{} (DOB)"),
    "vehicle": ("Her car, {}, was towed.", "The truck with {} hit the fence."), "device": ("The log shows {} at noon.", "Her implant has {}."),
    "national_id": ("Her {} is on the form.", "The clerk typed {} twice."), **{kind: _HOME for kind in MAKE_ABROAD if kind.startswith("street")},
}  # fmt: skip


def positives_abroad(rng: Rng, count: int) -> list[Case]:
    cases = []
    for kind, make in MAKE_ABROAD.items():
        for i in range(count):
            sentence, value = SENTENCES_ABROAD[kind][i % len(SENTENCES_ABROAD[kind])], make(rng)
            start = sentence.index("{}")
            cases.append(Case(kind, sentence.replace("{}", value), start, start + len(value)))
    return cases


def _one(*options: str) -> Callable[[Rng], str]:
    return lambda rng: pick(rng, *options)


DECOYS_ABROAD: dict[str, Make] = {
    "street as an economy": lambda r: f"In {r.integers(1990, 2024)} {pick(r, 'Main Street', 'Wall Street', 'Fleet Street', 'Bay Street', 'Madison Avenue')} {pick(r, 'lagged', 'recovered', 'lost faith')}.",
    "seat of a government": lambda r: pick(r, "10 Downing Street", "11 Downing Street", "1600 Pennsylvania Avenue") + pick(r, " declined to comment.", " announced cuts.", " is silent."),
    "shops of a street": lambda r: f"{r.integers(3, 90)} {pick(r, 'Main Street', 'High Street', 'Wall Street', 'Fifth Avenue')} {pick(r, 'shops', 'banks', 'retailers', 'firms')} closed.",
    "section and chapter": lambda r: f"See {pick(r, 'Section', 'Chapter', 'Rule', 'Title', 'Article')} {r.integers(1, 99)} {pick(r, 'Road Traffic', 'Housing Court', 'Fair Street', 'Safe Drive')} {pick(r, 'Act', 'Code', 'Law')}.",
    "room": lambda r: f"The class meets in Room {r.integers(100, 499)}, {pick(r, 'second floor', 'Science Building', 'west wing')}.",
    "chapter and verse": lambda r: f"{pick(r, 'John', 'Mark', 'Luke', 'Romans', 'Psalm', 'Genesis')} {r.integers(1, 50)}:{r.integers(1, 30)} and {pick(r, 'First Corinthians', 'Second Timothy')} {r.integers(1, 13)}:4 say so.",
    "sports score": lambda r: f"The {pick(r, 'Lakers', 'Red Sox', 'Packers', 'Bruins')} beat the {pick(r, 'Celtics', 'Blue Jays', 'Chicago Bears')} {r.integers(60, 130)}-{r.integers(50, 120)} on {pick(r, 'Sunday', 'January 5')}.",
    "coordinates": lambda r: f"The site lies at {r.integers(10, 80)}.{digits(r, 4)}, -{r.integers(10, 170)}.{digits(r, 4)} ({r.integers(10, 80)}°{r.integers(10, 59)}'N).",
    "vital signs": lambda r: f"HR {r.integers(60, 120)} RR {r.integers(10, 30)} BP {r.integers(100, 180)}/{r.integers(50, 100)} SpO2 {r.integers(90, 100)} T {r.integers(36, 39)}.{r.integers(0, 9)}.",
    "highway": lambda r: f"{pick(r, 'Highway', 'Route', 'Interstate', 'State Road')} {r.integers(2, 99)} is closed {pick(r, 'for repairs', 'after the storm', 'until noon')}.",
    "product and number": lambda r: f"{pick(r, 'iPad', 'ThinkPad', 'Windows', 'Galaxy', 'Porsche Carrera', 'Boeing')} {r.integers(5, 999)} sold well.",
    "author and year": lambda r: f"{pick(r, 'Spielberg', 'Goldberg', 'Hoffmann', 'Bradstreet', 'Feinberg')} {r.integers(1960, 2023)} and {pick(r, 'Rosenfeld', 'Overstreet')} {r.integers(1960, 2023)} disagree.",
    "company": _one("She works for Novartis, Siemens and Deutsche Bank.", "Goldman Sachs and Morgan Stanley agreed.", "Ask Wells Fargo or Bank of America.", "Air France told Boeing about it.",
                    "According to Johnson Controls, sales fell.", "Contact Berkshire Hathaway for the report.", "Shares of General Electric and Procter & Gamble rose."),
    "place": _one("She flew from Los Angeles to Buenos Aires.", "He asked about New Orleans and San Francisco.", "In Rio de Janeiro and Addis Ababa rents rose.", "They walked to Notre Dame and Central Park.",
                  "From Tel Aviv to Kuala Lumpur it takes a day.", "Is Sri Lanka safer than Costa Rica?", "The Mississippi River met Lake Michigan."),
    "eponym": _one("Hodgkin Lymphoma was found early.", "He was treated for Guillain-Barré Syndrome.", "With Crohn Disease and Sjogren Syndrome, rest helps.", "Is Lyme Disease contagious?",
                   "Creutzfeldt-Jakob Disease is rare.", "Patients with Epstein Barr virus recovered.", "She has Hashimoto Thyroiditis and Graves Disease."),
    "law": _one("The Dodd Frank Act requires it.", "Under Sarbanes Oxley, firms report.", "By the Taft Hartley Act it is barred.", "The Hart Scott Rodino Act applies.", "With Glass Steagall gone, banks merged.",
                "It violates the Lanham Act and the Clayton Act."),
    "drug": _one("Treatment with Eliquis and Xarelto failed.", "Ask about Ozempic or Wegovy.", "Take Vitamin D with Calcium Carbonate.", "Pembrolizumab and Nivolumab were given.",
                 "He uses Warfarin Sodium and Lisinopril Hydrochlorothiazide.", "She was switched from Zoloft to Lexapro."),
    "heading": lambda r: pick(r, "Key Takeaways", "Risk Factors For Stroke", "When To See A Doctor", "Summary Of Findings", "Next Steps", "Frequently Asked Questions", "Tax Planning Tips", "Legal Standard") + "\n\n" + pick(r, "Rest is best.", "Ask early.", "It depends."),
    "department": _one("Contact Customer Service or Technical Support.", "Ask Human Resources about it.", "Call Poison Control now.", "Talk to Legal Aid.", "Tell Adult Protective Services.", "Visit Social Security online.",
                       "Attn: Claims Department", "From: Billing Department", "To: Accounts Payable"),
    "salutation without a name": _one("Dear Sir or Madam,", "Dear Hiring Manager,", "To Whom It May Concern:", "Dear Customer,", "Dear Valued Client,", "Hello Team,", "Dear Colleagues,"),
    "assistant": _one("My name is ChatGPT.", "I am Claude.", "I'm Siri.", "Tell Gemini to stop.", "I'm Copilot, an assistant."),
    "fiction": _one("We read Moby Dick and The Great Gatsby.", "She watched Star Wars with Harry Potter fans.", "Like Sherlock Holmes, doctors infer.", "Macbeth is a play."),
    "case": lambda r: f"{pick(r, 'Obergefell v. Hodges', 'Marbury v. Madison', 'Gideon v. Wainwright', 'Chevron v. Echazabal', 'Youngberg v. Romeo')}, {r.integers(100, 600)} U.S. {r.integers(100, 999)}, controls.",
    "holiday": _one("By Good Friday and before Easter Monday it closes.", "Happy New Year and Merry Christmas to all.", "Since Black Friday and until Cyber Monday prices fall.", "On Labor Day we rest."),
    "ZIP file": lambda r: f"The ZIP file has {r.integers(10000, 99999)} bytes and the PIN has {r.integers(4, 8)} digits.",
    "five digits and a place": lambda r: f"{pick(r, 'Over', 'About', 'Nearly')} {r.integers(10000, 99999)} {pick(r, 'Berlin', 'Paris', 'London', 'Texas', 'Ohio')} {pick(r, 'residents', 'voters', 'patients')} took part.",
    "staging and assay": lambda r: f"Stage {pick(r, 'T3N0M0', 'T1N1M0', 'T2N0M1')}, {pick(r, 'CA 19-9', 'CD20', 'HER2')} {r.integers(10, 99)}, code E{r.integers(10, 14)} {r.integers(1, 9)}.",
    "part in the form of a postcode": lambda r: f"Order part {pick(r, 'K1A 0B1', 'M25 4LA', 'B12 3AB', 'SW1A 1AA')} or model {letter(r)}{r0(r)}{letter(r)} {r0(r)}{letter(r)}{r0(r)}.",
    "VIN, wrong check digit": lambda r: f"The sample {wrong_vin(vin(r))} is a format example.",
    "plate of another kind": lambda r: f"{pick(r, 'The plate reader', 'A 96-well plate', 'The tectonic plate', 'A titanium plate')} has {r.integers(2, 96)} {pick(r, 'wells', 'screws', 'nm', 'mm')}.",
    "hash and sequence": lambda r: pick(r, "The primer " + "".join(pick(r, *"ACGT") for _ in range(17)), "The hash " + "".join(pick(r, *"0123456789abcdef") for _ in range(32))) + " was used.",
    "time and ratio": lambda r: f"At {r.integers(10, 23)}:{r.integers(10, 59)}:{r.integers(10, 59)} the ratio was {r.integers(1, 9)}:{r.integers(1, 9)}:{r.integers(1, 9)}:{r.integers(1, 9)}.",
    "serial of another kind": lambda r: f"A serial {pick(r, 'dilution', 'killer', 'bond', 'number')} of {r.integers(10, 99)} {pick(r, 'steps', 'cases', 'years')} came up.",
    "identity number, wrong check digit": lambda r: f"The PESEL {wrong_pesel(f'8{digits(r, 1)}0{r0(r)}1{digits(r, 5)}')} is invalid.",
    "trunk zero": lambda r: f"Catalogue no. 0{digits(r, 3)} {digits(r, 3)} {digits(r, 3)} and item 0{digits(r, 4)}-{digits(r, 5)} are sold out.",
    "stage, ward or level": lambda r: f"{pick(r, 'She was moved to', 'He lives at', 'The patient was sent to')} {pick(r, 'Stage', 'Level', 'Ward', 'Bed', 'Tier', 'Courtroom')} {r.integers(2, 40)}.",
    "a number of people": lambda r: f"{pick(r, 'Letters were sent to', 'It was mailed to', 'The village is home to', 'They delivered it to')} {r.integers(2, 90)}000 {pick(r, 'Voters', 'Customers', 'Veterans', 'Syrian refugees', 'Amish farmers')}.",
    "release of a program": lambda r: f"{pick(r, 'We moved to', 'They upgraded to', 'The flat panel needs')} {pick(r, 'Windows', 'Office', 'Android', 'Java')} {r.integers(7, 20)}.",
    "hotel chain": _one("He stayed at Motel 6.", "We stayed at Super 8.", "She stayed at 4 Star Hotels."),
    "quantity at home": lambda r: f"{pick(r, 'They live at', 'He lived at', 'Posted at')} {r.integers(2, 12)} {pick(r, 'Degrees below zero', 'Times the poverty level', 'Noon', 'Percent interest')}.",
    "year and town": lambda r: f"{pick(r, 'She lived in', 'The novel is set in', 'In')} {r.integers(1910, 2020)} {pick(r, 'Chicago', 'Berlin', 'Kosovo', 'Ghana')} {pick(r, 'with friends', 'before the flood')}.",
    "people counted by nation": lambda r: f"{pick(r, 'A survey of', 'Home visits to', 'Of')} {r.integers(10000, 99000)} {pick(r, 'Swiss', 'Danish', 'Ukrainian', 'Medicare')} {pick(r, 'women', 'homes', 'patients')} failed.",
    "protocol and part": lambda r: f"{pick(r, 'Study', 'Part', 'Protocol', 'Exhibit')} {letter(r)}-{digits(r, 5)} {pick(r, 'Amendment', 'Phase', 'Section')} is final.",
    "letters behind four digits": lambda r: f"{pick(r, 'Use a', 'Order', 'It takes a')} {r.integers(2100, 9999)} {pick(r, 'AB', 'XC', 'KW')} {pick(r, 'Type', 'Series', 'Model')} {pick(r, 'valve', 'switch')}.",
    "state and a count": lambda r: f"In {pick(r, 'NSW', 'VIC', 'QLD', 'Sydney', 'Delhi')} {r.integers(2100, 9999)} {pick(r, 'homes lost power', 'people voted', 'cases rose')}.",
    "street in a title": _one("Calle 13 songs are loud.", "Abbey Road came out in 1969.", "We watched 21 Jump Street fans.", "Sesame Street taught us."),
    "vertebrae and nerves": lambda r: f"{pick(r, 'C. 5', 'L. 4', 'R. 3', 'C. 6')} {pick(r, 'root', 'disc bulge', 'nerve')} and {pick(r, 'AV', 'Str.')} {pick(r, 'block', 'pneumoniae')} {r.integers(2, 9)}.",
    "room of a building": lambda r: f"{pick(r, 'Meet at', 'The keys to', 'Bring it to')} {pick(r, 'Gate', 'Hall', 'Platform', 'Terminal')} {r.integers(2, 30)} {pick(r, 'after noon', 'are lost', 'at once')}.",
    "note without a name": lambda r: f"{pick(r, 'pt', 'patient', 'client', 'spoke w/', 'called')} {pick(r, 'tolerating diet well', 'ambulating in hall', 'insurance re claim', 'pharmacy re refill', 'frank blood seen', 'may shower tomorrow', 'social work about bed')}",
    "note and a given name that is a word": _one("pt rose slowly from bed", "client grant money was spent", "spoke with grace period in mind", "will mark the site", "appt for april labs", "met with art therapy", "called mark down pricing",
                                                 "tenant may rent by month", "pt angel wings on xray"),
    "note and an eponym": lambda r: f"{pick(r, 'hx', 'dx', 'pt has', 'f/u w/')} {pick(r, 'hodgkin lymphoma', 'parkinson disease', 'graves disease', 'crohn disease', 'lyme disease')}",
    "note and an institution": _one("called johns hopkins clinic", "works at morgan stanley", "called walter reed hospital", "f/u w/ mayo clinic", "spoke w/ wells fargo", "spoke with kaiser permanente", "lives in san antonio"),
    "note and a public person": _one("likes taylor swift songs", "called joe biden a hero", "voted for donald trump", "drinks jim beam daily", "reads harry potter to kids"),
    "date of another event": lambda r: f"{pick(r, 'Filed', 'Admitted', 'Expires', 'Reviewed', 'Published')} {r.integers(1, 12)}/{r.integers(1, 28)}/{r.integers(2001, 2024)}; the birth rate fell.",
}  # fmt: skip


def decoys_abroad(rng: Rng, count: int) -> list[Case]:
    """`count` sentences of each kind, none of which identifies anybody."""
    return [Case(kind, make(rng)) for kind, make in DECOYS_ABROAD.items() for _ in range(count)]
