from __future__ import annotations

import copy
from typing import Any

from discreet.report.diagnostics import lines, summary, table
from discreet.report.membership import membership_page

Record = dict[str, Any]

ESTIMATE = {"value": 0.52, "low": 0.45, "high": 0.6, "level": 0.95, "n": 80, "n_pos": None, "n_neg": None,
            "unit": "example", "method": "", "reason": None}
NOTHING = ESTIMATE | {"value": None, "low": None, "high": None, "reason": "none"}


def one(name: str, p: float | None) -> Record:
    return {"name": name, "estimate": ESTIMATE, "chance": 0.5, "p": NOTHING if p is None else ESTIMATE | {"value": p}}


def embedding(*ps: float | None) -> Record:
    names = ["outlier_boundary", "side_agreement", "label_agreement_boundary"]
    return {"representation": "some <vectors>", "records": 1200, "neighbours": 7,
            "points": [{"set": "random", "x": 0.0, "y": 1.0}, {"set": "boundary members", "x": 2.0, "y": 0.0}],
            "diagnostics": [one(name, p) for name, p in zip(names, ps, strict=True)]}


def test_rows_have_figure_interval_chance_and_p() -> None:
    rows = table(embedding(0.2, None, 1.0))
    assert rows[1] == {"name": "the 7 nearest on the same side: all records", "figure": ".520 (.450 to .600)",
                       "chance": ".500", "p": "–"}
    assert [row["p"] for row in rows] == [".200", "–", "1.000"]
    lacking = copy.deepcopy(embedding(0.2, 0.3, 1.0))
    lacking["diagnostics"][0] |= {"estimate": NOTHING, "chance": None}
    assert table(lacking)[0]["figure"] == "unresolved"


def test_the_terminal_aligns_them_under_a_title() -> None:
    title, head, *rows, last = lines(embedding(0.2, 0.3, 1.0))
    assert title == "Where the boundary lies, in some <vectors> (1,200 records)"
    assert len({len(row) for row in (head, *rows)}) == 1
    assert ".520 [.450, .600]" in rows[0]
    assert last == summary(embedding(0.2, 0.3, 1.0))


def test_the_summary_says_what_is_other_than_chance_and_no_more() -> None:
    nothing = summary(embedding(0.2, 0.051, None))
    assert nothing.startswith("No evidence")
    assert "smallest p .051, by permutation and corrected for 2 looks" in nothing
    some = summary(embedding(0.2, 0.01, 0.049))
    assert "(p .010" in some
    assert "the 7 nearest on the same side: all records; the 7 nearest with the same label" in some
    assert "further from" not in some
    assert summary(embedding(None, None, None)) == "Whether anything is distinctive was not tested."


def test_the_page_shows_them_under_the_picture(innocent: Record) -> None:
    html = membership_page({**innocent, "embedding": embedding(0.2, 0.3, 1.0)})
    assert html.index('id="embedding"') < html.index("the 7 nearest on the same side: all records")
    assert "some &lt;vectors&gt;" in html
    assert "some <vectors>" not in html
    bare = membership_page({**innocent, "embedding": {**embedding(0.2, 0.3, 1.0), "diagnostics": []}})
    assert "by chance" not in bare
