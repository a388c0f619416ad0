"""The queue's tables, and its database: SQLite with a write-ahead log, or PostgreSQL."""

from __future__ import annotations

import os
import sqlite3
import time
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from threading import Lock
from typing import Any
from urllib.parse import quote

from sqlalchemy import (
    JSON,
    Column,
    Connection,
    Engine,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    create_engine,
    event,
    false,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from discreet.core.errors import UnavailableError, UsageError

metadata = MetaData()

tickets = Table(
    "tickets", metadata,
    Column("id", String(32), primary_key=True),
    Column("caller", String(200), nullable=False),
    Column("caller_mark", String(16), nullable=False),  # which key of that name
    Column("guard", String(200), nullable=False),
    Column("code", String(60), nullable=False),
    Column("policy", String(400), nullable=False),
    Column("status", String(12), nullable=False),  # pending, decided (in its undo window), released, blocked, expired
    Column("version", Integer, nullable=False),
    Column("opened", Float, nullable=False),  # times are seconds since 1970, UTC
    Column("deadline", Float, nullable=False),
    Column("erase_at", Float, nullable=False),
    Column("verdict_hash", String(64), nullable=False),
    Column("figures", JSON, nullable=False),  # numbers of the verdict, no text
    Column("reserved_by", String(200)),
    Column("reserved_until", Float),
    Column("first_by", String(200)),  # with a second reviewer: who proposed to release
    Column("first_action", String(20)),
    Column("decided_by", String(200)),
    Column("decision", String(20)),
    Column("decision_code", String(60)),
    Column("final_at", Float),
    Column("recheck", String(8)),  # open, done
    Column("tell_by", Float),  # until when the caller must have its id; null once it has
    Column("ended", String(20)),  # why nobody awaits it any more: caller_gone, key_removed
    Column("key_name", String(40)),
    Column("wrapped", LargeBinary),
    Column("sealed", LargeBinary),
    Column("edited", LargeBinary),
    Index("tickets_by_deadline", "status", "deadline", "id"),
    Index("tickets_by_recheck", "recheck", "deadline"),
    Index("tickets_by_erasure", "erase_at"),
    Index("tickets_by_caller", "caller", "caller_mark", "opened"),
)

audit = Table(
    "audit", metadata,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("at", Float, nullable=False),
    Column("ticket", String(32), nullable=False),
    Column("version", Integer, nullable=False),
    Column("actor", String(200), nullable=False),
    Column("action", String(24), nullable=False),
    Column("code", String(60)),
    Column("verdict_hash", String(64), nullable=False),
    Column("mac", String(64), nullable=False),  # of this row and the mac before it
    Index("audit_by_ticket", "ticket", "seq"),
)

deliveries = Table(
    "deliveries", metadata,
    Column("ticket", String(32), primary_key=True),
    Column("status", String(12), primary_key=True),  # pending for a new one, else how it ended
    Column("caller", String(200), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_at", Float),  # null once it arrived, or was given up
    Column("arrived", Float),
    Index("deliveries_due", "next_at"),
)

sessions = Table(
    "sessions", metadata,
    Column("id", String(64), primary_key=True),  # the SHA-256 of what the cookie holds
    Column("key_id", String(200), nullable=False),
    Column("key_token", String(16), nullable=False),  # which token of it
    Column("ends", Float, nullable=False),
    Column("groups", JSON(none_as_null=True)),  # of whom a provider signed in: what it says that they belong to
    Index("sessions_by_end", "ends"),
)

_WRITES = "discreet_writes"
WAIT_S = 10
"""Seconds that a writer of SQLite waits for others of its process, and again for other processes."""
RETRY_S = 0.02
"""Seconds between tries of what SQLite does not wait for by itself."""
LOCK = 0x64697363
"""The advisory lock in PostgreSQL under which the audit's chain grows, and migrations run."""


class Database:
    """Transactions on the queue's database; whatever it raises becomes an UnavailableError without a statement.

    `url` is SQLAlchemy's: sqlite:////var/lib/discreet/queue.db, postgresql://user@host/name. SQLite runs in WAL mode
    with synchronous=FULL, so that a commit survives a loss of power; its file is made for its owner alone.
    """

    def __init__(self, url: str) -> None:
        try:
            self.url = _with_driver(make_url(url))
        except ArgumentError:
            raise UsageError("the queue's database is not a URL; expected sqlite:///FILE or postgresql://USER@HOST/NAME"
                             ) from None
        self.name = self.url.render_as_string(hide_password=True)
        self._inode = (0, 0)
        self._turn: AbstractContextManager[Any] = _Turns(self.name, WAIT_S) if self.is_sqlite else nullcontext()
        if self.is_sqlite:
            self._make_file()
        lite = {"timeout": WAIT_S, "check_same_thread": False}
        with self._said():
            self.engine: Engine = create_engine(
                self.url, hide_parameters=True, pool_pre_ping=not self.is_sqlite,
                connect_args=lite if self.is_sqlite else {"connect_timeout": 5, "tcp_user_timeout": 15_000})
        if self.is_sqlite:
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)
        else:
            event.listen(self.engine, "connect", _prepare_postgres)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is SQLite; else PostgreSQL."""
        return self.url.get_backend_name() == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that only reads, in one transaction."""
        with self._said(), self._connected() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is committed when the block ends well, and undone whole where it does not."""
        with self._said(), self._turn, self._connected() as connection:
            connection.execution_options(**{_WRITES: True})
            with connection.begin():
                yield connection

    def probe(self) -> None:
        """Whether tickets can be written now: UnavailableError where not, or where another writer is busy for long."""
        if not self.is_sqlite:
            with self.writing() as connection:
                connection.execute(update(tickets).where(false()).values(version=0))
            return
        try:  # By a connection of its own, which waits for the lock a second and not ten.
            with closing(sqlite3.connect(f"file:{quote(self._file)}?mode=rw", timeout=1, uri=True,
                                         isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("SELECT 1 FROM tickets LIMIT 1")
        except sqlite3.Error as error:
            raise UnavailableError(f"the queue's database {self.name} cannot be written ({type(error).__name__}); "
                                   "expected a file that no other program locks") from None

    def checkpoint(self) -> None:
        """SQLite: move the write-ahead log into the database and empty it, as far as readers let it."""
        if self.is_sqlite:
            with self._said(), self._connected() as connection:
                connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(
                    "PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Give back all connections."""
        self.engine.dispose()

    @contextmanager
    def _said(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise UnavailableError(f"the queue's database {self.name} {_why(error)}; nothing was released; expected a "
                                   "database that answers and has room") from None
        except (SQLAlchemyError, ImportError) as error:
            raise UnavailableError(f"the queue's database {self.name} cannot be used ({type(error).__name__}); nothing "
                                   "was released; expected SQLite, or PostgreSQL with discreet[postgres]") from None

    def _connected(self) -> Connection:
        """A connection; to the file that is there now, as SQLite goes on with one that was removed or replaced."""
        if self.is_sqlite:
            try:
                status = os.stat(self._file)
            except OSError:
                self.engine.dispose()
                raise UnavailableError(f"the queue's database {self.name} is gone; nothing was released; expected the "
                                       "file that was there: restore it") from None
            if self._inode != (status.st_dev, status.st_ino):
                self.engine.dispose()
                self._inode = status.st_dev, status.st_ino
        return self.engine.connect()

    def _make_file(self) -> None:
        file = self.url.database
        if file in (None, "", ":memory:"):
            raise UsageError("the queue's database is in memory, so that it is lost when the service ends; expected "
                             "sqlite:///FILE or postgresql://USER@HOST/NAME")
        self._file = str(file)
        try:
            os.close(os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise UnavailableError(f"the queue's database {self.name} cannot be opened: "
                                   f"{(error.strerror or 'refused').lower()}; expected a file in a folder that can be "
                                   "written") from None


class _Turns(AbstractContextManager[None]):
    """A lock that serves threads in the order in which they came, and refuses one that has waited for `wait_s`.

    SQLite's writers wait for each other by trying again, and Python's lock goes to whoever asks first after it is
    free: with sixteen threads that write without a pause some of them wait for seconds. Where another program locks the
    database, each would wait for those before it as well as for itself.
    """

    def __init__(self, name: str, wait_s: float) -> None:
        self._name, self._wait_s = name, wait_s
        self._lock, self._waiting = Lock(), deque[Lock]()

    def __enter__(self) -> None:
        mine = Lock()
        mine.acquire()
        with self._lock:
            self._waiting.append(mine)
            first = self._waiting[0] is mine
        if first or mine.acquire(timeout=self._wait_s):  # until the one before releases it
            return
        with self._lock:
            if self._waiting[0] is not mine:  # Else its turn came at this moment.
                self._waiting.remove(mine)
                raise UnavailableError(f"the queue's database {self._name} is locked by another process; nothing was "
                                       "released; expected a database that answers and has room")

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._waiting.popleft()
            if self._waiting:
                self._waiting[0].release()


def _with_driver(url: URL) -> URL:
    if url.drivername in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise UsageError(f"the queue's database is {url.get_backend_name()!r}; expected sqlite or postgresql")
    return url


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun by another function, not by the driver
    _turn_to_wal(connection)
    for pragma in ("synchronous = FULL", "secure_delete = ON", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}").fetchall()


def _turn_to_wal(connection: Any) -> None:
    """Set the journal mode of a new database, which of several processes at once one does and the others wait for.

    SQLite's own timeout does not hold here: the change reads first and writes then, so that waiting for another one
    that does the same could last for ever, and SQLite says "locked" at once.
    """
    until = time.monotonic() + WAIT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
        time.sleep(RETRY_S)


def _prepare_postgres(connection: Any, _: Any) -> None:
    # A process that hangs while it holds the audit's lock holds up the others so long, and no longer.
    connection.autocommit = True
    for limit in ("lock_timeout = '10s'", "statement_timeout = '30s'", "idle_in_transaction_session_timeout = '30s'"):
        connection.execute(f"SET {limit}")
    connection.autocommit = False


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes the lock at once: one that reads first and writes later may be refused at the end.
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _why(error: DBAPIError) -> str:
    """The kind of failure; never the statement, its parameters or the server's words."""
    kind = getattr(error.orig, "sqlite_errorname", None) or getattr(error.orig, "sqlstate", None)
    known = {"SQLITE_FULL": "has no room: the disk is full", "SQLITE_BUSY": "is locked by another process",
             "SQLITE_READONLY": "cannot be written", "SQLITE_CORRUPT": "is damaged", "53100": "has no room: the disk "
             "is full", "SQLITE_NOTADB": "is not a database", "55P03": "is locked by another process"}
    return known.get(str(kind), f"cannot be used ({kind or type(error.orig).__name__})")
