"""Text as a detector should read it, with the way back to where it stands in the original.

`prepare` undoes what hides an identifier from a pattern without changing what a reader sees: compatibility forms
(NFKC), characters without width, look-alike letters of another script inside a word, digits of other scripts,
typographic dashes, quotes and spaces. Runs that nobody sees and that spell text (tag characters, variation selectors)
become that text. Runs that spell text in another way (base64, hex, percent, letters apart or with marks between) are
decoded beside it, for detection only, down to `MAX_DEPTH` and to `MAX_GROWTH` times the length of the text;
`Prepared.beyond` says whether more was left. Time is linear in the length, and no input raises: not a lone surrogate,
not the empty string, not a tower of combining marks.

Sources: Unicode Standard Annex #15 (normalisation; the Stream-Safe Text Format bounds the marks on one letter),
Unicode Technical Standard #39 (confusables).
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from discreet.core.coded import coded_runs

MAX_MARKS = 32
MAX_DEPTH = 3
MAX_GROWTH, ALWAYS_DECODED = 2, 2_000
"""What is decoded of a text has at most `MAX_GROWTH` times its characters; a short text may always have so many."""

_FOLDS = (
    dict.fromkeys("\u058a\u05be\u1806\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u207b\u208b\u2212\u2e3a\u2e3b"
                  "\ufe31\ufe32\ufe58\ufe63\uff0d", "-")
    | dict.fromkeys("\u00b4\u2018\u2019\u201a\u201b\u02b9\u02bb\u02bc\u02bd\u02c8\u2032\u2035\uff07", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u02ba\uff02", '"')
    | dict.fromkeys("\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f"
                    "\u2800\u3000", " ")
    | dict.fromkeys("\u0085\u2028\u2029", "\n")
)  # fmt: skip
_LOOKALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТУХҮԌԚԜӀ" "аеѕіјкорсухԁԛԝһӏ" "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" "αγικνορυχϲϳ",
    "ABESIJKMHOPCTYXYGQWI" "aesijkopcyxdqwhl" "ABEZHIKMNOPTYX" "ayikvopuxcj",
)  # fmt: skip
_LOOKALIKE = re.compile(f"[{''.join(map(chr, _LOOKALIKES))}]")

# Default_Ignorable_Code_Point, the interlinear marks and the byte order mark: nothing of them is seen.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_TAGS = "\U000e0000-\U000e007f"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
# Tag characters that are not of an emoji flag; variation selectors in a row; characters without width in a row.
_HIDDEN = re.compile(f"(?<!\U0001f3f4)(?<![{_TAGS}])[{_TAGS}]+|[{_SELECTORS}]{{4,}}"
                     "|[\u200b-\u200f\u2060-\u2064\ufeff]{12,}")
_NON_ASCII = re.compile("[^\x00-\x7f]")
_NON_ASCII_RUN = re.compile("[\x00-\x7f]?[^\x00-\x7f]+")
_WORD = re.compile("(?:[^\\W_]|[\u0300-\u036f])+")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Where one rewriting of a text changed its length: spans before and after, in order, never overlapping."""

    before: tuple[tuple[int, int], ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The span before the rewriting that holds everything `start:end` was made from."""
        begin, _ = self._at(start)
        if end <= start:
            return begin, begin
        return begin, self._at(end - 1)[1]

    def _at(self, offset: int) -> tuple[int, int]:
        """What the one character at `offset` was made from."""
        k = bisect_right(self.starts, offset) - 1
        if k < 0:
            return offset, offset + 1
        if offset < self.ends[k]:
            return self.before[k]
        origin = offset + self.before[k][1] - self.ends[k]
        return origin, origin + 1


@dataclass(frozen=True, slots=True)
class Decoded:
    """A run that spells `text` in another way, for detection only; `start:end` is the run in the original.

    `how` is "base64", "hex", "percent", "spaced" or "dotted"; "markup" for what markup holds and does not show,
    such as the target of a link, and "coded" for a run as it stands where the guard put its plain text in its
    place.
    """

    text: str = field(repr=False)
    start: int
    end: int
    how: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text as it came (`original`), as detectors read it (`text`), and what its runs decode to.

    `beyond`: some coded runs lie deeper, or decode to more, than what is decoded, so `decoded` is not all of them.
    """

    original: str = field(repr=False)
    text: str = field(repr=False)
    decoded: tuple[Decoded, ...] = field(repr=False)
    _rewrites: tuple[Rewrite, ...] = field(default=(), repr=False)
    beyond: bool = False

    @property
    def is_rewritten(self) -> bool:
        """Whether offsets of the text may be others in the original."""
        return bool(self._rewrites)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Offsets into `text` to offsets into `original`; the span covers all that `text[start:end]` came from.

        0 <= start <= end <= len(text). Monotone in both arguments.
        """
        for rewrite in reversed(self._rewrites):
            start, end = rewrite.span(start, end)
        return start, end


def prepare(text: str) -> Prepared:
    """Normalise a text for detection. Case, and the length of ordinary text, stay as they are."""
    normal, rewrites = (text, ()) if text.isascii() else normalise(text)
    bare = Prepared(text, normal, (), rewrites)
    budget = Budget.of(normal)
    decoded = tuple(Decoded(plain, *bare.span(start, end), how)
                    for plain, start, end, how in decode(normal, budget))
    return Prepared(text, normal, decoded, rewrites, budget.beyond)


def squeezed(text: str) -> str:
    """Letters and digits alone, in lower case: what an identifier is in whatever way it is written."""
    return "".join(c for c in text.lower() if c.isalnum())


def hidden(text: str) -> Iterator[tuple[int, int, str | None]]:
    """Runs of characters that nobody sees and that may hold text: (start, end, what they spell, None for nothing).

    Tag characters (U+E0000 block) stand for ASCII each, variation selectors for bytes of UTF-8; an emoji flag is no
    such run.
    """
    for run in _HIDDEN.finditer(text):
        codes = [ord(c) for c in run.group()]
        plain: str | None = None
        if codes[0] & 0xFFFFFF80 == 0xE0000:
            plain = "".join(chr(code - 0xE0000) for code in codes if 0xE0020 <= code < 0xE007F)
        elif codes[0] >= 0xFE00 and codes[0] != 0xFEFF:
            raw = bytes(code - 0xFE00 if code < 0xFE10 else code - 0xE0100 + 16 for code in codes)
            plain = raw.decode("utf-8", errors="replace")
        legible = plain and "\ufffd" not in plain and "".join(plain.split()).isprintable()
        yield *run.span(), plain if legible else None


def normalise(text: str) -> tuple[str, tuple[Rewrite, ...]]:
    """The normal form of a text, and the rewritings that led to it, in order."""
    text, revealed = rewrite(text, [(start, end, f" {plain} ") for start, end, plain in hidden(text) if plain])
    text = _fold(text)
    text, dropped = rewrite(text, [(*m.span(), "") for m in _INVISIBLE.finditer(text)])
    text, composed = _compose(text)
    if composed:
        text = _fold(text)
    latin, again = _latinise(text), None
    if latin != text:
        text, again = _compose(latin)
    return text, tuple(one for one in (revealed, dropped, composed, again) if one is not None)


def rewrite(text: str, edits: list[tuple[int, int, str]]) -> tuple[str, Rewrite | None]:
    """Apply edits (start, end, replacement), sorted and disjoint; None where there are none."""
    if not edits:
        return text, None
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    done = length = 0
    for start, end, new in edits:
        length += start - done
        parts += (text[done:start], new)
        starts.append(length)
        length += len(new)
        ends.append(length)
        done = end
    parts.append(text[done:])
    return "".join(parts), Rewrite(tuple((s, e) for s, e, _ in edits), tuple(starts), tuple(ends))


def _fold(text: str) -> str:
    """Dashes, quotes, spaces and digits, one character for one."""
    table = {ord(c): str(unicodedata.decimal(c)) if c.isdecimal() else _FOLDS[c]
             for c in set(_NON_ASCII.findall(text)) if c.isdecimal() or c in _FOLDS}
    if len(table) > 8:
        return text.translate(table)
    for old, new in table.items():
        text = text.replace(chr(old), new)
    return text


def _compose(text: str) -> tuple[str, Rewrite | None]:
    """NFKC, letter with its marks by letter with its marks."""
    if all(map(_is_still, set(_NON_ASCII.findall(text)))):
        return text, None
    edits: list[tuple[int, int, str]] = []
    for run in _NON_ASCII_RUN.finditer(text):
        for start, end in _clusters(run.group()):
            old = run.group()[start:end]
            new = unicodedata.normalize("NFKC", old[: MAX_MARKS + 1])
            if len(new) > MAX_MARKS:
                new = "".join(new[s:e][: MAX_MARKS + 1] for s, e in _clusters(new))
            if new != old:
                edits.append((run.start() + start, run.start() + end, new))
    return rewrite(text, edits)


def _clusters(run: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for i, character in enumerate(run):
        if i and not _continues(character):
            yield begin, i
            begin = i
    yield begin, len(run)


@lru_cache(maxsize=4096)
def _continues(character: str) -> bool:
    """Whether a character may fuse with the one before: a mark, or a vowel or final of a Hangul syllable."""
    first = unicodedata.normalize("NFKD", character)[0]
    return unicodedata.category(first)[0] == "M" or "\u1160" <= first <= "\u11ff"


@lru_cache(maxsize=4096)
def _is_still(character: str) -> bool:
    return not _continues(character) and unicodedata.normalize("NFKC", character) == character


def _latinise(text: str) -> str:
    """Look-alikes to Latin letters in words that mix scripts, or mix them with digits."""
    if not _LOOKALIKE.search(text):
        return text
    return _WORD.sub(lambda m: m.group().translate(_LOOKALIKES) if _is_mixed(m.group()) else m.group(), text)


def _is_mixed(word: str) -> bool:
    if word.isascii():
        return False
    scripts = {_script(c) for c in set(word) if not "\u0300" <= c <= "\u036f"}
    return len(scripts) > 1 and bool(scripts & {"greek", "cyrillic"}) and "other" not in scripts


def _script(character: str) -> str:
    if "\u0370" <= character <= "\u03ff":
        return "greek"
    if "\u0400" <= character <= "\u052f":
        return "cyrillic"
    if character.isdigit():
        return "digit"
    return "latin" if character < "\u0250" or "\u1e00" <= character <= "\u1eff" else "other"


@dataclass(slots=True)
class Budget:
    """How many characters may still be decoded, and whether some runs were left (`beyond`)."""

    left: int
    beyond: bool = False

    @classmethod
    def of(cls, text: str) -> Budget:
        """The budget for one decoding of a text."""
        return cls(max(ALWAYS_DECODED, MAX_GROWTH * len(text)))

    def pays(self, plain: str) -> bool:
        """Whether a decoded run may still be read; takes its length off where it may."""
        if len(plain) > self.left:
            self.beyond = True
            return False
        self.left -= len(plain)
        return True


def decode(text: str, budget: Budget | None = None, depth: int = MAX_DEPTH) -> Iterator[tuple[str, int, int, str]]:
    """Decoded runs as (plain, start, end, how), also of what was decoded, down to `depth` and within the budget."""
    budget = budget or Budget.of(text)
    if depth == 0:
        budget.beyond = budget.beyond or next(coded_runs(text), None) is not None
        return
    for plain, start, end, how in coded_runs(text):
        normal = plain if plain.isascii() else normalise(plain)[0]
        if not budget.pays(normal):
            return
        yield normal, start, end, how
        for inner, _, _, deeper in decode(normal, budget, depth - 1):
            yield inner, start, end, deeper


def spelt_out(text: str, budget: Budget, depth: int = MAX_DEPTH) -> list[tuple[int, int, str]]:
    """Coded runs, sorted and disjoint, as (start, end, plain), where the runs of the plain text are spelt out too.

    Of runs that overlap, the one that begins first, and of those the longest. Digits apart are no run of letters.
    """
    if depth == 0:
        budget.beyond = budget.beyond or next(coded_runs(text), None) is not None
        return []
    runs = {(start, end): plain for plain, start, end, how in coded_runs(text)
            if how != "spaced" or 2 * sum(map(str.isalpha, plain)) > len(plain)}
    found: list[tuple[int, int, str]] = []
    for (start, end), plain in sorted(runs.items(), key=lambda run: (run[0][0], -run[0][1])):
        if found and start < found[-1][1]:
            continue
        normal = plain if plain.isascii() else normalise(plain)[0]
        if not budget.pays(normal):
            break
        found.append((start, end, rewrite(normal, spelt_out(normal, budget, depth - 1))[0]))
    return found
