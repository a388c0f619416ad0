from __future__ import annotations

from pathlib import Path

import pytest

from discreet.core.errors import UsageError
from discreet.train.transformer.reading import DEPRESSION, NONE, PROMPTS, SAFETY, prompt_of


def test_the_prompts_of_the_paper_word_for_word() -> None:
    assert SAFETY.text == ("You are a safety classifier. Read the following user message and determine whether it "
                           "contains harmful content.")
    assert DEPRESSION.text == ("You are a mental health screening classifier. Read the following text and determine "
                               "whether it indicates signs of depression.")
    assert (SAFETY.source, DEPRESSION.source) == ("paper, appendix F", "paper, appendix N.2")
    assert {name for name, prompt in PROMPTS.items() if prompt.source.startswith("paper")} == {"safety", "depression"}


def test_names() -> None:
    assert prompt_of("auto", chat=True) is SAFETY
    assert prompt_of("auto", chat=False) is NONE
    assert all(prompt_of(name, chat=chat) is prompt for name, prompt in PROMPTS.items() for chat in (False, True))
    with pytest.raises(UsageError, match="'sfaety': expected one of safety, depression, none, auto"):
        prompt_of("sfaety", chat=True)


def test_a_prompt_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.txt"
    file.write_text("\n  You watch over a helpline.\nSay what you see – briefly. \n\n", encoding="utf-8")
    for chat in (False, True):
        found = prompt_of(f"@{file}", chat=chat)
        assert (found.name, found.source) == ("@own.txt", "yours")
        assert found.text == "You watch over a helpline.\nSay what you see – briefly."
    file.write_text(" \n")
    with pytest.raises(UsageError, match=r"own\.txt has 0 characters: expected 1 to 20,000"):
        prompt_of(f"@{file}", chat=True)
    file.write_text("x" * 20_001)
    with pytest.raises(UsageError, match="20,001 characters"):
        prompt_of(f"@{file}", chat=True)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="no text in UTF-8"):
        prompt_of(f"@{file}", chat=True)
    for missing in ("@", f"@{tmp_path / 'none.txt'}"):
        with pytest.raises(UsageError, match=r"cannot read the prompt in .*expected a text file") as caught:
            prompt_of(missing, chat=True)
        assert "\n" not in str(caught.value)
