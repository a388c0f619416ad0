from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Cli = Callable[..., Any]
MARK = "MARKEDWORD"
TEXTS = {f"{kind}-1": f"{MARK}{i} tail{MARK}" for i, kind in enumerate(["safe", "flag", "direct", "abstain", "failed"])}
pytestmark = pytest.mark.usefixtures("scripted")


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    rows = [{"id": i, "answer": a, "question": f"q{MARK}", "sources": [f"s{MARK}"],
             "conversation": [{"role": "user", "content": f"c{MARK}"}]} for i, a in TEXTS.items()]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def holds_mark(folder: Path) -> list[str]:
    files = [p for p in folder.rglob("*") if p.is_file() and p.name != "answers.jsonl"]
    assert files
    return [p.name for p in files if MARK in p.read_text()]


class TestHuman:
    def test_a_line_per_answer_and_a_line_of_counts(self, cli: Cli, answers: Path) -> None:
        ended = cli("guard", "check", "--domain", "medical", "--input", answers)
        assert ended.code == 0
        assert ended.out.splitlines() == [
            "safe     safe-1  nothing is bound to one person",
            "flag     flag-1  person 1 (third): age 0-11, place of birth 11-26",
            "flag     direct-1  person 1 (third): age 0-11, place of birth 11-26",
            "abstain  abstain-1  not English",
            "failed   failed-1  a detector failed",
            "5 answers: 1 safe, 2 flag, 1 abstain, 1 failed (policy medical/public@1#abc, point balanced)",
        ]
        assert ended.err == ""

    def test_explain(self, cli: Cli) -> None:
        ended = cli("guard", "check", "-", "--domain", "medical", "--explain", "--quiet",
                    stdin=b'{"id": "flag-7", "answer": "a b"}')
        assert ended.out.splitlines() == [
            "flag     flag-7  person 1 (third): age 0-1, place of birth 1-3",
            "    because: 2 attributes bound to one person",
            "    age 0-1, person 1: a rule (counts, contextual)",
            "    place of birth 1-3, person 1: a rule (does not count, contextual)",
        ]

    def test_words_only_when_asked_for(self, cli: Cli, answers: Path) -> None:
        args = ("guard", "check", "--domain", "medical", "--input", answers, "--explain")
        assert MARK not in cli(*args).out
        assert f'age 0-11 "{MARK}1"' in cli(*args, "--show-text").out

    def test_an_id_cannot_steer_the_terminal(self, cli: Cli) -> None:
        ended = cli("guard", "check", "--domain", "medical", "--show-text",
                    stdin=json.dumps({"id": "flag-\x1b[2J\n", "answer": "\x1b[31m x"}).encode())
        assert "\x1b" not in ended.out
        assert r"flag-\x1b[2J\n" in ended.out

    def test_text_and_standard_input(self, cli: Cli) -> None:
        assert cli("guard", "check", "One answer.", "--domain", "medical").out.startswith("safe     1  ")
        assert cli("guard", "check", "--domain", "medical", stdin=b"One answer.").out.startswith("safe     1  ")
        assert cli("guard", "check", "-", "--domain", "medical", stdin=b"One.").out.startswith("safe     1  ")

    @pytest.mark.parametrize(("ids", "code"), [(["safe-1"], 0), (["safe-1", "flag-1"], 1), (["abstain-1"], 1),
                                               (["failed-1"], 1)])
    def test_exit_codes(self, cli: Cli, ids: list[str], code: int) -> None:
        stdin = "".join(json.dumps({"id": i, "answer": "a b"}) + "\n" for i in ids).encode()
        assert cli("guard", "check", "--domain", "medical", stdin=stdin).code == 0
        assert cli("guard", "check", "--domain", "medical", "--fail-on-flag", stdin=stdin).code == code


class TestMachines:
    def test_json_lines(self, cli: Cli, answers: Path) -> None:
        ended = cli("guard", "check", "--domain", "medical", "--input", answers, "--json")
        lines = [json.loads(line) for line in ended.out.splitlines()]
        assert [line["action"] for line in lines] == ["safe", "flag", "flag", "abstain", "failed"]
        assert list(lines[1]) == ["id", "action", "layer", "score", "delta", "sigma_safe", "sigma_unsafe", "tau",
                                  "evidence", "policy", "reason", "latency_ms"]
        assert lines[1]["evidence"][0] == {"type": "age", "subject": "third", "start": 0, "end": 11}
        assert ended.err.startswith("5 answers:")
        assert cli("guard", "check", "--domain", "medical", "--input", answers, "--json", "--quiet").err == ""

    def test_json_has_no_words_even_with_show_text(self, cli: Cli, answers: Path, tmp_path: Path) -> None:
        ended = cli("guard", "check", "--domain", "medical", "--input", answers, "--json", "--show-text", "--explain",
                    "--output", tmp_path / "o.jsonl")
        assert MARK not in ended.out + ended.err + (tmp_path / "o.jsonl").read_text()
        assert json.loads(ended.out.splitlines()[1])["findings"][1] == {
            "type": "place_of_birth", "subject": "third", "person": "person 1", "start": 11, "end": 26,
            "why": "a rule", "layer": "contextual", "counts": False}

    def test_output_is_what_json_prints(self, cli: Cli, answers: Path, tmp_path: Path) -> None:
        args = ("guard", "check", "--domain", "medical", "--input", answers)
        cli(*args, "--output", tmp_path / "o.jsonl")
        assert (tmp_path / "o.jsonl").read_text() == cli(*args, "--json").out


class TestFolders:
    def test_a_run_holds_no_text(self, cli: Cli, answers: Path, tmp_path: Path) -> None:
        out = tmp_path / "run"
        ended = cli("guard", "check", "--domain", "medical", "--input", answers, "--out", out, "--json",
                    "--report", tmp_path / "r.html", "--output", tmp_path / "o.jsonl", "--explain")
        assert ended.code == 0
        assert sorted(os.listdir(out)) == ["config.yaml", "figures", "inputs.json", "inputs.key", "log.jsonl",
                                           "report.html", "result.json", "verdicts.jsonl"]
        assert holds_mark(tmp_path) == []
        assert MARK not in ended.out + ended.err
        result = json.loads((out / "result.json").read_text())
        assert result["summary"]["actions"] == {"safe": 1, "flag": 2, "abstain": 1, "failed": 1}
        assert result["provenance"]["policy"] == "medical/public@1#abc"
        assert (out / "report.html").read_text() == (tmp_path / "r.html").read_text()
        assert len((out / "verdicts.jsonl").read_text().splitlines()) == 5

    def test_show_text_shows_it_in_html_only(self, cli: Cli, answers: Path, tmp_path: Path) -> None:
        cli("guard", "check", "--domain", "medical", "--input", answers, "--out", tmp_path / "run", "--show-text")
        assert holds_mark(tmp_path) == ["report.html"]

    def test_text_and_question_are_not_in_the_configuration(self, cli: Cli, tmp_path: Path) -> None:
        cli("guard", "check", MARK, "--question", MARK, "--domain", "medical", "--out", tmp_path / "run")
        assert holds_mark(tmp_path) == []
        saved = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
        assert saved == {"domain": "medical", "explain": False, "fail-on-flag": False, "show-text": False}

    def test_the_saved_configuration_runs_again(self, cli: Cli, answers: Path, tmp_path: Path) -> None:
        one, two = tmp_path / "one", tmp_path / "two"
        cli("guard", "check", "--domain", "medical", "--input", answers, "--explain", "--point", "strict", "--out", one)
        ended = cli("guard", "check", "--config", one / "config.yaml", "--out", two)
        assert ended.code == 0
        assert (two / "config.yaml").read_text() == (one / "config.yaml").read_text()
        assert (two / "verdicts.jsonl").read_text() == (one / "verdicts.jsonl").read_text()

    @pytest.mark.parametrize(("args", "stdin", "expected"), [
        (["some text"], None, "text on the command line"), ([], b"some text", "standard input"),
        (["-"], b"some text", "standard input")])
    def test_where_answers_came_from(self, cli: Cli, tmp_path: Path, args: list[str], stdin: bytes | None,
                                     expected: str) -> None:
        cli("guard", "check", *args, "--domain", "medical", "--out", tmp_path / "run", stdin=stdin)
        provenance = json.loads((tmp_path / "run" / "result.json").read_text())["provenance"]
        assert (provenance["input"], provenance["data_hash"]) == (expected, None)

    def test_another_configuration_needs_another_folder(self, cli: Cli, answers: Path, tmp_path: Path) -> None:
        args = ("guard", "check", "--domain", "medical", "--input", answers, "--out", tmp_path / "run")
        assert cli(*args).code == 0
        assert cli(*args, "--quiet", "--json").code == 0
        ended = cli(*args, "--point", "strict")
        assert (ended.code, ended.out) == (2, "")
        assert "differs in: point" in ended.err

    @pytest.mark.parametrize(("first", "second", "differs"), [
        (([], b"One."), (["-"], b"Two."), "standard input"), ((["One."], None), ([], b"One."), "TEXT, standard input"),
        ((["One."], None), (["One.", "--question", "B?"], None), "--question"),
    ])
    def test_other_answers_need_another_folder(self, cli: Cli, tmp_path: Path, first: tuple[list[str], bytes | None],
                                               second: tuple[list[str], bytes | None], differs: str) -> None:
        def checked(args: list[str], stdin: bytes | None) -> Any:
            return cli("guard", "check", *args, "--domain", "medical", "--out", tmp_path / "run", "--output",
                       tmp_path / "o.jsonl", stdin=stdin)

        assert checked(*first).code == checked(*first).code == 0
        before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
        ended = checked(*second)
        assert (ended.code, ended.out) == (2, "")
        assert f"holds the result of another input (differs in the content of: {differs})" in ended.err
        assert ended.err.count("\n") == 1
        assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before

    def test_a_changed_file_needs_another_folder(self, cli: Cli, answers: Path, tmp_path: Path) -> None:
        policy = tmp_path / "policy.yaml"
        policy.write_text("one")
        args = ("guard", "check", "--policy", policy, "--input", answers, "--out", tmp_path / "run")
        assert cli(*args).code == cli(*args).code == 0
        answers.write_text(answers.read_text() + '{"id": "safe-9", "answer": "x"}\n')
        ended = cli(*args)
        assert (ended.code, ended.out) == (2, "")
        assert "differs in the content of: --input)" in ended.err
        policy.write_text("two")
        assert "differs in the content of: --input, --policy)" in cli(*args).err


class TestConfiguration:
    def config(self, tmp_path: Path, text: str) -> Path:
        (tmp_path / "c.yaml").write_text(text)
        return tmp_path / "c.yaml"

    def test_flags_win(self, cli: Cli, answers: Path, tmp_path: Path) -> None:
        config = self.config(tmp_path, f"domain: medical\ninput: {answers}\njson: true\nquiet: true\nout: null\n"
                                       f"fail_on_flag: true\noutput: {tmp_path / 'from_config'}\n")
        ended = cli("guard", "check", "--config", config, "--output", tmp_path / "from_flag")
        assert (ended.code, ended.err) == (1, "")
        assert len(ended.out.splitlines()) == 5
        assert (tmp_path / "from_flag").exists()
        assert not (tmp_path / "from_config").exists()

    @pytest.mark.parametrize(("text", "expected"), [
        ("domian: medical", "c.yaml: 'domian' is not an option of discreet guard check; did you mean 'domain'?"),
        ("zzz: 1", "'zzz' is not an option of discreet guard check; expected some of audience, domain"),
        ("text: x", "'text' is not an option"),
        ("domain: [a, b]", "'domain' is a list; expected one value"),
        ("a: [", "c.yaml, line 1: not YAML; expected lines such as 'domain: medical'"),
        ("- a", "holds no options"), ("", "holds no options"),
    ])
    def test_mistakes(self, cli: Cli, tmp_path: Path, text: str, expected: str) -> None:
        ended = cli("guard", "check", "x", "--domain", "medical", "--config", self.config(tmp_path, text))
        assert (ended.code, ended.out) == (2, "")
        assert expected in ended.err
        assert ended.err.count("\n") == 1


def mistakes(folder: Path) -> list[tuple[list[Any], str]]:
    good, bad = folder / "answers.jsonl", folder / "bad.jsonl"
    bad.write_text(good.read_text() + f'{{"id": "x", "answer": {MARK}}}\n')
    latin, empty = folder / "latin.csv", folder / "empty.jsonl"
    latin.write_bytes(b"id,answer\n1,caf\xe9\n")
    empty.write_text("")
    there = ["guard", "check", "--domain", "medical"]
    return [
        ([*there, "--input", bad], "bad.jsonl, line 6: not JSON"),
        ([*there, "--input", latin], "is not UTF-8 at byte 15"),
        ([*there, "--input", empty], "holds no rows"),
        ([*there, "--input", folder / "none.jsonl"], "there is no file"),
        ([*there, "--input", folder], "is a folder"),
        ([*there, "--input", good, MARK], "TEXT and --input were given together"),
        ([*there, "--input", good, "-"], "TEXT '-' and --input were given together"),
        ([*there, "--input", good, "--question", MARK], "--question belongs to one TEXT"),
        ([*there, MARK, "more"], "more than one TEXT was given; expected one: put it in quotes"),
        ([*there], "there is nothing to judge"),
        ([*there, MARK, "--config", folder / "none.yaml"], "no such file or directory"),
        ([*there, MARK, "--nonsense"], "No such option: --nonsense"),
        ([*there, f"--A {MARK} B"], "No such option"),
        (["guard", f"chekc {MARK}"], "No such command"),
        (["guard", "chekc"], "No such command 'chekc'"),
        ([*there, MARK, "--out", good], "is a file; expected a folder"),
        ([*there, MARK, "--out", folder], "is not empty and holds no run"),
    ]


class TestMistakes:
    @pytest.mark.parametrize("number", range(17))
    def test_one_line_and_nothing_written(self, cli: Cli, answers: Path, tmp_path: Path, number: int) -> None:
        cases = mistakes(tmp_path)
        assert len(cases) == 17
        args, expected = cases[number]
        before = sorted(tmp_path.rglob("*"))
        ended = cli(*args, "--output", tmp_path / "o.jsonl", "--report", tmp_path / "r.html")
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith("discreet: ")
        assert ended.err.count("\n") == 1
        assert expected in ended.err
        assert MARK not in ended.err
        assert sorted(tmp_path.rglob("*")) == before

    @pytest.mark.parametrize("option", ["--output", "--report"])
    def test_outputs_that_cannot_be_written(self, cli: Cli, tmp_path: Path, option: str) -> None:
        ended = cli("guard", "check", MARK, "--domain", "medical", option, tmp_path / "none" / "f")
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert "cannot write" in ended.err
        assert os.listdir(tmp_path) == []

    def test_output_over_the_input(self, cli: Cli, answers: Path) -> None:
        before = answers.read_text()
        ended = cli("guard", "check", "--domain", "medical", "--input", answers, "--output", answers)
        assert ended.code == 2
        assert "--output is the input" in ended.err
        assert answers.read_text() == before

    def test_a_report_needs_jinja2_before_any_work(self, cli: Cli, answers: Path, tmp_path: Path,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "jinja2", None)
        args = ("guard", "check", "--domain", "medical", "--input", answers)
        ended = cli(*args, "--report", tmp_path / "r.html")
        assert (ended.code, ended.out) == (2, "")
        assert ended.err == ("discreet: an HTML report needs the package 'jinja2', which is not installed: "
                             "pip install 'discreet[report]'\n")
        ended = cli(*args, "--out", tmp_path / "run")
        assert ended.code == 0
        assert "no report.html in the run folder" in ended.err
        assert (tmp_path / "run" / "result.json").exists()

    def test_a_broken_line_on_standard_input_leaves_no_output(self, cli: Cli, tmp_path: Path) -> None:
        ended = cli("guard", "check", "--domain", "medical", "--output", tmp_path / "o.jsonl",
                    stdin=b'{"id": "1", "answer": "x"}\n{' + MARK.encode())
        assert ended.code == 2
        assert "standard input, line 2" in ended.err
        assert os.listdir(tmp_path) == []

    def test_an_unexpected_error_shows_no_text(self, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        args = ("guard", "check", "--domain", "medical", "--output", tmp_path / "o.jsonl", "--report",
                tmp_path / "r.html")
        stdin = json.dumps({"id": "broken-1", "answer": MARK}).encode()
        ended = cli(*args, stdin=stdin)
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert "unexpected RuntimeError in cli/guard_check.py line" in ended.err
        assert MARK not in ended.err
        assert os.listdir(tmp_path) == []
        monkeypatch.setenv("DISCREET_DEBUG", "1")
        assert f"cannot judge {MARK}" in cli(*args, stdin=stdin).err
