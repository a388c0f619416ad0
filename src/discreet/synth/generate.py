"""The door for generators: a grammar, an LLM endpoint, or anything else that writes a draft to a specification."""

from __future__ import annotations

from typing import Protocol

from numpy.random import Generator as Rng

from discreet.core.registry import Registry
from discreet.domains import Domain
from discreet.synth.drafts import Draft, Spec


class Generator(Protocol):
    """Writes one draft at a time. The same spec and the same state of `rng` give the same draft.

    A generator that asks a remote model may answer differently each time; a campaign keeps what it got.
    """

    @property
    def lineages(self) -> tuple[str, ...]:
        """The names that `Spec.lineage` may have, in a fixed order."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever drafts may come out differently, so that a campaign never goes on with stale ones."""
        ...

    def generate(self, spec: Spec, domain: Domain, rng: Rng) -> Draft:
        """A draft for `spec`, which names `domain`. What it is worth is the validator's business."""
        ...


generators: Registry[Generator] = Registry("generators", builtin="discreet.synth.generators")
