"""Synthesis of safe, unsafe and borderline-safe answers: plans, generators, validators, campaigns."""

from discreet.synth.campaign import run_campaign
from discreet.synth.plan import Plan, equal_sizes, make_plan, paper_sizes
from discreet.synth.prompts import Prompter
from discreet.synth.records import Draft, Generator, Record, Slot, Spec, generators
from discreet.synth.seeds import SeedPassage, read_seeds
from discreet.synth.validate import Validator

__all__ = ["Draft", "Generator", "Plan", "Prompter", "Record", "SeedPassage", "Slot", "Spec", "Validator",
           "equal_sizes", "generators", "make_plan", "paper_sizes", "read_seeds", "run_campaign"]
