# mypy: implicit-reexport
"""Modules that commands use, imported when one is first used: `library.fit` imports the guard's room.

So the help of a command, and the commands beside it, load nothing that they do not need. The imports below are for type
checkers; at run time they are the table of what is where.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from numpy import random

    from discreet import benchmark, domains, endpoints, engine, report, studies
    from discreet.audit import sealed
    from discreet.audit.defences import frontier as defences
    from discreet.audit.labels import audit as label_audit
    from discreet.audit.labels import bounds, published_table
    from discreet.audit.membership import attack, embedding, parts
    from discreet.audit.membership import audit as membership_audit
    from discreet.core import runs
    from discreet.data import answers, datasets, rows, texts
    from discreet.encode import presets
    from discreet.experiments import labels as label_experiments
    from discreet.experiments import membership as membership_experiments
    from discreet.experiments import runner
    from discreet.guard import (
        artifact,
        calibrate,
        corpus,
        diff,
        evaluate,
        fit,
        pairings,
        points,
        reading,
        reviews,
        stress,
    )
    from discreet.mechanisms.labels import base as label_mechanisms
    from discreet.population import fit as population_fit
    from discreet.population import people
    from discreet.population import private as population_private
    from discreet.population import table as population_table
    from discreet.report import batch, commands, figure, render
    from discreet.scores import check, table, write
    from discreet.scores.adapters import build
    from discreet.serve import keys as serve_keys
    from discreet.serve import run as serve_run
    from discreet.serve import settings as serve_settings
    from discreet.serve import shadow as serve_shadow
    from discreet.serve.queue import audit as queue_audit
    from discreet.serve.queue import reviews as queue_reviews
    from discreet.serve.queue import tables as queue_tables
    from discreet.serve.queue import vault as queue_vault
    from discreet.stats import epsilon, evalues
    from discreet.studies import paraphrase
    from discreet.studies.blia import corpora as blia_corpora
    from discreet.studies.blia import reproduction as blia
    from discreet.studies.mia import corpora as mia_corpora
    from discreet.studies.mia import reproduction as mia
    from discreet.studies.mia import settings as mia_settings
    from discreet.studies.ppe import analogue as ppe_analogue
    from discreet.studies.ppe import baselines as ppe_baselines
    from discreet.studies.ppe import reproduction as ppe
    from discreet.synth import asked, campaign, costs, leaks, ledger, plan, prompts, records, seeds, validate
    from discreet.synth import endpoints as synth_endpoints

__getattr__ = lazily(__name__, __file__)
