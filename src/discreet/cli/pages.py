"""What a command shows and keeps of its record: the terminal, `--json`, the page and the figures of its run folder."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.core.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from discreet.core.runs import Run

Record = Mapping[str, Any]


def show(record: Record, *, as_json: bool, quiet: bool = False, whole: bool = False, report: Path | None = None,
         run: Run | None = None, **options: Any) -> None:
    """Print a record: as JSON, or its summary, and where its page is.

    Where `quiet`, only the headline, or the `whole` summary of a command whose figures are all that it is asked for.
    `options` are those of the record's kind (see `discreet.report.summarise`).
    """
    from discreet.core.files import dump_json
    from discreet.report import summarise, to_text

    if as_json:
        sys.stdout.write(dump_json(record) + "\n")
        return
    print(to_text(summarise(record, **options), quiet=quiet and not whole))
    for path in (report, run and run.report):
        if path and path.exists() and not quiet:
            print(f"\nReport: {path}")
            break


def can_report(path: Path) -> None:
    """A missing extra, or a page that cannot be written, is said before any work is done.

    Raises MissingExtraError, or UsageError where `path` is a folder or its folder is not there.
    """
    from discreet.report.figure import can_draw
    from discreet.report.render import environment

    environment()
    can_draw()
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
    from discreet.report import save_figures, summarise, to_html

    summary = summarise(record, texts=texts) if texts else summarise(record)
    try:
        page = to_html(summary)
        if run:
            save_figures(summary.figures, run.figures)
    except MissingExtraError as error:
        # A run folder without its page is still a run.
        page = ""
        if not quiet:
            print(f"discreet: no report.html in the run folder: {error}", file=sys.stderr)
    for path in (report, run and run.report):
        if path and page:
            write_atomic(path, page)
