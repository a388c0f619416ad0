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

    from discreet import report
    from discreet.audit import engine, sealed
    from discreet.audit.defences import frontier as defences
    from discreet.audit.experiments import labels as label_experiments
    from discreet.audit.experiments import membership as membership_experiments
    from discreet.audit.experiments import runner
    from discreet.audit.labels import audit as label_audit
    from discreet.audit.labels import bounds, published_table
    from discreet.audit.membership import attack, embedding, parts
    from discreet.audit.membership import audit as membership_audit
    from discreet.audit.scores import check, table, write
    from discreet.audit.scores.adapters import build
    from discreet.core import runs
    from discreet.guard import benchmark, calibrate, diff, domains, evaluate, fit, reading, reviews, stress
    from discreet.guard.density import artifact, corpus, points
    from discreet.guard.population import fit as population_fit
    from discreet.guard.population import people
    from discreet.guard.population import private as population_private
    from discreet.guard.population import table as population_table
    from discreet.inputs import answers, datasets, endpoints, rows, texts
    from discreet.inputs.encode import presets
    from discreet.report import batch, commands, figure, render
    from discreet.serve import keys as serve_keys
    from discreet.serve import run as serve_run
    from discreet.serve import settings as serve_settings
    from discreet.serve import shadow as serve_shadow
    from discreet.serve.queue import audit as queue_audit
    from discreet.serve.queue import reviews as queue_reviews
    from discreet.serve.queue import tables as queue_tables
    from discreet.serve.queue import vault as queue_vault
    from discreet.stats import epsilon, evalues
    from discreet.stats.mechanisms.labels import base as label_mechanisms
    from discreet.synth import asked, campaign, costs, leaks, ledger, plan, prompts, records, seeds, validate
    from discreet.synth import endpoints as synth_endpoints

__getattr__ = lazily(__name__, __file__)
