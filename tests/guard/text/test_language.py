from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import Guard
from discreet.guard.text.doc import Doc
from discreet.guard.text.language import guess_language

ENGLISH = [
    "The patient should take one tablet with food and call if the pain gets worse.",
    "A landlord must return the deposit within thirty days after the tenant moves out.",
    "You can roll the account over without a tax, but the check must not be made out to you.",
    "José García and Zoë Müller moved from Québec to Málaga with their two children last year.",
    "Metformin 500 mg; lisinopril 10 mg; atorvastatin 20 mg; aspirin 81 mg; insulin glargine 10 units", "Yes.", "No",
    "", "   ", "12345", "52 F", "!!!", "🙂🙂", "Schadenfreude", "déjà vu", "Habeas corpus ad subjiciendum.",
    "The doctrine of res ipsa loquitur, like that of stare decisis, is older than the statute.",
    "α-synuclein and β-amyloid build up, and the ratio of σ to μ is more than π.",
    "| Drug | Dose |\n|---|---|\n| warfarin | 5 mg |\n| heparin | 5000 units |",
    "- Rest\n- Ice\n- Compression\n- Elevation\n- Ibuprofen\n- Physiotherapy\n- Crutches\n- Splint\n- Surgery",
    "She lives in San José with her husband, who is from São Paulo, and works for the Los Angeles Times.",
    "THE PATIENT IS A 52-YEAR-OLD MAN WHO WAS SEEN IN THE CLINIC FOR HIS KNEE.",
]
FOREIGN = {
    "es": "La paciente tiene 52 años y vive en Omaha con sus dos hijos, pero trabaja como abogada en la ciudad.",
    "fr": "La patiente est une femme de 52 ans qui vit à Omaha avec ses deux enfants et travaille pour la ville.",
    "de": "Die Patientin ist 52 Jahre alt und wohnt mit den zwei Kindern in Omaha, wo sie als Anwältin arbeitet.",
    "it": "La paziente ha 52 anni e vive a Omaha con i due figli, ma lavora come avvocato nella città di Lincoln.",
    "pt": "A paciente tem 52 anos e mora em Omaha com os seus dois filhos, mas não trabalha mais como advogada.",
    "nl": "De patiënt is 52 jaar en woont met haar twee kinderen in Omaha, waar zij werkt als advocaat voor de stad.",
}
OTHER_SCRIPTS = [
    "Пациентке 52 года, она живёт в Омахе с двумя детьми и работает адвокатом.",
    "患者今年五十二岁，是一名律师，和两个孩子住在奥马哈。",
    "患者は52歳の弁護士で、二人の子供とオマハに住んでいます。",
    "환자는 52세 변호사이며 오마하에서 두 자녀와 함께 살고 있습니다.",
    "المريضة عمرها ٥٢ سنة وتعيش في أوماها مع طفليها وتعمل محامية.",
    "मरीज़ ५२ साल की वकील है और अपने दो बच्चों के साथ ओमाहा में रहती है।",
    "Η ασθενής είναι 52 ετών και ζει στην Ομάχα με τα δύο παιδιά της.", "המטופלת בת 52 וגרה באומהה עם שני ילדיה.",
]
OTHER_LATIN = [
    "Pacjentka ma 52 lata i mieszka w Omaha z dwójką dzieci, pracuje jako adwokatka, a jej mąż jest lekarzem w małym "
    "szpitalu. Została przyjęta na oddział z powodu bólu w klatce piersiowej, który trwał od trzech dni.",
    "Hasta 52 yaşında bir avukattır ve iki çocuğuyla Omaha'da yaşıyor. Üç gündür süren göğüs ağrısı nedeniyle "
    "hastaneye "
    "yatırıldı. Kocası küçük bir hastanede doktor olarak çalışıyor ve annesi de onlarla birlikte oturuyor.",
    "Patienten är 52 år gammal och bor i Omaha med sina två barn. Hon arbetar som advokat och hennes man är "
    "läkare på ett "
    "litet sjukhus. Hon lades in på grund av smärtor i bröstet som hade varat i tre dagar.",
    "Bệnh nhân 52 tuổi, là luật sư, sống ở Omaha với hai con. Bà nhập viện vì đau ngực kéo dài ba ngày. Chồng "
    "bà là bác "
    "sĩ tại một bệnh viện nhỏ và mẹ bà sống cùng với họ.",
    "Pasien berusia 52 tahun dan tinggal di Omaha bersama dua anaknya. Ia bekerja sebagai pengacara dan "
    "suaminya adalah "
    "dokter di rumah sakit kecil. Ia dirawat karena nyeri dada yang sudah berlangsung selama tiga hari.",
]


@pytest.mark.parametrize("text", ENGLISH)
def test_english_and_what_cannot_be_told(text: str) -> None:
    assert guess_language(Doc.of(text)).english


@pytest.mark.parametrize(("code", "text"), FOREIGN.items())
def test_foreign_prose_is_told_with_its_code(code: str, text: str) -> None:
    found = guess_language(Doc.of(text))
    assert (found.english, found.guess) == (False, code)


@pytest.mark.parametrize("text", [*OTHER_SCRIPTS, *OTHER_LATIN])
def test_other_languages_are_not_english(text: str) -> None:
    assert not guess_language(Doc.of(text)).english


@pytest.mark.parametrize("code", FOREIGN)
@pytest.mark.parametrize("order", [1, -1])
def test_one_foreign_paragraph_decides(code: str, order: int) -> None:
    parts = [" ".join(ENGLISH[:3]), FOREIGN[code] + " " + FOREIGN[code]]
    assert not guess_language(Doc.of("\n\n".join(parts[::order]))).english


@pytest.mark.parametrize("text", ENGLISH)
def test_case_and_repetition_do_not_decide(text: str) -> None:
    assert guess_language(Doc.of(text.upper())).english
    assert guess_language(Doc.of(f"{text}\n{text}\n{text}")).english


@pytest.mark.parametrize("text", ["Apply per label.", "Fees come due per quarter.", "Sons die too."])
@pytest.mark.parametrize("times", [1, 3, 8, 20])
def test_a_repeated_english_sentence_is_english(text: str, times: int) -> None:
    assert guess_language(Doc.of(" ".join([text] * times))).english


@given(st.text() | st.lists(st.sampled_from([*ENGLISH, *FOREIGN.values(), *OTHER_SCRIPTS])).map(" ".join))
def test_any_text_has_one_answer(text: str) -> None:
    one = guess_language(Doc.of(text))
    assert one == guess_language(Doc.of(text))
    assert one.guess


BEFORE = "Thank you for your question about the discharge letter."
AFTER = "Please tell the ward if anything else is needed before Friday."
PASSAGES = {
    "af": "Die pasiënt woon saam met haar twee kinders in 'n klein dorpie naby die see en werk al "
    "jare as 'n verpleegster.",
    "ca": "La pacient viu amb els seus dos fills en un poble petit prop del mar i treballa des de fa "
    "anys com a mestra.",
    "cs": "Pacientka žije se svými dvěma dětmi v malé vesnici u moře a už mnoho let pracuje jako učitelka ve škole.",
    "cy": "Mae'r claf yn byw gyda'i dau o blant mewn pentref bach ger y môr ac mae hi wedi gweithio "
    "fel athrawes ers tro.",
    "da": "Patienten bor sammen med sine to børn i en lille by ved havet og har i mange år arbejdet "
    "som lærer på en skole.",
    "fi": "Potilas asuu kahden lapsensa kanssa pienessä kylässä meren rannalla ja on työskennellyt vuosia opettajana.",
    "hr": "Pacijentica živi sa svoje dvoje djece u malom selu blizu mora i već godinama radi kao učiteljica u školi.",
    "hu": "A beteg két gyermekével él egy kis faluban a tenger közelében, és évek óta tanítónőként "
    "dolgozik az iskolában.",
    "id": "Pasien tinggal bersama kedua anaknya di sebuah desa kecil dekat laut dan sudah lama bekerja sebagai guru.",
    "no": "Pasienten bor sammen med de to barna sine i en liten bygd ved havet og har i mange år jobbet som lærer.",
    "pl": "Pacjentka mieszka z dwojgiem dzieci w małej wsi nad morzem i od wielu lat pracuje jako "
    "nauczycielka w szkole.",
    "ro": "Pacienta locuiește cu cei doi copii într-un sat mic de lângă mare și lucrează de mulți ani ca învățătoare.",
    "so": "Bukaanku waxay la nooshahay labadeeda carruur ah tuulo yar oo u dhow badda, waxayna "
    "macallimad ahayd sannado badan.",
    "sv": "Patienten bor med sina två barn i en liten by vid havet och har i många år arbetat som lärare på en skola.",
    "sw": "Mgonjwa anaishi na watoto wake wawili katika kijiji kidogo karibu na bahari na amefanya "
    "kazi ya ualimu kwa miaka.",
    "tl": "Ang pasyente ay nakatira kasama ang kanyang dalawang anak sa isang maliit na nayon "
    "malapit sa dagat bilang guro.",
    "tr": "Hasta iki çocuğuyla birlikte deniz kenarındaki küçük bir köyde yaşıyor ve yıllardır "
    "okulda öğretmen olarak çalışıyor.",
    "vi": "Bệnh nhân sống cùng hai người con trong một ngôi làng nhỏ gần biển và đã làm giáo viên trong nhiều năm.",
}
GOOD_ENGLISH = [
    'The French call it "l\'esprit de l\'escalier", the answer that comes too late, on the way down the stairs.',
    "The clinic on Calle Mayor is run by María del Carmen Fernández Ibáñez and Jean-Baptiste de La Tour d'Auvergne.",
    "She read Cien años de soledad and À la recherche du temps perdu before she was twenty.",
    "Order spaghetti alla puttanesca, coq au vin or Königsberger Klopse; all of them are good here.",
    "The court held that res judicata and collateral estoppel barred the claim; a writ of certiorari was denied.",
    "Pt c/o SOB x3d, hx HTN, DM2, CAD s/p CABG; meds: ASA 81 mg qd, metoprolol 25 mg bid, NKDA; f/u PCP 2 wks.",
    "HEENT: NC/AT, PERRLA, EOMI. CV: RRR, no m/r/g. Lungs: CTAB. Abd: soft, NT/ND, +BS. Ext: no c/c/e. Neuro: A&Ox3.",
    "def mean(xs):\n    total = sum(xs)\n    return total / len(xs) if xs else None\n\nprint(mean([1, 2, 3]))",
    "x = (-b ± sqrt(b^2 - 4ac)) / 2a and E = mc^2, with f(a,b,c,d,e) = a + b + c + d + e.",
    "| Name | Town | Role |\n|---|---|---|\n| Siti Zulaikha binti Zulkarnain | Johor Bahru | Nurse |\n"
    "| Ilze Bērziņa-Okafor | Rīga | Clerk |",
    "Ship it to Frau Annegret Müller, Bahnhofstraße 12, 70173 Stuttgart, Germany, before the end of the week.",
    "Choose A/B/C/D/E; see e.g. the U.S.A. or the M.B.B.S., i.e. the degree, and the W-2 and H1N1 and B12.",
    "I support England \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f and nobody else ❤️.",
    "Lisinopril 40 mg daily, furosemide 20 mg, spironolactone 25 mg, omeprazole 20 mg, carvedilol 6.25 mg twice daily.",
    "We started with patatas bravas and gambas al ajillo, then shared a paella valenciana, some pimientos "
    "de padrón and a jug of sangria while the children ate croquetas de jamón and churros con chocolate.",
    "The thali has undhiyu, kadhi, bateta nu shaak, rotli, khaman dhokla, shrikhand and farsan; refills are free.",
    "Starters: bruschetta al pomodoro, carpaccio di manzo, burrata con prosciutto. Mains: gnocchi al pesto, branzino "
    "al forno, pollo alla cacciatora. Desserts: cannoli siciliani, affogato.",
    "Try the bún chả, phở bò tái, gỏi cuốn and bánh xèo at the corner stall; the cà phê sữa đá is strong.",
    "Perio chg: gen 4-5mm, BOP 40%, #3 7mm DB furc II, #14 MOB. SRP UR/LR c 2% lido. OHI: floss, TePe. Re-eval 6 wks.",
    "Fam ct: Pet'r/Resp stip to jt LC, PC to M, F alt wknds + W 5-8. CS $640/mo eff 5/1. Hol sched att. FCS med 8/8.",
    "Wire ret'd R03, acct NSF. CB'd cust x2, LVM. Hold rel 3/4. OFAC clr. Dispo: chg-off per mgr, 1099-C N/A.",
]
FOREIGN_NOTES = [
    "Pat. 54 J., m., seit 3 T. Dyspnoe bei Belastung, Vd. a. kard. Dekomp., RR 142/88, HF 92, EKG: SR, keine ERST.",
    "Pte. 54 a., HTA y DM2 en tto. con metformina 500 c/12 h, acude por disnea de 3 d. de evolución. TA 142/88, FC 92.",
    "Exp. 114/22, dda. por imp. de rentas, vista señalada para el 14/3 a las 9.30, el ddo. no comparece, se declara en "
    "rebeldía, cuantía 4.200 €, se notifica al proc., costas a la parte dda., plazo de 20 d.",
    "Picar la cebolla y el ajo, sofreír en aceite de oliva a fuego lento, añadir el arroz y el caldo caliente.",
    "Vorspeisen: Rinderbrühe mit Flädle, Feldsalat mit Speck und Kracherle. Hauptgerichte: Zwiebelrostbraten mit "
    "Spätzle, Forelle nach Art der Müllerin mit Salzkartoffeln. Nachtisch: Apfelküchle mit Vanilleeis.",
]
RECORD = "The patient is a retired teacher of 52 from Omaha, and she was admitted with pain in the chest last Monday."


@pytest.mark.parametrize("code", PASSAGES)
@pytest.mark.parametrize("form", ["{}", BEFORE + " {}", "{} " + AFTER, BEFORE + " {} " + AFTER,
                                  'The letter says: "{}" ' + AFTER])
def test_a_foreign_passage_is_found_wherever_it_stands(code: str, form: str) -> None:
    found = guess_language(Doc.of(form.format(PASSAGES[code])))
    assert (found.english, found.readable) == (False, True) or code == "so"
    assert not found.english
    assert found.reason


@pytest.mark.parametrize("text", [text for text in OTHER_SCRIPTS if len(text) > 25])
def test_a_long_quotation_in_another_script_decides(text: str) -> None:
    """Where a script has no blanks between words, letters are counted in place of words."""
    quoted = f'We read the letter today. It says: "{text * 2}" Please tell us whether that is right.'
    assert not guess_language(Doc.of(quoted)).english


def test_a_name_in_another_script_does_not_decide() -> None:
    assert guess_language(Doc.of('The restaurant is called "四川飯店" and is near the station.')).english


@pytest.mark.parametrize("text", GOOD_ENGLISH)
@pytest.mark.parametrize("form", ["{}", BEFORE + " {} " + AFTER])
def test_what_english_answers_hold_is_english(text: str, form: str) -> None:
    assert guess_language(Doc.of(form.format(text))).english


@pytest.mark.parametrize("text", FOREIGN_NOTES)
@pytest.mark.parametrize("form", ["{}", BEFORE + " {} " + AFTER])
def test_foreign_notes_menus_and_recipes_are_found(text: str, form: str) -> None:
    assert not guess_language(Doc.of(form.format(text))).english


def test_the_reason_names_the_language() -> None:
    found = guess_language(Doc.of(f"{BEFORE} {FOREIGN['de']}"))
    assert (found.guess, found.readable, found.reason) == ("de", True, "a sentence looks like German (de)")
    assert guess_language(Doc.of(BEFORE)).reason == ""


def test_short_sentences_decide_together_and_not_alone() -> None:
    lines = ["Ja, das stimmt.", "Wir kommen morgen.", "Sie wohnt hier.", "Er ist krank.", "Das war gestern schon so.",
             "Und nicht heute."]
    assert guess_language(Doc.of(f"{BEFORE} {lines[0]} {AFTER}")).english
    assert not guess_language(Doc.of("\n".join(f"- {line}" for line in lines))).english


UNREADABLE = {
    "random letters": "Xqvz bnwkr tlopq zzrwe mkqht vbbnu prwqo xlkjd fghwq ptrzz qwmnb lkvcx wrtpq.",
    "words of no meaning": "The glorp of snarfle was brimbled by a plenk who zorved the quimble and florped its "
    "drintle.",
    "backwards": RECORD[::-1],
    "each word backwards": " ".join(word[::-1] for word in RECORD.split()),
    "leet": RECORD.lower().translate(str.maketrans("aeiost", "431057")),
    "spelt out": " ".join(RECORD.replace(" ", "")),
    "bits": " ".join(format(ord(c), "08b") for c in RECORD[:20]),
    "no blanks": "".join(filter(str.isalpha, RECORD)) * 2,
    "zero width": "".join("\u200b" if bit == "0" else "\u200c" for c in RECORD[:9] for bit in format(ord(c), "08b")),
    "selectors of no text": "All is well." + "".join(map(chr, range(0xE01E0, 0xE01EF))),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_cannot_be_read_is_reported(kind: str) -> None:
    found = guess_language(Doc.of(f"{BEFORE} {UNREADABLE[kind]} {AFTER}"))
    assert (found.english, found.readable, found.guess) == (False, False, "und")
    assert found.reason


def test_the_guard_abstains_with_the_language() -> None:
    guard = Guard("medical")
    text = "Der Zug fährt um neun Uhr ab und kommt gegen elf an, wenn die Strecke frei ist und das Wetter hält."
    assert guard.check(f"{BEFORE} {text} {AFTER}").action == "abstain"
    assert guard.check(f"{BEFORE} {AFTER}").action == "safe"


@pytest.mark.parametrize("mark", [".", "·", "_", "-", "/", ",", "*"])
def test_letters_with_marks_between_are_read(mark: str) -> None:
    spelt = " ".join(mark.join(word) for word in RECORD.split())
    assert Guard("medical").check(f"{BEFORE} {spelt}").action == "flag"


def test_hidden_characters_are_read() -> None:
    tags = "".join(chr(0xE0000 + ord(c)) for c in RECORD)
    selectors = "".join(chr(0xFE00 + byte if byte < 16 else 0xE0100 + byte - 16) for byte in RECORD.encode())
    for hidden in (tags, selectors):
        assert RECORD in Doc.of(BEFORE + hidden).text
        assert Guard("medical").check(BEFORE + hidden).action == "flag"


def test_the_library_is_loaded_on_first_use() -> None:
    code = "import sys, discreet; from discreet.guard.text import guess_language; sys.exit('fasttext' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(("form", "foreign"), [("{de} {en}", {0}), ("{en} {de}", {1}), ("{de}\n\n{en}", {0}),
                                               ("{de} Rest helps. {en} {de}", {0, 3}), ("{en}", set()), ("{de}", {0})])
def test_which_sentences_are_not_english(form: str, foreign: set[int]) -> None:
    said = form.format(de="Metformin senkt den Blutzucker, indem es die Zuckerneubildung in der Leber hemmt.",
                       en="The patient is a 52-year-old litigator from Omaha with two children.")
    assert guess_language(Doc.of(said)).foreign == foreign
