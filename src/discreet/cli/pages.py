"""Pages and figures of records: by the kind of a record, for the command that makes it and for `discreet report`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.core.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from discreet.core.runs import Run
    from discreet.report.figures.figure import Figure

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Paged:
    """What a kind of record is shown by: its page as HTML, and the figures of its run folder."""

    page: Callable[..., str]
    figures: Callable[[Record], Iterable[Figure]]


def _membership() -> Paged:
    from discreet.report.membership import membership_figures, membership_page

    return Paged(membership_page, membership_figures)


def _labels() -> Paged:
    from discreet.report.labels import labels_figures, labels_page

    return Paged(labels_page, labels_figures)


def _frontier() -> Paged:
    from discreet.report.frontier import frontier_figures, frontier_page

    return Paged(frontier_page, frontier_figures)


def _reproduction() -> Paged:
    from discreet.report.reproduction import reproduction_figures, reproduction_page

    return Paged(reproduction_page, reproduction_figures)


def _labels_rerun() -> Paged:
    from discreet.report.reproduction_labels import rerun_figures, rerun_page

    return Paged(rerun_page, rerun_figures)


PAGED: dict[str, Callable[[], Paged]] = {"audit labels": _labels, "audit membership": _membership,
                                         "defend-frontier": _frontier, "reproduce blia": _labels_rerun,
                                         "reproduce mia": _reproduction}
"""By the kind of a record; called, it imports the page's room."""


def can_report(path: Path) -> None:
    """A missing extra, or a page that cannot be written, is said before any work is done.

    Raises MissingExtraError, or UsageError where `path` is a folder or its folder is not there.
    """
    from discreet.report.html import environment

    environment()
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: {'it is a folder' if path.is_dir() else 'its folder is not there'}; "
                         "expected the name of a file in a folder that is there")


def write_run(record: Record, report: Path | None, run: Run | None, *, quiet: bool = False,
              texts: Sequence[Record] = (), **facts: Any) -> None:
    """Write the page to `report`, and the figures, the page and the record to `run`, which is done then.

    `texts` are for the page alone, of a kind that shows any. `facts` go into the log.
    """
    write_pages(record, report, run, quiet=quiet, texts=texts)
    if run:
        run.finish(record, **facts)


def write_pages(record: Record, report: Path | None, run: Run | None, *, quiet: bool = False,
                texts: Sequence[Record] = ()) -> None:
    """The same without the record: the page to `report`, the figures and the page to `run`."""
    if report is None and run is None:
        return
    from discreet.core.files import write_atomic
    from discreet.report.figures.figure import save_figures

    paged = PAGED[record["kind"]]()
    if run:
        save_figures(paged.figures(record), run.figures)
    try:
        page = paged.page(record, texts=texts) if texts else paged.page(record)
    except MissingExtraError as error:
        # A run folder without its page is still a run.
        page = ""
        if not quiet:
            print(f"discreet: no report.html in the run folder: {error}", file=sys.stderr)
    for path in (report, run and run.report):
        if path and page:
            write_atomic(path, page)
