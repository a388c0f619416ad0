"""Policies: whose attributes count, how many make a cluster, what passes. One YAML file a domain."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from discreet.core.errors import PolicyError, UsageError
from discreet.core.records import DOMAINS, SUBJECTS, Subject
from discreet.text.evidence.mentions import DOMAIN_CLASSES, IDENTIFYING, SHARED_CLASSES

Rule = Literal["identifying", "paper"]
POINTS = ("conservative", "balanced", "strict")
_KEYS = {"version", "domain", "languages", "rule", "point", "allow_direct", "audience", "audiences"}


@dataclass(frozen=True, slots=True)
class Policy:
    """What one audience of one domain may be told about whom.

    Attributes
    ----------
    subjects : tuple of str
        Subjects whose attributes count towards a cluster.
    cluster : int
        Attributes bound to one person that make a cluster, at least 1.
    rule : {"identifying", "paper"}
        Which classes count (see `counted`).
    allow_direct : tuple of str
        Direct identifiers that pass.
    """

    domain: str
    audience: str
    version: int
    subjects: tuple[Subject, ...]
    cluster: int
    rule: Rule = "identifying"
    point: str = "conservative"
    languages: tuple[str, ...] = ("en",)
    allow_direct: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """`domain/audience`."""
        return f"{self.domain}/{self.audience}"

    @property
    def counted(self) -> tuple[str, ...]:
        """The classes that count towards a cluster under the rule."""
        if self.rule == "paper":
            return (*SHARED_CLASSES, *DOMAIN_CLASSES[self.domain])
        return IDENTIFYING

    def label(self) -> str:
        """`domain/audience@version#hash`, which every verdict carries."""
        canonical = json.dumps(asdict(self), sort_keys=True)
        return f"{self.name}@{self.version}#{hashlib.sha256(canonical.encode()).hexdigest()[:12]}"

    @classmethod
    def builtin(cls, domain: str, audience: str | None = None) -> Policy:
        """The policy that ships with discreet for a domain.

        Raises
        ------
        UsageError
            For an unknown domain or audience.
        """
        if domain not in DOMAINS:
            raise UsageError(
                f"unknown domain {domain!r}: expected one of {', '.join(DOMAINS)}, or a file with --policy"
            )
        text = files("discreet.guard").joinpath("policies", f"{domain}.yaml").read_text(encoding="utf-8")
        return _parse(text, f"built-in policy {domain}", audience)

    @classmethod
    def load(cls, path: Path, audience: str | None = None) -> Policy:
        """Read a policy file.

        Raises
        ------
        PolicyError
            Where the file is missing, is no YAML, or says something impossible; the message names file and key.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise PolicyError(
                f"cannot read the policy {path}: {type(error).__name__}; expected a UTF-8 YAML file"
            ) from None
        return _parse(text, str(path), audience)


def _parse(text: str, where: str, audience: str | None) -> Policy:
    import yaml

    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark is not None else ""
        raise PolicyError(f"{where}{line}: not YAML; start from a copy of a built-in policy") from None
    if not isinstance(data, dict):
        raise PolicyError(f"{where}: expected a mapping with the keys {', '.join(sorted(_KEYS))}")
    _check_keys(data, where)
    audiences: dict[str, Any] = data["audiences"]
    chosen = audience or data.get("audience") or next(iter(audiences))
    if chosen not in audiences:
        raise UsageError(f"{where}: no audience {chosen!r}; expected one of {', '.join(map(str, audiences))}")
    return _build(data, str(chosen), audiences[chosen], where)


def _check_keys(data: dict[str, Any], where: str) -> None:
    unknown = set(data) - _KEYS
    if unknown:
        raise PolicyError(
            f"{where}: unknown key {sorted(map(str, unknown))[0]!r}; expected only {', '.join(sorted(_KEYS))}"
        )
    for key, kind in (("version", int), ("domain", str), ("audiences", dict)):
        if not isinstance(data.get(key), kind) or isinstance(data.get(key), bool) or not data.get(key):
            raise PolicyError(f"{where}: {key} must be given as a {kind.__name__}")
    if data["domain"] not in DOMAINS:
        raise PolicyError(f"{where}: unknown domain {data['domain']!r}; expected one of {', '.join(DOMAINS)}")
    if data.get("rule", "identifying") not in ("identifying", "paper"):
        raise PolicyError(f"{where}: rule must be 'identifying' or 'paper', got {data['rule']!r}")
    if data.get("point", "conservative") not in POINTS:
        raise PolicyError(f"{where}: point must be one of {', '.join(POINTS)}, got {data['point']!r}")
    for key in ("languages", "allow_direct"):
        listed = data.get(key, [])
        if not isinstance(listed, list) or any(not isinstance(item, str) for item in listed):
            raise PolicyError(f"{where}: {key} must be a list of words")
    if data.get("languages", ["en"]) != ["en"]:
        raise PolicyError(f"{where}: languages must be [en]: the rules read English only, other languages abstain")
    if not isinstance(data.get("audience", ""), str | None):
        raise PolicyError(f"{where}: audience must name one of the audiences, got a {type(data['audience']).__name__}")


def _build(data: dict[str, Any], audience: str, body: object, where: str) -> Policy:
    place = f"{where}: audience {audience!r}"
    if not isinstance(body, dict) or set(body) - {"subjects", "cluster"}:
        raise PolicyError(f"{place} must hold subjects (a list) and cluster (a number), nothing else")
    subjects, cluster = body.get("subjects"), body.get("cluster", 2)
    if not isinstance(subjects, list) or any(s not in SUBJECTS for s in subjects):
        raise PolicyError(f"{place}: subjects must be a list of {', '.join(SUBJECTS)}; got {subjects!r}")
    if not isinstance(cluster, int) or isinstance(cluster, bool) or cluster < 1:
        raise PolicyError(f"{place}: cluster must be a whole number of at least 1, got {cluster!r}")
    return Policy(
        domain=data["domain"],
        audience=audience,
        version=data["version"],
        subjects=tuple(subjects),
        cluster=cluster,
        rule=data.get("rule", "identifying"),
        point=data.get("point", "conservative"),
        languages=tuple(data.get("languages", ["en"])),
        allow_direct=_direct_types(data.get("allow_direct", []), place),
    )


def _direct_types(listed: list[Any], place: str) -> tuple[str, ...]:
    from discreet.text.direct.detect import known_types

    known = known_types()
    for item in listed:
        if item not in known:
            raise PolicyError(
                f"{place}: allow_direct names {item!r}, which no recogniser finds; expected some of {', '.join(known)}"
            )
    return tuple(listed)
