"""Make docs/cli.md from the real --help of every command.

    python tools/make_docs.py            # write it
    python tools/make_docs.py --check    # exit with 1 where it is out of date
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer

from discreet.cli.main import app, run

TARGET = Path(__file__).parents[1] / "docs" / "cli.md"
COLUMNS = 100
HEAD = """# The command line

<!-- Made by tools/make_docs.py (typer {version}): do not edit. -->

Every command prints for people, or JSON Lines with `--json`; takes its options from a YAML file with `--config`; keeps
a run in a folder with `--out`; and shows no text of an answer unless `--show-text` is given. A mistake is one line on
standard error. Set `DISCREET_HASH_KEY` (hexadecimal, `openssl rand -hex 32`) to compare the data hashes of several
runs; without it each run has a key of its own.
"""


def commands(tree: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths of all commands, groups before their members."""
    yield path
    for name in getattr(tree, "commands", {}):
        yield from commands(tree.get_command(None, name), (*path, name))


def help_of(path: tuple[str, ...]) -> str:
    """What `discreet PATH --help` prints on a terminal of COLUMNS columns."""
    out = io.StringIO()
    with patch.dict(os.environ, COLUMNS=str(COLUMNS)), contextlib.redirect_stdout(out):
        code = run([*path, "--help"])
    if code:
        raise SystemExit(f"discreet {' '.join(path)} --help ended with {code}")
    return "\n".join(line.rstrip() for line in out.getvalue().strip().splitlines())


def render() -> str:
    """The page."""
    sections = [HEAD.format(version=typer.__version__)]
    for path in commands(typer.main.get_command(app)):
        sections.append(f"## {' '.join(['discreet', *path])}\n\n```text\n{help_of(path)}\n```\n")
    return "\n".join(sections)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    page = render()
    if args.check:
        current = TARGET.exists() and TARGET.read_text(encoding="utf-8") == page
        print(f"{TARGET.name} is {'current' if current else 'out of date: python tools/make_docs.py'}")
        return 0 if current else 1
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
