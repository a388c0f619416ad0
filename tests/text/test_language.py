from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.text.doc import Doc
from discreet.text.language import guess_language

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


@given(st.text() | st.lists(st.sampled_from([*ENGLISH, *FOREIGN.values(), *OTHER_SCRIPTS])).map(" ".join))
def test_any_text_has_one_answer(text: str) -> None:
    one = guess_language(Doc.of(text))
    assert one == guess_language(Doc.of(text))
    assert one.guess
