"""What can be told of a draft from its form alone: does it speak of its task, does it end, does it copy its seed?

Pure functions of texts; `Validator` puts them in order. What speaks of the task is data: `synth/data/prompts.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from discreet.synth.records import read_data

ECHO = 12
"""Words in a row that an answer shares with its seed passage, from which it is an echo of it."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CLOSERS = "\"'”’)]}*_`»"
_STOPS = ".!?…"
_ITEM = re.compile(r"\s*(?:[-*•–]|\(?\w{1,3}[.)])\s+\S")


def task_talk(answer: str) -> str | None:
    """"task" where an answer speaks of its task ("Here is the rewritten answer"), refuses it or says what a model says
    of itself; "placeholder" where it left one open ("[City]"); else None."""
    patterns = _task_patterns()
    opening = answer.lstrip(" \n\t#*_>\"“'")
    if any(p.match(opening) for p in patterns["start"]) or any(p.search(answer) for p in patterns["anywhere"]):
        return "task"
    return "placeholder" if any(p.search(answer) for p in patterns["placeholder"]) else None


@cache
def _task_patterns() -> Mapping[str, Sequence[re.Pattern[str]]]:
    said: dict[str, list[str]] = read_data("prompts")["task_talk"]
    return {where: [re.compile(one, re.I) for one in listed] for where, listed in said.items()}


def is_truncated(answer: str) -> bool:
    """Whether the last sentence has no end. The items of a list need none where no item before has one."""
    lines = [line.rstrip() for line in answer.splitlines() if line.strip()]
    if not lines:
        return True
    if _ends(lines[-1]):
        return False
    items = [line for line in lines[:-1] if _ITEM.match(line)]
    return not (_ITEM.match(lines[-1]) and items and not any(map(_ends, items)))


def _ends(line: str) -> bool:
    return line.rstrip(_CLOSERS + " ")[-1:] in (*_STOPS,)


def longest_echo(answer: str, passage: str) -> int:
    """Most words in a row that an answer shares with a passage; case, punctuation and line ends do not matter.

    The longest common run of two sequences of words; in time linear in their length, but for words that are frequent.
    """
    said, known = (_WORD.findall(text.casefold()) for text in (answer, passage))
    places: dict[str, list[int]] = {}
    for place, word in enumerate(known):
        places.setdefault(word, []).append(place)
    longest, before = 0, dict[int, int]()
    for word in said:
        # Length of the common run that ends at this word and at each place of it in the passage.
        before = {place: before.get(place - 1, 0) + 1 for place in places.get(word, ())}
        longest = max(longest, *before.values()) if before else longest
    return longest
