"""The site builds without a warning, links lead somewhere, public names are there, nothing comes from another host."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote

import pytest

import discreet

pytest.importorskip("sphinx")
DOCS = Path(__file__).resolve().parents[2] / "docs"


class Page(HTMLParser):
    """What a page offers as anchors, links to, and loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        self.ids |= {said[name] for name in ("id", "name") if name in said}
        if tag == "a" and "href" in said:
            self.links.append(said["href"])
        elif tag in {"script", "img", "source", "iframe", "link"}:
            self.loads += [said[name] for name in ("src", "href", "srcset") if name in said]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    made = subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(DOCS), str(out)],
                          capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert made.returncode == 0, made.stderr
    return out


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def test_every_page_is_built(pages: dict[Path, Page], site: Path) -> None:
    sources = {path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md") if "_build" not in path.parts}
    assert sources <= {path.relative_to(site) for path in pages}


def test_links_lead_somewhere(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for link in page.links:
            if link.startswith(("http://", "https://", "mailto:")):
                continue
            target, _, anchor = unquote(link).partition("#")
            there = (path.parent / target).resolve() if target else path
            assert there.exists(), (path.name, link)
            if anchor and there in pages:
                assert anchor in pages[there].ids, (path.name, link)


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Page], site: Path) -> None:
    for path, page in pages.items():
        for link in page.loads:
            assert not re.match(r"(https?:)?//", link), (path.name, link)
    for sheet in site.rglob("*.css"):
        said = sheet.read_text(encoding="utf-8")
        assert not re.search(r"""(@import|url\()\s*["']?(https?:)?//""", said), sheet.name


def test_every_public_name_is_in_the_reference(pages: dict[Path, Page], site: Path) -> None:
    there = pages[site / "reference" / "api.html"].ids
    described = {anchor.rpartition(".")[2] for anchor in there if anchor.startswith("discreet.")}
    packages = [name for name in there if name.startswith("module-discreet")]
    assert {"module-discreet", "module-discreet.stats", "module-discreet.guard"} <= set(packages)
    for package in packages:
        module = import_module(package.removeprefix("module-"))
        for name in module.__all__:
            if inspect.isclass(thing := getattr(module, name)) or inspect.isroutine(thing):
                assert name in described, (module.__name__, name)
    assert {f"discreet.{name}" for name in discreet.__all__} <= there
