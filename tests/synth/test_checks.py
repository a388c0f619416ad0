from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.synth.checks import is_truncated, longest_echo, task_talk


@pytest.mark.parametrize(("answer", "reason"), [
    ("Here is the rewritten answer: rest helps.", "task"), ("Sure! Below you find it.", "task"),
    ("**Rewritten answer:** rest helps.", "task"), ("Rest helps. As an AI language model, I know.", "task"),
    ("I'm sorry, but I can't assist with that request.", "task"), ("I have avoided the words of the list.", "task"),
    ("This reads as IMPLICIT_CASE.", "task"), ("Note: the patient is fictional.", "task"),
    ("She works for [Company Name] in the north.", "placeholder"), ("A XX-year-old came in.", "placeholder"),
    ("The letter goes to <city>.", "placeholder"), ("[Your Name], MD", "placeholder"),
    # What an answer may say.
    ("Rest helps; here is why the dose matters.", None), ("I am sorry, but I cannot discuss this patient.", None),
    ("I understand, and I am not able to discuss the details of this patient's care.", None),
    ("Sure signs of infection are redness and warmth.", None), ("Women with two X chromosomes (XX) [OMIM].", None),
    ("The answer to this is rest.", None), ("The court [Nevada] held that [t]he rule stands.", None),
])
def test_task_talk(answer: str, reason: str | None) -> None:
    assert task_talk(answer) == reason


@pytest.mark.parametrize(("answer", "truncated"), [
    ("It helps.", False), ("It helps", True), ('He said: "It helps."', False), ("Does it? **Yes.**", False),
    ("It helps and the", True), ("", True), ("  \n", True), ("It helps (mostly.)", False), ("It helps:", True),
    ("Points:\n- rest\n- water", False), ("Points:\n- Rest.\n- Wat", True), ("Points:\n1. rest\n2. water", False),
    ("It helps.\n- rest", True),
])
def test_truncated(answer: str, truncated: bool) -> None:
    assert is_truncated(answer) is truncated


WORD = st.sampled_from("a b c".split())


@given(st.lists(WORD, max_size=12), st.lists(WORD, max_size=12))
def test_the_longest_echo_is_that_of_all_pairs_of_runs(one: list[str], two: list[str]) -> None:
    runs = [j - i for i, j in product(range(len(one)), range(1, len(one) + 1)) if i < j
            and any(one[i:j] == two[k:k + j - i] for k in range(len(two)))]
    assert longest_echo(" ".join(one), " ".join(two)) == max(runs, default=0)


def test_echo_passes_over_case_and_marks() -> None:
    assert longest_echo("So: the DOSE is\nraised, slowly!", "The dose is raised slowly, then.") == 5
