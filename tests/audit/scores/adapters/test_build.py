from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from tests.audit.scores.adapters.conftest import CORPUS
from tests.jsonl import jsonl

from discreet.audit.membership.audit import audit_membership
from discreet.audit.scores.adapters.build import scored_from_model
from discreet.audit.scores.load import load_scores
from discreet.audit.scores.write import write_scores
from discreet.core.errors import InputError, UsageError

MODULE = "brought_to_build"


def rows(side: str, texts: list[str], **more: Any) -> list[dict[str, Any]]:
    return [{"id": f"{side}{n}", "text": text, "label": n % 2, **more} for n, text in enumerate(texts)]


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    members = rows("m", [f"{text} {n}" for n in range(5) for text in CORPUS])
    others = rows("o", [f"{text} {n}" for n in range(5, 10) for text in CORPUS])
    return jsonl(tmp_path / "members.jsonl", members), jsonl(tmp_path / "others.jsonl", others)


@pytest.fixture
def brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / f"{MODULE}.py").write_text(dedent("""
        def numbers(texts):
            return [float(text.split()[-1]) for text in texts]

        class Named:
            classes_ = ["safe", "unsafe"]
            def predict_proba(self, texts):
                return [[.9, .1] if n < 5 else [.2, .8] for n in numbers(texts)]

        class Turned:
            classes_ = ["Unsafe", "Safe"]
            def predict_proba(self, texts):
                return [[.3, .7] if n < 5 else [.6, .4] for n in numbers(texts)]

        def wide(texts):
            return [[0., n, 1.] for n in numbers(texts)]

        def log(texts):
            return [[0., n] for n in numbers(texts)]

        def other(texts):
            return [[n, -2.] for n in numbers(texts)]

        def third(texts):
            return [[n, -3. * n] for n in numbers(texts)]

        named, turned, same = Named(), Turned(), Named()
    """), encoding="utf-8")
    yield f"python:{MODULE}:"
    sys.modules.pop(MODULE, None)


def test_every_model_has_its_role(sides: tuple[Path, Path], brought: str) -> None:
    table, texts = scored_from_model(
        f"{brought}named", *sides, references=[f"neutral={brought}turned", f"paired={brought}log",
                                               f"Population={brought}other"],
        controls=[f"{brought}third"])
    assert [(m.name, m.role, m.reference_kind) for m in table.models] == [
        ("target", "target", None), ("neutral", "reference", "neutral"), ("paired", "reference", "paired"),
        ("population", "reference", "population"), ("control", "control", None)]
    member = np.array([name.startswith("m") for name in table.examples.id])
    assert member.sum() == 20
    np.testing.assert_array_equal(table.member, [member, 0 * member, ~member, 0 * member - 1, 0 * member])
    assert list(table.examples.id) == sorted(texts)
    assert texts["m0"] == f"{CORPUS[0]} 0"
    assert table.examples.label.tolist() == [int(name[1:]) % 2 for name in table.examples.id]
    assert table.given_as == "prob"
    np.testing.assert_allclose(np.exp(table.log_p[0, :, 0, 0]), np.where(member, 0.9, 0.2))
    # The classes of the reference stand in the other order.
    np.testing.assert_allclose(np.exp(table.log_p[1, :, 0, 0]), np.where(member, 0.7, 0.4))
    assert len({m.facts["fingerprint"] for m in table.models}) == 5


def test_a_table_of_scores_says_the_same(sides: tuple[Path, Path], brought: str, tmp_path: Path) -> None:
    table, texts = scored_from_model(f"{brought}log", *sides, controls=[f"{brought}other"])
    write_scores(table, tmp_path / "scores.parquet")
    again = load_scores(tmp_path / "scores.parquet")
    order = [table.index(model.name) for model in again.models]
    np.testing.assert_array_equal(again.logits, table.logits[order])
    np.testing.assert_array_equal(again.examples.id, table.examples.id)
    found = audit_membership(table, design="randomised", texts=texts, permutations=0, bootstraps=10, attacks=["loss"])
    assert found.verdict in ("pass", "fail", "inconclusive")
    assert found.targets[0].controls["blind_auc"].resolved


def test_columns_of_the_files(tmp_path: Path, brought: str) -> None:
    members = rows("m", ["a 1", "b 2"], group="u", category="x|y", planted=4, split="train")
    others = [*rows("o", ["c 6", "d 7"], group="v"), *rows("p", ["e 8", "f 9"], group="v", split="reference_train")]
    files = jsonl(tmp_path / "m.jsonl", members), jsonl(tmp_path / "o.jsonl", others)
    table, _ = scored_from_model(f"{brought}log", *files, references=[f"paired={brought}other"])
    examples = table.examples
    assert examples.planted.tolist() == [4, 4, 0, 0, 0, 0]
    assert examples.group is not None
    assert examples.group.tolist() == [0, 0, 1, 1, 1, 1]
    assert examples.split is not None
    assert examples.split.tolist() == ["train", "train", None, None, "reference_train", "reference_train"]
    assert examples.categories == (frozenset("xy"), frozenset("xy"), *[frozenset()] * 4)
    # The paired reference was trained on some of the non-members: the others judge honestly.
    assert table.member[1].tolist() == [0, 0, 0, 0, 1, 1]


def test_labels_by_name(sides: tuple[Path, Path], brought: str, tmp_path: Path) -> None:
    words = [{**row, "label": ["SAFE", "unsafe"][row["label"]]} for row in rows("m", ["a 1", "b 2"])]
    members = jsonl(tmp_path / "words.jsonl", words)
    others = jsonl(tmp_path / "others2.jsonl", [{**row, "label": "safe"} for row in rows("o", ["a 7", "b 8"])])
    table, _ = scored_from_model(f"{brought}named", members, others)
    assert table.examples.label.tolist() == [0, 1, 0, 0]
    with pytest.raises(InputError, match="'label' is outside the classes of the model for 4 of 4 records"):
        scored_from_model(f"{brought}log", members, others)
    with pytest.raises(InputError, match="label' is outside the classes of the model for 1 of 3"):
        scored_from_model(f"{brought}named", jsonl(tmp_path / "bad.jsonl", [{**words[0], "label": 2}]), others)


def refused(brought: str, members: list[dict[str, Any]], others: list[dict[str, Any]], tmp_path: Path) -> str:
    files = jsonl(tmp_path / "m.jsonl", members), jsonl(tmp_path / "o.jsonl", others)
    with pytest.raises(InputError) as caught:
        scored_from_model(f"{brought}log", *files)
    assert "bread" not in str(caught.value)
    return str(caught.value)


def test_sides_that_do_not_go_together(tmp_path: Path, brought: str) -> None:
    members = rows("m", ["bread 1", "river 2"])
    assert "1 ids stand in both files" in refused(brought, members, [{**members[0], "text": "form 3"}], tmp_path)
    others = rows("o", ["form 3", " BREAD  1"])
    said = refused(brought, members, others, tmp_path)
    assert "1 non-members have the text of a member" in said
    assert f"{others[1]['id']!r} (that of member {members[0]['id']!r}); take these rows out" in said
    grouped = [{**row, "group": "u"} for row in members]
    assert "1 of 1 groups are split over both sets" in refused(
        brought, grouped, rows("o", ["form 3"], group="u"), tmp_path)
    assert "'group' is null for 1 of 3 texts" in refused(brought, grouped, rows("o", ["form 3"]), tmp_path)


def test_an_estimator_in_place_of_its_name_is_refused_in_one_line(sides: tuple[Path, Path], brought: str) -> None:
    for given, more in ((np.ones(3), {}), (f"{brought}log", {"controls": [np.ones(3)]})):
        with pytest.raises(UsageError, match=r"a model is given as ndarray; expected a string: .*python:MODULE:OBJECT"):
            scored_from_model(given, *sides, **more)  # type: ignore[arg-type]


def test_models_that_do_not_go_together(sides: tuple[Path, Path], brought: str) -> None:
    with pytest.raises(UsageError, match="same model is given twice"):
        scored_from_model(f"{brought}log", *sides, selector=f"{brought}log")
    with pytest.raises(InputError, match="selector 'selector' has the same scores as target 'target'"):
        scored_from_model(f"{brought}named", *sides, selector=f"{brought}same")
    with pytest.raises(InputError, match="neutral: it has 3 classes where the target has 2"):
        scored_from_model(f"{brought}log", *sides, references=[f"neutral={brought}wide"])
    for reference in (f"{brought}other", "neutral=", "shadow=x", "=x"):
        with pytest.raises(UsageError, match="expected KIND=MODEL, where KIND is one of paired, neutral, population"):
            scored_from_model(f"{brought}log", *sides, references=[reference])
