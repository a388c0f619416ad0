"""What a domain is: its classes, terms, patterns, templates and policy, read from the files of its folder.

Every mistake in a file is named by file and key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from discreet.core import files
from discreet.core.errors import InputError, meant

FILES = ("policy.yaml", "classes.yaml", "terms.tsv", "suffixes.tsv", "templates.yaml")
PROMPTS = "prompts.yaml"
"""What language models are asked to write: no part of the hash of a domain, for no verdict depends on it."""
SHARED: Mapping[str, str] = {
    "age": "AGE", "occupation": "OCCUPATION", "place": "LOCATION", "affiliation": "AFFILIATION", "family": "FAMILY",
}
"""Classes that every domain may use, and what synthetic records call them (paper section IV-B, Table II)."""
ALWAYS = ("ethnicity", "sex")
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
    """A class of quasi-identifiers of a domain: `name` in evidence ("visit"), `label` in records ("VISIT_PATTERN").

    `terms` are the kinds of `terms.tsv` and `suffixes.tsv` that state it. `patterns` are why a match counts and the
    regular expression (case ignored); the value is its first group, or else the whole match.
    """

    name: str
    label: str
    terms: tuple[str, ...]
    patterns: tuple[tuple[str, re.Pattern[str]], ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Domain:
    """A domain as its folder describes it; terms and templates are read on first use.

    `shared` names the classes of `SHARED` that it uses, `classes` are its own; `person` and `people` say what those
    concerned are called ("patient", "patients"); `policy` is what `policy.yaml` says. `other_terms` are
    kinds of terms that state no class. `lower_case_terms` of up to three letters count in lower case too, others in
    capitals only ("MS", not "Ms."). `suffix_reason` says why a word counts whose ending is listed.
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
    def patterns(self) -> tuple[tuple[str, str, re.Pattern[str]], ...]:
        """Class, reason and expression of every pattern."""
        return tuple((one.name, why, pattern) for one in self.classes for why, pattern in one.patterns)

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
    def templates(self) -> Mapping[str, Any]:
        """The content of `templates.yaml`. Raises InputError where there is none."""
        if not self.folder.joinpath("templates.yaml").is_file():
            raise InputError(f"{self.folder} has no templates.yaml: synthesis needs one; start from a copy of a "
                             "built-in domain's")
        return read_yaml(self.folder, "templates.yaml")

    @cached_property
    def prompts(self) -> Mapping[str, Any]:
        """The content of `prompts.yaml`. Raises InputError where there is none."""
        if not self.folder.joinpath(PROMPTS).is_file():
            raise InputError(f"{self.folder} has no {PROMPTS}: campaigns of language models need one; start from a "
                             "copy of a built-in domain's")
        return read_yaml(self.folder, PROMPTS)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the folder's files but for the prompts: 64 hexadecimal digits."""
        digest = hashlib.sha256()
        for name in FILES:
            file = self.folder.joinpath(name)
            content = file.read_bytes() if file.is_file() else b""
            digest.update(f"{name} {len(content)}\n".encode() + content)
        return digest.hexdigest()

    def save(self, folder: Path) -> None:
        """Copy the files of the domain into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in (*FILES, PROMPTS):
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
    remedy = f"start from a copy of a built-in domain's {name}"
    data = files.read_yaml(file, "a UTF-8 YAML file", remedy, quick=True)
    if not isinstance(data, dict):
        raise InputError(f"{file}: expected keys with values; {remedy}")
    return data


MONEY = (r"(?:[$£€₹]\s?\d(?:[\d,.]*\d)?(?:\s?(?:k|m|million|billion|thousand|lakhs?|crores?)\b)?"
         r"|\d(?:[\d,.]*\d)?\s?(?:k\b|dollars|euros|pounds|lakhs?))")
"""A sum of money: what `{money}` stands for in the patterns of `classes.yaml`."""

POLICY_KEYS = ("version", "domain", "languages", "counts", "point", "allow_direct", "inferred", "names",
               "quotes", "on_flag", "audience", "audiences")
_CLASS_KEYS = ("label", "terms", "phrases", "patterns")
_KEYS = ("person", "people", "shared", "classes", "other_terms", "lower_case_terms", "suffix_reason")


def read_domain(folder: Traversable, *, builtin: bool) -> Domain:
    """The domain of a folder. Raises InputError."""
    policy, said = read_yaml(folder, "policy.yaml"), read_yaml(folder, "classes.yaml")
    _known_keys(f"{folder}/policy.yaml", policy, POLICY_KEYS)
    name = policy.get("domain")
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
        raise InputError(f"{folder}/policy.yaml: domain is {name!r}; expected a name in lower-case letters")
    where = f"{folder}/classes.yaml"
    _known_keys(where, said, _KEYS)
    own = said.get("classes")
    if not isinstance(own, dict) or not own:
        raise InputError(f"{where}: classes must map names to settings; expected at least one class")
    shared = _words(where, "shared", said.get("shared", list(SHARED)))
    if unknown := [one for one in shared if one not in SHARED]:
        raise InputError(f"{where}: shared names {unknown[0]!r}; expected some of {', '.join(SHARED)}")
    classes = tuple(_class(f"{where}, {name}", name, body or {}) for name, body in own.items())
    kinds = [kind for one in classes for kind in one.terms]
    for what, listed in (("label", [one.label for one in classes]), ("kind", kinds)):
        if twice := sorted({one for one in listed if listed.count(one) > 1}):
            raise InputError(f"{where}: two classes have the {what} {twice[0]!r}; expected each {what} once")
    domain = Domain(
        name, folder, builtin, shared, classes, _text(where, "person", said.get("person", "person")),
        _text(where, "people", said.get("people", "people")), policy,
        _words(where, "other_terms", said.get("other_terms", [])),
        frozenset(_words(where, "lower_case_terms", said.get("lower_case_terms", []))),
        _text(where, "suffix_reason", said.get("suffix_reason", "known ending")),
    )
    if not builtin:
        _check_tables(domain)
    return domain


def _class(where: str, name: object, body: object) -> DomainClass:
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in (*SHARED, *ALWAYS):
        raise InputError(f"{where}: expected a class name in lower-case letters other than "
                         f"{', '.join((*SHARED, *ALWAYS))}")
    if not isinstance(body, dict):
        raise InputError(f"{where}: expected a mapping of some of {', '.join(_CLASS_KEYS)}")
    _known_keys(where, body, _CLASS_KEYS)
    label = _text(where, "label", body.get("label", name.upper()))
    if not re.fullmatch(r"[A-Z][A-Z0-9_]*", label) or label in SHARED.values():
        raise InputError(f"{where}: label is {label!r}; expected capitals, and none of {', '.join(SHARED.values())}")
    phrases = _words(where, "phrases", body.get("phrases", []))
    patterns = [(f"{name} phrase", rf"\b(?:{'|'.join(phrases)})\b")] if phrases else []
    for one in body.get("patterns", []):
        if not isinstance(one, dict) or set(one) != {"why", "regex"}:
            raise InputError(f"{where}: patterns must be a list of mappings with the keys why and regex")
        patterns.append((_text(where, "why", one["why"]),
                         _text(where, "regex", one["regex"]).replace("{money}", MONEY)))
    compiled: list[tuple[str, re.Pattern[str]]] = []
    for why, regex in patterns:
        try:
            compiled.append((why, re.compile(regex, re.I)))
        except re.error as error:
            raise InputError(f"{where}: {regex[:60]!r} is no regular expression: {error}") from None
    return DomainClass(name, label, _words(where, "terms", body.get("terms", [name])), tuple(compiled))


def _check_tables(domain: Domain) -> None:
    """Read the tables of a folder and take its hash, so that a mistake is found before anything is judged."""
    kinds = {*domain.class_of_kind, *domain.other_terms}
    suffixes, exceptions = domain.suffixes
    found = [("terms.tsv", t.surface, t.kind) for t in domain.terms.values()]
    found += [("suffixes.tsv", word, kind) for word, kind in {**suffixes, **exceptions}.items() if kind != "-"]
    for name, word, kind in found:
        if kind not in kinds:
            raise InputError(f"{domain.folder}/{name}: {word!r} is of the kind {kind!r}; expected one of "
                             f"{', '.join(sorted(kinds))}, or name the kind under other_terms in classes.yaml")
    _ = domain.hash


def _known_keys(where: str, said: Mapping[Any, Any], known: tuple[str, ...]) -> None:
    if unknown := [str(key) for key in said if key not in known]:
        raise InputError(f"{where}: unknown key {unknown[0]!r}; {meant(unknown[0], known)}")


def _text(where: str, key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where}: {key} is {value!r}; expected text")
    return value


def _words(where: str, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) and word for word in value):
        raise InputError(f"{where}: {key} is {value!r}; expected a list of words")
    return tuple(value)
