"""What every room stands on: errors, records, the registry, files, text normalisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.core.errors import (
        DetectorError,
        DiscreetError,
        InputError,
        MissingExtraError,
        PolicyError,
        UsageError,
    )
    from discreet.core.records import Answer, Estimate, Evidence, Turn, Verdict

__all__ = ["Answer", "DetectorError", "DiscreetError", "Estimate", "Evidence", "InputError", "MissingExtraError",
           "PolicyError", "Turn", "UsageError", "Verdict"]
HOMES = {
    "Answer": "discreet.core.records", "DetectorError": "discreet.core.errors", "DiscreetError": "discreet.core.errors",
    "Estimate": "discreet.core.records", "Evidence": "discreet.core.records", "InputError": "discreet.core.errors",
    "MissingExtraError": "discreet.core.errors", "PolicyError": "discreet.core.errors", "Turn": "discreet.core.records",
    "UsageError": "discreet.core.errors", "Verdict": "discreet.core.records",
}
__getattr__ = lazily(__name__, HOMES)
