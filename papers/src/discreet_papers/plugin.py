"""What the package adds to `discreet`, by entry points: commands, and summaries of their records."""

from __future__ import annotations

PAPERS = "Papers and reports"
"""The heading of the commands in the help of `discreet`."""

COMMANDS: dict[str, tuple[str | None, str, str]] = {
    "reproduce": (None, PAPERS, "Rerun the tables and figures of a paper: its definitions next to corrected ones."),
    "reproduce mia": ("discreet_papers.cli:mia", "", "Boundary-targeted membership inference."),
    "reproduce blia": ("discreet_papers.cli:blia", "", "Label inference."),
    "reproduce ppe": ("discreet_papers.cli:ppe", "", "Guards against leaks of context: the detectors and their "
                                                     "confound."),
    "reproduce pairings": ("discreet_papers.cli:pairings", "", "Fit and evaluate the guard paper's "
                                                                "configurations on partitions of your own."),
}
"""By its path each command: where its function is, its heading, what it does; see `discreet.cli.main.COMMANDS`."""

SUMMARIES: dict[str, str] = {
    "reproduce blia": "discreet_papers.report.audits:summary", "reproduce mia": "discreet_papers.report.audits:summary",
    "reproduce ppe": "discreet_papers.report.ppe:summary",
    "reproduce pairings": "discreet_papers.report.ppe:pairings_summary",
}
"""The function that summarises each kind of record; see `discreet.report.summary.KINDS`."""
