"""Character references, HTML and XML tags, and LaTeX tables."""

from __future__ import annotations

import html
import re

from discreet.guard.text.render.words import RECORD, Edit, Edits, label, labelled, stop

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ATTRIBUTE = re.compile(r"([\w:@.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'=<>`]+))")
_TAG = re.compile(r"<(/?)([A-Za-z][\w:.-]{0,40})((?:\s+[\w:@.-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'=<>`]+))?)*)"
                  r"\s*(/?)>|<!--|-->|<[!?][A-Za-z][^<>]{0,200}>|<!\[CDATA\[|\]\]>")
_NOTE = re.compile(r"(?<=[^\s\d])<sup\b[^<>]{0,200}>(?:\s|</?a\b[^<>]{0,200}>)*[\[(]?\d{1,3}"
                   r"(?:[,\s-]+\d{1,3}){0,5}[\])]?(?:\s|</a>)*</sup>", re.IGNORECASE)
_INLINE = frozenset("a abbr acronym b bdi bdo big center cite del dfn em font i img input ins kbd mark nobr q s samp "
                    "small span strike strong sub sup tt u var wbr".split())
_LINES = frozenset("br dd dt hr li tr".split())
_BLOCKS = frozenset("article aside blockquote body caption dl div footer form h1 h2 h3 h4 h5 h6 head header html main "
                    "nav ol p pre script section style table tbody tfoot thead ul".split())
_CELLS = frozenset("td th".split())
_HTML = _INLINE | _LINES | _BLOCKS | _CELLS | frozenset(["meta", "link"])
# Also words of their own, as "<address>" for one that was taken out: a tag where it is opened and closed.
_PAIRED = frozenset("body cite form head header main section style var mark link meta caption s q input".split())
_SHOWN = frozenset("alt aria-label content placeholder title value".split())
_TABULAR = re.compile(r"\\begin\{tabular[x*]?\}(?:\[[^\]\n]{0,20}\])?(?:\{[^{}\n]{0,60}\}){0,2}|\\end\{tabular[x*]?\}")
_ROW = re.compile(r"\s*+\\\\(?:\[[^\]\n]{0,20}\])?\s*+|[ \t]*(?<!\\)&[ \t]*"
                  r"|\\(?:hline|toprule|midrule|bottomrule)[ \t]*\n?")


def entities(text: str) -> Edits:
    """Character references to characters."""
    found = Edits()
    if "&" in text:
        found.edits = [(*m.span(), plain) for m in _ENTITY.finditer(text) if (plain := html.unescape(m[0])) != m[0]]
    return found


def tags(text: str) -> Edits:
    """Tags to breaks, bullets, cells and fields, or to nothing; what attributes show comes into the text."""
    if "<" not in text:
        return Edits()
    notes = {m.start(): m.end() for m in _NOTE.finditer(text)}
    matches = list(_TAG.finditer(text))
    names = [(m[2] or "").lower() for m in matches]
    opened = {name: k for k, name in reversed(list(enumerate(names))) if not matches[k][1]}
    closed = {name for m, name in zip(matches, names, strict=True) if m[1]}
    found, done, commented = Edits(), 0, False
    for k, m in enumerate(matches):
        if m.start() in notes:
            found.edits.append((m.start(), notes[m.start()], ""))
            done = notes[m.start()]
        if m.start() < done:
            continue
        name, start = names[k], m.start()
        if not name:
            commented = commented or m[0] == "<!--"
            if m[0] != "-->" or commented:
                found.edits.append((*m.span(), "\n\n"))
                done = m.end()
            continue
        known = name in _HTML
        paired = name in opened and name in closed
        attributes = [(a[1], a[2] or a[3] or a[4] or "") for a in _ATTRIBUTE.finditer(m[3])]
        if not (paired or (known and name not in _PAIRED and (not m[3] or attributes)) or (m[4] and attributes)):
            continue
        new, wide = _tag(text, matches, names, opened, k, attributes)
        while wide and start > done and text[start - 1].isspace():
            start -= 1
        if attributes:
            found.beside.append((m.start(3), m.end(3)))
        found.edits.append((start, m.end(), new))
        done = m.end()
    return found


def _tag(text: str, matches: list[re.Match[str]], names: list[str], opened: dict[str, int], k: int,
         attributes: list[tuple[str, str]]) -> tuple[str, bool]:
    """What takes the place of one tag, and whether it takes the blanks before it along.

    `opened` holds the first tag that opens each name: an element of its own name that comes again is another record.
    """
    m, name = matches[k], names[k]
    shown = " ".join(value for key, value in attributes if key.lower() in _SHOWN and any(map(str.isalpha, value)))
    if name in _INLINE:
        return (f" {shown} " if shown else ""), False
    shown = f"{shown}{stop(shown)}" if shown else ""
    if name in _CELLS:
        return ("" if m[1] else f" | {shown}"), True
    if name == "tr":
        return (" |" if m[1] else "\n"), True
    if name in _LINES:
        return ("" if m[1] else "\n- " if name == "li" else "\n"), name != "br"
    if name in _HTML:
        return f"\n\n{shown}", False
    fields = "".join(f"\n{labelled(key, value)}{value}{stop(value)}" for key, value in attributes)
    if m[1]:
        leaf = k and names[k - 1] == name and not matches[k - 1][1]
        if not leaf:
            return "\n\n", True
        inner = text[matches[k - 1].end() : m.start()]
        return (stop(inner) + "\n" if _is_field(text, matches[k - 1]) else ""), False
    if m[4] or not (k + 1 < len(matches) and names[k + 1] == name and matches[k + 1][1]):
        return f"{RECORD if opened[name] < k else chr(10)}{fields}\n", True
    inner = text[m.end() : matches[k + 1].start()]
    if not _is_field(text, m):
        return fields, False
    return f"{fields}{_apart(text, matches, k)}{labelled(m[2], inner)}", True


def _apart(text: str, matches: list[re.Match[str]], k: int) -> str:
    """A break before a field, where the end of the one before is none."""
    fresh = not k or not matches[k - 1][1] or text[matches[k - 1].end() : matches[k].start()].strip()
    return "\n" if fresh else ""


def _is_field(text: str, m: re.Match[str]) -> bool:
    """Whether an element of its own name stands where a field would, not within a sentence."""
    before = text[max(0, m.start() - 80) : m.start()].rstrip(" \t")
    return not before or before[-1] in "\n>" and not before.endswith("->") and bool(label(m[2]))


def latex_tables(text: str) -> Edits:
    """The cells of a LaTeX table to cells between bars."""
    edits: list[Edit] = []
    start = None
    for m in _TABULAR.finditer(text) if "\\begin{tabular" in text else ():
        if start is not None:
            rows = [(*r.span(), " |\n" if "\\\\" in r[0] else " | " if "&" in r[0] else "")
                    for r in _ROW.finditer(text, start, m.start())]
            edits += rows
        start = m.end() if m[0].startswith("\\begin") else None
        edits.append((*m.span(), ""))
    return Edits(edits)
