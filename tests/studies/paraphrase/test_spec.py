from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from discreet.core.errors import UsageError
from discreet.studies.paraphrase import paraphraser_of
from discreet.studies.paraphrase.base import paraphrasers
from discreet.studies.paraphrase.paraphrasers.llm import Llm
from discreet.studies.paraphrase.paraphrasers.rules import Rules
from discreet.studies.paraphrase.spec import made


def test_names_and_options() -> None:
    pytest.importorskip("httpx")
    assert made("rules") == Rules()
    assert made("llm:http://host:8000/v1?v=1,model=org/m-1") == Llm("http://host:8000/v1?v=1", "org/m-1")
    assert made(" llm : model = m , url=http://host/v1,temperature=1,workers=2") == Llm("http://host/v1", "m", 1.0, 2)


@pytest.mark.parametrize(("spec", "message"), [
    ("nobody", "no paraphrasers plug-in is called 'nobody'"), ("", "no paraphrasers plug-in is called ''"),
    ("rules:", "'rules' has no option ''"), ("rules:seed=3", "'rules' has no option 'seed'.*: none"),
    ("llm", "'llm' needs url and model; expected llm:url=…,model=…"), ("llm:http://h/v1", "'llm' needs model"),
    ("llm:http://h/v1,model=m,model=n", "was given it twice"), ("llm:http://h/v1,m", "has no option 'm'"),
    ("llm:http://h/v1,model=", "model is empty"), ("llm:,model=m", "url is empty"),
    ("llm:http://h/v1,model=m,workers=two", "workers is 'two'; expected a whole number"),
    ("llm:http://h/v1,model=m,temperature=hot", "temperature is 'hot'; expected a number"),
    ("llm:http://h/v1,model=m,temperature=-1", "temperature is -1.0: expected a number from 0"),
    ("llm:host,model=m", "the address of the endpoint cannot be read"),
])
def test_specs_that_are_none(spec: str, message: str) -> None:
    pytest.importorskip("httpx")
    with pytest.raises(UsageError, match=message) as caught:
        paraphraser_of(spec, 3)
    assert "\n" not in str(caught.value)


def test_a_plug_in_is_one_class(data: Path, tmp_path: Path) -> None:
    len(paraphrasers)

    @paraphrasers.register("shouting")
    @dataclass(frozen=True, slots=True)
    class Shouting:
        mark: str
        times: int = 1

        @property
        def facts(self) -> dict[str, Any]:
            return {"kind": "test", "mark": self.mark, "times": self.times}

        @property
        def label(self) -> str:
            return "shouting"

        def paraphrase(self, texts: Any, n: int, rng: Any) -> list[list[str]]:
            return [[text + f" {self.mark}" * (k * self.times) for k in range(1, n + 1)] for text in texts]

    try:
        path = paraphraser_of("shouting:hey,times=2", 3)(data, 2, tmp_path)
        assert path.name == "texts.x2.shouting.s3.jsonl"
        assert path.read_text().splitlines()[1].count("hey") == 4
    finally:
        paraphrasers._items.pop("shouting")


def test_the_shape_that_a_study_wants(data: Path, tmp_path: Path) -> None:
    found = paraphraser_of("rules", 3)(data, 1, tmp_path / "data")
    assert found == tmp_path / "data" / "texts.x1.rules.s3.jsonl"
    assert len(found.read_text().splitlines()) == 3
