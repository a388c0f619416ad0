# mypy: implicit-reexport
"""What commands use of the library, imported when it is first used: `library.fit_guard` imports the guard's room.

So the help of a command, and the commands beside it, load nothing that they do not need. The imports below are for type
checkers; at run time they are the table of what is where.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.random import default_rng

    from discreet.audit.defences.frontier import frontier
    from discreet.audit.labels.audit import audit_labels
    from discreet.audit.labels.audit import check_options as check_label_options
    from discreet.audit.labels.bounds import plan_canaries
    from discreet.audit.labels.check_table import check_cells
    from discreet.audit.labels.published import read_cells
    from discreet.audit.membership.attack import attacks
    from discreet.audit.membership.audit import audit_membership
    from discreet.audit.membership.audit import check_options as check_membership_options
    from discreet.audit.membership.embedding import boundary_places, boundary_records, embedding_record, load_vectors
    from discreet.audit.sealed import (
        Certificate,
        Opening,
        known_commitment,
        read_coins,
        read_public_key,
        seal,
        under_seal,
        unseal,
    )
    from discreet.audit.sealed.findings import POWER
    from discreet.core.design import ASSIGNED, Design, shown_design
    from discreet.core.files import KeyedHash
    from discreet.core.numbers import printable
    from discreet.core.records import Estimate
    from discreet.core.runs import Run
    from discreet.data.answers import AnswerStream, answer_from_text, clean, read_answers, read_labelled, unique
    from discreet.data.datasets import ARRAYS
    from discreet.data.rows import Place, iter_json_lines, iter_rows, json_type
    from discreet.data.texts import texts_of_examples
    from discreet.domains import builtin_domains, load_domain
    from discreet.encode.presets import build_encoders, default_cache
    from discreet.engine import DataFile
    from discreet.experiments import LabelExperiment, MembershipExperiment
    from discreet.experiments import train as train_experiments
    from discreet.experiments.labels import arms_of, joined
    from discreet.experiments.labels import training_record as label_training_record
    from discreet.guard.calibrate import calibrate, with_points
    from discreet.guard.corpus import Kind, read_side
    from discreet.guard.evaluate import evaluate
    from discreet.guard.fit import card_of, fit_guard
    from discreet.guard.guard import Guard
    from discreet.guard.pairings import (
        DEFAULT,
        PAPER_CONFIGURATIONS,
        evaluate_pairings,
        fit_configurations,
        read_partitions,
    )
    from discreet.guard.points import Costs
    from discreet.guard.policy import Policy
    from discreet.guard.stress import guard_scores, stress_scores
    from discreet.mechanisms.labels.base import label_mechanism
    from discreet.report import save_figures, summarise, to_html, to_markdown, to_text
    from discreet.report.batch import WIDEST_ACTION, BatchTally, count_line, verdict_lines
    from discreet.report.batch import page as batch_page
    from discreet.report.figure import can_draw
    from discreet.report.published import certificate_summary, checked_summary
    from discreet.report.render import environment
    from discreet.scores.adapters.build import scored_from_model
    from discreet.scores.check import check_enough
    from discreet.scores.load import load_scores
    from discreet.scores.table import NO_MECHANISM, ScoreTable
    from discreet.scores.write import write_scores
    from discreet.stats.epsilon import epsilon_ceiling, least_rate
    from discreet.stats.evalues import KINDS
    from discreet.studies import chosen_items, setting_of
    from discreet.studies.blia.corpora import CORPORA as BLIA_CORPORA
    from discreet.studies.blia.reproduction import ORDER as BLIA_ORDER
    from discreet.studies.blia.reproduction import merged as merged_blia
    from discreet.studies.blia.reproduction import reproduce as reproduce_blia
    from discreet.studies.blia.settings import SETTINGS as BLIA_SETTINGS
    from discreet.studies.blia.settings import Study as BliaStudy
    from discreet.studies.mia.corpora import CORPORA as MIA_CORPORA
    from discreet.studies.mia.reproduction import ORDER as MIA_ORDER
    from discreet.studies.mia.reproduction import reproduce as reproduce_mia
    from discreet.studies.mia.settings import SETTINGS as MIA_SETTINGS
    from discreet.studies.mia.settings import Study as MiaStudy
    from discreet.studies.paraphrase import paraphraser_of
    from discreet.synth.campaign import run_campaign
    from discreet.synth.plan import ROLES, Plan, equal_sizes, make_plan, paper_sizes
    from discreet.synth.records import Record
    from discreet.synth.validate import Validator


def _homes() -> dict[str, tuple[str, str]]:
    """By name, the module and the name in it, of the imports above."""
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    return {alias.asname or alias.name: (str(node.module), alias.name)
            for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}


HOMES = _homes()


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, inside = HOMES[name]
    found = globals()[name] = getattr(import_module(module), inside)
    return found
