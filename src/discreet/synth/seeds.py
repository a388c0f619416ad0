"""Seed corpora (paper section IV-A, Table I): public questions and passages that records are written from.

A domain's `prompts.yaml` names the corpora, by the patterns of their files, with register, licence and columns; another
file is read by the usual names of columns. Files stay where they are: nothing is copied or downloaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from discreet.core.errors import InputError, UsageError
from discreet.core.files import clean, why
from discreet.guard.domains import Domain, DomainLike, load_domain
from discreet.guard.text.render import render, shown
from discreet.inputs.rows import FORMATS, Place, iter_rows
from discreet.synth.records import REGISTERS

LEAST = 12
"""Fewest words of a passage: a shorter one says too little to write from."""


@dataclass(frozen=True, slots=True)
class SeedPassage:
    """A public passage, and the question that it answers where the corpus has one.

    `id` is unique over what was read together; `source` the name of the corpus; `register` one of `REGISTERS`, None
    where nothing says it.
    """

    id: str
    source: str
    register: str | None
    question: str | None = field(repr=False)
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Corpus:
    """A seed corpus as `prompts.yaml` has it.

    `files` are patterns for the last part of a path, or for the last two where they have a slash. `question` and `text`
    say where these stand: columns ("a|b": the first that is there; "a + b": joined; "a.b": inside an object or the
    objects of a list). An answer that is a number is one of the `choices` column. `keep`: only rows whose columns have
    one of these values. `paper`: one of Table I, whose `records` are its count.
    """

    name: str
    files: tuple[str, ...]
    text: str
    question: str | None = None
    register: str | None = None
    records: int | None = None
    licence: str = "none stated"
    choices: str | None = None
    keep: Mapping[str, Sequence[str]] = field(default_factory=dict)
    paper: bool = False

    def holds(self, path: Path) -> bool:
        """Whether a file is of this corpus, by its name."""
        tail, name = "/".join(path.absolute().parts[-2:]).lower(), path.name.lower()
        return any(fnmatch(tail if "/" in one else name, one.lower()) for one in self.files)


ANY = Corpus("", (), "text|Text|answer|Answer|context|passage|completion|response|summary",
             "question|Question|prompt|query|title")
"""How a file is read that is none of the domain's corpora: by the usual names of columns."""


def corpora(domain: DomainLike) -> tuple[Corpus, ...]:
    """The seed corpora of a domain. Raises InputError, naming the corpus, where its settings are impossible."""
    found = load_domain(domain)
    said = found.prompts.get("seeds") or {}
    out = []
    for name, body in said.items() if isinstance(said, Mapping) else ():
        try:
            one = Corpus(name, **{**body, "files": tuple(body["files"])})
        except (TypeError, KeyError):
            one = None
        if one is None or one.register not in (None, *REGISTERS):
            raise InputError(f"{found.folder}/prompts.yaml, seeds, {name}: expected files, text and a register "
                             f"({', '.join(REGISTERS)}); start from a copy of a built-in domain's")
        out.append(one)
    return tuple(out)


def read_seeds(domain: DomainLike, paths: Iterable[Path | str] | Mapping[str, Path | str]) -> Sequence[SeedPassage]:
    """The passages of some files, each once, in order; `paths` may say of which corpus a file is (name to path).

    JSON Lines, CSV and Parquet, and the `Posts.xml` of a Stack Exchange dump; of a folder all such files in it. Rows
    that are shorter than 12 words, or that the corpus does not keep, are left out. Raises UsageError for a corpus that
    the domain does not name, InputError where a file cannot be read or holds no passage; no error quotes a passage.
    """
    found = load_domain(domain)
    named = list(paths.items()) if isinstance(paths, Mapping) else [("", path) for path in paths]
    if not named:
        raise UsageError("no seed files were given; expected JSON Lines, CSV, Parquet or Posts.xml")
    seeds: dict[str, SeedPassage] = {}
    seen: set[str] = set()
    for name, given in named:
        for path in _files(Path(given)):
            read = 0
            for seed in _passages(path, _corpus(found, name, path)):
                key = " ".join(seed.text.casefold().split())
                read += 1
                if key not in seen and len(seed.text.split()) >= LEAST:
                    seen.add(key)
                    one = SeedPassage(_unused(seed.id, seeds), seed.source, seed.register, seed.question, seed.text)
                    seeds[one.id] = one
            if not read:
                raise InputError(f"{path} holds no passage where one is looked for; expected the columns of its corpus "
                                 f"in {found.folder}/prompts.yaml, or question and text")
    if not seeds:
        raise InputError(f"no passage of {LEAST} words or more in {len(named)} seed file(s); expected longer texts")
    return tuple(seeds.values())


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(one for one in path.iterdir() if one.name.lower().endswith((*FORMATS, ".xml")))
    if not found:
        raise InputError(f"{path} holds no file to read; expected some of {', '.join((*FORMATS, 'Posts.xml'))}")
    return found


def _corpus(domain: Domain, name: str, path: Path) -> Corpus:
    known = corpora(domain)
    if name:
        if (one := next((one for one in known if one.name.lower() == name.lower()), None)) is None:
            raise UsageError(f"the domain {domain.name!r} has no seed corpus {name!r}; expected one of "
                             f"{', '.join(one.name for one in known)}")
        return one
    return next((one for one in known if one.holds(path)), ANY)


def _passages(path: Path, corpus: Corpus) -> Iterator[SeedPassage]:
    source = corpus.name or path.name.split(".")[0]
    rows = _posts(path) if path.name.lower().endswith(".xml") else iter_rows(path, _columns(corpus), ())
    for place, row in rows:
        if any(str(row.get(column)) not in values for column, values in corpus.keep.items()):
            continue
        text = _cell(row, corpus.text, corpus)
        if text:
            said = row.get("register") if corpus is ANY else corpus.register
            name = row.get("id") if isinstance(row.get("id"), str | int) else place.number
            yield SeedPassage(f"{source}/{clean(str(name))}", source, said if said in REGISTERS else None,
                              _cell(row, corpus.question or "", corpus) or None, text)


def _columns(corpus: Corpus) -> frozenset[str]:
    """The columns that a corpus needs; other ones of a Parquet file are not read."""
    said = f"{corpus.question or ''}|{corpus.text}".replace("+", "|").split("|")
    return frozenset({"id", "register", *corpus.keep, *([corpus.choices] if corpus.choices else []),
                      *(one.strip().split(".")[0] for one in said)})


def _cell(row: Mapping[str, Any], where: str, corpus: Corpus) -> str:
    """The text that an expression of columns finds in a row; empty where there is none."""
    parts = []
    for term in where.split(" + "):
        found = (_at(row, column.strip().split("."), corpus) for column in term.split("|"))
        parts.append(next((text for text in found if text), ""))
    return "\n".join(filter(None, parts))


def _at(value: Any, steps: Sequence[str], corpus: Corpus) -> str:
    if isinstance(value, list) and steps:
        return "\n".join(filter(None, (_at(one, steps, corpus) for one in value)))
    if steps:
        inside = value.get(steps[0]) if isinstance(value, Mapping) else None
        listed = value.get(corpus.choices) if isinstance(value, Mapping) and corpus.choices else None
        if steps[0] == "answer" and isinstance(listed, list) and isinstance(inside, int):
            inside = listed[inside] if inside in range(len(listed)) else None
        return _at(inside, steps[1:], corpus)
    if isinstance(value, list):
        return " ".join(one.strip() for one in value if isinstance(one, str) and one.strip())
    return clean(value).strip() if isinstance(value, str) else ""


def _posts(path: Path) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """Answers of a Stack Exchange dump with the titles of their questions; those with a negative score are left out."""
    titles = {post["Id"]: post["Title"] for _, post in _elements(path) if post.get("PostTypeId") == "1" and
              post.get("Title")}
    for number, post in _elements(path):
        title = titles.get(post.get("ParentId", ""))
        if post.get("PostTypeId") == "2" and title and not post.get("Score", "0").startswith("-"):
            answer = shown(render(clean(post.get("Body", ""))))
            yield Place(str(path), "row", number), {"id": post["Id"], "question": title, "answer": answer}


def _elements(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    number = 0
    try:
        steps = ET.iterparse(path, ("start", "end"))
        _, root = next(steps)
        for step, element in steps:
            if step == "end" and element.tag == "row":
                number += 1
                yield number, dict(element.attrib)
                root.clear()  # A dump is larger than memory.
    except OSError as error:
        raise InputError(f"cannot read {path}: {why(error)}; expected the Posts.xml of a Stack Exchange dump") from None
    except ET.ParseError as error:
        raise InputError(f"{path}, line {error.position[0]}: not XML; expected the Posts.xml of a Stack Exchange dump"
                         ) from None


def _unused(name: str, taken: Mapping[str, object]) -> str:
    """`name`, with a number behind it where it is taken."""
    if name not in taken:
        return name
    number = 2
    while f"{name}-{number}" in taken:
        number += 1
    return f"{name}-{number}"
