from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Case No. 1:21-cv-01234-ABC", "1:21-cv-01234-ABC"),
        ("1:21-cv-01234", "1:21-cv-01234"),
        ("No. 21-CR-00123", "21-CR-00123"),
        ("Docket No. CV-2021-001234", "CV-2021-001234"),
        ("21STCV12345", "21STCV12345"),
        ("case number 2021-CV-01234", "2021-CV-01234"),
        ("Cause No. 71C01-0712-CT-169", "71C01-0712-CT-169"),
        ("Case No. 21 CV 1234 was filed", "21 CV 1234"),
        ("Index No. 654321/2021", "654321/2021"),
        ("Civil Action No. 19-1234", "19-1234"),
    ],
)
def test_docket_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "docket") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "Brown v. Board of Education, 347 U.S. 483 (1954)",
        "123 F.3d 456",
        "Case 3 of 12",
        "case no. 4",
        "Docket No. FDA-2019-N-1234",
        "Smith v. Doe, No. 1:19-cv-00123, 2020 WL 123456 (S.D.N.Y. 2020)",
        "a case numbered among 12345",
        "26 U.S.C. § 6103",
        "95% CI 21-1234",
        "in case number of patients is 12345",
        "CV risk 2021",
        "10:30-11:45",
        "lisinopril 20 PO 1000 mg",
        "CF 20 1000",
    ],
)
def test_docket_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "docket") == []
