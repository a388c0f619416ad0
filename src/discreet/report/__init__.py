"""Saved records to pages, terminal text and Markdown; nothing is computed here that is not in the record.

A record goes in as a mapping (`result.json`, or `to_json()` of an audit with its `kind`) and comes out as a `Summary`,
which `to_html`, `to_text` and `to_markdown` show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from discreet.core.errors import UsageError
from discreet.report.figure import Figure, save_figures
from discreet.report.render import to_html, to_markdown, to_text
from discreet.report.summary import Summary

KINDS: Mapping[str, str] = {
    "audit labels": "labels.summary", "audit membership": "membership.summary", "defend-frontier": "frontier.summary",
    "reproduce blia": "reproduction.summary", "reproduce mia": "reproduction.summary",
    "plan labels": "labels.plan_summary", "check-table": "commands.table_summary",
    "certificate": "commands.certificate_summary", "seal": "commands.seal_summary",
    "guard evaluate": "commands.evaluation_summary", "guard calibrate": "commands.calibration_summary",
    "guard fit": "commands.fit_summary", "guard evaluate partitions": "commands.partitions_summary",
    "stress-test": "commands.stress_summary"}
"""The function that summarises each kind of record."""


def summarise(record: Mapping[str, Any], **options: Any) -> Summary:
    """The summary of a saved record, whose `kind` is one of `KINDS`. Raises UsageError for another.

    `options` are of the kind: `texts` of a membership audit, where texts may be shown.
    """
    kind = str(record.get("kind"))
    if kind not in KINDS:
        raise UsageError(f"a record of kind {kind[:40]!r} has no summary; expected one of {', '.join(KINDS)}")
    module, name = KINDS[kind].split(".")
    make: Callable[..., Summary] = getattr(import_module(f"discreet.report.{module}"), name)
    return make(record, **options)


__all__ = ["KINDS", "Figure", "Summary", "save_figures", "summarise", "to_html", "to_markdown", "to_text"]
