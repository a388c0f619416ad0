from __future__ import annotations

import re

import numpy as np

from discreet.domains import load_domain
from discreet.synth.drafts import Spec
from discreet.synth.generate import generators
from discreet.synth.generators.grammar import Grammar
from discreet.synth.lineage import LINEAGES

SPEC = Spec("unsafe", "medical", "L2", qi=("AGE", "LOCATION"), framing="REFERRAL", placement="MID_ANSWER")


def test_the_grammar_is_registered() -> None:
    grammar = generators["grammar"]
    assert grammar.lineages == LINEAGES
    assert re.fullmatch(r"[0-9a-f]{16}", grammar.version)
    assert grammar.version == Grammar().version


def test_the_same_seed_gives_the_same_draft_and_another_another() -> None:
    one, two, three = (generators["grammar"].generate(SPEC, load_domain("medical"), np.random.default_rng(seed))
                       for seed in (5, 5, 6))
    assert one == two != three
