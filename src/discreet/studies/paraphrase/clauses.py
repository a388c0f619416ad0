"""The clauses of a sentence in another order: around because, if, when, although, but, and what stands in front."""

from __future__ import annotations

import re

from discreet.studies.paraphrase.sentences import is_loud, lowered, raised

_SUBJECT = (r"(?:i|you|he|she|it|we|they|the|my|your|his|her|our|their|this|that|these|those|there|people|someone|"
            r"everyone|nobody|some|most|many)\b")
_END = re.compile(r"^(.*?)([.!?…]*)$", re.S)
_UNCLEAR = re.compile(r"[;:\"“”()\[\]\n—–]| - ")
_FRONT = re.compile(r"^(if|when|because|although|though|unless|because of) ([^,]+), (?:then )?([^,]+)$", re.I)
_BEHIND = re.compile(r"^([^,]+?),? (if|when|because|although|though|unless) ([^,]+)$", re.I)
_BUT = re.compile(rf"^({_SUBJECT}[^,]+), but ({_SUBJECT}[^,]+)$", re.I)
_ALTHOUGH = re.compile(rf"^(?:although|though) ({_SUBJECT}[^,]+), ({_SUBJECT}[^,]+)$", re.I)
_PLACED = re.compile(rf"^((?:in|at|on|after|before|during|for|with|without|until|by|from) (?:\S+ ){{0,5}}\S+), "
                     rf"({_SUBJECT}[^,]+)$", re.I)
_CONNECTIVES = re.compile(r"\b(?:if|when|because|although|though|unless|while|since|whether|than)\b", re.I)
_BOUND = re.compile(
    r"\b(?:as|even|only|what|how|wonder|wondering|know|knew|knows|see|ask|asked|asking|sure|tell|me|unclear|check|if|"
    r"matter|care|mind|and|but|or|that|just|not|is|was|like|of|about|out|to|find|question|so|especially|except|"
    r"decide|remember|guess|understand|learn)$", re.I)
_JOINED = re.compile(r"\b(?:and|but|or|so)\b", re.I)
_REPORTED = re.compile(r"\b(?:that|think|thinks|thought|said|say|says|believe|know|knows|told|claim|claims)\b", re.I)
_DISCOURSE = re.compile(
    r"^(?:in (?:short|fact|general|addition|other words|my opinion|my view|any case|conclusion|the end)|for (?:example|"
    r"instance|one|now|sure)|by the way|at (?:least|first|last|all)|on the (?:other|one) hand|after all|from now on|"
    r"with that)$", re.I)


def reordered(sentence: str) -> list[str]:
    """The sentence with its clauses in other orders: none, one or more; words stay but for "but" and "although".

    Left alone is what has brackets, quotation marks, colons or dashes, more than one clause that could be moved, or
    a conjunction that would reach further in the new order than it did.
    """
    body, end = _parts(sentence)
    if not body or _UNCLEAR.search(body) or is_loud(sentence):
        return []
    found = [*_moved(body), *_turned(body, end)]
    return [raised(one, sentence) + end for one in found]


def _parts(sentence: str) -> tuple[str, str]:
    match = _END.match(sentence)
    return (match.group(1), match.group(2)) if match else (sentence, "")


def _moved(body: str) -> list[str]:
    """A clause moved to the other end."""
    if len(_CONNECTIVES.findall(body)) == 1:
        if (front := _FRONT.match(body)) and _words(front[2]) > 1 and _words(front[3]) > 1:
            return [f"{lowered(front[3])} {front[1].lower()} {front[2]}"]
        if (behind := _BEHIND.match(body)) and _free(behind):
            return [f"{behind[2].lower()} {behind[3]}, {lowered(behind[1])}"]
    elif not _CONNECTIVES.search(body) and (placed := _PLACED.match(body)) and not _DISCOURSE.match(placed[1]):
        return [f"{placed[2]} {lowered(placed[1])}"]
    return []


def _free(behind: re.Match[str]) -> bool:
    """Whether "A because B" may become "because B, A"."""
    return (_words(behind[1]) > 1 and _words(behind[3]) > 1 and not _BOUND.search(behind[1])
            and not _JOINED.search(behind[3]) and not _REPORTED.search(behind[1]))


def _turned(body: str, end: str) -> list[str]:
    """ "A, but B" and "although A, B"."""
    if "?" in end:
        return []
    if (but := _BUT.match(body)) and not _CONNECTIVES.search(body):
        return [f"although {lowered(but[1])}, {but[2]}"]
    if (although := _ALTHOUGH.match(body)) and len(_CONNECTIVES.findall(body)) == 1:
        return [f"{although[1]}, but {although[2]}"]
    return []


def _words(clause: str) -> int:
    return len(clause.split())
