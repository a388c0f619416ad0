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
    from discreet.audit.core import verdict
    from discreet.audit.defences import candidates
    from discreet.audit.defences import frontier as defences
    from discreet.audit.defences import training as training_defences
    from discreet.audit.experiments import labels as label_experiments
    from discreet.audit.experiments import membership as membership_experiments
    from discreet.audit.experiments import runner
    from discreet.audit.experiments.membership import plan as training_plan
    from discreet.audit.labels import audit as label_audit
    from discreet.audit.labels import bounds, published_table
    from discreet.audit.membership import attack, compare, diagnostics, facts, history, recipe
    from discreet.audit.membership import options as membership_options
    from discreet.audit.membership import plan as membership_plan
    from discreet.audit.scores import check, table, write
    from discreet.audit.scores.adapters import build
    from discreet.core import runs
    from discreet.guard import benchmark, calibrate, diff, domains, evaluate, exposure, fit, reading, reviews, stress
    from discreet.guard.density import corpus, detector, points
    from discreet.guard.population import columns as population_columns
    from discreet.guard.population import fit as population_fit
    from discreet.guard.population import people
    from discreet.guard.population import private as population_private
    from discreet.guard.text import templates
    from discreet.guard.text.direct import detect
    from discreet.inputs import answers, columns, datasets, endpoints, python_object, rows, texts
    from discreet.inputs.encode import presets
    from discreet.report import batch, commands, figure, junit, render
    from discreet.serve import keys as serve_keys
    from discreet.serve import run as serve_run
    from discreet.serve import settings as serve_settings
    from discreet.serve import shadow as serve_shadow
    from discreet.serve.queue import audit as queue_audit
    from discreet.serve.queue import tables as queue_tables
    from discreet.serve.queue import vault as queue_vault
    from discreet.stats import epsilon, evalues
    from discreet.stats.mechanisms.labels import base as label_mechanisms
    from discreet.synth import asked, campaign, leaks, ledger, plan, prompts, records, seeds, validate
    from discreet.synth import endpoints as synth_endpoints

HOMES = {
    "answers": "discreet.inputs.answers", "asked": "discreet.synth.asked",
    "attack": "discreet.audit.membership.attack", "batch": "discreet.report.batch",
    "benchmark": "discreet.guard.benchmark", "bounds": "discreet.audit.labels.bounds",
    "build": "discreet.audit.scores.adapters.build", "calibrate": "discreet.guard.calibrate",
    "campaign": "discreet.synth.campaign", "check": "discreet.audit.scores.check",
    "columns": "discreet.inputs.columns", "commands": "discreet.report.commands",
    "compare": "discreet.audit.membership.compare",
    "corpus": "discreet.guard.density.corpus",
    "datasets": "discreet.inputs.datasets", "defences": "discreet.audit.defences.frontier",
    "candidates": "discreet.audit.defences.candidates", "training_defences": "discreet.audit.defences.training",
    "training_plan": "discreet.audit.experiments.membership.plan",
    "detect": "discreet.guard.text.direct.detect", "detector": "discreet.guard.density.detector",
    "diagnostics": "discreet.audit.membership.diagnostics", "diff": "discreet.guard.diff",
    "domains": "discreet.guard.domains", "endpoints": "discreet.inputs.endpoints",
    "engine": "discreet.audit.engine", "epsilon": "discreet.stats.epsilon", "evaluate": "discreet.guard.evaluate",
    "evalues": "discreet.stats.evalues", "exposure": "discreet.guard.exposure",
    "facts": "discreet.audit.membership.facts", "figure": "discreet.report.figure", "fit": "discreet.guard.fit",
    "history": "discreet.audit.membership.history",
    "label_audit": "discreet.audit.labels.audit", "label_experiments": "discreet.audit.experiments.labels",
    "label_mechanisms": "discreet.stats.mechanisms.labels.base", "junit": "discreet.report.junit",
    "leaks": "discreet.synth.leaks",
    "ledger": "discreet.synth.ledger", "membership_options": "discreet.audit.membership.options",
    "membership_experiments": "discreet.audit.experiments.membership",
    "membership_plan": "discreet.audit.membership.plan",
    "recipe": "discreet.audit.membership.recipe",
    "people": "discreet.guard.population.people", "plan": "discreet.synth.plan",
    "points": "discreet.guard.density.points", "population_fit": "discreet.guard.population.fit",
    "population_private": "discreet.guard.population.private",
    "population_columns": "discreet.guard.population.columns",
    "presets": "discreet.inputs.encode.presets", "prompts": "discreet.synth.prompts",
    "published_table": "discreet.audit.labels.published_table", "queue_audit": "discreet.serve.queue.audit",
    "queue_tables": "discreet.serve.queue.tables",
    "queue_vault": "discreet.serve.queue.vault", "random": "numpy.random", "reading": "discreet.guard.reading",
    "python_object": "discreet.inputs.python_object", "records": "discreet.synth.records",
    "render": "discreet.report.render", "report": "discreet.report",
    "reviews": "discreet.guard.reviews", "rows": "discreet.inputs.rows", "runner": "discreet.audit.experiments.runner",
    "runs": "discreet.core.runs", "sealed": "discreet.audit.sealed", "seeds": "discreet.synth.seeds",
    "serve_keys": "discreet.serve.keys", "serve_run": "discreet.serve.run", "serve_settings": "discreet.serve.settings",
    "serve_shadow": "discreet.serve.shadow", "stress": "discreet.guard.stress",
    "synth_endpoints": "discreet.synth.endpoints", "table": "discreet.audit.scores.table",
    "templates": "discreet.guard.text.templates",
    "texts": "discreet.inputs.texts", "verdict": "discreet.audit.core.verdict",
    "validate": "discreet.synth.validate", "write": "discreet.audit.scores.write",
}
__getattr__ = lazily(__name__, HOMES, modules=True)
