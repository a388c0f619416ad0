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
__getattr__ = lazily(__name__, __file__)
