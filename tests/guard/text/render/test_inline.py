from __future__ import annotations

import pytest

from discreet.guard.text.render import render


@pytest.mark.parametrize(("text", "expected"), [
    ("52-year-old[1] litigator[2, 3] from Omaha [4].", "52-year-old litigator from Omaha."),
    ("Omaha【4:1†source】, Omaha[^2], Omaha [source 3] and Omaha (ref. 12)", "Omaha, Omaha, Omaha and Omaha"),
    ("Omaha[1](https://x.org/a) and [[2]](b)", "Omaha and"), ("She is[52] years old, or [45].",
    "She is[52] years old, or [45]."),
    ("[the note](https://x.org/a(b) \"t\"), ![pic](a.png), [one][two]", "the note, pic, one"),
    ("**52**-year-old *lit*igator, ***all*** __x__ _y_ ~~z~~ ==w== `v`", "52-year-old litigator, all x y z w v"),
    ("**a *b*** and *a **b***", "a b and a b"), ("2*3*4, a * b, snake_case_x, **open, ____",
    "2*3*4, a * b, snake_case_x, **open, ____"),
    ("52\\-year\\-old \\*x\\* C:\\dir", "52-year-old *x* C:\\dir"),
    ("\\textbf{52}-year \\emph{a \\underline{b}} {c}~\\cite{d}", "52-year a b {c}"),
    ("from Omaha\u00b2, the end.\u00b3\u2079 5 m\u00b2", "from Omaha, the end. 5 m2"),
    ("a 📍 b 👩, 🙂", "a b,"), ("🙂 yes", "- yes"), ("🙂", "🙂"),
])
def test_what_is_shown(text: str, expected: str) -> None:
    assert render(text).text == expected


def test_targets_of_links_are_read_beside() -> None:
    assert "jane@example.com" in render("[mail](mailto:jane@example.com)").decoded[0].text


def test_a_citation_without_a_target_leaves_no_empty_run() -> None:
    assert all(run.start < run.end for run in render("as said [1]() before").decoded)
