"""`guard check`: with a guard that follows a script, and with the built-in policies and the real guard."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.conftest import MARK, Cli, Refused, content, jsonl

import discreet
from discreet.guard.domains import builtin_domains
from discreet.guard.policy import Policy

TEXTS = {f"{kind}-1": f"{MARK}{i} tail{MARK}" for i, kind in enumerate(["safe", "flag", "direct", "abstain", "failed"])}
CHECK = ("guard", "check", "--domain", "medical")
ONE_PERSON = "The patient, a 47-year-old welder from Omaha, came to the clinic with his two sons."
NOBODY = "Ibuprofen lowers fever and eases pain in adults."


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    return jsonl(tmp_path / "answers.jsonl", [
        {"id": i, "answer": a, "question": f"q{MARK}", "sources": [f"s{MARK}"],
         "conversation": [{"role": "user", "content": f"c{MARK}"}]} for i, a in TEXTS.items()])


def holding_text(folder: Path) -> list[str]:
    found = {name: held for name, held in content(folder).items() if name != "answers.jsonl"}
    assert found
    return [name for name, held in found.items() if MARK.encode() in held]


@pytest.mark.usefixtures("scripted")
class TestOutput:
    def test_a_line_per_answer_and_a_line_of_counts(self, cli: Cli, answers: Path) -> None:
        ended = cli(*CHECK, "--input", answers)
        assert (ended.code, ended.err) == (0, "")
        assert ended.out.splitlines() == [
            "safe     safe-1  nothing is bound to one person",
            "flag     flag-1  person 1 (third): age 0-11, place of birth 11-26",
            "flag     direct-1  person 1 (third): age 0-11, place of birth 11-26",
            "abstain  abstain-1  not English",
            "failed   failed-1  a detector failed",
            "5 answers: 1 safe, 2 flag, 1 abstain, 1 failed (policy medical/public@1#abc, point balanced)",
        ]

    def test_columns_that_are_not_read_are_named(self, cli: Cli, tmp_path: Path) -> None:
        named = jsonl(tmp_path / "named.jsonl", [{"id": "safe-1", "answer": "a", "quest": MARK}])
        said = f"discreet: {named} has columns that are not read: 'quest' (did you mean 'question'?)\n"
        assert cli(*CHECK, "--input", named).err == said
        assert cli(*CHECK, "--input", named, "--quiet").err == ""
        assert cli(*CHECK, stdin=named.read_bytes()).err.startswith("discreet: standard input has columns that are")

    def test_explain(self, cli: Cli, answers: Path) -> None:
        ended = cli(*CHECK, "-", "--explain", "--quiet", stdin=b'{"id": "flag-7", "answer": "a b"}')
        assert ended.out.splitlines() == [
            "flag     flag-7  person 1 (third): age 0-1, place of birth 1-3",
            "    because: 2 attributes bound to one person",
            "    age 0-1, person 1: a rule (counts, contextual)",
            "    place of birth 1-3, person 1: a rule (does not count, contextual)",
        ]
        args = (*CHECK, "--input", answers, "--explain")
        assert MARK not in cli(*args).out
        assert f'age 0-11 "{MARK}1"' in cli(*args, "--show-text").out

    def test_an_id_cannot_steer_the_terminal(self, cli: Cli) -> None:
        row = {"id": "flag-\x1b[2J\n", "answer": "\x1b[31m x"}
        ended = cli(*CHECK, "--show-text", stdin=json.dumps(row).encode())
        assert "\x1b" not in ended.out
        assert r"flag-\x1b[2J\n" in ended.out

    def test_text_and_standard_input(self, cli: Cli) -> None:
        for words, stdin in ((["One answer."], None), ([], b"One answer."), (["-"], b"One.")):
            assert cli(*CHECK, *words, stdin=stdin).out.startswith("safe     1  ")

    @pytest.mark.parametrize(("ids", "code"), [(["safe-1"], 0), (["safe-1", "flag-1"], 1), (["abstain-1"], 1),
                                               (["failed-1"], 1)])
    def test_exit_codes(self, cli: Cli, ids: list[str], code: int) -> None:
        stdin = "".join(json.dumps({"id": i, "answer": "a b"}) + "\n" for i in ids).encode()
        assert cli(*CHECK, stdin=stdin).code == 0
        assert cli(*CHECK, "--fail-on-flag", stdin=stdin).code == code

    def test_json_lines(self, cli: Cli, answers: Path, tmp_path: Path) -> None:
        ended = cli(*CHECK, "--input", answers, "--json", "--output", tmp_path / "o.jsonl")
        found = [json.loads(line) for line in ended.out.splitlines()]
        assert [line["action"] for line in found] == ["safe", "flag", "flag", "abstain", "failed"]
        assert list(found[1]) == ["id", "action", "layer", "score", "delta", "sigma_safe", "sigma_unsafe", "tau",
                                  "evidence", "policy", "reason", "latency_ms", "people", "logit", "threshold", "cause"]
        assert found[1]["evidence"][0] == {"type": "age", "subject": "third", "start": 0, "end": 11}
        assert ended.err.startswith("5 answers:")
        assert (tmp_path / "o.jsonl").read_text() == ended.out
        assert cli(*CHECK, "--input", answers, "--json", "--quiet").err == ""

    def test_json_has_no_words_even_with_show_text(self, cli: Cli, answers: Path, tmp_path: Path) -> None:
        ended = cli(*CHECK, "--input", answers, "--json", "--show-text", "--explain", "--output", tmp_path / "o.jsonl")
        assert MARK not in ended.out + ended.err + (tmp_path / "o.jsonl").read_text()
        assert json.loads(ended.out.splitlines()[1])["findings"][1] == {
            "type": "place_of_birth", "subject": "third", "person": "person 1", "start": 11, "end": 26,
            "why": "a rule", "layer": "contextual", "counts": False}


@pytest.mark.usefixtures("scripted")
class TestFolders:
    def test_a_run_holds_no_text(self, cli: Cli, answers: Path, tmp_path: Path) -> None:
        out = tmp_path / "run"
        ended = cli(*CHECK, "--input", answers, "--out", out, "--json", "--report", tmp_path / "r.html", "--explain")
        assert ended.code == 0
        assert sorted(os.listdir(out)) == ["config.yaml", "figures", "inputs.json", "inputs.key", "log.jsonl",
                                           "report.html", "result.json", "verdicts.jsonl"]
        assert holding_text(tmp_path) == []
        assert MARK not in ended.out + ended.err
        result = json.loads((out / "result.json").read_text())
        assert result["summary"]["actions"] == {"safe": 1, "flag": 2, "abstain": 1, "failed": 1}
        assert result["provenance"]["policy"] == "medical/public@1#abc"
        assert (out / "report.html").read_text() == (tmp_path / "r.html").read_text()
        assert len((out / "verdicts.jsonl").read_text().splitlines()) == 5

    def test_show_text_shows_it_in_html_only(self, cli: Cli, answers: Path, tmp_path: Path) -> None:
        cli(*CHECK, "--input", answers, "--out", tmp_path / "run", "--show-text")
        assert holding_text(tmp_path) == ["run/report.html"]

    def test_text_and_question_are_not_in_the_configuration(self, cli: Cli, tmp_path: Path) -> None:
        cli(*CHECK, MARK, "--question", MARK, "--user-words", MARK, "--out", tmp_path / "run")
        assert holding_text(tmp_path) == []
        saved = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
        assert saved == {"domain": "medical", "explain": False, "fail-on-flag": False,
                         "people": False, "show-text": False}

    @pytest.mark.parametrize(("args", "stdin", "expected"), [
        (["some text"], None, "text on the command line"), ([], b"some text", "standard input"),
        (["-"], b"some text", "standard input")])
    def test_where_answers_came_from(self, cli: Cli, tmp_path: Path, args: list[str], stdin: bytes | None,
                                     expected: str) -> None:
        cli(*CHECK, *args, "--out", tmp_path / "run", stdin=stdin)
        provenance = json.loads((tmp_path / "run" / "result.json").read_text())["provenance"]
        assert (provenance["input"], provenance["data_hash"]) == (expected, None)

    def test_the_saved_configuration_runs_again_and_no_other(self, cli: Cli, refused: Refused, answers: Path,
                                                             tmp_path: Path) -> None:
        one, two = tmp_path / "one", tmp_path / "two"
        args = (*CHECK, "--input", answers, "--explain", "--point", "strict", "--out", one)
        assert cli(*args).code == cli(*args, "--quiet", "--json").code == 0
        assert cli("guard", "check", "--config", one / "config.yaml", "--out", two).code == 0
        for name in ("config.yaml", "verdicts.jsonl"):
            assert (two / name).read_text() == (one / name).read_text()
        refused("differs in: point", *args, "--point", "balanced")

    @pytest.mark.parametrize(("first", "second", "differs"), [
        (([], b"One."), (["-"], b"Two."), "standard input"), ((["One."], None), ([], b"One."), "TEXT, standard input"),
        ((["One."], None), (["One.", "--question", "B?"], None), "--question"),
    ])
    def test_other_answers_need_another_folder(
        self, cli: Cli, refused: Refused, tmp_path: Path, first: tuple[list[str], bytes | None],
        second: tuple[list[str], bytes | None], differs: str
    ) -> None:
        keep = ("--out", tmp_path / "run", "--output", tmp_path / "o.jsonl")
        for _ in range(2):
            assert cli(*CHECK, *first[0], *keep, stdin=first[1]).code == 0
        before = content(tmp_path)
        refused(f"holds the result of another input (differs in the content of: {differs})", *CHECK, *second[0], *keep,
                stdin=second[1])
        assert content(tmp_path) == before

    def test_a_changed_file_needs_another_folder(self, cli: Cli, refused: Refused, answers: Path,
                                                 tmp_path: Path) -> None:
        policy = tmp_path / "policy.yaml"
        policy.write_text("one")
        args = ("guard", "check", "--policy", policy, "--input", answers, "--out", tmp_path / "run")
        assert cli(*args).code == cli(*args).code == 0
        answers.write_text(answers.read_text() + '{"id": "safe-9", "answer": "x"}\n')
        refused("differs in the content of: --input)", *args)
        policy.write_text("two")
        refused("differs in the content of: --input, --policy)", *args)


@pytest.mark.usefixtures("scripted")
class TestConfiguration:
    def test_flags_win(self, cli: Cli, answers: Path, tmp_path: Path) -> None:
        config = tmp_path / "c.yaml"
        config.write_text(f"domain: medical\ninput: {answers}\njson: true\nquiet: true\nout: null\n"
                          f"fail_on_flag: true\noutput: {tmp_path / 'from_config'}\n")
        ended = cli("guard", "check", "--config", config, "--output", tmp_path / "from_flag")
        assert (ended.code, ended.err, len(ended.out.splitlines())) == (1, "", 5)
        assert (tmp_path / "from_flag").exists()
        assert not (tmp_path / "from_config").exists()

    @pytest.mark.parametrize(("text", "said"), [
        ("domian: medical", "c.yaml: 'domian' is not an option of discreet guard check; did you mean 'domain'?"),
        ("zzz: 1", "'zzz' is not an option of discreet guard check; expected some of audience, domain"),
        ("text: x", "'text' is not an option"), ("domain: [a, b]", "'domain' is a list; expected one value"),
        ("a: [", "c.yaml, line 1: not YAML; expected lines such as 'domain: medical'"),
        ("- a", "holds no options"), ("", "holds no options"),
    ])
    def test_mistakes(self, refused: Refused, tmp_path: Path, text: str, said: str) -> None:
        (tmp_path / "c.yaml").write_text(text)
        refused(said, *CHECK, "x", "--config", tmp_path / "c.yaml")


@pytest.mark.usefixtures("scripted")
class TestMistakes:
    @pytest.mark.parametrize(("words", "said"), [
        (("--input", "bad.jsonl"), "bad.jsonl, line 6: not JSON"),
        (("--input", "latin.csv"), "is not UTF-8 at byte 15"), (("--input", "empty.jsonl"), "holds no rows"),
        (("--input", "none.jsonl"), "there is no file"), (("--input", "."), "is a folder"),
        (("--input", "answers.jsonl", MARK), "TEXT and --input were given together"),
        (("--input", "answers.jsonl", "-"), "TEXT '-' and --input were given together"),
        (("--input", "answers.jsonl", "--question", MARK), "--question belongs to one TEXT"),
        (("--input", "answers.jsonl", "--user-words", MARK), "--user-words belongs to one TEXT; in a file, put it into "
                                                             "the column 'user_words'"),
        ((MARK, "more"), "more than one TEXT was given; expected one: put it in quotes"),
        ((), "there is nothing to judge"), ((MARK, "--config", "none.yaml"), "no such file or directory"),
        ((MARK, "--nonsense"), "No such option: --nonsense"), ((f"--A {MARK} B",), "No such option"),
        ((MARK, "--out", "answers.jsonl"), "is a file; expected a folder"),
        ((MARK, "--out", "."), "is not empty and holds no run"),
    ])
    def test_nothing_is_written(self, refused: Refused, answers: Path, tmp_path: Path, words: tuple[str, ...],
                                said: str, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "bad.jsonl").write_text(answers.read_text() + f'{{"id": "x", "answer": {MARK}}}\n')
        (tmp_path / "latin.csv").write_bytes(b"id,answer\n1,caf\xe9\n")
        (tmp_path / "empty.jsonl").write_text("")
        monkeypatch.chdir(tmp_path)
        before = content(tmp_path)
        refused(said, *CHECK, *words, "--output", "o.jsonl", "--report", "r.html")
        assert content(tmp_path) == before

    def test_outputs_that_cannot_be_written(self, cli: Cli, refused: Refused, answers: Path,
                                            tmp_path: Path) -> None:
        refused("No such command", "guard", f"chekc {MARK}")
        for option in ("--output", "--report"):
            refused("cannot write", *CHECK, MARK, option, tmp_path / "none" / "f")
        before = answers.read_text()
        refused("--output is the input", *CHECK, "--input", answers, "--output", answers)
        broken = cli(*CHECK, "--output", tmp_path / "o.jsonl", stdin=b'{"id": "1", "answer": "x"}\n{' + MARK.encode())
        assert broken.code == 2
        assert "standard input, line 2" in broken.err
        assert content(tmp_path) == {"answers.jsonl": before.encode()}

    def test_a_report_needs_jinja2_before_any_work(self, cli: Cli, refused: Refused, answers: Path, tmp_path: Path,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "jinja2", None)
        refused("discreet: an HTML report needs the package 'jinja2', which is not installed: pip install "
                "'discreet[report]'\n", *CHECK, "--input", answers, "--report", tmp_path / "r.html")
        ended = cli(*CHECK, "--input", answers, "--out", tmp_path / "run")
        assert ended.code == 0
        assert "no report.html in the run folder" in ended.err
        assert (tmp_path / "run" / "result.json").exists()

    def test_an_unexpected_error_shows_no_text(self, cli: Cli, refused: Refused, tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
        args = (*CHECK, "--output", tmp_path / "o.jsonl", "--report", tmp_path / "r.html")
        stdin = json.dumps({"id": "broken-1", "answer": MARK}).encode()
        refused("unexpected RuntimeError in cli/guard_check.py line", *args, stdin=stdin)
        assert os.listdir(tmp_path) == []
        monkeypatch.setenv("DISCREET_DEBUG", "1")
        assert f"cannot judge {MARK}" in cli(*args, stdin=stdin).err


class TestTheRealGuard:
    def test_one_person_is_held_and_nobody_passes(self, cli: Cli) -> None:
        ended = cli(*CHECK, ONE_PERSON, "--json", "--explain")
        verdict = ended.record
        assert (ended.code, verdict["action"], verdict["layer"]) == (0, "flag", "contextual")
        assert {"age", "occupation"} <= {e["type"] for e in verdict["evidence"]}
        assert verdict["policy"] == Policy.of("medical").label()
        assert set(verdict["findings"][0]) == {"type", "subject", "person", "start", "end", "why", "layer", "counts"}
        assert not any(word in ended.out for word in ("welder", "Omaha", "47-year"))
        assert cli(*CHECK, NOBODY, "--json").record["action"] == "safe"
        echoed = cli(*CHECK, "As a 47-year-old welder from Omaha you may take it.", "--json", "--question",
                     "I am a 47-year-old welder from Omaha. May I take aspirin?")
        assert echoed.record["action"] == "safe"

    def test_only_the_users_words_are_no_leak(self, cli: Cli) -> None:
        told, mine = "You are a 47-year-old welder from Omaha.", "I am a 47-year-old welder from Omaha. May I go?"
        for words, action in ((["--question", mine], "safe"), (["--question", f"Notes: x.\n\n{mine}"], "flag"),
                              (["--question", f"Notes: x.\n\n{mine}", "--user-words", mine], "safe"),
                              (["--question", mine, "--user-words", "May I go?"], "flag")):
            assert cli(*CHECK, told, "--json", *words).record["action"] == action

    @pytest.mark.parametrize(("args", "said"), [
        (["--domain", "cooking"], f"unknown domain 'cooking': expected one of {', '.join(builtin_domains())}"),
        (["--domain", "medical", "--audience", "nobody"], "no audience 'nobody'; expected one of public"),
        (["--policy", "none.yaml"], "cannot read the policy none.yaml"),
        (["--guard", "folder", "--domain", "medical"], "folder is no folder; expected one that holds guard.json"),
        (["--domain", "medical", "--point", "costs"], "unknown operating point 'costs': expected one of conservative"),
        (["--domain", "medical", "--point", "loud"], "unknown operating point 'loud': expected one of conservative, "),
        ([], "there is no policy to judge by; expected --domain, --policy or --guard"),
    ])
    def test_policies_that_cannot_be(self, refused: Refused, args: list[str], said: str) -> None:
        refused(said, "guard", "check", ONE_PERSON, *args)

    def test_a_policy_file(self, cli: Cli, refused: Refused, tmp_path: Path) -> None:
        path = tmp_path / "mine.yaml"
        path.write_text(files("discreet.guard.domains").joinpath("law", "policy.yaml").read_text(encoding="utf-8"))
        args = ("guard", "check", NOBODY, "--policy", path)
        assert "policy law/" in cli(*args).out
        refused("is a policy for 'law'; expected one for 'medical'", *args, "--domain", "medical")
        path.write_text("domain: [")
        refused("mine.yaml", *args)

    def test_a_whole_run(self, cli: Cli, tmp_path: Path) -> None:
        rows: list[dict[str, Any]] = [{"id": i, "answer": text} for i, text in enumerate([ONE_PERSON, NOBODY] * 20)]
        source, run = jsonl(tmp_path / "a.jsonl", rows), tmp_path / "run"
        ended = cli(*CHECK, "--input", source, "--out", run, "--fail-on-flag")
        assert ended.code == 1
        assert "\n40 answers: 20 safe, 20 flag, 0 abstain, 0 failed" in ended.out
        assert "20 of 40 answers were held: 20 could single a person out." in (run / "report.html").read_text()
        assert not any(b"welder" in held for held in content(run).values())

    def test_an_interrupt_leaves_nothing_half_written(self, tmp_path: Path) -> None:
        env = {**os.environ, "PYTHONPATH": str(Path(discreet.__file__).parents[1])}
        process = subprocess.Popen(
            # A shell that starts the tests in the background hands them an ignored SIGINT.
            [sys.executable, "-c", "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
             "from discreet.cli.main import run; sys.exit(run())", *CHECK, "--output", tmp_path / "o.jsonl", "--json"],
            env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdin is not None
        assert process.stderr is not None
        with process:
            process.stdin.write(json.dumps({"id": "1", "answer": ONE_PERSON}) + "\n")
            process.stdin.flush()
            deadline = time.monotonic() + 30
            while process.poll() is None and not list(tmp_path.glob(".o.jsonl.*.part")) and time.monotonic() < deadline:
                time.sleep(0.02)
            assert not (tmp_path / "o.jsonl").exists()
            process.send_signal(signal.SIGINT)
            said = process.stderr.read()
        assert (process.returncode, said) == (130, "discreet: interrupted; nothing was left half-written\n")
        assert os.listdir(tmp_path) == []
