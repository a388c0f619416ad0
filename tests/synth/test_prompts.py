from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from discreet.core.errors import InputError, UsageError
from discreet.guard.domains import builtin_domains, load_domain
from discreet.synth.plan import equal_sizes, make_plan
from discreet.synth.prompts import Prompter, cut
from discreet.synth.records import Spec
from discreet.synth.seeds import SeedPassage

EXAMPLES = Path(__file__).parents[2] / "examples" / "domains"
SEED = SeedPassage("s", "corpus", "authoritative", "What {helps}\nbest?", "Rest {helps}. " * 300)
UNSAFE = Spec("unsafe", "medical", "m", qi=("AGE", "TREATMENT"), framing="REFERRAL", placement="MID_ANSWER")


def asked(spec: Spec, seed: SeedPassage | None = None, number: int = 0) -> str:
    return Prompter(spec.domain).messages(spec, seed, np.random.default_rng(number))[1]["content"]


@pytest.mark.parametrize("domain", [*builtin_domains(), *map(str, sorted(EXAMPLES.iterdir()))])
def test_every_specification_of_a_plan_has_a_prompt(domain: str) -> None:
    prompter, rng, plan = Prompter(domain), np.random.default_rng(0), make_plan(domain, equal_sizes(120), 3)
    for partition in plan.partitions():
        for spec in plan.specs(partition):
            for seed in (None, SEED):
                system, user = prompter.messages(spec, seed, rng)
                assert system["role"] == "system"
                assert prompter.texts["direct"] in system["content"]
                text = user["content"]
                assert ("Passage" in text) == (seed is not None)
                assert text.count("{") == (0 if seed is None else text.count("{helps}"))  # Nothing is left open.
                assert all(f"- {qi}: {prompter.texts['classes'][qi]['means']}" in text for qi in spec.qi)
                assert all(word in text for word in prompter.forbidden(spec))
                if spec.subtype:
                    subtype = prompter.texts["subtypes"][spec.subtype]
                    assert subtype["openings"][spec.opening] in text
                    assert len(set(subtype["openings"])) == 5
                assert ("no individual is described" in text) == (spec.kind in ("safe", "borderline"))
                assert 60 < len((system["content"] + text).split()) < 800


def test_levels_change_the_prompt() -> None:
    changed = [asked(one) for one in (
        UNSAFE, replace(UNSAFE, framing="CASE_VOICE"), replace(UNSAFE, placement="DISTRIBUTED"),
        *(replace(UNSAFE, mode=mode) for mode in ("INDIRECT_QI", "DISTRACTOR_PADDED", "STYLE_TRANSFER")))]
    assert len(set(changed)) == len(changed)
    # The same state of the generator gives the same prompt; another one other kinds of values.
    assert asked(UNSAFE, number=1) == asked(UNSAFE, number=1)
    assert len({asked(UNSAFE, number=n) for n in range(20)}) > 10


def test_forbidden_words_are_those_of_the_mode() -> None:
    prompter = Prompter("medical")
    assert prompter.forbidden(UNSAFE) == ()
    indirect = prompter.forbidden(replace(UNSAFE, mode="INDIRECT_QI"))
    assert {"year-old", "medication"} <= set(indirect)
    assert "married" not in indirect
    assert "this patient" in prompter.forbidden(replace(UNSAFE, mode="STYLE_TRANSFER"))
    assert prompter.forbidden(replace(UNSAFE, qi=(), mode="INDIRECT_QI")) == ()


def test_draft() -> None:
    prompter = Prompter("medical")
    spec = replace(UNSAFE, mode="INDIRECT_QI")
    draft = prompter.draft(spec, "  Answer: She rests.\n", SEED)
    assert (draft.answer, draft.question, draft.slots) == ("She rests.", "What {helps} best?", ())
    assert draft.forbidden == prompter.forbidden(spec)
    # Without a seed, the question of the draft is the one that was asked.
    assert f"Question: {prompter.draft(spec, 'x', None).question}" in asked(spec)


def test_cut() -> None:
    assert cut("One two. Three four.", 4) == "One two. Three four."
    assert cut("One two three. Four five six.", 4) == "One two three."
    assert cut("One. Two three four five six", 4) == "One. Two three four"


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="its own domain and classes"):
        asked(replace(UNSAFE, qi=("AGE", "INCOME_BAND")))
    with pytest.raises(UsageError, match="no 'LETTER' among their framings"):
        asked(replace(UNSAFE, framing="LETTER"))
    folder = tmp_path / "mine"
    load_domain("medical").save(folder)
    assert load_domain("medical").prompts == yaml.safe_load((folder / "prompts.yaml").read_text())
    (folder / "policy.yaml").write_text((folder / "policy.yaml").read_text().replace("domain: medical", "domain: mine"))
    own = Prompter(folder)
    assert own.version == Prompter("medical").version
    said = yaml.safe_load((folder / "prompts.yaml").read_text())
    for key, change in (("TREATMENT", {"classes": {"TREATMENT": None}}), ("openings", {"subtypes": {
            "EMPATHETIC_DEFLECTION": "kind"}}), ("questions", {"questions": "none"})):
        broken = {name: {**said[name], **value} if isinstance(value, dict) else value for name, value in change.items()}
        (folder / "prompts.yaml").write_text(yaml.safe_dump({**said, **broken}))
        with pytest.raises(InputError, match=key):
            Prompter(folder)
    (folder / "prompts.yaml").write_text(yaml.safe_dump({**said, "words": [10, 20]}))
    changed = Prompter(folder)
    assert changed.version != own.version
    spec = replace(UNSAFE, domain="mine")
    assert "an answer of 10 to 20 words" in changed.messages(spec, None, np.random.default_rng(0))[1]["content"]
    (folder / "prompts.yaml").unlink()
    with pytest.raises(InputError, match=r"has no prompts\.yaml"):
        Prompter(folder)
