"""Synthesis of safe, unsafe and borderline-safe answers: plans, generators, validators, campaigns."""

from discreet.synth.campaign import run_campaign
from discreet.synth.plan import Plan, equal_sizes, make_plan, paper_sizes
from discreet.synth.records import Draft, Generator, Record, Slot, Spec, generators
from discreet.synth.validate import Validator

__all__ = ["Draft", "Generator", "Plan", "Record", "Slot", "Spec", "Validator", "equal_sizes", "generators",
           "make_plan", "paper_sizes", "run_campaign"]
