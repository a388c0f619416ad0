from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from tests.audit.train.tasks import nothing, task
from tests.errors import refused

from discreet.audit.train import load_fitted, options_of, recipe_of, saving
from discreet.audit.train.base import recipes
from discreet.audit.train.recipes.tfidf import TfidfMlp
from discreet.core.errors import InputError, UsageError


@dataclass(frozen=True, slots=True)
class Sample:
    name: ClassVar[str] = "sample"
    libraries: ClassVar[tuple[str, ...]] = ()

    base: str = "minilm"
    regime: Literal["full", "lora"] = "full"
    rank: int = 64
    rate: float | None = None
    targets: tuple[str, ...] | None = None
    fast: bool = False
    layers: int | None = None

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ValueError(f"rank is {self.rank}: expected at least 1")

    def to_json(self) -> dict[str, Any]:
        return options_of(self)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(recipes) > 0
    monkeypatch.setitem(recipes._items, "sample", Sample)


@pytest.mark.parametrize(("spec", "wanted"), [
    ("sample", Sample()), ("sample:", Sample()),
    ("sample: base=/a/b c, rank=8", Sample(base="/a/b c", rank=8)),
    ("sample:regime=lora,rate=1e-4,fast=true,layers=none", Sample(regime="lora", rate=1e-4, fast=True)),
    ("sample:rate=2,layers=3,base=none", Sample(rate=2.0, layers=3, base="none")),
    ("sample:targets=q_proj+v_proj,base=a=b", Sample(targets=("q_proj", "v_proj"), base="a=b")),
    ("sample:targets=none", Sample()),
    ("sample:base=folder.d/model.json", Sample(base="folder.d/model.json")),
])
def test_words(spec: str, wanted: Sample) -> None:
    found: Any = recipe_of(spec) if not spec.endswith(":") else Sample()
    assert found == wanted
    assert isinstance(found.rate, float | None)
    assert type(found.base) is str
    again: object = recipe_of(json.loads(json.dumps(found.to_json())))
    assert again == wanted


@pytest.mark.parametrize("ending", ["yaml", "yml", "json"])
def test_files(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"recipe.{ending}"
    path.write_text(json.dumps(Sample(rank=3, targets=("a",)).to_json()))
    found: object = recipe_of(str(path))
    assert found == Sample(rank=3, targets=("a",))


def test_a_builtin_comes_back() -> None:
    assert recipe_of("tfidf-mlp:hidden=3,patience=2") == TfidfMlp(hidden=3, patience=2)


@pytest.mark.parametrize(("spec", "said"), [
    ("gone", "'gone' is none of the recipes that are installed; expected some of cnn, .*tfidf-mlp"),
    ("sample:colour=red", "no option 'colour': expected base, regime, rank, rate, targets, fast, layers"),
    ("sample:rank=red", "rank is 'red'; expected a whole number"), ("sample:rank=1.5", "expected a whole number"),
    ("sample:rank=none", "expected a whole number"), ("sample:rank=true", "expected a whole number"),
    ("sample:regime=odd", "regime is 'odd'; expected one of full, lora"), ("sample:fast=1", "expected true or false"),
    ("sample:rate=x", "rate is 'x'; expected none or a number"), ("sample:targets=a++b", "a list of words"),
    ("sample:rank=0", "the recipe 'sample': rank is 0: expected at least 1"),
    ("sample:rank", "name:option=value"), ("sample:=3", "name:option=value"), ("", "names are"),
    (":rank=3", "names are"), ("sample:rank=1,rank=2", "'rank' twice"), ("sample:name=tfidf-mlp", "'name' twice"),
    ({"rank": 3}, "a recipe without a name: expected one of cnn"), ({"name": "sample", "rank": "3"}, "rank is '3'"),
    ({"name": "sample", "rank": True}, "whole number"), ({"name": "sample", "rank": [1]}, "rank is a list"),
    ({"name": "sample", "targets": "qv"}, "a list of words"), ({"name": "sample", "rate": "none"}, "a number"),
    ({"name": "sample", "base": 3}, "base is '3'; expected text"), ({"name": "sample", 3: 4}, "no option '3'"),
])
def test_what_cannot_be(spec: Any, said: str) -> None:
    with refused(UsageError, said):
        recipe_of(spec)


@pytest.mark.parametrize(("ending", "content", "said"), [
    ("json", "{", "is no JSON"), ("yaml", "a: [", "is no YAML"), ("yaml", "- a", "holds no mapping"),
    ("json", "\udcff", "is no JSON"), ("yaml", None, "cannot read the recipe"),
])
def test_files_that_cannot_be(ending: str, content: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / f"recipe.{ending}"
    if content is not None:
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with refused(UsageError, said):
        recipe_of(str(path))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    train = task(8, 2)
    recipe = recipe_of("tfidf-mlp:columns=64,hidden=2,steps=2")
    recipe.fit(train, nothing(train), 2, np.random.SeedSequence(0)).save(tmp_path / "model")
    return tmp_path / "model"


def not_loaded(folder: Path, said: str) -> None:
    with refused(InputError, said):
        load_fitted(folder)


def test_folders_that_hold_no_such_model(saved: Path, tmp_path: Path) -> None:
    load_fitted(saved)
    not_loaded(tmp_path, "holds no recipe.json")
    not_loaded(tmp_path / "none", "is no folder")
    (saved / "model.safetensors").unlink()
    not_loaded(saved, "is missing")
    path = saved / "recipe.json"
    path.write_bytes(path.read_bytes()[:-30])
    not_loaded(saved, "truncated or no JSON")


@pytest.mark.parametrize(("key", "value", "said"), [
    ("version", 2, "version 2"), ("format", "other", "no manifest of the format"), ("n_classes", 3, "was changed"),
    ("n_classes", 1, "n_classes >= 2"), ("facts", {}, "was changed"), ("facts", None, "and facts"),
    ("recipe", {"name": "gone"}, "'gone' is none of the recipes"), ("recipe", 3, "must give 'recipe'"),
    ("recipe", {"name": "tfidf-mlp", "hidden": 4}, "was changed"), ("files", {}, "no model.safetensors|cannot be read"),
])
def test_changed_manifests(saved: Path, key: str, value: Any, said: str) -> None:
    path = saved / "recipe.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    if key == "files":
        (saved / "model.safetensors").write_bytes(b"no")
    not_loaded(saved, said)


def test_a_fact_with_text_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="may hold the text"), saving(
            tmp_path / "model", recipe_of("tfidf-mlp"), 2, {"text": "no"}):
        raise AssertionError("nothing is to be written")
    assert not (tmp_path / "model").exists()
