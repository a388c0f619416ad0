"""Text at rest: a data key for each ticket, wrapped by a key of its period that lives outside of the database.

Erasing a row does not erase a write-ahead log or a backup. So what the database holds is sealed with AES-256-GCM under
a data key of the ticket, which is wrapped by the key of the period in which the ticket ends; that key is a file of the
key folder and is destroyed when its period is over. From then on nobody can read the ticket in any copy of the
database. Keep the key folder off the disk, or at least out of the backups, of the database.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.core.errors import NotFoundError, UnavailableError, UsageError, need
from discreet.core.files import why
from discreet.core.folders import make_once, sync

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

DAY = 86_400.0
LASTING = "audit"
_NONCE = 12
_STAMP = "%Y%m%dT%H%M%SZ"


class Vault:
    """Seals and opens the contents of tickets, and destroys the keys of past periods.

    `folder` is made for its owner alone; UsageError where others may read it. Keys end with periods of `period_s`
    seconds of UTC, a day by default: what was sealed to last until t cannot be read from the end of its period on, at
    most `period_s` after t.
    """

    def __init__(self, folder: Path, period_s: float = DAY) -> None:
        if not 1 <= period_s <= DAY:
            raise UsageError(f"the period of keys is {period_s:g} s; expected from 1 to {DAY:g}")
        self.folder, self.period_s = folder, period_s
        self._aes: Callable[[bytes], AESGCM] = need(
            "cryptography.hazmat.primitives.ciphers.aead", "the review queue", "serve").AESGCM
        with _said(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            mode = folder.stat().st_mode & 0o777
            usable = os.access(folder, os.R_OK | os.W_OK | os.X_OK)
        if not usable:
            raise UnavailableError(f"the key folder {folder} cannot be read and written; expected one that the service "
                                   "owns")
        if mode & 0o007:
            raise UsageError(f"the key folder {folder} has mode {mode:o}, so that others may enter; expected 700: "
                             f"chmod 700 {folder}")

    def data_key(self, ticket: str, until: float) -> tuple[bytes, str, bytes]:
        """A fresh data key, the name of the period key that wraps it, and it wrapped, to be read until `until`."""
        key = secrets.token_bytes(32)
        name, wrapped = self.wrap(key, ticket, until)
        return key, name, wrapped

    def wrap(self, key: bytes, ticket: str, until: float) -> tuple[str, bytes]:
        """The data key under the key of the period that holds `until`, which is made where there is none."""
        name = self._name(until)
        return name, self.seal(self._period_key(name), ticket, "key", key)

    def unwrap(self, name: str, ticket: str, wrapped: bytes) -> bytes:
        """The data key of a ticket. NotFoundError once the period key is destroyed."""
        return self.open(self._read(name), ticket, "key", wrapped)

    def seal(self, key: bytes, ticket: str, part: str, content: bytes) -> bytes:
        """Nonce and ciphertext, bound to the ticket and the part of it that this is."""
        nonce = secrets.token_bytes(_NONCE)
        return nonce + self._aes(key).encrypt(nonce, content, f"{ticket}:{part}".encode())

    def open(self, key: bytes, ticket: str, part: str, sealed: bytes) -> bytes:
        """What `seal` was given. UnavailableError where it was changed, or belongs to another ticket or part."""
        from cryptography.exceptions import InvalidTag

        try:
            return self._aes(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], f"{ticket}:{part}".encode())
        except (InvalidTag, ValueError):
            raise UnavailableError(f"the {part} of ticket {ticket} does not open: it was changed, or is another's; "
                                   "expected what the queue wrote; nothing is released") from None

    def destroy(self, now: float) -> int:
        """Destroy the keys of the periods that ended by `now`; how many. UnavailableError where it cannot."""
        gone = 0
        with _said(self.folder):
            for path in sorted(self.folder.glob("*.key")):
                with suppress(ValueError):
                    ended = datetime.strptime(path.stem, _STAMP).replace(tzinfo=UTC).timestamp() <= now
                    gone += ended and self._shred(path)
            if gone:
                sync(self.folder)
        return gone

    def lasting(self, *, make: bool = True) -> bytes:
        """The key that is not destroyed: that of the audit's chain. Made at first use, unless `make` is False."""
        return self._period_key(LASTING) if make else self._read(LASTING)

    def _name(self, until: float) -> str:
        end = (floor(until / self.period_s) + 1) * self.period_s
        return datetime.fromtimestamp(end, UTC).strftime(_STAMP)

    def _period_key(self, name: str) -> bytes:
        """The key of that name, which the first of several processes makes."""
        with _said(self.folder):
            make_once(self.folder / f"{name}.key", secrets.token_bytes(32))
        return self._read(name)

    def _read(self, name: str) -> bytes:
        path = self.folder / f"{name}.key"
        with _said(self.folder):
            try:
                key = path.read_bytes()
            except FileNotFoundError:
                if not (self.folder / f"{LASTING}.key").exists():  # nothing is destroyed, the folder is not there
                    raise
                raise NotFoundError(f"the key {name} was destroyed when its period ended; what it sealed is gone"
                                    ) from None
        if len(key) != 32:
            raise UnavailableError(f"the key file {path} has {len(key)} bytes; expected 32: restore the key folder")
        return key

    @staticmethod
    def _shred(path: Path) -> bool:
        """Overwrite and remove a key; whether this process was the one that did. (Disks may keep old blocks.)"""
        try:
            with path.open("r+b") as handle:
                handle.write(secrets.token_bytes(32))
                handle.flush()
                os.fsync(handle.fileno())
            path.unlink()
        except FileNotFoundError:
            return False
        return True


@contextmanager
def _said(folder: Path) -> Iterator[Any]:
    """The system's refusals as UnavailableError."""
    try:
        yield
    except OSError as error:
        raise UnavailableError(f"the key folder {folder} cannot be used: {why(error)}; nothing was released; expected "
                               "a folder that the service can read and write") from None
