from __future__ import annotations

import pytest

from discreet.errors import UsageError
from discreet.train.transformer.prompts import DEPRESSION, NONE, PROMPTS, SAFETY, prompt_of


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
