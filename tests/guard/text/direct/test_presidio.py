"""The adapter for Presidio's pattern recognisers, which are also an oracle that shares no code with ours."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stdnum import iban as stdnum_iban
from stdnum import luhn

from discreet.core.errors import MissingExtraError
from discreet.core.registry import Registry
from discreet.core.unicode import prepare
from discreet.guard.text.direct import detect as direct
from discreet.guard.text.direct.detect import Facts, Recogniser, find_direct, recognisers
from discreet.guard.text.direct.presidio import ENTITIES, PresidioRecogniser

PAGE = Path(__file__).parents[4] / "docs" / "guard.md"
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def presidio() -> PresidioRecogniser:
    pytest.importorskip("presidio_analyzer", exc_type=ImportError)
    return PresidioRecogniser()


def types_of(item: Recogniser, text: str) -> set[str]:
    return {hit.type for hit in item.find(Facts.of(text))}


def test_registered_as_the_page_says_it_is_a_recogniser_like_any_other(
    presidio: PresidioRecogniser, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry: Registry[Recogniser] = Registry("nothing-is-installed-here")
    monkeypatch.setattr(direct, "recognisers", registry)
    [block] = [b for b in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S) if "Presidio" in b]
    exec(compile(block, "guard.md", "exec"), {})
    assert list(registry) == ["presidio"]
    assert set(presidio.types) == set(ENTITIES.values())
    text = "Her SSN is 219–09–1234 and her mail jane@example.com."
    found = [(s.type, text[s.start : s.end]) for s in find_direct(prepare(text))]
    assert found == [("ssn", "219–09–1234"), ("email", "jane@example.com")]


@pytest.mark.parametrize("text", ["", " ", "\ud800 x", "x" * 1_100_000])
def test_odd_texts_raise_nothing(presidio: PresidioRecogniser, text: str) -> None:
    assert list(presidio.find(Facts.of(text))) == []


def test_context_words_raise_a_score_over_the_threshold(presidio: PresidioRecogniser) -> None:
    assert types_of(presidio, "ssn 219091234") == {"ssn"}
    assert types_of(presidio, "code 219091234") == set()


def test_its_log_quotes_no_text(presidio: PresidioRecogniser, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    list(presidio.find(Facts.of("IBAN gb29 nwbk 6016 1331 9268 19 of Jane, ssn 219-09-1234, DE89Ⅷ0400440532013000")))
    assert "nwbk" not in caplog.text
    assert "219" not in caplog.text


def test_without_the_extra_the_message_says_what_to_install() -> None:
    code = (
        "import sys\nsys.modules['presidio_analyzer'] = None\n"
        "from discreet.guard.text.direct.presidio import PresidioRecogniser\n"
        "from discreet.core.errors import MissingExtraError\n"
        "try:\n    PresidioRecogniser()\nexcept MissingExtraError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'discreet[presidio]'" in done.stdout
    assert issubclass(MissingExtraError, Exception)


def valid_numbers(kind: str, count: int, rng: np.random.Generator) -> list[str]:
    def digits(size: int) -> str:
        return "".join(map(str, rng.integers(0, 10, size)))

    made = []
    for _ in range(count):
        if kind == "card":
            body = str(rng.choice(["4", "51", "55", "6011"])) + digits(15)
            made.append(body[:15] + luhn.calc_check_digit(body[:15]))
        elif kind == "iban":
            bban = digits(18)
            made.append("DE" + stdnum_iban.calc_check_digits("DE00" + bban) + bban)
        elif kind == "npi":
            body = "1" + digits(8)
            made.append(body + luhn.calc_check_digit("80840" + body))
        elif kind == "aba_routing":
            body = "0" + str(rng.integers(1, 10)) + digits(6)
            total = sum(w * int(d) for w, d in zip((3, 7, 1, 3, 7, 1, 3, 7), body, strict=True))
            made.append(body + str(-total % 10))
        else:
            number = rng.integers(0, 10, 6)
            check = (number[0] + number[2] + number[4] + 2 * (number[1] + number[3] + number[5])) % 10
            made.append("BW" + "".join(map(str, number)) + str(check))
    return made


CUES = {"card": "card", "iban": "IBAN", "npi": "NPI", "aba_routing": "routing number", "dea": "DEA"}


@pytest.mark.parametrize("kind", CUES)
def test_both_agree_on_check_digits(presidio: PresidioRecogniser, kind: str) -> None:
    """With their cue, valid numbers are seen by both; with another last digit, by neither."""
    for number in valid_numbers(kind, 12, np.random.default_rng(11)):
        text = f"The {CUES[kind]} is {number}."
        assert kind in types_of(presidio, text)
        assert kind in {s.type for s in find_direct(prepare(text))}
        wrong = f"The {CUES[kind]} is {number[:-1]}{(int(number[-1]) + 1) % 10}."
        assert kind not in types_of(presidio, wrong)
        assert kind not in {s.type for s in find_direct(prepare(wrong))}


@pytest.mark.parametrize(("kind", "text"), [
    ("email", "Write to jane.whitfield+tax@mail.example.com today."), ("phone", "Her number is (402) 555-0133."),
    ("phone", "Call +44 20 7946 0958."), ("ip", "It came from 203.0.113.77 and 2001:db8::8a2e:370:7334."),
    ("url", "Her page is https://jane-whitfield.com/about of hers."), ("ssn", "Her SSN is 219-09-1234."),
    ("itin", "His ITIN is 912-70-3456."),
])
def test_both_see_the_same_spans(presidio: PresidioRecogniser, kind: str, text: str) -> None:
    theirs = {(h.start, h.end) for h in presidio.find(Facts.of(text)) if h.type == kind}
    ours = {(s.start, s.end) for s in find_direct(prepare(text), types=[kind])}
    assert ours == theirs != set()


@pytest.mark.parametrize("text", ["routing number 000000000", "SSN 900-12-3456"])
def test_decoys_that_presidio_takes(presidio: PresidioRecogniser, text: str) -> None:
    """Known differences, so that a change on either side is noticed."""
    assert types_of(presidio, text)
    assert find_direct(prepare(text)) == []


def test_importing_the_adapter_imports_no_presidio() -> None:
    code = ("import sys, discreet.guard.text.direct.presidio\n"
            "print('presidio_analyzer' in sys.modules, 'spacy' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_the_oracle_is_not_registered_by_default() -> None:
    names: list[Any] = list(recognisers)
    assert "presidio" not in names
