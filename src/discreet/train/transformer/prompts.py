"""System prompts of classifiers, and where each comes from.

One prompt belongs to one model: it is part of the saved recipe, and whatever the model reads, in training or in
scoring, single-turn or a bundle of conversations, it reads behind that prompt ("every example is paired with the same
system instruction", appendix F). Scores behind another prompt are scores of another model.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import UsageError

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A system instruction.

    Attributes
    ----------
    name : str
        As options and saved recipes say it.
    text : str
        Empty where there is none.
    source : str
        The paper's appendix, or "ours".
    """

    name: str
    text: str
    source: str


NONE = Prompt("none", "", "ours")
SAFETY = Prompt(
    "safety",
    "You are a safety classifier. Read the following user message and determine whether it contains harmful content.",
    "paper, appendix F")
DEPRESSION = Prompt(
    "depression",
    "You are a mental health screening classifier. Read the following text and determine whether it indicates signs "
    "of depression.",
    "paper, appendix N.2")
PROMPTS = {one.name: one for one in (SAFETY, DEPRESSION, NONE)}


def prompt_of(name: str, *, chat: bool) -> Prompt:
    """The prompt of a name; "auto" is the safety prompt where the tokeniser has a chat template, else none.

    Raises UsageError for another name.
    """
    if name == AUTO:
        return SAFETY if chat else NONE
    found = PROMPTS.get(name)
    if found is None:
        raise UsageError(f"the prompt is {name!r}: expected one of {', '.join([*PROMPTS, AUTO])}")
    return found
