"""Domains: fields of work whose answers are judged, each a folder of data without any code.

    policy.yaml      who may read what: audiences, which classes count, the operating point
    classes.yaml     the quasi-identifier classes of the domain, and how a text states each
    terms.tsv        terms with the class that each states (optional)
    suffixes.tsv     endings of words that state a class, and their exceptions (optional)
    templates.yaml   topics and wordings for synthesis (optional)
    prompts.yaml     what language models are asked to write, and the seed corpora (optional)

The folders beside this file are built in. `load_domain` takes the name of one of them or the path of any other; the
page `docs/domains.md` makes one step by step.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from discreet.core.errors import InputError, UsageError
from discreet.guard.domains.domain import (
    ALWAYS,
    IDENTIFYING,
    SHARED,
    Domain,
    DomainClass,
    Term,
    read_domain,
    table_rows,
)

__all__ = ["ALWAYS", "IDENTIFYING", "SHARED", "Domain", "DomainClass", "DomainLike", "Term", "builtin_domains",
           "is_domain", "load_domain", "save_facts", "saved_domain", "table_rows"]

COPY = "domain"
"""Folder of the copy of a domain in what is saved."""

DomainLike: TypeAlias = Domain | str | Path
"""A domain, the name of a built-in one, or the path of a folder."""


@cache
def builtin_domains() -> tuple[str, ...]:
    """The names of the domains that ship with discreet, sorted."""
    folders = files("discreet.guard.domains").iterdir()
    return tuple(sorted(f.name for f in folders if f.joinpath("policy.yaml").is_file()))


def load_domain(domain: DomainLike) -> Domain:
    """The domain of that name, or in that folder; a `Domain` comes back as it is.

    A name goes before a folder that is called the same; "./medical" is always a folder.

    Raises
    ------
    UsageError
        For what is neither the name of a built-in domain nor a folder with `policy.yaml` and `classes.yaml`.
    InputError
        Where a file of the folder cannot be read or says something impossible, as another name than the folder's; the
        message names file and key.
    """
    if isinstance(domain, Domain):
        return domain
    if isinstance(domain, str) and domain in builtin_domains():
        return _builtin(domain)
    folder = Path(domain)
    if not is_domain(folder):
        lacks = f"unknown domain {str(domain)!r}"
        if domain and folder.is_dir():  # Path("") is the current folder.
            lacks = f"{folder} lacks policy.yaml or classes.yaml"
        raise UsageError(f"{lacks}: expected one of {', '.join(builtin_domains())}, or the path of a folder with "
                         "policy.yaml and classes.yaml")
    found, called = read_domain(folder, builtin=False), folder.resolve().name
    if called not in (found.name, COPY):
        raise InputError(f"{folder}/policy.yaml: domain is {found.name!r} in a folder called {called!r}; expected one "
                         f"name, which verdicts carry: write domain: {called}, or rename the folder")
    return found


def is_domain(folder: Path) -> bool:
    """Whether a folder holds what a domain needs."""
    return (folder / "policy.yaml").is_file() and (folder / "classes.yaml").is_file()


def save_facts(domain: Domain, folder: Path) -> dict[str, str]:
    """What a fitted thing that is saved in `folder` says of its domain; one that is not built in is copied there."""
    if domain.builtin:
        return {"domain": domain.name}
    domain.save(folder / COPY)
    return {"domain": domain.name, "domain_hash": domain.hash}


def saved_domain(facts: Mapping[str, Any], folder: Path) -> Domain:
    """The domain that `save_facts` wrote of: the copy in `folder`, or the built-in one of that name.

    Raises InputError where neither is there, or the copy was changed.
    """
    name, said = facts.get("domain"), facts.get("domain_hash")
    if said is None and name in builtin_domains():
        return load_domain(str(name))
    if said is None or not is_domain(folder / COPY):
        raise InputError(f"{folder} does not hold its domain {name!r}: expected the copy in {COPY}/; copy the whole "
                         "folder again")
    found = load_domain(folder / COPY)
    if found.hash != said:
        raise InputError(f"{folder / COPY} was changed since it was saved: copy the whole folder again")
    return found


@cache
def _builtin(name: str) -> Domain:
    return read_domain(files("discreet.guard.domains").joinpath(name), builtin=True)
