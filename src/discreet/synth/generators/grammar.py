"""The offline grammar: seven lineages that differ in templates, lexicon, syntax, register and punctuation."""

from __future__ import annotations

from numpy.random import Generator as Rng

from discreet.synth.drafts import Draft, Spec
from discreet.synth.generate import generators
from discreet.synth.lineage import LINEAGES
from discreet.synth.realise import realise


@generators.register("grammar")
class Grammar:
    """Bootstraps and demonstrates; a deployment trains on text that a model wrote, or on its own."""

    @property
    def lineages(self) -> tuple[str, ...]:
        """L1 to L7."""
        return LINEAGES

    def generate(self, spec: Spec, rng: Rng) -> Draft:
        """A draft by the lineage that the spec names."""
        return realise(spec, rng)
