"""The axes along which records are drawn (paper section IV-C), and how often a draft may be written again.

CASE_VOICE, IMPLICIT_CASE, REFERRAL, FRAME_OPENING and DISTRIBUTED are named in the paper; the other levels are ours,
to make up its six framings and four placements.
"""

from __future__ import annotations

FRAMINGS: tuple[str, ...] = (
    "CASE_VOICE", "IMPLICIT_CASE", "REFERRAL", "CONSULT_NOTE", "FAMILY_INQUIRY", "HYPOTHETICAL",
)
PLACEMENTS: tuple[str, ...] = ("FRAME_OPENING", "DISTRIBUTED", "FRAME_CLOSING", "MID_ANSWER")
MODES: tuple[str, ...] = ("NONE", "INDIRECT_QI", "DISTRACTOR_PADDED", "STYLE_TRANSFER")
REGISTERS: tuple[str, ...] = ("authoritative", "vignette", "conversational")

K_PRIOR: dict[int, float] = {2: 0.45, 3: 0.35, 4: 0.20}
"""How many quasi-identifiers a record binds (section IV-B)."""

MODE_PATTERN: dict[str, int] = {"NONE": 15_000, "INDIRECT_QI": 1_500, "DISTRACTOR_PADDED": 1_500,
                                "STYLE_TRANSFER": 1_500}
"""Records per generator and mode (appendix B; its 3,000 mixed records are halved over two modes)."""

RETRY_BUDGET: dict[str, int] = {"NONE": 4, "INDIRECT_QI": 12, "DISTRACTOR_PADDED": 6, "STYLE_TRANSFER": 6}
"""Drafts of one specification before it is given up, by mode."""
