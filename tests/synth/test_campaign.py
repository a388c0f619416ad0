from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from numpy.random import Generator as Rng

from discreet.core.errors import InputError, UsageError
from discreet.core.records import Estimate
from discreet.guard.domains import Domain, load_domain
from discreet.synth import campaign
from discreet.synth.campaign import DRAFTS, ROUNDS, Shard, ShardWriter, run_campaign
from discreet.synth.plan import PARTITIONS, make_plan, marginals
from discreet.synth.records import SHARED, Draft, Record, Spec, generators
from discreet.synth.validate import Check

PLAN = make_plan("law", {"safe": 30, "unsafe": 60, "borderline_eval": 20, "domain_only": 12}, 8)


class KilledError(Exception):
    pass


class Stub:
    """A generator that writes what `write` says, and counts how often it was asked."""

    profiles: tuple[str, ...] = ("L1", "L2", "L3")

    def __init__(self, version: str = "test", write: Callable[[Rng], str] | None = None) -> None:
        self.version, self.asked = version, 0
        self.write = write or (lambda rng: f"{version} {rng.integers(2**62)}")

    def generate(self, spec: Spec, domain: Domain, rng: Rng) -> Draft:
        self.asked += 1
        return Draft("", self.write(rng))


def fine(_: Record) -> Sequence[str]:
    return ()


def lines(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with the real validator, run in one go."""
    out = tmp_path_factory.mktemp("whole") / "run"
    run_campaign(PLAN, out)
    return out


def test_partitions_and_manifest(whole: Path) -> None:
    manifest = json.loads((whole / "manifest.json").read_text(encoding="utf-8"))
    assert sorted(files(whole)) == sorted(
        ["plan.json", "manifest.json", *(f"{name}.jsonl" for name in PLAN.partitions())])
    for name in PLAN.partitions():
        rows = lines(whole, name)
        part = manifest["partitions"][name]
        assert part["n"] == len(rows) == len(PLAN.specs(name))
        assert part["marginals"] == PLAN.to_json()["marginals"][name]
        assert part["short"] == 0
        assert part["clusters"] == {"paper": sum(len(r["qi"]) >= 2 for r in rows),
                                    "identifying": sum(len(set(SHARED) & set(r["qi"])) >= 2 for r in rows)}
        assert len({r["id"] for r in rows}) == len({r["answer"] for r in rows}) == len(rows)
        assert all(r["synthetic"] is True and r["generator"] == "grammar" and r["domain"] == "law" for r in rows)
        assert {r["kind"] for r in rows} == {PARTITIONS[name].kind}
    assert manifest["synthetic"] is True
    assert "bootstraps" in manifest["note"]


def test_yields_have_intervals(whole: Path) -> None:
    manifest = json.loads((whole / "manifest.json").read_text(encoding="utf-8"))
    assert set(manifest["yields"]["mode"]) == {"NONE", "INDIRECT_QI", "DISTRACTOR_PADDED", "STYLE_TRANSFER"}
    assert set(manifest["yields"]["profile"]) == {"L1", "L2", "L3", "L6"}
    for axis in manifest["yields"].values():
        for found in axis.values():
            one = Estimate.from_json(found)
            assert one.value is not None
            assert one.low is not None
            assert one.high is not None
            assert one.low <= one.value <= one.high
            assert one.n is not None
            assert one.n > 0


def test_the_head_of_a_file_is_a_sample_of_it(whole: Path) -> None:
    assert len({r["profile"] for r in lines(whole, "unsafe")[:20]}) == 3
    assert len({r["register"] for r in lines(whole, "safe")[:15]}) == 3


@pytest.mark.parametrize(("after", "torn"), [(1, False), (5, False), (2, True)])
def test_a_killed_campaign_goes_on_to_the_same_files(after: int, torn: bool, whole: Path, tmp_path: Path) -> None:
    def dying(jobs: Sequence[Any]) -> Any:
        for done, job in enumerate(jobs):
            if done == after:
                raise KilledError
            yield job

    out = tmp_path / "run"
    with pytest.raises(KilledError):
        run_campaign(PLAN, out, watch=dying)
    assert not (out / "manifest.json").exists()
    assert not list(out.glob("*.jsonl"))
    finished = {p.name: p.stat().st_mtime_ns for p in (out / ".shards").iterdir()}
    assert len(finished) == after
    if torn:
        first = min(finished)
        (out / ".shards" / first).write_text('{"key": "', encoding="utf-8")
        del finished[first]

    def seen(jobs: Sequence[Any]) -> Any:
        yield from jobs
        assert {n: (out / ".shards" / n).stat().st_mtime_ns for n in finished} == finished

    run_campaign(PLAN, out, watch=seen)
    assert files(out) == files(whole)


def test_a_finished_campaign_is_left_as_it_is(tmp_path: Path) -> None:
    plan, unused = make_plan("law", {"safe": 6}, 0), Stub(generators["grammar"].version)
    first = run_campaign(plan, tmp_path / "run", check=fine)
    stamp = (tmp_path / "run" / "safe.jsonl").stat().st_mtime_ns
    assert run_campaign(plan, tmp_path / "run", generator=unused, check=fine)["partitions"] == first["partitions"]
    assert ((tmp_path / "run" / "safe.jsonl").stat().st_mtime_ns, unused.asked) == (stamp, 0)


def test_shards_of_another_version_are_not_read(tmp_path: Path) -> None:
    plan = make_plan("law", {"safe": 6}, 0)
    for version in ("old", "new"):
        run_campaign(plan, tmp_path, generator=Stub(version), check=fine)
    assert {r["answer"].split()[0] for r in lines(tmp_path, "safe")} == {"new"}


def test_folders_that_hold_something_else(tmp_path: Path) -> None:
    other = make_plan("law", {"safe": 6}, 1)
    run_campaign(make_plan("law", {"safe": 6}, 0), tmp_path / "run", check=fine)
    with pytest.raises(UsageError, match="another plan"):
        run_campaign(other, tmp_path / "run", check=fine)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="not an empty folder"):
        run_campaign(other, tmp_path / "full", check=fine)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="not an empty folder"):
        run_campaign(other, tmp_path / "file", check=fine)


def test_a_plan_of_somebody_else_is_left_where_it_is(tmp_path: Path) -> None:
    plan = make_plan("law", {"safe": 6}, 0)
    kept = tmp_path / "plan.json"
    kept.write_text(json.dumps(plan.to_json()), encoding="utf-8")
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    before = files(tmp_path)
    with pytest.raises(UsageError, match="not an empty folder"):
        run_campaign(plan, tmp_path, check=fine)
    with pytest.raises(UsageError, match="another plan"):
        run_campaign(make_plan("law", {"safe": 6}, 1), tmp_path, check=fine)
    assert files(tmp_path) == before
    (tmp_path / "notes.txt").unlink()
    assert run_campaign(plan, tmp_path, check=fine)["short"] == 0  # A plan may lie in the folder that is made of it.


def test_a_profile_that_the_generator_does_not_have(tmp_path: Path) -> None:
    plan = make_plan("law", {"safe": 6}, 0, roles={"train": ("qwen",)})
    with pytest.raises(UsageError, match="'qwen'"):
        run_campaign(plan, tmp_path / "run")
    unknown = make_plan("law", {"safe": 6}, 0, generator="nobody")
    with pytest.raises(UsageError, match="nobody"):
        run_campaign(unknown, tmp_path / "run")


def test_what_could_not_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "SHARD", 7)
    manifest = run_campaign(make_plan("law", {"safe": 20}, 0), tmp_path / "run",
                            check=lambda r: ("no",) if r.spec.register == "vignette" else ())
    assert manifest["short"] == manifest["partitions"]["safe"]["short"] > 0
    assert manifest["rejected"]["no"] > 0
    assert manifest["partitions"]["safe"]["n"] + manifest["short"] == 20


def test_a_domain_may_be_mended_before_anything_was_written(tmp_path: Path) -> None:
    load_domain("law").save(tmp_path / "law")
    templates = tmp_path / "law" / "templates.yaml"
    whole = templates.read_text(encoding="utf-8")
    templates.write_text(whole.replace("topics:", "subjects:"), encoding="utf-8")
    with pytest.raises(InputError, match="topics is missing"):
        run_campaign(make_plan(tmp_path / "law", {"safe": 6}, 0), tmp_path / "run")
    templates.write_text(whole, encoding="utf-8")
    assert run_campaign(make_plan(tmp_path / "law", {"safe": 6}, 0), tmp_path / "run")["domain"] == "law"
    templates.write_text(whole + "# changed\n", encoding="utf-8")
    with pytest.raises(InputError, match="was changed since: plan again, into a new folder"):
        run_campaign(make_plan(tmp_path / "law", {"safe": 6}, 0), tmp_path / "run")


LAW = load_domain("law")


def specs(n: int, mode: str = "NONE", seed: int = 0) -> list[Spec]:
    plan = make_plan("law", {"unsafe": 20 * n}, seed)
    return [s for s in plan.specs("unsafe") if s.mode == mode and s.profile == "L1"][:n]


def written(asked: list[Spec], check: Check, seed: int = 0, writer: Stub | None = None) -> Shard:
    return ShardWriter(asked, LAW, (seed, 1), writer or Stub(), check, prefix="t", made_by="t").run()


def luck(record: Record, share: float) -> Sequence[str]:
    """Rejects `share` of drafts by their text alone."""
    return ("luck",) if int(record.draft.answer.split()[1]) % 1_000 < 1_000 * share else ()


def test_nothing_rejected_nothing_traded() -> None:
    asked = specs(50)
    shard = written(asked, lambda _: ())
    assert (shard.drafts, shard.kept, shard.short, shard.traded) == (50, 50, 0, 0)
    assert [r.spec for r in shard.records] == asked
    assert [r.id for r in shard.records] == [f"t-{i:03d}" for i in range(50)]


@pytest.mark.parametrize("seed", range(3))
def test_marginals_hold_though_nine_of_ten_drafts_are_rejected(seed: int) -> None:
    asked = specs(120, seed=seed)
    shard = written(asked, lambda record: luck(record, 0.9), seed)
    assert shard.short == 0
    assert marginals([r.spec for r in shard.records]) == marginals(asked)
    assert Counter(r.spec.qi for r in shard.records) == Counter(s.qi for s in asked)
    assert shard.drafts == shard.kept + shard.rejected["luck"]
    assert 0.07 < shard.kept / shard.drafts < 0.13
    assert shard.traded > 0


@pytest.mark.parametrize("seed", range(3))
def test_marginals_hold_though_one_combination_is_rejected_always(seed: int) -> None:
    """Retrying alone could never write these: only trading an axis away does."""
    def check(record: Record) -> Sequence[str]:
        return ("never",) if (record.spec.framing, record.spec.placement) == ("REFERRAL", "MID_ANSWER") else ()

    asked = specs(150, seed=seed)
    assert any(check(Record("", s, Draft("", ""), "")) for s in asked)
    shard = written(asked, check, seed)
    assert shard.short == 0
    assert marginals([r.spec for r in shard.records]) == marginals(asked)
    assert not any(check(r) for r in shard.records)


def test_what_can_never_be_written_ends_and_is_counted() -> None:
    asked = specs(40)
    shard = written(asked, lambda record: ("k",) if len(record.spec.qi) == 4 else ())
    fours = sum(len(s.qi) == 4 for s in asked)
    assert fours > 0
    assert shard.short == fours
    assert shard.drafts <= (DRAFTS + 4) * len(asked) + 4
    nothing = written(asked[:5], lambda _: ("no",))
    assert nothing.records == ()
    assert nothing.short == 5
    assert nothing.drafts <= (DRAFTS + 4) * 5 + 4


def test_no_text_twice() -> None:
    shard = written(specs(20), fine, writer=Stub(write=lambda rng: f"Text  {rng.integers(30)}"))
    assert len({r.draft.answer for r in shard.records}) == 20
    assert shard.rejected["duplicate"] > 0


def test_the_budget_of_a_mode_is_kept() -> None:
    writer = Stub()
    written(specs(1, "INDIRECT_QI"), lambda _: ("no",), writer=writer)
    # Whole budgets until the shard's drafts are used up, and one more for what is still open.
    assert writer.asked == (min(ROUNDS, -(-DRAFTS // 12)) + 1) * 12


def test_distance_from_the_plan_before_and_after(tmp_path: Path) -> None:
    def fewer_fours(record: Record) -> Sequence[str]:
        # As in the paper: the more classes, the more drafts fail.
        return ("hard",) if len(record.spec.qi) == 4 and int(record.draft.answer[-1]) < 7 else ()

    plan = make_plan("law", {"unsafe": 240}, 3)
    part = run_campaign(plan, tmp_path / "run", generator=Stub(), check=fewer_fours)["partitions"]["unsafe"]
    dropped, kept = part["distance"]["first_drafts"], part["distance"]["kept"]
    assert set(dropped) == set(kept) == set(part["marginals"])
    assert all(one["within"] and one["total_variation"] == 0 for one in kept.values())
    assert not dropped["k"]["within"]
    assert dropped["k"]["level"] == "4"
    assert dropped["k"]["n"] < kept["k"]["n"] == 240
    assert dropped["framing"]["deviation"] < 0.05
