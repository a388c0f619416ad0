"""`discreet meter`: how many people fit what a text says of somebody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

import discreet
from discreet.cli import library as lib
from discreet.cli.guard_check import origin_of
from discreet.cli.options import DOMAINS, Population, ShowText, argument, option
from discreet.cli.output import Output
from discreet.core.errors import UsageError
from discreet.core.numbers import counted, printable
from discreet.core.records import rounded
from discreet.guard.population.count import ORIGIN_BY_PLACE, PLACE_INDEPENDENT
from discreet.guard.text.doc import Doc
from discreet.guard.text.language import guess_language
from discreet.guard.text.render import render

_PHRASE = re.compile(r"\s*an? [^.!?;\n]*$", re.IGNORECASE)
"""A description of somebody without a verb of its own, as "a 52-year-old litigator from Omaha"."""
NOBODY = "nothing is said of anybody in particular: there is nobody to count"


def meter(
    text: Annotated[str | None, argument(
        "TEXT", "What is said of somebody. '-' or nothing reads standard input (JSON Lines, CSV or text).")] = None,
    *,
    source: Annotated[str | None, option(
        "F", "Texts as .jsonl or .csv (also .gz) or .parquet, with the columns id and answer.", "--input")] = None,
    population: Population = None,
    domain: Annotated[str, option(
        "D", f"Whose facts are named as not counted: {DOMAINS}")] = "medical",
    output: Output, show_text: ShowText = False,
) -> None:
    """How many people fit what a text says of somebody: an estimate, with intervals that hold 80 and 95 in 100.

    Says which attributes were counted and how much each adds, which were dropped (so that fewer may fit), and what
    saying less would gain. Place is taken as independent of the rest. No text is printed unless --show-text is given.
    """
    origin = origin_of(text, source)
    guard = discreet.Guard(domain).counting(population)
    everybody = guard.population
    answers = lib.answers.read_answers(origin) if origin is not None else lib.answers.AnswerStream(
        iter([lib.answers.answer_from_text(str(text))]), total=1)
    several = answers.total != 1
    for given in answers:
        # A phrase without a sentence around it may be anybody's.
        answer = replace(given, answer=f"This is {given.answer}") if _PHRASE.match(given.answer) else given
        judgement = guard.judge(answer)
        if judgement.verdict.action == "failed":
            raise UsageError(f"the text {printable(answer.id)!r} could not be read: {judgement.verdict.reason}")
        measured = judgement.people
        language = guess_language(Doc(render(answer.answer)))
        people = [lib.people.detailed(one, everybody, where=show_text) for one in measured]
        record = {"id": answer.id, "people": people,
                  **({} if language.english else {"language": language.guess})}
        words = [lib.people.values_of(one) for one in measured] if show_text else None
        output.say(record, lambda: "\n".join(lines(record, words, several=several)), whenever=True)  # noqa: B023


def lines(record: dict[str, Any], words: list[dict[str, str]] | None = None, *, several: bool = False
          ) -> Iterator[str]:
    """A record of `detailed` people in words, one paragraph for each of them.

    `words`, one mapping of columns for each person, are what may be shown of the text.
    """
    named = f"{printable(record['id'])}: " if several else ""
    if "language" in record:
        yield f"{named}the text seems not to be English ({record['language']}): much of what it says may not be counted"
    if not record["people"]:
        yield named + NOBODY
    for number, one in enumerate(record["people"]):
        who = f"{one['person']}: " if len(record["people"]) > 1 else ""
        said = one["sentence"]
        yield f"{named}{who}{said[:1].upper() + said[1:] if not named + who else said}"
        if one["estimate"] is not None:
            low, high = (rounded(end) for end in one["interval80"])
            yield f"  In 80 of 100 such descriptions {low:,} to {high:,}."
        shown = words[number] if words else {}
        for use in one["used"]:
            column = "" if use["column"] == use["class"] else f", {use['column'].replace('_', ' ')}"
            value = f" ({printable(shown[use['column']])})" if use["column"] in shown else ""
            narrows = one["estimate"] is not None and use["narrows"] is not None
            leaves = f": leaves 1 in {_share(use['narrows'])}" if narrows else ""
            yield f"  {'found  ' if one['estimate'] is None else 'counted'}       {use['class']}{column}{value}{leaves}"
        for heading in ("widened", "dropped", "unknown", "unseen"):
            for left in one[heading]:
                yield f"  {heading:<12}  {left['class']}: {left['why']}"
        if one["not_counted"]:
            yield f"  not counted   {', '.join(one['not_counted'])}: this population does not say who has it"
        if one["uncounted"]:
            further = one.get("uncounted_words")
            listed = f" ({', '.join(map(printable, further))})" if further else ""
            yield f"  not counted   {counted(one['uncounted'], 'further word')} of the text{listed}"
        yield from (f"  note          {note}" for note in one["notes"])
        if one["upper_bound"] and one["estimate"] is not None:
            yield "  Something that is said is not in the count, so that fewer may fit: it is an upper bound."
        for gain in one["advice"]:
            yield f"  advice        {gain['class']} {gain['change']}: about {rounded(gain['estimate']):,} would fit"
        place = ORIGIN_BY_PLACE if one["origin_by_place"] else PLACE_INDEPENDENT
        yield f"  Counted in: {one['source']}, {one['year']}.{' ' + place if one['place_is_independent'] else ''}"


def _share(narrows: float) -> str:
    return f"{rounded(narrows):,}" if narrows >= 10 else f"{narrows:.2g}"
