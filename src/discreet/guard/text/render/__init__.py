"""Markup rendered to the text that a reader sees, with the way back to the original.

`render` stands between an answer and everything that reads it. It undoes what `discreet.core.unicode` undoes, puts the
plain text of coded runs (base64, hex, percent, letters apart) in their place, and then renders, each over what the one
before left: character references; HTML and XML; LaTeX tables; JSON; lines (fences, headings, quotes, emoji bullets,
YAML keys); tables (Markdown, boxes, CSV, TSV, columns apart by blanks), a record to a block of "Header: value.";
citations, links, emphasis, escapes and LaTeX commands. Text without markup comes out as `prepare` leaves it. What
markup holds and does not show (link targets, attributes) is kept beside it, for direct identifiers. Time is linear in
the length, and no input raises.

A parser of Markdown (markdown-it-py) knows lines, not offsets inside them, and one of HTML (html.parser) no end of a
tag; both read documents, not prose with some markup in it. So these are scanners of our own.
"""

from discreet.guard.text.render.base import render, shown

__all__ = ["render", "shown"]
