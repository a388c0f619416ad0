"""Campaigns of language models, against a model on the loopback that fails in every way."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import yaml
from pytest_socket import socket_allow_hosts
from tests.inputs.endpoints.scripted import FAULTS, Scripted, serving, words

import discreet
from discreet.core.errors import InputError, UsageError
from discreet.synth.asked import GENERATOR, run_asked
from discreet.synth.endpoints import Endpoints
from discreet.synth.ledger import LEDGER, read_ledger
from discreet.synth.plan import Plan, make_plan
from discreet.synth.records import Record
from discreet.synth.seeds import SeedPassage

pytestmark = pytest.mark.usefixtures("socket_enabled")
SIZES = {"unsafe": 120, "unsafe_heldout": 20, "borderline": 40, "borderline_eval": 20}
WHO = {"qwen": ["train"], "mistral": ["train"], "yi": ["heldout"], "gemma": ["borderline"], "phi": ["borderline_eval"]}


def check(record: Record, seed: SeedPassage | None) -> Sequence[str]:
    """Rejects one answer in ten, by its text alone."""
    return ("unbound",) if crc32(record.draft.answer.encode()) % 10 == 0 else ()


def endpoints(folder: Path, url: str, *, who: dict[str, list[str]] = WHO, **more: Any) -> Endpoints:
    """An endpoints file of these generators at one address, read back."""
    given = {"defaults": {"price": {"prompt": 1.0, "completion": 2.0}, "timeout": 20, "limits": {"concurrency": 8}},
             "generators": [{"name": name, "url": url, "model": f"{name}-1", "roles": roles}
                            for name, roles in who.items()], **more}
    (folder / "endpoints.yaml").write_text(yaml.safe_dump(given))
    return Endpoints.load(folder / "endpoints.yaml")


def plan_of(models: Endpoints, sizes: dict[str, int] = SIZES) -> Plan:
    return make_plan("medical", models.sizes(sizes), 7, generator=GENERATOR, roles=models.roles())


@pytest.fixture(autouse=True)
def _loopback() -> None:
    socket_allow_hosts(["127.0.0.1"])


def lines(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in sorted(folder.glob("*.jsonl"))}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A campaign that ran in one go, with faults of all kinds."""
    socket_allow_hosts(["127.0.0.1"])
    folder = tmp_path_factory.mktemp("whole")
    with serving(Scripted(faults=FAULTS, busy=0.2)) as url:
        models = endpoints(folder, url)
        manifest = run_asked(plan_of(models), models, folder / "out", check=check)
    return folder / "out", manifest


def test_counts_marginals_and_yields(whole: tuple[Path, dict[str, Any]]) -> None:
    out, manifest = whole
    assert (manifest["state"], manifest["short"]) == ("finished", 0)
    for name, size in SIZES.items():
        rows = [json.loads(line) for line in (out / f"{name}.jsonl").read_text().splitlines()]
        assert len(rows) == size
        assert len({row["answer"] for row in rows}) == size
        for axis in manifest["partitions"][name]["distance"]["kept"].values():
            assert axis is None or axis["total_variation"] == 0
    assert {row["profile"] for row in rows} == {"phi"}
    found = read_ledger(out / LEDGER)
    assert set(found["errors"]) == {"length", "content_filter", "no_finish_reason", "malformed", "cut", "refused"}
    assert found["reasons"] == {"unbound": manifest["rejected"]["unbound"]}
    kept = sum(row["states"].get("kept", 0) for row in found["rows"])
    assert kept >= sum(SIZES.values())
    assert found["spent"].cost == pytest.approx(manifest["spent"]["cost"])
    assert found["spent"].reserved_cost == pytest.approx(0)


def test_no_word_of_a_text_is_in_the_ledger(whole: tuple[Path, dict[str, Any]]) -> None:
    out, _ = whole
    data = b"".join(one.read_bytes() for one in out.glob("ledger*"))
    answers = [json.loads(line)["answer"] for line in (out / "unsafe.jsonl").read_text().splitlines()]
    assert not any(word.encode() in data for answer in answers for word in answer.split()[:5])
    assert not (out / ".kept").exists()


def test_a_finished_campaign_asks_for_nothing(whole: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    out, manifest = whole
    with serving(Scripted()) as url:
        models = endpoints(tmp_path, url)
        assert run_asked(plan_of(models), models, out, check=check) == manifest


def test_usage_is_the_provider_s_or_marked_as_an_estimate(tmp_path: Path) -> None:
    for usage in (True, False):
        with serving(Scripted(usage=usage)) as url:
            models = endpoints(tmp_path, url, who={"yi": ["heldout"]})
            run_asked(plan_of(models, {"unsafe_heldout": 5}), models, tmp_path / str(usage), check=check)
        found = read_ledger(tmp_path / str(usage) / LEDGER)
        assert set(found["counted_by"]) == {"provider" if usage else "estimate"}


def test_streams_end_with_the_same_records(whole: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """But for requests that are cut off in another way, which are as many."""
    with serving(Scripted(faults={"length": 0.1, "cut": 0.1})) as url:
        for stream in (False, True):
            models = endpoints(tmp_path, url, who={"yi": ["heldout"]}, defaults={"stream": stream})
            manifest = run_asked(plan_of(models, {"unsafe_heldout": 30}), models, tmp_path / str(stream), check=check)
            assert manifest["state"] == "finished"
            found = read_ledger(tmp_path / str(stream) / LEDGER)
            assert set(found["errors"]) <= {"length", "cut", "no_finish_reason"}
            assert "length" in found["errors"]


@pytest.mark.parametrize("budget", [{"cost": 0.02}, {"tokens": 20_000}])
def test_a_budget_stops_before_the_request_that_would_break_it(tmp_path: Path, budget: dict[str, float]) -> None:
    with serving(Scripted()) as url:
        models = endpoints(tmp_path, url, budget=budget)
        stopped = run_asked(plan_of(models), models, tmp_path / "out", check=check)
        assert (stopped["state"], stopped["stopped"]) == ("budget", {"": "budget"})
        spent = read_ledger(tmp_path / "out" / LEDGER)["spent"]
        assert 0 < spent.cost <= budget.get("cost", 1)
        assert spent.tokens <= budget.get("tokens", 10**9)
        assert (spent.reserved_cost, spent.reserved_tokens) == (0, 0)
        more = endpoints(tmp_path, url)
        assert run_asked(plan_of(more), more, tmp_path / "out", check=check)["state"] == "finished"


def test_an_endpoint_that_is_down_stops_its_generator_and_goes_on_later(tmp_path: Path) -> None:
    away, there = Scripted(), Scripted()
    away.down = True
    with serving(away) as down, serving(there) as url:
        models = endpoints(tmp_path, url)
        listed = [one.model_copy(update={"url": down}) if one.name == "yi" else one for one in models]
        models = models.model_copy(update={"generators": tuple(listed)})
        stopped = run_asked(plan_of(models), models, tmp_path / "out", check=check)
        assert stopped["stopped"] == {"yi": "unavailable"}
        assert not away.asked
        away.down = False
        before = sum(there.asked.values())
        assert run_asked(plan_of(models), models, tmp_path / "out", check=check)["state"] == "finished"
        assert sum(there.asked.values()) == before  # What the others wrote is not asked for again.


@pytest.mark.parametrize("fault", ["malformed", "refused"])
def test_an_endpoint_that_only_fails_is_left_alone(tmp_path: Path, fault: str) -> None:
    with serving(Scripted(faults={fault: 1.0})) as url:
        models = endpoints(tmp_path, url, who={"yi": ["heldout"]})
        stopped = run_asked(plan_of(models, {"unsafe_heldout": 200}), models, tmp_path / "out", check=check)
        assert stopped["stopped"] == {"yi": fault}
        states = Counter[str]()
        for row in read_ledger(tmp_path / "out" / LEDGER)["rows"]:
            states.update(row["states"])
        # Twenty, and what was under way beside them.
        assert states.total() <= 20 + 8
        with pytest.raises(UsageError, match="which the endpoints do not name"):
            run_asked(plan_of(models, {"unsafe_heldout": 2}), endpoints(tmp_path, url, who={"a": ["train"]}),
                      tmp_path / "other")


def test_no_file_of_somebody_else_is_lost(tmp_path: Path) -> None:
    with serving(Scripted()) as url:
        models = endpoints(tmp_path, url, who={"yi": ["heldout"]})
        plan = plan_of(models, {"unsafe_heldout": 2})
        before = {one.name for one in tmp_path.iterdir()}
        with pytest.raises(UsageError, match="not an empty folder"):
            run_asked(plan, models, tmp_path, check=check)
        assert {one.name for one in tmp_path.iterdir()} == before
        # A plan may lie in the folder that is made of it.
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "plan.json").write_text(json.dumps(plan.to_json()))
        assert run_asked(plan, models, tmp_path / "out", check=check)["state"] == "finished"
        (tmp_path / "out" / "campaign.json").write_text("rubbish")
        with pytest.raises(UsageError, match="campaign of another plan"):
            run_asked(plan, models, tmp_path / "out", check=check)


def test_one_poisoned_specification_ends_nothing(tmp_path: Path) -> None:
    with serving(Scripted(faults={"refused": 0.5})) as url:
        models = endpoints(tmp_path, url, who={"yi": ["heldout"]})
        manifest = run_asked(plan_of(models, {"unsafe_heldout": 20}), models, tmp_path / "out", check=check)
    assert manifest["state"] == "finished"
    assert manifest["partitions"]["unsafe_heldout"]["n"] + manifest["short"] == 20


def test_copies_are_asked_for_again(tmp_path: Path) -> None:
    """Of answers that come from few texts, each is kept once; near copies in other shards too."""
    texts = [words(str(i)) for i in range(60)]

    def say(body: dict[str, Any]) -> str:
        draw = random.Random(json.dumps(body))
        return draw.choice(texts).replace(".", f" {draw.choice('xyz')}.")

    with serving(Scripted(say)) as url:
        models = endpoints(tmp_path, url, who={"gemma": ["borderline"], "phi": ["borderline_eval"]})
        manifest = run_asked(plan_of(models, {"borderline": 15, "borderline_eval": 10}), models, tmp_path / "out",
                             check=lambda record, seed: ())
    rows = [json.loads(line) for one in lines(tmp_path / "out").values() for line in one.decode().splitlines()]
    assert len({row["answer"].rsplit(" ", 1)[0] for row in rows}) == len(rows) == 25 - manifest["short"]
    assert "near_duplicate" in read_ledger(tmp_path / "out" / LEDGER)["reasons"]


def test_roles_that_must_be_disjoint(tmp_path: Path) -> None:
    two = endpoints(tmp_path, "http://127.0.0.1:1/v1", who={"phi": ["train", "borderline_eval"]})
    said = r"'phi-1' writes for training pool \(train\) and borderline-eval.*--roles paper"
    with pytest.raises(UsageError, match=said):
        run_asked(plan_of(two, {"unsafe": 2}), two, tmp_path / "out")
    two.check_roles("paper")
    held = endpoints(tmp_path, "http://127.0.0.1:1/v1", who={"phi": ["train", "heldout"]})
    with pytest.raises(UsageError, match="name another model for one of them"):
        held.check_roles("paper")


def test_another_campaign_or_process_in_the_folder(tmp_path: Path) -> None:
    with serving(Scripted()) as url:
        models = endpoints(tmp_path, url, who={"yi": ["heldout"]})
        run_asked(plan_of(models, {"unsafe_heldout": 2}), models, tmp_path / "out", check=check)
        with pytest.raises(UsageError, match="campaign of another plan"):
            run_asked(plan_of(models, {"unsafe_heldout": 3}), models, tmp_path / "out", check=check)
    (tmp_path / "bad.yaml").write_text("generators: [{name: a}]")
    with pytest.raises(InputError, match="generators with name, url, model and roles"):
        Endpoints.load(tmp_path / "bad.yaml")


RUN = """
import sys
from pathlib import Path
from tests.synth.test_asked import check, plan_of
from discreet.synth.asked import run_asked
from discreet.synth.endpoints import Endpoints
models = Endpoints.load(sys.argv[1])
run_asked(plan_of(models), models, Path(sys.argv[2]), check=check)
"""


@pytest.mark.services
def test_kill_nine_at_ten_moments_ends_with_the_same_records(tmp_path: Path) -> None:
    """And nothing is paid twice but what was in flight."""
    model = Scripted(faults=FAULTS, busy=0.1, seconds=0.02)
    with serving(model) as url:
        models = endpoints(tmp_path, url)
        run_asked(plan_of(models), models, tmp_path / "whole", check=check)
        once, model.asked = Counter(model.asked), Counter()
        root = Path(__file__).parents[2]
        env = {**os.environ, "PYTHONPATH": f"{Path(discreet.__file__).parents[1]}{os.pathsep}{root}"}
        draw, ended, kills = random.Random(1), False, 0
        while not ended:
            process = subprocess.Popen([sys.executable, "-c", RUN, tmp_path / "endpoints.yaml", tmp_path / "killed"],
                                       env=env, cwd=root)
            if kills < 10:
                asked, more = sum(model.asked.values()), draw.randint(5, 40)
                while sum(model.asked.values()) < asked + more and process.poll() is None:
                    time.sleep(0.005)
                kills += process.poll() is None
                process.send_signal(signal.SIGKILL)
            ended = process.wait() == 0
    assert kills == 10
    assert lines(tmp_path / "killed") == lines(tmp_path / "whole")
    assert set(model.asked) == set(once)
    lost = read_ledger(tmp_path / "killed" / LEDGER)["errors"].get("killed", 0)
    with sqlite3.connect(tmp_path / "killed" / LEDGER) as db:
        (in_flight,) = db.execute("SELECT COUNT(*) FROM requests WHERE state = 'lost'").fetchone()
    assert sum(model.asked.values()) - len(once) <= in_flight == lost <= 10 * 8 * len(WHO)
