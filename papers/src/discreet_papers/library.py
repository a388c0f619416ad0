# mypy: implicit-reexport
"""Modules that the commands use, imported when one is first used; see `discreet.cli.library`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet import report
    from discreet.core import runs
    from discreet.guard import fit, reading
    from discreet.guard.density import artifact
    from discreet.inputs import endpoints
    from discreet.inputs.encode import presets
    from discreet.synth import plan
    from discreet_papers import paraphrase, shared
    from discreet_papers.blia import corpora as blia_corpora
    from discreet_papers.blia import reproduction as blia
    from discreet_papers.mia import corpora as mia_corpora
    from discreet_papers.mia import reproduction as mia
    from discreet_papers.mia import settings as mia_settings
    from discreet_papers.ppe import analogue as ppe_analogue
    from discreet_papers.ppe import baselines as ppe_baselines
    from discreet_papers.ppe import pairings
    from discreet_papers.ppe import reproduction as ppe

__getattr__ = lazily(__name__, __file__)
