"""Passes of rendering: markup, JSON, heads of lines and what stands inside lines."""

from __future__ import annotations

import json

import pytest

from discreet.guard.text.render import render


def squeezed(text: str) -> str:
    return " / ".join(line.strip() for line in render(text).text.splitlines() if line.strip(" \x1e"))


@pytest.mark.parametrize(("text", "expected"), [
    ('{"age": 52, "maritalStatus": "married", "x": null, "ok": true}',
    "Age: 52. / Marital status: married. / X: none. / Ok: yes."),
    ("{'age': 52, 'city': 'Omaha'}", "Age: 52. / City: Omaha."),
    ('{"age": 52, "city": "Omaha', 'Age: 52. / City: "Omaha'),
    ('{"pt": {"age": 52}, "drugs": ["a b", "c"]}', "Pt: / Age: 52. / Drugs: a b, c."),
    ('["She is 52 years old.", "He is a tall welder"]', "She is 52 years old. / He is a tall welder"),
    (json.dumps({"answer": "The patient is a tall litigator\nfrom Omaha. \"Yes\"."}),
     'Answer: / The patient is a tall litigator / from Omaha. "Yes".'),
    ('so {"a_b": "\\u0041\\ud83d\\ude00 c"} there', "so / A b: A c. / there"),
    ("[1, 2] and {x} and [a] and {}", "[1, 2] and {x} and [a] and {}"),
    ("&lt;b&gt;R&amp;D&nbsp;&#53;2 &amp;amp; x&bogus; &#x35;", "R&D 52 & x&bogus; 5"),
    ("<p>The <b>patient</b> is <i><i>52</i></i>.</p><p>She rests.</p>", "The patient is 52. / She rests."),
    ("a 52-year-old<br>litigator", "a 52-year-old / litigator"), ("<ul><li>one<li>two</ul>", "- one / - two"),
    ("Omaha<sup>3</sup> and <sup><a href='#1'>[1]</a></sup>x 10<sup>6</sup>", "Omaha andx 106"),
    ("<img src='a.png' alt='a litigator'> here", "a litigator  here"),
    ("<age>52</age><maritalStatus>married</maritalStatus>", "Age: 52. / Marital status: married."),
    ("<pt><age>52</age></pt><pt><age>60</age></pt>", "Age: 52. / Age: 60."),
    ("She saw <person>Jane</person> there", "She saw Jane there"),
    ('<patient age="52" city="Omaha"/>', "Age: 52. / City: Omaha."),
    ("<table><tr><th>Age</th><th>City</th></tr>\n<tr>\n <td>52</td>\n <td>Omaha</td></tr></table>",
     "Age, City. / Age: 52. / City: Omaha."),
    ("x <!-- She is 52 --> y", "x / She is 52 / y"), ("<name> is <redacted>, p<a and b>c",
    "<name> is <redacted>, p<a and b>c"),
    ("\\begin{tabular}{ll}\nAge & City \\\\ \\hline\n52 & Omaha \\\\\n\\end{tabular}",
    "Age, City. / Age: 52. / City: Omaha."),
])
def test_what_is_shown_of_markup_and_json(text: str, expected: str) -> None:
    assert squeezed(text) == expected


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
    ("# Summary\n> She is\n> 52", "Summary\nShe is\n52"), ("```python\nx\n```", "\nx\n"),
    ("a\n---\nb\n***\nc", "a\n\nb\n\nc"),
    ("✅ one\n- 👩 two\n1️⃣ three", "- one\n- two\n- three"), ("patient_age: 52\nmaritalStatus: \"married\"",
    "Patient age: 52\nMarital status: married"),
    ("note: >\n  fine", "note: \n  fine"), ("See[^a].\n\n[^a]: She is 52.", "See.\n\nShe is 52."),
    (">90% of them\n#1 is", ">90% of them\n#1 is"),
    ("Note: \"yes\" and 'no'", "Note: \"yes\" and 'no'"), ("+----+\n| a |\n+----+\n| b |\n+----+", "a.\nb.\n"),
])
def test_what_is_shown_of_lines(text: str, expected: str) -> None:
    assert render(text).text == expected


@pytest.mark.parametrize(("text", "records"), [
    ('[{"age": 52}, {"age": 60}]', 2), ('{"age": 52}\n{"age": 60}', 2),
    ('{"a": {"age": 52}, "b": {"city": "Omaha"}}', 1)])
def test_objects_of_a_list_are_records_of_their_own(text: str, records: int) -> None:
    assert sum(bool(part.strip()) for part in render(text).text.split("\x1e")) == records


def test_what_attributes_hold_is_read_beside() -> None:
    rendered = render('<a href="mailto:jane@example.com">mail</a>')
    assert rendered.text == "mail"
    assert "jane@example.com" in rendered.decoded[0].text


def test_an_element_that_comes_again_is_another_record() -> None:
    assert render("<ps><p1><age>52</age></p1><p1><age>60</age></p1></ps>").text.count("\x1e") == 1


def test_targets_of_links_are_read_beside() -> None:
    assert "jane@example.com" in render("[mail](mailto:jane@example.com)").decoded[0].text


def test_a_citation_without_a_target_leaves_no_empty_run() -> None:
    assert all(run.start < run.end for run in render("as said [1]() before").decoded)
