from __future__ import annotations

from collections.abc import Callable

import pytest

Found = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("account number 12345678901", "12345678901"),
        ("Acct #004512378", "004512378"),
        ("The wire went to her checking account at First National, 004512378.", "004512378"),
        ("a/c 123456", "123456"),
        ("account no. 1234 5678 90", "1234 5678 90"),
        ("routing number 021000021, account 77812345", "77812345"),
        ("accounts 12345678", "12345678"),
    ],
)
def test_bank_account_is_found(found: Found, text: str, value: str) -> None:
    assert found(text, "bank_account") == [value]


@pytest.mark.parametrize(
    "text",
    [
        "the account ending in 4821",
        "account balance of 250000 dollars",
        "account opened 20190312",
        "order 12345678 on the account",
        "$12345678 in the account",
        "the account holds 25000000 shares",
        "savings of 500000",
        "12345678",
        "on account of 12,345,678",
        "account for 2019 and 2020",
        "an accountant, 12345678",
    ],
)
def test_bank_account_is_not_seen_in(found: Found, text: str) -> None:
    assert found(text, "bank_account") == []



def test_accounts_in_a_list_share_the_cue(found: Found) -> None:
    assert found("accounts 12345678, 87654321 and 11223344", "bank_account") == ["12345678", "87654321", "11223344"]
