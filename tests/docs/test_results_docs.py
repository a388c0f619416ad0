"""docs/results/README.md names every page of results, once, and the README leads there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"


def test_every_page_has_its_row() -> None:
    rows = re.findall(r"^\| \[(\w+)\]\((\w+)\.md\) \|", (RESULTS / "README.md").read_text(encoding="utf-8"), re.M)
    assert all(name == target for name, target in rows)
    assert sorted(name for name, _ in rows) == sorted(
        page.stem for page in RESULTS.glob("*.md") if page.name != "README.md")


def test_the_readme_leads_there() -> None:
    assert "](docs/results/README.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
