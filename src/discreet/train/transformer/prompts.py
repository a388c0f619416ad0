"""System prompts of classifiers, and where each comes from.

One prompt belongs to one model: it is part of the saved recipe, and whatever the model reads, in training or in
scoring, single-turn or a bundle of conversations, it reads behind that prompt ("every example is paired with the same
system instruction", appendix F). Scores behind another prompt are scores of another model.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from discreet.core.errors import UsageError
from discreet.core.files import why

AUTO = "auto"
FILE = "@"
"""Before the name of a file that holds a prompt."""
LONGEST = 20_000


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
        The paper's appendix, "ours", or "yours" for one from a file.
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

    "@F" is what stands in the file F, without the white space at both ends. Raises UsageError for another name, and for
    a file that cannot be read, is empty, or holds more than 20,000 characters.
    """
    if name == AUTO:
        return SAFETY if chat else NONE
    if name.startswith(FILE):
        return _from_file(Path(name.removeprefix(FILE)))
    found = PROMPTS.get(name)
    if found is None:
        raise UsageError(f"the prompt is {name[:20]!r}: expected one of {', '.join([*PROMPTS, AUTO])}, or @F for what "
                         f"stands in the file F")
    return found


def _from_file(path: Path) -> Prompt:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UsageError(f"cannot read the prompt in {path}: {why(error)}; expected a text file in UTF-8") from None
    except ValueError:
        raise UsageError(f"the prompt in {path} is no text in UTF-8; expected a text file") from None
    if not 0 < len(text) <= LONGEST:
        raise UsageError(f"the prompt in {path} has {len(text):,} characters: expected 1 to {LONGEST:,}")
    return Prompt(f"{FILE}{path.name}", text, "yours")
