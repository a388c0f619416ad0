"""`discreet serve shadow`: what enforcement would withhold, from the log of a service that observed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.cli import library as lib
from discreet.cli.options import argument, flag
from discreet.core.files import dump_json


def shadow(
    log: Annotated[Path, argument("LOG", "The log of the service (log_file), as JSON Lines.")], *,
    as_json: Annotated[bool, flag("Print JSON.", "--json")] = False,
) -> None:
    """Say what enforcement would withhold: by guard, cause and kinds, with counts and shares of the requests.

    It also says of how many of these requests no words of the user were known, because nothing was declared. Read it
    before you enforce. The log of 'discreet serve --shadow' holds no text.
    """
    found = lib.serve_shadow.read_log(log)
    if as_json:
        print(dump_json(found.to_json()))
        return
    for line in lib.serve_shadow.table(found):
        print(line)
