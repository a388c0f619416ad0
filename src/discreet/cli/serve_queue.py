"""`discreet serve audit` and `reviews`: what the review queue noted, without a service that runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import library as lib
from discreet.cli.options import flag, option
from discreet.core.errors import UsageError, need
from discreet.core.files import atomic_writer, dump_json
from discreet.core.numbers import counted

Config = Annotated[Path, option("F", "The settings of the service, with its queue.")]


def _queue(config: Path) -> tuple[lib.queue_tables.Database, lib.queue_vault.Vault]:
    need("sqlalchemy", "discreet serve", "serve")
    settings = lib.serve_settings.Settings.read(config).queue
    if settings is None:
        raise UsageError(f"{config} names no queue; expected a part 'queue' with its url")
    return lib.queue_tables.Database(settings.url), lib.queue_vault.Vault(settings.key_folder)


def audit(
    *, config: Config,
    noted: Annotated[str | None, option(
        "N:HEAD", "Rows and head that an earlier check printed: the audit must still begin with them.")] = None,
    written: Annotated[Path | None, option(
        "F", "Also write the rows as JSON Lines, without any text, for another system.", "--output")] = None,
    after: Annotated[int, option("N", "Write the rows after this number (seq) only.")] = 0,
    as_json: Annotated[bool, flag("Print JSON.", "--json")] = False,
) -> None:
    """Check that nobody changed the audit of the review queue. Exit with 1 where somebody did.

    Note the rows and the head that are printed somewhere else: only with them a check notices that the end of the
    audit is gone. A service that runs gives the same rows at /v1/audit.
    """
    if after and written is None:
        raise UsageError("--after says which rows are written; expected --output with it")
    earlier = None
    if noted is not None:
        rows, _, head = noted.partition(":")
        if not rows.isdigit() or len(head) != 64:
            raise UsageError("--noted is not what a check printed; expected rows, a colon and 64 hexadecimal digits")
        earlier = int(rows), head
    database, vault = _queue(config)
    found = lib.queue_audit.verify(database, vault.lasting(make=False), noted=earlier)
    if written is not None:
        with atomic_writer(written) as table:
            for row in lib.queue_audit.exported(database, after=after):
                table.write(dump_json(row) + "\n")
    if as_json:
        print(json.dumps({"rows": found.rows, "head": found.head, "wrong": found.wrong}))
    else:
        print(f"{found.rows}:{found.head} {'intact' if found.wrong is None else found.wrong}")
    if not found.intact:
        raise typer.Exit(1)


def reviews(
    *, config: Config,
    written: Annotated[Path, option("F", "Write decisions as JSON Lines.", "--output")],
    guard: Annotated[str | None, option("NAME", "Of this guard of the service only.")] = None,
) -> None:
    """Write down what reviewers decided, with the numbers of the verdicts and no text, for 'guard calibrate'."""
    database, _ = _queue(config)
    count = 0
    with atomic_writer(written) as table:
        for row in lib.queue_audit.decided(database, guard=guard):
            table.write(dump_json(row) + "\n")
            count += 1
    print(f"{counted(count, 'decision')} written to {written}")
