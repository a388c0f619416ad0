"""Saved records to pages, terminal text and Markdown; nothing is computed here that is not in the record.

A record goes in as a mapping (`result.json`, or `to_json()` of an audit with its `kind`) and comes out as a `Summary`,
which `to_html`, `to_text`, `to_markdown` and `to_tables` show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.report.figure import Figure, save_figures
    from discreet.report.render import to_html, to_markdown, to_tables, to_text
    from discreet.report.summary import KINDS, Summary, summarise

__all__ = ["KINDS", "Figure", "Summary", "save_figures", "summarise", "to_html", "to_markdown", "to_tables", "to_text"]

HOMES = {
    "Figure": "discreet.report.figure", "KINDS": "discreet.report.summary", "Summary": "discreet.report.summary",
    "save_figures": "discreet.report.figure", "summarise": "discreet.report.summary",
    "to_html": "discreet.report.render", "to_markdown": "discreet.report.render",
    "to_tables": "discreet.report.render", "to_text": "discreet.report.render",
}
__getattr__ = lazily(__name__, HOMES)
