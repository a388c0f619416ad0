"""The offline grammar: seven lineages that differ in templates, lexicon, syntax, register and punctuation."""

from __future__ import annotations

import hashlib
from functools import cached_property
from importlib.resources import files

from numpy.random import Generator as Rng

from discreet.domains import Domain
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

    @cached_property
    def version(self) -> str:
        """A hash of the grammar: its data and the code that reads them."""
        digest = hashlib.sha256()
        room = files("discreet.synth")
        for folder, suffix in ((room, ".py"), (room.joinpath("grammar"), ".yaml")):
            for item in sorted(folder.iterdir(), key=lambda f: f.name):
                if item.name.endswith(suffix):
                    digest.update(item.read_bytes())
        return digest.hexdigest()[:16]

    def generate(self, spec: Spec, domain: Domain, rng: Rng) -> Draft:
        """A draft by the lineage that the spec names."""
        return realise(spec, domain, rng)
