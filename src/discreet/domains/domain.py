"""What a domain is: its classes, terms, patterns, templates and policy, as the files of its folder say them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml

from discreet.core.errors import InputError

FILES = ("policy.yaml", "classes.yaml", "terms.tsv", "suffixes.tsv", "templates.yaml")
SHARED: Mapping[str, str] = {
    "age": "AGE", "occupation": "OCCUPATION", "place": "LOCATION", "affiliation": "AFFILIATION", "family": "FAMILY",
}
"""Classes that every domain may use, and what synthetic records call them (paper section IV-B, Table II)."""
ALWAYS = ("ethnicity", "sex", "person")
"""Classes that are looked for in every domain."""
IDENTIFYING = ("age", "ethnicity", "place", "occupation", "family", "affiliation")
"""Classes that say who somebody is; those of a domain say what happened to them."""


@dataclass(frozen=True, slots=True)
class Term:
    """A listed term: `kind` says what it is, `canonical` what it is called; flag `w`: also an ordinary word."""

    surface: str
    kind: str
    canonical: str
    flag: str


@dataclass(frozen=True, slots=True)
class DomainClass:
    """A class of quasi-identifiers that a domain has of its own.

    Attributes
    ----------
    name : str
        What evidence calls it ("visit").
    label : str
        What synthetic records call it ("VISIT_PATTERN").
    terms : tuple of str
        Kinds of `terms.tsv` and `suffixes.tsv` that state it.
    patterns : tuple of (str, str)
        Why a match counts, and the regular expression, in which case is ignored. The value is the first group where
        the expression has one, else the whole match.
    carries_over : bool
        Whether a note without a subject says it of the person that the sentence before was about.
    of_relative : str or None
        Where stating it of a relative says something of the family of the other person: what it is then called.
    """

    name: str
    label: str
    terms: tuple[str, ...]
    patterns: tuple[tuple[str, str], ...] = ()
    carries_over: bool = False
    of_relative: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Domain:
    """A domain as its folder describes it; terms and templates are read on first use.

    Attributes
    ----------
    name : str
        As `policy.yaml` says.
    shared : tuple of str
        Which of the classes in `SHARED` it uses.
    classes : tuple of DomainClass
        The classes of its own.
    person, people : str
        What the person concerned is called ("patient", "patients").
    policy : mapping
        The content of `policy.yaml`; `discreet.guard.policy` reads it.
    other_terms : tuple of str
        Kinds of terms that state no class.
    lower_case_terms : frozenset of str
        Terms of up to three letters that count in lower case too; others count in capitals only ("MS", not "Ms.").
    suffix_reason : str
        Why a word counts whose ending `suffixes.tsv` lists.
    """

    name: str
    folder: Traversable
    builtin: bool
    shared: tuple[str, ...]
    classes: tuple[DomainClass, ...]
    person: str
    people: str
    policy: Mapping[str, Any]
    other_terms: tuple[str, ...] = ()
    lower_case_terms: frozenset[str] = frozenset()
    suffix_reason: str = "known ending"

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Domain) and (self.name, self.hash) == (other.name, other.hash))

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"Domain({self.name!r}, {str(self.folder)!r})"

    @cached_property
    def own(self) -> tuple[str, ...]:
        """The names of its own classes."""
        return tuple(one.name for one in self.classes)

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """What synthetic records call a class, to its name; the shared ones first."""
        return {**{SHARED[name]: name for name in self.shared}, **{one.label: one.name for one in self.classes}}

    @cached_property
    def own_labels(self) -> tuple[str, ...]:
        """What synthetic records call its own classes."""
        return tuple(one.label for one in self.classes)

    @property
    def allowed_direct(self) -> tuple[str, ...]:
        """Direct identifiers that its policy lets pass."""
        return tuple(self.policy.get("allow_direct") or ())

    @cached_property
    def class_of_kind(self) -> Mapping[str, str]:
        """Kind of a term to the class that it states."""
        return {kind: one.name for one in self.classes for kind in one.terms}

    @cached_property
    def carried(self) -> frozenset[str]:
        """Its classes that carry over to a note without a subject."""
        return frozenset(one.name for one in self.classes if one.carries_over)

    @cached_property
    def of_relative(self) -> Mapping[str, str]:
        """Class to what it is called where it is said of a relative."""
        return {one.name: one.of_relative for one in self.classes if one.of_relative}

    @cached_property
    def patterns(self) -> tuple[tuple[str, str, re.Pattern[str]], ...]:
        """Class, reason and compiled expression of every pattern."""
        return tuple((one.name, why, re.compile(text, re.I)) for one in self.classes for why, text in one.patterns)

    @cached_property
    def terms(self) -> Mapping[str, Term]:
        """Lower-case term to its entry."""
        found = {}
        for surface, kind, canonical, flag in self._rows("terms.tsv", ("=", "-")):
            key = " ".join(surface.lower().split())
            found[key] = Term(key, kind, key if canonical == "=" else canonical, flag)
        return found

    @cached_property
    def suffixes(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Ending to kind, and exceptional word to kind ("-" for none)."""
        rows = [(key, kind) for key, kind in self._rows("suffixes.tsv")]
        return ({key[1:]: kind for key, kind in rows if key.startswith("-")},
                {key: kind for key, kind in rows if not key.startswith("-")})

    @cached_property
    def suffix_lengths(self) -> tuple[int, ...]:
        """Lengths of the endings, the longest first."""
        return tuple(sorted({len(suffix) for suffix in self.suffixes[0]}, reverse=True))

    @cached_property
    def templates(self) -> Mapping[str, Any]:
        """The content of `templates.yaml`. Raises InputError where there is none."""
        if not self.folder.joinpath("templates.yaml").is_file():
            raise InputError(f"{self.folder} has no templates.yaml: synthesis needs one; start from a copy of a "
                             "built-in domain's")
        return read_yaml(self.folder, "templates.yaml")

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the folder's files: 64 hexadecimal digits."""
        digest = hashlib.sha256()
        for name in FILES:
            file = self.folder.joinpath(name)
            content = file.read_bytes() if file.is_file() else b""
            digest.update(f"{name} {len(content)}\n".encode() + content)
        return digest.hexdigest()

    def save(self, folder: Path) -> None:
        """Copy the files of the domain into a folder, so that `load_domain` finds it there."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            if self.folder.joinpath(name).is_file():
                (folder / name).write_bytes(self.folder.joinpath(name).read_bytes())

    def _rows(self, name: str, defaults: tuple[str, ...] = ()) -> Iterator[list[str]]:
        file = self.folder.joinpath(name)
        return table_rows(file, 2 + len(defaults), defaults) if file.is_file() else iter(())


def table_rows(file: Traversable, columns: int, defaults: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """Rows of a table of tab-separated columns; `#` opens a comment line, `defaults` fill up short rows.

    Raises InputError, naming file and line, for a row of another number of columns and what is not UTF-8.
    """
    try:
        text = file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {file}: {type(error).__name__}; expected tab-separated columns in UTF-8"
                         ) from None
    for number, line in enumerate(text.split("\n"), start=1):
        if line and line[0] != "#" and not line.isspace():
            row = line.rstrip("\r").split("\t")
            row += defaults[len(row) - columns:] if columns - len(defaults) <= len(row) < columns else ()
            if len(row) != columns:
                fewest = f"{columns - len(defaults)} to " if defaults else ""
                raise InputError(f"{file}, line {number}: {len(row)} columns; expected {fewest}{columns}, separated by "
                                 "tabs")
            yield row


def read_yaml(folder: Traversable, name: str) -> dict[str, Any]:
    """A file of keys and values. Raises InputError, naming file and line, where it is anything else."""
    file = folder.joinpath(name)
    try:
        data = yaml.load(file.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        raise InputError(f"cannot read {file}: {type(error).__name__}; expected a UTF-8 YAML file") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise InputError(f"{file}{line}: not YAML; start from a copy of a built-in domain's {name}") from None
    if not isinstance(data, dict):
        raise InputError(f"{file}: expected keys with values; start from a copy of a built-in domain's {name}")
    return data
