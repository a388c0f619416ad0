"""A page as a browser takes it apart."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Reader(HTMLParser):
    """Checks that elements close in order; collects ids, what the page would load, and what says what it shows."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.urls: list[str] = []
        self.handlers: list[str] = []
        self.named: list[str] = []
        self.figures = 0
        self.captions = 0
        self.rows = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        facts = dict(attrs)
        self.figures += tag == "svg"
        self.captions += tag == "figcaption"
        self.rows += "data-action" in facts
        self.ids += [str(facts["id"])] if "id" in facts else []
        # A drawing uses shapes of its own.
        self.urls += [str(value) for name, value in attrs if tag != "use"
                      and name in ("src", "href", "action", "poster", "xlink:href")]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        if tag == "svg":
            assert facts["role"] == "img"
            self.named += str(facts["aria-labelledby"]).split()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def read(html: str) -> Reader:
    """The page read to its end, every element closed."""
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    return reader


def words_of(html: str) -> str:
    """What stands on the page, without tags and runs of white space."""
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html.rpartition("</style>")[2])))
