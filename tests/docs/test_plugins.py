"""docs/extending.md names every door, and what it adds works as its neighbours do."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.audit.labels.attacker_view import all_attacks, label_attacks
from discreet.audit.membership.attack import View, attacks
from discreet.audit.train import Data, load_fitted, recipe_of
from discreet.audit.train.base import recipes
from discreet.core.unicode import prepare
from discreet.guard.text.direct.detect import find_direct, recognisers
from discreet.inputs.encode.base import encoders, load_encoder
from discreet.stats.mechanisms.base import output_mechanisms
from discreet.stats.mechanisms.labels.base import label_mechanism, label_mechanisms

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
ADDED: list[tuple[Any, str]] = [
    (encoders, "lengths"), (label_attacks, "least_likely"), (label_mechanisms, "careful"),
    (output_mechanisms, "two_levels"), (recipes, "prior")]


@pytest.fixture(scope="module", autouse=True)
def _examples() -> Iterator[None]:
    for registry, _ in ADDED:
        list(registry)
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    names = [f"extending_{number}" for number in range(len(blocks))]
    try:
        for name, block in zip(names, blocks, strict=True):
            # Dataclasses look up the module that they are made in.
            module = sys.modules[name] = ModuleType(name)
            exec(compile(block, "extending.md", "exec"), module.__dict__)
        yield
    finally:
        for registry, added in ADDED:
            registry._items.pop(added, None)
        for name in names:
            sys.modules.pop(name, None)


def test_every_door_is_in_the_table_with_its_folder() -> None:
    declared = {room: folder.removeprefix("discreet.").replace(".", "/")
                for source in ("src", "papers/src") for file in (ROOT / source).rglob("*.py")
                for room, folder in re.findall(r'Registry\(\s*"(\w+)", builtin="([\w.]+)"', file.read_text())}
    stated = dict(re.findall(r"^\| [^|]+ \| `discreet\.(\w+)` \| `([\w/]+)` \|", PAGE, re.M))
    assert stated == declared


def test_a_term_of_a_domain_counts() -> None:
    verdict = discreet.Guard("law").check("The 52-year-old man serves in the 7th regiment.")
    assert {"age", "affiliation"} <= {found.type for found in verdict.evidence}


def test_the_encoder_comes_back(tmp_path: Path) -> None:
    encoders["lengths"]().save(tmp_path / "lengths")
    encoder = load_encoder(tmp_path / "lengths")
    np.testing.assert_allclose(encoder.encode(["two words", ""]), np.log1p([[2, 9], [0, 0]]), rtol=1e-6)


@pytest.mark.parametrize(("name", "holds"), [
    ("confidence_true", {(None, True)}), ("lira", {("population", True)}),
    ("reference", {("neutral", True), ("population", True), ("paired", False)})])
def test_the_tests_of_an_attack_tell_memory_from_an_oracle(name: str, holds: set[tuple[str | None, bool]],
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    page = next(one for key, one in sys.modules.items() if key.startswith("extending_") and hasattr(one, "ATTACK"))
    monkeypatch.setattr(page, "ATTACK", attacks[name])
    tests = [test for said, test in vars(page).items() if said.startswith("test_")]
    assert len(tests) == 3

    def passes(test: Callable[..., None], kind: str | None) -> bool:
        try:
            for scale in attacks[name].scales:
                test(scale, kind)
        except AssertionError:
            return False
        return True

    assert {(kind, passes(tests[0], kind)) for kind in attacks[name].able(page.VIEW)} == holds
    assert all(passes(test, kind) for test in tests[1:] for kind, _ in holds)


def test_the_label_attack_is_among_all() -> None:
    [attack] = [one for one in all_attacks(3) if one.settings.attack == "least_likely"]
    view: Any = type("Outputs", (), {"log_p": np.log([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4]])})
    assert attack.guess(view).label.tolist() == [2, 0]


def test_the_label_mechanism_has_half_of_its_epsilon() -> None:
    mechanism = label_mechanism("careful", 2.0, 3)
    assert mechanism.exact_epsilon() == pytest.approx(1.0)
    labels = np.zeros(20_000, dtype=np.int64)
    kept = (mechanism.apply(labels, np.random.default_rng(0)) == 0).mean()
    assert kept == pytest.approx(np.e / (np.e + 2), abs=0.015)


def test_the_output_mechanism_answers() -> None:
    mechanism = output_mechanisms["two_levels"].at(None, None, np.random.default_rng(0))
    answer = mechanism.release(np.array([[0.0, 1.0, -1.0]]), [b"x"], np.random.default_rng(0))
    np.testing.assert_allclose(answer, [[0.05, 0.9, 0.05]])


def test_the_recipe_trains_and_comes_back(tmp_path: Path) -> None:
    recipe = recipe_of("prior:smooth=2.0")
    empty = Data((), np.zeros(0, dtype=np.int64))
    fitted = recipe.fit(Data(("a", "b", "c"), np.array([0, 0, 1])), empty, 2, np.random.SeedSequence(0))
    fitted.save(tmp_path / "prior")
    np.testing.assert_allclose(np.exp(load_fitted(tmp_path / "prior").logits(("new",))), [[4 / 7, 3 / 7]])


@pytest.fixture
def registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a page registers is taken away again, and what had its name comes back."""
    for registry in (recognisers, attacks):
        list(registry)
        monkeypatch.setattr(registry, "_items", dict(registry._items))


@pytest.mark.usefixtures("registers")
def test_the_recogniser_of_contributing_finds_a_badge() -> None:
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.S)
    exec(compile(code, "CONTRIBUTING.md", "exec"), {})
    found = find_direct(prepare("The officer wore badge number 40213 that day."), types=["badge"])
    assert [(s.type, s.start) for s in found] == [("badge", 30)]


@pytest.mark.usefixtures("registers")
def test_the_attack_of_the_attacks_page_scores() -> None:
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8"), re.S)
    log_p = np.log(np.array([[[0.7, 0.3]], [[0.4, 0.6]]]))
    view = View(log_p, np.array([0, 0]), {}, np.zeros(0, dtype=np.int64), np.arange(2))
    exec(compile(code, "attacks.md", "exec"), {})
    assert attacks["margin"].requirements(view, None) is None
    scores = attacks["margin"].scores(view, "p", None, np.random.default_rng(0))
    np.testing.assert_allclose(scores, [0.4, -0.2])
