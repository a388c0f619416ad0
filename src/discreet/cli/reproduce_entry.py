"""What the commands of `discreet reproduce` read alike: seeds, corpora, the folder of data, the run folder."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from discreet.cli import common
from discreet.core.errors import UsageError

if TYPE_CHECKING:
    from discreet.core.runs import Run


def seeds_of(given: str) -> tuple[int, ...]:
    """`1,2,3` as numbers, each once. UsageError for anything else."""
    parts = [part.strip() for part in given.split(",")]
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise UsageError(f"--seeds is {given[:20]!r}; expected whole numbers with commas between them")
    return tuple(dict.fromkeys(map(int, parts)))


def corpora_of(given: str, known: Collection[str], there: Collection[str], scale: str) -> list[str]:
    """`a,b` as names of corpora.

    UsageError for one that is not among `known`, and where a scale has none of them `there`.
    """
    wanted = [part.strip() for part in given.split(",")]
    if unknown := [name for name in wanted if name not in known]:
        raise UsageError(f"--corpora holds {unknown[0][:20]!r}; expected some of {', '.join(known)}")
    if not set(wanted) & set(there):
        raise UsageError(f"--corpora names none of --scale {scale}; expected some of "
                         f"{', '.join(dict.fromkeys(there))}")
    return wanted


def check_data(scale: str, data: Path | None, needing: Collection[str]) -> None:
    """UsageError for a scale among `needing` without a folder of data, and for what is no folder."""
    if scale in needing and data is None:
        raise UsageError(f"--scale {scale} was given without --data; expected the folder of public data sets")
    if data is not None and not data.is_dir():
        raise UsageError(f"{data} is not a folder; expected the folder of public data sets")


def opened(out: Path | None, context: typer.Context, decides: Collection[str]) -> Run | None:
    """The run folder, if one is asked for.

    Items and corpora are added to a run as they are asked for; the options that decide what a figure is stay.
    """
    from discreet.core.runs import Run

    if out is None:
        return None
    return Run.open(out, {name: value for name, value in common.resolved(context).items() if name in decides})
