"""Policies: whose attributes count, which classes, how many make a cluster, what passes. One YAML file a domain."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

from discreet.core.errors import PolicyError, UsageError, meant
from discreet.core.files import read_yaml
from discreet.core.records import PERSONS, SUBJECTS, Subject
from discreet.guard.domains import ALWAYS, IDENTIFYING, Domain, DomainLike, is_domain, load_domain
from discreet.guard.domains.domain import POLICY_KEYS
from discreet.guard.text.direct.detect import known_types, recognisers

RULES = ("identifying", "paper")
POINTS = ("conservative", "balanced", "strict")
PROBES = ("flag", "abstain", "pass")
ON_FLAG = ("withhold", "redact")
OF_AUDIENCE = ("subjects", "cluster", "fewer_than", "probe", "private_facts_of")
QuoteAction = Literal["off", "evidence", "abstain", "flag"]
QUOTE_ACTIONS: tuple[QuoteAction, ...] = get_args(QuoteAction)


@dataclass(frozen=True, slots=True)
class QuoteRule:
    """What a policy says of quotes: `action` ("off", "evidence", "abstain" or "flag"), the least length of a quote in
    `words` of the passage (at least 6), and further `common` phrases that are none."""

    action: QuoteAction = "evidence"
    words: int = 12
    common: tuple[str, ...] = field(default=(), repr=False)


QUOTES = QuoteRule()


@dataclass(frozen=True, slots=True)
class Policy:
    """What one audience of one domain may be told about whom.

    Attributes of `subjects` count towards a cluster, which `cluster` of them (at least 1) make where they are bound to
    one person. `fewer_than`, where it is given, flags also where fewer people fit; it lets nothing pass. `probe` says
    what an answer does that tells something of a person whom the question describes: "flag", "abstain" or "pass".
    Persons of the subjects `private_facts_of` (staff, public) count as private ones do where the answer tells a fact of
    the domain about them. `names` may be said, each in its role: names of staff, say, as (name, role). `rule`, in a
    policy file the key `counts`, says which classes count towards a cluster: "identifying", those that say who somebody
    is; "paper", the paper's, shared and of the domain; or the named ones. Direct identifiers of `allow_direct` pass.
    `inferred`: what can be inferred though no words state it counts too. `quotes` says what near-verbatim quotes of
    retrieved passages do. `on_flag` says what is done with an answer that is held: "withhold", or "redact", by
    `Guard.redact`, where that leaves a text; no verdict depends on it.
    """

    domain: Domain
    audience: str
    version: int
    subjects: tuple[Subject, ...]
    cluster: int
    rule: str | tuple[str, ...] = "identifying"
    point: str = "conservative"
    languages: tuple[str, ...] = ("en",)
    allow_direct: tuple[str, ...] = ()
    inferred: bool = True
    fewer_than: int | None = None
    quotes: QuoteRule = QUOTES
    probe: str = "flag"
    names: tuple[tuple[str, str], ...] = ()
    private_facts_of: tuple[Subject, ...] = ()
    on_flag: str = "withhold"

    @property
    def counted(self) -> tuple[str, ...]:
        """The classes that count towards a cluster under the rule."""
        if self.rule == "paper":
            return (*self.domain.shared, *self.domain.own)
        return IDENTIFYING if isinstance(self.rule, str) else self.rule

    def may_name(self, name: str, text: str) -> bool:
        """Whether the operator's list holds a name whose role stands in a sentence of the text that names it; of a
        surname alone right beside it ("charge nurse Chen")."""
        wanted = plain_name(name)
        for listed, role in self.names if wanted else ():
            whole, surname = plain_name(listed), plain_name(listed).rpartition(" ")[2]
            held = re.escape(role.lower())
            told = rf"{held}(?: {_TITLE})? {wanted}\b|\b{wanted},? \(?(?:(?:the|our|a|an) )?{held}"
            for one in re.split(r"(?<=[.!?])\s+|\n", text.lower()) if wanted in (whole, surname) else ():
                beside = wanted == whole and role.lower() in one and wanted in plain_name(one)
                if beside or re.search(told, one):
                    return True
        return False

    def settings(self) -> dict[str, Any]:
        """Every setting as a plain value, the domain as its name."""
        said = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**said, "domain": self.domain.name, "quotes": asdict(self.quotes)}

    def label(self) -> str:
        """`domain/audience@version#hash`, which every verdict carries; `…@version+badge#hash` where the recogniser
        "badge" is installed besides those of discreet.

        The hash covers the settings on which verdicts depend and, where the domain is not built in, the files of its
        folder.
        """
        domain = {} if self.domain.builtin else {"domain_hash": self.domain.hash}
        judging = {key: value for key, value in self.settings().items() if key != "on_flag"}
        canonical = json.dumps({**judging, **domain}, sort_keys=True)
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        further = "".join(f"+{name}" for name in recognisers.outside())
        return f"{self.domain.name}/{self.audience}@{self.version}{further}#{digest[:12]}"

    @classmethod
    def of(cls, domain: DomainLike, audience: str | None = None) -> Policy:
        """The policy of a domain, for one of its audiences; by default the one that the policy names.

        UsageError for an unknown domain or audience, InputError where the folder of the domain is impossible.
        """
        found = load_domain(domain)
        return _parsed(dict(found.policy), f"{found.folder}/policy.yaml", audience, found)

    @classmethod
    def restore(cls, said: Mapping[str, Any], domain: Domain) -> Policy:
        """The policy whose `settings` were saved. Raises TypeError or ValueError where they are of another form."""
        settings: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in said.items()}
        settings["domain"] = domain
        settings["quotes"] = rule_of(settings.get("quotes", {}))
        settings["names"] = tuple((str(name), str(role)) for name, role in settings.get("names", ()))
        return cls(**settings)

    @classmethod
    def load(cls, path: Path, audience: str | None = None, domain: DomainLike | None = None) -> Policy:
        """Read a policy file, of `domain`, else of the domain in whose folder it lies, else of the one that it names.

        Raises
        ------
        PolicyError
            Where the file is missing, is no YAML, or says something impossible; the message names file and key.
        """
        data = read_yaml(path, "a UTF-8 YAML file", "start from a copy of a built-in policy", PolicyError,
                         what="the policy ")
        if domain is None and is_domain(path.parent):
            domain = path.parent
        return _parsed(data, str(path), audience, None if domain is None else load_domain(domain))


def _parsed(data: object, where: str, audience: str | None, domain: Domain | None) -> Policy:
    if not isinstance(data, dict):
        raise PolicyError(f"{where}: expected a mapping with the keys {', '.join(sorted(POLICY_KEYS))}")
    _check_keys(data, where)
    if domain is None:
        try:
            domain = load_domain(data["domain"])
        except UsageError as error:
            raise PolicyError(f"{where}: {error}") from None
    elif data["domain"] != domain.name:
        raise UsageError(f"{where} is a policy for {data['domain']!r}; expected one for {domain.name!r}")
    audiences: dict[str, Any] = data["audiences"]
    chosen = str(audience or data.get("audience") or next(iter(audiences)))
    if chosen not in audiences:
        raise UsageError(f"{where}: no audience {chosen!r}; expected one of {', '.join(map(str, audiences))}")
    body, place = audiences[chosen], f"{where}: audience {chosen!r}"
    if not isinstance(body, dict):
        raise PolicyError(f"{place} must hold subjects (a list) and cluster (a number)")
    if unknown := sorted(map(str, set(body) - set(OF_AUDIENCE))):
        raise PolicyError(f"{place}: unknown key {unknown[0]!r}; {meant(unknown[0], OF_AUDIENCE)}")
    subjects, cluster = body.get("subjects"), body.get("cluster", 2)
    if not isinstance(subjects, list) or any(s not in SUBJECTS for s in subjects):
        raise PolicyError(f"{place}: subjects must be a list of {', '.join(SUBJECTS)}; got {subjects!r}")
    if not isinstance(cluster, int) or isinstance(cluster, bool) or cluster < 1:
        raise PolicyError(f"{place}: cluster must be a whole number of at least 1, got {cluster!r}")
    fewer = body.get("fewer_than")
    if fewer is not None and (not isinstance(fewer, int) or isinstance(fewer, bool) or fewer < 2):
        raise PolicyError(f"{place}: fewer_than must be a number of people, at least 2, got {fewer!r}")
    probe = body.get("probe", "flag")
    if probe not in PROBES:
        raise PolicyError(f"{place}: probe must be one of {', '.join(PROBES)}, got {probe!r}")
    of = body.get("private_facts_of", [])
    if not isinstance(of, list) or any(one not in PERSONS[1:] for one in of):
        raise PolicyError(f"{place}: private_facts_of must be a list of some of {', '.join(PERSONS[1:])}; got {of!r}")
    said: Any = data.get("counts", "identifying")
    classes = (*domain.shared, *domain.own, *ALWAYS)
    listed = isinstance(said, list) and said and all(one in classes for one in said)
    if not listed and not (isinstance(said, str) and said in RULES):
        raise PolicyError(f"{where}: counts is {said!r}; expected the classes that count towards a cluster: "
                          f"{', '.join(RULES)}, or a list of some of {', '.join(classes)}")
    return Policy(domain, chosen, data["version"], tuple(subjects), cluster, tuple(said) if listed else said,
                  data.get("point", "conservative"), tuple(data.get("languages", ["en"])),
                  tuple(data.get("allow_direct", [])), data.get("inferred", True), fewer,
                  rule_of(data.get("quotes", {})), probe, _names(data.get("names", []), where), tuple(of),
                  data.get("on_flag", "withhold"))


def _names(listed: object, where: str) -> tuple[tuple[str, str], ...]:
    """The operator's list of names that may be said, each with its role."""
    if not isinstance(listed, list) or any(
            not isinstance(one, dict) or set(one) != {"name", "role"} or not all(
                isinstance(word, str) and word.strip() for word in one.values()) for one in listed):
        raise PolicyError(f"{where}: names must be a list of mappings with name and role, such as "
                          "{name: Maria Chen, role: charge nurse}")
    return tuple((one["name"], one["role"]) for one in listed)


def plain_name(name: str) -> str:
    """Letters of a name without titles, in lower case, apart by blanks."""
    words = re.findall(r"[^\W\d_]+", name.lower())
    return " ".join(word for word in words if word not in ("dr", "mr", "mrs", "ms", "miss", "prof"))


_TITLE = r"(?:dr|mr|mrs|ms|miss|prof)\.?"


def rule_of(said: object) -> QuoteRule:
    """What a policy file says under `quotes`. Raises ValueError, which names the key."""
    if not isinstance(said, Mapping):
        raise ValueError(f"quotes must be a mapping of some of action, words and common, got a {type(said).__name__}")
    if unknown := sorted(map(str, set(said) - {"action", "words", "common"})):
        raise ValueError(f"quotes: unknown key {unknown[0]!r}; expected action, words or common")
    action, least, common = said.get("action", "evidence"), said.get("words", 12), said.get("common", [])
    if action is False:  # "off" without quotation marks is false in YAML.
        action = "off"
    if action not in QUOTE_ACTIONS:
        raise ValueError(f"quotes: action must be one of {', '.join(QUOTE_ACTIONS)}, got {action!r}")
    if not isinstance(least, int) or isinstance(least, bool) or least < 6:
        raise ValueError(f"quotes: words must be a whole number of at least 6, got {least!r}")
    if not isinstance(common, list | tuple) or any(not isinstance(one, str) for one in common):
        raise ValueError("quotes: common must be a list of phrases")
    return QuoteRule(action, least, tuple(common))


def _check_keys(data: dict[str, Any], where: str) -> None:
    """What does not depend on the domain."""
    def fail(said: str) -> NoReturn:
        raise PolicyError(f"{where}: {said}")

    if unknown := sorted(map(str, set(data) - set(POLICY_KEYS))):
        fail(f"unknown key {unknown[0]!r}; {meant(unknown[0], POLICY_KEYS)}")
    for key, kind in (("version", int), ("domain", str), ("audiences", dict)):
        if not isinstance(data.get(key), kind) or isinstance(data.get(key), bool) or not data.get(key):
            fail(f"{key} must be given as a {kind.__name__}")
    if data.get("point", "conservative") not in POINTS:
        fail(f"point must be one of {', '.join(POINTS)}, got {data['point']!r}")
    if not isinstance(data.get("inferred", True), bool):
        fail(f"inferred must be true or false, got {data['inferred']!r}")
    if data.get("on_flag", "withhold") not in ON_FLAG:
        fail(f"on_flag must be {' or '.join(ON_FLAG)}, got {data['on_flag']!r}")
    try:
        rule_of(data.get("quotes", {}))
    except ValueError as error:
        fail(str(error))
    for key in ("languages", "allow_direct"):
        listed = data.get(key, [])
        if not isinstance(listed, list) or any(not isinstance(item, str) for item in listed):
            fail(f"{key} must be a list of words")
    if data.get("languages", ["en"]) != ["en"]:
        fail("languages must be [en]: the guard reads English only, other languages abstain")
    if not isinstance(data.get("audience", ""), str | None):
        fail(f"audience must name one of the audiences, got a {type(data['audience']).__name__}")
    if strange := [item for item in data.get("allow_direct", []) if item not in known_types()]:
        fail(f"allow_direct names {strange[0]!r}, which no recogniser finds; expected some of "
             f"{', '.join(known_types())}")
