"""The versions of the queue's database, and how a service that starts brings an older one up to its own."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from discreet.core.errors import InputError, UnavailableError
from discreet.serve.queue.tables import LOCK, Database

FOLDER = Path(__file__).with_name("migrations")
HEAD = "0001"
"""The revision of this version's tables."""


def upgrade(database: Database) -> str | None:
    """Bring the database to this version's tables, in one transaction; the revision it had, None where it was empty.

    Of several processes that start at once one does it and the others wait. InputError for a database of a newer
    version, or one that holds tables of others under our names; UnavailableError where it cannot be used.
    """
    with database.reading() as connection:
        found = _revision(connection)
    if found == HEAD:
        return found
    # Before the lock: the others wait for it some seconds only, and on a busy machine an import may take as long.
    from alembic import command  # noqa: F401

    with database.writing() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        found = _revision(connection)
        if found != HEAD:
            _run(database, connection, found)
    return found


def _run(database: Database, connection: Connection, found: str | None) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {one.revision for one in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise InputError(f"the queue's database {database.name} has revision {found[:40]!r}, and this version knows "
                         f"those up to {HEAD}; install the version that wrote it, or a newer one")
    if found is None and {"tickets", "audit", "deliveries", "sessions"} & set(inspect(connection).get_table_names()):
        raise InputError(f"the queue's database {database.name} holds tables 'tickets', 'audit', 'deliveries' or "
                         "'sessions' that the queue did not make; expected an empty database, or the queue's own")
    try:
        command.upgrade(config, "head")
    except SQLAlchemyError as error:
        raise UnavailableError(f"the queue's database {database.name} could not be brought from revision {found} to "
                               f"{HEAD} ({type(error).__name__}); nothing was changed; expected a user that may create "
                               "tables, functions and triggers") from None


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
