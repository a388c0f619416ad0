"""What `seal`, `unseal` and `audit check-table` print, from their records."""

from __future__ import annotations

from math import inf

from discreet.core.numbers import counted, epsilon, interval, number, p_value, percent
from discreet.report.summary import Bullets, Facts, Record, Section, Summary, Table, Text, table
from discreet.report.words import words_of

WORDS = words_of("published")

FITS = WORDS["fits"]
CELL = ("row", "benchmark", "attack", "epsilon", "n", "success")


def table_summary(record: Record) -> Summary:
    """The summary of `audit check-table`: the impossible cells with their reasons, and the flip rates."""
    cells, tests = record["cells"], record["tests"]
    above = [(*_cell(one), f"> {percent(one['ceiling']['ceiling'], 2)}", p_value(one["ceiling"]["p"]),
              f"{one['ceiling']['epsilon_needed']['value']:.2f}",
              "above the halved ceiling too" if one["ceiling"]["above_halved"] else "")
             for one in cells if one["ceiling"] and one["ceiling"]["above"]]
    outside = [(*_cell(one), f"{percent(one['accuracy']['least'], 2)} to {percent(one['accuracy']['most'], 2)}",
                p_value(one["accuracy"]["p"])) for one in cells if one["accuracy"] and one["accuracy"]["outside"]]
    flips = [(one["benchmark"] or "all rows", percent(one["distance_claimed"], 2), percent(one["distance_halved"], 2),
              FITS[one["fits"]]) for one in record["flips"]]
    parts: list[tuple[str, Table | None]] = [
        ("More often right than epsilon allows", table((*CELL, "ceiling", "p", "needs epsilon", ""), above)),
        ("Success and train accuracy exclude each other", table((*CELL, "expected", "p"), outside)),
        ("Flip rate that train accuracy implies", table(
            ("benchmark", "off if claimed", "off if halved", "fits"), flips))]
    tested = (f"{counted(len(cells), 'cell')}: {record['above_ceiling']} of {tests['ceiling']} with a finite epsilon "
              f"above its ceiling ({record['above_halved_ceiling']} even if labels flip half as often), "
              f"{record['outside_accuracy']} of {tests['accuracy'] // 2} at odds with train accuracy; Bonferroni at "
              f"{record['alpha']:g}.")
    n = record["impossible"]
    headline = f"{counted(n, 'cell')} {'is' if n == 1 else 'are'} impossible." if n else "Every cell is possible."
    return Summary("audit check-table", headline, leads=(tested,), sections=tuple(
        Section(title, (one,), terminal=True) for title, one in parts if one is not None))


def _cell(one: Record) -> tuple[str, ...]:
    return (str(one["row"]), one["benchmark"] or "", one["attack"] or "", epsilon(one["epsilon"] or inf),
            f"{one['n_canaries']:,}", percent(one["success"]["value"], 2))


def seal_summary(record: Record) -> Summary:
    """The summary of `seal`."""
    unit = "records" if record["unit"] == "record" else "groups"
    least = record["least_win_rate"]
    kept = f", {record['copies_kept_out']:,} copies of another's text among them" if record["copies_kept_out"] else ""
    said = [
        f"{record['unpaired'] + record['copies_kept_out']:,} {unit} in no pair are trained on as they are{kept}",
        f"the longer text of a pair is {record['length_ratio_median']:.2f} times the shorter (median; most "
        f"{record['length_ratio_most']:.2f})",
        "so many pairs cannot find a leak even where every one is won: more are needed" if least is None else
        f"so many pairs find a leak in a model that ranks the trained one first in {percent(least, 0)} of pairs with "
        f"chance .8; their bound on epsilon is {record['epsilon_ceiling']:.3f} at the most (the one for stopping early "
        "apart)",
        f"a leak is found in a model without one with chance {record['alpha']:g} at the most; the commitment holds "
        "that level"]
    seeded = [] if record["coins_from"] == "os" else ["seeded: not secret; this seal proves nothing to others"]
    return Summary(
        "seal", f"{record['pairs']:,} pairs of {unit}; train on {record['train']:,} records, score {record['probe']:,}",
        sections=(Section("", (Bullets("", tuple(said)),), terminal=True), Section("Commitment", (
            Text(record["commitment"]), Bullets("", (
                f"publish {record['out']}/commitment.json now; keep coins.json and train.jsonl from whoever scores",
                *seeded))), terminal=True)))


def certificate_summary(found: Record) -> Summary:
    """The summary of `unseal`: the verdict first, then what it rests on."""
    least, ceiling, alpha = found["least_win_rate"], found["epsilon_ceiling"], found["alpha"]
    most = "nothing" if ceiling is None else f"{ceiling:.3f} at the most"
    rows = [
        ("pairs", f"{found['pairs']:,}"),
        *((f"trained one first, {name}", interval(rate)) for name, rate in found["win_rate"].items()),
        ("e-value", f"10^{found['log10_e_value_max']:.2f} at its highest (a leak at {1.0 / alpha:g}), "
                    f"10^{found['log10_e_value']:.2f} after all pairs"),
        ("leak first found after", f"{found['rejected_at']:,} pairs" if found["rejected"] else "never"),
        ("epsilon at least", f"{found['epsilon_lower']:.3f} (replacing one {found['unit']}; this bound can show {most} "
                             "with these pairs)"),
        ("epsilon at least, anytime", f"{found['epsilon_lower_anytime']:.3f} (another bound, which also holds where "
                                      "one stops early)"),
        (f"power at win rate {found['tolerance']:g}", f"{found['power']:.3f} at the least"),
        ("least win rate seen", number(least, missing="none")), ("level", _level(found)),
        ("openings", str(found["openings"]) + ("" if found["openings"] == 1 else f"; {_average(found)}")),
        ("commitment", found["commitment"])]
    return Summary("unseal", f"{found['verdict'].capitalize()}: {found['reason']}", verdict=found["verdict"], sections=(
        Section("", (Facts(tuple(rows)),), terminal=True),
        Section("", (Bullets("", tuple(found["claims"])),), terminal=True)))


def checked_summary(certificate: Record, problems: tuple[str, ...], *, published: bool, key: bool) -> Summary:
    """The summary of `verify`."""
    if problems:
        return Summary("certificate-check", "The certificate is not consistent:", sections=(
            Section("", (Bullets("", problems),), terminal=True),))
    said = [_level(certificate)]
    if certificate["openings"] != 1:
        said.append(f"opened with {certificate['openings']} different files of scores, of which this is one; "
                    f"{_average(certificate)}")
    if not published:
        said.append("checked against its own commitment; give the published one with --commitment")
    if certificate["signature"] is None:
        said.append("not signed: whoever held the coins could have written other scores into it")
    elif not key:
        said.append("signed, by whoever holds the key that is in it; give the signer's with --public-key")
    return Summary("certificate-check", f"The certificate is consistent. It says {certificate['verdict']}: "
                   f"{certificate['reason']}", sections=(Section("", (Bullets("", tuple(said)),), terminal=True),))


def _level(found: Record) -> str:
    source = "in the commitment" if found["alpha_from"] == "seal" else "chosen at the opening: the seal commits to none"
    return f"alpha {found['alpha']:g}, {source}"


def _average(found: Record) -> str:
    return f"average e-value 10^{found['log10_e_value_average']:.2f}"


