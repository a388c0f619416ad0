"""The passes in order, and the composition of their edits."""

from __future__ import annotations

import re
from collections.abc import Callable

from discreet.core.unicode import Budget, Decoded, Prepared, Rewrite, decode, normalise, prepare, rewrite, spelt_out
from discreet.guard.text.render.inline import inline, lines
from discreet.guard.text.render.markup import entities, latex_tables, tags
from discreet.guard.text.render.structured import structured
from discreet.guard.text.render.tables import tables
from discreet.guard.text.render.words import SEPARATORS, Edits

_PASSES: tuple[Callable[[str], Edits], ...] = (entities, entities, entities, tags, latex_tables, structured,
                                               lines, tables, inline)
# Superscript digits after a word are footnotes; compatibility forms would turn them into digits of the word.
_SUPERSCRIPT = re.compile("(?:(?<=[a-z]{3})|(?<=[.,;:!?)\\]\"”]))[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]{1,2}"
                          "(?:[,\u2009\u202f][\u00b9\u00b2\u00b3\u2070\u2074-\u2079]{1,2}){0,5}(?![\\w\u00b2-\u00b9])")
# Any of these, a line with a comma that another follows, words far apart, a quoted value: else there is nothing to
# render.
_HINT = re.compile(r"[*_~`#<>&|\[\\{\t=;\u2190-\u2bff\u3010\U0001f000-\U0001faff]|(?m:^(?:-{3}|[^,\n]{1,40},.*$\n))"
                   r"|\w {2,}\w|\w:[ \t]*[\"'|>]")
# A name in letters as in most answers: nothing is rendered, and nothing in it is coded.
_NAME = re.compile(r"[A-Z][a-z]{1,10}(?:\.? [A-Z][a-z]{1,10})*")


def render(text: str) -> Prepared:
    """A text as a reader sees it, for detection; see the module for what is undone."""
    if _NAME.fullmatch(text):
        return Prepared(text, text, ())
    footnotes = [] if text.isascii() else [(*m.span(), "") for m in _SUPERSCRIPT.finditer(text)]
    marks = [(*m.span(), " ") for m in SEPARATORS.finditer(text)]
    current, first = rewrite(text, sorted([*footnotes, *marks]))
    steps = [first] if first else []
    if not current.isascii():
        current, more = normalise(current)
        steps += more
    beside: list[Decoded] = []
    coded = _uncoded(current)
    current, beyond = _apply(current, coded, steps, beside, text), coded.beyond
    if _HINT.search(current):
        for one in _PASSES:
            found = one(current)
            beyond = beyond or found.beyond
            if found.edits or found.beside:
                current = _apply(current, found, steps, beside, text)
    if not steps:
        return prepare(text)
    bare = Prepared(text, current, (), tuple(steps))
    budget = Budget.of(current)
    beside += [Decoded(plain, *bare.span(start, end), how) for plain, start, end, how in decode(current, budget)]
    return Prepared(text, current, tuple(beside), tuple(steps), beyond or budget.beyond)


def shown(rendered: Prepared) -> str:
    """What an encoder reads of a text: rendered; letter for letter as it came where it holds no markup."""
    plain = rendered.original if rendered.original.isascii() else normalise(rendered.original)[0]
    return rendered.original if rendered.text == plain else rendered.text


def _apply(text: str, found: Edits, steps: list[Rewrite], beside: list[Decoded], original: str) -> str:
    """The text after one pass, normalised again where that brought other characters in."""
    bare = Prepared(original, text, (), tuple(steps))
    beside += [Decoded(text[start:end], *bare.span(start, end), found.how) for start, end in found.beside]
    after, step = rewrite(text, found.edits)
    if step:
        steps.append(step)
        if not after.isascii() and any(not new.isascii() for _, _, new in found.edits):
            after, more = normalise(after)
            steps += more
    return after


def _uncoded(text: str) -> Edits:
    """Coded runs replaced by what they spell; the run itself stays beside the text."""
    budget = Budget.of(text)
    spelt = spelt_out(text, budget)
    edits = [(start, end, SEPARATORS.sub(" ", plain)) for start, end, plain in spelt]
    return Edits(edits, [(start, end) for start, end, _ in edits], "coded", budget.beyond)
