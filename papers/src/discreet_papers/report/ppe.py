"""`reproduce ppe` to its summary: detectors by the paper's definition and by ours, with the paper's figures; and
`reproduce pairings`, each configuration on each pairing of partitions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from discreet.core.numbers import FORMS, NOTHING, Forms, number, percent, say
from discreet.report import charts
from discreet.report import summary as page
from discreet.report.charts import datum, dot_figure, drawn
from discreet.report.figure import COLOURS, Figure, name_of
from discreet_papers.report.audits import section, with_paper, without_constant
from discreet_papers.report.charts import words_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

KIND = "reproduce ppe"
PLACES = ("domain", "writer roles", "rule", "texts", "role")
SHOWN = ("T3+GMM-v3", "T3+OCSVM-v4", "MLP-v4")
"""Detectors whose scores are drawn."""
CURVED = (("auroc", "AUROC, unsafe against borderline"), ("fpr95", "FPR at 95% TPR, borderline"))
SETS = {"safe_holdout": ("control", "safe"), "unsafe_holdout": ("target", "unsafe"),
        "borderline_eval": ("tolerance", "borderline")}


def _flags(row: page.Record, point: str = "tau0") -> str:
    """"23.0% [14.2%, 33.9%] (TPR 81.2% [70.1%, 89.5%])": a false positive rate is never shown without the true one."""
    if all((row.get(f"{rate}_{point}") or {}).get("value") is None for rate in ("fpr", "tpr")):
        return NOTHING
    return say(f"{{fpr_{point}:share}} (TPR {{tpr_{point}:share}})", row, NOTHING)


def _paper(figures: page.Record) -> str:
    """What the paper prints of a line, in its own order."""
    named = (("AUROC", "auroc", number), ("FPR95", "fpr95", percent), ("FPR90", "fpr90", percent),
             ("FPR", "fpr_tau0", percent), ("TPR", "tpr_tau0", percent))
    return ", ".join(f"{name} {show(figures[key])}" for name, key, show in named
                     if figures.get(key) is not None).replace("-", "−")


def _sides(found: page.Record) -> str:
    return f"{found['safe']}, {found['unsafe']}"


TABLE_FORMS: Forms = {**FORMS, "flags": _flags, "flags_balanced": partial(_flags, point="balanced"), "printed": _paper,
                      "sides": _sides}


def summary(record: page.Record) -> page.Summary:
    """The summary of what `reproduce ppe` saves."""
    words, scale = words_of(KIND), record["scale"]
    paper = with_paper(record)
    sections = [one for name, item in record["items"].items() for one in section(
        name, item, record, tables_of(name, item["rows"], paper=paper), figures_of(name, item["rows"]))]
    found = [say(words["found"], {**row, "place": _place(row)}) for row in beside(
        record["items"].get("figure 4", {"rows": []})["rows"]) if row["detector"] in ("T3+GMM-v3", "T3+OCSVM-v4")]
    end = " Nothing on it is a reproduction of the paper's figures." if record["analogue"] else ""
    grammar, seeds = record["provenance"].get("source") == "grammar", record["provenance"].get("seed")
    lead = "models" if not grammar else "grammar" if paper else "smoke"
    roles = [words["roles"][name] for name in record["provenance"].get("roles") or ()]
    means = words["seeds"]["grammar" if grammar else "models"].format(n=len(seeds)) if isinstance(seeds, list) else ""
    return page.Summary(
        kind=KIND, headline=words["titles"][scale], kicker=page.kicker(record, f"scale {scale}"),
        leads=(" ".join([words["leads"][lead], *roles]), *filter(None, [means]), *found, words["defined"]),
        sections=tuple(sections), provenance=page.facts({"scale": scale, **record["provenance"]}),
        footer=f"This page holds no text of any record.{end}", contents=True)


def beside(rows: Sequence[page.Record]) -> list[page.Record]:
    """The rows in their order, but those that differ in the writer roles alone next to each other, strict first."""
    places: dict[Any, int] = {}
    for row in rows:
        places.setdefault(_but_roles(row), len(places))
    return sorted(rows, key=lambda row: (places[_but_roles(row)], row.get("roles") != "strict"))


def _but_roles(row: page.Record) -> tuple[Any, ...]:
    return tuple((key, value) for key, value in row.items() if key != "roles" and (
        isinstance(value, str) or (key == "borderline" and isinstance(value, int))))


def _place(row: page.Record) -> str:
    """The domain of a row, with its writer roles where they are not strict."""
    roles = row.get("roles", "strict")
    return str(row["domain"]) if roles == "strict" else f"{row['domain']}, {roles} roles"


def tables_of(name: str, rows: Sequence[page.Record], *, paper: bool = True) -> list[page.Table]:
    """The tables of one item; columns of the paper's figures only where they are asked for."""
    columns = words_of(KIND)["columns"]
    chosen = [pair for pair in columns.get(name, columns["pairing"]) if paper or "paper" not in pair[0]]
    by_domain = [(domain, beside([row for row in rows if row["domain"] == domain]))
                 for domain in dict.fromkeys(row["domain"] for row in rows)]
    found = page.tabled(chosen, forms=TABLE_FORMS, groups=by_domain)
    return [] if found is None else [without_constant(found, PLACES, named=True)]


def figures_of(name: str, rows: Sequence[page.Record]) -> list[Figure]:
    """The drawings of one item."""
    if name == "figure 4" and rows:
        shown = [{**row, "line": row["detector"], "heading": _place(row)}
                 for domain in dict.fromkeys(row["domain"] for row in rows)
                 for row in sorted(rows, key=_place) if row["domain"] == domain]
        made = dot_figure("figure-4-confound", shown, [("target hollow", "within"), ("target", "borderline")],
                          "domain roles detector within* borderline* fpr_tau0* tpr_tau0* paper_within=paper.within "
                          "paper_borderline=paper.auroc", joined=True, axis="AUROC", legend=[
                              ("target hollow", "against safe texts"), ("target", "against borderline texts")])
        return [] if made is None else [made]
    parts = {place: [row for row in rows if _place(row) == place] for place in dict.fromkeys(map(_place, rows))}
    if name == "section scores":
        return [figure for place, mine in parts.items() for figure in (_scores(mine, place), _risk(mine, place))
                if figure is not None]
    if name == "section curves":
        return [_curves(mine, place) for place, mine in parts.items()]
    return []


def _scores(rows: Sequence[page.Record], domain: str) -> Figure | None:
    mine = [row for row in rows if row["detector"] in SHOWN]
    shown, data = [], list[dict[str, Any]]()
    for row in mine:
        edges = row["edges"]
        marks: list[charts.Mark] = [lambda axes: axes.axvline(0.0, color=COLOURS["soft"], lw=1.2)]
        for kind, (role, said) in SETS.items():
            counts = row["counts"][kind]
            shares = [count / max(1, sum(counts)) for count in counts]
            marks.append(charts.curve([((low + high) / 2, y) for low, high, y in zip(edges, edges[1:], shares,
                                                                                   strict=False)], role, ls="-"))
            data += [{"domain": domain, "detector": row["detector"], "set": said, "from": low, "to": high,
                      "count": count} for low, high, count in zip(edges, edges[1:], counts, strict=False)]
        # Few ticks: small δ have many digits.
        ticks = [tick for tick in charts.ticks_of(edges[0], edges[-1], 3) if edges[0] <= tick <= edges[-1]]
        shown.append(charts.Panel(title=row["detector"], x="δ", y="share", marks=marks, axes={"xticks": ticks}))
    return drawn(f"scores-{name_of(domain)}", partial(charts.panels, shown, columns=len(shown) or 1, legend=[
        (f"{role} line", said) for role, said in SETS.values()]), data, "ppe-scores", domain=domain) if shown else None


def _risk(rows: Sequence[page.Record], domain: str) -> Figure | None:
    roles = dict(zip(SHOWN, ("oracle", "target", "second"), strict=True))
    mine = [row for row in rows if row["detector"] in roles]
    panel = charts.Panel(x="share of texts decided", y="wrong", percent="xy", marks=[
        charts.curve([(point["coverage"], point["risk"]) for point in row["risk"]], roles[row["detector"]])
        for row in mine])
    return drawn(f"risk-{name_of(domain)}", partial(charts.panels, [panel], columns=1, legend=[
        (f"{roles[row['detector']]} line", row["detector"]) for row in mine]), [
            datum(point, "coverage risk", domain=domain, detector=row["detector"]) for row in mine
            for point in row["risk"]], "ppe-risk", domain=domain) if mine else None


def _curves(rows: Sequence[page.Record], domain: str) -> Figure:
    """AUROC and FPR95 over how many borderline texts are on the safe side, a line a detector, with intervals.

    Numbers stand at equal distances.
    """
    sizes = sorted({row["borderline"] for row in rows})
    names = list(dict.fromkeys(row["detector"] for row in rows))
    roles = dict(zip(names, ("target", "tolerance", "second", "oracle"), strict=False))

    def draw() -> Canvas:
        shown = []
        for part, title in CURVED:
            marks: list[charts.Mark] = []
            for name in names:
                own = [row for row in rows if row["detector"] == name]
                marks.append(charts.curve(((sizes.index(row["borderline"]), row[part]["value"]) for row in own),
                                          roles[name]))
                marks += [charts.upright(sizes.index(row["borderline"]), row[part], roles[name], 7.0) for row in own]
            ends = charts.reach((row[part][end] for row in rows for end in ("low", "high")), 0.0, 1.0)
            shown.append(charts.Panel(marks=marks, title=title, x="borderline texts fitted on", axes={
                "xlim": (-0.3, len(sizes) - 0.7), "ylim": ends, "xticks": range(len(sizes)),
                "xticklabels": [f"{size:,}" for size in sizes]}))
        return charts.panels(shown, legend=[(roles[name], name) for name in names])

    data: list[dict[str, Any]] = [
        {"detector": row["detector"], "borderline": row["borderline"],
         **{f"{part}_{end}": row[part][end] for part, _ in CURVED for end in ("value", "low", "high")}} for row in rows]
    return drawn(f"augmentation-{name_of(domain)}", draw, data, "augmentation", domain=domain)


def pairings_summary(record: page.Record) -> page.Summary:
    """The summary of `reproduce pairings`: a table a pairing, of the texts that each configuration keeps."""
    point, found = record["point"], record["configurations"]
    words = words_of("reproduce pairings")
    paired, subtyped = ([[head.format(point=point), cell] for head, cell in words[name]]
                        for name in ("paired", "subtypes"))
    sections = []
    for pairing in dict.fromkeys(name for of in found.values() for name in of):
        rows = [{**of[pairing], "name": name} for name, of in found.items()]
        subtypes = found.get("default", {}).get(pairing, {}).get("subtypes", {})
        sections.append(page.part(pairing.replace("_", " "), page.tabled(paired, rows), page.tabled(
            subtyped, [{**of, "name": kind} for kind, of in subtypes.items()])))
    mixtures = [(name, say(words["components"], one)) for name, one in (record.get("components") or {}).items()]
    if mixtures:
        sections.append(page.part("Gaussian mixtures", page.table(("configuration", "components"), mixtures)))
    return page.Summary(
        "reproduce pairings", f"{record['domain']}: texts that the detector does not abstain on; default "
        f"point {point}", sections=tuple(sections))
