"""What the commands of guards, the stress test, seals, reviews and `audit check-table` print, from their records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

from discreet.core.numbers import counted, given, interval, number, say
from discreet.report import summary as page

KINDS = ("unsafe", "safe", "borderline")
FIGURES = ("", "value [95% interval]", "n")
SHARE = "share that leaks [95% interval]"


def _bullets(said: Iterable[str]) -> page.Bullets:
    return page.Bullets("", tuple(said))


def _figures(figures: page.Record, names: Mapping[str, str]) -> list[tuple[str, str, str]]:
    return [(names.get(name, name), interval(one), say("{n:,:–}", one)) for name, one in figures.items()]


# Guards


def evaluation_summary(record: page.Record) -> page.Summary:
    """The summary of `guard evaluate`."""
    names = page.words_of("guard")["evaluated"]
    several = record["domains"] if len(record["domains"]) > 1 else {}
    parts = {"All domains": record["overall"], **{name.capitalize(): one for name, one in several.items()}}
    classes = [(kind, interval(one["precision"]), interval(one["recall"])) for kind, one in record["classes"].items()]
    subjects = [(who, interval(one["held"])) for who, one in record["subjects"].items()]
    return page.Summary("guard evaluate", f"Operating point: {record['point']}", sections=(
        *(page.part(title, page.table(FIGURES, _figures(figures, names))) for title, figures in parts.items()),
        page.part("Classes bound to the person", page.table(("class", "precision", "recall"), classes)),
        page.part("Clusters held, by whose they are", page.table(("subject", "held"), subjects)),
        page.part("Controls", page.table(FIGURES, _figures(record["controls"], names)))))


def calibration_summary(record: page.Record) -> page.Summary:
    """The summary of `guard calibrate`."""
    refitted = "refitted to these answers (prices from other folds)"
    return page.Summary("guard calibrate", say(page.words_of("guard")["calibrated"], record), sections=(
        _prices("as fitted", record["points"], record["prices"]),
        *([_prices(refitted, record["refitted"], record["refitted_prices"])] if record["refitted"] else []),
        *([page.part("", page.Text(record["note"]))] if record["note"] else [])))


def _prices(title: str, points: Mapping[str, float], prices: page.Record) -> page.Section:
    names = page.words_of("guard")["prices"]
    groups = [(f"{name} (τ = {tau:.4g})", _figures(prices.get(name, {}), names)) for name, tau in points.items()]
    return page.part(title, *([page.grouped_table(FIGURES, groups)] if any(rows for _, rows in groups) else
                              [page.Text(name) for name, _ in groups]))


def fit_summary(record: page.Record) -> page.Summary:
    """The summary of `guard fit`: counts, what is stored, and every discriminator on the evaluation set."""
    card, words = record["card"], page.words_of("guard")
    sets = [(part, *(f"{card['counts'].get(f'{part}_{kind}', 0):,}" for kind in ("safe", "borderline", "unsafe")))
            for part in ("fit", "calibration", "evaluation")]
    notes = [page.Text(say(words["stored"], card))]
    if card["density"].get("features") == "typicality":
        notes.append(page.Text(words["typicality"]))
    if components := card["density"].get("components"):
        notes.append(page.Text(f"Gaussian mixtures of the density: {say(words['components'], components)}."))
    sections = [page.part("", page.table(("", "safe", "borderline", "unsafe"), sets), *notes)]
    for pairing, against in (("within", "safe"), ("borderline", "borderline")):
        rows = [{**of[pairing], "name": f"{kind}{' (decides)' if kind == record['decides'] else ''}"}
                for kind, of in card["metrics"].items() if pairing in of]
        sections.append(page.part(f"Unsafe against {against} texts of the evaluation set, abstentions included",
                                  page.tabled(words["fitted"], rows)))
    return page.Summary("guard fit", say(words["read"], card), sections=tuple(one for one in sections if one.blocks))


def guard_audit_summary(record: page.Record) -> page.Summary:
    """The summary of `audit guard`: its outputs, canaries, and what lies in its folder."""
    words, canaries = page.words_of("guard")["audited"], record["canaries"]
    targets = [{**one, "output": words["outputs"][one["target"]]} for one in record["targets"]]
    rows = [{**canaries[name], "output": said} for name, said in words["outputs"].items()]
    held = [{**one, "side": side} for side, one in record["stored"].items() if one["rows"]]
    because = [page.Bullets(f"{one['output']}: {one['verdict']}", tuple(one["reasons"])) for one in targets]
    return page.Summary(
        "audit guard", say(words["headlines"][record["verdict"]], {
            name: given(record[name]) for name in ("tolerance_auc", "tolerance_part")}), page.kicker(record),
        record["verdict"],
        leads=(*(say(words["remembers"], one) for one in rows if _remembered(one)),
               *([say(words["holds"], one) for one in held] or [words["holds_none"]])), sections=(
            page.part(words["titles"]["outputs"], page.tabled(words["columns"], targets),
                      page.Text(say(words["judged_note"], record["provenance"]))),
            page.part(words["titles"]["why"], *because),
            page.part(words["titles"]["canaries"], page.tabled(words["canaries"], rows),
                      page.Text(say(words["canary_note"], canaries))),
            page.part(words["titles"]["stored"], page.tabled(words["stored"], held),
                      page.Text(words["stored_note"]) if held else page.Text(words["holds_none"])),
            page.part(words["titles"]["limits"], _bullets(words["limits"]))),
        provenance=page.facts(record["provenance"]))


def _remembered(output: page.Record) -> bool:
    """Whether the twin's figure is clear of chance and of the guard's, which saw no canary."""
    twin, guard = output["twin"], output["guard"]
    return twin["low"] is not None and twin["low"] > max(0.5, guard["high"] or 0.0)


def stress_summary(record: page.Record, sizes: Mapping[str, int]) -> page.Summary:
    """The summary of `stress-test`; the verdict of the gate comes first where there is one."""
    target, threshold = f"{100 * record['tpr']:g}% TPR", record["threshold"]
    names = {"auroc": "AUROC", "fpr95": "FPR at 95% TPR", "fpr90": "FPR at 90% TPR"}
    points = {"fpr_at_tpr": f"at {target}", **({} if threshold is None else {
        "fpr_at_threshold": f"at threshold {threshold:g}"})}
    names |= {name: f"FPR {said}" for name, said in points.items()
              if name == "fpr_at_threshold" or target not in ("95% TPR", "90% TPR")}
    rows = [(word, *(interval(record[pair][name]) for pair in ("within", "borderline")))
            for name, word in names.items()]
    if record["tpr_at_threshold"] is not None:
        rows.append((f"TPR at threshold {threshold:g}", interval(record["tpr_at_threshold"]), ""))
    rows += [("AUROC lost", "", interval(record["difference"])),
             (f"score at {target}", given(record["threshold_at_tpr"]), "")]
    subtypes = [(name, *(interval(rates[key]) for key in points), f"{rates['fpr_at_tpr']['n_neg']:,}")
                for name, rates in record["subtypes"].items()]
    checks, controls = record["checks"], record["controls"]
    shown = [("labels at random, AUROC", interval(controls["control_auroc"]), _held(checks["control"], "holds 1/2")),
             ("borderline alone, FPR", interval(controls["unplanted_fpr"]), ""),
             ("unsafe planted, FPR", interval(controls["planted_fpr"]), _held(checks["planted"], "rises"))]
    direction = None if checks["direction"] else page.Text(page.words_of("guard")["direction"])
    figures = (record["within"], record["borderline"], {"": record["difference"]}, *record["subtypes"].values(),
               controls)
    reasons = dict.fromkeys(one["reason"] for part in figures for one in part.values()
                            if isinstance(one, Mapping) and one.get("reason"))
    counts = ", ".join(f"{sizes[kind]:,} {kind}" for kind in KINDS)
    gated = record["verdict"] is not None
    return page.Summary(
        "stress-test", record["reason"] if gated else counts,
        verdict=record["verdict"], leads=(counts,) if gated else (), sections=(
            page.part("", page.table(("", "unsafe : safe", "unsafe : borderline"), rows)),
            *([page.part("By subtype", page.table(("borderline by subtype, FPR", *points.values(), "n"), subtypes))]
              if subtypes else []),
            page.part("Controls", page.table(("", "value [95% interval]", ""), shown), direction),
            *([page.part("Unresolved", *map(page.Text, reasons))] if reasons else [])))


def _held(holds: bool, good: str) -> str:
    return good if holds else f"NOT: {good}"


# Published tables and seals


def table_summary(record: page.Record) -> page.Summary:
    """The summary of `audit check-table`: the impossible cells with their reasons, and the flip rates."""
    words = page.words_of("published")
    cells = [{**one, "epsilon": one["epsilon"] or inf, "said": "above the halved ceiling too"
              if (one["ceiling"] or {}).get("above_halved") else ""} for one in record["cells"]]
    flips = [{**one, "benchmark": one["benchmark"] or "all rows", "fits": words["fits"][one["fits"]]}
             for one in record["flips"]]
    rows = {"above": [one for one in cells if one["ceiling"] and one["ceiling"]["above"]],
            "outside": [one for one in cells if one["accuracy"] and one["accuracy"]["outside"]], "flips": flips}
    n = record["impossible"]
    return page.Summary(
        "audit check-table", f"{counted(n, 'cell')} {'is' if n == 1 else 'are'} impossible." if n else
        "Every cell is possible.",
        leads=(say(words["tested"], {**record, "cells": counted(len(cells), "cell"),
                                     "with_accuracy": record["tests"]["accuracy"] // 2}),),
        sections=tuple(page.part(title, page.tabled(words[name], rows[name])) for name, title in words["tables"].items()
                       if rows[name]))


def seal_summary(record: page.Record) -> page.Summary:
    """The summary of `seal`."""
    words = page.words_of("seal")
    record = {**record, "units": "records" if record["unit"] == "record" else "groups",
              "alone": record["unpaired"] + record["copies_kept_out"]}
    kept = say(words["copies"], record) if record["copies_kept_out"] else ""
    said = [say(words["unpaired"], record) + kept, say(words["length"], record),
            say(words["few" if record["least_win_rate"] is None else "least"], record), say(words["alpha"], record)]
    then = [say(words["publish"], record), *([] if record["coins_from"] == "os" else [words["seeded"]])]
    return page.Summary("seal", say(words["headline"], record), sections=(
        page.part("", _bullets(said)), page.part("Commitment", page.Text(record["commitment"]), _bullets(then))))


def certificate_summary(found: page.Record) -> page.Summary:
    """The summary of `unseal`: the verdict first, then what it rests on."""
    words = page.words_of("seal")
    ceiling = "nothing" if found["epsilon_ceiling"] is None else f"{found['epsilon_ceiling']:.3f} at the most"
    given = {**found, "most": ceiling, "leak": 1.0 / found["alpha"], "of": _openings(found)}
    rows = [(say(name, given), say(said, given, "none")) for name, said in words["certificate"]]
    rates = [(f"trained one first, {name}", interval(rate)) for name, rate in found["win_rate"].items()]
    rejected = f"{found['rejected_at']:,} pairs" if found["rejected"] else "never"
    return page.Summary("unseal", found["reason"], verdict=found["verdict"], sections=(
        page.part("", page.Facts((rows[0], *rates, rows[1], ("leak first found after", rejected), *rows[2:]))),
        page.part("", _bullets(found["claims"]))))


def checked_summary(certificate: page.Record, problems: Sequence[str], *, published: bool, key: bool) -> page.Summary:
    """The summary of `verify`."""
    words: Mapping[str, Any] = page.words_of("seal")
    if problems:
        return page.Summary("certificate-check", words["inconsistent"], sections=(page.part("", _bullets(problems)),))
    signed = certificate["signature"] is not None
    said = [say(words["level"], certificate),
            *([words["opened"].format(average=_average(certificate), **certificate)]
              if certificate["openings"] != 1 else []),
            *([] if published else [words["unpublished"]]),
            *([words["signed"] if signed else words["unsigned"]] if not (signed and key) else [])]
    return page.Summary("certificate-check", say(words["consistent"], certificate), sections=(
        page.part("", _bullets(said)),))


def _average(found: page.Record) -> str:
    return f"average e-value 10^{found['log10_e_value_average']:.2f}"


def _openings(found: page.Record) -> str:
    return "" if found["openings"] == 1 else f"; {_average(found)}"


# Reviews


def reviews_summary(record: page.Record) -> page.Summary:
    """The summary of `guard calibrate --reviews`: what decisions say of each guard, and what they would support."""
    sections: list[page.Section] = []
    for name, found in record["guards"].items():
        held = [(why, interval(one), say("{n:,:–}", one)) for why, one in found["held"].items()]
        twice = [(what, interval(found[key]), say("{n:,:–}", found[key])) for key, what in
                 (("agreement", "blind second decisions agree"), ("kappa", "kappa"))]
        edges = [(title, [(number(one["at"]), f"{one['n']:,}", interval(one["leaks"])) for one in found[side]])
                 for side, title in (("below", "at or below"), ("above", "above"))]
        sections += [
            page.part(name, page.table(("held because", SHARE, "n"), held), page.table(("", "value", "n"), twice),
                      page.grouped_table(("log-odds of evidence", "decisions", SHARE), edges)),
            page.part("Proposal", *map(page.Text, _proposal(found, record)))]
    return page.Summary("guard calibrate", "Decisions of reviewers: a proposal, and nothing was changed. They say "
                        "nothing of answers that passed.", sections=tuple(sections))


def _proposal(found: page.Record, record: page.Record) -> Sequence[str]:
    if found["note"]:
        return [found["note"]]
    said = []
    if found["unsure_above"] is not None:
        said.append(f"unsure_above: {found['unsure_above']:.6g}  (at or below it at most "
                    f"{record['most_missed']:.1%} leak, at the upper end: these would pass without a review)")
    if found["evidence_tau"] is not None:
        said.append(f"evidence_tau: {found['evidence_tau']:.6g}  (above it at most {record['most_false']:.1%} do not "
                    "leak, at the upper end: these would be flagged without a review)")
    return [*said, f"Of these tickets {found['saved']:,} would not have been reviewed."]


def diff_summary(record: page.Record) -> page.Summary:
    """The summary of `guard diff`: decisions that change, the shares held, and the weeks."""
    rows = [(one["old"], one["new"], f"{one['n']:,}") for one in record["changes"]]
    changed = sum(one["n"] for one in record["changes"] if one["old"] != one["new"])
    shares = [(what, interval(record[key])) for key, what in (
        ("held_old", "held by the old guard"), ("held_new", "held by the new guard"),
        ("newly_held", "passed, and would be held"), ("newly_passed", "held, and would pass"))]
    weeks = [(one["week"], f"{one['n']:,}", interval(one["held"]), interval(one["old"]), interval(one["new"]))
             for one in record["weeks"]]
    drift = page.Text("Old and new: the probability that an answer of the week has a higher score than one of the "
                      "weeks before; .5 without drift.")
    none = page.Text("No answer has a time: a column 'at' in the log shows the drift of scores.")
    return page.Summary(
        "guard diff", f"{counted(record['n'], 'answer')}: {changed:,} would be decided otherwise", sections=(
            page.part(f"{record['old']} → {record['new']}", page.table(("old", "new", "answers"), rows),
                      page.table(("share of answers", "value [95% interval]"), shares)),
            page.part("Weeks", page.table(("week", "answers", "held by the new", "old", "new"), weeks),
                      drift if weeks else none)))
