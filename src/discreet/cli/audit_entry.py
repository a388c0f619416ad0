"""What `discreet audit membership` judges, whichever door it came by: scores, a model to score, a recipe to train."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli import model_entry, recipe_entry, seal_entry
from discreet.core.errors import UsageError

if TYPE_CHECKING:
    from discreet.core.design import Design
    from discreet.scores.table import ScoreTable


@dataclass(frozen=True, slots=True, eq=False)
class Brought:
    """A table ready to be audited.

    `texts` are by example id, None where none came with it; `left_out` counts groups with records on both sides;
    `further` goes into the record as it is.
    """

    table: ScoreTable
    design: Design
    source: Path
    left_out: int
    texts: Mapping[str, str] | None
    provenance: Mapping[str, Any]
    further: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One of the doors, its options checked; nothing has been read yet."""

    given: Mapping[str, Any]
    trained: recipe_entry.Trains | None
    scored: model_entry.Brought | None
    design: Design
    coins: seal_entry.Coins | None

    @property
    def trains(self) -> bool:
        """Whether models are trained, which takes long."""
        return self.trained is not None

    @property
    def has_texts(self) -> bool:
        """Whether texts of the examples come with the table."""
        return self.trains or self.given["model"] is not None

    def read(self, *, quiet: bool) -> Brought:
        """The table, after training or scoring what has to be. Raises DiscreetError as the doors do."""

        given = self.given
        source = given["data"] or given["scores"] or given["members"] or Path()
        facts: dict[str, Any] = {}
        further: dict[str, Any] = {}
        texts: Mapping[str, str] | None = None
        if self.trained is not None:
            table, texts, training = self.trained.scored(given["out"], quiet=quiet)
            facts, further = self.trained.provenance(), {"training": training}
        elif given["scores"] is not None:
            from discreet.scores.load import load_scores

            table = load_scores(given["scores"], kind="membership", models=given["models"], examples=given["examples"],
                                allow_split_groups=given["allow_split_groups"])
        else:
            assert self.scored is not None
            table, texts = self.scored.scored(quiet=quiet, allow_split_groups=given["allow_split_groups"])
            facts = self.scored.provenance(table)
        if self.coins is not None:
            table, sealed = self.coins.judged(table, source)
            facts |= sealed
        table, left_out = table.without_split_groups()
        return Brought(table, self.design, source, left_out, texts, facts, further)


def entry_of(given: Mapping[str, Any]) -> Entry:
    """The door that the parameters of the command ask for. UsageError for none, two, or what cannot be together."""
    from discreet.core.design import DEALT, shown_design

    trained = recipe_entry.Trains.of(given)
    if trained is None:
        design = shown_design(given["design"], seal=given["seal"] is not None)
        coins = seal_entry.read_seal(given["seal"], given["commitment"])
        return Entry(given, None, model_entry.Brought.of(given), design, coins)
    if given["design"] != "convenience" or given["seal"] is not None:
        name = "--seal" if given["seal"] is not None else "--design"
        raise UsageError(f"--recipe and {name} were given together; expected neither: what is trained here is dealt "
                         "here, at random")
    return Entry(given, trained, None, DEALT, None)
