"""Trained models in folders: written whole or not at all, and checked byte by byte when they are read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.core.errors import InputError, UsageError
from discreet.core.files import dump_json, refuse_text
from discreet.core.folders import atomic_folder, read_manifest, write_manifest
from discreet.train.base import Fitted, Recipe
from discreet.train.spec import recipe_of

MANIFEST = "recipe.json"
FORM = "discreet-recipe"
VERSION = 1
ARRAYS = "model.safetensors"
"""Where the built-in recipes keep the arrays of a model."""


@contextmanager
def saving(folder: Path, recipe: Recipe, n_classes: int, facts: Mapping[str, Any]) -> Iterator[Path]:
    """Save a fitted model atomically: the block writes its files into the folder that is yielded.

    `facts` are `Fitted.facts`. Raises UsageError where the folder cannot be written or holds something else, and
    ValueError where a fact may hold text.
    """
    refuse_text(facts)
    body = {"recipe": recipe.to_json(), "n_classes": int(n_classes), "facts": dict(facts)}
    with atomic_folder(folder, MANIFEST) as part:
        yield part
        write_manifest(part, MANIFEST, FORM, VERSION, {**body, "body_sha256": _digest(body)})


def load_fitted(folder: Path, recipe: Recipe | None = None) -> Fitted:
    """The model that was saved in a folder, all its files verified; with `recipe`, only one trained by it.

    Raises
    ------
    InputError
        Where the folder holds none, or one that is truncated, changed, of another version, of a recipe that is not
        installed, or not of `recipe`.
    """
    manifest = read_manifest(folder, MANIFEST, FORM, VERSION)
    spec = manifest.fact("recipe", dict)
    if manifest.fact("n_classes", int) < 2 or not isinstance(manifest.facts.get("facts"), dict):
        raise InputError(f"{folder}: the manifest must give n_classes >= 2 and facts: save the model again")
    if recipe is not None and spec != recipe.to_json():
        theirs = spec.get("name")
        raise InputError(f"{folder} holds a model of the recipe {theirs!r}"
                         + (" with other options" if theirs == recipe.name else "")
                         + f"; expected {recipe.name!r} as given: name another folder, or train it again")
    try:
        maker = recipe_of(spec)
    except UsageError as error:
        raise InputError(f"{folder}: {error}") from None
    if manifest.fact("body_sha256", str) != _digest({k: v for k, v in manifest.facts.items() if k != "body_sha256"}):
        raise InputError(f"{folder / MANIFEST} was changed after it was saved: copy the whole folder again")
    return maker.load(folder, manifest.verify())


def _digest(body: Mapping[str, Any]) -> str:
    """SHA-256 of what the manifest says, in 64 hexadecimal digits."""
    plain = json.loads(dump_json(body))
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode("utf-8")).hexdigest()
