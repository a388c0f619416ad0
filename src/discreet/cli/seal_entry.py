"""The seal that `discreet audit membership` compares a table with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from discreet.audit.sealed import Opening
    from discreet.core.files import KeyedHash
    from discreet.scores.table import ScoreTable


@dataclass(frozen=True, slots=True)
class Coins:
    """Opened coins, and whether their hash was compared with one that was published."""

    opening: Opening
    keyed: KeyedHash
    published: bool

    def judged(self, table: ScoreTable, source: Path) -> tuple[ScoreTable, dict[str, Any]]:
        """The examples that the coins decided, and facts for the record; InputError as `under_seal`."""
        from discreet.audit.sealed import under_seal

        kept, left_out = under_seal(table, self.opening, self.keyed, str(source))
        return kept, {"seal": self.opening.commitment(), "seal_compared_with_published": self.published,
                      "sealed_pairs": len(self.opening.pairs), "not_sealed_left_out": left_out}


def read_seal(folder: Path | None, commitment: str | None) -> Coins | None:
    """The coins of a sealed folder, None without one.

    UsageError for a commitment without a folder, InputError for coins that are not those of the commitment.
    """
    if folder is None:
        if commitment is not None:
            raise UsageError("--commitment was given without --seal; expected the folder of the seal too")
        return None
    from discreet.audit.sealed import known_commitment, read_coins

    opening, keyed = read_coins(folder)
    if commitment is not None and known_commitment(commitment) != opening.commitment():
        raise InputError(f"{folder} is another seal than the one whose commitment was published; expected the folder "
                         f"that belongs to it")
    return Coins(opening, keyed, commitment is not None)
