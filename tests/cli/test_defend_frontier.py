from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.conftest import MARK, Cli, Refused, rendered_again, result

from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.defences.frontier import frontier
from discreet.audit.scores.load import load_scores
from discreet.audit.scores.write import write_scores

ROLES = {"A": ("target", ""), "N": ("reference", "neutral"), "S": ("selection", ""), "P": ("control", "")}
SPAN = r"1?\.\d{3} \[1?\.\d{3}, 1?\.\d{3}\]"
FEW = ("--draws", 3, "--queries", "1,64", "--sigma", "0,2", "--decimals", 1, "--quiet")


def write(path: Path, *, roles: tuple[str, ...] = tuple(ROLES), n: int = 60) -> Path:
    rng = np.random.default_rng(0)
    label, hard = rng.integers(0, 2, 2 * n), rng.normal(1.0, 1.5, 2 * n)
    made = []
    for name in roles:
        for row in range(2 * n):
            trained = name == "A" and row < n
            odds = hard[row] + rng.normal(0, 0.3) + 2.0 * trained
            made.append({"model": name, "model_role": ROLES[name][0], "reference_kind": ROLES[name][1],
                         "example": f"e{row}", "label": label[row], "member": trained, "text": MARK,
                         "logit_0": 0.0 if label[row] else odds, "logit_1": odds if label[row] else 0.0})
    pd.DataFrame(made).to_csv(path, index=False)
    return path


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    return write(tmp_path / "scores.csv")


def test_a_table_in_words(cli: Cli, scores: Path) -> None:
    said = cli("defend", "frontier", "--scores", scores, *FEW)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("The benefit of releasing less")
    users, globally, boundary = said.out.split("what is released")[1:]
    found = [re.split(r"  +", line.strip())[:2] for line in globally.splitlines() if re.search(SPAN, line)]
    assert found == [
        ["all scores, as they are", "1 to 64"], ["keyed noise, sigma 2", "1 to 64"],
        ["keyed noise, sigma 2, near-duplicates", "1"], ["keyed noise, sigma 2, near-duplicates", "64"],
        ["fresh noise, sigma 2", "1"], ["fresh noise, sigma 2", "64"], ["rounding, decimals 1", "1 to 64"],
        ["top label only", "1 to 64"]]
    assert len(re.findall(SPAN, users)) == 2 * 5
    assert re.search(SPAN, boundary)
    assert "No local ε is finite unless logits are clipped (--clip)." in said.out
    assert MARK not in said.out


def test_a_run_is_kept_and_given_again(cli: Cli, scores: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    said = cli("defend", "frontier", "--scores", scores, *FEW, "--clip", 3, "--json", "--out", run)
    assert (said.code, said.err) == (0, "")
    record = said.record
    assert (record["kind"], record["schema"], record["target"], record["control"]) == ("defend-frontier", 1, "A", "P")
    assert result(run)["points"] == record["points"]
    assert [p["local_epsilon"] for p in record["points"] if p["mechanism"] == "laplace"] == [6.0, 6.0]
    assert record["provenance"]["input"] == "scores.csv"
    assert MARK not in "".join(p.read_text() for p in run.glob("*.*"))
    assert sorted(path.name for path in (run / "figures").iterdir()) == [
        "frontier-boundary.csv", "frontier-boundary.svg", "frontier.csv", "frontier.svg"]
    rendered_again(cli, run)
    again = cli("defend", "frontier", "--config", run / "config.yaml", "--quiet", "--json")
    assert again.record["points"] == record["points"]


def test_the_terminal_says_the_figures_of_the_record(cli: Cli, scores: Path) -> None:
    """Every AUC and control at every number of queries, with its interval, as the audit room computes them."""
    said = cli("defend", "frontier", "--scores", scores, *FEW).out.partition("what is released")[2].split(
        "AUC at the decision boundary")[0]
    found = frontier(load_scores(scores), 0, np.random.default_rng(42), strengths={"sigma": [2.0], "decimals": [1]},
                     queries=[1, 64], draws=3)
    expected = {str(one).replace("0.", ".") for point in found.points
                for figure in point.attacks if figure.spec == found.primary
                for one in (figure.auc, figure.control_auc, *point.utility.values())}
    assert set(re.findall(SPAN, said)) == expected


@pytest.fixture
def grouped(tmp_path: Path) -> Callable[..., Path]:
    """Twenty-four records a side in groups of two; `mixed` of the 24 groups have one on each side."""
    def build(mixed: int) -> Path:
        table = simulated_table(World(members=24, others=0, clean=24, selector=0, paired=0, group_size=2),
                                np.random.default_rng(0))
        assert table.examples.group is not None
        group = table.examples.group
        # Swap the second records of group g and group g + 12: both groups are then split.
        for one in range(mixed // 2):
            group[2 * one + 1], group[24 + 2 * one + 1] = group[24 + 2 * one + 1], group[2 * one + 1]
        write_scores(table, tmp_path / "grouped.parquet")
        return tmp_path / "grouped.parquet"
    return build


def test_split_groups_are_refused_or_left_out(cli: Cli, refused: Refused, grouped: Callable[..., Path]) -> None:
    options = ("defend", "frontier", "--scores", grouped(4), *FEW)
    refused("4 of 24 groups", *options)
    ended = cli(*options, "--allow-split-groups", "--json")
    assert (ended.code, ended.record["provenance"]["split_groups_left_out"]) == (0, 4)
    assert ended.record["points"][0]["attacks"][0]["n_members"] == 20


def test_what_is_left_after_split_groups_is_said(refused: Refused, grouped: Callable[..., Path]) -> None:
    refused("has 8 members and 8 non-members, planted ones apart after 16 groups with members and non-members were "
            "left out; expected at least 10 of each: keep each group among one of them", "defend", "frontier",
            "--scores", grouped(16), *FEW, "--allow-split-groups")
    for verb in (("defend", "frontier", "--scores"), ("audit", "membership", "scores")):
        refused("nothing is left to judge: every group of the table has members and non-members, 24 in all", *verb,
                grouped(24), "--quiet", "--allow-split-groups")


def test_the_boundary_needs_a_selector(cli: Cli, tmp_path: Path) -> None:
    said = cli("defend", "frontier", "--scores", write(tmp_path / "s.csv", roles=("A",)), *FEW)
    assert said.code == 0
    for words in ("the loss attack reaches an AUC", "no control",
                  "There are no figures at the boundary: the table has no scores of a selection model"):
        assert words in said.out


@pytest.mark.parametrize(("option", "given", "said"), [
    ("--sigma", "1,x", "--sigma holds 'x'; expected numbers from 0, with commas between them"),
    ("--sigma", "-1", "--sigma holds '-1'; expected numbers from 0"), ("--sigma", "inf", "--sigma holds 'inf'"),
    ("--sigma", "nan", "--sigma holds 'nan'"),
    ("--queries", "0", "--queries holds '0'; expected whole numbers from 1, with"),
    ("--queries", "1.5", "--queries holds '1.5'; expected whole numbers from 1, with"),
    ("--decimals", "16", "--decimals holds '16'; expected whole numbers from 0 to 15, with"),
    ("--draws", "0", "--draws is 0; expected a number of 1 or more"),
    ("--jitter", "-0.1", "--jitter is -0.1"), ("--jitter", "nan", "--jitter is nan"), ("--seed", "-1", "--seed is -1"),
    ("--per-set", "-1", "--per-set is -1"), ("--clip", "0", "--clip is 0.0; expected a number above 0"),
    ("--positive", "2", "--positive is 2; "), ("--target", "B", "has no target 'B': it has A; give the model"),
])
def test_options_that_cannot_be(refused: Refused, scores: Path, option: str, given: str, said: str) -> None:
    refused(said, "defend", "frontier", "--scores", scores, *FEW, option, given)
