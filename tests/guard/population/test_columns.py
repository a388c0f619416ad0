"""Tables of people: reading, schemas, and the command that fits a population to one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from discreet.cli.main import run
from discreet.core.errors import InputError, UsageError
from discreet.guard.population.columns import read_schema, read_table
from discreet.guard.population.population import Population


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path / "patients.csv"
    lines = [f"{rng.integers(20, 90)},{rng.choice(['F', 'M'])},{rng.choice(['north', 'south', ''], p=[.6, .3, .1])},2"
             for _ in range(400)]
    path.write_text("age,sex,ward,weight\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_whole_numbers_are_ordered_empty_cells_are_a_value_and_weights_are_read(patients: Path) -> None:
    read = read_table(patients, weight="weight")
    age, sex, ward = read.columns
    assert (age.ordered, age.values[0], age.values[-1]) == (True, "20", "89")
    assert (sex.values, sex.ordered) == (("F", "M"), False)
    assert set(ward.values) == {"north", "south", "not stated"}
    assert read.codes.shape == (400, 3)
    assert read.weights.sum() == 800
    assert [column.name for column in read_table(patients, only=["sex", "ward"]).columns] == ["sex", "ward"]


def test_rows_outside_of_a_schema_are_left_out(patients: Path, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps([{"name": "sex", "values": ["F", "M"]}, {"name": "ward", "values": ["north"]}]))
    read = read_table(patients, schema=read_schema(schema))
    assert 200 < len(read.codes) < 280
    assert not read.codes[:, 1].any()


@pytest.mark.parametrize(("content", "weight", "error", "said"), [
    ("a,b\n1,2\n", "w", UsageError, "no column 'w'"), ("a\n1\n", None, InputError, "at least two"),
    ("a,b\n", None, InputError, "0 rows"), ("a,b,w\nx,y,-1\n", "w", InputError, "no weight"),
    ("a,b\n" + "\n".join(f"x{i},y" for i in range(500)), None, UsageError, "500 values")])
def test_other_tables_are_refused(tmp_path: Path, content: str, weight: str | None, error: type[Exception], said: str
                                  ) -> None:
    (tmp_path / "t.csv").write_text(content, encoding="utf-8")
    with pytest.raises(error, match=said):
        read_table(tmp_path / "t.csv", weight=weight)


def test_other_schemas_are_refused(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text("{}")
    with pytest.raises(InputError, match="holds no list"):
        read_schema(tmp_path / "s.json")
    (tmp_path / "s.json").write_text('[{"values": []}]')
    with pytest.raises(InputError, match="described wrongly"):
        read_schema(tmp_path / "s.json")


def test_the_command_writes_a_population_that_can_be_asked(patients: Path, tmp_path: Path,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "ward.npz"
    assert run(["population", "fit", str(patients), "--weight", "weight", "--out", str(out), "--source", "ward 7",
                 "--year", "2024"]) == 0
    said = capsys.readouterr().out
    assert "800 people from" in said
    assert "3 columns" in said
    found = Population.load(out).count({"sex": "f", "ward": "north", "diagnosis": "gout"})
    assert found.estimate == pytest.approx(240, rel=0.2)
    assert (found.source, found.year, found.dropped) == ("ward 7", "2024", ("diagnosis",))


def test_under_differential_privacy_the_values_must_be_given(patients: Path, tmp_path: Path,
                                                             capsys: pytest.CaptureFixture[str]) -> None:
    schema, out = tmp_path / "schema.json", tmp_path / "ward.npz"
    asked = ["population", "fit", str(patients), "--out", str(out), "--epsilon", "2", "--delta", "1e-5"]
    assert run(asked) == 2
    assert "--epsilon needs --schema" in capsys.readouterr().err
    schema.write_text(json.dumps([{"name": "sex", "values": ["F", "M"]},
                                  {"name": "ward", "values": ["north", "south"]}]))
    assert run([*asked, "--schema", str(schema)]) == 0
    said = capsys.readouterr().out
    assert "(2, 1e-05)-differential privacy" in said
    assert "people from" not in said  # The exact number of rows is not released.
    assert Population.load(out).privacy.startswith("(2, 1e-05)")
    # Nobody can draw the noise again: two fits differ, and no seed is taken.
    first = out.read_bytes()
    assert run([*asked, "--schema", str(schema)]) == 0
    assert out.read_bytes() != first
    assert run([*asked, "--schema", str(schema), "--seed", "1"]) == 2
    assert "take the noise away" in capsys.readouterr().err


@pytest.mark.parametrize(("options", "said"), [
    (("--out", "t.csv"), "--out is the input, t.csv"), (("--out", "no/p.npz"), "its folder is not there"),
    (("--out", "."), "it is a folder"), (("--out", "p.npz", "--delta", "1e-5"), "--delta was given without --epsilon"),
    (("--out", "p.npz", "--people", "3"), "t.csv has 40 rows; expected at least as many people"),
    (("--out", "p.npz", "--seed", "-1"), "--seed is -1; expected at least 0")])
def test_mistakes_cost_no_table_and_no_time(tmp_path: Path, options: tuple[str, ...], said: str,
                                            capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
                                            ) -> None:
    monkeypatch.chdir(tmp_path)
    table = Path("t.csv")
    table.write_text("a,b\n" + "".join(f"{i % 3},{i % 2}\n" for i in range(40)))
    before = table.read_bytes()
    assert run(["population", "fit", "t.csv", *options]) == 2
    assert said in capsys.readouterr().err
    assert table.read_bytes() == before


@pytest.mark.parametrize(("content", "said"), [
    ("a,a\n1,2\n", "two columns called 'a'"), ("a,b\n1,2\n1,2,3\n", "line 3: the row has not the 2 cells"),
    ("a,b\n1,2\n1\n", "line 3: the row has not the 2 cells"), ("a,b\n1,2\n", "expected at least 2")])
def test_damaged_tables_are_refused(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(InputError, match=said):
        read_table(tmp_path / "t.csv")
