"""A task: a function, what it is given, and the key that stands for all of it.

The key is the SHA-256 of a canonical description: the function's name, its parameters, the keys of the tasks whose
results it reads, the hashes of the files it reads, its seed, the versions of what it runs on and the source of the
package that it lives in. Whatever changes there changes the key, so a result of something else is never found.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from discreet.core import folders
from discreet.core.errors import InputError
from discreet.core.files import dump_json, why

SCHEMA = 1
"""Part of every key: results of an engine that stores otherwise are other results."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.,:=+/-]{0,199}")


def canonical(value: Any) -> str:
    """The one JSON text of a plain value: keys sorted, no spaces, ASCII. Raises ValueError for NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def sha256(text: str) -> str:
    """64 hexadecimal digits of a text's UTF-8 bytes."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that a task reads: `sha256` (what it holds) goes into the key, `path` (where it lies) does not."""

    path: Path
    sha256: str

    @classmethod
    def of(cls, path: Path | str) -> DataFile:
        """The file as it is now. Raises InputError where it cannot be read."""
        path = Path(path).absolute()
        try:
            return cls(path, folders.sha256(path))
        except OSError as error:
            raise InputError(f"cannot read {path}: {why(error)}; name a file that can be read") from None


@dataclass(frozen=True, slots=True)
class Task:
    """A pure, seeded, keyed unit of work; made by `Task.of`. Equal where the keys are equal.

    `spec` is the canonical description that `key` is the SHA-256 of; `inputs` are the tasks whose results it reads
    and `paths` says where the files lie that it reads.
    """

    key: str
    spec: str = field(compare=False, repr=False)
    inputs: Mapping[str, Task] = field(compare=False, repr=False)
    paths: Mapping[str, str] = field(compare=False, repr=False)

    @classmethod
    def of(cls, function: Callable[..., Any], name: str, *, params: Mapping[str, Any] | None = None,
           inputs: Mapping[str, Task] | None = None, files: Mapping[str, DataFile] | None = None,
           seed: int = 0, libraries: Iterable[str] = ()) -> Task:
        """Describe a call of `function(job)`. Raises ValueError where a part is not as described.

        Parameters
        ----------
        function : callable
            Defined at the top of a module that a new process can import. It takes a `Job` and returns None or a
            mapping of names to JSON values and NumPy arrays; files it writes under `job.folder`.
        name : str
            What it is called in logs and errors, such as `shadow/3`; letters, digits and `_.,:=+/-`. With `seed` (0 or
            more), it decides what `job.rng()` draws: tasks of one name and seed draw the same numbers.
        params : mapping, optional
            JSON values (NumPy numbers and arrays, paths and records become such).
        inputs, files : mapping, optional
            Tasks whose results the function reads, and files, under the names that it knows them by.
        libraries : iterable of str
            What else the result depends on: an installed distribution (`torch`) goes in by its version, a package
            (`discreet.audit.train`) by its source. Python, numpy, discreet and the function's own package always do.
        """
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a task's name: expected 1 to 200 letters, digits or any of _.,:=+/-")
        if isinstance(seed, bool) or int(seed) != seed or seed < 0:
            raise ValueError(f"the seed of the task {name} is {seed!r}; expected a whole number from 0")
        where, package = _address(function)
        inputs, files = dict(inputs or {}), dict(files or {})
        spec = canonical({
            "schema": SCHEMA, "name": name, "function": where, "params": _plain(params or {}, name),
            "inputs": {label: task.key for label, task in inputs.items()},
            "files": {label: file.sha256 for label, file in files.items()},
            "seed": int(seed), "versions": versions_of({"discreet", "numpy", package, *libraries}, package),
        })
        paths = {label: str(file.path) for label, file in files.items()}
        return cls(sha256(spec), spec, MappingProxyType(inputs), MappingProxyType(paths))

    @property
    def name(self) -> str:
        """What it is called in logs and errors."""
        return str(json.loads(self.spec)["name"])

    @property
    def params(self) -> dict[str, Any]:
        """A copy of its parameters, as the function will see them."""
        return dict(json.loads(self.spec)["params"])


def seeds_of(seed: int, name: str, label: str = "") -> np.random.SeedSequence:
    """The seeds of a task: of its `seed`, its `name` and a `label` within it only, so that no order matters.

    Of one seed, different names or labels give independent streams (NumPy's SeedSequence with a spawn key).
    """
    words = np.frombuffer(hashlib.sha256(canonical([name, label]).encode()).digest(), dtype="<u4")
    return np.random.SeedSequence(seed, spawn_key=tuple(int(w) for w in words))


def _plain(params: Mapping[str, Any], name: str) -> Any:
    # JSON would write the keys 1 and "1" alike, and two descriptions would share one key.
    if not _string_keys(params):
        raise ValueError(f"the parameters of the task {name} have a key that is no string; expected strings")
    try:
        return json.loads(dump_json(dict(params)))
    except (TypeError, ValueError) as error:
        raise ValueError(f"the parameters of the task {name} are not plain JSON values: {error}") from None


def _string_keys(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _string_keys(item) for key, item in value.items())
    return not isinstance(value, list | tuple) or all(map(_string_keys, value))


def _address(function: Callable[..., Any]) -> tuple[str, str]:
    """`module:name` of an importable function, and the package (or lone module) that it lives in."""
    module, name = str(getattr(function, "__module__", None)), getattr(function, "__qualname__", "")
    if module == "__main__" or getattr(sys.modules.get(module), name, None) is not function:
        raise ValueError(f"{name or function!r} cannot be imported by another process: define it at the top of a "
                         "module and import it from there")
    return f"{module}:{name}", sys.modules[module].__package__ or module


def function_at(where: str) -> tuple[Callable[..., Any], str]:
    """The function behind `module:name`, and the package (or lone module) that it lives in."""
    module, name = where.split(":")
    found = import_module(module)
    return getattr(found, name), found.__package__ or module


def versions_of(names: Iterable[str], package: str = "") -> dict[str, str]:
    """Name to version: Python's, a distribution's, or the hash of the source of `package` and of other packages.

    Raises ValueError for a name that is neither.
    """
    found = {"python": platform.python_version()}
    for name in sorted({*names} - {"python"}):
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = _source(name)
        else:
            found[name] = f"{version}+{_source(name)}" if name == package else version
    return found


def _source(name: str) -> str:
    """Hash of everything in a package's folder, or of a lone module's file."""
    spec = None
    with suppress(ImportError):
        spec = find_spec(name)
    if spec is None:
        raise ValueError(f"{name!r} is neither an installed distribution nor a package; expected one of them")
    files = [(name, Path(str(spec.origin)))]
    if spec.submodule_search_locations:
        files = [(path.relative_to(root).as_posix(), path) for root in map(Path, spec.submodule_search_locations)
                 for path in root.rglob("*")
                 if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")]
    return "source:" + sha256(canonical(sorted(
        (label, _digest(path, path.stat().st_mtime_ns, path.stat().st_size)) for label, path in files)))


@lru_cache(maxsize=4096)
def _digest(path: Path, _changed: int, _size: int) -> str:
    return folders.sha256(path)
