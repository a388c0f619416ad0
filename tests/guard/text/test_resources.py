"""Word lists and patterns as files: what a line may hold, and that every file says where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.core.errors import InputError
from discreet.guard.text import resources
from discreet.guard.text.resources import patterns, rows, words

DATA = Path(resources.__file__).parent / "data"
WORDS = sorted(path.stem for path in (DATA / "words").glob("*.txt"))
PATTERNS = sorted(path.stem for path in (DATA / "patterns").glob("*.txt"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data folder of its own in place of the package's."""
    for name in ("words", "patterns"):
        (tmp_path / "data" / name).mkdir(parents=True)
    monkeypatch.setattr(resources, "files", lambda package: tmp_path)
    words.cache_clear()
    patterns.cache_clear()
    yield tmp_path / "data"
    words.cache_clear()
    patterns.cache_clear()


@pytest.mark.parametrize("name", WORDS)
def test_word_lists_are_lower_case_and_not_empty(name: str) -> None:
    lists = words(name)
    assert lists
    assert all(listed and all(word == word.lower() for word in listed) for listed in lists.values())


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_compile_once(name: str) -> None:
    compiled = patterns(name)
    for section in compiled.texts:
        assert compiled[section] is compiled[section]


@pytest.mark.parametrize("path", [*DATA.glob("words/*"), *DATA.glob("patterns/*")], ids=lambda path: path.name)
def test_files_open_with_a_comment_and_no_line_ends_in_a_blank(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines[0].startswith("# ")
    assert all(line == line.strip() for line in lines)


def test_sections_comments_and_phrases(folder: Path) -> None:
    (folder / "words/a.txt").write_text("# source\n\n[one]\n# a note\nb #c\n(  d_e\n[two]\nf\r\n", "utf-8")
    assert words("a") == {"one": {"b", "#c", "(", "d e"}, "two": {"f"}}


def test_a_pattern_may_run_over_lines_and_use_those_before_it(folder: Path) -> None:
    (folder / "patterns/a.txt").write_text("[number]\n(?:one|\ntwo)\n[age]\n{number}[ ]\nyears{0,3}\n", "utf-8")
    assert patterns("a")["age"].fullmatch("two years")
    assert patterns("a")["age"].pattern == "(?:one|two)[ ]years{0,3}"


def test_a_reference_to_nothing_is_named(folder: Path) -> None:
    (folder / "patterns/a.txt").write_text("[age]\n{number} years\n[number]\none\n", "utf-8")
    with pytest.raises(InputError, match=r"patterns/a\.txt, \[age\].*'number'"):
        patterns("a")


def test_a_row_of_another_width_is_named(folder: Path) -> None:
    (folder / "t.tsv").write_text("# key\tvalue\na\tb\nc\n", "utf-8")
    with pytest.raises(InputError, match=r"t\.tsv, line 3: 1 columns; expected 2"):
        list(rows("t", 2))
