"""From the files of a folder to a `Domain`, with every mistake named by file and key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from typing import Any

from discreet.core.errors import InputError
from discreet.domains.domain import ALWAYS, SHARED, Domain, DomainClass, read_yaml

MONEY = (r"(?:[$£€₹]\s?\d(?:[\d,.]*\d)?(?:\s?(?:k|m|million|billion|thousand|lakhs?|crores?)\b)?"
         r"|\d(?:[\d,.]*\d)?\s?(?:k\b|dollars|euros|pounds|lakhs?))")
"""A sum of money: what `{money}` stands for in the patterns of `classes.yaml`."""

_CLASS_KEYS = ("label", "terms", "phrases", "patterns", "carries_over", "of_relative")
_KEYS = ("person", "people", "shared", "classes", "other_terms", "lower_case_terms", "suffix_reason")


def read_domain(folder: Traversable, *, builtin: bool) -> Domain:
    """The domain of a folder. Raises InputError."""
    policy, said = read_yaml(folder, "policy.yaml"), read_yaml(folder, "classes.yaml")
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
    return Domain(
        name, folder, builtin, shared, classes, _text(where, "person", said.get("person", "person")),
        _text(where, "people", said.get("people", "people")), policy,
        _words(where, "other_terms", said.get("other_terms", [])),
        frozenset(_words(where, "lower_case_terms", said.get("lower_case_terms", []))),
        _text(where, "suffix_reason", said.get("suffix_reason", "known ending")),
    )


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
    for _, regex in patterns:
        try:
            re.compile(regex, re.I)
        except re.error as error:
            raise InputError(f"{where}: {regex[:60]!r} is no regular expression: {error}") from None
    relative = body.get("of_relative")
    return DomainClass(
        name, label, _words(where, "terms", body.get("terms", [name])), tuple(patterns),
        bool(body.get("carries_over", False)), None if relative is None else _text(where, "of_relative", relative),
    )


def check_tables(domain: Domain) -> None:
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
        raise InputError(f"{where}: unknown key {unknown[0]!r}; expected some of {', '.join(known)}")


def _text(where: str, key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where}: {key} is {value!r}; expected text")
    return value


def _words(where: str, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) and word for word in value):
        raise InputError(f"{where}: {key} is {value!r}; expected a list of words")
    return tuple(value)
