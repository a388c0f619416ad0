"""API keys: hashed at rest, compared in constant time, each with one role, the guards that it may use, and the settings
of the application that holds it."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from discreet.core.errors import InputError, UsageError, meant
from discreet.core.files import changing, why, write_atomic
from discreet.core.records import USER_MESSAGES, Prompts, UserMessages
from discreet.guard.text import templates as known_templates

Role = Literal["caller", "reviewer", "operator"]
ROLES: tuple[Role, ...] = get_args(Role)
BEGINNING = "dsk_"
AUTO = Prompts()
MOST_DAYS = 3_650
EVERY = "*"
"""Among the guards of a key: every guard."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the id of a key, what it may do, and the guards that it may use; None for every guard.

    `prompts` says what the application sends as user messages, and `declares` whether it may say which words the user
    typed and that the user is the person whom the records describe.
    """

    id: str
    role: Role
    guards: tuple[str, ...] | None = ()
    prompts: Prompts = AUTO
    declares: bool = False
    mark: str = ""
    """Which key of that id it is: another key that is made under a removed name has another mark."""
    token: str = ""
    """Which token of the key it has shown: a part of its hash."""

    @property
    def owner(self) -> str:
        """The key in the memory of conversations and withheld answers."""
        return f"{self.id}:{self.mark}"

    def may_use(self, guard: str) -> bool:
        """Whether a guard, and its tickets, are the key's."""
        return self.guards is None or guard in self.guards


LOCAL = Caller("local", "operator", None, declares=True)
"""Everybody, where a service on the loopback asks for no key."""
RESERVED = (LOCAL.id, "discreet")
CALLER = "discreet.caller"
"""Where the scope of a request says who asks."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key as the file holds it: the SHA-256 of a token of 256 random bits, from which nobody finds the token.

    Without `guards` it may use the default guard of the service only. `mark` stays when the token is replaced. Times
    are in seconds since 1970: from `expires` on the key is none, from `old_until` on its former token is.
    """

    id: str
    role: Role
    guards: tuple[str, ...]
    sha256: str
    mark: str
    created: int
    expires: int | None = None
    old_sha256: str | None = None
    old_until: int = 0
    user_messages: UserMessages = "auto"
    templates: tuple[str, ...] = ()
    public_sources: bool = False
    declares: bool = False

    @property
    def prompts(self) -> Prompts:
        """What the application sends as user messages, and who may read what it retrieves."""
        return Prompts(self.user_messages, self.templates, self.public_sources)

    def hashes(self, now: float) -> tuple[str, ...]:
        """Those of the tokens that are good now."""
        if self.expires is not None and self.expires <= now:
            return ()
        return (self.sha256, self.old_sha256) if self.old_sha256 and self.old_until > now else (self.sha256,)

    def caller(self, default: str | None, sha256: str | None = None) -> Caller:
        """Who asks with this key, by the token of that hash; `default` is the default guard."""
        guards = self.guards or (() if default is None else (default,))
        return Caller(self.id, self.role, None if EVERY in guards else guards, self.prompts, self.declares,
                      self.mark, (sha256 or self.sha256)[:16])


class Keyring:
    """The keys of a file, read again when the file changes, so that a removed key ends without a restart.

    `default` is the guard of keys that name none, `clock` gives seconds since 1970.
    """

    def __init__(self, file: Path, default: str | None, clock: Callable[[], float] = time.time) -> None:
        self._file, self._default, self._lock, self._clock = file, default, threading.Lock(), clock
        self._stamp: tuple[int, int, int] | None = None
        self._keys: tuple[Key, ...] = ()

    def keys(self) -> tuple[Key, ...]:
        """All keys. Raises InputError where the file cannot be read as one of keys."""
        with self._lock:
            try:
                at = self._file.stat()
                stamp = at.st_mtime_ns, at.st_size, at.st_ino
                if stamp != self._stamp:
                    self._keys, self._stamp = list_keys(self._file), stamp
            except OSError as error:
                self._stamp = None
                raise InputError(f"cannot read {self._file}: {why(error)}; expected the file that 'discreet serve key "
                                 "add' writes") from None
            return self._keys

    def caller(self, token: str) -> Caller | None:
        """Whose token it is, while it is good; every key is compared, each in constant time. Raises as `keys`."""
        given, now, found = hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest(), self._clock(), None
        for key in self.keys():
            for one in key.hashes(now):
                if hmac.compare_digest(one, given):
                    found = key.caller(self._default, one)
        return found

    def holds(self, name: str, mark: str) -> bool:
        """Whether the key of that name and mark is still one, whatever its token. Raises as `keys`."""
        now = self._clock()
        return any(key.id == name and key.mark == mark and key.hashes(now) for key in self.keys())

    def signed_in(self, name: str, token: str) -> Caller | None:
        """Who showed the token of that part of a hash, while it is good. Raises as `keys`."""
        now = self._clock()
        return next((key.caller(self._default, one) for key in self.keys() if key.id == name
                     for one in key.hashes(now) if hmac.compare_digest(one[:16], token)), None)

    def expiring(self, seconds: float) -> list[tuple[str, int]]:
        """Names and ends of the keys that end within so many seconds, or have ended. Raises as `keys`."""
        until = self._clock() + seconds
        return [(key.id, key.expires) for key in self.keys() if key.expires is not None and key.expires <= until]


def add_key(file: Path, role: Role, guards: Sequence[str] = (), name: str | None = None, *, prompts: Prompts = AUTO,
            declares: bool = False, days: float | None = None) -> tuple[Key, str]:
    """A new key in `file`, which ends in so many `days`, and its token, which is not kept anywhere.

    UsageError for a name that is taken, a template that is none, and settings of requests for a role without them.
    """
    name = name or secrets.token_hex(4)
    if not is_name(name) or len(name) > 64:
        raise UsageError(f"the key's name is {name[:40]!r}; expected up to 64 letters, digits, '-', '_' and '.'")
    if name in RESERVED:
        raise UsageError(f"the key's name is {name!r}, which is ours in logs and the audit; choose another name")
    if odd := [one for one in guards if one != EVERY and not is_name(one)]:
        raise UsageError(f"a guard of the key is {odd[0][:40]!r}; expected letters, digits, '-', '_' and '.', or '*'; "
                         "give --guard several times for several")
    if role == "reviewer" and (prompts != AUTO or declares):
        raise UsageError("user messages, templates and declarations were given for a reviewer, who sends no requests; "
                         "expected them with the role caller or operator")
    _checked(prompts)
    token, digest = _token()
    key = Key(name, role, tuple(guards), digest, secrets.token_hex(8), int(time.time()), _in_days(days),
              declares=declares, **asdict(prompts))
    with changing(file):
        keys = list_keys(file) if file.exists() else ()
        if any(one.id == name for one in keys):
            raise UsageError(f"{file} has a key {name!r} already; choose another name, or remove that one first")
        _write(file, (*keys, key))
    return key, token


def rotate_key(file: Path, name: str, *, keep_hours: float = 24, days: float | None = None) -> tuple[Key, str]:
    """Replace the token of a key, which stays the same key: its tickets and settings are kept. The key, and the token.

    The former token is good for `keep_hours` more. With `days` the key ends in so many, else when it was to end.
    UsageError for no such key, or one that has ended where `days` are not given.
    """
    if not 0 <= keep_hours <= 24 * MOST_DAYS:
        raise UsageError(f"the former token was to work for {keep_hours:g} hours; expected 0 to {24 * MOST_DAYS:,}")
    list_keys(file)
    with changing(file):
        keys = list_keys(file)
        old = next((key for key in keys if key.id == name), None)
        if old is None:
            raise _no_key(file, name, keys)
        now = time.time()
        if days is None and old.expires is not None and old.expires <= now:
            raise UsageError(f"the key {name!r} has ended; say for how many days the new token is, or remove it and "
                             "make another one")
        token, digest = _token()
        key = replace(old, sha256=digest, created=int(now), expires=old.expires if days is None else _in_days(days),
                      old_sha256=old.sha256 if keep_hours and old.hashes(now) else None,
                      old_until=int(now + keep_hours * 3600))
        _write(file, tuple(key if one is old else one for one in keys))
    return key, token


def is_name(given: str) -> bool:
    """Whether something can be the name of a key or a guard."""
    return bool(given) and all(c.isalnum() or c in "-_." for c in given)


def _token() -> tuple[str, str]:
    token = BEGINNING + secrets.token_urlsafe(32)
    return token, hashlib.sha256(token.encode()).hexdigest()


def _in_days(days: float | None) -> int | None:
    if days is None:
        return None
    if not 0 < days <= MOST_DAYS:
        raise UsageError(f"the key was to end in {days:g} days; expected more than 0, up to {MOST_DAYS:,}")
    return int(time.time() + days * 86_400)


def _no_key(file: Path, name: str, keys: Sequence[Key]) -> UsageError:
    return UsageError(f"{file} has no key {name!r}; expected one of {', '.join(k.id for k in keys) or 'none'}")


def _checked(prompts: Prompts) -> None:
    """UsageError for an unknown kind of user messages, a template that is none, or one without use."""
    if prompts.user_messages not in USER_MESSAGES:
        raise UsageError(f"user messages are {str(prompts.user_messages)[:20]!r}; expected one of "
                         f"{', '.join(USER_MESSAGES)}")
    parsed = [known_templates.parse(template) for template in prompts.templates]
    if prompts.user_messages == "words" and any("question" in template.slots for template in parsed):
        raise UsageError("a template with {question} was given with user messages that are the user's own words; "
                         "expected 'prompt' or 'auto' with it")


def remove_key(file: Path, name: str) -> None:
    """Remove a key from `file`. UsageError where it is not there."""
    list_keys(file)  # A file that is not there is no reason to leave a lock where it would be.
    with changing(file):
        keys = list_keys(file)
        kept = tuple(key for key in keys if key.id != name)
        if len(kept) == len(keys):
            raise _no_key(file, name, keys)
        _write(file, kept)


def _write(file: Path, keys: tuple[Key, ...]) -> None:
    if not file.exists():
        try:
            file.touch(mode=0o600)
        except OSError as error:
            raise UsageError(f"cannot write {file}: {why(error)}; name a file in a folder that can be written"
                             ) from None
    write_atomic(file, json.dumps({"version": 1, "keys": [asdict(key) for key in keys]}, indent=1) + "\n")


def list_keys(file: Path) -> tuple[Key, ...]:
    """The keys of `file`. Raises InputError where it cannot be read as one of keys."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {file}: {why(error)}; expected the file that 'discreet serve key add' writes"
                         ) from None
    try:
        whole = json.loads(text) if text.strip() else {"keys": []}
        _check_names(whole, ("version", "keys"))
        if whole.get("version", 1) != 1:
            raise UsageError("its version is not 1, the only one that this discreet reads; expected the discreet that "
                             "wrote it, or a newer one")
        found = tuple(_read(one) for one in whole["keys"])
        if any(key.role not in ROLES or len(key.sha256) != 64 or key.id in RESERVED or len(key.mark) != 16
               or len(key.old_sha256 or key.sha256) != 64 for key in found):
            raise ValueError
        for key in found:
            _checked(key.prompts)
    except UsageError as error:
        raise InputError(f"{file}: {error}") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(f"{file} is not a file of keys; expected the one that 'discreet serve key add' writes"
                         ) from None
    return found


def described(key: Key) -> str:
    """A key in a line: name, role and guard, and for a key that sends requests its settings of them."""
    guards = "every guard" if EVERY in key.guards else ", ".join(key.guards) or "default guard"
    line = f"{key.id} {key.role} {guards}"
    now = time.time()
    if key.expires is not None:
        line += f"; {'ended' if key.expires <= now else 'ends'} {_day(key.expires)}"
    if len(key.hashes(now)) > 1:
        line += f"; the former token works until {_day(key.old_until)}"
    if key.role == "reviewer":
        return line
    known = known_templates.texts()
    templates = [one if one in known else f"a text of {len(one):,} characters" for one in key.templates]
    said = [f"user messages {key.user_messages}", *([f"templates {', '.join(templates)}"] if templates else []),
            *(["anybody may read its passages"] if key.public_sources else []),
            "may declare" if key.declares else "declares nothing"]
    return f"{line}; {'; '.join(said)}"


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _check_names(row: Any, known: Sequence[str]) -> None:
    """UsageError for a name that is not known, TypeError for what has no names."""
    if not isinstance(row, dict):
        raise TypeError
    for name in row.keys() - {*known}:
        whose = f"the key {row['id'][:40]!r}" if isinstance(row.get("id"), str) else "the file"
        raise UsageError(f"{whose} has {name[:40]!r}, which is no field of it; {meant(name, known)}")


def _read(row: dict[str, Any]) -> Key:
    """A key of a row. ValueError or TypeError for settings of another type: none of them may widen what counts."""
    _check_names(row, [one.name for one in fields(Key)])
    lists = {name: row.get(name, []) for name in ("templates", "guards")}
    for found in lists.values():
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise TypeError
    times = row.get("expires"), row.get("old_until", 0), row.get("created")
    rights = row.get("declares", False), row.get("public_sources", False)
    if not all(isinstance(one, bool) for one in rights) or any(
            isinstance(one, bool) or not isinstance(one, int | None) for one in times) or None in times[1:]:
        raise TypeError
    return Key(**{**row, **{name: tuple(found) for name, found in lists.items()}})
