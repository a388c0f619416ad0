"""An experiment trained whole: who is a member of what, no text in the store, resumed runs equal undisturbed ones."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.audit.experiments.membership.made_up import bytes_of, experiment_on, write_rows

from discreet.audit.engine import DataFile
from discreet.audit.experiments import MembershipExperiment, Trained, train
from discreet.audit.experiments.membership.assign import training_rows
from discreet.audit.scores.check import check_table
from discreet.core.errors import InputError, UsageError
from discreet.inputs.texts import read_texts

RECIPE = "tfidf-mlp:steps=60"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("data") / "d.jsonl", 900)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store") / "s"


@pytest.fixture(scope="module")
def trained(data: Path, store: Path) -> Trained[MembershipExperiment]:
    experiment = experiment_on(data, RECIPE, 3, {"a": 120}, shadows=4, planted=(1, 4), hidden=True)
    (found,) = train([experiment], store, engine="inline", quiet=True)
    return found


def test_every_model_knows_its_own_side_and_no_other(trained: Trained[MembershipExperiment]) -> None:
    table = trained.table()
    check_table(table, "made")
    names = [model.name for model in table.models]
    assert names == ["f_A", "f_B", "f_S", "neutral", "unseen", "shadow-0", "shadow-1", "shadow-2", "shadow-3"]
    member = dict(zip(names, table.member.astype(bool), strict=True))
    plain = table.examples.planted == 0
    assert (member["f_A"] & plain).sum() == (member["f_B"] & plain).sum() == 120
    assert not (member["f_A"] & member["f_B"]).any()
    assert (member["f_A"] | member["f_B"])[~plain].all()
    for name in ("f_S", "neutral", "unseen"):
        assert not member[name].any()
    assert (table.examples.split[member["f_A"]] == None).all()  # type: ignore[index]  # noqa: E711
    assert np.isfinite(table.logits).all()


def test_shadows_train_on_random_sets_of_the_size_of_a(trained: Trained[MembershipExperiment]) -> None:
    table = trained.table()
    inside = table.member[-4:].astype(bool)
    assert inside.sum(axis=1).tolist() == [120] * 4
    assert len({row.tobytes() for row in inside}) == 4
    assigned = trained.results["prepare"].arrays
    pool = np.isin(assigned["scored"], np.concatenate([assigned[name] for name in ("a", "b", "eval")]))
    assert not (inside & ~pool).any()


def test_the_record_says_what_was_trained(trained: Trained[MembershipExperiment]) -> None:
    said = trained.training()
    assert said["recipe"]["name"] == "tfidf-mlp"
    assert said["sides"]["a"] == 120
    assert said["models"]["f_A"]["trained_on"] > 120 > said["models"]["neutral"]["trained_on"] - 1
    assert 0.4 < said["models"]["f_A"]["validation_accuracy"] <= 1.0
    assert trained.results["fit/a"].arrays["hidden"].shape[0] == len(trained.table().examples)
    assert "hidden" not in trained.results["fit/b"].arrays


def test_the_store_holds_no_text(trained: Trained[MembershipExperiment], store: Path) -> None:
    words = ("paint", "proof", "stranger", "how to")
    for path in store.rglob("*"):
        if path.is_file():
            held = path.read_bytes()
            assert not any(word.encode() in held for word in words), path.name


def test_no_model_is_trained_twice(trained: Trained[MembershipExperiment], data: Path, store: Path) -> None:
    before = {path.name for path in (store / "results").glob("*/*")}
    experiments = [experiment_on(data, RECIPE, 3, {"a": 120}, shadows=2, planted=(1, 4)),
                   experiment_on(data, RECIPE, 3, {"a": 120}, planted=(1, 4), copies=2)]
    plain, doubled = train(experiments, store, engine="inline", quiet=True)
    np.testing.assert_array_equal(plain.results["fit/b"].arrays["logits"], trained.results["fit/b"].arrays["logits"])
    np.testing.assert_array_equal(plain.table().member[-2:], trained.table().member[5:7])
    after = {path.name for path in (store / "results").glob("*/*")}
    # f_A without its representation, two shadows, and five models on doubled rows, the selector among them.
    assert len(after - before) <= 1 + 2 + 5
    assert doubled.results["fit/a"].value["trained_on"] == 2 * plain.results["fit/a"].value["trained_on"]


def test_a_mismatched_reference_takes_the_place_of_the_neutral_one(tmp_path: Path, data: Path, store: Path) -> None:
    def run(path: Path) -> Trained[MembershipExperiment]:
        experiment = experiment_on(data, RECIPE, 3, {"a": 120}, planted=(1, 4), mismatched=DataFile.of(path))
        return train([experiment], store, engine="inline", quiet=True)[0]

    other, wrong = write_rows(tmp_path / "other.jsonl", 300, seed=8), tmp_path / "wrong.jsonl"
    found = run(other)
    table = found.table(reference="mismatched")
    assert [model.name for model in table.models] == ["f_A", "f_B", "f_S", "mismatched", "unseen"]
    assert (table.logits[3] != found.table().logits[3]).any()
    wrong.write_text(other.read_text().replace('"unsafe"', '"bad"'))
    with pytest.raises(InputError, match="they are not the 2 of"):
        run(wrong)


def test_paraphrases_are_trained_on_with_their_rows(tmp_path: Path, data: Path, store: Path) -> None:
    said = tmp_path / "p.jsonl"
    lines = [f'{{"id": "{row.id}#1", "text": "so {row.text}", "label": "{row.label}"}}' for row in read_texts(data)]

    def run(lines: list[str]) -> Trained[MembershipExperiment]:
        said.write_text("\n".join(lines))
        experiment = experiment_on(data, RECIPE, 3, {"a": 60}, planted=(), copies=2, copied="paraphrase",
                                   paraphrases=DataFile.of(said))
        return train([experiment], store, engine="inline", quiet=True)[0]

    assert run(lines).results["fit/a"].value["trained_on"] == 120
    with pytest.raises(InputError, match=r"lacks .* paraphrases"):
        run(lines[:5])


def test_of_near_duplicates_one_is_trained_on_and_all_are_members(tmp_path: Path) -> None:
    path = tmp_path / "near.jsonl"
    lines = write_rows(path, 400).read_text().splitlines()
    # Twelve words more in each text, and one that differs in each of three copies.
    tail = "and tell nobody of it until the third of next month at noon"
    copies = [line.replace('"id": "r', f'"id": "n{n}-').replace(' in ', f' {tail} in ', 1).replace('"}', f' x{n}"}}')
              for n in range(3) for line in lines[:120]]
    path.write_text("\n".join([*copies, *lines[120:]]) + "\n")
    options: dict[str, Any] = {"sizes": {"a": 60}, "planted": (1, 4), "shadows": 2}
    plain, deduplicated = train([experiment_on(path, RECIPE, 3, deduplicate=given, **options)
                                 for given in (False, True)], tmp_path / "s", engine="inline", quiet=True)
    for one, left_out in ((plain, False), (deduplicated, True)):
        assigned, said = one.results["prepare"].arrays, one.training()["models"]
        for role, name in (("a", "f_A"), ("neutral", "neutral")):
            given = [one.data[row].text for row in training_rows(assigned, role)]
            # Copies of a text and texts that differ in their last word alone.
            distinct = len({text.rpartition(" x")[0] if tail in text else text for text in given})
            assert distinct < len(given)
            assert said[name]["trained_on"] == (distinct if left_out else len(given))
            assert said[name]["near_left_out"] == (len(given) - distinct if left_out else 0)
    np.testing.assert_array_equal(plain.table().member, deduplicated.table().member)
    both = zip(plain.table().logits, deduplicated.table().logits, strict=True)
    assert all((one != other).any() for one, other in both)


@pytest.mark.parametrize("given", [
    {"shadows": -1}, {"planted": (0,)}, {"planted": (2, 2)}, {"copies": 0}, {"copies": 2, "copied": "paraphrase"},
    {"copies": 2, "deduplicate": True}])
def test_an_experiment_that_cannot_be_is_refused(data: Path, given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        experiment_on(data, RECIPE, **given)
    with pytest.raises(UsageError, match="nothing-such"):
        experiment_on(data, "nothing-such").tasks()


SCRIPT = """
import sys
from pathlib import Path
from discreet.audit.engine import DataFile
from discreet.audit.experiments import MembershipExperiment, train
if __name__ == "__main__":
    data = DataFile.of(Path(sys.argv[1]))
    experiment = MembershipExperiment(data, "tfidf-linear", 5, {"a": 100}, shadows=5, planted=(1,))
    train([experiment], sys.argv[2], workers=2, quiet=True)
"""


@pytest.mark.slow
def test_a_run_that_was_killed_leaves_the_same_bytes(tmp_path: Path, data: Path) -> None:
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    experiment = experiment_on(data, "tfidf-linear", 5, {"a": 100}, shadows=5, planted=(1,))
    train([experiment], calm, engine="inline", quiet=True)
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(data), str(killed)], start_new_session=True)
    end = time.monotonic() + 120
    while len(list((killed / "results").glob("*/*"))) < 3:
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    train([experiment], killed, engine="inline", quiet=True)
    assert bytes_of(calm) == bytes_of(killed)
    assert len(bytes_of(calm)) > 12
