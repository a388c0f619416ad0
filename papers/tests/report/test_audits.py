"""The page of a rerun, from a record written by hand."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.report.reading import read

from discreet.core.records import Estimate
from discreet.report import summarise, to_html, to_tables
from discreet.report.summary import Table
from discreet_papers.report.audits import PLACES, tables_of
from discreet_papers.report.charts import at_boundary, categories, copies, gains, sizes, tenths, tradeoff


def one(value: float | None) -> dict[str, Any]:
    found = Estimate.unresolved("too few") if value is None else Estimate(value, value - 0.04, value + 0.04)
    return found.to_json()


HEAD = {"structure": "single-turn", "model": "MiniLM", "regime": "full", "variant": ""}


def attack(corpus: str, definition: str, auc: float, control: float, **more: Any) -> dict[str, Any]:
    paper = {"paper": {"low": 0.7, "high": 0.87, "models": 4}} if definition == "paper" else {}
    return {**HEAD, "corpus": corpus, "part": None, "attack": "reference", "definition": definition, "auc": one(auc),
            "control": one(control), "tpr_at_1pct_fpr": one(0.1), "tpr_at_5pct_fpr": one(0.2), "accuracy": one(0.8),
            "accuracy_gap": one(0.1), **paper, **more}


def gained(corpus: str, definition: str, label: str, value: float | None) -> dict[str, Any]:
    return {**HEAD, "corpus": corpus, "label": label, "definition": definition, "global_auc": one(0.6),
            "boundary_auc": one(value), "global_control": one(0.5), "boundary_control": one(0.52),
            "gain": one(None if value is None else value - 0.6), "control_gain": one(0.02),
            "paper": {"low": 0.12, "high": 0.16, "models": None} if definition == "paper" else None}


def stratum(definition: str, auc: float | None, **at: Any) -> dict[str, Any]:
    return {**HEAD, "corpus": "beavertails", "category": None, "decile": None, "decile_by": None,
            "definition": definition, "auc": one(auc), "control": one(None if auc is None else 0.5),
            "least": auc, "most": None if auc is None else auc + 0.02, **at}


def noisy(mechanism: str, strength: float | None, queries: int, auc: float) -> dict[str, Any]:
    attacks = [{"attack": "reference", "selection": "boundary", "reference_kind": kind, "scale": scale,
                "nonmembers": others, "auc": one(auc), "control_auc": one(0.55)}
               for kind, scale, others in (("paired", "p", "reference_train"), ("neutral", "logit", "clean"))]
    return {"mechanism": mechanism, "noise": "none" if strength is None else "fresh", "strength": strength,
            "queries": queries, "queried": "same", "attacks": attacks,
            "utility": {"accuracy": one(0.9 - (strength or 0.0) / 20), "missed_positives": one(0.1)}}


def copied(variant: str, definition: str) -> dict[str, Any]:
    change = {} if variant == "plain" else {"boundary_change": one(-0.03), "boundary_control_change": one(0.0)}
    return {**HEAD, "corpus": "beavertails", "variant": variant, "definition": definition, "accuracy": one(0.8),
            **{f"{place}_{name}": one(0.6) for place in ("global", "boundary", "non_boundary")
               for name in ("auc", "control")}, **change,
            "paper": {"low": -0.08, "high": -0.08, "models": 1} if definition == "paper" else None}


@pytest.fixture
def record() -> dict[str, Any]:
    both = ("paper", "honest, logit")
    points = [noisy("none", None, queries, 0.8) for queries in (1, 256)]
    points += [noisy(name, 0.5, queries, 0.7) for name in ("laplace", "keyed") for queries in (1, 256)]
    items: dict[str, list[dict[str, Any]]] = {
        "table 7": [attack(corpus, definition, 0.71, 0.6) for corpus in ("beavertails", "diasafety")
                    for definition in both],
        "figure 2": [gained(corpus, definition, label, 0.7) for corpus in ("beavertails", "diasafety")
                     for label in ("safe", "unsafe") for definition in both],
        "figure 3": [*(stratum(name, 0.6, decile=tenth, decile_by=by) for by in ("target", "selector")
                       for tenth in range(10) for name in both),
                     *(stratum(name, 0.6 if category != "rare" else None, category=category, regime="all regimes")
                       for category in ("theft", "rare", "x" * 60) for name in both)],
        "figure 4": [{**HEAD, "corpus": "beavertails", "seed": 42, "frontier": {"points": points, "draws": 50}}],
        "section 8.2": [copied(variant, name) for variant in ("plain", "duplicated x2") for name in both],
        "size": [attack("beavertails", name, 0.6, 0.5, variant=f"size {size}") for size in (80, 160) for name in both],
        "users": []}
    provenance = {"discreet": "0.1.0", "seeds": [42], "data": "public", "corpora": ["beavertails", "diasafety"],
                  "models": {"MiniLM": ["full", "lora r=64"]}, "finished": "2026-01-02T03:04:05+00:00"}
    return {"kind": "reproduce mia", "schema": 1, "scale": "small", "analogue": True, "provenance": provenance,
            "items": {name: {"title": f"Title of {name}", "rows": rows} for name, rows in items.items()}}


def table_of(name: str, rows: list[dict[str, Any]], *, paper: bool = True) -> Table:
    [found] = tables_of("reproduce mia", name, rows, paper=paper)
    return found


def page_of(record: dict[str, Any]) -> str:
    return to_html(summarise(record))


def test_the_page_is_whole_and_headed_analogue(record: dict[str, Any]) -> None:
    page = page_of(record)
    reader = read(page)
    assert len(reader.ids) == len(set(reader.ids))
    assert {url[1:] for url in reader.urls if url.startswith("#")} <= set(reader.ids)
    assert "An analogue of the membership paper" in page
    assert page.count('<span class="analogue">analogue</span>') == 7
    assert not re.search(r"https?:", page)
    assert "MiniLM, full, on beavertails: the reference attack reaches an AUC of .71 [.67, .75]" in page
    assert "Nothing was asked for that has such a row." in page


def test_made_up_data_has_no_paper_beside_it(record: dict[str, Any]) -> None:
    small, smoke = page_of(record), page_of({**record, "scale": "smoke"})
    assert "paper&#39;s AUC" in small
    assert "(+.12 to +.16)" in small
    for said in ("paper&#39;s AUC", "+.12", "reaches an AUC", "analogue</span>"):
        assert said not in smoke
    assert "A trial of the commands on made-up sentences" in smoke


def test_a_figure_per_corpus_and_names_of_their_own(record: dict[str, Any]) -> None:
    names = [figure.name for figure in summarise(record).figures]
    assert names == ["figure-2-beavertails", "figure-2-diasafety", "figure-3-tenths", "figure-3-categories-minilm",
                     "figure-4-noise", "section-8.2", "size"]
    for figure in summarise(record).figures:
        assert figure.data
        assert len({tuple(row) for row in figure.data}) == 1
        assert "nan" not in figure.inline


def test_dumbbells_have_the_controls_under_them() -> None:
    rows = [gained("c", definition, "safe", 0.7) for definition in ("paper", "honest, p", "honest, logit")]
    figure = gains(rows, "c", paper=True)
    assert figure is not None
    assert [row["definition"] for row in figure.data] == ["paper", "honest, logit"]
    assert figure.inline.count(">control model<") == 2
    assert "+.100 (+.12 to +.16)" in figure.inline
    assert figure.data[0]["boundary_control"] == 0.52
    assert gains([gained("c", "paper", "safe", None)], "c", paper=True) is None


def test_categories_are_ordered_and_the_unresolved_say_why(record: dict[str, Any]) -> None:
    rows = record["items"]["figure 3"]["rows"]
    figure = categories(rows, "MiniLM", "all regimes")
    assert figure is not None
    assert [row["category"] for row in figure.data][-1] == "rare"
    assert {row["reason"] for row in figure.data} == {None, "too few"}
    assert "unresolved" in figure.inline
    assert categories(rows, "another", "full") is None


def test_the_trade_off_has_every_point_in_its_data(record: dict[str, Any]) -> None:
    figure = tradeoff(record["items"]["figure 4"]["rows"])
    assert figure is not None
    assert len(figure.data) == 12
    assert {(row["definition"], row["mechanism"], row["sigma"], row["queries"]) for row in figure.data} >= {
        ("paper", "none", 0.0, 1), ("honest", "keyed", 0.5, 256)}
    assert "σ 0" in figure.inline
    assert tradeoff([]) is None


def test_copies_and_sizes(record: dict[str, Any]) -> None:
    figure = copies(record["items"]["section 8.2"]["rows"], paper=True)
    assert figure is not None
    assert "−.030 (−.08)" in figure.inline
    assert "−.08" not in copies(record["items"]["section 8.2"]["rows"], paper=False).inline  # type: ignore[union-attr]
    drawn = sizes(record["items"]["size"]["rows"])
    assert drawn is not None
    assert len(drawn.data) == 4


def test_hidden_states_come_first_and_the_rest_is_folded(record: dict[str, Any]) -> None:
    def pictured(regime: str, representation: str) -> dict[str, Any]:
        points = [{"set": name, "x": float(n), "y": float(-n)} for n in range(3)
                  for name in ("random", "boundary members", "boundary non-members")]
        found = {"name": "outlier_boundary", "estimate": one(0.63), "chance": 0.5, "p": one(0.01)}
        return {**HEAD, "regime": regime, "corpus": "c", "seed": 42, "embedding": {
            "representation": representation, "method": "pca", "explained": [0.4, 0.2], "points": points,
            "diagnostics": [found], "neighbours": 10, "records": 9}}

    rows = [pictured(regime, name) for regime in ("full", "lora r=64") for name in ("words", "hidden states")]
    record["items"] = {"section 7.1": {"title": "Outliers?", "rows": rows}}
    names = [figure.name for figure in summarise(record).figures]
    assert names == [f"figure-4-minilm-{regime}-{name}" for name in ("hidden-states", "words")
                     for regime in ("full", "lora-r-64")]
    page = page_of(record)
    folded = page.index("<summary>Further figures: Section 7.1")
    assert page.index(f'id="{names[1]}"') < folded < page.index(f'id="{names[2]}"')
    assert 'class="long">further from their 10 nearest: boundary than other records of the label (AUC)</td>' in page


@pytest.mark.parametrize(("paper", "said"), [
    ({"low": 0.5, "high": 0.6, "models": 2}, ".500 to .600"), ({"low": 0.5, "high": 0.5, "models": 1}, ".500"),
    ({"low": None, "high": 0.22, "models": None}, "up to .220"), ({"low": -0.1, "high": -0.1, "models": 1}, "−.100")])
def test_the_papers_figures_are_shown_where_they_are_asked_for(paper: dict[str, Any], said: str) -> None:
    found = table_of("table 7", [attack("c", "paper", 0.7, 0.5, paper=paper)])
    assert found.rows[0][found.head.index("paper's AUC")] == said
    assert "paper" not in " ".join(table_of("table 7", [attack("c", "paper", 0.7, 0.5, paper=paper)], paper=False).head)


def test_columns_that_say_nothing_are_left_out_and_what_all_rows_share_is_the_title() -> None:
    one_row, two = attack("c", "paper", 0.7, 0.5, paper=None), attack("c", "honest, p", 0.7, 0.5)
    found = table_of("table 7", [one_row, two])
    assert found.head == ("attack", "definition", "AUC", "control", "TPR at 5% FPR", "accuracy", "train–test gap")
    assert found.title == "single-turn, c, MiniLM, full"
    assert table_of("table 7", [two]).head[:4] == PLACES
    assert "variant" in table_of("size", [two | {"variant": "size 20"}]).head
    assert "within" in table_of("table 7", [two | {"part": "multi-turn"}]).head
    assert "TPR at 1% FPR" in table_of("table 9", [two]).head
    assert tables_of("reproduce mia", "table 7", []) == []


def test_tenths_go_from_the_least_to_the_most() -> None:
    figure = tenths([stratum("paper", 0.5 + tenth / 50, decile=tenth, decile_by="target") for tenth in range(10)])
    assert figure is not None
    assert [figure.data[-1][name] for name in ("tenth", "least", "most")] == pytest.approx([10, 0.68, 0.70])
    assert tenths([stratum("paper", None, decile=0, decile_by="target")]) is None


def test_counts_of_zero_are_left_out() -> None:
    sets = {"corpus": "c", "stands_for": "x", "sides": {"a": 2000, "b": 0}, "planted": {"1": 10, "4": 5},
            "duplicates": {"rows": 5, "near_rows": 0}, "paper": {"a": 2000}}
    assert table_of("table 1", [sets]).rows == (("c", "x", "a 2,000", "10 ×1, 5 ×4", "rows 5", "a 2,000"),)


def test_markdown_says_what_the_figures_are(record: dict[str, Any]) -> None:
    record["items"] = {"table 7": {"title": "All attacks", "rows": [attack("a|b", "honest, p", 0.7, 0.5)]},
                       "users": {"title": "Users", "rows": []}}
    said = to_tables(summarise(record))
    assert said.startswith("*Analogue*")
    assert "### Table 7: All attacks\n\n| structure | corpus |" in said
    assert r"| single-turn | a\|b | MiniLM | full | reference | honest, p | .700 [.660, .740] | .500 [" in said
    assert said.endswith("### Users: Users\n\nNothing was asked for that has such a row.\n")
    assert to_tables(summarise({**record, "scale": "smoke"})).startswith("Every sentence here is made up")


def test_a_point_of_a_frontier_is_found_by_its_definition() -> None:
    attacks = [{"attack": "reference", "selection": selection, "reference_kind": kind, "scale": scale,
                "nonmembers": nonmembers, "auc": one(value), "control_auc": one(0.5)}
               for selection, kind, scale, nonmembers, value in (
                   ("global", "paired", "p", "reference_train", 0.6), ("boundary", "paired", "logit", "clean", 0.61),
                   ("boundary", "paired", "p", "reference_train", 0.62),
                   ("boundary", "neutral", "logit", "clean", 0.63), ("boundary", "neutral", "p", "clean", 0.64))]
    point = {"mechanism": "laplace", "noise": "fresh", "queried": "same", "strength": 0.5, "queries": 16,
             "utility": {"accuracy": one(0.9), "missed_positives": one(0.1)}, "attacks": attacks}
    found = [at_boundary(point, name) for name in ("paper", "honest")]
    assert [one and one["auc"]["value"] for one in found] == [0.62, 0.63]
    rows = [{"model": "m", "regime": "full", "frontier": {"points": [point, {**point, "queried": "near-duplicates"}]}}]
    assert table_of("figure 4", rows).rows == (
        ("m", "full", "fresh", "0.5", "16", *(f"{value} [{low}, {high}]" for value, low, high in (
            (".900", ".860", ".940"), (".100", ".060", ".140"), (".620", ".580", ".660"), (".500", ".460", ".540"),
            (".630", ".590", ".670"), (".500", ".460", ".540")))),)
