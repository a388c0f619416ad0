"""Writing things down: atomic files, keyed hashes, logs and progress.

A file that discreet writes is there whole or not at all. What lands in a log or a run folder never holds the text
of an answer; where two texts must be told apart, a keyed hash does it.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import os
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.resources.abc import Traversable
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TextIO, TypeVar

from discreet.core.errors import InputError, UsageError

LONE_SURROGATE = re.compile("[\ud800-\udfff]")

T = TypeVar("T")

TEXT_KEYS = frozenset({
    "answer", "answers", "content", "conversation", "message", "messages", "passage", "prompt", "question", "quote",
    "snippet", "source", "sources", "text", "texts", "word", "words",
})
PROGRESS_EVERY = 10.0
HASH_KEY_VARIABLE = "DISCREET_HASH_KEY"


def dump_json(value: Any, *, indent: int | None = None) -> str:
    """JSON text of plain values, paths, NumPy numbers and records with `to_json`, keys in the order given.

    Raises ValueError where a number is NaN or infinite: an undefined figure is null with a reason, never NaN.
    """
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} has no JSON form: give it to_json()")


@contextmanager
def atomic_writer(path: Path | str) -> Iterator[TextIO]:
    """A UTF-8 text file that appears under `path` only when the block ends well.

    The text goes to a temporary file in the same folder, is synced to disk and then renamed over `path`. After an
    exception or an interrupt `path` is as it was before. Raises UsageError where the folder cannot be written.
    """
    with _atomic(Path(path)) as raw:
        handle = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
        yield handle
        handle.flush()
        handle.detach()


def write_atomic(path: Path | str, content: bytes | str) -> None:
    """Write `content` (text as UTF-8) to `path` whole or not at all; see `atomic_writer`."""
    with _atomic(Path(path)) as handle:
        handle.write(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def _atomic(path: Path) -> Iterator[BinaryIO]:
    if path.is_dir():
        raise UsageError(f"{path} is a folder; expected the name of a file to write")
    special = path.exists() and not path.is_file()
    path = Path(os.path.realpath(path))
    # A pipe or a device such as /dev/null is written as it is: there is nothing to rename over.
    part = path if special else path.with_name(f".{path.name[:40]}.{secrets.token_hex(6)}.part")
    try:
        handle = part.open("wb" if special else "xb")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {why(error)}; name a file in a folder that can be written") from None
    try:
        with handle:
            yield handle
            handle.flush()
            if not special:
                os.fsync(handle.fileno())
        if not special:
            if path.exists():
                part.chmod(path.stat().st_mode & 0o777)
            part.replace(path)
    finally:
        if not special:
            part.unlink(missing_ok=True)


@contextmanager
def changing(path: Path) -> Iterator[None]:
    """Let one process at a time read `path` and write it anew; others that come wait until the block ends.

    The lock is on a file of its own beside `path`, for `path` itself is replaced; it stays there, since whoever waits
    for a lock on a removed file holds nothing. Who only reads needs none: what is written is there whole or not at all.
    Raises UsageError where the folder cannot be written.
    """
    from fcntl import LOCK_EX, flock

    path = Path(os.path.realpath(path))
    try:
        handle = os.open(path.with_name(f".{path.name[:40]}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {why(error)}; name a file in a folder that can be written") from None
    try:
        flock(handle, LOCK_EX)
        yield
    finally:
        os.close(handle)


def read_yaml(file: Path | Traversable, expected: str, remedy: str, kind: type[InputError] = InputError, *,
              what: str = "", quick: bool = False) -> Any:
    """What a YAML file of the user's holds; `quick` for a long one, of whose mistakes the line may be the next.

    Raises `kind`, in one line that names file and line, where it cannot be read (`what` names it, "the policy ", and it
    ends with what was `expected`), is no YAML (it ends with the `remedy`) or has a key twice, of which YAML would drop
    the first without a word.
    """
    import yaml

    try:
        return yaml.load(file.read_text("utf-8-sig"), Loader=_loader(quick))
    except _TwiceError as error:
        raise kind(f"{file}, line {error.line}: {error.key[:40]!r} stands there a second time; keep one of them"
                   ) from None
    except OSError as error:
        raise kind(f"cannot read {what}{file}: {why(error)}; expected {expected}") from None
    except UnicodeDecodeError:
        raise kind(f"{file} is not UTF-8; expected {expected}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise kind(f"{file}{line}: not YAML; {remedy}") from None


class _TwiceError(Exception):
    """A key of a mapping that was there before, at a line."""

    def __init__(self, key: str, line: int) -> None:
        super().__init__(key)
        self.key, self.line = key, line


@cache
def _loader(quick: bool) -> Any:
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader) if quick else yaml.SafeLoader):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[tuple[str, str]] = set()
            for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
                if (key.tag, key.value) in seen:
                    raise _TwiceError(key.value, key.start_mark.line + 1)
                seen.add((key.tag, key.value))
            return super().construct_mapping(node, deep)

    return Loader


def why(error: OSError) -> str:
    """The system's reason, for the middle of a message: "permission denied"."""
    return (error.strerror or type(error).__name__).lower()


class KeyedHash:
    """HMAC-SHA256 under one key: says that two texts are equal without saying what they are.

    A plain hash of a short text is found by trying; without the key a keyed one is not. The key lives as long as
    the object (one run), or comes from the environment (one deployment) so that runs can be compared.
    """

    def __init__(self, key: bytes, scope: str = "deployment") -> None:
        if len(key) < 16:
            raise UsageError(f"a hash key has {len(key)} bytes; expected at least 16 random ones")
        self._key, self.scope = key, scope

    def __repr__(self) -> str:
        return f"KeyedHash({self.scope} key)"

    @classmethod
    def fresh(cls) -> KeyedHash:
        """A new random key that is thrown away with the object."""
        return cls(secrets.token_bytes(32), scope="run")

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> KeyedHash:
        """The deployment's key from DISCREET_HASH_KEY (hexadecimal, at least 32 digits), else a fresh one."""
        given = (os.environ if environ is None else environ).get(HASH_KEY_VARIABLE)
        if not given:
            return cls.fresh()
        try:
            return cls(bytes.fromhex(given))
        except ValueError:
            raise UsageError(f"{HASH_KEY_VARIABLE} is not hexadecimal; expected the output of 'openssl rand -hex 32'"
                             ) from None

    @classmethod
    def kept_in(cls, file: Path) -> KeyedHash:
        """The deployment's key where DISCREET_HASH_KEY is set; else that of `file`, as `of_folder`."""
        return cls.from_environment() if os.environ.get(HASH_KEY_VARIABLE) else cls.of_folder(file)

    @classmethod
    def of_folder(cls, file: Path) -> KeyedHash:
        """The key in `file`, drawn once, for its owner alone, whatever the deployment's is.

        InputError for a file that holds no key; OSError where it cannot be written or read.
        """
        try:
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as handle:
                handle.write(secrets.token_hex(32))
        except FileExistsError:
            pass
        try:
            return cls(bytes.fromhex(file.read_text(encoding="ascii")))
        except (ValueError, UsageError):
            raise InputError(f"{file} is not a key of hashes: expected 64 hexadecimal digits; remove the folder"
                             ) from None

    def of(self, content: bytes | str) -> str:
        """64 hexadecimal digits for one text (as UTF-8) or byte string."""
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        return hmac.new(self._key, data, "sha256").hexdigest()

    def of_file(self, path: Path) -> str:
        """The same for a file's bytes, read in pieces."""
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, lambda: hmac.new(self._key, digestmod="sha256")).hexdigest()


def add_line(log: Path, event: str, **facts: Any) -> None:
    """Append an `event_line` to a log. ValueError as `refuse_text`."""
    line = event_line(event, facts)
    with log.open("a", encoding="utf-8", newline="\n") as handle:
        handle.write(line + "\n")


def event_line(event: str, facts: Mapping[str, Any]) -> str:
    """`{time, event, …facts}` as JSON. ValueError as `refuse_text`."""
    refuse_text(facts)
    return dump_json({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **facts})


def refuse_text(facts: Mapping[str, Any]) -> None:
    """Raise ValueError, naming the key only, where a key with a word of `TEXT_KEYS` has a string at or below it.

    Numbers, booleans and null may stand under any key.
    """
    for key, value in facts.items():
        words = set(str(key).lower().replace("-", "_").replace(".", "_").split("_"))
        if words & TEXT_KEYS and _has_string(value):
            raise ValueError(f"{key!r} may hold the text of an answer, and a log never does: leave it out or hash it")
        for nested in value if isinstance(value, list | tuple) else [value]:
            if isinstance(nested, Mapping):
                refuse_text(nested)


def _has_string(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_has_string(v) for v in chain(value.keys(), value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return any(_has_string(v) for v in value)
    return not (value is None or isinstance(value, bool | int | float) or hasattr(value, "tolist"))


def progress(items: Iterable[T], total: int | None = None, *, quiet: bool = False, label: str = "",
             stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> Iterator[T]:
    """Pass `items` on and say on stderr how far they have come: a bar on a terminal, else a line every 10 s."""
    stream = sys.stderr if stream is None else stream
    if quiet:
        return iter(items)
    if stream.isatty():
        from rich.console import Console
        from rich.progress import track

        return iter(track(items, description=label, total=total, console=Console(file=stream), transient=True))
    return _lines(items, total, label, stream, clock)


def _lines(items: Iterable[T], total: int | None, label: str, stream: TextIO,
           clock: Callable[[], float]) -> Iterator[T]:
    last = clock()
    for done, item in enumerate(items, start=1):
        yield item
        if (now := clock()) - last >= PROGRESS_EVERY:
            last = now
            print(f"{label}: {done:,}" + (f" of {total:,}" if total else ""), file=stream, flush=True)


def clean(text: str) -> str:
    """`text` with each lone surrogate replaced by U+FFFD, of the same length."""
    return LONE_SURROGATE.sub("\ufffd", text)
