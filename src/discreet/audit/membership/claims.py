"""What can and what cannot be claimed from what was brought, in sentences."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.audit.membership.evaluation_sets import Sides
from discreet.core.design import AS_STATED, DEALT, STATED, WORDS, Design, decides
from discreet.scores.table import ScoreTable


@dataclass(frozen=True, slots=True)
class Brought:
    """What an audit had to work with.

    Attributes
    ----------
    neutral, population, paired, placebo, selector, planted, groups, texts, clean : bool
        Whether there were references of the kind, a placebo, a selection model, planted records, users, texts, and
        non-members that nobody trained on.
    """

    design: Design
    neutral: bool
    population: bool
    paired: bool
    placebo: bool
    selector: bool
    planted: bool
    groups: bool
    texts: bool
    clean: bool

    @classmethod
    def of(cls, table: ScoreTable, sides: Sides, design: Design, *, texts: bool) -> Brought:
        """Of one target."""
        return cls(
            design, "neutral" in sides.references, "population" in sides.references, "paired" in sides.references,
            sides.placebo is not None, bool(sides.selectors), sides.planted.size > 0,
            table.examples.has_users, texts, sides.clean[None].size > 0,
        )


def can_claim(brought: Brought) -> tuple[str, ...]:
    """What the audit may say."""
    said = []
    if brought.design in STATED:
        said.append("Whether the model leaks membership beyond the tolerance, if it is true that a random draw decided "
                    "who was trained on: then nothing but training tells the two sides apart.")
        said.append("On the same condition, a lower bound on the privacy parameter ε of this one training run.")
    elif brought.design == DEALT:
        said.append("Whether models that this recipe trains on such data leak membership beyond the tolerance: this "
                    "run drew who was trained on, so nothing but training tells the two sides apart.")
        said.append("A lower bound on the privacy parameter ε of this one training run.")
    elif decides(brought.design):
        said.append("Whether the model leaks membership beyond the tolerance: coins that were committed before "
                    "training decided who was trained on, so nothing but training tells the two sides apart.")
        said.append("A lower bound on the privacy parameter ε of this one training run.")
    else:
        said.append("How far the two sets differ under each attack, beside what differs without any model (the blind "
                    "baseline) and without training on them (the placebo).")
    if brought.placebo:
        said.append("How much of each attack's figure a model reaches that was trained on neither side.")
    if brought.neutral or brought.population:
        said.append("How well an attacker with models of their own would do, references having trained on neither "
                    "side or on random halves.")
    if brought.planted:
        said.append("Whether a leak would have been seen: records planted on purpose are judged too.")
    if brought.groups:
        said.append("What all records of one person together give away.")
    return tuple(said)


def cannot_claim(brought: Brought) -> tuple[str, ...]:
    """What the audit may not say, and what would be needed."""
    said = []
    if brought.design == AS_STATED:
        said.append("That this is a sealed audit: no seal was compared with the table, so it counts as randomised, "
                    "and that too on your word. Give the opened seal (--seal DIR).")
    elif brought.design in STATED:
        said.append("That a random draw decided who was trained on: that is your word. Coins that were sealed before "
                    "training (discreet seal) would show it.")
    elif brought.design == DEALT:
        said.append("Anything about a model that was trained elsewhere: the models judged here were trained here, with "
                    "the same recipe. Audit that model's own scores, sealed before its training, for that.")
    if not decides(brought.design):
        said.append(f"Pass or fail: {WORDS[brought.design]}. Seal the data before training (discreet seal), or draw "
                    "members at random, to get a verdict.")
    if not brought.placebo:
        said.append("A pass: without a placebo, a model trained on neither side, no figure shows what the attack "
                    "reads in anything else than memory.")
    if not brought.planted and brought.design != "sealed":
        said.append("A pass: without planted records (or a seal) nothing shows that a leak would have been seen.")
    if not brought.clean:
        said.append("Anything about honest attacks: there are no non-members that nobody trained on.")
    if not (brought.neutral or brought.population):
        said.append("What an attacker with honest references would find: " + (
            "the only references were trained on the very non-members in question."
            if brought.paired else "there are no references at all; the loss stands alone."))
    if not brought.selector:
        said.append("Anything about the decision boundary: there is no selection model that says it was trained on "
                    "other records.")
    if not brought.texts:
        said.append("That the two sets read alike: no texts were brought to compare.")
    if not brought.groups:
        said.append("Anything about persons with several records: there is no column 'group' that names them.")
    said.append("That no attack at all succeeds: only these attacks were tried, with this many queries a record.")
    return tuple(said)
