# mypy: implicit-reexport
"""Modules that the commands use, imported when one is first used; see `discreet.cli.library`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet import report
    from discreet.core import runs
    from discreet.guard import fit, reading
    from discreet.guard.density import detector
    from discreet.inputs import endpoints
    from discreet.inputs.encode import presets
    from discreet.synth import plan
    from discreet_papers import paraphrase, shared
    from discreet_papers.blia import corpora as blia_corpora
    from discreet_papers.blia import reproduction as blia
    from discreet_papers.mia import corpora as mia_corpora
    from discreet_papers.mia import reproduction as mia
    from discreet_papers.mia import settings as mia_settings
    from discreet_papers.ppe import baselines as ppe_baselines
    from discreet_papers.ppe import pairings
    from discreet_papers.ppe import reproduction as ppe

HOMES = {
    "detector": "discreet.guard.density.detector", "blia": "discreet_papers.blia.reproduction",
    "blia_corpora": "discreet_papers.blia.corpora", "endpoints": "discreet.inputs.endpoints",
    "fit": "discreet.guard.fit", "mia": "discreet_papers.mia.reproduction",
    "mia_corpora": "discreet_papers.mia.corpora", "mia_settings": "discreet_papers.mia.settings",
    "pairings": "discreet_papers.ppe.pairings", "paraphrase": "discreet_papers.paraphrase",
    "plan": "discreet.synth.plan", "ppe": "discreet_papers.ppe.reproduction",
    "ppe_baselines": "discreet_papers.ppe.baselines", "presets": "discreet.inputs.encode.presets",
    "reading": "discreet.guard.reading", "report": "discreet.report", "runs": "discreet.core.runs",
    "shared": "discreet_papers.shared",
}
__getattr__ = lazily(__name__, HOMES, modules=True)
