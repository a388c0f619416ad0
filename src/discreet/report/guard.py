"""What the commands of the guard and the stress test print, from their records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from discreet.core.numbers import NOTHING, given, interval
from discreet.report.summary import Record, Section, Summary, Table, Text, blocks, grouped_table, table
from discreet.report.words import words_of

WORDS = words_of("guard")

EVALUATED = WORDS["evaluated"]
PRICES = WORDS["prices"]
FITTED = {"AUROC": "auroc", "TPR at 0": "tpr_conservative", "FPR at 0": "fpr_conservative"}
PAIRED = {"auroc": "AUROC", "fpr95": "FPR95", "fpr_tau0": "FPR at 0", "tpr_tau0": "TPR at 0",
          "abstain_safe": "abstain (-)", "abstain_unsafe": "abstain (+)"}
KINDS = ("unsafe", "safe", "borderline")


def _size(estimate: Record) -> str:
    return NOTHING if estimate["n"] is None else f"{estimate['n']:,}"


def _named(figures: Record) -> list[tuple[str, str, str]]:
    return [(EVALUATED.get(name, name), interval(one), _size(one)) for name, one in figures.items()]


def _section(title: str, *tables: Table | None) -> Section:
    return Section(title, blocks(*tables), terminal=True)


def evaluation_summary(record: Record) -> Summary:
    """The summary of `guard evaluate`."""
    head = ("", "value [95% interval]", "n")
    several = record["domains"] if len(record["domains"]) > 1 else {}
    parts = {"All domains": record["overall"], **{name.capitalize(): one for name, one in several.items()}}
    classes = [(kind, interval(one["precision"]), interval(one["recall"])) for kind, one in record["classes"].items()]
    subjects = [(who, interval(one["held"])) for who, one in record["subjects"].items()]
    return Summary("guard evaluate", f"Operating point: {record['point']}", sections=(
        *(_section(title, table(head, _named(figures))) for title, figures in parts.items()),
        _section("Classes bound to the person", table(("class", "precision", "recall"), classes)),
        _section("Clusters held, by whose they are", table(("subject", "held"), subjects)),
        _section("Controls", table(head, _named(record["controls"])))))


def calibration_summary(record: Record) -> Summary:
    """The summary of `guard calibrate`."""
    counts = record["counts"]
    sections = [_prices("as fitted", record["points"], record["prices"])]
    if record["refitted"]:
        sections.append(_prices("refitted to these answers (prices from other folds)", record["refitted"],
                                record["refitted_prices"]))
    if record["note"]:
        sections.append(Section("", (Text(record["note"]),), terminal=True))
    return Summary("guard calibrate", f"{counts['leaks']:,} answers leak, {counts['harmless']:,} do not; the "
                   f"evidence rules flag {counts['flagged_by_evidence']:,}, {record['decides']} decides on "
                   f"{counts['decided_by_delta']:,}", sections=tuple(sections))


def _prices(title: str, points: Mapping[str, float], prices: Record) -> Section:
    groups = [(f"{name} (τ = {tau:.4g})", [(PRICES[word], interval(one), _size(one)) for word, one in prices.get(
        name, {}).items()]) for name, tau in points.items()]
    found = grouped_table(("", "value [95% interval]", "n"), groups)
    if found is None:
        return Section(title, tuple(Text(name) for name, _ in groups), terminal=True)
    return _section(title, found)


def fit_summary(record: Record) -> Summary:
    """The summary of `guard fit`: counts, what is stored, and every discriminator on the evaluation set."""
    card, decides = record["card"], record["decides"]
    counts, stored = card["counts"], card["stores"]["training_embeddings"]
    dropped = ", ".join(f"{counts[name]:,} {name.replace('_', ' ')}" for name in (
        "repeated", "contradictory", "direct", "not_english"))
    sets = [(part, *(f"{counts.get(f'{part}_{kind}', 0):,}" for kind in ("safe", "borderline", "unsafe")))
            for part in ("fit", "calibration", "evaluation")]
    notes = [Text(f"Training embeddings in the folder: {stored['safe']:,} safe, {stored['unsafe']:,} unsafe.")]
    if components := card["density"].get("components"):
        notes.append(Text(f"Gaussian mixtures of the density: {_components(components)}."))
    sections = [Section("", (*blocks(table(("", "safe", "borderline", "unsafe"), sets)), *notes), terminal=True)]
    for pairing, against in (("within", "safe"), ("borderline", "borderline")):
        rows = [(f"{kind}{' (decides)' if kind == decides else ''}", *(
            interval(of[pairing]["full"][name]) for name in FITTED.values()), interval(of[pairing]["abstain"]["safe"]))
            for kind, of in card["metrics"].items() if pairing in of]
        sections.append(_section(f"Unsafe against {against} texts of the evaluation set, abstentions included",
                                 table(("discriminator", *FITTED, "abstained safe"), rows)))
    return Summary("guard fit", f"{counts['read']:,} texts read; dropped: {dropped}",
                   sections=tuple(one for one in sections if one.blocks))


def _components(found: Mapping[str, int]) -> str:
    return (f"K = {found['safe']} on the safe side, K = {found['unsafe']} on the unsafe side; {found['requested']} "
            "requested")


def partitions_summary(record: Record) -> Summary:
    """The summary of `guard pairings`: a table a pairing, of the texts that each configuration keeps."""
    point, found = record["point"], record["configurations"]
    head = ("", *PAIRED.values(), f"FPR at {point}", f"TPR at {point}")
    sections = []
    for pairing in dict.fromkeys(name for of in found.values() for name in of):
        rows = [(name, *(interval(of[pairing][cell]) for cell in (*PAIRED, "fpr_point", "tpr_point")))
                for name, of in found.items()]
        subtypes = found.get("default", {}).get(pairing, {}).get("subtypes", {}) if "default" in found else {}
        kinds = [(kind, interval(of["fpr_point"]), interval(of["abstain"])) for kind, of in subtypes.items()]
        sections.append(_section(pairing.replace("_", " "), table(head, rows),
                                 table(("default, by subtype", f"FPR at {point}", "abstained"), kinds)))
    mixtures = [(name, _components(one)) for name, one in (record.get("components") or {}).items()]
    if mixtures:
        sections.append(_section("Gaussian mixtures", table(("configuration", "components"), mixtures)))
    return Summary("guard evaluate", f"{record['domain']}: texts that the detector does not abstain on; default point "
                   f"{point}", sections=tuple(sections))


def stress_summary(record: Record, sizes: Mapping[str, int]) -> Summary:
    """The summary of `stress-test`; the verdict of the gate comes first where there is one."""
    target, threshold = f"{100 * record['tpr']:g}% TPR", record["threshold"]
    words = {"auroc": "AUROC", "fpr95": "FPR at 95% TPR", "fpr90": "FPR at 90% TPR"}
    points = {"fpr_at_tpr": f"at {target}"}
    if target not in ("95% TPR", "90% TPR"):
        words["fpr_at_tpr"] = f"FPR at {target}"
    if threshold is not None:
        points["fpr_at_threshold"] = f"at threshold {threshold:g}"
        words["fpr_at_threshold"] = f"FPR {points['fpr_at_threshold']}"
    rows = [(word, *(interval(record[pair][name]) for pair in ("within", "borderline")))
            for name, word in words.items()]
    if record["tpr_at_threshold"] is not None:
        rows.append((f"TPR at threshold {threshold:g}", interval(record["tpr_at_threshold"]), ""))
    rows += [("AUROC lost", "", interval(record["difference"])),
             (f"score at {target}", given(record["threshold_at_tpr"]), "")]
    subtypes = [(name, *(interval(rates[key]) for key in points), f"{rates['fpr_at_tpr']['n_neg']:,}")
                for name, rates in record["subtypes"].items()]
    checks, controls = record["checks"], record["controls"]
    shown = [("labels at random, AUROC", interval(controls["placebo_auroc"]), _said(checks["placebo"], "holds 1/2")),
             ("borderline alone, FPR", interval(controls["unplanted_fpr"]), ""),
             ("unsafe planted, FPR", interval(controls["planted_fpr"]), _said(checks["planted"], "rises"))]
    direction = None if checks["direction"] else Text(
        "Safe texts outrank unsafe ones, though a higher score must mean unsafe.")
    reasons = tuple(map(Text, _reasons(record)))
    counts = ", ".join(f"{sizes[kind]:,} {kind}" for kind in KINDS)
    return Summary(
        "stress-test", counts if record["verdict"] is None else f"{record['verdict'].capitalize()}: {record['reason']}",
        verdict=record["verdict"], leads=() if record["verdict"] is None else (counts,), sections=(
            _section("", table(("", "unsafe : safe", "unsafe : borderline"), rows)),
            *([_section("By subtype", table(("borderline by subtype, FPR", *points.values(), "n"), subtypes))]
              if subtypes else []),
            Section("Controls", blocks(table(("", "value [95% interval]", ""), shown), direction), terminal=True),
            *([Section("Unresolved", reasons, terminal=True)] if reasons else [])))


def _said(holds: bool, good: str) -> str:
    return good if holds else f"NOT: {good}"


def _reasons(record: Record) -> Iterable[str]:
    tables = (record["within"], record["borderline"], {"": record["difference"]}, *record["subtypes"].values(),
              record["controls"])
    return dict.fromkeys(one["reason"] for figures in tables for one in figures.values()
                         if isinstance(one, Mapping) and one.get("reason"))
