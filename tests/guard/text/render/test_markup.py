from __future__ import annotations

import pytest

from discreet.guard.text.render import render


def squeezed(text: str) -> str:
    return " / ".join(line.strip() for line in render(text).text.splitlines() if line.strip(" \x1e"))


@pytest.mark.parametrize(("text", "expected"), [
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
def test_what_is_shown(text: str, expected: str) -> None:
    assert squeezed(text) == expected


def test_what_attributes_hold_is_read_beside() -> None:
    rendered = render('<a href="mailto:jane@example.com">mail</a>')
    assert rendered.text == "mail"
    assert "jane@example.com" in rendered.decoded[0].text


def test_an_element_that_comes_again_is_another_record() -> None:
    assert render("<ps><p1><age>52</age></p1><p1><age>60</age></p1></ps>").text.count("\x1e") == 1
