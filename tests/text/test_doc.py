from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.text.doc import Doc, guess_language

words = st.lists(
    st.sampled_from([
        "She", "he", "is", "52", "3.5", "Dr.", "Mr.", "v.", "Omaha", ".", "!", "?", "\n", "\n\n", '"', ")", "I",
        "e.g.", "U.S.", "-", "A", "—", "é", "ﬁ", "don't", ",", " ",
    ])
)
texts = st.text() | words.map(" ".join) | words.map("".join)


def sentences(text: str) -> list[str]:
    doc = Doc.of(text)
    return [doc.text[doc.tokens[a].start : doc.tokens[b - 1].end] for a, b in doc.sentences]


@given(texts)
def test_tokens_are_all_that_is_not_blank(text: str) -> None:
    doc = Doc.of(text)
    spelt = "".join(t.text for t in doc.tokens)
    assert spelt == "".join(c for c in doc.text if not c.isspace())
    end = 0
    for token in doc.tokens:
        assert doc.text[token.start : token.end] == token.text
        assert token.lower == token.text.lower()
        assert end <= token.start < token.end
        end = token.end


@given(texts)
def test_sentences_are_a_partition_of_the_tokens(text: str) -> None:
    doc = Doc.of(text)
    covered = [i for first, last in doc.sentences for i in range(first, last)]
    assert covered == list(range(len(doc.tokens)))
    for i, token in enumerate(doc.tokens):
        first, last = doc.sentence_of(i)
        assert first <= i < last
        assert doc.sentences[token.sentence] == (first, last)


@given(texts, st.integers(0, 60))
def test_token_at_is_the_first_that_ends_behind_the_offset(text: str, offset: int) -> None:
    doc = Doc.of(text)
    behind = [i for i, t in enumerate(doc.tokens) if t.end > offset]
    assert doc.token_at(offset) == (behind[0] if behind else max(0, len(doc.tokens) - 1))


@given(texts, st.integers(-5, 30), st.integers(-5, 30))
def test_words_clip_their_bounds(text: str, first: int, last: int) -> None:
    doc = Doc.of(text)
    wanted = [w for i, w in enumerate(doc.lowers) if first <= i < last]
    assert doc.words(first, last) == " ".join(wanted)


@given(st.text("ab. ", max_size=40), st.integers(0, 20), st.integers(0, 20))
def test_words_are_looked_up_in_any_stretch(text: str, first: int, last: int) -> None:
    doc, wanted = Doc.of(text), frozenset(["a", "ab"])
    assert doc.has_any(wanted, first, last) == bool(wanted & set(doc.lowers[first:last]))


def test_what_is_made_of_a_doc_is_made_once() -> None:
    doc, numbers = Doc.of("a b"), count(1)
    assert [doc.once(key, lambda: next(numbers)) for key in ("one", "two", "one")] == [1, 2, 1]


@given(texts)
def test_a_doc_is_a_function_of_its_text(text: str) -> None:
    one, two = Doc.of(text), Doc.of(text)
    assert (one.tokens, one.sentences) == (two.tokens, two.sentences)


@pytest.mark.parametrize(("text", "expected"), [
    ("She is 52.", ["She", "is", "52", "."]), ("don't", ["don't"]), ("She’s here", ["She", "'s", "here"]),
    ("$1,234.50!", ["$", "1,234.50", "!"]), ("52-year-old", ["52", "-", "year", "-", "old"]),
    ("Zoë Müller", ["Zoë", "Müller"]), ("a_b", ["a", "_", "b"]), ("", []), (" \n\t ", []),
])
def test_tokens(text: str, expected: list[str]) -> None:
    assert [t.text for t in Doc.of(text).tokens] == expected


@pytest.mark.parametrize("text", [
    "She is 52. He is 60.", "She is 52! He is 60.", "Is she 52? He is 60.", 'He said "yes." She left.',
    "She lives in Omaha (a town.) She works.", "First line\nSecond line", "one paragraph\n\nanother", "- one\n- two",
    "It was I. He knew.", "She was seen by Mr. Alvarez. He left.", "It cost $3.50. She paid.",
    "J. Smith lives in St. Louis. He is 40.", "The U.S. is large. It is old.", "Roe v. Wade was decided. It held so.",
])
def test_two_sentences(text: str) -> None:
    assert len(sentences(text)) == 2


@pytest.mark.parametrize("text", [
    "She was seen by Dr. Chen and Mrs. Ortiz.", "The drug (e.g. metformin) helps.", "In Roe v. Wade the court ruled.",
    "Acme Inc. has offices.", "She weighs 52.5 kg.", "a line\nthat goes on", "J. K. Smith came.", "No. 5 is there",
    "approx. 5 people live on St. John.",
])
def test_one_sentence(text: str) -> None:
    assert len(sentences(text)) == 1


def test_nothing() -> None:
    doc = Doc.of("")
    assert (doc.tokens, doc.sentences, doc.lowers, doc.token_at(3), doc.words(0, 5)) == ((), (), (), 0, "")


@pytest.mark.parametrize(("word", "capitalised"), [
    ("Omaha", True), ("omaha", False), ("I", False), ("52", False), ("é", False), ("Élan", True), ("USA", True),
])
def test_a_name_may_begin_with_a_capital_of_more_than_one_letter(word: str, capitalised: bool) -> None:
    assert Doc.of(word).tokens[0].is_capitalised is capitalised


def test_reprs_show_no_words() -> None:
    doc = Doc.of("ZQXMARKER lives here")
    assert "zqxmarker" not in (repr(doc) + repr(doc.tokens) + repr(doc.prepared)).lower()


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
