"""Runs of a text that spell a readable text in another way: base64, hex, percent, letters apart or with marks.

Sources: RFC 4648 (base64, base16), RFC 3986 (percent).
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from urllib.parse import unquote

_PACKED = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_PIECE = re.compile(r"[A-Za-z0-9+]{12,}={0,2}")
# Possessive and without a choice: a long run of "'ab" would otherwise be tried in every way.
_PLAIN_WORD = re.compile(r"\W*+[A-Za-z]?[a-z]*+(?:['/-](?:[A-Z][a-z]{1,60}+|[a-z]{1,61}+))*+\W*+")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:(?:0x|\\x)?(?:[2-7][0-9A-Fa-f]|0[9AaDd])[ :,-]{0,2}){8,}"
                  r"(?<![ :,-])(?![0-9A-Za-z])")
_HEX_HINT = re.compile(r"[02-7][0-9A-Fa-fx](?:[ :,-]{0,2}(?:0x|\\x)?[02-7][0-9A-Fa-f]){3}")
_HEX_NOISE = re.compile(r"0x|\\x|[ :,-]")
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
_TOKEN = re.compile(r"\S+")
_SPACED = re.compile(r"(?<!\S)(?:\S[ \t]{1,3}){5,}\S(?!\S)")
_SPACED_HINT = re.compile(r"[ \t]\S[ \t]{1,3}\S[ \t]{1,3}\S[ \t]")
_DOTTED = re.compile(r"(?<![^\W_])[A-Za-z]([^\w\s]|_)[A-Za-z](?:\1[A-Za-z](?![^\W_])){3,}")
_WIDE_GAP = re.compile(r"[ \t]{2,}")


def coded_runs(text: str) -> Iterator[tuple[str, int, int, str]]:
    """The coded runs of a text as (plain, start, end, how), not normalised and not looked into."""
    if any(not _PLAIN_WORD.fullmatch(token) for token in text.split() if len(token) >= 12):
        for run in _PACKED.finditer(text):
            yield from _unpacked(run)
    for run in _HEX.finditer(text) if _HEX_HINT.search(text) else ():
        if (spelt := _readable(bytes.fromhex(_HEX_NOISE.sub("", run.group())))) is not None:
            yield spelt, *run.span(), "hex"
    if "%" in text and _ESCAPE.search(text):
        for token in _TOKEN.finditer(text):
            if _ESCAPE.search(token.group()) and _is_readable(plain := unquote(token.group(), errors="replace")):
                yield plain, *token.span(), "percent"
    if _SPACED_HINT.search(text):
        for run in _SPACED.finditer(text):
            yield _closed_up(run.group()), *run.span(), "spaced"
    yield from _dotted(text)


def _dotted(text: str) -> Iterator[tuple[str, int, int, str]]:
    """Letters with the same mark between, closed up; where a word is written so, every run with this mark."""
    spelt = {run[1] for run in _DOTTED.finditer(text) if not _is_enumeration(run.group())}
    if not spelt:
        return
    marks = re.escape("".join(sorted(spelt)))
    for run in re.finditer(rf"(?<![^\W_])[^\W_](?:[{marks}][^\s_](?![^\W_]))+(?![^\W_])", text):
        yield run.group()[::2], *run.span(), "dotted"


def _is_enumeration(run: str) -> bool:
    """Whether letters apart are in the order of the alphabet ("A/B/C/D/E") or initials ("M.B.B.C.H.")."""
    letters = run[::2]
    return letters.isupper() or list(letters.lower()) == sorted(letters.lower())


def _unpacked(run: re.Match[str]) -> Iterator[tuple[str, int, int, str]]:
    """A base64 run; where the whole is none, its pieces between `/`, `_` and `-`."""
    if (plain := _unbased(run.group())) is not None:
        yield plain, *run.span(), "base64"
        return
    for piece in _PIECE.finditer(run.group()):
        if len(piece.group()) < len(run.group()) and (plain := _unbased(piece.group())) is not None:
            yield plain, run.start() + piece.start(), run.start() + piece.end(), "base64"


def _unbased(run: str) -> str | None:
    body = run.rstrip("=")
    if _PLAIN_WORD.fullmatch(body) or len(body) % 4 == 1:
        return None
    packed = body.replace("-", "+").replace("_", "/") + "=" * (-len(body) % 4)
    return _readable(binascii.a2b_base64(packed))


def _closed_up(run: str) -> str:
    """Letters apart to words: single gaps close, wider gaps stay one blank."""
    if run[0] in "aAI" and run[1:].lstrip()[:1].isdigit():
        run = run[1:].lstrip()
    return " ".join(re.sub(r"[ \t]", "", word) for word in _WIDE_GAP.split(run))


def _readable(raw: bytes) -> str | None:
    try:
        plain = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return plain if _is_readable(plain) else None


def _is_readable(plain: str) -> bool:
    return len(plain) >= 6 and "\ufffd" not in plain and "".join(plain.split()).isprintable()
