"""A saved comparison of ways to train to its summary."""

from __future__ import annotations

from discreet.core.numbers import counted, listed, say
from discreet.report import summary as page
from discreet.report import training


def summary(record: page.Record) -> page.Summary:
    """The summary of what `defend training` saves: `DefenceComparison.to_json()` with `training` and `provenance`."""
    words, base = page.words_of("training_defences"), record["undefended"]
    rows = [{**one, "effect": words["effects"][one["effect"]], "more": listed(
        [part["name"] for part in one["parts"] if part["worse"]] or ["–"])} for one in record["defences"]]
    first = {**base, "effect": "", "more": ""}
    several = words["several" if record["seeds"] > 1 else "once"]
    facts = {**record, "verdict_on": several["verdict_on"],
             "over": several["over"].format(seeds=counted(record["seeds"], "retraining"))}
    return page.Summary(
        kind="defend training", verdict=record["verdict"], headline=_headline(record, words),
        kicker=page.kicker(record), leads=_leads(record, words),
        sections=(
            page.part(words["leak"], page.tabled(words["leak_columns"], [first, *rows],
                                                 note=say(words["leak_note"], facts), open=True)),
            page.part(words["parts"], page.tabled(words["part_columns"], [first, *rows],
                                                  note=say(words["parts_note"], facts), open=True)),
            page.part(words["task"], page.tabled(words["task_columns"], [first, *rows],
                                                 note=say(words["task_note"], facts), open=True)),
            page.part("", page.Bullets("", tuple(words["notes"]))),
            training.membership_training(record["training"]), training.membership_lines(record["training"])),
        provenance=(*page.facts(record["provenance"]), *training.provenance(record["training"])),
        footer=words["footer"])


def _headline(record: page.Record, words: page.Record) -> str:
    named = record["cheapest"]
    if record["verdict"] == "fail":
        which = "broken"
        named = [one["name"] for one in (record["undefended"], *record["defences"]) if one["effect"] == "broken"]
    elif named:
        which = "one" if len(named) == 1 else "two"
    else:
        which = "no_leak" if {one["effect"] for one in record["defences"]} <= {"no leak"} else "none"
    which += "_alone" if len(record["defences"]) == 1 and which in ("one", "none") else ""
    return str(words["headlines"][which].format(names=listed(named) if named else "",
                                                n=counted(len(record["defences"]), "defence")))


def _leads(record: page.Record, words: page.Record) -> tuple[str, ...]:
    by_name = {one["name"]: one for one in record["defences"]}
    found = [*record["reasons"], say(words["leads"]["undefended"], record)]
    for one in (by_name[name] for name in record["cheapest"]):
        in_part = "" if one["worst"] is None else say(words["leads"]["in_part"], one)
        found.append(say(words["leads"]["named"], {**one, "in_part": in_part}))
    found += [f"{name}: {one['guarantee']['sentence']}" for name, one in by_name.items()
              if one["guarantee"] is not None and not one["guarantee"]["broken"]]
    if record["next_name"] is not None:
        low, high = record["next_change"]["low"], record["next_change"]["high"]
        certain = low is not None and high is not None and (low > 0.0 or high < 0.0)
        found.append(say(words["leads"]["order" if certain else "no_order"],
                         {**record, "last": record["cheapest"][-1]}))
    if record["cheapest"] and all(by_name[name]["verdict"] != "pass" for name in record["cheapest"]):
        found.append(words["leads"]["still_one" if len(record["cheapest"]) == 1 else "still_two"])
    return tuple(found)
