"""Every example of every page runs, in the order of the page; every command and option that a page names is one."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from tests.audit.experiments.membership.made_up import write_rows
from tests.loopback import PROXIES

from discreet.cli import main
from discreet.core.registry import Registry

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {str(path.relative_to(ROOT)): path for path in
         [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(DOCS.glob("*.md")),
          *sorted(DOCS.glob("start/*.md"))] if path.name not in {"cli.md", "changelog.md", "contributing.md"}}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)
STEPS = {name: [found for found in FENCE.findall(path.read_text(encoding="utf-8")) if found[0] in {"python", "console"}]
         for name, path in PAGES.items()}
ELSEWHERE = {
    "docs/domains.md": "test_tutorial.py", "docs/models.md": "test_models.py", "docs/extending.md": "test_plugins.py",
    "docs/engine.md": "tests/audit/engine/test_engine_docs.py",
    "docs/langchain.md": "tests/serve/integrations/real_langchain.py",
    "docs/proxy.md": "tests/serve/clients/test_openai_client.py",
    "docs/llamaindex.md": "tests/serve/integrations/real_llamaindex.py",
}
NEEDS_FILES = ("guard fit", "guard calibrate", "guard evaluate", "reproduce pairings", "guard check --guard",
               "defend frontier", "defend training", "audit check-table", "--embeddings", "recipe.yaml")
"""Commands whose input is the reader's: their options are checked, and tests of the command line run them."""


def prepare_training(folder: Path, _text: str) -> None:
    write_rows(folder / "records.jsonl", 1400, turns=5)


def prepare_batch(folder: Path, _text: str) -> None:
    answers = [{"id": "1", "answer": "The 56-year-old welder from Tulsa stopped."}, {"id": "2", "answer": "Rest."}]
    (folder / "answers.jsonl").write_text("".join(json.dumps(one) + "\n" for one in answers))


def prepare_scores(folder: Path, text: str) -> None:
    """The table that the page makes in Python, in the file that its command reads."""
    names: dict[str, Any] = {}
    exec(compile(FENCE.findall(text)[0][1], "membership.md", "exec"), names)
    from discreet.audit.scores.write import write_scores

    table = names["harmless"]
    leaking = table.logits.copy()
    leaking[0, table.member[0] == 1, 0, table.examples.label[table.member[0] == 1]] += 1.0
    for name, logits in (("scores", table.logits), ("old", table.logits), ("new", leaking)):
        write_scores(replace(table, logits=logits), folder / f"{name}.parquet")


def prepare_benchmark(folder: Path, _text: str) -> None:
    (folder / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "benchmark.jsonl", folder / "examples")


PREPARE: dict[str, Callable[[Path, str], None]] = {
    "docs/training.md": prepare_training, "docs/start/operator.md": prepare_batch, "docs/membership.md": prepare_scores,
    "docs/benchmark.md": prepare_benchmark}


def quick(words: Sequence[str]) -> list[str]:
    """Options that make a command of a page take seconds."""
    alone = ["--engine", "inline", "--quiet"]
    match [word for word in words if not word.startswith("-")][:3]:
        case ["audit", "membership", "train"]:
            return ["--permutations", "9", "--bootstraps", "5", *alone]
        case ["audit", "membership", "plan" | "compare", *_]:
            return []
        case ["audit", "membership", _]:
            return ["--permutations", "19", "--bootstraps", "20"]
        case ["audit", "labels", "train"]:
            return ["--no-tune", "--references", "0", *alone]
        case ["reproduce", *_]:
            return ["--permutations", "0", *alone]
    return []


def commands_of(code: str) -> list[tuple[list[str], list[str]]]:
    """The commands of a console block, each with the lines that the page shows after it."""
    found = []
    for step in re.split(r"^\$ ", code.replace("\\\n", " "), flags=re.M)[1:]:
        command, *shown = step.strip().splitlines()
        found.append((shlex.split(command), shown))
    return found


@pytest.fixture
def _plugins_of_the_page(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a page registers is taken away again."""
    added, register = [], Registry.register

    def keep(self: Registry[Any], name: str) -> Any:
        home, put = sys._getframe(1).f_globals["__name__"], register(self, name)
        if home == "page":
            added.append((self, name))

        def kept(item: Any) -> Any:
            found = put(item)
            self._homes[name] = home  # Else this module, so that what is built in would be taken for a plug-in.
            return found

        return kept

    monkeypatch.setattr(Registry, "register", keep)
    yield
    for registry, name in added:
        registry._items.pop(name, None)


@pytest.fixture
def chat(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Stands for the endpoint that a page talks to."""
    from tests.inputs.endpoints.conftest import serving as serving_chat

    for name in (*PROXIES, "DISCREET_CHAT_KEY"):
        monkeypatch.delenv(name, raising=False)
    request.getfixturevalue("socket_enabled")
    with serving_chat() as service:
        yield service


@pytest.mark.parametrize("name", [name for name in PAGES if STEPS[name] and name not in ELSEWHERE])
@pytest.mark.usefixtures("_plugins_of_the_page")
def test_the_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest,
                          capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGES[name].read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    if "presidio" in text:
        pytest.importorskip("presidio_analyzer")
    if "AuditCallback" in text:
        pytest.importorskip("accelerate")
    if name in PREPARE:
        PREPARE[name](tmp_path, text)
    url = request.getfixturevalue("chat").url if "http://127.0.0.1:8000/v1\"" in text else ""
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    for language, code in STEPS[name]:
        if language == "python":
            exec(compile(code.replace("http://127.0.0.1:8000/v1", url), name, "exec"), module.__dict__)
            continue
        for words, shown in commands_of(code):
            if any(part in " ".join(words) for part in NEEDS_FILES):
                continue
            capsys.readouterr()
            ended = main.run([*words[1:], *quick(words[1:])])
            printed, said = capsys.readouterr()
            assert ended in {0, 1, 3}, said
            assert " ".join(shown) in " ".join(printed.split())


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", PAGES[name].read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (PAGES[name].parent / target).exists(), target


TREE: Any = typer.main.get_command(main.app)


def options_below(command: Any) -> set[str]:
    named = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help"}
    return named.union(*(options_below(command.get_command(None, one)) for one in getattr(command, "commands", {})))


@pytest.mark.parametrize("name", PAGES)
def test_commands_and_options_are_there(name: str) -> None:
    text = PAGES[name].read_text(encoding="utf-8")
    fenced = "\n".join(code for language, code in FENCE.findall(text) if language in {"console", "text", "sh", ""})
    lines = re.findall(r"^(?:\$ )?(discreet [a-z].*)", fenced.replace("\\\n", " "), re.M)
    for line in [*lines, *re.findall(r"`(discreet [a-z][^`]*)`", text)]:
        command, words = TREE, line.split("#")[0].split()[1:]
        while words and words[0] in getattr(command, "commands", {}):
            command = command.get_command(None, words.pop(0))
        assert command is not TREE or words[0].startswith("-"), line
        assert {word for word in words if re.fullmatch(r"--[a-z][a-z-]*", word)} <= options_below(command), line
    known = options_below(TREE) | {"--authors", "--leakpro", "--n", "--hypothesis-profile"}
    assert set(re.findall(r"`(--[a-z][a-z-]+)", text)) <= known


def test_the_letters_of_the_guard_are_in_the_glossary() -> None:
    used = set(re.findall(r"[α-ω]", (DOCS / "guard.md").read_text(encoding="utf-8")))
    terms = set(re.findall(r"^([α-ω]) \(\w+\)$", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.M))
    assert used <= terms


def test_pages_that_run_elsewhere_do() -> None:
    for name, file in ELSEWHERE.items():
        test = ROOT / file if "/" in file else Path(__file__).parent / file
        assert Path(name).name in test.read_text(encoding="utf-8")
